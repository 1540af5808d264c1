# SPDX-License-Identifier: BSD-2-Clause
"""tools/bench --space: NETBLT beside NORM, UFTP, CFDP, QUIC and TCP on the paths of satellites, in one table."""

from __future__ import annotations

import argparse
import sys
import tempfile
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from .. import report
from ..groups import SETUP_S
from ..movers.trial import Trial
from ..movers.workloads import Workload, make_file
from ..peers import Build
from ..plan import Cell, Step, carry_out, clock
from ..processes import BenchError
from ..program import end_orderly, run_program
from . import cfdp, computed, features, netblt_sim
from .paths import PATHS, SpacePath, least_s
from .together import carry_out_together
from .tools import MOVERS
from .trial import try_path
from .virtual import VirtualRun

ROOT = Path(__file__).resolve().parents[4]
PAGE = ROOT / "docs" / "space.md"
VIRTUAL_S = {"cfdp": 30.0, "netblt": 5.0}  # of the machine's time, for one run
CFDP = "cfdp"


@dataclass
class Row:
    """One program: a cell for each path."""

    key: str
    title: str
    cells: dict[str, Cell] = field(default_factory=dict)


def read_arguments(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="tools/bench --space",
        description="Moves a file over the paths of satellites and deep space with netblt, NORM, UFTP, QUIC and TCP, "
        "with real packets in network namespaces of its own, and with NETBLT and CFDP in virtual time. Shows times "
        "against the least that is physically possible, and bytes on the line.",
        epilog="Exit status: 0 measured, 2 it could not run, 130 interrupted.",
    )
    keys = ", ".join(path.key for path in PATHS)
    names = ", ".join(row.key for row in make_rows())
    parser.add_argument("--paths", metavar="NAME", action="append", default=[],
                        help=f"only this of {keys}; may be repeated")  # fmt: skip
    parser.add_argument("--only", metavar="NAME", action="append", default=[],
                        help=f"only this of {names}; may be repeated")  # fmt: skip
    parser.add_argument("--virtual", action="store_true", help="virtual time only: quick, needs no namespaces")
    parser.add_argument("--features", action="store_true", help="the table of features only")
    parser.add_argument("--divide", type=int, default=1, metavar="N", help="files of an N-th of the size, to try it")
    parser.add_argument("--seed", type=int, default=1, help="of losses (1)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every sample there")
    parser.add_argument("--update-docs", action="store_true", help="put the tables into docs/space.md")
    parser.add_argument("--build", type=Path, default=ROOT / "build", metavar="DIR", help="build folder (build)")
    given = parser.parse_args(argv)
    for what, known in (("paths", keys), ("only", names)):
        if unknown := [name for name in getattr(given, what) if name not in known.split(", ")]:
            parser.error(f"--{what} {unknown[0]}: there are {known}")
    if given.divide < 1:
        parser.error(f"--divide {given.divide}: must be greater than zero")
    return given


def make_rows() -> list[Row]:
    return [
        *(Row(f"netblt-{rate}", f"NETBLT, {title} (virtual time)") for rate, title in netblt_sim.RATES.items()),
        Row(CFDP, "CFDP class 2, cfdp-py (virtual time)"),
        *(Row(mover.key, mover.title) for mover in MOVERS),
    ]


def plan_virtual(build: Build, row: Row, path: SpacePath, workload: Workload, seed: int) -> Step | None:
    """The step of one row in virtual time."""
    if row.key == CFDP:
        cell = row.cells[path.key] = Cell(trouble=cfdp.missing(build))
        measure, seconds = partial(cfdp.run_virtual, build, workload, path, seed), VIRTUAL_S["cfdp"]
    else:
        cell = row.cells[path.key] = Cell(trouble=netblt_sim.missing())
        rate = row.key.removeprefix("netblt-")
        measure, seconds = partial(netblt_sim.run_virtual, path, rate, seed), VIRTUAL_S["netblt"]
    return Step(path.title, row.title, seconds, cell, measure) if cell.trouble is None else None


def plan(build: Build, rows: list[Row], paths: list[SpacePath], workloads: dict[int, Workload],
         given: argparse.Namespace) -> tuple[list[Step], list[Step]]:  # fmt: skip
    """The steps that take turns, and those that are carried out at the same time."""
    movers = {mover.key: mover for mover in MOVERS}
    turns: list[Step] = []
    together: list[Step] = []
    for path in paths:
        workload = workloads[path.bytes]
        for row in rows:
            mover = movers.get(row.key)
            if mover is None:
                step = plan_virtual(build, row, path, workload, given.seed)
                turns += [step] if step is not None else []
            elif path.real and not given.virtual:
                cell = row.cells[path.key] = Cell(trouble=mover.missing(build))
                if cell.trouble is None:
                    measure = partial(try_path, build, mover, workload, path, given.seed)
                    step = Step(path.title, row.title, 3 * least_s(path) + SETUP_S, cell, measure)
                    (together if path.together else turns).append(step)
    return turns, together


def shown(row: Row, path: SpacePath) -> str:
    """Seconds, their ratio to the least, and bytes on the line for each byte of the file."""
    cell = row.cells.get(path.key)
    if cell is None:
        return computed.tcp(path) if row.key.startswith("tcp-") and not path.real else "-"
    if not cell.samples:
        return "-" if cell.trouble and cell.trouble.startswith("not ") else "fails"
    sample: Trial | VirtualRun = cell.samples[0]
    if not sample.done:
        arrived = f" ({sample.arrived_bytes / path.bytes:.0%})" if isinstance(sample, Trial) else ""
        return f"> {path.limit_s:g} s{arrived}"
    times = sample.seconds / least_s(path)
    return f"{sample.seconds:.1f} s = {times:.2f} ({sample.wire_bytes / path.bytes:.2f}x)"


def time_tables(rows: list[Row], paths: list[SpacePath]) -> list[report.Table]:
    """One table for each path."""
    tables = []
    for path in paths:
        table = report.Table(f"{path.title}; {path.bytes / 1e6:g} MB, at least {least_s(path):.1f} s",
                             ["program", "time = times the least (bytes on the line)"])  # fmt: skip
        for row in rows:
            cell = row.cells.get(path.key, Cell())
            table.add([row.title, shown(row, path)], [vars(sample) for sample in cell.samples])
            table.notes += [f"{row.title}: {cell.trouble}"] * bool(cell.trouble)
        tables.append(table)
    return tables


def measure_all(given: argparse.Namespace, build: Build, rows: list[Row], paths: list[SpacePath]) -> None:
    with tempfile.TemporaryDirectory(prefix="netblt-space-") as name:
        workloads = {}
        for size in {path.bytes for path in paths}:
            folder = Path(name) / str(size)
            folder.mkdir()
            workloads[size] = make_file(folder, size)
        turns, together = plan(build, rows, paths, workloads, given)
        seconds = sum(step.seconds for step in turns) + max((step.seconds for step in together), default=0)
        print(f"{len(turns) + len(together)} transfers, about {clock(seconds)}", file=sys.stderr)
        carry_out_together(together)
        carry_out(turns)


def main(argv: list[str]) -> int:
    given = read_arguments(argv)
    end_orderly()
    build = Build(given.build.resolve())
    rows = [row for row in make_rows() if not given.only or row.key in given.only]
    paths = [path.shortened(given.divide) for path in PATHS if not given.paths or path.key in given.paths]
    tables = []
    if not given.features:
        if not given.virtual and not build.flakeway.exists():
            raise BenchError("no flakeway (tools/build)")
        measure_all(given, build, rows, paths)
        tables = time_tables(rows, paths)
    tables += features.tables()
    report.publish(tables, ["--space", *argv], given.json, PAGE if given.update_docs else None)
    return 0


if __name__ == "__main__":
    run_program(main)
