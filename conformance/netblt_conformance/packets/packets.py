# SPDX-License-Identifier: GPL-2.0-or-later
"""What the suite reads in a packet and what it forges. Reading never raises: `error` states what could not be read."""

from __future__ import annotations

import enum
import functools
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from netblt_conformance.common.words import printable
from netblt_conformance.packets.ipv4 import internet_checksum
from netblt_conformance.wire.fast import checksum_ok

HEADER_BYTES = 12
LOCAL_PORT = slice(6, 8)  # in a header
DATA_HEADER_BYTES = 24
OPENING_BYTES = 36
ALIGNMENT_BYTES = 4
# The layers take versions 4 and 5 for other dialects; the tests have them read whatever byte came as RFC 998.
READ_AS_VERSION = 2
_VERSION_AT = 2


class Type(enum.IntEnum):
    OPEN = 0
    RESPONSE = 1
    KEEPALIVE = 2
    QUIT = 3
    QUITACK = 4
    ABORT = 5
    DATA = 6
    LDATA = 7
    NULL_ACK = 8
    CONTROL = 9
    REFUSED = 10
    DONE = 11

    @property
    def text(self) -> str:
        """As RFC 998 writes it."""
        return self.name.replace("_", "-")


class Kind(enum.IntEnum):
    GO = 0
    OK = 1
    RESEND = 2


DATA_TYPES = (Type.DATA, Type.LDATA)
ACKING_TYPES = (Type.DATA, Type.LDATA, Type.NULL_ACK)
OPENING_TYPES = (Type.OPEN, Type.RESPONSE)
STRING_TYPES = (Type.QUIT, Type.ABORT, Type.REFUSED)
MINIMUM_BYTES = {Type.OPEN: 36, Type.RESPONSE: 36, Type.DATA: 24, Type.LDATA: 24, Type.NULL_ACK: 20}

_OPENING_FIELDS = (
    "unique_id",
    "buffer_size",
    "transfer_size",
    "packet_size",
    "burst_size",
    "burst_interval_ms",
    "death_timer_s",
    "flags",
    "max_buffers",
)
# Of these the transfer size, like the string, is the client's and no NETBLT's (RFC 998 3): copies may differ in it.
_CLIENT_FIELDS = ("transfer_size",)
_DATA_FIELDS = ("buffer", "high_seq", "packet", "data_checksum", "flags")
_NULL_ACK_FIELDS = ("high_seq", "burst_size", "burst_interval_ms")
_HEADER_FIELDS = (
    "checksum",
    "version",
    "type_code",
    "length",
    "local_port",
    "foreign_port",
    "header_padding",
)
# Of control messages. Numbers may count on beyond it: what is written is the rest (AMB-12).
SEQ_MODULUS = 1 << 16
_HEADER = struct.Struct(">HBBHHHH")
_OPENING = struct.Struct(">IIIHHHHHH")
_DATA = struct.Struct(">IHHHH")
_NULL_ACK = struct.Struct(">HHH")
_MESSAGE = struct.Struct(">BBHI")  # type, padding, sequence number, buffer: what all control messages begin with
_OK = struct.Struct(">HHHH")  # burst size, burst interval, control timer, padding
_LIST = struct.Struct(">HH")  # of a RESEND: number of entries, padding


@dataclass(frozen=True, slots=True)
class Message:
    """One control message."""

    kind: Kind
    seq: int
    buffer: int
    burst_size: int = 0
    burst_interval_ms: int = 0
    control_timer_ms: int = 0
    packets: tuple[int, ...] = ()
    padding: bytes = b""  # every byte that should be zero

    @property
    def identity(self) -> tuple[int, int, tuple[int, ...]]:
        """What a repetition must not change (CTRL-02): an OK may carry a fresher offer and timer."""
        return self.kind, self.buffer, self.packets

    def is_disjoint_from(self, other: Message) -> bool:
        """Two requests that name no packet in common may be parts of one (AMB-33)."""
        return not set(self.packets) & set(other.packets)

    @property
    def size(self) -> int:
        if self.kind is Kind.RESEND:
            return 12 + (len(self.packets) + 1) // 2 * 4
        return 8 if self.kind is Kind.GO else 16

    def wire(self) -> bytes:
        """As in a CONTROL, with all padding zero."""
        head = _MESSAGE.pack(self.kind, 0, self.seq % SEQ_MODULUS, self.buffer)
        if self.kind is Kind.OK:
            return head + _OK.pack(self.burst_size, self.burst_interval_ms, self.control_timer_ms, 0)
        if self.kind is Kind.RESEND:
            count = len(self.packets)
            return head + struct.pack(f">HH{count}H{count % 2 * 2}x", count, 0, *self.packets)
        return head

    def __str__(self) -> str:
        listed = ":" + ",".join(map(str, self.packets)) if self.kind is Kind.RESEND else ""
        return f"#{self.seq} {self.kind.name}({self.buffer}{listed})"


@dataclass(frozen=True, slots=True)
class Packet:
    """A NETBLT packet as read. Fields that its type does not have stay at their defaults."""

    raw: bytes  # the whole IP payload
    type: Type | None = None
    type_code: int = -1
    checksum: int = 0
    version: int = 0
    length: int = 0
    local_port: int = 0
    foreign_port: int = 0
    header_padding: int = 0
    error: str | None = None  # why the rest could not be read
    unique_id: int = 0
    buffer_size: int = 0
    transfer_size: int = 0
    packet_size: int = 0
    burst_size: int = 0
    burst_interval_ms: int = 0
    death_timer_s: int = 0
    flags: int = 0
    max_buffers: int = 0
    string: bytes = b""  # the field as it is on the wire
    buffer: int = 0
    high_seq: int = 0
    packet: int = 0
    data_checksum: int = 0
    data: bytes = b""
    padding: bytes = b""
    messages: tuple[Message, ...] = ()

    @property
    def text(self) -> str:
        return self.string.split(b"\0")[0].decode("utf-8", "replace")

    @property
    def writes(self) -> bool:
        """OPEN, RESPONSE: the M bit."""
        return bool(self.flags & 1)

    @property
    def data_checksum_on(self) -> bool:
        """OPEN, RESPONSE: the C bit."""
        return bool(self.flags & 2)

    @property
    def last_buffer(self) -> bool:
        """DATA, LDATA: the L bit."""
        return bool(self.flags & 1)

    @property
    def is_data(self) -> bool:
        return self.type in DATA_TYPES

    def holds(self, seq: int) -> bool:
        """Whether this control message is in the packet."""
        return any(message.seq == seq for message in self.messages)

    @property
    def acks(self) -> bool:
        return self.type in ACKING_TYPES

    @property
    def checksum_good(self) -> bool:
        """CKSUM-01, CKSUM-03."""
        return checksum_ok(self.raw)

    def __str__(self) -> str:
        if self.error is not None:
            return f"unreadable packet ({self.error})"
        name = self.type.text if self.type is not None else f"type {self.type_code}"
        if self.is_data:
            return f"{name}(buffer {self.buffer}, packet {self.packet}, ack {self.high_seq})"
        if self.type is Type.NULL_ACK:
            return f"NULL-ACK(ack {self.high_seq})"
        if self.type is Type.CONTROL:
            return f"CONTROL({', '.join(map(str, self.messages))})"
        if self.type in STRING_TYPES and self.text:
            return f"{name}({printable(self.text)!r})"
        return name


@functools.lru_cache(maxsize=4096)  # repetitions are equal, and every monitor reads what its peer has read
def read(raw: bytes) -> Packet:
    """Reads the IP payload `raw`. Any version byte is read as RFC 998 (AMB-01). Read here and
    not by the layers of scapy, which take a hundred times as long; the tests compare the two."""
    if len(raw) < HEADER_BYTES:
        return Packet(raw, error=f"{len(raw)} bytes are no header")
    header = _HEADER.unpack_from(raw)
    fields = dict(zip(_HEADER_FIELDS, header, strict=True))
    code, length = fields["type_code"], fields["length"]
    kind = Type(code) if code in Type._value2member_map_ else None
    minimum = minimum_bytes(kind)
    if not minimum <= length <= len(raw):
        return Packet(raw, kind, **fields, error=f"Length {length}, {minimum}..{len(raw)} possible")
    return Packet(raw, kind, **fields, **_read_body(kind, raw[HEADER_BYTES:length]))


def minimum_bytes(kind: Type | None) -> int:
    """The smallest Length that a packet of this type can have."""
    return MINIMUM_BYTES.get(kind, HEADER_BYTES) if kind is not None else HEADER_BYTES


def has_impossible_length(packet: Packet) -> bool:
    """Length is smaller than a packet of its type can be, or larger than what arrived."""
    return not minimum_bytes(packet.type) <= packet.length <= len(packet.raw)


def _read_body(kind: Type | None, body: bytes) -> dict[str, Any]:
    if kind in OPENING_TYPES:
        fields = _unpacked(_OPENING, _OPENING_FIELDS, body)
        return {**fields, "string": body[_OPENING.size :]}
    if kind in DATA_TYPES:
        return {**_unpacked(_DATA, _DATA_FIELDS, body), "data": body[_DATA.size :]}
    if kind is Type.NULL_ACK:
        return {**_unpacked(_NULL_ACK, _NULL_ACK_FIELDS, body), "padding": body[_NULL_ACK.size : _NULL_ACK.size + 2]}
    if kind is Type.CONTROL:
        messages = tuple(_messages(body))
        rest = len(body) - sum(message.size for message in messages)
        error = f"{rest} bytes after message {len(messages)} are no control message" if rest > 0 else None
        if rest < 0:
            error = f"{-rest} bytes of padding are missing after message {len(messages)}"
        return {"messages": messages, "error": error}
    if kind in STRING_TYPES:
        return {"string": body}
    return {}


def _unpacked(layout: struct.Struct, names: tuple[str, ...], body: bytes) -> dict[str, int]:
    return dict(zip(names, layout.unpack_from(body), strict=True))


def _messages(body: bytes) -> Iterator[Message]:
    """The messages of a CONTROL up to the first one that is unknown or not complete. A last RESEND whose numbers
    are all there is read without its padding: an implementation may act upon it or not."""
    at = 0
    while len(body) - at >= _MESSAGE.size:
        code, pad, seq, buffer = _MESSAGE.unpack_from(body, at)
        at += _MESSAGE.size
        left = len(body) - at
        if code == Kind.GO:
            yield Message(Kind.GO, seq, buffer, padding=bytes([pad]))
        elif code == Kind.OK and left >= _OK.size:
            burst, interval_ms, timer_ms, tail = _OK.unpack_from(body, at)
            at += _OK.size
            padding = struct.pack(">BH", pad, tail)
            yield Message(Kind.OK, seq, buffer, burst, interval_ms, timer_ms, padding=padding)
        elif code == Kind.RESEND and left >= _LIST.size:
            count, pad2 = _LIST.unpack_from(body, at)
            at += _LIST.size
            if left < _LIST.size + 2 * count:
                return
            numbers = struct.unpack_from(f">{count}H", body, at)
            at += 2 * count
            fill = int.from_bytes(body[at : at + 2 * (count % 2)], "big")
            at += 2 * (count % 2)
            padding = struct.pack(">BHH", pad, pad2, fill)
            yield Message(Kind.RESEND, seq, buffer, packets=numbers, padding=padding)
        else:
            return


# ---- forging ----


def seal(raw: bytes | bytearray) -> bytes:
    """Writes the right header checksum into a packet whose Length and type are set."""
    packet = bytearray(raw)
    packet[0:2] = b"\0\0"
    length = int.from_bytes(packet[4:6], "big")
    covered = packet[:DATA_HEADER_BYTES] if packet[3] in DATA_TYPES else packet[:length]
    packet[0:2] = internet_checksum(bytes(covered)).to_bytes(2, "big")
    return bytes(packet)


def spoil(packet: bytes) -> bytes:
    """The same packet with a header checksum that is wrong (CKSUM-06)."""
    spoilt = bytearray(packet)
    spoilt[0] ^= 0x5A
    return bytes(spoilt)


def text_field(text: str | bytes) -> bytes:
    """A string field: at least one NUL, NUL-filled to a multiple of 4 (WIRE-07)."""
    raw = (text.encode() if isinstance(text, str) else text) + b"\0"
    return raw + b"\0" * (-len(raw) % 4)


def different_terms(copy: Packet, first: Packet) -> list[str]:
    """In which fields a repeated OPEN or RESPONSE has other values for the peer than the first one (AMB-63)."""
    names = [name for name in _OPENING_FIELDS if name not in _CLIENT_FIELDS]
    return [name.replace("_", " ") for name in names if getattr(copy, name) != getattr(first, name)]


def is_only_the_pair(fields: list[str]) -> bool:
    """Whether these are no others than those that every OK may renegotiate (RFC 998 4, AMB-63)."""
    return {"burst size", "burst interval ms"}.issuperset(fields)


def different_for_clients(copy: Packet, first: Packet) -> list[str]:
    """In which fields they differ that only concern the clients."""
    names = [*_CLIENT_FIELDS, "string"]
    return [name.replace("_", " ") for name in names if getattr(copy, name) != getattr(first, name)]


def low_byte_first(value: int) -> int:
    """What a reader of the network's byte order makes of a 16-bit field that was written in the other one."""
    return value >> 8 | (value & 0xFF) << 8


def data_checksum(data: bytes) -> int:
    """The Data Area Checksum of `data` (CKSUM-04)."""
    return internet_checksum(data)


@dataclass(frozen=True, slots=True)
class Forge:
    """Makes packets of one end: its version byte and its ports."""

    version: int
    local_port: int
    foreign_port: int

    def packet(self, kind: int, body: bytes = b"") -> bytes:
        """Any type with any body. What fills the packet up to a multiple of four bytes comes after its Length."""
        length = HEADER_BYTES + len(body)
        header = _HEADER.pack(0, self.version, kind, min(length, 0xFFFF), self.local_port, self.foreign_port, 0)
        return seal(header + body + bytes(-length % ALIGNMENT_BYTES))

    def opening(self, kind: Type, values: Packet) -> bytes:
        """OPEN or RESPONSE with the fields of `values`; its string is taken as the whole field."""
        fields = _OPENING.pack(*(getattr(values, name) for name in _OPENING_FIELDS))
        return self.packet(kind, fields + values.string)

    def reason(self, kind: Type, text: str) -> bytes:
        return self.packet(kind, text_field(text))

    def data(self, values: Packet) -> bytes:
        """DATA or LDATA; padding of form (a) of AMB-02 follows after Length."""
        high_seq = values.high_seq % SEQ_MODULUS
        fields = _DATA.pack(values.buffer, high_seq, values.packet, values.data_checksum, values.flags)
        return self.packet(values.type or Type.DATA, fields + values.data)

    def null_ack(self, high_seq: int, burst_size: int, burst_interval_ms: int) -> bytes:
        return self.packet(
            Type.NULL_ACK, _NULL_ACK.pack(high_seq % SEQ_MODULUS, burst_size, burst_interval_ms) + b"\0\0"
        )

    def control(self, messages: tuple[Message, ...] | list[Message]) -> bytes:
        return self.packet(Type.CONTROL, b"".join(message.wire() for message in messages))
