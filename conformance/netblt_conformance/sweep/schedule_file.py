# SPDX-License-Identifier: GPL-2.0-or-later
"""A schedule as a file that can be replayed and committed (TOML)."""

from __future__ import annotations

import json
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from netblt_conformance.common.model import ROLES_BY_NAME, Role
from netblt_conformance.sweep.faults import Schedule
from netblt_conformance.sweep.transfers import TRANSFERS_BY_NAME, Transfer

LAYOUT_VERSION = 1
KEYS = {"layout", "transfer", "role", "seed", "rules", "verdict", "reason"}


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


def _choice(table: dict[str, Any], key: str, known: dict[str, Any], where: str) -> Any:
    value = table.get(key)
    if value not in known:
        raise ScheduleFileError(f"{where}: {key} = {value!r}; it is one of {', '.join(known)}")
    return known[value]


def load(path: Path) -> ScheduleFile:
    """ScheduleFileError names the key that is missing, unknown or impossible."""
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ScheduleFileError(f"{path}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ScheduleFileError(f"{path}: {error}") from None
    if unknown := set(table) - KEYS:
        raise ScheduleFileError(f"{path}: unknown key {sorted(unknown)[0]!r}; there are {', '.join(sorted(KEYS))}")
    if table.get("layout") != LAYOUT_VERSION:
        raise ScheduleFileError(f"{path}: layout = {table.get('layout')!r}; this version reads {LAYOUT_VERSION}")
    rules = table.get("rules")
    if not isinstance(rules, list) or not all(isinstance(rule, str) for rule in rules):
        raise ScheduleFileError(f"{path}: rules must be a list of flakeway rules")
    seed = table.get("seed", 0)
    if not isinstance(seed, int) or isinstance(seed, bool) or seed < 0:
        raise ScheduleFileError(f"{path}: seed = {seed!r}; a number from 0 is needed")
    return ScheduleFile(
        _choice(table, "transfer", TRANSFERS_BY_NAME, str(path)),
        _choice(table, "role", ROLES_BY_NAME, str(path)),
        seed,
        tuple(rules),
        str(table.get("verdict", "")),
        str(table.get("reason", "")),
    )
