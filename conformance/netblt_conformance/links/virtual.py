# SPDX-License-Identifier: GPL-2.0-or-later
"""Links in virtual time: the suite owns the clock, packets travel for a fixed delay, nothing is ever random."""

from __future__ import annotations

import heapq
import itertools
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from netblt_conformance.common.errors import HarnessError, ImplementationError
from netblt_conformance.common.model import Digest, Feature, Start, Status, Stop
from netblt_conformance.common.tolerances import Tolerances
from netblt_conformance.links.base import IUT_ADDRESS, NEVER_US, TESTER_ADDRESS, Account, Arrival, Link
from netblt_conformance.packets.capture import Capture

DEFAULT_DELAY_US = 1_000
# A deadline that stays in the past this often without a packet means that time cannot go on: a hang.
STUCK_STEPS = 1_000
# More packets than this at one moment are a storm: no case negotiates a burst anywhere near.
STORM_PACKETS = 20_000

Output = tuple[bytes, bytes]  # destination address, NETBLT packet


class SteppedEndpoint(ABC):
    """An implementation that takes packets and time as calls. Each call returns the packets that leave now."""

    features: frozenset[Feature]

    @abstractmethod
    def start(self, start: Start, now_us: int) -> list[Output]: ...

    @abstractmethod
    def packet(self, source: bytes, packet: bytes, now_us: int) -> list[Output]: ...

    @abstractmethod
    def advance(self, now_us: int) -> list[Output]: ...

    @abstractmethod
    def stop(self, how: Stop, reason: str, now_us: int) -> list[Output]: ...

    @abstractmethod
    def deadline_us(self) -> int: ...

    @abstractmethod
    def status(self) -> Status: ...

    @abstractmethod
    def reason(self) -> str: ...

    @abstractmethod
    def digest(self) -> Digest: ...

    @abstractmethod
    def peer_string(self) -> str | None: ...

    def account(self) -> Account:
        return Account()

    @abstractmethod
    def close(self) -> None: ...


@runtime_checkable
class Steppable(Protocol):
    """A link factory whose endpoint can also be stepped outside of a link."""

    def endpoint(self) -> SteppedEndpoint:
        """A living endpoint: the present one, or a new one where it has ended."""

    def end_endpoint(self) -> None:
        """Ends the present endpoint, if there is one."""


class VirtualClock:
    def __init__(self) -> None:
        self._now_us = 0

    def now_us(self) -> int:
        return self._now_us

    def advance_to(self, time_us: int) -> None:
        if time_us < self._now_us:
            raise HarnessError(f"virtual time would run backwards, from {self._now_us} to {time_us} us")
        self._now_us = time_us


@dataclass(frozen=True, slots=True)
class _Travelling:
    to_iut: bool
    source: bytes
    destination: bytes
    packet: bytes


class VirtualLink(Link):
    """A stepped endpoint on a wire with a constant delay each way."""

    real_time = False

    def __init__(
        self, name: str, endpoint: SteppedEndpoint, capture: Capture, delay_us: int, tolerances: Tolerances
    ) -> None:
        super().__init__(capture, tolerances)
        self.name = name
        self.features = endpoint.features | {Feature.SECOND_ADDRESS}
        self.delay_us = delay_us
        self._endpoint = endpoint
        self._clock = VirtualClock()
        self._order = itertools.count()
        self._queue: list[tuple[int, int, _Travelling]] = []
        self._idle_steps = 0
        self._packets_now = 0
        self._started = False
        self._closed = False

    @property
    def clock(self) -> VirtualClock:
        return self._clock

    def start(self, start: Start) -> None:
        if self._started:
            self._endpoint.close()
            self._queue.clear()
        self._started = True
        self._depart(self._endpoint.start(start, self._clock.now_us()))

    def send(self, packet: bytes, source: bytes = TESTER_ADDRESS) -> int:
        now_us = self._clock.now_us()
        self._note_port(packet)
        if self.loses is None or not self.loses(packet, source):
            self._push(now_us + self.delay_us, _Travelling(True, source, IUT_ADDRESS, packet))
        return self.capture.add(now_us, packet, source, IUT_ADDRESS, sent=True)

    def receive(self, until_us: int) -> Arrival | None:
        while True:
            event_us = self._queue[0][0] if self._queue else NEVER_US
            deadline_us = self._endpoint.deadline_us() if self._started else NEVER_US
            if min(event_us, deadline_us) > until_us:
                if until_us > self._clock.now_us():
                    self._step_to(until_us)
                return None
            if event_us <= deadline_us:
                arrival = self._deliver(event_us)
                if arrival is not None:
                    return arrival
            else:
                self._run_timers(deadline_us)

    def _deliver(self, time_us: int) -> Arrival | None:
        _, _, item = heapq.heappop(self._queue)
        self._step_to(time_us)
        if item.to_iut:
            self._idle_steps = 0
            self._depart(self._endpoint.packet(item.source, item.packet, time_us))
            return None
        frame = self.capture.add(time_us, item.packet, item.source, item.destination, sent=False)
        return Arrival(time_us, item.packet, item.source, item.destination, frame)

    def _run_timers(self, deadline_us: int) -> None:
        now_us = max(self._clock.now_us(), deadline_us)
        self._step_to(now_us)
        output = self._endpoint.advance(now_us)
        self._idle_steps = 0 if output else self._idle_steps + 1
        if self._idle_steps > STUCK_STEPS:
            raise ImplementationError(f"hangs: its next deadline stays at {deadline_us} us and nothing happens")
        self._depart(output)

    def _step_to(self, time_us: int) -> None:
        if time_us > self._clock.now_us():
            self._packets_now = 0
            self._idle_steps = 0
            self._clock.advance_to(time_us)

    def _depart(self, output: list[Output]) -> None:
        self._packets_now += len(output)
        if self._packets_now > STORM_PACKETS:
            raise ImplementationError(f"sends more than {STORM_PACKETS} packets at one moment")
        arrives_us = self._clock.now_us() + self.delay_us
        for destination, packet in output:
            self._push(arrives_us, _Travelling(False, IUT_ADDRESS, destination, packet))

    def _push(self, time_us: int, item: _Travelling) -> None:
        heapq.heappush(self._queue, (time_us, next(self._order), item))

    def deadline_us(self) -> int | None:
        return self._endpoint.deadline_us()

    def status(self) -> Status:
        return self._endpoint.status()

    def reason(self) -> str:
        return self._endpoint.reason()

    def digest(self) -> Digest:
        return self._endpoint.digest()

    def peer_string(self) -> str | None:
        return self._endpoint.peer_string()

    def stop(self, how: Stop, reason: str) -> None:
        self._depart(self._endpoint.stop(how, reason, self._clock.now_us()))

    def account(self) -> Account:
        return self._endpoint.account()

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            self._endpoint.close()
