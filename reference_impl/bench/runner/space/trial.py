# SPDX-License-Identifier: BSD-2-Clause
"""One transfer of a file by a program over a path whose line goes down or changes its delay at given times."""

from __future__ import annotations

from ..lab import PathLab
from ..measure import monotonic_s
from ..movers.tools import Mover, Stage
from ..movers.trial import Transfer, Trial, staged
from ..movers.workloads import Workload
from ..peers import Build
from .paths import Phase, SpacePath

TRIES_MAX = 1000  # as a script would: until the limit


def enter(lab: PathLab, path: SpacePath, before: Phase, phase: Phase) -> None:
    """The line becomes what it is in `phase`."""
    if before.up:
        lab.cut()
    if phase.up:
        lab.join(path.line_in(phase))


class SpaceTransfer(Transfer):
    """The phases of the path begin at their times, counted from the start of the transfer."""

    tries_max = TRIES_MAX

    def __init__(self, mover: Mover, stage: Stage, path: SpacePath) -> None:
        super().__init__(mover, stage, None, path.limit_s)
        self._path = path
        self._phase, *self._next = path.phases

    def _is_time(self) -> bool:
        return bool(self._next) and monotonic_s() - self._first_s >= self._next[0].begin_s

    def _act(self) -> None:
        before, self._phase = self._phase, self._next.pop(0)
        enter(self._stage.lab, self._path, before, self._phase)


def try_path(build: Build, mover: Mover, workload: Workload, path: SpacePath, seed: int) -> Trial:
    with staged(build, mover, workload, path.line, seed) as stage:
        return SpaceTransfer(mover, stage, path).result()
