# SPDX-License-Identifier: GPL-2.0-or-later
"""Merges rows with the same content for many captures: a habit of the implementation is one failure, however many cases
show it."""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Sequence

from netblt_conformance.common.remarks import Note, Remark
from netblt_conformance.common.verdicts import Origin, Result, Verdict

# Rows of these state what was seen in the capture of a case, whatever the case is about.
SEEN_ASIDE = (Origin.MONITOR, Origin.DISSECTOR, Origin.JUDGES)
# What the format of a packet breaks, it breaks in each role that sends such packets.
FORMAT_AREAS = ("WIRE", "CKSUM")
ALL_ROLES = "all"
_Kind = tuple[Origin, Verdict, str, str, tuple[tuple[str, str], ...]]


def role_of(row: Result) -> str:
    """The role that what was seen aside is counted for."""
    return ALL_ROLES if row.requirement.partition("-")[0] in FORMAT_AREAS else row.role


def _kind(row: Result) -> _Kind:
    return row.origin, row.verdict, row.requirement, role_of(row), tuple(sorted(row.observed.items()))


def merged(results: Sequence[Result]) -> list[Result]:
    """One row for each requirement, role and verdict of what was seen aside: at the place of the first of them, with
    the others' captures. The first is one that the machine did not disturb, where there is one: a disturbed row proves
    nothing by itself."""
    alike: dict[_Kind, list[Result]] = defaultdict(list)
    for row in results:
        if row.origin in SEEN_ASIDE:
            alike[_kind(row)].append(row)
    ordered = [sorted(rows, key=lambda row: row.disturbed) for rows in alike.values()]
    first = {id(rows[0]): rows for rows in ordered}
    return [
        _one(first[id(row)]) if id(row) in first else row
        for row in results
        if id(row) in first or row.origin not in SEEN_ASIDE
    ]


def _one(rows: Sequence[Result]) -> Result:
    row, *others = rows
    if not others:
        return row
    also_in = {other.capture: other.frame for other in others if other.capture is not None}
    roles = sorted({other.role for other in rows} - {row.role})
    merged_row = dataclasses.replace(row, runs=len(rows), also_in=also_in)
    return merged_row.noted(Note(Remark.RUNS, len(rows), tuple(roles)))
