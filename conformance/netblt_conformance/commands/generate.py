# SPDX-License-Identifier: GPL-2.0-or-later
"""Writes what is generated from the catalogue: the Wireshark plugin's rule table and docs/dissector-rules.md.

`tools/generate` runs it. The plugin's table lists the rules only; the types around it stay in verdicts.h beside it.
"""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from netblt_conformance.catalogue import catalogue
from netblt_conformance.catalogue.catalogue import CatalogueError, Requirement
from netblt_conformance.catalogue.dissector_rule import Rule
from netblt_conformance.common import paths

# Rules have this order wherever Wireshark lists them.
AREAS = (
    *("WIRE", "CKSUM", "OPEN", "NEG", "DATA", "CTRL", "TIMER", "RESEND", "ORDER", "RATE", "CLOSE", "QUIT", "ABORT"),
    *("DEMUX", "ROBUST", "R1030", "R1986"),
)
C_DIALECTS = {"rfc998": "RFC998", "etftp": "ETFTP", "v4": "VERSION4"}  # NB_<this> in dialect.h
NOTICE = "Generated from conformance/catalogue by tools/generate. Do not edit."

Row = tuple[Requirement, Rule]


def rows(known: Mapping[str, Requirement]) -> list[Row]:
    """The rules in the order of the table. Raises CatalogueError for an area without a place in it."""
    found = [(one, one.dissector) for one in known.values() if one.dissector]
    strange = [one.id for one, _ in found if one.area not in AREAS]
    if strange:
        raise CatalogueError([f"{identifier}: generate.AREAS does not name its area" for identifier in strange])
    return sorted(found, key=lambda row: (AREAS.index(row[0].area), row[0].id))


# ---- the rule table of the plugin ----


def _c_string(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _c_list(name: str, parameter: str, entries: Sequence[str]) -> str:
    return " \\\n".join([f"#define {name}({parameter})", *(f"    {parameter}({entry})" for entry in entries)])


def _c_rule(requirement: Requirement, rule: Rule) -> str:
    dialects = " | ".join(f"NB_IN({C_DIALECTS[one]})" for one in requirement.dialects)
    texts = _c_string(requirement.id), _c_string(rule.slug)
    return ", ".join([rule.name, *texts, rule.reach.upper(), dialects, _c_string(rule.summary)])


def c_table(known: Mapping[str, Requirement]) -> str:
    """The list of rules and the list of rules with the same content, as X-macros."""
    found = rows(known)
    names = {requirement.id: rule.name for requirement, rule in found}
    same = [f"{rule.name}, {names[other]}" for _, rule in found for other in rule.same_as]
    return "\n".join(
        [
            f"/* {NOTICE} */",
            "/* SPDX-License-Identifier: GPL-2.0-or-later */",
            "/* The rules of the plugin, for verdicts.h alone. */",
            "/* clang-format off */",
            "",
            "/* NAME, ID, slug (netblt.analysis.<slug>), reach, dialects in which it holds, summary. */",
            _c_list("NB_RULE_LIST", "X", [_c_rule(*row) for row in found]),
            "",
            "/* A rule, and one with the same content: only the second one is reported when it is violated. */",
            _c_list("NB_SAME_LIST", "SAME", same),
            "",
        ]
    )


# ---- the tables of docs/dissector-rules.md ----


def _table(head: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    cells = [head, ["---"] * len(head), *([cell.replace("|", "\\|") for cell in line] for line in lines)]
    return "\n".join("| " + " | ".join(line) + " |" for line in cells)


def _violations(found: Iterable[Row]) -> str:
    lines = [
        (one.id, f"`{rule.slug}`", rule.breach, rule.proof, rule.suspected)
        for one, rule in found
        if rule.reach == "violation"
    ]
    return _table(("rule", "filter", "a violation is", "proof", "otherwise suspected when"), lines)


def _suspicions(found: Iterable[Row]) -> str:
    lines = [(one.id, f"`{rule.slug}`", rule.suspected) for one, rule in found if rule.reach == "suspected"]
    return _table(("rule", "filter", "suspected when"), lines)


def _observed(found: Iterable[Row]) -> str:
    lines = [(one.id, f"`{rule.slug}`", rule.summary) for one, rule in found if rule.reach == "observed"]
    return _table(("rule", "filter", "what it is"), lines)


def _same(found: Iterable[Row]) -> str:
    lines = [(one.id, f"`{rule.slug}`", ", ".join(rule.same_as)) for one, rule in found if rule.same_as]
    return _table(("rule", "filter", "same rule as"), lines)


TABLES: dict[str, Callable[[Iterable[Row]], str]] = {
    "violation": _violations,
    "suspected": _suspicions,
    "observed": _observed,
    "same": _same,
}


def _holding(found: Iterable[Row], dialect: str) -> str:
    """The rules of RFC 998 that hold in another dialect, by area: a list of IDs."""
    held = [one for one, _ in found if {"rfc998", dialect} <= set(one.dialects)]
    lines = [f"{area}-{', '.join(one.id[-2:] for one in held if one.area == area)}" for area in AREAS]
    return textwrap.fill("; ".join(line for line in lines if not line.endswith("-")), width=100)


def document(known: Mapping[str, Requirement], template: str) -> str:
    """The template with each line `@TABLE DIALECT@` replaced by this table of the rules that hold in this dialect.

    A rule that holds in several is listed in the first one of catalogue.DIALECTS; `@holding DIALECT@` lists the others.
    """
    found = rows(known)
    for dialect in catalogue.DIALECTS:
        template = template.replace(f"@holding {dialect}@\n", _holding(found, dialect) + "\n")
        mine = [row for row in found if min(row[0].dialects, key=catalogue.DIALECTS.index) == dialect]
        for name, table in TABLES.items():
            template = template.replace(f"@{name} {dialect}@\n", table(mine) + "\n")
    return template


# ---- files ----


def rule_table() -> Path:
    """Beside verdicts.h, in whatever folder of the plugin's sources that is."""
    found = list(paths.dissector_sources().rglob("verdicts.h"))
    if len(found) != 1:
        raise CatalogueError([f"{paths.dissector_sources()}: {len(found)} files verdicts.h here; there must be one"])
    return found[0].with_name("rules-table.h")


def template() -> str:
    """The text around the tables, without its SPDX line."""
    text = (paths.catalogue() / "dissector-rules.md.in").read_text(encoding="utf-8")
    return f"<!-- {NOTICE} -->\n" + text.partition("\n")[2]


def generated() -> dict[Path, str]:
    """Every generated file and what has to be in it."""
    known = catalogue.requirements()
    return {
        rule_table(): c_table(known),
        paths.root() / "docs" / "dissector-rules.md": document(known, template()),
    }


def main() -> int:
    try:
        files = generated()
    except CatalogueError as error:
        print("\n".join(f"error: {mistake}" for mistake in error.mistakes), file=sys.stderr)
        return 2
    for file, text in files.items():
        if not file.is_file() or file.read_text(encoding="utf-8") != text:
            file.write_text(text, encoding="utf-8")
            print(f"written: {file.relative_to(paths.root())}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
