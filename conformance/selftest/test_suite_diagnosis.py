# SPDX-License-Identifier: GPL-2.0-or-later
"""The measurement of the diagnosis counts what it claims, and finds what a mutant breaks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from netblt_conformance.common import paths
from netblt_conformance.common.verdicts import Cause, Origin, Result, Verdict
from netblt_conformance.diagnosis.ranking import LikelyCause, likely_causes
from netblt_conformance.mutants import measure, mutants
from netblt_conformance.mutants.measure import Diagnosed, Figures
from netblt_conformance.mutants.mutants import Mutant
from selftest.faulty import faulty_library

if TYPE_CHECKING:
    from selftest.conftest import Command


def diagnosed(planted: str, *causes: tuple[str, ...], found_as: str = "") -> Diagnosed:
    first = Result("case", ["CTRL-04"], "active-sender", Verdict.FAIL, "why", expected="why not")
    mutant = Mutant(
        name="name", requirement=planted, about="about", edit=(), found_as=found_as, wire_visible=bool(found_as)
    )
    return Diagnosed(mutant, tuple(LikelyCause(cause, ("active-sender",), first, 1, 0) for cause in causes))


def test_the_rank_is_the_place_of_the_planted_requirement() -> None:
    causes = (("CTRL-01",), ("CTRL-04", "CTRL-05"))
    assert [diagnosed(planted, *causes).rank for planted in ("CTRL-01", "CTRL-05", "RATE-01")] == [1, 2, 0]
    assert diagnosed("RATE-01", *causes, found_as="CTRL-04").rank == 2
    assert diagnosed("RATE-01").rank == 0


def test_the_figures_need_nine_of_ten_first_and_almost_all_among_three() -> None:
    hit, second = diagnosed("A-01", ("A-01",)), diagnosed("A-01", ("B-01",), ("A-01",))
    fourth = diagnosed("A-01", ("B-01",), ("C-01",), ("D-01",), ("A-01",))
    assert Figures.of([hit] * 90 + [second] * 7 + [fourth] * 3).good_enough
    assert not Figures.of([hit] * 90 + [second] * 6 + [fourth] * 4).good_enough
    assert not Figures.of([hit] * 89 + [second] * 11).good_enough


def test_a_first_cause_that_names_two_requirements_is_counted_apart() -> None:
    figures = Figures.of([diagnosed("A-01", ("A-01",)), diagnosed("A-01", ("A-01", "B-01"))])
    assert (figures.first, figures.alone) == (2, 1)


def test_the_development_set_names_mutants_only() -> None:
    names = {mutant.name for mutant in mutants.load(paths.mutants())}
    assert measure.development_set() <= names
    assert len(measure.development_set()) < len(names) / 4


@pytest.mark.nightly
@pytest.mark.usefixtures("built_writer")
def test_the_command_prints_the_causes_of_a_mutant_and_the_figures_and_keeps_its_results(
    capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    kept = tmp_path / "results.jsonl"
    status = measure.run(["type-12"], paths.root() / "reference_impl" / "core", jobs=1, results=kept)
    text = capfd.readouterr().out
    assert "  1. WIRE-03    type-12: WIRE-03" in text
    assert "all: 1 mutants, planted requirement first for 1 (100.0 %)" in text
    assert status == 0
    (one,) = map(json.loads, kept.read_text(encoding="utf-8").splitlines())
    assert one["mutant"] == "type-12"
    results = [Result.from_json(row) for row in one["results"]]
    assert likely_causes(results)[0].requirement == "WIRE-03"


# Mutant, one case about something else whose transfer stops because of it, role, what that was due by.
STALLS = [
    ("expiry-asks-nothing", "through a lossy transfer", "passive-receiver", "TIMER-07"),
    ("expiry-asks-nothing", "buffers reach the client in the order", "active-receiver", "TIMER-07"),
    (
        "done-before-the-last-ack",
        "lengths beside the edges of packets and buffers arrive: 257",
        "active-receiver",
        "CLOSE-01",
    ),
    ("asked-once", "ldata lost again and again is got in the end: three times", "active-receiver", "RESEND-04"),
]


@pytest.mark.usefixtures("built_writer")
@pytest.mark.parametrize(("mutant", "case", "role", "due_by"), STALLS)
def test_one_transfer_without_progress_names_what_was_due(
    command: Command, tmp_path: Path, mutant: str, case: str, role: str, due_by: str
) -> None:
    library = str(faulty_library(tmp_path, mutant))
    done = command("run", "--iut-library", library, "--select", case, "--role", role, "--no-dissector", "--no-sweep")
    (failed,) = [one for one in done.results if one.origin is Origin.CASE and one.verdict is Verdict.FAIL]
    assert (failed.cause, failed.due_by) == (Cause.ABSENCE, due_by), done.output
    assert likely_causes(done.results)[0].requirement == due_by
