# SPDX-License-Identifier: GPL-2.0-or-later
"""Pairs of legal variants that do not complete a transfer, and the ambiguity of RFC 998 that explains why
(conformance/variants/pairs/incompatible.toml)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, model_validator
from pydantic.types import Strict

from netblt_conformance.catalogue import catalogue
from netblt_conformance.catalogue.catalogue import AmbiguityId
from netblt_conformance.common import paths, toml_file
from netblt_conformance.common.toml_file import Table, Text, Texts, TomlError
from netblt_conformance.mutants.mutants import MutantError

Opener = Literal["sender", "receiver", ""]


class Entry(Table):
    """Why certain pairs do not complete."""

    ambiguities: Annotated[tuple[AmbiguityId, ...], Strict(False)] = Field(min_length=1)
    about: Text
    sender: Texts = ()  # variants; empty: any
    receiver: Texts = ()
    group: Texts = ()  # instead of both: these complete with each other, and with no one else
    opener: Opener = ""  # who has to be the active end; empty: either
    faults_only: bool = False  # without any fault the pair completes

    @model_validator(mode="after")
    def _names_someone(self) -> Entry:
        if bool(self.group) == bool(self.sender or self.receiver):
            raise ValueError("give either group, or sender, receiver or both")
        return self

    @property
    def names(self) -> tuple[str, ...]:
        return (*self.sender, *self.receiver, *self.group)

    def covers(self, meeting: VariantMeeting) -> bool:
        """Whether it explains a failure of this meeting."""
        if self.opener and self.opener != meeting.opener:
            return False
        if self.faults_only and not meeting.disturbed:
            return False
        if self.group:
            return (meeting.sender in self.group) != (meeting.receiver in self.group)
        return _is_one(meeting.sender, self.sender) and _is_one(meeting.receiver, self.receiver)


def _is_one(name: str, names: tuple[str, ...]) -> bool:
    return not names or name in names


@dataclass(frozen=True, slots=True)
class VariantMeeting:
    """Who met, and how."""

    sender: str
    receiver: str
    opener: Opener
    disturbed: bool  # by a fault of the network


class _File(Table):
    incompatible: Annotated[tuple[Entry, ...], Strict(False)] = ()


def load(known: frozenset[str], path: Path | None = None) -> tuple[Entry, ...]:
    """All entries. MutantError names what is wrong; `known`: the names of all variants."""
    file = path or paths.variants() / "pairs" / "incompatible.toml"
    try:
        entries = toml_file.read(file, _File, file.name).incompatible
    except TomlError as error:
        raise MutantError(str(error)) from None
    for number, entry in enumerate(entries, 1):
        for name in entry.names:
            if name not in known:
                raise MutantError(f"{file.name}: incompatible {number}: no variant is named {name!r}")
        for identifier in entry.ambiguities:
            if identifier not in catalogue.ambiguities():
                raise MutantError(f"{file.name}: incompatible {number}: unknown ambiguity {identifier!r}")
    return entries
