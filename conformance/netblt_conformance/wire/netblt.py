# SPDX-License-Identifier: GPL-2.0-or-later
# scapy.contrib.description = NETBLT (RFC 998)
# scapy.contrib.status = loads
"""The common header of NETBLT, and what carries it.

    IP(dst="10.0.0.2") / NETBLT(local_port=1024, foreign_port=1) / NETBLTOpen(unique_id=7, string="report.tar")
    NETBLT(local_port=1024, foreign_port=1) / NETBLTControl(messages=[NETBLTGo(seq=1, buffer=0)])
    NETBLT(local_port=1, foreign_port=1024) / NETBLTLData(buffer=0, packet=3, data_checksum=None) / b"the data"
    NETBLT(type="KEEPALIVE", local_port=1, foreign_port=1024)

Type, Length and Checksum fill themselves in unless given. A DATA packet whose Length fills itself in is followed by
zeros up to a multiple of four beyond Length (AMB-02 a); give `length` to have none. Bytes beyond Length are read as
scapy's Padding.

Reading never raises. A payload that its type cannot have, because Length contradicts it or the octets of a fixed part
are missing, becomes Raw; fewer than 12 octets are Raw altogether.
"""

from __future__ import annotations

import struct
from typing import Any, ClassVar

from scapy.config import conf
from scapy.fields import ByteEnumField, ByteField, ShortField, XShortField
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6
from scapy.packet import bind_bottom_up, bind_layers
from scapy.utils import checksum

from netblt_conformance.wire.scapy_edge import Packet

IP_PROTOCOL = 30
UDP_PORT = 9980  # of this project: RFC 998 knows no UDP
HEADER_BYTES = 12
DATA_HEADER_BYTES = 24
ALIGNMENT_BYTES = 4

TYPE_NAMES = {
    0: "OPEN",
    1: "RESPONSE",
    2: "KEEPALIVE",
    3: "QUIT",
    4: "QUITACK",
    5: "ABORT",
    6: "DATA",
    7: "LDATA",
    8: "NULL-ACK",
    9: "CONTROL",
    10: "REFUSED",
    11: "DONE",
}
OPEN, RESPONSE, QUIT, ABORT, DATA, LDATA, NULL_ACK, CONTROL, REFUSED = 0, 1, 3, 5, 6, 7, 8, 9, 10

# Versions whose layouts are not those of RFC 998 (AMB-01). A dialect adds its table here when it has layers.
Layers = dict[int, type[Any]]
FOREIGN_VERSIONS: dict[int, Layers] = {4: {}, 5: {}}
FOREIGN_DATA = (5, 6)  # DATA and LDATA there
FOREIGN_DATA_HEADER_BYTES = 32

# What a request may be answered with: for scapy's sr().
ANSWERS = {
    OPEN: {RESPONSE, ABORT, REFUSED},
    RESPONSE: {DATA, LDATA, NULL_ACK, CONTROL, ABORT},
    QUIT: {4, 11},
    CONTROL: {DATA, LDATA, NULL_ACK},
    DATA: {CONTROL},
    LDATA: {CONTROL},
}


class NETBLT(Packet):
    """The 12-byte header of every packet; alone it is a KEEPALIVE, QUITACK or DONE."""

    name = "NETBLT"
    fields_desc: ClassVar[list[Any]] = [
        XShortField("checksum", None),
        ByteField("version", 2),
        ByteEnumField("type", 2, TYPE_NAMES),
        ShortField("length", None),
        ShortField("local_port", 0),
        ShortField("foreign_port", 0),
        XShortField("padding", 0),
    ]
    # Body layer of each type code; filled by `bind_body`. A dialect on a port of its own is a subclass with its own.
    bodies: ClassVar[Layers] = {}

    @classmethod
    def dispatch_hook(cls, _pkt: bytes | None = None, *_args: Any, **_kwargs: Any) -> type[Any]:
        """Octets that are no header are Raw."""
        raw: type[Any] = conf.raw_layer
        return cls if _pkt is None or len(_pkt) >= HEADER_BYTES else raw

    def extract_padding(self, s: bytes) -> tuple[bytes, bytes | None]:
        """Parts the payload from what lies beyond Length."""
        body = self.length - HEADER_BYTES
        return (s[:body], s[body:]) if 0 <= body <= len(s) else (s, None)

    def guess_payload_class(self, payload: bytes) -> type[Any]:
        """The body of this type, if Length and payload allow it; else Raw."""
        bodies = FOREIGN_VERSIONS.get(self.version, self.bodies)
        raw: type[Any] = conf.raw_layer
        body = bodies.get(self.type, raw)
        least = getattr(body, "minimum_bytes", 0)
        return body if len(payload) == self.length - HEADER_BYTES >= least else raw

    def do_dissect_payload(self, s: bytes) -> None:
        """A body may be empty (a QUIT without reason, a CONTROL without messages); scapy would leave it out."""
        body = self.guess_payload_class(s)
        if s or body is conf.raw_layer:
            super().do_dissect_payload(s)
        else:
            self.add_payload(body(_underlayer=self, **body.when_empty))

    def post_build(self, pkt: bytes, pay: bytes) -> bytes:
        """Length first, since the Checksum covers it; alignment last, since nothing covers it."""
        whole = pkt + pay
        if self.length is None:
            whole = whole[:4] + struct.pack(">H", min(len(whole), 0xFFFF)) + whole[6:]
        if self.checksum is None:
            reach = self.checksum_reach(int.from_bytes(whole[4:6], "big"))
            whole = struct.pack(">H", checksum(b"\0\0" + whole[2:reach])) + whole[2:]
        odd_allowed = self.version in FOREIGN_VERSIONS
        if self.length is None and not odd_allowed and not self.haslayer(conf.padding_layer):
            whole += b"\0" * (-len(whole) % ALIGNMENT_BYTES)
        return whole

    def checksum_reach(self, length: int) -> int:
        """How many bytes the Checksum covers (CKSUM-01, CKSUM-03)."""
        if self.version in FOREIGN_VERSIONS:
            return FOREIGN_DATA_HEADER_BYTES if self.type in FOREIGN_DATA else length
        return DATA_HEADER_BYTES if self.type in (DATA, LDATA) else length

    def hashret(self) -> bytes:
        """The same for both directions of a connection."""
        return struct.pack(">HH", *sorted((self.local_port, self.foreign_port))) + bytes(self.payload.hashret())

    def answers(self, other: Any) -> bool:
        """Whether this may be what `other` was sent for."""
        if not isinstance(other, NETBLT):
            return False
        if (self.local_port, self.foreign_port) != (other.foreign_port, other.local_port):
            return False
        if self.type not in ANSWERS.get(other.type, ()):
            return False
        return self.type != RESPONSE or bool(self.payload.unique_id == other.payload.unique_id)

    def mysummary(self) -> Any:
        """One line."""
        return self.sprintf("NETBLT %NETBLT.type% %NETBLT.local_port% > %NETBLT.foreign_port%")


def bind_body(body: type[Any], code: int) -> None:
    """Makes a layer the body of a packet type of RFC 998."""
    NETBLT.bodies[code] = body
    bind_layers(NETBLT, body, type=code)


bind_layers(IP, NETBLT, frag=0, proto=IP_PROTOCOL)
bind_layers(IPv6, NETBLT, nh=IP_PROTOCOL)
bind_bottom_up(UDP, NETBLT, dport=UDP_PORT)
bind_bottom_up(UDP, NETBLT, sport=UDP_PORT)
bind_layers(UDP, NETBLT, sport=UDP_PORT, dport=UDP_PORT)
