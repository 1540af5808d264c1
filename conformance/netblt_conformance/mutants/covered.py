# SPDX-License-Identifier: GPL-2.0-or-later
"""How the requirements are tested, as a table and as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from netblt_conformance.common import tables
from netblt_conformance.common.tables import Column
from netblt_conformance.mutants.coverage import Coverage

LAYOUT_VERSION = 1
_COLUMNS = (
    *map(Column, ("ID", "", "CASES", "DISSECTOR", "MUTANTS")),
    Column("TITLE, or why no case tests it", wide=True),
)


def _row(one: Coverage) -> tuple[str, ...]:
    rule = f"{one.rule.reach}" if one.rule else "-"
    return (
        one.requirement.id,
        one.requirement.grade,
        str(len(one.cases)) if one.cases else "-",
        rule,
        str(len(one.mutants)) if one.mutants else "-",
        one.requirement.untested if not one.cases else one.requirement.title,
    )


def table(found: Iterable[Coverage]) -> list[str]:
    """ID, strength, cases, what the dissector can conclude at worst, mutants, title or the reason why no case is."""
    return tables.lines(_COLUMNS, [_row(one) for one in found])


def untested(found: Iterable[Coverage]) -> list[str]:
    """Two rows for each requirement without a test: its title, and the reason."""
    rows = []
    for one in found:
        if not one.tested:
            rows += [(one.requirement.id, one.requirement.title), ("", one.requirement.untested or "no reason given")]
    return tables.lines((Column(), Column(wide=True)), rows)


def summary(found: Sequence[Coverage]) -> str:
    cases, rules, mutants = (sum(bool(getattr(one, what)) for one in found) for what in ("cases", "rule", "mutants"))
    return f"of {len(found)} requirements {cases} have cases, {rules} a dissector rule, {mutants} a mutant"


def document(found: Sequence[Coverage], mistakes: Sequence[str]) -> dict[str, Any]:
    return {
        "kind": "coverage",
        "layout": LAYOUT_VERSION,
        "requirements": [
            {
                "requirement": one.requirement.id,
                "strength": one.requirement.grade,
                "title": one.requirement.title,
                "cases": list(one.cases),
                "dissector": None if one.rule is None else {"filter": one.rule.slug, "reach": one.rule.reach},
                "mutants": list(one.mutants),
                "untested": one.requirement.untested or None,
            }
            for one in found
        ],
        "mistakes": list(mistakes),
    }
