# SPDX-License-Identifier: GPL-2.0-or-later
"""Sequence numbers of control messages that count on where the 16 bits on the wire wrap (AMB-12)."""

from __future__ import annotations

import dataclasses
from collections.abc import Container, Iterator

from netblt_conformance.packets.packets import SEQ_MODULUS, Packet

_HALF = SEQ_MODULUS // 2
_STEP_MOST = 4096  # a number further ahead than this is no progress of its connection


def wraps_at(number: int) -> bool:
    """Whether this number is 0 on the wire: an implementation may leave it out (AMB-12)."""
    return number > 0 and number % SEQ_MODULUS == 0


def follows(number: int, before: int) -> bool:
    """Whether `number` is the next one after `before`; the 0 after 65535 may be left out (AMB-12)."""
    return number == before + 1 or (number == before + 2 and wraps_at(before + 1))


def preceding(number: int) -> Iterator[int]:
    """The numbers that `number` follows."""
    return (before for before in (number - 1, number - 2) if follows(number, before))


def following(number: int, known: Container[int]) -> int:
    """The number that comes after `number`. An end that leaves out the 0 shows that by its next message, in `known`."""
    left_out = wraps_at(number + 1) and number + 1 not in known and number + 2 in known
    return number + 2 if left_out else number + 1


class SequenceNumbers:
    """Of one connection, in which one end numbers control messages and the other one acknowledges them. Before the
    wrap each number is as on the wire."""

    def __init__(self) -> None:
        self._highest = 0  # of the messages so far

    def counted_on(self, packet: Packet) -> Packet:
        """The same packet with numbers that do not wrap. Later packets are read by the messages in this one."""
        for message in packet.messages:
            number = self._nearest(message.seq)
            if self._highest < number <= self._highest + _STEP_MOST:
                self._highest = number
        if self._highest < _HALF:
            return packet
        messages = tuple(dataclasses.replace(one, seq=self._nearest(one.seq)) for one in packet.messages)
        high_seq = self._nearest(packet.high_seq) if packet.acks else packet.high_seq
        return dataclasses.replace(packet, messages=messages, high_seq=high_seq)

    def _nearest(self, seq: int) -> int:
        """The number nearest to the highest one that is `seq` on the wire; never a negative one."""
        number = self._highest + (seq - self._highest + _HALF) % SEQ_MODULUS - _HALF
        return number if number >= 0 else seq
