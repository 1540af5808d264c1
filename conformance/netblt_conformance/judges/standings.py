# SPDX-License-Identifier: GPL-2.0-or-later
"""The results of each rule for the connections of a capture, as the plugin concludes (-z netblt,verdict,lines)."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from netblt_conformance.judges.findings import Conclusion, Finding, Kind

REPORT = "verdict"
SUMMARY = "summary"
# What a rule can come to at worst, by its reach.
REACH_VIOLATION = "violation"
# A capture of more connections is a crowd: of each, only what was put to the test is reported.
CROWD = 1000


@dataclass(slots=True)
class Standing:
    """One rule in one connection."""

    requirement: str
    conclusion: Conclusion
    observations: int = 0  # how often the rule was put to the test and kept
    violations: int = 0
    suspicions: int = 0
    reach: str = ""  # violation, suspected, observed: how much a capture can prove at best
    first_kept: int = 0  # a frame; 0: none
    title: str = ""
    frames: tuple[int, ...] = ()  # which break the rule, or are suspected to
    offender: str = ""


@dataclass(slots=True)
class Connection:
    """One connection of a capture, at one capture interface."""

    stream: int
    ends: dict[str, str]  # "sender": "10.0.0.1:1024", "receiver": ...
    figures: str = ""  # the summary as JSON: a capture may hold very many connections
    standings: dict[str, Standing] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    more: Counter[Kind] = field(default_factory=Counter)  # findings that are counted only
    interface: str = ""  # where it was captured, when more than one interface saw the transfer
    file: str = ""  # which capture holds it, when more than one is judged as one file
    limit: str = ""  # why it was not judged to its end

    @property
    def title(self) -> str:
        return " > ".join(self.ends.values()) or "unknown ends"

    @property
    def summary(self) -> dict[str, Any]:
        return dict(json.loads(self.figures)) if self.figures else {}


_ROW_KEYS = ("stream", "ends", "limit")


class Reports:
    """What the plugin reports of connections: rows of SUMMARY and REPORT (findings.Rows)."""

    def __init__(self) -> None:
        self._report = ""
        self._rules: dict[str, tuple[str, str]] = {}  # every rule that a capture can verify: title and reach
        self._known: dict[int, Connection] = {}

    def begin(self, header: dict[str, Any]) -> None:
        self._report = str(header["report"])
        if self._report == REPORT:
            for rule in header.get("requirements", []):
                self._rules[sys.intern(rule["requirement"])] = rule["summary"], sys.intern(rule["reach"])

    def row(self, row: dict[str, Any]) -> None:
        connection = self._known.get(row["stream"])
        if connection is None:
            connection = self._known[row["stream"]] = Connection(row["stream"], dict(row["ends"]))
        connection.limit = connection.limit or str(row.get("limit") or "")
        if self._report == SUMMARY:
            figures = {"estimates": [], "unknown": []} | {k: v for k, v in row.items() if k not in _ROW_KEYS}
            estimates, unknown = figures.pop("estimates"), figures.pop("unknown")
            connection.figures = json.dumps(figures | {"estimates": estimates, "unknown": unknown})
        elif self._report == REPORT:
            connection.ends = dict(row["ends"])
            connection.standings = {rule["requirement"]: self._standing(rule) for rule in row["requirements"]}

    def _standing(self, row: dict[str, Any]) -> Standing:
        requirement = sys.intern(row["requirement"])
        title, reach = self._rules.get(requirement, ("", ""))
        return Standing(
            requirement,
            Conclusion(row["verdict"]),
            int(row.get("observations", 0)),
            int(row.get("violations", 0)),
            int(row.get("suspicions", 0)),
            reach,
            int(row.get("first_passed_frame", 0)),
            title,
            tuple(row.get("violation_frames") or row.get("suspicion_frames") or ()),
            sys.intern(row.get("offender") or ""),
        )

    def connections(self, findings: Iterable[Finding], more: Mapping[Kind, int] = {}) -> list[Connection]:
        """All connections that the reports know, with their findings. A finding outside of any connection makes one."""
        known = dict(self._known)
        if len(known) <= CROWD:
            for connection in known.values():
                self._add_untested(connection)
        for finding in findings:
            stream = -1 if finding.stream is None else finding.stream
            known.setdefault(stream, Connection(stream, {})).findings.append(finding)
        for kind, count in more.items():
            stream = -1 if kind[0] is None else kind[0]
            known[stream].more[kind] += count
        for connection in known.values():
            _complete(connection)
        return [known[stream] for stream in sorted(known)]

    def _add_untested(self, connection: Connection) -> None:
        """In the order of the plugin."""
        tested = connection.standings
        connection.standings = {
            rule: tested.get(rule) or Standing(rule, Conclusion.NOT_OBSERVED, reach=reach, title=title)
            for rule, (title, reach) in self._rules.items()
        }


def _complete(connection: Connection) -> None:
    """Rules that only findings speak of."""
    for finding in connection.findings:
        standing = connection.standings.setdefault(
            finding.requirement, Standing(finding.requirement, Conclusion.NOT_OBSERVED, reach=REACH_VIOLATION)
        )
        if finding.verdict is Conclusion.VIOLATED:
            standing.conclusion = Conclusion.VIOLATED
            standing.violations = max(standing.violations, 1)
        elif standing.conclusion in (Conclusion.HELD, Conclusion.NOT_OBSERVED):
            standing.conclusion = Conclusion.SUSPECTED
            standing.suspicions = max(standing.suspicions, 1)


def limits(connections: Iterable[Connection]) -> str:
    """Why a capture is not judged to its end; empty when it is."""
    limited = [connection for connection in connections if connection.limit]
    if not limited:
        return ""
    others = f" (and {len(limited) - 1} more connections)" if len(limited) > 1 else ""
    return f"not judged to its end: stream {limited[0].stream}{others}: {limited[0].limit}"


def settled(findings: Iterable[Finding]) -> list[Finding]:
    """Without the suspicions that were proven later: the violation includes them."""
    findings = list(findings)
    proven = {(f.stream, f.requirement, f.guilty_frame) for f in findings if f.verdict is Conclusion.VIOLATED}
    return [f for f in findings if f.verdict is Conclusion.VIOLATED or (f.stream, f.requirement, f.frame) not in proven]
