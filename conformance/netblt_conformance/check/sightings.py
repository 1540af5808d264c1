# SPDX-License-Identifier: GPL-2.0-or-later
"""Finds the connections of a capture that are one transfer, seen at several interfaces."""

from __future__ import annotations

import subprocess
from collections import defaultdict
from collections.abc import Sequence
from typing import IO

from netblt_conformance.judges.findings import JudgeError
from netblt_conformance.judges.standings import Connection
from netblt_conformance.judges.tshark import Tshark
from netblt_conformance.verdicts import GRADED, Result, Verdict

_BETWEEN = "|"
_FIELDS = ("frame.interface_id", "frame.interface_name", "netblt.stream", "netblt.stream.uid")


def transfers(tshark: Tshark, file: IO[bytes], connections: Sequence[Connection]) -> list[list[Connection]]:
    """The connections, those together that are one transfer: the same ends and unique ID at different interfaces.

    Reads the file from its beginning, but only when two connections have the same ends."""
    ends = [frozenset(connection.ends.values()) for connection in connections]
    if len(set(ends)) == len(ends):
        return [[connection] for connection in connections]
    seen = _seen(tshark, file)
    groups: dict[object, list[Connection]] = defaultdict(list)
    for connection, key in zip(connections, ends, strict=True):
        sighting = seen.get(connection.stream)
        same = groups[(key, sighting[2]) if sighting and sighting[2] else connection.stream]
        if sighting:
            connection.interface = sighting[1] or f"interface {sighting[0]}"
        same.append(connection)
    return [part for group in groups.values() for part in _apart(group)]


def _apart(group: list[Connection]) -> list[list[Connection]]:
    """At one interface a transfer is one stream: where one interface has two, they are different transfers."""
    if len({connection.interface for connection in group}) == len(group):
        return [group]
    return [[connection] for connection in group]


def _seen(tshark: Tshark, file: IO[bytes]) -> dict[int, tuple[str, str, str]]:
    """Stream -> number and name of its interface, and its unique ID where the opening was captured."""
    file.seek(0)
    words = [word for name in _FIELDS for word in ("-e", name)]
    process = tshark.start(
        file, "-Y", "netblt.stream", "-T", "fields", "-E", f"aggregator={_BETWEEN}", *words, stderr=subprocess.DEVNULL
    )
    seen: dict[int, tuple[str, str, str]] = {}
    with process:
        assert process.stdout is not None
        for line in process.stdout:
            number, name, streams, uids = line.decode("utf-8", "replace").rstrip("\n").split("\t")
            here, values = streams.split(_BETWEEN), uids.split(_BETWEEN)
            for stream, uid in zip(here, values if len(values) == len(here) else [""] * len(here), strict=True):
                known = seen.get(int(stream))
                if known is None or (uid and not known[2]):
                    seen[int(stream)] = (number, name, uid)
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
            worst.reason += f"; seen at {' and '.join(one.interface for one, _ in theirs)}"
            found.append(worst)
    for row in found:
        row.case = case
    return found
