# SPDX-License-Identifier: GPL-2.0-or-later
"""The abstract outputs: what an implementation did, as text that is the same whenever it did the same. Numbers
that differ from connection to connection (ports, IDs, sequence numbers, times) become their relation to the state."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from netblt_conformance.common.model import Parameters, Status
from netblt_conformance.packets.packets import STRING_TYPES, Kind, Message, Packet, Type, data_checksum

NOTHING = "-"
CRASH = "crash"  # the implementation crashed, hung, or broke the protocol of its link
AGAIN = " again"
JOINED = ", "
# Of the others a repetition is as good as a first one: answers to packets, each by itself.
_TOLD_AGAIN = (Type.QUIT, Type.DONE)
# A timer that repeats until the death timer expires does so at least as often, whatever its length.
_MANY = 4
_ROW = 8  # packets; a shorter row is written out
_NEGOTIATED = ("buffer_size", "packet_size", "burst_size", "burst_interval_ms", "max_buffers", "flags")
_STATUS = {
    Status.OPEN: "client: open",
    Status.DONE: "client: success",
    Status.FAILED: "client: failure",
    Status.CLOSED_DONE: "client: success, closed",
    Status.CLOSED_FAILED: "client: failure, closed",
}


@dataclass(slots=True)
class Seen:
    """What the implementation has sent in one connection so far."""

    wanted: Parameters  # what both ends propose or accept
    data: bytes = b""  # what a sending implementation has to send
    first_buffer: int | None = None  # number of the buffer that outputs call 0
    granted: list[int] = field(default_factory=list)  # numbers of the buffers of a sender, counted from 0, in order
    version: int | None = None
    openings: dict[Type, tuple[int, ...]] = field(default_factory=dict)
    messages: dict[int, Message] = field(default_factory=dict)
    packets: set[tuple[int, int]] = field(default_factory=set)
    types: set[Type] = field(default_factory=set)
    status: Status = Status.OPENING

    def status_text(self, status: Status, delivered_right: bool) -> str:
        """What the client got to know since the last time; empty: nothing."""
        if status is self.status:
            return ""
        self.status = status
        text = _STATUS.get(status, "client: opening")
        return text if delivered_right or not status.succeeded else f"{text}, with wrong data"

    def text(self, packet: Packet, sent_seq: int) -> str:
        """One packet. `sent_seq`: the highest number such that the tester sent all messages up to it."""
        if packet.error is not None or packet.type is None:
            return "unreadable packet"
        text = self._body(packet, packet.type, sent_seq)
        if not packet.checksum_good:
            text += " (bad checksum)"
        self.version = packet.version if self.version is None else self.version
        if packet.version != self.version:
            text += " (another version)"
        self.types.add(packet.type)
        return text

    def _body(self, packet: Packet, kind: Type, sent_seq: int) -> str:
        if kind in (Type.OPEN, Type.RESPONSE):
            return self._opening(packet, kind)
        if kind is Type.CONTROL:
            return f"CONTROL[{JOINED.join(self._message(message) for message in packet.messages)}]"
        if packet.is_data:
            return self._data(packet, kind) + _ack(packet, sent_seq)
        if kind is Type.NULL_ACK:
            return kind.text + _ack(packet, sent_seq) + self._pace(packet)
        if kind in STRING_TYPES and not packet.text:
            return f"{kind.text} without a reason"
        return kind.text + (AGAIN if kind in self.types and kind in _TOLD_AGAIN else "")

    def _opening(self, packet: Packet, kind: Type) -> str:
        values = (packet.unique_id, packet.death_timer_s, *(getattr(packet, name) for name in _NEGOTIATED))
        before = self.openings.setdefault(kind, values)
        if kind in self.types:
            return kind.text + (AGAIN if values == before else " changed")
        others = [name for name in _NEGOTIATED[:-1] if getattr(packet, name) != getattr(self.wanted, name)]
        return kind.text + (
            f"({JOINED.join(_relation(packet, self.wanted, name) for name in others)})" if others else ""
        )

    def _message(self, message: Message) -> str:
        if message.kind is Kind.GO and self.first_buffer is None:
            self.first_buffer = message.buffer
        new = message.seq not in self.messages
        known = self.messages.setdefault(message.seq, message)
        text = f"{message.kind.name} {message.buffer - (self.first_buffer or 0)}"
        if message.packets:
            text += ":" + packet_numbers(message.packets)
        if message.kind is Kind.OK:
            text += self._pace(message) + ("" if message.control_timer_ms else " without control timer")
        if any(message.padding):
            text += " (padding)"
        if new:
            gap = message.seq > 1 and message.seq - 1 not in self.messages
            return f"new {text}" + (" (gap)" if gap or message.seq == 0 else "")
        return text if known.identity == message.identity else f"{text} changed"

    def _place(self, buffer: int) -> int:
        """Buffers count from the first GO; numbers that were left out do not count."""
        number = buffer - (self.first_buffer or 0)
        return self.granted.index(number) if number in self.granted else number

    def _pace(self, offer: Packet | Message) -> str:
        """How the burst pair of an OK or a NULL-ACK differs from the one that was agreed."""
        wanted = self.wanted
        if offer.burst_size > wanted.burst_size or offer.burst_interval_ms < wanted.burst_interval_ms:
            return " faster"
        same = (offer.burst_size, offer.burst_interval_ms) == (wanted.burst_size, wanted.burst_interval_ms)
        return "" if same else " slower"

    def _data(self, packet: Packet, kind: Type) -> str:
        number = self._place(packet.buffer)
        text = f"{kind.text} {number}.{packet.packet}" + (" L" if packet.last_buffer else "")
        if (number, packet.packet) in self.packets:
            text += AGAIN
        self.packets.add((number, packet.packet))
        begin = number * self.wanted.buffer_size + packet.packet * self.wanted.packet_size
        end = min(begin + self.wanted.packet_size, (number + 1) * self.wanted.buffer_size)
        right = self.data[begin:end]
        if packet.data[: len(right)] != right or any(packet.data[len(right) :]):
            text += " (wrong data)"
        elif self.wanted.data_checksum and packet.data_checksum != data_checksum(packet.data):
            text += " (bad data checksum)"
        return text


def _relation(packet: Packet, wanted: Parameters, name: str) -> str:
    more = getattr(packet, name) > getattr(wanted, name)
    return f"{name} {'larger' if more else 'smaller'}"


def _ack(packet: Packet, sent_seq: int) -> str:
    """Which messages it acknowledges: all that came in order, fewer, or more."""
    if packet.high_seq == sent_seq:
        return ""
    return " ack fewer" if packet.high_seq < sent_seq else " ack more"


def is_new(text: str) -> bool:
    """Whether it is more than a repetition or a sign of life."""
    if text.startswith("CONTROL["):
        return "new " in text
    return not text.endswith(AGAIN) and not text.startswith((Type.KEEPALIVE.text, Type.NULL_ACK.text))


def in_order(texts: Iterable[str]) -> str:
    """The reaction to an input: what follows upon itself is there once, and a long row of data packets by its ends."""
    kept: list[str] = []
    for text in _rows(list(texts)):
        if not kept or kept[-1].removesuffix("*") != text:
            kept.append(text)
        else:
            kept[-1] = f"{text}*"
    return JOINED.join(kept) or NOTHING


def _rows(texts: list[str]) -> list[str]:
    found: list[str] = []
    for _, group in itertools.groupby(enumerate(texts), lambda pair: _row(pair[1], pair[0])):
        row = [text for _, text in group]
        long = len(row) >= _ROW and _row(row[0], 0) is not None
        found += [f"{row[0]} ... {row[-1]}"] if long else row
    return found


def _row(text: str, place: int) -> tuple[str, int, str] | None:
    """The same for data packets of one row, whose numbers go up by one."""
    found = re.fullmatch(r"(L?DATA \d+)\.(\d+)(.*)", text)
    return (found[1], int(found[2]) - place, found[3]) if found else None


def packet_numbers(packets: Iterable[int]) -> str:
    """Of a RESEND; a long row of them by its ends."""
    found: list[str] = []
    for _, group in itertools.groupby(enumerate(packets), lambda pair: pair[1] - pair[0]):
        row = [str(number) for _, number in group]
        found += [f"{row[0]}...{row[-1]}"] if len(row) >= _ROW else row
    return "+".join(found)


def relative(text: str, buffer: int) -> str:
    """A reaction with all numbers of buffers counted from this one."""
    return re.sub(r"\b(GO|OK|RESEND|L?DATA) (\d+)", lambda found: f"{found[1]} {int(found[2]) - buffer:+d}", text)


def repeats(text: str) -> bool:
    """Whether their number shows that a timer goes on until the connection ends."""
    return text.startswith("CONTROL[") or text == f"{Type.QUIT.text}{AGAIN}"


def as_set(texts: Iterable[str], marks: Iterable[str] = ()) -> str:
    """What time brought: each kind once, in the order of the alphabet, with a mark when it came often.
    KEEPALIVEs count where nothing else came. `marks`: what its times prove."""
    counts = Counter(texts)
    kinds = {f"{text}*" if count >= _MANY and repeats(text) else text for text, count in counts.items()}
    packets = {text for text in kinds if not text.startswith("client:")}
    if packets - {Type.KEEPALIVE.text}:
        kinds.discard(Type.KEEPALIVE.text)
    return JOINED.join([*sorted(kinds), *marks]) or NOTHING
