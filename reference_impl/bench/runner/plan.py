# SPDX-License-Identifier: BSD-2-Clause
"""The list of measurements, done one after the other, with progress reported on stderr."""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from .processes import BenchError


@dataclass
class Cell:
    """One row's samples of one transport, or why there are none."""

    samples: list[Any] = field(default_factory=list)
    trouble: str | None = None

    def median(self, what: Callable[[Any], float]) -> float | None:
        return statistics.median(what(sample) for sample in self.samples) if self.samples else None

    def mean(self, what: Callable[[Any], float]) -> float | None:
        return statistics.fmean(what(sample) for sample in self.samples) if self.samples else None


@dataclass(frozen=True)
class Step:
    row: str
    title: str
    seconds: float  # what it should take
    cell: Cell
    measure: Callable[[], Any]


def clock(seconds: float) -> str:
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes:02} min"
    return f"{minutes} min {seconds:02} s" if minutes else f"{seconds} s"


def carry_out(steps: list[Step]) -> None:
    """Does them all. What fails is noted in its cell, said at once, and costs no other row."""
    begin = time.monotonic()
    planned_total = sum(step.seconds for step in steps)
    planned_done = 0.0
    for number, step in enumerate(steps, 1):
        elapsed = time.monotonic() - begin
        pace = max(1.0, elapsed / planned_done) if planned_done else 1.0
        left = clock((planned_total - planned_done) * pace)
        print(f"[{number}/{len(steps)}] {step.row}: {step.title} ({left} left)", file=sys.stderr, flush=True)
        planned_done += step.seconds
        try:
            step.cell.samples.append(step.measure())
        except BenchError as problem:
            step.cell.trouble = str(problem)
            print(f"    {problem}", file=sys.stderr, flush=True)
