# SPDX-License-Identifier: GPL-2.0-or-later
"""What does not pass in real time is tried again alone: disturbance voids, a failure must repeat, a crash counts."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

from netblt_conformance.common.remarks import Note, Remark
from netblt_conformance.common.verdicts import Cause, Result, Verdict
from netblt_conformance.run import confirm
from netblt_conformance.run.confirm import Keyed


def run(key: str, verdict: Verdict, seen: str = "", capture: str | None = None, *, disturbed: bool = False) -> Keyed:
    result = Result(key, ["CTRL-04"], "active-sender", verdict, seen, capture=capture, expected="well")
    held_up_us = 80_000 if disturbed else 10_000
    return key, confirm.with_disturbance(result, held_up_us, bearable_us=50_000)


def changed(keyed: Keyed, **fields: Any) -> Keyed:
    key, result = keyed
    return key, dataclasses.replace(result, **fields)


def settle(first: list[Keyed], *attempts: list[Keyed], folder: Path = Path()) -> list[Result]:
    """The verdicts when each further attempt gives what `attempts` states."""
    left = list(attempts)
    keys = confirm.doubtful(first)
    first = confirm.set_aside(first, keys, folder)
    settled = confirm.look_again(first, keys, lambda _keys, _jobs: left.pop(0) if left else [])
    results = confirm.judged(first, settled, folder)
    assert not left, "an attempt was not made"
    return [result for _, result in results]


def test_a_failure_that_passes_alone_is_inconclusive_and_keeps_its_reason() -> None:
    a, b = settle([run("a", Verdict.FAIL, "too late"), run("b", Verdict.PASS)], [run("a", Verdict.PASS)])
    assert (a.verdict, b.verdict) == (Verdict.INCONC, Verdict.PASS)
    assert (a.seen, a.notes) == ("too late", (Note(Remark.UNCONFIRMED),))


def test_a_failure_that_happens_again_stays_as_it_was() -> None:
    (a,) = settle([run("a", Verdict.FAIL, "wrong")], [run("a", Verdict.FAIL, "wrong again")])
    assert (a.verdict, a.seen) == (Verdict.FAIL, "wrong")


def test_a_failure_whose_second_look_is_missing_or_inconclusive_stays_as_it_was() -> None:
    for second in ([], [run("a", Verdict.INCONC, "hm")]):
        (a,) = settle([run("a", Verdict.FAIL, "wrong")], second)
        assert (a.verdict, a.seen) == (Verdict.FAIL, "wrong")


def test_a_disturbed_failure_is_void_and_the_first_undisturbed_repetition_decides() -> None:
    (a,) = settle([late(1)], [late(1)], [run("a", Verdict.PASS)])
    assert (a.verdict, a.seen) == (Verdict.PASS, "")
    (a,) = settle([late(1)], [run("a", Verdict.FAIL, "wrong")])
    assert (a.verdict, a.seen) == (Verdict.FAIL, "wrong")


def late(milliseconds: int) -> Keyed:
    """Noise shows in another packet each time."""
    return changed(run("a", Verdict.FAIL, f"{milliseconds} ms late", disturbed=True), frame=milliseconds)


def test_a_failure_that_is_disturbed_every_time_stays_a_failure() -> None:
    (a,) = settle([late(1)], *[[late(2 + attempt)] for attempt in range(confirm.ATTEMPTS)])
    assert a.verdict is Verdict.FAIL
    assert a.disturbed


def test_the_same_evidence_three_times_is_no_noise_whatever_the_words() -> None:
    said = [changed(late(1), seen=f"{number} us late") for number in range(3)]
    (a,) = settle([said[0]], [said[1]], [said[2]])
    assert a.verdict is Verdict.FAIL


def test_the_same_words_about_other_packets_may_be_noise() -> None:
    said = [changed(late(number), seen="late") for number in range(3)]
    (a,) = settle([said[0]], [said[1]], [said[2]], [run("a", Verdict.PASS)])
    assert a.verdict is Verdict.PASS


def test_an_inconclusive_case_gets_another_chance() -> None:
    (a,) = settle([run("a", Verdict.INCONC, "no OPEN came")], [run("a", Verdict.PASS)])
    assert a.verdict is Verdict.PASS


def test_a_long_wait_without_result_is_not_repeated_in_a_role_in_which_others_confirm_a_failure() -> None:
    failed = run("a", Verdict.FAIL, "wrong")
    waited, shorter = (
        changed(run(key, Verdict.INCONC), cause=Cause.ABSENCE, seconds=seconds)
        for key, seconds in (("b", 60.0), ("c", 1.0))
    )
    results = [failed, waited, shorter]
    assert confirm.doubtful(results) == {"a", "b", "c"}
    assert confirm.doubtful(results, {"a"}) == {"c"}
    elsewhere = [changed(failed, role="active-receiver"), waited, shorter]
    assert confirm.doubtful(elsewhere, {"a"}) == {"b", "c"}


def test_a_warning_is_looked_at_again_only_when_it_was_disturbed() -> None:
    assert confirm.doubtful([run("a", Verdict.WARN, "slow")]) == set()
    (a,) = settle([run("a", Verdict.WARN, "slow", disturbed=True)], [run("a", Verdict.PASS)])
    assert a.verdict is Verdict.PASS


def test_a_pass_is_a_pass_however_busy_the_machine_was() -> None:
    (_, result) = run("a", Verdict.PASS, disturbed=True)
    assert not result.disturbed
    assert confirm.doubtful([("a", result)]) == set()


def test_a_crash_gets_no_second_look() -> None:
    said = run("a", Verdict.FAIL, "the implementation crashed with SIGSEGV", disturbed=True)
    assert confirm.doubtful([changed(said, cause=Cause.CRASH)]) == set()


def test_words_in_a_reason_do_not_make_a_crash() -> None:
    said = run("a", Verdict.FAIL, "the implementation did not close within 5 s")
    assert confirm.doubtful([said]) == {"a"}


def test_too_many_failures_are_no_noise_unless_the_machine_made_it() -> None:
    many = [run(str(number), Verdict.INCONC, "no OPEN") for number in range(confirm.DOUBTFUL_MAX + 1)]
    assert confirm.doubtful(many) == set()
    assert len(confirm.doubtful(many[1:])) == confirm.DOUBTFUL_MAX
    assert confirm.doubtful([*many, run("late", Verdict.FAIL, "late", disturbed=True)]) == {"late"}


def test_cases_that_fail_the_same_requirement_in_one_role_confirm_each_other() -> None:
    alike = [run(name, Verdict.FAIL, f"wrong in {name}") for name in ("a", "b", "c")]
    assert confirm.doubtful(alike[1:]) == {"b", "c"}
    assert confirm.doubtful(alike) == set()
    assert confirm.doubtful([*alike, run("d", Verdict.FAIL, "late", disturbed=True)]) == set()


def test_disturbed_failures_and_variants_of_one_case_confirm_nothing() -> None:
    disturbed = run("c", Verdict.FAIL, "late", disturbed=True)
    failed = [run(name, Verdict.FAIL, "wrong") for name in ("a", "b")]
    assert confirm.doubtful([*failed, disturbed]) == {"a", "b", "c"}
    variants = {"a: 1", "a: 2", "a: 3"}
    assert confirm.doubtful([run(name, Verdict.FAIL, "wrong") for name in variants]) == variants


def absence(variant: str, seconds: float, *, disturbed: bool = False) -> Keyed:
    absent = run(f"a: {variant}", Verdict.FAIL, "it did not come", disturbed=disturbed)
    return changed(absent, cause=Cause.ABSENCE, seconds=seconds)


def test_runs_of_one_case_that_lack_something_after_a_long_wait_confirm_each_other() -> None:
    alike = [absence("1", confirm.LONG_WAIT_S), absence("2", confirm.LONG_WAIT_S)]
    assert confirm.doubtful(alike[:1]) == {"a: 1"}
    assert confirm.doubtful(alike) == set()
    assert confirm.doubtful([*alike, absence("3", 1.0)]) == {"a: 3"}


def test_absences_that_were_disturbed_or_short_confirm_nothing() -> None:
    for others in (absence("2", 60.0, disturbed=True), absence("2", confirm.LONG_WAIT_S / 2)):
        assert confirm.doubtful([absence("1", 60.0), others]) == {"a: 1", "a: 2"}


def test_another_failure_of_the_same_run_is_not_confirmed_by_others() -> None:
    alike = [run(name, Verdict.FAIL, "wrong") for name in ("a", "b", "c")]
    own = changed(run("c", Verdict.FAIL, "a monitor too"), requirements=["DATA-08"])
    assert confirm.doubtful([*alike, own]) == {"c"}


def test_the_first_repetition_is_not_alone_and_the_later_ones_are() -> None:
    jobs: list[int] = []

    def again(_keys: set[str], at_a_time: int) -> list[Keyed]:
        jobs.append(at_a_time)
        return [late(len(jobs))]

    confirm.look_again([late(0)], {"a"}, again)
    assert jobs == [confirm.FIRST_JOBS, 1, 1, 1, 1]


def test_the_first_capture_is_moved_aside_and_stays_with_its_verdict(tmp_path: Path) -> None:
    (tmp_path / "a.pcapng").write_bytes(b"first")
    first = [run("a", Verdict.FAIL, "late", "a.pcapng"), run("a", Verdict.FAIL, "a monitor too", "a.pcapng")]
    results = settle(first, [run("a", Verdict.FAIL, "late", "a.pcapng")], folder=tmp_path)
    assert [result.capture for result in results] == ["a.first.pcapng"] * 2
    assert (tmp_path / "a.first.pcapng").read_bytes() == b"first"


def test_the_capture_of_a_void_run_goes(tmp_path: Path) -> None:
    (tmp_path / "a.pcapng").write_bytes(b"first")
    first = [run("a", Verdict.FAIL, "late", "a.pcapng", disturbed=True)]
    (result,) = settle(first, [run("a", Verdict.PASS, "", "a.pcapng")], folder=tmp_path)
    assert result.capture == "a.pcapng"
    assert not (tmp_path / "a.first.pcapng").exists()


def test_many_confirmed_failures_make_a_broken_implementation_of_which_nothing_is_tried_again() -> None:
    confirmed = {str(number) for number in range(confirm.DOUBTFUL_MAX)}
    alone = run("alone", Verdict.FAIL, "no OPEN")
    assert not confirm.is_broken([alone], confirmed)
    assert confirm.is_broken([alone], confirmed | {"one more"})
