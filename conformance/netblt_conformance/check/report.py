# SPDX-License-Identifier: GPL-2.0-or-later
"""What was found in captures: the table for people, one JSON document for programs."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator, Sequence
from typing import Any

from netblt_conformance import __version__
from netblt_conformance.catalogue import catalogue
from netblt_conformance.check.damage import Direction
from netblt_conformance.check.judge import VERDICT_OF, Checked
from netblt_conformance.common.verdicts import ExitCode, Result, Verdict
from netblt_conformance.common.words import fit, fit_lines
from netblt_conformance.judges.findings import Finding
from netblt_conformance.judges.standings import CROWD, Connection, Standing
from netblt_conformance.report import table

LAYOUT_VERSION = 2


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


def _sightings(group: Sequence[Connection]) -> list[str]:
    """One line for a transfer; where several interfaces saw it, which stream each of them has."""
    first = described(group[0])
    if len(group) == 1:
        return [f"  {first}"]
    seen = ", ".join(f"stream {one.stream} at {one.interface}" for one in group)
    return [f"  {first}", f"    one transfer, seen {len(group)} times: {seen}"]


def text(
    checked: Sequence[Checked],
    colour: bool,
    *,
    verbose: bool,
    quiet: bool,
    skipped: Sequence[tuple[str, str]] = (),
) -> str:
    """The table for people. Why a file could not be judged is written to standard error, not here."""
    lines: list[str] = []
    for file in checked:
        if not quiet and not (file.error and not file.transfers):
            lines.append(f"{fit(file.name)}: {len(file.transfers)} connection{'s' * (len(file.transfers) != 1)}")
            lines += [fit(line) for group in file.transfers[:CROWD] for line in _sightings(group)]
            if file.pairing is not None:
                from netblt_conformance.check import path_table  # needs numpy

                lines += path_table.lines(file.pairing)
            for hint in file.wanted:
                lines += table.wrapped(fit(hint.words(has_two_points=file.pairing is not None)), "  ", "  ")
            if file.crowded:
                lines.append(f"  ... and {len(file.transfers) - CROWD} more (--json lists all)")
        left_out = {Verdict.ERROR} if verbose else {Verdict.ERROR, Verdict.PASS, Verdict.NA}
        wanted = [row for row in file.results if row.verdict not in left_out]
        lines += table.rows([_titled(row) for row in wanted], colour)
    if not quiet:
        lines += [fit(f"{name}: skipped: {reason}") for name, reason in skipped]
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


def skipped_row(name: str, reason: str) -> Result:
    """For JUnit: a file of a folder that was not judged."""
    return Result("capture", [], "-", Verdict.NA, f"skipped: {reason}", capture=name)


def _damaged(one: Direction) -> dict[str, Any]:
    return {
        "source": one.source,
        "destination": one.destination,
        "interface": one.interface,
        "checksum": one.part,
        "packets": one.packets,
        "frames": one.frames,
        "requirement": one.requirement,
        "verdict": one.verdict.label,
        "offender": one.offender or None,
    }


def _connection(connection: Connection, group: Sequence[Connection]) -> dict[str, Any]:
    return {
        "stream": connection.stream if connection.stream >= 0 else None,
        "interface": connection.interface or None,
        "same_transfer_as": group[0].stream if connection is not group[0] else None,
        "ends": connection.ends,
        "summary": connection.summary,
        "requirements": [_standing(one, connection.findings) for one in connection.standings.values()],
    }


def _path(file: Checked) -> dict[str, Any] | None:
    """What the capture shows of the path between its two points."""
    if file.pairing is None:
        return None
    from netblt_conformance.check import path_table  # needs numpy

    return path_table.document(file.pairing)


def document(
    checked: Sequence[Checked],
    status: ExitCode,
    *,
    strict: bool,
    kind: str = "check",
    captured_at: str | None = None,
    skipped: Sequence[tuple[str, str]] = (),
) -> dict[str, Any]:
    """Everything but the connections of the files, which are added when it is written."""
    files = [
        {
            "file": file.name,
            "verdict": file.verdict.label,
            "error": file.error or None,
            "notes": file.notes,
            "path": _path(file),
            "second_capture": [hint.to_json() for hint in file.wanted],
            "damaged": [_damaged(one) for one in file.damaged],
            "transfers": len(file.transfers),
            "connections": [],
        }
        for file in checked
    ]
    return {
        "kind": kind,
        "layout": LAYOUT_VERSION,
        "suite": f"netblt-conformance {__version__}",
        "strict": strict,
        "captured_at": captured_at,
        "exit_code": int(status),
        "files": files,
        "skipped": [{"file": name, "reason": reason} for name, reason in skipped],
    }


def pieces(document: dict[str, Any], checked: Sequence[Checked], *, one_line: bool) -> Iterator[str]:
    """The document as text, with the connections of its files: a capture may hold more of them than a machine has room
    for as one text. A crowd has a line for each, whatever `one_line` is."""
    keys = list(document)
    at = keys.index("files")
    layout = _ONE_LINE if one_line else _LINES
    yield "{" + "".join(f"{layout.key}{_json(key)}: {layout.value(document[key])}," for key in keys[:at])
    yield f'{layout.key}"files": ['
    for number, (row, file) in enumerate(zip(document["files"], checked, strict=True)):
        yield ("," if number else "") + layout.item
        yield from _file(row, file, layout)
    yield f"{layout.end if checked else ''}]"
    yield "".join(f",{layout.key}{_json(key)}: {layout.value(document[key])}" for key in keys[at + 1 :])
    yield ("" if one_line else "\n") + "}\n"


@dataclasses.dataclass(frozen=True, slots=True)
class _Layout:
    """What is written before a key of the document, a file, a key of a file, a connection; and before closing
    brackets."""

    indent: int | None

    def _line(self, depth: int) -> str:
        return "" if self.indent is None else "\n" + " " * (self.indent * depth)

    @property
    def key(self) -> str:
        return self._line(1) or " "

    @property
    def item(self) -> str:
        return self._line(2)

    @property
    def end(self) -> str:
        return self._line(1)

    def value(self, value: Any, depth: int = 1) -> str:
        text = fit_lines(json.dumps(value, ensure_ascii=False, indent=self.indent))
        return text.replace("\n", self._line(depth)) if self.indent is not None else text


_ONE_LINE, _LINES = _Layout(None), _Layout(1)


def _file(row: dict[str, Any], file: Checked, layout: _Layout) -> Iterator[str]:
    """One of the files, with its connections; they are the last of its keys."""
    fields = [(key, value) for key, value in row.items() if key != "connections"]
    inner, deep = layout._line(3), layout._line(4)
    yield "{" + "".join(f"{inner}{_json(key)}: {layout.value(value, 3)}, ".rstrip(" ") for key, value in fields)
    yield f'{inner}"connections": ['
    number = 0
    for group in file.transfers:
        for one in group:
            described = _connection(one, group)
            text = _ONE_LINE.value(described) if file.crowded else layout.value(described, 4)
            yield f"{',' if number else ''}{deep or (' ' if number else '')}{text}"
            number += 1
    yield f"{inner if number else ''}]{layout._line(2)}}}"


def _json(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def as_line(row: dict[str, Any]) -> str:
    return fit(json.dumps(row, ensure_ascii=False))
