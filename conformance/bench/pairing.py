#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""How long it takes to pair two captures with many packets: reading, pairing, clocks.

Usage: pairing.py [PACKETS]      packets of each capture (default: 1000000)"""

from __future__ import annotations

import random
import resource
import struct
import sys
import tempfile
import time
from pathlib import Path

from netblt_conformance.packets import ipv4
from netblt_conformance.pairing.paths import Seen, pair
from netblt_conformance.pairing.reading import points

PAYLOAD_BYTES = 64
LOSS, AGAIN = 0.02, 0.02
DELAY_NS, GAP_NS = 5_000_000, 10_000
ENDS = bytes((10, 0, 0, 1)), bytes((10, 0, 0, 2))


def block(kind: int, body: bytes) -> bytes:
    body += bytes(-len(body) % 4)
    return struct.pack("<II", kind, len(body) + 12) + body + struct.pack("<I", len(body) + 12)


def packet_block(time_ns: int, data: bytes) -> bytes:
    return block(6, struct.pack("<5I", 0, time_ns >> 32, time_ns & 0xFFFFFFFF, len(data), len(data)) + data)


def header() -> bytes:
    section = block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1))
    return section + block(1, struct.pack("<HHI", 101, 0, 0) + struct.pack("<HHB3xHH", 9, 1, 9, 0, 0))


def write(folder: Path, count: int) -> tuple[Path, Path]:
    """Data of 64 bytes one way, with losses and retransmissions, and a CONTROL for every tenth packet the other way."""
    rng = random.Random(count)
    seen: tuple[list[tuple[int, bytes]], list[tuple[int, bytes]]] = ([], [])
    for number in range(count):
        back = number % 10 == 9
        payload = number.to_bytes(8, "big") * (PAYLOAD_BYTES // 8)
        for again in range(1 + (rng.random() < AGAIN)):
            when = number * GAP_NS + again * 20_000_000
            data = ipv4.wrap(payload, ENDS[back], ENDS[not back], (number + 30_000 * again) & 0xFFFF)
            seen[back].append((when, data))
            if rng.random() >= LOSS:
                seen[not back].append((when + DELAY_NS + rng.randrange(300_000), data))
    files = folder / "first.pcapng", folder / "second.pcapng"
    for path, packets in zip(files, seen, strict=True):
        with path.open("wb") as file:
            file.write(header())
            file.writelines(packet_block(when, data) for when, data in sorted(packets))
    return files


def main() -> int:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    with tempfile.TemporaryDirectory(prefix="netblt-bench-") as name:
        files = write(Path(name), count)
        begun = time.monotonic()
        first, second = points(files[0])[0], points(files[1])[0]
        read = time.monotonic()
        paired = pair(first, second)
        done = time.monotonic()
    lost = sum(one.packets.count(Seen.LOST) for one in paired.directions)
    print(f"{len(first)} and {len(second)} packets, {lost} lost")
    print(f"read in {read - begun:.1f} s, paired in {done - read:.1f} s")
    print(f"memory: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
