# SPDX-License-Identifier: GPL-2.0-or-later
"""CONTROL and its messages GO, OK and RESEND (WIRE-12)."""

from __future__ import annotations

from typing import Any, ClassVar

from scapy.fields import (
    ByteEnumField,
    ConditionalField,
    FieldLenField,
    FieldListField,
    IntField,
    PacketListField,
    ShortField,
    XByteField,
    XShortField,
)

from netblt_conformance.wire.netblt import CONTROL, bind_body
from netblt_conformance.wire.scapy_edge import Packet

MESSAGE_NAMES = {0: "GO", 1: "OK", 2: "RESEND"}
GO, OK, RESEND = 0, 1, 2
RESEND_FIXED_BYTES = 12
LARGEST_COUNT = 0xFFFF  # scapy would stop at 100 entries


def message_head(code: int) -> list[Any]:
    """What every control message begins with."""
    return [
        ByteEnumField("type", code, MESSAGE_NAMES),
        XByteField("pad", 0),
        ShortField("seq", 1),
        IntField("buffer", 0),
    ]


class ControlMessage(Packet):
    """What follows a message is the next one, not its payload."""

    def extract_padding(self, s: bytes) -> tuple[bytes, bytes]:
        """Leaves the rest to the list."""
        return b"", s


class NETBLTGo(ControlMessage):
    """The receiver has room for a buffer."""

    name = "NETBLT GO"
    fields_desc: ClassVar[list[Any]] = message_head(GO)


class NETBLTOk(ControlMessage):
    """A buffer has arrived whole; offers burst values for later ones."""

    name = "NETBLT OK"
    fields_desc: ClassVar[list[Any]] = [
        *message_head(OK),
        ShortField("burst_size", 5),
        ShortField("burst_interval_ms", 40),
        ShortField("control_timer_ms", 500),
        XShortField("tail", 0),
    ]


class NETBLTResend(ControlMessage):
    """Packets of a buffer are missing. An odd number of them is followed by two bytes of fill."""

    name = "NETBLT RESEND"
    fields_desc: ClassVar[list[Any]] = [
        *message_head(RESEND),
        FieldLenField("count", None, count_of="packets"),
        XShortField("pad2", 0),
        FieldListField(
            "packets", [], ShortField("", 0), count_from=lambda message: message.count, max_count=LARGEST_COUNT
        ),
        ConditionalField(XShortField("fill", 0), lambda message: len(message.packets) % 2 == 1),
    ]


def next_message(_control: Any, _messages: list[Any], _current: Any, remain: bytes) -> type[Any] | None:
    """The class of the message that `remain` begins with; None, which ends the list, when it is no whole message.

    Nothing behind an unreadable message can be found, since only a known type tells its size (ROBUST-02, ROBUST-03).
    """
    classes: dict[int, tuple[type[Any], int]] = {
        GO: (NETBLTGo, 8),
        OK: (NETBLTOk, 16),
        RESEND: (NETBLTResend, resend_bytes(remain)),
    }
    found, size = classes.get(remain[0], (None, 0)) if remain else (None, 0)
    return found if len(remain) >= size else None


def resend_bytes(remain: bytes) -> int:
    """The size of a RESEND by its count: 12 + 2n, rounded up to a multiple of four."""
    if len(remain) < RESEND_FIXED_BYTES:
        return RESEND_FIXED_BYTES
    count = int.from_bytes(remain[8:10], "big")
    return RESEND_FIXED_BYTES + 2 * (count + count % 2)


class NETBLTControl(Packet):
    """Control messages in the order of their sequence numbers. What cannot be read becomes a Raw payload."""

    name = "NETBLT CONTROL"
    minimum_bytes = 0
    when_empty: ClassVar[dict[str, Any]] = {}
    fields_desc: ClassVar[list[Any]] = [
        PacketListField("messages", [], next_cls_cb=next_message, max_count=LARGEST_COUNT),
    ]


bind_body(NETBLTControl, CONTROL)
