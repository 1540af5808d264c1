# SPDX-License-Identifier: GPL-2.0-or-later
"""What a capture shows: its connections, and a row for every rule and offender."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import IO

from netblt_conformance import catalogue
from netblt_conformance.judges import standings
from netblt_conformance.judges.findings import Finding
from netblt_conformance.judges.standings import Connection
from netblt_conformance.judges.tshark import ANY_VERDICT, Tshark, UnreadableError
from netblt_conformance.verdicts import ExitCode, Result, Verdict

VERDICT_OF = {
    standings.VIOLATED: Verdict.FAIL,
    standings.SUSPECTED: Verdict.INCONC,
    standings.HELD: Verdict.PASS,
    standings.NOT_OBSERVED: Verdict.NA,
}


@dataclass(slots=True)
class Checked:
    """One file."""

    name: str
    connections: list[Connection] = field(default_factory=list)
    error: str = ""  # why it could not be judged, or not to its end
    notes: list[str] = field(default_factory=list)

    @property
    def results(self) -> list[Result]:
        rows = [row for connection in self.connections for row in rows_of(connection, self.name)]
        rows += [Result("capture", [], "-", Verdict.INCONC, note, capture=self.name) for note in self.notes]
        if self.error:
            rows.append(Result("capture", [], "-", Verdict.ERROR, self.error, capture=self.name))
        return rows

    @property
    def verdict(self) -> Verdict:
        return worst(self.results)


def worst(results: Iterable[Result]) -> Verdict:
    """The worst graded verdict; N/A when nothing could be judged."""
    return max((result.verdict for result in results if result.verdict is not Verdict.OBSERVED), default=Verdict.NA)


def judge(tshark: Tshark, file: IO[bytes], name: str) -> Checked:
    """Judges one capture. What tshark cannot read to its end is judged as far as it can be read, and in error."""
    wanted = [report for report in (standings.SUMMARY, standings.REPORT) if report in tshark.reports]
    checked = Checked(name)
    try:
        found, reports = tshark.judge(file, name, ANY_VERDICT, wanted)
    except UnreadableError as error:
        found, reports = error.findings, error.reports
        checked.error = f"cannot be read: {error.why}"
    checked.connections = standings.connections(reports, standings.settled(found))
    if not checked.connections and not checked.error:
        checked.error = "holds no NETBLT packet"
    elif not checked.error and not any(_speaks_of_rfc_998(row) for row in checked.results):
        checked.error = "holds nothing that the rules of RFC 998 can judge; is it ETFTP or version 4?"
    return checked


def _speaks_of_rfc_998(row: Result) -> bool:
    """Or shows a breach of what RFC 1986 says. That its few rules hold does not make a capture one of RFC 998's."""
    keeps_rfc_1986 = row.verdict is Verdict.PASS and row.requirements[:1] and row.requirements[0].startswith("R1986-")
    return row.verdict is not Verdict.NA and not keeps_rfc_1986


def _case(connection: Connection) -> str:
    return f"stream {connection.stream}: {connection.title}" if connection.stream >= 0 else "no connection"


def _told(finding: Finding, findings: Sequence[Finding]) -> str:
    does = "completes the proof" if finding.verdict == "violation" else "makes it suspect"
    proof = "" if finding.guilty_frame == finding.frame else f"; frame {finding.frame} {does}"
    more = len(findings) - 1
    others = f" (and {more} more like it)" if more else ""
    return f"{finding.text}{proof}{others}"


def rows_of(connection: Connection, name: str) -> list[Result]:
    """One row for each rule that was looked at, and for each offender of a rule that was broken."""
    if not connection.standings:  # an older plugin, which has no report of its conclusions
        return [Result(_case(connection), [], "-", Verdict.PASS)]
    known, rows = catalogue.requirements(), []
    order = {identifier: number for number, identifier in enumerate(known)}
    for requirement in sorted(connection.standings, key=lambda one: order.get(one, len(order))):
        standing = connection.standings[requirement]
        mine = [finding for finding in connection.findings if finding.requirement == requirement]
        for offender in dict.fromkeys(finding.offender for finding in mine):
            rows.append(_blame(connection, requirement, offender, mine, name))
        if not mine:
            rows.append(Result(_case(connection), [requirement], "-", VERDICT_OF[standing.conclusion], capture=None))
    return rows


def _blame(connection: Connection, requirement: str, offender: str, findings: list[Finding], name: str) -> Result:
    theirs = [finding for finding in findings if finding.offender == offender]
    violations = [finding for finding in theirs if finding.verdict == "violation"]
    same = violations or theirs
    verdict = Verdict.FAIL if violations else Verdict.INCONC
    first = same[0]
    return Result(
        _case(connection), [requirement], offender, verdict, _told(first, same), capture=name, frame=first.guilty_frame
    )


def exit_code(results: Sequence[Result], *, strict: bool) -> ExitCode:
    """1: a violation, or with `strict` a suspicion. 2: a file could not be judged, or nothing in any. Else 0."""
    verdicts = {result.verdict for result in results}
    if Verdict.FAIL in verdicts:
        return ExitCode.FAILED
    if Verdict.ERROR in verdicts or not verdicts & {Verdict.PASS, Verdict.INCONC}:
        return ExitCode.COULD_NOT_RUN
    return ExitCode.FAILED if strict and Verdict.INCONC in verdicts else ExitCode.HOLDS
