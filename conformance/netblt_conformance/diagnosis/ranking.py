# SPDX-License-Identifier: GPL-2.0-or-later
"""Ranks requirements as the likely causes of all that went wrong in a run.

A requirement explains the runs in which it is suspected. It is a likely cause when it explains much of what went wrong,
is violated early in the captures, and the runs made for it fail, not pass. The best one is taken, what it explains is
set aside, and the rest is searched in the same way. The score is the one of Ochiai, known from locating faults by the
tests that they fail: share of the failures that the requirement explains, times share of its own runs that fail.

Failures are explained before warnings. A requirement that warns in a failed run may be its cause, as far as its other
warnings are in failed runs too: a habit that warns in every run explains no failure.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from netblt_conformance.common.verdicts import Cause, Origin, Result, Verdict
from netblt_conformance.diagnosis.evidence import Contrast, Run, contrasts, reliable, runs_of, weigh

# A requirement that only cases of the best one suspect, with at least this share of its score, may be meant as well.
ALIKE_SHARE = 0.4
# Robustness and delivery are what any fault may cost; a specific rule that is violated as well explains it better.
GENERAL, GENERAL_SHARE = ("ROBUST-", "DATA-08"), 0.6
CAUSES_MAX = 10
# What warns more often in runs that do not fail than this is a habit, which explains no failure.
HABIT_SHARE = 0.5
# Noise disturbs a few runs. Where the machine disturbed all that failed, so many of them are a fault all the same.
DISTURBED_ENOUGH = 6
Weights = dict[str, dict[str, float]]  # by key of the run and requirement


@dataclass(frozen=True, slots=True)
class LikelyCause:
    """One requirement that is probably violated, or several that the evidence does not distinguish."""

    requirements: tuple[str, ...]
    roles: tuple[str, ...]
    first: Result  # the row that shows it best
    explains: int  # results that show it
    follows: int  # results that lack something, and probably follow from it

    @property
    def requirement(self) -> str:
        return self.requirements[0]


def likely_causes(results: Iterable[Result]) -> list[LikelyCause]:
    """The most likely first; empty when nothing went wrong, or the machine may have caused all of it."""
    runs = runs_of(results)
    left = [run for run in runs if run.broken]
    if len(left) < DISTURBED_ENOUGH and not any(reliable(row) for run in left for row in run.broken):
        return []
    contrast, weights = contrasts(runs), weigh(runs)
    found = _explained([run for run in left if run.failed], _of_failures(left, weights), contrast, CAUSES_MAX)
    named = {requirement for requirements, _ in found for requirement in requirements}
    warned = [run for run in left if not run.failed and weights[run.key].keys().isdisjoint(named)]
    found += _explained(warned, weights, contrast, CAUSES_MAX - len(found))
    return _described(found, runs)


def _explained(
    left: list[Run], weights: Weights, contrast: dict[str, Contrast], most: int
) -> list[tuple[tuple[str, ...], list[Run]]]:
    """The best requirements with the runs that each explains, until no run is left. A run that suspects no requirement,
    as a generated script whose transfer does not end, is explained by none."""
    found: list[tuple[tuple[str, ...], list[Run]]] = []
    left = [run for run in left if weights[run.key]]
    while left and len(found) < most:
        best = _best(left, weights, contrast)
        found.append((best, [run for run in left if not weights[run.key].keys().isdisjoint(best)]))
        left = [run for run in left if weights[run.key].keys().isdisjoint(best)]
    return found


def _of_failures(broken: Sequence[Run], weights: Weights) -> Weights:
    """The weights in the failed runs. What only warns in a run weighs by the share of its warnings that are in failed
    runs; where that is little, it is not named there."""
    warnings: dict[str, list[bool]] = {}
    only_warned: dict[str, set[str]] = {}
    for run in broken:
        failing = {one for row in run.rows if row.verdict is Verdict.FAIL for one in (row.requirement, row.due_by)}
        only_warned[run.key] = {row.requirement for row in run.broken if row.verdict is Verdict.WARN} - failing
        for requirement in only_warned[run.key]:
            warnings.setdefault(requirement, []).append(run.failed)
    shares = {one: sum(failed) / len(failed) for one, failed in warnings.items()}
    return {
        run.key: {
            one: weight * (shares[one] if one in only_warned[run.key] else 1.0)
            for one, weight in weights[run.key].items()
            if one not in only_warned[run.key] or shares[one] >= HABIT_SHARE
        }
        for run in broken
        if run.failed
    }


def scores(runs: Sequence[Run], weights: Weights, contrast: dict[str, Contrast]) -> dict[str, float]:
    """How likely each requirement is the cause of most of what went wrong in these runs."""
    sums: dict[str, float] = {}
    for run in runs:
        for requirement, weight in weights[run.key].items():
            sums[requirement] = sums.get(requirement, 0.0) + weight
    unknown = Contrast()
    return {
        one: total / len(runs) * contrast.get(one, unknown).share * (GENERAL_SHARE if one.startswith(GENERAL) else 1)
        for one, total in sums.items()
    }


def _best(runs: Sequence[Run], weights: Weights, contrast: dict[str, Contrast]) -> tuple[str, ...]:
    """The requirement with the highest score, then those that the same cases judge and nothing distinguishes from
    it."""
    found = scores(runs, weights, contrast)
    best = max(sorted(found), key=lambda one: found[one])
    named = {one: {run.key for run in runs if one in weights[run.key]} for one in found}
    accused = {row.requirement for run in runs for row in run.broken}
    alike = [
        one
        for one, score in sorted(found.items())
        if one != best
        and (one not in accused or math.isclose(score, found[best]))
        and score >= found[best] * ALIKE_SHARE
        and named[one] <= named[best]
        and _always_fails(one, contrast)
    ]
    return best, *alike


def _always_fails(requirement: str, contrast: dict[str, Contrast]) -> bool:
    own = contrast.get(requirement)
    return own is not None and own.failed == own.tried


def _described(found: list[tuple[tuple[str, ...], list[Run]]], runs: Sequence[Run]) -> list[LikelyCause]:
    """With the results that each explains: in the runs that are set aside for it, and its warnings in all others. What
    only lacks something follows from the first cause that was seen on the same side of the link."""
    causes = []
    named = {requirement for requirements, _ in found for requirement in requirements}
    warnings = [row for run in runs for row in run.broken if row.verdict is Verdict.WARN and row.requirement in named]
    free = [row for run in runs for row in run.rows if row.verdict is Verdict.INCONC]
    for requirements, explained in found:
        rows = [row for run in explained for row in run.broken if row.requirement in requirements]
        rows = rows or [row for run in explained for row in run.broken if row.due_by in requirements]
        rows = rows or [row for run in explained for row in run.broken]
        counted = {id(row) for row in (*rows, *warnings)}
        others = sum(id(row) not in counted for run in explained for row in run.broken)
        keys = {run.key for run in explained}
        rows += [row for row in warnings if row.requirement in requirements and row.key not in keys]
        roles = tuple(dict.fromkeys(row.role for row in rows))
        behind = [row for row in free if row.role in roles]
        free = [row for row in free if row.role not in roles]
        causes.append(LikelyCause(requirements, roles, _clearest(rows), len(rows), others + len(behind)))
    return causes


def _clearest(rows: Sequence[Result]) -> Result:
    """A failure of a case that was made for the requirement, which names a packet; else what comes closest to that."""

    def unclear(row: Result) -> tuple[bool, bool, bool, bool, int]:
        warns = row.verdict is Verdict.WARN
        return warns, row.cause is not Cause.JUDGEMENT, row.frame is None, row.origin is not Origin.CASE, row.frame or 0

    return min(rows, key=unclear)
