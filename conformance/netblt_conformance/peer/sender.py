# SPDX-License-Identifier: GPL-2.0-or-later
"""The tester as sender of data: it decides which packets arrive and which control messages it acknowledges."""

from __future__ import annotations

import bisect
import collections
import contextlib
import dataclasses
import heapq
import itertools
from collections.abc import Callable, Iterable
from typing import Any

from netblt_conformance.common import tolerances
from netblt_conformance.common.errors import NotSupportedError
from netblt_conformance.common.verdicts import Cause
from netblt_conformance.common.waits import Awaited
from netblt_conformance.oracles.session import GROWTH, SentData
from netblt_conformance.packets import packets
from netblt_conformance.packets.packets import Kind, Message, Packet, Type
from netblt_conformance.packets.sequence import following
from netblt_conformance.peer.base import Peer, the_newest
from netblt_conformance.peer.exchange import Seen, Setting, UnmetError

# On a real link the CONTROLs of one moment arrive within this.
PARTS_US = 2_000
QUITS = 5  # at the end of a transfer of ETFTP
# So many requests in a row that name nothing of what is missing are waited for: one may be made before the last packet
# came, and its data timers may expire meanwhile.
USELESS_REQUESTS = 3
GROWN_WAITS = 8  # for a request of a buffer, each longer than the one before: a case loses a packet six times in a row


class SenderPeer(Peer):
    """Drives an implementation that receives."""

    def __init__(self, setting: Setting) -> None:
        super().__init__(setting)
        self.messages: dict[int, Message] = {}  # every control message seen, by sequence number
        self._consecutive = 0  # when last looked at
        self._of_buffer: dict[tuple[Kind, int], list[Message]] = {}  # by sequence number
        self._lowest = 0  # all buffers below it have their OK
        self._confirmed: set[int] = set()  # the numbers of buffers that have an OK
        self._offers: list[Message] = []  # the OKs that offer a burst, by sequence number
        self._requests: list[tuple[int, int]] = []  # heap of (buffer, sequence number) of RESENDs to serve
        self.controls: list[Seen] = []
        self._came_in: dict[int, Seen] = {}  # the first CONTROL with a message, by sequence number
        self._lost_us = 0  # when a CONTROL came last that counts as lost
        self.first_buffer: int | None = None  # the number of the first GO (AMB-09)
        # The numbers of all GOs, also of those that the tester lost, ascending: buffer n has the n-th of them (AMB-47).
        self._gos: list[int] = []
        self.lose: Callable[[Packet], bool] = lambda _control: False  # CONTROLs that count as lost on the way
        self.served: set[int] = set()  # RESENDs, by number, that were answered, even if the network lost the answer
        self.lost_buffers: set[int] = set()  # buffers that were sent, and of which nothing arrived
        self.restriction: tuple[int, int] | None = None  # burst size and interval that the tester makes of an offer
        self._held_ack: int | None = None
        self._answers = True

    # ---- acknowledging ----

    @property
    def consecutive(self) -> int:
        """The highest s such that messages 1..s have all been seen."""
        while (number := following(self._consecutive, self.messages)) in self.messages:
            self._consecutive = number
        return self._consecutive

    @property
    def ack(self) -> int:
        """What the tester's packets have in their high-seq field."""
        return self.consecutive if self._held_ack is None else self._held_ack

    def connect_without_acknowledging(self) -> None:
        """The implementation's messages come, and it hears of none of them."""
        self.answer_controls(False)
        self.withhold_ack(at=0)
        self.connect()

    def withhold_ack(self, at: int | None = None) -> None:
        """Acknowledges nothing beyond `at` (default: what is acknowledged now) from here on."""
        self._held_ack = self.ack if at is None else at

    def acknowledge(self, upto: int | None = None) -> int:
        """Acknowledges `upto` with a NULL-ACK. Default: everything, and from now on each CONTROL again: a receiver may
        have something new to send after its last OK, and is not done before that is acknowledged (RFC 998 5.3.1)."""
        self._held_ack = upto
        self._answers = self._answers or upto is None
        return self.null_ack()

    def answer_controls(self, answer: bool) -> None:
        """Whether each CONTROL is answered with a NULL-ACK at once."""
        self._answers = answer

    def show_life(self) -> None:
        """Sends something other than a KEEPALIVE that is nothing new."""
        self.null_ack()

    def go_silent(self) -> None:
        super().go_silent()
        self._answers = False

    def null_ack(self, high_seq: int | None = None) -> int:
        ack = self.ack if high_seq is None else high_seq
        return self.send(self.acknowledgement(ack))

    def acknowledgement(self, ack: int) -> bytes:
        """A NULL-ACK with the pace of an end that acknowledges so much."""
        return self.forge.null_ack(ack, *self.pace(ack))

    @property
    def slowest_pace(self) -> tuple[int, int]:
        """Slower than agreed where an OK has offered it, or the tester has made it so (NEG-09)."""
        return tolerances.slowest(super().slowest_pace, self.pace())

    def pace(self, ack: int | None = None) -> tuple[int, int]:
        """Burst size and interval in ms: the agreed ones, or slower ones that the newest acknowledged OK offers
        (RFC 998 4: the sender may only make an offer more restrictive). `ack`: default what is acknowledged now."""
        agreed, known = (self.terms.burst_size, self.terms.burst_interval_ms), self.ack if ack is None else ack
        position = bisect.bisect_right(self._offers, known, key=lambda offer: offer.seq)
        if not position:
            return agreed
        offer = self._offers[position - 1]
        return tolerances.slowest(agreed, (offer.burst_size, offer.burst_interval_ms), self.restriction or agreed)

    def react(self, seen: Seen) -> None:
        packet = seen.packet
        if packet.type is not Type.CONTROL:
            return
        self._number_buffers(packet)
        if self.lose(packet):
            self.lost(seen)
            self._lost_us = seen.time_us
            return
        self.controls.append(seen)
        for message in packet.messages:
            if message.seq not in self.messages:
                self.messages[message.seq] = message
                self._came_in[message.seq] = seen
                alike = self._of_buffer.setdefault((message.kind, message.buffer), [])
                bisect.insort(alike, message, key=lambda one: one.seq)
                if message.kind is Kind.OK and message.burst_size:
                    bisect.insort(self._offers, message, key=lambda one: one.seq)
                if message.kind is Kind.OK:
                    self._confirmed.add(message.buffer)
                if message.kind is Kind.RESEND:
                    heapq.heappush(self._requests, (message.buffer, message.seq))
        if self._answers and self.agreed is not None:
            self.null_ack()

    def _number_buffers(self, packet: Packet) -> None:
        for message in packet.messages:
            place = self.index(message.buffer)
            if message.kind is Kind.GO and self._gos[place : place + 1] != [message.buffer]:
                self._gos.insert(place, message.buffer)
                self._lowest = 0 if self._gos[-1] != message.buffer else self._lowest
                self.first_buffer = self._gos[0]

    # ---- data ----

    def number(self, buffer: int) -> int:
        """What the implementation calls this buffer, counted from 0. Without its GO: the numbers go up by one."""
        if buffer < len(self._gos):
            return self._gos[buffer]
        return (self._gos[-1] if self._gos else -1) + 1 + buffer - len(self._gos)

    def index(self, number: int) -> int:
        """The other way round: which buffer, counted from 0, has this number."""
        return bisect.bisect_left(self._gos, number)

    def buffer_data(self, number: int) -> bytes:
        size = self.terms.buffer_size
        return self.data[number * size : (number + 1) * size]

    def packet_count(self, number: int) -> int:
        return max(1, -(-len(self.buffer_data(number)) // self.terms.packet_size))

    def data_packet(self, buffer: int, packet: int, /, **override: Any) -> Packet:
        """The packet's fields; buffers counted from 0."""
        size = self.terms.packet_size
        data = self.buffer_data(buffer)[packet * size : (packet + 1) * size]
        values: dict[str, Any] = {
            "buffer": self.number(buffer),
            "high_seq": self.ack,
            "packet": packet,
            "data_checksum": packets.data_checksum(data) if self.terms.data_checksum else 0,
            "flags": int(buffer == self.buffer_count - 1),
            "data": data,
        }
        values.update(override)
        kind = Type.LDATA if packet == self.packet_count(buffer) - 1 else Type.DATA
        return Packet(b"", type=kind, **values)

    def send_packet(self, buffer: int, packet: int, /, **override: Any) -> int:
        """Sends one packet of a buffer, with any field overridden."""
        self._has(buffer, [packet])
        return self.send(self.forge.data(self.data_packet(buffer, packet, **override)))

    def send_buffer(self, buffer: int, omit: Iterable[int] = ()) -> None:
        """Sends a buffer at the agreed pace, as if the network lost the packets in `omit`."""
        lost = set(omit)
        self._has(buffer, lost)
        self.send_packets(buffer, [n for n in range(self.packet_count(buffer)) if n not in lost])

    def _has(self, buffer: int, numbers: Iterable[int]) -> None:
        """Buffers may be smaller than was requested: then a case whose exchange needs more packets is N/A."""
        count, most = self.packet_count(buffer), max(numbers, default=0)
        if most >= count:
            text = f"buffer {buffer} has {count} packets, this exchange needs packet {most}"
            raise self.too_small(text)

    def send_packets(self, buffer: int, numbers: Iterable[int]) -> None:
        burst_size, interval_ms = self.pace()
        for count, number in enumerate(numbers):
            if count and count % max(burst_size, 1) == 0:
                self.listen(self.ms(interval_ms))
            self.send_packet(buffer, number)

    # ---- expectations ----

    def find(self, kind: Kind, buffer: int) -> list[Message]:
        """The messages of this kind for this buffer seen so far, by sequence number."""
        return list(self._of_buffer.get((kind, self.number(buffer)), ()))

    def first_seen(self, seq: int) -> Seen:
        """The CONTROL in which this message came first."""
        return self._came_in[seq]

    def expect_message(self, kind: Kind, buffer: int, within_us: int, count: int = 1) -> Message:
        """The `count`-th message of this kind for this buffer exists."""
        self.until(
            lambda: len(self.find(kind, buffer)) >= count,
            within_us,
            f"{kind.name} for buffer {buffer}",
            Awaited[kind.name],
        )
        return self.find(kind, buffer)[count - 1]

    def expect_go(self, buffer: int, within_us: int | None = None) -> Message:
        return self.expect_message(Kind.GO, buffer, within_us or self.news_max_us)

    def require_gos(self, count: int, first: int = 0) -> None:
        """The exchange of a case needs so many buffers open at once. One at a time is legal (AMB-29): then N/A."""
        self.expect_go(first)
        self.listen(tolerances.QUIET_US)
        if not self.find(Kind.GO, first + count - 1):
            raise NotSupportedError(f"it opens fewer than {count} buffers at a time, this exchange needs {count}")

    def require_go_behind_unacknowledged(self, buffer: int) -> None:
        """The exchange of a case needs this GO while earlier messages wait for their acknowledgement. To keep it back
        until then is legal (AMB-29): then N/A."""
        try:
            self.expect_go(buffer)
        except UnmetError:
            if self.ack < max(self.messages, default=0):
                raise NotSupportedError("it withholds a GO until its earlier messages are acknowledged") from None
            raise

    def expect_ok(self, buffer: int, within_us: int | None = None) -> Message:
        return self.expect_message(Kind.OK, buffer, within_us or self.news_max_us)

    @property
    def news_max_us(self) -> int:
        """By then a new message has come: it may wait for the control timer while others are not acknowledged
        (AMB-69)."""
        waits = self.ack < max(self.messages, default=0)
        return self.repeat_max_us if waits else self.tolerances.reaction_max_us

    @property
    def repeat_max_us(self) -> int:
        """By then a CONTROL that is not acknowledged is repeated: the newest CONTROL with an OK publishes the control
        timer (CLOSE-07)."""
        if not self.setting.dialect.publishes_control_timer:
            return self._repeat_limit_us
        if not self.controls:
            return self._repeat_limit_us
        oks = (m for seen in reversed(self.controls) for m in seen.packet.messages if m.kind is Kind.OK)
        published_ms = next((ok.control_timer_ms for ok in oks), 0)
        return self.monitor.session.repeat_max_us(published_ms)

    @property
    def _repeat_limit_us(self) -> int:
        """The same where nothing is published."""
        published = self.setting.dialect.publishes_control_timer
        return self.tolerances.control_repeat_max_us if published else tolerances.ETFTP_REPEAT_MAX_US

    def requests(self, buffer: int) -> list[Message]:
        """What was requested of this buffer, request by request. One that came in several messages at one moment, none
        of which names a packet of another, is one (AMB-33)."""
        found: list[Message] = []
        for message in self.find(Kind.RESEND, buffer):
            if found and self._continues(found[-1], message):
                found[-1] = dataclasses.replace(message, packets=(*found[-1].packets, *message.packets))
            else:
                found.append(message)
        return found

    def _continues(self, request: Message, message: Message) -> bool:
        waited_us = self.first_seen(message.seq).time_us - self.first_seen(request.seq).time_us
        return waited_us <= self.monitor.session.slack_us and request.is_disjoint_from(message)

    def expect_resend(self, buffer: int, count: int = 1) -> Message:
        """The `count`-th request for this buffer, all parts of it; its number is that of the last part."""
        what = f"{Kind.RESEND.name} for buffer {buffer}"
        limit_us = self.request_max_us(buffer)
        self.until(lambda: len(self.requests(buffer)) >= count, limit_us, what, Awaited.RESEND)
        if self.link.real_time:
            self.listen(PARTS_US)
        return self.requests(buffer)[count - 1]

    def request_max_us(self, buffer: int) -> int:
        """By then the data timer of this buffer expires: it may take longer each time (AMB-45)."""
        times = self._request_times(buffer)
        return max(self.data_timer_max_us, GROWTH * (times[-1] - times[-2]) if len(times) > 1 else 0)

    def _request_times(self, buffer: int) -> list[int]:
        """When the first wait for a request began, at the GO or at the newest data before it, and when each came."""
        times = [self.first_seen(request.seq).time_us for request in self.requests(buffer)]
        if not times or not (gos := self.find(Kind.GO, buffer)):
            return times
        sent = self.monitor.session.data_sent.get(self.number(buffer))
        departures = [moment_us for moment_us in sent.packets.values() if moment_us < times[0]] if sent else []
        return [max([self.first_seen(gos[0].seq).time_us, *departures]), *times]

    def expect_request_after(self, buffer: int, seq: int, what: str, awaited: Awaited = Awaited.OTHER) -> Message:
        """The first RESEND for this buffer with a number after `seq`."""

        def later() -> list[Message]:
            return [message for message in self.find(Kind.RESEND, buffer) if message.seq > seq]

        self.until(lambda: bool(later()), self.request_max_us(buffer), what, awaited)
        return later()[0]

    def repair(self, buffer: int, lost: Iterable[int]) -> set[int]:
        """Sends what the network lost of a buffer, each packet when it is requested: in one request, or in as many as
        the implementation makes of it (AMB-32). Answers every number that was requested."""
        waiting, asked, useless = set(lost), set[int](), 0
        for count in itertools.count(1):
            if not waiting:
                return asked
            request = set(self.expect_resend(buffer, count).packets)
            useless = 0 if request & waiting else useless + 1
            if useless > USELESS_REQUESTS:
                what = f"a request for {sorted(waiting)} of buffer {buffer}"
                seen = f"{useless} requests name none of them"
                raise UnmetError(what, seen, self._last_frame(0), Cause.ABSENCE, "RESEND-01")
            self.send_packets(buffer, sorted(request & waiting))
            waiting -= request
            asked |= request
        raise AssertionError

    def expect_control(self, match: Callable[[Packet], bool] = lambda _packet: True) -> Seen:
        """The next CONTROL packet that matches, which repeats what is not acknowledged."""
        return self.expect(
            lambda packet: packet.type is Type.CONTROL and packet.error is None and match(packet),
            self.repeat_max_us,
            "CONTROL",
            Awaited.CONTROL,
        )

    def due_by(self, awaited: Awaited) -> str:
        """Before the first CONTROL there is nothing to repeat. Where all but the LDATA came, RESEND-05 applies."""
        if awaited is Awaited.TRANSFER:
            return "" if self._was_left else self._stalls_by()
        if awaited is Awaited.CONTROL and not self.controls:
            return ""
        due_by = super().due_by(awaited)
        sent = self.monitor.session.data_sent
        packets = self.terms.packets_per_buffer
        short = [b for b in sent.values() if b.last_packet is None and len(b.packets) + 1 == packets]
        return "RESEND-05" if due_by and awaited is Awaited.RESEND and short else due_by

    def _stalls_by(self) -> str:
        """What a receiver owes in a transfer without progress: the repetition of a CONTROL that was lost, or OK or
        RESEND for the lowest buffer that has none."""
        if self._lost_us > (self.controls[-1].time_us if self.controls else 0):
            return self.due_by(Awaited.CONTROL)
        lowest = next((n for n in range(len(self._gos)) if self.number(n) not in self._confirmed), None)
        if lowest is None or not self._was_begun(lowest):
            return ""
        sent = self.monitor.session.data_sent.get(self.number(lowest), SentData())
        requests = [self.first_seen(request.seq).time_us for request in self.requests(lowest)]
        if sent.complete_by(self.now_us):  # it may have no use for what came, and request it again
            return "" if requests and requests[-1] > max(sent.packets.values()) else "CTRL-14"
        if any(number == self.number(lowest) for number, _ in self._requests):
            return ""  # the tester owes what is requested
        return "RESEND-04" if requests else self.due_by(Awaited.RESEND)

    def round_with(self, seq: int) -> set[int]:
        """The messages of the CONTROL in which this one first came, and of those that came at the same moment: a queue
        may be cut into several (AMB-33)."""
        began_us = self.first_seen(seq).time_us
        near = [s for s in self.controls if abs(s.time_us - began_us) <= self.monitor.session.slack_us]
        return {message.seq for seen in near for message in seen.packet.messages}

    def expect_round(self, lowest: int) -> set[int]:
        """What is repeated from one appearance of message `lowest` to the one after the next, CONTROL by CONTROL."""
        first = len(self.controls)

        def appearances() -> list[int]:
            numbers = [[m.seq for m in seen.packet.messages] for seen in self.controls]
            return [n for n in range(first, len(numbers)) if lowest in numbers[n]]

        def has_come(count: int) -> Callable[[], bool]:
            return lambda: len(appearances()) >= count

        what = f"message {lowest} to be repeated"
        with self._waits(Awaited.REPEATS, 3 * self.repeat_max_us):
            for count in range(1, 4):
                self.until(has_come(count), self.repeat_max_us, what, Awaited.REPEATS)
        begin, _, end = appearances()[:3]
        return {message.seq for seen in self.controls[begin:end] for message in seen.packet.messages}

    def repeated(self, highest: int, span_us: int) -> list[Seen]:
        """CONTROLs that repeat messages up to `highest` for `span_us`, once what was on its way has come."""
        self.listen(self.tolerances.crossing_us)
        return [s for s in self.listen(span_us) if any(m.seq <= highest for m in s.packet.messages)]

    def expect_repeats(self, count: int = 2) -> int:
        """Waits for `count` further CONTROLs with nothing acknowledged. Answers the longest gap between two."""
        times = [self.controls[-1].time_us] if self.controls else []
        for _ in range(count):
            times.append(self.expect_control().time_us)
        return max(b - a for a, b in itertools.pairwise(times))

    @property
    def data_timer_max_us(self) -> int:
        """By then every data timer has expired (TIMER-07, TIMER-09)."""
        outstanding = self.terms.packets_per_buffer * self.terms.max_buffers
        limit_us = self.tolerances.data_timer_max_us(outstanding, *self.slowest_pace)
        return limit_us + self._repeat_limit_us - self.tolerances.control_repeat_max_us

    # ---- a whole transfer ----

    def finish(
        self, lose: Callable[[int, int], bool] = lambda _buffer, _packet: False, within_us: int | None = None
    ) -> None:
        """Sends whatever is left like a well-behaved sender; `lose` picks packets that the network swallows."""
        self._held_ack, self._answers = None, True
        # What is lost is repeated by the control timer, as late as the adapter states, or requested by a data timer.
        idle_us = within_us or max(self._repeat_limit_us, self.data_timer_max_us)
        within_us = within_us or 3 * self._repeat_limit_us + self.pace_us
        deadline_us = self.now_us + within_us
        over_us = min(deadline_us, self.now_us + idle_us)
        resends = [m for m in self.messages.values() if m.kind is Kind.RESEND]
        self._requests = [(m.buffer, m.seq) for m in resends if not self._is_served(m)]
        heapq.heapify(self._requests)
        unsent = collections.deque(n for n in range(self.buffer_count) if not self._was_begun(n))
        awaited = collections.Counter[int]()
        self.null_ack()
        with self._waits(Awaited.TRANSFER, within_us):
            while not self._has_all_oks():
                known, progress = len(self.messages), self._progress_made
                served = self._serve(unsent, lose)
                if not served:
                    self._next(over_us)
                if self._progress_made > progress:  # it goes on, however slowly it provides buffers or requests packets
                    deadline_us = self.now_us + within_us
                if served or len(self.messages) > known:
                    over_us = min(deadline_us, self.now_us + idle_us)
                if self._over(over_us) and not self._has_all_oks():
                    if not self.link.over and (due_us := self._request_due_us(awaited)) > over_us:
                        deadline_us, over_us = max(deadline_us, due_us), due_us
                        continue
                    why = self._why(within_us if over_us == deadline_us else idle_us)
                    seen, due_by = f"{why}; {self._progress()}", self.due_by(Awaited.TRANSFER)
                    raise UnmetError("the transfer to finish", seen, cause=Cause.ABSENCE, due_by=due_by)
        self.null_ack()
        self.end()

    @property
    def _progress_made(self) -> tuple[int, int]:
        return len(self._confirmed), self.monitor.session.packets_sent

    def _request_due_us(self, awaited: collections.Counter[int]) -> int:
        """When the last data timer expires of those that have expired before. `awaited`: how often each was waited for.
        Who requests the same without end is not waited for without end."""
        requested = {m.buffer for m in self.messages.values() if m.kind is Kind.RESEND} - self._confirmed
        open_ = [number for number in requested if awaited[number] < GROWN_WAITS]
        awaited.update(open_)
        buffers = [n for n in range(self.buffer_count) if self.number(n) in open_]  # the others have no GO
        return max((self._request_times(one)[-1] + self.request_max_us(one) for one in buffers), default=0)

    def end(self) -> None:
        """Ends a transfer that is confirmed. In ETFTP: QUIT, repeated like any sender would, until its answer comes
        (R1986-10, R1986-27)."""
        if not self.setting.dialect.ends_with_quit:
            return
        for _ in range(QUITS):
            self.send_quit("")
            with contextlib.suppress(UnmetError):
                self.expect_answer_to_quit(tolerances.TESTER_RETRY_US)
                return
        raise UnmetError("DONE", f"none to {QUITS} QUITs at the end", None, Cause.ABSENCE, "R1986-10")

    def _has_all_oks(self) -> bool:
        if len(self._confirmed) < self.buffer_count:
            return False
        return all(self.number(n) in self._confirmed for n in range(self.buffer_count))

    def _was_begun(self, buffer: int) -> bool:
        return buffer in self.lost_buffers or self.monitor.session.was_sent(self.number(buffer))

    def may_send(self, buffer: int) -> bool:
        """Whether the buffer is among the lowest ones without an OK, as many as may be outstanding, however many GOs
        came (DATA-12): a receiver may give one too many (AMB-29)."""
        while self._lowest < len(self._gos) and self.number(self._lowest) in self._confirmed:
            self._lowest += 1
        before = sum(self.number(n) not in self._confirmed for n in range(self._lowest, buffer))
        return before < self.terms.max_buffers

    def _is_served(self, message: Message) -> bool:
        """Whether every listed packet that exists was sent after this request was seen; unknown counts as no."""
        return message.seq in self.served or bool(self.find(Kind.OK, self.index(message.buffer)))

    def _serve(self, unsent: collections.deque[int], lose: Callable[[int, int], bool]) -> bool:
        """One step: retransmissions before progress, lowest buffer first (ORDER-02). `unsent`: buffers, ascending.
        Whether there was one."""
        while self._requests:
            message = self.messages[heapq.heappop(self._requests)[1]]
            buffer = self.index(message.buffer)
            known = 0 <= buffer < self.buffer_count and self.number(buffer) == message.buffer
            exists = known and message.buffer not in self._confirmed
            if exists and self.may_send(buffer):  # else it is sent when its turn comes
                # What several requests name is marked once (5.2.1).
                named = set(message.packets)
                while self._requests and self._requests[0][0] == message.buffer:
                    named.update(self.messages[heapq.heappop(self._requests)[1]].packets)
                self._deliver(buffer, sorted(n for n in named if n < self.packet_count(buffer)), lose)
                return True
        if unsent and self.find(Kind.GO, unsent[0]) and self.may_send(unsent[0]):
            buffer = unsent.popleft()
            self._deliver(buffer, list(range(self.packet_count(buffer))), lose)
            return True
        return False

    def _deliver(self, buffer: int, numbers: list[int], lose: Callable[[int, int], bool]) -> None:
        self.send_packets(buffer, [n for n in numbers if not lose(buffer, n)])
        self.listen(self.ms(self.pace()[1]))

    def _progress(self) -> str:
        done = [str(n) for n in range(self.buffer_count) if self.find(Kind.OK, n)]
        return f"OK came for {len(done)} of {self.buffer_count} buffers ({the_newest(done) or 'none'})"
