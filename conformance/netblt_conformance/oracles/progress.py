# SPDX-License-Identifier: GPL-2.0-or-later
"""CTRL-14, TIMER-07: a receiver confirms what is complete and requests what is missing in time, whatever its client
does (DATA-15). Virtual time only: a busy machine delays the tester as well."""

from __future__ import annotations

from netblt_conformance.common.model import MICROSECONDS_PER_S
from netblt_conformance.oracles.base import Check, Oracle, Report
from netblt_conformance.oracles.session import SentData, Session, after
from netblt_conformance.packets.packets import Kind, Message, Packet

OK_BYTES = Message(Kind.OK, 1, 0).size

NOT_CONFIRMED = Check(
    "CTRL-14",
    expected="OK when all packets of a buffer have arrived",
    seen="buffer {buffer} was complete for {waited_s:g} s, and no OK came",
    stalls=True,
    arrival=True,
)
NOT_REQUESTED = Check(
    "TIMER-07",
    expected="RESEND when a data timer expires",
    seen="packets of buffer {buffer} are missing, and no RESEND came for {waited_s:g} s",
    stalls=True,
)


class ProgressOracle(Oracle):
    def __init__(self, session: Session, report: Report) -> None:
        super().__init__(session, report)
        self._open: dict[int, int] = {}  # buffers with a GO and without an OK -> its newest request
        self._confirmed: set[int] = set()  # buffers with an OK: their GO may be repeated before it (AMB-33)
        self._complete_us: dict[int, int] = {}  # buffer -> when its last missing packet was sent
        self._armed_us: dict[int, int] = {}  # buffer -> when its GO was acknowledged
        self._requested: set[int] = set()  # buffers with a RESEND: their data timer may have any length (AMB-45)
        self._data_us = 0  # when any data were sent last
        self._calm_us: int | None = 0  # since when nothing waits for its acknowledgement
        self._full_us = 0  # when the last CONTROL came that has no room for an OK: the queue may be longer (AMB-33)

    def sent(self, packet: Packet, time_us: int, frame: int) -> None:
        if packet.is_data:
            self._data_us = time_us
            if self._is_complete(packet.buffer, time_us):
                self._complete_us.setdefault(packet.buffer, time_us)
        if packet.acks:
            acked = self.session.highest_ack_sent
            for buffer in (buffer for buffer, seq in self._open.items() if not after(seq, acked)):
                self._armed_us.setdefault(buffer, time_us)
        self._note_calm(time_us)
        self._judge(time_us, frame)

    def _note_calm(self, now_us: int) -> None:
        if self.session.life.waits_for_acknowledgement:
            self._calm_us = None
        elif self._calm_us is None:
            self._calm_us = now_us

    def _is_complete(self, buffer: int, now_us: int) -> bool:
        return self.session.data_sent.get(buffer, SentData()).complete_by(now_us)

    def received(self, packet: Packet, time_us: int, frame: int) -> None:
        self._judge(time_us, frame)
        self._note_calm(time_us)
        if packet.messages and packet.length + OK_BYTES > self.session.control_limit:
            self._full_us = time_us
        for message in packet.messages:
            if message.kind is Kind.OK:
                self._open.pop(message.buffer, None)
                self._confirmed.add(message.buffer)
            elif message.kind is Kind.RESEND and after(message.seq, self._open.get(message.buffer, message.seq)):
                self._open[message.buffer] = message.seq
                self._requested.add(message.buffer)
            elif message.kind is Kind.GO and self._is_new(message):
                self._open.setdefault(message.buffer, message.seq)

    def _is_new(self, go: Message) -> bool:
        return go.buffer not in self._confirmed and after(go.seq, self.session.highest_ack_sent)

    def _judge(self, now_us: int, frame: int) -> None:
        session = self.session
        if session.real_time or session.response is None or not self._open or not session.life.lasts:
            return
        # A new message may wait until those before it are acknowledged, or for the control timer (AMB-69).
        news_us = session.round_trip_us + session.tolerances.reaction_max_us
        if self._calm_us is None or session.life.waits_for_acknowledgement:
            news_us += session.repeat_max_us(0, grown=False)
        timer_us = session.data_timer_max_us()
        for buffer in list(self._open):
            if buffer in self._complete_us:
                waited_us = now_us - max(self._complete_us[buffer], self._calm_us or 0, self._full_us)
                if waited_us > news_us:
                    self._tell(NOT_CONFIRMED, buffer, waited_us, frame)
            elif buffer in self._armed_us and buffer not in self._requested and not self._is_beyond(buffer):
                waited_us = now_us - max(self._armed_us[buffer], self._data_us, self._calm_us or 0, self._full_us)
                if waited_us > news_us + timer_us:
                    self._tell(NOT_REQUESTED, buffer, waited_us, frame)

    def _is_beyond(self, buffer: int) -> bool:
        """There are no data for it."""
        last = self.session.last_buffer_sent
        return last is not None and buffer > last[0]

    def _tell(self, check: Check, buffer: int, waited_us: int, frame: int) -> None:
        del self._open[buffer]
        self.report(check, frame, buffer=buffer, waited_s=waited_us / MICROSECONDS_PER_S)
