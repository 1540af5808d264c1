# SPDX-License-Identifier: GPL-2.0-or-later
"""What CI systems show of a run: a job summary in Markdown, and annotations as workflow commands of GitHub."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from netblt_conformance.baseline import text
from netblt_conformance.baseline.compare import Change, Comparison, Kind
from netblt_conformance.baseline.records import Record
from netblt_conformance.common import wording
from netblt_conformance.common.errors import LinkUnavailableError
from netblt_conformance.common.verdicts import GRADED, Result, Verdict
from netblt_conformance.common.words import printable

# GitHub shows so many errors of a step, and refuses a summary of more than 1 MiB.
ANNOTATIONS_MAX = 10
ROWS_MAX = 50
_ENTITIES = {ord(one): f"&#{ord(one)};" for one in "\\`*_[]<>|#&~$"}
_OPEN = (Kind.NEW_FAILURE, Kind.FIXED)  # sections that are not folded


def accused(record: Record, found: Comparison | None) -> list[Result]:
    """The results for which the job fails: with a baseline its new failures, and what the suite could not judge."""

    def now(verdict: Verdict) -> list[Change]:
        return [Change(Kind.NEW_FAILURE, None, result) for result in record.results if result.verdict is verdict]

    failed = now(Verdict.FAIL) if found is None else found.of_kind(Kind.NEW_FAILURE)
    return [change.row for change in text.roles_together([*failed, *now(Verdict.ERROR)])]


def github_lines(record: Record, found: Comparison | None = None) -> str:
    """A line for each result that the job fails for, those of different requirements first."""
    results = _spread(accused(record, found))
    shown = results if len(results) <= ANNOTATIONS_MAX else results[: ANNOTATIONS_MAX - 1]
    lines = [_error(text.name(row), f"{row.verdict.label}: {wording.reason(row)}{_where(row)}") for row in shown]
    if len(results) > len(shown):
        lines.append(_error(f"{len(results) - len(shown)} more failures", "the report has all of them"))
    return "".join(line + "\n" for line in lines)


def _spread(results: Sequence[Result]) -> list[Result]:
    seen: Counter[str] = Counter()
    ranked = []
    for result in results:
        seen[result.requirement] += 1
        ranked.append((seen[result.requirement], result))
    return [result for _, result in sorted(ranked, key=lambda pair: pair[0])]


def _where(row: Result) -> str:
    if row.capture is None:
        return ""
    return f" [{row.capture}, frame {row.frame}]" if row.frame else f" [{row.capture}]"


def _error(title: str, message: str) -> str:
    escaped = _data(title).replace(":", "%3A").replace(",", "%2C")
    return f"::error title={escaped}::{_data(printable(message))}"


def _data(words: str) -> str:
    return words.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def append_summary(file: Path, record: Record, found: Comparison | None = None) -> None:
    """Adds the job summary to a file, as GITHUB_STEP_SUMMARY expects."""
    try:
        with file.open("a", encoding="utf-8") as out:
            out.write(summary(record, found))
    except OSError as error:
        raise LinkUnavailableError(f"--summary {file}: {error.strerror}") from None


def summary(record: Record, found: Comparison | None = None) -> str:
    """The job summary, Markdown."""
    lines = [f"## NETBLT conformance: {_cell(text.run_line(record))}", "", _verdicts(record), ""]
    if found is None:
        rows = [_row(row, "") for row in accused(record, None)]
        lines += _section(f"Failed: {len(rows)}", rows, ("",), folded=False)
    else:
        lines += [f"Since the baseline ({_cell(text.run_line(found.before))}): **{_cell(text.summary(found))}**", ""]
        lines += list(_comparison(found))
    return "\n".join(lines) + "\n"


def _verdicts(record: Record) -> str:
    counts = Counter(result.verdict for result in record.results)
    order = (*reversed(GRADED), Verdict.NA)
    return ", ".join(f"{counts[verdict]} {verdict.label}" for verdict in order if counts[verdict]) or "nothing ran"


def _comparison(found: Comparison) -> Iterator[str]:
    for kind in Kind:
        rows = [
            _row(change.row, text.transition(change) + (", another cause" if change.cause_changed else ""))
            for change in text.roles_together(found.of_kind(kind))
        ]
        title = f"{text.TITLES[kind]}: {len(found.of_kind(kind))}"
        yield from _section(title, rows, ("Before and now",), folded=kind not in _OPEN)
    observed = [(one.name, text.shown(one.before), text.shown(one.now), text.places(one)) for one in found.observations]
    yield from _table(f"Observed otherwise: {len(observed)}", ("Observation", "Before", "Now", "Where"), observed)
    slower = [(one.key.replace("_", " "), f"{one.before_s:.3f} s", f"{one.now_s:.3f} s") for one in found.slower or ()]
    yield from _table(f"Slower: {len(slower)}", ("Case", "Before", "Now"), slower)
    parameters = [(one.name, text.shown(one.before), text.shown(one.now)) for one in found.parameters]
    yield from _table("The runs differ in", ("Parameter", "Before", "Now"), parameters)


def _row(row: Result, transition: str) -> tuple[str, ...]:
    """The last cell is the reason."""
    return row.requirement, row.label.replace("_", " "), row.role, transition, wording.reason(row)


def _section(title: str, rows: Sequence[tuple[str, ...]], extra: tuple[str], *, folded: bool) -> list[str]:
    """`extra`: the head of the fourth column; empty: there is none."""
    heads = ("Requirement", "Case", "Role", *filter(None, extra), "Reason")
    kept = [row if extra[0] else (*row[:3], *row[4:]) for row in rows]
    return _table(title, heads, kept, folded=folded)


def _table(title: str, heads: Sequence[str], rows: Sequence[Sequence[str]], *, folded: bool = True) -> list[str]:
    if not rows:
        return []
    body = [f"| {' | '.join(heads)} |", "|" + "---|" * len(heads)]
    body += [f"| {' | '.join(map(_cell, row))} |" for row in rows[:ROWS_MAX]]
    if len(rows) > ROWS_MAX:
        body += ["", f"{len(rows) - ROWS_MAX} more are in the report."]
    if folded:
        return ["<details>", f"<summary>{title}</summary>", "", *body, "", "</details>", ""]
    return [f"### {title}", "", *body, ""]


def _cell(words: str) -> str:
    """Text that stays text in a table of Markdown: what an implementation printed becomes no link, tag or column."""
    return printable(words).translate(_ENTITIES)
