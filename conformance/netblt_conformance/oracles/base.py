# SPDX-License-Identifier: GPL-2.0-or-later
"""The shape of an oracle."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from netblt_conformance.common.remarks import Note, Remark
from netblt_conformance.common.verdicts import Verdict
from netblt_conformance.oracles.session import Session
from netblt_conformance.packets.packets import Packet


@dataclass(frozen=True, slots=True)
class Violation:
    requirement: str
    verdict: Verdict
    reason: str
    frame: int | None
    notes: tuple[Note, ...] = ()


Report = Callable[[Violation], None]


def told_once(violations: Iterable[Violation]) -> list[Violation]:
    """The first violation of each requirement speaks for all that are like it: one fault is often in every packet."""
    alike: dict[tuple[str, Verdict], list[Violation]] = defaultdict(list)
    for violation in violations:
        alike[violation.requirement, violation.verdict].append(violation)
    return [
        replace(first, notes=(Note(Remark.ALIKE, len(others)),)) if others else first
        for first, *others in alike.values()
    ]


class Oracle:
    """Sees the packets of one connection in order. `received` is what the implementation emitted."""

    # When True the oracle sees packets of any port pair and any damage; else only readable ones of the connection.
    sees_everything = False

    def __init__(self, session: Session, report: Report) -> None:
        self.session = session
        self._report = report

    def fail(self, requirement: str, reason: str, frame: int | None) -> None:
        self._report(Violation(requirement, Verdict.FAIL, reason, frame))

    def warn(self, requirement: str, reason: str, frame: int | None) -> None:
        self._report(Violation(requirement, Verdict.WARN, reason, frame))

    def sent(self, packet: Packet, time_us: int, frame: int) -> None:
        """A valid packet of the tester on this connection, already noted in the session."""

    def received(self, packet: Packet, time_us: int, frame: int) -> None:
        """A packet of the implementation."""

    def finish(self) -> None:
        """Nothing will follow: what had to wait for the end is judged now."""
