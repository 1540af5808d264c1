# SPDX-License-Identifier: GPL-2.0-or-later
"""NETBLT packets from nothing but struct: what a packet means, side by side with its octets.

The vectors and the forged captures are made from here. This file shares no line with the scapy layer, the C core or
the dissector, since those three are what its output is there to hold together.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field, replace
from typing import Any

Fields = dict[str, Any]

TYPE_CODES = {
    "OPEN": 0,
    "RESPONSE": 1,
    "KEEPALIVE": 2,
    "QUIT": 3,
    "QUITACK": 4,
    "ABORT": 5,
    "DATA": 6,
    "LDATA": 7,
    "NULL-ACK": 8,
    "CONTROL": 9,
    "REFUSED": 10,
    "DONE": 11,
}
HEADER_BYTES = 12
DATA_HEADER_BYTES = 24  # also the reach of the Checksum field of DATA and LDATA (CKSUM-03)
GO, OK, RESEND = 0, 1, 2


def ones_complement_sum(octets: bytes) -> int:
    """Adds big-endian 16-bit words with end-around carry; a single last byte counts as the high half (AMB-06)."""
    total = 0
    for high in range(0, len(octets), 2):
        total += octets[high] << 8
        if high + 1 < len(octets):
            total += octets[high + 1]
        if total > 0xFFFF:
            total -= 0xFFFF
    return total


def checksum(octets: bytes) -> int:
    """What goes into a checksum field that is zero while summing (CKSUM-02)."""
    return 0xFFFF - ones_complement_sum(octets)


@dataclass(frozen=True)
class Packet:
    """One packet: its octets, where its NETBLT part ends, and the meaning that its author gave it."""

    type: str | None
    octets: bytes
    fields: Fields = field(default_factory=dict)

    @property
    def covered(self) -> int:
        """How many bytes the Checksum field covers."""
        length: int = self.fields["length"]
        return DATA_HEADER_BYTES if self.type in ("DATA", "LDATA") else length

    def with_checksum(self, value: int) -> Packet:
        """The same packet with another value in its Checksum field."""
        octets = struct.pack(">H", value) + self.octets[2:]
        return replace(self, octets=octets, fields={**self.fields, "checksum": value})

    def followed_by(self, trailer: bytes) -> Packet:
        """The same packet with bytes beyond its Length, as a link layer or AMB-02 (a) adds them."""
        return replace(self, octets=self.octets + trailer)

    def cut_to(self, payload_bytes: int) -> Packet:
        """Only the first bytes of the packet arrived."""
        return replace(self, octets=self.octets[:payload_bytes])


def text_field(text: str) -> bytes:
    """A string with its NUL, filled with NULs to a multiple of four (WIRE-07)."""
    raw = text.encode("ascii") + b"\0"
    return raw + b"\0" * (-len(raw) % 4)


def packet(
    type_name: str | None,
    body: bytes = b"",
    fields: Fields | None = None,
    *,
    type_code: int | None = None,
    version: int = 2,
    local_port: int = 1024,
    foreign_port: int = 1,
    padding: int = 0,
    length: int | None = None,
) -> Packet:
    """Puts the common header before a body, with the checksum that belongs there."""
    code = TYPE_CODES[type_name] if type_name in TYPE_CODES and type_code is None else type_code
    stated = HEADER_BYTES + len(body) if length is None else length
    header = struct.pack(">HBBHHHH", 0, version, code, stated, local_port, foreign_port, padding)
    head = {"checksum": 0, "version": version, "type_code": code, "length": stated}
    ports = {"local_port": local_port, "foreign_port": foreign_port, "padding": padding}
    blank = Packet(type_name, header + body, {**head, **ports, **(fields or {})})
    return blank.with_checksum(checksum(blank.octets[: blank.covered]))


def setup(type_name: str, *, string: str | bytes = "", **given: Any) -> Packet:
    """OPEN or RESPONSE. A str is terminated and filled; bytes are the string field as they are."""
    values: Fields = {
        "unique_id": 0x1A2B3C4D,
        "buffer_size": 14380,
        "transfer_size": 0,
        "packet_size": 1436,
        "burst_size": 5,
        "burst_interval_ms": 40,
        "death_timer_s": 60,
        "write": False,
        "data_checksum_flag": False,
        "reserved_flags": 0,
        "max_buffers": 4,
    }
    header = {name: given.pop(name) for name in list(given) if name not in values}
    values.update(given)
    flags = values["reserved_flags"] | (1 if values["write"] else 0) | (2 if values["data_checksum_flag"] else 0)
    raw = text_field(string) if isinstance(string, str) else string
    body = struct.pack(
        ">IIIHHHHHH",
        values["unique_id"],
        values["buffer_size"],
        values["transfer_size"],
        values["packet_size"],
        values["burst_size"],
        values["burst_interval_ms"],
        values["death_timer_s"],
        flags,
        values["max_buffers"],
    )
    return packet(type_name, body + raw, {**values, "string": first_text(raw)}, **header)


def reason(type_name: str, string: str | bytes = "", **header: Any) -> Packet:
    """QUIT, ABORT or REFUSED."""
    raw = text_field(string) if isinstance(string, str) else string
    return packet(type_name, raw, {"string": first_text(raw)}, **header)


def first_text(raw: bytes) -> str:
    """What a reader takes a string field for: everything before the first NUL."""
    return raw.partition(b"\0")[0].decode("ascii")


def data(
    type_name: str,
    octets: bytes,
    *,
    buffer: int = 0,
    number: int = 0,
    high_seq: int = 1,
    last_buffer: bool = False,
    summed: bool = False,
    data_checksum: int | None = None,
    reserved_flags: int = 0,
    **header: Any,
) -> Packet:
    """DATA or LDATA without anything beyond Length; `summed` is C=1, data_checksum overrules the field."""
    value = checksum(octets) if summed else 0
    if data_checksum is not None:
        value = data_checksum
    flags = reserved_flags | (1 if last_buffer else 0)
    body = struct.pack(">IHHHH", buffer, high_seq, number, value, flags) + octets
    fields = {
        "buffer": buffer,
        "high_seq": high_seq,
        "packet": number,
        "data_checksum": value,
        "last_buffer": last_buffer,
        "reserved_flags": reserved_flags,
        "data_hex": octets.hex(),
    }
    return packet(type_name, body, fields, **header)


def null_ack(
    high_seq: int, burst_size: int = 5, burst_interval_ms: int = 40, *, tail: int = 0, **header: Any
) -> Packet:
    """NULL-ACK; `tail` is the padding word at its end."""
    fields = {"high_seq": high_seq, "burst_size": burst_size, "burst_interval_ms": burst_interval_ms}
    return packet("NULL-ACK", struct.pack(">HHHH", high_seq, burst_size, burst_interval_ms, tail), fields, **header)


@dataclass(frozen=True)
class Message:
    """One control message: its octets and its meaning."""

    octets: bytes
    fields: Fields


def go(seq: int, buffer: int, *, pad: int = 0) -> Message:
    """The receiver has room for a buffer."""
    return Message(struct.pack(">BBHI", GO, pad, seq, buffer), {"type": "GO", "seq": seq, "buffer": buffer})


def ok(
    seq: int,
    buffer: int,
    *,
    burst_size: int = 5,
    burst_interval_ms: int = 40,
    control_timer_ms: int = 500,
    pad: int = 0,
    tail: int = 0,
) -> Message:
    """A buffer has arrived whole."""
    fixed = struct.pack(">BBHI", OK, pad, seq, buffer)
    offer = struct.pack(">HHHH", burst_size, burst_interval_ms, control_timer_ms, tail)
    fields = {"burst_size": burst_size, "burst_interval_ms": burst_interval_ms, "control_timer_ms": control_timer_ms}
    return Message(fixed + offer, {"type": "OK", "seq": seq, "buffer": buffer, **fields})


def resend(
    seq: int, buffer: int, packets: list[int], *, count: int | None = None, pad: int = 0, fill: int = 0
) -> Message:
    """Some packets are missing; a two-byte fill follows an odd number of them. `count` overrules the count field."""
    stated = len(packets) if count is None else count
    fixed = struct.pack(">BBHIHH", RESEND, pad, seq, buffer, stated, fill)
    numbers = b"".join(struct.pack(">H", number) for number in packets)
    rest = struct.pack(">H", fill) if len(packets) % 2 else b""
    fields = {"type": "RESEND", "seq": seq, "buffer": buffer, "count": stated, "packets": packets}
    return Message(fixed + numbers + rest, fields)


def control(messages: list[Message], *, residue: bytes = b"", **header: Any) -> Packet:
    """CONTROL; `residue` are octets after the last readable message, inside Length."""
    body = b"".join(message.octets for message in messages) + residue
    return packet("CONTROL", body, {"messages": [message.fields for message in messages]}, **header)
