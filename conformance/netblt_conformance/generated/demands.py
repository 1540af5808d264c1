# SPDX-License-Identifier: GPL-2.0-or-later
"""What RFC 998 demands of an implementation when an illegal packet arrives: nothing may follow from it, or the
connection may end as well, or anything may follow, because no implementation can recognize the packet as wrong."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field

from netblt_conformance.generated import originals
from netblt_conformance.oracles.session import after
from netblt_conformance.packets import packets
from netblt_conformance.packets.packets import Kind, Message, Packet
from netblt_conformance.peer import ReceiverPeer, SenderPeer

_WAITS = 1000  # buffers and messages this far ahead cannot be on their way
_NUMBERS, _BUFFERS = 1 << 16, 1 << 32
_HALF = 1 << 15


class Effect(enum.Enum):
    """What may follow."""

    NONE = "nothing: the packet counts as lost"
    END = "nothing, or the end of the connection: an impossible packet may be a malfunction (RFC 998 5.3.3, AMB-71)"
    ABORTED = "an ABORT that answers it, and nothing else: the packet is of another connection (RFC 998 5.1)"
    ABORT = "nothing, an ABORT that answers it, or the end of the connection"
    ANY = "anything but a crash, a hang or a flood: the packet could be true"


@dataclass(frozen=True, slots=True)
class Demand:
    """What may follow from one packet, and the requirement under which anything else is reported."""

    effect: Effect
    requirement: str


@dataclass(slots=True)
class Known:
    """What the tester has seen the implementation emit, packets that counted as lost too."""

    gos: set[int] = field(default_factory=set)
    oks: set[int] = field(default_factory=set)
    data: dict[int, set[int]] = field(default_factory=dict)  # buffer -> packets

    @classmethod
    def of(cls, peer: ReceiverPeer | SenderPeer) -> Known:
        known = cls()
        for seen in peer.seen:
            packet = seen.packet
            for message in packet.messages:
                if message.kind is Kind.GO:
                    known.gos.add(message.buffer)
                elif message.kind is Kind.OK:
                    known.oks.add(message.buffer)
            if packet.is_data:
                known.data.setdefault(packet.buffer, set()).add(packet.packet)
        return known


def of_header(packet: Packet, peer: ReceiverPeer | SenderPeer, *, elsewhere: bool) -> Demand | None:
    """What the common header demands; None when it is that of any packet of the connection. `elsewhere`: it comes from
    another host."""
    if packets.has_impossible_length(packet):
        return Demand(Effect.NONE, "ROBUST-01")
    if elsewhere:
        return Demand(Effect.NONE, "DEMUX-01")
    if (packet.local_port, packet.foreign_port) != (peer.own_port, peer.iut_port):
        return Demand(Effect.NONE, "DEMUX-02")
    if packet.type is None:
        return Demand(Effect.END, "ROBUST-02")
    return None


def of_data(packet: Packet, peer: SenderPeer) -> Demand | None:
    """Of DATA or LDATA whose content is not what the client sends; None when a receiver might store it."""
    if after(packet.high_seq, originals.acknowledged(peer)):
        return None  # what a receiver would store is not known
    terms, known, size = peer.terms, Known.of(peer), len(packet.data)
    if packet.buffer in known.oks or _was_never_wanted(packet.buffer, known):
        return Demand(Effect.END, "ROBUST-06")
    if packet.buffer not in known.gos:
        return None  # its GO may be on the way
    full = min(terms.packet_size, terms.buffer_size - packet.packet * terms.packet_size)
    if 0 < full < size <= full + -full % 4 and not any(packet.data[full:]):
        return None  # zeros that fill it up are no data (AMB-02)
    outside = packet.packet >= terms.packets_per_buffer
    beyond = packet.packet * terms.packet_size + size > terms.buffer_size
    if outside or beyond or size > terms.packet_size:  # a shorter DATA packet may be stored (AMB-75)
        return Demand(Effect.END, "ROBUST-06")
    if terms.data_checksum and packet.data_checksum != packets.data_checksum(packet.data):
        return Demand(Effect.NONE, "CKSUM-07")
    return None


def _was_never_wanted(buffer: int, known: Known) -> bool:
    """Whether it has no GO and will never get one, or none for long."""
    if buffer in known.gos:
        return False
    highest, lowest = max(known.gos, default=0), min(known.gos, default=0)
    return buffer < lowest or (buffer - highest) % _BUFFERS > _WAITS


def of_null_ack(packet: Packet, peer: SenderPeer) -> Demand | None:
    """None when it is a legal one."""
    if after(packet.high_seq, originals.acknowledged(peer)):
        return Demand(Effect.ANY, "CTRL-06") if after(packet.high_seq, peer.consecutive) else None
    if (packet.burst_size, packet.burst_interval_ms) != peer.pace(packet.high_seq):
        return Demand(Effect.ANY, "NEG-09")
    return Demand(Effect.END, "ROBUST-04") if any(packet.padding) else None


def of_control(packet: Packet, peer: ReceiverPeer, sent: dict[int, Message]) -> Demand | None:
    """Of a CONTROL with one message. `sent`: the tester's messages so far, by number. None when acting upon it would be
    legal."""
    if not packet.messages:
        return Demand(Effect.END, "ROBUST-03" if b"\2" in packet.raw[12:13] else "ROBUST-02")
    if packet.error is not None:
        return None  # what is whole may be acted upon
    message = packet.messages[0]
    if 0 < message.seq <= peer.high_seq:
        original = sent.get(message.seq)
        if original is None or original.identity == message.identity:
            return None
        return Demand(Effect.END, "CTRL-09")
    return _beyond(message, peer)


def _beyond(message: Message, peer: ReceiverPeer) -> Demand | None:
    """A number far ahead leaves a hole that is never filled: queued or acted upon (CTRL-08), where acting changes
    nothing."""
    ahead = (message.seq - peer.next_seq) % _NUMBERS
    harmless = is_senseless(message, peer)
    if not harmless or not _WAITS < ahead < _NUMBERS - _WAITS:
        return None
    return Demand(Effect.END, "CTRL-08") if ahead < _HALF else Demand(Effect.END, "CTRL-09")


def is_unsent(buffer: int, peer: ReceiverPeer) -> bool:
    """Whether the sender cannot have sent the whole buffer: nothing of it came, and a burst that is on its way is
    smaller than a buffer. Of the last buffer, which may be smaller, that is not known."""
    terms, known = peer.terms, Known.of(peer)
    small = terms.packets_per_buffer > terms.burst_size > 0
    slow = peer.ms(terms.burst_interval_ms) > 2 * peer.link.delay_us
    index = (buffer - peer.first_buffer) % _BUFFERS
    return small and slow and buffer not in known.data and (index + 1) * terms.buffer_size < len(peer.data)


def is_senseless(message: Message, peer: ReceiverPeer) -> bool:
    """Whether a sender acknowledges the message, and does nothing else or aborts: it is about a buffer that does not
    exist, or requests what does not. A GO for a buffer beyond the next one may be served (AMB-47)."""
    buffer = (message.buffer - peer.first_buffer) % _BUFFERS
    is_far = _WAITS < buffer < _BUFFERS - _WAITS
    if message.kind is Kind.GO:
        return is_far and peer.last_buffer is not None
    if message.kind is Kind.OK:
        return is_far
    count = peer.terms.packets_per_buffer
    return is_far or not message.packets or all(number >= count for number in message.packets)
