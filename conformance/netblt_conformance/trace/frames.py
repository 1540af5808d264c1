# SPDX-License-Identifier: GPL-2.0-or-later
"""The NETBLT packets of a capture with their IP and UDP headers: IPv4 and IPv6, raw IP and UDP, several link types.

Nothing here raises: a packet that cannot be read is a frame whose `packet` has an error. A datagram with several NETBLT
packets (segmentation offload) gives as many frames of one number.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from netblt_conformance.common.model import DEFAULT_UDP_PORT
from netblt_conformance.packets import etftp, packets
from netblt_conformance.packets.captures import CapturedPacket, Way
from netblt_conformance.packets.ipv4 import NETBLT_PROTOCOL, UDP_HEADER_BYTES, UDP_PROTOCOL
from netblt_conformance.packets.link_layer import ip_header_at
from netblt_conformance.packets.packets import DATA_HEADER_BYTES, DATA_TYPES, HEADER_BYTES, Packet, Type

_IPV4_BYTES, _IPV6_BYTES = 20, 40
_FRAGMENT_EXTENSION, _EXTENSIONS = 44, (0, 43, 60)
_MORE_FRAGMENTS, _FRAGMENT_OFFSET = 0x2000, 0x1FFF
_UDP_PORTS = (DEFAULT_UDP_PORT, etftp.SERVER_PORT)
_TYPES = frozenset(Type)
_VERSION_AT, _TYPE_BYTE_AT, _LENGTH_AT, _PORTS = 2, 3, 4, slice(6, 10)  # in a NETBLT header


@dataclass(frozen=True, slots=True)
class Frame:
    """One NETBLT packet as it was captured."""

    number: int  # from 1
    interface: str
    time_ns: int
    source: str  # IP addresses
    destination: str
    packet: Packet
    identification: int | None  # of the IPv4 header
    hops: int  # time to live, hop limit
    way: Way
    comments: tuple[str, ...]
    packet_id: int  # of the capture file; 0: none
    checksum_good: bool
    cut: bool  # the capture has less of it than was on the wire

    @property
    def sound(self) -> bool:
        """Whether its header can be believed."""
        return self.cut or self.checksum_good


@dataclass(frozen=True, slots=True)
class _Ip:
    """What an IP header says."""

    source: str
    destination: str
    protocol: int
    payload: bytes
    identification: int | None
    hops: int
    cut: bool
    fragment: bool


def frames(captured: Iterable[CapturedPacket]) -> list[Frame]:
    """All NETBLT packets, in the order of the capture."""
    return [frame for one in captured for frame in _of(one)]


def _of(one: CapturedPacket) -> Iterator[Frame]:
    ip = _ip(one)
    if ip is None:
        return
    for packet in _packets(ip):
        yield Frame(
            one.number,
            one.interface.name,
            one.time_ns,
            ip.source,
            ip.destination,
            packet,
            ip.identification,
            ip.hops,
            one.way,
            one.comments,
            one.packet_id,
            packet.checksum_good,
            ip.cut,
        )


def _packets(ip: _Ip) -> Iterator[Packet]:
    if ip.protocol == NETBLT_PROTOCOL:
        if ip.fragment:
            yield Packet(ip.payload, error="a fragment of an IP packet")
        else:
            yield _read(ip.payload, cut=ip.cut)
    elif ip.protocol == UDP_PROTOCOL and not ip.fragment and len(ip.payload) >= UDP_HEADER_BYTES:
        ports = (_number(ip.payload, 0), _number(ip.payload, 2))
        payload = ip.payload[UDP_HEADER_BYTES:]
        if etftp.SERVER_PORT in ports:
            yield _read(etftp.from_wire(payload), cut=ip.cut)
        elif DEFAULT_UDP_PORT in ports or _looks_like_netblt(payload):
            for part in _split(payload):
                yield _read(part, cut=ip.cut)


def _read(octets: bytes, *, cut: bool) -> Packet:
    """Of a data packet that the capture cut, the header says enough."""
    if cut and len(octets) >= DATA_HEADER_BYTES and octets[_TYPE_BYTE_AT] in DATA_TYPES:
        octets += bytes(max(0, _number(octets, _LENGTH_AT) - len(octets)))
    return packets.read(octets)


def _looks_like_netblt(payload: bytes) -> bool:
    """Another UDP port: what has the length, the type and the checksum of a NETBLT packet is one."""
    length = _number(payload, _LENGTH_AT) if len(payload) >= HEADER_BYTES else 0
    return (
        HEADER_BYTES <= length <= len(payload)
        and payload[_TYPE_BYTE_AT] in _TYPES
        and packets.read(payload).checksum_good
    )


def _split(payload: bytes) -> Iterator[bytes]:
    """Segmentation offload: packets of one connection lie one after the other."""
    while size := _first_of_several(payload):
        yield payload[:size]
        payload = payload[size:]
    yield payload


def _first_of_several(payload: bytes) -> int:
    """Bytes of the first packet, behind which another of its connection begins; 0: there is no other."""
    if len(payload) < 2 * HEADER_BYTES:
        return 0
    length = _number(payload, _LENGTH_AT)
    for size in (length, length + -length % 4):
        if HEADER_BYTES <= size <= len(payload) - HEADER_BYTES:
            other = payload[size:]
            if other[_VERSION_AT] == payload[_VERSION_AT] and other[_PORTS] == payload[_PORTS]:
                return size
    return 0


def _number(octets: bytes, at: int) -> int:
    return int.from_bytes(octets[at : at + 2], "big")


@lru_cache(maxsize=1024)
def _address(octets: bytes) -> str:
    return str(ipaddress.ip_address(octets))


def _ip(one: CapturedPacket) -> _Ip | None:
    """The IP packet in a frame of the link; None where there is none that is whole enough."""
    at = ip_header_at(one.interface.link_type, one.data)
    if at < 0:
        return None
    data = one.data[at:]
    on_wire = one.original_length - at
    version = data[0] >> 4 if data else 0
    if version == 4 and len(data) >= _IPV4_BYTES:
        return _ipv4(data, on_wire)
    if version == 6 and len(data) >= _IPV6_BYTES:
        return _ipv6(data, on_wire)
    return None


def _ipv4(data: bytes, on_wire: int) -> _Ip:
    header, length = (data[0] & 15) * 4, _number(data, 2) or on_wire  # 0: a card was to divide the packet
    fragment = bool(_number(data, 6) & (_MORE_FRAGMENTS | _FRAGMENT_OFFSET))
    ends = _address(data[12:16]), _address(data[16:20])
    cut = len(data) < min(length, on_wire)
    return _Ip(*ends, data[9], data[header:length], _number(data, 4), data[8], cut, fragment)


def _ipv6(data: bytes, on_wire: int) -> _Ip:
    length = _IPV6_BYTES + _number(data, 4)
    protocol, at, fragment = data[6], _IPV6_BYTES, False
    while protocol in (*_EXTENSIONS, _FRAGMENT_EXTENSION) and at + 8 <= len(data):
        size = 8 if protocol == _FRAGMENT_EXTENSION else 8 + data[at + 1] * 8
        fragment |= protocol == _FRAGMENT_EXTENSION and bool(_number(data, at + 2) & 0xFFF9)
        protocol, at = data[at], at + size
    ends = _address(data[8:24]), _address(data[24:40])
    return _Ip(*ends, protocol, data[at:length], None, data[7], len(data) < min(length, on_wire), fragment)
