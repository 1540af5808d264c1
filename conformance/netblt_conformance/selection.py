# SPDX-License-Identifier: GPL-2.0-or-later
"""--select: which cases run. Terms are separated by commas or blanks; a case runs when any term picks it.

A term is a requirement ID (CTRL-04), an area (CTRL), a pattern of IDs (CTRL-0?), a strength (must), a file of the
suite (ctrl.py) or a part of the case's name. A term with `!` in front takes cases out again.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterable
from dataclasses import dataclass

from netblt_conformance.catalogue import Requirement


class SelectionError(Exception):
    """A term that picks nothing anywhere."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """What a term is matched against."""

    name: str  # of the function, without "test_"
    file: str
    requirements: tuple[str, ...]


def _term_picks(term: str, candidate: Candidate, known: dict[str, Requirement]) -> bool:
    if term in ("must", "should", "may"):
        first = known.get(candidate.requirements[0]) if candidate.requirements else None
        return first is not None and first.grade == term
    upper = term.upper()
    for identifier in candidate.requirements:
        if fnmatch.fnmatchcase(identifier, upper) or identifier.rpartition("-")[0] == upper:
            return True
    if term == candidate.file:
        return True
    return not re.fullmatch(r"[A-Z0-9]+(-\d+)?", term) and term.lower() in candidate.name


@dataclass(frozen=True, slots=True)
class Share:
    """One part of several, as fair as can be: of each requirement's runs every n-th, and with each requirement another
    one begins. The parts together are everything."""

    number: int  # from 1
    of: int

    @classmethod
    def parse(cls, text: str) -> Share:
        match = re.fullmatch(r"([1-9]\d*)/([1-9]\d*)", text)
        if match is None or int(match[1]) > int(match[2]):
            raise ValueError(text)
        return cls(int(match[1]), int(match[2]))

    def takes(self, runs: Iterable[tuple[str, str]]) -> set[str]:
        """`runs`: (requirement, what belongs together) in their order. Answers the latter of those in this part."""
        groups: dict[str, dict[str, None]] = {}
        for requirement, unit in runs:
            groups.setdefault(requirement, {})[unit] = None
        return {
            unit
            for first, units in enumerate(groups.values())
            for place, unit in enumerate(units)
            if (first + place) % self.of == self.number - 1
        }


class Selection:
    def __init__(self, expression: str) -> None:
        terms = [term for term in re.split(r"[,\s]+", expression) if term]
        self.wanted = [term for term in terms if not term.startswith("!")]
        self.unwanted = [term[1:] for term in terms if term.startswith("!")]

    def picks(self, candidate: Candidate, known: dict[str, Requirement]) -> bool:
        if any(_term_picks(term, candidate, known) for term in self.unwanted):
            return False
        return not self.wanted or any(_term_picks(term, candidate, known) for term in self.wanted)

    def check(self, candidates: list[Candidate], known: dict[str, Requirement]) -> None:
        """Raises SelectionError for a term that picks no case: a typing mistake must not look like success."""
        for term in self.wanted + self.unwanted:
            if not any(_term_picks(term, candidate, known) for candidate in candidates):
                requirement = term.upper() in known
                why = "no case tests this requirement yet" if requirement else "no such requirement, area or case"
                raise SelectionError(f"--select {term}: {why}; see netblt-conformance list")
