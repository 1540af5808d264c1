# SPDX-License-Identifier: GPL-2.0-or-later
"""TIMER-11: how long an implementation sends nothing, and how often a KEEPALIVE."""

from __future__ import annotations

import collections

from netblt_conformance.common.model import MICROSECONDS_PER_S as S
from netblt_conformance.common.verdicts import Verdict
from netblt_conformance.oracles.base import Check, Oracle, Report
from netblt_conformance.oracles.session import Session
from netblt_conformance.packets.packets import Packet, Type

# A death timer of one second needs four packets in a second; thirty-two times more are of no use to anyone.
KEEPALIVES_PER_S = 40
_TRANSFER = (Type.KEEPALIVE, Type.DATA, Type.LDATA, Type.NULL_ACK, Type.CONTROL)
SILENT = Check(
    "TIMER-11",
    expected="a packet before the declared death timer expires",
    seen="nothing came for {silence_s:g} s, a death timer of {declared_s} s was declared",
)
TOO_MANY = Check(
    "TIMER-11",
    expected=f"at most {KEEPALIVES_PER_S} KEEPALIVEs in a second",
    seen="more than {limit} KEEPALIVEs came in a second",
    verdict=Verdict.WARN,
)


class IdleOracle(Oracle):
    def __init__(self, session: Session, report: Report) -> None:
        super().__init__(session, report)
        self._declared_s = 0  # by the tester
        self._newest_us: int | None = None  # of the implementation
        self._keepalives: collections.deque[int] = collections.deque(maxlen=KEEPALIVES_PER_S + 1)

    def sent(self, packet: Packet, time_us: int, frame: int) -> None:
        if packet.type in (Type.OPEN, Type.RESPONSE):
            self._declared_s = packet.death_timer_s
        if packet.type is Type.RESPONSE and self._newest_us is None:
            self._newest_us = time_us
        self._judge(time_us, frame)

    def received(self, packet: Packet, time_us: int, frame: int) -> None:
        if packet.type in _TRANSFER:
            self._judge(time_us, frame)
        self._newest_us = time_us
        if packet.type is not Type.KEEPALIVE:
            return
        self._keepalives.append(time_us)
        if len(self._keepalives) > KEEPALIVES_PER_S and time_us - self._keepalives[0] < S:
            self.report(TOO_MANY, frame, limit=KEEPALIVES_PER_S)

    def _judge(self, now_us: int, frame: int) -> None:
        """No gap is as long as what the tester declared (AMB-51). A declared value of 0 means nothing (AMB-50)."""
        if self._newest_us is None or not self._declared_s or not self.session.life.lasts:
            return
        silence_us = now_us - self._newest_us - self.session.round_trip_us - self.session.slack_us
        if silence_us >= self._declared_s * S:
            self.report(SILENT, frame, silence_s=silence_us / S, declared_s=self._declared_s)
            self._newest_us = now_us
