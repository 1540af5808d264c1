# SPDX-License-Identifier: BSD-2-Clause
"""Groups of rows: which steps they need, and what their samples amount to."""

from __future__ import annotations

import argparse
import statistics
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol, TypeVar

from . import measure
from .measure import PathResult, Speed
from .peers import Build, Netblt, Peer
from .plan import Cell, Step
from .report import Check, Table
from .rows import (
    YARDSTICK,
    Bound,
    PathRow,
    overhead_bound,
)

SETUP_S = 1.5  # namespaces, start, end
MTU = 1500


class Row(Protocol):
    """What is measured in turns."""

    @property
    def key(self) -> str: ...

    @property
    def title(self) -> str: ...

    def missing(self, build: Build) -> str | None:
        """Why it cannot be measured."""


_Row = TypeVar("_Row", bound=Row)


@dataclass(frozen=True)
class Settings:
    full: bool
    only: Sequence[str]
    rounds: int
    seconds: float
    seeds: int
    path_seconds: float | None  # None: each path's own

    @classmethod
    def of(cls, given: argparse.Namespace) -> Settings:
        full: bool = given.full
        path_seconds = given.path_seconds or (None if full else 20.0)
        return cls(full, given.rows, given.rounds or (7 if full else 5), given.seconds or (5.0 if full else 3.0),
                   given.seeds or (3 if full else 1), path_seconds)  # fmt: skip

    @property
    def few_rounds(self) -> int:
        """Of rows beside the usual ones: the whole benchmark shall stay short."""
        return (self.rounds + 1) // 2

    def wants(self, *names: str) -> bool:
        return not self.only or any(text.lower() in name.lower() for text in self.only for name in names)


@dataclass
class Group(ABC):
    """Rows that are measured together and shown in one table."""

    title: str
    steps: list[Step] = field(default_factory=list)
    always: bool = False  # shown even when nothing could be measured

    @abstractmethod
    def finish(self) -> Table:
        """What was measured, once its steps are done."""


@dataclass
class TurnsGroup(Group):
    """Rows that take turns, round after round."""

    cells: dict[str, Cell] = field(default_factory=dict)

    def take_turns(
        self, build: Build, rows: Sequence[_Row], rounds: int, seconds: float, measured: Callable[[_Row], object]
    ) -> None:
        """A step for each row that is not missing, `rounds` times; `seconds`: what one takes."""
        for row in rows:
            self.cells[row.key] = Cell(trouble=row.missing(build))
        for turn in range(rounds):
            for row in rows:
                if row.missing(build) is None:
                    title = f"{row.title}, round {turn + 1} of {rounds}"
                    self.steps.append(Step(self.title, title, seconds, self.cells[row.key], partial(measured, row)))


def number(value: float | None, digits: int = 2) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


@dataclass
class SpeedGroup(TurnsGroup):
    """Unlimited line, all transports in turn, round after round."""

    peers: list[Peer] = field(default_factory=list)
    bounds: list[Bound] = field(default_factory=list)
    yardstick: str = YARDSTICK

    def plan(self, build: Build, settings: Settings) -> None:
        wanted = [peer for peer in self.peers if settings.wants(peer.key, peer.title, self.title)]
        if wanted and all(peer.key != self.yardstick for peer in wanted):
            wanted = [peer for peer in self.peers if peer.key == self.yardstick] + wanted
        self.take_turns(
            build,
            wanted,
            settings.rounds,
            settings.seconds + SETUP_S,
            lambda peer: measure.speed(build, peer, settings.seconds),
        )

    def ratio(self, ours: str, theirs: str, *, settled: bool = False) -> float | None:
        """Median of the ratios of neighbours in time; `settled`: of their second halves."""
        pairs = zip(self._speeds(ours, settled), self._speeds(theirs, settled), strict=False)
        ratios = [mine / other for mine, other in pairs if other]
        return statistics.median(ratios) if ratios else None

    def _speeds(self, key: str, settled: bool) -> list[float]:
        samples: list[Speed] = self.cells[key].samples if key in self.cells else []
        return [sample.settled_bps if settled else sample.goodput_bps for sample in samples]

    def finish(self) -> Table:
        table = Table(self.title, ["transport", "Gb/s", f"of {self.yardstick}", "second half", "CPU s/GB send",
                                   "CPU s/GB receive"])  # fmt: skip
        for peer in self.peers:
            cell = self.cells.get(peer.key)
            if cell is None:
                continue
            samples: list[Speed] = cell.samples
            figures = [
                cell.median(lambda s: s.goodput_bps / 1e9),
                self.ratio(peer.key, self.yardstick),
                self.ratio(peer.key, self.yardstick, settled=True),
                cell.median(lambda s: s.sender_cpu_s_per_gb),
                cell.median(lambda s: s.receiver_cpu_s_per_gb),
            ]
            table.add([peer.title, *map(number, figures)], [vars(sample) for sample in samples])
            if cell.trouble:
                table.notes.append(f"{peer.title}: {cell.trouble}")
        titles = {peer.key: peer.title for peer in self.peers}
        for bound in self.bounds:
            ratio = self.ratio(bound.ours, bound.theirs, settled=bound.settled)
            if ratio is not None:
                goal = "" if bound.goal is None else f", goal {bound.goal:g}"
                half = ", second half" if bound.settled else ""
                what = f"{titles[bound.ours]} / {titles[bound.theirs]}{half}"
                table.checks.append(Check(what, ratio, f">= {bound.share:g}{goal}", ratio >= bound.share))
        return table


@dataclass
class PathGroup(Group):
    """Bad paths, every transport in turn on each."""

    rows: list[PathRow] = field(default_factory=list)
    peers: list[Peer] = field(default_factory=list)
    cells: dict[tuple[str, str], Cell] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)

    def plan(self, build: Build, settings: Settings) -> None:
        if not build.flakeway.exists():
            for row in self.rows:
                for peer in self.peers:
                    self.cells[row.line.name, peer.key] = Cell(trouble="no flakeway (tools/build)")
            return
        for row in (row for row in self.rows if row.quick or settings.full or settings.only):
            seconds = settings.path_seconds or row.long_s
            self.seconds[row.line.name] = seconds
            for seed in range(1, settings.seeds + 1):
                for peer in self.peers:
                    if settings.wants(row.line.name, peer.key, peer.title):
                        self._add(build, row, peer, seed, seconds)

    def _add(self, build: Build, row: PathRow, peer: Peer, seed: int, seconds: float) -> None:
        missing = peer.missing(build)
        cell = self.cells.setdefault((row.line.name, peer.key), Cell(trouble=missing))
        if missing is None:
            measured = partial(measure.bad_path, build, peer, row.line, seed, seconds)
            # A slow peer may take some time to report its result and end.
            cost = seconds + row.line.round_trip_ms / 1e3 + 2 * SETUP_S
            self.steps.append(Step(row.line.name, f"{peer.title}, seed {seed}", cost, cell, measured))

    def finish(self) -> Table:
        peers = [peer for peer in self.peers if any(key == peer.key for _, key in self.cells)]
        table = Table(self.title, ["path", *(peer.title for peer in peers)])
        for row in self.rows:
            cells = [self.cells.get((row.line.name, peer.key)) for peer in peers]
            if any(cell is not None for cell in cells):
                table.add([row.line.name, *map(self._text, cells)],
                          [{"transport": peer.key, "seconds": self.seconds[row.line.name], **vars(sample)}
                           for peer, cell in zip(peers, cells, strict=True)
                           for sample in (cell.samples if cell else ())])  # fmt: skip
                for peer, cell in zip(peers, cells, strict=True):
                    if isinstance(peer, Netblt) and cell is not None and cell.samples:
                        table.checks += self._checks(row, peer, cell)
        for peer in peers:
            troubles = {cell.trouble for (_, key), cell in self.cells.items() if key == peer.key and cell.trouble}
            table.notes += [f"{peer.title}: {trouble}" for trouble in sorted(troubles)]
        return table

    @staticmethod
    def _text(cell: Cell | None) -> str:
        if cell is None:
            return ""
        if not cell.samples:
            return "fails" if cell.trouble and "not " not in cell.trouble else "-"
        share = cell.mean(lambda s: s.second_half)
        overhead = cell.mean(lambda s: s.overhead)
        return f"{number(share, 3)} ({number(overhead)}x)"

    @staticmethod
    def _checks(row: PathRow, peer: Peer, cell: Cell) -> list[Check]:
        samples: list[PathResult] = cell.samples
        share = statistics.fmean(sample.second_half for sample in samples)
        overhead = statistics.fmean(sample.overhead for sample in samples)
        wanted = row.auto if isinstance(peer, Netblt) and peer.rate == "auto" else row.fixed
        most = overhead_bound(row.line, peer.payload_bytes / MTU)
        return [
            Check(f"{row.line.name}, {peer.title}: share", share, f">= {wanted:g}", share >= wanted),
            Check(f"{row.line.name}, {peer.title}: overhead", overhead, f"<= {most:.3f}", overhead <= most),
        ]
