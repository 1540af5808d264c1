# SPDX-License-Identifier: GPL-2.0-or-later
"""Finds the connections of a capture that are one transfer, seen at several interfaces."""

from __future__ import annotations

import subprocess
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import IO

from netblt_conformance.common.errors import JudgeError
from netblt_conformance.common.remarks import Note, Remark
from netblt_conformance.common.verdicts import GRADED, Result, Verdict
from netblt_conformance.judges.limits import Watched
from netblt_conformance.judges.standings import Connection
from netblt_conformance.judges.tshark import Tshark

_BETWEEN = "|"
# Transfers between the same ends, one after the other, that another sighting is compared with.
GROUPS_MOST = 64
_FIELDS = ("frame.number", "frame.interface_id", "frame.interface_name", "netblt.stream", "netblt.stream.uid")


@dataclass(slots=True)
class _Sighting:
    """One stream: where it was captured, in which frames, and its unique ID where the opening was captured."""

    interface: str  # its number
    name: str
    first: int  # frame
    last: int
    uid: str = ""

    def overlaps(self, other: _Sighting) -> bool:
        return self.first <= other.last and other.first <= self.last

    def may_be(self, other: _Sighting) -> bool:
        """Two streams between the same ends are one transfer, seen at two interfaces, if their unique IDs are the same.
        Where an ID is not known they overlap: two ends have one connection at a time (DEMUX-01)."""
        if self.interface == other.interface:
            return False
        return self.uid == other.uid if self.uid and other.uid else self.overlaps(other)


def transfers(tshark: Tshark, file: IO[bytes], connections: Sequence[Connection]) -> list[list[Connection]]:
    """The connections, those together that are one transfer: the same ends at different interfaces.

    Reads the file from its beginning, but only when two connections have the same ends."""
    ends = [frozenset(connection.ends.values()) for connection in connections]
    if len(set(ends)) == len(ends):
        return [[connection] for connection in connections]
    seen = _seen(tshark, file)
    several = len({sighting.interface for sighting in seen.values()}) > 1
    groups: list[list[Connection]] = []
    between: dict[frozenset[str], list[list[Connection]]] = defaultdict(list)
    for connection, key in zip(connections, ends, strict=True):
        sighting = seen.get(connection.stream)
        group = _group_of(sighting, between[key][-GROUPS_MOST:], seen) if sighting and several else None
        if sighting:
            connection.interface = sighting.name or f"interface {sighting.interface}"
        if group is None:
            group = []
            groups.append(group)
            between[key].append(group)
        group.append(connection)
    return groups


def _group_of(
    sighting: _Sighting, groups: Sequence[list[Connection]], seen: dict[int, _Sighting]
) -> list[Connection] | None:
    """The sightings of the same transfer so far; where connection IDs were used again, those of the same time."""
    fitting = []
    for group in groups:
        others = [seen[one.stream] for one in group if one.stream in seen]
        if others and all(sighting.may_be(other) for other in others):
            fitting.append((any(sighting.overlaps(other) for other in others), group))
    return max(fitting, key=lambda one: one[0])[1] if fitting else None


def _seen(tshark: Tshark, file: IO[bytes]) -> dict[int, _Sighting]:
    """The sighting that each stream is, by the stream's number."""
    file.seek(0)
    words = [word for name in _FIELDS for word in ("-e", name)]
    process = tshark.start(
        file, "-Y", "netblt.stream", "-T", "fields", "-E", f"aggregator={_BETWEEN}", *words, stderr=subprocess.DEVNULL
    )
    seen: dict[int, _Sighting] = {}
    with process, Watched(process) as watched:
        assert process.stdout is not None
        for line in process.stdout:
            frame, number, name, streams, uids = line.decode("utf-8", "replace").rstrip("\n").split("\t")
            here, values = streams.split(_BETWEEN), uids.split(_BETWEEN)
            for stream, uid in zip(here, values if len(values) == len(here) else [""] * len(here), strict=True):
                one = seen.setdefault(int(stream), _Sighting(number, name, int(frame), int(frame)))
                one.last = int(frame)
                one.uid = one.uid or uid
    why = watched.why(b"") if watched.expired else ""
    if why:
        raise JudgeError(why)
    if not seen:
        raise JudgeError("tshark shows no stream that it reports")
    return seen


def merged(group: Sequence[Connection], rows: Sequence[Sequence[Result]]) -> list[Result]:
    """The rows of all sightings of one transfer as one: of each rule and offender the worst, and where it was seen."""
    if len(group) == 1:
        return list(rows[0])
    of_rule: dict[str, list[tuple[Connection, Result]]] = defaultdict(list)
    for connection, own in zip(group, rows, strict=True):
        for row in own:
            of_rule[",".join(row.requirements)].append((connection, row))
    streams = ", ".join(str(connection.stream) for connection in group)
    case = f"streams {streams}: {group[0].title}"
    found = []
    for seen in of_rule.values():
        broken = [(one, row) for one, row in seen if row.verdict in GRADED and row.verdict is not Verdict.PASS]
        if not broken:
            found.append(max((row for _, row in seen), key=lambda row: row.verdict))
        for offender in dict.fromkeys(row.role for _, row in broken):
            theirs = [(one, row) for one, row in broken if row.role == offender]
            worst = max((row for _, row in theirs), key=lambda row: row.verdict)
            found.append(worst.noted(Note(Remark.SIGHTINGS, names=tuple(one.interface for one, _ in theirs))))
    return [replace(row, case=case) for row in found]
