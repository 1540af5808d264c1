# SPDX-License-Identifier: GPL-2.0-or-later
"""Mutants and variants: edits of the reference core, kept as data outside its sources.

A mutant is wrong: a case of the requirement that it breaks must kill it, else that case proves nothing. A variant is
another legal choice: nothing may fail it, else the suite asks for more than the specification does.
"""

from __future__ import annotations

import shutil
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from netblt_conformance.catalogue import catalogue
from netblt_conformance.common import paths


class MutantError(Exception):
    """The mutants cannot be judged; the text says which and why."""


@dataclass(frozen=True, slots=True)
class Edit:
    file: str  # without its folder
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class Mutant:
    name: str
    requirement: str
    about: str
    edits: tuple[Edit, ...]
    wire_visible: bool = False  # the Wireshark plugin must find it in the capture of the case that kills it
    warn: bool = False  # a WARN is enough: the ambiguity behind the must allows no more
    found_as: str = ""  # the requirement under which the plugin finds it; empty: the one that it breaks

    @property
    def planted(self) -> frozenset[str]:
        """The requirements under which a diagnosis may name it."""
        return frozenset({self.requirement, self.found_as} - {""})


@dataclass(frozen=True, slots=True)
class Variant:
    name: str
    ambiguities: tuple[str, ...]  # where the specification leaves this choice; may be empty when it never asked
    about: str
    edits: tuple[Edit, ...]
    observed: str = ""  # "name = value": what the suite must report of it


_Entry = TypeVar("_Entry", Mutant, Variant)


def _edit(entry: Any, where: str) -> Edit:
    if not isinstance(entry, dict) or set(entry) != {"file", "old", "new"}:
        raise MutantError(f"{where}: an edit has exactly the keys file, old and new")
    edit = Edit(**entry)
    if not all(isinstance(value, str) for value in entry.values()) or not edit.old or edit.old == edit.new:
        raise MutantError(f"{where}: old and new must be different strings, old not empty")
    return edit


def _edits(entry: dict[str, Any], where: str) -> tuple[Edit, ...]:
    if not isinstance(entry["edit"], list):
        raise MutantError(f"{where}: its edits are tables of their own: [[mutant.edit]], [[variant.edit]]")
    return tuple(_edit(edit, where) for edit in entry["edit"])


def _mutant(entry: dict[str, Any], where: str) -> Mutant:
    needed, known = {"name", "requirement", "about", "edit"}, catalogue.requirements()
    if not needed <= set(entry) <= needed | {"wire_visible", "found_as", "warn"}:
        raise MutantError(
            f"{where}: a mutant has exactly the keys name, requirement, about and [[mutant.edit]], and may have "
            "wire_visible, found_as and warn"
        )
    for identifier in (entry["requirement"], entry.get("found_as", entry["requirement"])):
        if identifier not in known:
            raise MutantError(f"{where}: unknown requirement {identifier!r}")
    visible, warn = entry.get("wire_visible", False), entry.get("warn", False)
    if not isinstance(visible, bool) or not isinstance(warn, bool) or ("found_as" in entry and not visible):
        raise MutantError(f"{where}: wire_visible and warn are true or false, and found_as goes with visible ones only")
    return Mutant(
        entry["name"],
        entry["requirement"],
        entry["about"],
        _edits(entry, where),
        wire_visible=visible,
        warn=warn,
        found_as=entry.get("found_as", ""),
    )


def _variant(entry: dict[str, Any], where: str) -> Variant:
    needed = {"name", "ambiguities", "about", "edit"}
    if not needed <= set(entry) <= needed | {"observed"}:
        raise MutantError(
            f"{where}: a variant has exactly the keys name, ambiguities, about and [[variant.edit]], and may have "
            "observed"
        )
    known = catalogue.ambiguities()
    for identifier in entry["ambiguities"]:
        if identifier not in known:
            raise MutantError(f"{where}: unknown ambiguity {identifier!r}")
    if "observed" in entry and " = " not in entry["observed"]:
        raise MutantError(f"{where}: observed is written 'name = value'")
    edits = _edits(entry, where)
    return Variant(entry["name"], tuple(entry["ambiguities"]), entry["about"], edits, entry.get("observed", ""))


def _load(folder: Path, kind: str, read: Callable[[dict[str, Any], str], _Entry]) -> list[_Entry]:
    found: list[_Entry] = []
    for file in sorted(folder.glob("*.toml")):
        try:
            document = tomllib.loads(file.read_text(encoding="utf-8"))
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise MutantError(f"{file.name}: {error}") from None
        for entry in document.get(kind, []):
            found.append(read(entry, f"{file.name}: {entry.get('name', f'a {kind} without name')}"))
    names = [entry.name for entry in found]
    for name in names:
        if names.count(name) > 1:
            raise MutantError(f"two {kind}s are named {name!r}")
    if not found:
        raise MutantError(f"{folder}: no {kind}s (*.toml) here")
    return found


def load(folder: Path) -> list[Mutant]:
    """All mutants, in the order of the files. MutantError names what is wrong."""
    return _load(folder, "mutant", _mutant)


def load_variants(folder: Path) -> list[Variant]:
    """All variants, in the order of the files. MutantError names what is wrong."""
    return _load(folder, "variant", _variant)


def chosen(entries: Sequence[_Entry], names: Sequence[str]) -> list[_Entry]:
    """Those that were named; all when none was. MutantError for a name that nobody has."""
    for name in names:
        if name not in {entry.name for entry in entries}:
            raise MutantError(f"no mutant or variant is named {name!r}")
    return [entry for entry in entries if not names or entry.name in names]


def every() -> list[Mutant]:
    """All mutants: of the reference, and of what it is in other dialects."""
    others = [load(folder) for folder in sorted(paths.dialects().iterdir()) if folder.is_dir()]
    return [*load(paths.mutants()), *(mutant for found in others for mutant in found)]


def copy(core: Path, to: Path) -> None:
    shutil.copytree(core, to)


def source_file(core: Path, name: str) -> Path:
    """The file of the core with this name, in whichever folder it lies. MutantError unless there is exactly one."""
    found = sorted(core.rglob(name))
    if len(found) != 1:
        raise MutantError(f"{len(found)} files of {core} are named {name!r}, one is needed")
    return found[0]


def apply(entry: Mutant | Variant, core: Path, to: Path) -> None:
    """Copies the core and edits it. MutantError unless each old text is there exactly once."""
    copy(core, to)
    edit(entry, to)


def edit(entry: Mutant | Variant, copy: Path) -> None:
    """Edits a copy of the core. MutantError unless each old text is there exactly once."""
    for change in entry.edits:
        try:
            target = source_file(copy, change.file)
        except MutantError as error:
            raise MutantError(f"mutant {entry.name}: {error}") from None
        text = target.read_text(encoding="utf-8")
        count = text.count(change.old)
        if count != 1:
            raise MutantError(
                f"mutant {entry.name}: its old text is {count} times in {change.file}, once is needed: the core has "
                "changed, so bring the mutant up to date"
            )
        target.write_text(text.replace(change.old, change.new), encoding="utf-8")
