# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads our pcapng files, with nothing of what writes them: little-endian, raw IPv4, nanoseconds."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

LINKTYPE_RAW = 101
IPV4_HEADER_BYTES = 20
UDP_HEADER_BYTES = 8
UDP = 17


@dataclass
class Captured:
    """A packet of a capture."""

    number: int
    interface: str
    time_ns: int
    source: str
    identification: int
    octets: bytes
    comments: list[str]

    @property
    def netblt(self) -> bytes:
        """What the IPv4 packet carries, or UDP in it."""
        return self.octets[IPV4_HEADER_BYTES + (UDP_HEADER_BYTES if self.protocol == UDP else 0) :]

    @property
    def protocol(self) -> int:
        """Of the IPv4 header."""
        return self.octets[9]


def blocks(octets: bytes) -> Iterator[tuple[int, bytes]]:
    """The blocks of a little-endian pcapng file; each length must stand on both sides."""
    at = 0
    while at < len(octets):
        kind, total = struct.unpack_from("<II", octets, at)
        (again,) = struct.unpack_from("<I", octets, at + total - 4)
        assert total == again
        yield kind, octets[at + 8 : at + total - 4]
        at += total


def options(octets: bytes) -> Iterator[tuple[int, bytes]]:
    """The options of a block."""
    at = 0
    while at + 4 <= len(octets):
        code, size = struct.unpack_from("<HH", octets, at)
        if code == 0:
            return
        yield code, octets[at + 4 : at + 4 + size]
        at += 4 + size + -size % 4


def capture(path: Path) -> list[Captured]:
    """Reads a capture with nothing of what wrote it."""
    names: list[str] = []
    found: list[Captured] = []
    for kind, body in blocks(path.read_bytes()):
        if kind == 1:
            assert struct.unpack_from("<H", body)[0] == LINKTYPE_RAW
            values = dict(options(body[8:]))
            assert values[9] == b"\x09", "timestamps in nanoseconds"
            names.append(values[2].decode())
        elif kind == 6:
            interface, high, low, size, original = struct.unpack_from("<IIIII", body)
            assert size == original
            octets = body[20 : 20 + size]
            rest = options(body[20 + size + -size % 4 :])
            comments = [value.decode() for code, value in rest if code == 1]
            source = ".".join(str(byte) for byte in octets[12:16])
            identification = int.from_bytes(octets[4:6], "big")
            time_ns = high << 32 | low
            found.append(Captured(len(found) + 1, names[interface], time_ns, source, identification, octets, comments))
    return found
