# SPDX-License-Identifier: GPL-2.0-or-later
"""WIRE-02..13: the formats of RFC 998 section 8 in every packet that the implementation emits."""

from __future__ import annotations

from netblt_conformance.common.verdicts import Verdict
from netblt_conformance.oracles.base import Check, Oracle, Report
from netblt_conformance.oracles.session import Session
from netblt_conformance.packets.packets import (
    DATA_TYPES,
    HEADER_BYTES,
    OPENING_TYPES,
    STRING_TYPES,
    Packet,
    Type,
    has_impossible_length,
    minimum_bytes,
)

HEADER_ONLY = (Type.KEEPALIVE, Type.QUITACK, Type.DONE)
NULL_ACK_BYTES = 20
ALIGNMENT_BYTES = 4
FROM_SENDER_ONLY = (Type.DATA, Type.LDATA, Type.NULL_ACK)
FROM_RECEIVER_ONLY = (Type.CONTROL, Type.DONE)
OF_NO_CONNECTION = (Type.ABORT, Type.REFUSED, Type.QUITACK)


NO_HEADER = Check("WIRE-02", expected="a header of 12 bytes", seen="a packet of {size} bytes")
NO_TYPE = Check("WIRE-03", expected="a type code of RFC 998", seen="packet type {type} does not exist")
NO_MESSAGES = Check(
    "WIRE-12", stalls=True, expected="whole control messages", seen="a CONTROL cannot be walked: {error}"
)
OTHER_VERSION = Check(
    "WIRE-02",
    expected="one version byte in the whole connection",
    seen="the version byte changed from {before} to {version}",
)
HEADER_PADDING = Check(
    "WIRE-02",
    expected="zeros as padding",
    seen="the header's alignment padding is not zero",
    verdict=Verdict.WARN,
)
_WHOLE_LENGTH = "a Length that counts header and data of the packet"
IMPOSSIBLE_LENGTH = Check(
    "WIRE-04",
    stalls=True,
    expected=_WHOLE_LENGTH,
    seen="Length {length} in {type} of {size} bytes, at least {least} are needed",
)
BEHIND_LENGTH = Check("WIRE-04", expected=_WHOLE_LENGTH, seen="{after} bytes follow the Length of {type}")
NOT_ALIGNED = Check("WIRE-05", expected="a multiple of 4 bytes", seen="{type} of {length} bytes")
MORE_THAN_HEADER = Check("WIRE-06", expected="a bare header", seen="{type} of {length} bytes")
NULL_ACK_LENGTH = Check(
    "WIRE-11", stalls=True, expected=f"NULL-ACK of {NULL_ACK_BYTES} bytes", seen="NULL-ACK of {length} bytes"
)
OPENING_FLAGS = Check("WIRE-09", expected="reserved flag bits that are zero", seen="flags 0x{flags:04x}")
DATA_FLAGS = Check("WIRE-10", expected="reserved flag bits that are zero", seen="flags 0x{flags:04x}")
NULL_ACK_PADDING = Check(
    "WIRE-11", expected="zeros as padding", seen="the padding of NULL-ACK is not zero", verdict=Verdict.WARN
)
MESSAGE_PADDING = Check(
    "WIRE-12", expected="zeros as padding", seen="padding in a control message is not zero", verdict=Verdict.WARN
)
NO_NUL = Check("WIRE-07", expected="a string that ends in NUL", seen="the string of {type} does not end in NUL")
NUL_INSIDE = Check(
    "WIRE-07",
    expected="no NUL before the end of a reason (AMB-61)",
    seen="there is a NUL inside the reason of {type}",
    verdict=Verdict.WARN,
)
FILLED_TOO_FAR = Check(
    "WIRE-07",
    expected="a string that is filled to the next multiple of 4",
    seen="the string of {type} is filled beyond a multiple of 4",
    verdict=Verdict.WARN,
)
WRONG_DIRECTION = Check("WIRE-13", expected="types that this end may send", seen="{type} came from the {role}")
OTHER_PORT = Check(
    "WIRE-13",
    expected="the port of a packet that came from there as Foreign Port",
    seen="{type} has {port} as Foreign Port",
)
PORTS_NOT_SWAPPED = Check(
    "WIRE-13",
    expected="its own port as Local Port (AMB-13)",
    seen="Local and Foreign Port are not swapped in what it sends",
)


class FormatOracle(Oracle):
    sees_everything = True

    def __init__(self, session: Session, report: Report) -> None:
        super().__init__(session, report)
        self._version: int | None = None

    def received(self, packet: Packet, time_us: int, frame: int) -> None:
        del time_us
        if len(packet.raw) < HEADER_BYTES:
            self.report(NO_HEADER, frame, size=len(packet.raw))
            return
        if packet.type is None:
            self.report(NO_TYPE, frame, type=packet.type_code)
            return
        self._check_header(packet, frame)
        self._check_length(packet, packet.type, frame)
        if packet.error is not None:
            if packet.type is Type.CONTROL and packet.length <= len(packet.raw):
                self.report(NO_MESSAGES, frame, error=packet.error)
            return
        self._check_reserved(packet, frame)
        self._check_strings(packet, frame)
        self._check_direction(packet, packet.type, frame)

    def _check_header(self, packet: Packet, frame: int) -> None:
        """AMB-01: any version byte, the same in the whole connection. What may answer a packet of no connection has the
        version of that packet (AMB-55), or that of its emitter, which echoes the version of an OPEN."""
        if self._version is None:
            self._version = packet.version
        if packet.version != self._version and packet.type not in OF_NO_CONNECTION:
            self.report(OTHER_VERSION, frame, before=self._version, version=packet.version)
        if packet.header_padding:
            self.report(HEADER_PADDING, frame)

    def _check_length(self, packet: Packet, kind: Type, frame: int) -> None:
        behind = len(packet.raw) - packet.length
        if has_impossible_length(packet):
            size, least = len(packet.raw), minimum_bytes(kind)
            self.report(IMPOSSIBLE_LENGTH, frame, length=packet.length, type=kind.name, size=size, least=least)
        elif kind in DATA_TYPES:
            if behind >= ALIGNMENT_BYTES:
                self.report(BEHIND_LENGTH, frame, after=behind, type=kind.name)
        elif behind:
            self.report(BEHIND_LENGTH, frame, after=behind, type=kind.name)
        elif packet.length % ALIGNMENT_BYTES:
            self.report(NOT_ALIGNED, frame, type=kind.name, length=packet.length)
        if kind in HEADER_ONLY and packet.length != HEADER_BYTES:
            self.report(MORE_THAN_HEADER, frame, type=kind.name, length=packet.length)
        if kind is Type.NULL_ACK and packet.length != NULL_ACK_BYTES:
            self.report(NULL_ACK_LENGTH, frame, length=packet.length)

    def _check_reserved(self, packet: Packet, frame: int) -> None:
        """AMB-16: must-be-zero bits are a must, padding bytes a should."""
        if packet.type in OPENING_TYPES and packet.flags & ~3:
            self.report(OPENING_FLAGS, frame, flags=packet.flags)
        if packet.is_data and packet.flags & ~1:
            self.report(DATA_FLAGS, frame, flags=packet.flags)
        if any(packet.padding):
            self.report(NULL_ACK_PADDING, frame)
        if any(any(message.padding) for message in packet.messages):
            self.report(MESSAGE_PADDING, frame)

    def _check_strings(self, packet: Packet, frame: int) -> None:
        """WIRE-07, AMB-03: the field may be absent, else it ends in NUL. AMB-61: a client string is unstructured and
        may hold NULs, a reason should not."""
        if packet.type not in OPENING_TYPES + STRING_TYPES or not packet.string:
            return
        assert packet.type is not None
        text = packet.string.rstrip(b"\0")
        if packet.string[-1]:
            self.report(NO_NUL, frame, type=packet.type.text)
        elif b"\0" in text and packet.type in STRING_TYPES:
            self.report(NUL_INSIDE, frame, type=packet.type.text)
        elif len(packet.string) - len(text) > ALIGNMENT_BYTES:
            self.report(FILLED_TOO_FAR, frame, type=packet.type.text)

    def _check_direction(self, packet: Packet, kind: Type, frame: int) -> None:
        role = self.session.role
        wrong = FROM_RECEIVER_ONLY if role.sender else FROM_SENDER_ONLY
        if kind in wrong or kind is (Type.RESPONSE if role.active else Type.OPEN):
            self.report(WRONG_DIRECTION, frame, type=kind.name, role=str(role))
        swapped = (packet.local_port, packet.foreign_port) == (self.session.own_port, self.session.iut_port)
        if swapped and self.session.own_port != self.session.iut_port:
            self.report(PORTS_NOT_SWAPPED, frame)
