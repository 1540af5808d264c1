# SPDX-License-Identifier: GPL-2.0-or-later
"""CTRL-14, NEG-08, RESEND-01, 06, TIMER-04, 06, 08, CLOSE-01, 07, WIRE-04: what a receiver reports of its buffers."""

from __future__ import annotations

import bisect
import itertools
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial

from netblt_conformance.common.model import MICROSECONDS_PER_MS
from netblt_conformance.common.tolerances import transfer_time_us
from netblt_conformance.common.verdicts import Verdict
from netblt_conformance.oracles.base import Check, Oracle, Report
from netblt_conformance.oracles.session import SentData, Session, after
from netblt_conformance.packets.packets import Kind, Message, Packet, Type, low_byte_first

_ONE_OK = "one OK for each buffer, when all its packets have arrived"
SECOND_OK = Check("CTRL-14", expected=_ONE_OK, seen="buffer {buffer} got a second OK, as message #{seq}")
EARLY_OK = Check("CTRL-14", expected=_ONE_OK, seen="OK for buffer {buffer} before all its packets had arrived")
NO_TIMER = Check(
    "CLOSE-07",
    expected="a control timer that is greater than zero",
    seen="OK for buffer {buffer} publishes a control timer of 0 ms",
)
NO_BURST = Check(
    "NEG-08",
    expected="burst parameters that can be used",
    seen="OK for buffer {buffer} offers a burst size of 0",
    verdict=Verdict.WARN,
)
SWAPPED = Check(
    "NEG-08",
    expected="burst size and interval at their places, two bytes each, the high one first",
    seen="every OK offers {burst} packets in {interval_ms} ms, agreed was {agreed_burst} in {agreed_ms} ms",
)
AT_ONCE = Check(
    "TIMER-06",
    expected="a wait before the RESEND, for packets may have been reordered",
    seen="RESEND for buffer {buffer} at once when data of buffer {later} came",
    verdict=Verdict.WARN,
)
AT_LDATA = Check(
    "RESEND-07",
    expected="requests when the data timer expires (AMB-31)",
    seen="RESEND for buffer {buffer} at once when its LDATA came",
    verdict=Verdict.WARN,
)
RESEND_AFTER_OK = Check(
    "TIMER-08", expected="no RESEND for a complete buffer", seen="RESEND for buffer {buffer}, which had its OK"
)
_MISSING = "the missing packets in each RESEND, each once"
EMPTY = Check("RESEND-01", expected=_MISSING, seen="RESEND for buffer {buffer} lists no packet")
LISTED_TWICE = Check("RESEND-01", expected=_MISSING, seen="RESEND for buffer {buffer} lists a packet twice: {request}")
HAD_ARRIVED = Check(
    "RESEND-01", arrival=True, expected=_MISSING, seen="RESEND for buffer {buffer} lists {packets}, which had arrived"
)
PADDED_DROPPED = Check(
    "WIRE-04",
    explains=HAD_ARRIVED.requirement,
    stalls=True,
    arrival=True,
    expected="data that are taken with the padding that follows after Length (AMB-02)",
    seen="RESEND for buffer {buffer} lists {packets}, which had arrived with padding after Length; no such packet was"
    " taken before",
)
NO_SUCH_PACKET = Check(
    "RESEND-01", expected=_MISSING, seen="RESEND for buffer {buffer} lists {packets}, a buffer has {count}"
)
LEFT_OUT = Check(
    "RESEND-01", expected=_MISSING, seen="RESEND for buffer {buffer} leaves out {missing}, which never arrived"
)
TWO_REQUESTS = Check(
    "RESEND-06",
    expected="one open RESEND for each buffer",
    seen="{message} was added while {other} is not acknowledged",
)
OTHER_REQUEST = Check(
    "RESEND-06",
    expected="one open RESEND for each buffer (AMB-31)",
    seen="{message} was added while {other}, which names other packets, is not acknowledged",
    verdict=Verdict.WARN,
)
BEFORE_GO = Check(
    "TIMER-04",
    expected="no RESEND before the GO is acknowledged",
    seen="{message} was added while {other} is not acknowledged",
)
_EARLY_DONE = partial(
    Check, "CLOSE-01", stalls=True, expected="DONE when every buffer is complete and every message acknowledged"
)
DONE_WITHOUT_LAST = _EARLY_DONE(seen="DONE although no last-buffer flag was ever sent")
DONE_UNACKNOWLEDGED = _EARLY_DONE(seen="DONE although only {acked} of {highest} messages are acknowledged")
DONE_WITH_HOLES = _EARLY_DONE(seen="DONE although packets of buffers {buffers} are missing")
DONE_WITHOUT_OK = _EARLY_DONE(seen="DONE although buffers {buffers} have no OK")


_HASTE_US = 5 * MICROSECONDS_PER_MS  # a RESEND that comes within this of the data was not thought over


@dataclass(slots=True)
class _Omission:
    """What a request leaves out, as long as a further part of it may still come."""

    buffer: int
    missing: set[int]
    time_us: int
    frame: int


@dataclass(slots=True)
class _Unacknowledged:
    """Messages of one kind for one buffer. A receiver may request thousands of packets one by one, so that they are
    looked through only when more of them are acknowledged."""

    acked: int = 0  # up to which number they were acknowledged when last looked at
    messages: list[Message] = field(default_factory=list)
    packets: set[int] = field(default_factory=set)  # that they name

    def add(self, message: Message) -> None:
        self.messages.append(message)
        self.packets.update(message.packets)

    def acknowledge(self, acked: int) -> None:
        if acked != self.acked:
            self.acked = acked
            self.messages = [message for message in self.messages if after(message.seq, acked)]
            self.packets = {packet for message in self.messages for packet in message.packets}


class RequestOracle(Oracle):
    def __init__(self, session: Session, report: Report) -> None:
        super().__init__(session, report)
        self._messages: dict[int, Message] = {}
        self._of_buffer: dict[tuple[Kind, int], list[Message]] = defaultdict(list)
        self._open: dict[tuple[Kind, int], _Unacknowledged] = defaultdict(_Unacknowledged)
        self._acknowledged_us: dict[int, int] = {}  # seq -> when it was first acknowledged
        self._highest = 0
        self._came_us: dict[int, int] = {}  # seq -> when the message first came
        self._queued_us: dict[int, int] = {}  # seq -> since when it may have waited for room in a CONTROL
        self._omitted: list[_Omission] = []
        self._moment_us = self._before_us = -1  # when CONTROLs came last, and before that; -1: never
        self._newest_control: Packet | None = None
        self._takes_padding = False  # an OK came for a buffer in which a packet had padding after Length
        self._begun_us: dict[int, int] = {}  # buffer -> when its first packet was sent

    def sent(self, packet: Packet, time_us: int, frame: int) -> None:
        del frame
        if packet.is_data:
            self._begun_us.setdefault(packet.buffer, time_us)

    def finish(self) -> None:
        for omission in self._omitted:
            self._tell(omission)
        self._judge_offers()

    def _judge_offers(self) -> None:
        """NEG-08: any pair may be offered; but no reason gives just this one, in every OK."""
        terms = self.session.response
        offers = {(m.burst_size, m.burst_interval_ms) for m in self._messages.values() if m.kind is Kind.OK}
        if terms is None or len(offers) != 1:
            return
        agreed = terms.burst_size, terms.burst_interval_ms
        [(burst, interval_ms)] = offers
        wrong = [
            (low_byte_first(agreed[0]), low_byte_first(agreed[1])),
            (agreed[0] & 0xFF, agreed[1]),
            (agreed[0], agreed[1] & 0xFF),
            (agreed[0] & 0xFF, agreed[1] & 0xFF),
        ]
        if max(agreed) % max(1, min(agreed)):  # else twice the burst in half the interval may be meant, for example
            wrong.append(agreed[::-1])
        if (burst, interval_ms) != agreed and (burst, interval_ms) in wrong:
            self.report(
                SWAPPED, None, burst=burst, interval_ms=interval_ms, agreed_burst=agreed[0], agreed_ms=agreed[1]
            )

    def received(self, packet: Packet, time_us: int, frame: int) -> None:
        self._omitted = [o for o in self._omitted if not self._is_final(o, time_us)]
        if packet.type is Type.CONTROL:
            decided_us = self._decided_us(packet, time_us)
            for message in packet.messages:
                if message.seq in self._messages:
                    continue
                self._came_us[message.seq] = time_us
                self._queued_us[message.seq] = self._waited_us(message, time_us)
                if message.kind is Kind.OK:
                    self._on_ok(message, time_us, frame)
                elif message.kind is Kind.RESEND:
                    self._on_resend(message, packet, time_us, decided_us, frame)
                self._messages[message.seq] = message
                self._of_buffer[message.kind, message.buffer].append(message)
                self._open[message.kind, message.buffer].add(message)
                self._highest = message.seq if after(message.seq, self._highest) else self._highest
            self._newest_control = packet
        elif packet.type is Type.DONE:
            self._on_done(time_us, frame)

    def _earlier(self, kind: Kind, buffer: int) -> list[Message]:
        return self._of_buffer[kind, buffer]

    def _unacknowledged(self, kind: Kind, buffer: int) -> _Unacknowledged:
        found = self._open[kind, buffer]
        found.acknowledge(self.session.highest_ack_sent)
        return found

    def _arrived_by(self, time_us: int) -> int:
        """Departure of the newest packet that can have arrived when something seen at `time_us` was emitted."""
        return time_us - self.session.round_trip_us

    def _on_ok(self, message: Message, time_us: int, frame: int) -> None:
        if self._earlier(Kind.OK, message.buffer):
            self.report(SECOND_OK, frame, buffer=message.buffer, seq=message.seq)
        sent = self.session.data_sent.get(message.buffer, SentData())
        if not sent.complete_by(self._arrived_by(time_us)):
            self.report(EARLY_OK, frame, buffer=message.buffer)
        self._takes_padding |= bool(sent.padded)
        if message.control_timer_ms == 0:
            self.report(NO_TIMER, frame, buffer=message.buffer)
        if message.burst_size == 0:
            self.report(NO_BURST, frame, buffer=message.buffer)

    def _on_resend(self, message: Message, packet: Packet, time_us: int, decided_us: int, frame: int) -> None:
        number = message.buffer
        sent = self.session.data_sent.get(number, SentData())
        if self._earlier(Kind.OK, number):
            self.report(RESEND_AFTER_OK, frame, buffer=number)
            return
        if not message.packets:
            self.report(EMPTY, frame, buffer=number)
        if len(set(message.packets)) != len(message.packets):
            self.report(LISTED_TWICE, frame, buffer=number, request=message)
        if decided_us < time_us:
            decided_us = min(decided_us, self._queued_us[message.seq])
        self._judge_listed(message, sent, decided_us, frame)
        self._judge_omitted(message, packet.length, sent, time_us, frame)
        self._judge_waiting(message, sent, frame)
        self._judge_haste(message, sent, time_us, frame)

    def _judge_haste(self, message: Message, sent: SentData, time_us: int, frame: int) -> None:
        """TIMER-06: data of a later buffer begin, those of this one are taken for lost. RESEND-07: its LDATA came. A
        request that lists the LDATA was made before that."""
        buffer = message.buffer
        if self.session.real_time:
            return  # the machine may have held up the packet, so that the data timer expired when it was read
        left_us = time_us - self.session.round_trip_us - self.session.slack_us
        if sent.packets:
            last_us = sent.packets.get(sent.last_packet, -1) if sent.last_packet is not None else -1
            if 0 <= last_us <= left_us <= last_us + _HASTE_US and sent.last_packet not in message.packets:
                self.report(AT_LDATA, frame, buffer=buffer)
            return
        for later, begun_us in self._begun_us.items():
            if later > buffer and begun_us >= left_us - _HASTE_US:
                self.report(AT_ONCE, frame, buffer=buffer, later=later)
                return

    def _decided_us(self, packet: Packet, time_us: int) -> int:
        """Since when the new messages of a CONTROL may have waited: for the acknowledgement of earlier ones, or for the
        timer that repeats these (AMB-69)."""
        session = self.session
        if time_us - self._moment_us > session.slack_us or self._moment_us < 0:
            self._before_us, self._moment_us = self._moment_us, time_us
        repeats = any(message.seq in self._messages for message in packet.messages)
        acked_us = session.acks_sent[-1][0] if session.acks_sent else -1
        follows = acked_us >= 0 and time_us - acked_us <= session.round_trip_us + session.tolerances.crossing_us
        return self._before_us if self._before_us >= 0 and (repeats or follows) else time_us

    def _waited_us(self, message: Message, time_us: int) -> int:
        """Since when a message may have waited for room in a CONTROL: as long as the first message of the queue before
        it, which may have waited too (AMB-33)."""
        before = self._newest_control
        if before is None or not before.messages or before.length + message.size <= self.session.control_limit:
            return time_us
        return self._queued_us[before.messages[0].seq]

    def _judge_listed(self, message: Message, sent: SentData, decided_us: int, frame: int) -> None:
        """RESEND-01: nothing that had arrived, nothing that cannot exist. Packets on their way count as missing. Where
        only packets with padding after Length are listed, they were dropped for it: the list is right (WIRE-04)."""
        held = [n for n in message.packets if n in sent.packets and self.session.knew(sent.packets[n], decided_us)]
        if held:
            dropped = not self._takes_padding and sent.padded.issuperset(held)
            self.report(PADDED_DROPPED if dropped else HAD_ARRIVED, frame, buffer=message.buffer, packets=tuple(held))
        terms = self.session.response
        count = -(-terms.buffer_size // max(terms.packet_size, 1)) if terms else 65536
        beyond = [n for n in message.packets if n >= count]
        if beyond:
            self.report(NO_SUCH_PACKET, frame, buffer=message.buffer, packets=tuple(beyond), count=count)

    def _judge_omitted(self, message: Message, size: int, sent: SentData, time_us: int, frame: int) -> None:
        """RESEND-01: with the LDATA there, every hole is known and must be listed, as far as a packet holds it."""
        if sent.last_packet is None or not self.session.knew(sent.packets[sent.last_packet], time_us):
            return
        missing = {n for n in range(sent.last_packet + 1) if n not in sent.packets}
        for omission in self._omitted:
            if omission.buffer == message.buffer:  # this is the next part of the same request
                omission.missing -= set(message.packets)
        missing -= set(message.packets)
        missing -= self._unacknowledged(Kind.RESEND, message.buffer).packets
        for other in self._being_served(message, time_us):
            missing -= set(other.packets)
        if missing and size + 2 * len(missing) + 2 <= self.session.control_limit:
            self._omitted.append(_Omission(message.buffer, missing, time_us, frame))

    def _being_served(self, message: Message, time_us: int) -> Iterator[Message]:
        """Earlier requests that were acknowledged so lately that their packets may still be on the way: one more for
        those would bring them twice. Or earlier parts of the same request (AMB-33)."""
        session, pace = self.session, self.session.slowest_pace
        allowed_us = session.round_trip_us + session.slack_us + session.tolerances.crossing_us

        def lately(other: Message) -> bool:
            waited_us = time_us - self._when_acknowledged(other.seq)
            return waited_us <= allowed_us or waited_us <= allowed_us + transfer_time_us(len(other.packets), *pace)

        requests = self._of_buffer[Kind.RESEND, message.buffer]
        acknowledged = len(requests) - len(self._unacknowledged(Kind.RESEND, message.buffer).messages)
        return itertools.takewhile(lately, reversed(requests[:acknowledged]))

    def _when_acknowledged(self, seq: int) -> int:
        """When the tester first acknowledged this message, which it has."""
        if seq not in self._acknowledged_us:
            acks = self.session.acks_sent
            first = bisect.bisect_left(acks, True, key=lambda ack: not after(seq, ack[1]))
            self._acknowledged_us[seq] = acks[first][0]
        return self._acknowledged_us[seq]

    def _is_final(self, omission: _Omission, time_us: int) -> bool:
        """Once the moment is over at which a list came, no further part of it comes; what it lacks is reported."""
        over = time_us - omission.time_us > self.session.slack_us
        if over:
            self._tell(omission)
        return over

    def _tell(self, omission: _Omission) -> None:
        if omission.missing:
            missing = tuple(sorted(omission.missing))
            self.report(LEFT_OUT, omission.frame, buffer=omission.buffer, missing=missing)

    def _is_part(self, message: Message, other: Message) -> bool:
        """One request in several messages: queued at one moment, and no packet is named twice (AMB-33)."""
        together = abs(self._came_us[message.seq] - self._came_us[other.seq]) <= self.session.slack_us
        return together and message.is_disjoint_from(other)

    def _judge_waiting(self, message: Message, sent: SentData, frame: int) -> None:
        """RESEND-06, TIMER-04: a buffer whose request is not acknowledged waits for that (state ACK-WAIT)."""
        requests = self._unacknowledged(Kind.RESEND, message.buffer)
        is_further = requests.packets.isdisjoint(message.packets)
        for other in requests.messages:
            if self._is_part(message, other):
                if is_further:
                    break  # so are all that came later
                continue
            check = OTHER_REQUEST if message.is_disjoint_from(other) else TWO_REQUESTS
            self.report(check, frame, message=message, other=other)
        for other in () if sent.packets else self._unacknowledged(Kind.GO, message.buffer).messages:
            self.report(BEFORE_GO, frame, message=message, other=other)

    def _on_done(self, time_us: int, frame: int) -> None:
        """CLOSE-01: L seen, everything acknowledged, nothing missing."""
        last = self.session.last_buffer_sent
        if last is None:
            self.report(DONE_WITHOUT_LAST, frame)
            return
        if after(self._highest, self.session.highest_ack_sent):
            self.report(DONE_UNACKNOWLEDGED, frame, acked=self.session.highest_ack_sent, highest=self._highest)
        gone = sorted(m.buffer for m in self._messages.values() if m.kind is Kind.GO and m.buffer <= last[0])
        moment = self._arrived_by(time_us)
        holes = [n for n in gone if not self.session.data_sent.get(n, SentData()).complete_by(moment)]
        if holes:
            self.report(DONE_WITH_HOLES, frame, buffers=tuple(holes))
        unconfirmed = [n for n in gone if not self._earlier(Kind.OK, n)]
        if unconfirmed and not holes:
            self.report(DONE_WITHOUT_OK, frame, buffers=tuple(unconfirmed))
