# SPDX-License-Identifier: GPL-2.0-or-later
"""The report as one HTML file that needs nothing else: summary, matrix of requirements and roles, and for each result
its reason and the packets around the one that decided."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

from netblt_conformance.catalogue import catalogue
from netblt_conformance.catalogue.catalogue import Requirement
from netblt_conformance.common import wording
from netblt_conformance.common.model import ROLES_BY_NAME
from netblt_conformance.common.verdicts import GRADED, Origin, Result, Verdict, exit_code
from netblt_conformance.common.words import fit_lines
from netblt_conformance.report import causes as causes_text
from netblt_conformance.report import versions
from netblt_conformance.report.excerpt import Excerpt, Progress, excerpts
from netblt_conformance.report.files import VIRTUAL_LINKS
from netblt_conformance.report.style import SCRIPT, STYLE

NAME = "report.html"
_SWEEP = "sweep_"
_NOBODYS = "-"


def _class(verdict: Verdict) -> str:
    return verdict.label.lower().replace("/", "")


def _badge(verdict: Verdict, text: str = "") -> str:
    return f'<span class="badge {_class(verdict)}">{escape(text or verdict.label)}</span>'


def _summary(header: dict[str, Any], results: Sequence[Result]) -> str:
    counts = Counter(result.verdict for result in results)
    worst = max((v for v in counts if v in GRADED), default=Verdict.NA)
    tiles = "".join(
        f'<button class="tile {_class(verdict)}" data-verdict="{_class(verdict)}">'
        f"<b>{counts[verdict]}</b>{escape(verdict.label)}</button>"
        for verdict in (*reversed(GRADED), Verdict.NA)
        if counts[verdict]
    )
    known = ("suite", "seed", "select", "share", "strict")
    facts = "".join(
        f"<dt>{escape(name)}</dt><dd>{escape(str(header[name]))}</dd>"
        for name in known
        if header.get(name) not in (None, "", False)
    )
    for name in ("schedule", "versions"):
        if header.get(name):
            facts += f"<dt>{name}</dt><dd>{escape(versions.words(header[name]))}</dd>"
    partial = (
        "" if header.get("complete", True) else '<p class="warning">Interrupted: these are the results so far.</p>'
    )
    status = exit_code(list(results))
    testing = header["testing"]
    facts = "".join(f"<dt>{escape(key)}</dt><dd>{escape(value)}</dd>" for key, value in testing.items()) + facts
    title = escape(testing["name"])
    return (
        f"<header><h1>{title} {_badge(worst)}</h1>{partial}<dl class=facts>{facts}<dt>exit status</dt>"
        f'<dd>{int(status)}</dd></dl><div class="tiles">{tiles}'
        '<button class="tile all" data-verdict="">all</button></div></header>'
    )


def _worst_of(results: Sequence[Result]) -> Verdict:
    graded = [result.verdict for result in results if result.verdict in GRADED]
    return max(graded, default=results[0].verdict)


def _matrix(results: Sequence[Result], known: dict[str, Requirement]) -> str:
    """One row for each requirement that a result names, one column for each role."""
    cells: dict[str, dict[str, list[Result]]] = defaultdict(lambda: defaultdict(list))
    for result in results:
        for requirement in result.requirements:
            cells[requirement][result.role].append(result)
    roles = [role for role in (*ROLES_BY_NAME, "all") if any(role in row for row in cells.values())]
    head = "".join(f"<th>{escape(role)}</th>" for role in roles)
    order = {identifier: number for number, identifier in enumerate(known)}
    rows = []
    for requirement in sorted(cells, key=lambda one: (order.get(one, len(order)), one)):
        title = known[requirement].title if requirement in known else ""
        strength = known[requirement].grade if requirement in known else ""
        marks = "".join(_cell(requirement, role, cells[requirement].get(role)) for role in roles)
        rows.append(
            f'<tr><th scope=row>{escape(requirement)}</th><td class="strength">{escape(strength)}</td>'
            f"<td>{escape(title)}</td>{marks}</tr>"
        )
    return (
        "<section><h2>Requirements and roles</h2><p>The worst verdict of all cases; choose one to see them.</p>"
        f'<table class="matrix"><thead><tr><th>ID</th><th></th><th>requirement</th>{head}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></section>"
    )


def _cell(requirement: str, role: str, results: list[Result] | None) -> str:
    if not results:
        return '<td class="none">·</td>'
    verdict = _worst_of(results)
    alike = sum(result.verdict is verdict for result in results)
    count = f" {alike}" if alike == len(results) else f" {alike} of {len(results)}"
    text = verdict.label + (count if len(results) > 1 else "")
    return (
        f'<td><button class="badge {_class(verdict)}" data-requirement="{escape(requirement)}" '
        f'data-role="{escape(role)}">{escape(text)}</button></td>'
    )


def _packets(excerpt: Excerpt) -> str:
    rows = []
    for line in excerpt.lines:
        mark = ' class="deciding"' if line.number == excerpt.deciding else ""
        comment = f'<div class="comment">{escape(line.comment)}</div>' if line.comment else ""
        rows.append(
            f"<tr{mark}><td>{line.number}</td><td>{line.time_s:.6f}</td><td>{escape(line.direction)}</td>"
            f"<td>{escape(line.info)}{comment}</td></tr>"
        )
    tree = f"<details><summary>frame {excerpt.deciding}, decoded</summary><pre>{escape(excerpt.tree)}</pre></details>"
    return (
        '<table class="packets"><thead><tr><th>frame</th><th>seconds</th><th></th><th>packet</th></tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table>{tree if excerpt.tree else ''}"
    )


def _result(result: Result, excerpt: Excerpt | None, known: dict[str, Requirement], clock: str, again: str) -> str:
    arm = "" if result.arm == "stimulus" else f" <i>({escape(result.arm)} arm)</i>"
    role = "" if result.role == _NOBODYS else escape(result.role)
    link = f'<a href="{escape(result.capture)}">{escape(result.capture)}</a>' if result.capture else "no capture"
    frame = f", frame {result.frame}" if result.frame else ""
    texts = "".join(
        f"<p class=rule><b>{escape(one)}</b> {escape(known[one].requirement)} "
        f"<span class=section>{escape(known[one].section)}</span></p>"
        for one in result.requirements
        if one in known
    )
    observed = "".join(f"<dt>{escape(k)}</dt><dd>{escape(v)}</dd>" for k, v in result.observed.items())
    reason = f'<p class="reason">{escape(wording.reason(result))}</p>' if result.reason else ""
    command = f"<p>to reproduce:</p><pre>{escape(again)}</pre>" if again else ""
    return (
        f'<details class="result" data-verdict="{_class(result.verdict)}" data-role="{escape(result.role)}" '
        f'data-requirements="{escape(" ".join(result.requirements))}"'
        f"{' open' if excerpt is not None and result.verdict is Verdict.FAIL else ''}>"
        f"<summary>{_badge(result.verdict)} <b>{escape(', '.join(result.requirements))}</b> "
        f"{escape(result.label.replace('_', ' '))}{arm} <span class=role>{role}</span></summary>"
        f"<div class=body>{reason}{texts}{_packets(excerpt) if excerpt else ''}"
        f"{f'<dl class=facts>{observed}</dl>' if observed else ''}"
        f"{command}<p class=where>{link}{frame} · {result.seconds:g} s{clock}</p></div></details>"
    )


def _profile(observed: dict[str, dict[str, str]]) -> str:
    if not observed:
        return ""
    names = list(dict.fromkeys(name for choices in observed.values() for name in choices))
    head = "".join(f"<th>{escape(role)}</th>" for role in observed)
    rows = "".join(
        f"<tr><td>{escape(name)}</td>"
        + "".join(f"<td>{escape(choices.get(name, '·'))}</td>" for choices in observed.values())
        + "</tr>"
        for name in names
    )
    return (
        "<section><h2>What the implementation chose</h2><p>Where RFC 998 leaves a choice; never a failure.</p>"
        f"<table class=profile><thead><tr><th></th>{head}</tr></thead><tbody>{rows}</tbody></table></section>"
    )


def _sweeps(results: Sequence[Result]) -> str:
    sweeps = [result for result in results if result.origin is Origin.SWEEP and "schedules" in result.observed]
    if not sweeps:
        return ""
    rows = "".join(
        f"<tr><td>{escape(one.case.removeprefix(_SWEEP))}</td><td>{escape(one.role)}</td><td>{_badge(one.verdict)}</td>"
        f"<td class=number>{escape(one.observed['schedules'])}</td>"
        f"<td class=number>{escape(one.observed['failed'])}</td>"
        f"<td>{escape(wording.reason(one))}</td></tr>"
        for one in sweeps
    )
    return (
        "<section><h2>Sweeps</h2><p>Every packet, and every two packets, dropped, duplicated, swapped or corrupted.</p>"
        "<table class=profile><thead><tr><th>transfer</th><th>role</th><th></th>"
        "<th>schedules</th><th>failed</th><th></th>"
        f"</tr></thead><tbody>{rows}</tbody></table></section>"
    )


def _again(result: Result, base: Sequence[str]) -> str:
    """The command that runs a case again that did not pass; empty for what is no case, or needs no second look."""
    repeatable = result.origin in (Origin.CASE, Origin.MONITOR, Origin.DISSECTOR)
    if not base or not repeatable or result.verdict not in GRADED or result.verdict is Verdict.PASS:
        return ""
    return causes_text.command(base, result)


def page(
    header: dict[str, Any],
    results: Sequence[Result],
    found: dict[int, Excerpt],
    causes: str = "",
    base: Sequence[str] = (),
) -> str:
    """`found`: excerpts by the number of the result. `causes`: the section about the likely causes. `base`: the command
    that tests this implementation."""
    known = catalogue.requirements()
    clock = " of virtual time" if header.get("link") in VIRTUAL_LINKS else ""
    rank = {verdict: -int(verdict) for verdict in GRADED}
    order = sorted(range(len(results)), key=lambda n: (rank.get(results[n].verdict, 1), n))
    rows = "".join(
        _result(results[number], found.get(number), known, clock, _again(results[number], base)) for number in order
    )
    return (
        "<!DOCTYPE html>\n<!-- SPDX-License-Identifier: GPL-2.0-or-later -->\n"
        '<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>NETBLT conformance</title><style>{STYLE}</style></head><body>{_summary(header, results)}{causes}"
        f"{_matrix(results, known)}{_profile(header.get('observed', {}))}{_sweeps(results)}"
        f'<section id="results"><h2>Results <small id="shown"></small></h2>{rows}</section>'
        f"<script>{SCRIPT}</script></body></html>\n"
    )


def write(
    folder: Path,
    header: dict[str, Any],
    results: Sequence[Result],
    causes: str = "",
    progress: Progress = lambda _done, _of: None,
    *,
    base: Sequence[str],
    dissect: bool,
) -> None:
    """`causes`: the section about the likely causes. `base`: the command that tests this implementation.
    `progress` counts the excerpts. What shows a cause has one."""
    first = {cause["capture"] for cause in header.get("causes", [])}
    text = page(header, results, excerpts(folder, results, progress, first, dissect=dissect), causes, base)
    (folder / NAME).write_text(fit_lines(text), encoding="utf-8")
