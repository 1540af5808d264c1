# SPDX-License-Identifier: GPL-2.0-or-later
"""CTRL-01..05, 13, 16, DATA-06, DATA-10, DATA-12: the control packet of a receiving implementation as a queue."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import NamedTuple

from netblt_conformance.common.verdicts import Verdict
from netblt_conformance.oracles.base import Check, Oracle, Report
from netblt_conformance.oracles.session import Session, after
from netblt_conformance.packets.packets import HEADER_BYTES, Kind, Message, Packet, Type
from netblt_conformance.packets.sequence import follows, preceding


class Numbers(tuple[int, ...]):
    """Sequence numbers of messages."""

    __slots__ = ()

    def __str__(self) -> str:
        return ", ".join(f"#{seq}" for seq in self)


NOT_ASCENDING = Check(
    "CTRL-03",
    expected="consecutive ascending messages in each CONTROL",
    seen="messages {messages} in one CONTROL",
)
TOO_MANY_GOS = Check(
    "DATA-12",
    expected="no more outstanding buffers than were agreed",
    seen="more than {limit} buffers have a GO and no OK (AMB-29)",
    verdict=Verdict.WARN,
)
CHANGED = Check(
    "CTRL-02", expected="the same message in its repetition", seen="message {known} was repeated as {message}"
)
WRONG_NUMBER = Check(
    "CTRL-01",
    expected="the next number for each new control message",
    seen="new control message #{seq}, number {due} was due",
)
SECOND_GO = Check(
    "CTRL-13", expected="one GO for each buffer", seen="buffer {buffer} got a second GO, as message #{seq}"
)
GO_BEYOND_LAST = Check(
    "DATA-10",
    expected="no GO beyond the last buffer",
    seen="GO for buffer {buffer} although buffer {last} carried the last-buffer flag (AMB-30)",
    verdict=Verdict.WARN,
)
NUMBER_FELL = Check(
    "DATA-06", expected="buffer numbers that increase", seen="GO for buffer {buffer} follows the GO for buffer {before}"
)
NUMBER_SKIPPED = Check(
    "DATA-06",
    expected="buffer numbers that go up by one (AMB-47)",
    seen="GO for buffer {buffer} follows the GO for buffer {before}",
    verdict=Verdict.WARN,
)
LEFT_OUT = Check(
    "CTRL-04",
    expected="every message that is not acknowledged, in each CONTROL",
    seen="CONTROL leaves out {missing}: sent before and not acknowledged",
)
STALE = Check(
    "CTRL-05",
    arrival=True,
    expected="no message that was acknowledged",
    seen="CONTROL repeats {messages} although {acked} was acknowledged",
)


PATH_BYTES = 1480  # what fits most paths in one piece (DATA-14)
TOO_LARGE = Check(
    "CTRL-16",
    expected="CONTROLs that fit most paths, as a prefix of the queue or in parts",
    seen="a CONTROL of {bytes} bytes",
    verdict=Verdict.WARN,
)


class _Size(NamedTuple):
    """Of a CONTROL."""

    bytes: int
    messages: int


_ANY_SIZE = _Size(65536, 65536)


class _Parts:
    """CONTROLs of one moment that look like parts of one queue. No message is in two of them. A receiver may send 512
    GOs in as many CONTROLs of one moment, each with the whole queue, so that each question here must be cheap."""

    def __init__(self) -> None:
        self.whole: set[int] = set()
        self._sizes: list[_Size] = []
        self._part_with: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self._sizes)

    def add(self, messages: tuple[Message, ...]) -> None:
        different = {message.seq: message for message in messages}
        self._part_with |= dict.fromkeys(different, len(self._sizes))
        self._sizes.append(_Size(HEADER_BYTES + sum(one.size for one in different.values()), len(different)))
        self.whole |= different.keys()

    def size_before(self, first: int) -> _Size | None:
        """Of the part that holds the message before this one; None when no part does."""
        found = [self._part_with[seq] for seq in preceding(first) if seq in self._part_with]
        return self._sizes[min(found)] if found else None


@dataclass(slots=True)
class _Suspect:
    """A CONTROL that leaves messages out, perhaps because it is too small for the whole queue."""

    missing: set[int]
    frame: int
    queue_bytes: int  # of a CONTROL that holds the whole queue
    round_us: int  # the moment to which it belongs
    first: int  # message in it
    joined: _Size | None = None  # of the part before it with that message; None: it is no part


class ControlOracle(Oracle):
    def __init__(self, session: Session, report: Report) -> None:
        super().__init__(session, report)
        self.messages: dict[int, Message] = {}
        self._unacknowledged: list[int] = []  # of these, when last looked at
        self.highest = 0
        self._largest_control = 0
        self._largest_shared = 0  # of those with several messages: a single one must be sent, however large
        self._most_messages = 0  # in a CONTROL
        self._newest_length = 0  # of the CONTROL before this one
        self._round_us = -1  # when the newest CONTROL came
        self._round = _Parts()  # the CONTROLs that came at that moment
        self._newer: set[int] = set()  # messages that came first at that moment
        self._provoked = False  # whether the tester has sent anything since that moment began
        self._splits = False  # whether the queue was ever seen whole in several CONTROLs at once (AMB-33)
        self._suspects: list[_Suspect] = []
        self._gos: set[int] = set()  # buffers
        self._open: set[int] = set()  # those of them without an OK
        self._oks: set[int] = set()
        self._newest_go: int | None = None

    def sent(self, packet: Packet, time_us: int, frame: int) -> None:
        del packet, time_us, frame
        self._provoked = True

    def received(self, packet: Packet, time_us: int, frame: int) -> None:
        if packet.type is not Type.CONTROL or not packet.messages:
            return
        self._begin_round(packet, time_us)
        if packet.length > PATH_BYTES:
            self.report(TOO_LARGE, frame, bytes=packet.length)
        sequences = [message.seq for message in packet.messages]
        if not all(follows(b, a) for a, b in itertools.pairwise(sequences)):
            self.report(NOT_ASCENDING, frame, messages=Numbers(sequences))
        for message in packet.messages:
            self._on_message(message, time_us, frame)
        if len(self._open) > self._limit():
            self.report(TOO_MANY_GOS, frame, limit=self._limit())
        self._judge_redundancy(packet, frame)
        self._look_for_split()
        self._judge_dropped(packet, time_us, frame)
        self._newest_length = packet.length

    def _limit(self) -> int:
        return self.session.response.max_buffers if self.session.response else 65535

    def _on_message(self, message: Message, time_us: int, frame: int) -> None:
        known = self.messages.get(message.seq)
        if known is not None:
            if known.identity != message.identity:
                self.report(CHANGED, frame, known=known, message=message)
            return
        if not follows(message.seq, self.highest):
            self.report(WRONG_NUMBER, frame, seq=message.seq, due=self.highest + 1)
        self.messages[message.seq] = message
        self._newer.add(message.seq)
        self._unacknowledged.append(message.seq)
        if after(message.seq, self.highest):
            self.highest = message.seq
        if message.kind is Kind.GO:
            self._on_go(message, time_us, frame)
        elif message.kind is Kind.OK:
            self._oks.add(message.buffer)
            self._open.discard(message.buffer)

    def _on_go(self, message: Message, time_us: int, frame: int) -> None:
        if message.buffer in self._gos:
            self.report(SECOND_GO, frame, buffer=message.buffer, seq=message.seq)
        elif self._newest_go is not None:
            self._judge_number(message.buffer, self._newest_go, frame)
        self._gos.add(message.buffer)
        if message.buffer not in self._oks:
            self._open.add(message.buffer)
        self._newest_go = message.buffer
        last = self.session.last_buffer_sent
        if last is None or message.buffer <= last[0]:
            return
        # A receiver that confirms the last buffer has seen its flag. Before, a GO may have waited for room (AMB-33).
        waited = self._newest_length + message.size > self.session.control_limit
        if last[0] in self._oks or (self.session.knew(last[1], time_us) and not waited):
            self.report(GO_BEYOND_LAST, frame, buffer=message.buffer, last=last[0])

    def _judge_number(self, number: int, before: int, frame: int) -> None:
        """DATA-06: buffer numbers increase; a step of one is usual and nowhere required."""
        if number < before:
            self.report(NUMBER_FELL, frame, buffer=number, before=before)
        elif number != before + 1:
            self.report(NUMBER_SKIPPED, frame, buffer=number, before=before)

    def _judge_redundancy(self, packet: Packet, frame: int) -> None:
        """CTRL-04: every message above the highest acknowledgement that was ever sent must be included.

        What the tester has not acknowledged yet cannot have been acknowledged when the packet was emitted, so this
        needs no clock. How much a CONTROL may hold is the implementation's choice (AMB-33), known at the end only.
        """
        present = {message.seq for message in packet.messages}
        queue = self._queue()
        missing = sorted(seq for seq in queue if seq not in present)
        if missing:
            size = HEADER_BYTES + sum(self.messages[seq].size for seq in queue)
            self._suspects.append(_Suspect(set(missing), frame, size, self._round_us, packet.messages[0].seq))
        for suspect in itertools.takewhile(lambda one: one.round_us == self._round_us, reversed(self._suspects)):
            if suspect.missing <= self._round.whole:
                suspect.joined = self._joined(suspect.first)

    def _joined(self, first: int) -> _Size:
        """Of the part before the one that begins with this message, if it held this message too. The first part has
        none before it; what it leaves out begins the next part, which is judged for itself."""
        before = self._round.size_before(first)
        if before is None:
            return _ANY_SIZE
        return _Size(before.bytes + self.messages[first].size, before.messages + 1)

    def _queue(self) -> list[int]:
        """Everything that was sent and is not acknowledged."""
        acked = self.session.highest_ack_sent
        self._unacknowledged = [seq for seq in self._unacknowledged if after(seq, acked)]
        return self._unacknowledged

    def _begin_round(self, packet: Packet, time_us: int) -> None:
        """CONTROLs that come at one moment are one queue in several packets, until one of them begins it again."""
        self._largest_control = max(self._largest_control, packet.length)
        self._most_messages = max(self._most_messages, len(packet.messages))
        if len(packet.messages) > 1:
            self._largest_shared = max(self._largest_shared, packet.length)
        if time_us - self._round_us > self.session.slack_us or self._round_us < 0:
            self._round_us, self._round = time_us, _Parts()
            self._newer, self._provoked = set(), False
        elif not self._round.whole.isdisjoint(message.seq for message in packet.messages):
            self._round = _Parts()
        self._round.add(packet.messages)

    def _look_for_split(self) -> None:
        """An implementation that cuts its queue sends all of it at once, in parts that do not overlap. One that leaves
        messages out sends all of it only while all of it is new, or when the tester provokes new ones meanwhile."""
        whole = self._round.whole
        is_repeated = not whole <= self._newer and not self._provoked
        if len(self._round) > 1 and is_repeated and whole.issuperset(self._queue()):
            self._splits = True

    def finish(self) -> None:
        """CTRL-04, now that it is known how large the implementation makes its CONTROLs."""
        for suspect in self._suspects:
            if self._has_room(suspect):
                self.report(LEFT_OUT, suspect.frame, missing=Numbers(sorted(suspect.missing)))
        self._suspects.clear()

    def _has_room(self, suspect: _Suspect) -> bool:
        """Whether the messages that are missing would have fitted. Some implementations count bytes, some messages."""
        if suspect.joined is not None:
            return suspect.joined.bytes <= self._largest_shared and suspect.joined.messages <= self._most_messages
        room = self._largest_control if self._splits else max(self._largest_control, self.session.control_limit)
        return suspect.queue_bytes <= room

    def _judge_dropped(self, packet: Packet, time_us: int, frame: int) -> None:
        """CTRL-05: a message whose acknowledgement had arrived must not appear. Another message with its number is no
        repetition of it (CTRL-02)."""
        acked = self.session.ack_known_at(time_us)
        if acked is None:
            return
        old = [message for message in packet.messages if not after(message.seq, acked)]
        stale = [one.seq for one in old if one.identity == self.messages[one.seq].identity]
        if stale:
            self.report(STALE, frame, messages=Numbers(stale), acked=acked)
