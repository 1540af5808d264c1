# SPDX-License-Identifier: GPL-2.0-or-later
"""What one end of a connection had sent and received at one moment, as far as a trace shows it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from netblt_conformance.oracles.session import after
from netblt_conformance.packets.packets import Kind, Message, Type
from netblt_conformance.trace.model import Event, Fate, Known, Terms, Trace

# Where the time of arrival is not known, packets of so long before the moment may have been on their way.
CROSSING_NS = 50_000_000


@dataclass(frozen=True, slots=True)
class Received:
    """A packet that the end has, or may have."""

    event: Event
    sure: bool


@dataclass(slots=True)
class Buffer:
    """One buffer, as the end knows it."""

    number: int
    go: Event | None = None  # the first packet with its GO
    go_seq: int = 0
    ok: Event | None = None
    requests: list[tuple[Event, Message]] = field(default_factory=list)  # RESENDs, each once
    sent: dict[int, list[Event]] = field(default_factory=lambda: defaultdict(list))  # packet -> its copies
    sure: set[int] = field(default_factory=set)  # packets that are known to have come
    last: int | None = None  # number of the LDATA

    def count(self, terms: Terms) -> int | None:
        """Packets in the buffer, where that is known."""
        if self.last is not None:
            return self.last + 1
        if terms.packet_size and terms.buffer_size:
            return -(-terms.buffer_size // terms.packet_size)
        return None


@dataclass(slots=True)
class Held:
    """A control message, with the packets that hold it."""

    message: Message
    packets: list[Event] = field(default_factory=list)
    sure: bool = True


class View:
    """Everything that an end knew when it sent an event, or when it arrived."""

    def __init__(self, trace: Trace, end: int, deciding: int) -> None:
        self.trace = trace
        self.end = end
        self.deciding = trace.events[deciding]
        self.moment_ns = _moment(self.deciding, end)
        self.sent = [event for event in self._mine(deciding) if event.copy_of is None]
        self.received = list(self._theirs(deciding))
        self._certain = {id(event) for event in self.sent} | {id(one.event) for one in self.received if one.sure}
        self.messages: dict[int, Held] = {}
        self.buffers: dict[int, Buffer] = {}
        for event in sorted((*self.sent, *(one.event for one in self.received)), key=lambda one: _moment(one, end)):
            self._take(event)

    @property
    def deciding_is_own(self) -> bool:
        """Whether the end sent the deciding packet."""
        return self.deciding.source == self.end and not self.deciding.foreign

    # ---- the packets ----

    def _mine(self, deciding: int) -> Iterator[Event]:
        for event in self.trace.events[:deciding]:
            if event.source == self.end and not event.foreign and event.packet.error is None:
                yield event

    def _theirs(self, deciding: int) -> Iterator[Received]:
        for number, event in enumerate(self.trace.events):
            if event.source == self.end or event.foreign or event.packet.error is not None:
                continue
            # What is damaged in its data may be read all the same.
            if event.fate is Fate.LOST or (event.fate is Fate.DAMAGED and not event.packet.is_data):
                continue
            came_ns = _moment(event, self.end)
            if came_ns > self.moment_ns or (came_ns == self.moment_ns and number > deciding):
                continue
            if not event.packet.checksum_good:
                continue
            certain = event.fate is Fate.ARRIVED and event.known is not Known.ASSUMED
            in_time = event.arrived_ns is not None or self.moment_ns - came_ns > CROSSING_NS
            yield Received(event, certain and in_time)

    def _sure(self, event: Event) -> bool:
        return id(event) in self._certain

    # ---- what they contain ----

    def _take(self, event: Event) -> None:
        packet = event.packet
        if packet.is_data:
            buffer = self._buffer(packet.buffer)
            buffer.sent[packet.packet].append(event)
            if packet.type is Type.LDATA:
                buffer.last = packet.packet
            if self._sure(event):
                buffer.sure.add(packet.packet)
        for message in packet.messages:
            held = self.messages.get(message.seq)
            if held is None:
                held = self.messages[message.seq] = Held(message, sure=False)
                self._first(event, message)
            held.packets.append(event)
            held.sure |= self._sure(event)

    def _first(self, event: Event, message: Message) -> None:
        buffer = self._buffer(message.buffer)
        if message.kind is Kind.GO and buffer.go is None:
            buffer.go, buffer.go_seq = event, message.seq
        elif message.kind is Kind.OK and buffer.ok is None:
            buffer.ok = event
        elif message.kind is Kind.RESEND:
            buffer.requests.append((event, message))

    def _buffer(self, number: int) -> Buffer:
        return self.buffers.setdefault(number, Buffer(number))

    # ---- what follows ----

    def acknowledged(self, *, sure: bool) -> tuple[int, Event | None]:
        """The highest acknowledgement that the end, which sends control messages, has; and the packet that brought it.
        `sure`: at least; else at most."""
        highest, by = 0, None
        for one in self.received:
            if one.event.packet.acks and (one.sure or not sure) and after(one.event.packet.high_seq, highest):
                highest, by = one.event.packet.high_seq, one.event
        return highest, by

    def in_sequence(self, *, sure: bool) -> int:
        """The highest control message up to which the end has all; 0: none."""
        seq = 0
        while (held := self.messages.get((seq + 1) % 65536)) is not None and (held.sure or not sure):
            seq = (seq + 1) % 65536
        return seq

    def outstanding(self) -> list[Buffer]:
        """Buffers with GO and without OK."""
        return [one for one in self.buffers.values() if one.go is not None and one.ok is None]

    def last_received(self) -> Event | None:
        return max((one.event for one in self.received), key=lambda event: _moment(event, self.end), default=None)

    def time_of(self, event: Event) -> int:
        """When the end sent it, or when it came."""
        return _moment(event, self.end)


def _moment(event: Event, end: int) -> int:
    """When it was at this end; where that is not known, when it was captured."""
    here, there = event.sent_ns, event.arrived_ns
    if event.source != end:
        here, there = there, here
    return here if here is not None else there if there is not None else 0
