# SPDX-License-Identifier: GPL-2.0-or-later
"""The verdict table for people: rows that are wrapped at 80 columns."""

from __future__ import annotations

import collections
import dataclasses
import textwrap
from collections.abc import Sequence

from netblt_conformance.common import tables, wording
from netblt_conformance.common.model import ROLES_BY_NAME
from netblt_conformance.common.verdicts import GRADED, Result, Verdict
from netblt_conformance.common.words import fit

_STYLES = {
    Verdict.PASS: "green",
    Verdict.WARN: "yellow",
    Verdict.INCONC: "yellow",
    Verdict.FAIL: "bold red",
    Verdict.ERROR: "bold magenta",
    Verdict.NA: "dim",
    Verdict.OBSERVED: "cyan",
}
_LABEL = 8  # columns of a verdict and the space after it
_INDENT = "          "


def paint(verdict: Verdict, colour: bool, width: int = 0) -> str:
    """The label of a verdict, at least `width` columns wide."""
    text = f"{verdict.label:<{width}}"
    if not colour:
        return text
    from rich.color import ColorSystem
    from rich.style import Style

    return Style.parse(_STYLES[verdict]).render(text, color_system=ColorSystem.STANDARD)


def _cells(result: Result) -> tuple[str, str, str]:
    arm = "" if result.arm == "stimulus" else f" ({result.arm})"
    return fit(", ".join(result.requirements)), fit(result.label.replace("_", " ") + arm), fit(result.role)


def wrapped(text: str, first: str = "", rest: str = "  ") -> list[str]:
    """`text` in lines of at most 80 columns; words that are longer, such as paths, are not broken."""
    return textwrap.wrap(
        text, tables.WIDTH, initial_indent=first, subsequent_indent=rest, break_long_words=False, break_on_hyphens=False
    )


def line(result: Result, colour: bool) -> str:
    """Verdict, requirements, case and role, and the reason from a new line on."""
    found = wrapped("  ".join(_cells(result)), " " * _LABEL, _INDENT)
    found[0] = f"{paint(result.verdict, colour, _LABEL - 2)}  {found[0][_LABEL:]}"
    return "\n".join(found + (wrapped(_reason(result), _INDENT, _INDENT) if result.seen else []))


def _reason(result: Result) -> str:
    where = f" [{result.capture}" + (f", frame {result.frame}]" if result.frame else "]") if result.capture else ""
    return fit(wording.reason(result) + where)


def _passed(results: Sequence[Result]) -> Result:
    """One row for all the plain passes of a case: its roles in one cell, its control arm along with it."""
    roles = list(dict.fromkeys(result.role for result in results))
    words = "all roles" if len(roles) == len(ROLES_BY_NAME) else ", ".join(roles)
    return dataclasses.replace(results[0], role=words, arm="stimulus")


def table(results: Sequence[Result], colour: bool, *, everything: bool) -> list[str]:
    """Rows in the order of the run; without `everything` only those that are not plain passes."""
    passes: dict[tuple[str, str], list[Result]] = {}
    shown: list[Result | list[Result]] = []
    for result in results:
        if result.verdict is not Verdict.PASS or result.seen:
            shown.append(result)
        elif everything:
            key = (", ".join(result.requirements), result.case)
            if key not in passes:
                passes[key] = []
                shown.append(passes[key])
            passes[key].append(result)
    return rows([_passed(row) if isinstance(row, list) else row for row in shown], colour)


def rows(results: Sequence[Result], colour: bool) -> list[str]:
    """One row for each result."""
    return [line(result, colour) for result in results]


def summary(results: Sequence[Result], colour: bool) -> str:
    """One line of counts."""
    counts = collections.Counter(result.verdict for result in results)
    order = [*GRADED, Verdict.NA]
    return (
        ", ".join(f"{counts[verdict]} {paint(verdict, colour)}" for verdict in order if counts[verdict])
        or "nothing ran"
    )
