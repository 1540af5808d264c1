# SPDX-License-Identifier: GPL-2.0-or-later
"""DATA-01..05, 08, 09, 12, 13, RESEND-02, RESEND-03, CTRL-09: the data packets of a sending implementation."""

from __future__ import annotations

from dataclasses import dataclass, field

from netblt_conformance.oracles.base import Oracle, Report
from netblt_conformance.oracles.session import Session
from netblt_conformance.packets.packets import Kind, Packet, Type


@dataclass(slots=True)
class _Buffer:
    first: dict[int, Packet] = field(default_factory=dict)
    copies: dict[int, int] = field(default_factory=dict)
    last_packet: int | None = None
    last_buffer: bool | None = None


class DataOracle(Oracle):
    def __init__(self, session: Session, report: Report) -> None:
        super().__init__(session, report)
        self._buffers: dict[int, _Buffer] = {}
        self._last_buffer: int | None = None

    def received(self, packet: Packet, time_us: int, frame: int) -> None:
        del time_us
        terms = self.session.response
        if not packet.is_data or terms is None:
            return
        if not self.session.sent_of(Kind.GO, packet.buffer):
            self.fail("DATA-01", f"data of buffer {packet.buffer}, for which no GO was sent", frame)
        buffer = self._buffers.setdefault(packet.buffer, _Buffer())
        self._judge_numbers(packet, buffer, terms, frame)
        self._judge_sizes(packet, terms, frame)
        self._judge_last_flag(packet, buffer, frame)
        self._judge_copies(packet, buffer, frame)
        buffer.first.setdefault(packet.packet, packet)
        if packet.type is Type.LDATA and buffer.last_packet is None:
            buffer.last_packet = packet.packet
        self._judge_total(packet.buffer, buffer, terms, frame)
        self._judge_outstanding(terms, frame)

    def _judge_numbers(self, packet: Packet, buffer: _Buffer, terms: Packet, frame: int) -> None:
        """DATA-04, DATA-05: numbers stay inside the buffer; the highest one, and only it, is LDATA."""
        number, last = packet.packet, buffer.last_packet
        if number * terms.packet_size >= terms.buffer_size:
            text = f"packet {number} of buffer {packet.buffer} lies outside a buffer of {terms.buffer_size} bytes"
            self.fail("DATA-05", text, frame)
        if packet.type is Type.LDATA:
            if last is not None and number != last:
                self.fail("DATA-04", f"buffer {packet.buffer} has LDATA {last} and LDATA {number}", frame)
            higher = [n for n in buffer.first if n > number]
            if higher:
                self.fail("DATA-04", f"LDATA {number} of buffer {packet.buffer} although {max(higher)} exists", frame)
        elif last is not None and number >= last:
            text = f"DATA {number} of buffer {packet.buffer}, whose LDATA is {last}"
            self.fail("RESEND-03" if number == last else "DATA-04", text, frame)

    def _judge_sizes(self, packet: Packet, terms: Packet, frame: int) -> None:
        """DATA-03: every DATA has the agreed size; LDATA may be shorter, and empty only in the last buffer (AMB-41).
        DATA-04: what fills a buffer is LDATA."""
        size = len(packet.data)
        left = terms.buffer_size - packet.packet * terms.packet_size
        if packet.type is Type.DATA and size == left <= terms.packet_size:
            text = f"DATA {packet.packet} of buffer {packet.buffer} fills its {terms.buffer_size} bytes: LDATA is due"
            self.fail("DATA-04", text, frame)
        elif (
            packet.type is Type.DATA and size != terms.packet_size and packet.last_buffer and self._is_everything(size)
        ):
            text = f"DATA {packet.packet} of buffer {packet.buffer} ends the data: LDATA is due"
            self.fail("DATA-04", text, frame)
        elif packet.type is Type.DATA and size != terms.packet_size:
            text = f"DATA with {size} data bytes, {terms.packet_size} were agreed"
            if size + 24 == terms.packet_size:
                text += " (it counts the header, AMB-14)"
            self.fail("DATA-03", text, frame)
        elif size > terms.packet_size:
            self.fail("DATA-03", f"LDATA with {size} data bytes, {terms.packet_size} were agreed", frame)
        elif size == 0 and not packet.last_buffer:
            self.fail("DATA-03", f"empty LDATA in buffer {packet.buffer}, which is not the last", frame)

    def _judge_last_flag(self, packet: Packet, buffer: _Buffer, frame: int) -> None:
        """DATA-09: L on every packet of the last buffer and on no other, and no buffer after it."""
        if buffer.last_buffer is None:
            buffer.last_buffer = packet.last_buffer
        elif buffer.last_buffer != packet.last_buffer:
            self.fail("DATA-09", f"packets of buffer {packet.buffer} differ in the last-buffer flag", frame)
        if packet.last_buffer and self._last_buffer is None:
            self._last_buffer = packet.buffer
            later = [n for n in self._buffers if n > packet.buffer]
            if later:
                self.fail("DATA-09", f"last-buffer flag in buffer {packet.buffer} after buffer {max(later)}", frame)
        elif self._last_buffer is not None and packet.buffer > self._last_buffer:
            self.fail("DATA-09", f"buffer {packet.buffer} after the last buffer {self._last_buffer}", frame)

    def _judge_copies(self, packet: Packet, buffer: _Buffer, frame: int) -> None:
        number = packet.packet
        buffer.copies[number] = buffer.copies.get(number, 0) + 1
        first = buffer.first.get(number)
        if first is None:
            return
        self._judge_identity(packet, first, frame)
        resends = self.session.sent_of(Kind.RESEND, packet.buffer)
        naming = [m for m in resends if number in m.packets]
        replies = sum(n > number for m in resends for n in m.packets) if packet.type is Type.LDATA else 0
        if buffer.copies[number] <= 1 + len(naming) + replies:  # the LDATA is a reply to numbers behind it: AMB-32
            return
        text = f"packet {number} of buffer {packet.buffer} was sent {buffer.copies[number]} times"
        if naming:
            self.fail("CTRL-09", f"{text}, only {len(naming)} RESEND messages name it", frame)
        elif resends:
            self.fail("RESEND-02", f"{text}, no RESEND names it", frame)
        else:
            self.fail("DATA-13", f"{text} although no RESEND was sent", frame)

    def _judge_identity(self, packet: Packet, first: Packet, frame: int) -> None:
        """RESEND-03: only high-seq and header checksum may differ between copies."""
        same = (packet.type, packet.length, packet.flags, packet.data, packet.data_checksum)
        if same != (first.type, first.length, first.flags, first.data, first.data_checksum):
            text = f"packet {packet.packet} of buffer {packet.buffer} changed in its retransmission"
            self.fail("RESEND-03", text, frame)

    def _judge_total(self, number: int, buffer: _Buffer, terms: Packet, frame: int) -> None:
        """DATA-02: every buffer but the last is full."""
        if buffer.last_packet is None or buffer.last_buffer or len(buffer.first) != buffer.last_packet + 1:
            return
        total = sum(len(packet.data) for packet in buffer.first.values())
        if total != terms.buffer_size:
            text = f"buffer {number} holds {total} bytes, {terms.buffer_size} were agreed"
            if self._is_everything():
                self.fail("DATA-09", f"buffer {number} ends the data without the last-buffer flag", frame)
            else:
                self.fail("DATA-02", text, frame)

    def _is_everything(self, more_bytes: int = 0) -> bool:
        """Whether the implementation has sent all that its client has to send, with so many bytes that are new."""
        packets = (packet for buffer in self._buffers.values() for packet in buffer.first.values())
        return sum(len(packet.data) for packet in packets) + more_bytes == self.session.data_bytes

    def _judge_outstanding(self, terms: Packet, frame: int) -> None:
        """DATA-12: however many GOs came, no more than the agreed number of buffers are sending."""
        confirmed = {message.buffer for message in self.session.sent_of(Kind.OK)}
        if len(self._buffers.keys() - confirmed) > terms.max_buffers:
            text = f"more than {terms.max_buffers} buffers were sent without their OK"
            self.fail("DATA-12", text, frame)
