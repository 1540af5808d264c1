# SPDX-License-Identifier: GPL-2.0-or-later
"""Generated peers that quit, are slow while a QUIT waits, or send nothing, and packets that arrive damaged: each move
finds the fault that it is there for."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from netblt_conformance.common.model import Parameters
from netblt_conformance.generated.play import Played
from netblt_conformance.links.sim import SimLinkFactory
from selftest.small_scripts import TERMS, WAIT, replayed, with_faults

SUMMED = dataclasses.replace(TERMS, data_checksum=True)
PATIENT = dataclasses.replace(TERMS, death_timer_s=60)
EIGHT = dataclasses.replace(TERMS, max_buffers=8)
FAULTS = (
    "quit-copies-do-not-defer-death",
    "passive-death-timer-needs-a-second-packet",
    "a-quit-of-the-peer-ends-own-repetition",
    "an-abort-is-answered-while-it-quits",
    "control-not-repeated-while-quit-waits",
    "nothing-is-asked-for-while-quit-waits",
    "the-eighth-outstanding-buffer-is-not-found",
    "ldata-header-not-checked",
    "a-damaged-duplicate-overwrites",
)
OTHERS = (  # that do not fit beside FAULTS
    "a-data-checksum-of-zero-means-none",
    "a-quit-in-the-dally-closes",
    "no-keepalive-while-quit-waits",
    "response-copies-do-not-defer-death",
    "packets-of-others-defer-death",
)
SLOW = [WAIT, "ack 1", "data 0 0", "wait 20000", "client-quit-slow 0"]


@pytest.fixture(scope="module")
def wrong(tmp_path_factory: pytest.TempPathFactory, built_library: Path) -> SimLinkFactory:
    """It has all of FAULTS."""
    del built_library
    return with_faults(tmp_path_factory.mktemp("endings"), *FAULTS)


@pytest.fixture(scope="module")
def wrong_otherwise(tmp_path_factory: pytest.TempPathFactory, built_library: Path) -> SimLinkFactory:
    """It has all of OTHERS."""
    del built_library
    return with_faults(tmp_path_factory.mktemp("endings"), *OTHERS)


def played(factory: SimLinkFactory, role: str, moves: list[str], terms: Parameters, opening: str = "") -> Played:
    own, length = dataclasses.replace(terms, death_timer_s=2), 2 * terms.buffer_size * terms.max_buffers
    return replayed(factory, role, *moves, iut=terms, own=own, opening=opening, length=length)


@pytest.mark.parametrize(
    ("role", "moves", "requirement", "terms"),
    [
        ("passive-receiver", [WAIT, "ack 1", "quit-late 2"], "QUIT-03", TERMS),
        ("active-sender", ["client-quit-crossed 2"], "QUIT-02", TERMS),
        ("active-receiver", [WAIT, "client-quit-aborted 0"], "ABORT-02", TERMS),
        # The first packet of a buffer came, its LDATA is late. The GO was acknowledged, or not.
        ("passive-receiver", SLOW, "TIMER-07", PATIENT),
        ("passive-receiver", [WAIT, "data 0 0", "wait 20000", "client-quit-slow 0"], "TIMER-01", PATIENT),
        # Of eight outstanding buffers the last one is lost.
        (
            "passive-sender",
            ["gos 8", "lose 99", WAIT, "resend 7 0 1", "control", WAIT],
            "",  # the transfer does not come to its end
            EIGHT,
        ),
        ("passive-receiver", [WAIT, "ack 1", "data 0 0", "header-damaged 0 1"], "CTRL-14", TERMS),
        ("passive-receiver", [WAIT, "ack 1", "data 0 0", "copy-damaged 0 5", "data 0 1"], "DATA-08", SUMMED),
    ],
)
def test_the_fault_that_needs_the_move_is_found_and_the_reference_passes(
    factory: SimLinkFactory, wrong: SimLinkFactory, role: str, moves: list[str], requirement: str, terms: Parameters
) -> None:
    _found(factory, wrong, role, moves, requirement, terms)


@pytest.mark.parametrize(
    ("role", "moves", "requirement"),
    [
        ("passive-receiver", [WAIT, "ack 1", "data 0 0", "data-zeroed 0 1 9"], "CTRL-14"),
        ("active-sender", ["trickle 1"], "TIMER-10"),
        ("active-sender", ["publish 2000", "done-lost 4"], "QUIT-03"),
        ("passive-receiver", [WAIT, "silent 1"], "TIMER-10"),
        ("passive-receiver", SLOW, "TIMER-11"),
    ],
)
def test_other_faults_are_found_too(
    factory: SimLinkFactory, wrong_otherwise: SimLinkFactory, role: str, moves: list[str], requirement: str
) -> None:
    _found(factory, wrong_otherwise, role, moves, requirement, SUMMED)


def _found(
    factory: SimLinkFactory, wrong: SimLinkFactory, role: str, moves: list[str], requirement: str, terms: Parameters
) -> None:
    found = played(wrong, role, moves, terms)
    assert requirement in [name for name, _ in found.faults]
    passed = played(factory, role, moves, terms)
    assert ([str(one) for one in passed.done], passed.faults) == (moves, [])


def test_a_peer_that_sends_nothing_but_its_open_is_given_up(factory: SimLinkFactory, wrong: SimLinkFactory) -> None:
    assert [name for name, _ in played(wrong, "passive-receiver", [], TERMS, "alone").faults] == ["TIMER-10"]
    assert not played(factory, "passive-receiver", [], TERMS, "alone").faults


def test_a_request_may_come_while_the_packets_of_the_buffer_come(factory: SimLinkFactory) -> None:
    """A data timer that is too short (RFC 998 5.2.2)."""
    slow = dataclasses.replace(TERMS, burst_size=1, burst_interval_ms=300)
    moves = ["go", "control", "wait 20000", "resend-soon 0 1", "control"]
    result = played(factory, "passive-sender", moves, slow)
    assert ([str(one) for one in result.done], result.faults) == (moves, [])


def test_a_late_quit_needs_a_peer_that_has_acknowledged_everything(factory: SimLinkFactory) -> None:
    assert not [str(one) for one in played(factory, "active-receiver", [WAIT, "quit-late 0"], TERMS).done[1:]]


def test_a_quit_that_crosses_that_of_the_tester_may_be_repeated_minutes_later(factory: SimLinkFactory) -> None:
    """Its repetitions may grow (AMB-44), and the rest of the buffer that is under way takes minutes."""
    slow = Parameters(buffer_size=16_000, packet_size=16, burst_size=2, burst_interval_ms=300, death_timer_s=60)
    slow = dataclasses.replace(slow, max_buffers=1)
    moves = ["client-quit-crossed 1"]
    result = played(factory, "passive-receiver", moves, slow)
    assert ([str(one) for one in result.done], result.faults) == (moves, [])


def test_the_tester_quits_in_a_dally_only_as_long_as_it_surely_lasts(tmp_path: Path, built_library: Path) -> None:
    """AMB-53: the dally lasts hardly longer than the control timer that the OK publishes."""
    del built_library
    result = played(with_faults(tmp_path, "short-dally"), "active-sender", ["done-lost 4"], TERMS)
    assert ([str(one) for one in result.done], result.faults) == (["done-lost 4"], [])
