# SPDX-License-Identifier: GPL-2.0-or-later
"""Where the IP header begins in a frame of each link type."""

from __future__ import annotations

import pytest
from netblt_conformance.packets.link_layer import ip_header_at

IP = b"\x45" + bytes(19)
IPV4, IPV6, ARP = b"\x08\x00", b"\x86\xdd", b"\x08\x06"
TAG, OUTER_TAG = b"\x81\x00", b"\x88\xa8"
ETHERNET, RAW, LOOPBACK, COOKED, COOKED_2, UNKNOWN = 1, 101, 0, 113, 276, 147
IDENTIFIER = b"\x00\x07"  # of a VLAN


@pytest.mark.parametrize(
    ("link_type", "header"),
    [
        (RAW, b""),
        (LOOPBACK, bytes(4)),
        (ETHERNET, bytes(12) + IPV4),
        (ETHERNET, bytes(12) + IPV6),
        (ETHERNET, bytes(12) + TAG + IDENTIFIER + IPV4),
        (ETHERNET, bytes(12) + OUTER_TAG + IDENTIFIER + TAG + IDENTIFIER + IPV4),
        (COOKED, bytes(14) + IPV4),
        (COOKED, bytes(14) + TAG + IDENTIFIER + IPV4),
        (COOKED_2, IPV4 + bytes(18)),
        (COOKED_2, TAG + bytes(18) + IDENTIFIER + IPV4),
    ],
)
def test_the_ip_header_begins_behind_the_header_of_the_link(link_type: int, header: bytes) -> None:
    assert ip_header_at(link_type, header + IP) == len(header)


@pytest.mark.parametrize(
    ("link_type", "frame"),
    [(ETHERNET, bytes(12) + ARP + IP), (ETHERNET, b""), (COOKED_2, ARP + bytes(18) + IP), (UNKNOWN, IP)],
)
def test_a_frame_of_something_else_has_none(link_type: int, frame: bytes) -> None:
    assert ip_header_at(link_type, frame) == -1
