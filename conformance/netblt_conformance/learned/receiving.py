# SPDX-License-Identifier: GPL-2.0-or-later
"""The mapper of a tester that receives data from a sending implementation."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from netblt_conformance.learned.alphabet import MANY_GOS
from netblt_conformance.learned.tester import Action, Tester
from netblt_conformance.learned.themes import Theme
from netblt_conformance.packets.packets import Kind, Message, Packet, Type
from netblt_conformance.peer import ReceiverPeer

_BEYOND_PACKETS = 5
_SKIPPED = 2**31 + 70_000  # buffer numbers
_FAR_AHEAD = 40_000  # more than half of all message numbers


class ReceivingTester(Tester):
    """The implementation sends."""

    def __init__(self, peer: ReceiverPeer, theme: Theme) -> None:
        self._peer = peer
        self._gone: list[int] = []  # numbers of buffers, counted from 0
        self._skipped = 0  # how many numbers were left out
        self._confirmed: set[int] = set()
        self._sent: set[int] = set()  # numbers of messages that arrived at the implementation
        self._last: list[Message] = []  # of the last CONTROL
        super().__init__(peer, theme)
        if theme.first_buffer is not None:
            peer.first_buffer = theme.first_buffer
        self._seen.first_buffer = peer.first_buffer

    def actions(self) -> dict[str, Action]:
        return {
            "GO": self._go,
            "GO skipping": self._skip,
            "GO hole": self._hole,
            "GO and more": self._go_and_more,
            "GO and RESEND": self._go_and_resend,
            "GO too many": self._go_too_many,
            "GO number 0": lambda: self._odd_go(0),
            "GO far ahead": lambda: self._odd_go((self._peer.next_seq + _FAR_AHEAD) % 2**16),
            "OK": lambda: self._ok(self._complete()),
            "OK hole": lambda: self._after_late_go(self._complete(), self._confirm),
            "OK early": lambda: self._ok(self._incomplete()),
            "RESEND": lambda: self._resend(-1),
            "RESEND first": lambda: self._resend(0),
            "RESEND newest": lambda: self._resend(0, place=-1),
            "RESEND all": lambda: self._resend(*range(self._packets)),
            "RESEND both": self._resend_both,
            "RESEND hole": lambda: self._after_late_go(self._waiting[:1], self._request),
            "RESEND next": self._resend_next,
            "RESEND empty": self._resend,
            "RESEND past end": lambda: self._resend(self._packets, 0),
            "RESEND beyond": lambda: self._resend(self._packets + _BEYOND_PACKETS),
            "CONTROL late": lambda: self._control(self._peer.queue),
            "CONTROL again": lambda: self._control(self._last),
            "DONE": lambda: self._send(self._peer.forge.packet(Type.DONE)),
            "DATA": self._data,
        }

    def repeated(self) -> dict[str, tuple[str, ...]]:
        return {MANY_GOS: ("GO", "OK")}

    @property
    def next_buffer(self) -> int:
        return self._next_buffer

    @property
    def sent_seq(self) -> int:
        number = 0
        while number + 1 in self._sent:
            number += 1
        return number

    def _control(self, messages: Iterable[Message]) -> bool:
        sent = list(messages)
        if not sent or self._peer.agreed is None:
            return False
        self._peer.send_control(sent)
        self._sent |= {message.seq for message in sent}
        self._last = sent
        return True

    def _queue(self, kind: Kind, buffer: int, packets: Iterable[int] = ()) -> bool:
        """A new message, which is not sent yet."""
        if self._peer.agreed is None or len(self._peer.queue) >= self._queue_most:
            return False
        self._peer.message(kind, self._peer.first_buffer + buffer, packets)
        return True

    def _new(self, kind: Kind, buffer: int, packets: Iterable[int] = ()) -> bool:
        return self._queue(kind, buffer, packets) and self._control(self._peer.queue)

    @property
    def _queue_most(self) -> int:
        return self.theme.parameters.max_buffers + 1

    # ---- GO ----

    def _grant(self) -> bool:
        """One buffer more than there are: a sender acknowledges a GO that it cannot serve."""
        if not self._may_go:
            return False
        return self._grant_next()

    def _grant_next(self) -> bool:
        number = self._next_buffer
        if not self._queue(Kind.GO, number):
            return False
        self._gone.append(number)
        self._seen.granted.append(number)
        return True

    def _go(self) -> bool:
        return self._grant() and self._control(self._peer.queue)

    def _go_too_many(self) -> bool:
        """One buffer more than were agreed."""
        full = self._peer.agreed is not None and len(self._waiting) == self._peer.terms.max_buffers
        return full and len(self._gone) <= self.theme.buffers and self._grant_next() and self._control(self._peer.queue)

    @property
    def _next_buffer(self) -> int:
        return len(self._gone) + self._skipped

    @property
    def _may_go(self) -> bool:
        if self._peer.agreed is None:
            return False
        return len(self._waiting) < self._peer.terms.max_buffers and len(self._gone) <= self.theme.buffers

    @property
    def _waiting(self) -> list[int]:
        """Buffers without OK, the oldest first."""
        return [n for n in self._gone if n not in self._confirmed]

    def _skip(self) -> bool:
        if not self._may_go or self._skipped:
            return False
        self._skipped = _SKIPPED
        return self._go()

    def _hole(self) -> bool:
        """The message before it was lost. Nothing of it is remembered: the next GO has the number that is missing."""
        if not self._may_go:
            return False
        return self._send(self._peer.forge.control([self._go_message(self._peer.next_seq + 1)]))

    def _go_message(self, seq: int) -> Message:
        return Message(Kind.GO, seq, self._peer.first_buffer + self._next_buffer)

    def _odd_go(self, seq: int) -> bool:
        return self._may_go and self._send(self._peer.forge.control([self._go_message(seq)]))

    def _go_and_more(self) -> bool:
        """The acknowledgement of the last messages was lost."""
        before = [message for message in self._last if message not in self._peer.queue]
        return self._grant() and self._control([*before, *self._peer.queue])

    def _go_and_resend(self) -> bool:
        asked = self._request(self._waiting[:1])
        return self._grant() | asked and self._control(self._peer.queue)

    def _after_late_go(self, buffers: Sequence[int], queue: Callable[[Sequence[int]], bool]) -> bool:
        """The GO waits in the queue and comes with the next CONTROL; only what `queue` puts after it is sent."""
        if self._peer.queue or not buffers or not self._grant():
            return False
        return queue(buffers) and self._control(self._peer.queue[1:])

    # ---- OK ----

    def _halves(self, *, complete: bool) -> list[int]:
        buffers = self._peer.buffers
        return [n for n in self._waiting if (n in buffers and buffers[n].complete) is complete]

    def _complete(self) -> list[int]:
        return self._halves(complete=True)

    def _incomplete(self) -> list[int]:
        return self._halves(complete=False)

    def _confirm(self, buffers: Sequence[int]) -> bool:
        if not buffers:
            return False
        timers = self.theme.control_timers_ms
        self._peer.control_timer_ms = timers[min(len(self._confirmed), len(timers) - 1)]
        if not self._queue(Kind.OK, buffers[0]):
            return False
        self._confirmed.add(buffers[0])
        self._timing.on_published(self._peer.control_timer_ms)
        return True

    def _ok(self, buffers: Sequence[int]) -> bool:
        return self._confirm(buffers) and self._control(self._peer.queue)

    # ---- RESEND ----

    def _request(self, buffers: Sequence[int], packets: Sequence[int] = (0,)) -> bool:
        """Requests what came, too: a packet that the network lost looks the same to the implementation."""
        return bool(buffers) and self._queue(
            Kind.RESEND, buffers[0], [n % self._packets if n < 0 else n for n in packets]
        )

    @property
    def _packets(self) -> int:
        """Of a buffer that is full."""
        return self.theme.parameters.packets_per_buffer

    def _resend(self, *packets: int, place: int = 0) -> bool:
        waiting = self._waiting
        return bool(waiting) and self._request([waiting[place]], packets) and self._control(self._peer.queue)

    def _resend_both(self) -> bool:
        waiting = self._waiting
        if len(waiting) < 2:
            return False
        asked = self._request(waiting[-1:]) and self._request(waiting[:1])
        return asked and self._control(self._peer.queue)

    def _resend_next(self) -> bool:
        return self._may_go and self._new(Kind.RESEND, self._next_buffer, [0])

    def _data(self) -> bool:
        if self._peer.agreed is None:
            return False
        values = Packet(
            b"", type=Type.DATA, buffer=self._peer.first_buffer, data=b"x" * self.theme.parameters.packet_size
        )
        return self._send(self._peer.forge.data(values))
