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
        """OPEN or RESPONSE: the active end sends, data checksummed. RFC 1986 turns M (R1986-04)."""
        write = self.name == "version4"
        fields: dict[str, Any] = {"unique_id": UID, "buffer_size": BUFFER_BYTES, "packet_size": packet_bytes}
        fields |= {"burst_size": 2, "burst_interval_ms": 50, "death_timer_s": 60, "max_buffers": 2}
        fields |= {"write": write, "data_checksum_flag": True, "string": string}
        if self.name == "version4":
            body = struct.pack(">IIHHHHHH", UID, BUFFER_BYTES, packet_bytes, 2, 50, 60, 0x0003, 2)
        else:
            fields |= {"transfer_size": transfer_bytes, "binary": True, "renegotiate": True, "radio_delay_s": 4}
            sizes = (UID, BUFFER_BYTES, transfer_bytes, packet_bytes, 2, 50, 60)
            body = struct.pack(">IIIHHHHHHHH", *sizes, 0x000E, 2, 4, 0)
        return self.packet(kind, body + text_field(string), fields, ports)

    def data(
        self, kind: str, ports: tuple[int, int], buffer: int, number: int, high_seq: int, octets: bytes, last: bool
    ) -> Packet:
        """DATA or LDATA."""
        value = checksum(octets)
        fields: dict[str, Any] = {"buffer": buffer, "high_seq": high_seq, "packet": number, "data_checksum": value}
        fields |= {"last_buffer": last, "data_hex": octets.hex()}
        if self.name == "version4":
            fields |= {"last_touched": buffer, "burst_size": 2, "burst_interval_ms": 50}
            body = struct.pack(">IIHHHHHH", buffer, buffer, high_seq, number, value, int(last), 2, 50)
        else:
            body = struct.pack(">IHHHH", buffer, high_seq, number, value, int(last))
        return self.packet(kind, body + octets, fields, ports)

    def null_ack(self, ports: tuple[int, int], high_seq: int, touched: int) -> Packet:
        """NULL-ACK."""
        fields: dict[str, Any] = {"high_seq": high_seq, "burst_size": 2, "burst_interval_ms": 50}
        if self.name == "version4":
            fields |= {"last_touched": touched, "last_buffer": False}
            return self.packet("NULL-ACK", struct.pack(">IHHHH", touched, high_seq, 2, 50, 0), fields, ports)
        fields["packet_size"] = 256
        return self.packet("NULL-ACK", struct.pack(">HHHH", high_seq, 2, 50, 256), fields, ports)

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
