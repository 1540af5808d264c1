# SPDX-License-Identifier: GPL-2.0-or-later
"""Choices of an implementation that change what numbers and checksums mean: the first packet number of a buffer
(AMB-10), and what the header checksum of data packets covers (AMB-04).

The suite uses one set of wire conventions: packets are numbered from 0, and a header checksum covers the header. What
goes to the implementation and what comes from it is converted at the edge. A checksum that is wrong stays wrong by as
much.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass

from netblt_conformance.packets import packets
from netblt_conformance.packets.packets import DATA_HEADER_BYTES, DATA_TYPES, HEADER_BYTES, Kind, Packet, Type
from netblt_conformance.wire import peek
from netblt_conformance.wire.fast import sums_to_ffff

_PACKET_AT = 18
_NUMBERS_AT = 12  # in a RESEND
_ONES = 0xFFFF


class Covers(enum.Enum):
    """What the header checksum of DATA and LDATA covers."""

    HEADER = "the header"
    DATA_IF_SUMMED = "header and data, with data checksums on"
    DATA = "header and data"


@dataclass(frozen=True, slots=True)
class Spelling:
    first_packet: int = 0
    covers: Covers = Covers.HEADER

    def to_wire(self, octets: bytes, summed: bool) -> bytes:
        """A packet of the suite as the implementation reads it. `summed`: data checksums were agreed upon."""
        return self._spell(octets, summed, to_wire=True)

    def from_wire(self, octets: bytes, summed: bool) -> bytes:
        """A packet of the implementation as the suite reads it. `summed`: data checksums were agreed upon."""
        return self._spell(octets, summed, to_wire=False)

    def _spell(self, octets: bytes, summed: bool, *, to_wire: bool) -> bytes:
        whole = self.covers is Covers.DATA or (self.covers is Covers.DATA_IF_SUMMED and summed)
        header = peek(octets) if whole or self.first_packet else None
        if header is None or not HEADER_BYTES <= header.length <= len(octets):
            return octets
        packet = bytearray(octets)
        step = self.first_packet if to_wire else -self.first_packet
        if header.type in DATA_TYPES and header.length >= DATA_HEADER_BYTES:
            _add(packet, _PACKET_AT, step)
            if whole:
                _correct(packet, -_sum(octets, header.length) if to_wire else _sum(octets, header.length))
        elif header.type == Type.CONTROL:
            for at in _number_places(packets.read(octets)):
                _add(packet, at, step)
        return bytes(packet)


PLAIN = Spelling()


def _number_places(control: Packet) -> list[int]:
    """Where the packet numbers of the RESENDs are; nowhere when the CONTROL cannot be read."""
    places: list[int] = []
    at = HEADER_BYTES
    for message in control.messages if control.error is None else ():
        if message.kind is Kind.RESEND:
            places += [at + _NUMBERS_AT + 2 * n for n in range(len(message.packets))]
        at += message.size
    return places


def _sum(octets: bytes, length: int) -> int:
    """What the data of a data packet add to a ones-complement sum."""
    area = octets[DATA_HEADER_BYTES:length]
    return int.from_bytes(area + b"\0" * (len(area) % 2), "big") % _ONES


def _add(packet: bytearray, at: int, step: int) -> None:
    old = int.from_bytes(packet[at : at + 2], "big")
    new = (old + step) & _ONES
    packet[at : at + 2] = new.to_bytes(2, "big")
    _correct(packet, old - new)


def _correct(packet: bytearray, by: int) -> None:
    """Changes the header checksum so that the sum of all that it covers stays what it was."""
    if by:
        packet[0:2] = ((int.from_bytes(packet[0:2], "big") + by) % _ONES).to_bytes(2, "big")


def spelling_of(data: list[Packet], summed: bool, known: Spelling) -> Spelling:
    """The wire conventions of a sender, as far as its packets of one buffer show them; `known` was used to read
    them."""
    first, covers = known.first_packet, known.covers
    numbers = {packet.packet for packet in data}
    if any(packet.type is Type.LDATA for packet in data) and numbers == set(range(1, max(numbers) + 1)):
        first += 1
    if data and all(not packet.checksum_good and sums_to_ffff(packet.raw[: packet.length]) for packet in data):
        covers = Covers.DATA_IF_SUMMED if summed else Covers.DATA
    return Spelling(first, covers)
