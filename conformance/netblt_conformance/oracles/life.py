# SPDX-License-Identifier: GPL-2.0-or-later
"""Whether an implementation surely still has its connection, so that it owes packets."""

from __future__ import annotations

from netblt_conformance.common.model import MICROSECONDS_PER_S, Role
from netblt_conformance.packets.packets import Kind, Packet, Type

ENDINGS = (Type.QUIT, Type.QUITACK, Type.ABORT, Type.REFUSED, Type.DONE)
_NEVER_US = -1


class Life:
    """An end may have closed once one of both has sent a packet that ends the connection, once the tester was silent
    for as long as the death timer of the implementation, and once a receiver may be done, or was not acknowledged for
    so long (RFC 998 5.2.1)."""

    def __init__(self, role: Role) -> None:
        self._role = role
        self.declared_us = 0  # death timer of the implementation
        self.opened_us = _NEVER_US
        self._sent_us = _NEVER_US  # the tester's newest packet
        self._open_id: int | None = None  # of its OPEN, which the tester answers
        self._proposed_us = _NEVER_US  # when that first came
        self._over = False
        self.slowest_reply_us = 0  # of the tester, RESPONSE or acknowledgement: may be taken for the round trip
        self._unacknowledged: dict[int, int] = {}  # message of the implementation -> when it first came
        self._last_buffer: int | None = None
        self._open: set[int] = set()  # buffers with a GO and without an OK
        self._confirmed: set[int] = set()  # buffers with an OK

    def sent(self, packet: Packet, time_us: int, highest_ack: int) -> None:
        """A valid packet of the tester."""
        self._look(time_us)
        self._sent_us = time_us
        if packet.type in ENDINGS:
            self._over = True
        elif packet.type is Type.RESPONSE and self.opened_us < 0 and packet.unique_id == self._open_id:
            self.opened_us = time_us
            if self._proposed_us >= 0:
                self._note_reply(time_us - self._proposed_us)
        elif packet.is_data and packet.last_buffer:
            self._last_buffer = packet.buffer
        self._note_buffers(packet)
        self._over |= self._role.sender and self._all_confirmed  # it may be done
        acked = [seq for seq in self._unacknowledged if (highest_ack - seq) % 65536 < 32768]
        for seq in acked:
            self._note_reply(time_us - self._unacknowledged.pop(seq))
        if self._all_confirmed and not self._unacknowledged:
            self._over = True

    def received(self, packet: Packet, time_us: int, highest_ack: int) -> None:
        """A readable packet of the implementation."""
        self._look(time_us)
        if packet.type in (Type.OPEN, Type.RESPONSE):
            self.declared_us = packet.death_timer_s * MICROSECONDS_PER_S
            if packet.type is Type.OPEN and packet.unique_id != self._open_id:
                self._proposed_us = time_us
            self._open_id = packet.unique_id
            if packet.type is Type.RESPONSE and self.opened_us < 0:
                self.opened_us = time_us
        elif packet.type in ENDINGS:
            self._over = True
        elif packet.is_data and packet.last_buffer:
            self._last_buffer = packet.buffer
        for message in packet.messages:
            if 0 < (message.seq - highest_ack) % 65536 < 32768:
                self._unacknowledged.setdefault(message.seq, time_us)
        self._note_buffers(packet)

    def _note_reply(self, after_us: int) -> None:
        self.slowest_reply_us = max(self.slowest_reply_us, after_us)

    def _note_buffers(self, packet: Packet) -> None:
        for message in packet.messages:
            if message.kind is Kind.GO and message.buffer not in self._confirmed:
                self._open.add(message.buffer)
            elif message.kind is Kind.OK:
                self._confirmed.add(message.buffer)
                self._open.discard(message.buffer)

    @property
    def _all_confirmed(self) -> bool:
        """Whether the last buffer has its OK, and every buffer before it that was requested."""
        last = self._last_buffer
        return last is not None and last in self._confirmed and all(number > last for number in self._open)

    def _look(self, now_us: int) -> None:
        """The death timer of the implementation may have expired."""
        since_us = [self._sent_us] if self._sent_us >= 0 else []
        since_us += list(self._unacknowledged.values())[:1]
        self._over |= self.opened_us >= 0 and any(now_us - one_us >= self.declared_us for one_us in since_us)

    @property
    def lasts(self) -> bool:
        """Whether the connection was open, and surely still is, at the newest packet."""
        return self.opened_us >= 0 and not self._over

    @property
    def waits_for_acknowledgement(self) -> bool:
        """Whether a message of the implementation is not acknowledged."""
        return bool(self._unacknowledged)
