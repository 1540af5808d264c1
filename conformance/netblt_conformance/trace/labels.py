# SPDX-License-Identifier: GPL-2.0-or-later
"""Short texts for packets and control messages, as ladder, plot and state show them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from netblt_conformance.packets.packets import Kind, Message, Packet, Type

UNREADABLE = "?"
_LISTED = 8  # numbers of packets in a text


def kind_of(packet: Packet) -> str:
    """The type as RFC 998 writes it."""
    if packet.type is None or packet.error is not None:
        return UNREADABLE
    return packet.type.text


def label(packet: Packet) -> str:
    """The label of an arrow of the ladder."""
    kind = kind_of(packet)
    if kind == UNREADABLE:
        return str(packet)
    if packet.is_data:
        last = " last" if packet.last_buffer else ""
        size = f", {len(packet.data)} bytes" if packet.type is Type.LDATA else ""
        return f"{kind} {packet.buffer}/{packet.packet} hs {packet.high_seq}{last}{size}"
    if packet.type is Type.NULL_ACK:
        return f"{kind} hs {packet.high_seq}"
    if packet.type is Type.CONTROL:
        return ", ".join(map(message_text, packet.messages)) or "CONTROL without messages"
    return str(packet) if packet.string else kind


def message_text(message: Message) -> str:
    """GO 5#2: a GO for buffer 5 with sequence number 2."""
    text = f"{message.kind.name} {message.buffer}#{message.seq}"
    if message.kind is Kind.RESEND:
        return f"{text} ({numbers(message.packets)})"
    return text


def numbers(found: Sequence[int]) -> str:
    """Of many the first ones."""
    return ", ".join(map(str, found[:_LISTED])) + (f" and {len(found) - _LISTED} more" if len(found) > _LISTED else "")


def values(message: Message) -> list[Any]:
    """A control message as the page takes it."""
    if message.kind is Kind.RESEND:
        values = list(message.packets)
    elif message.kind is Kind.OK:
        values = [message.burst_size, message.burst_interval_ms, message.control_timer_ms]
    else:
        values = []
    return [message.kind.name, message.seq, message.buffer, values]
