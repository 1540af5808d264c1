# SPDX-License-Identifier: GPL-2.0-or-later
"""What the network may lose before an end may give up: sweeps and generated scripts do not blame active ends that
repeat their OPEN once only, or seldom (OPEN-03), nor a receiver whose sender's dally is over (AMB-53)."""

from __future__ import annotations

from pathlib import Path

import pytest
from netblt_conformance.common import paths
from netblt_conformance.common.model import ROLES_BY_NAME
from netblt_conformance.common.verdicts import Verdict
from netblt_conformance.simlib import IutLibrary
from netblt_conformance.sweep.one import Bench, run
from netblt_conformance.sweep.transfers import TRANSFERS_BY_NAME
from selftest.faulty import faulty_library
from selftest.small_scripts import WAIT, linked, replayed

ACTIVE = ("active-sender", "active-receiver")


@pytest.fixture(scope="module")
def libraries(tmp_path_factory: pytest.TempPathFactory, built_library: Path) -> dict[str, Path]:
    """The core that sends one OPEN, two of them at most, or one in 12 s; whose control timer does not follow
    the round trip, or that never repeats an OK."""
    del built_library
    folder = tmp_path_factory.mktemp("lost")
    names = ("open-sent-once", "opens-twice", "opens-twelve-seconds-apart", "fixed-control-timer", "oks-once")
    for name in names:
        (folder / name).mkdir()
    return {name: faulty_library(folder / name, name) for name in names}


@pytest.mark.parametrize("role", ACTIVE)
@pytest.mark.parametrize(
    ("name", "schedule", "verdict"),
    [
        ("opens-twice", ["drop a>b nth=1"], Verdict.PASS),
        ("opens-twice", ["drop a>b nth=1", "drop a>b nth=2"], Verdict.INCONC),
        # The passive end is open, and its KEEPALIVEs arrive, but no RESPONSE.
        ("opens-twice", ["drop a>b nth=1", "drop b>a nth=1"], Verdict.INCONC),
        ("opens-twice", ["drop b>a RESPONSE nth=1", "drop b>a RESPONSE nth=2"], Verdict.INCONC),
        ("opens-twice", ["drop b>a RESPONSE nth=1", "drop a>b nth=4"], Verdict.PASS),
        ("open-sent-once", ["drop a>b nth=1"], Verdict.FAIL),
        ("open-sent-once", ["drop b>a nth=1"], Verdict.FAIL),
    ],
)
def test_a_schedule_that_lets_no_response_through_is_undecided_after_two_opens(
    libraries: dict[str, Path], role: str, name: str, schedule: list[str], verdict: Verdict
) -> None:
    both = IutLibrary(libraries[name])
    ran = run(Bench(both, both), TRANSFERS_BY_NAME["lock-step"], ROLES_BY_NAME[role], tuple(schedule), seed=1)
    assert ran.verdict is verdict, ran.seen


@pytest.mark.parametrize("role", ACTIVE)
@pytest.mark.parametrize(
    ("name", "lost", "requirements"),
    [
        ("opens-twice", 1, []),
        ("opens-twice", 2, []),
        ("opens-twelve-seconds-apart", 4, []),
        ("open-sent-once", 1, ["OPEN-03"]),
    ],
)
def test_a_script_whose_opens_are_lost_ends_when_a_repetition_was_lost_too(
    libraries: dict[str, Path], role: str, name: str, lost: int, requirements: list[str]
) -> None:
    played = replayed(linked(libraries[name]), role, WAIT, openings_lost=lost)
    assert [judgement.due_by for _, judgement in played.faults] == requirements


@pytest.mark.parametrize("role", ["active-receiver", "passive-receiver"])
@pytest.mark.parametrize(
    ("name", "schedule", "verdict"),
    [
        ("fixed-control-timer", ["drop b>a NULL-ACK nth=1"], Verdict.PASS),
        ("fixed-control-timer", ["drop a>b OK buffer=2 nth=2", "drop b>a NULL-ACK nth=1"], Verdict.INCONC),
        ("oks-once", ["drop b>a NULL-ACK nth=1"], Verdict.FAIL),
    ],
)
def test_a_receiver_may_be_left_alone_when_its_last_ok_was_answered_and_repeated_in_vain(
    libraries: dict[str, Path], role: str, name: str, schedule: list[str], verdict: Verdict
) -> None:
    ours, reference = IutLibrary(libraries[name]), IutLibrary(paths.iut_library())
    ran = run(Bench(ours, reference), TRANSFERS_BY_NAME["lock-step"], ROLES_BY_NAME[role], tuple(schedule), seed=1)
    assert ran.verdict is verdict, ran.seen
