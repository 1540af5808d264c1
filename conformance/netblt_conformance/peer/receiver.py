# SPDX-License-Identifier: GPL-2.0-or-later
"""The tester as receiver of data: it sends GO, OK and RESEND, and watches what the sending implementation does."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from netblt_conformance.common import tolerances
from netblt_conformance.common.errors import NotSupportedError
from netblt_conformance.common.verdicts import Cause
from netblt_conformance.common.waits import Awaited
from netblt_conformance.packets.packets import Kind, Message, Packet, Type
from netblt_conformance.peer.base import FEW_BUFFERS, Peer, the_newest
from netblt_conformance.peer.exchange import LEAVING, Seen, Setting, UnmetError

CONTROL_TIMER_MS = 500  # what the tester publishes in its OKs
FINISH_US = 30_000_000  # a transfer of a few buffers


@dataclass(slots=True)
class ReceivedBuffer:
    """What has arrived of one buffer."""

    packets: dict[int, Seen] = field(default_factory=dict)  # first copies
    copies: dict[int, int] = field(default_factory=dict)
    last_packet: int | None = None  # number of its LDATA

    @property
    def complete(self) -> bool:
        return self.last_packet is not None and all(n in self.packets for n in range(self.last_packet + 1))

    @property
    def missing(self) -> list[int]:
        if self.last_packet is None:
            return []
        return [n for n in range(self.last_packet + 1) if n not in self.packets]

    @property
    def data(self) -> bytes:
        return b"".join(self.packets[n].packet.data for n in sorted(self.packets))


class ReceiverPeer(Peer):
    """Drives an implementation that sends."""

    def __init__(self, setting: Setting) -> None:
        super().__init__(setting)
        self.first_buffer = setting.first_buffer
        self.next_seq = 1
        self.queue: list[Message] = []  # not acknowledged yet: the long-lived control packet
        self.largest_control = 0  # bytes of a CONTROL
        self.high_seq = 0  # the highest acknowledgement seen
        self.buffers: dict[int, ReceivedBuffer] = {}
        self._to_confirm: set[int] = set()  # those without an OK, and perhaps some that have it by now
        self.last_buffer: int | None = None
        self.lose: Callable[[Packet], bool] = lambda _packet: False  # packets that count as lost on the way
        self.control_timer_ms = CONTROL_TIMER_MS
        self.offer: tuple[int, int] | None = None  # burst size and interval of our OKs; None = as agreed
        self._said: tuple[set[int], int] = set(), 0  # sequence numbers of the newest CONTROL, and when it was sent
        self._news = 0  # data packets that came for the first time, and acknowledgements of new messages
        self.data_us = 0  # when the newest data packet came
        self._awaits_ldata = False  # what is to be retransmitted is the LDATA, which was requested alone

    @property
    def slowest_pace(self) -> tuple[int, int]:
        """Slower than agreed where OKs of the tester offer it (NEG-09)."""
        offers = (*self.monitor.session.issued.offers, *filter(None, [self.offer]))
        return tolerances.slowest(super().slowest_pace, *offers)

    @property
    def slower_us(self) -> int:
        """Where the implementation has made the pace slower (NEG-03, NEG-04): the difference for two buffers."""
        if self.agreed is None:
            return 0
        packets, limits = 2 * self.terms.packets_per_buffer, self.setting.iut_parameters
        planned = tolerances.slowest(
            (self.parameters.burst_size, self.parameters.burst_interval_ms),
            (limits.burst_size, limits.burst_interval_ms),
        )
        agreed = self.terms.burst_size, self.terms.burst_interval_ms
        return max(0, tolerances.transfer_time_us(packets, *agreed) - tolerances.transfer_time_us(packets, *planned))

    # ---- control messages ----

    def message(self, kind: Kind, buffer: int, packets: Iterable[int] = ()) -> Message:
        """A new message with the next sequence number, put at the end of the queue."""
        message = Message(kind, self.next_seq, buffer, packets=tuple(packets))
        if kind is Kind.OK:
            size, interval = self.offer or (self.terms.burst_size, self.terms.burst_interval_ms)
            message = dataclasses.replace(
                message, burst_size=size, burst_interval_ms=interval, control_timer_ms=self.control_timer_ms
            )
        self.next_seq += 1
        self.queue.append(message)
        return message

    def send_control(self, messages: Iterable[Message] | None = None) -> int:
        """Sends these messages, or everything that is not acknowledged."""
        messages = list(self.queue if messages is None else messages)
        packet = self.forge.control(messages)
        self.largest_control = max(self.largest_control, len(packet))
        frame = self.send(packet)
        self._said = {message.seq for message in messages}, self._last_sent_us
        return frame

    def go(self, *buffers: int) -> list[Message]:
        """GO for these buffers (counted from 0, whatever base the implementation wants) in one CONTROL."""
        added = [self.message(Kind.GO, self.first_buffer + n) for n in buffers]
        self.send_control()
        return added

    def go_in_turn(self, *buffers: int) -> None:
        """The same for ends that agreed on fewer outstanding buffers: each GO waits until there is room for it."""
        if len(self.unconfirmed) + len(buffers) <= self.terms.max_buffers:
            self.go(*buffers)
            return
        for number in buffers:
            self.make_room()
            if self.last_buffer is None or number <= self.last_buffer:
                self.go(number)

    def make_room(self) -> None:
        """Receives and confirms the lowest buffers until a further one may be outstanding."""
        while len(self.unconfirmed) >= self.terms.max_buffers:
            lowest = self.unconfirmed[0]
            self.expect_buffer(lowest)
            self.expect_ack(self.ok(lowest)[0].seq)

    @property
    def unconfirmed(self) -> list[int]:
        """The buffers with a GO and without an OK, ascending."""
        return sorted({go.buffer - self.first_buffer for go in self.monitor.session.issued.open_gos.values()})

    def begins_after_ok(self) -> bool:
        """Whether a sender has one buffer under way at a time (AMB-79): a buffer of which nothing came though its GO is
        acknowledged begins when those before, which all came, get their OKs."""
        begun = [n for n in self.unconfirmed if n in self.buffers and self.buffers[n].packets]
        waiting = [n for n in self.unconfirmed if n not in begun]
        if not begun or not waiting or not all(self.buffers[n].complete for n in begun):
            return False
        go = self.monitor.session.issued.of(Kind.GO, self.first_buffer + waiting[0])[0]
        if go.seq > self.high_seq:
            return False
        self.ok(*begun)
        with contextlib.suppress(UnmetError):
            began = lambda: bool(self.buffer(waiting[0]).packets)  # noqa: E731
            self.until(began, self.tolerances.reaction_max_us, f"data of buffer {waiting[0]}")
        return bool(self.buffer(waiting[0]).packets)

    def ok(self, *buffers: int) -> list[Message]:
        added = [self.message(Kind.OK, self.first_buffer + n) for n in buffers]
        self.send_control()
        return added

    def show_life(self) -> None:
        """Sends something other than a KEEPALIVE that is nothing new, but the first GO."""
        if messages := self.monitor.session.issued.messages:
            self.send_control(messages[:1])
        else:
            self.go(0)

    def resend(self, buffer: int, packets: Iterable[int]) -> Message:
        added = self.message(Kind.RESEND, self.first_buffer + buffer, packets)
        self.send_control()
        return added

    def send_done(self) -> int:
        return self.send(self.forge.packet(Type.DONE))

    # ---- what arrives ----

    def react(self, seen: Seen) -> None:
        packet = seen.packet
        if packet.acks:
            self._acknowledged(packet.high_seq)
        if packet.is_data and self.lose(packet):
            self.lost(seen)
        elif packet.is_data:
            self.data_us = seen.time_us
            buffer = self.buffer(packet.buffer - self.first_buffer)
            self._news += packet.packet not in buffer.packets
            buffer.packets.setdefault(packet.packet, seen)
            buffer.copies[packet.packet] = buffer.copies.get(packet.packet, 0) + 1
            if packet.type is Type.LDATA and buffer.last_packet is None:
                buffer.last_packet = packet.packet
            if packet.last_buffer and self.last_buffer is None:
                self.last_buffer = packet.buffer - self.first_buffer

    def _acknowledged(self, high_seq: int) -> None:
        self._news += high_seq > self.high_seq
        self.high_seq = max(self.high_seq, high_seq)
        self.queue = [message for message in self.queue if message.seq > self.high_seq]

    def buffer(self, number: int) -> ReceivedBuffer:
        if number not in self.buffers:
            self.buffers[number] = ReceivedBuffer()
            self._to_confirm.add(number)
        return self.buffers[number]

    def copies(self, buffer: int, packet: int) -> int:
        return self.buffer(buffer).copies.get(packet, 0)

    # ---- expectations ----

    def expect_buffer(
        self, number: int, within_us: int | None = None, unless: Callable[[], bool] = lambda: False
    ) -> ReceivedBuffer:
        """The whole buffer arrives: by itself, or when a RESEND has requested what did not come (AMB-72). `unless` ends
        the wait as well."""
        pace_us = tolerances.transfer_time_us(2 * self.terms.packets_per_buffer, *self.slowest_pace)
        within_us = within_us or self.tolerances.reaction_max_us + 2 * pace_us
        what = f"all packets of buffer {number}"
        buffer, began_us = self.buffer(number), self.now_us
        with self._waits(Awaited.BUFFER, within_us):
            stops = self._data_timer(buffer, began_us)
            self._goes_on_until(lambda: buffer.complete or stops() or unless(), within_us, what)
            missing = self._missing(buffer)
            if missing and not unless():
                self.message(Kind.RESEND, self.first_buffer + number, missing)
                self.send_control()
            self._goes_on_until(lambda: buffer.complete or unless(), within_us, what)
        return buffer

    def _goes_on_until(self, over: Callable[[], bool], within_us: int, what: str) -> None:
        """As until(), from each new packet on: RFC 998 has no least pace."""
        while not over():
            self.until(self._news_or(over), within_us, what, Awaited.BUFFER)

    def _news_or(self, over: Callable[[], bool]) -> Callable[[], bool]:
        known = self._news
        return lambda: over() or self._news > known

    def _data_timer(self, buffer: ReceivedBuffer, began_us: int) -> Callable[[], bool]:
        """Whether nothing more comes by itself of a buffer of which something came."""
        timer_us = max(tolerances.TESTER_RETRY_US, 2 * self.ms(self.terms.burst_interval_ms))
        return lambda: bool(buffer.packets) and self.now_us - max(began_us, self.data_us) >= timer_us

    def expect_ack(self, seq: int | None = None, within_us: int | None = None) -> None:
        """The high consecutive sequence number reaches `seq`, or the newest message. In ETFTP only data and changed
        values carry it (R1986-06): where it does not come, the exchange is not possible."""
        wanted = self.next_seq - 1 if seq is None else seq
        what = f"message {wanted} to be acknowledged (the acknowledgement stays at {self.high_seq})"
        try:
            self.until(
                lambda: self.high_seq >= wanted or self.quits,
                within_us or self.ack_deadline_us,
                what,
                Awaited.ACKNOWLEDGEMENT,
            )
        except UnmetError:
            if self.setting.dialect.acknowledges_all:
                raise
            raise NotSupportedError("it acknowledges only with data, which ETFTP allows (R1986-06)") from None

    def expect_copies(self, buffer: int, packet: int, count: int = 2, within_us: int | None = None) -> None:
        """This packet has come so many times."""
        last = self.buffer(buffer).last_packet
        if last is not None and packet > last:
            text = f"buffer {buffer} has {last + 1} packets, this exchange needs packet {packet}"
            raise self.too_small(text)
        named = [m.packets for m in self.monitor.session.issued.of(Kind.RESEND, self.first_buffer + buffer)]
        self._awaits_ldata = packet == last and (packet,) in named
        self.until(
            lambda: self.copies(buffer, packet) >= count,
            within_us or self.tolerances.reaction_max_us,
            f"packet {packet} of buffer {buffer} again",
            Awaited.REPAIR,
        )

    # ---- a whole transfer ----

    def finish(self, within_us: int | None = None, *, done: bool = True) -> bytes:
        """Receives whatever is left like a well-behaved receiver. Answers the data received so far in order. `done`:
        whether DONE is sent at the end, which may be lost (CLOSE-06)."""
        idle_us = within_us or FINISH_US + self.pace_of_us(min(self.buffer_count, FEW_BUFFERS))
        within_us = within_us or FINISH_US + self.pace_us
        deadline_us = self.now_us + within_us
        over_us, known = self.now_us + idle_us, self._news
        confirmed = set(self.monitor.session.issued.confirmed)
        gone = [m.buffer for m in self.monitor.session.issued.messages if m.kind is Kind.GO]
        waiting, newest = set(gone) - confirmed, max(gone, default=self.first_buffer - 1)
        last_news_us = self.now_us
        with self._waits(Awaited.TRANSFER, within_us):
            while not self._finished(confirmed):
                if self._news != known:
                    over_us, known = self.now_us + idle_us, self._news
                if self._over(min(deadline_us, over_us)):
                    why = self._why(within_us if deadline_us <= over_us else idle_us)
                    seen, due_by = f"{why}; {self._progress()}", self.due_by(Awaited.TRANSFER)
                    raise UnmetError("the transfer to finish", seen, cause=Cause.ABSENCE, due_by=due_by)
                before = self.next_seq
                newest = self._issue(waiting, confirmed, newest)
                if self.next_seq != before:
                    self.send_control()
                    last_news_us = self.now_us
                elif self.now_us - last_news_us >= tolerances.TESTER_RETRY_US:
                    self._recover(confirmed)
                    last_news_us = self.now_us
                came = self._next(min(deadline_us, last_news_us + tolerances.TESTER_RETRY_US))
                if came is not None and came.packet.is_data:
                    last_news_us = self.now_us
        if done:
            self.end()
        return b"".join(self.buffers[n].data for n in sorted(self.buffers))

    def end(self) -> None:
        """Sends that the transfer is over. In ETFTP the sender has to quit first, which it does when everything is
        confirmed (R1986-10)."""
        if self.setting.dialect.ends_with_quit and not self.quits:
            self.expect_type(Type.QUIT)
        self.send_done()

    def due_by(self, awaited: Awaited) -> str:
        """CTRL-10, CLOSE-03: nothing but the last acknowledgement of a transfer is missing, from an end that never or
        otherwise sends NULL-ACKs, or that has closed. CLOSE-08: a retransmission is missing after all data were sent.
        DATA-09: all data came, without the last-buffer flag. DATA-11: a buffer waits though fewer than agreed are on
        their way, and those before were sent. CTRL-12: what was requested last is after older messages, which alone
        are acknowledged. RESEND-05: the LDATA, requested alone, is not retransmitted."""
        if awaited is Awaited.TRANSFER and self._closed_in_success:
            return "CLOSE-03"
        if awaited is Awaited.TRANSFER and self.last_buffer is None and self._is_whole:
            return "DATA-09"
        if self._was_left or awaited not in (Awaited.TRANSFER, Awaited.BUFFER, Awaited.REPAIR):
            return super().due_by(awaited)
        confirmed = self.monitor.session.issued.confirmed
        begun = [self.first_buffer + n in confirmed for n, buffer in self.buffers.items() if buffer.packets]
        if awaited is Awaited.TRANSFER and self.last_buffer is not None:
            everything = len(begun) == self.last_buffer + 1 and all(begun)
            idle = any(seen.packet.type is Type.NULL_ACK for seen in self.seen)
            return ("CLOSE-03" if idle else "CTRL-10") if everything and self.queue else ""
        if awaited is Awaited.TRANSFER:
            return ""
        if self._is_taken_in_part:
            return "CTRL-12"
        if awaited is Awaited.REPAIR and self._awaits_ldata:
            return "RESEND-05"
        if awaited is Awaited.REPAIR:
            return "CLOSE-08" if self._all_data_came else super().due_by(awaited)
        waits = any(not buffer.packets for buffer in self.buffers.values())
        whole = all(buffer.complete for buffer in self.buffers.values() if buffer.packets)
        some_left = 0 < len(begun) < self.terms.max_buffers and not all(begun)
        return "DATA-11" if waits and whole and some_left else ""

    @property
    def _is_whole(self) -> bool:
        """Whether buffers came that hold as much as the transfer."""
        held = [len(buffer.data) for buffer in self.buffers.values() if buffer.packets]
        return bool(held) and sum(held) == len(self.data)

    @property
    def _closed_in_success(self) -> bool:
        """Whether it closed without any further packet after a transfer whose last OK it has not acknowledged."""
        left = any(seen.packet.type in LEAVING for seen in self.seen)
        if not self.queue or left or not self.link.tells_outcome:
            return False
        return self.link.status().closed and self.link.status().succeeded

    @property
    def _is_taken_in_part(self) -> bool:
        """Whether the newest CONTROL was answered by an acknowledgement of its first messages only."""
        numbers, sent_us = self._said
        parted = self.high_seq + 1 in numbers and min(numbers) <= self.high_seq
        return parted and any(seen.packet.acks and seen.time_us > sent_us for seen in self.seen)

    @property
    def _all_data_came(self) -> bool:
        if self.last_buffer is None:
            return False
        return all(n in self.buffers and self.buffers[n].complete for n in range(self.last_buffer + 1))

    def _finished(self, confirmed: set[int]) -> bool:
        if self.last_buffer is None or (self.high_seq < self.next_seq - 1 and not self.quits):
            return False
        return all(self.first_buffer + n in confirmed for n in range(self.last_buffer + 1))

    def _issue(self, waiting: set[int], confirmed: set[int], newest: int) -> int:
        """Adds the OKs and GOs that are due. `waiting`: the buffers that have a GO and no OK. Returns the buffer of the
        newest GO."""
        for n in sorted(self._to_confirm):
            number = self.first_buffer + n
            if self.buffers[n].complete and number not in confirmed:
                self.message(Kind.OK, number)
                confirmed.add(number)
                waiting.discard(number)
        self._to_confirm = {n for n in self._to_confirm if self.first_buffer + n not in confirmed}
        while self.last_buffer is None and len(waiting) < self.terms.max_buffers:
            newest += 1
            self.message(Kind.GO, newest)
            waiting.add(newest)
        return newest

    def _recover(self, confirmed: set[int]) -> None:
        """Nothing came for a while: repeats the queue, requests what is missing."""
        asked = {message.buffer for message in self.queue}
        for n in sorted(self._to_confirm):
            number, buffer = self.first_buffer + n, self.buffers[n]
            missing = self._missing(buffer) if self.last_buffer is None or n <= self.last_buffer else []
            if number not in confirmed and number not in asked and missing:
                self.message(Kind.RESEND, number, missing)
        if self.queue:
            self.send_control()

    def _missing(self, buffer: ReceivedBuffer) -> list[int]:
        """What is to be requested; while the LDATA is missing, all that the buffer can have."""
        if buffer.last_packet is not None:
            return buffer.missing
        return [n for n in range(self.terms.packets_per_buffer) if n not in buffer.packets]

    def _progress(self) -> str:
        state = [f"buffer {n}: {len(b.packets)} packets" for n, b in sorted(self.buffers.items())]
        return f"{the_newest(state) or 'no data arrived'}, acknowledgement {self.high_seq} of {self.next_seq - 1}"
