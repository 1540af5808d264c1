# SPDX-License-Identifier: GPL-2.0-or-later
"""DATA-01..05, 08, 09, 12, 13, RESEND-02, RESEND-03, CTRL-09: the data packets of a sending implementation."""

from __future__ import annotations

from dataclasses import dataclass, field

from netblt_conformance.oracles.base import Check, Oracle, Report
from netblt_conformance.oracles.session import Session
from netblt_conformance.packets.packets import MINIMUM_BYTES, Kind, Packet, Type


@dataclass(slots=True)
class _Buffer:
    first: dict[int, Packet] = field(default_factory=dict)
    copies: dict[int, int] = field(default_factory=dict)
    last_packet: int | None = None
    last_buffer: bool | None = None


WITHOUT_GO = Check(
    "DATA-01", expected="data of requested buffers only", seen="data of buffer {buffer}, for which no GO was sent"
)
OUTSIDE = Check(
    "DATA-05",
    expected="numbers that count the packets of a buffer",
    seen="packet {packet} of buffer {buffer} lies outside a buffer of {size} bytes",
)
_ONE_LDATA = "LDATA as the highest packet of a buffer, and nowhere else"
TWO_LDATA = Check("DATA-04", expected=_ONE_LDATA, seen="buffer {buffer} has LDATA {last} and LDATA {packet}")
NOT_HIGHEST = Check("DATA-04", expected=_ONE_LDATA, seen="LDATA {packet} of buffer {buffer} although {higher} exists")
BEHIND_LDATA = Check("DATA-04", expected=_ONE_LDATA, seen="DATA {packet} of buffer {buffer}, whose LDATA is {last}")
FILLS = Check("DATA-04", expected=_ONE_LDATA, seen="DATA {packet} of buffer {buffer} fills its {size} bytes")
ENDS = Check("DATA-04", stalls=True, expected=_ONE_LDATA, seen="DATA {packet} of buffer {buffer} ends the data")
_SAME_PACKET = "the same packet in its retransmission"
LDATA_AS_DATA = Check(
    "RESEND-03", expected=_SAME_PACKET, seen="DATA {packet} of buffer {buffer}, whose LDATA is {last}"
)
CHANGED = Check(
    "RESEND-03", expected=_SAME_PACKET, seen="packet {packet} of buffer {buffer} changed in its retransmission"
)
_AGREED_SIZE = "DATA of the agreed size"
WRONG_SIZE = Check("DATA-03", expected=_AGREED_SIZE, seen="DATA with {size} data bytes, {agreed} were agreed")
COUNTS_HEADER = Check(
    "DATA-03",
    expected=_AGREED_SIZE,
    seen="DATA with {size} data bytes, {agreed} were agreed (it counts the header, AMB-14)",
)
LDATA_TOO_LARGE = Check(
    "DATA-03", expected="LDATA of the agreed size or less", seen="LDATA with {size} data bytes, {agreed} were agreed"
)
EMPTY_LDATA = Check(
    "DATA-03",
    expected="data in every LDATA but that of the last buffer",
    seen="empty LDATA in buffer {buffer}, which is not the last",
)
_LAST_FLAG = "the last-buffer flag in every packet of the last buffer, and in no other"
FLAGS_DIFFER = Check("DATA-09", expected=_LAST_FLAG, seen="packets of buffer {buffer} differ in the last-buffer flag")
FLAG_TOO_EARLY = Check("DATA-09", expected=_LAST_FLAG, seen="last-buffer flag in buffer {buffer} after buffer {later}")
FLAG_MISSING = Check(
    "DATA-09", stalls=True, expected=_LAST_FLAG, seen="buffer {buffer} ends the data without the last-buffer flag"
)
BEYOND_LAST = Check(
    "DATA-09", expected="no buffer after the last one", seen="buffer {buffer} after the last buffer {last}"
)
MORE_THAN_NAMED = Check(
    "CTRL-09",
    expected="one retransmission for each RESEND that names the packet",
    seen="packet {packet} of buffer {buffer} was sent {copies} times, only {naming} RESEND messages name it",
)
NOT_NAMED = Check(
    "RESEND-02",
    expected="retransmission of exactly the packets that RESEND lists",
    seen="packet {packet} of buffer {buffer} was sent {copies} times, no RESEND names it",
)
WITHOUT_RESEND = Check(
    "DATA-13",
    expected="retransmission on request only",
    seen="packet {packet} of buffer {buffer} was sent {copies} times although no RESEND was sent",
)
NOT_FULL = Check(
    "DATA-02",
    expected="every buffer but the last is full",
    seen="buffer {buffer} holds {total} bytes, {agreed} were agreed",
)
TOO_MANY = Check(
    "DATA-12",
    expected="no more outstanding buffers than were agreed",
    seen="more than {limit} buffers were sent without their OK",
)


class DataOracle(Oracle):
    def __init__(self, session: Session, report: Report) -> None:
        super().__init__(session, report)
        self._buffers: dict[int, _Buffer] = {}
        self._outstanding: set[int] = set()  # buffers that were begun, without those that had their OK
        self._last_buffer: int | None = None

    def received(self, packet: Packet, time_us: int, frame: int) -> None:
        del time_us
        terms = self.session.response
        if not packet.is_data or terms is None:
            return
        if not self.session.issued.of(Kind.GO, packet.buffer):
            self.report(WITHOUT_GO, frame, buffer=packet.buffer)
        buffer = self._buffers.setdefault(packet.buffer, _Buffer())
        self._outstanding.add(packet.buffer)
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
            self.report(OUTSIDE, frame, packet=number, buffer=packet.buffer, size=terms.buffer_size)
        if packet.type is Type.LDATA:
            if last is not None and number != last:
                self.report(TWO_LDATA, frame, buffer=packet.buffer, last=last, packet=number)
            higher = [n for n in buffer.first if n > number]
            if higher:
                self.report(NOT_HIGHEST, frame, packet=number, buffer=packet.buffer, higher=max(higher))
        elif last is not None and number >= last:
            check = LDATA_AS_DATA if number == last else BEHIND_LDATA
            self.report(check, frame, packet=number, buffer=packet.buffer, last=last)

    def _judge_sizes(self, packet: Packet, terms: Packet, frame: int) -> None:
        """DATA-03: every DATA has the agreed size; LDATA may be shorter, and empty only in the last buffer (AMB-41).
        DATA-04: what fills a buffer is LDATA."""
        size = len(packet.data)
        left = terms.buffer_size - packet.packet * terms.packet_size
        if packet.type is Type.DATA and size == left <= terms.packet_size:
            self.report(FILLS, frame, packet=packet.packet, buffer=packet.buffer, size=terms.buffer_size)
        elif (
            packet.type is Type.DATA and size != terms.packet_size and packet.last_buffer and self._is_everything(size)
        ):
            self.report(ENDS, frame, packet=packet.packet, buffer=packet.buffer)
        elif packet.type is Type.DATA and size != terms.packet_size:
            check = COUNTS_HEADER if size + MINIMUM_BYTES[Type.DATA] == terms.packet_size else WRONG_SIZE
            self.report(check, frame, size=size, agreed=terms.packet_size)
        elif size > terms.packet_size:
            self.report(LDATA_TOO_LARGE, frame, size=size, agreed=terms.packet_size)
        elif size == 0 and not packet.last_buffer:
            self.report(EMPTY_LDATA, frame, buffer=packet.buffer)

    def _judge_last_flag(self, packet: Packet, buffer: _Buffer, frame: int) -> None:
        """DATA-09: L on every packet of the last buffer and on no other, and no buffer after it."""
        if buffer.last_buffer is None:
            buffer.last_buffer = packet.last_buffer
        elif buffer.last_buffer != packet.last_buffer:
            self.report(FLAGS_DIFFER, frame, buffer=packet.buffer)
        if packet.last_buffer and self._last_buffer is None:
            self._last_buffer = packet.buffer
            later = [n for n in self._buffers if n > packet.buffer]
            if later:
                self.report(FLAG_TOO_EARLY, frame, buffer=packet.buffer, later=max(later))
        elif self._last_buffer is not None and packet.buffer > self._last_buffer:
            self.report(BEYOND_LAST, frame, buffer=packet.buffer, last=self._last_buffer)

    def _judge_copies(self, packet: Packet, buffer: _Buffer, frame: int) -> None:
        number = packet.packet
        buffer.copies[number] = buffer.copies.get(number, 0) + 1
        first = buffer.first.get(number)
        if first is None:
            return
        self._judge_identity(packet, first, frame)
        resends = self.session.issued.of(Kind.RESEND, packet.buffer)
        naming = [m for m in resends if number in m.packets]
        replies = sum(n > number for m in resends for n in m.packets) if packet.type is Type.LDATA else 0
        if buffer.copies[number] <= 1 + len(naming) + replies:  # the LDATA is a reply to numbers after it: AMB-32
            return
        check = MORE_THAN_NAMED if naming else NOT_NAMED if resends else WITHOUT_RESEND
        copies = buffer.copies[number]
        self.report(check, frame, packet=number, buffer=packet.buffer, copies=copies, naming=len(naming))

    def _judge_identity(self, packet: Packet, first: Packet, frame: int) -> None:
        """RESEND-03: only high-seq and header checksum may differ between copies."""
        same = (packet.type, packet.length, packet.flags, packet.data, packet.data_checksum)
        if same != (first.type, first.length, first.flags, first.data, first.data_checksum):
            self.report(CHANGED, frame, packet=packet.packet, buffer=packet.buffer)

    def _judge_total(self, number: int, buffer: _Buffer, terms: Packet, frame: int) -> None:
        """DATA-02: every buffer but the last is full."""
        if buffer.last_packet is None or buffer.last_buffer or len(buffer.first) != buffer.last_packet + 1:
            return
        total = sum(len(packet.data) for packet in buffer.first.values())
        if total != terms.buffer_size:
            if self._is_everything():
                self.report(FLAG_MISSING, frame, buffer=number)
            else:
                self.report(NOT_FULL, frame, buffer=number, total=total, agreed=terms.buffer_size)

    def _is_everything(self, more_bytes: int = 0) -> bool:
        """Whether the implementation has sent all that its client has to send, with so many bytes that are new."""
        if self.session.data is None:
            return False
        packets = (packet for buffer in self._buffers.values() for packet in buffer.first.values())
        return sum(len(packet.data) for packet in packets) + more_bytes == len(self.session.data)

    def _judge_outstanding(self, terms: Packet, frame: int) -> None:
        """DATA-12: however many GOs came, no more than the agreed number of buffers are sending."""
        confirmed = self.session.issued.confirmed
        self._outstanding = {number for number in self._outstanding if number not in confirmed}
        if len(self._outstanding) > terms.max_buffers:
            self.report(TOO_MANY, frame, limit=terms.max_buffers)
