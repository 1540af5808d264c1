# SPDX-License-Identifier: BSD-2-Clause
"""The paths of satellites and deep space: their lines, when they are down or change their delay, and the least time."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

from ..lab import MTU_BYTES, Line
from ..movers.workloads import MEGABYTE
from ..peers import IP_UDP_BYTES

FULL_PAYLOAD_BYTES = MTU_BYTES - IP_UDP_BYTES  # of UDP in a packet of full size: no transport carries more
FOREVER_S = float("inf")


@dataclass(frozen=True)
class Phase:
    """From `begin_s` on the line is up with this round trip, or down."""

    begin_s: float
    up: bool
    round_trip_ms: float


@dataclass(frozen=True)
class SpacePath:
    """A line, a file that is moved over it, and what happens meanwhile. `real`: also with real packets."""

    key: str
    title: str
    line: Line
    bytes: int
    phases: tuple[Phase, ...]  # in order; the first begins at 0
    limit_s: float  # for one transfer, in the path's own time
    real: bool
    together: bool = False  # so slow that transfers do not disturb each other: all of them at the same time

    def line_in(self, phase: Phase) -> Line:
        return replace(self.line, round_trip_ms=phase.round_trip_ms)

    def shortened(self, divisor: int) -> SpacePath:
        """With a smaller file."""
        return replace(self, bytes=self.bytes // divisor)


def steady(line: Line) -> tuple[Phase, ...]:
    return (Phase(0, True, line.round_trip_ms),)


def outage(line: Line, begin_s: float, seconds: float) -> tuple[Phase, ...]:
    return (*steady(line), Phase(begin_s, False, line.round_trip_ms),
            Phase(begin_s + seconds, True, line.round_trip_ms))  # fmt: skip


def passes(line: Line, up_s: float, period_s: float, count: int) -> tuple[Phase, ...]:
    """The line is up for the first `up_s` of each period."""
    return tuple(
        Phase(number * period_s + offset, up, line.round_trip_ms)
        for number in range(count)
        for offset, up in ((0.0, True), (up_s, False))
    )


def hand_overs(round_trips_ms: tuple[float, ...], every_s: float, gap_s: float, count: int) -> tuple[Phase, ...]:
    """The round trip changes in steps, one after the other and over again; at each step nothing passes for `gap_s`."""
    phases = [Phase(0, True, round_trips_ms[0])]
    for number in range(1, count + 1):
        before, after = (round_trips_ms[n % len(round_trips_ms)] for n in (number - 1, number))
        phases += [Phase(number * every_s, False, before), Phase(number * every_s + gap_s, True, after)]
    return tuple(phases)


def least_s(path: SpacePath) -> float:
    """What is physically possible: each packet of full size at the line's rate while the line is up, the lost ones
    again, and one way. Without a handshake and without waiting for retransmissions."""
    packets = path.bytes / FULL_PAYLOAD_BYTES / (1 - path.line.loss_percent / 100)
    left_s = packets * MTU_BYTES * 8 / (path.line.rate_mbit * 1e6)
    ends = [after.begin_s for _, after in pairwise(path.phases)] + [FOREVER_S]
    for phase, end_s in zip(path.phases, ends, strict=True):
        if not phase.up:
            continue
        if left_s <= end_s - phase.begin_s:
            return phase.begin_s + left_s + phase.round_trip_ms / 2e3
        left_s -= end_s - phase.begin_s
    return FOREVER_S


GEO = Line("", 500, 600)
GEO_LOSS = Line("", 500, 600, 0.1)
SLOW = Line("", 5, 600, 0.1)
LEO = Line("", 50, 40, 0.1)
PASSES = Line("", 1, 20, 0.1)
DEEP = Line("", 1, 960_000, 0.1)

PATHS = [
    SpacePath("geo", "geostationary: 500 Mb/s, 600 ms", GEO, 100 * MEGABYTE, steady(GEO), 40, real=True),
    SpacePath("geo-loss", "geostationary, lossy: 500 Mb/s, 600 ms, 0.1 % lost", GEO_LOSS, 100 * MEGABYTE,
              steady(GEO_LOSS), 40, real=True),
    SpacePath("outage", "outage: 5 Mb/s, 600 ms, 0.1 % lost, down from 6 s to 126 s", SLOW, 10 * MEGABYTE,
              outage(SLOW, 6, 120), 240, real=True, together=True),
    SpacePath("leo", "low orbit: 50 Mb/s, 0.1 % lost, 40 or 80 ms in turns, each 15 s", LEO,
              200 * MEGABYTE, hand_overs((40, 80), 15, 0.1, 12), 90, real=True),
    SpacePath("passes", "passes: 1 Mb/s, 20 ms, 0.1 % lost, up for 8 of each 95 min", PASSES,
              100 * MEGABYTE, passes(PASSES, 480, 5700, 20), 90_000, real=False),
    SpacePath("deep-space", "deep space: 1 Mb/s, 8 min one way, 0.1 % lost", DEEP, 20 * MEGABYTE, steady(DEEP),
              40_000, real=False),
    SpacePath("deep-outage", "deep space with an outage: the same, down from 20 min to 80 min", DEEP, 200 * MEGABYTE,
              outage(DEEP, 1200, 3600), 60_000, real=False),
]  # fmt: skip
