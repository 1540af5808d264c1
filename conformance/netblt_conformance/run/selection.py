# SPDX-License-Identifier: GPL-2.0-or-later
"""--select: which cases run. Terms are separated by commas; a case runs when any term picks it.

A term is a requirement ID (CTRL-04), an area (CTRL), a pattern of IDs (CTRL-0?), a strength (must), a file of the
suite (ctrl.py), the name of a case as a report prints it, or a part of such a name. A term with `!` in front excludes
cases. Terms of the first five kinds may be separated by blanks too.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterable
from dataclasses import dataclass

from netblt_conformance.catalogue.catalogue import Requirement


class SelectionError(Exception):
    """A term that picks nothing anywhere."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """What a term is matched against."""

    name: str  # of the function, without "test_"
    file: str
    requirements: tuple[str, ...]
    variant: str = ""
    role: str = ""  # empty: any

    @property
    def title(self) -> str:
        return f"{self.name}: {self.variant}" if self.variant else self.name


# IDs, areas and patterns of them: what is never part of a name.
_ID = re.compile(r"[A-Z0-9?*\[\]-]+")
_FILE = re.compile(r"\w+\.py")
# What a report prints around the title: who made the row, and role and arm after it.
_PRINTED = re.compile(
    r"^(?:(?:monitor in|dissector on|judges on)\s+)?(?P<title>.*?)(?:\s*\[(?P<role>[a-z-]+?)(?:-control)?\])?$",
    re.DOTALL,
)


def _normal(text: str) -> str:
    """Names are compared without regard to case, and to how blanks are written."""
    return " ".join(text.lower().replace("_", " ").split())


@dataclass(frozen=True, slots=True)
class _Name:
    """A term that is a name, as a report prints it."""

    title: str
    role: str

    @classmethod
    def parse(cls, term: str) -> _Name:
        match = _PRINTED.match(term.strip())
        assert match is not None  # every part of the pattern may be empty
        return cls(_normal(match["title"]), match["role"] or "")

    def is_exactly(self, candidate: Candidate) -> bool:
        return self.title in (_normal(candidate.title), _normal(candidate.name))

    def picks(self, candidate: Candidate, *, exactly: bool) -> bool:
        if self.role and candidate.role not in ("", self.role):
            return False
        return self.is_exactly(candidate) if exactly else self.title in _normal(candidate.title)


def _term_picks(term: str, candidate: Candidate, known: dict[str, Requirement]) -> bool:
    if term in ("must", "should", "may"):
        first = known.get(candidate.requirements[0]) if candidate.requirements else None
        return first is not None and first.grade == term
    upper = term.upper()
    for identifier in candidate.requirements:
        if fnmatch.fnmatchcase(identifier, upper) or identifier.rpartition("-")[0] == upper:
            return True
    return term == candidate.file


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
        terms = [term for part in expression.split(",") for term in _terms(part.strip()) if term]
        self.wanted = [term for term in terms if not term.startswith("!")]
        self.unwanted = [term[1:] for term in terms if term.startswith("!")]
        self._exact: frozenset[str] = frozenset()  # terms that are the whole name of a case

    def knowing(self, candidates: Iterable[Candidate]) -> None:
        """All cases that there are: a term that is the whole name of one picks this one only."""
        candidates = list(candidates)
        names = {term: _Name.parse(term) for term in self.wanted + self.unwanted}
        self._exact = frozenset(t for t, name in names.items() if any(map(name.is_exactly, candidates)))

    def picks(self, candidate: Candidate, known: dict[str, Requirement]) -> bool:
        if any(self._picks(term, candidate, known) for term in self.unwanted):
            return False
        return not self.wanted or any(self._picks(term, candidate, known) for term in self.wanted)

    def _picks(self, term: str, candidate: Candidate, known: dict[str, Requirement]) -> bool:
        if _term_picks(term, candidate, known):
            return True
        return not _ID.fullmatch(term) and _Name.parse(term).picks(candidate, exactly=term in self._exact)

    def check(self, candidates: list[Candidate], known: dict[str, Requirement]) -> list[str]:
        """Raises SelectionError for a term that picks no case: a typing mistake must not look like success. Returns the
        requirements that were named and have no case."""
        self.knowing(candidates)
        untested = []
        for term in self.wanted + self.unwanted:
            if any(self._picks(term, candidate, known) for candidate in candidates):
                continue
            if term.upper() not in known:
                raise SelectionError(f"--select {term}: no such requirement, area or case; see netblt-conformance list")
            untested.append(term.upper())
        if untested and len(untested) == len(self.wanted):
            why = known[untested[0]].untested or "no case tests this requirement yet"
            raise SelectionError(f"--select {', '.join(untested)}: no case: {why}; see netblt-conformance list")
        return untested


def _terms(part: str) -> list[str]:
    """The terms between two commas: several when every word is one of those that blanks may separate."""
    words = part.split()
    plain = [word.removeprefix("!") for word in words]
    if all(_ID.fullmatch(w) or _FILE.fullmatch(w) or w in ("must", "should", "may") for w in plain) or any(
        word.startswith("!") for word in words[1:]
    ):
        return words
    return [part]
