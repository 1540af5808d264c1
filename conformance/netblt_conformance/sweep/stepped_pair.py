# SPDX-License-Identifier: GPL-2.0-or-later
"""Two endpoints that are stepped from Python, with a flakeway between them, in virtual time: what simlib/pair.py does
for two libraries in C, for programs on the pipe link as well."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from netblt_conformance.common.model import Start
from netblt_conformance.links.base import NEVER_US
from netblt_conformance.links.virtual import STUCK_STEPS, Output, SteppedEndpoint
from netblt_conformance.packets import ipv4
from netblt_conformance.simlib import CaptureDirection, Direction, Flakeway, PairEnd, PairResult, PcapngWriter

A, B = 0, 1  # the sides of the flakeway
NANOSECONDS_PER_US = 1_000
_SIDES = (("left", "side A of the flakeway"), ("right", "side B of the flakeway"))


@dataclass(frozen=True, slots=True)
class Limits:
    """Virtual time and offered packets after which a transfer is given up."""

    time_us: int
    packets: int


@dataclass(frozen=True, slots=True)
class Sighting:
    """A packet at one side of the flakeway."""

    time_us: int
    side: int
    enters: bool  # it comes from the end at this side
    packet: bytes
    packet_id: int
    remarks: tuple[str, ...] = ()

    @property
    def source(self) -> int:
        """The end that sent it."""
        return self.side if self.enters else 1 - self.side


class SteppedPair:
    """Two endpoints, the flakeway between them, and the clock."""

    def __init__(
        self,
        ends: tuple[SteppedEndpoint, SteppedEndpoint],
        addresses: tuple[bytes, bytes],
        flakeway: Flakeway,
        acts: Callable[[int], None] = lambda _side: None,
    ) -> None:
        """`acts` gets the side of an end before each of its calls that may take time."""
        self.sightings: list[Sighting] = []
        self.acting = A  # whose code runs, or ran last
        self._ends = ends
        self._acts = acts
        self._addresses = addresses
        self._flakeway = flakeway
        self._now_us = 0
        self._packets = [0, 0]
        self._bytes = [0, 0]
        self._done_us: list[int | None] = [None, None]

    def run(self, starts: tuple[Start, Start], limits: Limits) -> PairResult:
        """Until both ends have closed, or a limit is reached."""
        for side, start in enumerate(starts):
            self._depart(side, self._end(side).start(start, 0))
        end = self._until_closed(limits)
        packets, octets = self._packets, self._bytes
        done = self._done_us
        return PairResult(end, self._now_us, (done[A], done[B]), (packets[A], packets[B]), (octets[A], octets[B]))

    def _end(self, side: int) -> SteppedEndpoint:
        self.acting = side
        self._acts(side)
        return self._ends[side]

    def _until_closed(self, limits: Limits) -> PairEnd:
        steps = 0
        while not self._closed():
            moment_us = max(self._now_us, self._next_us())
            if moment_us == NEVER_US:
                return PairEnd.IDLE
            if moment_us > limits.time_us:
                return PairEnd.TIME_LIMIT
            if sum(self._packets) > limits.packets:
                return PairEnd.PACKET_LIMIT
            steps = steps + 1 if moment_us == self._now_us else 0
            if steps > STUCK_STEPS:
                return PairEnd.SPINNING
            self._now_us = moment_us
            self._step()
        return PairEnd.CLOSED

    def _closed(self) -> bool:
        """Whether both ends have closed. Notes the moment at which each client learns how the transfer ended."""
        states = [end.status() for end in self._ends]
        for side, status in enumerate(states):
            if self._done_us[side] is None and (status.succeeded or status.failed):
                self._done_us[side] = self._now_us
        return all(status.closed for status in states)

    def _next_us(self) -> int:
        deadline = self._flakeway.deadline
        moments = [end.deadline_us() for end in self._ends]
        return min(*moments, NEVER_US if deadline is None else deadline)

    def _step(self) -> None:
        for released in self._flakeway.release(self._now_us):
            to = B if released.direction is Direction.A_TO_B else A
            remarks = (f"copy {released.copy}",) if released.copy else ("changed on the way",) * released.changed
            self._see(to, released.packet, released.packet_id, remarks, enters=False)
            self._depart(to, self._end(to).packet(self._addresses[1 - to], released.packet, self._now_us))
        for side in (A, B):
            if self._ends[side].deadline_us() <= self._now_us:
                self._depart(side, self._end(side).advance(self._now_us))

    def _depart(self, side: int, output: Sequence[Output]) -> None:
        for destination, packet in output:
            self._packets[side] += 1
            self._bytes[side] += len(packet)
            if destination != self._addresses[1 - side]:
                self._see(side, packet, 0, ("no host has the destination address",), enters=True)
                continue
            number = self._flakeway.offer(Direction(side), packet, self._now_us)
            remarks = tuple(event.description for event in self._flakeway.take_events())
            self._see(side, packet, number, remarks, enters=True)

    def _see(self, side: int, packet: bytes, number: int, remarks: tuple[str, ...], *, enters: bool) -> None:
        self.sightings.append(Sighting(self._now_us, side, enters, packet, number, remarks))

    # ---- captures ----

    def record(self, writer: PcapngWriter) -> None:
        """As both sides saw it: interfaces "left" and "right", as run_pair() writes them."""
        interfaces = [writer.interface(name, description=about) for name, about in _SIDES]
        for sighting, octets in self._wrapped():
            writer.packet(
                interfaces[sighting.side],
                sighting.time_us * NANOSECONDS_PER_US,
                octets,
                comment="flakeway: " + "; ".join(sighting.remarks) if sighting.remarks else None,
                direction=CaptureDirection.INBOUND if sighting.enters else CaptureDirection.OUTBOUND,
                packet_id=sighting.packet_id,
            )

    def record_at(self, side: int, writer: PcapngWriter, interface: int) -> None:
        """As the end at this side saw it."""
        for sighting, octets in self._wrapped():
            if sighting.side == side:
                way = CaptureDirection.OUTBOUND if sighting.enters else CaptureDirection.INBOUND
                writer.packet(interface, sighting.time_us * NANOSECONDS_PER_US, octets, direction=way)

    def _wrapped(self) -> Iterator[tuple[Sighting, bytes]]:
        """Sightings as IPv4 packets. IP IDs ascend for each end in the order in which its packets left."""
        identified: dict[tuple[int, int], int] = {}
        counts = [0, 0]
        for sighting in self.sightings:
            source = sighting.source
            key = source, sighting.packet_id
            if sighting.enters:
                identified[key] = counts[source]
                counts[source] += 1
            ends = self._addresses[source], self._addresses[1 - source]
            yield sighting, ipv4.wrap(sighting.packet, *ends, identified[key])
