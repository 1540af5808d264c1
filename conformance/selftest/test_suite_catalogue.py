# SPDX-License-Identifier: GPL-2.0-or-later
"""The catalogue loads, and mistakes in it are named."""

from __future__ import annotations

from pathlib import Path

import pytest
from netblt_conformance.catalogue import catalogue
from netblt_conformance.common import paths
from netblt_conformance.run.selection import Candidate, Selection, SelectionError

GOOD = """
[[requirement]]
id = "CTRL-04"
title = "Redundancy"
section = "RFC 998 5.2.1"
strength = "must (inferred)"
binds = "receiver"
requirement = "all of them"
ambiguities = ["AMB-33"]
"""
RULE = (
    GOOD
    + """
[requirement.dissector]
slug = "ctrl_redundancy"
reach = "violation"
breach = "left out"
proof = "alone"
"""
)
SECOND = RULE.replace("CTRL-04", "CTRL-05").replace("ctrl_redundancy", "ctrl_acked")


def write(folder: Path, text: str) -> Path:
    (folder / "area.toml").write_text(text, encoding="utf-8")
    return folder


def test_the_catalogue_of_the_project_loads_and_grades_everything() -> None:
    requirements = catalogue.load(paths.catalogue())
    assert len(requirements) > 150
    assert {requirement.grade for requirement in requirements.values()} == {"must", "should", "may"}
    assert requirements["CTRL-04"].area == "CTRL"
    assert requirements["CTRL-10"].grade == "should"


@pytest.mark.parametrize("field", ["id", "title", "section", "strength", "binds", "requirement"])
def test_a_missing_field_is_named(tmp_path: Path, field: str) -> None:
    text = "\n".join(line for line in GOOD.splitlines() if not line.startswith(f"{field} ="))
    with pytest.raises(catalogue.CatalogueError, match=rf"requirement \S+\.{field}: missing"):
        catalogue.load(write(tmp_path, text))


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (GOOD + GOOD, "was given before"),
        (GOOD.replace("CTRL-04", "ctrl-4"), "requirement ctrl-4.id: 'ctrl-4' does not look like CTRL-04"),
        (GOOD + 'colour = "red"\n', "requirement CTRL-04.colour: unknown key 'colour'"),
        (GOOD.replace("AMB-33", "33"), "CTRL-04.ambiguities 1: '33' does not look like AMB-04"),
        (GOOD.replace('"all of them"', '""'), "CTRL-04.requirement: '' must be a text that is not empty"),
        (GOOD + 'dialects = ["rfc998", "v5"]\n', "CTRL-04.dialects 2: 'v5' must be 'rfc998', 'etftp' or 'v4'"),
        (GOOD + 'dialects = ["v4", "v4"]\n', "must name each dialect once"),
        (GOOD + "dialects = []\n", "must name each dialect once, and at least one"),
        (GOOD + 'dialects = "etftp"\n', "CTRL-04.dialects: 'etftp' must be a list"),
        ("[[requirement", "area.toml"),
        (GOOD + 'dissector = "ctrl_redundancy"\n', "CTRL-04.dissector: 'ctrl_redundancy' must be a table"),
        (RULE.replace('slug = "ctrl_redundancy"\n', ""), "CTRL-04.dissector.slug: missing"),
        (RULE.replace("ctrl_redundancy", "CTRL-04"), "slug 'CTRL-04' does not look like"),
        (
            RULE.replace('"violation"', '"proven"'),
            "reach: 'proven' must be 'violation', 'suspected' or 'observed'",
        ),
        (RULE.replace('proof = "alone"\n', ""), "CTRL-04.dissector: proof: missing; the reach 'violation' needs it"),
        (RULE.replace('"violation"', '"observed"'), "CTRL-04.dissector: breach does not go with the reach 'observed'"),
        (RULE.replace('"left out"', '""'), "CTRL-04.dissector.breach: '' must be a text that is not empty"),
        (RULE + 'colour = "red"\n', "CTRL-04.dissector.colour: unknown key 'colour'"),
        (RULE + 'summary = "Redundancy"\n', "the summary repeats the title"),
        (RULE + "same_as = []\n", "CTRL-04.dissector.same_as: .* at least 1 item"),
        (RULE + RULE.replace("CTRL-04", "CTRL-05"), "CTRL-05: dissector: CTRL-04 has the slug 'ctrl_redundancy'"),
        (RULE + 'same_as = ["CTRL-05"]\n', "same_as names CTRL-05, which is no other rule"),
        (RULE + 'same_as = ["CTRL-04"]\n', "same_as names CTRL-04, which is no other rule"),
        (
            RULE
            + 'same_as = ["CTRL-06"]\n'
            + SECOND
            + 'same_as = ["CTRL-06"]\n'
            + RULE.replace("04", "06").replace("ctrl_redundancy", "ctrl_ack"),
            "CTRL-05: dissector: CTRL-04 is the same as CTRL-06, too",
        ),
    ],
)
def test_a_mistake_is_named(tmp_path: Path, text: str, complaint: str) -> None:
    with pytest.raises(catalogue.CatalogueError, match=complaint):
        catalogue.load(write(tmp_path, text))


def test_a_rule_of_the_plugin_shows_the_title_unless_it_has_a_summary(tmp_path: Path) -> None:
    [plain] = catalogue.load(write(tmp_path, RULE)).values()
    assert plain.dissector is not None
    assert (plain.dissector.summary, plain.dissector.name) == ("Redundancy", "CTRL_REDUNDANCY")
    [other] = catalogue.load(write(tmp_path, RULE + 'summary = "a part of it"\n')).values()
    assert other.dissector is not None
    assert other.dissector.summary == "a part of it"


def test_a_requirement_holds_in_every_dialect_unless_it_says_otherwise(tmp_path: Path) -> None:
    (tmp_path / "other.toml").write_text(
        GOOD.replace("CTRL-04", "CTRL-05") + 'dialects = ["etftp"]\n', encoding="utf-8"
    )
    found = catalogue.load(write(tmp_path, GOOD))
    assert found["CTRL-04"].dialects == catalogue.DIALECTS
    assert found["CTRL-05"].dialects == ("etftp",)


def test_rules_of_another_carrier_and_layout_are_none_of_etftp() -> None:
    known = catalogue.requirements()
    assert all(one.dialects == ("etftp",) for one in known.values() if one.area == "R1986")
    assert "etftp" not in known["WIRE-01"].dialects + known["WIRE-09"].dialects + known["CLOSE-01"].dialects
    assert "etftp" in known["CKSUM-01"].dialects


def test_every_mistake_is_named_not_only_the_first(tmp_path: Path) -> None:
    with pytest.raises(catalogue.CatalogueError) as caught:
        catalogue.load(write(tmp_path, GOOD.replace('title = "Redundancy"\n', "").replace("AMB-33", "x")))
    assert len(caught.value.mistakes) == 2


def test_an_empty_folder_is_no_catalogue(tmp_path: Path) -> None:
    with pytest.raises(catalogue.CatalogueError, match="no catalogue files"):
        catalogue.load(tmp_path)


def test_a_case_must_name_known_requirements() -> None:
    known = catalogue.load(paths.catalogue())
    assert catalogue.check_cases({"fine": ("CTRL-04",)}, known) == []
    assert "names no requirement" in catalogue.check_cases({"bare": ()}, known)[0]
    assert "CTRL-99" in catalogue.check_cases({"wrong": ("CTRL-99",)}, known)[0]


CANDIDATES = [
    Candidate("a_repeated_resend", "ctrl_sender.py", ("CTRL-09", "RESEND-02")),
    Candidate("a_hole_at_the_ldata", "resend.py", ("RESEND-07",)),
    Candidate("sizes", "neg.py", ("NEG-01",)),
]


@pytest.mark.parametrize(
    ("expression", "picked"),
    [
        ("", [0, 1, 2]),
        ("CTRL-09", [0]),
        ("RESEND-02", [0]),
        ("RESEND", [0, 1]),
        ("resend-0?", [0, 1]),
        ("should", [1]),
        ("neg.py CTRL", [0, 2]),
        ("hole", [1]),
        ("!RESEND", [2]),
        ("RESEND,!hole", [0]),
    ],
)
def test_a_selection_picks_by_id_area_pattern_strength_file_and_name(expression: str, picked: list[int]) -> None:
    known = catalogue.load(paths.catalogue())
    selection = Selection(expression)
    selection.check(CANDIDATES, known)
    assert [n for n, candidate in enumerate(CANDIDATES) if selection.picks(candidate, known)] == picked


NAMED = [
    Candidate("a_hole", "resend.py", ("RESEND-07",), "", "active-receiver"),
    Candidate("a_hole", "resend.py", ("RESEND-07",), "", "passive-receiver"),
    Candidate("a_hole_at_the_ldata", "resend.py", ("RESEND-07",), "first", "active-receiver"),
    Candidate("a_hole_at_the_ldata", "resend.py", ("RESEND-07",), "last one", "active-receiver"),
]


@pytest.mark.parametrize(
    ("expression", "picked"),
    [
        ("a hole", [0, 1]),
        ("a_hole", [0, 1]),
        ("monitor in a hole", [0, 1]),
        ("a hole[passive-receiver]", [1]),
        ("a hole [active-receiver-control]", [0]),
        ("a hole at the ldata", [2, 3]),
        ("a hole at the ldata: last one", [3]),
        ("A_hole_at_the_ldata: last one,a hole[active-receiver]", [0, 3]),
        ("hole at", [2, 3]),
        ("!a hole", [2, 3]),
    ],
)
def test_a_name_as_a_report_prints_it_picks_this_case_only(expression: str, picked: list[int]) -> None:
    known = catalogue.load(paths.catalogue())
    selection = Selection(expression)
    selection.check(NAMED, known)
    assert [n for n, candidate in enumerate(NAMED) if selection.picks(candidate, known)] == picked


def test_a_requirement_without_a_case_is_no_mistake_beside_one_that_has_some() -> None:
    known = catalogue.load(paths.catalogue())
    without = next(one.id for one in known.values() if one.untested)
    selection = Selection(f"CTRL-09,{without}")
    assert selection.check(CANDIDATES, known) == [without]
    assert [candidate for candidate in CANDIDATES if selection.picks(candidate, known)] == CANDIDATES[:1]


@pytest.mark.parametrize("expression", ["CTRL-99", "CTLR", "no_such_name", "ABORT-01"])
def test_a_term_that_picks_nothing_is_refused(expression: str) -> None:
    with pytest.raises(SelectionError, match=expression):
        Selection(expression).check(CANDIDATES, catalogue.load(paths.catalogue()))
