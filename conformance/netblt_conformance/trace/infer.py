# SPDX-License-Identifier: GPL-2.0-or-later
"""The fate of packets that were captured on one side of the path only, by what the end that was to get them does later:
acknowledgements, RESENDs, retransmissions. What nothing speaks against is assumed to have arrived."""

from __future__ import annotations

import bisect
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from netblt_conformance.oracles.session import after
from netblt_conformance.packets.packets import Kind, Message, Type
from netblt_conformance.trace.draft import Draft, has_bad_data, terms
from netblt_conformance.trace.model import Fate, Known
from netblt_conformance.trace.position import reactions

_OPENING = (Type.OPEN, Type.RESPONSE)
# Acknowledgements only grow: the newest ones before a moment show what the receiver may have known.
_ACKS_BEFORE = 200
_REFUSALS = (Type.RESPONSE, Type.REFUSED, Type.ABORT)


@dataclass(frozen=True, slots=True)
class _FirstSeen:
    """A control message when it was captured first."""

    message: Message
    time_ns: int
    frame: int


@dataclass(slots=True)
class _Side:
    """What one end sent, as far as it can be read, in the order of the capture."""

    round_ns: int = 0  # from the capture to this end and back, at least
    all: list[Draft] = field(default_factory=list)
    acks: list[Draft] = field(default_factory=list)  # DATA, LDATA, NULL-ACK
    controls: list[Draft] = field(default_factory=list)
    holders: dict[int, list[Draft]] = field(default_factory=lambda: defaultdict(list))  # by control message
    resends: dict[int, list[_FirstSeen]] = field(default_factory=lambda: defaultdict(list))  # by buffer
    oks: dict[int, _FirstSeen] = field(default_factory=dict)


def fates(drafts: Sequence[Draft]) -> None:
    """Settles what is open."""
    sides = _sides(drafts)
    summed = terms(drafts).data_checksum
    for source, side in enumerate(sides):
        other = sides[1 - source]
        open_ones = [one for one in side.all if one.fate is Fate.UNKNOWN]
        if not open_ones:
            continue
        _opening(open_ones, side, other)
        _data([one for one in open_ones if not (summed and has_bad_data(one.packet))], other)
        _control(open_ones, side, other)
        _acknowledgements(open_ones, side, other)
    for one in drafts:
        if one.packet.type is not Type.OPEN and not one.doubtful:
            one.settle(Fate.ARRIVED, Known.ASSUMED)


def _sides(drafts: Sequence[Draft]) -> tuple[_Side, _Side]:
    times = reactions(drafts)
    sides = _Side(times[0] or 0), _Side(times[1] or 0)
    for one in drafts:
        if not one.readable or one.copy_of is not None:
            continue
        side = sides[one.source]
        side.all.append(one)
        if one.packet.acks:
            side.acks.append(one)
        elif one.packet.type is Type.CONTROL:
            side.controls.append(one)
    for side in sides:
        _messages(side)
    return sides


def _messages(side: _Side) -> None:
    seen: set[int] = set()
    for one in side.controls:
        for message in one.packet.messages:
            side.holders[message.seq].append(one)
            if message.seq in seen:
                continue
            seen.add(message.seq)
            first = _FirstSeen(message, one.frame.time_ns, one.frame.number)
            if message.kind is Kind.RESEND:
                side.resends[message.buffer].append(first)
            elif message.kind is Kind.OK:
                side.oks.setdefault(message.buffer, first)


def _after(found: Sequence[Draft], what: Draft) -> Iterator[Draft]:
    """Those that were captured after a packet, in order; many have one time."""
    first = bisect.bisect_right(found, what.frame.number, key=_number)
    return (found[at] for at in range(first, len(found)))


def _number(one: Draft) -> int:
    return one.frame.number


# ---- OPEN, RESPONSE, QUIT ----


def _opening(open_ones: Sequence[Draft], side: _Side, other: _Side) -> None:
    for one in open_ones:
        kind, moment = one.packet.type, one.frame.time_ns
        if kind not in (*_OPENING, Type.QUIT):
            continue
        again = next((later for later in _after(side.all, one) if later.packet.type is kind), None)
        until = again.frame.time_ns if again is not None else None
        answers = {Type.OPEN: _REFUSALS, Type.QUIT: (Type.QUITACK, Type.DONE)}.get(kind)
        for later in _after(other.all, one):
            if until is not None and later.frame.time_ns > until:
                break
            if answers is None and later.packet.type is Type.OPEN:
                if later.frame.time_ns > moment + other.round_ns > moment:
                    one.settle(Fate.LOST, Known.INFERRED, f"OPEN is repeated in frame {later.frame.number}")
                break
            if answers is None or later.packet.type in answers:
                one.settle(Fate.ARRIVED, Known.INFERRED, f"answered by frame {later.frame.number}")
                break
        if again is not None and kind is not Type.RESPONSE and one.fate is Fate.UNKNOWN:
            one.doubt(f"it, or what answers it, was lost: it is repeated in frame {again.frame.number}")


# ---- data ----


def _data(open_ones: Sequence[Draft], other: _Side) -> None:
    """By the RESENDs that name a packet, and the OK of its buffer."""
    copies: dict[tuple[int, int], list[Draft]] = defaultdict(list)
    for one in open_ones:
        if one.packet.is_data:
            copies[one.packet.buffer, one.packet.packet].append(one)
    for (buffer, packet), sent in copies.items():
        _one_packet(packet, sent, other.resends.get(buffer, []), other.oks.get(buffer), other.round_ns)


def _one_packet(
    packet: int, sent: Sequence[Draft], resends: Sequence[_FirstSeen], ok: _FirstSeen | None, round_ns: int
) -> None:
    for number, one in enumerate(sent):
        moment = one.frame.time_ns
        until = sent[number + 1].frame.time_ns if number + 1 < len(sent) else None
        for resend in resends:
            if resend.time_ns <= moment + round_ns / 2 or (until is not None and resend.time_ns > until):
                continue
            words = f"RESEND #{resend.message.seq} in frame {resend.frame}"
            if packet in resend.message.packets:
                one.settle(Fate.LOST, Known.INFERRED, f"{words} requests it")
                break
            if packet < max(resend.message.packets, default=0):
                one.settle(Fate.ARRIVED, Known.INFERRED, f"{words} does not ask for it")
                break
        if ok is not None and ok.time_ns > moment and until is None:
            one.settle(Fate.ARRIVED, Known.INFERRED, f"OK #{ok.message.seq} in frame {ok.frame}")


# ---- control messages ----


def _control(open_ones: Sequence[Draft], side: _Side, other: _Side) -> None:
    """By the acknowledgements in the sender's packets."""
    for one in open_ones:
        if one.packet.type is Type.CONTROL and one.packet.messages:
            _one_control(one, max(one.packet.messages, key=lambda message: message.seq).seq, side, other)


def _one_control(one: Draft, newest: int, side: _Side, other: _Side) -> None:
    """`newest`: its last message. An acknowledgement belongs to this packet if no other that holds the message was
    captured a round trip before."""
    moment = one.frame.time_ns
    holders = side.holders[newest]
    again = next((later for later in holders if later.frame.number > one.frame.number), None)
    ack = next((later for later in _after(other.acks, one) if not after(newest, later.packet.high_seq)), None)
    if ack is not None and ack.frame.time_ns >= moment + other.round_ns:
        asked = [held for held in holders if held.frame.time_ns + other.round_ns <= ack.frame.time_ns]
        asked = [held for held in asked if held.frame.number < ack.frame.number]
        if asked == [one]:
            one.settle(Fate.ARRIVED, Known.INFERRED, f"acknowledged by frame {ack.frame.number}")
            return
    due_ns = moment + 2 * other.round_ns
    late = next((later for later in _after(other.acks, one) if later.frame.time_ns > due_ns), None)
    if late is not None and after(newest, late.packet.high_seq):
        words = f"frame {late.frame.number} acknowledges #{late.packet.high_seq} only"
        one.settle(Fate.LOST, Known.INFERRED, words)
    elif again is not None and (ack is None or ack.frame.time_ns > due_ns):
        one.doubt(f"it, or its acknowledgement, was lost: it is repeated in frame {again.frame.number}")
    elif again is not None:
        one.doubt(f"it is repeated in frame {again.frame.number}; nothing shows which of them arrived")


def _acknowledgements(open_ones: Sequence[Draft], side: _Side, other: _Side) -> None:
    """A NULL-ACK by what the receiver repeats later, where no other packet acknowledged as much."""
    for one in open_ones:
        if one.packet.type is not Type.NULL_ACK or one.fate is not Fate.UNKNOWN:
            continue
        acked, moment = one.packet.high_seq, one.frame.time_ns
        due_ns = moment + 2 * other.round_ns
        reply = next((later for later in _after(other.controls, one) if later.frame.time_ns > due_ns), None)
        if reply is None or not reply.packet.messages:
            continue
        least = min(reply.packet.messages, key=lambda message: message.seq).seq
        repeats = not after(least, acked)
        wanted = least if repeats else acked
        until = bisect.bisect_left(side.acks, reply.frame.number, key=_number)
        others = (known for known in side.acks[max(0, until - _ACKS_BEFORE) : until] if known is not one)
        if any(not after(wanted, known.packet.high_seq) for known in others):
            continue
        if repeats:
            one.settle(Fate.LOST, Known.INFERRED, f"frame {reply.frame.number} repeats #{least}, which it acknowledges")
        else:
            one.settle(Fate.ARRIVED, Known.INFERRED, f"frame {reply.frame.number} repeats nothing that it acknowledges")
