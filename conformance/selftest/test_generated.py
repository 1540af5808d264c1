# SPDX-License-Identifier: GPL-2.0-or-later
"""What is generated from the catalogue is not stale, and holds what the catalogue states."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import pytest
from netblt_conformance.catalogue import catalogue
from netblt_conformance.catalogue.catalogue import CatalogueError, Dialect, Requirement
from netblt_conformance.catalogue.dissector_rule import Rule
from netblt_conformance.commands import generate
from netblt_conformance.common import paths


@pytest.mark.parametrize("file", ["rules-table.h", "dissector-rules.md"])
def test_the_generated_files_are_not_stale(file: str) -> None:
    [(path, text)] = [(path, text) for path, text in generate.generated().items() if path.name == file]
    assert path.read_text(encoding="utf-8") == text, "stale: run tools/generate and commit what it writes"


def requirement(identifier: str, rule: Rule | None, *dialects: Dialect) -> Requirement:
    return Requirement(
        id=identifier,
        title="title",
        section="5",
        strength="must",
        binds="both",
        requirement="text",
        dissector=rule,
        dialects=dialects or ("rfc998",),
    )


PROVEN = Rule(
    slug="wire_header",
    reach="violation",
    summary='a "quoted" \\ summary',
    breach="is | broken",
    proof="alone",
    suspected="before that",
)
SUSPECTED = Rule(slug="quit_dally", reach="suspected", summary="QUIT", suspected="in silence")
KEPT = Rule(slug="r1030_order", reach="observed", summary="kept", same_as=("WIRE-02", "QUIT-03"))
KNOWN = {
    one.id: one
    for one in (
        requirement("QUIT-03", SUSPECTED, "rfc998", "v4"),
        requirement("R1030-04", KEPT),
        requirement("OPEN-15", None),
        requirement("WIRE-02", PROVEN, "etftp"),
    )
}


def test_the_table_of_the_plugin_holds_each_rule_in_the_order_of_the_areas() -> None:
    rows = re.findall(r"^    \w+\((.*)\)", generate.c_table(KNOWN), re.MULTILINE)
    assert rows == [
        r'WIRE_HEADER, "WIRE-02", "wire_header", VIOLATION, NB_IN(ETFTP), "a \"quoted\" \\ summary"',
        'QUIT_DALLY, "QUIT-03", "quit_dally", SUSPECTED, NB_IN(RFC998) | NB_IN(VERSION4), "QUIT"',
        'R1030_ORDER, "R1030-04", "r1030_order", OBSERVED, NB_IN(RFC998), "kept"',
        "R1030_ORDER, WIRE_HEADER",
        "R1030_ORDER, QUIT_DALLY",
    ]


def test_the_rules_of_rfc_998_that_hold_in_another_dialect_are_listed() -> None:
    template = "before\n@holding v4@\n@holding etftp@\nafter\n"
    more = {"QUIT-04": requirement("QUIT-04", PROVEN, "rfc998", "etftp", "v4")}
    assert generate.document({**KNOWN, **more}, template) == "before\nQUIT-03, 04\nQUIT-04\nafter\n"


def test_each_line_of_a_macro_but_its_last_one_goes_on() -> None:
    lines = generate.c_table(KNOWN).splitlines()
    for line, following in itertools.pairwise(lines):
        assert line.endswith(" \\") == following.startswith("    "), line


@pytest.mark.parametrize(
    ("place", "row"),
    [
        ("violation etftp", r"| WIRE-02 | `wire_header` | is \| broken | alone | before that |"),
        ("suspected rfc998", "| QUIT-03 | `quit_dally` | in silence |"),
        ("observed rfc998", "| R1030-04 | `r1030_order` | kept |"),
        ("same rfc998", "| R1030-04 | `r1030_order` | WIRE-02, QUIT-03 |"),
    ],
)
def test_a_place_in_the_document_is_filled_with_its_rules_alone(place: str, row: str) -> None:
    before, head, line, *rows, after = generate.document(KNOWN, f"before\n@{place}@\nafter\n").splitlines()
    assert (before, after) == ("before", "after")
    assert head.startswith("| rule | filter | ")
    assert set(line) == set("| -")
    assert rows == [row]


def test_an_area_without_a_place_in_the_table_is_named() -> None:
    with pytest.raises(CatalogueError, match=r"NEW-01: generate\.AREAS does not name its area"):
        generate.c_table({"NEW-01": requirement("NEW-01", PROVEN)})


def test_the_document_lists_every_rule_once_and_leaves_no_place_empty() -> None:
    text = generate.document(catalogue.requirements(), generate.template())
    assert not re.search(r"^@.*@$", text, re.MULTILINE)
    findings, tables = re.subn(r"\| rule \| filter \| same rule as \|\n(\|.*\n)+", "", text)
    assert tables == 2  # RFC 1030's and RFC 1986's
    listed = re.findall(r"^\| ([A-Z0-9]+-\d\d) \|", findings, re.MULTILINE)
    assert sorted(listed) == sorted(one.id for one in catalogue.requirements().values() if one.dissector)


def test_the_command_writes_what_is_stale_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fresh, stale = tmp_path / "fresh", tmp_path / "stale"
    fresh.write_text("right", encoding="utf-8")
    stale.write_text("wrong", encoding="utf-8")
    monkeypatch.setattr(generate, "generated", lambda: {fresh: "right", stale: "right"})
    monkeypatch.setattr(paths, "root", lambda: tmp_path)
    assert generate.main() == 0
    assert capsys.readouterr().out == "written: stale\n"
    assert stale.read_text(encoding="utf-8") == "right"


def test_the_rule_table_lies_beside_verdicts_h_wherever_that_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paths, "root", lambda: tmp_path)
    with pytest.raises(CatalogueError, match=r"0 files verdicts\.h"):
        generate.rule_table()
    folder = tmp_path / "dissector" / "src" / "rules"
    folder.mkdir(parents=True)
    (folder / "verdicts.h").touch()
    assert generate.rule_table() == folder / "rules-table.h"
