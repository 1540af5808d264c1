# SPDX-License-Identifier: GPL-2.0-or-later
"""Which run a free worker starts next. On a real link runs wait for real timers, so their order decides how long all of
them take and how soon the first failures are known."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import Field

from netblt_conformance.common import toml_file
from netblt_conformance.common.toml_file import Table, Texts

# Of the workers this part may wait in long runs while short ones are left: half the workers finish the long runs well
# before the short ones end, and half of them find the first failures.
LONG_RUNS_SHARE = 0.5
# Up to this long, the first case of a requirement is started among the short ones, and before them: failures are to be
# known within 20 s.
FIRST_CASE_MAX_S = 10.0
DURATIONS = "durations.toml"
FIRST_RUNS = "first_runs.toml"


class _Durations(Table):
    seconds: dict[str, Annotated[float, Field(ge=0)]]


class _FirstRuns(Table):
    runs: Texts


@dataclass(frozen=True, slots=True)
class Planned:
    """One run that waits to be started."""

    key: str
    case: str
    title: str  # the case with its variant
    requirement: str  # the first one that it judges
    role: str


def durations(suite: Path) -> dict[str, float]:
    """Seconds that a case takes on the wire link, by its name; only cases that take long are listed."""
    return toml_file.read(suite / DURATIONS, _Durations).seconds


def first_runs(suite: Path) -> list[str]:
    """Keys of the runs that show most faults soonest, in this order."""
    return list(toml_file.read(suite / FIRST_RUNS, _FirstRuns).runs)


def in_breadth(runs: Sequence[Planned]) -> dict[str, int]:
    """Key -> place of the run's case among those of its requirement and role. Run in the order of these places, a fault
    of any kind shows early. Both arms of a case have the same place."""
    cases: dict[tuple[str, str], dict[str, int]] = {}
    place: dict[str, int] = {}
    for run in runs:
        known = cases.setdefault((run.requirement, run.role), {})
        place[run.key] = known.setdefault(run.title, len(known))
    return place


def deciding(runs: Sequence[Planned]) -> dict[str, str]:
    """Key -> requirement of the first run that judges it, in each role."""
    place = in_breadth(runs)
    return {run.key: run.requirement for run in runs if place[run.key] == 0}


def _by_length(
    runs: Sequence[Planned], seconds: Mapping[str, float], first: Sequence[str]
) -> tuple[list[Planned], list[Planned]]:
    """The short runs, those of `first` before the others in breadth, and the long ones by length."""
    place, rank = in_breadth(runs), {key: number for number, key in enumerate(first)}
    short: list[Planned] = []
    long: list[Planned] = []
    for run in runs:
        expected_s = seconds.get(run.case, 0.0)
        is_first = (run.key in rank or place[run.key] == 0) and expected_s <= FIRST_CASE_MAX_S
        (short if is_first or not expected_s else long).append(run)
    short.sort(key=lambda run: (rank.get(run.key, len(rank)), place[run.key], -seconds.get(run.case, 0.0)))
    long.sort(key=lambda run: -seconds[run.case])
    return short, long


class Schedule:
    """The runs that are left. The first run of a role detects how the implementation plays it; until that is known,
    no other run of the role starts."""

    def __init__(
        self,
        runs: Sequence[Planned],
        jobs: int,
        seconds: Mapping[str, float] | None = None,
        first: Sequence[str] = (),
    ) -> None:
        """`seconds`: of the long cases, by name, on a link where they take real time. None: the order stays. `first`:
        keys of the runs to start first there."""
        self._short, self._long = list(runs), list[Planned]()
        if seconds is not None:
            self._short, self._long = _by_length(runs, seconds, first)
        self._long_at_a_time = max(1, int(jobs * LONG_RUNS_SHARE))
        self._running: dict[str, tuple[Planned, bool]] = {}
        self._known: set[str] = set()
        self._all = {run.key: run for run in runs}

    @property
    def left(self) -> int:
        """Runs that have not been started."""
        return len(self._short) + len(self._long)

    def take(self) -> str | None:
        """The key of the run to start now; None while none may start."""
        long_ones = sum(is_long for _, is_long in self._running.values())
        queues = [(self._long, True), (self._short, False)]
        if long_ones >= self._long_at_a_time:
            queues.reverse()
        unsure = Counter(run.role for run, _ in self._running.values() if run.role not in self._known)
        for queue, is_long in queues:
            for place, run in enumerate(queue):
                if not unsure[run.role]:
                    del queue[place]
                    self._running[run.key] = (run, is_long)
                    return run.key
        return None

    def known(self, role: str) -> None:
        """How the implementation plays this role has been detected."""
        self._known.add(role)

    def ended(self, key: str) -> None:
        """A run that was started is over, whatever became of it."""
        self._running.pop(key, None)

    def again(self, key: str) -> None:
        """A run that is over has to run once more. It comes first: it needs long."""
        self._long.insert(0, self._all[key])
