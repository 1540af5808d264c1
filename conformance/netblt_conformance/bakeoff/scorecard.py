# SPDX-License-Identifier: GPL-2.0-or-later
"""Points for what was completed, in the spirit of RFC 1025 (docs/bakeoff.md).

Each meeting that is supported has its tasks, and each task its points. What is unsupported earns nothing and costs
nothing: it is counted beside the points.
"""

from __future__ import annotations

import enum
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from netblt_conformance.bakeoff.model import Completion, Implementation, Milestone, Outcome, Pair

CLEAN = "clean"


class Division(enum.StrEnum):
    """The divisions of RFC 1025, by what is met."""

    FEATHERWEIGHT = "with itself, clean path"
    MIDDLEWEIGHT = "with others, clean path"
    HEAVYWEIGHT = "impaired paths"


@dataclass(frozen=True, slots=True)
class Task:
    """What is to be done, and the points for it in each division. None: it is no task there."""

    name: str
    points: tuple[int | None, int | None, int | None]

    def worth(self, division: Division) -> int | None:
        return self.points[list(Division).index(division)]


OPEN = Task("opens", (1, 2, 2))
BUFFER = Task("one buffer", (1, 2, 2))
BUFFERS = Task("many buffers", (1, 2, 10))
CLOSE = Task("ends cleanly", (1, 2, 2))
RATE = Task("keeps within the rate of the path", (None, None, 5))
LAWFUL = Task("violates nothing", (5, 10, 10))
TASKS = (OPEN, BUFFER, BUFFERS, CLOSE, RATE, LAWFUL)
_BY_MILESTONE = {
    OPEN: Milestone.OPENED,
    BUFFER: Milestone.BUFFER,
    BUFFERS: Milestone.BUFFERS,
    CLOSE: Milestone.CLOSED,
}


@dataclass(slots=True)
class Score:
    """Points reached and possible."""

    reached: int = 0
    possible: int = 0

    def add(self, worth: int, *, done: bool) -> None:
        self.reached += worth if done else 0
        self.possible += worth

    def __str__(self) -> str:
        return f"{self.reached}/{self.possible}" if self.possible else "-"


@dataclass(slots=True)
class Card:
    """The points of one implementation."""

    implementation: Implementation
    divisions: dict[Division, Score] = field(default_factory=lambda: {one: Score() for one in Division})
    tasks: dict[str, Score] = field(default_factory=lambda: {task.name: Score() for task in TASKS})
    completed: int = 0
    played: int = 0
    unsupported: int = 0

    @property
    def total(self) -> Score:
        scores = self.divisions.values()
        return Score(sum(one.reached for one in scores), sum(one.possible for one in scores))


def division(outcome: Outcome) -> Division:
    if outcome.meeting.path.name != CLEAN:
        return Division.HEAVYWEIGHT
    return Division.FEATHERWEIGHT if outcome.meeting.pair.own else Division.MIDDLEWEIGHT


def cards(implementations: Sequence[Implementation], outcomes: Sequence[Outcome]) -> list[Card]:
    found = {one: Card(one) for one in implementations}
    for outcome in outcomes:
        for implementation in _who(outcome.meeting.pair):
            _count(found[implementation], outcome)
    return list(found.values())


def _who(pair: Pair) -> Iterator[Implementation]:
    """Both ends; one that meets itself counts once."""
    yield pair.opener
    if not pair.own:
        yield pair.listener


def _count(card: Card, outcome: Outcome) -> None:
    if outcome.completion is Completion.UNSUPPORTED:
        card.unsupported += 1
        return
    card.played += 1
    card.completed += outcome.completion is Completion.COMPLETED
    where = division(outcome)
    for task, done in earned(card.implementation, outcome):
        worth = task.worth(where)
        if worth is not None:
            card.divisions[where].add(worth, done=done)
            card.tasks[task.name].add(worth, done=done)


def earned(implementation: Implementation, outcome: Outcome) -> Iterator[tuple[Task, bool]]:
    """The tasks of an implementation in a meeting, and whether it has done each."""
    for task, milestone in _BY_MILESTONE.items():
        yield task, milestone in outcome.milestones
    if outcome.meeting.pair.sender == implementation and _shows_rate(outcome):
        yield RATE, outcome.completion is Completion.COMPLETED and Milestone.WITHIN_RATE in outcome.milestones
    own = [one for one in outcome.proven if one.implementation in (implementation.name, "")]
    yield LAWFUL, outcome.completion is Completion.COMPLETED and not own


def _shows_rate(outcome: Outcome) -> bool:
    """Packets that a process could not send or forward in time meet in the queue, whatever the sender's rate is."""
    limited = any(rule.startswith("queue") for rule in outcome.meeting.path.rules)
    return limited and (Milestone.WITHIN_RATE in outcome.milestones or not outcome.disturbed)


def ranking(found: Sequence[Card]) -> list[Card]:
    """The largest share of its possible points first."""
    return sorted(found, key=lambda card: -card.total.reached / (card.total.possible or 1))


def by_pair(outcomes: Sequence[Outcome]) -> dict[tuple[Implementation, Implementation], list[Outcome]]:
    """Outcomes by opener and listener."""
    found: dict[tuple[Implementation, Implementation], list[Outcome]] = defaultdict(list)
    for outcome in outcomes:
        found[outcome.meeting.pair.opener, outcome.meeting.pair.listener].append(outcome)
    return dict(found)
