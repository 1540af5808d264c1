# SPDX-License-Identifier: GPL-2.0-or-later
"""Offset and drift between the clocks of two captures, from the packets that both saw.

S. Moon, P. Skelly, D. Towsley, "Estimation and removal of clock skew from network delay measurements" (INFOCOM 1999):
of all lines below the measured delays, the one nearest to all of them (a linear program) has the slope of the drift.
Here the packets of both directions constrain one line, because no delay is negative: the offset lies below what the
packets of one direction show, and above what those of the other show. The estimate lies in the middle between the
two lines, at half of the shortest round trip, which is right where the shortest delays of both directions are equal.
The bound needs no such assumption: it is the largest error that a line can have that no packet contradicts.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from netblt_conformance.pairing.reading import Integers

Floats = npt.NDArray[np.float64]

_PPM = 1e6
# No clock of a computer is off by more.
DRIFT_MOST = 2000 / _PPM
# Packets that contradict all others are removed one by one, at most this share of all.
_OUTLIERS_MOST = 0.02
_OUTLIERS_FEW = 8
_OUTLIERS_MANY = 200
_BISECTIONS = 60


@dataclass(frozen=True, slots=True)
class Clock:
    """What the second capture's clock shows at time t of the first: t + base_ns + rest_ns + drift * (t - reference_ns).
    The offset is in two parts because it may be decades, and counts to the nanosecond."""

    reference_ns: int
    base_ns: int
    rest_ns: float
    drift: float  # 1e-6 is one ppm
    bound_ns: (
        float  # from reference_ns on, for span_ns, the offset is not off by more; infinite: only one direction was seen
    )
    drift_bound: float
    span_ns: int  # from the first packet that both captures have to the last
    steady: bool = True  # False: no such line exists; a clock was set, or its drift changed

    @property
    def offset_ns(self) -> float:
        """At the reference, in ns."""
        return self.base_ns + self.rest_ns

    @property
    def drift_ppm(self) -> float:
        return self.drift * _PPM

    @property
    def drift_bound_ppm(self) -> float:
        return self.drift_bound * _PPM

    def on_first(self, second_ns: Integers) -> Integers:
        """Times of the second clock, on the first."""
        since = (second_ns - (self.reference_ns + self.base_ns)).astype(np.float64) - self.rest_ns
        return self.reference_ns + np.rint(since / (1 + self.drift)).astype(np.int64)

    def on_second(self, first_ns: Integers) -> Integers:
        """Times of the first clock, on the second."""
        since = (first_ns - self.reference_ns).astype(np.float64) * (1 + self.drift) + self.rest_ns
        return self.reference_ns + self.base_ns + np.rint(since).astype(np.int64)


def estimate(first_ns: Integers, second_ns: Integers, forward: npt.NDArray[np.bool_]) -> Clock:
    """From the times of pairs of packets on both clocks; `forward`: it travels from the first capture to the second. At
    least one pair is needed."""
    reference = int(first_ns.min())
    when = (first_ns - reference).astype(np.float64)
    base = int(second_ns[0] - first_ns[0])
    difference = (second_ns - first_ns - base).astype(np.float64)
    above = _hull(when[forward], difference[forward])  # the offset is at most that
    below = _flipped(_hull(when[~forward], -difference[~forward]))  # and at least that
    if not len(above) or not len(below):
        return _one_way(reference, base, when, difference, forward, above if len(above) else below)
    middle = _Middle(when, forward)
    removed, most = 0, min(_OUTLIERS_FEW + int(_OUTLIERS_MOST * len(when)), _OUTLIERS_MANY)
    kept = np.ones(len(when), dtype=bool)
    while not _feasible(above, below) and removed < most:
        worst = _worst(when, difference, forward, kept, above, below)
        kept[worst] = False
        removed += len(worst)
        above = _hull(when[forward & kept], difference[forward & kept])
        below = _flipped(_hull(when[~forward & kept], -difference[~forward & kept]))
    steady = _feasible(above, below)
    slope = _slope(above, below, middle)
    if np.subtract(*_intercepts(above, below, slope)) < 0:
        slope = _widest(above, below)[1]
    upper, lower = _intercepts(above, below, slope)
    offset = (upper + lower) / 2
    bound, slope_bound = _bounds(above, below, offset, slope, float(when.max()))
    if not steady:
        bound = max(abs(upper - lower), float(np.abs(difference - offset - slope * when).max()))
    return Clock(reference, base, offset, slope, bound, slope_bound, int(when.max()), steady)


@dataclass(frozen=True, slots=True)
class _Middle:
    """How many packets went either way, and when in the middle: all that the linear program asks of most of them."""

    forward: int
    backward: int
    forward_when: float
    backward_when: float

    def __init__(self, when: Floats, forward: npt.NDArray[np.bool_]) -> None:
        object.__setattr__(self, "forward", int(forward.sum()))
        object.__setattr__(self, "backward", int(len(forward) - forward.sum()))
        object.__setattr__(self, "forward_when", float(when[forward].sum()))
        object.__setattr__(self, "backward_when", float(when[~forward].sum()))


def _hull(when: Floats, value: Floats) -> Floats:
    """The lower convex hull of points, as rows (time, value) (Andrew's monotone chain, after all points that cannot be
    on it were dropped at once)."""
    if not len(when):
        return np.empty((0, 2))
    order = np.lexsort((value, when))
    points = np.column_stack((when[order], value[order]))
    points = points[_candidates(points)]
    hull: list[tuple[float, float]] = []
    for x, y in points:
        while len(hull) > 1 and _turns_right(hull[-2], hull[-1], (x, y)):
            hull.pop()
        if hull and hull[-1][0] == x:
            continue  # the lowest of one time comes first
        hull.append((float(x), float(y)))
    return np.array(hull)


def _candidates(points: Floats) -> npt.NDArray[np.bool_]:
    """Drops what lies above the line between two other points: the lowest of each part of the time."""
    count = len(points)
    if count < 1000:
        return np.ones(count, dtype=bool)
    starts = np.arange(0, count, math.isqrt(count))
    lowest = np.array(
        [start + int(part.argmin()) for start, part in zip(starts, np.split(points[:, 1], starts[1:]), strict=True)]
    )
    anchors = np.unique(np.concatenate(([0], lowest, [count - 1])))
    chord = np.interp(points[:, 0], points[anchors, 0], points[anchors, 1])
    return np.asarray(points[:, 1] <= chord, dtype=bool)


def _turns_right(a: tuple[float, float], b: tuple[float, float], c: tuple[float, float]) -> bool:
    return bool((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]) <= 0)


def _flipped(hull: Floats) -> Floats:
    return np.asarray(hull * np.array([1.0, -1.0]))


def _intercepts(above: Floats, below: Floats, slope: float) -> tuple[float, float]:
    """At the reference: the highest line of this slope below `above`, and the lowest one above `below`."""
    return float((above[:, 1] - slope * above[:, 0]).min()), float((below[:, 1] - slope * below[:, 0]).max())


def _slopes(hull: Floats) -> Floats:
    return np.diff(hull[:, 1]) / np.diff(hull[:, 0])


def _slope(above: Floats, below: Floats, middle: _Middle) -> float:
    """The linear program: two parallel lines, one below `above`, one above `below`, together nearest to all packets.
    The sum of distances is convex in the slope, and bends only at slopes of edges of the hulls."""
    tried = np.concatenate((_slopes(above), _slopes(below), [0.0]))
    tried = np.unique(tried[np.abs(tried) <= DRIFT_MOST])

    def distance(slope: float) -> float:
        upper, lower = _intercepts(above, below, slope)
        return (
            -middle.forward * upper
            - slope * middle.forward_when
            + middle.backward * lower
            + slope * middle.backward_when
        )

    return float(min(tried, key=lambda slope: (distance(slope), abs(slope))))


def _feasible(above: Floats, below: Floats) -> bool:
    return len(above) > 0 and len(below) > 0 and _widest(above, below)[0] >= 0


def _widest(above: Floats, below: Floats) -> tuple[float, float]:
    """The largest distance between the two parallel lines, and its slope."""
    tried = np.concatenate((_slopes(above), _slopes(below), [0.0, -DRIFT_MOST, DRIFT_MOST]))
    tried = np.unique(np.clip(tried, -DRIFT_MOST, DRIFT_MOST))
    gaps = [upper - lower for upper, lower in (_intercepts(above, below, float(slope)) for slope in tried)]
    best = int(np.argmax(gaps))
    return gaps[best], float(tried[best])


def _worst(
    when: Floats,
    difference: Floats,
    forward: npt.NDArray[np.bool_],
    kept: npt.NDArray[np.bool_],
    above: Floats,
    below: Floats,
) -> Integers:
    """The packet without which the lines lie furthest apart: one of the two that they meet now."""
    slope = _widest(above, below)[1]
    level = difference - slope * when
    candidates = []
    for way, sign in ((forward, 1.0), (~forward, -1.0)):
        rows = np.flatnonzero(way & kept)
        height = sign * level[rows]
        lowest = np.argpartition(height, 1)[:2] if len(rows) > 1 else np.zeros(1, dtype=np.int64)
        lowest = lowest[np.argsort(height[lowest])]
        gain = float(height[lowest[1]] - height[lowest[0]]) if len(rows) > 1 else -math.inf
        candidates.append((gain, rows[lowest[:1]]))
    return max(candidates, key=lambda one: one[0])[1]


def _bounds(above: Floats, below: Floats, offset: float, slope: float, span: float) -> tuple[float, float]:
    """The largest error of offset (anywhere in 0..span) and of slope, of all lines that no packet contradicts. For a
    given slope these lie between two lines whose distance bends at the slopes of edges of the hulls only."""
    least, most = (_last_allowed(above, below, _widest(above, below)[1], end) for end in (-DRIFT_MOST, DRIFT_MOST))
    edges = np.concatenate((_slopes(above), _slopes(below)))
    error = 0.0
    for tried in (least, most, *edges[(edges > least) & (edges < most)]):
        for at in _intercepts(above, below, float(tried)):
            error = max(error, abs(at - offset), abs(at - offset + (tried - slope) * span))
    return error, max(most - slope, slope - least)


def _last_allowed(above: Floats, below: Floats, inside: float, outside: float) -> float:
    """The slope nearest to `outside` that no packet contradicts; `inside` is one such slope."""
    for _ in range(_BISECTIONS):
        tried = (inside + outside) / 2
        upper, lower = _intercepts(above, below, tried)
        inside, outside = (tried, outside) if upper >= lower else (inside, tried)
    return outside


def _one_way(
    reference: int, base: int, when: Floats, difference: Floats, forward: npt.NDArray[np.bool_], hull: Floats
) -> Clock:
    """Packets of one direction show the drift, and nothing of how the delay and the offset share what they measure."""
    slopes = _slopes(hull)
    slopes = slopes[np.abs(slopes) <= DRIFT_MOST]
    sign = 1.0 if forward.any() else -1.0
    level = [float((sign * (difference - slope * when)).min()) for slope in slopes]
    total = [
        float((sign * (difference - slope * when)).sum()) - len(when) * at
        for slope, at in zip(slopes, level, strict=True)
    ]
    best = int(np.argmin(total)) if total else -1
    slope = float(slopes[best]) if total else 0.0
    at = sign * (level[best] if total else float((sign * difference).min()))
    return Clock(reference, base, at, slope, math.inf, math.inf, int(when.max()))
