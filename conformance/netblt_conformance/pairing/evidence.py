# SPDX-License-Identifier: GPL-2.0-or-later
"""Packets that a capture missed although they reached its end: what the end does shows that it had received them."""

from __future__ import annotations

import struct
from collections.abc import Iterator

from netblt_conformance.pairing.paths import Direction, Pairing, Seen

_DATA, _LDATA, _NULL_ACK, _CONTROL = 6, 7, 8, 9
_GO, _OK, _RESEND = 0, 1, 2
_HEADER_BYTES, _MESSAGE_BYTES = 12, 8
_SIZE = {_GO: 8, _OK: 16}
_NEVER = 1 << 62


def unseen_arrivals(pairing: Pairing, number: int) -> int:
    """How many control messages and data packets this end acted upon that its capture does not show by then, and that
    the other capture shows to have left. A lost packet cannot be acted upon: the capture missed it."""
    toward = [one for one in pairing.directions if one.at_source != number]
    away = [one for one in pairing.directions if one.at_source == number]
    heads, far = pairing.points[number].head, pairing.points[1 - number].head
    came: dict[tuple[int, ...], int] = {}
    for row in sorted(_rows(toward, arrived=True)):
        for what in _carried(heads[row]):
            came.setdefault(what, row)
    lost = {what for row in _lost(toward) for what in _carried(far[row])}
    acted: dict[tuple[int, ...], int] = {}
    newest = None
    data = [what for what in lost if len(what) > 1]
    for row in sorted(_rows(away, arrived=False)):
        head = heads[row]
        high = _high_seq(head)
        if high is not None and (newest is None or 0 < (high - newest) & 0xFFFF < 0x8000):
            first = high if newest is None else newest + 1
            for seq in range(first, first + ((high - first) & 0xFFFF) + 1):
                acted.setdefault((seq & 0xFFFF,), row)
            newest = high
        accepted = {buffer for kind, _, buffer in _messages(head) if kind == _OK}
        for what in data if accepted else ():
            if what[0] in accepted:
                acted.setdefault(what, row)
    return sum(acted.get(what, _NEVER) < came.get(what, _NEVER) for what in lost)


def _rows(directions: list[Direction], *, arrived: bool) -> set[int]:
    columns = [one.packets.arrived if arrived else one.packets.sent for one in directions]
    return {row for column in columns for row in column.tolist() if row >= 0}


def _lost(directions: list[Direction]) -> set[int]:
    return {row for one in directions for row in one.packets.sent[one.packets.seen == Seen.LOST].tolist()}


def _carried(head: bytes) -> Iterator[tuple[int, ...]]:
    """The control messages in a packet, by number; or buffer and packet number of its data."""
    for _, seq, _ in _messages(head):
        yield (seq,)
    if len(head) >= 20 and head[3] in (_DATA, _LDATA):
        yield struct.unpack_from(">I", head, 12)[0], struct.unpack_from(">H", head, 18)[0]


def _messages(head: bytes) -> Iterator[tuple[int, int, int]]:
    """(type, number, buffer) of the control messages at the beginning of a packet."""
    if len(head) < _HEADER_BYTES or head[3] != _CONTROL:
        return
    at = _HEADER_BYTES
    while at + _MESSAGE_BYTES <= len(head):
        kind, _, seq, buffer = struct.unpack_from(">BBHI", head, at)
        yield kind, seq, buffer
        if kind == _RESEND and at + 10 <= len(head):
            at += 12 + (struct.unpack_from(">H", head, at + 8)[0] + 1) // 2 * 4
        elif kind in _SIZE:
            at += _SIZE[kind]
        else:
            return


def _high_seq(head: bytes) -> int | None:
    place = {_DATA: 16, _LDATA: 16, _NULL_ACK: 12}.get(head[3]) if len(head) >= 18 else None
    return None if place is None else int(struct.unpack_from(">H", head, place)[0])
