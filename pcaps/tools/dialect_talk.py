# SPDX-License-Identifier: GPL-2.0-or-later
"""`talk.Talk` in another dialect: a conforming conversation of ETFTP or version 4, in which a script steps in."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

from pcaps.tools.dialects import ETFTP, ETFTP_PORT, TERMS, VERSION4, Dialect
from pcaps.tools.exchange import (
    ADDRESSES,
    BURST,
    PACKET_BYTES,
    PACKETS_PER_BUFFER,
    PORTS,
    RECEIVER,
    SENDER,
    Frame,
    peer_of,
    udp_in_ipv4,
)
from pcaps.tools.octets import Message, Packet
from pcaps.tools.octets import ok as ok_of_rfc998
from pcaps.tools.talk import BUFFERS, WINDOW, Talk

CLIENT_PORT = 40_000


class DialectTalk(Talk):
    """See above. `per_buffer` packets of `packet_bytes` are a buffer; a script may change both for the buffers to come.

    Numbers of buffers begin at 0 in ETFTP and at 1 in version 4.
    """

    dialect: Dialect

    def __init__(self, about: str, *, buffers: int = BUFFERS, **proposal: Any) -> None:
        super().__init__(about, buffers=buffers, summed=True, **proposal)
        self.first_buffer = 1 if self.dialect is VERSION4 else 0
        self.granted = self.first_buffer
        self.granted_ns: dict[int, int] = {}
        self.packet_bytes: int = proposal.get("packet_size", PACKET_BYTES)
        self.per_buffer = PACKETS_PER_BUFFER

    def carried(self, emitter: str, identification: int, octets: bytes) -> bytes:
        """ETFTP in UDP, between a port of the client and the server's; version 4 in IP."""
        if self.dialect is VERSION4:
            return super().carried(emitter, identification, octets)
        peer = peer_of(emitter)
        ports = (CLIENT_PORT, ETFTP_PORT) if emitter == self.active else (ETFTP_PORT, CLIENT_PORT)
        return udp_in_ipv4(ADDRESSES[emitter], ADDRESSES[peer], identification, ports, octets)

    def pair(self, emitter: str) -> tuple[int, int]:
        """The ports of the header."""
        return PORTS[emitter], PORTS[peer_of(emitter)]

    # --- setup ---

    def terms(self) -> dict[str, Any]:
        sizes = {"buffer_size": PACKET_BYTES * PACKETS_PER_BUFFER, "packet_size": PACKET_BYTES, "max_buffers": WINDOW}
        given = {"active_sends": self.active == SENDER, "data_checksum_flag": self.summed, "radio_delay_s": 2}
        return {**TERMS, **sizes, **BURST, **given, **self.proposal}

    def sets_up(self, emitter: str, name: str, **fields: Any) -> Frame:
        content = self.dialect.opening(name, self.pair(emitter), {**self.terms(), **fields})
        return self.capture(self.emit(emitter, content))

    def opens(self, **fields: Any) -> Frame:
        string = "/maps/overlay.img" if self.dialect is ETFTP else "order-of-battle.txt"
        return self.sets_up(self.active, "OPEN", **{"string": string, **fields})

    def responds(self, **fields: Any) -> Frame:
        return self.sets_up(self.passive, "RESPONSE", **fields)

    # --- the receiver ---

    def queue(self, *messages: Message, comment: str | None = None) -> Frame:
        for message in messages:
            if message.fields["type"] == "GO":
                self.granted_ns.setdefault(message.fields["buffer"], self.now_ns)
        return self.emit(RECEIVER, self.dialect.control(self.pair(RECEIVER), *messages), comment)

    def accept(self, buffer: int, **offer: Any) -> Message:
        """OK as the next message: in ETFTP with the time since the GO (R1986-23) and the packet size."""
        since_ms = (self.now_ns - self.granted_ns.get(buffer, self.now_ns)) // 1_000_000
        timer_ms = 200 if self.dialect is VERSION4 else min(since_ms + 1, 0xFFFF)
        tail = 0 if self.dialect is VERSION4 else offer.pop("packet_size", self.packet_bytes)
        fields = {"control_timer_ms": timer_ms, **BURST, **offer}
        return ok_of_rfc998(self.number(), buffer, tail=tail, **fields)

    def missing(self, buffer: int, packets: Sequence[int], **fields: Any) -> Message:
        assert not fields, "not in dialects"
        return self.dialect.resend(self.number(), buffer, list(packets))

    # --- the sender ---

    def octets_of(self, buffer: int, number: int) -> bytes:
        start = (buffer * self.per_buffer + number) * self.packet_bytes
        return bytes((start + offset) * 5 % 251 for offset in range(self.packet_bytes))

    def piece(self, buffer: int, number: int, comment: str | None = None, **fields: Any) -> Frame:
        name = fields.get("type", "LDATA" if number == self.per_buffer - 1 else "DATA")
        content = self.dialect.data(
            name,
            self.pair(SENDER),
            buffer,
            fields.get("number_on_wire", number),
            fields.get("high_seq", self.seq),
            fields.get("octets", self.octets_of(buffer, number)),
            fields.get("last_buffer", buffer == self.buffers - 1),
            fields.get("data_checksum"),
        )
        return self.emit(SENDER, content, comment)

    def sends_buffer(
        self, buffer: int, *, skip: Sequence[int] = (), lost: Sequence[int] = (), **fields: Any
    ) -> list[Frame]:
        return [
            self.sends_piece(buffer, number, "lost behind the capture point" if number in lost else None, **fields)
            for number in range(self.per_buffer)
            if number not in skip
        ]

    def answers(self, high_seq: int | None = None, comment: str | None = None, **fields: Any) -> Frame:
        return self.capture(self.emit(SENDER, self.null_ack(high_seq, **fields), comment))

    def null_ack(self, high_seq: int | None = None, **fields: Any) -> Packet:
        """NULL-ACK, with these fields different."""
        pace = (
            fields.get("burst_size", BURST["burst_size"]),
            fields.get("burst_interval_ms", BURST["burst_interval_ms"]),
        )
        ack = self.seq if high_seq is None else high_seq
        size = fields.get("packet_size", self.packet_bytes)
        return self.dialect.null_ack(self.pair(SENDER), ack, self.granted - 1, size, pace)

    # --- both ---

    def start(self, **answered: Any) -> DialectTalk:
        super().start(**answered)
        return self

    def half_way(self, middle: int) -> DialectTalk:
        """Buffers up to this one are through."""
        self.start()
        self.run(self.first_buffer, middle)
        return self

    def finish(self, first: int) -> DialectTalk:
        self.run(first, self.buffers)
        self.answers()
        self.closes()
        return self

    def closes(self) -> None:
        """DONE; in ETFTP it answers the sender's QUIT."""
        if self.dialect is ETFTP:
            self.capture(self.emit(SENDER, ETFTP.text("QUIT", self.pair(SENDER), "done")))
        self.says_done()

    def says_done(self, **header: Any) -> Frame:
        return self.puts(RECEIVER, "DONE", **header)

    def puts(self, emitter: str, type_name: str, body: bytes = b"", comment: str | None = None, **header: Any) -> Frame:
        assert not header, "not in dialects"
        return self.capture(self.emit(emitter, self.dialect.packet(type_name, body, {}, self.pair(emitter)), comment))

    def puts_with_checksum(self, emitter: str, content: Packet, value: int) -> Frame:
        """The packet with another value in its checksum field."""
        return self.capture(self.emit(emitter, Packet(None, struct.pack(">H", value) + content.octets[2:])))


class EtftpTalk(DialectTalk):
    """The client puts a file."""

    dialect = ETFTP


class Version4Talk(DialectTalk):
    """TACO2."""

    dialect = VERSION4
