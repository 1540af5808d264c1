# SPDX-License-Identifier: GPL-2.0-or-later
"""Where a ladder diagram has each packet: time runs downwards. It is not to scale: every packet that an end sends needs
room for its label, and a pause is shortened and stated."""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from netblt_conformance.trace.model import Event

ROW = 15.0  # points between two packets that one end sends
SLOPE = 9.0  # of an arrow whose other end is not known
_NEAR = 3.0  # between two moments, at least
_ARRIVAL = 10.0  # between two packets that arrive at one end
_PAUSE = 30.0
_PAUSE_FACTOR = 12  # times the median step between moments is a pause


@dataclass(slots=True)
class Place:
    """Heights in points, from the top: where the packet leaves its sender and where it reaches its receiver."""

    leaves: float
    arrives: float


@dataclass(frozen=True, slots=True)
class Pause:
    """A time without packets, of which the height is not to scale."""

    height: float
    ns: int


@dataclass(frozen=True, slots=True)
class Layout:
    places: list[Place]
    pauses: list[Pause]
    height: float


@dataclass(frozen=True, slots=True)
class _Moment:
    ns: int
    number: int  # of the event
    end: int  # at which it happens
    leaves: bool


def _moments(events: Sequence[Event]) -> list[_Moment]:
    found = []
    for number, event in enumerate(events):
        if event.sent_ns is not None and event.copy_of is None:
            found.append(_Moment(event.sent_ns, number, event.source, True))
        if event.arrived_ns is not None:
            found.append(_Moment(event.arrived_ns, number, 1 - event.source, False))
    return sorted(found, key=lambda moment: (moment.ns, moment.number))


def _pause_ns(moments: Sequence[_Moment]) -> float:
    steps = [after.ns - before.ns for before, after in itertools.pairwise(moments)]
    positive = [step for step in steps if step > 0]
    return _PAUSE_FACTOR * statistics.median(positive) if positive else math.inf


def layout(events: Sequence[Event]) -> Layout:
    """The places of these events, in their order. Packets that are on their way during a pause prevent that it is
    shortened, so that arrows stay straight."""
    moments = _moments(events)
    pause_ns = _pause_ns(moments)
    leaves: dict[int, float] = {}
    arrives: dict[int, float] = {}
    last = {(end, way): -math.inf for end in (0, 1) for way in (True, False)}
    pauses: list[Pause] = []
    height, before_ns = ROW, moments[0].ns if moments else 0
    on_the_way = 0
    for moment in moments:
        passed = moment.ns - before_ns
        if passed >= pause_ns and on_the_way == 0:
            pauses.append(Pause(height + _PAUSE / 2, passed))
            height += _PAUSE
        elif passed > 0:
            height += min(ROW, _NEAR * (1 + math.log2(1 + passed / pause_ns)))
        step = ROW if moment.leaves else _ARRIVAL
        height = max(height, last[moment.end, moment.leaves] + step)
        last[moment.end, moment.leaves] = height
        (leaves if moment.leaves else arrives)[moment.number] = height
        event = events[moment.number]
        if event.copy_of is None and event.sent_ns is not None and event.arrived_ns is not None:
            on_the_way += 1 if moment.leaves else -1
        before_ns = moment.ns
    return Layout(_places(events, leaves, arrives, height), pauses, height + ROW)


def _places(events: Sequence[Event], leaves: dict[int, float], arrives: dict[int, float], end: float) -> list[Place]:
    places = []
    for number, _event in enumerate(events):
        top, bottom = leaves.get(number), arrives.get(number)
        if top is None:
            top = end if bottom is None else bottom - SLOPE
        places.append(Place(top, top + SLOPE if bottom is None else bottom))
    return places
