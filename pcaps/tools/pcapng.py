# SPDX-License-Identifier: GPL-2.0-or-later
"""pcapng files from struct: nanoseconds, raw IP, comments."""

from __future__ import annotations

import struct
from dataclasses import dataclass

LINKTYPE_RAW = 101  # a packet begins with its IP header
OPT_END, OPT_COMMENT, IF_NAME, IF_TSRESOL = 0, 1, 2, 9
SECTION, INTERFACE, ENHANCED_PACKET = 0x0A0D0D0A, 1, 6
NANOSECONDS = 9  # timestamps count 10**-9 s


@dataclass(frozen=True)
class Record:
    """One captured packet."""

    interface: int
    time_ns: int
    octets: bytes
    comment: str | None = None


def pcapng(interfaces: list[str], records: list[Record]) -> bytes:
    """A whole file."""
    section = struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1)
    return (
        block(SECTION, section)
        + b"".join(block(INTERFACE, interface_body(name)) for name in interfaces)
        + b"".join(block(ENHANCED_PACKET, packet_body(record)) for record in records)
    )


def interface_body(name: str) -> bytes:
    """An interface whose packets are raw IP, stamped in nanoseconds."""
    options = option(IF_NAME, name.encode()) + option(IF_TSRESOL, bytes([NANOSECONDS])) + option(OPT_END, b"")
    return struct.pack("<HHI", LINKTYPE_RAW, 0, 0) + options


def packet_body(record: Record) -> bytes:
    """A packet that was captured whole."""
    size = len(record.octets)
    high, low = record.time_ns >> 32, record.time_ns & 0xFFFFFFFF
    options = b""
    if record.comment is not None:
        options = option(OPT_COMMENT, record.comment.encode()) + option(OPT_END, b"")
    return struct.pack("<IIIII", record.interface, high, low, size, size) + aligned(record.octets) + options


def block(kind: int, body: bytes) -> bytes:
    """A block with its length before and behind it."""
    total = len(body) + 12
    return struct.pack("<II", kind, total) + body + struct.pack("<I", total)


def option(code: int, value: bytes) -> bytes:
    """An option of a block."""
    return struct.pack("<HH", code, len(value)) + aligned(value)


def aligned(octets: bytes) -> bytes:
    """Filled to a multiple of four."""
    return octets + b"\0" * (-len(octets) % 4)
