# SPDX-License-Identifier: GPL-2.0-or-later
"""The likely causes of what went wrong, as text for the terminal, as JSON, and as what the HTML report shows."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from netblt_conformance.catalogue import catalogue
from netblt_conformance.common import wording
from netblt_conformance.common.model import ROLES_BY_NAME
from netblt_conformance.common.verdicts import FIRST_TRANSFER, Result
from netblt_conformance.diagnosis.ranking import LikelyCause
from netblt_conformance.report import table

# Of the rest the numbers of results are enough.
SHOWN_MAX = 5
_INDENT = "     "
SCRIPT = "--script"  # the option of `run` whose file is a case


def _roles(cause: LikelyCause) -> str:
    return "all roles" if len(cause.roles) == len(ROLES_BY_NAME) else ", ".join(sorted(cause.roles))


def _title(cause: LikelyCause) -> str:
    known = catalogue.requirements()
    named = [f"{one} {known[one].title}" if one in known else one for one in cause.requirements]
    return " or ".join(named)


def _where(row: Result) -> str:
    if row.capture is None:
        return "no capture"
    return f"frame {row.frame} of {row.capture}" if row.frame else row.capture


def _counts(cause: LikelyCause) -> str:
    results = f"{cause.explains} result{'' if cause.explains == 1 else 's'}"
    return f"explains {results}" + (f"; {cause.follows} more probably follow from it" if cause.follows else "")


def case_of_script(file: Path) -> str:
    """The name of the case that a script is in a run."""
    return re.sub(r"\W+", "_", file.stem)


def _without_scripts(base: Sequence[str]) -> list[str]:
    """A file after each --script belongs to it."""
    return [word for before, word in pairwise(["", *base]) if SCRIPT not in (before, word)]


def command(base: Sequence[str], row: Result) -> str:
    """Runs again the case that shows it. `base`: the command that tests this implementation."""
    scripts = {case_of_script(Path(base[n + 1])): n for n, word in enumerate(base) if word == SCRIPT}
    own = scripts.get(row.base_name)
    if own is not None:
        return shlex.join([*_without_scripts(base), *base[own : own + 2], "--role", row.role])
    base = _without_scripts(base)
    # A comma separates the terms of --select: what comes before it is a part of the name, and picks it too.
    name = row.case.replace("_", " ").partition(",")[0]
    return shlex.join([*base, "--role", row.role, "--select", name])


# Options of `run` that `doctor` has too; each has a value.
_DOCTORS = ("--adapter", "--link", "--iut-library")


def doctor_command(base: Sequence[str]) -> str | None:
    """Shows the first transfer of each role. None where `doctor` does not know the dialect."""
    if "--profile" in base:
        return None
    kept = [word for before, word in pairwise(base) if before in _DOCTORS or word in _DOCTORS]
    return shlex.join(["netblt-conformance", "doctor", *kept])


def failed_first_transfers(observed: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    """Role -> why its first transfer failed."""
    return {role: found[FIRST_TRANSFER] for role, found in observed.items() if FIRST_TRANSFER in found}


def lines(causes: Sequence[LikelyCause], observed: Mapping[str, Mapping[str, str]], base: Sequence[str]) -> list[str]:
    """What the terminal shows before the table; empty when nothing went wrong."""
    found: list[str] = []
    for role, why in failed_first_transfers(observed).items():
        found += table.wrapped(f"first transfer failed ({role}): {why}")
    doctor = doctor_command(base)
    if found and doctor is not None:
        found += ["begin there; this shows its packets and what to do:", f"{_INDENT}{doctor}"]
    if not causes:
        return found
    found.append("likely causes, the most likely first:")
    for number, cause in enumerate(causes[:SHOWN_MAX], 1):
        found += table.wrapped(f"{number:>3}. {_title(cause)} ({_roles(cause)})", rest=_INDENT)
        found += table.wrapped(f"{_INDENT}{cause.first.verdict.label}: {wording.reason(cause.first)}", rest=_INDENT)
        found.append(f"{_INDENT}{_where(cause.first)}")
        found.append(f"{_INDENT}{_counts(cause)}; to reproduce:")
        found.append(f"{_INDENT}{command(base, cause.first)}")
    if len(causes) > SHOWN_MAX:
        found.append(f"  {len(causes) - SHOWN_MAX} less likely causes are in the report")
    return found


def to_json(cause: LikelyCause, base: Sequence[str]) -> dict[str, Any]:
    """For the header of results.jsonl."""
    row = cause.first
    return {
        "requirements": list(cause.requirements),
        "roles": sorted(cause.roles),
        "case": row.case,
        "capture": row.capture,
        "frame": row.frame,
        "reason": wording.reason(row),
        "explains": cause.explains,
        "follows": cause.follows,
        "reproduce": command(base, row),
    }


@dataclass(frozen=True, slots=True)
class Shown:
    """One cause in the HTML report."""

    title: str
    roles: str
    reason: str
    capture: str | None
    where: str
    counts: str
    command: str


def shown(cause: LikelyCause, base: Sequence[str]) -> Shown:
    """The texts of one cause."""
    row = cause.first
    return Shown(
        _title(cause),
        _roles(cause),
        wording.reason(row),
        row.capture,
        _where(row),
        _counts(cause),
        command(base, row),
    )
