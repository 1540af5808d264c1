# SPDX-License-Identifier: GPL-2.0-or-later
"""CTRL-10, RESEND-02: what a sender owes to each CONTROL, an acknowledgement and retransmissions, comes in time.
Virtual time only: a busy machine delays the tester as well."""

from __future__ import annotations

from dataclasses import dataclass

from netblt_conformance.common.model import MICROSECONDS_PER_S
from netblt_conformance.common.tolerances import slowest, transfer_time_us
from netblt_conformance.common.verdicts import Verdict
from netblt_conformance.oracles.base import Check, Oracle, Report
from netblt_conformance.oracles.session import Session, after
from netblt_conformance.packets.packets import Kind, Message, Packet, Type

NO_ANSWER = Check(
    "CTRL-10",
    arrival=True,
    expected="acknowledgement of each CONTROL within a second or two burst intervals (AMB-34)",
    seen="a CONTROL with messages up to #{seq} was not acknowledged within {waited_s:g} s",
    verdict=Verdict.WARN,
)
NOT_SERVED = Check(
    "RESEND-02",
    stalls=True,
    arrival=True,
    expected="retransmission of exactly the packets that RESEND lists",
    seen="{request} was not served within {waited_s:g} s: packets {packets} did not come",
)


@dataclass(slots=True)
class _Answer:
    """An acknowledgement that is due."""

    seq: int
    arrives_us: int  # when the CONTROL that requests it arrives
    due_us: int


@dataclass(slots=True)
class _Request:
    """Retransmissions that are due."""

    message: Message
    waiting: set[int]
    sent_us: int
    due_us: int


class AnswerOracle(Oracle):
    def __init__(self, session: Session, report: Report) -> None:
        super().__init__(session, report)
        self._answers: list[_Answer] = []
        self._requests: list[_Request] = []
        self._known = 0  # all messages up to this one were sent
        self._seen: dict[int, dict[int, int]] = {}  # buffer -> packets, and when each came last
        self._last: set[int] = set()  # buffers with the last-buffer flag: how many packets they have is not known
        self._paces: list[tuple[int, int]] = []  # that may be in force

    def sent(self, packet: Packet, time_us: int, frame: int) -> None:
        session = self.session
        if session.real_time or session.response is None:
            return
        self._judge(time_us, frame)
        if packet.type is not Type.CONTROL or not session.life.lasts:
            return
        self._note_offers(time_us)
        before, self._known = self._known, session.issued.consecutive
        if self._known and packet.messages:
            self._answers.append(_Answer(self._known, time_us + session.round_trip_us // 2, self._ack_due_us(time_us)))
        for number in range(before + 1, self._known + 1):
            if (message := session.issued.get(number)) is not None:
                self._take(message, time_us)

    def _note_offers(self, time_us: int) -> None:
        """A slower pace is offered while something is due: it may already hold for that."""
        terms = self.session.response
        assert terms is not None
        before = self._slowest() if self._paces else None
        self._paces = [(terms.burst_size, terms.burst_interval_ms), *self.session.issued.offers]
        if before is None or before == self._slowest():
            return
        for answer in self._answers:
            answer.due_us = max(answer.due_us, self._ack_due_us(time_us))
        for request in self._requests:
            request.due_us = max(request.due_us, time_us + self.session.round_trip_us + self._patience_us())

    def _slowest(self) -> tuple[int, int]:
        """The smallest burst and the longest burst interval in milliseconds of the pairs that may be in force."""
        return slowest(*self._paces)

    def _ack_due_us(self, time_us: int) -> int:
        _, interval_ms = self._slowest()
        return time_us + self.session.round_trip_us + self.session.tolerances.ack_deadline_us(interval_ms)

    def _take(self, message: Message, time_us: int) -> None:
        """A new message that follows all earlier ones."""
        if message.kind is Kind.OK:
            self._requests = [one for one in self._requests if one.message.buffer != message.buffer]
        elif message.kind is Kind.RESEND:
            waiting = set(message.packets) & self._existing(message.buffer)
            asked_us = self.session.issued.departures[message.seq]  # after a hole it may be served early (AMB-36)
            came = self._seen.get(message.buffer, {})
            waiting = {number for number in waiting if came.get(number, -1) < asked_us}
            if waiting and not self.session.issued.of(Kind.OK, message.buffer):
                due_us = time_us + self.session.round_trip_us + self._patience_us()
                self._requests.append(_Request(message, waiting, time_us, due_us))

    def _existing(self, buffer: int) -> set[int]:
        """The packets that a buffer surely has: all of it once it was begun (DATA-15), of the last one what came."""
        terms, seen = self.session.response, self._seen.get(buffer, {})
        assert terms is not None
        if not seen or buffer in self._last:
            return set(seen)
        return set(range(-(-terms.buffer_size // max(terms.packet_size, 1))))

    def _patience_us(self) -> int:
        """Everything that may be under way goes out at the slowest pace that was ever offered."""
        terms = self.session.response
        assert terms is not None
        packets = terms.max_buffers * -(-terms.buffer_size // max(terms.packet_size, 1))
        packets += sum(len(one.waiting) for one in self._requests)
        return self.session.tolerances.reaction_max_us + 2 * transfer_time_us(packets, *self._slowest())

    def received(self, packet: Packet, time_us: int, frame: int) -> None:
        self._judge(time_us, frame)
        left_us = time_us - self.session.round_trip_us // 2
        if packet.acks:
            self._answers = [
                one for one in self._answers if after(one.seq, packet.high_seq) or one.arrives_us > left_us
            ]
        if packet.is_data:
            self._seen.setdefault(packet.buffer, {})[packet.packet] = time_us
            if packet.last_buffer:
                self._last.add(packet.buffer)
            self._note_served(packet, time_us)

    def _note_served(self, packet: Packet, time_us: int) -> None:
        """A sender may be slower than the pace that was agreed, and serves the lowest numbers of all requests first:
        what follows is due from here on."""
        served = [one for one in self._requests if one.message.buffer == packet.buffer and packet.packet in one.waiting]
        for request in served:
            request.waiting.remove(packet.packet)
        self._requests = [one for one in self._requests if one.waiting]
        for request in self._requests:
            if served:
                request.due_us = max(request.due_us, time_us + self._patience_us())

    def _judge(self, now_us: int, frame: int) -> None:
        if not self._answers and not self._requests:
            return
        if not self.session.life.lasts:
            self._answers.clear()
            self._requests.clear()
            return
        for answer in self._answers:
            if now_us > answer.due_us:
                waited_s = (answer.due_us - answer.arrives_us) / MICROSECONDS_PER_S
                self.report(NO_ANSWER, frame, seq=answer.seq, waited_s=waited_s)
        self._answers = [one for one in self._answers if now_us <= one.due_us]
        for request in self._requests:
            if now_us > request.due_us:
                waited_s, packets = (now_us - request.sent_us) / MICROSECONDS_PER_S, tuple(sorted(request.waiting))
                self.report(NOT_SERVED, frame, request=request.message, waited_s=waited_s, packets=packets)
        self._requests = [one for one in self._requests if now_us <= one.due_us]
