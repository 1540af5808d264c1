# SPDX-License-Identifier: GPL-2.0-or-later
"""The requirement catalogue (conformance/catalogue/*.toml): loading it and naming what is wrong with it.

How each requirement is tested is not written there but found by `coverage`, in the cases and the mutants. What the
Wireshark plugin can find of it is written there, and nowhere else (`dissector_rule`).
"""

from __future__ import annotations

import dataclasses
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from netblt_conformance.catalogue import dissector_rule
from netblt_conformance.catalogue.dissector_rule import Rule
from netblt_conformance.common import paths

ID_PATTERN = re.compile(r"[A-Z][A-Z0-9]*-\d{2}")
AMBIGUITY_PATTERN = re.compile(r"AMB-\d{2}")
TEXT_FIELDS = ("id", "title", "section", "strength", "binds", "requirement")
OPTIONAL_TEXT_FIELDS = ("tester", "passive", "untested", "unmutated")
LIST_FIELDS = ("ambiguities", "dialects")
DIALECTS = ("rfc998", "etftp", "v4")  # RFC 998, RFC 1986, version 4 (TACO2)


class CatalogueError(Exception):
    """Every mistake found, one line each."""

    def __init__(self, mistakes: list[str]) -> None:
        super().__init__("\n".join(mistakes))
        self.mistakes = mistakes


@dataclass(frozen=True, slots=True)
class Requirement:
    id: str
    title: str
    section: str
    strength: str  # as written: the first word grades, the rest explains
    binds: str
    requirement: str
    tester: str = ""
    passive: str = ""
    ambiguities: tuple[str, ...] = ()
    dialects: tuple[str, ...] = DIALECTS  # in which it holds as it is written
    untested: str = ""  # the reason why no case tests it
    unmutated: str = ""  # the reason why no mutant breaks it
    dissector: Rule | None = None  # what the Wireshark plugin can find of it

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


def _mistakes_of(entry: dict[str, Any], where: str) -> list[str]:
    mistakes = []
    name = f"{where}: {entry.get('id', 'an entry without id')}"
    for key in TEXT_FIELDS:
        if key not in entry:
            mistakes.append(f"{name}: missing field {key!r}")
    for key, value in entry.items():
        if key == "dissector":
            mistakes += [f"{name}: {wrong}" for wrong in dissector_rule.mistakes_of(value, entry.get("title"))]
        elif key in LIST_FIELDS:
            if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
                mistakes.append(f"{name}: field {key!r} must be a list of strings")
        elif key not in TEXT_FIELDS + OPTIONAL_TEXT_FIELDS:
            mistakes.append(f"{name}: unknown field {key!r}")
        elif not isinstance(value, str) or not value.strip():
            mistakes.append(f"{name}: field {key!r} must be a non-empty string")
    identifier = entry.get("id")
    if isinstance(identifier, str) and not ID_PATTERN.fullmatch(identifier):
        mistakes.append(f"{name}: an id looks like CTRL-04")
    for item in entry.get("ambiguities", []):
        if not AMBIGUITY_PATTERN.fullmatch(str(item)):
            mistakes.append(f"{name}: ambiguity {item!r} does not look like AMB-04")
    return mistakes + _mistakes_of_dialects(entry.get("dialects", list(DIALECTS)), name)


def _mistakes_of_dialects(dialects: Any, name: str) -> list[str]:
    """Of the field's own rules; that it is a list of strings was checked before."""
    if not isinstance(dialects, list) or not all(isinstance(item, str) for item in dialects):
        return []
    if not dialects or len(set(dialects)) != len(dialects):
        return [f"{name}: field 'dialects' must name each dialect once, and at least one"]
    unknown = [item for item in dialects if item not in DIALECTS]
    return [f"{name}: unknown dialect {item!r}; there are {', '.join(DIALECTS)}" for item in unknown]


def _requirement(entry: dict[str, Any]) -> Requirement:
    rule = dissector_rule.rule_of(entry["dissector"], entry["title"]) if "dissector" in entry else None
    lists = {key: tuple(entry[key]) for key in LIST_FIELDS if key in entry}
    return Requirement(**{**entry, **lists, "dissector": rule})


def _documents(folder: Path, mistakes: list[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """(name of the file, its content), in the order of the names."""
    files = sorted(folder.glob("*.toml"))
    if not files:
        raise CatalogueError([f"{folder}: no catalogue files (*.toml) here; set NETBLT_ROOT to the project's folder"])
    for file in files:
        try:
            document = tomllib.loads(file.read_text(encoding="utf-8"))
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            mistakes.append(f"{file.name}: {error}")
            continue
        mistakes.extend(f"{file.name}: unknown table {key!r}" for key in document.keys() - {"requirement", "ambiguity"})
        yield file.name, document


def load(folder: Path) -> dict[str, Requirement]:
    """All requirements by ID, in the order of the files. Raises CatalogueError with every mistake named."""
    requirements: dict[str, Requirement] = {}
    mistakes: list[str] = []
    rules: dict[str, tuple[str, Rule]] = {}
    for name, document in _documents(folder, mistakes):
        for entry in document.get("requirement", []):
            wrong = _mistakes_of(entry, name)
            mistakes.extend(wrong)
            if wrong:
                continue
            if entry["id"] in requirements:
                mistakes.append(f"{name}: {entry['id']}: this id was given before")
            requirements[entry["id"]] = found = _requirement(entry)
            if found.dissector:
                rules[found.id] = name, found.dissector
    mistakes += dissector_rule.mistakes_between(rules)
    if mistakes:
        raise CatalogueError(mistakes)
    return requirements


@cache
def requirements() -> dict[str, Requirement]:
    return load(paths.catalogue())


# ---- where the specification leaves a choice ----


@dataclass(frozen=True, slots=True)
class Ambiguity:
    """A question that RFC 998 leaves open, what passes, and how the suite finds out what an implementation chose."""

    id: str
    title: str
    accepted: str
    observed_as: str = ""  # the name under which a run reports the choice
    unobserved: str = ""  # or the reason why it does not


def _mistakes_of_ambiguity(entry: dict[str, Any], name: str) -> list[str]:
    where = f"{name}: {entry.get('id', 'an ambiguity without id')}"
    mistakes = [f"{where}: missing field {key!r}" for key in ("id", "title", "accepted") if key not in entry]
    for key, value in entry.items():
        if key not in {field.name for field in dataclasses.fields(Ambiguity)}:
            mistakes.append(f"{where}: unknown field {key!r}")
        elif not isinstance(value, str) or not value.strip():
            mistakes.append(f"{where}: field {key!r} must be a non-empty string")
    if not AMBIGUITY_PATTERN.fullmatch(str(entry.get("id", ""))):
        mistakes.append(f"{where}: an ambiguity's id looks like AMB-04")
    if ("observed_as" in entry) == ("unobserved" in entry):
        mistakes.append(f"{where}: needs either observed_as or unobserved")
    return mistakes


def load_ambiguities(folder: Path) -> dict[str, Ambiguity]:
    """All ambiguities by ID. Raises CatalogueError with every mistake named."""
    found: dict[str, Ambiguity] = {}
    mistakes: list[str] = []
    for name, document in _documents(folder, mistakes):
        for entry in document.get("ambiguity", []):
            wrong = _mistakes_of_ambiguity(entry, name)
            mistakes.extend(wrong)
            if wrong:
                continue
            if entry["id"] in found:
                mistakes.append(f"{name}: {entry['id']}: this id was given before")
            found[entry["id"]] = Ambiguity(**entry)
    if mistakes:
        raise CatalogueError(mistakes)
    return found


@cache
def ambiguities() -> dict[str, Ambiguity]:
    return load_ambiguities(paths.catalogue())


def check_cases(cases: dict[str, tuple[str, ...]], known: dict[str, Requirement]) -> list[str]:
    """What is wrong between cases (name -> IDs) and catalogue: unknown IDs, cases without any."""
    mistakes = []
    for case, identifiers in sorted(cases.items()):
        if not identifiers:
            mistakes.append(f"{case}: names no requirement")
        for identifier in identifiers:
            if identifier not in known:
                mistakes.append(f"{case}: unknown requirement {identifier!r}")
    return mistakes
