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
from netblt_conformance.packets.ip_layer import IpPacket, ip_packet
from netblt_conformance.packets.ipv4 import NETBLT_PROTOCOL, UDP_HEADER_BYTES, UDP_PROTOCOL
from netblt_conformance.packets.packets import DATA_HEADER_BYTES, DATA_TYPES, HEADER_BYTES, Packet, Type

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


def frames(captured: Iterable[CapturedPacket]) -> list[Frame]:
    """All NETBLT packets, in the order of the capture."""
    return [frame for one in captured for frame in _of(one)]


def _of(one: CapturedPacket) -> Iterator[Frame]:
    ip = ip_packet(one.interface.link_type, one.data, one.original_length)
    if ip is None:
        return
    cut = len(one.data) < min(ip.end, one.original_length)
    for packet in _packets(ip, one.data[ip.begin : ip.end], cut=cut):
        yield Frame(
            one.number,
            one.interface.name,
            one.time_ns,
            _address(ip.source),
            _address(ip.destination),
            packet,
            ip.identification,
            ip.hops,
            one.way,
            one.comments,
            one.packet_id,
            packet.checksum_good,
            cut,
        )


def _packets(ip: IpPacket, payload: bytes, *, cut: bool) -> Iterator[Packet]:
    if ip.protocol == NETBLT_PROTOCOL:
        if ip.fragment:
            yield Packet(payload, error="a fragment of an IP packet")
        else:
            yield _read(payload, cut=cut)
    elif ip.protocol == UDP_PROTOCOL and not ip.fragment and len(payload) >= UDP_HEADER_BYTES:
        ports = (_number(payload, 0), _number(payload, 2))
        payload = payload[UDP_HEADER_BYTES:]
        if etftp.SERVER_PORT in ports:
            yield _read(etftp.from_wire(payload), cut=cut)
        elif DEFAULT_UDP_PORT in ports or _looks_like_netblt(payload):
            for part in _split(payload):
                yield _read(part, cut=cut)


def _read(octets: bytes, *, cut: bool) -> Packet:
    """Of a data packet that the capture cut, the header is enough."""
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
    """Bytes of the first packet, after which another of its connection begins; 0: there is no other."""
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
