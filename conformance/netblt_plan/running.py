# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs a scenario: every run with every seed, on all processors, and compares the results with what is expected."""

from __future__ import annotations

import concurrent.futures
import dataclasses
import math
import os
import statistics
from collections.abc import Callable, Sequence

from netblt_plan import best
from netblt_plan.outcome import Outcome
from netblt_plan.scenario import Band, Run, Scenario
from netblt_plan.simulate import simulate


@dataclasses.dataclass(frozen=True, slots=True)
class Check:
    """One expectation, judged."""

    what: str
    value: float
    low: float
    high: float
    excuse: str = ""  # why it may be outside all the same

    @property
    def inside(self) -> bool:
        return self.low <= self.value <= self.high

    @property
    def holds(self) -> bool:
        return self.inside or (bool(self.excuse) and math.isfinite(self.value))

    def describe(self) -> str:
        band = f"at least {self.low:g}" if math.isinf(self.high) else f"at most {self.high:g}"
        if not math.isinf(self.low) and not math.isinf(self.high):
            band = f"{self.low:g} to {self.high:g}"
        return f"{self.what} is {self.value:.4g}, expected {band}"


@dataclasses.dataclass(slots=True)
class RunResult:
    """A run with all its seeds: means, and the judgement."""

    run: Run
    means: dict[str, float]
    spread: dict[str, float]  # standard deviation between seeds
    checks: list[Check]
    notes: list[str]

    @property
    def holds(self) -> bool:
        return all(check.holds for check in self.checks)


@dataclasses.dataclass(slots=True)
class Result:
    scenario: Scenario
    seed: int
    runs: list[RunResult]
    checks: list[Check]  # of the whole table

    @property
    def holds(self) -> bool:
        return all(run.holds for run in self.runs) and all(check.holds for check in self.checks)


def error_percent(result: RunResult) -> float:
    """Of SPEED, against the row's; for tables only."""
    assert result.run.row is not None
    return 100 * (result.means["speed"] / result.run.row.speed - 1)


def _means(outcomes: Sequence[Outcome]) -> tuple[dict[str, float], dict[str, float]]:
    means, spread = {}, {}
    for key in outcomes[0].metrics:
        values = [outcome.metrics[key] for outcome in outcomes]
        means[key] = statistics.fmean(values)
        spread[key] = statistics.pstdev(values) if math.isfinite(means[key]) else math.nan
    return means, spread


def _band_checks(result: RunResult, band: Band) -> list[Check]:
    row, means = result.run.row, result.means
    assert row is not None
    checks = []
    if band.speed_percent is not None:
        slack = row.speed * band.speed_percent / 100
        checks.append(Check("SPEED", means["speed"], row.speed - slack, row.speed + slack))
    if band.loss_percent is not None:
        slack = row.loss * band.loss_percent / 100
        checks.append(Check("#LOSS", means["loss"], row.loss - slack, row.loss + slack))
    if band.nothing_lost:
        checks += [
            Check(name, means[key], 0, 0) for name, key in (("#LOSS", "loss"), ("#RXM", "rxm"), ("DTMOS", "dtmos"))
        ]
    return checks


def _table_checks(scenario: Scenario, results: list[RunResult]) -> list[Check]:
    """Bands of rows; answers those of means over rows."""
    means = []
    for band in scenario.bands:
        inside = [result for result in results if result.run.row and result.run.row.number in band.rows]
        for result in inside:
            excused = result.run.row is not None and result.run.row.number in band.explained
            result.checks += [
                dataclasses.replace(check, excuse=band.why if excused else "") for check in _band_checks(result, band)
            ]
        if band.mean_percent is not None and len(inside) == len(set(band.rows)):
            mean = statistics.fmean(abs(error_percent(result)) for result in inside)
            means.append(Check(f"mean error of {len(inside)} rows, in percent,", mean, 0, band.mean_percent))
    return means


def _expectations(results: list[RunResult]) -> None:
    by_name = {result.run.name: result for result in results}
    for result in results:
        for one in result.run.expect:
            value = result.means[one.metric]
            what = one.metric
            if one.of is not None and one.of in by_name:
                other = by_name[one.of].means[one.metric]
                value, what = (value / other if other else math.nan), f"{one.metric} / that of {one.of!r}"
            result.checks.append(Check(what, value, one.low, one.high))


def run_scenario(
    scenario: Scenario,
    *,
    seed: int = 1,
    seeds: int | None = None,
    only: Sequence[Run] | None = None,
    progress: Callable[[RunResult], None] | None = None,
) -> Result:
    """Simulates all runs. C does the work and lets go of Python's lock meanwhile, so threads are enough."""
    runs = list(scenario.runs if only is None else only)
    with concurrent.futures.ThreadPoolExecutor(max_workers=os.cpu_count() or 2) as pool:
        settled = list(pool.map(lambda run: best.settle(run, seed), runs))
        jobs = [[pool.submit(simulate, run, seed + i) for i in range(seeds or run.seeds)] for run, _ in settled]
        results = []
        for (run, notes), futures in zip(settled, jobs, strict=True):
            means, spread = _means([future.result() for future in futures])
            results.append(RunResult(run, means, spread, [], list(notes)))
    table = _table_checks(scenario, results)
    _expectations(results)
    if progress is not None:
        for result in results:
            progress(result)
    return Result(scenario, seed, results, table)
