# SPDX-License-Identifier: GPL-2.0-or-later
"""A comparison as text for a terminal of 80 columns."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from pathlib import Path

from netblt_conformance.baseline.compare import Change, Comparison, Kind, Observation, Parameter, Slower
from netblt_conformance.baseline.records import Record
from netblt_conformance.common import wording
from netblt_conformance.common.verdicts import Result
from netblt_conformance.common.words import fit, printable
from netblt_conformance.report import table

# Of each section; JSON and --verbose have all of them.
SHOWN_MAX = 20
_VALUE_MAX = 120  # characters of a parameter or an observation
_PLACES_MAX = 3
_NONE = "nothing"
_INDENT = "  "
_DEEPER = "          "

TITLES = {
    Kind.NEW_FAILURE: "New failures",
    Kind.FIXED: "Fixed",
    Kind.STILL_FAILING: "Still failing",
    Kind.WORSE: "Worse, but no failure",
    Kind.NOT_JUDGED: "No longer judged",
    Kind.JUDGED: "Judged now",
    Kind.NEW: "New, not in the baseline",
    Kind.GONE: "Missing now, only in the baseline",
}
# Where the names alone are enough.
_SHORT = (Kind.NEW, Kind.GONE, Kind.JUDGED)


def run_line(record: Record) -> str:
    header = record.header
    ended = "" if header.complete else ", interrupted"
    return f"{header.testing.get('name', _NONE)}, link {header.link}, seed {header.seed}{ended}"


def summary(found: Comparison) -> str:
    """One line of counts."""
    counts = [(len(found.of_kind(kind)), kind.value) for kind in Kind]
    counts += [(len(found.observations), "observed otherwise"), (len(found.slower or ()), "slower")]
    first, *others = counts
    words = [f"{first[0]} {first[1]}{'' if first[0] == 1 else 's'}"]
    words += [f"{count} {word}" for count, word in others if count]
    return ", ".join([*words, f"{found.unchanged} unchanged"])


def parameter_line(one: Parameter) -> str:
    return f"{one.name}: {shown(one.before)} -> {shown(one.now)}"


def shown(value: str) -> str:
    return printable(value, _VALUE_MAX) if value else _NONE


def transition(change: Change) -> str:
    """ "PASS -> FAIL" """
    before = change.before.verdict.label if change.before else _NONE
    now = change.now.verdict.label if change.now else _NONE
    return f"{before} -> {now}"


def lines(found: Comparison, colour: bool, *, everything: bool) -> list[str]:
    """All sections that are not empty, the most important first, and the counts."""
    out = [*table.wrapped(fit(f"baseline: {run_line(found.before)} ({_file(found.before)})"))]
    out += table.wrapped(fit(f"compared: {run_line(found.now)} ({_file(found.now)})"))
    if found.parameters:
        out += ["", "The runs differ in:"]
        for one in found.parameters:
            out += table.wrapped(parameter_line(one), _INDENT, _INDENT * 2)
    for kind in Kind:
        changes = found.of_kind(kind)
        out += _section(f"{TITLES[kind]}: {len(changes)}", list(_changes(changes, kind, colour)), everything=everything)
    observations = ["\n".join(_observation(one)) for one in found.observations]
    out += _section(f"Observed otherwise: {len(observations)}", observations, everything=everything)
    if found.slower is None:
        out += ["", *table.wrapped("Times are not compared: the links or their delays differ")]
    slower = ["\n".join(_slower(one)) for one in found.slower or ()]
    out += _section(f"Slower: {len(slower)}", slower, everything=everything)
    return [*out, "", *table.wrapped(summary(found))]


def _file(record: Record) -> str:
    return Path(record.name).as_posix()


def _section(title: str, entries: Sequence[str], *, everything: bool) -> list[str]:
    """`entries`: a text for each row."""
    if not entries:
        return []
    first = entries if everything else entries[:SHOWN_MAX]
    more = [f"{_INDENT}... {len(entries) - len(first)} more: --verbose or --json"] if len(entries) > len(first) else []
    return ["", title, *first, *more]


def _changes(changes: Sequence[Change], kind: Kind, colour: bool) -> Iterator[str]:
    for change in roles_together(changes):
        if kind in _SHORT:
            yield "\n".join(table.wrapped(f"{transition(change):<16}{name(change.row)}", _INDENT, _DEEPER))
            continue
        row = table.line(change.row, colour) if change.now else "\n".join(table.wrapped(name(change.row), _INDENT))
        yield "\n".join([row, *table.wrapped(_remark(change), _DEEPER, _DEEPER)])


def roles_together(changes: Sequence[Change]) -> list[Change]:
    """One change for all roles in which a case changed alike: the first one's, with all roles in its cell."""
    alike: dict[tuple[str, ...], list[Change]] = {}
    for change in changes:
        row = change.row
        words = (row.label, row.arm, row.requirement, wording.reason(row), transition(change), _remark(change))
        alike.setdefault(words, []).append(change)
    return [_of_roles(same) for same in alike.values()]


def _of_roles(same: Sequence[Change]) -> Change:
    first = same[0]
    role = ", ".join(dict.fromkeys(change.row.role for change in same))
    before, now = (row and dataclasses.replace(row, role=role) for row in (first.before, first.now))
    return Change(first.kind, before, now)


def name(row: Result) -> str:
    """Requirement, case and role of a result."""
    arm = "" if row.arm == "stimulus" else f" ({row.arm})"
    return fit(f"{row.requirement} {row.label.replace('_', ' ')}{arm}, {row.role}".strip())


def _remark(change: Change) -> str:
    """What is printed below the row of a result: how it was before."""
    before = change.before
    if before is None:
        return "before: not in the baseline"
    if change.now is None:
        return f"before: {before.verdict.label}, {printable(wording.reason(before))}"
    if change.kind is Kind.STILL_FAILING and not change.cause_changed:
        return "before: the same"
    other = "another cause: " if change.cause_changed else ""
    why = printable(wording.reason(before))
    return f"before: {other}{before.verdict.label}" + (f", {why}" if why else "")


def _observation(one: Observation) -> list[str]:
    found = table.wrapped(fit(f"{one.name}: {shown(one.before)} -> {shown(one.now)}"), _INDENT, _INDENT * 2)
    return found + table.wrapped(fit(places(one)), _DEEPER, _DEEPER)


def places(one: Observation) -> str:
    first = ", ".join(place.replace("_", " ") for place in one.where[:_PLACES_MAX])
    more = len(one.where) - _PLACES_MAX
    return f"{first} and {more} more" if more > 0 else first


def _slower(one: Slower) -> list[str]:
    times = f"{one.before_s:.3f} s -> {one.now_s:.3f} s"
    return table.wrapped(fit(f"{times}  {one.key.replace('_', ' ')}"), _INDENT, _DEEPER)
