# SPDX-License-Identifier: GPL-2.0-or-later
# This file imports only scapy: it can be copied to scapy/contrib. netblt.uts tests it.

# scapy.contrib.description = Network Block Transfer (NETBLT), RFC 998
# scapy.contrib.status = loads

"""
NETBLT (RFC 998), its version 4, and the dialect of ETFTP (RFC 1986)

Examples::

    IP(dst="10.0.0.2") / NETBLT(local_port=1024, foreign_port=1) / NETBLTOpen(string="report.tar")
    NETBLT(local_port=1, foreign_port=1024) / NETBLTLData(packet=3, data_checksum=None) / b"data"
    NETBLT(local_port=1024, foreign_port=1) / NETBLTControl(messages=[NETBLTGo(seq=1, buffer=0)])
    NETBLT(type="KEEPALIVE", local_port=1, foreign_port=1024)
    NETBLT(version=4, local_port=1, foreign_port=2) / NETBLT4Open(unique_id=7)
    IP(dst="10.0.0.2") / UDP(dport=1818) / ETFTP(local_port=1, foreign_port=2) / ETFTPOpen()

The fields Type, Length and Checksum are computed unless they are given. The data checksum is
zero by default, which means "no checksum"; with None it is computed. RFC 998 aligns packets to
four bytes: a packet whose Length is computed is followed by zeros beyond Length. They are not
added when `length` is given.

Dissection never raises an exception. The following is dissected as Raw: fewer than 12 bytes; a
body that contradicts Length; a body that lacks a part of its fixed fields; an unknown type; a
control message that is unknown or not complete, with all that follows it. Bytes beyond Length
are Padding.

References: RFC 998; draft-white-protocol-stack and MIL-STD-2045-44500 (version 4); RFC 1986.
"""

from __future__ import annotations

import struct
from typing import Any, ClassVar

from scapy.config import conf
from scapy.fields import (
    ByteEnumField,
    ByteField,
    ConditionalField,
    FieldLenField,
    FieldListField,
    FlagsField,
    IntField,
    PacketListField,
    ShortField,
    StrField,
    XByteField,
    XIntField,
    XShortField,
)
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6
from scapy.packet import Packet, bind_bottom_up, bind_layers
from scapy.utils import checksum

IP_PROTOCOL = 30
UDP_PORT = 9980  # a convention of this project: RFC 998 defines no use of UDP
ETFTP_PORT = 1818
HEADER_BYTES = 12
ALIGNMENT_BYTES = 4
LARGEST_COUNT = 0xFFFF  # without it, scapy stops after 100 entries of a list

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
OPEN, RESPONSE, QUIT, QUITACK, ABORT = 0, 1, 3, 4, 5
DATA, LDATA, NULL_ACK, CONTROL, REFUSED, DONE = 6, 7, 8, 9, 10, 11

MESSAGE_NAMES = {0: "GO", 1: "OK", 2: "RESEND"}
GO, OK, RESEND = 0, 1, 2

# Flags, lowest bit first. M: 1 = WRITE, the active end sends. C: data have a checksum.
# L: this is the last buffer. "bitN" must be zero.
SETUP_FLAGS = ["M", "C", *(f"bit{number}" for number in range(2, 16))]
DATA_FLAGS = ["L", *(f"bit{number}" for number in range(1, 16))]
# ETFTP. M: 1 = READ, the reverse of RFC 998. T: binary. R: the packet size may change.
ETFTP_FLAGS = ["M", "C", "T", "R", *(f"bit{number}" for number in range(4, 16))]

# The types that answer a packet, for scapy's sr().
ANSWERS = {
    OPEN: {RESPONSE, ABORT, REFUSED},
    RESPONSE: {DATA, LDATA, NULL_ACK, CONTROL, ABORT},
    QUIT: {QUITACK, DONE},
    CONTROL: {DATA, LDATA, NULL_ACK},
    DATA: {CONTROL},
    LDATA: {CONTROL},
}

Layers = dict[int, type[Any]]


class Verbatim(bytes):
    """The bytes of a string field that are sent as they are, without NUL and fill."""

    def __repr__(self) -> str:
        return f"Verbatim({super().__repr__()})"


def wire_form(text: bytes) -> bytes:
    """The text with its NUL, filled with NULs to a multiple of four bytes."""
    terminated = text + b"\0"
    return terminated + b"\0" * (-len(terminated) % ALIGNMENT_BYTES)


class TextField(StrField):
    """
    A NUL-terminated, NUL-filled string that takes the rest of the packet.

    The value is the text without NUL and fill. If the bytes in a packet are not what any text
    is encoded as (none, no NUL, data after the NUL), the value is a Verbatim.
    """

    def any2i(self, pkt: Any, x: Any) -> Any:
        return x if isinstance(x, Verbatim) else super().any2i(pkt, x)

    def i2m(self, _pkt: Any, x: Any) -> bytes:
        if isinstance(x, Verbatim):
            return bytes(x)
        return wire_form(b"" if x is None else bytes(x))

    def m2i(self, _pkt: Any, x: bytes) -> bytes:
        text = x.partition(b"\0")[0]
        return text if wire_form(text) == x else Verbatim(x)

    def i2len(self, pkt: Any, x: Any) -> int:
        return len(self.i2m(pkt, x))


# Bodies. `minimum_bytes`: a shorter body is Raw. `when_empty`: the fields of a body of no bytes.
# Each class needs field objects of its own, so shared layouts are functions.


def setup_fields(
    flags: list[str], buffer_size: int = 14336, transfer_size: bool = True, before_string: tuple[Any, ...] = ()
) -> list[Any]:
    """The layout of OPEN and RESPONSE, with what the dialects change."""
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
    """Requests a connection."""

    name = "NETBLT OPEN"
    minimum_bytes = 24
    fields_desc: ClassVar[list[Any]] = setup_fields(SETUP_FLAGS)


class NETBLTResponse(Packet):
    """Accepts a connection."""

    name = "NETBLT RESPONSE"
    minimum_bytes = 24
    fields_desc: ClassVar[list[Any]] = setup_fields(SETUP_FLAGS)


class Reason(Packet):
    """A body that is a text, which may be missing."""

    minimum_bytes = 0
    when_empty: ClassVar[dict[str, Any]] = {"string": Verbatim()}


class NETBLTQuit(Reason):
    """Ends the connection in order."""

    name = "NETBLT QUIT"
    fields_desc: ClassVar[list[Any]] = [TextField("string", b"")]


class NETBLTAbort(Reason):
    """Ends the connection at once."""

    name = "NETBLT ABORT"
    fields_desc: ClassVar[list[Any]] = [TextField("string", b"")]


class NETBLTRefused(Reason):
    """Refuses an OPEN."""

    name = "NETBLT REFUSED"
    fields_desc: ClassVar[list[Any]] = [TextField("string", b"")]


# Control messages.


def message_head(code: int) -> list[Any]:
    """The fields at the beginning of each control message."""
    return [
        ByteEnumField("type", code, MESSAGE_NAMES),
        XByteField("pad", 0),
        ShortField("seq", 1),
        IntField("buffer", 0),
    ]


def ok_fields(tail: Any) -> list[Any]:
    """The layout of OK."""
    return [
        *message_head(OK),
        ShortField("burst_size", 5),
        ShortField("burst_interval_ms", 40),
        ShortField("control_timer_ms", 500),
        tail,
    ]


def packet_list() -> list[Any]:
    """The packet numbers of a RESEND, with two bytes of fill after an odd number of them."""
    return [
        FieldListField("packets", [], ShortField("", 0), count_from=lambda pkt: pkt.count, max_count=LARGEST_COUNT),
        ConditionalField(XShortField("fill", 0), lambda pkt: len(pkt.packets) % 2 == 1),
    ]


class ControlMessage(Packet):
    """A message of a CONTROL packet; the bytes after it are the next message."""

    fixed_bytes = 8

    @classmethod
    def size_of(cls, _message: bytes) -> int:
        """The size in bytes that the message has by its fixed fields."""
        return cls.fixed_bytes

    def extract_padding(self, s: bytes) -> tuple[bytes, bytes]:
        return b"", s


class NETBLTGo(ControlMessage):
    """The receiver can take a buffer."""

    name = "NETBLT GO"
    fields_desc: ClassVar[list[Any]] = message_head(GO)


class NETBLTOk(ControlMessage):
    """A buffer has arrived completely; offers burst values for later buffers."""

    name = "NETBLT OK"
    fixed_bytes = 16
    fields_desc: ClassVar[list[Any]] = ok_fields(XShortField("tail", 0))


class ResendMessage(ControlMessage):
    """A RESEND of any version: its size depends on its count, in bytes 8 and 9."""

    @classmethod
    def size_of(cls, message: bytes) -> int:
        count = int.from_bytes(message[8:10], "big")
        return cls.fixed_bytes + 2 * (count + count % 2)


class NETBLTResend(ResendMessage):
    """Requests the retransmission of packets of a buffer."""

    name = "NETBLT RESEND"
    fixed_bytes = 12
    fields_desc: ClassVar[list[Any]] = [
        *message_head(RESEND),
        FieldLenField("count", None, count_of="packets"),
        XShortField("pad2", 0),
        *packet_list(),
    ]


class ControlPacket(Packet):
    """A CONTROL of any dialect: a list of messages. `messages_of` has the class of each code."""

    minimum_bytes = 0
    when_empty: ClassVar[dict[str, Any]] = {}
    messages_of: ClassVar[Layers] = {}

    def next_message(self, _list: Any, _current: Any, remain: bytes) -> type[Any] | None:
        """The class of the next message; None, which ends the list, if it is unknown or not complete.

        The size of an unknown message is unknown, so that no message after it can be found.
        """
        found = self.messages_of.get(remain[0]) if remain else None
        return found if found and len(remain) >= found.size_of(remain) else None


def message_list() -> list[Any]:
    """The field of a CONTROL."""
    return [
        PacketListField("messages", [], next_cls_cb=lambda pkt, *rest: pkt.next_message(*rest), max_count=LARGEST_COUNT)
    ]


class NETBLTControl(ControlPacket):
    """Control messages, in the order of their sequence numbers."""

    name = "NETBLT CONTROL"
    messages_of: ClassVar[Layers] = {GO: NETBLTGo, OK: NETBLTOk, RESEND: NETBLTResend}
    fields_desc: ClassVar[list[Any]] = message_list()


# Data packets.


class DataPacket(Packet):
    """A DATA or LDATA of any version. `data_checksum` of None is computed from the payload."""

    checksum_at: ClassVar[int] = 8  # the offset of the data checksum in the body

    def post_build(self, pkt: bytes, pay: bytes) -> bytes:
        if self.data_checksum is None:
            at = self.checksum_at
            pkt = pkt[:at] + struct.pack(">H", checksum(pay)) + pkt[at + 2 :]
        return pkt + pay


def data_fields() -> list[Any]:
    """The layout of DATA and LDATA."""
    return [
        IntField("buffer", 0),
        ShortField("high_seq", 0),
        ShortField("packet", 0),
        XShortField("data_checksum", 0),
        FlagsField("flags", 0, 16, DATA_FLAGS),
    ]


class NETBLTData(DataPacket):
    """A packet of a buffer, not the last one; the data are the payload."""

    name = "NETBLT DATA"
    minimum_bytes = 12
    fields_desc: ClassVar[list[Any]] = data_fields()


class NETBLTLData(DataPacket):
    """The last packet of a buffer; the data are the payload."""

    name = "NETBLT LDATA"
    minimum_bytes = 12
    fields_desc: ClassVar[list[Any]] = data_fields()


def null_ack_fields(tail: Any) -> list[Any]:
    """The layout of NULL-ACK."""
    return [ShortField("high_seq", 0), ShortField("burst_size", 5), ShortField("burst_interval_ms", 40), tail]


class NETBLTNullAck(Packet):
    """Acknowledges control messages without data, and reports burst values."""

    name = "NETBLT NULL-ACK"
    minimum_bytes = 8
    fields_desc: ClassVar[list[Any]] = null_ack_fields(XShortField("tail", 0))


# Version 4: the header of RFC 998 with other type codes and other bodies. Version 5, which was
# never adopted, adds MESSAGE.

VERSION_4, VERSION_5 = 4, 5
VERSION_4_DATA = (5, 6)  # the type codes of DATA and LDATA
VERSION_4_DATA_HEADER_BYTES = 32


def data4_fields() -> list[Any]:
    """The layout of DATA and LDATA of version 4."""
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
    """Requests a connection."""

    name = "NETBLT 4 OPEN"
    minimum_bytes = 20
    fields_desc: ClassVar[list[Any]] = setup_fields(SETUP_FLAGS, transfer_size=False)


class NETBLT4Response(Packet):
    """Accepts a connection."""

    name = "NETBLT 4 RESPONSE"
    minimum_bytes = 20
    fields_desc: ClassVar[list[Any]] = setup_fields(SETUP_FLAGS, transfer_size=False)


class NETBLT4Data(DataPacket):
    """A packet of a buffer, not the last one."""

    name = "NETBLT 4 DATA"
    minimum_bytes = 20
    checksum_at = 12
    fields_desc: ClassVar[list[Any]] = data4_fields()


class NETBLT4LData(DataPacket):
    """The last packet of a buffer."""

    name = "NETBLT 4 LDATA"
    minimum_bytes = 20
    checksum_at = 12
    fields_desc: ClassVar[list[Any]] = data4_fields()


class NETBLT4NullAck(Packet):
    """Acknowledges control messages; keeps an idle connection open."""

    name = "NETBLT 4 NULL-ACK"
    minimum_bytes = 12
    fields_desc: ClassVar[list[Any]] = [
        IntField("last_touched", 0),
        ShortField("high_seq", 0),
        ShortField("burst_size", 5),
        ShortField("burst_interval_ms", 40),
        FlagsField("flags", 0, 16, DATA_FLAGS),
    ]


class NETBLT4Resend(ResendMessage):
    """Requests the retransmission of packets of a buffer; offers burst values."""

    name = "NETBLT 4 RESEND"
    fixed_bytes = 16
    fields_desc: ClassVar[list[Any]] = [
        *message_head(RESEND),
        FieldLenField("count", None, count_of="packets"),
        ShortField("burst_size", 5),
        ShortField("burst_interval_ms", 40),
        XShortField("pad2", 0),
        *packet_list(),
    ]


class NETBLT4Control(ControlPacket):
    """Control messages; without a message it keeps an idle connection open."""

    name = "NETBLT 4 CONTROL"
    messages_of: ClassVar[Layers] = {GO: NETBLTGo, OK: NETBLTOk, RESEND: NETBLT4Resend}
    fields_desc: ClassVar[list[Any]] = message_list()


class NETBLT5Message(Reason):
    """A text for the client of the remote end, version 5 only."""

    name = "NETBLT 5 MESSAGE"
    fields_desc: ClassVar[list[Any]] = [TextField("string", b"")]


VERSION_4_BODIES: Layers = {
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
OTHER_VERSIONS: dict[int, Layers] = {
    VERSION_4: VERSION_4_BODIES,
    VERSION_5: {**VERSION_4_BODIES, 11: NETBLT5Message},
}


class NETBLT(Packet):
    """The header of 12 bytes; without a body it is a KEEPALIVE, QUITACK or DONE."""

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
    bodies: ClassVar[Layers] = {
        OPEN: NETBLTOpen,
        RESPONSE: NETBLTResponse,
        QUIT: NETBLTQuit,
        ABORT: NETBLTAbort,
        DATA: NETBLTData,
        LDATA: NETBLTLData,
        NULL_ACK: NETBLTNullAck,
        CONTROL: NETBLTControl,
        REFUSED: NETBLTRefused,
    }

    @classmethod
    def dispatch_hook(cls, _pkt: bytes | None = None, *_args: Any, **_kwargs: Any) -> type[Any]:
        raw: type[Any] = conf.raw_layer
        return cls if _pkt is None or len(_pkt) >= HEADER_BYTES else raw

    def extract_padding(self, s: bytes) -> tuple[bytes, bytes | None]:
        body = self.length - HEADER_BYTES
        return (s[:body], s[body:]) if 0 <= body <= len(s) else (s, None)

    def guess_payload_class(self, payload: bytes) -> type[Any]:
        raw: type[Any] = conf.raw_layer
        body = OTHER_VERSIONS.get(self.version, self.bodies).get(self.type, raw)
        least = getattr(body, "minimum_bytes", 0)
        return body if len(payload) == self.length - HEADER_BYTES >= least else raw

    def do_dissect_payload(self, s: bytes) -> None:
        # A body may be empty (a QUIT without reason, a CONTROL without messages): scapy skips it.
        body = self.guess_payload_class(s)
        if s or body is conf.raw_layer:
            super().do_dissect_payload(s)
        else:
            self.add_payload(body(_underlayer=self, **body.when_empty))

    def post_build(self, pkt: bytes, pay: bytes) -> bytes:
        # Length first, since Checksum covers it; alignment last, since no checksum covers it.
        whole = pkt + pay
        if self.length is None:
            whole = whole[:4] + struct.pack(">H", min(len(whole), 0xFFFF)) + whole[6:]
        if self.checksum is None:
            covered = self.checksum_bytes(int.from_bytes(whole[4:6], "big"))
            whole = struct.pack(">H", checksum(b"\0\0" + whole[2:covered])) + whole[2:]
        aligned = self.version not in OTHER_VERSIONS
        if self.length is None and aligned and not self.haslayer(conf.padding_layer):
            whole += b"\0" * (-len(whole) % ALIGNMENT_BYTES)
        return whole

    def checksum_bytes(self, length: int) -> int:
        """The number of bytes that Checksum covers: in DATA and LDATA not the data."""
        if self.version in OTHER_VERSIONS:
            return VERSION_4_DATA_HEADER_BYTES if self.type in VERSION_4_DATA else length
        return HEADER_BYTES + NETBLTData.minimum_bytes if self.type in (DATA, LDATA) else length

    def hashret(self) -> bytes:
        ports = sorted((self.local_port, self.foreign_port))
        return struct.pack(">HH", *ports) + bytes(self.payload.hashret())

    def answers(self, other: Any) -> bool:
        if not isinstance(other, NETBLT):
            return False
        if (self.local_port, self.foreign_port) != (other.foreign_port, other.local_port):
            return False
        if self.type not in ANSWERS.get(other.type, ()):
            return False
        return self.type != RESPONSE or bool(self.payload.unique_id == other.payload.unique_id)

    def mysummary(self) -> Any:
        return self.sprintf("NETBLT %NETBLT.type% %NETBLT.local_port% > %NETBLT.foreign_port%")


# ETFTP (RFC 1986): the header of RFC 998 in UDP; OPEN, RESPONSE, OK and NULL-ACK differ.


def etftp_setup_fields() -> list[Any]:
    """The layout of OPEN and RESPONSE: the radio's delay is before the string."""
    return setup_fields(
        ETFTP_FLAGS, buffer_size=8192, before_string=(ShortField("radio_delay_s", 0), XShortField("pad", 0))
    )


class ETFTPOpen(Packet):
    """Requests a connection."""

    name = "ETFTP OPEN"
    minimum_bytes = 28
    fields_desc: ClassVar[list[Any]] = etftp_setup_fields()


class ETFTPResponse(Packet):
    """Accepts a connection."""

    name = "ETFTP RESPONSE"
    minimum_bytes = 28
    fields_desc: ClassVar[list[Any]] = etftp_setup_fields()


class ETFTPNullAck(Packet):
    """Acknowledges control messages, and confirms changed values."""

    name = "ETFTP NULL-ACK"
    minimum_bytes = 8
    fields_desc: ClassVar[list[Any]] = null_ack_fields(ShortField("packet_size", 0))


class ETFTPOk(ControlMessage):
    """A buffer has arrived completely; offers values for later buffers, also the packet size."""

    name = "ETFTP OK"
    fixed_bytes = 16
    fields_desc: ClassVar[list[Any]] = ok_fields(ShortField("packet_size", 0))


class ETFTPControl(ControlPacket):
    """Control messages, in the order of their sequence numbers."""

    name = "ETFTP CONTROL"
    messages_of: ClassVar[Layers] = {GO: NETBLTGo, OK: ETFTPOk, RESEND: NETBLTResend}
    fields_desc: ClassVar[list[Any]] = message_list()


class ETFTP(NETBLT):
    """The header of RFC 998 before the bodies of RFC 1986."""

    name = "ETFTP"
    match_subclass = True
    bodies: ClassVar[Layers] = {
        **NETBLT.bodies,
        OPEN: ETFTPOpen,
        RESPONSE: ETFTPResponse,
        NULL_ACK: ETFTPNullAck,
        CONTROL: ETFTPControl,
    }


for _code, _body in NETBLT.bodies.items():
    bind_layers(NETBLT, _body, type=_code)
for _code, _body in ETFTP.bodies.items():
    bind_layers(ETFTP, _body, type=_code)
# The body sets the version. QUIT, ABORT and REFUSED are those of RFC 998: with another version
# give `version` and `type`.
for _code, _body in OTHER_VERSIONS[VERSION_5].items():
    if _body not in NETBLT.bodies.values():
        bind_layers(NETBLT, _body, type=_code, version=VERSION_5 if _body is NETBLT5Message else VERSION_4)

bind_layers(IP, NETBLT, frag=0, proto=IP_PROTOCOL)
bind_layers(IPv6, NETBLT, nh=IP_PROTOCOL)
bind_bottom_up(UDP, NETBLT, dport=UDP_PORT)
bind_bottom_up(UDP, NETBLT, sport=UDP_PORT)
bind_layers(UDP, NETBLT, sport=UDP_PORT, dport=UDP_PORT)
bind_bottom_up(UDP, ETFTP, dport=ETFTP_PORT)
bind_bottom_up(UDP, ETFTP, sport=ETFTP_PORT)
bind_layers(UDP, ETFTP, dport=ETFTP_PORT)
