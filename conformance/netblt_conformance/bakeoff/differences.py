# SPDX-License-Identifier: GPL-2.0-or-later
"""The first divergences of a bakeoff: each two implementations that played the same role against the same partner."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

from netblt_conformance.bakeoff.divergence import REAL, Divergence, Tolerance, first
from netblt_conformance.bakeoff.exchange import exchange
from netblt_conformance.bakeoff.explanation import Class, Explanation, Proven, explain
from netblt_conformance.bakeoff.model import LISTENER_ADDRESS, OPENER_ADDRESS, Outcome
from netblt_conformance.common.model import Role
from netblt_conformance.common.tables import Column, lines
from netblt_conformance.packets import captures
from netblt_conformance.packets.captures import BrokenCaptureError
from netblt_conformance.trace.frames import Frame, frames

# On the others the same random decisions meet different packets.
COMPARED_PATH = "clean"
# Sentences in the table of the terminal; the page and the JSON document have all.
SHOWN_MOST = 20


@dataclass(frozen=True, slots=True)
class Difference:
    """Two meetings in which two implementations had the same part, and where they differ first."""

    outcomes: tuple[Outcome, Outcome]
    names: tuple[str, str]
    partner: str
    role: Role
    divergence: Divergence | None  # None: all answers are alike
    explanation: Explanation | None

    @property
    def kind(self) -> tuple[Any, ...]:
        """What is alike in differences of one kind. The names are those of the implementations that differ."""
        found, explained = self.divergence, self.explanation
        if found is None or explained is None:
            return ()
        return self.names, self.role.sender, explained.kind, explained.identifiers, found.how, found.types, found.fields

    @property
    def words(self) -> str:
        """ "explained by AMB-33": how far it is explained."""
        if self.explanation is None:
            return "alike"
        return " ".join([self.explanation.kind.value, *self.explanation.identifiers])

    @property
    def sentence(self) -> str:
        if self.divergence is None:
            return "All answers are alike."
        return self.divergence.sentence


def differences(outcomes: Sequence[Outcome], folder: Path, tolerance: Tolerance = REAL) -> list[Difference]:
    """Of all meetings over the clean path whose captures in `folder` can be compared. Meetings that the machine may
    have disturbed are left out."""
    found: list[Difference] = []
    read: dict[str, list[Frame]] = {}
    parts: dict[tuple[Any, ...], list[tuple[str, Outcome]]] = {}
    for outcome in outcomes:
        if outcome.meeting.path.name == COMPARED_PATH and outcome.capture and not outcome.disturbed:
            for part, name in _parts(outcome):
                parts.setdefault(part, []).append((name, outcome))
    for (partner, role, _), members in parts.items():
        for (x, one), (y, other) in combinations(members, 2):
            captured = [_read(read, folder, outcome) for outcome in (one, other)]
            if all(captured):
                found.append(_compared((x, y), (one, other), partner, role, captured, tolerance))
    return found


def _parts(outcome: Outcome) -> Iterator[tuple[tuple[Any, ...], str]]:
    """Partner, role and encapsulation; and who plays this role."""
    meeting = outcome.meeting
    pair, way = meeting.pair, meeting.encapsulation
    yield (pair.listener.name, pair.opener_role, way), pair.opener.name
    yield (pair.opener.name, pair.listener_role, way), pair.listener.name


def _read(known: dict[str, list[Frame]], folder: Path, outcome: Outcome) -> list[Frame]:
    if outcome.capture not in known:
        try:
            known[outcome.capture] = frames(captures.read(folder / outcome.capture))
        except (BrokenCaptureError, OSError):
            known[outcome.capture] = []
    return known[outcome.capture]


def _compared(
    names: tuple[str, str],
    outcomes: tuple[Outcome, Outcome],
    partner: str,
    role: Role,
    captured: Sequence[list[Frame]],
    tolerance: Tolerance,
) -> Difference:
    address = OPENER_ADDRESS if role.active else LISTENER_ADDRESS
    x, y = (exchange(found, address, relative=True) for found in captured)
    divergence = first(x, y, names, tolerance)
    one, other = (_proven(outcome, name) for outcome, name in zip(outcomes, names, strict=True))
    explained = None if divergence is None else explain(divergence, (one, other))
    return Difference(outcomes, names, partner, role, divergence, explained)


def _proven(outcome: Outcome, name: str) -> Proven:
    return [
        (one.requirement, one.frame) for one in outcome.proven if one.implementation == name and one.frame is not None
    ]


# ---- what is shown ----


@dataclass(frozen=True, slots=True)
class Group:
    """Differences of one kind: how many, and the first one."""

    count: int
    example: Difference


def groups(found: Sequence[Difference]) -> list[Group]:
    """The most frequent kind first. What is alike is no kind."""
    counted = Counter(one.kind for one in found if one.divergence is not None)
    examples: dict[tuple[Any, ...], Difference] = {}
    for one in found:
        examples.setdefault(one.kind, one)
    return [Group(count, examples[kind]) for kind, count in counted.most_common()]


def summary(found: Sequence[Difference]) -> str:
    if not found:
        return (
            f"no two implementations had the same part on the path {COMPARED_PATH} in meetings that the machine did not"
            " disturb"
        )
    counted = Counter(one.explanation.kind for one in found if one.explanation is not None)
    alike = sum(one.divergence is None for one in found)
    words = [f"{counted[kind]} {kind.value}" for kind in Class if counted[kind]]
    return f"{len(found)} comparisons: " + ", ".join([f"{alike} alike", *words])


def table(found: Sequence[Difference]) -> list[str]:
    """For the terminal."""
    every = groups(found)
    rows = [
        [str(group.count), group.example.words, f"{where(group.example)}: {group.example.sentence}"]
        for group in every[:SHOWN_MOST]
    ]
    columns = [Column(right=True), Column(wide=True, most=16), Column(wide=True)]
    more = [f"  and {len(every) - SHOWN_MOST} more kinds"] if len(every) > SHOWN_MOST else []
    return [*(lines(columns, rows, indent=2) if rows else []), *more, f"  {summary(found)}"]


def where(one: Difference) -> str:
    return f"{one.role} with {one.partner}, {one.outcomes[0].meeting.encapsulation.value}"


def records(found: Sequence[Difference]) -> list[dict[str, Any]]:
    """For the JSON document: every difference, alike ones too."""
    return [_record(one) for one in found]


def _record(one: Difference) -> dict[str, Any]:
    divergence, explained = one.divergence, one.explanation
    return {
        "implementations": list(one.names),
        "role": str(one.role),
        "partner": one.partner,
        "path": one.outcomes[0].meeting.path.name,
        "encapsulation": one.outcomes[0].meeting.encapsulation.value,
        "captures": [outcome.capture for outcome in one.outcomes],
        "sentence": one.sentence,
        "how": None if divergence is None else divergence.how.value,
        "frames": None if divergence is None else [frame or None for frame in divergence.frames],
        "fields": [] if divergence is None else sorted(divergence.fields),
        "explanation": "alike" if explained is None else explained.kind.value,
        "identifiers": [] if explained is None else list(explained.identifiers),
        "text": "" if explained is None else explained.text,
    }
