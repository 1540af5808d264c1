# SPDX-License-Identifier: GPL-2.0-or-later
"""The packets that illegal moves begin with: what the tester could legally send now, but with data that the client
never sent, so that data which are stored show in what is delivered; and whole packets of types that are wrong here."""

from __future__ import annotations

from netblt_conformance.packets import packets
from netblt_conformance.packets.packets import Kind, Message, Packet, Type
from netblt_conformance.peer import ReceiverPeer, SenderPeer

_JUNK = 0xEE
_FAR_BUFFER, _FAR_NUMBER = 90_000, 30_000
_TO_RECEIVERS = (Type.CONTROL, Type.DONE, Type.QUITACK, Type.REFUSED)
_TO_SENDERS = (Type.DATA, Type.LDATA, Type.NULL_ACK, Type.QUITACK, Type.REFUSED, Type.DONE)


def original(base: str, which: int, peer: ReceiverPeer | SenderPeer) -> bytes | None:
    """A packet of this base (fields.BASES), but for copies; None when there is none now. `which`: any number from 0."""
    if base in ("open", "response"):
        return opening(Type.OPEN if base == "open" else Type.RESPONSE, peer)
    if base == "type":
        return _of_wrong_type(which, peer)
    if isinstance(peer, SenderPeer):
        if base == "null-ack":
            return peer.acknowledgement(acknowledged(peer))
        return _data(which, peer) if base == "data" else None
    message = next_message(base, which, peer)
    return peer.forge.control([message]) if message is not None else None


def opening(kind: Type, peer: ReceiverPeer | SenderPeer) -> bytes:
    """What the tester sent when the connection opened, or what its remote end would have sent in its place."""
    ours = peer.role.active and kind is Type.RESPONSE
    return peer.forge.opening(kind, peer.response_values() if ours else peer.opening_values())


def wrong_types(peer: ReceiverPeer | SenderPeer) -> tuple[Type, ...]:
    return _TO_SENDERS if peer.role.sender else _TO_RECEIVERS


def wrong_type(which: int, peer: ReceiverPeer | SenderPeer) -> Type:
    kinds = wrong_types(peer)
    return kinds[which % len(kinds)]


def _of_wrong_type(which: int, peer: ReceiverPeer | SenderPeer) -> bytes:
    kind, forge = wrong_type(which, peer), peer.forge
    if kind in packets.DATA_TYPES:
        return forge.data(Packet(b"", type=kind, buffer=_FAR_BUFFER, data=bytes([_JUNK]) * peer.terms.packet_size))
    if kind is Type.NULL_ACK:
        return forge.null_ack(0, peer.terms.burst_size, peer.terms.burst_interval_ms)
    if kind is Type.CONTROL:
        return forge.control([Message(Kind.RESEND, _FAR_NUMBER, _FAR_BUFFER, packets=(1,))])
    return forge.reason(kind, "wrong here") if kind is Type.REFUSED else forge.packet(kind)


def _data(which: int, peer: SenderPeer) -> bytes | None:
    wanted = [number for number in range(peer.buffer_count) if peer.find(Kind.GO, number)]
    if not wanted:
        return None
    buffer = wanted[which % len(wanted)]
    count = peer.packet_count(buffer)
    packet = count - 1 if which >> 9 & 1 else which // len(wanted) % count  # often the LDATA
    junk = bytes(byte ^ _JUNK for byte in peer.data_packet(buffer, packet).data)
    checksum = packets.data_checksum(junk) if peer.terms.data_checksum else 0
    values = {"data": junk, "data_checksum": checksum, "high_seq": acknowledged(peer)}
    return peer.forge.data(peer.data_packet(buffer, packet, **values))


def news(which: int, peer: SenderPeer) -> bytes | None:
    """A packet that would have an effect: data, or the newest acknowledgement."""
    if which % 2:
        return _data(which, peer)
    return peer.acknowledgement(peer.consecutive)


def acknowledged(peer: SenderPeer) -> int:
    """What the tester has acknowledged so far: whether the acknowledgement in a useless packet counts is not specified
    (AMB-60)."""
    return peer.monitor.session.highest_ack_sent


def next_message(base: str, which: int, peer: ReceiverPeer) -> Message | None:
    """The next control message of this kind; of an OK and a RESEND, for one of the buffers that have a GO."""
    said = [*peer.monitor.session.issued.messages, *peer.queue]
    gone = sorted({message.buffer for message in said if message.kind is Kind.GO})
    number = peer.next_seq
    if base == "go":
        return Message(Kind.GO, number, gone[-1] + 1 if gone else peer.first_buffer)
    if not gone:
        return None
    buffer = gone[which % len(gone)]
    if base in ("ok", "early-ok", "unsent-ok"):
        # The pair that holds already: whether an OK that confirms nothing may change it is not known.
        named, terms = gone[-1] + 1 if base == "early-ok" else buffer, peer.terms
        return Message(Kind.OK, number, named, terms.burst_size, terms.burst_interval_ms, peer.control_timer_ms)
    if base == "early-resend":
        return Message(Kind.RESEND, number, gone[-1] + 1, packets=(0,))
    if base == "empty-resend":
        return Message(Kind.RESEND, number, buffer)
    packet = which // len(gone) % peer.terms.packets_per_buffer
    return Message(Kind.RESEND, number, buffer, packets=(packet,)) if base == "resend" else None


def without_sense(peer: ReceiverPeer) -> Message:
    """A message about a buffer that is far from all others, with the number 0, which no message has."""
    return Message(Kind.RESEND, 0, (peer.first_buffer + _FAR_BUFFER) % (1 << 32), packets=(0,))
