# SPDX-License-Identifier: GPL-2.0-or-later
"""How the requirements are tested, as a table and as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from netblt_conformance.mutants.coverage import Coverage

LAYOUT_VERSION = 1


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
    rows = [("ID", "", "CASES", "DISSECTOR", "MUTANTS", "TITLE, or why no case tests it"), *map(_row, found)]
    widths = [max(map(len, column)) for column in list(zip(*rows, strict=True))[:-1]]
    return ["  ".join([*(f"{c:<{w}}" for c, w in zip(row, widths, strict=False)), row[-1]]).rstrip() for row in rows]


def untested(found: Iterable[Coverage]) -> list[str]:
    return [
        f"{one.requirement.id:<10} {one.requirement.title}\n           {one.requirement.untested or 'no reason given'}"
        for one in found
        if not one.tested
    ]


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
