# SPDX-License-Identifier: GPL-2.0-or-later
"""Measures learned machines: which mutants of the reference differ from its machine, and whether an ambiguity explains
the differences of each legal variant. Nothing is learned: sequences that test the machine of the reference run
until the first reaction that is another one."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from netblt_conformance.cases.case import Profile
from netblt_conformance.cases.probe import probe
from netblt_conformance.common import paths
from netblt_conformance.common.child import Emit
from netblt_conformance.common.errors import HarnessError
from netblt_conformance.common.verdicts import ExitCode
from netblt_conformance.common.words import fit
from netblt_conformance.learned.campaign import load_other
from netblt_conformance.learned.classes import leaving, permitted_table, save_permitted
from netblt_conformance.learned.connection import Connection
from netblt_conformance.learned.differences import Difference
from netblt_conformance.learned.machine import Machine, Word
from netblt_conformance.learned.outputs import CRASH
from netblt_conformance.learned.sequences import guiding, suite
from netblt_conformance.learned.tester import DELAY_US
from netblt_conformance.learned.themes import Part
from netblt_conformance.learned.workers import Place, Work, run
from netblt_conformance.links.base import LinkFactory
from netblt_conformance.links.sim import SimLinkFactory
from netblt_conformance.mutants.mutants import Mutant, MutantError, Variant, chosen, load, load_variants
from netblt_conformance.mutants.mutation import Workshop, workshop

# Kinds of differences of one variant and role that are looked for.
KINDS_MOST = 12
_WORDS_PER_EVENT = 50


@dataclass(frozen=True, slots=True)
class Plan:
    """What is played."""

    parts: tuple[Part, ...]
    seed: int
    jobs: int
    per_state: int


@dataclass(slots=True)
class Tested:
    """The machine of the reference in one role and theme, and the sequences that test it."""

    part: Part
    machine: Machine
    words: list[Word] = field(default_factory=list)


def _tested(plan: Plan) -> list[Tested]:
    found = []
    for part in plan.parts:
        machine = load_other(None, part)
        words = suite(machine, plan.seed, plan.per_state, guiding(part, machine.inputs))
        found.append(Tested(part, machine, list(words)))
    return found


def departures(
    factory: LinkFactory, profile: Profile, tested: Tested, place: Place, on_word: Callable[[], None]
) -> Iterator[Difference]:
    """The first difference in each sequence that has one, shortened."""
    machine, access, part = tested.machine, tested.machine.access(), tested.part
    for word in tested.words:
        on_word()
        found = _departure(factory, part, profile, machine, word, place)
        if found is None:
            continue
        short = (*access[machine.after(found.word[:-1])], *found.word[-1:])
        if len(short) < len(found.word):
            shorter = _departure(factory, part, profile, machine, short, place)
            found = shorter or found
        yield found


def _departure(
    factory: LinkFactory, part: Part, profile: Profile, machine: Machine, word: Word, place: Place
) -> Difference | None:
    place.note((machine.role, machine.theme, *word))
    with Connection(factory, part, profile) as connection:
        if connection.began != machine.began:
            return Difference(machine.role, (), machine.began, connection.began, machine.theme)
        for number, wanted in enumerate(machine.run(word)):
            seen = connection.do(word[number])
            if seen != wanted:
                return Difference(machine.role, word[: number + 1], wanted, seen, machine.theme)
    return None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What was found of one mutant or variant."""

    entry: Mutant | Variant
    differences: tuple[Difference, ...] = ()
    mistake: str = ""  # it could not be judged


def _action(
    made: Workshop, entry: Mutant | Variant, plan: Plan, tested: Sequence[Tested], most: int
) -> Callable[[Emit, Place], Any]:
    """`most`: kinds of differences in each part; with one the first part that differs is the last."""

    def work(emit: Emit, place: Place) -> Any:
        try:
            library = made.build(entry)
        except MutantError as error:
            return {"mistake": str(error)}
        emit({"event": "built"})
        played, found = 0, list[Difference]()

        def on_word() -> None:
            nonlocal played
            played += 1
            if played % _WORDS_PER_EVENT == 0:
                emit({"event": "at"})

        factory = SimLinkFactory(library, DELAY_US)
        profiles = {role: probe(factory, role, plan.seed)[0] for role in {one.part.role for one in tested}}
        for test in tested:
            kinds: dict[tuple[str, ...], Difference] = {}
            for one in departures(factory, profiles[test.part.role], test, place, on_word):
                known = kinds.get(one.kind)
                if known is None or len(one.word) < len(known.word):
                    kinds[one.kind] = one
                if len(kinds) == most or not one.word:
                    break
            found += kinds.values()
            if found and most == 1:
                break
        shutil.rmtree(made.folder / entry.name, ignore_errors=True)
        return {"differences": [[one.role, one.word, one.expected, one.seen, one.theme] for one in found]}

    return work


def _outcome(entry: Mutant | Variant, piece: Work, first: Part) -> Outcome:
    if piece.fault:
        role, theme, *word = piece.word or (str(first.role), first.theme.name)
        return Outcome(entry, (Difference(role, tuple(word), "no crash", f"{CRASH}: {piece.fault}", theme),))
    if "mistake" in piece.result:
        return Outcome(entry, mistake=piece.result["mistake"])
    rows = piece.result["differences"]
    return Outcome(entry, tuple(Difference(role, tuple(word), *outputs) for role, word, *outputs in rows))


def _measure(
    entries: Sequence[Mutant | Variant], plan: Plan, most: int, show: Callable[[Outcome], None]
) -> list[Outcome]:
    """The outcomes, shown as they come."""
    tested, outcomes = _tested(plan), list[Outcome]()
    named = {entry.name: entry for entry in entries}

    def on_end(piece: Work) -> None:
        outcome = _outcome(named[piece.name], piece, plan.parts[0])
        outcomes.append(outcome)
        if not outcome.mistake:
            show(outcome)

    with workshop(paths.core()) as made:
        pieces = (Work(entry.name, _action(made, entry, plan, tested, most)) for entry in entries)
        run(pieces, plan.jobs, on_end=on_end)
    if mistakes := [outcome.mistake for outcome in outcomes if outcome.mistake]:
        raise MutantError("; ".join(mistakes))
    return outcomes


def _after(one: Difference) -> str:
    return f"{one.title}, after {', '.join(one.word) or 'no input'}: expected {one.expected}, seen {one.seen}"


# ---- mutants ----

# A machine has reactions and their order. It has no layouts, sizes, rates and lengths of timers, and one connection:
# the requirements of the other areas are about these.
REACTIONS = ("ABORT", "CLOSE", "CTRL", "DATA", "OPEN", "ORDER", "QUIT", "RESEND")

# The least share of the mutants of these requirements that has to differ.
GOAL = 0.9


def _is_of_reactions(entry: Mutant | Variant) -> bool:
    return isinstance(entry, Mutant) and entry.requirement.rpartition("-")[0] in REACTIONS


def mutants(names: Sequence[str], plan: Plan) -> int:
    """Prints the mutants that differ, with a trace, and the others. 1 when too few do (GOAL)."""
    wanted, began_s = chosen(load(paths.mutants()), names), time.monotonic()

    def show(outcome: Outcome) -> None:
        assert isinstance(outcome.entry, Mutant)
        word, first = ("differs", outcome.differences[0]) if outcome.differences else ("alike", None)
        line = f"{word:<9}{outcome.entry.requirement:<10} {outcome.entry.name}"
        print(fit(f"{line}  {_after(first)}" if first else line), flush=True)

    outcomes = _measure(wanted, plan, 1, show)
    good = sum(bool(one.differences) for one in outcomes)
    visible = [one for one in outcomes if _is_of_reactions(one.entry)]
    differ = sum(bool(one.differences) for one in visible)
    print(f"{differ} of {len(visible)} mutants of requirements on reactions ({', '.join(REACTIONS)}) differ")
    print(f"{good} of {len(wanted)} mutants differ, seed {plan.seed}, {time.monotonic() - began_s:.0f} s")
    return ExitCode.HOLDS if differ >= GOAL * len(visible) else ExitCode.FAILED


# ---- variants ----


def variants(names: Sequence[str], plan: Plan, save: Path | None) -> int:
    """Prints the differences of each legal variant, and what permits them, or that nothing does."""
    wanted, began_s = chosen(load_variants(paths.variants()), names), time.monotonic()
    rows = permitted_table()

    def show(outcome: Outcome) -> None:
        nonlocal rows
        rows = permitted_rows([outcome], rows)
        if save is not None:  # after each one: a run that ends early has not been for nothing
            save_permitted(rows, save)
        amb = " ".join(_choices(outcome))
        word = "alike" if not outcome.differences else "differs"
        print(f"{word:<10}{outcome.entry.name}  {amb}".rstrip(), flush=True)
        for one in outcome.differences[:2]:
            print(fit(f"          {_after(one)}"), flush=True)

    outcomes = _measure(wanted, plan, KINDS_MOST, show)
    different = [one for one in outcomes if one.differences]
    gaps = [one for one in different if not explaining(one, rows)]
    for one in gaps:
        print(
            f"gap       {one.entry.name}: nothing leaves this choice, and no variant with an ambiguity reacts like it"
        )
    print(
        f"{len(different)} of {len(wanted)} variants differ; an ambiguity or a requirement that leaves the choice "
        f"explains {len(different) - len(gaps)}, nothing explains {len(gaps)}; seed {plan.seed}, "
        f"{time.monotonic() - began_s:.0f} s"
    )
    return ExitCode.HOLDS


def _variant(outcome: Outcome) -> Variant:
    if not isinstance(outcome.entry, Variant):
        raise HarnessError(f"{outcome.entry.name} is no variant")
    return outcome.entry


def _choices(outcome: Outcome) -> tuple[str, ...]:
    """What leaves the choice of the variant: ambiguities, and requirements by their own words."""
    entry = _variant(outcome)
    return (*entry.ambiguities, *entry.permitted_by)


def explaining(outcome: Outcome, rows: Sequence[dict[str, Any]]) -> set[str]:
    """What leaves the choice of the variant, else what leaves that of others which show one of its differences."""
    kinds = {(one.role, " ".join(one.kind)) for one in outcome.differences}
    alike = (name for row in rows if (row["role"], row["kind"]) in kinds for name in leaving(row))
    return {*_choices(outcome), *alike}


def permitted_rows(different: Sequence[Outcome], known: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """`known` and one row for each role and kind of difference, with all variants that show it."""
    rows = {(row["role"], row["kind"]): dict(row) for row in known}
    for outcome in different:
        variant = _variant(outcome)
        for one in outcome.differences:
            kind = " ".join(one.kind)
            row = rows.setdefault((one.role, kind), {"role": one.role, "kind": kind})
            for name, more in (
                ("variants", (variant.name,)),
                ("ambiguities", variant.ambiguities),
                ("requirements", variant.permitted_by),
            ):
                row[name] = sorted({*row.get(name, ()), *more})
    return [rows[key] for key in sorted(rows)]
