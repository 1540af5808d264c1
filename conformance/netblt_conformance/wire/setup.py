# SPDX-License-Identifier: GPL-2.0-or-later
"""Bodies of OPEN and RESPONSE, and of the packets that carry a reason: QUIT, ABORT and REFUSED."""

from __future__ import annotations

from typing import Any, ClassVar

from scapy.fields import FlagsField, IntField, ShortField, XIntField

from netblt_conformance.wire.fields import TextField, Verbatim
from netblt_conformance.wire.netblt import ABORT, OPEN, QUIT, REFUSED, RESPONSE, bind_body
from netblt_conformance.wire.scapy_edge import Packet

# Lowest bit first. M: 1 = WRITE, the active end sends. C: data are checksummed. The others must be zero (WIRE-09).
SETUP_FLAGS = ["M", "C", *(f"bit{number}" for number in range(2, 16))]


def setup_fields(
    flags: list[str] = SETUP_FLAGS,
    *,
    buffer_size: int = 14336,
    transfer_size: bool = True,
    before_string: tuple[Any, ...] = (),
) -> list[Any]:
    """OPEN and RESPONSE share one layout (WIRE-08), which the dialects change a little; each class needs field objects
    of its own."""
    return [
        XIntField("unique_id", 0),
        IntField("buffer_size", buffer_size),
        *([IntField("transfer_size", 0)] if transfer_size else []),
        ShortField("packet_size", 1024),
        ShortField("burst_size", 5),
        ShortField("burst_interval_ms", 40),
        ShortField("death_timer_s", 60),
        FlagsField("flags", 0, 16, flags),
        ShortField("max_buffers", 1),
        *before_string,
        TextField("string", b""),
    ]


class NETBLTOpen(Packet):
    """Asks for a connection."""

    name = "NETBLT OPEN"
    minimum_bytes = 24
    fields_desc: ClassVar[list[Any]] = setup_fields()


class NETBLTResponse(Packet):
    """Accepts one."""

    name = "NETBLT RESPONSE"
    minimum_bytes = 24
    fields_desc: ClassVar[list[Any]] = setup_fields()


class Reason(Packet):
    """What carries a reason, which may be missing."""

    minimum_bytes = 0
    when_empty: ClassVar[dict[str, Any]] = {"string": Verbatim()}


class NETBLTQuit(Reason):
    """Ends the connection in good order."""

    name = "NETBLT QUIT"
    fields_desc: ClassVar[list[Any]] = [TextField("string", b"")]


class NETBLTAbort(Reason):
    """Ends the connection at once."""

    name = "NETBLT ABORT"
    fields_desc: ClassVar[list[Any]] = [TextField("string", b"")]


class NETBLTRefused(Reason):
    """Declines an OPEN."""

    name = "NETBLT REFUSED"
    fields_desc: ClassVar[list[Any]] = [TextField("string", b"")]


bind_body(NETBLTOpen, OPEN)
bind_body(NETBLTResponse, RESPONSE)
bind_body(NETBLTQuit, QUIT)
bind_body(NETBLTAbort, ABORT)
bind_body(NETBLTRefused, REFUSED)
