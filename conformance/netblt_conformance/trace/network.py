# SPDX-License-Identifier: GPL-2.0-or-later
"""The capture of the simulated network (flakeway) on both its sides: it reports itself what it did to each packet."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from netblt_conformance.packets.captures import Way
from netblt_conformance.trace.draft import Draft
from netblt_conformance.trace.frames import Frame
from netblt_conformance.trace.model import Fate, Known

SIDES = ("left", "right")
_PREFIX = "flakeway: "
_COPY = "copy "
_DROPPED = "dropped"


def _words(frame: Frame) -> list[str]:
    return [comment.removeprefix(_PREFIX) for comment in frame.comments]


def through_network(found: Sequence[Frame], ends: tuple[tuple[str, int], tuple[str, int]]) -> list[Draft]:
    """An event for each packet that entered, and one for each copy that the network made of it."""
    entered = [frame for frame in found if _enters(frame)]
    left: dict[tuple[int, str], list[Frame]] = defaultdict(list)
    for frame in found:
        if not _enters(frame):
            left[frame.packet_id, frame.source].append(frame)
    drafts = []
    for frame in entered:
        source = 0 if (frame.source, frame.packet.local_port) == ends[0] else 1
        if frame.source != frame.destination:
            source = 0 if frame.source == ends[0][0] else 1
        draft = Draft(source, frame, frame.number, frame.time_ns, remarks=_words(frame))
        drafts.append(draft)
        ways_out = left.pop((frame.packet_id, frame.source), [])
        first = True
        for out in ways_out:
            if first:
                _arrives(draft, frame, out)
                first = False
                continue
            copy = Draft(source, frame, frame.number, frame.time_ns, remarks=_words(out), copy_of=draft)
            _arrives(copy, frame, out)
            drafts.append(copy)
        if not ways_out:
            dropped = any(_DROPPED in words for words in _words(frame))
            why = "" if dropped else "it had not left the network when the capture ended"
            draft.settle(Fate.LOST if dropped else Fate.UNKNOWN, Known.CAPTURED, why)
    return drafts


def _enters(frame: Frame) -> bool:
    return frame.way is Way.INBOUND


def _arrives(draft: Draft, entered: Frame, out: Frame) -> None:
    draft.arrived_frame, draft.arrived_ns = out.number, out.time_ns
    same = entered.packet.raw == out.packet.raw
    draft.settle(Fate.ARRIVED if same else Fate.DAMAGED, Known.CAPTURED)
