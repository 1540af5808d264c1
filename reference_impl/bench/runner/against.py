# SPDX-License-Identifier: BSD-2-Clause
"""tools/bench --against: bad paths in virtual time, an old revision and this tree in turns, and their ratios."""

from __future__ import annotations

import argparse
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from .processes import BenchError
from .program import run_program

ROOT = Path(__file__).resolve().parents[3]
NO_SUCH_ROW = 2  # exit status of netblt-paths


@dataclass(frozen=True)
class Outcome:
    """One line of netblt-paths."""

    row: str
    rate: str
    figure: float
    least: float
    goal: float
    met: bool


@dataclass(frozen=True)
class Pair:
    """The same row, rate and seed with both programs; `cpu` in seconds of user and system time."""

    old: Outcome
    new: Outcome
    old_cpu: float
    new_cpu: float


def read_outcomes(text: str) -> list[Outcome]:
    """The rows of what netblt-paths printed. The first line is its heading."""
    outcomes = []
    for line in text.splitlines()[1:]:
        words = line.split()
        try:
            row, rate, figure, least, goal = words[0], words[1], *map(float, words[2:5])
        except (IndexError, ValueError):
            raise BenchError(f"netblt-paths printed a line that is no row: {line!r}") from None
        outcomes.append(Outcome(row, rate, figure, least, goal, "BELOW" not in words and "SPURIOUS" not in words))
    return outcomes


def cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def run_row(program: Path, row: str, options: list[str]) -> tuple[list[Outcome], float]:
    """The outcomes of one row, none when the program has no such row, and the processor time that it took."""
    before = cpu_seconds()
    done = subprocess.run([program, *options, row], capture_output=True, text=True, check=False)
    if done.returncode == NO_SUCH_ROW and "there is no row" in done.stderr:
        return [], 0.0
    if done.returncode not in (0, 1):
        raise BenchError(f"{program} ended with status {done.returncode}: {done.stderr.strip()}")
    return read_outcomes(done.stdout), cpu_seconds() - before


def in_turns(old: Path, new: Path, row: str, seeds: Iterable[int], rate: str) -> list[Pair]:
    """Runs both programs with each seed. Which of them is first alternates, so that a slow moment hits both."""
    pairs = []
    for seed in seeds:
        options = ["--seed", str(seed), "--rate", rate]
        order = [old, new] if seed % 2 else [new, old]
        results = {program: run_row(program, row, options) for program in order}
        outcomes, cpu = results[old]
        pairs += [Pair(a, b, cpu, results[new][1]) for a, b in zip(outcomes, results[new][0], strict=False)]
    return pairs


def line(pairs: list[Pair]) -> str:
    """One row of the table: means over the seeds, the ratio of the means and the median ratio of processor times."""
    old = statistics.fmean(pair.old.figure for pair in pairs)
    new = statistics.fmean(pair.new.figure for pair in pairs)
    cpu = statistics.median(pair.new_cpu / pair.old_cpu for pair in pairs)
    missed = sum(not pair.new.met for pair in pairs)
    remark = "" if missed == 0 else f"  {missed} of {len(pairs)} seeds BELOW"
    first = pairs[0].new
    ratio = f"{new / old:.4f}" if old else "-"  # nothing was lost, or nothing arrived
    return f"{first.row:<20} {first.rate:<5} {old:8.4f} {new:8.4f} {ratio:>7} {first.goal:7.3f} {cpu:6.2f}{remark}"


def build(source: Path, folder: Path) -> Path:
    """Builds netblt-paths of `source` in `folder`, both revisions with the same options."""
    options = ["-DCMAKE_BUILD_TYPE=RelWithDebInfo", "-DNETBLT_DISSECTOR=OFF", "-DBUILD_TESTING=OFF",
               f"-DPython3_EXECUTABLE={sys.executable}"]  # fmt: skip
    commands: list[list[str | Path]] = [
        ["cmake", "-S", source, "-B", folder, "-G", "Ninja", *options],
        ["cmake", "--build", folder, "--target", "netblt-paths"],
    ]
    for command in commands:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise BenchError(f"could not build {source}:\n{done.stdout}{done.stderr}")
    return folder / "bin" / "netblt-paths"


def unpack(revision: str, folder: Path) -> None:
    """The files of a commit, without its history."""
    archive = subprocess.run(["git", "-C", ROOT, "archive", revision], capture_output=True, check=False)
    if archive.returncode != 0:
        raise BenchError(f"no commit {revision}: {archive.stderr.decode().strip()}")
    folder.mkdir()
    subprocess.run(["tar", "-x", "-C", folder], input=archive.stdout, check=True)


def rows_of(program: Path) -> list[str]:
    text = subprocess.run([program, "--help"], capture_output=True, text=True, check=True).stdout
    return text.partition("Rows:\n")[2].split()


def read_arguments(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="tools/bench --against",
        description="Runs netblt-paths of an old commit and of this tree in turns, with the same seeds, and prints "
        "both figures and their ratio. CPU: processor time, new / old.",
        epilog="Exit status: 0 this tree met every goal, 1 it missed one, 2 it could not run.",
    )
    parser.add_argument("revision", help="the old commit")
    parser.add_argument("rows", nargs="*", metavar="ROW", help="rows of netblt-paths (all)")
    parser.add_argument("--seeds", type=int, default=3, metavar="N", help="seeds of each row (3)")
    parser.add_argument("--rate", choices=("fixed", "auto"), action="append", help="only this rate (both)")
    given = parser.parse_intermixed_args(argv)
    if given.seeds < 1:
        parser.error(f"--seeds {given.seeds}: must be greater than zero")
    return given


def main(argv: list[str]) -> int:
    given = read_arguments(argv)
    with tempfile.TemporaryDirectory(prefix="netblt-against-") as name:
        folder = Path(name)
        unpack(given.revision, folder / "source")
        old = build(folder / "source", folder / "old")
        new = build(ROOT, folder / "new")
        known = rows_of(new)
        if unknown := set(given.rows) - set(known):
            raise BenchError(f"netblt-paths has no row {', '.join(sorted(unknown))}")
        print(f"{'row':<20} {'rate':<5} {'old':>8} {'new':>8} {'new/old':>7} {'goal':>7} {'CPU':>6}", flush=True)
        met = True
        for row in given.rows or known:
            for rate in given.rate or ["fixed", "auto"]:
                pairs = in_turns(old, new, row, range(1, given.seeds + 1), rate)
                if pairs:
                    print(line(pairs), flush=True)
                    met = met and all(pair.new.met for pair in pairs)
    return 0 if met else 1


if __name__ == "__main__":
    run_program(main)
