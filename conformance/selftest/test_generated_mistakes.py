# SPDX-License-Identifier: GPL-2.0-or-later
"""Mistakes of the script generator itself: those that the Wireshark plugin finds are reported, kept and played again,
and legal behaviour is not reported."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, cast

import pytest
from netblt_conformance.cases.probe import probe
from netblt_conformance.commands import cli
from netblt_conformance.common.model import ROLES_BY_NAME, Parameters
from netblt_conformance.generated import measure, play, script
from netblt_conformance.generated.campaign import OWN_MISTAKE
from netblt_conformance.generated.script import Script, move
from netblt_conformance.generated.second import violations
from netblt_conformance.generated.sending import SendingPlayer
from netblt_conformance.links.sim import SimLinkFactory
from netblt_conformance.packets import packets
from netblt_conformance.packets.packets import Type
from netblt_conformance.peer import SenderPeer
from selftest.faulty import faulty_library
from selftest.small_scripts import TERMS, WAIT, replayed, with_faults

if TYPE_CHECKING:
    from netblt_conformance.judges.findings import Finding
    from netblt_conformance.judges.tshark import Tshark

SCRIPTS = 30
IP_BYTES = 20  # of the header before a packet
VARIANT = "offers-half-the-burst"


@pytest.fixture(scope="module")
def offering(tmp_path_factory: pytest.TempPathFactory, built_library: Path) -> Path:
    """The legal variant that offers slower bursts in its OKs."""
    del built_library
    return faulty_library(tmp_path_factory.mktemp("offering"), VARIANT)


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tester that ignores the bursts that OKs offer (NEG-09)."""

    def agreed(peer: SenderPeer, _ack: int | None = None) -> tuple[int, int]:
        return peer.terms.burst_size, peer.terms.burst_interval_ms

    monkeypatch.setattr(SenderPeer, "pace", agreed)


def generate(library: Path, folder: Path) -> int:
    words = ("--count", str(SCRIPTS), "--role", "passive-receiver", "--output", str(folder), "-j", "1")
    return cli.main(["generate", "--iut-library", str(library), *words])


def test_no_mistake_of_the_generator_is_found_beside_slower_offers(offering: Path, tmp_path: Path) -> None:
    assert generate(offering, tmp_path) == 0
    assert list(tmp_path.iterdir()) == []


def test_a_mistake_of_the_generator_is_kept_with_its_capture_and_shown_when_played(
    offering: Path, tmp_path: Path, hasty: None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    del hasty
    assert generate(offering, tmp_path) == 2
    output = capsys.readouterr().out
    path, *_ = sorted(tmp_path.glob("generator-mistake.*.toml"))
    command = f"netblt-conformance play {path} --iut-library {offering}"
    assert (OWN_MISTAKE in output, f"play it again: {command}\n" in output) == (True, True), output
    assert ("NEG-09" in path.read_text(encoding="utf-8"), script.load(path).requirements) == (True, ())
    assert path.with_suffix(".pcapng").stat().st_size > 500
    assert not list(tmp_path.glob("script.*")), "no failure of the implementation"
    assert cli.main(command.split()[1:]) == 2
    assert f"ERROR  {path}" in capsys.readouterr().out
    monkeypatch.undo()
    assert cli.main(command.split()[1:]) == 0


def test_an_exception_of_the_suite_is_kept_with_its_script_and_the_others_go_on(
    built_library: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def breaks(_player: SendingPlayer, _move: script.Move) -> bool:
        raise ZeroDivisionError("a size of 0")

    monkeypatch.setattr(SendingPlayer, "play", breaks)
    assert generate(built_library, tmp_path) == 2
    output = capsys.readouterr().out
    assert f"{SCRIPTS} scripts" in output
    path = min(tmp_path.glob("generator-mistake.*.toml"))
    assert "ZeroDivisionError: a size of 0 (test_generated_mistakes.py, line" in path.read_text(encoding="utf-8")
    assert cli.main(["play", str(path), "--no-dissector", "--iut-library", str(built_library)]) == 2
    monkeypatch.undo()
    assert cli.main(["play", str(path), "--no-dissector", "--iut-library", str(built_library)]) == 0


def test_no_buffer_is_begun_beyond_the_agreed_number_whatever_gos_come(built_library: Path, tmp_path: Path) -> None:
    """DATA-12 binds the tester as well, where an implementation gives one GO too many (AMB-29)."""
    del built_library
    library = faulty_library(tmp_path, "one-go-too-many")
    words = ("--count", "60", "--role", "passive-receiver", "--output", str(tmp_path / "found"), "-j", "1")
    assert cli.main(["generate", "--iut-library", str(library), *words]) == 0


def test_the_sentences_of_a_failure_are_those_of_the_script_that_is_kept(
    tmp_path: Path, built_library: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The shrunk script, which shows less than the one that was found."""
    del built_library
    library, found = faulty_library(tmp_path, "no-null-ack"), tmp_path / "found"
    words = ("--count", "3", "--seed", "4", "--role", "passive-sender", "--no-dissector", "-j", "1")
    assert cli.main(["generate", "--iut-library", str(library), "--output", str(found), *words]) == 1
    path = min(found.glob("script.*.toml"))
    capsys.readouterr()
    assert cli.main(["play", str(path), "--no-dissector", "--iut-library", str(library)]) == 1
    played = [line.strip() for line in capsys.readouterr().out.splitlines()[2:]]
    kept = [line.removeprefix("# ") for line in path.read_text(encoding="utf-8").splitlines() if line.startswith("#")]
    assert " ".join(played) in " ".join(kept)


def test_a_mistake_beside_a_legal_variant_does_not_count_as_accepted_and_can_be_played_again(
    built_library: Path, hasty: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    del built_library, hasty
    assert measure.variants([VARIANT], SCRIPTS, 1, 1, output=tmp_path) == 1
    output = capsys.readouterr().out
    assert f"{VARIANT}  script" in output
    assert OWN_MISTAKE in output
    [words] = re.findall(r"play it again: netblt-conformance (.*)", output)
    assert cli.main(words.split()) == 2
    assert "NEG-09" in output
    assert "NEG-09" in capsys.readouterr().out


def test_damaged_data_have_the_numbers_that_the_implementation_uses(tmp_path: Path, built_library: Path) -> None:
    """AMB-10: the fields of a packet whose data are damaged can be read, and are those of the packet that was meant."""
    del built_library
    factory, terms = with_faults(tmp_path, "packets-from-1"), replace(TERMS, data_checksum=True)
    result = replayed(factory, "passive-receiver", WAIT, "data-damaged 0 0 5", "data 0 1", iut=terms)
    sent = [packets.read(frame.packet[IP_BYTES:]) for frame in result.capture.frames if frame.sent]
    assert {packet.packet for packet in sent if packet.is_data} == {1, 2}
    assert (len(result.done), result.faults) == (3, [])


def test_damaged_data_keep_the_pace(built_library: Path) -> None:
    """RATE-02 counts a packet whose data are damaged: it was sent."""
    terms = replace(TERMS, data_checksum=True, burst_size=1, burst_interval_ms=100)
    moves = (WAIT, "data 0 1", "data-damaged 0 0 5")
    result = replayed(SimLinkFactory(built_library), "passive-receiver", *moves, iut=terms)
    assert len(result.done) == len(moves)
    first, second, *_ = [
        frame.time_us for frame in result.capture.frames if frame.sent and packets.read(frame.packet[IP_BYTES:]).is_data
    ]
    assert second - first >= 100_000


def test_a_control_that_is_repeated_after_the_dally_needs_no_acknowledgement(built_library: Path) -> None:
    """The sender may have closed (CLOSE-05)."""
    factory, role = SimLinkFactory(built_library), ROLES_BY_NAME["passive-sender"]
    one = script.from_text(
        """
        layout = 1
        role = "passive-sender"
        seed = 1572096457
        length = 68
        opening = ["elsewhere"]
        iut = { buffer_size = 68, packet_size = 17, burst_size = 16, max_buffers = 4, burst_interval_ms = 1, \
                death_timer_s = 3 }
        own = { buffer_size = 68, packet_size = 17, burst_size = 16, max_buffers = 4, burst_interval_ms = 1, \
                death_timer_s = 3 }
        moves = ["go", "control", "wait 400000", "ok 0", "control", "wait 1200000", "wait 600000", "repeat"]
        """.replace("\\\n", "")
    )
    result = play.replay(one, factory, probe(factory, role, 1)[0])
    assert (result.done[-1].name, result.faults) == ("repeat", [])


def test_the_parts_of_a_queue_that_is_repeated_are_no_answers_to_keepalives(
    tmp_path: Path, built_library: Path
) -> None:
    """512 GOs in CONTROLs of 64 bytes: more of these than answers that would be no coincidence (TIMER-12)."""
    del built_library
    factory, role = SimLinkFactory(faulty_library(tmp_path, "small-controls")), ROLES_BY_NAME["passive-receiver"]
    terms = Parameters(buffer_size=48, packet_size=48, burst_size=2, burst_interval_ms=300, max_buffers=512)
    moves = (move("data 0 0"), move("storm 1"))
    one = Script(role, 1, 96, terms, terms, openings_lost=2, moves=moves)
    result = play.replay(one, factory, probe(factory, role, 1)[0])
    assert (list(result.done), result.faults) == (list(moves), [])


def test_what_a_resend_requests_beyond_the_end_of_a_buffer_is_served_with_the_rest(built_library: Path) -> None:
    """The receiver has seen one damaged packet and no LDATA: it requests as many packets as its sizes permit. The OK is
    lost, and the tester has nothing more to retransmit when it ends the transfer (CTRL-09, DATA-13)."""
    factory, role = SimLinkFactory(built_library), ROLES_BY_NAME["active-receiver"]
    terms = Parameters(
        buffer_size=89, packet_size=17, burst_size=4, max_buffers=1, burst_interval_ms=10, data_checksum=True
    )
    names = ("wait 60000", "data-damaged 0 1 345", "ack 1", "wait 1200000", "data 0 0 1 2 3", "lose 1", "wait 20000")
    moves = tuple(move(name) for name in names)
    result = play.replay(Script(role, 1, 61, terms, terms, moves=moves), factory, probe(factory, role, 1)[0])
    sent = [packets.read(frame.packet[IP_BYTES:]) for frame in result.capture.frames if frame.sent]
    assert (list(result.done), result.faults) == (list(moves), [])
    assert [one.packet for one in sent if one.type in (Type.DATA, Type.LDATA)] == [1, 0, 1, 2, 3]


@pytest.mark.parametrize("name", ["active-receiver", "passive-receiver"])
def test_a_tester_whose_next_burst_is_far_away_shows_by_other_packets_that_it_lives(
    name: str, built_library: Path
) -> None:
    """TIMER-10: the burst interval is twice as long as the implementation's death timer."""
    terms = Parameters(buffer_size=54, packet_size=50, burst_size=300, burst_interval_ms=40_000, death_timer_s=20)
    moves = ("trickle 1",)
    result = replayed(SimLinkFactory(built_library), name, *moves, iut=terms, length=109)
    assert ([str(one) for one in result.done], result.faults) == (list(moves), [])


def test_a_transfer_may_end_as_late_as_a_control_timer_that_followed_a_late_acknowledgement(
    built_library: Path,
) -> None:
    """TIMER-03: the GO was acknowledged after more than half an hour, and the CONTROL with the OK was lost twice."""
    terms = Parameters(buffer_size=48, packet_size=12, burst_size=3, burst_interval_ms=47, death_timer_s=4295)
    moves = ("wait 2147500000", "carry 1", "lose 1", "data 0 0 1", "wait 3000000", "lose 2", "wait 859000000", "hush")
    result = replayed(
        SimLinkFactory(built_library),
        "passive-receiver",
        *moves,
        iut=terms,
        own=replace(terms, death_timer_s=40_000),
        length=19,
    )
    assert ([str(one) for one in result.done], result.faults) == (list(moves), [])


def test_a_lost_request_comes_again_as_late_as_a_control_timer_that_followed_a_late_acknowledgement(
    built_library: Path,
) -> None:
    """TIMER-03: the GO was acknowledged after half a minute. Then a request is lost, and the client quits."""
    terms = Parameters(buffer_size=68, packet_size=17, burst_size=6, max_buffers=3, death_timer_s=60)
    moves = ("wait 30000000", "header-damaged 0 3", "lose 2", "carry 1", "data 0 0 1 2", "wait 150000")
    result = replayed(
        SimLinkFactory(built_library),
        "passive-receiver",
        *moves,
        "client-quit-slow 2",
        iut=terms,
        own=replace(terms, death_timer_s=40_000),
        length=203,
    )
    assert ([str(one) for one in result.done], result.faults) == ([*moves, "client-quit-slow 2"], [])


def test_a_dally_may_last_as_long_as_the_death_timer_where_the_field_of_the_control_timer_is_full(
    built_library: Path,
) -> None:
    """AMB-53: the control timer may be longer than an OK can publish."""
    terms = Parameters(buffer_size=256, packet_size=64, death_timer_s=2000)
    moves = ("go", "done-lost 6")
    result = replayed(SimLinkFactory(built_library), "active-sender", *moves, iut=terms, length=256)
    assert ([str(one) for one in result.done], result.faults) == (list(moves), [])


def test_a_transfer_may_take_as_long_as_its_slowest_bursts_need(built_library: Path) -> None:
    """NEG-09: an OK offers bursts of one packet, and their interval stays as agreed."""
    terms = Parameters(buffer_size=594, packet_size=50, burst_size=300, max_buffers=1, burst_interval_ms=40_000)
    moves = ("offer 1 120",)
    result = replayed(SimLinkFactory(built_library), "passive-sender", *moves, iut=terms, length=1239)
    assert ([str(one) for one in result.done], result.faults) == (list(moves), [])


def test_a_transfer_may_take_as_long_as_a_receiver_that_requests_one_packet_at_a_time(
    tmp_path: Path, built_library: Path
) -> None:
    """AMB-32: it knows of one packet more than came, and its data timer goes off before it requests that. The tester
    sends nothing but a damaged packet without a request (AMB-72)."""
    del built_library
    library = faulty_library(tmp_path, "resend-one-beyond")
    terms = Parameters(buffer_size=16_000, packet_size=16, burst_size=8, max_buffers=1, burst_interval_ms=10)
    moves = ("wait 3000", "header-damaged 0 700")
    result = replayed(SimLinkFactory(library), "active-receiver", *moves, iut=terms, length=16_000)
    assert ([str(one) for one in result.done], result.faults) == (list(moves), [])


def test_a_control_timer_may_begin_with_the_time_that_the_response_took(tmp_path: Path, built_library: Path) -> None:
    """TIMER-03, AMB-44: two OPENs are lost, which it repeats after twelve seconds each."""
    del built_library
    library = faulty_library(tmp_path, "opens-twelve-seconds-apart")
    terms = Parameters(buffer_size=101, packet_size=50, burst_size=2, burst_interval_ms=300, death_timer_s=60)
    moves = ("hush",)
    result = replayed(SimLinkFactory(library), "active-receiver", *moves, iut=terms, length=101, openings_lost=2)
    assert ([str(one) for one in result.done], result.faults) == (list(moves), [])


def test_an_end_that_quits_owes_no_keepalives(tmp_path: Path, built_library: Path) -> None:
    """AMB-41: a sender without data quits. It repeats the QUIT after longer and longer intervals (5.3.2)."""
    del built_library
    library = faulty_library(tmp_path, "an-empty-transfer-is-quit")
    terms = Parameters(buffer_size=64, packet_size=64, max_buffers=1, death_timer_s=20)
    moves = ("go", "control", "wait 58000000")
    result = replayed(SimLinkFactory(library), "passive-sender", *moves, iut=terms, length=0)
    assert ([str(one) for one in result.done], result.faults) == (list(moves), [])


def test_an_illegal_packet_does_not_explain_why_a_sender_without_data_quits(
    tmp_path: Path, built_library: Path
) -> None:
    """AMB-41: it quits at the moment at which the illegal packet arrives."""
    del built_library
    library = faulty_library(tmp_path, "an-empty-transfer-is-quit")
    terms = Parameters(buffer_size=64, packet_size=64, death_timer_s=60)
    moves = ("go", "control", "bad.response.length 627 32768", "wait 1200000")
    result = replayed(SimLinkFactory(library), "passive-sender", *moves, iut=terms, length=0)
    assert ([str(one) for one in result.done], result.faults) == (list(moves), [])


def test_a_request_that_is_lost_may_come_as_late_as_the_control_timer_has_grown(built_library: Path) -> None:
    """AMB-44: the first CONTROL is repeated for half an hour before it is acknowledged. The request is lost once."""
    terms = Parameters(buffer_size=4743, packet_size=1000, max_buffers=1, burst_interval_ms=10, death_timer_s=2148)
    own = replace(terms, death_timer_s=60)
    moves = ("hush", "data 0 4", "lose 1", "wait 60000", "chatter 0")
    factory = SimLinkFactory(built_library)
    result = replayed(factory, "passive-receiver", *moves, iut=terms, own=own, length=4743)
    assert ([str(one) for one in result.done], result.faults) == (list(moves), [])


def test_a_transfer_may_end_as_late_as_its_data_timers_have_grown(tmp_path: Path, built_library: Path) -> None:
    """AMB-45: a data timer that doubles. The network loses seven retransmissions before it behaves."""
    del built_library
    library = faulty_library(tmp_path, "data-timers-double-for-long")
    terms = Parameters(buffer_size=102, packet_size=17, burst_size=1, burst_interval_ms=900, death_timer_s=60)
    moves = ("wait 5000", "data 0 0", "ack 1", "wait 12000000", "wait 12000000", "repairs-lost 0 6", "repair-lost 0")
    result = replayed(SimLinkFactory(library), "passive-receiver", *moves, iut=terms, length=120)
    assert ([str(one) for one in result.done], result.faults) == (list(moves), [])


def test_the_captures_of_a_block_are_not_those_of_one_whose_number_begins_alike(tmp_path: Path) -> None:
    class Silent:
        def findings(self, _path: Path, *_options: str, violations: bool) -> list[Finding]:
            assert violations
            return []

    for name in ("block100.100.sender", "block100.sender", "block1000.1000.sender"):
        (tmp_path / f"{name}.pcapng").touch()
    assert list(violations(cast("Tshark", Silent()), tmp_path / "block100")) == []
    assert [path.name for path in tmp_path.iterdir()] == ["block1000.1000.sender.pcapng"]
