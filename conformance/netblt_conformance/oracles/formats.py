# SPDX-License-Identifier: GPL-2.0-or-later
"""WIRE-02..13: the formats of RFC 998 section 8 in every packet that the implementation emits."""

from __future__ import annotations

from netblt_conformance.oracles.base import Oracle
from netblt_conformance.packets.packets import (
    DATA_TYPES,
    HEADER_BYTES,
    MINIMUM_BYTES,
    OPENING_TYPES,
    STRING_TYPES,
    Packet,
    Type,
)

HEADER_ONLY = (Type.KEEPALIVE, Type.QUITACK, Type.DONE)
NULL_ACK_BYTES = 20
ALIGNMENT_BYTES = 4
FROM_SENDER_ONLY = (Type.DATA, Type.LDATA, Type.NULL_ACK)
FROM_RECEIVER_ONLY = (Type.CONTROL, Type.DONE)


class FormatOracle(Oracle):
    sees_everything = True
    _version: int | None = None

    def received(self, packet: Packet, time_us: int, frame: int) -> None:
        del time_us
        if len(packet.raw) < HEADER_BYTES:
            self.fail("WIRE-02", f"a packet of {len(packet.raw)} bytes has no whole header", frame)
            return
        if packet.type is None:
            self.fail("WIRE-03", f"packet type {packet.type_code} does not exist", frame)
            return
        self._check_header(packet, frame)
        self._check_length(packet, packet.type, frame)
        if packet.error is not None:
            if packet.type is Type.CONTROL and packet.length <= len(packet.raw):
                self.fail("WIRE-12", f"a CONTROL cannot be walked: {packet.error}", frame)
            return
        self._check_reserved(packet, frame)
        self._check_strings(packet, frame)
        self._check_direction(packet, packet.type, frame)

    def _check_header(self, packet: Packet, frame: int) -> None:
        """AMB-01: any version byte, as long as it is the same in the whole connection. REFUSED belongs to none: it
        answers an OPEN, in the version of that OPEN."""
        if self._version is None:
            self._version = packet.version
        if packet.version != self._version and packet.type is not Type.REFUSED:
            self.fail("WIRE-02", f"the version byte changed from {self._version} to {packet.version}", frame)
        if packet.header_padding:
            self.warn("WIRE-02", "the header's alignment padding is not zero", frame)

    def _check_length(self, packet: Packet, kind: Type, frame: int) -> None:
        behind = len(packet.raw) - packet.length
        minimum = MINIMUM_BYTES.get(kind, HEADER_BYTES)
        if behind < 0 or packet.length < minimum:
            text = f"Length {packet.length} in {kind.name} of {len(packet.raw)} bytes, at least {minimum} are needed"
            self.fail("WIRE-04", text, frame)
        elif kind in DATA_TYPES:
            if behind >= ALIGNMENT_BYTES:
                self.fail("WIRE-04", f"{behind} bytes follow the Length of {kind.name}", frame)
        elif behind:
            self.fail("WIRE-04", f"{behind} bytes follow the Length of {kind.name}", frame)
        elif packet.length % ALIGNMENT_BYTES:
            self.fail("WIRE-05", f"{kind.name} of {packet.length} bytes is no multiple of 4", frame)
        if kind in HEADER_ONLY and packet.length != HEADER_BYTES:
            self.fail("WIRE-06", f"{kind.name} of {packet.length} bytes is more than a header", frame)
        if kind is Type.NULL_ACK and packet.length != NULL_ACK_BYTES:
            self.fail("WIRE-11", f"NULL-ACK of {packet.length} bytes instead of {NULL_ACK_BYTES}", frame)

    def _check_reserved(self, packet: Packet, frame: int) -> None:
        """AMB-16: must-be-zero bits are a must, padding bytes a should."""
        if packet.type in OPENING_TYPES and packet.flags & ~3:
            self.fail("WIRE-09", f"reserved flag bits are set: 0x{packet.flags:04x}", frame)
        if packet.is_data and packet.flags & ~1:
            self.fail("WIRE-10", f"reserved flag bits are set: 0x{packet.flags:04x}", frame)
        if any(packet.padding):
            self.warn("WIRE-11", "the padding of NULL-ACK is not zero", frame)
        if any(any(message.padding) for message in packet.messages):
            self.warn("WIRE-12", "padding in a control message is not zero", frame)

    def _check_strings(self, packet: Packet, frame: int) -> None:
        """WIRE-07, AMB-03: the field may be absent, else it ends in NUL. AMB-61: a client string is unstructured and
        may hold NULs, a reason should not."""
        if packet.type not in OPENING_TYPES + STRING_TYPES or not packet.string:
            return
        assert packet.type is not None
        text = packet.string.rstrip(b"\0")
        if packet.string[-1]:
            self.fail("WIRE-07", f"the string of {packet.type.name} does not end in NUL", frame)
        elif b"\0" in text and packet.type in STRING_TYPES:
            self.warn("WIRE-07", f"there is a NUL inside the reason of {packet.type.name} (AMB-61)", frame)
        elif len(packet.string) - len(text) > ALIGNMENT_BYTES:
            self.warn("WIRE-07", f"the string of {packet.type.name} is filled beyond a multiple of 4", frame)

    def _check_direction(self, packet: Packet, kind: Type, frame: int) -> None:
        role = self.session.role
        wrong = FROM_RECEIVER_ONLY if role.sender else FROM_SENDER_ONLY
        if kind in wrong or kind is (Type.RESPONSE if role.active else Type.OPEN):
            self.fail("WIRE-13", f"{kind.name} came from the {role}", frame)
        swapped = (packet.local_port, packet.foreign_port) == (self.session.own_port, self.session.iut_port)
        if swapped and self.session.own_port != self.session.iut_port:
            self.fail("WIRE-13", "Local and Foreign Port are not swapped in what it sends (AMB-13)", frame)
