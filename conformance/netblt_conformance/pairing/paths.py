# SPDX-License-Identifier: GPL-2.0-or-later
"""What a path did to each packet between two captures: pairs the packets and estimates the clocks, each with the help
of the other."""

from __future__ import annotations

import enum
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from netblt_conformance.common.errors import JudgeError
from netblt_conformance.pairing import matching
from netblt_conformance.pairing.clock import Clock, estimate
from netblt_conformance.pairing.matching import DelayOf, Matches, Way
from netblt_conformance.pairing.reading import Flow, Integers, Point, points

_ROUNDS = 2
# Fewer packets in common than this share of those that the smaller capture holds: the captures are of other traffic.
_RELATED_SHARE = 0.02
# A packet may be delayed above the shortest delay by so many times as much as any that was captured twice.
_RESERVE = 3
_TICK_NS = 2_000  # the resolution of a timestamp, and an error of the clocks
_NOBODY = -1


class Seen(enum.IntEnum):
    """What is known of a packet's way between the two points."""

    ARRIVED = 0
    DAMAGED = 1  # it arrived with other bytes
    LOST = 2
    COPY = 3  # made by the network; it arrived
    MISSED = 4  # captured where it arrived only: the capture nearest to its source missed it
    NOT_COVERED = 5  # captured at one point, while the other capture had not begun or was over


@dataclass(frozen=True, slots=True)
class Sighted:
    """The packets of one direction, and copies of them. Positions are rows of the points' columns; -1: not captured
    there."""

    sent: Integers
    arrived: Integers
    seen: Integers  # Seen
    late: np.ndarray[tuple[int], np.dtype[np.bool_]]  # a packet that left later arrived earlier
    original: Integers  # of a copy: the row, in this table, of the packet that the network copied; -1: it is none

    def count(self, what: Seen) -> int:
        return int((self.seen == what).sum())


@dataclass(frozen=True, slots=True)
class Direction:
    """The packets of one flow, from the point nearest to its source to the other."""

    source: Flow  # as captured nearest to its source
    destination: Flow  # as captured nearest to its destination: another one when addresses are translated on the path
    at_source: int  # number of the point: 0 or 1
    packets: Sighted
    delays_ns: Integers  # of the packets that arrived, copies left out

    @property
    def reordered(self) -> int:
        return int(self.packets.late.sum())


@dataclass(frozen=True, slots=True)
class Pairing:
    """Two captures of one path."""

    points: tuple[Point, Point]
    clock: Clock
    directions: list[Direction]
    notes: list[str] = field(default_factory=list)

    def missed_by(self, number: int) -> int:
        """Packets that passed this point, as the other one proves, and that its capture lacks."""
        own = sum(one.packets.count(Seen.MISSED) for one in self.directions if one.at_source == number)
        return own + self.points[number].dropped

    def nearest_to(self, address: str) -> int | None:
        """The point nearest to an address; None when neither is known to be."""
        for one in self.directions:
            if one.source.source == address:
                return one.at_source
            if one.destination.destination == address:
                return 1 - one.at_source
        return None


def pair_files(first: Path, second: Path) -> Pairing:
    """Pairs the captures of two files. JudgeError states why they cannot be paired."""
    if first.exists() and second.exists() and first.samefile(second):
        raise JudgeError(f"{first} and {second} are the same file; name the captures of both ends")
    found = []
    for path in (first, second):
        seen = points(path)
        if not seen:
            raise JudgeError(f"{path}: holds no NETBLT packet")
        if len(seen) > 1:
            names = ", ".join(one.name for one in seen)
            raise JudgeError(f"{path}: holds packets of {len(seen)} interfaces ({names}); one is wanted for each end")
        found.append(seen[0])
    return pair(found[0], found[1])


def pair(first: Point, second: Point) -> Pairing:
    """Pairs the packets of two capture points. JudgeError states why they cannot be paired."""
    if len(first) == len(second) and (first.whole == second.whole).all() and (first.time_ns == second.time_ns).all():
        raise JudgeError(
            f"{first.name} and {second.name} hold the same packets at the same times: copies of one capture"
        )
    cut = matching.cut_of((first, second))
    keys = matching.identities(first, cut), matching.identities(second, cut)
    couples = _couples(first, second, keys)
    if not couples:
        raise JudgeError(_unrelated(first, second))
    flows = [_Flow(first, second, keys, mine, theirs) for mine, theirs in couples]
    _orient(flows)
    clock = _clock(flows)
    for _ in range(_ROUNDS):
        for flow in flows:
            flow.match(clock, cut)
        clock = _clock(flows)
    for flow in flows:
        flow.match(clock, cut)
    return Pairing((first, second), clock, [flow.direction(clock) for flow in flows], _notes(flows, clock))


def _couples(first: Point, second: Point, keys: tuple[Integers, Integers]) -> list[tuple[int, int]]:
    """Flows of the first capture, each with the flow of the second that holds the same packets; their addresses may
    differ where they are translated on the path."""
    mine, theirs = matching.unique_pairs(*keys)
    votes = Counter(zip(first.flow[mine].tolist(), second.flow[theirs].tolist(), strict=True))
    for number, flow in enumerate(first.flows):
        if flow in second.flows:
            both = number, second.flows.index(flow)
            common = np.intersect1d(keys[0][first.flow == both[0]], keys[1][second.flow == both[1]])
            votes[both] += len(common)
    couples: list[tuple[int, int]] = []
    taken: set[tuple[int, int]] = set()
    for (one, other), count in votes.most_common():
        fewer = min(int((first.flow == one).sum()), int((second.flow == other).sum()))
        if (0, one) in taken or (1, other) in taken or count < max(1, _RELATED_SHARE * fewer):
            continue
        taken |= {(0, one), (1, other)}
        couples.append((one, other))
    return couples


def _unrelated(first: Point, second: Point) -> str:
    ends = [{(flow.source, flow.destination) for flow in one.flows} for one in (first, second)]
    where = f"{first.name} and {second.name}"
    if ends[0].isdisjoint(ends[1]):
        pairs = [" and ".join(sorted(next(iter(one)))) for one in ends]
        return f"{where} are not of one path: one has packets between {pairs[0]}, the other between {pairs[1]}"
    begin = max(int(first.time_ns.min()), int(second.time_ns.min()))
    end = min(int(first.time_ns.max()), int(second.time_ns.max()))
    if begin > end:
        apart = (begin - end) / 1e9
        return (
            f"{where} have no packet in common: between the end of one and the beginning of the other lie "
            f"{apart:.3f} s, if their clocks agree"
        )
    return (
        f"{where} have no packet in common, though both are between the same addresses: they show other transfers, or "
        "one capture missed what the other has"
    )


class _Flow:
    """A flow of packets while it is paired."""

    def __init__(self, first: Point, second: Point, keys: tuple[Integers, Integers], mine: int, theirs: int) -> None:
        self.points = first, second
        self.flow = mine, theirs
        self.rows = np.flatnonzero(first.flow == mine), np.flatnonzero(second.flow == theirs)
        self.keys = keys[0][self.rows[0]], keys[1][self.rows[1]]
        ids = tuple(point.identification[rows] for point, rows in zip(self.points, self.rows, strict=True))
        pairs = matching.first_pairs(*self.keys)
        self.ids = matching.ids_help(ids[0], ids[1], ids[0][pairs[0]], ids[1][pairs[1]])
        if self.ids:
            self.keys = self.keys[0] * 65599 + ids[0], self.keys[1] * 65599 + ids[1]
            pairs = matching.first_pairs(*self.keys)
        self.forward = True  # it travels from the first point to the second
        # Rows of both points that hold the same packet.
        self.pairs = self.rows[0][pairs[0]], self.rows[1][pairs[1]]
        self.found = Matches()

    @property
    def name(self) -> Flow:
        return self.points[0].flows[self.flow[0]]

    def times(self) -> tuple[Integers, Integers]:
        """Of the pairs, on both clocks."""
        return self.points[0].time_ns[self.pairs[0]], self.points[1].time_ns[self.pairs[1]]

    def _ordered(self) -> tuple[int, int]:
        """Numbers of the points at its source and at its destination."""
        return (0, 1) if self.forward else (1, 0)

    def match(self, clock: Clock, cut: int) -> None:
        near, far = self._ordered()
        on_first = self.points[0].time_ns, clock.on_first(self.points[1].time_ns)
        ends = self.points[near], self.points[far]
        usual = matching.usual_delays(on_first[far][self.pairs[far]] - on_first[near][self.pairs[near]])
        delay = DelayOf(on_first[near], on_first[far], usual)
        way = Way(self.rows[near], self.rows[far])
        found = matching.match(way.sent, way.arrived, self.keys[near], self.keys[far], delay)
        matching.match_damaged(ends, way, found, delay, cut, self.ids)
        sent = np.array([one for one, _ in found.pairs], dtype=np.int64)
        arrived = np.array([one for _, one in found.pairs], dtype=np.int64)
        same = ends[0].captured[sent] == ends[1].captured[arrived]
        other = same & (ends[0].whole[sent] != ends[1].whole[arrived])
        found.damaged |= set(arrived[other].tolist())
        self.found = found
        self.pairs = (sent, arrived) if self.forward else (arrived, sent)

    def direction(self, clock: Clock) -> Direction:
        near, far = self._ordered()
        on_first = self.points[0].time_ns, clock.on_first(self.points[1].time_ns)
        sent_ns, arrived_ns = on_first[near], on_first[far]
        pairs, copies = sorted(self.found.pairs), self.found.copies
        delays = np.array([arrived_ns[a] - sent_ns[s] for s, a in pairs], dtype=np.int64)
        row_of = {s: row for row, (s, _) in enumerate(pairs)}
        rows = [(s, a, Seen.DAMAGED if a in self.found.damaged else Seen.ARRIVED, _NOBODY) for s, a in pairs]
        rows += [(s, a, Seen.COPY, row_of[s]) for s, a in copies]
        here = {s for s, _ in pairs}
        there = {a for _, a in pairs} | {a for _, a in copies}
        rows += self._alone(near, far, here, there, on_first, delays)
        table = np.array(rows, dtype=np.int64).reshape(-1, 4)
        late = _late(table)
        packets = Sighted(table[:, 0], table[:, 1], table[:, 2], late, table[:, 3])
        names = self.points[near].flows[self.flow[near]], self.points[far].flows[self.flow[far]]
        return Direction(*names, near, packets, delays)

    def _alone(
        self,
        near: int,
        far: int,
        here: set[int],
        there: set[int],
        on_first: tuple[Integers, Integers],
        delays: Integers,
    ) -> list[tuple[int, int, Seen, int]]:
        """What was captured at one point only. A packet that was on its way while a capture began or ended may have
        taken as long as any other; packets that arrive before any that was captured at its source count as older than
        that capture."""
        sent_ns, arrived_ns = on_first[near], on_first[far]
        shortest = int(delays.min()) if len(delays) else 0
        longest = shortest + _RESERVE * (int(delays.max()) - shortest) if len(delays) else 0
        begin, end = int(arrived_ns.min()) + _TICK_NS, int(arrived_ns.max()) - _TICK_NS
        rows = []
        for one in self.rows[near].tolist():
            if one not in here:
                covered = begin < sent_ns[one] + shortest and sent_ns[one] + longest < end
                rows.append((one, _NOBODY, Seen.LOST if covered else Seen.NOT_COVERED, _NOBODY))
        begin, end = int(sent_ns.min()) + _TICK_NS, int(sent_ns.max()) - _TICK_NS
        first, last = min(there, default=0), max(there, default=0)
        for one in self.rows[far].tolist():
            if one not in there:
                covered = begin < arrived_ns[one] - longest and arrived_ns[one] - shortest < end and first < one < last
                rows.append((_NOBODY, one, Seen.MISSED if covered else Seen.NOT_COVERED, _NOBODY))
        return rows


def _late(table: Integers) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """In the order of arrival: whether a packet that left later came before. The order of the capture counts, copies do
    not."""
    late = np.zeros(len(table), dtype=bool)
    both = np.flatnonzero((table[:, 0] >= 0) & (table[:, 1] >= 0) & (table[:, 2] != Seen.COPY))
    order = both[np.argsort(table[both, 1], kind="stable")]
    left = table[order, 0]
    if len(left):
        late[order] = left < np.maximum.accumulate(left)
    return late


def _orient(flows: Sequence[_Flow]) -> None:
    """Which way each flow travels. The difference of the clocks is larger by the delay for packets that travel from the
    first point to the second, and smaller for the others, whatever the clocks show."""
    by_name = {flow.name: flow for flow in flows}
    for flow in flows:
        back = by_name.get(flow.name.back)
        if back is None or flow.name > back.name:
            continue
        gap = _difference(flow, back)
        flow.forward = gap >= 0
        back.forward = not flow.forward


def _difference(one: _Flow, other: _Flow) -> float:
    """The sum of the delays of both directions, positive if `one` travels from the first point to the second. Packets
    that were captured about the same time are compared: the clocks may drift."""
    times, others = one.times(), other.times()
    if not len(times[0]) or not len(others[0]):
        return 0.0
    order = np.argsort(others[0])
    at = np.clip(np.searchsorted(others[0][order], times[0]), 0, len(order) - 1)
    differences = (times[1] - times[0]) - (others[1] - others[0])[order][at]
    return float(np.median(differences))


def _clock(flows: Sequence[_Flow]) -> Clock:
    times = [flow.times() for flow in flows]
    forward = np.concatenate([np.full(len(one[0]), flow.forward) for one, flow in zip(times, flows, strict=True)])
    return estimate(np.concatenate([one[0] for one in times]), np.concatenate([one[1] for one in times]), forward)


def _notes(flows: Sequence[_Flow], clock: Clock) -> list[str]:
    notes = []
    if not clock.steady:
        notes.append("the clocks do not differ by a constant drift: one of them was set while the captures ran")
    if clock.bound_ns == float("inf"):
        notes.append("both captures have packets of one direction only: the offset of the clocks is not known")
    names = {flow.name for flow in flows}
    if any(flow.points[0].flows[flow.flow[0]] != flow.points[1].flows[flow.flow[1]] for flow in flows):
        notes.append(
            f"addresses or ports are translated between the captures ({len(names)} flows were paired by content)"
        )
    return notes
