# SPDX-License-Identifier: GPL-2.0-or-later
"""Writes pcaps/dialects: vectors of ETFTP and version 4, and a whole transfer of each.

Kept apart from pcaps/vectors, whose readers know RFC 998 only. Run it with
.venv/bin/python pcaps/tools/make_dialects.py [--check]
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from netblt_conformance.simlib import Record, pcapng_file

from pcaps.tools.dialects import BUFFER_BYTES, ETFTP, ETFTP_PORT, PACKET_BYTES, VERSION4, Dialect
from pcaps.tools.exchange import ipv4_header, udp_in_ipv4
from pcaps.tools.octets import Packet

DIALECTS = Path(__file__).resolve().parent.parent / "dialects"
SENDER, RECEIVER = bytes((10, 0, 0, 1)), bytes((10, 0, 0, 2))
PORTS = (1024, 1)
BACK = (1, 1024)
TRANSFER_BYTES = 3000  # one full buffer and a short one
NAMES = {"etftp": "/maps/overlay.img", "version4": "order-of-battle.txt"}


def transfer_data() -> bytes:
    """What is sent."""
    return b"".join(hashlib.sha256(bytes([number])).digest() for number in range(94))[:TRANSFER_BYTES]


def data_packets(dialect: Dialect, buffer: int, part: bytes, high_seq: int, last: bool) -> list[Packet]:
    """The packets of one buffer."""
    pieces = [part[at : at + PACKET_BYTES] for at in range(0, len(part), PACKET_BYTES)]
    kinds = ["DATA"] * (len(pieces) - 1) + ["LDATA"]
    return [
        dialect.data(kind, PORTS, buffer, number, high_seq, piece, last)
        for number, (kind, piece) in enumerate(zip(kinds, pieces, strict=True))
    ]


def story(dialect: Dialect) -> list[tuple[bool, Packet, str | None]]:
    """A transfer that lost one packet, which a RESEND brings back: (by the sender, packet, comment)."""
    base = 1 if dialect is VERSION4 else 0
    data = transfer_data()
    first = data_packets(dialect, base, data[:BUFFER_BYTES], 2, last=False)
    second = data_packets(dialect, base + 1, data[BUFFER_BYTES:], 3, last=True)
    repair = dialect.data("DATA", PORTS, base, 1, 3, data[PACKET_BYTES : 2 * PACKET_BYTES], last=False)
    close: list[tuple[bool, Packet, str | None]] = [(False, dialect.bare("DONE", BACK), None)]
    if dialect is ETFTP:  # QUIT answered by DONE
        close = [(True, dialect.text("QUIT", PORTS, "done"), None), *close]
    return [
        (True, dialect.setup("OPEN", PORTS, NAMES[dialect.name], TRANSFER_BYTES), None),
        (False, dialect.setup("RESPONSE", BACK, "", TRANSFER_BYTES), None),
        (False, dialect.control(BACK, dialect.go(1, base), dialect.go(2, base + 1)), None),
        *((True, packet, None) for packet in (first[0], *first[2:])),
        (False, dialect.control(BACK, dialect.resend(3, base, [1])), "packet 1 was lost before the capture"),
        (True, repair, "the repair"),
        *((True, packet, None) for packet in second),
        (False, dialect.control(BACK, dialect.ok(4, base), dialect.ok(5, base + 1)), None),
        (True, dialect.null_ack(PORTS, 5, base + 1), None),
        *close,
    ]


def carried(dialect: Dialect, packet: Packet, by_sender: bool, identification: int) -> bytes:
    """ETFTP in UDP between port 1818 of the server and one of the client's own; version 4 in IP."""
    ends = (SENDER, RECEIVER) if by_sender else (RECEIVER, SENDER)
    if dialect is VERSION4:
        return ipv4_header(*ends, identification, len(packet.octets)) + packet.octets
    ports = (40_000, ETFTP_PORT) if by_sender else (ETFTP_PORT, 40_000)
    return udp_in_ipv4(*ends, identification, ports, packet.octets)


def transfer(dialect: Dialect) -> tuple[bytes, dict[str, Any]]:
    """The capture, and what is true of it."""
    records, counters = [], {True: 100, False: 5000}
    told = story(dialect)
    for number, (by_sender, packet, comment) in enumerate(told):
        octets = carried(dialect, packet, by_sender, counters[by_sender])
        counters[by_sender] += 1
        records.append(Record(0, 1_000_000_000 + number * 20_000_000, octets, comment))
    facts = {
        "dialect": dialect.name,
        "types": [packet.type for _, packet, _ in told],
        "retransmitted_frames": [number for number, (_, _, text) in enumerate(told, 1) if text == "the repair"],
        "file": NAMES[dialect.name].rpartition("/")[2],
        "sha256": hashlib.sha256(transfer_data()).hexdigest(),
    }
    return pcapng_file(["tester"], records), facts


def vectors(dialect: Dialect) -> list[dict[str, Any]]:
    """One packet of each type."""
    packets = [packet for _, packet, _ in story(dialect)]
    packets += [dialect.text(kind, PORTS, "because") for kind in ("QUIT", "ABORT", "REFUSED")]
    packets += [dialect.bare(kind, PORTS) for kind in ("KEEPALIVE", "QUITACK", "DONE") if kind in dialect.codes]
    return [
        {"dialect": dialect.name, "type": packet.type, "hex": packet.octets.hex(), "fields": packet.fields}
        for packet in packets
    ]


def all_files() -> dict[str, bytes]:
    """File name and contents."""
    files = {}
    for dialect in (ETFTP, VERSION4):
        capture, facts = transfer(dialect)
        files[f"{dialect.name}-transfer.pcapng"] = capture
        files[f"{dialect.name}-transfer.facts.json"] = (json.dumps(facts, indent=1) + "\n").encode()
        lines = ",\n".join(json.dumps(entry) for entry in vectors(dialect))
        files[f"{dialect.name}.json"] = f"[\n{lines}\n]\n".encode()
    return files


def main(arguments: list[str] | None = None) -> int:
    """Exit code 0: written, or nothing differs; 1: something differs."""
    parser = argparse.ArgumentParser(description="write or check the vectors and captures of other dialects")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 when a file differs")
    options = parser.parse_args(arguments)
    DIALECTS.mkdir(parents=True, exist_ok=True)
    differing = 0
    for name, contents in all_files().items():
        path = DIALECTS / name
        if not options.check:
            path.write_bytes(contents)
        elif not path.is_file() or path.read_bytes() != contents:
            print(f"{name} differs from what this tool writes; run pcaps/tools/make_dialects.py", file=sys.stderr)
            differing = 1
    return differing


if __name__ == "__main__":
    sys.exit(main())
