# SPDX-License-Identifier: GPL-2.0-or-later
"""What was found in captures: the table for people, one JSON document for programs."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from typing import Any

from netblt_conformance import __version__, catalogue
from netblt_conformance.check.judge import VERDICT_OF, Checked
from netblt_conformance.judges.findings import Finding
from netblt_conformance.judges.standings import Connection, Standing
from netblt_conformance.report import table
from netblt_conformance.verdicts import ExitCode, Result, Verdict

LAYOUT_VERSION = 1


def described(connection: Connection) -> str:
    """One line about a connection: what it transferred, how fast, how it ended."""
    row = connection.summary
    if not row:
        return f"stream {connection.stream}: {connection.title}"
    words = [f"{row['xfsz'] * 1000:.0f} bytes in {row['buffers']} buffers", f"{row['seconds']:.3f} s"]
    if row.get("real_mbps") is not None:
        words.append(f"{row['real_mbps']:.3f} Mbit/s")
    words.append(f"ended by {row['end']}" if row["end"] != "open" else "end not captured")
    return f"stream {connection.stream}: {connection.title}: {', '.join(words)}"


def text(checked: Sequence[Checked], colour: bool, *, verbose: bool, quiet: bool) -> str:
    lines: list[str] = []
    for file in checked:
        if not quiet:
            lines.append(f"{file.name}: {len(file.connections)} connection{'s' * (len(file.connections) != 1)}")
            lines += [f"  {described(connection)}" for connection in file.connections]
        wanted = [row for row in file.results if verbose or row.verdict not in (Verdict.PASS, Verdict.NA)]
        lines += table.rows([_titled(row) for row in wanted], colour)
    results = [row for file in checked for row in file.results]
    shown = [row for row in results if row.verdict is not Verdict.NA]
    judged = {requirement for row in shown for requirement in row.requirements}
    lines.append(f"{table.summary(shown, colour)}; {len(judged)} requirements were put to the test")
    return "\n".join(lines) + "\n"


def _titled(row: Result) -> Result:
    """With the requirement's title beside the stream."""
    known = catalogue.requirements()
    title = "; ".join(known[one].title for one in row.requirements if one in known)
    return dataclasses.replace(row, case=f"{row.case.partition(': ')[0]}: {title}" if title else row.case)


def finding_row(finding: Finding) -> dict[str, Any]:
    row = dataclasses.asdict(finding)
    for key in ("stream", "requirement"):
        del row[key]
    for key in ("offending_frame", "request_frame", "evidence_frame"):
        row[key] = row[key] or None
    return row


def _standing(standing: Standing, findings: Sequence[Finding]) -> dict[str, Any]:
    return {
        "requirement": standing.requirement,
        "verdict": VERDICT_OF[standing.conclusion].label,
        "observations": standing.observations,
        "violations": standing.violations,
        "suspicions": standing.suspicions,
        "findings": [finding_row(finding) for finding in findings if finding.requirement == standing.requirement],
    }


def _connection(connection: Connection) -> dict[str, Any]:
    return {
        "stream": connection.stream if connection.stream >= 0 else None,
        "ends": connection.ends,
        "summary": connection.summary,
        "requirements": [_standing(one, connection.findings) for one in connection.standings.values()],
    }


def document(checked: Sequence[Checked], status: ExitCode, *, strict: bool, kind: str = "check") -> dict[str, Any]:
    files = [
        {
            "file": file.name,
            "verdict": file.verdict.label,
            "error": file.error or None,
            "notes": file.notes,
            "connections": [_connection(connection) for connection in file.connections],
        }
        for file in checked
    ]
    return {
        "kind": kind,
        "layout": LAYOUT_VERSION,
        "suite": f"netblt-conformance {__version__}",
        "strict": strict,
        "exit_code": int(status),
        "files": files,
    }


def as_json(document: dict[str, Any]) -> str:
    return json.dumps(document, ensure_ascii=False, indent=1) + "\n"


def as_line(document: dict[str, Any]) -> str:
    return json.dumps(document, ensure_ascii=False)
