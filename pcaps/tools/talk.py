# SPDX-License-Identifier: GPL-2.0-or-later
"""A conforming conversation in which a script does one thing differently.

Buffers go back and forth in a fixed rhythm: the receiver has `window` buffers outstanding, answers each with OK and the
next GO in one CONTROL, and the sender acknowledges at once what it has received. A script lets this run, steps in, and
lets it run on, so that the deviation is the only difference to a capture in which nothing is wrong.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from pcaps.tools.exchange import (
    BURST,
    PACKET_BYTES,
    PACKETS_PER_BUFFER,
    PORTS,
    RECEIVER,
    SENDER,
    Exchange,
    Frame,
    peer_of,
)
from pcaps.tools.octets import Message, Packet, checksum, data, go, null_ack, packet, resend, setup
from pcaps.tools.octets import ok as ok_with_offer

BUFFERS = 16
WINDOW = 2


class Talk(Exchange):
    """See above. `seq` is the newest control message, `acked` what the sender has acknowledged."""

    def __init__(self, about: str, *, buffers: int = BUFFERS, summed: bool = False, **proposal: Any) -> None:
        super().__init__(about, buffers)
        self.proposal = proposal
        self.summed = summed
        self.seq = 0
        self.granted = 0
        self.later: list[tuple[dict[str, Any], int, str | None]] = []

    # --- setup ---

    def terms(self) -> dict[str, Any]:
        return {
            "unique_id": 0x0998_0030,
            "buffer_size": PACKET_BYTES * PACKETS_PER_BUFFER,
            "packet_size": PACKET_BYTES,
            "max_buffers": WINDOW,
            "write": self.active == SENDER,
            "data_checksum_flag": self.summed,
            **BURST,
            **self.proposal,
        }

    @property
    def passive(self) -> str:
        return peer_of(self.active)

    def opens_as(self, name: str, **fields: Any) -> Packet:
        """What the active end proposes, in an OPEN or RESPONSE."""
        return setup(name, **{**self.terms(), **self.ports(self.active), **fields})

    def opens(self, **fields: Any) -> Frame:
        """The OPEN; again when called again."""
        return self.capture(self.emit(self.active, self.opens_as("OPEN", **fields)))

    def responds(self, **fields: Any) -> Frame:
        return self.capture(
            self.emit(self.passive, setup("RESPONSE", **{**self.terms(), **self.ports(self.passive), **fields}))
        )

    def start(self, **answered: Any) -> Talk:
        """OPEN, RESPONSE (with these fields different), GO for the first buffers."""
        self.opens()
        self.responds(**answered)
        self.says(*self.grants(WINDOW))
        return self

    # --- the receiver ---

    def number(self) -> int:
        """The next message number."""
        self.seq += 1
        return self.seq

    def grants(self, count: int) -> list[Message]:
        """GO for the next buffers, as far as there are any."""
        messages = []
        for _ in range(count):
            if self.granted < self.buffers:
                messages.append(go(self.number(), self.granted))
                self.granted += 1
        return messages

    def accept(self, buffer: int, **offer: Any) -> Message:
        """OK as the next message."""
        return ok_with_offer(self.number(), buffer, **{"control_timer_ms": 200, **BURST, **offer})

    def missing(self, buffer: int, packets: Sequence[int], **fields: Any) -> Message:
        """RESEND as the next message."""
        return resend(self.number(), buffer, list(packets), **fields)

    def accepts(self, buffer: int) -> Frame:
        """The CONTROL with OK for a buffer and GO for the next."""
        return self.says(self.accept(buffer), *self.grants(1))

    # --- the sender ---

    def octets_of(self, buffer: int, number: int) -> bytes:
        start = (buffer * PACKETS_PER_BUFFER + number) * PACKET_BYTES
        return bytes((start + offset) * 5 % 251 for offset in range(PACKET_BYTES))

    def piece(self, buffer: int, number: int, comment: str | None = None, **fields: Any) -> Frame:
        """The sender emits one packet, with these fields different; not captured yet."""
        name = fields.pop("type", "LDATA" if number == PACKETS_PER_BUFFER - 1 else "DATA")
        octets = fields.pop("octets", None)
        fields.setdefault("number", fields.pop("number_on_wire", number))
        values: dict[str, Any] = {
            "buffer": buffer,
            "high_seq": self.seq,
            "last_buffer": buffer == self.buffers - 1,
            "summed": self.summed,
            **self.ports(SENDER),
            **fields,
        }
        content = data(name, self.octets_of(buffer, number) if octets is None else octets, **values)
        return self.emit(SENDER, content, comment)

    def sends_piece(self, buffer: int, number: int, comment: str | None = None, **fields: Any) -> Frame:
        return self.capture(self.piece(buffer, number, comment, **fields))

    def sends_buffer(
        self, buffer: int, *, skip: Sequence[int] = (), lost: Sequence[int] = (), **fields: Any
    ) -> list[Frame]:
        """All packets of a buffer but those in `skip`; those in `lost` are lost after the capture."""
        return [
            self.sends_piece(buffer, number, "lost behind the capture point" if number in lost else None, **fields)
            for number in range(PACKETS_PER_BUFFER)
            if number not in skip
        ]

    def answers(self, high_seq: int | None = None, comment: str | None = None, **fields: Any) -> Frame:
        """NULL-ACK."""
        pace = {**BURST, **fields}
        content = null_ack(self.seq if high_seq is None else high_seq, **pace, **self.ports(SENDER))
        return self.capture(self.emit(SENDER, content, comment))

    # --- both ---

    def run(self, first: int, last: int) -> None:
        """Buffers first..last-1, as they should be."""
        for buffer in range(first, last):
            self.sends_buffer(buffer)
            self.accepts(buffer)

    def finish(self, first: int) -> Talk:
        """The rest of the transfer and its end."""
        self.run(first, self.buffers)
        self.answers()
        self.says_done()
        return self

    def says_done(self, **header: Any) -> Frame:
        return self.capture(self.emit(RECEIVER, packet("DONE", **{**self.ports(RECEIVER), **header})))

    def puts(self, emitter: str, type_name: str, body: bytes = b"", comment: str | None = None, **header: Any) -> Frame:
        """A packet of any kind."""
        content = packet(type_name, body, **{**self.ports(emitter), **header})
        return self.capture(self.emit(emitter, content, comment))

    def puts_octets(self, emitter: str, octets: bytes, comment: str | None = None) -> Frame:
        """Octets with the right checksum over all of them, whatever they mean."""
        blank = b"\0\0" + octets[2:]
        return self.capture(self.emit(emitter, Packet(None, struct.pack(">H", checksum(blank)) + blank[2:]), comment))

    def puts_damaged(self, emitter: str, content: Packet, comment: str = "a bit was turned over on the way") -> Frame:
        """The packet with one wrong bit in the padding of its header."""
        octets = bytearray(content.octets)
        octets[11] ^= 0x10
        return self.capture(self.emit(emitter, replace(content, octets=bytes(octets)), comment))

    # --- what must be found ---

    def breaks(self, requirement: str, offence: Frame, role: str, *, proof: str | None = None) -> None:
        """The script made `offence` wrong. Each later packet of the end `proof` (None: of either) may complete the
        proof: what escaped the capture would show by then."""
        self.wrong(requirement, offence, role, [])
        self.later.append((self.findings[-1], offence.number, proof))

    def looks_like(self, requirement: str, frame: Frame, role: str) -> None:
        super().looks_like(requirement, frame, role)
        self.later.append((self.findings[-1], frame.number, None))

    def may_look_like(self, requirement: str, frame: Frame, role: str) -> None:
        """It may be suspected: a mere consequence, or innocent."""
        self.doubtful(requirement, frame, role)
        self.later.append((self.tolerated[-1], frame.number, None))

    def expectation(self) -> dict[str, Any]:
        for entry, number, emitter in self.later:
            entry["proven_by"] = [
                later
                for later in range(number + 1, len(self.records) + 1)
                if emitter is None or self.records[later - 1].octets[15] == (1 if emitter == SENDER else 2)
            ]
        return super().expectation()


def unswapped(emitter: str) -> dict[str, int]:
    """The ports as the peer would write them."""
    peer = peer_of(emitter)
    return {"local_port": PORTS[peer], "foreign_port": PORTS[emitter]}
