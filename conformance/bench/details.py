#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Processor time of the details of failures: traces, states and excuses of the results in the report of a run, and what
is inferred from one capture point against what the simulated network did. Exit status 1: 900 details take longer than
5 s of one core, or inference is wrong more often than in one packet of a hundred.

Usage: details.py [REPORT]    (REPORT: the folder of a run with failures; without it only the inference)"""

from __future__ import annotations

import argparse
import dataclasses
import itertools
import json
import sys
import time
from collections import Counter
from pathlib import Path

from netblt_conformance.common import paths
from netblt_conformance.common.verdicts import ExitCode, Result
from netblt_conformance.packets.captures import CapturedPacket, CaptureStream
from netblt_conformance.report.page.details import WORTH_A_LOOK
from netblt_conformance.simlib import Flakeway, IutLibrary, IutParams, PcapngWriter, run_pair
from netblt_conformance.trace import build
from netblt_conformance.trace.encode import Reader
from netblt_conformance.trace.model import Fate, Known

DETAILS = 900
SECONDS_MOST = 5.0
WRONG_MOST = 0.01
DELAY_NS = 1_000_000  # of the links in virtual time, unless --delay-ms states another one
BYTES = 128_000
TRANSFERS = 40
A, B = "10.0.0.1", "10.0.0.2"


def results(report: Path) -> list[Result]:
    """What did not pass and has a capture."""
    lines = (report / "results.jsonl").read_text(encoding="utf-8").splitlines()
    found = []
    for row in map(json.loads, lines[1:]):
        del row["kind"]
        row.pop("reason", None)
        found.append(Result.from_json(row))
    return sorted(
        (one for one in found if one.verdict in WORTH_A_LOOK and one.capture), key=lambda one: str(one.capture)
    )


def seconds_of_details(report: Path) -> float:
    """Processor time of 900 details; those of the report are taken as often as needed."""
    found = results(report)
    if not found:
        raise SystemExit(f"{report}: no result that did not pass has a capture")
    began = time.process_time()
    for number, result in enumerate(itertools.islice(itertools.cycle(found), DETAILS)):
        if number % len(found) == 0:
            reader = Reader(report, DELAY_NS)
        reader.of_result(result)
    return time.process_time() - began


def captured(library: IutLibrary, seed: int) -> list[CapturedPacket]:
    """A transfer over a bad network, with what the network reports."""
    rules = (f"latency {(1, 10, 40)[seed % 3]}ms", f"loss {(1, 3, 8, 20)[seed % 4]}%", "corrupt 1%", "duplicate 1%")
    flakeway, writer = Flakeway(seed, *rules), PcapngWriter()
    sender = IutParams(active=bool(seed % 2), sender=True, seed=seed, local_address=A, foreign_address=B)
    receiver = IutParams(active=not seed % 2, sender=False, seed=seed + 1, local_address=B, foreign_address=A)
    with library.start(sender, bytes(BYTES)) as a, library.start(receiver) as b:
        run_pair(a, b, flakeway, capture=writer)
    return [one for one in CaptureStream().feed(writer.bytes()) if isinstance(one, CapturedPacket)]


def inference() -> Counter[str]:
    """How many fates are inferred at either side alone, and how many of them are wrong."""
    library, counts = IutLibrary(paths.iut_library()), Counter[str]()
    for seed in range(TRANSFERS):
        packets = captured(library, seed)
        truth = {event.sent_frame: event.fate for event in build.build(packets).events if event.copy_of is None}
        for side in ("left", "right"):
            here = [dataclasses.replace(one, packet_id=0, comments=()) for one in packets if one.interface.name == side]
            for event in build.build(here).events:
                if event.copy_of is not None or event.sent_frame not in truth:
                    continue
                counts[str(event.known)] += 1
                if event.known is Known.INFERRED:
                    lost = truth[event.sent_frame] in (Fate.LOST, Fate.DAMAGED)
                    counts["wrong"] += lost != (event.fate is Fate.LOST)
    return counts


def main() -> int:
    assert __doc__ is not None
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("report", nargs="?", type=Path)
    options = parser.parse_args()
    counts = inference()
    inferred, wrong = counts[str(Known.INFERRED)], counts["wrong"]
    print(f"one capture point: {inferred} fates inferred, {wrong} wrong; {counts[str(Known.ASSUMED)]} assumed or open")
    failed = wrong > WRONG_MOST * inferred
    if options.report is not None:
        took_s = seconds_of_details(options.report)
        print(f"{DETAILS} details: {took_s:.2f} s of one core ({took_s / DETAILS * 1000:.1f} ms each)")
        failed |= took_s > SECONDS_MOST
    return ExitCode.FAILED if failed else ExitCode.HOLDS


if __name__ == "__main__":
    sys.exit(main())
