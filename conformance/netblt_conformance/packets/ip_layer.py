# SPDX-License-Identifier: GPL-2.0-or-later
"""What the IP header of a captured frame contains: IPv4 and IPv6 with extension headers."""

from __future__ import annotations

import struct
from typing import NamedTuple

from netblt_conformance.packets.link_layer import ip_header_at

_IPV4 = struct.Struct(">BBHHHBBH4s4s")
_IPV6 = struct.Struct(">IHBB16s16s")
_SHORT = struct.Struct(">H")
_OPTIONS = frozenset((0, 43, 60))  # hop-by-hop, routing, destination options
_FRAGMENT, _FRAGMENT_BYTES = 44, 8
_IPV4_MORE, _IPV4_OFFSET = 0x2000, 0x1FFF
_IPV6_MORE, _IPV6_OFFSET = 0x1, 0xFFF8


class IpPacket(NamedTuple):
    """An IP packet in a frame. `begin` and `end` are places in the frame; what was not captured is after its end."""

    source: bytes
    destination: bytes
    protocol: int
    identification: int | None  # None: IPv6
    hops: int  # time to live, hop limit
    begin: int  # of the payload
    end: int  # of the payload on the wire
    later_fragment: bool  # a fragment, but not the first
    fragment: bool


def ip_packet(link_type: int, data: bytes, on_wire: int) -> IpPacket | None:
    """The IP packet in the frame `data`, which had `on_wire` bytes; None where there is none whose headers are whole.
    `link_type`: LINKTYPE of pcapng."""
    at = ip_header_at(link_type, data)
    version = data[at] >> 4 if 0 <= at < len(data) else 0
    found = _ipv4(data, at, on_wire) if version == 4 else _ipv6(data, at) if version == 6 else None
    return found if found is not None and found.begin <= min(found.end, len(data)) else None


def _ipv4(data: bytes, at: int, on_wire: int) -> IpPacket | None:
    if at + _IPV4.size > len(data):
        return None
    first, _, total, identification, offset, hops, protocol, _, source, destination = _IPV4.unpack_from(data, at)
    begin = at + (first & 15) * 4
    if begin < at + _IPV4.size:
        return None
    end = at + total if total else on_wire  # a card was to divide the packet
    later, any_ = bool(offset & _IPV4_OFFSET), bool(offset & (_IPV4_MORE | _IPV4_OFFSET))
    return IpPacket(source, destination, protocol, identification, hops, begin, end, later, any_)


def _ipv6(data: bytes, at: int) -> IpPacket | None:
    if at + _IPV6.size > len(data):
        return None
    _, length, protocol, hops, source, destination = _IPV6.unpack_from(data, at)
    begin = at + _IPV6.size
    end = begin + length
    later = fragment = False
    while protocol in _OPTIONS or protocol == _FRAGMENT:
        if begin + _FRAGMENT_BYTES > len(data):
            return None
        if protocol == _FRAGMENT:
            offset = _SHORT.unpack_from(data, begin + 2)[0]
            later, fragment = bool(offset & _IPV6_OFFSET), bool(offset & (_IPV6_MORE | _IPV6_OFFSET))
            size = _FRAGMENT_BYTES
        else:
            size = 8 * (data[begin + 1] + 1)
        protocol, begin = data[begin], begin + size
    return IpPacket(source, destination, protocol, None, hops, begin, end, later, fragment)
