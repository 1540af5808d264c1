# SPDX-License-Identifier: GPL-2.0-or-later
"""The control messages that the tester has sent in one connection. What each packet needs is kept, not searched: a
transfer may have more than 65,535 of them."""

from __future__ import annotations

from netblt_conformance.packets.packets import Kind, Message
from netblt_conformance.packets.sequence import following, follows

_NEVER_US = 2**63


class Issued:
    """New control messages in order of departure; repetitions do not count."""

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self.departures: dict[int, int] = {}  # number -> first departure
        self.neighbours: dict[int, int] = {}  # number -> first departure of a CONTROL that has the next one too
        self.consecutive = 0  # all messages up to this one were sent
        self.in_order: list[tuple[int, int]] = []  # those before which nothing was missing, and their departures
        self._before_opening: set[int] = set()  # of those: sent only while the implementation had no connection
        self._of: dict[tuple[Kind, int], list[Message]] = {}
        self._by_number: dict[int, Message] = {}
        self.open_gos: dict[int, Message] = {}  # number -> a GO of a buffer that has no OK
        self.confirmed: set[int] = set()  # buffers that have an OK
        self.offers: dict[tuple[int, int], None] = {}  # burst size and interval in ms of the OKs, each pair once

    def note(self, messages: tuple[Message, ...], time_us: int, *, opened: bool = True) -> None:
        """The messages of a CONTROL that leaves now. `opened`: the implementation has a connection."""
        numbers = {message.seq for message in messages}
        if not opened:
            self._before_opening |= numbers - self.departures.keys()
        elif early := numbers & self._before_opening:
            self._repeat_in_connection(early, time_us)
        for message in messages:
            if message.seq + 1 in numbers:
                self.neighbours.setdefault(message.seq, time_us)
            if message.seq not in self.departures:
                self._add(message, time_us)

    def _add(self, message: Message, time_us: int) -> None:
        self.departures[message.seq] = time_us
        if follows(message.seq, self.in_order[-1][0] if self.in_order else 0):
            self.in_order.append((message.seq, _NEVER_US if message.seq in self._before_opening else time_us))
        while (number := following(self.consecutive, self.departures)) in self.departures:
            self.consecutive = number
        self.messages.append(message)
        self._index(message)

    def _index(self, message: Message) -> None:
        self._by_number[message.seq] = message
        self._of.setdefault((message.kind, message.buffer), []).append(message)
        if message.kind is Kind.GO and message.buffer not in self.confirmed:
            self.open_gos[message.seq] = message
        elif message.kind is Kind.OK:
            self.confirmed.add(message.buffer)
            for go in self._of.get((Kind.GO, message.buffer), ()):
                self.open_gos.pop(go.seq, None)
            if message.burst_size:
                self.offers[message.burst_size, message.burst_interval_ms] = None

    def _repeat_in_connection(self, numbers: set[int], time_us: int) -> None:
        self._before_opening -= numbers
        self.in_order = [(number, time_us if number in numbers else left_us) for number, left_us in self.in_order]

    def disregard(self, number: int) -> None:
        """A message that was sent means nothing: an OK for a buffer that was not sent."""
        self.messages = [message for message in self.messages if message.seq != number]
        for known in (self._of, self._by_number, self.open_gos, self.confirmed, self.offers):
            known.clear()
        for message in self.messages:
            self._index(message)

    def get(self, number: int) -> Message | None:
        return self._by_number.get(number)

    def of(self, kind: Kind, buffer: int | None = None) -> list[Message]:
        """The messages of this kind, or those of them for one buffer."""
        if buffer is not None:
            return list(self._of.get((kind, buffer), ()))
        return [message for message in self.messages if message.kind is kind]
