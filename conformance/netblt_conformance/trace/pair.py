# SPDX-License-Identifier: GPL-2.0-or-later
"""Two captures of one path, as one trace: each packet with its fate between them, on the clock of the first."""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from netblt_conformance.common.errors import JudgeError
from netblt_conformance.packets import captures
from netblt_conformance.pairing.paths import Direction, Pairing, Seen, pair, pair_files
from netblt_conformance.pairing.reading import Point, pcapng_of, points
from netblt_conformance.trace.build import EMPTY, ends_of, finished, is_of
from netblt_conformance.trace.connections import Connection, connections
from netblt_conformance.trace.draft import Draft
from netblt_conformance.trace.frames import Frame, frames
from netblt_conformance.trace.model import Fate, Known, Position, Trace

SIDES = 2
_FATES = {
    Seen.ARRIVED: (Fate.ARRIVED, ""),
    Seen.COPY: (Fate.ARRIVED, ""),
    Seen.DAMAGED: (Fate.DAMAGED, ""),
    Seen.LOST: (Fate.LOST, "lost between the captures"),
    Seen.MISSED: (Fate.ARRIVED, "the capture nearest to its sender missed it"),
    Seen.NOT_COVERED: (Fate.UNKNOWN, "the other capture does not cover this time"),
}


def of_pair(pairing: Pairing, deciding: int = 0, at: int = 0, under_test: str = "") -> Trace:
    """The connection that frame `deciding` of capture point `at` (0 or 1) is of; 0: the longest one. `under_test`: IP
    address of the implementation."""
    rows = _rows_of(pairing.points[0]), _rows_of(pairing.points[1])
    found = [connections([row for row in one if row is not None]) for one in rows]
    mine = _chosen(found[at], deciding)
    if mine is None:
        return EMPTY
    theirs = _same(pairing, rows, at, mine, found[1 - at])
    chosen = (mine, theirs) if at == 0 else (theirs, mine)
    wanted = [{id(frame) for frame in one.frames} if one is not None else set() for one in chosen]
    ends = ends_of(mine)
    drafts: list[Draft] = []
    for direction in pairing.directions:
        drafts += _events(pairing, direction, rows, wanted, at, ends)
    notes = [*pairing.notes, *_missed(pairing)]
    return finished(drafts, mine, under_test, Position.BOTH, notes)


def of_files(first: Path, second: Path, deciding: int = 0, at: int = 0) -> Trace | None:
    """The same of two files; None where they are not of one path. Frames are those of the file `at`."""
    try:
        pairing = pair_files(first, second)
    except JudgeError:
        return None
    trace = of_pair(pairing, deciding, at)
    near = pairing.nearest_to(trace.ends[0].address)
    return replace(trace, frames_at=0 if near in (at, None) else 1)


def of_interfaces(path: Path, deciding: int = 0, under_test: str = "") -> Trace | None:
    """The same for one file with two interfaces; None where these are not of one path."""
    try:
        seen = points(path)
        if len(seen) != SIDES:
            return None
        pairing = pair(seen[0], seen[1])
    except JudgeError:
        return None
    at = 1 if deciding in seen[1].frame.tolist() else 0
    return of_pair(pairing, deciding, at, under_test)


def _rows_of(point: Point) -> list[Frame | None]:
    """The frame of each row of a capture point."""
    with pcapng_of(point.path) as file:
        own = (one for one in captures.read(file) if one.interface.number == point.interface)
        by_number: dict[int, deque[Frame]] = defaultdict(deque)
        for frame in frames(own):
            by_number[frame.number].append(frame)
    return [by_number[number].popleft() if by_number[number] else None for number in point.frame.tolist()]


def _chosen(found: list[Connection], deciding: int) -> Connection | None:
    for one in found:
        if deciding and any(frame.number == deciding for frame in one.frames):
            return one
    return max(found, key=lambda one: len(one.frames), default=None)


def _same(
    pairing: Pairing,
    rows: tuple[list[Frame | None], list[Frame | None]],
    at: int,
    mine: Connection,
    candidates: list[Connection],
) -> Connection | None:
    """The connection at the other point that has the packets of this one."""
    wanted = {id(frame) for frame in mine.frames}
    of_frame = {id(frame): number for number, one in enumerate(candidates) for frame in one.frames}
    votes: Counter[int] = Counter()
    for direction in pairing.directions:
        for here, there in _both(direction, rows, at):
            if here is not None and there is not None and id(here) in wanted and id(there) in of_frame:
                votes[of_frame[id(there)]] += 1
    return candidates[votes.most_common(1)[0][0]] if votes else None


def _both(
    direction: Direction, rows: tuple[list[Frame | None], list[Frame | None]], at: int
) -> Iterator[tuple[Frame | None, Frame | None]]:
    """(at this point, at the other point) of each packet of a direction."""
    near, far = direction.at_source, 1 - direction.at_source
    for sent, arrived in zip(direction.packets.sent.tolist(), direction.packets.arrived.tolist(), strict=True):
        left = rows[near][sent] if sent >= 0 else None
        came = rows[far][arrived] if arrived >= 0 else None
        yield (left, came) if near == at else (came, left)


def _events(
    pairing: Pairing,
    direction: Direction,
    rows: tuple[list[Frame | None], list[Frame | None]],
    wanted: list[set[int]],
    at: int,
    ends: tuple[tuple[str, int], tuple[str, int]],
) -> list[Draft]:
    near, far = direction.at_source, 1 - direction.at_source
    times = _times(pairing, 0), _times(pairing, 1)
    table = direction.packets
    made: dict[int, Draft] = {}
    for number, (sent, arrived, seen) in enumerate(
        zip(table.sent.tolist(), table.arrived.tolist(), table.seen.tolist(), strict=True)
    ):
        left = rows[near][sent] if sent >= 0 else None
        came = rows[far][arrived] if arrived >= 0 else None
        if not ((left is not None and id(left) in wanted[near]) or (came is not None and id(came) in wanted[far])):
            continue
        frame = left or came
        assert frame is not None
        here = left if near == at else came
        source = _source(here or frame, ends, direction, at)
        draft = Draft(source, frame)
        if left is not None:
            draft.sent_frame, draft.sent_ns = left.number, times[near][sent]
        if came is not None:
            draft.arrived_frame, draft.arrived_ns = came.number, times[far][arrived]
        draft.remarks += [*(left.comments if left else ()), *(came.comments if came else ())]
        draft.late = bool(table.late[number])
        fate, why = _FATES[Seen(seen)]
        if seen == Seen.NOT_COVERED and came is not None:
            fate = Fate.ARRIVED
        draft.settle(fate, Known.CAPTURED)
        if why:
            draft.remarks.append(why)
        made[number] = draft
    for number, original in enumerate(table.original.tolist()):
        if original >= 0 and number in made and original in made:
            made[number].copy_of = made[original]
    return list(made.values())


def _source(frame: Frame, ends: tuple[tuple[str, int], tuple[str, int]], direction: Direction, at: int) -> int:
    """The end that sent it. Addresses may be translated on the path: then the flow at the deciding point shows it."""
    flow = direction.source if direction.at_source == at else direction.destination
    if frame.source in (ends[0][0], ends[1][0]):
        return 0 if is_of(frame, ends[0]) else 1
    return 0 if flow.source == ends[0][0] else 1


def _times(pairing: Pairing, number: int) -> list[int]:
    own = pairing.points[number].time_ns
    moments: list[int] = (own if number == 0 else pairing.clock.on_first(own)).tolist()
    return moments


def _missed(pairing: Pairing) -> list[str]:
    return [
        f"the capture {point.name} lacks {missed} packets that passed it"
        for number, point in enumerate(pairing.points)
        if (missed := pairing.missed_by(number))
    ]
