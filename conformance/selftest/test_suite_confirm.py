# SPDX-License-Identifier: GPL-2.0-or-later
"""What fails in real time counts when it fails again alone; a crash counts at once."""

from __future__ import annotations

from pathlib import Path

from netblt_conformance import confirm
from netblt_conformance.verdicts import Result, Verdict


def run(key: str, verdict: Verdict, reason: str = "", capture: str | None = None) -> tuple[str, Result]:
    return key, Result(key, ["CTRL-04"], "active-sender", verdict, reason, capture=capture)


def test_a_failure_that_passes_alone_is_inconclusive_and_keeps_its_reason() -> None:
    first = [run("a", Verdict.FAIL, "too late"), run("b", Verdict.PASS)]
    keys = confirm.doubtful(first)
    assert keys == {"a"}
    (_, a), (_, b) = confirm.settle(first, [run("a", Verdict.PASS)], keys)
    assert (a.verdict, b.verdict) == (Verdict.INCONC, Verdict.PASS)
    assert "too late" in a.reason


def test_a_failure_that_happens_again_stays_as_it_was() -> None:
    first = [run("a", Verdict.FAIL, "wrong")]
    assert confirm.settle(first, [run("a", Verdict.FAIL, "wrong again")], {"a"}) == first


def test_a_failure_whose_second_look_is_missing_or_inconclusive_stays_as_it_was() -> None:
    first = [run("a", Verdict.FAIL, "wrong")]
    assert confirm.settle(first, [], {"a"}) == first
    assert confirm.settle(first, [run("a", Verdict.INCONC, "hm")], {"a"}) == first


def test_a_crash_gets_no_second_look() -> None:
    assert confirm.doubtful([run("a", Verdict.FAIL, "the implementation crashed with SIGSEGV")]) == set()


def test_too_many_failures_are_no_noise() -> None:
    many = [run(str(number), Verdict.FAIL, "wrong") for number in range(confirm.DOUBTFUL_MAX + 1)]
    assert confirm.doubtful(many) == set()
    assert len(confirm.doubtful(many[1:])) == confirm.DOUBTFUL_MAX


def test_the_first_capture_is_moved_aside(tmp_path: Path) -> None:
    (tmp_path / "a.pcapng").write_bytes(b"first")
    results = [run("a", Verdict.FAIL, "late", "a.pcapng"), run("a", Verdict.FAIL, "a monitor too", "a.pcapng")]
    confirm.keep_captures(results, {"a"}, tmp_path)
    assert [result.capture for _, result in results] == ["a.first.pcapng"] * 2
    assert (tmp_path / "a.first.pcapng").read_bytes() == b"first"
