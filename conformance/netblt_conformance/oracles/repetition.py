# SPDX-License-Identifier: GPL-2.0-or-later
"""TIMER-01, CLOSE-07: when a receiver repeats its CONTROL, by the control timer that its OKs publish. Virtual time
only: a busy machine delays the tester as well."""

from __future__ import annotations

from netblt_conformance.common.model import MICROSECONDS_PER_MS
from netblt_conformance.oracles.base import Check, Oracle, Report
from netblt_conformance.oracles.session import Session, after
from netblt_conformance.packets.packets import Kind, Packet, Type

# So many repetitions that come too early, without anything that provokes them, are no coincidence: a coarse clock may
# shorten one of them.
_EARLY = 3
NOT_REPEATED = Check(
    "TIMER-01",
    expected="repetition of a CONTROL until its messages are acknowledged",
    seen="message #{seq} is not acknowledged, and no CONTROL came for {waited_s:g} s",
    stalls=True,
)
TOO_LATE = Check(
    "CLOSE-07",
    expected="repetition of an OK within twice the control timer that it publishes",
    seen="OK #{seq} publishes a control timer of {published_ms} ms, and no CONTROL came for {waited_ms:g} ms",
)
TOO_EARLY = Check(
    "CLOSE-07",
    expected="repetitions no closer than half of the published control timer",
    seen="OKs publish a control timer of {published_ms} ms, and CONTROL is repeated after {gaps_ms} ms",
)


class RepetitionOracle(Oracle):
    def __init__(self, session: Session, report: Report) -> None:
        super().__init__(session, report)
        self._messages: set[int] = set()
        self._newest_us = -1  # when a CONTROL came last
        self._gap_acked = 0  # what was acknowledged at the newest gap
        self._provoked_us = -1  # when a packet of the tester left last
        self._published_ms = 0  # by the newest OK; 0: by none
        self._new_ok: tuple[int, int] | None = None  # an OK that was not repeated yet, and what it publishes
        self._came_us: dict[int, int] = {}  # when each OK came first
        self._gaps_us: list[int] = []  # between repetitions without anything that provokes them
        self._early_frame = 0
        self._early_ms = 0  # what they publish, when the newest CONTROL is one repetition too many that is too early

    def sent(self, packet: Packet, time_us: int, frame: int) -> None:
        del packet
        self._judge(time_us, frame)
        self._provoked_us = time_us
        if self._new_ok is not None and not after(self._new_ok[0], self.session.highest_ack_sent):
            self._new_ok = None

    def received(self, packet: Packet, time_us: int, frame: int) -> None:
        self._judge(time_us, frame)
        if packet.type is not Type.CONTROL or not packet.messages:
            return
        repeats = {message.seq for message in packet.messages} <= self._messages
        if self._newest_us < time_us:
            self._judge_gap(packet, time_us, frame, repeats=repeats)
            self._note_gap(time_us, repeats=repeats)
            self._new_ok = None
        elif not repeats:  # what is new made all parts leave
            self._gaps_us.clear()
            self._early_ms = 0
        self._newest_us = time_us
        for message in packet.messages:
            if message.kind is Kind.OK:
                self._published_ms = message.control_timer_ms
                self._came_us.setdefault(message.seq, time_us)
                if message.seq not in self._messages and after(message.seq, self.session.highest_ack_sent):
                    self._new_ok = message.seq, message.control_timer_ms
        self._messages |= {message.seq for message in packet.messages}

    def _judge(self, now_us: int, frame: int) -> None:
        """What is not acknowledged is repeated in time."""
        session = self.session
        if now_us > self._newest_us:  # all parts of the queue have come (AMB-33)
            self.finish()
        if session.real_time or self._newest_us < 0 or not session.life.lasts:
            return
        waited_us = now_us - self._newest_us
        if self._new_ok is not None:
            seq, published_ms = self._new_ok
            timer_us = session.following_replies(published_ms * MICROSECONDS_PER_MS)
            if waited_us > 2 * timer_us + session.tolerances.crossing_us:
                waited_ms = waited_us / MICROSECONDS_PER_MS
                self.report(TOO_LATE, frame, seq=seq, published_ms=published_ms, waited_ms=waited_ms)
                self._new_ok = None
        limit_us = session.repeat_max_us(self._published_ms)
        if waited_us > limit_us + session.round_trip_us and (seq := self._oldest()):
            self.report(NOT_REPEATED, frame, seq=seq, waited_s=waited_us / MICROSECONDS_PER_MS / 1000)
            self._newest_us = now_us

    def _note_gap(self, time_us: int, *, repeats: bool) -> None:
        """A timer that has grown stays so when a new message makes a CONTROL leave sooner, until something is
        acknowledged. `repeats`: the CONTROL holds nothing new."""
        session, acked = self.session, self.session.highest_ack_sent
        gap_us = time_us - self._newest_us if repeats and self._newest_us >= 0 else 0
        session.control_gap_us = gap_us if acked != self._gap_acked else max(gap_us, session.control_gap_us)
        self._gap_acked = acked

    def finish(self) -> None:
        """Reports repetitions that came too early."""
        if self._early_ms:
            gaps_ms = ", ".join(f"{gap_us / MICROSECONDS_PER_MS:g}" for gap_us in self._gaps_us[-_EARLY:])
            self.report(TOO_EARLY, self._early_frame, published_ms=self._early_ms, gaps_ms=gaps_ms)
            self._gaps_us.clear()
            self._early_ms = 0

    def _oldest(self) -> int:
        """The first message that is not acknowledged; 0: there is none."""
        acked = self.session.highest_ack_sent
        return min((seq for seq in self._messages if after(seq, acked)), default=0)

    def _judge_gap(self, packet: Packet, time_us: int, frame: int, *, repeats: bool) -> None:
        """CONTROLs that nothing provokes but the control timer, which these OKs publish. An OK holds the value of the
        moment when it was put into the control packet (RFC 998 5.2.1: a queue): an acknowledgement since then is a
        new measurement and may have shortened the timer."""
        calm = self._newest_us - self.session.round_trip_us > self._provoked_us
        acks = self.session.acks_sent
        measured_us = acks[-1][0] + self.session.round_trip_us if acks else -1
        oks = [message for message in packet.messages if message.kind is Kind.OK]
        current = [message for message in oks if self._came_us.get(message.seq, time_us) > measured_us]
        published_ms = min((m.control_timer_ms for m in current), default=0)
        if self.session.real_time or not published_ms or not calm or not repeats:
            self._gaps_us.clear()
            return
        self._gaps_us.append(time_us - self._newest_us)
        least_us = published_ms * MICROSECONDS_PER_MS // 2 - 2 * MICROSECONDS_PER_MS
        if len(self._gaps_us) >= _EARLY and max(self._gaps_us[-_EARLY:]) < least_us:
            self._early_ms, self._early_frame = published_ms, frame
