# SPDX-License-Identifier: GPL-2.0-or-later
"""Mutants and variants: edits of the reference core, kept as data outside its sources.

A mutant is wrong: a case of the requirement that it breaks must kill it, else that case proves nothing. A variant is
another legal choice: nothing may fail it, else the suite asks for more than the specification does.
"""

from __future__ import annotations

import functools
import shutil
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Literal, TypeVar

from pydantic import AfterValidator, Field, model_validator
from pydantic.types import Strict

from netblt_conformance.catalogue import catalogue
from netblt_conformance.catalogue.catalogue import AmbiguityId, RequirementId
from netblt_conformance.common import paths, toml_file
from netblt_conformance.common.toml_file import Table, Text, TomlError


class MutantError(Exception):
    """The mutants cannot be judged; the text states which and why."""


class Edit(Table):
    """One text of a file replaced by another."""

    file: Text
    old: Text
    new: str

    @model_validator(mode="after")
    def _changes(self) -> Edit:
        if self.old == self.new:
            raise ValueError("old and new must be different")
        return self


class Mutant(Table):
    """A wrong core."""

    name: Text
    requirement: RequirementId
    about: Text
    edits: Annotated[tuple[Edit, ...], Strict(False)] = Field(alias="edit", description="[[mutant.edit]]")
    wire_visible: bool = False  # the Wireshark plugin must find it in the capture of the case that kills it
    warn: bool = False  # a WARN is enough: the ambiguity of the must allows no more
    found_as: RequirementId | Literal[""] = ""  # as which requirement the plugin finds it; empty: the one it breaks

    @model_validator(mode="after")
    def _is_found_where_it_is_visible(self) -> Mutant:
        if self.found_as and not self.wire_visible:
            raise ValueError("found_as goes with wire_visible = true only")
        return self

    @property
    def planted(self) -> frozenset[str]:
        """The requirements under which a diagnosis may name it."""
        return frozenset({self.requirement, self.found_as} - {""})


def _observation(value: str) -> str:
    if " = " not in value:
        raise ValueError(f"{value!r} must be written 'name = value'")
    return value


class Variant(Table):
    """A core that makes another legal choice."""

    name: Text
    # Where the specification leaves this choice; may be empty when it never asked.
    ambiguities: Annotated[tuple[AmbiguityId, ...], Strict(False)]
    # Requirements that leave it by their own words, as the bound of a value does that may be anything below.
    permitted_by: Annotated[tuple[RequirementId, ...], Strict(False)] = ()
    about: Text
    edits: Annotated[tuple[Edit, ...], Strict(False)] = Field(alias="edit", description="[[variant.edit]]")
    observed: Annotated[str, AfterValidator(_observation)] = ""  # "name = value": what the suite must report of it
    not_with: Annotated[tuple[Text, ...], Strict(False)] = ()  # variants that one core cannot have beside it


class _File(Table):
    mutant: Annotated[tuple[Mutant, ...], Strict(False)] = ()
    variant: Annotated[tuple[Variant, ...], Strict(False)] = ()


_Entry = TypeVar("_Entry", Mutant, Variant)


def _load(folder: Path, kind: str, entries: Callable[[_File], tuple[_Entry, ...]]) -> list[_Entry]:
    found: list[_Entry] = []
    for path in sorted(folder.glob("*.toml")):
        try:
            found += entries(toml_file.read(path, _File, path.name))
        except TomlError as error:
            raise MutantError(str(error)) from None
    names = [entry.name for entry in found]
    for name in names:
        if names.count(name) > 1:
            raise MutantError(f"two {kind}s are named {name!r}")
    if not found:
        raise MutantError(f"{folder}: no {kind}s (*.toml) here")
    return found


def _check_known(kind: str, name: str, identifiers: Iterable[str], known: Container[str]) -> None:
    for identifier in identifiers:
        if identifier not in known:
            raise MutantError(f"{name}: unknown {kind} {identifier!r}")


def load(folder: Path) -> list[Mutant]:
    """All mutants, in the order of the files. MutantError names what is wrong."""
    found = _load(folder, "mutant", lambda file: file.mutant)
    for mutant in found:
        _check_known("requirement", mutant.name, mutant.planted, catalogue.requirements())
    return found


def load_variants(folder: Path) -> list[Variant]:
    """All variants, in the order of the files. MutantError names what is wrong."""
    found = _load(folder, "variant", lambda file: file.variant)
    for variant in found:
        _check_known("ambiguity", variant.name, variant.ambiguities, catalogue.ambiguities())
        _check_known("requirement", variant.name, variant.permitted_by, catalogue.requirements())
        _check_known("variant", variant.name, variant.not_with, {other.name for other in found})
    return found


def chosen(entries: Sequence[_Entry], names: Sequence[str]) -> list[_Entry]:
    """Those that were named; all when none was. MutantError for a name that no mutant has."""
    for name in names:
        if name not in {entry.name for entry in entries}:
            raise MutantError(f"no mutant or variant is named {name!r}")
    return [entry for entry in entries if not names or entry.name in names]


@functools.cache
def every() -> tuple[Mutant, ...]:
    """All mutants: of the reference, and of what it is in other dialects."""
    others = [load(folder) for folder in sorted(paths.dialects().iterdir()) if folder.is_dir()]
    return (*load(paths.mutants()), *(mutant for found in others for mutant in found))


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
    for file, text in edited(entry, copy).items():
        file.write_text(text, encoding="utf-8")


def edited(entry: Mutant | Variant, core: Path, texts: Mapping[Path, str] = MappingProxyType({})) -> dict[Path, str]:
    """The files that change, and their new texts. `texts`: of files that were edited before, though not in the core.
    MutantError unless each old text is there exactly once."""
    changed: dict[Path, str] = {}
    for change in entry.edits:
        try:
            target = source_file(core, change.file)
        except MutantError as error:
            raise MutantError(f"mutant {entry.name}: {error}") from None
        known = changed if target in changed else texts
        text = known[target] if target in known else target.read_text(encoding="utf-8")
        count = text.count(change.old)
        if count != 1:
            raise MutantError(
                f"mutant {entry.name}: its old text is {count} times in {change.file}, once is needed: the core has "
                "changed, so bring the mutant up to date"
            )
        changed[target] = text.replace(change.old, change.new)
    return changed
