# SPDX-License-Identifier: GPL-2.0-or-later
"""The packets of a capture of this folder: raw IPv4, captured whole, with nanoseconds."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from netblt_conformance.packets import captures
from netblt_conformance.simlib import LinkType

IPV4_HEADER_BYTES = 20
UDP_HEADER_BYTES = 8
UDP = 17
NANOSECONDS = 9  # the exponent of the resolution


@dataclass
class Captured:
    """A packet of a capture."""

    number: int
    interface: str
    time_ns: int
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

    @property
    def source(self) -> str:
        """Of the IPv4 header."""
        return ".".join(str(byte) for byte in self.octets[12:16])

    @property
    def identification(self) -> int:
        """Of the IPv4 header."""
        return int.from_bytes(self.octets[4:6], "big")


def capture(path: Path) -> list[Captured]:
    """All packets of a capture."""
    found = []
    for one in captures.read(path):
        assert one.interface.link_type == LinkType.RAW
        assert one.interface.resolution == NANOSECONDS
        assert one.original_length == len(one.data)
        found.append(Captured(one.number, one.interface.name, one.time_ns, one.data, list(one.comments)))
    return found
