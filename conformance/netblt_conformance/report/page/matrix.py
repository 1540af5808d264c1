# SPDX-License-Identifier: GPL-2.0-or-later
"""The matrix of requirements and roles."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from netblt_conformance.catalogue.catalogue import Requirement
from netblt_conformance.common.model import ROLES_BY_NAME
from netblt_conformance.common.verdicts import GRADED, Result, Verdict

ANY = "connection"  # what no role is known of
_PARTS = ("sender", "receiver")


@dataclass(frozen=True, slots=True)
class Cell:
    """What the results of one requirement in one role come to."""

    role: str
    verdict: Verdict
    text: str


@dataclass(frozen=True, slots=True)
class Row:
    """One requirement in every role."""

    requirement: str
    grade: str
    title: str
    cells: list[Cell | None]


def part(role: str) -> str:
    """The column of a role. Captures from anywhere name an address too: "10.0.0.1 receiver"."""
    if role in ROLES_BY_NAME or role == "all":
        return role
    word = role.rpartition(" ")[2]
    return word if word in _PARTS else ANY


def _worst_of(results: Sequence[Result]) -> Verdict:
    graded = [result.verdict for result in results if result.verdict in GRADED]
    return max(graded, default=results[0].verdict)


def _cell(role: str, results: list[Result] | None) -> Cell | None:
    if not results:
        return None
    verdict = _worst_of(results)
    alike = sum(result.verdict is verdict for result in results)
    count = f" {alike}" if alike == len(results) else f" {alike} of {len(results)}"
    return Cell(role, verdict, verdict.label + (count if len(results) > 1 else ""))


def of(results: Sequence[Result], known: Mapping[str, Requirement]) -> tuple[list[str], list[Row]]:
    """The roles, and a row for each requirement that a result names."""
    found: dict[str, dict[str, list[Result]]] = defaultdict(lambda: defaultdict(list))
    for result in results:
        for requirement in result.requirements:
            found[requirement][part(result.role)].append(result)
    named = {role for row in found.values() for role in row}
    roles = [role for role in (*ROLES_BY_NAME, "all", *_PARTS, ANY) if role in named]
    order = {identifier: number for number, identifier in enumerate(known)}
    rows = []
    for identifier in sorted(found, key=lambda one: (order.get(one, len(order)), one)):
        one = known.get(identifier)
        cells = [_cell(role, found[identifier].get(role)) for role in roles]
        rows.append(Row(identifier, one.grade if one else "", one.title if one else "", cells))
    return roles, rows
