# SPDX-License-Identifier: GPL-2.0-or-later
"""What happened in one connection, as data. Captures become a Trace; the page draws it, and judges read it.

Times are nanoseconds from the first packet of the trace, on one clock: that of the first capture point. None is a time
that nothing shows. Frames are counted from 1, as Wireshark counts them.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, field

from netblt_conformance.packets.packets import Packet


class Fate(enum.StrEnum):
    """What became of a packet between its sender and its receiver."""

    ARRIVED = "arrived"
    LOST = "lost"
    DAMAGED = "damaged"  # it arrived with other bytes than it left with
    UNKNOWN = "unknown"  # the capture shows only one side of the path


class Known(enum.StrEnum):
    """How a fate or a time is known."""

    CAPTURED = "captured"  # both sides of the path were captured, or the network recorded what it did
    INFERRED = "inferred"  # from later packets: an acknowledgement, a repetition
    ASSUMED = "assumed"  # nothing speaks against it


class Position(enum.StrEnum):
    """Where a capture was taken."""

    BOTH = "both ends"
    FIRST = "first end"  # the end with index 0
    SECOND = "second end"
    BETWEEN = "between"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class End:
    """One end of the connection. Index 0 in a Trace is the one that opened it."""

    address: str
    port: int
    sends_data: bool | None  # None: the capture does not show it
    under_test: bool = False


@dataclass(frozen=True, slots=True)
class Event:
    """One packet that was sent once, with what is known about its way. A copy that the network made is an Event of its
    own (`copy_of`)."""

    source: int  # index of the end that sent it: 0 or 1
    packet: Packet  # as it left, where that is known
    sent_frame: int | None  # in the capture point nearest to its sender; None: it was not captured there
    sent_ns: int | None
    arrived_frame: int | None  # in the capture point nearest to its receiver
    arrived_ns: int | None
    fate: Fate
    known: Known
    copy_of: int | None = None  # number of the event that the network copied
    late: bool = False  # a packet that left later arrived earlier
    repeated: bool = False  # a retransmission: the same DATA or the same control messages were sent before
    remarks: tuple[str, ...] = ()  # what the network reports that it did: "dropped by rule 2 (drop nth=2 OK)"
    foreign: bool = False  # between the same hosts, but not of this connection: other ports, another unique ID

    @property
    def frame(self) -> int | None:
        """The frame by which a person finds it."""
        return self.sent_frame or self.arrived_frame


@dataclass(frozen=True, slots=True)
class Terms:
    """What OPEN and RESPONSE agreed on; 0 where it is not known."""

    buffer_size: int = 0
    packet_size: int = 0
    burst_size: int = 0
    burst_interval_ms: int = 0
    max_buffers: int = 0
    death_timer_s: int = 0
    data_checksum: bool = False


@dataclass(frozen=True, slots=True)
class Trace:
    """One connection. `events` are in the order in which the packets left, as far as it is known."""

    ends: tuple[End, End]
    position: Position
    terms: Terms
    events: tuple[Event, ...]
    notes: tuple[str, ...] = field(default=())  # what a reader has to know: "the capture begins in the middle"
    # Of two files, which both count their frames from 1: the end near which the frames that people name were captured.
    frames_at: int | None = None

    def frames_of(self, event: Event) -> tuple[int, ...]:
        """The frames by which an event is named."""
        if self.frames_at is None:
            found = event.sent_frame, event.arrived_frame
        else:
            found = (event.sent_frame if event.source == self.frames_at else event.arrived_frame, None)
        return tuple(frame for frame in found if frame)

    def index_of(self, frame: int | None) -> int:
        """The event of a frame, which may be where it left or where it arrived; -1: there is none."""
        if not frame:
            return -1
        named = (number for number, event in enumerate(self.events) if frame in self.frames_of(event))
        first = next(named, -1)
        if first >= 0 and self.events[first].copy_of is not None:
            return next((number for number in named if self.events[number].copy_of is None), first)
        return first

    @property
    def accused(self) -> int | None:
        """Number of the end under test."""
        return next((number for number, end in enumerate(self.ends) if end.under_test), None)
