# SPDX-License-Identifier: GPL-2.0-or-later
"""Which packets of two captures are the same: by their bytes, by their IP ID where the path keeps it, and by their
times, of one flow of packets that travel one way."""

from __future__ import annotations

import bisect
import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from netblt_conformance.pairing.reading import HEAD_BYTES, NO_ID, Integers, Point
from netblt_conformance.wire.fast import DATA_HEADER_BYTES, checksum_ok, peek, sums_to_ffff

# IP IDs are compared where so many of the packets that are the same beyond doubt have the same ID at both points...
IDS_KEPT_SHARE = 0.5
# ... and so many packets of a flow have an ID of their own.
IDS_VARY_SHARE = 0.5
# What speaks against an assignment of identical packets, in the units of DelayOf.cost().
_COST_OF_LOSS = 2.0
_COST_OF_COPY = 3.0
_COST_OF_STRANGER = 8.0  # it arrived and was never sent: the capture at its source missed it
# Of identical packets none is held up for longer than this, or so many times the usual spread of delays.
_HELD_UP_MOST_NS = 2e9
_HELD_UP_SPREADS_MOST = 100.0
_SPREAD_LEAST_NS = 200_000.0
# A packet may have travelled faster than all others by so much, and by this share of the shortest delay so far.
_EARLY_NS = 200_000.0
_EARLY_SHARE = 0.5
_STATES_MOST = 24
# Bits that damage on the way may have turned, when no IP ID shows which packet it was.
_BYTES_DAMAGED_MOST = 8
_DATA_TYPES = (6, 7)


@dataclass(slots=True)
class Way:
    """The packets of one flow at both points; positions are indices of the points' columns, in the order of each
    capture."""

    sent: Integers
    arrived: Integers


@dataclass(slots=True)
class Matches:
    """Pairs (sent, arrived) of positions. Of a packet that arrived several times, `copies` has all but the first."""

    pairs: list[tuple[int, int]] = field(default_factory=list)
    copies: list[tuple[int, int]] = field(default_factory=list)
    damaged: set[int] = field(default_factory=set)  # positions of packets that arrived with other bytes


@dataclass(frozen=True, slots=True)
class Delays:
    """What is usual on a way: the shortest delay and the spread above it, in ns."""

    shortest: float
    spread: float

    @property
    def early(self) -> float:
        """By how much a delay may be shorter."""
        return max(_EARLY_NS, _EARLY_SHARE * self.shortest)


def cut_of(points: Sequence[Point]) -> int:
    """How many bytes from the beginning on can be compared: as many as the captures hold of the packets that they cut,
    at most HEAD_BYTES."""
    cut = HEAD_BYTES
    for point in points:
        part = point.captured[point.captured < point.length]
        if len(part):
            cut = min(cut, int(part.min()))
    return cut


def identities(point: Point, cut: int) -> Integers:
    """The same number for packets with the same bytes, as far as they can be compared, and the same length."""
    return np.fromiter((hash(one[:cut]) for one in point.head), dtype=np.int64, count=len(point)) ^ (point.length << 48)


def unique_pairs(sent: Integers, arrived: Integers) -> tuple[Integers, Integers]:
    """Indices of the keys that occur exactly once in both."""
    keys, first, count = np.unique(sent, return_index=True, return_counts=True)
    others, other_first, other_count = np.unique(arrived, return_index=True, return_counts=True)
    _, mine, theirs = np.intersect1d(
        keys[count == 1], others[other_count == 1], assume_unique=True, return_indices=True
    )
    return first[count == 1][mine], other_first[other_count == 1][theirs]


def first_pairs(sent: Integers, arrived: Integers) -> tuple[Integers, Integers]:
    """Indices of packets that are the same beyond doubt; where there are none, of the first of those that look the
    same."""
    pairs = unique_pairs(sent, arrived)
    if len(pairs[0]):
        return pairs
    keys, first = np.unique(sent, return_index=True)
    others, other_first = np.unique(arrived, return_index=True)
    _, mine, theirs = np.intersect1d(keys, others, assume_unique=True, return_indices=True)
    return first[mine], other_first[theirs]


def ids_help(mine: Integers, theirs: Integers, paired_mine: Integers, paired_theirs: Integers) -> bool:
    """Whether the path kept the IP IDs, and they distinguish packets. `mine`, `theirs`: all IDs of a flow at each
    point; the others those of pairs that need no ID to be known."""
    if not len(paired_mine) or (mine == NO_ID).any() or (theirs == NO_ID).any():
        return False
    kept = float((paired_mine == paired_theirs).mean())
    return kept >= IDS_KEPT_SHARE and len(np.unique(mine)) >= IDS_VARY_SHARE * min(len(mine), 65536)


def match(sent: Integers, arrived: Integers, sent_key: Integers, arrived_key: Integers, delay: DelayOf) -> Matches:
    """Pairs packets with equal keys. `sent` and `arrived` are positions, in the order of each capture."""
    found = Matches()
    mine, theirs = unique_pairs(sent_key, arrived_key)
    kept = delay.believed(sent[mine], arrived[theirs])
    found.pairs += zip(sent[mine[kept]].tolist(), arrived[theirs[kept]].tolist(), strict=True)
    done_sent, done_arrived = np.zeros(len(sent), dtype=bool), np.zeros(len(arrived), dtype=bool)
    done_sent[mine], done_arrived[theirs] = True, True
    groups: dict[int, tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
    for key, position in zip(sent_key[~done_sent].tolist(), sent[~done_sent].tolist(), strict=True):
        groups[key][0].append(position)
    for key, position in zip(arrived_key[~done_arrived].tolist(), arrived[~done_arrived].tolist(), strict=True):
        groups[key][1].append(position)
    for left, came in groups.values():
        if left and came:
            _assign(left, came, delay, found)
    return found


class DelayOf:
    """How long a packet travelled, on one clock; and how usual that is."""

    def __init__(self, sent_ns: Integers, arrived_ns: Integers, usual: Delays | None) -> None:
        self.sent_ns, self.arrived_ns = sent_ns, arrived_ns
        self._usual = usual

    def cost(self, sent: int, arrived: int) -> float:
        """0: as short as the shortest; infinite: not possible."""
        if self._usual is None:
            return 0.0
        above = float(self.arrived_ns[arrived] - self.sent_ns[sent]) - self._usual.shortest
        if above < -self._usual.early:
            return math.inf
        return math.log1p(max(above, 0.0) / self._usual.spread)

    def cost_of_gap(self, arrived: int, before: int) -> float:
        """What speaks against a copy that came so long after the packet itself, or the copy before."""
        spread = self._usual.spread if self._usual is not None else _SPREAD_LEAST_NS
        return math.log1p(max(float(self.arrived_ns[arrived] - self.arrived_ns[before]), 0.0) / spread)

    def believed(self, sent: Integers, arrived: Integers) -> npt.NDArray[np.bool_]:
        """Of many pairs: whether the packet may have travelled so fast."""
        if self._usual is None:
            return np.ones(len(sent), dtype=bool)
        return np.asarray(self.arrived_ns[arrived] - self.sent_ns[sent] >= self._usual.shortest - self._usual.early)

    def window(self, arrived: int) -> tuple[float, float]:
        """When the packet may have been sent."""
        at = float(self.arrived_ns[arrived])
        if self._usual is None:
            return -math.inf, math.inf
        longest = self._usual.shortest + max(_HELD_UP_MOST_NS, _HELD_UP_SPREADS_MOST * self._usual.spread)
        return at - longest, at - self._usual.shortest + self._usual.early


def usual_delays(delays: Integers) -> Delays | None:
    if not len(delays):
        return None
    shortest, long = float(delays.min()), float(np.percentile(delays, 95))
    return Delays(shortest, max(long - shortest, _SPREAD_LEAST_NS))


def _assign(left: list[int], came: list[int], delay: DelayOf, found: Matches) -> None:
    """Identical packets: which of them arrived when. The assignment keeps their order, and is the one with the lowest
    cost of losses, copies and long delays."""
    # best[last]: cost, when `last` is the newest packet that arrived, and how it came to that.
    best: dict[int, tuple[float, tuple[tuple[int, int], object] | None]] = {-1: (0.0, None)}
    times = [int(delay.sent_ns[one]) for one in left]
    for arrived in came:
        low, high = delay.window(arrived)
        after: dict[int, tuple[float, tuple[tuple[int, int], object] | None]] = {}
        for last, (cost, how) in best.items():
            after[last] = (cost + _COST_OF_STRANGER, how)
        for number in range(bisect.bisect_left(times, low), bisect.bisect_right(times, high)):
            own = delay.cost(left[number], arrived)
            if own == math.inf:
                continue
            for last, (cost, how) in best.items():
                if last > number:
                    continue
                if last == number:
                    assert how is not None
                    total = cost + _COST_OF_COPY + delay.cost_of_gap(arrived, how[0][1])
                else:
                    total = cost + own + _COST_OF_LOSS * (number - last - 1)
                if number not in after or total < after[number][0]:
                    after[number] = (total, ((left[number], arrived), how))
        if len(after) > _STATES_MOST:
            rank = sorted(after, key=lambda last: after[last][0] + _COST_OF_LOSS * (len(left) - 1 - last))
            after = {last: after[last] for last in rank[:_STATES_MOST]}
        best = after
    chosen = min(best, key=lambda last: best[last][0] + _COST_OF_LOSS * (len(left) - 1 - last))
    how, pairs = best[chosen][1], []
    while how is not None:
        pairs.append(how[0])
        how = how[1]  # type: ignore[assignment]
    seen: set[int] = set()
    for sent, arrived in reversed(pairs):
        (found.copies if sent in seen else found.pairs).append((sent, arrived))
        seen.add(sent)


def match_damaged(points: tuple[Point, Point], way: Way, found: Matches, delay: DelayOf, cut: int, ids: bool) -> None:
    """Pairs what is left: packets that were damaged on the way. `points`: at the source, at the destination."""
    used = {sent for sent, _ in found.pairs}
    here = {arrived for _, arrived in found.pairs} | {arrived for _, arrived in found.copies}
    left = [one for one in way.sent.tolist() if one not in used]
    strange = [one for one in way.arrived.tolist() if one not in here]
    if not strange:
        return
    every = way.sent.tolist()
    by_id: dict[int, list[int]] = defaultdict(list)
    if ids:
        for one in every:
            by_id[int(points[0].identification[one])].append(one)
    times = [int(delay.sent_ns[one]) for one in left]
    free = set(left)
    for arrived in strange:
        sound = not ids and _is_sound(points[1], arrived)
        if ids:
            candidates = by_id.get(int(points[1].identification[arrived]), [])
        else:
            low, high = delay.window(arrived)
            candidates = left[bisect.bisect_left(times, low) : bisect.bisect_right(times, high)]
        if sound:  # damage can be in its data only; otherwise the capture at its source missed it, or began later
            header = points[1].head[arrived][:DATA_HEADER_BYTES]
            candidates = [one for one in candidates if points[0].head[one][:DATA_HEADER_BYTES] == header]
        chosen = _most_alike(points, candidates, arrived, free, delay, cut, ids)
        if chosen is None:
            continue
        if chosen in free:
            free.discard(chosen)
            found.pairs.append((chosen, arrived))
        else:
            found.copies.append((chosen, arrived))
        found.damaged.add(arrived)


def _is_sound(point: Point, position: int) -> bool:
    """The header checksum fits: whatever is damaged, it is not what distinguishes packets."""
    head = point.head[position]
    header = peek(head)
    if header is None or point.length[position] < header.length:
        return False
    if header.type in _DATA_TYPES:
        return len(head) >= DATA_HEADER_BYTES and sums_to_ffff(head[:DATA_HEADER_BYTES])
    return header.length <= len(head) and checksum_ok(head)


def _most_alike(
    points: tuple[Point, Point],
    candidates: Sequence[int],
    arrived: int,
    free: set[int],
    delay: DelayOf,
    cut: int,
    ids: bool,
) -> int | None:
    best: tuple[float, float] | None = None
    chosen = None
    for sent in candidates:
        cost = delay.cost(sent, arrived)
        if cost == math.inf or (sent not in free and not ids):
            continue
        bytes_off = _bytes_off(points, sent, arrived, cut)
        if bytes_off > _BYTES_DAMAGED_MOST and not ids:
            continue
        rank = bytes_off + (0.5 if sent not in free else 0.0), cost
        if best is None or rank < best:
            best, chosen = rank, sent
    return chosen


def _bytes_off(points: tuple[Point, Point], sent: int, arrived: int, cut: int) -> float:
    """In how many bytes two packets differ; what was cut off counts as one."""
    mine, theirs = points[0].head[sent][:cut], points[1].head[arrived][:cut]
    off = sum(a != b for a, b in zip(mine, theirs, strict=False))
    if points[0].length[sent] < points[1].length[arrived]:
        return math.inf
    return off + int(points[0].length[sent] != points[1].length[arrived])
