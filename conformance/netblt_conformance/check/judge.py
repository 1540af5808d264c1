# SPDX-License-Identifier: GPL-2.0-or-later
"""What a capture shows: its connections, and a row for every rule and offender."""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import IO, TYPE_CHECKING

from netblt_conformance.catalogue import catalogue
from netblt_conformance.check import crowd, damage, second_capture, sightings
from netblt_conformance.check.damage import Direction
from netblt_conformance.common.verdicts import ExitCode, Origin, Result, Verdict
from netblt_conformance.judges import standings
from netblt_conformance.judges.findings import Conclusion, Finding, FindingReader
from netblt_conformance.judges.standings import Connection, Reports, Standing
from netblt_conformance.judges.tshark import Tshark, UnreadableError
from netblt_conformance.packets.formats import MAGIC_BYTES, why_no_capture

if TYPE_CHECKING:  # these import numpy, which few captures need
    from netblt_conformance.check.ends import Ends
    from netblt_conformance.pairing.paths import Pairing

VERDICT_OF = {
    Conclusion.VIOLATED: Verdict.FAIL,
    Conclusion.SUSPECTED: Verdict.INCONC,
    Conclusion.HELD: Verdict.PASS,
    Conclusion.NOT_OBSERVED: Verdict.NA,
}


# --captured-at, and the plugin's preference for it.
POSITIONS = {"sender": "sender", "receiver": "receiver", "path": "between"}
# --captured-at for a file with an interface at each end.
BOTH_ENDS = "ends"


def options(position: str | None) -> tuple[str, ...]:
    """tshark's options for the position of the capture; None: not known."""
    return ("-o", f"netblt.capture_position:{POSITIONS[position]}") if position in POSITIONS else ()


@dataclass(slots=True)
class Checked:
    """One file."""

    name: str
    transfers: list[list[Connection]] = field(default_factory=list)  # each with all its sightings
    error: str = ""  # why it could not be judged, or not to its end
    foreign: bool = False  # the error is that it holds nothing to be judged
    notes: list[str] = field(default_factory=list)
    damaged: list[Direction] = field(default_factory=list)
    pairing: Pairing | None = None  # of the two capture points that it holds
    covered: frozenset[str] = frozenset()  # roles of the ends at which it was captured
    _of_transfers: list[Result] | None = None  # rows, made once

    @property
    def connections(self) -> list[Connection]:
        return sorted((one for group in self.transfers for one in group), key=lambda one: one.stream)

    @property
    def wanted(self) -> list[second_capture.Wanted]:
        """Captures that would settle suspicions."""
        return second_capture.wanted(self.connections, self.covered)

    @property
    def crowded(self) -> bool:
        """So many connections that what they have in common is summed up."""
        return len(self.transfers) > standings.CROWD

    @property
    def results(self) -> list[Result]:
        rows = [Result("capture", [], "-", Verdict.INCONC, note, capture=self.name) for note in self.notes]
        rows += damage.rows(self.damaged, self.name)
        if self._of_transfers is None:
            groups = (
                sightings.merged(group, [rows_of(one, one.file or self.name) for one in group])
                for group in self.transfers
            )
            summed_up = crowd.summed_up(groups, self.name) if self.crowded else None
            self._of_transfers = summed_up or [row for group in groups for row in group]
        rows += self._of_transfers
        if self.error:
            rows.append(Result("capture", [], "-", Verdict.ERROR, self.error, capture=self.name))
        return rows

    @property
    def verdict(self) -> Verdict:
        return worst(self.results)


def worst(results: Iterable[Result]) -> Verdict:
    """The worst graded verdict; N/A when nothing could be judged."""
    return max((result.verdict for result in results if result.verdict is not Verdict.OBSERVED), default=Verdict.NA)


def judge(tshark: Tshark, file: IO[bytes], name: str, position: str | None = None, ends: Ends | None = None) -> Checked:
    """Judges one capture, a file that can be read twice. What tshark cannot read to its end is judged as far as it can
    be read, and in error. `ends`: it was captured at both ends."""
    checked, reports = Checked(name), Reports()
    reader = FindingReader(reports)
    try:
        found = tshark.judge(
            file, name, (standings.SUMMARY, standings.REPORT), reader, *(ends.options if ends else options(position))
        )
    except UnreadableError as error:
        found = error.findings
        checked.error = f"cannot be read: {error.why}"
    connections = reports.connections(standings.settled(found), reader.more)
    checked.error = checked.error or standings.limits(connections)
    transfers = sightings.transfers(tshark, file, connections)
    if ends is not None:
        checked.pairing, checked.notes = ends.pairing, list(ends.notes)
        checked.covered = frozenset(("sender", "receiver"))
        ends.put_back(connections)
        reader.damaged = ends.not_on_the_way(reader.damaged)
    conclude(checked, transfers, reader, position, ends.beside if ends else None)
    if not checked.transfers and not checked.error:
        checked.error, checked.foreign = _without_netblt(file), True
    elif not checked.error and all(row.verdict is Verdict.NA for row in checked.results):
        checked.error = "holds nothing that can be judged; is it RFC 998 with the version byte of version 4?"
        checked.foreign = True
    return checked


def _without_netblt(file: IO[bytes]) -> str:
    """Why nothing was found in it."""
    file.seek(0)
    return why_no_capture(file.read(MAGIC_BYTES)) or "holds no NETBLT packet, or only some that the capture cut off"


def conclude(
    checked: Checked,
    transfers: list[list[Connection]],
    reader: FindingReader,
    position: str | None = None,
    beside: Mapping[str, Collection[str]] | None = None,
) -> None:
    """What the plugin found, as verdicts on `checked`. `beside`: damage.directions."""
    checked.transfers = transfers
    connections = checked.connections
    findings = [finding for connection in connections for finding in connection.findings]
    checked.damaged = damage.directions(reader.damaged, connections, findings, position, beside)
    named = _frames_named(findings)
    for connection in connections:
        own = {finding.requirement for finding in connection.findings}
        for standing in connection.standings.values():
            if standing.requirement not in own and _told_elsewhere(standing, named):
                # The packet itself is in another stream: there it is reported, once.
                standing.conclusion = Conclusion.HELD if standing.observations else Conclusion.NOT_OBSERVED
                standing.violations = standing.suspicions = 0


def _frames_named(findings: Iterable[Finding]) -> dict[str, set[int]]:
    """The frames that findings are about, by requirement."""
    named: dict[str, set[int]] = defaultdict(set)
    for finding in findings:
        named[finding.requirement] |= {finding.frame, finding.guilty_frame}
    return named


def _told_elsewhere(standing: Standing, named: dict[str, set[int]]) -> bool:
    if standing.conclusion not in (Conclusion.VIOLATED, Conclusion.SUSPECTED):
        return False
    return not named.get(standing.requirement, set()).isdisjoint(standing.frames)


def _case(connection: Connection) -> str:
    return f"stream {connection.stream}: {connection.title}" if connection.stream >= 0 else "no connection"


def _told(finding: Finding, count: int) -> str:
    """As text; `count` findings are the same."""
    does = "completes the proof" if finding.verdict is Conclusion.VIOLATED else "makes it suspect"
    proof = "" if finding.guilty_frame == finding.frame else f"; frame {finding.frame} {does}"
    more = count - 1
    others = f" (and {more} more like it)" if more else ""
    return f"{finding.text}{proof}{others}"


@functools.cache
def _order() -> dict[str, int]:
    """Place of each requirement in the catalogue."""
    return {identifier: number for number, identifier in enumerate(catalogue.requirements())}


def rows_of(connection: Connection, name: str) -> list[Result]:
    """One row for each rule that was looked at, and for each offender of a rule that was broken."""
    rows, order = [], _order()
    for requirement in sorted(connection.standings, key=lambda one: order.get(one, len(order))):
        standing = connection.standings[requirement]
        mine = [finding for finding in connection.findings if finding.requirement == requirement]
        for offender in dict.fromkeys(finding.offender for finding in mine):
            rows.append(_blame(connection, requirement, offender, mine, name))
        if not mine:
            rows.append(_without_finding(connection, standing, name))
    return rows


def _without_finding(connection: Connection, standing: Standing, name: str) -> Result:
    """A conclusion of the plugin that no finding on a packet goes with."""
    case, requirements, verdict = _case(connection), [standing.requirement], VERDICT_OF[standing.conclusion]
    if standing.conclusion not in (Conclusion.VIOLATED, Conclusion.SUSPECTED):
        return Result(case, requirements, "-", verdict, origin=Origin.CHECK)
    count = standing.violations or standing.suspicions
    return Result(
        case,
        requirements,
        standing.offender or "-",
        verdict,
        seen=f"{standing.title or 'the rule'}: {standing.conclusion} ({count} times)",
        capture=name,
        frame=next(iter(standing.frames), None),
        origin=Origin.CHECK,
        expected=catalogue.demand(standing.requirement),
    )


def _blame(connection: Connection, requirement: str, offender: str, findings: list[Finding], name: str) -> Result:
    theirs = [finding for finding in findings if finding.offender == offender]
    violations = [finding for finding in theirs if finding.verdict is Conclusion.VIOLATED]
    same = violations or theirs
    verdict = Verdict.FAIL if violations else Verdict.INCONC
    first = same[0]
    words = _told(first, len(same) + connection.more[first.kind])
    return Result(
        _case(connection),
        [requirement],
        offender,
        verdict,
        words,
        capture=name,
        frame=first.guilty_frame,
        origin=Origin.CHECK,
        expected=catalogue.demand(requirement),
    )


def exit_code(results: Sequence[Result], *, strict: bool, complete: bool = True) -> ExitCode:
    """1: a violation, or with `strict` a suspicion. 2: a file could not be judged, or nothing in any, or packets are
    missing that a judgement needs (not `complete`). Else 0."""
    verdicts = {result.verdict for result in results}
    if Verdict.FAIL in verdicts:
        return ExitCode.FAILED
    if Verdict.ERROR in verdicts or not complete or not verdicts & {Verdict.PASS, Verdict.INCONC}:
        return ExitCode.COULD_NOT_RUN
    return ExitCode.FAILED if strict and Verdict.INCONC in verdicts else ExitCode.HOLDS
