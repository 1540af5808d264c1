# SPDX-License-Identifier: GPL-2.0-or-later
"""The results of a bakeoff as tables of the terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from netblt_conformance.bakeoff import differences
from netblt_conformance.bakeoff.differences import Difference
from netblt_conformance.bakeoff.model import Completion, Implementation, Outcome, Pair
from netblt_conformance.bakeoff.scorecard import TASKS, Card, Division, by_pair, ranking
from netblt_conformance.common.tables import Column, lines

_KBIT = 1000


def cell(outcome: Outcome) -> str:
    """Goodput and cost of a transfer that was completed; else how it ended."""
    if outcome.completion is Completion.UNSUPPORTED:
        return "-"
    if outcome.completion is not Completion.COMPLETED:
        return outcome.completion.value.upper()
    bad = f", {len(outcome.proven)} bad" if outcome.proven else ""
    return f"{figures(outcome)}{bad}"


def figures(outcome: Outcome) -> str:
    """ "642 kbit/s x1.09": goodput, and bytes on the line for each byte delivered."""
    goodput, cost = outcome.goodput_bps or 0.0, outcome.cost or 0.0
    return f"{goodput / _KBIT:.0f} x{cost:.2f}"


def report(
    implementations: Sequence[Implementation],
    outcomes: Sequence[Outcome],
    cards: Sequence[Card],
    found: Sequence[Difference] = (),
) -> str:
    parts: list[str] = []
    parts += ["Implementations", *_implementations(implementations), ""]
    parts += ["Pairs: meetings that hold, of those that are supported", *_matrix(implementations, outcomes), ""]
    for way in dict.fromkeys(outcome.meeting.encapsulation for outcome in outcomes):
        parts += [f"Encapsulation {way.value}: goodput in kbit/s, x bytes on the line for each byte delivered"]
        own = [outcome for outcome in outcomes if outcome.meeting.encapsulation is way]
        parts += [*_meetings(implementations, own), ""]
    problems = list(_problems(outcomes))
    parts += ["What did not hold", *problems, ""] if problems else []
    parts += [*_unsupported(outcomes)]
    parts += ["First divergences: how often, what explains them, the first of each kind", *differences.table(found), ""]
    parts += ["Points reached, of those that were possible (docs/bakeoff.md)", *_scores(cards), ""]
    parts.append(summary(outcomes))
    return "\n".join(parts) + "\n"


def letters(implementations: Sequence[Implementation]) -> dict[Implementation, str]:
    """A short name of each in tables: A, B, ... Z, A1, ..."""
    found = {}
    for number, one in enumerate(implementations):
        found[one] = chr(ord("A") + number % 26) + (str(number // 26) if number >= 26 else "")
    return found


def pair_words(pair: Pair, names: Mapping[Implementation, str]) -> str:
    """ "A sends to B": the active end is named first."""
    way = "sends to" if pair.opener_sends else "fetches from"
    return f"{names[pair.opener]} {way} {names[pair.listener]}"


def _implementations(implementations: Sequence[Implementation]) -> list[str]:
    rows = [[letter, one.name, one.dialect, str(one.file)] for one, letter in letters(implementations).items()]
    return lines([Column(), Column(wide=True), Column(), Column(wide=True)], rows, indent=2)


def _matrix(implementations: Sequence[Implementation], outcomes: Sequence[Outcome]) -> list[str]:
    names, found = letters(implementations), by_pair(outcomes)
    rows = []
    for opener in implementations:
        cells = [share(found.get((opener, listener), [])) for listener in implementations]
        rows.append([f"{names[opener]} opens", *cells])
    return lines([Column(), *(Column(names[one], right=True) for one in implementations)], rows, indent=2)


def share(outcomes: Sequence[Outcome]) -> str:
    """ "20/20": how many of the supported meetings hold."""
    supported = [one for one in outcomes if one.completion is not Completion.UNSUPPORTED]
    return f"{sum(one.holds for one in supported)}/{len(supported)}" if supported else "-"


def _meetings(implementations: Sequence[Implementation], outcomes: Sequence[Outcome]) -> list[str]:
    names = letters(implementations)
    paths = list(dict.fromkeys(outcome.meeting.path.name for outcome in outcomes))
    rows: dict[str, dict[str, str]] = {}
    for outcome in outcomes:
        row = rows.setdefault(pair_words(outcome.meeting.pair, names), {})
        row[outcome.meeting.path.name] = cell(outcome)
    shown = [[name, *(row.get(path, "") for path in paths)] for name, row in rows.items() if set(row.values()) != {"-"}]
    return lines([Column(), *(Column(path, right=True) for path in paths)], shown, indent=2)


def where(outcome: Outcome) -> str:
    return f"{outcome.meeting.pair}, {outcome.meeting.path.name}, {outcome.meeting.encapsulation.value}"


def _problems(outcomes: Sequence[Outcome]) -> Iterator[str]:
    for outcome in outcomes:
        capture = f" ({outcome.capture})" if outcome.capture else ""
        if outcome.completion in (Completion.FAILED, Completion.ERROR):
            yield f"  {outcome.completion.value.upper()}: {where(outcome)}{capture}"
            yield f"    {outcome.why}"
        elif outcome.proven:
            yield f"  VIOLATION: {where(outcome)}{capture}"
        for one in outcome.proven:
            frame = f", frame {one.frame}" if one.frame else ""
            yield f"    {one.implementation} {one.role} violates {one.requirement}{frame}: {one.text}"
        if not outcome.holds:
            yield from (f"    note: {note}" for note in outcome.notes)


def _unsupported(outcomes: Sequence[Outcome]) -> list[str]:
    counted = Counter(outcome.why for outcome in outcomes if outcome.completion is Completion.UNSUPPORTED)
    if not counted:
        return []
    rows = [[str(count), why] for why, count in counted.items()]
    return ["Unsupported meetings", *lines([Column(right=True), Column(wide=True)], rows, indent=2), ""]


def _scores(cards: Sequence[Card]) -> list[str]:
    heads = [*(division.value for division in Division), "total", "unsupported"]
    names = letters([card.implementation for card in cards])
    rows = [
        [
            names[card.implementation],
            *(str(card.divisions[division]) for division in Division),
            str(card.total),
            str(card.unsupported),
        ]
        for card in ranking(cards)
    ]
    columns = [Column(), *(Column(head, right=True, wide=True, most=14) for head in heads)]
    tasks = [[task.name, *(str(card.tasks[task.name]) for card in ranking(cards))] for task in TASKS]
    of_tasks = [Column(names[card.implementation], right=True) for card in ranking(cards)]
    return [*lines(columns, rows, indent=2), "", *lines([Column(), *of_tasks], tasks, indent=2)]


def summary(outcomes: Sequence[Outcome]) -> str:
    counted = Counter(outcome.completion for outcome in outcomes)
    words = ", ".join(f"{counted[one]} {one.value}" for one in Completion if counted[one])
    violations = sum(len(outcome.proven) for outcome in outcomes)
    suspected = sum(len(outcome.violations) - len(outcome.proven) for outcome in outcomes)
    return f"{len(outcomes)} meetings: {words}; {violations} violations, {suspected} suspected"
