# SPDX-License-Identifier: GPL-2.0-or-later
"""What the tester may do at a moment, as a legal peer across a network that loses, delays, reorders, copies and damages
packets. Peer and network are one: the implementation cannot distinguish a packet that was lost from one that was never
sent. What both roles share is here; receiving.py and sending.py have the rest."""

from __future__ import annotations

import dataclasses
import random
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from netblt_conformance.cases.case import Case
from netblt_conformance.common.model import MICROSECONDS_PER_S, Stop
from netblt_conformance.common.tolerances import slowest, transfer_time_us
from netblt_conformance.generated import copies, findings
from netblt_conformance.generated.illegal import PESTER, Illegal
from netblt_conformance.generated.illegal_opening import BEYOND, STRINGS
from netblt_conformance.generated.script import ILLEGAL_PREFIX, Move, Script
from netblt_conformance.links.base import STRANGER_ADDRESS, TESTER_ADDRESS
from netblt_conformance.packets import packets
from netblt_conformance.packets.packets import Packet, Type
from netblt_conformance.peer import ReceiverPeer, SenderPeer

_WAITS_IN_ALL = 3  # death timers
_WAITS_US = (1_000, 5_000, 20_000, 60_000, 150_000, 400_000, 1_200_000, 3_000_000)
CLIENT_QUITS = tuple("client-quit" + how for how in ("", "-crossed", "-unanswered", "-slow", "-aborted"))
_LEAVES = ("quit", "quit-late", "abort", *CLIENT_QUITS, "client-abort", "silent")
QUIT_ENDLESS = ILLEGAL_PREFIX + "quit-endless"  # the reason has no NUL, and bytes follow that are not in the packet
_CLIENT_STOPS = {**dict.fromkeys(CLIENT_QUITS, Stop.QUIT), "client-abort": Stop.ABORT}
_INSIDE = ("client-quit", "client-quit-slow")  # that show more while a buffer is under way
_QUIT_LATE_US = 350_000  # before the death timer expires
_REPEATS = (0, 0, 1, 2, 4, 8)  # of a QUIT, or of an answer to it, that the network loses
_TELLING_BITS = range(8 * 12, 8 * 20)
_TRICKLE = 5  # packets in five quarters of the death timer
_STORM = 20  # copies of a packet at once
_STORM_ANSWERS = 15  # so many packets are no coincidence
_S_FOR_EACH_REPEAT = 3  # of the death timer, which ends the repetition
_STALL_LEAST_US = 5 * MICROSECONDS_PER_S  # of a stall that is left to be sat out
_SLOWEST_US = 3600 * MICROSECONDS_PER_S  # of a whole transfer at a pace that the tester offers or takes
_HUSH_SHARE = 0.9  # of its death timer that the implementation hears nothing
# Packets of other connections: type, source, and how far their ports are from those of the connection.
STRAYS = (
    (Type.ABORT, TESTER_ADDRESS, 1, 0),
    (Type.QUIT, TESTER_ADDRESS, 2, 0),
    (Type.KEEPALIVE, TESTER_ADDRESS, 3, 0),
    (Type.ABORT, STRANGER_ADDRESS, 0, 0),
    (Type.QUIT, STRANGER_ADDRESS, 0, 0),
    (Type.ABORT, TESTER_ADDRESS, 0, 1),
    (Type.QUIT, TESTER_ADDRESS, 0, 2),
    (Type.KEEPALIVE, TESTER_ADDRESS, 0, 3),
)
_ILLEGAL = 0.8  # weight of each illegal move that is offered
QUIT_REASON = "quit"  # of four bytes: they need a NUL beside them (WIRE-07)
_PESTERING = 0.3
_LEAVING = 0.03  # weight of each move that ends the connection
_LEAVING_INSIDE = 1.0  # of a client that quits while a buffer is under way, which few moments allow
OLD_KEPT = 6  # packets that the network may still deliver again


@dataclass(frozen=True, slots=True)
class Choice:
    """A move that is legal now, and how often it is wanted among the others."""

    move: Move
    weight: float


class Player(ABC):
    """The tester's end of one connection."""

    def __init__(self, script: Script, peer: ReceiverPeer | SenderPeer) -> None:
        self.script = script
        self.copies = copies.Copies(peer)
        self._death_us = (peer.terms.iut_death_timer_s or script.iut.death_timer_s) * MICROSECONDS_PER_S
        self._wait_left_us = _WAITS_IN_ALL * self._death_us
        self._to_lose = 0
        self.lost: set[int] = set()  # numbers of buffers of which the network lost data
        self.left = ""  # the move that ended the connection
        self.illegal = Illegal(peer, self.copies)
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
        if self.may_leave():
            yield Choice(Move(QUIT_ENDLESS), _LEAVING)
            if not self.illegal.pesters:
                yield Choice(Move(PESTER), _PESTERING)

    @abstractmethod
    def play(self, move: Move) -> bool:
        """Does it if it is legal now; whether it was done."""

    def inside(self) -> int:
        """One more than the number of the buffer that is under way, in its middle; 0: none, or more than one."""
        return self.inside_at(self.peer.now_us)

    @abstractmethod
    def inside_at(self, time_us: int) -> int:
        """The same when a packet of the implementation left that came at this time."""

    @abstractmethod
    def watch(self) -> None:
        """After each move: what the oracles cannot know."""

    @abstractmethod
    def situation(self) -> tuple[int, ...]:
        """The state, in few values: what guides the choice (play.invent)."""

    # ---- what both ends share ----

    def _common(self, chance: random.Random) -> Iterator[Choice]:
        most_us = self.patience_us()
        span_us = chance.choice((*_WAITS_US, self._death_us // 5, self._death_us * 3 // 2, max(most_us, 1)))
        if span_us <= most_us:
            yield Choice(Move("wait", (span_us,)), 3)
        yield Choice(Move("keepalive"), 0.2)
        if self._may_hush():
            yield Choice(Move("hush"), 0.15)
        yield Choice(Move("lose", (chance.choice((1, 1, 2, 4)),)), 0.8)
        yield Choice(Move("opening"), 0.2)
        yield Choice(Move("storm", (chance.randrange(2),)), 0.1)
        if self._may_hush():
            yield Choice(Move("trickle", (chance.randrange(2),)), 0.1)
        if self._stall_left_us >= _STALL_LEAST_US:
            yield Choice(Move("stall"), 1)
        yield Choice(Move("again", (chance.randrange(OLD_KEPT),)), 0.8)
        # Half of all damage is in the first fields after the header, where it would have an effect.
        bit = chance.choice((chance.getrandbits(16), chance.choice(_TELLING_BITS)))
        yield Choice(Move("damaged", (chance.randrange(OLD_KEPT), bit)), 0.4)
        yield Choice(Move("zeroed", (chance.randrange(OLD_KEPT), bit)), 0.1)
        yield Choice(Move("cut", (chance.randrange(OLD_KEPT), chance.getrandbits(16))), 0.2)
        yield Choice(Move("stray", (chance.randrange(len(STRAYS)),)), 0.2)
        if self.may_leave():
            if not self.script.role.active:
                yield Choice(Move("second"), 0.1)
            inside = self._is_inside_soon()
            for name in _LEAVES:
                weight = _LEAVING_INSIDE if inside and name in _INSIDE else _LEAVING
                yield Choice(Move(name, (chance.choice(_REPEATS),)), weight)

    def _play_common(self, move: Move) -> bool:
        match move.name, move.numbers:
            case "wait", (span_us,) if 0 < span_us <= self.patience_us():
                self._wait_left_us -= span_us
                self.peer.listen(span_us)
            case "keepalive", ():
                self.peer.send_keepalive()
            case "lose", (count,) if 0 < count < 100:
                self._to_lose = count
            case "again", (back,) if self._may_come_again(self._recent(back)):
                self.copies.deliver(self._recent(back))
            case "damaged", (back, bit):
                summed = self.peer.terms.data_checksum
                self.copies.deliver_damaged(self._recent(back), lambda p: copies.flipped(p, bit, data_summed=summed))
            case "cut", (back, end):
                self.copies.deliver_damaged(self._recent(back), lambda packet: copies.cut(packet, end))
            case "opening", () if self._may_come_again(self.copies.opening()):
                self._repeat_opening()
            case "storm", (kind,):
                self._storm(opening=self.script.role.active and kind == 1)
            case "trickle", numbers if len(numbers) < 2 and self._may_hush():
                self._trickle(opening=numbers == (1,) and self._may_send_openings_only())
            case "stall", () if self._stall_left_us > 0:
                self._sit_out()
            case "zeroed", (back, bit):
                summed = self.peer.terms.data_checksum
                self.copies.deliver_damaged(self._recent(back), lambda p: copies.zeroed(p, bit, data_summed=summed))
            case "second", () if not self.script.role.active and self.may_leave():
                self._second()
            case "stray", (which,) if which < len(STRAYS):
                self.stray(which)
            case "hush", () if self._may_hush():
                self._hush()
            case name, () if name == QUIT_ENDLESS and self.may_leave():
                self._leave(name)
            case name, _ if name.startswith(ILLEGAL_PREFIX):
                return self.illegal.play(move, open_=self.may_leave())
            case name, numbers if name in _LEAVES and len(numbers) < 2 and self._may_leave_by(name):
                self.repeats = min(*numbers, self._repeats_max(name)) if numbers else 0
                self._leave(name)
            case _:
                return False
        return True

    def stray(self, which: int) -> None:
        """A packet of another connection, which must not change this one (DEMUX-01, DEMUX-02)."""
        kind, source, up, iut_up = STRAYS[which % len(STRAYS)]
        peer = self.peer
        ports = {"local_port": (peer.own_port + up) & 0xFFFF, "foreign_port": (peer.iut_port + iut_up) & 0xFFFF}
        forge = dataclasses.replace(peer.forge, **ports)
        packet = forge.packet(kind) if kind is Type.KEEPALIVE else forge.reason(kind, "of another connection")
        self.copies.send_foreign(packet, source)
        self.illegal.note_elsewhere(packets.read(packet), elsewhere=source == STRANGER_ADDRESS)

    def _repeats_max(self, how: str) -> int:
        if how == "client-quit-unanswered":
            return 0
        quits = how == "quit"  # the implementation is alive as long as its death timer lasts
        return self._death_us // (_S_FOR_EACH_REPEAT * MICROSECONDS_PER_S) if quits else max(_REPEATS)

    def _may_come_again(self, frame: int) -> bool:
        """A copy of an OPEN that arrives after the end may open another connection (AMB-66)."""
        return self.may_leave() or self.copies.payload(frame)[3] != Type.OPEN

    def _repeat_opening(self) -> None:
        """A copy of the OPEN is answered (OPEN-07), and no other packet that opens."""
        answers = len(self.peer.responses)
        self.copies.deliver(self.copies.opening())
        if self.script.role.active or self.has_left():
            return
        came = lambda: len(self.peer.responses) > answers or self.has_left()  # noqa: E731
        with findings.due("OPEN-07"):
            self.peer.until(came, self.peer.tolerances.reaction_max_us, "RESPONSE to a repeated OPEN")

    def _storm(self, *, opening: bool) -> None:
        """Neither KEEPALIVEs nor copies of the RESPONSE are answered (TIMER-12, OPEN-08)."""
        peer = self.peer
        due = self.copies.sent_since(peer.now_us - peer.ack_deadline_us)  # each may still get an answer
        for _ in range(_STORM):
            if opening:
                self.copies.deliver(self.copies.opening())
            else:
                peer.send_keepalive()
        came = [seen for seen in peer.listen(2 * peer.link.delay_us + 1) if not seen.packet.is_data]
        answers = [seen for seen in came if seen.packet.type not in findings.OF_NO_CONNECTION]
        # The parts of a queue that is repeated are no answers (AMB-33): none of them comes twice.
        parts = Counter(seen.packet.messages for seen in answers if seen.packet.messages)
        count = sum(not seen.packet.messages for seen in answers) + max(parts.values(), default=0) - due
        if count >= _STORM_ANSWERS:
            keepalives = sum(seen.packet.type is Type.KEEPALIVE for seen in answers)
            if opening:
                findings.tell(peer, findings.RESPONSE_ANSWERED, answers[0].frame, count=count)
            elif keepalives >= _STORM_ANSWERS:
                findings.tell(peer, findings.KEEPALIVE_ANSWERED, answers[0].frame, count=keepalives)
            else:
                findings.tell(peer, findings.KEEPALIVE_ANSWERED_OTHERWISE, answers[0].frame, count=count)

    def _second(self) -> None:
        """An OPEN from another port is a request of its own (DEMUX-02)."""
        peer = self.peer
        forge = dataclasses.replace(peer.forge, local_port=peer.own_port ^ 1)
        values = peer.opening_values(unique_id=peer.unique_id ^ 0x0F0F0F0F)
        request = forge.opening(Type.OPEN, values)
        self.copies.send_foreign(request, peer.address)
        self.illegal.note_elsewhere(packets.read(request), elsewhere=False)
        for seen in peer.listen(2 * peer.link.delay_us + 1):
            if seen.packet.foreign_port != forge.local_port:
                continue
            if seen.packet.type is Type.ABORT:
                findings.tell(peer, findings.OTHER_REFUSED, seen.frame)
            elif seen.packet.type is Type.RESPONSE:
                self.copies.send_foreign(forge.reason(Type.ABORT, "enough"), peer.address)

    def _trickle(self, *, opening: bool) -> None:
        """Longer than the death timer runs, packets come that are no KEEPALIVEs (TIMER-10): copies of the opening, or
        others."""
        peer = self.peer
        peer.go_silent()
        for _ in range(_TRICKLE):
            peer.listen(self._death_us // 4)
            if opening:
                self.copies.deliver(self.copies.opening())
            else:
                self._send_known_packet()
        if peer.link.status().failed and self.may_leave():
            findings.tell(peer, findings.DIED_IN_TRANSFER, None)
        peer.send_keepalive()
        peer.speak_regularly()

    def may_slow_down(self, burst_size: int, interval_ms: int) -> bool:
        """At such a pace the whole transfer ends before a script takes too long, KEEPALIVE by KEEPALIVE."""
        peer = self.peer
        count, pace = peer.buffer_count * peer.terms.packets_per_buffer, (burst_size, interval_ms)
        return transfer_time_us(count, *slowest(peer.slowest_pace, pace)) <= _SLOWEST_US

    def _may_send_openings_only(self) -> bool:
        """A receiver, whose CONTROLs they do not acknowledge, gives up (CTRL-10)."""
        return self.script.role.sender and self._may_come_again(self.copies.opening())

    @property
    def _stall_left_us(self) -> int:
        """How long the implementation's client still withholds its buffers."""
        return self.script.iut.client_stall_until_us - self.peer.now_us if self.may_leave() else 0

    def _sit_out(self) -> None:
        """Until the client goes on, nothing new is sent: what the implementation does meanwhile depends on nothing but
        its timers (DATA-15, TIMER-11)."""
        while self._stall_left_us > 0 and not self.has_left():
            self.acknowledge()
            self.peer.listen(min(self._stall_left_us, self._death_us // 4))
        self.acknowledge()

    @abstractmethod
    def acknowledge(self) -> None:
        """What is due to what came."""

    @abstractmethod
    def _send_known_packet(self) -> None:
        """Sends one packet that is no KEEPALIVE."""

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
        recent = self.copies.recent()
        return recent[back % len(recent)]

    def patience_us(self) -> int:
        """How long the tester may wait now."""
        return self._wait_left_us

    @abstractmethod
    def may_leave(self) -> bool:
        """Whether the transfer is not complete on either side, so that an end before its time is a failure."""

    def _may_leave_by(self, how: str) -> bool:
        """A QUIT that waits for the end of a buffer may find the peer dead that is silent meanwhile. Before a late QUIT
        the tester is silent for as long as a hush."""
        if how == "quit-late" and not self._may_hush():
            return False
        return self.may_leave() and not (how == "client-quit-unanswered" and self._may_be_inside())

    def _may_be_inside(self) -> bool:
        """Whether a buffer may be under way when the connection is left now."""
        return self._is_inside_soon()

    def _is_inside_soon(self) -> bool:
        """Whether a buffer will be under way when the connection is left now."""
        return self.inside_at(self.peer.now_us + self._settles_us) > 0

    @property
    def _settles_us(self) -> int:
        """Until what was sent has had its effect. A copy of OPEN that arrives after the end opens another connection,
        which RFC 998 does not forbid."""
        return 2 * self.peer.link.delay_us + 1

    def _leave(self, how: str) -> None:
        self.settle()
        self.left = how
        self.peer.listen(self._settles_us)
        if how in ("quit", "abort", QUIT_ENDLESS):
            self.peer.go_silent()  # a KEEPALIVE would show that the connection goes on (AMB-73)
        if how == "quit":
            self.peer.send_quit("" if self.repeats else "the tester quits")
        elif how == "quit-late":
            self._quit_late()
        elif how == QUIT_ENDLESS:
            self.peer.send(self.peer.forge.packet(Type.QUIT, STRINGS[1]) + BEYOND)
        elif how == "abort":
            self.peer.send_abort()
        elif how == "silent":
            self.peer.send_keepalive()
            self.peer.go_silent()
        else:
            if how == "client-quit-unanswered":
                self.peer.go_silent()
            self.peer.link.stop(_CLIENT_STOPS[how], QUIT_REASON)

    def _quit_late(self) -> None:
        """After a silence that is almost as long as the death timer of the implementation."""
        peer = self.peer
        peer.send_keepalive()
        peer.go_silent()
        peer.listen(self._death_us - _QUIT_LATE_US - peer.link.delay_us)
        peer.send_quit("")

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
        if self.declines:
            return False
        return self.illegal.conclude(case, has_left=self.has_left(), open_=self.may_leave())

    @property
    def declines(self) -> bool:
        """The implementation ends a transfer without data by QUIT or ABORT, as a sender may (AMB-41)."""
        empty = self.script.role.sender and self.script.length == 0
        return empty and any(seen.packet.type in (Type.QUIT, Type.ABORT) for seen in self.peer.seen)

    def has_left(self) -> bool:
        """Whether the implementation has ended the connection."""
        leaving = (Type.QUIT, Type.ABORT, Type.REFUSED)
        self.illegal.note_answers()
        ours = (seen.packet for seen in self.peer.seen if not self.illegal.is_elsewhere(seen))
        return any(packet.type in leaving for packet in ours) or self.peer.link.status().closed
