# SPDX-License-Identifier: GPL-2.0-or-later
"""Every requirement is tested, found and broken by something, or states why not; every ambiguity is reported or states
why not. And the check that watches over it can fail."""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest
from netblt_conformance.catalogue import catalogue
from netblt_conformance.catalogue.catalogue import Requirement
from netblt_conformance.commands.commands import checked_cases
from netblt_conformance.mutants import coverage, mutants

if TYPE_CHECKING:
    from selftest.conftest import Outcome

MUST = Requirement(id="CTRL-04", title="title", section="5.2.1", strength="must", binds="receiver", requirement="text")
MUTANT = mutants.Mutant(name="m", requirement="CTRL-04", about="about", edit=())


@cache
def cases() -> dict[str, tuple[str, ...]]:
    return {name: words[1:] for name, words in checked_cases().items()}


def test_nothing_is_missing_without_a_reason() -> None:
    found = coverage.survey(cases())
    assert sum(one.rule is not None for one in found.values()) > 100
    assert coverage.mistakes(found) == []


@pytest.mark.parametrize(
    ("changes", "judged", "breaking", "complaint"),
    [
        ({}, (), [MUTANT], "no case tests it"),
        ({"untested": "because"}, ("CTRL-04",), [MUTANT], "but case tests it"),
        ({}, ("CTRL-04",), [], "no mutant breaks"),
        ({"unmutated": "because"}, ("CTRL-04",), [MUTANT], "but m breaks it"),
    ],
)
def test_what_is_missing_is_named(
    changes: dict[str, Any], judged: tuple[str, ...], breaking: list[mutants.Mutant], complaint: str
) -> None:
    known = {"CTRL-04": MUST.model_copy(update=changes)}
    [line] = coverage.mistakes(coverage.cover(known, {"case": judged}, breaking))
    assert line.startswith("CTRL-04: ")
    assert complaint in line


def test_ambiguities_are_numbered_without_gaps() -> None:
    known = list(catalogue.ambiguities())
    assert known == [f"AMB-{number:02}" for number in range(1, len(known) + 1)]


# By cases of run --long; the variants of conformance/variants/long state what these report.
REPORTED_BY_LONG_CASES = ["AMB-12"]


@pytest.mark.long
def test_a_run_reports_every_choice_that_the_catalogue_says_it_reports(whole_run: Outcome) -> None:
    done = whole_run
    names = {name for result in done.results for name in result.observed}
    header = json.loads((done.report / "results.jsonl").read_text(encoding="utf-8").splitlines()[0])
    names |= {name for values in header["observed"].values() for name in values}
    missing = [a.id for a in catalogue.ambiguities().values() if a.observed_as and a.observed_as not in names]
    assert missing == REPORTED_BY_LONG_CASES
