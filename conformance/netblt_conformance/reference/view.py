# SPDX-License-Identifier: GPL-2.0-or-later
"""What a capture shows of one end: which of the packets that it received and sent are there, and in which order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from netblt_conformance.reference.form import may_be_damaged
from netblt_conformance.reference.frames import Conversation, Frame, Place, ascending, gapless
from netblt_conformance.simlib import guided

# Two directions of one capture may be out of step by so much, where it is not known that one host made it.
_OUT_OF_STEP_US = 20_000
_HEADER_BYTES = 24
# So many packets with bad checksums, and this share of all, are no damage on the way.
_BAD_LEAST, _BAD_SHARE = 3, 0.75


@dataclass(frozen=True, slots=True)
class View:
    """What a judgement may rest on."""

    peer_complete: bool  # every packet that the end can have received is in the capture
    ordered: bool  # its packets are in the order in which they left
    undamaged: bool  # its packets are as they left
    own_complete: bool  # all its packets are in the capture
    own_gapless: bool  # none of its packets is missing between two others
    slack_us: int = 0  # so much earlier than captured a packet may have arrived

    @property
    def limits(self) -> tuple[str, ...]:
        """What cannot be judged, as text."""
        found = []
        if not self.peer_complete:
            found.append("what it may have received is not known: packets to it may be missing in the capture")
        if not self.ordered:
            found.append("the order in which its packets left is not known")
        if not self.own_complete:
            found.append("packets of it may be missing in the capture")
        if not self.undamaged:
            found.append("a packet with a bad checksum may have been damaged on its way")
        return tuple(found)


# At the tester of a link in virtual time: nothing is lost, nothing overtakes, and nothing is damaged.
VIRTUAL = View(peer_complete=True, ordered=True, undamaged=True, own_complete=True, own_gapless=True)


def view(frames: Sequence[Frame], conversation: Conversation, end: Place, position: str | None) -> View:
    """What the capture with these frames shows of an end. `position`: where it was made, "sender" or "receiver" of the
    data, "path", or None where it is not known."""
    mine = [frame for frame in conversation.frames if frame.places[0] == end]
    peer = conversation.places[0] if conversation.places[1] == end else conversation.places[1]
    same = [frame for frame in frames if frame.interface == conversation.frames[0].interface]
    opened = _shows_its_begin(conversation)
    cut = any(not shows_its_header(frame) for frame in conversation.frames)
    at_an_end = position in ("sender", "receiver")
    here = at_an_end and _sends_data(conversation, end) is (position == "sender")
    complete = opened and not cut and (at_an_end or gapless(same, peer[0]))
    ordered = not cut and (here or ascending(same, end[0]))
    bad = sum(not frame.cut and may_be_damaged(frame.read) for frame in mine)
    undamaged = here or bad == 0 or (bad >= _BAD_LEAST and bad >= _BAD_SHARE * len(mine))
    own_gapless = here or gapless(same, end[0])
    slack_us = 0 if at_an_end else _OUT_OF_STEP_US
    return View(complete, ordered, undamaged, here and opened, own_gapless, slack_us)


def _shows_its_begin(conversation: Conversation) -> bool:
    """The first packet is the OPEN, and no late copy of it: control messages are numbered from 1. The first packet of
    the peer is its answer."""
    frames = conversation.frames
    numbers = (frame.read.messages[0].seq for frame in frames if frame.read.messages)
    answers = (frame.read.type for frame in frames if frame.places[0] != frames[0].places[0])
    answered = next(answers, guided.RESPONSE) in (guided.RESPONSE, guided.REFUSED, guided.ABORT)
    return frames[0].read.type == guided.OPEN and next(numbers, 1) <= 1 and answered


def shows_its_header(frame: Frame) -> bool:
    """Whether all fields of the packet were captured; of DATA the data may be missing. So for those after it."""
    return not frame.hides_more and (not frame.cut or (frame.read.is_data and frame.captured >= _HEADER_BYTES))


def _sends_data(conversation: Conversation, end: Place) -> bool | None:
    for frame in conversation.frames:
        if frame.read.fault == 0 and (frame.read.is_data or frame.read.type == guided.CONTROL):
            return (frame.places[0] == end) is frame.read.is_data
    return None
