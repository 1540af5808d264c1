#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Which wrong variants of the reference core does the dissector detect from captures alone?

    dissector/tests/mutants.py [NAME...] [--variants] [--transfers N] [--core FOLDER] [--library LIBRARY]

Every mutant plays the left end, in all roles, against the reference on the right, over good and over bad paths. A line
for each mutant: what it breaks, and what was found against it. A mutant that never shows on the wire cannot be found.
Exit code 1 when a violation of the reference was reported: whatever the mutant does, its peer conforms. With
--variants it is the turn of legal choices of other implementations: none may be called a violation.
"""

from __future__ import annotations

import argparse
import importlib.util
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from netblt_conformance.mutants import mutants as machinery

from dissector.tests.forge import write_pcapng
from dissector.tests.reader import Reader
from dissector.tests.transfers import POINTS, Plan, View, load, random_plan, run_all

ROOT = Path(__file__).resolve().parents[2]
FIELDS = ("netblt.analysis.requirement", "netblt.analysis.verdict", "netblt.analysis.offender", "_ws.expert.message")


@dataclass
class Conviction:
    """What was found against one mutant: (requirement, verdict) and how often; and what against the reference."""

    found: Counter[tuple[str, str]] = field(default_factory=Counter)
    wrongly: Counter[str] = field(default_factory=Counter)
    finished: int = 0

    def verdict(self, requirement: str) -> str:
        for verdict in ("violation", "suspected"):
            if self.found[requirement, verdict]:
                return verdict
        return "other rule" if any(verdict == "violation" for _, verdict in self.found) else "not seen"


def build_script() -> Any:
    """conformance/sim/build_iut.py, which is a script and no part of the package."""
    spec = importlib.util.spec_from_file_location("build_iut", ROOT / "conformance" / "sim" / "build_iut.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def plans(count: int) -> list[Plan]:
    """Good paths and bad ones, all in full view with counting IP IDs."""
    out = []
    for number in range(count):
        plan = random_plan(77_000 + number, calm=number % 2 == 0)
        plan.view = View()
        plan.left_sends = number // 4 % 2 == 0
        plan.left_opens = number // 8 % 2 == 0
        plan.params.max_buffers = max(2, plan.params.max_buffers)
        plan.data_bytes = max(plan.data_bytes, 3 * plan.params.buffer_size)
        if number % 4 == 1:
            plan.rules = (["latency 10ms", f"loss {(3, 10)[number % 8 // 4]}%"], ["latency 5ms", "reorder 5% by 3ms"])
        elif number % 4 == 3:
            plan.rules = (["latency 20ms", "corrupt 4%", "loss 2%"], ["latency 5ms", "duplicate 10%", "loss 5%"])
        if number % 3 == 0:
            plan.data_bytes = max(plan.data_bytes, 20 * plan.params.buffer_size)
            plan.params.burst_interval_ms = max(5, plan.params.burst_interval_ms)
        out.append(plan)
    return out


def try_mutant(reader: Reader, path: Path, library: Path, reference: Path, count: int) -> Conviction:
    chosen = plans(count)
    frames, finished = run_all(chosen, load(library), load(reference))
    write_pcapng(path, frames, interfaces=POINTS)
    result = Conviction(finished=finished)
    rows = reader.rows(path, *FIELDS, options=("-Y", "netblt.analysis.verdict"))
    # Where the mutant sends, the left capture is at the sender, and shows its pace.
    chosen = [plan for plan in chosen if plan.left_sends]
    frames, _ = run_all(chosen, load(library), load(reference))
    write_pcapng(path, [frame for frame in frames if frame.interface == 0], interfaces=POINTS)
    at_sender = ("-Y", "netblt.analysis.verdict", "-o", "netblt.capture_position:sender")
    for row in rows + reader.rows(path, *FIELDS, options=at_sender):
        for requirement, verdict, offender in zip(*(row[name] for name in FIELDS[:3]), strict=True):
            if offender.split()[0].endswith(".1"):
                result.found[requirement, verdict] += 1
            elif verdict == "violation":
                result.wrongly[requirement + " " + "; ".join(row["_ws.expert.message"])] += 1
    return result


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--transfers", type=int, default=48)
    parser.add_argument("--variants", action="store_true")
    parser.add_argument("--core", type=Path, default=ROOT / "reference_impl" / "core")
    parser.add_argument("--library", type=Path, default=ROOT / "build" / "lib" / "libnetblt_iut.so")
    options = parser.parse_args()
    builder = build_script()
    entries: Sequence[machinery.Mutant | machinery.Variant]
    if options.variants:
        entries = machinery.chosen(machinery.load_variants(ROOT / "conformance" / "variants"), options.names)
    else:
        entries = machinery.chosen(machinery.load(ROOT / "conformance" / "mutants"), options.names)
    counted: Counter[str] = Counter()
    blamed = 0
    with tempfile.TemporaryDirectory(prefix="netblt-mutants-") as name:
        work = Path(name)
        reader = Reader(work)
        core = shutil.copytree(options.core, work / "core")  # one state for all, even if it is edited meanwhile
        for mutant in entries:
            library = work / f"{mutant.name}.so"
            machinery.apply(mutant, Path(core), work / mutant.name / "core")
            builder.build_iut(work / mutant.name / "core", library, cache=work / "objects")
            result = try_mutant(reader, work / "transfers.pcapng", library, options.library, options.transfers)
            broken = "" if isinstance(mutant, machinery.Variant) else mutant.requirement
            verdict = result.verdict(broken)
            if options.variants:
                verdict = "BLAMED" if verdict == "other rule" else "legal"
                blamed += verdict == "BLAMED"
            if isinstance(mutant, machinery.Mutant) and not mutant.wire_visible and verdict == "not seen":
                verdict = "invisible"
            counted[verdict] += 1
            others = sorted({f"{r}:{v[0]}" for r, v in result.found if r != broken})
            line = f"{verdict:10} {broken:9} {mutant.name:38} {result.finished:3} finished"
            print(line, *others, flush=True)
            for text, times in result.wrongly.items():
                blamed += times
                print(f"  the reference was blamed {times} times: {text}", flush=True)
    print(", ".join(f"{times} {verdict}" for verdict, times in counted.most_common()))
    return 1 if blamed else 0


if __name__ == "__main__":
    sys.exit(main())
