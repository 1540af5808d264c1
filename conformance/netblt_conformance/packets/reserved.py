# SPDX-License-Identifier: GPL-2.0-or-later
"""Reserved bits and padding, which a receiver does not look at (ROBUST-04, AMB-16)."""

from __future__ import annotations

from netblt_conformance.packets import packets
from netblt_conformance.packets.packets import DATA_HEADER_BYTES, DATA_TYPES, HEADER_BYTES, Kind, Type


def reserved_set(packet: bytes) -> bytes:
    """The same packet with each of them set, and with the header checksum that is right for it. A packet that cannot be
    read stays as it is."""
    header = packets.read(packet)
    if header.error is not None:
        return packet
    raw = bytearray(packet)
    raw[10:12] = b"\xff\xff"
    if header.type in packets.OPENING_TYPES:
        raw[32] |= 0xFF
        raw[33] |= 0xF0  # two bits more have a meaning in ETFTP (R1986-03)
    elif header.type in DATA_TYPES:
        raw[DATA_HEADER_BYTES - 2] |= 0xFF
        raw[DATA_HEADER_BYTES - 1] |= 0xFE
    elif header.type is Type.NULL_ACK:
        raw[18:20] = b"\xff\xff"
    elif header.type is Type.CONTROL:
        _set_in_messages(raw, header)
    return packets.seal(raw)


def _set_in_messages(raw: bytearray, control: packets.Packet) -> None:
    at = HEADER_BYTES
    for message in control.messages:
        raw[at + 1] = 0xFF
        if message.kind is Kind.OK:
            raw[at + 14 : at + 16] = b"\xff\xff"
        elif message.kind is Kind.RESEND:
            raw[at + 10 : at + 12] = b"\xff\xff"
            behind = at + 12 + 2 * len(message.packets)
            raw[behind : at + message.size] = b"\xff" * (at + message.size - behind)
        at += message.size
