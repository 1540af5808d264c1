# SPDX-License-Identifier: GPL-2.0-or-later
"""The moves of a tester that receives: GO, OK and RESEND, as RFC 998 5.2 permits them at a moment."""

from __future__ import annotations

import random
from collections.abc import Iterator

from netblt_conformance.common.model import MICROSECONDS_PER_S
from netblt_conformance.generated import findings
from netblt_conformance.generated.moves import Choice, Player
from netblt_conformance.generated.script import Move, Script
from netblt_conformance.packets.packets import Kind, Message, Type
from netblt_conformance.peer import ReceiverPeer
from netblt_conformance.peer.exchange import UnmetError

LONGEST_TIMER_MS = 0xFFFF  # that an OK can publish
_CONTROL_TIMERS_MS = (1, 100, 500, 2000, LONGEST_TIMER_MS)  # that OKs publish (CLOSE-07)
_OFFERS = ((1, 20), (2, 10), (4, 40), (8, 10), (16, 5), (1, 120), (1000, 1))
# Of the last OK, whose DONE is lost: the parts of the published control timer after which it is repeated. Part 0: a
# QUIT comes in the dally (QUIT-01).
DALLIES: tuple[tuple[float, ...], ...] = ((), (1,), (0.5, 1), (0.25, 0.5, 1), (0,), (), (1,))
LONGER_DALLY = 5  # the last OK is repeated with a longer control timer
_LONGEST_DALLY = 6  # later OKs publish the longest one
_LEAST_DALLY_MS = 500  # of a sender in whose dally a hole is filled
_GOS = (3, 8, 8)  # at once
_GOS_BEYOND = 2  # more than agreed: only the sender is bound by the number (AMB-29)


class ReceivingPlayer(Player):
    """The tester receives: GO, OK, RESEND."""

    def __init__(self, script: Script, peer: ReceiverPeer) -> None:
        super().__init__(script, peer)
        self._peer = peer
        peer.lose = self._loses
        self._gone: set[int] = set()
        self._confirmed: set[int] = set()
        self._last_control: list[Message] = []
        self.done_lost = -1  # the DONE is lost: which of DALLIES follows; -1: it is not
        self._asked_us: dict[int, int] = {}
        self._requested_whole = False  # all packets of a buffer at once
        self._waits: tuple[int, int] | None = None  # a buffer that may begin, and since when
        # The GO of another connection may have been kept.
        if any(one.name.startswith("foreign") for one in script.opening):
            self.play(Move("go"))
            self.play(Move("control"))

    @property
    def peer(self) -> ReceiverPeer:
        return self._peer

    # ---- what is legal ----

    def may_leave(self) -> bool:
        last = self._peer.last_buffer
        return last is None or not all(number in self._confirmed for number in range(last + 1))

    @property
    def _may_go(self) -> bool:
        return self._peer.last_buffer is None and len(self._gone - self._confirmed) < self._peer.terms.max_buffers

    @property
    def _may_go_on(self) -> bool:
        """One more GO than was agreed."""
        outstanding = len(self._gone - self._confirmed) - self._peer.terms.max_buffers
        return self._peer.last_buffer is None and 0 <= outstanding < _GOS_BEYOND

    def _complete(self) -> list[int]:
        return [n for n, b in sorted(self._peer.buffers.items()) if b.complete and n not in self._confirmed]

    def _missing(self, number: int) -> list[int]:
        """What a data timer may ask for: what is missing before the last packet, or all that is not there when the last
        one is missing (RFC 998 5.2.2). Of a buffer of which nothing came, everything."""
        buffer, terms = self._peer.buffer(number), self._peer.terms
        if buffer.last_packet is not None:
            return buffer.missing
        return [n for n in range(terms.packets_per_buffer) if n not in buffer.packets]

    def _may_ask(self, number: int) -> bool:
        """A data timer has had time to expire."""
        return self._may_ask_soon(number) and self._is_quiet(number)

    def _is_quiet(self, number: int) -> bool:
        """A burst interval since the last data and the last request, and at least a round trip."""
        peer = self._peer
        quiet_us = max(2 * peer.ms(peer.terms.burst_interval_ms), 4 * peer.link.delay_us, 50_000)
        return peer.now_us - max(peer.data_us, self._asked_us.get(number, 0)) >= quiet_us

    def _may_ask_soon(self, number: int) -> bool:
        """A data timer that is too short expires while data of the buffer come (RFC 998 5.2.2)."""
        peer = self._peer
        exists = peer.last_buffer is None or number <= peer.last_buffer
        waits = exists and number in self._gone and number not in self._confirmed and not peer.buffer(number).complete
        open_ = self._queued(number)
        # One request at a time (RESEND-06), and none before the GO was received (TIMER-04).
        served = Kind.RESEND not in open_ and (Kind.GO not in open_ or bool(peer.buffer(number).packets))
        return waits and served

    def _queued(self, number: int) -> set[Kind]:
        """The kinds of messages about the buffer that are not acknowledged."""
        name = self._peer.first_buffer + number
        return {message.kind for message in self._peer.queue if message.buffer == name}

    def choices(self, chance: random.Random) -> Iterator[Choice]:
        if self._may_go:
            yield Choice(Move("go"), 4)
            yield Choice(Move("gos", (chance.choice(_GOS),)), 0.3)
            yield Choice(Move("gos-late", (chance.choice(_GOS),)), 0.2)
        elif self._may_go_on:
            yield Choice(Move("go-on"), 0.2)
        for number in self._complete():
            yield Choice(Move("ok", (number,)), 4)
            if self._may_confirm_beyond(number):
                yield Choice(Move("ok-beyond", (number,)), 2)
        for number in sorted(self._gone - self._confirmed):
            missing = self._missing(number) if self._may_ask_soon(number) else []
            if not missing:  # of what may be requested: it sends more packets than a buffer has
                continue
            if self._is_quiet(number):
                yield Choice(Move("resend", (number, *missing)), 3)
                if len(missing) > 1 and self._peer.buffer(number).last_packet is not None:
                    yield Choice(Move("resend", (number, *sorted(chance.sample(missing, len(missing) - 1)))), 1)
                    yield Choice(Move("resend-twice", (number, chance.randrange(1, len(missing)))), 1)
            elif self._peer.buffer(number).packets:
                some = chance.sample(missing, chance.randint(1, len(missing)))
                yield Choice(Move("resend-soon", (number, *sorted(some))), 0.3)
        if self._peer.queue:
            yield Choice(Move("control"), 5)
        if len(self._peer.queue) > 1:
            first = chance.randrange(1, len(self._peer.queue))
            if self._may_omit(first):
                yield Choice(Move("tail", (first,)), 1)
            if self._may_come_late(first):
                yield Choice(Move("parts", (first,)), 0.5)
        if self._last_control:
            yield Choice(Move("repeat"), 0.3)
        size, interval_ms = chance.choice(_OFFERS)
        yield Choice(Move("offer", (size, interval_ms)), 0.2)
        yield Choice(Move("publish", (chance.choice(_CONTROL_TIMERS_MS),)), 0.2)
        if self.done_lost < 0:
            yield Choice(Move("done-lost", (chance.randrange(len(DALLIES)),)), 0.2)
        yield from self._common(chance)

    def play(self, move: Move) -> bool:
        peer = self._peer
        match move.name, move.numbers:
            case "go" | "go-on", () if self._may_go or (move.name == "go-on" and self._may_go_on):
                self._go()
            case "gos", (count,) if 0 < count <= max(_GOS) and self._may_go:
                self._go_times(count)
                self.play(Move("control"))
            case "gos-late", (count,) if 1 < count <= max(_GOS) and self._may_go:
                self._go_times(count)
                if len(peer.queue) > 1 and self._may_come_late(1):
                    self._send_parts(1)
            case "parts", (first,) if 0 < first < len(peer.queue) and self._may_come_late(first):
                self._send_parts(first)
            case "ok-beyond", (number,) if self._may_confirm_beyond(number):
                self._confirm_beyond(number)
            case "resend-twice", (number, first) if self._may_ask(number) and 0 < first < len(self._missing(number)):
                self._ask_twice(number, first)
            case "ok", (number,) if number in self._complete():
                self._confirmed.add(number)
                peer.message(Kind.OK, peer.first_buffer + number)
            case "resend" | "resend-soon", (number, *packets) if self._can_ask(move):
                self._asked_us[number] = peer.now_us
                self._requested_whole |= len(packets) == peer.terms.packets_per_buffer
                peer.message(Kind.RESEND, peer.first_buffer + number, packets)
            case "control", () if peer.queue:
                self._last_control = list(peer.queue)
                peer.send_control()
            case "tail", (first,) if 0 < first < len(peer.queue) and self._may_omit(first):
                self._last_control = peer.queue[first:]  # the part before it is late, or lost (AMB-33)
                peer.send_control(self._last_control)
            case "repeat", () if self._last_control:
                self._repeat()
            case "offer", (size, interval_ms) if (
                0 < size <= 1000 and 0 < interval_ms < 1000 and self.may_slow_down(size, interval_ms)
            ):
                peer.offer = size, interval_ms
            case "publish", (timer_ms,) if timer_ms in _CONTROL_TIMERS_MS:
                peer.control_timer_ms = timer_ms
            case "done-lost", (repeats,) if 0 <= repeats < len(DALLIES):
                self.done_lost = repeats
                if repeats == _LONGEST_DALLY:
                    peer.control_timer_ms = max(_CONTROL_TIMERS_MS)
            case _:
                return self._play_common(move)
        return True

    def _may_omit(self, first: int) -> bool:
        """A sender that acts on the last OK beyond a hole (AMB-36) is done, and leaves before the hole is filled."""
        return self.may_leave() or all(message.kind is not Kind.OK for message in self._peer.queue[first:])

    def _may_come_late(self, first: int) -> bool:
        """The messages before this one may arrive after it, in a CONTROL of their own: none has held so many bytes
        (AMB-33). Also in the dally of a sender that has acted on the last OK (AMB-36), which lasts longer than the
        published control timer (CLOSE-04)."""
        peer = self._peer
        large = len(peer.forge.control(peer.queue)) > peer.largest_control
        return large and (self._may_omit(first) or peer.control_timer_ms >= _LEAST_DALLY_MS)

    def _send_parts(self, first: int) -> None:
        """A queue comes in two CONTROLs (AMB-33), the later messages before the others. Then all are acknowledged
        (CTRL-10), in a dally too (CLOSE-03), at once or when the later ones are repeated."""
        peer, parts = self._peer, (self._peer.queue[:first], self._peer.queue[first:])
        first_to_come = peer.send_control(parts[1])
        peer.listen(self._settles_us)
        self._last_control = list(parts[0])
        self.copies.exchange(first_to_come, peer.send_control(parts[0]))
        if self.has_left():
            return
        what = "messages to be acknowledged when those before them had come, or when they were repeated"
        acknowledged = lambda: peer.high_seq >= parts[1][-1].seq  # noqa: E731
        try:
            peer.until(acknowledged, peer.ack_deadline_us, what)
        except UnmetError:  # a sender need not keep what came out of sequence (RFC 998 5.2.1)
            peer.send_control(parts[1])
            with findings.due("CTRL-10" if self.may_leave() else "CLOSE-03"):
                peer.until(acknowledged, peer.ack_deadline_us, what)

    def _may_confirm_beyond(self, number: int) -> bool:
        """The last buffer is complete, all others are confirmed, and no request for it waits (RESEND-06)."""
        peer = self._peer
        is_last = number == peer.last_buffer and self._gone - self._confirmed == {number}
        alone = is_last and Kind.RESEND not in self._queued(number)
        return alone and number in self._complete() and peer.control_timer_ms >= _LEAST_DALLY_MS

    def _confirm_beyond(self, number: int) -> None:
        """The last buffer was requested when its last packet was late. The OK arrives before that request."""
        peer = self._peer
        peer.message(Kind.RESEND, peer.first_buffer + number, [peer.buffer(number).last_packet or 0])
        self._confirmed.add(number)
        peer.message(Kind.OK, peer.first_buffer + number)
        if self._may_come_late(len(peer.queue) - 1):
            self._send_parts(len(peer.queue) - 1)
        else:
            self.play(Move("control"))

    def _ask_twice(self, number: int, first: int) -> None:
        """A data timer that is too short expires again while packets of the first request wait to be retransmitted. The
        second request is for all that is missing then."""
        peer = self._peer
        self.play(Move("resend", (number, *self._missing(number)[first:])))
        self.play(Move("control"))
        newest = peer.next_seq - 1
        with findings.due("CTRL-10"):
            came = lambda: peer.high_seq >= newest or self.has_left()  # noqa: E731
            peer.until(came, peer.ack_deadline_us, "RESEND to be acknowledged")
        if missing := self._missing(number):
            self.play(Move("resend-soon", (number, *missing)))
            self.play(Move("control"))
            bursts = 2 + len(missing) // max(peer.terms.burst_size, 1)
            self.play(Move("wait", (bursts * peer.ms(peer.terms.burst_interval_ms),)))  # for more than was requested

    def acknowledge(self) -> None:
        """A request gets an answer, which shows nothing of timers."""
        for number in self._complete():
            self.play(Move("ok", (number,)))
        self.play(Move("control"))

    def _send_known_packet(self) -> None:
        known = self.copies.newest((Type.CONTROL, Type.OPEN, Type.RESPONSE))
        assert known is not None
        self.copies.deliver(known)

    def watch(self) -> None:
        """DATA-11: the lowest buffer that is not begun does not wait for the OKs of those before. A sender that sends
        other data may retransmit what was requested (ORDER-02). Who requests all packets of a buffer may be one that
        none of them reaches, to whom a sender need not send more (AMB-72)."""
        peer = self._peer
        begun = {n for n, buffer in peer.buffers.items() if buffer.packets} | {n - peer.first_buffer for n in self.lost}
        waiting = sorted(self._gone - begun)
        before = [n for n in self._gone if not waiting or n < waiting[0]]
        outstanding = [n for n in before if not self._is_acknowledged(n, Kind.OK)]
        may = (
            waiting
            and not self._requested_whole
            and waiting[0] * peer.terms.buffer_size < self.script.length
            and all(peer.buffers[n].complete for n in before if n in peer.buffers)
            and len(outstanding) < peer.terms.max_buffers
            and self._is_acknowledged(waiting[0], Kind.GO)
            and peer.now_us >= self.script.iut.client_stall_until_us
        )
        if not may:
            self._waits = None
        elif self._waits is None or self._waits[0] != waiting[0]:
            self._waits = waiting[0], peer.now_us
        elif (waited_us := peer.now_us - max(self._waits[1], peer.data_us)) > self._begins_us:
            findings.tell(peer, findings.NEXT_WAITS, None, buffer=waiting[0], waited_s=waited_us / MICROSECONDS_PER_S)

    def inside_at(self, time_us: int) -> int:
        """Some packets of a buffer came, and its LDATA did not."""
        data = [seen.packet for seen in self._peer.seen if seen.packet.is_data and seen.time_us <= time_us]
        begun = {packet.buffer for packet in data}
        ended = {packet.buffer for packet in data if packet.type is Type.LDATA}
        [*left] = begun - ended
        return left[0] - self._peer.first_buffer + 1 if len(left) == 1 and not self.lost else 0

    def _may_be_inside(self) -> bool:
        """Data of a buffer that has its GO may be on the way."""
        return any(not self._peer.buffer(number).complete for number in self._gone)

    def _is_acknowledged(self, number: int, kind: Kind) -> bool:
        sent = self._peer.monitor.session.issued.of(kind, self._peer.first_buffer + number)
        return bool(sent) and sent[0].seq <= self._peer.high_seq

    @property
    def _begins_us(self) -> int:
        """By then a buffer that may be sent has begun."""
        paces = (interval for _, interval in _OFFERS)
        return self._peer.tolerances.reaction_max_us + 2 * self._peer.ms(
            max(*paces, self._peer.terms.burst_interval_ms)
        )

    def _repeat(self) -> None:
        """The acknowledgement of the last CONTROL was lost: it is due once more (CTRL-10)."""
        peer, newest = self._peer, self._last_control[-1].seq
        peer.send_control(self._last_control)
        if self._last_control[0].seq > peer.high_seq + 1 or not peer.monitor.session.life.lasts:
            return  # it comes after a hole, or the sender may have closed
        what = "a repeated CONTROL to be acknowledged"
        with findings.due("CTRL-10"):
            peer.expect(lambda packet: packet.acks and packet.high_seq >= newest, peer.ack_deadline_us, what)

    def behave(self) -> None:
        for number in sorted(self._gone - self._confirmed):
            if self._may_ask(number):
                self.play(Move("resend", (number, *self._missing(number))))
        self.acknowledge()

    def _can_ask(self, move: Move) -> bool:
        number, *packets = move.numbers
        may = self._may_ask(number) if move.name == "resend" else self._may_ask_soon(number)
        return bool(packets) and may and set(packets) <= set(self._missing(number))

    def _go_times(self, count: int) -> None:
        """As often as may be."""
        for _ in range(count):
            if self._may_go:
                self._go()

    def _go(self) -> None:
        number = max(self._gone, default=-1) + 1
        self._gone.add(number)
        self._peer.message(Kind.GO, self._peer.first_buffer + number)

    def situation(self) -> tuple[int, ...]:
        peer = self._peer
        waiting = [n for n in self._gone - self._confirmed if n in peer.buffers]
        return (
            min(len(self._gone - self._confirmed), 3),
            min(len(self._complete()), 2),
            min(len(peer.queue), 4),
            sum(1 for n in waiting if peer.buffers[n].missing),
            min(self._to_lose, 2),
            int(peer.last_buffer is not None),
            int(peer.seen[-1].packet.type or 0) if peer.seen else -1,
        )
