# SPDX-License-Identifier: GPL-2.0-or-later
"""The requirement catalogue (conformance/catalogue/*.toml): loading it and naming what is wrong with it.

How each requirement is tested is not written there but found by `coverage`, in the cases and the mutants. What the
Wireshark plugin can find of it is written there, and nowhere else (`dissector_rule`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Annotated, Literal, TypeVar

from pydantic import AfterValidator, model_validator
from pydantic.types import Strict

from netblt_conformance.catalogue import dissector_rule
from netblt_conformance.catalogue.dissector_rule import Rule
from netblt_conformance.common import paths, toml_file
from netblt_conformance.common.toml_file import Table, Text, TomlError

ID_PATTERN = re.compile(r"[A-Z][A-Z0-9]*-\d{2}")
AMBIGUITY_PATTERN = re.compile(r"AMB-\d{2}")
Dialect = Literal["rfc998", "etftp", "v4"]
DIALECTS: tuple[Dialect, ...] = ("rfc998", "etftp", "v4")  # RFC 998, RFC 1986, version 4 (TACO2)


class CatalogueError(Exception):
    """Every mistake found, one line each."""

    def __init__(self, mistakes: list[str]) -> None:
        super().__init__("\n".join(mistakes))
        self.mistakes = mistakes


def _looks_like(pattern: re.Pattern[str], example: str) -> AfterValidator:
    def check(value: str) -> str:
        if not pattern.fullmatch(value):
            raise ValueError(f"{value!r} does not look like {example}")
        return value

    return AfterValidator(check)


def _each_once(value: tuple[str, ...]) -> tuple[str, ...]:
    if not value or len(set(value)) != len(value):
        raise ValueError("must name each dialect once, and at least one")
    return value


RequirementId = Annotated[str, _looks_like(ID_PATTERN, "CTRL-04")]
AmbiguityId = Annotated[str, _looks_like(AMBIGUITY_PATTERN, "AMB-04")]


class Requirement(Table):
    """One thing that the specification demands, allows or leaves open."""

    id: RequirementId
    title: Text
    section: Text
    strength: Text  # as written: the first word grades, the rest explains
    binds: Text
    requirement: Text
    tester: Text = ""
    passive: Text = ""
    ambiguities: Annotated[tuple[AmbiguityId, ...], Strict(False)] = ()
    # In which it holds as it is written.
    dialects: Annotated[tuple[Dialect, ...], Strict(False), AfterValidator(_each_once)] = DIALECTS
    untested: Text = ""  # the reason why no case tests it
    unmutated: Text = ""  # the reason why no mutant breaks it
    dissector: Rule | None = None  # what the Wireshark plugin can find of it

    @model_validator(mode="after")
    def _summary_differs_from_the_title(self) -> Requirement:
        if self.dissector and self.dissector.summary == self.title:
            raise ValueError("dissector: the summary repeats the title; without a summary the title is shown")
        return self

    @property
    def area(self) -> str:
        return self.id.rpartition("-")[0]

    def binds_end(self, end: str) -> bool:
        """`end`: active or passive. Only what binds the other one alone does not bind it."""
        return self.binds not in {"active", "passive"} or self.binds == end

    @property
    def grade(self) -> str:
        """must, should or may: the first of these words; anything else clarifies and is graded as may."""
        found = re.search(r"\b(must|should|may)\b", self.strength)
        return found[1] if found else "may"

    def titled(self) -> Requirement:
        """With the title as the summary of its rule, where the rule has none."""
        if self.dissector is None or self.dissector.summary:
            return self
        rule = self.dissector.model_copy(update={"summary": self.title})
        return self.model_copy(update={"dissector": rule})


class Ambiguity(Table):
    """A question that RFC 998 leaves open, what passes, and how the suite detects what an implementation chose."""

    id: AmbiguityId
    title: Text
    accepted: Text
    observed_as: Text = ""  # the name under which a run reports the choice
    unobserved: Text = ""  # or the reason why it does not

    @model_validator(mode="after")
    def _is_observed_or_not(self) -> Ambiguity:
        if bool(self.observed_as) == bool(self.unobserved):
            raise ValueError("needs either observed_as or unobserved")
        return self


class _File(Table):
    requirement: Annotated[tuple[Requirement, ...], Strict(False)] = ()
    ambiguity: Annotated[tuple[Ambiguity, ...], Strict(False)] = ()


_Entry = TypeVar("_Entry", Requirement, Ambiguity)


def _entries(
    folder: Path, entries: Callable[[_File], tuple[_Entry, ...]], mistakes: list[str]
) -> Iterator[tuple[str, _Entry]]:
    """(name of the file, entry), in the order of the names. Adds to `mistakes` what is wrong."""
    files = sorted(folder.glob("*.toml"))
    if not files:
        raise CatalogueError([f"{folder}: no catalogue files (*.toml) here; set NETBLT_ROOT to the project's folder"])
    known: set[str] = set()
    for path in files:
        try:
            found = entries(toml_file.read(path, _File, path.name))
        except TomlError as error:
            mistakes += error.mistakes
            continue
        for entry in found:
            if entry.id in known:
                mistakes.append(f"{path.name}: {entry.id}: this id was given before")
            known.add(entry.id)
            yield path.name, entry


def load(folder: Path) -> dict[str, Requirement]:
    """All requirements by ID, in the order of the files. Raises CatalogueError with every mistake named."""
    requirements: dict[str, Requirement] = {}
    mistakes: list[str] = []
    rules: dict[str, tuple[str, Rule]] = {}
    for name, entry in _entries(folder, lambda file: file.requirement, mistakes):
        requirements[entry.id] = found = entry.titled()
        if found.dissector:
            rules[found.id] = name, found.dissector
    mistakes += dissector_rule.mistakes_between(rules)
    if mistakes:
        raise CatalogueError(mistakes)
    return requirements


@cache
def requirements() -> dict[str, Requirement]:
    return load(paths.catalogue())


def demand(identifier: str) -> str:
    """What a requirement demands, in few words; of one that the catalogue does not have, the identifier."""
    known = requirements().get(identifier)
    return known.title if known is not None else identifier


def load_ambiguities(folder: Path) -> dict[str, Ambiguity]:
    """All ambiguities by ID. Raises CatalogueError with every mistake named."""
    mistakes: list[str] = []
    found = {entry.id: entry for _, entry in _entries(folder, lambda file: file.ambiguity, mistakes)}
    if mistakes:
        raise CatalogueError(mistakes)
    return found


@cache
def ambiguities() -> dict[str, Ambiguity]:
    return load_ambiguities(paths.catalogue())


def check_cases(cases: Mapping[str, Sequence[str]], known: dict[str, Requirement]) -> list[str]:
    """What is wrong between cases (name -> IDs) and catalogue: unknown IDs, cases without any."""
    mistakes = []
    for case, identifiers in sorted(cases.items()):
        if not identifiers:
            mistakes.append(f"{case}: names no requirement")
        for identifier in identifiers:
            if identifier not in known:
                mistakes.append(f"{case}: unknown requirement {identifier!r}")
    return mistakes
