# SPDX-License-Identifier: GPL-2.0-or-later
"""RATE-01, 02, 05, NEG-09, CTRL-11: no span of time holds more data packets than the loosest pair in force allows."""

from __future__ import annotations

import bisect
import collections
import itertools
from dataclasses import dataclass

from netblt_conformance.common.model import MICROSECONDS_PER_MS
from netblt_conformance.common.verdicts import Verdict
from netblt_conformance.oracles.base import Check, Oracle, Report
from netblt_conformance.oracles.session import Session, after
from netblt_conformance.packets.packets import Kind, Packet, Type

# Spans that reach back further than this many packets show nothing that shorter ones did not.
HISTORY_PACKETS = 128
# Packets that follow one another within this part of the burst interval belong to one burst.
WITHIN_BURST = 8


_TOO_MANY = "{count} data packets within {span_ms:g} ms; the pace is {burst} in {interval_ms} ms"
LARGE_BURST = Check("RATE-01", expected="no more packets than a burst in each burst interval", seen=_TOO_MANY)
TOO_SOON = Check("RATE-02", expected="bursts that start no closer than the burst interval", seen=_TOO_MANY)
OLD_PACE = Check(
    "RATE-05", expected="the pace of the newest OK in buffers whose GO followed its acknowledgement", seen=_TOO_MANY
)
_REPORTS = "NULL-ACK reports {burst} in {interval_ms} ms, which none of the pairs that may be in force allows"
FASTER_REPORT = Check(
    "CTRL-11", expected="the pair of the newest OK or a more restrictive one in each NULL-ACK", seen=_REPORTS
)
FASTER_AT_FIRST = Check(
    "CTRL-11",
    expected="the agreed pair or a more restrictive one in a NULL-ACK before any OK (AMB-62)",
    seen=_REPORTS,
    verdict=Verdict.WARN,
)
NOT_AS_REPORTED = Check("NEG-09", expected="the pace that NULL-ACK reports", seen=_TOO_MANY)


@dataclass(frozen=True, slots=True)
class _Pace:
    burst: int
    interval_ms: int


_Paces = list[tuple[_Pace, int, Check | None]]


class RateOracle(Oracle):
    """Pair 0 is that of the RESPONSE, pair n that of the n-th OK by number, also where a later one came first. Which of
    them is in force is not known exactly: it holds for buffers whose GO follows the acknowledgement of its OK (AMB-43).
    An OK that comes late is before no pair that is acknowledged: no number that is in use changes."""

    def __init__(self, session: Session, report: Report) -> None:
        super().__init__(session, report)
        self._packets: collections.deque[tuple[int, int]] = collections.deque(maxlen=HISTORY_PACKETS)
        self._offers: list[_Pace] = []  # pairs from 1 on
        self._loosest: dict[int, _Paces] = {}  # by the first pair that may be in force
        self._reported: dict[int, _Pace] = {}  # by the number of the pair: what NULL-ACK made of it
        self._suffixes: list[tuple[_Pace, _Pace]] = []  # what `_since` returns, for the newest pair first
        self._whole: _Pace | None = None  # the loosest of all pairs, once known
        self._oks: list[int] = []  # messages, ascending
        self._noted: set[int] = set()  # the same
        self._acked = 0
        self._first_pair: dict[int, int] = {}  # buffer -> the first pair that may be in force for it

    def sent(self, packet: Packet, time_us: int, frame: int) -> None:
        del time_us, frame
        for message in packet.messages:
            if message.kind is Kind.GO:
                self._first_pair.setdefault(message.buffer, self._settled(self._acked))
            elif message.kind is Kind.OK and message.burst_size and message.seq not in self._noted:
                self._on_offer(message.seq, _Pace(message.burst_size, message.burst_interval_ms))

    def _on_offer(self, ok: int, pace: _Pace) -> None:
        position = bisect.bisect(self._oks, ok)
        self._oks.insert(position, ok)
        self._offers.insert(position, pace)
        self._noted.add(ok)
        self._forget()
        self._whole = _loosest([pace, self._whole]) if self._whole else None

    def _forget(self) -> None:
        """A pair was offered or reported: what was derived of the pairs no longer holds."""
        self._loosest.clear()
        self._suffixes.clear()

    def _settled(self, high_seq: int) -> int:
        """The newest pair whose OK this acknowledges."""
        return bisect.bisect(self._oks, high_seq)

    def _leaves_out_an_ok(self, high_seq: int) -> bool:
        """Whether an OK was sent that this does not acknowledge."""
        return self._settled(high_seq) < len(self._oks)

    def _from(self, first: int, agreed: _Pace) -> list[_Pace]:
        """The pairs from this number on."""
        return self._offers[first - 1 :] if first else [agreed, *self._offers]

    def received(self, packet: Packet, time_us: int, frame: int) -> None:
        terms = self.session.response
        if terms is None:
            return
        if packet.acks and after(packet.high_seq, self._acked):
            self._acked = packet.high_seq
        if packet.type is Type.NULL_ACK:
            # An OK after a hole may have been processed: then it is not known which pair this makes of what (AMB-36).
            if packet.burst_size and not self._leaves_out_an_ok(packet.high_seq):
                self._reported[self._settled(packet.high_seq)] = _Pace(packet.burst_size, packet.burst_interval_ms)
                self._forget()
            self._judge_report(packet, _Pace(terms.burst_size, terms.burst_interval_ms), frame)
        if packet.is_data:
            self._packets.append((time_us, self._first_pair.get(packet.buffer, 0)))
            self._judge(_Pace(terms.burst_size, terms.burst_interval_ms), frame)

    def _judge_report(self, packet: Packet, agreed: _Pace, frame: int) -> None:
        """CTRL-11: messages after a hole may have been processed already (AMB-36). Zeros report no pair, which may be
        until an OK offered one."""
        settled = self._settled(packet.high_seq)
        if not packet.burst_size and not settled:
            return
        burst, interval_ms = packet.burst_size, packet.burst_interval_ms
        offers = self._from(settled, agreed)
        if not any(burst <= pace.burst and interval_ms >= pace.interval_ms for pace in offers):
            check = FASTER_REPORT if settled else FASTER_AT_FIRST
            self.report(check, frame, burst=burst, interval_ms=interval_ms)

    def _judge(self, agreed: _Pace, frame: int) -> None:
        now_us, first = self._packets[-1]
        slack_us = self.session.slack_us
        paces = self._paces(agreed, first)
        for count, (start_us, pair) in enumerate(reversed(self._packets), start=1):
            if pair < first:
                first = pair
                paces = self._paces(agreed, first)
            span_us = now_us - start_us + slack_us
            for pace, interval_us, check in paces:
                if count > pace.burst * (span_us // interval_us + 2):
                    self._tell(check or self._what_is_too_much(count, pace), count, span_us, pace, frame)
                    return

    def _paces(self, agreed: _Pace, first: int) -> _Paces:
        """The loosest pace that may be in force for any packet, and for packets for which pair `first`, or a later one,
        is; the latter also as NULL-ACKs restrict it. Each once, with its interval in us. An interval of 0 means that
        nothing is paced (AMB-11)."""
        known = self._loosest.get(first)
        if known is None:
            self._whole = self._whole or _loosest([agreed, *self._offers])
            offered, reported = self._since(first, agreed)
            found: dict[_Pace, Check | None] = {self._whole: None}
            found.setdefault(offered, OLD_PACE)
            found.setdefault(reported, NOT_AS_REPORTED)
            known = [
                (pace, pace.interval_ms * MICROSECONDS_PER_MS, check)
                for pace, check in found.items()
                if pace.interval_ms
            ]
            self._loosest[first] = known
        return known

    def _since(self, first: int, agreed: _Pace) -> tuple[_Pace, _Pace]:
        """The loosest pair from this number on: as offered, and as NULL-ACKs restrict it."""
        newest = len(self._offers)
        while len(self._suffixes) <= newest - first:
            number = newest - len(self._suffixes)
            pace = self._offers[number - 1] if number else agreed
            pair = pace, self._reported.get(number, pace)
            if self._suffixes:
                pair = _loosest([pair[0], self._suffixes[-1][0]]), _loosest([pair[1], self._suffixes[-1][1]])
            self._suffixes.append(pair)
        return self._suffixes[newest - first]

    def _tell(self, check: Check, count: int, span_us: int, pace: _Pace, frame: int) -> None:
        span_ms = span_us / MICROSECONDS_PER_MS
        self.report(check, frame, count=count, span_ms=span_ms, burst=pace.burst, interval_ms=pace.interval_ms)

    def _what_is_too_much(self, count: int, pace: _Pace) -> Check:
        """RATE-02 where no burst is larger than agreed: then they follow one another too soon."""
        times = [time_us for time_us, _ in self._packets][-count:]
        within_us = pace.interval_ms * MICROSECONDS_PER_MS // WITHIN_BURST + self.session.slack_us
        largest = run = 1
        for before, following in itertools.pairwise(times):
            run = run + 1 if following - before <= within_us else 1
            largest = max(largest, run)
        return LARGE_BURST if largest > pace.burst else TOO_SOON


def _loosest(paces: list[_Pace]) -> _Pace:
    return _Pace(max(pace.burst for pace in paces), min(pace.interval_ms for pace in paces))
