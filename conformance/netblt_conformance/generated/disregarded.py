# SPDX-License-Identifier: GPL-2.0-or-later
"""Whether a script fails because the implementation acts upon packets that count as lost: damaged ones (CKSUM-06,
CKSUM-07), those with an impossible Length (ROBUST-01), and those of other connections (DEMUX-01, DEMUX-02).

A conforming end does the same where the network loses these packets: a script that fails only while they arrive fails
because of them, whatever the failure looks like.
"""

from __future__ import annotations

from collections.abc import Callable

from netblt_conformance.links.base import STRANGER_ADDRESS, Link, LinkFactory, Loses
from netblt_conformance.packets import packets
from netblt_conformance.packets.capture import Capture
from netblt_conformance.wire.fast import checksum_ok


def has_bad_header(packet: bytes, _source: bytes = b"") -> bool:
    """The header checksum is wrong, which covers all of a packet that has no data."""
    return not checksum_ok(packet)


def is_damaged(packet: bytes, _source: bytes = b"") -> bool:
    """A checksum is wrong, in a connection with data checksums."""
    read = packets.read(packet)
    bad_data = read.error is None and read.is_data and packets.data_checksum(read.data) != read.data_checksum
    return bad_data or has_bad_header(packet)


def has_impossible_length(packet: bytes, _source: bytes = b"") -> bool:
    """Length is smaller than a packet of its type can be, or larger than what arrived."""
    return packets.has_impossible_length(packets.read(packet))


def is_of_another_host(_packet: bytes, source: bytes) -> bool:
    return source == STRANGER_ADDRESS


class OtherPorts:
    """Packets between two ports of which no OPEN or RESPONSE of the tester was. One for each script."""

    def __init__(self) -> None:
        self._opened: set[tuple[int, int]] = set()

    def __call__(self, packet: bytes, _source: bytes) -> bool:
        read = packets.read(packet)
        ports = read.local_port, read.foreign_port
        if read.type in packets.OPENING_TYPES:
            self._opened.add(ports)
        return ports not in self._opened


# Each requirement about such packets, and what makes a network that loses them.
DISREGARDED: tuple[tuple[str, Callable[[], Loses]], ...] = (
    ("CKSUM-06", lambda: has_bad_header),
    ("CKSUM-07", lambda: is_damaged),
    ("ROBUST-01", lambda: has_impossible_length),
    ("DEMUX-01", lambda: is_of_another_host),
    ("DEMUX-02", OtherPorts),
)


class Losing(LinkFactory):
    """A network that loses some packets of the tester."""

    def __init__(self, factory: LinkFactory, loses: Loses) -> None:
        self._factory = factory
        self._loses = loses
        self.lost = 0
        self.name, self.adapter, self.tolerances = factory.name, factory.adapter, factory.tolerances
        self.real_time, self.jobs, self.delay_us = factory.real_time, factory.jobs, factory.delay_us

    def check(self) -> None:
        self._factory.check()

    def testing(self) -> dict[str, str]:
        return self._factory.testing()

    def make(self, capture: Capture) -> Link:
        link = self._factory.make(capture)
        link.loses = self._is_lost
        return link

    def _is_lost(self, packet: bytes, source: bytes) -> bool:
        lost = self._loses(packet, source)
        self.lost += lost
        return lost
