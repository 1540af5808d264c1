# SPDX-License-Identifier: GPL-2.0-or-later
"""ORDER-01, 02, 03: which packet goes first. Judged without a clock, by what the high-seq proves to be known."""

from __future__ import annotations

from dataclasses import dataclass, field

from netblt_conformance.common.verdicts import Verdict
from netblt_conformance.oracles.base import Check, Oracle, Report
from netblt_conformance.oracles.session import Session, after
from netblt_conformance.packets.packets import Kind, Message, Packet, Type

BEFORE_RETRANSMISSION = Check(
    "ORDER-02",
    expected="retransmissions before any later buffer",
    seen="packet of buffer {buffer} before the retransmissions {waiting} of {request}",
)
AFTER_LDATA = Check(
    "ORDER-03", expected="LDATA last", seen="first copy of packet {packet} of buffer {buffer} after its LDATA"
)
NOT_ASCENDING = Check(
    "ORDER-03",
    expected="the packets of a buffer in ascending order",
    seen="packet {packet} of buffer {buffer} after packet {before}",
    verdict=Verdict.WARN,
)
OVERTAKEN = Check(
    "ORDER-01",
    expected="the lowest buffer first",
    seen="packet {packet} of buffer {buffer} after packets of buffer {later}",
)


@dataclass(slots=True)
class _Repair:
    """A RESEND of the tester and what of it is not out yet."""

    message: Message
    waiting: set[int]
    overtaken: dict[int, tuple[int, int]] = field(default_factory=dict)  # packet -> frame and buffer that came before


class OrderOracle(Oracle):
    def __init__(self, session: Session, report: Report) -> None:
        super().__init__(session, report)
        self._seen: dict[int, set[int]] = {}  # buffer -> packets seen
        self._last_packet: dict[int, int] = {}
        self._repairs: list[_Repair] = []
        self._noted: set[int] = set()
        self._ahead: dict[int, int] = {}  # buffer -> lowest later buffer that overtook it knowing its GO

    def sent(self, packet: Packet, time_us: int, frame: int) -> None:
        del time_us, frame
        for message in packet.messages:
            if message.seq in self._noted:
                continue
            self._noted.add(message.seq)
            if message.kind is Kind.RESEND and not self.session.issued.of(Kind.OK, message.buffer):
                # Packets not sent for the first time yet are no retransmissions, numbers after the LDATA do not exist.
                existing = set(message.packets) & self._seen.get(message.buffer, set())
                self._repairs.append(_Repair(message, existing))
            elif message.kind is Kind.OK:
                self._repairs = [r for r in self._repairs if r.message.buffer != message.buffer]

    def received(self, packet: Packet, time_us: int, frame: int) -> None:
        del time_us
        if not packet.is_data:
            return
        number, seen = packet.packet, self._seen.setdefault(packet.buffer, set())
        if number in seen:
            self._serve_repair(packet)
        else:
            self._judge_first_pass(packet, seen, frame)
        self._note_overtaken(packet, frame)
        self._note_overtaking(packet)
        seen.add(number)
        if packet.type is Type.LDATA and not self._named(packet):  # perhaps retransmitted before the first pass: AMB-35
            self._last_packet.setdefault(packet.buffer, number)

    def _serve_repair(self, packet: Packet) -> None:
        """A copy serves every request for it that its sender acknowledges; before that, the first one. ORDER-02: such a
        sender sends it before any later buffer. RESEND-02 judges a copy that never comes."""
        asked = [r for r in self._repairs if r.message.buffer == packet.buffer and packet.packet in r.waiting]
        known = [repair for repair in asked if not after(repair.message.seq, packet.high_seq)]
        for repair in known or asked[:1]:
            if packet.packet in repair.overtaken:
                frame, later = repair.overtaken[packet.packet]
                waiting = tuple(sorted(number for number, by in repair.overtaken.items() if by[0] == frame))
                self.report(BEFORE_RETRANSMISSION, frame, buffer=later, waiting=waiting, request=repair.message)
                repair.overtaken.clear()
            repair.waiting.discard(packet.packet)

    def _note_overtaken(self, packet: Packet, frame: int) -> None:
        """What still waits when a sender that acknowledged the RESEND sends a packet of a later buffer."""
        for repair in self._repairs:
            known = not after(repair.message.seq, packet.high_seq)
            if known and packet.buffer > repair.message.buffer:
                for number in repair.waiting:
                    repair.overtaken.setdefault(number, (frame, packet.buffer))

    def _named(self, packet: Packet) -> bool:
        return any(packet.packet in m.packets for m in self.session.issued.of(Kind.RESEND, packet.buffer))

    def _judge_first_pass(self, packet: Packet, seen: set[int], frame: int) -> None:
        """ORDER-03 inside the buffer, ORDER-01 between buffers; a packet that a RESEND names may be a repair."""
        if self._named(packet):
            return
        last = self._last_packet.get(packet.buffer)
        if last is not None and packet.packet < last:
            self.report(AFTER_LDATA, frame, packet=packet.packet, buffer=packet.buffer)
        elif seen and packet.packet < max(seen):
            self.report(NOT_ASCENDING, frame, buffer=packet.buffer, packet=packet.packet, before=max(seen))
        if packet.buffer in self._ahead:
            later = self._ahead[packet.buffer]
            self.report(OVERTAKEN, frame, packet=packet.packet, buffer=packet.buffer, later=later)

    def _note_overtaking(self, packet: Packet) -> None:
        """Remembers which lower buffers this packet's sender knew of when it sent a later one."""
        for go in self.session.issued.open_gos.values():
            if not after(go.seq, packet.high_seq) and go.buffer < packet.buffer:
                self._ahead.setdefault(go.buffer, packet.buffer)
