# SPDX-License-Identifier: GPL-2.0-or-later
"""How each requirement is tested: which cases judge it, what the Wireshark plugin finds, which mutants break it.

Nothing of this is written down twice. Cases come from the suite's markers, mutants from their files, the plugin's rules
from the catalogue, which also states why where something is missing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from netblt_conformance.catalogue import catalogue
from netblt_conformance.catalogue.catalogue import Ambiguity, Requirement
from netblt_conformance.catalogue.dissector_rule import Rule
from netblt_conformance.mutants import mutants
from netblt_conformance.mutants.mutants import Mutant


@dataclass(frozen=True, slots=True)
class Coverage:
    """How one requirement is tested."""

    requirement: Requirement
    cases: tuple[str, ...]
    mutants: tuple[str, ...]

    @property
    def tested(self) -> bool:
        return bool(self.cases)

    @property
    def rule(self) -> Rule | None:
        return self.requirement.dissector


def survey(cases: Mapping[str, Sequence[str]]) -> dict[str, Coverage]:
    """All requirements of the catalogue. `cases`: name -> requirement IDs."""
    return cover(catalogue.requirements(), cases, mutants.every())


def cover(
    known: Mapping[str, Requirement],
    cases: Mapping[str, Sequence[str]],
    breaking: Sequence[Mutant],
) -> dict[str, Coverage]:
    """The same of given parts."""
    return {
        identifier: Coverage(
            requirement,
            tuple(sorted(name for name, judged in cases.items() if identifier in judged)),
            tuple(mutant.name for mutant in breaking if mutant.requirement == identifier),
        )
        for identifier, requirement in known.items()
    }


def mistakes(found: Mapping[str, Coverage]) -> list[str]:
    """What is missing without a reason, and reasons that are no longer true."""
    lines = []
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
    return lines


def choices(observed: Mapping[str, str]) -> dict[str, str]:
    """The profile of an implementation: ambiguity -> what it chose, of everything that a run observed."""
    by_name: dict[str, Ambiguity] = {a.observed_as: a for a in catalogue.ambiguities().values() if a.observed_as}
    return {by_name[name].id: value for name, value in observed.items() if name in by_name}
