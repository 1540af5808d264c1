# SPDX-License-Identifier: GPL-2.0-or-later
"""What the data sender emits: DATA, LDATA and NULL-ACK."""

from __future__ import annotations

import struct
from typing import Any, ClassVar

from scapy.fields import FlagsField, IntField, ShortField, XShortField
from scapy.utils import checksum

from netblt_conformance.wire.netblt import DATA, LDATA, NULL_ACK, bind_body
from netblt_conformance.wire.scapy_edge import Packet

# Lowest bit first. L: this is the last buffer (DATA-09). The others must be zero.
DATA_FLAGS = ["L", *(f"bit{number}" for number in range(1, 16))]


def data_fields() -> list[Any]:
    """DATA and LDATA share one layout (WIRE-10); each class needs field objects of its own."""
    return [
        IntField("buffer", 0),
        ShortField("high_seq", 0),
        ShortField("packet", 0),
        XShortField("data_checksum", 0),
        FlagsField("flags", 0, 16, DATA_FLAGS),
    ]


class SummedData(Packet):
    """DATA and LDATA in any dialect: a `data_checksum` of None is filled in with the checksum of the data (C=1); its
    default of 0 is for C=0 (AMB-07)."""

    checksum_at: ClassVar[int] = 8  # in the body

    def post_build(self, pkt: bytes, pay: bytes) -> bytes:
        """The data checksum, when asked for."""
        if self.data_checksum is None:
            pkt = pkt[: self.checksum_at] + struct.pack(">H", checksum(pay)) + pkt[self.checksum_at + 2 :]
        return pkt + pay


class NETBLTData(SummedData):
    """A packet of a buffer, not the last one. Its data are the payload."""

    name = "NETBLT DATA"
    minimum_bytes = 12
    fields_desc: ClassVar[list[Any]] = data_fields()


class NETBLTLData(SummedData):
    """The last packet of a buffer. Its data are the payload."""

    name = "NETBLT LDATA"
    minimum_bytes = 12
    fields_desc: ClassVar[list[Any]] = data_fields()


class NETBLTNullAck(Packet):
    """Acknowledges control messages when there are no data to do it, and reports burst values (WIRE-11)."""

    name = "NETBLT NULL-ACK"
    minimum_bytes = 8
    fields_desc: ClassVar[list[Any]] = [
        ShortField("high_seq", 0),
        ShortField("burst_size", 5),
        ShortField("burst_interval_ms", 40),
        XShortField("tail", 0),
    ]


bind_body(NETBLTData, DATA)
bind_body(NETBLTLData, LDATA)
bind_body(NETBLTNullAck, NULL_ACK)
