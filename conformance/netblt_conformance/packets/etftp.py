# SPDX-License-Identifier: GPL-2.0-or-later
"""Packets of RFC 998 in the layout of ETFTP (RFC 1986), and back.

OPEN and RESPONSE have four bytes more and two flags more, and M means the reverse; OK and NULL-ACK have a packet size
where RFC 998 has padding. A packet that is not whole stays as it is. A checksum that is wrong stays wrong by as much.
"""

from __future__ import annotations

from dataclasses import dataclass

from netblt_conformance.packets import packets
from netblt_conformance.packets.ipv4 import ones_complement_sum
from netblt_conformance.packets.packets import HEADER_BYTES, OPENING_BYTES, OPENING_TYPES, Kind, Type
from netblt_conformance.wire import peek

SERVER_PORT = 1818
CLIENT_PORT = 49_152
MODE, BINARY, RENEGOTIATE = 0x0001, 0x0004, 0x0008
DELAY_BYTES = 4  # radio delay and padding
_LENGTH_AT, _FLAGS_AT, _NULL_ACK_SIZE_AT, _OK_SIZE_AT = 4, 32, 18, 14
_NULL_ACK_BYTES = 20
_ONES = 0xFFFF


@dataclass(slots=True)
class Extras:
    """What an end of ETFTP sends beside what RFC 998 has."""

    flags: int = BINARY  # T and R
    radio_delay_s: int = 1
    packet_size: int = 0  # in OK and NULL-ACK


def to_wire(octets: bytes, extras: Extras) -> bytes:
    """A packet of the suite as the implementation reads it."""
    kind, length = _kind_and_length(octets)
    packet = bytearray(octets)
    if kind in OPENING_TYPES and length >= OPENING_BYTES:
        packet[OPENING_BYTES:OPENING_BYTES] = extras.radio_delay_s.to_bytes(2, "big") + b"\0\0"
        _put(packet, _FLAGS_AT, _get(packet, _FLAGS_AT) ^ MODE | extras.flags)
        _put(packet, _LENGTH_AT, length + DELAY_BYTES)
    for at in _size_places(octets, kind, length):
        _put(packet, at, extras.packet_size)
    return _corrected(octets, length, packet)


def from_wire(octets: bytes) -> bytes:
    """A packet of the implementation as the suite reads it. What RFC 998 does not have is left out."""
    kind, length = _kind_and_length(octets)
    packet = bytearray(octets)
    if kind in OPENING_TYPES and length >= OPENING_BYTES + DELAY_BYTES:
        del packet[OPENING_BYTES : OPENING_BYTES + DELAY_BYTES]
        _put(packet, _FLAGS_AT, (_get(packet, _FLAGS_AT) ^ MODE) & ~(BINARY | RENEGOTIATE))
        _put(packet, _LENGTH_AT, length - DELAY_BYTES)
    for at in _size_places(octets, kind, length):
        _put(packet, at, 0)
    return _corrected(octets, length, packet)


def _kind_and_length(octets: bytes) -> tuple[int, int]:
    """Of a whole packet; (-1, 0) of anything else."""
    header = peek(octets)
    whole = header is not None and HEADER_BYTES <= header.length <= len(octets)
    return (header.type, header.length) if header is not None and whole else (-1, 0)


def _size_places(octets: bytes, kind: int, length: int) -> list[int]:
    """Where packet sizes are; nowhere when the packet cannot be read."""
    if kind == Type.NULL_ACK and length >= _NULL_ACK_BYTES:
        return [_NULL_ACK_SIZE_AT]
    if kind != Type.CONTROL:
        return []
    places: list[int] = []
    at = HEADER_BYTES
    for message in packets.read(octets).messages:
        if message.kind is Kind.OK:
            places.append(at + _OK_SIZE_AT)
        at += message.size
    return places


def _get(packet: bytes | bytearray, at: int) -> int:
    return int.from_bytes(packet[at : at + 2], "big")


def _put(packet: bytearray, at: int, value: int) -> None:
    packet[at : at + 2] = value.to_bytes(2, "big")


def _corrected(before: bytes, length: int, packet: bytearray) -> bytes:
    """With a header checksum that keeps the sum of all that it covers; only packets that are summed whole change."""
    if packet != before:
        change = ones_complement_sum(before[2:length]) - ones_complement_sum(
            bytes(packet[2 : _get(packet, _LENGTH_AT)])
        )
        _put(packet, 0, (_get(packet, 0) + change) % _ONES)
    return bytes(packet)
