# SPDX-License-Identifier: GPL-2.0-or-later
"""CTRL-06, CTRL-07: the high consecutive sequence number in everything that a sending implementation emits."""

from __future__ import annotations

from netblt_conformance.oracles.base import Check, Oracle, Report
from netblt_conformance.oracles.session import Session, after
from netblt_conformance.packets.packets import Kind, Packet

FELL = Check(
    "CTRL-06",
    expected="a high sequence number that never falls",
    seen="the high sequence number fell from {before} to {high_seq}",
)
BEHIND_A_HOLE = Check(
    "CTRL-07",
    expected="no acknowledgement beyond the first message that has not arrived",
    seen="high sequence number {high_seq} although message {hole} never arrived",
)
NEVER_SENT = Check(
    "CTRL-06",
    expected="acknowledgement of messages that were sent only",
    seen="high sequence number {high_seq}, but messages only up to {sent} were sent",
)
GO_NOT_COVERED = Check(
    "CTRL-06",
    expected="data that acknowledge the GO of their buffer",
    seen="data of buffer {buffer} with high sequence number {high_seq}, its GO was {go}",
)
# An acknowledgement that is late, by the requirement that the first message comes under which it leaves out.
LATE = {
    requirement: Check(
        requirement,
        arrival=True,
        expected=expected,
        seen="high sequence number {high_seq} long after messages up to {required} had arrived",
    )
    for requirement, expected in (
        ("CTRL-06", "the number of the last message that arrived in sequence"),
        ("CTRL-12", "acknowledgement of every message of a CONTROL"),
        ("CTRL-15", "acknowledgement of a GO for which there are no data"),
    )
}


class AckOracle(Oracle):
    def __init__(self, session: Session, report: Report) -> None:
        super().__init__(session, report)
        self._highest = 0
        self._due = 0  # so many of the messages that arrived in order are to be acknowledged
        self._last_buffer: int | None = None

    def received(self, packet: Packet, time_us: int, frame: int) -> None:
        if not packet.acks:
            return
        if after(self._highest, packet.high_seq):
            self.report(FELL, frame, before=self._highest, high_seq=packet.high_seq)
        self._judge_upper_bound(packet.high_seq, frame)
        self._judge_lower_bound(packet.high_seq, time_us, frame)
        if packet.is_data:
            self._judge_go(packet, frame)
            if packet.last_buffer and self._last_buffer is None:
                self._last_buffer = packet.buffer
        self._highest = packet.high_seq if after(packet.high_seq, self._highest) else self._highest

    def _judge_upper_bound(self, high_seq: int, frame: int) -> None:
        """Nothing may be acknowledged that the tester has not sent (CTRL-06), nor what is after a hole (CTRL-07)."""
        consecutive, sent = self.session.issued.consecutive, self.session.issued.departures
        if not after(high_seq, consecutive):
            return
        if high_seq in sent:
            self.report(BEHIND_A_HOLE, frame, high_seq=high_seq, hole=consecutive + 1)
        else:
            self.report(NEVER_SENT, frame, high_seq=high_seq, sent=consecutive)

    def _judge_go(self, packet: Packet, frame: int) -> None:
        """Data of a buffer proves that its GO was received: then the acknowledgement covers it, unless a hole came
        before it. Needs no clock."""
        issued = self.session.issued
        in_order = issued.in_order[-1][0] if issued.in_order else 0
        for go in issued.of(Kind.GO, packet.buffer)[:1]:
            if not after(go.seq, in_order) and after(go.seq, packet.high_seq):
                self.report(GO_NOT_COVERED, frame, buffer=packet.buffer, high_seq=packet.high_seq, go=go.seq)

    def _judge_lower_bound(self, high_seq: int, time_us: int, frame: int) -> None:
        """Every packet carries it: an old value long after the messages arrived is wrong.

        Messages that came after a hole are not counted: jumping over them is "clever", not required (AMB-36).
        """
        terms = self.session.response
        late_us = self.session.tolerances.ack_deadline_us(terms.burst_interval_ms if terms else 0)
        in_order = self.session.issued.in_order
        while self._due < len(in_order) and self.session.knew(in_order[self._due][1] + late_us, time_us):
            self._due += 1
        required = in_order[self._due - 1][0] if self._due else 0
        if after(required, high_seq):
            neighbours_us = self.session.issued.neighbours.get(high_seq, time_us)
            together = self.session.knew(neighbours_us + late_us, time_us)
            self.report(
                LATE[self._what_was_passed_over(high_seq, together)], frame, high_seq=high_seq, required=required
            )

    def _what_was_passed_over(self, high_seq: int, together: bool) -> str:
        """The requirement that the first message which is not acknowledged comes under. `together`: it came in one
        CONTROL with the last one that is."""
        behind = self.session.issued.get(high_seq + 1)
        surplus = behind is not None and behind.kind is Kind.GO and self._last_buffer is not None
        if surplus and behind is not None and behind.buffer > (self._last_buffer or 0):
            return "CTRL-15"  # a GO for which there are no data
        return "CTRL-12" if together else "CTRL-06"
