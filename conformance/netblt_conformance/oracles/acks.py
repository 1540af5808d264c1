# SPDX-License-Identifier: GPL-2.0-or-later
"""CTRL-06, CTRL-07: the high consecutive sequence number in everything that a sending implementation emits."""

from __future__ import annotations

from netblt_conformance.oracles.base import Oracle, Report
from netblt_conformance.oracles.session import Session, after
from netblt_conformance.packets.packets import Kind, Packet


class AckOracle(Oracle):
    def __init__(self, session: Session, report: Report) -> None:
        super().__init__(session, report)
        self._highest = 0
        self._last_buffer: int | None = None

    def received(self, packet: Packet, time_us: int, frame: int) -> None:
        if not packet.acks:
            return
        if after(self._highest, packet.high_seq):
            text = f"the high sequence number fell from {self._highest} to {packet.high_seq}"
            self.fail("CTRL-06", text, frame)
        self._judge_upper_bound(packet.high_seq, frame)
        self._judge_lower_bound(packet.high_seq, time_us, frame)
        if packet.is_data:
            self._judge_go(packet, frame)
            if packet.last_buffer and self._last_buffer is None:
                self._last_buffer = packet.buffer
        self._highest = packet.high_seq if after(packet.high_seq, self._highest) else self._highest

    def _judge_upper_bound(self, high_seq: int, frame: int) -> None:
        """Nothing may be acknowledged that the tester has not sent (CTRL-06), nor what lies behind a hole (CTRL-07)."""
        sent = self.session.sequences_sent
        consecutive = 0
        while consecutive + 1 in sent:
            consecutive += 1
        if not after(high_seq, consecutive):
            return
        if high_seq in sent:
            hole = consecutive + 1
            self.fail("CTRL-07", f"high sequence number {high_seq} although message {hole} never arrived", frame)
        else:
            text = f"high sequence number {high_seq}, but messages only up to {consecutive} were sent"
            self.fail("CTRL-06", text, frame)

    def _judge_go(self, packet: Packet, frame: int) -> None:
        """Data of a buffer proves that its GO was received: then the acknowledgement covers it, unless a hole came
        before it. Needs no clock."""
        in_order = 0
        for seq in self.session.sequences_sent:
            in_order = seq if seq == in_order + 1 else in_order
        for go in self.session.sent_of(Kind.GO, packet.buffer)[:1]:
            if not after(go.seq, in_order) and after(go.seq, packet.high_seq):
                text = (
                    f"data of buffer {packet.buffer} with high sequence number {packet.high_seq}, its GO was {go.seq}"
                )
                self.fail("CTRL-06", text, frame)

    def _judge_lower_bound(self, high_seq: int, time_us: int, frame: int) -> None:
        """Every packet carries it: an old value long after the messages arrived is wrong.

        Messages that came behind a hole are not counted: jumping over them is "clever", not required (AMB-36).
        """
        required = 0
        terms = self.session.response
        late_us = self.session.tolerances.ack_deadline_us(terms.burst_interval_ms if terms else 0)
        for seq, departure_us in self.session.sequences_sent.items():
            if seq == required + 1 and self.session.knew(departure_us + late_us, time_us):
                required = seq
        if after(required, high_seq):
            text = f"high sequence number {high_seq} long after messages up to {required} had arrived"
            neighbours_us = self.session.neighbours_sent.get(high_seq, time_us)
            together = self.session.knew(neighbours_us + late_us, time_us)
            self.fail(self._what_was_passed_over(high_seq, together), text, frame)

    def _what_was_passed_over(self, high_seq: int, together: bool) -> str:
        """The requirement that the first message which is not acknowledged comes under. `together`: it came in one
        CONTROL with the last one that is."""
        behind = next((m for m in self.session.messages_sent if m.seq == high_seq + 1), None)
        surplus = behind is not None and behind.kind is Kind.GO and self._last_buffer is not None
        if surplus and behind is not None and behind.buffer > (self._last_buffer or 0):
            return "CTRL-15"  # a GO for which there are no data
        return "CTRL-12" if together else "CTRL-06"
