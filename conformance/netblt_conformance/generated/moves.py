# SPDX-License-Identifier: GPL-2.0-or-later
"""What the tester may do at a moment, as a legal peer across a network that loses, delays, reorders, copies and damages
packets. Peer and network are one: the implementation cannot distinguish a packet that was lost from one that was never
sent. What both roles share is here; receiving.py and sending.py have the rest."""

from __future__ import annotations

import dataclasses
import random
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass

from netblt_conformance.cases.case import Case
from netblt_conformance.common.model import MICROSECONDS_PER_S, Stop
from netblt_conformance.generated import copies
from netblt_conformance.generated.illegal import Illegal
from netblt_conformance.generated.script import ILLEGAL_PREFIX, Move, Script
from netblt_conformance.links.base import STRANGER_ADDRESS, TESTER_ADDRESS
from netblt_conformance.packets import packets
from netblt_conformance.packets.packets import Packet, Type
from netblt_conformance.peer import ReceiverPeer, SenderPeer

_WAITS_IN_ALL = 3  # death timers
_WAITS_US = (1_000, 5_000, 20_000, 60_000, 150_000, 400_000, 1_200_000)
_LEAVES = ("quit", "abort", "client-quit", "client-abort", "silent")
_CLIENT_STOPS = {"client-quit": Stop.QUIT, "client-abort": Stop.ABORT}
_REPEATS = (0, 0, 1, 2, 4)  # of a QUIT, or of an answer to it, that the network loses
_S_FOR_EACH_REPEAT = 3  # of the death timer, which ends the repetition
_HUSH_SHARE = 0.9  # of its death timer that the implementation hears nothing
# Packets of other connections: type, source, and how far its port is from the tester's.
STRAYS = (
    (Type.ABORT, TESTER_ADDRESS, 1),
    (Type.QUIT, TESTER_ADDRESS, 2),
    (Type.KEEPALIVE, TESTER_ADDRESS, 3),
    (Type.ABORT, STRANGER_ADDRESS, 0),
    (Type.QUIT, STRANGER_ADDRESS, 0),
)
_ILLEGAL = 1.0  # weight of each illegal move that is offered
_LEAVING = 0.02  # weight of each move that ends the connection
_OLD_KEPT = 6  # packets that the network may still deliver again


@dataclass(frozen=True, slots=True)
class Choice:
    """A move that is legal now, and how often it is wanted among the others."""

    move: Move
    weight: float


class Player(ABC):
    """The tester's end of one connection."""

    def __init__(self, script: Script, peer: ReceiverPeer | SenderPeer) -> None:
        self.script = script
        self._copies = copies.Copies(peer)
        self._death_us = script.iut.death_timer_s * MICROSECONDS_PER_S
        self._wait_left_us = _WAITS_IN_ALL * self._death_us
        self._to_lose = 0
        self.lost: set[int] = set()  # numbers of buffers of which the network lost data
        self.left = ""  # the move that ended the connection
        self.illegal = Illegal(peer, self._copies)
        self.repeats = 0  # QUITs, or answers to them, that the network loses

    @property
    @abstractmethod
    def peer(self) -> ReceiverPeer | SenderPeer: ...

    @abstractmethod
    def choices(self, chance: random.Random) -> Iterator[Choice]:
        """What is legal now."""

    def illegal_choices(self, chance: random.Random) -> Iterator[Choice]:
        """What no conforming peer would do now."""
        for one in self.illegal.moves(chance, open_=self.may_leave()):
            yield Choice(one, _ILLEGAL)

    @abstractmethod
    def play(self, move: Move) -> bool:
        """Does it if it is legal now; whether it was done."""

    @abstractmethod
    def situation(self) -> tuple[int, ...]:
        """The state, in few values: what guides the choice (play.invent)."""

    # ---- what both ends share ----

    def _common(self, chance: random.Random) -> Iterator[Choice]:
        span_us = chance.choice((*_WAITS_US, self._death_us // 5, self._death_us * 3 // 2))
        if span_us <= self.patience_us():
            yield Choice(Move("wait", (span_us,)), 3)
        yield Choice(Move("keepalive"), 0.2)
        if self._may_hush():
            yield Choice(Move("hush"), 0.15)
        yield Choice(Move("lose", (chance.choice((1, 1, 2, 4)),)), 0.8)
        yield Choice(Move("opening"), 0.1)
        yield Choice(Move("again", (chance.randrange(_OLD_KEPT),)), 0.8)
        yield Choice(Move("damaged", (chance.randrange(_OLD_KEPT), chance.getrandbits(16))), 0.3)
        yield Choice(Move("cut", (chance.randrange(_OLD_KEPT), chance.getrandbits(16))), 0.2)
        yield Choice(Move("stray", (chance.randrange(len(STRAYS)),)), 0.2)
        if self.may_leave():
            for name in _LEAVES:
                yield Choice(Move(name, (chance.choice(_REPEATS),)), _LEAVING)

    def _play_common(self, move: Move) -> bool:
        match move.name, move.numbers:
            case "wait", (span_us,) if 0 < span_us <= self.patience_us():
                self._wait_left_us -= span_us
                self.peer.listen(span_us)
            case "keepalive", ():
                self.peer.send_keepalive()
            case "lose", (count,) if 0 < count < 100:
                self._to_lose = count
            case "again", (back,):
                self._copies.deliver(self._recent(back))
            case "damaged", (back, bit):
                summed = self.peer.terms.data_checksum
                self._copies.deliver_damaged(self._recent(back), lambda p: copies.flipped(p, bit, data_summed=summed))
            case "cut", (back, end):
                self._copies.deliver_damaged(self._recent(back), lambda packet: copies.cut(packet, end))
            case "opening", ():
                self._copies.deliver(self._copies.opening())
            case "stray", (which,) if which < len(STRAYS):
                self._stray(*STRAYS[which])
            case "hush", () if self._may_hush():
                self._hush()
            case name, _ if name.startswith(ILLEGAL_PREFIX):
                return self.illegal.play(move, open_=self.may_leave())
            case name, numbers if name in _LEAVES and len(numbers) < 2 and self.may_leave():
                self.repeats = min(*numbers, self.script.iut.death_timer_s // _S_FOR_EACH_REPEAT) if numbers else 0
                self._leave(name)
            case _:
                return False
        return True

    def _stray(self, kind: Type, source: bytes, ports_up: int) -> None:
        """A packet of another connection, which must not change this one (DEMUX-01, DEMUX-02)."""
        peer = self.peer
        forge = dataclasses.replace(peer.forge, local_port=peer.own_port + ports_up)
        packet = forge.packet(kind) if kind is Type.KEEPALIVE else forge.reason(kind, "of another connection")
        self._copies.send_foreign(packet, source)
        self.illegal.note_elsewhere(packets.read(packet), elsewhere=source == STRANGER_ADDRESS)

    @property
    def _hush_us(self) -> int:
        return int(_HUSH_SHARE * self._death_us)

    def _may_hush(self) -> bool:
        return self._hush_us <= self._wait_left_us

    def _hush(self) -> None:
        """Nothing arrives for almost as long as the death timer of the implementation runs (TIMER-10)."""
        self._wait_left_us -= self._hush_us
        self.peer.send_keepalive()
        self.peer.go_silent()
        self.peer.listen(self._hush_us)
        self.peer.send_keepalive()
        self.peer.speak_regularly()

    @abstractmethod
    def behave(self) -> None:
        """Does all that is due, as a peer across a network that loses nothing."""

    def _recent(self, back: int) -> int:
        """The frame of one of the tester's last packets."""
        recent = self._copies.recent()
        return recent[back % len(recent)]

    def patience_us(self) -> int:
        """How long the tester may wait now."""
        return self._wait_left_us

    @abstractmethod
    def may_leave(self) -> bool:
        """Whether the transfer is not complete on either side, so that an end before its time is a failure."""

    def _leave(self, how: str) -> None:
        self.left = how
        self.settle()
        # A copy of OPEN that arrives after the end opens another connection, which RFC 998 does not forbid.
        self.peer.listen(2 * self.peer.link.delay_us)
        if how == "quit":
            self.peer.send_quit("" if self.repeats else "the tester quits")
        elif how == "abort":
            self.peer.send_abort()
        elif how == "silent":
            self.peer.go_silent()
        else:
            self.peer.link.stop(_CLIENT_STOPS[how], "the client ends it")

    def _loses(self, packet: Packet) -> bool:
        if self._to_lose == 0:
            return False
        self._to_lose -= 1
        if packet.is_data:
            self.lost.add(packet.buffer)
        return True

    def settle(self) -> None:
        """The network behaves from here on."""
        self._to_lose = 0

    def concluded(self, case: Case) -> bool:
        """Whether illegal moves decide how the script ends, which is judged then."""
        return self.illegal.conclude(case, has_left=self.has_left(), open_=self.may_leave())

    def has_left(self) -> bool:
        """Whether the implementation has ended the connection."""
        leaving = (Type.QUIT, Type.ABORT, Type.REFUSED)
        ours = (seen.packet for seen in self.peer.seen if not self.illegal.is_elsewhere(seen))
        return any(packet.type in leaving for packet in ours) or self.peer.link.status().closed
