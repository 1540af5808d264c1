# SPDX-License-Identifier: GPL-2.0-or-later
"""The rows of a capture with very many connections: what was the same for many of them is one row."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterable

from netblt_conformance.common.remarks import Note, Remark
from netblt_conformance.common.verdicts import Result, Verdict

# Rows of one rule and verdict that are listed; the others are counted.
LISTED_ALIKE = 100
_TOLD_BY_COUNT = frozenset((Verdict.PASS, Verdict.NA))


def summed_up(groups: Iterable[Iterable[Result]], name: str) -> list[Result]:
    """`groups`: the rows of each transfer. Passes as one row for each rule; of what did not pass the first rows of each
    rule and verdict, and one row for the rest."""
    kept: list[Result] = []
    seen: Counter[tuple[Verdict, str]] = Counter()
    alike: dict[tuple[Verdict, str], Result] = {}
    for rows in groups:
        for row in rows:
            key = row.verdict, row.requirement
            seen[key] += 1
            if row.verdict in _TOLD_BY_COUNT:
                alike.setdefault(key, row)
            elif seen[key] <= LISTED_ALIKE:
                kept.append(row)
            else:
                alike.setdefault(key, row)
    for key, row in alike.items():
        counted = seen[key] if row.verdict in _TOLD_BY_COUNT else seen[key] - LISTED_ALIKE
        kept.append(_sum(row, counted, name))
    return kept


def _sum(row: Result, connections: int, name: str) -> Result:
    if row.verdict in _TOLD_BY_COUNT:
        return dataclasses.replace(row, case=f"{connections} connections", capture=None, frame=None)
    row = dataclasses.replace(row, case=f"{connections} more connections", capture=name)
    return row.noted(Note(Remark.CONNECTIONS, connections))
