# SPDX-License-Identifier: GPL-2.0-or-later
"""conformance/nightly/first_runs.py: which runs it puts first."""

from __future__ import annotations

from types import ModuleType

import pytest
from netblt_conformance.common.verdicts import Origin, Result, Verdict
from selftest.scripts import nightly_script


@pytest.fixture(scope="module")
def first_runs() -> ModuleType:
    return nightly_script("first_runs")


def test_the_run_that_shows_most_comes_first_and_each_fault_is_shown_twice(first_runs: ModuleType) -> None:
    shown = {"one": {"a": 1.0, "b": 1.0}, "two": {"a": 1.0, "c": 1.0}, "three": {"a": 1.0, "d": 1.0, "e": 2.0}}
    assert first_runs.soonest(shown) == ["a", "b", "c", "d"]


def test_a_fault_that_shows_soon_needs_no_run_that_waits_long(first_runs: ModuleType) -> None:
    shown = {"one": {"quick": 0.1, "slow": 60.0}}
    assert first_runs.soonest(shown) == ["quick"]


def test_what_only_long_waits_show_has_enough_of_them_among_the_first_and_the_longest_start_soonest(
    first_runs: ModuleType,
) -> None:
    late = {"w10": 10.0, "w20": 20.0, "w40": 40.0, "w60": 60.0}
    shown = {"late": late, **{f"soon{n}": {f"s{n}": 0.1} for n in range(6)}}
    assert first_runs.soonest(shown) == ["w40", "s0", "w20", "s1", "w10", "s2", "s3", "s4", "s5"]


def test_only_failures_count_and_those_of_the_planted_requirement_first(first_runs: ModuleType) -> None:
    def row(case: str, requirement: str, verdict: Verdict, origin: Origin = Origin.CASE) -> Result:
        return Result(case, [requirement], "active-sender", verdict, "x", seconds=1.0, origin=origin, expected="y")

    rows = [
        row("other", "DATA-08", Verdict.FAIL),
        row("passes", "CTRL-04", Verdict.PASS),
        row("warns", "CTRL-04", Verdict.WARN),
        row("judged", "CTRL-04", Verdict.FAIL, Origin.JUDGES),
    ]
    accused = frozenset({"CTRL-04"})
    assert first_runs.shown_by(rows, accused) == {"other[active-sender]": 1.0}
    rows.append(row("monitor", "CTRL-04", Verdict.FAIL, Origin.MONITOR))
    assert first_runs.shown_by(rows, accused) == {"monitor[active-sender]": 1.0}
