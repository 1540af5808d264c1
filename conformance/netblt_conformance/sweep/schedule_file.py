# SPDX-License-Identifier: GPL-2.0-or-later
"""A schedule as a file that can be replayed and committed (TOML)."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from netblt_conformance.common import toml_file
from netblt_conformance.common.model import ROLES_BY_NAME, Role
from netblt_conformance.common.toml_file import Table, Texts, TomlError
from netblt_conformance.sweep.faults import Schedule
from netblt_conformance.sweep.transfers import TRANSFERS_BY_NAME, Transfer

LAYOUT_VERSION = 1


class ScheduleFileError(Exception):
    """A file that cannot be used; the message names the file and what is wrong in it."""


@dataclass(frozen=True, slots=True)
class ScheduleFile:
    transfer: Transfer
    role: Role
    seed: int
    rules: Schedule
    verdict: str = ""  # what it gave when it was written
    reason: str = ""

    def text(self) -> str:
        """TOML. JSON strings are TOML strings."""
        rules = "".join(f"    {json.dumps(rule)},\n" for rule in self.rules)
        return (
            "# A schedule of faults: netblt-conformance replay FILE\n"
            "# A is the implementation under test, B the reference endpoint.\n"
            f"layout = {LAYOUT_VERSION}\n"
            f"transfer = {json.dumps(self.transfer.name)}\n"
            f"role = {json.dumps(str(self.role))}\n"
            f"seed = {self.seed}\n"
            f"rules = [\n{rules}]\n"
            f"verdict = {json.dumps(self.verdict)}\n"
            f"reason = {json.dumps(self.reason)}\n"
        )


def _one_of(known: Collection[str]) -> Callable[[str], str]:
    def check(value: str) -> str:
        if value not in known:
            raise ValueError(f"{value!r} must be one of {', '.join(known)}")
        return value

    return check


class _File(Table):
    layout: Literal[1] = Field(description=f"this version reads {LAYOUT_VERSION}")
    transfer: Annotated[str, AfterValidator(_one_of(TRANSFERS_BY_NAME))]
    role: Annotated[str, AfterValidator(_one_of(ROLES_BY_NAME))]
    seed: Annotated[int, Field(ge=0)] = 0
    rules: Texts = Field(description="a list of flakeway rules")
    verdict: str = ""
    reason: str = ""


def load(path: Path) -> ScheduleFile:
    """ScheduleFileError names every key that is missing, unknown or impossible."""
    try:
        file = toml_file.read(path, _File)
    except TomlError as error:
        raise ScheduleFileError(str(error)) from None
    transfer, role = TRANSFERS_BY_NAME[file.transfer], ROLES_BY_NAME[file.role]
    return ScheduleFile(transfer, role, file.seed, file.rules, file.verdict, file.reason)
