#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""How many packets a second the simulator carries on one core: two reference endpoints and a flakeway in virtual time,
beside a loop that packs and unpacks as many DATA headers with Python's struct and does nothing else. The two take
turns; the ratio is the median of the ratios of neighbours. Exit status 1: fewer packets than required.

Usage: simulator.py [--rounds N] [--bytes N] [--least PACKETS_PER_S]"""

from __future__ import annotations

import argparse
import dataclasses
import statistics
import struct
import sys
import time

from netblt_conformance.common import paths
from netblt_conformance.simlib import Flakeway, IutLibrary, IutParams, PairEnd, run_pair

HEADER = struct.Struct(">HBBHHHIHHIHH")  # WIRE-02 and WIRE-10: as many fields as DATA has
PACKET_BYTES = 1432
A, B = "10.0.0.1", "10.0.0.2"


def simulate(library: IutLibrary, data: bytes) -> float:
    """Packets per second of processor time."""
    terms = IutParams(packet_size=PACKET_BYTES, buffer_size=64 * PACKET_BYTES, max_buffers=16, burst_size=64)
    ours = dataclasses.replace(terms, active=True, sender=True, local_address=A, foreign_address=B)
    theirs = dataclasses.replace(terms, active=False, sender=False, local_address=B, foreign_address=A)
    ours = dataclasses.replace(ours, local_port=1, foreign_port=2, burst_interval_ms=1)
    theirs = dataclasses.replace(theirs, local_port=2, foreign_port=1, burst_interval_ms=1)
    with library.start(theirs) as receiver, library.start(ours, data) as sender:
        begun = time.process_time()
        result = run_pair(sender, receiver, Flakeway(1, "latency 1ms", trace=False))
        seconds = time.process_time() - begun
        if result.end is not PairEnd.CLOSED or receiver.delivered != data:
            raise SystemExit(f"the transfer came to nothing: {result.end.name}")
    return sum(result.packets) / seconds


def pack(count: int) -> float:
    """The same for a loop over headers."""
    begun = time.process_time()
    for number in range(count):
        packed = HEADER.pack(0, 2, 6, 1456, 1, 2, number, number & 0xFFFF, 1432, 0, 0, 0)
        HEADER.unpack(packed)
    return count / (time.process_time() - begun)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5, metavar="N", help="turns of each (default: 5)")
    parser.add_argument("--bytes", type=int, default=64 << 20, metavar="N", help="of each transfer (default: 64 MiB)")
    parser.add_argument("--least", type=float, default=300_000, metavar="N", help="packets a second (default: 300000)")
    given = parser.parse_args()
    library = IutLibrary(paths.build() / "lib" / "libnetblt_iut.so")
    data = bytes(range(256)) * (given.bytes // 256)
    rates, ratios = [], []
    for turn in range(given.rounds):
        rates.append(simulate(library, data))
        headers = pack(given.bytes // PACKET_BYTES)
        ratios.append(rates[-1] / headers)
        print(f"round {turn + 1}: {rates[-1]:,.0f} packets/s simulated, {headers:,.0f} headers/s by struct", flush=True)
    median = statistics.median(rates)
    print(f"median {median:,.0f} packets/s and core, {statistics.median(ratios):.2f} of bare struct handling")
    return 0 if median >= given.least else 1


if __name__ == "__main__":
    sys.exit(main())
