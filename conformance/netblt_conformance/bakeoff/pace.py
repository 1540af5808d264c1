# SPDX-License-Identifier: GPL-2.0-or-later
"""The mean pace of the sender of a meeting, where its packets enter the path (RATE-01, RFC 998 4 and 8).

The capture is one hop from the sender, on a machine that may delay a process. So single bursts are not judged here
(`check --captured-at sender` judges them), only many in a row, with the loosest pair of burst size and burst interval
that was agreed on or offered, and with a tolerance.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from netblt_conformance.common.model import MICROSECONDS_PER_MS
from netblt_conformance.packets.packets import DATA_TYPES, Kind, Type
from netblt_conformance.trace.model import Event, Trace

REQUIREMENT = "RATE-01"
# Packets for which the pace permits at least 10 intervals: a first and a last burst, and those between.
BURSTS_JUDGED = 12
# As many times what is permitted is not counted against the sender.
TOLERANCE = 1.5


@dataclass(frozen=True, slots=True)
class Pace:
    """A burst size and a burst interval."""

    packets: int
    interval_ms: int

    def permits(self, span_us: int) -> int:
        """Packets in any span of this length: bursts may begin at its first and at its last moment."""
        return self.packets * (span_us // (self.interval_ms * MICROSECONDS_PER_MS) + 2)


@dataclass(frozen=True, slots=True)
class TooFast:
    """Data packets that left faster than every pace in force permits."""

    packets: int
    span_us: int
    permitted: int
    first_frame: int
    last_frame: int
    pace: Pace

    def __str__(self) -> str:
        return (
            f"{self.packets} data packets in {self.span_us / 1000:.0f} ms (frames {self.first_frame} to "
            f"{self.last_frame}); {self.pace.packets} each {self.pace.interval_ms} ms permit {self.permitted}"
        )


def too_fast(trace: Trace, sender: int, captured_late_us: int) -> TooFast | None:
    """The run of data packets with the most times what is permitted. `sender`: index of its end in the trace.
    `captured_late_us`: a packet was captured at most so long after it had been sent."""
    paces = list(_paces(trace))
    if not paces or any(not pace.interval_ms for pace in paces):  # an interval of 0: not paced (AMB-11)
        return None
    sent = [event for event in trace.events if _is_sent_data(event, sender)]
    return max(_runs(sent, paces, captured_late_us), key=lambda run: run.packets / run.permitted, default=None)


def _paces(trace: Trace) -> Iterator[Pace]:
    """What was agreed on, and what any OK offers. An offer of no packets keeps the size that was agreed on (AMB-11)."""
    terms = trace.terms
    if not terms.burst_size:
        return
    yield Pace(terms.burst_size, terms.burst_interval_ms)
    for event in trace.events:
        if event.foreign:
            continue
        if event.packet.type is Type.RESPONSE:
            yield Pace(event.packet.burst_size or terms.burst_size, event.packet.burst_interval_ms)
        for message in event.packet.messages:
            if message.kind is Kind.OK:
                yield Pace(message.burst_size or terms.burst_size, message.burst_interval_ms)


def _is_sent_data(event: Event, sender: int) -> bool:
    """Sent by this end, and captured on its side of the path. A copy that the network made was not sent."""
    own = event.source == sender and event.copy_of is None and not event.foreign
    return own and event.packet.type in DATA_TYPES and event.sent_ns is not None and event.sent_frame is not None


def _runs(sent: Sequence[Event], paces: Sequence[Pace], captured_late_us: int) -> Iterator[TooFast]:
    """The longest run that is too fast, from each packet on."""
    different = set(paces)
    least = BURSTS_JUDGED * max(pace.packets for pace in different)
    moments = sorted((event.sent_ns or 0, event.sent_frame or 0) for event in sent)
    for first, (begin_ns, first_frame) in enumerate(moments):
        for last in range(len(moments) - 1, first + least - 2, -1):
            span_us, packets = (moments[last][0] - begin_ns) // 1000, last - first + 1
            pace = max(different, key=lambda one: one.permits(span_us + captured_late_us))
            if packets > TOLERANCE * pace.permits(span_us + captured_late_us):
                yield TooFast(packets, span_us, pace.permits(span_us), first_frame, moments[last][1], pace)
                break
