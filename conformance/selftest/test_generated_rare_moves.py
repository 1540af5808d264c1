# SPDX-License-Identifier: GPL-2.0-or-later
"""Moves of generated peers that few moments allow, and parameters that few scripts have: each finds the fault that it
is there for, and the reference passes."""

from __future__ import annotations

import dataclasses
import random
from pathlib import Path

import pytest
from netblt_conformance.common.model import Parameters
from netblt_conformance.common.verdicts import Verdict
from netblt_conformance.generated import script
from netblt_conformance.generated.play import Played
from netblt_conformance.links.sim import SimLinkFactory
from netblt_conformance.packets import packets
from netblt_conformance.packets.ipv4 import HEADER_BYTES as IP_BYTES
from netblt_conformance.packets.packets import Type
from selftest.small_scripts import TERMS, WAIT, replayed, with_faults

SLOW = Parameters(buffer_size=192, packet_size=48, burst_size=1, burst_interval_ms=47, max_buffers=1, death_timer_s=20)
SLOWEST = dataclasses.replace(SLOW, burst_size=4, burst_interval_ms=40_000, max_buffers=2)
FOUR = dataclasses.replace(TERMS, max_buffers=4)
TWO = dataclasses.replace(SLOW, max_buffers=2)
SUMMED = dataclasses.replace(TERMS, data_checksum=True)
LARGE = dataclasses.replace(TERMS, buffer_size=81_000, packet_size=9_000)
NAMED = dataclasses.replace(TERMS, client_string="n" * 104)

FAULTS = (
    "in-the-dally-messages-are-not-read",
    "a-second-request-hides-lower-packets",
    "interval-has-a-sign",
    "an-empty-ldata-has-no-checksum",
    "second-held-go-waits",
    "a-null-ack-with-another-pair-acknowledges-nothing",
    "a-foreign-response-ends-the-repetition-of-open",
    "a-long-string-fills-its-field-without-nul",
    "ok-for-unsent-believed",
    "data-taken-in-16-bits",
    "second-connection-accepted-and-not-served",
)
OTHERS = (  # that do not fit beside FAULTS
    "in-the-dally-null-ack-names-the-newest-ok",
    "request-of-a-waiting-packet-counts-twice",
    "dally-ignores-the-timer-of-repeated-oks",
    "keepalives-defer-the-data-timer",
    "keepalive-ends-opens",
)
BEYOND = ["go", "control", WAIT, "ok-beyond 0"]
TWICE = ["go", "control", "lose 4", WAIT, "resend-twice 0 2"]


@pytest.fixture(scope="module")
def wrong(tmp_path_factory: pytest.TempPathFactory, built_library: Path) -> SimLinkFactory:
    """It has all of FAULTS."""
    del built_library
    return with_faults(tmp_path_factory.mktemp("rare"), *FAULTS)


@pytest.fixture(scope="module")
def wrong_otherwise(tmp_path_factory: pytest.TempPathFactory, built_library: Path) -> SimLinkFactory:
    """It has all of OTHERS."""
    del built_library
    return with_faults(tmp_path_factory.mktemp("rare"), *OTHERS)


def passes(played: Played) -> bool:
    return played.verdict is Verdict.PASS


@pytest.mark.parametrize(
    ("role", "moves", "requirement", "terms", "length"),
    [
        # The last OK arrives before a request that was sent first: the dally begins with a hole.
        ("passive-sender", BEYOND, "CLOSE-03", TERMS, 96),
        ("active-sender", TWICE, "RESEND-02", SLOW, 192),
        ("passive-sender", ["go", "go", "control", WAIT], "RATE-01", SLOWEST, 3 * 192),
        ("passive-sender", ["go", "control", WAIT], "CKSUM-04", SUMMED, 0),
        ("active-sender", ["gos-late 4"], "", FOUR, 4 * FOUR.buffer_size),
        # The tester takes a slower pair than the first OK offers.
        ("passive-receiver", [WAIT, "ack 1", "data 0 0 1", WAIT, "restrict 1 20", "ack 2"], "CTRL-05", TERMS, 2 * 96),
        ("passive-sender", [], "WIRE-07", NAMED, 96),
        ("passive-sender", ["go", "go", "control", "wait 1000", "bad.unsent-ok 0"], "ROBUST-07", TWO, 4 * 192),
        ("active-sender", [], "DATA-08", LARGE, 81_000),
    ],
)
def test_a_move_finds_its_fault(
    factory: SimLinkFactory,
    wrong: SimLinkFactory,
    role: str,
    moves: list[str],
    requirement: str,
    terms: Parameters,
    length: int,
) -> None:
    found = replayed(wrong, role, *moves, iut=terms, length=length)
    assert requirement in [name for name, _ in found.faults]
    good = replayed(factory, role, *moves, iut=terms, length=length)
    assert passes(good)
    assert [str(one) for one in good.done] == moves


@pytest.mark.parametrize(
    ("role", "moves", "requirement"),
    [
        ("passive-sender", BEYOND, "CTRL-07"),
        ("passive-sender", TWICE, "RESEND-02"),
        ("passive-receiver", [WAIT, "ack 1", "data 0 0 1 2", "chatter 0"], "TIMER-07"),
    ],
)
def test_another_move_finds_its_fault(
    factory: SimLinkFactory, wrong_otherwise: SimLinkFactory, role: str, moves: list[str], requirement: str
) -> None:
    found = replayed(wrong_otherwise, role, *moves, iut=SLOW, length=SLOW.buffer_size)
    assert requirement in [name for name, _ in found.faults]
    good = replayed(factory, role, *moves, iut=SLOW, length=SLOW.buffer_size)
    assert passes(good)
    assert [str(one) for one in good.done] == moves


@pytest.mark.parametrize("role", ["active-sender", "active-receiver"])
def test_an_open_is_repeated_when_packets_of_an_earlier_connection_came(
    factory: SimLinkFactory, wrong: SimLinkFactory, wrong_otherwise: SimLinkFactory, role: str
) -> None:
    """A RESPONSE ends the repetition in one, a KEEPALIVE in the other."""
    for implementation in (wrong, wrong_otherwise):
        found = replayed(implementation, role, opening="foreign-lost 3")
        assert "OPEN-10" in [name for name, _ in found.faults]
    assert passes(replayed(factory, role, opening="foreign-lost 3"))


def test_a_connection_on_the_ports_of_an_earlier_one_is_served(factory: SimLinkFactory, wrong: SimLinkFactory) -> None:
    found = replayed(wrong, "passive-sender", length=96)
    assert "DEMUX-04" in [name for name, _ in found.faults]
    assert passes(replayed(factory, "passive-sender", length=96))


def test_done_does_not_change_the_outcome(factory: SimLinkFactory, tmp_path: Path) -> None:
    found = replayed(with_faults(tmp_path, "done-is-a-failure"), "passive-sender", length=96)
    assert [name for name, _ in found.faults] == ["CLOSE-02"]
    assert passes(replayed(factory, "passive-sender", length=96))


def test_a_dally_that_ignores_a_longer_timer_is_a_warning(
    factory: SimLinkFactory, wrong_otherwise: SimLinkFactory
) -> None:
    """Whether a repeated OK prolongs the dally is open (AMB-44)."""
    moves = ["done-lost 5", "go", "control", WAIT]
    found = replayed(wrong_otherwise, "passive-sender", *moves, length=96)
    assert found.verdict is Verdict.WARN
    assert [name for name, _ in found.warnings("CLOSE-04")] == ["CLOSE-04"]
    assert passes(replayed(factory, "passive-sender", *moves, length=96))


def test_parts_of_a_queue_come_in_either_order_where_no_control_held_so_much(factory: SimLinkFactory) -> None:
    """AMB-33: a queue that has come whole is not cut any more."""
    new = replayed(factory, "passive-sender", "go", "go", "parts 1", iut=FOUR, length=2 * 96)
    assert [str(one) for one in new.done] == ["go", "go", "parts 1"]
    assert passes(new)
    old = replayed(factory, "passive-sender", "go", "go", "control", "parts 1", iut=FOUR, length=2 * 96)
    assert [str(one) for one in old.done] == ["go", "go", "control"]


@pytest.mark.parametrize(
    ("role", "moves"),
    [
        ("active-sender", ["go", "control"]),
        ("passive-sender", ["go", "control"]),
        ("active-sender", ["bad.response.death_timer_s 378 65535"]),
    ],
)
def test_a_sender_may_end_an_empty_transfer_by_quit(
    role: str, moves: list[str], tmp_path: Path, built_library: Path
) -> None:
    """AMB-41."""
    del built_library
    quits = with_faults(tmp_path, "an-empty-transfer-is-quit")
    played = replayed(quits, role, *moves, length=0)
    assert passes(played)
    assert Type.QUIT in [packets.read(frame.packet[IP_BYTES:]).type for frame in played.capture.frames]


@pytest.mark.parametrize("role", ["active-sender", "passive-sender", "active-receiver", "passive-receiver"])
def test_the_reference_transfers_nothing(factory: SimLinkFactory, role: str) -> None:
    assert passes(replayed(factory, role, length=0))


def test_a_control_timer_that_has_grown_stays_so_when_a_new_message_comes(factory: SimLinkFactory) -> None:
    """AMB-44. The request leaves at once, in the middle of a wait that is longer than twenty seconds."""
    patient = dataclasses.replace(SLOW, buffer_size=4160, packet_size=16, burst_size=2, burst_interval_ms=300,
                                  max_buffers=8, death_timer_s=4295)  # fmt: skip
    moves = ["wait 60000", "ack 1", "quit-late 0"]
    assert passes(replayed(factory, "passive-receiver", *moves, iut=patient, length=4160))


def test_no_second_request_is_sent_before_an_ok_that_arrives_early(factory: SimLinkFactory) -> None:
    """RESEND-06: one request for the buffer waits already."""
    moves = ["go", "control", "wait 60000", "resend-soon 0 3", WAIT, "ok-beyond 0"]
    played = replayed(factory, "passive-sender", *moves, iut=SLOW, length=SLOW.buffer_size)
    assert passes(played)
    assert [str(one) for one in played.done] == moves[:-1]


def test_keepalives_come_as_long_as_a_data_timer_may_run(factory: SimLinkFactory) -> None:
    """TIMER-09: the packets of the other buffers come at the same slow pace."""
    terms = dataclasses.replace(TWO, buffer_size=384, burst_interval_ms=60_000, death_timer_s=60)
    moves = [WAIT, "ack 1", WAIT, "ack 2", "data 0 0 1 2", "chatter 0"]
    played = replayed(factory, "passive-receiver", *moves, iut=terms, length=2 * terms.buffer_size)
    assert passes(played)
    assert [str(one) for one in played.done] == moves


def test_a_dally_may_follow_the_longest_control_timer_that_an_ok_has_published(factory: SimLinkFactory) -> None:
    """AMB-53: the OK of the last buffer has a longer timer than the one before, and overtakes it."""
    moves = ["go", "go", "control", WAIT, "publish 500", "ok 0", "publish 65535", "ok-beyond 1", "done-lost 0"]
    played = replayed(factory, "active-sender", *moves, iut=FOUR, length=2 * FOUR.buffer_size)
    assert passes(played)
    assert [str(one) for one in played.done] == moves


def test_a_data_timer_may_follow_the_pace_that_the_sender_reports(factory: SimLinkFactory) -> None:
    """NEG-09: the tester makes bursts of one packet of an offer of forty."""
    terms = dataclasses.replace(TWO, buffer_size=384, burst_size=40, burst_interval_ms=40_000, death_timer_s=60)
    moves = [WAIT, "ack 1", WAIT, "ack 2", "data 0 0 1 2 3 4 5 6 7", "restrict 1 20", "wait 1000", "ack 3"]
    moves += [WAIT, "ack 4", "data 1 0 1", "chatter 1"]
    played = replayed(factory, "passive-receiver", *moves, iut=terms, length=3 * terms.buffer_size)
    assert passes(played)
    assert "chatter 1" in [str(one) for one in played.done]


@pytest.mark.parametrize(
    ("role", "slower"), [("passive-sender", "offer 1 20"), ("passive-receiver", "restrict 1 20")], ids=str
)
def test_no_pace_is_made_so_slow_that_a_transfer_takes_hours(factory: SimLinkFactory, role: str, slower: str) -> None:
    """2,000 packets, one in 40 s: the script would take minutes, KEEPALIVE by KEEPALIVE."""
    terms = Parameters(buffer_size=16_000, packet_size=16, burst_size=300, burst_interval_ms=40_000, death_timer_s=60)
    for packets_of_a_buffer, expected in ((1000, []), (10, [slower])):
        iut = dataclasses.replace(terms, buffer_size=packets_of_a_buffer * terms.packet_size)
        played = replayed(factory, role, slower, iut=iut, length=2 * iut.buffer_size)
        assert passes(played)
        assert [str(one) for one in played.done] == expected


def test_a_sender_may_wait_for_the_repetition_of_what_came_before_its_turn(tmp_path: Path, built_library: Path) -> None:
    """RFC 998 5.2.1: "ideally" it keeps control messages that are out of sequence."""
    del built_library
    forgetful = with_faults(tmp_path, "nothing-taken-behind-a-hole")
    played = replayed(forgetful, "passive-sender", "gos-late 4", iut=FOUR, length=4 * FOUR.buffer_size)
    assert ([str(one) for one in played.done], played.faults) == (["gos-late 4"], [])


def test_some_scripts_have_packets_of_more_than_a_byte_and_buffers_of_more_than_16_bits() -> None:
    chance = random.Random(1)
    sizes = [(one.iut.packet_size, one.iut.buffer_size) for one in (script.begin(chance) for _ in range(1000))]
    assert any(0xFF < packet_size <= 1456 for packet_size, _ in sizes)
    assert any(buffer_size > 0xFFFF for _, buffer_size in sizes)
