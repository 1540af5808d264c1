# SPDX-License-Identifier: GPL-2.0-or-later
# scapy.contrib.description = NETBLT version 4 (TACO2, MIL-STD-2045-44500)
# scapy.contrib.status = loads
"""Version 4, as the draft "white-protocol-stack" describes it: the header of RFC 998, other codes and other bodies.

    IP(dst="10.0.0.2") / NETBLT(version=4, type=0, local_port=1, foreign_port=2) / NETBLT4Open(unique_id=7)

A packet is read so when its version is 4. Version 5, which was never adopted, has the same
bodies and MESSAGE beside them.
"""

from __future__ import annotations

from typing import Any, ClassVar

from scapy.fields import (
    ConditionalField,
    FieldLenField,
    FieldListField,
    FlagsField,
    IntField,
    PacketListField,
    ShortField,
    XShortField,
)
from scapy.packet import bind_layers

from netblt_conformance.wire.control import LARGEST_COUNT, RESEND, ControlMessage, NETBLTGo, NETBLTOk, message_head
from netblt_conformance.wire.data import DATA_FLAGS, SummedData
from netblt_conformance.wire.fields import TextField, Verbatim
from netblt_conformance.wire.netblt import FOREIGN_VERSIONS, NETBLT, Layers
from netblt_conformance.wire.scapy_edge import Packet
from netblt_conformance.wire.setup import NETBLTAbort, NETBLTQuit, NETBLTRefused, setup_fields

VERSION, VERSION_5 = 4, 5
TYPES = ("OPEN", "RESPONSE", "QUIT", "QUITACK", "ABORT", "DATA", "LDATA", "NULL-ACK", "CONTROL", "REFUSED", "DONE")
_RESEND_FIXED_BYTES = 16


def open_fields() -> list[Any]:
    """OPEN and RESPONSE: no transfer size."""
    return setup_fields(transfer_size=False)


def data_fields() -> list[Any]:
    """DATA and LDATA: the last buffer touched, and the burst values that NULL-ACK reports too."""
    return [
        IntField("buffer", 1),
        IntField("last_touched", 0),
        ShortField("high_seq", 0),
        ShortField("packet", 0),
        XShortField("data_checksum", 0),
        FlagsField("flags", 0, 16, DATA_FLAGS),
        ShortField("burst_size", 5),
        ShortField("burst_interval_ms", 40),
    ]


class NETBLT4Open(Packet):
    """Asks for a connection."""

    name = "NETBLT 4 OPEN"
    minimum_bytes = 20
    fields_desc: ClassVar[list[Any]] = open_fields()


class NETBLT4Response(Packet):
    """Accepts one."""

    name = "NETBLT 4 RESPONSE"
    minimum_bytes = 20
    fields_desc: ClassVar[list[Any]] = open_fields()


class NETBLT4Data(SummedData):
    """A packet of a buffer, not the last one."""

    name = "NETBLT 4 DATA"
    minimum_bytes = 20
    checksum_at = 12
    fields_desc: ClassVar[list[Any]] = data_fields()


class NETBLT4LData(SummedData):
    """The last packet of a buffer."""

    name = "NETBLT 4 LDATA"
    minimum_bytes = 20
    checksum_at = 12
    fields_desc: ClassVar[list[Any]] = data_fields()


class NETBLT4NullAck(Packet):
    """Acknowledges; keeps an idle connection alive."""

    name = "NETBLT 4 NULL-ACK"
    minimum_bytes = 12
    fields_desc: ClassVar[list[Any]] = [
        IntField("last_touched", 0),
        ShortField("high_seq", 0),
        ShortField("burst_size", 5),
        ShortField("burst_interval_ms", 40),
        FlagsField("flags", 0, 16, DATA_FLAGS),
    ]


class NETBLT4Resend(ControlMessage):
    """Packets of a buffer are missing; offers burst values."""

    name = "NETBLT 4 RESEND"
    fields_desc: ClassVar[list[Any]] = [
        *message_head(RESEND),
        FieldLenField("count", None, count_of="packets"),
        ShortField("burst_size", 5),
        ShortField("burst_interval_ms", 40),
        XShortField("pad2", 0),
        FieldListField(
            "packets", [], ShortField("", 0), count_from=lambda message: message.count, max_count=LARGEST_COUNT
        ),
        ConditionalField(XShortField("fill", 0), lambda message: len(message.packets) % 2 == 1),
    ]


def _resend_bytes(remain: bytes) -> int:
    if len(remain) < _RESEND_FIXED_BYTES:
        return _RESEND_FIXED_BYTES
    count = int.from_bytes(remain[8:10], "big")
    return _RESEND_FIXED_BYTES + 2 * (count + count % 2)


def next_message_4(_control: Any, _messages: list[Any], _current: Any, remain: bytes) -> type[Any] | None:
    """The class of the message that `remain` begins with; None when it is no whole message."""
    classes: dict[int, tuple[type[Any], int]] = {
        0: (NETBLTGo, 8),
        1: (NETBLTOk, 16),
        RESEND: (NETBLT4Resend, _resend_bytes(remain)),
    }
    found, size = classes.get(remain[0], (None, 0)) if remain else (None, 0)
    return found if len(remain) >= size else None


class NETBLT4Control(Packet):
    """Control messages; without any it keeps an idle connection alive."""

    name = "NETBLT 4 CONTROL"
    minimum_bytes = 0
    when_empty: ClassVar[dict[str, Any]] = {}
    fields_desc: ClassVar[list[Any]] = [
        PacketListField("messages", [], next_cls_cb=next_message_4, max_count=LARGEST_COUNT),
    ]


class NETBLT5Message(Packet):
    """Version 5 only: words for the peer's client."""

    name = "NETBLT 5 MESSAGE"
    minimum_bytes = 0
    when_empty: ClassVar[dict[str, Any]] = {"string": Verbatim()}
    fields_desc: ClassVar[list[Any]] = [TextField("string", b"")]


BODIES: Layers = {
    0: NETBLT4Open,
    1: NETBLT4Response,
    2: NETBLTQuit,
    4: NETBLTAbort,
    5: NETBLT4Data,
    6: NETBLT4LData,
    7: NETBLT4NullAck,
    8: NETBLT4Control,
    9: NETBLTRefused,
}
FOREIGN_VERSIONS[VERSION] = BODIES
FOREIGN_VERSIONS[VERSION_5] = {**BODIES, 11: NETBLT5Message}

# Building tells the version by the body. QUIT, ABORT and REFUSED are those of RFC 998: give type and version there.
for _code, _body in FOREIGN_VERSIONS[VERSION_5].items():
    if _body not in (NETBLTQuit, NETBLTAbort, NETBLTRefused):
        bind_layers(NETBLT, _body, type=_code, version=VERSION_5 if _body is NETBLT5Message else VERSION)
