# SPDX-License-Identifier: GPL-2.0-or-later
"""How each requirement is tested: which cases judge it, what the Wireshark plugin finds, which mutants break it.

Nothing of this is written down twice. Cases come from the suite's markers, findings from the plugin's registry, mutants
from their files; the catalogue only says why where something is missing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from netblt_conformance import catalogue, mutants, paths
from netblt_conformance.catalogue import Ambiguity, Requirement
from netblt_conformance.mutants import Mutant

# X(NAME, "CTRL-04", "ctrl_redundancy", VIOLATION, ...: one rule of the plugin's registry.
_RULE = re.compile(r'X\((\w+),\s*"([A-Z0-9]+-\d{2})",\s*"(\w+)",\s*(\w+),')


@dataclass(frozen=True, slots=True)
class Rule:
    """What the Wireshark plugin can say of one requirement."""

    name: str  # NB_RULE_<name> in its sources
    slug: str  # netblt.analysis.<slug>
    reach: str  # "violation": can be proven; "suspected": never more; "observed": only that it was kept


@dataclass(frozen=True, slots=True)
class Coverage:
    """How one requirement is tested."""

    requirement: Requirement
    cases: tuple[str, ...]
    rule: Rule | None
    mutants: tuple[str, ...]

    @property
    def tested(self) -> bool:
        return bool(self.cases)


def read_registry(file: Path) -> dict[str, Rule]:
    """The plugin's rules by requirement; none when the sources of the plugin are not there."""
    if not file.is_file():
        return {}
    text = file.read_text(encoding="utf-8").replace("\\\n", "\n")
    return {identifier: Rule(name, slug, reach.lower()) for name, identifier, slug, reach in _RULE.findall(text)}


def survey(cases: Mapping[str, Sequence[str]]) -> dict[str, Coverage]:
    """All requirements of the catalogue. `cases`: name -> requirement IDs."""
    rules, breaking = read_registry(paths.verdicts_registry()), mutants.load(paths.mutants())
    return cover(catalogue.requirements(), cases, rules, breaking)


def cover(
    known: Mapping[str, Requirement],
    cases: Mapping[str, Sequence[str]],
    rules: Mapping[str, Rule],
    breaking: Sequence[Mutant],
) -> dict[str, Coverage]:
    """The same of given parts."""
    return {
        identifier: Coverage(
            requirement,
            tuple(sorted(name for name, judged in cases.items() if identifier in judged)),
            rules.get(identifier),
            tuple(mutant.name for mutant in breaking if mutant.requirement == identifier),
        )
        for identifier, requirement in known.items()
    }


def mistakes(found: Mapping[str, Coverage], rules: Mapping[str, Rule]) -> list[str]:
    """What is missing without a reason, and reasons that are no longer true."""
    lines = [f"the plugin's registry: unknown requirement {other}" for other in rules if other not in found]
    for identifier, coverage in found.items():
        requirement = coverage.requirement
        if not coverage.cases and not requirement.untested:
            lines.append(f"{identifier}: no case tests it and `untested` gives no reason")
        if coverage.cases and requirement.untested:
            lines.append(f"{identifier}: `untested` gives a reason, but {coverage.cases[0]} tests it")
        must = requirement.grade == "must" and coverage.cases
        if must and not coverage.mutants and not requirement.unmutated:
            lines.append(f"{identifier}: a must that no mutant breaks, and `unmutated` gives no reason")
        if coverage.mutants and requirement.unmutated:
            lines.append(f"{identifier}: `unmutated` gives a reason, but {coverage.mutants[0]} breaks it")
        if requirement.dissector and rules and requirement.dissector != _slug(rules, identifier):
            known = _slug(rules, identifier) or "nothing"
            lines.append(f"{identifier}: dissector {requirement.dissector!r}, the plugin's registry has {known}")
    return lines


def _slug(rules: Mapping[str, Rule], identifier: str) -> str:
    return rules[identifier].slug if identifier in rules else ""


def choices(observed: Mapping[str, str]) -> dict[str, str]:
    """The profile of an implementation: ambiguity -> what it chose, of everything that a run observed."""
    by_name: dict[str, Ambiguity] = {a.observed_as: a for a in catalogue.ambiguities().values() if a.observed_as}
    return {by_name[name].id: value for name, value in observed.items() if name in by_name}
