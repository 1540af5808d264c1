# SPDX-License-Identifier: GPL-2.0-or-later
"""Makes the page from results and their details: assets/page.html.jinja with its style sheet and scripts."""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jinja2
import markupsafe

from netblt_conformance.catalogue import catalogue
from netblt_conformance.catalogue.catalogue import Requirement
from netblt_conformance.common import web, wording
from netblt_conformance.common.verdicts import GRADED, Origin, Result, Verdict, exit_code
from netblt_conformance.common.words import fit_lines
from netblt_conformance.diagnosis.ranking import LikelyCause
from netblt_conformance.report import causes as causes_text
from netblt_conformance.report import versions
from netblt_conformance.report.files import VIRTUAL_LINKS
from netblt_conformance.report.page import blocks, details, matrix
from netblt_conformance.report.page.blocks import Detail

NAME = "report.html"
ASSETS = Path(__file__).with_name("assets")
# In this order they are one script; tools.js is shared by all pages.
SCRIPTS = ("tools.js", "store.js", "ladder.js", "plot.js", "detail.js", "page.js")
_FACTS = ("suite", "seed", "select", "share", "strict", "captured_at", "left_out")
_NOBODYS = "-"
_ORIGIN_WORDS = {
    Origin.CASE: "cases",
    Origin.MONITOR: "oracles, in other cases",
    Origin.DISSECTOR: "Wireshark plugin",
    Origin.CHECK: "Wireshark plugin",
    Origin.JUDGES: "comparison of suite and dissector",
    Origin.SWEEP: "sweeps",
    Origin.KNOWN: "known failures",
}


def css(verdict: Verdict) -> str:
    """The class of a verdict in the style sheet."""
    return verdict.label.lower().replace("/", "")


@dataclass(frozen=True, slots=True)
class Row:
    """One result in the list."""

    result: Result
    key: str  # names it in the address of the page
    places: tuple[str, ...]  # of its details

    @property
    def role(self) -> str:
        return "" if self.result.role == _NOBODYS else self.result.role

    @property
    def part(self) -> str:
        """Of which column of the matrix it is."""
        return matrix.part(self.result.role)

    @property
    def origin(self) -> str:
        return self.result.origin

    @property
    def label(self) -> str:
        arm = "" if self.result.arm == "stimulus" else f" ({self.result.arm} arm)"
        return self.result.label.replace("_", " ") + arm


@dataclass(frozen=True, slots=True)
class CauseRow:
    """A likely cause, with the key of the result that shows it."""

    shown: causes_text.Shown
    key: str

    def __getattr__(self, name: str) -> Any:
        return getattr(self.shown, name)


def _facts(header: Mapping[str, Any], status: int) -> list[tuple[str, str]]:
    facts = [(str(key), str(value)) for key, value in header["testing"].items()]
    facts += [
        (name.replace("_", " "), str(header[name])) for name in _FACTS if header.get(name) not in (None, "", False)
    ]
    facts += [(name, versions.words(header[name])) for name in ("schedule", "versions") if header.get(name)]
    return [*facts, ("exit status", str(status))]


def keys(results: Sequence[Result]) -> list[str]:
    """A name for each result that stays the same from run to run."""
    used: Counter[str] = Counter()
    found = []
    for result in results:
        words = [result.requirement, result.label, result.role, "" if result.arm == "stimulus" else result.arm]
        name = ".".join(re.sub(r"[^\w-]+", "_", word).strip("_") for word in words if word)
        used[name] += 1
        found.append(name if used[name] == 1 else f"{name}.{used[name]}")
    return found


def _about_the_run(result: Result, header: Mapping[str, Any]) -> list[list[str]]:
    """Facts of a result that its detail view shows."""
    clock = " of virtual time" if header.get("link") in VIRTUAL_LINKS else ""
    return [["took", f"{result.seconds:g} s{clock}"]] if result.seconds else []


def _cause_rows(
    causes: Sequence[LikelyCause], results: Sequence[Result], names: Sequence[str], base: Sequence[str]
) -> Iterator[CauseRow]:
    def evidence(result: Result) -> tuple[Any, ...]:
        return result.label, result.role, result.arm, result.capture, result.frame

    by_evidence = {evidence(result): key for result, key in zip(results, names, strict=True)}
    for cause in causes:
        yield CauseRow(causes_text.shown(cause, base), by_evidence.get(evidence(cause.first), ""))


def _asset(folders: Sequence[Path], name: str) -> markupsafe.Markup:
    """A file of the first folder that has it."""
    return web.asset(next((one for one in folders if (one / name).is_file()), ASSETS), name)


def environment(*folders: Path) -> jinja2.Environment:
    """Templates of `folders`, and those that pages share."""
    found = jinja2.Environment(
        loader=jinja2.FileSystemLoader([*folders, ASSETS]),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.globals["asset"] = functools.partial(_asset, (*folders, ASSETS))
    found.filters["css"] = css
    found.filters["reason"] = wording.reason
    return found


def known_of(results: Sequence[Result], known: Mapping[str, Requirement]) -> dict[str, dict[str, str]]:
    """What the script has of each requirement that a result names."""
    named = {one for result in results for one in result.requirements}
    return {
        one: {"title": rule.title, "section": rule.section, "text": rule.requirement}
        for one, rule in known.items()
        if one in named
    }


def page(
    header: Mapping[str, Any],
    results: Sequence[Result],
    found: Mapping[int, Detail] | None = None,
    causes: Sequence[LikelyCause] = (),
    base: Sequence[str] = (),
) -> str:
    """`found`: details by the number of the result, the most important first. `base`: the command that tests this
    implementation. A result without details shows its own text."""
    known = catalogue.requirements()
    counts = Counter(result.verdict for result in results)
    rank = {verdict: -int(verdict) for verdict in GRADED}
    order = sorted(range(len(results)), key=lambda n: (rank.get(results[n].verdict, 1), n))
    complete = {**(found or {}), **details.without_packets(results, known, base, set(found or {}))}
    for number, detail in complete.items():
        detail["facts"] = [*detail.get("facts", []), *_about_the_run(results[number], header)]
    packed = blocks.pack(complete.items())
    names = keys(results)
    roles, rows = matrix.of(results, known)
    observed: Mapping[str, Mapping[str, str]] = header.get("observed", {})
    present = [verdict for verdict in (*reversed(GRADED), Verdict.OBSERVED, Verdict.NA) if counts[verdict]]
    testing = header["testing"]
    return (
        environment()
        .get_template("page.html.jinja")
        .render(
            what="conformance",
            filters=("role", "origin"),
            title=testing["name"],
            worst=max((v for v in counts if v in GRADED), default=Verdict.NA),
            complete=header.get("complete", True),
            about=", ".join(
                filter(None, (header.get("suite", ""), f"link {header['link']}" if header.get("link") else ""))
            ),
            header=_facts(header, header.get("exit_code", int(exit_code(list(results))))),
            tiles=[(verdict, counts[verdict]) for verdict in present],
            causes=list(_cause_rows(causes, results, names, base)),
            failed_transfers=causes_text.failed_first_transfers(observed),
            roles=roles,
            matrix=rows,
            observed=observed,
            choices=list(dict.fromkeys(name for chosen in observed.values() for name in chosen)),
            sweeps=[one for one in results if one.origin is Origin.SWEEP and "schedules" in one.observed],
            verdicts=[(css(verdict), verdict.label) for verdict in present],
            requirements=[(row.requirement, f"{row.requirement} {row.title}".strip()) for row in rows],
            row_roles=[(role, role) for role in roles],
            origins=[
                (str(one), words) for one, words in _ORIGIN_WORDS.items() if one in {row.origin for row in results}
            ],
            known=known_of(results, known),
            rows=[Row(results[number], names[number], packed.places.get(number, ())) for number in order],
            blocks=list(enumerate(packed.blocks)),
            scripts=SCRIPTS,
        )
    )


def write(
    folder: Path,
    header: dict[str, Any],
    results: Sequence[Result],
    causes: Sequence[LikelyCause] = (),
    progress: details.Progress = lambda _done, _of: None,
    *,
    base: Sequence[str],
    dissect: bool,
    everything: bool = False,
    delay_ns: int | None = None,
    enough: Callable[[], bool] = lambda: False,
) -> None:
    """Writes the page beside the captures of a run. `base`: the command that tests this implementation. `progress`
    counts the details. `everything`: packets also of what passed. `delay_ns`: what a packet takes one way, on a link in
    virtual time. `enough`: whether to write the page without further details."""
    first = {cause["capture"] for cause in header.get("causes", [])}
    found = details.of_results(
        folder,
        results,
        base,
        first,
        progress,
        everything=everything,
        dissect=dissect,
        delay_ns=delay_ns,
        enough=enough,
    )
    (folder / NAME).write_text(fit_lines(page(header, results, found, causes, base)), encoding="utf-8")
