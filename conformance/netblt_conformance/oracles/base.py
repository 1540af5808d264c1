# SPDX-License-Identifier: GPL-2.0-or-later
"""The shape of an oracle."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, replace

from netblt_conformance.common import wording
from netblt_conformance.common.remarks import Note, Remark
from netblt_conformance.common.verdicts import Judgement, Verdict
from netblt_conformance.oracles.session import Session
from netblt_conformance.packets.packets import Packet


@dataclass(frozen=True, slots=True, eq=False)
class Check:
    """One thing that an oracle looks for. `seen` names the values that a violation of it has, in braces."""

    requirement: str
    expected: str  # what RFC 998 demands there
    seen: str  # what the implementation does that violates it
    verdict: Verdict = Verdict.FAIL
    stalls: bool = False  # a violation can stop the transfer
    arrival: bool = False  # it supposes that a packet of the tester has reached the implementation
    explains: str = ""  # another requirement, of which it names the cause: where that is not judged, nor is this


@dataclass(frozen=True, slots=True)
class Violation:
    """Two of one check with equal values mean the same; the text is made of them where it is shown."""

    check: Check
    values: tuple[tuple[str, Hashable], ...]
    frame: int | None
    notes: tuple[Note, ...] = ()

    @property
    def requirement(self) -> str:
        return self.check.requirement

    @property
    def verdict(self) -> Verdict:
        return self.check.verdict

    @property
    def judgement(self) -> Judgement:
        seen = wording.filled(self.check.seen, self.values)
        return Judgement(self.verdict, seen, self.frame, expected=self.check.expected, notes=self.notes)


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

    def report(self, check: Check, frame: int | None, **values: Hashable) -> None:
        """A violation of `check`, by the packet in `frame`; `values` are those that its text names."""
        self._report(Violation(check, tuple(values.items()), frame))

    def sent(self, packet: Packet, time_us: int, frame: int) -> None:
        """A valid packet of the tester on this connection, already noted in the session."""

    def received(self, packet: Packet, time_us: int, frame: int) -> None:
        """A packet of the implementation."""

    def came_late(self) -> None:
        """A copy of a packet of the tester, which the oracle does not see, comes after the end (AMB-55)."""

    def finish(self) -> None:
        """Nothing will follow: what had to wait for the end is judged now."""
