# SPDX-License-Identifier: BSD-2-Clause
"""tools/bench --movers: netblt and other programs that move files, on the same paths, in one table."""

from __future__ import annotations

import argparse
import sys
import tempfile
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from .. import report
from ..groups import SETUP_S
from ..lab import Line
from ..peers import Build
from ..plan import Cell, Step, carry_out, clock
from ..processes import BenchError
from ..program import end_orderly, run_program
from .features import LIMIT_S, LINES, TRIALS, Samples
from .tools import MOVERS, Mover, known
from .trial import Event, Trial, try_once
from .workloads import MEGABYTE, Workload, make_file, make_tree, make_zoo

ROOT = Path(__file__).resolve().parents[4]
PAGE = ROOT / "docs" / "movers.md"
OUTAGE_S = 10.0
MIDDLE = 0.4  # of the data have passed when something happens


@dataclass(frozen=True)
class Course:
    """A line, and what happens on it."""

    title: str
    line: Line
    event: Event | None = None


PATHS = [
    Course("clean: 100 Mb/s, 20 ms", Line("", 100, 20)),
    Course("lossy: 100 Mb/s, 100 ms, 1 % lost", Line("", 100, 100, 1)),
    Course("long: 100 Mb/s, 600 ms", Line("", 100, 600)),
    Course(f"interrupted: 20 Mb/s, 50 ms, down for {OUTAGE_S:g} s", Line("", 20, 50), Event(MIDDLE, OUTAGE_S)),
    Course("killed: 20 Mb/s, 50 ms, kill -9 of both ends", Line("", 20, 50), Event(MIDDLE, kills=True)),
]


@dataclass
class Row:
    """One path with one workload: a cell for each mover."""

    path: Course
    workload: Workload
    cells: dict[str, Cell] = field(default_factory=dict)

    @property
    def title(self) -> str:
        return f"{self.path.title}; {self.workload.name}"


def read_arguments(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="tools/bench --movers",
        description="Moves a file and a tree with netblt, rsync over ssh, scp, croc, uftp and NORM, in turns, in "
        "network namespaces of its own; compares every copy with its source; tries the features.",
        epilog="Exit status: 0 measured, 2 it could not run, 130 interrupted.",
    )
    parser.add_argument("--full", action="store_true", help="also a file of 100 MB, three rounds, and more patience")
    parser.add_argument("--only", metavar="NAME", action="append", default=[],
                        help=f"only this of {', '.join(mover.key for mover in MOVERS)}; may be repeated")  # fmt: skip
    parser.add_argument("--paths", metavar="TEXT", action="append", default=[],
                        help="only paths or workloads whose name contains TEXT; may be repeated")  # fmt: skip
    parser.add_argument("--rounds", type=int, metavar="N", help="of everything (1; --full: 3)")
    parser.add_argument("--limit", type=float, metavar="S", help="for one transfer (60; --full: 600)")
    parser.add_argument("--features", action="store_true", help="the table of features only")
    parser.add_argument("--no-features", action="store_true", help="without the table of features")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every sample there")
    parser.add_argument("--update-docs", action="store_true", help="put the tables into docs/movers.md")
    parser.add_argument("--build", type=Path, default=ROOT / "build", metavar="DIR", help="build folder (build)")
    given = parser.parse_args(argv)
    given.rounds = given.rounds or (3 if given.full else 1)
    given.limit = given.limit or (600.0 if given.full else 60.0)
    if given.rounds < 1 or given.limit <= 0:
        parser.error("--rounds and --limit want more than 0")
    return given


def plan_rows(given: argparse.Namespace, build: Build, movers: list[Mover], workloads: list[Workload],
              steps: list[Step]) -> list[Row]:  # fmt: skip
    """Every mover in turn, path by path."""
    rows = [Row(path, workload) for path in PATHS for workload in workloads]
    rows = [row for row in rows if not given.paths or any(text.lower() in row.title.lower() for text in given.paths)]
    for row in rows:
        for mover in movers:
            row.cells[mover.key] = Cell(trouble=mover.missing(build) or mover.cannot(row.workload, build))
        for turn in range(given.rounds):
            for mover in movers:
                cell = row.cells[mover.key]
                if cell.trouble is None:
                    guess = row.workload.bytes * 8 / row.path.line.rate_mbit / 1e6 * 2 + SETUP_S
                    measure = partial(try_once, build, mover, row.workload, row.path.line, turn + 1, row.path.event,
                                      given.limit)  # fmt: skip
                    steps.append(Step(row.title, f"{mover.title}, round {turn + 1}", guess, cell, measure))
    return rows


def shown(cell: Cell) -> str:
    """Seconds, and bytes on the line for each byte of the files."""
    if not cell.samples:
        return "fails" if cell.trouble and not cell.trouble.startswith(("not ", "no ")) else "-"
    done: list[Trial] = [trial for trial in cell.samples if trial.done]
    if len(done) < len(cell.samples):
        trial = next(trial for trial in cell.samples if not trial.done)
        return f"> {trial.seconds:.0f} s ({trial.arrived_bytes / trial.payload_bytes:.0%})"
    return f"{cell.mean(lambda t: t.seconds):.1f} s ({cell.mean(lambda t: t.wire_ratio):.2f}x)"


def time_tables(rows: list[Row], movers: list[Mover]) -> list[report.Table]:
    """One table for each path."""
    tables = []
    for path in dict.fromkeys(row.path for row in rows):
        mine = [row for row in rows if row.path == path]
        table = report.Table(path.title, ["mover", *(row.workload.name for row in mine)])
        for mover in movers:
            cells = [row.cells[mover.key] for row in mine]
            table.add([mover.title, *map(shown, cells)],
                      [{"workload": row.workload.name, **vars(trial)}
                       for row, cell in zip(mine, cells, strict=True) for trial in cell.samples])  # fmt: skip
            table.notes += [f"{mover.title}, {row.workload.name}: {cell.trouble}"
                            for row, cell in zip(mine, cells, strict=True) if cell.trouble]  # fmt: skip
        tables.append(table)
    return tables


def plan_features(build: Build, movers: list[Mover], samples: Samples, steps: list[Step]) -> dict[str, list[Cell]]:
    cells: dict[str, list[Cell]] = {}
    for mover in movers:
        cells[mover.key] = []
    for trial in TRIALS:
        for mover in movers:
            cell = Cell(trouble=mover.missing(build))
            cells[mover.key].append(cell)
            if cell.trouble is None:
                measure = partial(trial, build, mover, samples)
                steps.append(Step("features", f"{mover.title}: {trial.__name__}", LIMIT_S / 15, cell, measure))
    return cells


def feature_table(cells: dict[str, list[Cell]], movers: list[Mover]) -> report.Table:
    table = report.Table("Features, each of them tried", ["feature", *(mover.title for mover in movers)])
    results: dict[str, dict[str, str]] = {}
    for key, mine in cells.items():
        results[key] = {name: text for cell in mine for sample in cell.samples for name, text in sample.items()}
    for name in LINES:
        row = [name, *(results[mover.key].get(name, "-") for mover in movers)]
        table.add(row, [dict(zip(["feature", *results], row, strict=True))])
    for mover in movers:
        troubles = dict.fromkeys(cell.trouble for cell in cells[mover.key] if cell.trouble)
        table.notes += [f"{mover.title}: {trouble}" for trouble in troubles]
    return table


def main(argv: list[str]) -> int:
    given = read_arguments(argv)
    end_orderly()
    build = Build(given.build.resolve())
    if not build.flakeway.exists():
        raise BenchError("no flakeway (tools/build)")
    movers = [known(key) for key in given.only] or MOVERS
    with tempfile.TemporaryDirectory(prefix="netblt-movers-") as name:
        folder = Path(name)
        steps: list[Step] = []
        file = make_file(folder, 10 * MEGABYTE)
        workloads = [file, make_tree(folder, 1000, 10 * MEGABYTE)]
        if given.full:
            workloads.insert(1, make_file(folder, 100 * MEGABYTE))
        rows = [] if given.features else plan_rows(given, build, movers, workloads, steps)
        features = {} if given.no_features else plan_features(build, movers, Samples(file, make_zoo(folder)), steps)
        print(f"{len(steps)} transfers, about {clock(sum(step.seconds for step in steps))}", file=sys.stderr)
        carry_out(steps)
    tables = time_tables(rows, movers) + ([feature_table(features, movers)] if features else [])
    report.publish(tables, ["--movers", *argv], given.json, PAGE if given.update_docs else None)
    return 0


if __name__ == "__main__":
    run_program(main)
