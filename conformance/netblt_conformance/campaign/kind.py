# SPDX-License-Identifier: GPL-2.0-or-later
"""Kinds of work. A kind states how many units there are and runs a range of them; all else is the same for all kinds.

To add one: derive a class from Kind in a module of this package, and name it in KINDS."""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from netblt_conformance.campaign.description import Description
from netblt_conformance.campaign.errors import CampaignError
from netblt_conformance.campaign.rows import Row
from netblt_conformance.common import toml_file
from netblt_conformance.common.toml_file import Table, TomlError

# Name of the kind -> module and class in this package.
KINDS = {
    "sweep": "sweeps:Sweeps",
    "generated": "scripts:Scripts",
    "mutants": "mutants:Mutants",
    "variants": "mutants:Variants",
    "experiment": "experiments:Experiments",
    "captures": "captures:Captures",
}


@dataclass(frozen=True, slots=True)
class Subject:
    """The implementation under test, as files of this machine."""

    library: Path | None = None
    adapter: Path | None = None


class NoParameters(Table):
    """A kind without parameters."""


class Kind(ABC):
    """A kind of work with its parameters. The same object is made in the command, which counts the units, and in the
    processes that run them: what a unit does depends on seed, parameters and its number only."""

    unit: ClassVar[str]  # what one unit is, as a noun
    about: ClassVar[str]
    block: ClassVar[int]  # units of a block when the file states none
    multiple: ClassVar[int] = 1  # the units of a block are a multiple of this
    measures: ClassVar[dict[str, str]] = {}  # numbers of each unit: column -> what it is
    Parameters: ClassVar[type[Table]] = NoParameters
    tests: ClassVar[bool] = True  # whether [target] is used

    def __init__(self, seed: int, parameters: Any, subject: Subject) -> None:
        self.seed = seed
        self.parameters = parameters
        self.subject = subject
        self.limit: int | None = None  # units that the file requests; None: all there are

    @abstractmethod
    def count(self) -> int | None:
        """How many units there are; None: as many as one wants. CampaignError when they cannot run here."""

    @abstractmethod
    def run(self, units: range) -> list[Row]:
        """A row for each of these units, in a process of its own. A crash or a hang of the implementation is the
        result of its unit."""

    def serve(self, loop: Callable[[], None]) -> None:
        """Calls `loop`, which runs blocks until there are no more. A kind prepares here what all blocks share."""
        loop()


def class_of(name: str) -> type[Kind]:
    """CampaignError for a kind that does not exist."""
    if name not in KINDS:
        raise CampaignError(f"there is no kind of campaign {name!r}; there are {', '.join(KINDS)}")
    module, _, cls = KINDS[name].partition(":")
    found: type[Kind] = getattr(importlib.import_module(f"{__package__}.{module}"), cls)
    return found


def make(description: Description, subject: Subject, where: str) -> Kind:
    """The kind with its parameters; CampaignError names each mistake. `where`: the file, in messages."""
    cls = class_of(description.kind)
    if not cls.tests and description.target.given():
        raise CampaignError(f"{where}: target: a campaign of kind {description.kind!r} has no [target]")
    try:
        parameters = toml_file.check(description.parameters, cls.Parameters, f"{where}: parameters")
    except TomlError as error:
        raise CampaignError(str(error)) from None
    made = cls(description.seed, parameters, subject)
    made.limit = description.units
    return made


def plan(kind: Kind, description: Description, where: str) -> tuple[int, int]:
    """How many units there are, and how many of them are in a block."""
    there, wanted = kind.count(), description.units
    if there is None and wanted is None:
        raise CampaignError(f"{where}: units: missing: how many {kind.unit}s?")
    if there is not None and wanted is not None and wanted > there:
        raise CampaignError(f"{where}: units: {wanted} requested, but there are {there} {kind.unit}s")
    units = wanted if wanted is not None else there
    assert units is not None
    block = description.block or kind.block
    if block % kind.multiple:
        raise CampaignError(f"{where}: block: {block} must be a multiple of {kind.multiple}")
    return units, block
