# SPDX-License-Identifier: GPL-2.0-or-later
"""Where one capture was taken, how long each end takes to answer there, and what IP identifications show of packets
that came late, twice or not at all."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from netblt_conformance.oracles.session import after
from netblt_conformance.packets.packets import Kind, Type
from netblt_conformance.trace.draft import Draft
from netblt_conformance.trace.model import Position

# What hosts put into the field; each router takes one away.
_INITIAL_HOPS = frozenset({32, 64, 128, 255})
# As the Wireshark plugin: a capture is beside an end that answers so many times faster than the other.
_NEARER_FACTOR = 4
# Identifications are a counter where nearly all steps are small and forward.
_ID_STEP_MOST, _ID_MODULUS, _COUNTED_LEAST, _COUNTED_SHARE = 64, 65536, 8, 0.9
_NS_PER_MS = 1e6


def reactions(drafts: Sequence[Draft]) -> tuple[int | None, int | None]:
    """The shortest time in which each end answered something that passed the capture, in nanoseconds. Only answers
    count that cannot have been sent before their question arrived."""
    table = _Reactions()
    for one in drafts:
        if one.readable and one.copy_of is None and not one.foreign:
            table.take(one)
    return table.shortest[0], table.shortest[1]


class _Reactions:
    """Questions that wait for their answers."""

    def __init__(self) -> None:
        self.shortest: list[int | None] = [None, None]
        self._opened: dict[tuple[int, int], int] = {}  # (end that is to answer, unique ID) -> first OPEN
        self._told: dict[int, int] = {}  # control message without acknowledgement -> first time
        self._known: set[int] = set()
        self._data: dict[int, int] = {}  # buffer -> its newest packet
        self._done: set[int] = set()  # buffers with OK

    def take(self, one: Draft) -> None:
        packet, now = one.packet, one.frame.time_ns
        if packet.type is Type.OPEN:
            self._opened.setdefault((1 - one.source, packet.unique_id), now)
        elif packet.type is Type.RESPONSE:
            self._answered(one.source, self._opened.pop((one.source, packet.unique_id), None), now)
        elif packet.type is Type.CONTROL:
            for message in packet.messages:
                if message.seq not in self._known:
                    self._known.add(message.seq)
                    self._told[message.seq] = now
                if message.kind is Kind.OK and message.buffer not in self._done:
                    self._done.add(message.buffer)
                    self._answered(one.source, self._data.get(message.buffer), now)
        elif packet.acks:
            for seq in [seq for seq in self._told if not after(seq, packet.high_seq)]:
                self._answered(one.source, self._told.pop(seq), now)
            if packet.is_data:
                self._data[packet.buffer] = now

    def _answered(self, end: int, asked: int | None, now: int) -> None:
        if asked is not None and now >= asked:
            before = self.shortest[end]
            self.shortest[end] = now - asked if before is None else min(before, now - asked)


def position(drafts: Sequence[Draft], names: tuple[str, str]) -> tuple[Position, str]:
    """Where the capture was taken if that can be known, and why; UNKNOWN with what is probable, for the reader."""
    hops = [{one.frame.hops for one in drafts if one.source == end} for end in (0, 1)]
    if all(hops):
        near = [found <= _INITIAL_HOPS for found in hops]
        far = [found.isdisjoint(_INITIAL_HOPS) for found in hops]
        for end, place in enumerate((Position.FIRST, Position.SECOND)):
            if near[end] and far[1 - end]:
                return place, f"captured near {names[end]}: only packets of the peer have passed routers"
        if all(far):
            return Position.BETWEEN, "captured between the ends: the packets of both have passed routers"
    times = reactions(drafts)
    if times[0] is None or times[1] is None:
        return Position.UNKNOWN, ""
    for end in (0, 1):
        mine, other = times[end], times[1 - end]
        if mine is not None and other is not None and mine * _NEARER_FACTOR < other:
            return Position.UNKNOWN, (
                f"probably captured near {names[end]}, which responds within {mine / _NS_PER_MS:.3g} ms; the peer "
                f"within {other / _NS_PER_MS:.3g} ms"
            )
    return Position.UNKNOWN, ""


def copies(drafts: Sequence[Draft]) -> None:
    """Marks the copies that the network made: the same bytes under one IP identification, of a host that counts."""
    for end in (0, 1):
        seen: dict[tuple[int | None, bytes], Draft] = {}
        again: list[tuple[Draft, Draft]] = []
        for one in drafts:
            if one.source != end:
                continue
            first = seen.setdefault((one.frame.identification, one.packet.raw), one)
            if first.frame.number != one.frame.number:
                again.append((one, first))
        if _counted(list(seen.values())):
            for one, first in again:
                one.copy_of = first


def order(drafts: Sequence[Draft], names: tuple[str, str]) -> list[str]:
    """Marks packets that came to the capture later than one that left after them. Notes: packets that did not come."""
    notes = []
    for end in (0, 1):
        mine = [one for one in drafts if one.source == end and one.copy_of is None]
        if not _counted(mine):
            continue
        newest, present = None, set()
        for one in mine:
            number = one.frame.identification or 0
            ahead = _step(newest, number) if newest is not None else 1
            if ahead > _ID_MODULUS // 2:
                one.late = True
            else:
                newest = number
            present.add(number)
        missing = _missing(mine, present)
        if missing:
            notes.append(f"by their IP identifications {missing} packets of {names[end]} are not in the capture")
    return notes


def _step(before: int, after: int) -> int:
    return (after - before) % _ID_MODULUS


def _counted(mine: Sequence[Draft]) -> bool:
    """Whether the IP identifications of a host are a counter."""
    numbers = [one.frame.identification for one in mine]
    known = [number for number in numbers if number is not None]
    if len(known) < _COUNTED_LEAST or len(known) < len(numbers):
        return False
    steps = [_step(a, b) for a, b in pairwise(known)]
    forward = sum(0 < step <= _ID_STEP_MOST for step in steps)
    near = all(step <= _ID_STEP_MOST or step >= _ID_MODULUS - _ID_STEP_MOST for step in steps)
    return near and forward >= _COUNTED_SHARE * len(steps)


def _missing(mine: Sequence[Draft], present: set[int]) -> int:
    """How many numbers are left out. Where most are, the host counts for other connections as well: then none."""
    first, span = mine[0].frame.identification or 0, 0
    for one in mine:
        step = _step(first, one.frame.identification or 0)
        if step < _ID_MODULUS // 2:
            span = max(span, step)
    missing = span + 1 - len(present)
    bundled = len({one.frame.number for one in mine}) < len(mine)
    return 0 if bundled or missing > len(present) // 2 else max(0, missing)
