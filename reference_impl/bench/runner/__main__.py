# SPDX-License-Identifier: BSD-2-Clause
"""tools/bench: measures and prints one table. `tools/bench --help` lists the options."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from . import report
from .everything import plan_groups
from .groups import Settings
from .peers import Build
from .plan import carry_out, clock
from .program import end_orderly, run_program

ROOT = Path(__file__).resolve().parents[3]


def read_arguments(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="tools/bench",
        description="Measures NETBLT beside TCP, QUIC, UDT and SRT, in network namespaces of its own. Everything is "
        "interleaved in one run, so compare ratios, not runs.",
        epilog="Exit status: 0 every bound was met, 1 one was not, 2 it could not run, 130 interrupted.",
    )
    parser.add_argument("--full", action="store_true", help="all paths, three seeds, long runs: more than three hours")
    parser.add_argument("--rows", metavar="TEXT", action="append", default=[],
                        help="only rows or transports whose name contains TEXT; may be repeated")  # fmt: skip
    parser.add_argument("--rounds", type=int, metavar="N", help="interleaved rounds of the speed rows (5; --full: 7)")
    parser.add_argument("--seconds", type=float, metavar="S", help="length of a speed measurement (3; --full: 5)")
    parser.add_argument("--seeds", type=int, metavar="N", help="seeds of the bad paths (1; --full: 3)")
    parser.add_argument("--path-seconds", type=float, metavar="S", help="length of a run on a bad path (20; --full: "
                        "60, 120 at 1800 ms)")  # fmt: skip
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every sample there")
    parser.add_argument("--update-docs", action="store_true", help="put the table into docs/bench.md")
    parser.add_argument("--build", type=Path, default=ROOT / "build", metavar="DIR", help="build folder (build)")
    parser.add_argument("--list", action="store_true", help="print what would be measured, and stop")
    given = parser.parse_args(argv)
    for name in ("rounds", "seconds", "seeds", "path_seconds"):
        value = getattr(given, name)
        if value is not None and value <= 0:
            parser.error(f"--{name.replace('_', '-')} {value}: want more than 0")
    return given


def main(argv: list[str]) -> int:
    given = read_arguments(argv)
    end_orderly()
    settings = Settings.of(given)
    groups = plan_groups(Build(given.build), settings)
    steps = [step for group in groups for step in group.steps]
    if given.list:
        for step in steps:
            print(f"{step.row}: {step.title}")
    if not steps:
        print("tools/bench: nothing to measure: see tools/bench --list", file=sys.stderr)
        return 2
    if given.list:
        return 0
    print(f"{len(steps)} measurements, about {clock(sum(step.seconds for step in steps))}", file=sys.stderr)
    carry_out(steps)
    results = [group.finish() for group in groups if group.steps or group.always]
    report.publish(results, argv, given.json, ROOT / "docs" / "bench.md" if given.update_docs else None)
    return 0 if all(check.met for result in results for check in result.checks) else 1


if __name__ == "__main__":
    run_program(main)
