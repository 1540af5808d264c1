# SPDX-License-Identifier: GPL-2.0-or-later
"""The mapper of a tester that receives data from a sending implementation."""

from __future__ import annotations

from collections.abc import Iterable

from netblt_conformance.learned.tester import BUFFERS, PARAMETERS, Action, Tester
from netblt_conformance.packets.packets import Kind, Message, Packet, Type
from netblt_conformance.peer import ReceiverPeer

_BEYOND_PACKETS = 5
# An implementation that acknowledges nothing more gets no more new messages than this.
_QUEUE_MOST = 2


class ReceivingTester(Tester):
    """The implementation sends."""

    def __init__(self, peer: ReceiverPeer) -> None:
        self._peer = peer
        self._gone: list[int] = []  # buffers, counted from 0
        self._confirmed: set[int] = set()
        self._sent: set[int] = set()  # numbers of messages that arrived at the implementation
        self._last: list[Message] = []  # of the last CONTROL
        super().__init__(peer)
        self._seen.first_buffer = peer.first_buffer

    def actions(self) -> dict[str, Action]:
        return {
            "GO": self._go,
            "GO hole": self._hole,
            "OK": lambda: self._ok(self._complete()),
            "OK early": lambda: self._ok(self._incomplete()),
            "RESEND": lambda: self._resend(-1),
            "RESEND first": lambda: self._resend(0),
            "RESEND beyond": self._resend_beyond,
            "CONTROL again": lambda: self._control(self._last),
            "DONE": lambda: self._send(self._peer.forge.packet(Type.DONE)),
            "DATA": self._data,
        }

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

    def _new(self, kind: Kind, buffer: int, packets: Iterable[int] = ()) -> bool:
        if len(self._peer.queue) >= _QUEUE_MOST:
            return False
        self._peer.message(kind, self._peer.first_buffer + buffer, packets)
        return self._control(self._peer.queue)

    def _go(self) -> bool:
        """One buffer more than there are: a sender acknowledges a GO that it cannot serve."""
        if not self._may_go:
            return False
        number = len(self._gone)
        self._gone.append(number)
        return self._new(Kind.GO, number)

    @property
    def _may_go(self) -> bool:
        waiting = [n for n in self._gone if n not in self._confirmed]
        open_ = self._peer.agreed is not None
        return open_ and len(waiting) < PARAMETERS.max_buffers and len(self._gone) <= BUFFERS

    def _hole(self) -> bool:
        """The message before it was lost. Nothing of it is remembered: the next GO has the number that is missing."""
        if not self._may_go:
            return False
        message = Message(Kind.GO, self._peer.next_seq + 1, self._peer.first_buffer + len(self._gone))
        return self._send(self._peer.forge.control([message]))

    def _waiting(self, *, complete: bool) -> list[int]:
        buffers = self._peer.buffers
        return [
            n for n in self._gone if n not in self._confirmed and (n in buffers and buffers[n].complete) is complete
        ]

    def _complete(self) -> list[int]:
        return self._waiting(complete=True)

    def _incomplete(self) -> list[int]:
        return self._waiting(complete=False)

    def _ok(self, buffers: list[int]) -> bool:
        if not buffers:
            return False
        self._confirmed.add(buffers[0])
        return self._new(Kind.OK, buffers[0])

    def _oldest(self) -> int | None:
        return next((n for n in self._gone if n not in self._confirmed), None)

    def _resend(self, packet: int) -> bool:
        """Requests what came, too: a packet that the network lost looks the same to the implementation."""
        number = self._oldest()
        return number is not None and self._new(Kind.RESEND, number, [packet % self._peer.terms.packets_per_buffer])

    def _resend_beyond(self) -> bool:
        number = self._oldest()
        if number is None:
            return False
        return self._new(Kind.RESEND, number, [self._peer.terms.packets_per_buffer + _BEYOND_PACKETS])

    def _data(self) -> bool:
        if self._peer.agreed is None:
            return False
        values = Packet(b"", type=Type.DATA, buffer=self._peer.first_buffer, data=b"x" * PARAMETERS.packet_size)
        return self._send(self._peer.forge.data(values))
