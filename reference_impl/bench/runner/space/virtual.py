# SPDX-License-Identifier: BSD-2-Clause
"""Two ends of a protocol on a path in virtual time: each packet takes the line, is lost by chance or arrives."""

from __future__ import annotations

import bisect
import heapq
import random
from dataclasses import dataclass
from typing import Protocol

from .paths import SpacePath

LOOKS_PER_ROUND_TRIP = 50  # of ends that have nothing to send: whether a timer has expired
LOOK_LEAST_S = 0.1


class End(Protocol):
    """A state machine without a socket. It reads the time from the clock that the run advances."""

    def take(self, packet: bytes) -> None:
        """A packet has arrived."""

    def give(self) -> bytes | None:
        """The line is free: the next packet, if there is one."""


class Clock:
    """The time of a run, in seconds."""

    def __init__(self) -> None:
        self.now_s = 0.0


@dataclass(frozen=True)
class VirtualRun:
    """`seconds` until the run was over; `wire_bytes` of all packets of both directions."""

    done: bool
    seconds: float
    wire_bytes: int


class Way:
    """One direction of the line."""

    def __init__(self, path: SpacePath, header_bytes: int, seed: int) -> None:
        self._path, self._header_bytes = path, header_bytes
        self._random = random.Random(seed)
        self._begins = [phase.begin_s for phase in path.phases]
        self.free_s = 0.0
        self.wire_bytes = 0

    def send(self, now_s: float, packet: bytes) -> float | None:
        """When the packet arrives; None: never. What is sent while the line is down is lost."""
        size = len(packet) + self._header_bytes
        self.wire_bytes += size
        self.free_s = now_s + size * 8 / (self._path.line.rate_mbit * 1e6)
        lost = self._random.random() < self._path.line.loss_percent / 100
        phase = self._path.phases[bisect.bisect_right(self._begins, now_s) - 1]
        return self.free_s + phase.round_trip_ms / 2e3 if phase.up and not lost else None


class VirtualLine:
    """Ends 0 and 1 and what is under way between them."""

    def __init__(self, path: SpacePath, ends: tuple[End, End], clock: Clock, header_bytes: int, seed: int) -> None:
        self._ends, self._clock = ends, clock
        self._ways = (Way(path, header_bytes, seed), Way(path, header_bytes, seed + 1))
        self._look_s = max(LOOK_LEAST_S, path.line.round_trip_ms / 1e3 / LOOKS_PER_ROUND_TRIP)
        self._arrivals: list[tuple[float, int, int, bytes]] = []
        self._count = 0

    def step(self) -> None:
        """Hands over what has arrived, sends what the line has room for, and advances the clock to the next moment."""
        now_s = self._clock.now_s
        while self._arrivals and self._arrivals[0][0] <= now_s:
            _, _, number, packet = heapq.heappop(self._arrivals)
            self._ends[number].take(packet)
        moments = [self._arrivals[0][0]] if self._arrivals else []
        for number, (end, way) in enumerate(zip(self._ends, self._ways, strict=True)):
            given = end.give() if way.free_s <= now_s else None
            if given is not None and (at_s := way.send(now_s, given)) is not None:
                self._count += 1
                heapq.heappush(self._arrivals, (at_s, self._count, 1 - number, given))
                moments.append(at_s)
            moments.append(way.free_s if way.free_s > now_s else now_s + self._look_s)
        self._clock.now_s = min(moments)

    @property
    def wire_bytes(self) -> int:
        return sum(way.wire_bytes for way in self._ways)
