# SPDX-License-Identifier: GPL-2.0-or-later
"""What does not come in a generated script: the requirement by which it is due, and the script as a case of a run."""

from __future__ import annotations

import dataclasses
import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from netblt_conformance.cases.probe import probe
from netblt_conformance.catalogue import catalogue
from netblt_conformance.common.model import ROLES_BY_NAME, Parameters
from netblt_conformance.common.verdicts import Result, Verdict
from netblt_conformance.generated import play
from netblt_conformance.generated.script import Script, move
from netblt_conformance.links.sim import SimLinkFactory
from netblt_conformance.report import causes
from selftest.faulty import faulty_library
from selftest.small_scripts import TERMS, linked

if TYPE_CHECKING:
    from selftest.conftest import Command

# Mutant, role, moves, and the requirement.
ABSENCES = [
    ("duplicates-not-acknowledged", "passive-sender", ["go", "control", "wait 3000000", "repeat"], "CTRL-10"),
    ("no-dally", "active-sender", ["done-lost 3"], "CLOSE-04"),
    ("quitack-once", "passive-sender", ["quit 8"], "QUIT-03"),
    ("quit-not-answered", "passive-receiver", ["quit"], "QUIT-01"),
]


def script_of(role: str, moves: list[str]) -> Script:
    return Script(ROLES_BY_NAME[role], 1, 192, TERMS, TERMS, moves=tuple(map(move, moves)))


@pytest.fixture(scope="module")
def libraries(tmp_path_factory: pytest.TempPathFactory, built_library: Path) -> dict[str, Path]:
    del built_library
    return {name: faulty_library(tmp_path_factory.mktemp(name), name) for name, *_ in ABSENCES}


@pytest.mark.parametrize(("name", "role", "moves", "requirement"), ABSENCES)
def test_what_does_not_come_fails_under_the_requirement_by_which_it_is_due(
    libraries: dict[str, Path], built_library: Path, name: str, role: str, moves: list[str], requirement: str
) -> None:
    one = script_of(role, moves)
    for library, kinds in ((libraries[name], {requirement}), (built_library, set())):
        factory = linked(library)
        assert play.replay(one, factory, probe(factory, one.role, 1)[0]).kinds == kinds


@pytest.mark.parametrize("stated", [True, False])
def test_a_script_in_a_run_fails_under_its_own_requirement_and_the_command_to_reproduce_it_does(
    command: Command, libraries: dict[str, Path], tmp_path: Path, stated: bool
) -> None:
    """Also where the file states no requirement, and one of a recommendation: the script does not end well."""
    name, role, moves, requirement = ABSENCES[0]
    one = dataclasses.replace(script_of(role, moves), requirements=(requirement,) if stated else ())
    path, other, report = tmp_path / "script.1.toml", tmp_path / "another.toml", tmp_path / "report"
    path.write_text(one.text(), encoding="utf-8")
    other.write_text(script_of("passive-receiver", []).text(), encoding="utf-8")
    library = ("--iut-library", str(libraries[name]))
    done = command("run", "--script", str(path), str(other), "--no-sweep", "--report", str(report), *library)
    assert done.status == 1, done.output + done.errors
    header, *rows = [json.loads(line) for line in (report / "results.jsonl").read_text(encoding="utf-8").splitlines()]
    [failed] = [row for row in rows if row["verdict"] == "FAIL"]
    assert (failed["case"], failed["requirements"], failed["due_by"]) == ("script_1", [requirement], requirement)
    assert "DATA-08" not in done.output
    [cause] = header["causes"]
    program, *words = shlex.split(cause["reproduce"])
    assert (program, str(path) in words, str(other) in words) == ("netblt-conformance", True, False)
    again = command(*words, "--report", str(report))
    assert again.status == 1, again.output + again.errors
    assert "script 1" in again.output


def test_a_case_beside_scripts_is_reproduced_without_them(tmp_path: Path) -> None:
    base = ["netblt-conformance", "run", "--script", str(tmp_path / "script.1.toml"), "--seed", "2"]
    row = Result("another_case", ["OPEN-01"], "active-sender", Verdict.FAIL, "wrong", expected="right")
    assert causes.command(base, row) == "netblt-conformance run --seed 2 --role active-sender --select 'another case'"


@pytest.mark.parametrize(
    ("role", "moves", "mutant", "requirement"),
    [
        (
            "passive-receiver",
            ("data 0 0", "ack 1", "stall"),
            "nothing-is-asked-for-while-the-client-stalls",
            "TIMER-07",
        ),
        ("active-sender", ("go", "go", "control", "stall"), "silent-while-the-client-stalls", "TIMER-11"),
    ],
)
def test_what_is_due_while_the_client_stalls_is_due_by_the_timers(
    tmp_path: Path, built_library: Path, role: str, moves: tuple[str, ...], mutant: str, requirement: str
) -> None:
    """Stimulus: nothing new until the client of the implementation goes on. Outcome: what is missing is requested
    (DATA-15), and the peer learns that the connection lives (TIMER-11)."""
    terms = Parameters(buffer_size=64, packet_size=32, max_buffers=2, burst_interval_ms=10, death_timer_s=20)
    iut = dataclasses.replace(terms, client_stall_from=1, client_stall_until_us=120 * 1_000_000)
    played = tuple(move(name) for name in ("wait 5000", *moves))
    one = Script(ROLES_BY_NAME[role], 1, 200, iut, terms, moves=played)
    expected: tuple[tuple[Path, set[str]], ...] = (
        (built_library, set()),
        (faulty_library(tmp_path, mutant), {requirement}),
    )
    for library, wanted in expected:
        factory = SimLinkFactory(library)
        result = play.replay(one, factory, probe(factory, one.role, 1)[0])
        assert list(result.done) == list(played)
        assert result.kinds & catalogue.requirements().keys() == wanted, result.faults


def test_nothing_is_sat_out_when_no_client_stalls(built_library: Path) -> None:
    factory = SimLinkFactory(built_library)
    terms = Parameters(buffer_size=64, packet_size=32, max_buffers=2, burst_interval_ms=10, death_timer_s=20)
    one = Script(ROLES_BY_NAME["passive-sender"], 1, 200, terms, terms, moves=(move("go"), move("stall")))
    assert list(play.replay(one, factory, probe(factory, one.role, 1)[0]).done) == [move("go")]
