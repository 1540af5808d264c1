# SPDX-License-Identifier: GPL-2.0-or-later
"""How the connections of a capture stand with each rule, as the plugin concludes (-z netblt,verdict,json)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from netblt_conformance.judges.findings import Finding

REPORT = "verdict"
SUMMARY = "summary"
VIOLATED, SUSPECTED, HELD, NOT_OBSERVED = "violated", "suspected", "held", "not observable"
# What a rule can come to at worst, by its reach.
REACH_VIOLATION = "violation"


@dataclass(slots=True)
class Standing:
    """One rule in one connection."""

    requirement: str
    conclusion: str  # violated, suspected, held, not observable
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
    summary: dict[str, Any] = field(default_factory=dict)
    standings: dict[str, Standing] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    interface: str = ""  # where it was captured, when more than one interface saw the transfer

    @property
    def title(self) -> str:
        return " > ".join(self.ends.values()) or "unknown ends"


def _standing(row: dict[str, Any]) -> Standing:
    return Standing(
        str(row["requirement"]),
        str(row["verdict"]),
        int(row["observations"]),
        int(row["violations"]),
        int(row["suspicions"]),
        str(row.get("reach") or ""),
        int(row.get("first_kept_frame") or 0),
        str(row.get("summary") or ""),
        tuple(row.get("violation_frames") or row.get("suspicion_frames") or ()),
        str(row.get("offender") or ""),
    )


def connections(reports: dict[str, Any], findings: Iterable[Finding]) -> list[Connection]:
    """All connections that the reports know, with their findings. A finding outside of any connection makes one."""
    known: dict[int, Connection] = {}
    for row in reports.get(SUMMARY, {}).get("connections", []):
        summary = {key: value for key, value in row.items() if key not in ("stream", "ends")}
        known[row["stream"]] = Connection(row["stream"], dict(row["ends"]), summary)
    for row in reports.get(REPORT, {}).get("connections", []):
        connection = known.setdefault(row["stream"], Connection(row["stream"], dict(row["ends"])))
        connection.standings = {rule["requirement"]: _standing(rule) for rule in row["requirements"]}
    for finding in findings:
        stream = -1 if finding.stream is None else finding.stream
        known.setdefault(stream, Connection(stream, {})).findings.append(finding)
    for connection in known.values():
        _complete(connection)
    return [known[stream] for stream in sorted(known)]


def _complete(connection: Connection) -> None:
    """Rules that only findings speak of: all of them where the plugin has no report of its conclusions."""
    for finding in connection.findings:
        standing = connection.standings.setdefault(
            finding.requirement, Standing(finding.requirement, NOT_OBSERVED, reach=REACH_VIOLATION)
        )
        if finding.verdict == "violation":
            standing.conclusion = VIOLATED
            standing.violations = max(standing.violations, 1)
        elif standing.conclusion in (HELD, NOT_OBSERVED):
            standing.conclusion = SUSPECTED
            standing.suspicions = max(standing.suspicions, 1)


def settled(findings: Iterable[Finding]) -> list[Finding]:
    """Without the suspicions that were proven later: the violation tells of them."""
    findings = list(findings)
    proven = {(f.stream, f.requirement, f.guilty_frame) for f in findings if f.verdict == "violation"}
    return [f for f in findings if f.verdict == "violation" or (f.stream, f.requirement, f.frame) not in proven]
