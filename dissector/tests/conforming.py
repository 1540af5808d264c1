#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Judges random conforming transfers: no violation may be reported.

    dissector/tests/conforming.py COUNT SEED [--library LIBRARY] [--keep FILE] [--calm] [--position POSITION]

Prints what was suspected, per rule and capture point, and every violation with the seed of its transfer. Exit code
0: no violation; 1: violations; 2: it could not be tried.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from dissector.tests.forge import write_pcapng
from dissector.tests.reader import Reader
from dissector.tests.transfers import POINTS, Plan, in_batches, load, random_plan, run_all

ROOT = Path(__file__).resolve().parents[2]
BATCH = 250
FIELDS = (
    "frame.number",
    "frame.interface_name",
    "netblt.analysis.requirement",
    "netblt.analysis.verdict",
    "ip.src",
    "ipv6.src",
    "netblt.analysis.offending_frame",
    "_ws.expert.message",
)


@dataclass
class Judgement:
    """What the dissector said about a number of transfers."""

    transfers: int = 0
    good: int = 0
    packets: int = 0
    counted: Counter[tuple[str, str, str]] = field(default_factory=Counter)  # requirement, verdict, point
    by_transfer: dict[int, set[tuple[str, str]]] = field(default_factory=dict)  # seed -> (requirement, verdict)
    violations: list[str] = field(default_factory=list)

    def add(self, other: Judgement) -> None:
        self.transfers += other.transfers
        self.good += other.good
        self.packets += other.packets
        self.counted += other.counted
        self.by_transfer |= other.by_transfer
        self.violations += other.violations


def index_of(row: dict[str, list[str]]) -> int:
    """Which transfer of the batch: it is in the addresses (transfers.py)."""
    if row["ip.src"]:
        parts = row["ip.src"][0].split(".")
        return int(parts[1]) << 8 | int(parts[2])
    groups = row["ipv6.src"][0].split(":")
    return (int(groups[-2], 16) & 255) << 8 | int(groups[-1], 16) >> 8


def judge(
    reader: Reader, path: Path, plans: list[Plan], library: Path, *options: str, other: Path | None = None
) -> Judgement:
    """Runs the transfers into one file, and the dissector over it."""
    frames, good = run_all(plans, load(library), load(other) if other else None)
    write_pcapng(path, frames, interfaces=POINTS)
    result = Judgement(len(plans), good, len(frames))
    for row in reader.rows(path, *FIELDS, options=("-Y", "netblt.analysis.verdict", *options)):
        point = row["frame.interface_name"][0]
        plan = plans[index_of(row)]
        for requirement, verdict in zip(
            row["netblt.analysis.requirement"], row["netblt.analysis.verdict"], strict=True
        ):
            result.counted[requirement, verdict, point] += 1
            result.by_transfer.setdefault(plan.seed, set()).add((requirement, verdict))
            if verdict == "violation":
                text = "; ".join(row["_ws.expert.message"])
                result.violations.append(
                    f"seed {plan.seed}, {point}, frame {row['frame.number'][0]}: {requirement}: {text}"
                )
    return result


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("count", type=int)
    parser.add_argument("seed", type=int)
    parser.add_argument("--library", type=Path, default=ROOT / "build" / "lib" / "libnetblt_iut.so")
    parser.add_argument("--keep", type=Path, help="keep the capture of the last batch here")
    parser.add_argument("--calm", action="store_true", help="good paths, in full view")
    parser.add_argument("--position", choices=("auto", "sender", "receiver", "between"), default="auto")
    options = parser.parse_args()
    if not options.library.is_file():
        print(f"{options.library} is not there: run tools/build", file=sys.stderr)
        return 2
    total = Judgement()
    with tempfile.TemporaryDirectory(prefix="netblt-conforming-") as name:
        reader = Reader(Path(name))
        plans = [random_plan(options.seed * 1_000_003 + i, calm=options.calm) for i in range(options.count)]
        for batch in in_batches(plans, BATCH):
            path = Path(name) / "transfers.pcapng"
            total.add(judge(reader, path, batch, options.library, "-o", f"netblt.capture_position:{options.position}"))
            print(
                f"{total.transfers} transfers, {total.packets} packets, {len(total.violations)} violations", flush=True
            )
        if options.keep:
            options.keep.write_bytes(path.read_bytes())
    for (requirement, verdict, point), times in sorted(total.counted.items()):
        print(f"{requirement:10} {verdict:10} {point:7} {times}")
    for line in total.violations:
        print(line)
    print(f"{total.good} of {total.transfers} transfers came to a good end")
    return 1 if total.violations else 0


if __name__ == "__main__":
    sys.exit(main())
