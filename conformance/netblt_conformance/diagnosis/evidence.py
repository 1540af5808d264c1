# SPDX-License-Identifier: GPL-2.0-or-later
"""How the results of a run weigh for and against each requirement as the cause of what went wrong."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from netblt_conformance.catalogue import catalogue
from netblt_conformance.common.model import MICROSECONDS_PER_S
from netblt_conformance.common.verdicts import KNOWN, Cause, Origin, Result, Verdict

# Only these rows are evidence: the dissector and the sweeps see the same faults again, and not every run has them.
SOURCES = (Origin.CASE, Origin.MONITOR)
BROKEN = (Verdict.FAIL, Verdict.WARN)
# The weight of a row for its requirement. A packet shows the fault itself; what is missing may have any reason.
SHOWN, MISSING = 1.0, 0.4
# A row after an earlier violation in the same capture may be a consequence of it.
BEHIND = 0.4
# A should that does not hold is less certain to be a fault than a must.
SHOULD = 0.5
# A case weighs this much for the requirements that it judges besides its first one.
BESIDES = 0.6
# What did not come although it is due by another requirement weighs this much for those that the case judges: less
# than the half that is supposed of a requirement without cases of its own in the run (CONTRAST_PRIOR). So one case
# names what was due.
DUE_OTHERWISE = 0.57
# A permission, or a requirement of the peer, is hardly the cause.
UNLIKELY = 0.3
# A failure that the machine may have caused. Of a broken implementation nothing is tried again, so such rows are left.
DISTURBED = 0.5
# ... unless what is missing was waited for so many times as long as the machine was held up.
LONG_ABSENCE = 50


@dataclass(slots=True)
class Run:
    """One case in one role and arm, with all that was found in it."""

    key: str
    rows: list[Result] = field(default_factory=list)

    @property
    def broken(self) -> list[Result]:
        """Rows that hold something against the implementation."""
        return [row for row in self.rows if row.verdict in BROKEN and row.cause is not Cause.SUITE]

    @property
    def failed(self) -> bool:
        """A requirement was violated, and not only a recommendation."""
        return any(row.verdict is Verdict.FAIL for row in self.broken)

    @property
    def stuck(self) -> bool:
        """Nothing was learnt of the requirement of the case."""
        return any(row.verdict is Verdict.INCONC for row in self.rows)

    def weights(self) -> dict[str, float]:
        """How much this run weighs for each requirement, 0 to 1."""
        found: dict[str, float] = {}
        rows = self.broken
        first = min((row.frame for row in rows if _shows(row) and row.frame), default=None)
        for row in rows:
            weight = (SHOWN if _shows(row) else MISSING) * (SHOULD if row.verdict is Verdict.WARN else 1.0)
            weight *= _reliance(row)
            if first is not None and (row.frame is None or row.frame > first or not _shows(row)):
                weight *= BEHIND
            for requirement, share in _named(row):
                found[requirement] = max(found.get(requirement, 0.0), weight * share)
        return found


# Violations that another one brings about: effect -> origins. They count for the origin where an oracle finds that one
# violated too.
BROUGHT_ABOUT_BY = {
    "CTRL-01": ("CTRL-04",),  # a message that is in no CONTROL looks like a number that was left out
    "DATA-06": ("CTRL-03",),  # messages out of order are GOs out of order
    "CLOSE-08": ("RESEND-02",),  # a sender without retransmissions has none at the end
}


def weigh(runs: Iterable[Run]) -> dict[str, dict[str, float]]:
    """How much each broken run, by key, weighs for each requirement."""
    broken = [run for run in runs if run.broken]
    rows = [row for run in broken for row in run.broken]
    shown = {row.requirement for row in rows if row.violated or row.origin is Origin.MONITOR}
    shown.update(row.due_by for row in rows)
    found = {run.key: run.weights() for run in broken}
    for effect, origins in BROUGHT_ABOUT_BY.items():
        for origin in shown.intersection(origins):
            for weights in found.values():
                if effect in weights:
                    weights[origin] = max(weights.get(origin, 0.0), weights[effect])
                    weights[effect] *= BEHIND
    return found


def reliable(row: Result) -> bool:
    """Whether the machine cannot have caused it. What did not come in a long time did not fail to come because of a
    short disturbance."""
    long_absence = row.cause is Cause.ABSENCE and row.held_up_us * LONG_ABSENCE <= row.seconds * MICROSECONDS_PER_S
    return not row.disturbed or long_absence


def _reliance(row: Result) -> float:
    return 1.0 if reliable(row) else DISTURBED


def _shows(row: Result) -> bool:
    return row.cause is Cause.JUDGEMENT


def _named(row: Result) -> Iterator[tuple[str, float]]:
    """The requirements that a row suspects, with their shares. What did not come although it is due in any state
    suspects the requirement by which it is due more than those that the case is about."""
    if row.due_by:
        yield row.due_by, 1.0
    if row.violated or row.origin is not Origin.CASE:
        if row.requirement != row.due_by:
            yield row.requirement, DUE_OTHERWISE if row.due_by else 1.0
        return
    for place, requirement in enumerate(row.requirements):
        if requirement != row.due_by:
            share = DUE_OTHERWISE if row.due_by else BESIDES if place else 1.0
            yield requirement, share * _likelihood(requirement, row.role)


def _likelihood(requirement: str, role: str) -> float:
    known = catalogue.requirements().get(requirement)
    if known is None:
        return 1.0
    return UNLIKELY if known.grade == "may" or not known.binds_end(role.partition("-")[0]) else 1.0


def runs_of(results: Iterable[Result]) -> list[Run]:
    """The runs, in the order of their first results. A known failure is not counted."""
    runs: dict[str, Run] = {}
    for result in results:
        if result.origin in SOURCES and KNOWN not in result.observed:
            runs.setdefault(result.key, Run(result.key)).rows.append(result)
    return list(runs.values())


@dataclass(slots=True)
class Contrast:
    """How the runs end that were made for a requirement."""

    tried: float = 0.0
    failed: float = 0.0
    cases: dict[str, tuple[float, float]] = field(default_factory=dict)  # the same of each case and variant

    def count(self, case: str, share: float, *, bad: bool) -> None:
        """Takes in one run."""
        tried, failed = self.cases.get(case, (0.0, 0.0))
        self.cases[case] = tried + share, failed + share * bad
        self.tried += share
        self.failed += share * bad

    @property
    def share(self) -> float:
        """How many of the runs that were made for it fail. A requirement has several aspects, and a fault may break one
        of them: so this is the mean of all cases and of the one that fails most (the geometric mean). Few runs prove
        little: the share is drawn to one half."""
        share = (self.failed + CONTRAST_PRIOR / 2) / (self.tried + CONTRAST_PRIOR)
        if not self.failed:
            return share * NEVER_FAILS if self.tried else share
        most = max(failed / tried for tried, failed in self.cases.values())
        return math.sqrt(share * most)


# So many runs, half of them failed, are added to those that there are.
CONTRAST_PRIOR = 1.0
# A requirement that passes in every run made for it is violated elsewhere as a consequence of something else.
NEVER_FAILS = 0.05


def contrasts(runs: Sequence[Run]) -> dict[str, Contrast]:
    """For each requirement. Only roles in which anything fails count: a fault of a sender passes as a receiver."""
    bad_sides = {_side(run.rows[0].role) for run in runs if run.broken}
    found: dict[str, Contrast] = defaultdict(Contrast)
    for run in runs:
        for row in run.rows:
            if row.origin is Origin.CASE and row.arm == "stimulus" and _side(row.role) in bad_sides:
                _count(found, row)
    return dict(found)


def _count(found: dict[str, Contrast], row: Result) -> None:
    bad = row.verdict in BROKEN and row.cause is not Cause.SUITE
    if not bad and row.verdict is not Verdict.PASS:
        return
    named = dict(_named(row))
    for place, requirement in enumerate(row.requirements):
        share = (BESIDES if place else 1.0) * _reliance(row)
        if bad and requirement not in named:
            continue  # the run ended by another of its requirements
        found[requirement].count(row.case, share, bad=bad)


def _side(role: str) -> str:
    return role.rpartition("-")[2]
