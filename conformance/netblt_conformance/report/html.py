# SPDX-License-Identifier: GPL-2.0-or-later
"""The report as one HTML file that needs nothing else: summary, likely causes, matrix of requirements and roles, and
for each result its reason and the packets around the one that decided. The page is templates/report.html.jinja."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jinja2

from netblt_conformance.catalogue import catalogue
from netblt_conformance.catalogue.catalogue import Requirement
from netblt_conformance.common import wording
from netblt_conformance.common.model import ROLES_BY_NAME
from netblt_conformance.common.verdicts import GRADED, Origin, Result, Verdict, exit_code
from netblt_conformance.common.words import fit_lines
from netblt_conformance.diagnosis.ranking import LikelyCause
from netblt_conformance.report import causes as causes_text
from netblt_conformance.report import versions
from netblt_conformance.report.excerpt import Excerpt, Progress, excerpts
from netblt_conformance.report.files import VIRTUAL_LINKS

NAME = "report.html"
TEMPLATES = Path(__file__).with_name("templates")
_FACTS = ("suite", "seed", "select", "share", "strict")
_NOBODYS = "-"


def css(verdict: Verdict) -> str:
    """The class of a verdict in the style sheet."""
    return verdict.label.lower().replace("/", "")


@dataclass(frozen=True, slots=True)
class Cell:
    """What the results of one requirement in one role come to."""

    role: str
    verdict: Verdict
    text: str


@dataclass(frozen=True, slots=True)
class MatrixRow:
    """One requirement in every role."""

    requirement: str
    grade: str
    title: str
    cells: list[Cell | None]


@dataclass(frozen=True, slots=True)
class ResultRow:
    """One result, with everything that the page shows of it."""

    result: Result
    excerpt: Excerpt | None
    rules: list[Requirement]
    command: str  # to reproduce it; empty where there is no need

    @property
    def role(self) -> str:
        return "" if self.result.role == _NOBODYS else self.result.role

    @property
    def open(self) -> bool:
        return self.excerpt is not None and self.result.verdict is Verdict.FAIL


def _facts(header: Mapping[str, Any], status: int) -> list[tuple[str, str]]:
    facts = [(str(key), str(value)) for key, value in header["testing"].items()]
    facts += [(name, str(header[name])) for name in _FACTS if header.get(name) not in (None, "", False)]
    facts += [(name, versions.words(header[name])) for name in ("schedule", "versions") if header.get(name)]
    return [*facts, ("exit status", str(status))]


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


def _matrix(results: Sequence[Result], known: Mapping[str, Requirement]) -> tuple[list[str], list[MatrixRow]]:
    """The roles, and a row for each requirement that a result names."""
    found: dict[str, dict[str, list[Result]]] = defaultdict(lambda: defaultdict(list))
    for result in results:
        for requirement in result.requirements:
            found[requirement][result.role].append(result)
    roles = [role for role in (*ROLES_BY_NAME, "all") if any(role in row for row in found.values())]
    order = {identifier: number for number, identifier in enumerate(known)}
    rows = []
    for identifier in sorted(found, key=lambda one: (order.get(one, len(order)), one)):
        one = known.get(identifier)
        cells = [_cell(role, found[identifier].get(role)) for role in roles]
        rows.append(MatrixRow(identifier, one.grade if one else "", one.title if one else "", cells))
    return roles, rows


def _again(result: Result, base: Sequence[str]) -> str:
    """The command that runs a case again that did not pass; empty for what is no case, or needs no second look."""
    repeatable = result.origin in (Origin.CASE, Origin.MONITOR, Origin.DISSECTOR)
    if not base or not repeatable or result.verdict not in GRADED or result.verdict is Verdict.PASS:
        return ""
    return causes_text.command(base, result)


def page(
    header: Mapping[str, Any],
    results: Sequence[Result],
    found: Mapping[int, Excerpt],
    causes: Sequence[LikelyCause] = (),
    base: Sequence[str] = (),
) -> str:
    """`found`: excerpts by the number of the result. `base`: the command that tests this implementation."""
    known = catalogue.requirements()
    counts = Counter(result.verdict for result in results)
    rank = {verdict: -int(verdict) for verdict in GRADED}
    order = sorted(range(len(results)), key=lambda n: (rank.get(results[n].verdict, 1), n))
    roles, matrix = _matrix(results, known)
    observed: Mapping[str, Mapping[str, str]] = header.get("observed", {})
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=lambda name: name is not None and name.endswith(".jinja"),  # not the style sheet and the script
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["css"] = css
    environment.filters["reason"] = wording.reason
    return environment.get_template("report.html.jinja").render(
        title=header["testing"]["name"],
        worst=max((v for v in counts if v in GRADED), default=Verdict.NA),
        complete=header.get("complete", True),
        header=_facts(header, int(exit_code(list(results)))),
        tiles=[(verdict, counts[verdict]) for verdict in (*reversed(GRADED), Verdict.NA) if counts[verdict]],
        causes=[causes_text.shown(cause, base) for cause in causes],
        failed_transfers=causes_text.failed_first_transfers(observed),
        roles=roles,
        matrix=matrix,
        observed=observed,
        choices=list(dict.fromkeys(name for chosen in observed.values() for name in chosen)),
        sweeps=[one for one in results if one.origin is Origin.SWEEP and "schedules" in one.observed],
        clock=" of virtual time" if header.get("link") in VIRTUAL_LINKS else "",
        rows=[
            ResultRow(
                results[number],
                found.get(number),
                [known[one] for one in results[number].requirements if one in known],
                _again(results[number], base),
            )
            for number in order
        ],
    )


def write(
    folder: Path,
    header: dict[str, Any],
    results: Sequence[Result],
    causes: Sequence[LikelyCause] = (),
    progress: Progress = lambda _done, _of: None,
    *,
    base: Sequence[str],
    dissect: bool,
) -> None:
    """`base`: the command that tests this implementation. `progress` counts the excerpts. What shows a cause has
    one."""
    first = {cause["capture"] for cause in header.get("causes", [])}
    text = page(header, results, excerpts(folder, results, progress, first, dissect=dissect), causes, base)
    (folder / NAME).write_text(fit_lines(text), encoding="utf-8")
