# SPDX-License-Identifier: GPL-2.0-or-later
"""What the one reader of IP headers makes of IPv4 and IPv6 packets, fragments and frames that end too early."""

from __future__ import annotations

import ipaddress
import struct

import pytest
from netblt_conformance.packets.ip_layer import IpPacket, ip_packet

RAW = 101
HERE, THERE = bytes((192, 0, 2, 1)), bytes((192, 0, 2, 2))
HERE_6, THERE_6 = (ipaddress.ip_address(text).packed for text in ("2001:db8::1", "2001:db8::2"))
NETBLT, UDP = 30, 17
PAYLOAD = bytes(range(64))


def ipv4(words: int = 5, fragment: int = 0, total: int | None = None) -> bytes:
    header = words * 4
    length = header + len(PAYLOAD) if total is None else total
    return (
        struct.pack(">BBHHHBBH4s4s", 0x40 | words, 0, length, 7, fragment, 9, NETBLT, 0, HERE, THERE)
        + bytes(max(0, header - 20))
        + PAYLOAD
    )


def ipv6(following: int, rest: bytes) -> bytes:
    return struct.pack(">IHBB16s16s", 6 << 28, len(rest), following, 9, HERE_6, THERE_6) + rest


def read(packet: bytes, on_wire: int | None = None) -> IpPacket | None:
    return ip_packet(RAW, packet, len(packet) if on_wire is None else on_wire)


@pytest.mark.parametrize("words", [5, 6, 15])
def test_the_payload_begins_behind_the_options_of_ipv4(words: int) -> None:
    found = read(ipv4(words))
    assert found is not None
    assert (found.source, found.destination, found.protocol, found.identification, found.hops) == (
        (HERE, THERE, NETBLT, 7, 9)
    )
    assert (found.begin, found.end) == (words * 4, words * 4 + len(PAYLOAD))


@pytest.mark.parametrize(
    ("fragment", "any_", "later"),
    [(0, False, False), (0x4000, False, False), (0x2000, True, False), (0x2001, True, True), (0x0001, True, True)],
)
def test_a_fragment_is_told_from_a_whole_packet(fragment: int, any_: bool, later: bool) -> None:
    found = read(ipv4(fragment=fragment))
    assert found is not None
    assert (found.fragment, found.later_fragment) == (any_, later)


def test_a_total_length_of_zero_means_all_of_the_frame() -> None:
    found = read(ipv4(total=0))
    assert found is not None
    assert found.end == 20 + len(PAYLOAD)


def test_padding_of_the_link_is_not_payload() -> None:
    found = read(ipv4() + bytes(6))
    assert found is not None
    assert found.end == 20 + len(PAYLOAD)


def test_what_was_not_captured_lies_behind_the_end_of_the_frame() -> None:
    found = read(ipv4()[:40], on_wire=84)
    assert found is not None
    assert found.end == 84


@pytest.mark.parametrize(
    ("following", "rest", "protocol", "begin", "any_", "later"),
    [
        (NETBLT, PAYLOAD, NETBLT, 40, False, False),
        (0, bytes((UDP, 0)) + bytes(6) + PAYLOAD, UDP, 48, False, False),
        (43, bytes((60, 1)) + bytes(14) + bytes((UDP, 0)) + bytes(6) + PAYLOAD, UDP, 64, False, False),
        (44, bytes((UDP, 0)) + struct.pack(">HI", 1, 5) + PAYLOAD, UDP, 48, True, False),
        (44, bytes((UDP, 0)) + struct.pack(">HI", 8, 5) + PAYLOAD, UDP, 48, True, True),
    ],
)
def test_extension_headers_of_ipv6_are_passed_over(
    following: int, rest: bytes, protocol: int, begin: int, any_: bool, later: bool
) -> None:
    found = read(ipv6(following, rest))
    assert found is not None
    assert (found.source, found.destination, found.identification) == (HERE_6, THERE_6, None)
    assert (found.protocol, found.begin, found.end) == (protocol, begin, 40 + len(rest))
    assert (found.fragment, found.later_fragment) == (any_, later)


@pytest.mark.parametrize(
    "frame",
    [
        b"",
        ipv4()[:19],
        ipv4(words=4),  # less than a header
        ipv4(words=15)[:40],  # ends within the options
        ipv4(total=19),  # ends before the payload begins
        ipv6(NETBLT, PAYLOAD)[:39],
        ipv6(0, bytes((UDP, 255)) + PAYLOAD),  # an option longer than the packet
        ipv6(0, b"\x11"),
        b"\x50" + bytes(60),
    ],
)
def test_a_frame_without_whole_headers_has_no_ip_packet(frame: bytes) -> None:
    assert read(frame) is None
