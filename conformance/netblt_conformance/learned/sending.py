# SPDX-License-Identifier: GPL-2.0-or-later
"""The mapper of a tester that sends data to a receiving implementation."""

from __future__ import annotations

from netblt_conformance.learned.alphabet import MANY_BUFFERS
from netblt_conformance.learned.tester import Action, Tester
from netblt_conformance.learned.themes import Theme
from netblt_conformance.packets.packets import Kind, Message
from netblt_conformance.peer import SenderPeer

_BEYOND_PACKETS = 5
_BEYOND_MESSAGES = 3

Place = tuple[int, int]  # buffer, counted from 0, and packet


class SendingTester(Tester):
    """The implementation receives."""

    def __init__(self, peer: SenderPeer, theme: Theme) -> None:
        self._peer = peer
        self._acked = 0
        self._sent: set[Place] = set()
        self._lost: set[Place] = set()
        self._last: Place | None = None
        peer.answer_controls(False)
        peer.withhold_ack(at=0)
        super().__init__(peer, theme)

    def actions(self) -> dict[str, Action]:
        return {
            "DATA": self._data,
            "DATA lost": self._lose,
            "DATA again": self._again,
            "DATA requested": self._requested,
            "DATA late": self._late,
            "BUFFER": lambda: self._buffer(),
            "BUFFER less last": lambda: self._buffer(lost=slice(-1, None)),
            "BUFFER only last": lambda: self._buffer(lost=slice(0, -1)),
            "BUFFER early": lambda: self._buffer(acknowledges=False),
            "DATA damaged": self._damaged,
            "DATA early": self._early,
            "DATA beyond": self._beyond,
            "NULL-ACK": lambda: self._ack(self._peer.consecutive),
            "NULL-ACK first": self._ack_first,
            "NULL-ACK old": self._ack_old,
            "NULL-ACK beyond": self._ack_beyond,
            "CONTROL": self._control,
        }

    def repeated(self) -> dict[str, tuple[str, ...]]:
        return {MANY_BUFFERS: ("BUFFER",)}

    @property
    def next_buffer(self) -> int:
        place = self._next()
        return place[0] if place is not None else 0

    def _granted(self) -> list[int]:
        """Buffers whose GO came."""
        peer = self._peer
        if peer.agreed is None:
            return []
        return [n for n in range(peer.buffer_count) if peer.find(Kind.GO, n)]

    def _next(self) -> Place | None:
        peer = self._peer
        for buffer in range(peer.buffer_count if peer.agreed is not None else 0):
            for packet in range(peer.packet_count(buffer)):
                if (buffer, packet) not in self._sent and (buffer, packet) not in self._lost:
                    return (buffer, packet) if peer.find(Kind.GO, buffer) else None
        return None

    def _put(self, place: Place, *, acknowledges: bool = True) -> None:
        """A data packet acknowledges all that came, as a sender's does."""
        if acknowledges:
            self._acked = max(self._acked, self._peer.consecutive)
            self._peer.withhold_ack(self._acked)
        self._peer.send_packet(*place)
        self._sent.add(place)
        self._last = place

    def _data(self) -> bool:
        place = self._next()
        if place is not None:
            self._put(place)
        return place is not None

    def _buffer(self, lost: slice = slice(0, 0), *, acknowledges: bool = True) -> bool:
        """All packets of the next buffer that are left, without those that are lost."""
        place = self._next()
        if place is None:
            return False
        left = [(place[0], packet) for packet in range(place[1], self._peer.packet_count(place[0]))]
        self._lost |= set(left[lost])
        for one in left:
            if one not in self._lost:
                self._put(one, acknowledges=acknowledges)
        return len(left) > len(left[lost])

    def _late(self) -> bool:
        place = min(self._lost, default=None)
        if place is not None:
            self._lost.discard(place)
            self._put(place)
        return place is not None

    def _lose(self) -> bool:
        place = self._next()
        if place is not None:
            self._lost.add(place)
        return place is not None

    def _again(self) -> bool:
        if self._last is not None:
            self._peer.send_packet(*self._last)
        return self._last is not None

    def _requested(self) -> bool:
        peer = self._peer
        named = {
            (buffer, packet)
            for buffer in self._granted()
            for request in peer.find(Kind.RESEND, buffer)
            for packet in request.packets
        }
        places = sorted(self._lost & named)
        for place in places:
            self._lost.discard(place)
            self._put(place)
        return bool(places)

    def _damaged(self) -> bool:
        place = self._next()
        if place is not None:
            right = self._peer.data_packet(*place).data_checksum
            self._peer.send_packet(*place, data_checksum=right ^ 0x5A5A)
        return place is not None

    def _early(self) -> bool:
        peer, granted = self._peer, self._granted()
        if not granted or len(granted) == peer.buffer_count:
            return False
        peer.send_packet(len(granted), 0)
        return True

    def _beyond(self) -> bool:
        place = self._next()
        if place is not None:
            self._peer.send_packet(*place, packet=self._peer.packet_count(place[0]) + _BEYOND_PACKETS)
        return place is not None

    def _ack(self, number: int) -> bool:
        peer = self._peer
        if peer.agreed is None:
            return False
        if number > self._acked:
            self._acked = number
            peer.withhold_ack(number)
        peer.null_ack(number)
        return True

    def _ack_first(self) -> bool:
        return self._acked < self._peer.consecutive and self._ack(self._acked + 1)

    def _ack_old(self) -> bool:
        return self._peer.consecutive > 0 and self._peer.agreed is not None and bool(self._peer.null_ack(0) + 1)

    def _ack_beyond(self) -> bool:
        peer = self._peer
        return peer.agreed is not None and bool(peer.null_ack(peer.consecutive + _BEYOND_MESSAGES) + 1)

    def _control(self) -> bool:
        return self._peer.agreed is not None and self._send(self._peer.forge.control([Message(Kind.GO, 1, 0)]))
