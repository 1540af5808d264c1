# SPDX-License-Identifier: GPL-2.0-or-later
"""Just enough IPv4 to carry a NETBLT packet (protocol 30, WIRE-01): wrap and unwrap."""

from __future__ import annotations

import struct
from dataclasses import dataclass

NETBLT_PROTOCOL = 30
HEADER_BYTES = 20
DEFAULT_TTL = 64
_HEADER = struct.Struct(">BBHHHBBH4s4s")


class ForeignPacketError(Exception):
    """The bytes are no whole IPv4 packet."""


def ones_complement_sum(data: bytes) -> int:
    """Sum of 16-bit big-endian words with end-around carry; a single last byte counts with a virtual zero byte."""
    if len(data) % 2:
        data += b"\0"
    total: int = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total


def internet_checksum(data: bytes) -> int:
    return ~ones_complement_sum(data) & 0xFFFF


def wrap(
    payload: bytes, source: bytes, destination: bytes, identification: int, protocol: int = NETBLT_PROTOCOL
) -> bytes:
    """An IPv4 packet without options around `payload`."""
    length = HEADER_BYTES + len(payload)
    fields = (0x45, 0, length, identification & 0xFFFF, 0, DEFAULT_TTL, protocol, 0, source, destination)
    header = bytearray(_HEADER.pack(*fields))
    struct.pack_into(">H", header, 10, internet_checksum(bytes(header)))
    return bytes(header) + payload


@dataclass(frozen=True, slots=True)
class Datagram:
    source: bytes
    destination: bytes
    protocol: int
    payload: bytes
    fragment: bool


def unwrap(packet: bytes) -> Datagram:
    """Reads an IPv4 packet. Padding after its total length is cut off."""
    if len(packet) < HEADER_BYTES or packet[0] >> 4 != 4:
        raise ForeignPacketError("no IPv4 header")
    header = (packet[0] & 0xF) * 4
    length, _, fragment = struct.unpack_from(">HHH", packet, 2)
    if header < HEADER_BYTES or not header <= length <= len(packet):
        raise ForeignPacketError("IPv4 lengths do not fit")
    return Datagram(packet[12:16], packet[16:20], packet[9], packet[header:length], bool(fragment & 0x3FFF))


UDP_PROTOCOL = 17
UDP_HEADER_BYTES = 8


def wrap_udp(payload: bytes, source: bytes, destination: bytes, ports: tuple[int, int], identification: int) -> bytes:
    """An IPv4 packet with a UDP datagram; `ports`: source and destination."""
    length = UDP_HEADER_BYTES + len(payload)
    pseudo = source + destination + struct.pack(">HH", UDP_PROTOCOL, length)
    head = struct.pack(">HHHH", *ports, length, 0)
    checksum = internet_checksum(pseudo + head + payload) or 0xFFFF
    return wrap(head[:6] + struct.pack(">H", checksum) + payload, source, destination, identification, UDP_PROTOCOL)


@dataclass(frozen=True, slots=True)
class UdpDatagram:
    source_port: int
    destination_port: int
    payload: bytes


def unwrap_udp(datagram: Datagram) -> UdpDatagram | None:
    """The UDP datagram in an IPv4 packet; None when there is none. Its checksum is the kernel's business: on a veth it
    is often left to hardware that is not there."""
    payload = udp_payload(datagram.payload) if datagram.protocol == UDP_PROTOCOL else None
    if payload is None:
        return None
    source, destination = struct.unpack_from(">HH", datagram.payload)
    return UdpDatagram(source, destination, payload)


def udp_payload(datagram: bytes) -> bytes | None:
    """What a UDP datagram carries; None when its length does not fit. Length 0, as segmentation offload makes it where
    a datagram is longer than UDP can state: everything."""
    if len(datagram) < UDP_HEADER_BYTES:
        return None
    length = int.from_bytes(datagram[4:6], "big") or len(datagram)
    return datagram[UDP_HEADER_BYTES:length] if UDP_HEADER_BYTES <= length <= len(datagram) else None
