# SPDX-License-Identifier: GPL-2.0-or-later
"""The likely cause is printed while the run goes on, as soon as the failures agree."""

from __future__ import annotations

import dataclasses

from netblt_conformance.common.verdicts import Cause, Result, Verdict
from netblt_conformance.diagnosis.ranking import DISTURBED_ENOUGH
from netblt_conformance.report.causes_so_far import AGREE, AGREE_LATE, LIKELY_CAUSE, LINES_MAX, PATIENCE_S, CausesSoFar


def failed(case: str, requirement: str = "CTRL-01", cause: Cause = Cause.JUDGEMENT, held_up_us: int = 0) -> Result:
    seen, expected = f"wrong in {case}", "right"
    return Result(
        case,
        [requirement],
        "active-receiver",
        Verdict.FAIL,
        seen,
        cause=cause,
        held_up_us=held_up_us,
        expected=expected,
    )


def lines(results: list[Result], elapsed_s: float = 1.0, causes: CausesSoFar | None = None) -> list[str]:
    causes = causes or CausesSoFar(["netblt-conformance", "run"])
    return [line for line in (causes.take(result, elapsed_s) for result in results) if line]


def test_runs_that_break_the_same_requirement_are_reported_with_a_command() -> None:
    assert lines([failed("a"), failed("b")]) == []
    (line,) = lines([failed("a: 1"), failed("b"), failed("c")])
    assert line.startswith(f"{LIKELY_CAUSE} CTRL-01 (active-receiver), {AGREE} results: wrong in a: 1; ")
    assert line.endswith("netblt-conformance run --role active-receiver --select 'a: 1'")


def test_what_packets_show_comes_before_what_did_not_come() -> None:
    absent = [failed(name, "DATA-08", Cause.ABSENCE) for name in ("a", "b")]
    (line,) = lines([*absent, failed("c"), failed("d"), failed("e")])
    assert "CTRL-01" in line


def test_fewer_failures_are_reported_when_time_has_passed_but_never_a_single_one() -> None:
    assert lines([failed("a"), failed("b")], PATIENCE_S - 1) == []
    assert lines([failed("a")], PATIENCE_S) == []
    (line,) = lines([failed("a"), failed("b")], PATIENCE_S)
    assert f"{AGREE_LATE} results:" in line


def test_results_of_one_run_count_once() -> None:
    assert lines([failed("a"), failed("a"), failed("a")]) == []


def test_what_passes_is_no_hint() -> None:
    passed = Result("a", ["CTRL-01"], "active-receiver", Verdict.PASS)
    assert lines([passed] * 5, PATIENCE_S) == []


def test_runs_that_the_machine_disturbed_need_more_that_agree() -> None:
    disturbed = [failed(f"a{number}", held_up_us=80_000) for number in range(DISTURBED_ENOUGH)]
    assert lines(disturbed[1:], PATIENCE_S) == []
    (line,) = lines(disturbed)
    assert f"{DISTURBED_ENOUGH} results:" in line


def test_another_cause_is_reported_when_it_explains_much_more_and_each_only_once() -> None:
    causes = CausesSoFar(["run"])
    assert len(lines([failed(name, "CKSUM-01") for name in ("a", "b", "c")], causes=causes)) == 1
    assert lines([failed(f"x{n}") for n in range(5)], causes=causes) == []
    (line,) = lines([failed(f"y{n}") for n in range(5)], causes=causes)
    assert "CTRL-01" in line
    assert lines([failed(f"z{n}") for n in range(50)], causes=causes) == []


def test_a_failed_first_transfer_is_reported_and_one_that_works_is_not() -> None:
    causes = CausesSoFar(["netblt-conformance", "run", "--adapter", "my adapter.toml"])
    assert causes.first_transfer("active-sender", None) is None
    line = causes.first_transfer("passive-receiver", "expected a GO")
    assert line is not None
    assert line.startswith(f"{LIKELY_CAUSE} the first transfer fails (passive-receiver): expected a GO")
    assert line.endswith("netblt-conformance run --adapter 'my adapter.toml' --role passive-receiver")


def test_what_did_not_come_in_a_long_time_is_no_effect_of_a_short_disturbance() -> None:
    absent = [failed(name, "CLOSE-04", Cause.ABSENCE, held_up_us=400_000) for name in ("a", "b")]
    for seconds, found in ((5.0, 0), (60.0, 1)):
        assert len(lines([dataclasses.replace(one, seconds=seconds) for one in absent], PATIENCE_S)) == found


def test_runs_that_are_overdue_are_reported_while_nothing_is_decided() -> None:
    waiting = [failed(name, "RESEND-01", Cause.ABSENCE) for name in ("a", "b", "c")]
    causes = CausesSoFar(["run"])
    line = causes.overdue(waiting)
    assert line is not None
    assert f"{LIKELY_CAUSE} RESEND-01 (active-receiver), not decided yet, 3 results: expected right: wrong in a" in line
    assert causes.overdue(waiting) is None, "once is enough"
    assert len(lines(waiting, PATIENCE_S, causes)) == 1, "the decision is reported all the same"


def test_what_comes_after_all_is_reported_once() -> None:
    waiting = [failed(name, "RESEND-01", Cause.ABSENCE) for name in ("a", "b", "c")]
    causes = CausesSoFar(["run"])
    assert causes.overdue(waiting) is not None
    passed = [dataclasses.replace(result, verdict=Verdict.PASS, seen="") for result in waiting]
    assert lines(passed, causes=causes) == [f"{LIKELY_CAUSE} not RESEND-01: what was late has come ({waiting[0].key})"]


def test_runs_that_are_overdue_are_not_reported_after_a_cause_that_is_decided() -> None:
    causes = CausesSoFar(["run"])
    assert lines([failed(name) for name in ("a", "b", "c")], causes=causes)
    assert causes.overdue([failed(name, "RESEND-01", Cause.ABSENCE) for name in ("d", "e", "f")]) is None


def test_there_are_few_lines() -> None:
    causes = CausesSoFar(["run"])
    results = [failed(f"{name}{n}", f"CTRL-0{name}") for name in range(1, 7) for n in range(AGREE**name)]
    assert len(lines(results, causes=causes)) == LINES_MAX
