# SPDX-License-Identifier: GPL-2.0-or-later
"""A sequence of inputs, played once more as a case: with a capture, judged by the oracles and by the dissector."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from netblt_conformance.cases.case import Profile
from netblt_conformance.common import wording
from netblt_conformance.common.model import MICROSECONDS_PER_MS, MICROSECONDS_PER_S, Role
from netblt_conformance.common.verdicts import AGAINST, Judgement, Verdict
from netblt_conformance.judges.findings import Conclusion
from netblt_conformance.judges.second import IUT, position_options
from netblt_conformance.judges.tshark import Tshark
from netblt_conformance.learned.connection import Connection
from netblt_conformance.learned.outputs import CRASH
from netblt_conformance.learned.themes import Part
from netblt_conformance.links.base import LinkFactory
from netblt_conformance.oracles.base import told_once

# The oracles hold a packet against what the implementation knew only when that was a while ago.
PAUSE_US = 60 * MICROSECONDS_PER_MS
# What is only late comes within this.
_TAIL_US = 3 * MICROSECONDS_PER_S


@dataclass(frozen=True, slots=True)
class Violation:
    """One violation in the case."""

    requirement: str
    fails: bool  # else it is a WARN
    text: str
    by: str  # oracles or dissector


@dataclass(frozen=True, slots=True)
class Judged:
    """What came of the case."""

    outputs: tuple[str, ...]  # of each input
    later: tuple[str, ...]  # what came after the last reaction
    violations: tuple[Violation, ...]
    fault: str = ""  # how the implementation crashed

    def to_json(self) -> dict[str, Any]:
        rows = [[v.requirement, v.fails, v.text, v.by] for v in self.violations]
        return {"outputs": self.outputs, "later": self.later, "violations": rows, "fault": self.fault}

    @classmethod
    def from_json(cls, row: dict[str, Any]) -> Judged:
        violations = tuple(Violation(*found) for found in row["violations"])
        return cls(tuple(row["outputs"]), tuple(row["later"]), violations, row["fault"])


def judge(
    factory: LinkFactory, part: Part, profile: Profile, word: Sequence[str], capture: Path, pause_us: int
) -> Judged:
    """Plays the inputs, `pause_us` apart, and writes the capture."""
    found: list[str] = []
    later: list[str] = []
    with Connection(factory, part, profile, judged=True) as connection:
        case = connection.case

        def body() -> None:
            for number, name in enumerate(word, 1):
                case.note(f"input {number}, {name}")
                found.append(connection.do(name))
                later[:] = connection.tester.listen(pause_us) if pause_us else ()
            later.extend(connection.tester.listen(_TAIL_US))

        case.run(body)
        violations = [Violation(*row) for row in _violations(case)]
        fault = connection.fault
        if fault:
            found[-1:] = [CRASH]
    connection.capture.write(capture)
    return Judged(tuple(found), tuple(later), tuple(violations), fault)


def _violations(case: Any) -> list[tuple[str, bool, str, str]]:
    rows = []
    if case.judgement.verdict in AGAINST:
        rows.append(_row(case.judgement.requirement or case.judgement.due_by, case.judgement))
    for one in told_once(one for one in case.settle() if one.verdict in AGAINST):
        rows.append(_row(one.requirement, one.judgement))
    return rows


def _row(requirement: str, found: Judgement) -> tuple[str, bool, str, str]:
    return requirement, found.verdict is Verdict.FAIL, wording.judgement(found), "oracles"


def dissected(tshark: Tshark, role: Role, capture: Path) -> list[Violation]:
    """The violations by the implementation that the dissector proves in the capture."""
    return [
        Violation(one.requirement, True, one.text, "dissector")
        for one in tshark.findings(capture, *position_options(str(role)))
        if one.verdict is Conclusion.VIOLATED and one.offender_address == IUT
    ]
