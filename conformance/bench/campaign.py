#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""How campaigns scale and what they cost beside the pools of `run` and `generate`: the same schedules and scripts by a
pool with one job, by a campaign with one worker, and by one with two. They take turns; a ratio is the median of the
ratios of one round. The start and the end of workers, some seconds, are measured apart: the pace of a campaign is that
after its first blocks.

Wall-clock figures need an idle machine with two cores. Processor time needs none: pool and campaign do the same work,
so their ratio of processor time is the overhead, and two workers scale as far as they need no more of it than one.

Usage: campaign.py [--rounds N] [--schedules N] [--scripts N] [--block N]"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from netblt_conformance.campaign import description, kind, prepared
from netblt_conformance.campaign.cluster import Where, connected
from netblt_conformance.campaign.folder import Folder
from netblt_conformance.campaign.kind import Subject
from netblt_conformance.campaign.run import Progress, Run
from netblt_conformance.common import paths
from netblt_conformance.common.model import ALL_ROLES
from netblt_conformance.generated.campaign import Campaign, blocks
from netblt_conformance.generated.campaign import Pool as ScriptPool
from netblt_conformance.links.sim import SimLinkFactory
from netblt_conformance.sweep.workers import Job, Pool, Task

GOAL_SCALING, GOAL_OVERHEAD = 1.8, 1.05
SCRIPTS_LEAST = 100  # in a block
FILE = """\
layout = 1
kind = "{kind}"
seed = 1
units = {units}
block = {block}

[parameters]
dissector = false
"""


def processor_s() -> float:
    """Processor time of this process and of the children that have ended."""
    used = [resource.getrusage(which) for which in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


@dataclass(slots=True)
class Turn:
    """What one turn took."""

    wall_s: float = 0.0
    cpu_s: float = 0.0
    ends_s: float = 0.0  # wall-clock time of the start and end of workers, not in wall_s


@dataclass(slots=True)
class Figures:
    """All turns of one kind of work."""

    turns: dict[str, list[Turn]] = field(default_factory=dict)

    def ratio(self, one: str, other: str, what: str) -> float:
        """The median over the rounds."""
        pairs = zip(self.turns[one], self.turns[other], strict=True)
        ratios: list[float] = [getattr(a, what) / getattr(b, what) for a, b in pairs]
        return statistics.median(ratios)


def write(folder: Path, name: str, units: int, block: int) -> Path:
    path = folder / f"{name}.toml"
    path.write_text(FILE.format(kind=name, units=units, block=block), encoding="utf-8")
    return path


@contextmanager
def timed(turn: Turn) -> Iterator[None]:
    began_s, began_cpu_s = time.monotonic(), processor_s()
    yield
    turn.wall_s, turn.cpu_s = time.monotonic() - began_s, processor_s() - began_cpu_s


# ---- today's pools ----


def nothing(*_what: Any) -> None:
    """The results are not looked at."""


def pool_of_schedules(units: int, block: int) -> Turn:
    wanted = description.Description(layout=1, kind="sweep", units=units)
    made: Any = kind.make(wanted, Subject(), "bench")
    made.count()
    library, turn = paths.iut_library(), Turn()
    with tempfile.TemporaryDirectory() as name, timed(turn):

        def jobs() -> Iterator[Job]:
            for first in range(0, units, block):
                parts: dict[Any, list[Any]] = {}
                for unit in range(first, min(first + block, units)):
                    combination, schedule = made.schedule(unit)
                    parts.setdefault(combination, []).append(schedule)
                for (transfer, role), schedules in parts.items():
                    capture = Path(name) / f"{first}.{transfer.name}.{role}.pcapng"
                    tasks = tuple(Task(library, library, transfer, role, schedule) for schedule in schedules)
                    yield Job(first, tasks, 1, capture)

        Pool(1, nothing, nothing).run(jobs())
    return turn


def pool_of_scripts(units: int, _block: int) -> Turn:
    turn, campaign = Turn(), Campaign(SimLinkFactory(paths.iut_library()), ALL_ROLES, 1, dissector=False)
    with tempfile.TemporaryDirectory() as name, timed(turn):
        ScriptPool(campaign, 1, nothing, nothing, nothing).run(blocks(Path(name), units))
    return turn


# ---- campaigns ----


def tree_cpu_s() -> float:
    """Processor time of this process and of all below it."""
    ticks, level, total = os.sysconf("SC_CLK_TCK"), [os.getpid()], processor_s()
    stats = {}
    for file in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            stats[int(file.parent.name)] = file.read_text().rpartition(")")[2].split()
    while level:
        level = [pid for pid, words in stats.items() if int(words[1]) in level]
        total += sum(sum(map(int, stats[pid][11:15])) for pid in level) / ticks
    return total


@dataclass(slots=True)
class Marks:
    """When so many units had ended: the first mark is after the start of the runners, the last is the end."""

    first: int
    marks: list[tuple[int, float, float]] = field(default_factory=list)

    def show(self, progress: Progress) -> None:
        done = progress.done
        if (not self.marks and done >= self.first) or done == progress.units:
            self.marks.append((done, time.monotonic(), tree_cpu_s()))

    def turn(self, units: int) -> Turn:
        """As if all units had run at the pace between the marks."""
        (begin, began_s, began_cpu_s), (end, ended_s, ended_cpu_s) = self.marks[0], self.marks[-1]
        share = units / (end - begin)
        return Turn((ended_s - began_s) * share, (ended_cpu_s - began_cpu_s) * share)


def campaign(file: Path, workers: int, output: Path) -> Turn:
    """Its processor time is that of all processes: those of the units, Dask's workers, and the command itself."""
    state, subject = prepared.prepare(description.read(file), str(file))
    folder, whole, marks = Folder(output), Turn(), Marks(state.block * workers)
    folder.create(state, subject)
    with timed(whole), connected(Where(workers)) as client:
        Run(folder, state, Where(workers), client, marks.show).run()
    turn = marks.turn(state.units)
    turn.ends_s = whole.wall_s - turn.wall_s
    return turn


def measure(name: str, units: int, block: int, rounds: int, pool: Callable[[int, int], Turn]) -> Figures:
    figures = Figures()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        file = write(folder, name, units, block)
        for turn in range(rounds):
            for label, workers in (("pool", 0), ("one", 1), ("two", 2)):
                took = campaign(file, workers, folder / f"{turn}.{workers}") if workers else pool(units, block)
                figures.turns.setdefault(label, []).append(took)
                print(
                    f"{name} {turn + 1} {label:<4}: {took.wall_s:6.2f} s, {took.cpu_s:6.2f} s of processor time"
                    + (f", {took.ends_s:.2f} s to start and end workers" if took.ends_s else ""),
                    flush=True,
                )
    return figures


def report(name: str, units: int, figures: Figures) -> bool:
    """Prints the ratios. Whether the goals for processor time are reached."""
    overhead, more = figures.ratio("one", "pool", "cpu_s"), figures.ratio("two", "one", "cpu_s")
    cpu_s = statistics.median(turn.cpu_s for turn in figures.turns["one"])
    print(f"{name}: {units / cpu_s:,.0f} units for each second of processor time")
    print(
        f"{name}: wall clock: campaign / pool {figures.ratio('one', 'pool', 'wall_s'):.3f}, "
        f"one worker / two {figures.ratio('one', 'two', 'wall_s'):.2f} (goal {GOAL_SCALING})"
    )
    print(
        f"{name}: processor time: campaign / pool {overhead:.3f} (goal {GOAL_OVERHEAD}), two workers / one {more:.3f}, "
        f"so two idle cores give {2 / more:.2f}"
    )
    return overhead <= GOAL_OVERHEAD and 2 / more >= GOAL_SCALING


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in (("rounds", 3), ("schedules", 40_000), ("scripts", 2_000), ("block", 2_000)):
        parser.add_argument(f"--{name}", type=int, default=default, metavar="N", help=f"default: {default}")
    given = parser.parse_args()
    if given.scripts <= 2 * SCRIPTS_LEAST or given.schedules <= 2 * given.block:
        parser.error(
            f"two workers need more than two blocks: more than {2 * SCRIPTS_LEAST} scripts, and than 2 * --block"
        )
    sweep = measure("sweep", given.schedules, given.block, given.rounds, pool_of_schedules)
    scripts = measure(
        "generated", given.scripts, max(SCRIPTS_LEAST, given.scripts // 2_000 * 100), given.rounds, pool_of_scripts
    )
    good = [report("sweep", given.schedules, sweep), report("generated", given.scripts, scripts)]
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
