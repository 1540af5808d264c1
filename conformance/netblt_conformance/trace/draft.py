# SPDX-License-Identifier: GPL-2.0-or-later
"""A trace while it is made: events whose fates are still open, and what is known of all of them at the end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from netblt_conformance.packets.packets import DATA_TYPES, Packet, Type, data_checksum
from netblt_conformance.trace.frames import Frame
from netblt_conformance.trace.model import End, Event, Fate, Known, Position, Terms, Trace

_FAR_NS = 1 << 62


@dataclass(slots=True, eq=False)
class Draft:
    """An Event that may still change. Times as the capture has them."""

    source: int
    frame: Frame
    sent_frame: int | None = None
    sent_ns: int | None = None
    arrived_frame: int | None = None
    arrived_ns: int | None = None
    fate: Fate = Fate.UNKNOWN
    known: Known = Known.ASSUMED
    copy_of: Draft | None = None
    late: bool = False
    remarks: list[str] = field(default_factory=list)
    doubtful: bool = False  # something speaks against its arrival, and it is not proof
    foreign: bool = False  # of no connection, or of another one

    @property
    def packet(self) -> Packet:
        return self.frame.packet

    @property
    def time_ns(self) -> int:
        """When it left, or what is nearest to that."""
        moment = self.sent_ns if self.sent_ns is not None else self.arrived_ns
        return self.frame.time_ns if moment is None else moment

    @property
    def readable(self) -> bool:
        """Whether the end that gets it as it is here can read it."""
        return self.frame.checksum_good and self.packet.error is None and self.packet.type is not None

    def settle(self, fate: Fate, known: Known, why: str = "") -> None:
        """Takes a fate where none is known."""
        if self.fate is Fate.UNKNOWN:
            self.fate, self.known = fate, known
            if why:
                self.remarks.append(why)

    def doubt(self, why: str) -> None:
        """It may have been lost."""
        self.doubtful = True
        self.remarks.append(why)


def has_bad_data(packet: Packet) -> bool:
    """Whether the data checksum is wrong. Asked only where data checksums are on."""
    return packet.is_data and data_checksum(packet.data) != packet.data_checksum


def terms(drafts: Sequence[Draft]) -> Terms:
    """What RESPONSE settled; before there is one, what OPEN proposes."""
    openings = [one for one in drafts if not one.foreign and one.readable]
    found = [one for one in openings if one.packet.type is Type.RESPONSE]
    found = found or [one for one in openings if one.packet.type is Type.OPEN]
    if not found:
        return Terms()
    said = found[-1].packet
    return Terms(
        said.buffer_size,
        said.packet_size,
        said.burst_size,
        said.burst_interval_ms,
        said.max_buffers,
        said.death_timer_s,
        said.data_checksum_on,
    )


def senders(drafts: Sequence[Draft], opener: int) -> tuple[bool | None, bool | None]:
    """Which of the ends sends data."""
    for one in drafts:
        if one.foreign or one.packet.error is not None:
            continue
        kind = one.packet.type
        if kind in (Type.OPEN, Type.RESPONSE):
            opener_sends = one.packet.writes
            return (opener_sends, not opener_sends) if opener == 0 else (not opener_sends, opener_sends)
        if kind in DATA_TYPES or kind in (Type.CONTROL, Type.NULL_ACK):
            sends = kind is not Type.CONTROL
            return (sends, not sends) if one.source == 0 else (not sends, sends)
    return None, None


def finish(
    drafts: Sequence[Draft],
    ends: tuple[End, End],
    position: Position,
    notes: Sequence[str] = (),
) -> Trace:
    """The trace of these events: in order, on one clock from 0, with what follows from the order."""
    ordered = sorted(drafts, key=lambda one: (one.time_ns, one.frame.number))
    settled = terms(ordered)
    _damage(ordered, settled)
    late = _late(ordered)
    repeated = _repeated(ordered)
    numbers = {id(one): number for number, one in enumerate(ordered)}
    began_ns = ordered[0].time_ns if ordered else 0

    def since(moment: int | None) -> int | None:
        return None if moment is None else moment - began_ns

    events = tuple(
        Event(
            one.source,
            one.packet,
            one.sent_frame,
            since(one.sent_ns),
            one.arrived_frame,
            since(one.arrived_ns),
            one.fate,
            one.known,
            numbers.get(id(one.copy_of)) if one.copy_of is not None else None,
            one.late or id(one) in late,
            id(one) in repeated,
            tuple(one.remarks),
            one.foreign,
        )
        for one in ordered
    )
    return Trace(ends, position, settled, events, tuple(notes))


def _damage(drafts: Sequence[Draft], settled: Terms) -> None:
    """What is wrong with a packet by itself."""
    for one in drafts:
        packet = one.packet
        if packet.error is not None:
            one.remarks.append(f"cannot be read: {packet.error}")
        elif one.frame.cut:
            one.remarks.append("the capture has only its first bytes")
        elif not one.frame.checksum_good:
            one.remarks.append("its header checksum is wrong")
        elif settled.data_checksum and has_bad_data(packet):
            one.remarks.append("its data checksum is wrong")


def _late(drafts: Sequence[Draft]) -> set[int]:
    """Those that another overtook: one of the same end, sent later, arrived earlier."""
    found, earliest = set(), [_FAR_NS, _FAR_NS]
    for one in reversed(drafts):
        if one.arrived_ns is None or one.sent_ns is None:
            continue
        if earliest[one.source] < one.arrived_ns:
            found.add(id(one))
        if one.copy_of is None:
            earliest[one.source] = min(earliest[one.source], one.arrived_ns)
    return found


def _repeated(drafts: Sequence[Draft]) -> set[int]:
    """Retransmissions: DATA, control messages or another packet that its end sent before."""
    found: set[int] = set()
    sent: set[tuple[object, ...]] = set()
    for one in drafts:
        if one.copy_of is not None or one.packet.error is not None:
            continue
        said = _said(one)
        if said and said <= sent:
            found.add(id(one))
        sent |= said
    return found


def _said(one: Draft) -> set[tuple[object, ...]]:
    """What a retransmission of a packet repeats."""
    packet, who = one.packet, (one.source, one.foreign)
    if packet.is_data:
        return {(*who, "DATA", packet.buffer, packet.packet)}
    if packet.type is Type.CONTROL:
        return {(*who, message.seq, message.kind, message.buffer) for message in packet.messages}
    if packet.type in (Type.OPEN, Type.RESPONSE, Type.QUIT, Type.ABORT, Type.DONE):
        return {(*who, packet.type, packet.unique_id)}
    return set()
