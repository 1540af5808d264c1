# SPDX-License-Identifier: GPL-2.0-or-later
"""Packets of ETFTP (RFC 1986) and of version 4 (TACO2) from nothing but struct, with their meaning beside them."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any

from pcaps.tools.octets import TYPE_CODES, Fields, Message, Packet, checksum, go, ok, resend, text_field

ETFTP_PORT = 1818
V4_CODES = {
    "OPEN": 0,
    "RESPONSE": 1,
    "QUIT": 2,
    "QUITACK": 3,
    "ABORT": 4,
    "DATA": 5,
    "LDATA": 6,
    "NULL-ACK": 7,
    "CONTROL": 8,
    "REFUSED": 9,
    "DONE": 10,
}
UID = 0x5EAF00D5
BUFFER_BYTES, PACKET_BYTES = 2048, 512

TERMS: Fields = {
    "unique_id": UID,
    "buffer_size": BUFFER_BYTES,
    "transfer_size": 0,
    "packet_size": PACKET_BYTES,
    "burst_size": 2,
    "burst_interval_ms": 50,
    "death_timer_s": 60,
    "active_sends": True,
    "data_checksum_flag": True,
    "binary": True,
    "renegotiate": True,
    "reserved_flags": 0,
    "max_buffers": 2,
    "radio_delay_s": 4,
    "string": "",
}


@dataclass(frozen=True)
class Dialect:
    """How one dialect lays out what both have in common."""

    name: str
    version: int
    codes: dict[str, int]
    data_header_bytes: int

    def packet(self, kind: str, body: bytes, fields: Fields, ports: tuple[int, int]) -> Packet:
        """The common header, with a checksum over all of it, of DATA and LDATA over their header only."""
        code, length = self.codes[kind], 12 + len(body)
        raw = struct.pack(">HBBHHHH", 0, self.version, code, length, *ports, 0) + body
        value = checksum(raw[: self.data_header_bytes] if kind in ("DATA", "LDATA") else raw)
        header = {"checksum": value, "version": self.version, "type_code": code, "length": length}
        header |= {"local_port": ports[0], "foreign_port": ports[1], "padding": 0}
        return Packet(kind, struct.pack(">H", value) + raw[2:], {**header, **fields})

    def setup(
        self, kind: str, ports: tuple[int, int], string: str, transfer_bytes: int, packet_bytes: int = PACKET_BYTES
    ) -> Packet:
        """OPEN or RESPONSE: the active end sends, data checksummed."""
        terms = {"string": string, "transfer_size": transfer_bytes, "packet_size": packet_bytes}
        return self.opening(kind, ports, {**TERMS, **terms})

    def opening(self, kind: str, ports: tuple[int, int], terms: Fields) -> Packet:
        """OPEN or RESPONSE; `active_sends` and not M, which RFC 1986 turns (R1986-04)."""
        write = terms["active_sends"] == (self.name == "version4")
        common = ("unique_id", "buffer_size", "packet_size", "burst_size", "burst_interval_ms", "death_timer_s")
        fields: dict[str, Any] = {key: terms[key] for key in (*common, "max_buffers")}
        fields |= {"write": write, "data_checksum_flag": terms["data_checksum_flag"], "string": terms["string"]}
        flags = terms["reserved_flags"] | (1 if write else 0) | (2 if terms["data_checksum_flag"] else 0)
        pace = tuple(fields[key] for key in common[2:])
        if self.name == "version4":
            body = struct.pack(
                ">IIHHHHHH", fields["unique_id"], fields["buffer_size"], *pace, flags, fields["max_buffers"]
            )
        else:
            fields |= {key: terms[key] for key in ("transfer_size", "binary", "renegotiate", "radio_delay_s")}
            flags |= (4 if terms["binary"] else 0) | (8 if terms["renegotiate"] else 0)
            sizes = (fields["unique_id"], fields["buffer_size"], fields["transfer_size"])
            rest = (flags, fields["max_buffers"], fields["radio_delay_s"], 0)
            body = struct.pack(">IIIHHHHHHHH", *sizes, *pace, *rest)
        text = terms["string"]
        return self.packet(kind, body + (text_field(text) if isinstance(text, str) else text), fields, ports)

    def data(
        self,
        kind: str,
        ports: tuple[int, int],
        buffer: int,
        number: int,
        high_seq: int,
        octets: bytes,
        last: bool,
        data_checksum: int | None = None,
    ) -> Packet:
        """DATA or LDATA; `data_checksum` overrules the right one."""
        value = checksum(octets) if data_checksum is None else data_checksum
        fields: dict[str, Any] = {"buffer": buffer, "high_seq": high_seq, "packet": number, "data_checksum": value}
        fields |= {"last_buffer": last, "data_hex": octets.hex()}
        if self.name == "version4":
            fields |= {"last_touched": buffer, "burst_size": 2, "burst_interval_ms": 50}
            body = struct.pack(">IIHHHHHH", buffer, buffer, high_seq, number, value, int(last), 2, 50)
        else:
            body = struct.pack(">IHHHH", buffer, high_seq, number, value, int(last))
        return self.packet(kind, body + octets, fields, ports)

    def null_ack(
        self,
        ports: tuple[int, int],
        high_seq: int,
        touched: int,
        packet_bytes: int = 256,
        pace: tuple[int, int] = (2, 50),
    ) -> Packet:
        """NULL-ACK; `pace` is burst size and burst interval."""
        fields: dict[str, Any] = {"high_seq": high_seq, "burst_size": pace[0], "burst_interval_ms": pace[1]}
        if self.name == "version4":
            fields |= {"last_touched": touched, "last_buffer": False}
            return self.packet("NULL-ACK", struct.pack(">IHHHH", touched, high_seq, *pace, 0), fields, ports)
        fields["packet_size"] = packet_bytes
        return self.packet("NULL-ACK", struct.pack(">HHHH", high_seq, *pace, packet_bytes), fields, ports)

    def control(self, ports: tuple[int, int], *messages: Message) -> Packet:
        """CONTROL."""
        fields = {"messages": [message.fields for message in messages]}
        return self.packet("CONTROL", b"".join(message.octets for message in messages), fields, ports)

    def go(self, seq: int, buffer: int) -> Message:
        """As in RFC 998."""
        return go(seq, buffer)

    def ok(self, seq: int, buffer: int) -> Message:
        """ETFTP puts a new packet size where RFC 998 has padding."""
        message = ok(seq, buffer, burst_size=2, burst_interval_ms=50, tail=0 if self.name == "version4" else 256)
        return message if self.name == "version4" else Message(message.octets, {**message.fields, "packet_size": 256})

    def resend(self, seq: int, buffer: int, packets: list[int]) -> Message:
        """Version 4 offers a new rate between the count and the numbers."""
        if self.name != "version4":
            return resend(seq, buffer, packets)
        octets = struct.pack(">BBHIHHHH", 2, 0, seq, buffer, len(packets), 3, 40, 0)
        octets += b"".join(struct.pack(">H", number) for number in packets) + b"\0\0" * (len(packets) % 2)
        fields = {"type": "RESEND", "seq": seq, "buffer": buffer, "count": len(packets), "packets": packets}
        return Message(octets, {**fields, "burst_size": 3, "burst_interval_ms": 40})

    def text(self, kind: str, ports: tuple[int, int], string: str) -> Packet:
        """QUIT, ABORT or REFUSED."""
        return self.packet(kind, text_field(string), {"string": string}, ports)

    def bare(self, kind: str, ports: tuple[int, int]) -> Packet:
        """A header and nothing else."""
        return self.packet(kind, b"", {}, ports)


ETFTP = Dialect("etftp", 2, TYPE_CODES, 24)
VERSION4 = Dialect("version4", 4, V4_CODES, 32)
