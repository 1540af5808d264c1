# SPDX-License-Identifier: GPL-2.0-or-later
"""What one end received and sent in a capture, in a form in which two implementations can be compared: without ports,
unique IDs, and the sizes that an end may choose."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from netblt_conformance.packets.captures import Way
from netblt_conformance.packets.packets import OPENING_TYPES, Message, Packet, Type
from netblt_conformance.trace.frames import Frame
from netblt_conformance.trace.labels import label

# In OPEN and RESPONSE: what an end proposes or agrees to.
SIZES = ("buffer_size", "packet_size", "burst_size", "burst_interval_ms", "death_timer_s", "max_buffers")
# What differs from connection to connection, follows from other fields, or is compared otherwise.
_LEFT_OUT = frozenset(
    {
        "raw",
        "type",
        "type_code",
        "checksum",
        "length",
        "local_port",
        "foreign_port",
        "unique_id",
        "messages",
        "data",
        *SIZES,
    }
)
_FIELDS = tuple(field.name for field in dataclasses.fields(Packet) if field.name not in _LEFT_OUT)
# Of these only whether they are zero.
_ANY = frozenset({"padding", "header_padding", "data_checksum"})
_NUMBERS = 1 << 32  # of buffers
DAMAGED = "damaged"  # the only field of a packet that cannot be believed


@dataclass(frozen=True, slots=True)
class Step:
    """One packet that an end received or sent."""

    frame: int
    time_us: int
    sent: bool
    packet: Packet
    fields: dict[str, Any]  # what is compared
    received: int  # packets that it had received before
    copies: frozenset[int]  # frames of this packet at all capture points

    @property
    def text(self) -> str:
        return DAMAGED + " packet" if DAMAGED in self.fields else label(self.packet)


@dataclass(frozen=True, slots=True)
class Exchange:
    """All packets of one end, in their order."""

    steps: tuple[Step, ...]
    sizes: dict[str, dict[str, int]]  # of "OPEN" and "RESPONSE": what was proposed and agreed

    @property
    def sent(self) -> list[Step]:
        return [step for step in self.steps if step.sent]

    @property
    def received(self) -> list[Step]:
        return [step for step in self.steps if not step.sent]

    @property
    def agreed(self) -> dict[str, int]:
        """The sizes that the connection has; before a RESPONSE those that were proposed."""
        return self.sizes.get("RESPONSE") or self.sizes.get("OPEN") or {}


def exchange(frames: Iterable[Frame], address: str, *, relative: bool = False) -> Exchange:
    """Of the end with this address, at the capture point that is nearest to it. `relative`: buffers are counted from
    the first one, because programs begin with random numbers."""
    every = list(frames)
    copies: dict[tuple[Any, ...], set[int]] = {}
    for frame in every:
        copies.setdefault(_same(frame), set()).add(frame.number)
    found: list[Step] = []
    sizes: dict[str, dict[str, int]] = {}
    start_ns, received = None, 0
    base: int | None = None if relative else 0
    for frame in _at(every, address):
        packet, sent = frame.packet, frame.source == address
        if start_ns is None:
            start_ns = frame.time_ns
        good = frame.checksum_good and packet.error is None
        if base is None and good and packet.messages:
            base = packet.messages[0].buffer
        fields = _fields(packet, base or 0) if good else {DAMAGED: True}
        if packet.type is not None and packet.type in OPENING_TYPES and DAMAGED not in fields:
            sizes.setdefault(packet.type.name, {name: getattr(packet, name) for name in SIZES})
        time_us = (frame.time_ns - start_ns) // 1_000
        found.append(Step(frame.number, time_us, sent, packet, fields, received, frozenset(copies[_same(frame)])))
        received += not sent
    return Exchange(tuple(found), sizes)


def _same(frame: Frame) -> tuple[Any, ...]:
    """What a packet has alike at both capture points."""
    return frame.source, frame.identification, frame.packet.raw


def _at(frames: Sequence[Frame], address: str) -> Iterator[Frame]:
    """Of a capture of both sides of a path, the side on which the packets of this end enter the path."""
    mine = {frame.interface for frame in frames if frame.source == address and frame.way is Way.INBOUND}
    sides = {frame.interface for frame in frames}
    side = next(iter(mine), "") if len(mine) == 1 and len(sides) > 1 else ""
    for frame in frames:
        if address in (frame.source, frame.destination) and (not side or frame.interface == side):
            yield frame


def _fields(packet: Packet, base: int) -> dict[str, Any]:
    """Everything that two packets of the same type are compared by."""
    found: dict[str, Any] = {"type": packet.type}
    for name in _FIELDS:
        value = getattr(packet, name)
        if value:
            found[name] = True if name in _ANY else value
    if packet.type is Type.CONTROL:
        found["messages"] = tuple(_message(message, base) for message in packet.messages)
    if packet.type is not None and packet.type in OPENING_TYPES and packet.text:
        found["string"] = True  # what it states is the clients' business
    if packet.is_data:
        found["buffer"] = _counted(packet.buffer, base)
        # With other sizes the same bytes are in other packets.
        found["length"] = packet.length - len(packet.data)
        found["trailer"] = len(packet.raw) - packet.length
    return found


MESSAGE_PARTS = ("kind", "sequence number", "buffer", "burst size", "burst interval", "packets")


def _message(message: Message, base: int) -> tuple[Any, ...]:
    """Without the control timer value, which follows the measured round trip."""
    buffer = _counted(message.buffer, base)
    return message.kind, message.seq, buffer, message.burst_size, message.burst_interval_ms, message.packets


def _counted(buffer: int, base: int) -> int:
    return (buffer - base) % _NUMBERS
