# SPDX-License-Identifier: GPL-2.0-or-later
"""The command `explain ID`: a requirement or an ambiguity, and where each part of its test is in the sources."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from netblt_conformance.catalogue import catalogue
from netblt_conformance.catalogue.dissector_rule import Rule
from netblt_conformance.common import paths, tables
from netblt_conformance.common.tables import Column
from netblt_conformance.common.verdicts import ExitCode
from netblt_conformance.mutants import coverage, mutants
from netblt_conformance.run.selection import SelectionError


def explain(identifier: str, cases: Mapping[str, Sequence[str]]) -> ExitCode:
    """Prints what is known of `identifier`. `cases`: name -> file and requirement IDs. SelectionError: no such ID."""
    wanted = identifier.upper()
    fields = _ambiguity(wanted) if wanted.startswith("AMB-") else _requirement(wanted, cases)
    (_, title), *others = fields
    rows = [
        (label if number == 0 else "", " ".join(text.split()) or "-")
        for label, texts in others
        for number, text in enumerate(texts or ["-"])
    ]
    print("\n".join([*title, *tables.lines((Column(), Column(wide=True)), rows, indent=2)]))
    return ExitCode.HOLDS


def _requirement(identifier: str, cases: Mapping[str, Sequence[str]]) -> Iterator[tuple[str, Sequence[str]]]:
    known = catalogue.requirements()
    if identifier not in known:
        near = [other for other in known if other.startswith(identifier.split("-")[0] + "-")]
        hint = f"; this area has {near[0]} to {near[-1]}" if near else ""
        raise SelectionError(f"{identifier}: no such requirement{hint}")
    requirement = known[identifier]
    breaking = mutants.every()
    judged = {name: words[1:] for name, words in cases.items()}
    found = coverage.cover({identifier: requirement}, judged, breaking)[identifier]
    yield "", [f"{requirement.id}  {requirement.title}"]
    yield "section", [requirement.section]
    yield "strength", [requirement.strength]
    yield "binds", [requirement.binds]
    yield "holds in", [", ".join(requirement.dialects)]
    yield "requires", [requirement.requirement]
    yield "tested by", [requirement.tester]
    yield "cases", [f"{name.replace('_', ' ')} ({_case_place(cases[name][0], name)})" for name in found.cases]
    if not found.cases:
        yield "not tested because", [requirement.untested]
    yield "seen in a capture", [requirement.passive]
    yield "in Wireshark", [f'netblt.analysis.requirement == "{identifier}"', *_reach(found.rule)]
    yield "dissector rule", _rule_places(found.rule)
    yield "mutants", [_mutant(one) for one in breaking if identifier in one.planted]
    choices = catalogue.ambiguities()
    yield "ambiguities", [f"{each}: {choices[each].title} (explain {each})" for each in requirement.ambiguities]


def _reach(rule: Rule | None) -> list[str]:
    """How much the plugin can prove, and what a violation is."""
    if rule is None:
        return []
    reach = {
        "violation": "a violation can be proven",
        "suspected": "a violation is suspected at most",
        "observed": "the rule can pass; a violation leaves no trace of its own",
    }
    lines = [reach[rule.reach]]
    if rule.breach:
        lines.append(f"violation: {rule.breach} (proof: {rule.proof})")
    if rule.suspected:
        lines.append(f"suspected: {rule.suspected}")
    if rule.same_as:
        lines.append(f"a violation is reported for {', '.join(rule.same_as)}")
    return lines


def _mutant(one: mutants.Mutant) -> str:
    return f"{one.name}: {one.about} ({', '.join(dict.fromkeys(edit.file for edit in one.edits))})"


def _case_place(file: str, name: str) -> str:
    """FILE:LINE of the function that is this case."""
    return next(_places(paths.suite() / file, rf"^def test_{name}\b"), file)


def _rule_places(rule: Rule | None) -> list[str]:
    """FILE:LINE of each place in the plugin's sources that reports a violation or that the rule passed."""
    if rule is None:
        return []
    return [
        place
        for file in sorted(paths.dissector_sources().rglob("*.c"))
        for place in _places(file, rf"\bNB_RULE_{rule.name}\b")
    ]


def _places(file: Path, pattern: str) -> Iterator[str]:
    """FILE:LINE of each line that holds the pattern."""
    text = _text(file)
    numbers = dict.fromkeys(
        text.count("\n", 0, found.start()) + 1 for found in re.finditer(pattern, text, re.MULTILINE)
    )
    for number in numbers:
        yield f"{file.relative_to(paths.root())}:{number}"


@functools.cache
def _text(file: Path) -> str:
    return file.read_text(encoding="utf-8")


def _ambiguity(identifier: str) -> Iterator[tuple[str, Sequence[str]]]:
    """Where RFC 998 leaves a choice, which the reports name by an ID of this kind."""
    known = catalogue.ambiguities()
    if identifier not in known:
        raise SelectionError(f"{identifier}: no such ambiguity; there are {min(known)} to {max(known)}")
    found = known[identifier]
    yield "", [f"{found.id}  {found.title}"]
    yield "accepted", [found.accepted]
    yield "reported as", [found.observed_as or ""]
    yield "not observed", [found.unobserved or ""]
    concerned = [one for one in catalogue.requirements().values() if identifier in one.ambiguities]
    yield "concerns", [f"{one.id}: {one.title}" for one in concerned]
    chosen = [one for one in mutants.load_variants(paths.variants()) if identifier in one.ambiguities]
    yield "legal variants", [f"{one.name}: {one.about}" for one in chosen]
