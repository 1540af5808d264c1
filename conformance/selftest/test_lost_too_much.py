# SPDX-License-Identifier: GPL-2.0-or-later
"""What the network may lose before an end may give up, in sweeps and generated scripts: active ends may repeat their
OPEN once only, or seldom (OPEN-03), and the sender's dally may be over before a repeated OK comes (AMB-53)."""

from __future__ import annotations

from collections.abc import Callable
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
RECEIVERS = ("active-receiver", "passive-receiver")
NO_RESPONSE = (
    ["drop a>b nth=1", "drop a>b nth=2"],
    ["drop a>b nth=1", "drop b>a nth=1"],  # the passive end is open, and its KEEPALIVEs arrive
    ["drop b>a RESPONSE nth=1", "drop b>a RESPONSE nth=2"],
)


@pytest.fixture
def built(tmp_path: Path, built_library: Path) -> Callable[[str], Path]:
    """Builds the core with this mutant or variant."""
    del built_library
    return lambda name: faulty_library(tmp_path, name)


def ran(library: Path, role: str, *schedule: str, reference: Path | None = None) -> Verdict:
    """The verdict on a sweep's transfer. `reference`: the peer's library; None: the same one."""
    bench = Bench(IutLibrary(library), IutLibrary(reference or library))
    return run(bench, TRANSFERS_BY_NAME["lock-step"], ROLES_BY_NAME[role], schedule, seed=1).verdict


def due(library: Path, role: str, lost: int) -> list[str]:
    """What was due where so many OPENs of a script are lost."""
    return [one.due_by for _, one in replayed(linked(library), role, WAIT, openings_lost=lost).faults]


def test_an_end_that_opens_twice_is_undecided_where_no_response_comes(built: Callable[[str], Path]) -> None:
    library = built("opens-twice")
    for role in ACTIVE:
        assert ran(library, role, "drop a>b nth=1") is Verdict.PASS
        assert ran(library, role, "drop b>a RESPONSE nth=1", "drop a>b nth=4") is Verdict.PASS
        assert [ran(library, role, *one) for one in NO_RESPONSE] == [Verdict.INCONC] * 3
        assert [due(library, role, lost) for lost in (1, 2)] == [[], []]


def test_an_end_that_opens_once_fails(built: Callable[[str], Path]) -> None:
    library = built("open-sent-once")
    for role in ACTIVE:
        assert ran(library, role, "drop a>b nth=1") is Verdict.FAIL
        assert ran(library, role, "drop b>a nth=1") is Verdict.FAIL
        assert due(library, role, 1) == ["OPEN-03"]


def test_twelve_seconds_may_pass_before_an_open_is_repeated(built: Callable[[str], Path]) -> None:
    library = built("opens-twelve-seconds-apart")
    assert [due(library, role, 4) for role in ACTIVE] == [[], []]


def test_a_receiver_whose_sender_has_left_is_undecided_after_two_faults(built: Callable[[str], Path]) -> None:
    """Its control timer does not follow the round trip. The acknowledgement of its last OK is lost, and a repetition of
    that OK is lost or late."""
    library, ours = built("fixed-control-timer"), paths.iut_library()
    for role in RECEIVERS:
        for fault in ("drop", "swap"):
            assert ran(library, role, f"{fault} b>a NULL-ACK nth=1", reference=ours) is Verdict.PASS
            faults = (f"{fault} a>b OK buffer=2 nth=2", "drop b>a NULL-ACK nth=1")
            assert ran(library, role, *faults, reference=ours) is Verdict.INCONC


def test_a_receiver_that_does_not_repeat_its_last_ok_fails(built: Callable[[str], Path]) -> None:
    library = built("oks-once")
    for role in RECEIVERS:
        assert ran(library, role, "drop b>a NULL-ACK nth=1", reference=paths.iut_library()) is Verdict.FAIL
