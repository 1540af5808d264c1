#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What captures at both ends settle: suspicions and violations in one file with the captures of both ends of random
transfers, judged without and with the preference netblt.capture_points.

    dissector/tests/two_points.py COUNT SEED [--library LIBRARY] [--wrong MUTANT|VARIANT] [--calm]

With --wrong the left end is a mutant or a legal variant of the reference. Prints both counts for each rule and each
end, and every violation against an end that conforms. Exit code 1 when there is one, or when less than nine tenths of
the suspicions are settled.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from netblt_conformance.mutants import mutants as machinery

from dissector.tests.forge import Frame, write_pcapng
from dissector.tests.mutants import build_script, plans
from dissector.tests.reader import Reader
from dissector.tests.transfers import Plan, in_batches, load, random_plan, run_all

ROOT = Path(__file__).resolve().parents[2]
BATCH = 100
FIELDS = (
    "frame.number",
    "netblt.analysis.requirement",
    "netblt.analysis.verdict",
    "netblt.analysis.offender",
    "_ws.expert.message",
    "netblt.finding",
)
SETTLED_SHARE = 0.9


@dataclass
class Counts:
    """Findings by (requirement, whether the left end is suspected)."""

    violations: Counter[tuple[str, bool]] = field(default_factory=Counter)
    suspicions: Counter[tuple[str, bool]] = field(default_factory=Counter)
    texts: dict[tuple[str, bool], list[str]] = field(default_factory=dict)

    def add(self, reader: Reader, path: Path, *options: str) -> None:
        for row in reader.rows(path, *FIELDS, options=("-2", "-Y", "netblt.analysis.verdict", *options)):
            columns = (row[name] for name in FIELDS[1:4])
            messages = row["netblt.finding"]
            for number, (requirement, verdict, offender) in enumerate(zip(*columns, strict=True)):
                key = requirement, offender.split()[0].endswith(("1",))
                (self.violations if verdict == "violation" else self.suspicions)[key] += 1
                kept = self.texts.setdefault((f"{verdict} {requirement}", key[1]), [])
                if len(kept) < 3:
                    text = messages[number] if number < len(messages) else "; ".join(messages)
                    kept.append(f"frame {row['frame.number'][0]}: {text}")


def write(path: Path, frames: list[Frame], plans: list[Plan]) -> str:
    """Captures at both ends; of each transfer the sender has one of two interfaces. The preference that states it."""
    kept = []
    for frame in frames:
        if frame.interface == 1:
            continue
        index = _transfer(frame.data)
        left = frame.interface == 0
        frame.interface = 0 if left == plans[index].left_sends else 1
        kept.append(frame)
    write_pcapng(path, kept, interfaces=("at the sender", "at the receiver"))
    return "netblt.capture_points:sender,receiver"


def _transfer(data: bytes) -> int:
    if data[0] >> 4 == 4:
        return data[13] << 8 | data[14]
    return data[8 + 13] << 8 | data[8 + 14]


def library_of(name: str, work: Path) -> tuple[Path, bool]:
    """The mutant or variant of this name, built; and whether it is legal."""
    builder = build_script()
    found = [one for one in machinery.load(ROOT / "conformance" / "mutants") if one.name == name]
    legal = [one for one in machinery.load_variants(ROOT / "conformance" / "variants") if one.name == name]
    entry = (found + legal)[0]
    machinery.apply(entry, ROOT / "reference_impl" / "core", work / name / "core")
    builder.build_iut(work / name / "core", work / f"{name}.so", cache=work / "objects")
    return work / f"{name}.so", bool(legal)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("count", type=int)
    parser.add_argument("seed", type=int)
    parser.add_argument("--library", type=Path, default=ROOT / "build" / "lib" / "libnetblt_iut.so")
    parser.add_argument("--wrong", metavar="NAME")
    parser.add_argument("--calm", action="store_true")
    parser.add_argument("--keep", type=Path)
    given = parser.parse_args()
    before, after = Counts(), Counts()
    with tempfile.TemporaryDirectory(prefix="netblt-points-") as name:
        work = Path(name)
        reader = Reader(work)
        left, legal = library_of(given.wrong, work) if given.wrong else (given.library, True)
        if given.wrong:
            every = plans(given.count)
        else:
            every = [random_plan(given.seed * 1_000_003 + n, calm=given.calm) for n in range(given.count)]
        for plan in every:  # captures that lack nothing
            plan.view.capture_loss, plan.view.skip, plan.view.snaplen = 0.0, 0.0, 0
        for batch in in_batches(every, BATCH):
            frames, _ = run_all(batch, load(left), load(given.library))
            path = work / "transfers.pcapng"
            preference = write(path, frames, batch)
            before.add(reader, path)
            after.add(reader, path, "-o", preference)
            if given.keep:
                shutil.copy(path, given.keep)
    wrong = 0
    for key in sorted(before.suspicions | before.violations | after.violations | after.suspicions):
        end = "left" if key[1] else "right"
        print(
            f"{key[0]:10} {end:5} suspicions {before.suspicions[key]:5} -> {after.suspicions[key]:5}   "
            f"violations {before.violations[key]:5} -> {after.violations[key]:5}"
        )
        if after.violations[key] and (legal or not key[1]):
            wrong += after.violations[key]
            for text in after.texts[f"violation {key[0]}", key[1]]:
                print(f"    wrong: {text}")
        elif after.suspicions[key]:
            for text in after.texts.get((f"suspected {key[0]}", key[1]), []):
                print(f"    left: {text}")
    total, left_over = sum(before.suspicions.values()), sum(after.suspicions.values())
    print(f"{total} suspicions before, {left_over} after; {wrong} wrong violations")
    return 1 if wrong or left_over > (1 - SETTLED_SHARE) * total else 0


if __name__ == "__main__":
    sys.exit(main())
