#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Builds mutants of the reference as programs and measures the wire link with them: how long a run takes beside one of
the unchanged reference, when it prints the first likely cause, and whether that is the requirement that was broken.

Usage: broken_programs.py [--select EXPR] [--share K/N] [--every N] [--report DIR] [--list] [MUTANT ...]

Without names the mutants in CHOSEN are measured. Runs of the reference are between them, one after every N
programs; a ratio compares with the mean of the two nearest. Exit status 1 when a limit is missed."""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import selectors
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from netblt_conformance.common import paths
from netblt_conformance.mutants import mutants
from netblt_conformance.mutants.mutants import Mutant, MutantError
from netblt_conformance.mutants.subject import iut_builder
from netblt_conformance.report.causes_so_far import LIKELY_CAUSE

# Both ends, setup, transfer, timers and closing; each breaks many cases, or makes them wait.
CHOSEN = (
    "only-the-newest-message",
    "sequence-numbers-skip",
    "no-null-ack",
    "no-keepalive",
    "resend-asks-for-everything",
    "no-last-buffer-flag",
    "expiry-asks-nothing",
    "no-repairs-after-the-last-buffer",
    "response-never-sent",
    "header-checksum-off-by-one",
    "dally-for-ever",
    "quit-not-answered",
)
RATIO_MAX = 2.0  # the time of a broken program to that of the reference
DIAGNOSIS_MAX_S = 20.0
REFERENCE_EVERY = 4
LIMIT_S = 3600.0  # of one run
REFERENCE = "the reference"


@dataclasses.dataclass(frozen=True, slots=True)
class Measured:
    """One run."""

    name: str
    seconds: float
    diagnosis_s: float | None = None
    cause: str = ""
    planted: str = ""
    rows: int = 0
    failed: int = 0


BUILT = "bin/netblt"
CORE_LIBRARY = "lib/libnetblt.a"


def build_program(entry: Mutant, folder: Path, objects: Path) -> Path:
    """The program `netblt` with the edits of the mutant. MutantError when it cannot be built."""
    builder, build = iut_builder(), paths.build()
    core = folder / "core"
    mutants.apply(entry, paths.root() / "reference_impl" / "core", core)
    program = folder / "netblt"
    try:
        own = builder.compile_sources(core, sorted(core.rglob("*.c")), objects)
    except builder.CompileError as error:
        raise MutantError(f"mutant {entry.name} does not compile: {error}") from None
    link = _link_command(build, program, [str(path) for path in own.values()])
    done = subprocess.run(link, cwd=build, capture_output=True, text=True, check=False)
    if done.returncode:
        raise MutantError(f"mutant {entry.name} cannot be linked: {done.stderr.strip()}")
    return program


def _link_command(build: Path, program: Path, core: list[str]) -> list[str]:
    """The command with which the build links `netblt`, with these objects in place of the core's library."""
    done = subprocess.run(
        ["ninja", "-C", str(build), "-t", "commands", "-s", BUILT], capture_output=True, text=True, check=False
    )
    words = [word for word in shlex.split(done.stdout) if word not in (":", "&&")]
    if CORE_LIBRARY not in words or BUILT not in words:
        raise MutantError(f"{build} does not link {BUILT} with {CORE_LIBRARY}: run tools/build first")
    words[words.index(BUILT)] = str(program)
    at = words.index(CORE_LIBRARY)
    return words[:at] + core + words[at + 1 :]


def write_adapter(name: str, folder: Path) -> Path:
    """The adapter of the reference, for the program that lies beside it."""
    text = (paths.adapters() / "reference.toml").read_text(encoding="utf-8")
    text = text.replace("{bin}/netblt", "{adapter_dir}/netblt").replace("netblt reference", f"netblt, {name}")
    adapter = folder / "adapter.toml"
    adapter.write_text(text, encoding="utf-8")
    return adapter


def measure(name: str, planted: str, adapter: Path | None, report: Path, options: Sequence[str]) -> Measured:
    """One run of the wire link."""
    command = [sys.executable, "-m", "netblt_conformance", "run", "--link", "wire", "--quiet", "--report", str(report)]
    command += [*options, *(["--adapter", str(adapter)] if adapter is not None else [])]
    report.mkdir(parents=True, exist_ok=True)
    began_s, diagnosis_s, cause = time.monotonic(), None, ""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    with process, (report / "output.txt").open("wb") as log:
        for line in lines_of(process, began_s + LIMIT_S):
            log.write(line)
            text = line.decode("utf-8", "replace").strip()
            if diagnosis_s is None and text.startswith(LIKELY_CAUSE):
                diagnosis_s = time.monotonic() - began_s
                cause = text.removeprefix(LIKELY_CAUSE).strip()
    seconds = time.monotonic() - began_s
    verdicts = verdicts_of(report)
    return Measured(name, seconds, diagnosis_s, cause, planted, len(verdicts), verdicts.count("FAIL"))


def lines_of(process: subprocess.Popen[bytes], until_s: float) -> Iterator[bytes]:
    """What it prints, line by line; it is killed when it goes on for too long."""
    assert process.stdout is not None
    rest = b""
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        while selector.select(max(0.0, until_s - time.monotonic())):
            chunk = os.read(process.stdout.fileno(), 1 << 16)
            if not chunk:
                return
            *lines, rest = (rest + chunk).split(b"\n")
            yield from (line + b"\n" for line in lines)
    process.kill()


def verdicts_of(report: Path) -> list[str]:
    lines = (report / "results.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    return [row["verdict"] for row in rows if row["kind"] == "result"]


def order(names: Sequence[str], every: int) -> list[str]:
    """The reference first, after every `every` programs, and last."""
    planned = [REFERENCE]
    for place, name in enumerate(names, 1):
        planned.append(name)
        if place % every == 0 or place == len(names):
            planned.append(REFERENCE)
    return planned


def ratios(runs: Sequence[Measured]) -> list[float | None]:
    """For each run of a broken program: its time to the mean of the reference's nearest runs before and after it."""
    found: list[float | None] = []
    for place, run in enumerate(runs):
        if run.name == REFERENCE:
            found.append(None)
            continue
        before = next((other for other in reversed(runs[:place]) if other.name == REFERENCE), None)
        after = next((other for other in runs[place:] if other.name == REFERENCE), None)
        near = [other.seconds for other in (before, after) if other is not None]
        found.append(run.seconds / (sum(near) / len(near)) if near else None)
    return found


def table(runs: Sequence[Measured]) -> list[str]:
    """One line for each run."""
    lines = [f"{'program':<34} {'time':>8} {'ratio':>6} {'first':>7} {'FAIL':>5} {'rows':>5}  planted    first cause"]
    for run, ratio in zip(runs, ratios(runs), strict=True):
        first = f"{run.diagnosis_s:5.1f} s" if run.diagnosis_s is not None else "-"
        beside = f"{ratio:.2f}" if ratio is not None else "-"
        words = f"{run.name:<34} {run.seconds:6.0f} s {beside:>6} {first:>7} {run.failed:>5} {run.rows:>5}"
        lines.append(f"{words}  {run.planted or '-':<10} {run.cause or '-'}")
    return lines


def missed(runs: Sequence[Measured]) -> list[str]:
    """The limits that were exceeded, as text."""
    found = []
    for run, ratio in zip(runs, ratios(runs), strict=True):
        if run.name == REFERENCE:
            if run.failed:
                found.append(f"{run.name}: {run.failed} FAIL")
            continue
        if ratio is not None and ratio > RATIO_MAX:
            found.append(f"{run.name}: {ratio:.2f} times the time of the reference; at most {RATIO_MAX:g} is allowed")
        if run.diagnosis_s is None:
            found.append(f"{run.name}: no likely cause was printed")
        elif run.diagnosis_s > DIAGNOSIS_MAX_S:
            found.append(f"{run.name}: first likely cause after {run.diagnosis_s:.1f} s, limit {DIAGNOSIS_MAX_S:g} s")
    return found


def run(given: argparse.Namespace, entries: Sequence[Mutant], folder: Path) -> int:
    by_name = {entry.name: entry for entry in entries}
    options = [
        *(["--select", given.select] if given.select else []),
        *(["--share", given.share] if given.share else []),
    ]
    adapters: dict[str, Path] = {}
    for entry in entries:
        place = folder / entry.name
        place.mkdir(parents=True)
        build_program(entry, place, folder / "objects")
        adapters[entry.name] = write_adapter(entry.name, place)
    runs: list[Measured] = []
    for number, name in enumerate(order([entry.name for entry in entries], given.every)):
        report = (given.report or folder / "reports") / f"{number}-{name.replace(' ', '-')}"
        planted = by_name[name].requirement if name in by_name else ""
        runs.append(measure(name, planted, adapters.get(name), report, options))
        print(table(runs)[-1], flush=True)
    print("\n".join(["", *table(runs), *missed(runs)]))
    return int(bool(missed(runs)))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="MUTANT")
    parser.add_argument("--select", default="", help="only these cases")
    parser.add_argument("--share", default="", metavar="K/N", help="one part of the cases")
    parser.add_argument("--every", type=int, default=REFERENCE_EVERY, help="programs between two runs of the reference")
    parser.add_argument("--report", type=Path, help="folder for the reports (default: a temporary one)")
    parser.add_argument("--list", action="store_true", help="print the programs and what each breaks, and run nothing")
    given = parser.parse_args()
    try:
        entries = mutants.chosen(mutants.load(paths.mutants()), given.names or CHOSEN)
        if given.list:
            print("\n".join(f"{entry.requirement:<10} {entry.name}: {entry.about}" for entry in entries))
            return 0
        with tempfile.TemporaryDirectory(prefix="netblt-broken-") as name:
            return run(given, entries, Path(name))
    except MutantError as error:
        print(f"broken_programs.py: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
