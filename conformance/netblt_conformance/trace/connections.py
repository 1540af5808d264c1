# SPDX-License-Identifier: GPL-2.0-or-later
"""Which frames of a capture belong to one connection: the one that the deciding frame is of, or the longest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from netblt_conformance.packets.packets import HEADER_BYTES, Type
from netblt_conformance.trace.frames import Frame

# The ends of a connection: address and NETBLT port of both.
Ends = frozenset[tuple[str, int]]


@dataclass(slots=True)
class Connection:
    """The frames of one connection, in the order of the capture."""

    unique_id: int | None = None  # of its OPEN; None: it was not captured
    frames: list[Frame] = field(default_factory=list)


def ends_of(frame: Frame) -> Ends:
    """Of a frame whose header can be read."""
    packet = frame.packet
    return frozenset({(frame.source, packet.local_port), (frame.destination, packet.foreign_port)})


class _Table:
    """The connections so far."""

    def __init__(self) -> None:
        self.all: list[Connection] = []
        self._by_ends: dict[Ends, Connection] = {}
        self._by_opening: dict[tuple[str, str, int, int], Ends] = {}  # client's address, server's, port, unique ID
        self._latest: dict[frozenset[str], Connection] = {}  # between two addresses

    def add(self, frame: Frame) -> None:
        addresses = frozenset({frame.source, frame.destination})
        sound = len(frame.packet.raw) >= HEADER_BYTES and frame.sound
        one = self._of(frame, addresses, sound=sound)
        if sound or addresses not in self._latest:
            self._latest[addresses] = one
        one.frames.append(frame)

    def _of(self, frame: Frame, addresses: frozenset[str], *, sound: bool) -> Connection:
        ends = ends_of(frame)
        if not sound and ends not in self._by_ends and addresses in self._latest:
            return self._latest[addresses]  # its ports may be what is damaged
        if sound and frame.packet.type is Type.RESPONSE:
            self._adopt(frame, ends)
        one = self._by_ends.get(ends)
        if sound and frame.packet.type is Type.OPEN:
            opening = (frame.source, frame.destination, frame.packet.local_port, frame.packet.unique_id)
            self._by_opening[opening] = ends
            if one is not None and one.unique_id is not None and one.unique_id != frame.packet.unique_id:
                one = None
            elif one is not None:
                one.unique_id = frame.packet.unique_id
        if one is None:
            known = frame.packet.unique_id if sound and frame.packet.type is Type.OPEN else None
            one = self._by_ends[ends] = Connection(known)
            self.all.append(one)
        return one

    def _adopt(self, frame: Frame, ends: Ends) -> None:
        """A passive end may answer from another port than the one that was opened."""
        opening = (frame.destination, frame.source, frame.packet.foreign_port, frame.packet.unique_id)
        if ends not in self._by_ends and opening in self._by_opening:
            self._by_ends[ends] = self._by_ends[self._by_opening[opening]]


def connections(frames: Sequence[Frame]) -> list[Connection]:
    """All connections, in the order in which they begin."""
    table = _Table()
    for frame in frames:
        table.add(frame)
    return table.all


def chosen(frames: Sequence[Frame], deciding: int) -> Connection:
    """The connection of the frame with this number; where there is none the longest. Empty: there is no NETBLT."""
    found = connections(frames)
    for one in found:
        if deciding and any(frame.number == deciding for frame in one.frames):
            return one
    return max(found, key=lambda one: len(one.frames), default=Connection())
