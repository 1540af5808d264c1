# SPDX-License-Identifier: GPL-2.0-or-later
"""Whether a script fails because the implementation acts upon damaged packets (CKSUM-06, CKSUM-07).

A damaged packet counts as lost. So a conforming end does the same where the network loses these packets: a script that
fails only while they arrive fails because of them, whatever the failure looks like.
"""

from __future__ import annotations

from collections.abc import Callable

from netblt_conformance.links.base import Link, LinkFactory
from netblt_conformance.packets import packets
from netblt_conformance.packets.capture import Capture
from netblt_conformance.wire.fast import checksum_ok

Loses = Callable[[bytes], bool]


def has_bad_header(packet: bytes) -> bool:
    """The header checksum is wrong, which covers all of a packet that has no data."""
    return not checksum_ok(packet)


def is_damaged(packet: bytes) -> bool:
    """A checksum is wrong, in a connection with data checksums."""
    read = packets.read(packet)
    bad_data = read.error is None and read.is_data and packets.data_checksum(read.data) != read.data_checksum
    return bad_data or has_bad_header(packet)


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

    def _is_lost(self, packet: bytes) -> bool:
        lost = self._loses(packet)
        self.lost += lost
        return lost
