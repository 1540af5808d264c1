# SPDX-License-Identifier: GPL-2.0-or-later
"""RATE-01, RATE-02: no span of time holds more data packets than the loosest pair in force allows."""

from __future__ import annotations

import collections
import itertools

from netblt_conformance.common.model import MICROSECONDS_PER_MS
from netblt_conformance.oracles.base import Check, Oracle, Report
from netblt_conformance.oracles.session import Session
from netblt_conformance.packets.packets import Kind, Packet

# Spans that reach back further than this many packets show nothing that shorter ones did not.
HISTORY_PACKETS = 128
# Packets that follow one another within this part of the burst interval belong to one burst.
WITHIN_BURST = 8


_TOO_MANY = "{count} data packets within {span_ms:g} ms; the pace is {burst} in {interval_ms} ms"
LARGE_BURST = Check("RATE-01", expected="no more packets than a burst in each burst interval", seen=_TOO_MANY)
TOO_SOON = Check("RATE-02", expected="bursts that start no closer than the burst interval", seen=_TOO_MANY)


class RateOracle(Oracle):
    def __init__(self, session: Session, report: Report) -> None:
        super().__init__(session, report)
        self._times: collections.deque[int] = collections.deque(maxlen=HISTORY_PACKETS)

    def received(self, packet: Packet, time_us: int, frame: int) -> None:
        terms = self.session.response
        if not packet.is_data or terms is None:
            return
        offers = [(terms.burst_size, terms.burst_interval_ms)]
        offers += [(m.burst_size, m.burst_interval_ms) for m in self.session.sent_of(Kind.OK) if m.burst_size]
        burst, interval_us = max(b for b, _ in offers), min(i for _, i in offers) * MICROSECONDS_PER_MS
        self._times.append(time_us)
        if interval_us == 0:  # AMB-11: not paced
            return
        for count, start_us in enumerate(reversed(self._times), start=1):
            span_us = time_us - start_us + self.session.slack_us
            if count > burst * (span_us // interval_us + 2):
                check = self._what_is_too_much(count, burst, interval_us)
                span_ms, interval_ms = span_us / MICROSECONDS_PER_MS, interval_us // MICROSECONDS_PER_MS
                self.report(check, frame, count=count, span_ms=span_ms, burst=burst, interval_ms=interval_ms)
                return

    def _what_is_too_much(self, count: int, burst: int, interval_us: int) -> Check:
        """RATE-02 where no burst is larger than agreed: then they follow one another too soon."""
        times = list(self._times)[-count:]
        largest = run = 1
        for before, after in itertools.pairwise(times):
            run = run + 1 if after - before <= interval_us // WITHIN_BURST + self.session.slack_us else 1
            largest = max(largest, run)
        return LARGE_BURST if largest > burst else TOO_SOON
