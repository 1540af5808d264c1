# SPDX-License-Identifier: GPL-2.0-or-later
"""Writes pcaps/offload: the golden transfer as its sender's host would show it over UDP with segmentation offload.

The host hands its kernel a whole burst as one large UDP datagram, and is handed what arrives at one time as one:
packets of one size, only the last may be shorter. Everything comes from golden/lossy-transfer, so that what a reader
finds in both can be compared. Run it with .venv/bin/python pcaps/tools/make_offload.py [--check]
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from netblt_conformance.simlib import Record, pcapng_file

from pcaps.tools.exchange import udp_in_ipv4
from pcaps.tools.read_capture import Captured, capture

PCAPS = Path(__file__).resolve().parent.parent
OFFLOAD = PCAPS / "offload"
SOURCE = PCAPS / "golden" / "lossy-transfer.pcapng"
NAME = "offloaded-transfer"
UDP_PORT = 9980
LARGEST_DATAGRAM_BYTES = 65_507
TOGETHER_NS = 1_000_000  # what one end emits within this time lies in one datagram


def fits(group: list[Captured], packet: Captured) -> bool:
    """Whether offload would put the packet after those of the group."""
    first, last = group[0], group[-1]
    size = len(first.netblt)
    return (
        packet.source == first.source
        and packet.time_ns - first.time_ns < TOGETHER_NS
        and packet.identification == last.identification + 1
        and len(last.netblt) == size
        and len(packet.netblt) <= size
        and sum(len(one.netblt) for one in group) + len(packet.netblt) <= LARGEST_DATAGRAM_BYTES
    )


def coalesced(packets: list[Captured]) -> list[list[Captured]]:
    """The packets of one capture point, datagram by datagram."""
    groups: list[list[Captured]] = []
    for packet in packets:
        if groups and fits(groups[-1], packet):
            groups[-1].append(packet)
        else:
            groups.append([packet])
    return groups


def datagram(group: list[Captured]) -> bytes:
    """IPv4 and UDP around the packets; the large datagram has the identification of its first packet."""
    payload = b"".join(packet.netblt for packet in group)
    source, target = group[0].octets[12:16], group[0].octets[16:20]
    return udp_in_ipv4(source, target, group[0].identification, (UDP_PORT, UDP_PORT), payload)


def all_files() -> dict[str, bytes]:
    """File name and contents."""
    packets = [packet for packet in capture(SOURCE) if packet.interface == "left"]
    groups = coalesced(packets)
    facts = {
        "about": "golden/lossy-transfer at its sender, over UDP, as segmentation offload shows it",
        "packets": len(packets),
        "packets_per_frame": [len(group) for group in groups],
        "frames_in_golden": [packet.number for packet in packets],
        "sha256": json.loads(SOURCE.with_suffix(".expected.json").read_text(encoding="utf-8"))["sha256"],
    }
    records = [Record(0, group[0].time_ns, datagram(group)) for group in groups]
    return {
        f"{NAME}.pcapng": pcapng_file(["left"], records),
        f"{NAME}.facts.json": (json.dumps(facts) + "\n").encode(),
    }


def main(arguments: list[str] | None = None) -> int:
    """Exit code 0: written, or nothing differs; 1: something differs."""
    parser = argparse.ArgumentParser(description="write or check the offloaded capture")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 when a file differs")
    options = parser.parse_args(arguments)
    OFFLOAD.mkdir(parents=True, exist_ok=True)
    differing = 0
    for name, contents in all_files().items():
        path = OFFLOAD / name
        if not options.check:
            path.write_bytes(contents)
        elif not path.is_file() or path.read_bytes() != contents:
            print(f"{path.name} differs from what this tool writes; run pcaps/tools/make_offload.py", file=sys.stderr)
            differing = 1
    return differing


if __name__ == "__main__":
    sys.exit(main())
