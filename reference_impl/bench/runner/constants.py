# SPDX-License-Identifier: BSD-2-Clause
"""tools/bench --constants: which bad paths notice when a constant of the rate control is halved or doubled."""

from __future__ import annotations

import argparse
import re
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from .against import Outcome, build, rows_of, run_row, unpack
from .processes import BenchError
from .program import run_program

CORE = Path("reference_impl/core")
# One file or folder for each place that the rate control has had.
PLACES = ("rate_*.[ch]", "pacing.[ch]", "rate/*.[ch]")
DEFINED = re.compile(r"^#define (?P<name>[A-Z]\w*)[ ]+(?P<value>\d[^/]*?)\s*(?:/\*.*)?$")
NUMBER = re.compile(r"^(?P<number>\d+\.?\d*(?:e-?\d+)?)(?P<suffix>u?)$")
NOTICED = 0.01  # share of a figure


@dataclass(frozen=True)
class Constant:
    """A name that the rate control defines once. `path` is relative to the repository."""

    name: str
    value: str
    path: Path
    line: int  # from 0


def constants_in(root: Path) -> list[Constant]:
    """All names that stand for a number, in the order of files and lines.

    No constants of the rate control: expressions of others, sizes of arrays (`enum`), conversions (core/base/units.h).
    """
    found = []
    for path in sorted({path for place in PLACES for path in (root / CORE).glob(place)}):
        for number, text in enumerate(path.read_text().splitlines()):
            if match := DEFINED.match(text):
                found.append(Constant(match["name"], match["value"], path.relative_to(root), number))
    return found


def scaled(value: str, factor: float) -> str | None:
    """The literal times `factor`; None when it is an expression, or an integer that has no such multiple above 0."""
    match = NUMBER.match(value)
    if match is None:
        return None
    if not match["number"].isdigit():
        return repr(float(match["number"]) * factor)
    whole = int(match["number"]) * factor
    return f"{int(whole)}{match['suffix']}" if whole >= 1 else None


def replace(root: Path, constant: Constant, value: str) -> None:
    """Writes `value` into the definition."""
    path = root / constant.path
    lines = path.read_text().splitlines(keepends=True)
    head, name, rest = lines[constant.line].partition(constant.name)
    lines[constant.line] = head + name + rest.replace(constant.value, value, 1)
    path.write_text("".join(lines))


def outcomes(program: Path, rows: list[str], seeds: int) -> dict[tuple[str, int], Outcome]:
    """The automatic rate's outcome for each row and seed."""
    found = {}
    for row in rows:
        for seed in range(1, seeds + 1):
            for outcome in run_row(program, row, ["--seed", str(seed), "--rate", "auto"])[0]:
                found[row, seed] = outcome
    return found


def noticed(before: dict[tuple[str, int], Outcome], after: dict[tuple[str, int], Outcome]) -> list[str]:
    """The rows that miss a goal that they met, or whose figure changed by more than NOTICED; the first of each seed."""
    words: dict[str, str] = {}
    for (row, seed), old in before.items():
        new = after[row, seed]
        change = new.figure / old.figure - 1
        if old.met and not new.met:
            words[row] = f"{row} BELOW"
        elif abs(change) > NOTICED:
            words.setdefault(row, f"{row} {change:+.1%}")
    return list(words.values())


def try_constant(root: Path, folder: Path, constant: Constant, value: str, given: argparse.Namespace,
                 before: dict[tuple[str, int], Outcome]) -> str:  # fmt: skip
    """What a build with another value shows. The tree is as before afterwards."""
    original = (root / constant.path).read_text()
    replace(root, constant, value)
    try:
        rows = noticed(before, outcomes(build(root, folder), given.rows, given.seeds))
    except BenchError as problem:
        return f"fails: {str(problem).splitlines()[0]}"
    finally:
        (root / constant.path).write_text(original)
    return ", ".join(rows) or "not noticed"


def trials(constants: list[Constant], names: list[str]) -> Iterator[tuple[Constant, str]]:
    for constant in constants:
        if names and constant.name not in names:
            continue
        for factor in (0.5, 2.0):
            value = scaled(constant.value, factor)
            if value is not None:
                yield constant, value


def read_arguments(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="tools/bench --constants",
        description="Halves and doubles each constant of the rate control, runs netblt-paths with the automatic rate, "
        "and prints the rows that miss their goal or change by more than 1 %. A constant that no row notices, either "
        "way, is a candidate for removal. Works on a copy of the commit.",
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these constants (all)")
    parser.add_argument("--count", action="store_true", help="print how many there are, and stop")
    parser.add_argument("--commit", default="HEAD", help="the commit to look at (HEAD)")
    parser.add_argument("--row", dest="rows", action="append", metavar="ROW", help="only this row of netblt-paths")
    parser.add_argument("--seeds", type=int, default=1, metavar="N", help="seeds of each row (1)")
    return parser.parse_intermixed_args(argv)


def main(argv: list[str]) -> int:
    given = read_arguments(argv)
    with tempfile.TemporaryDirectory(prefix="netblt-constants-") as name:
        root, folder = Path(name) / "source", Path(name) / "build"
        unpack(given.commit, root)
        constants = constants_in(root)
        if unknown := set(given.names) - {constant.name for constant in constants}:
            raise BenchError(f"the rate control has no constant {', '.join(sorted(unknown))}")
        if given.count:
            print(len(constants))
            return 0
        program = Path(shutil.copy(build(root, folder), Path(name) / "before"))
        given.rows = given.rows or rows_of(program)
        before = outcomes(program, given.rows, given.seeds)
        for constant, value in trials(constants, given.names):
            result = try_constant(root, folder, constant, value, given, before)
            print(f"{constant.name} {constant.value} -> {value}: {result}", flush=True)
    return 0


if __name__ == "__main__":
    run_program(main)
