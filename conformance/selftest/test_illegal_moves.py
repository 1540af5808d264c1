# SPDX-License-Identifier: GPL-2.0-or-later
"""Illegal moves of generated peers: which packets they are, what may follow, and scripts as cases of a run."""

from __future__ import annotations

import json
import random
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from netblt_conformance.cases.probe import probe
from netblt_conformance.common.model import ALL_ROLES, ROLES_BY_NAME
from netblt_conformance.common.verdicts import Verdict
from netblt_conformance.generated import fields, play, script
from netblt_conformance.generated.moves import Choice
from netblt_conformance.generated.play import Played
from netblt_conformance.generated.script import Script, move
from netblt_conformance.links.sim import SimLinkFactory
from netblt_conformance.packets import packets
from netblt_conformance.packets.packets import Forge, Kind, Message, Packet, Type
from selftest.small_scripts import TERMS, WAIT, replayed, with_faults

if TYPE_CHECKING:
    from selftest.conftest import Command

SCRIPTS = 100
FORGE = Forge(2, 1000, 2000)


def done(result: Played) -> list[str]:
    return [str(one) for one in result.done]


@pytest.fixture(scope="module")
def invented(factory: SimLinkFactory) -> list[Played]:
    """The reference against scripts with illegal moves."""
    profiles = {role: probe(factory, role, 1)[0] for role in ALL_ROLES}
    found, seen = [], play.Chosen()
    for number in range(SCRIPTS):
        chance = random.Random(f"illegal {number}")
        one = script.begin(chance)
        found.append(play.invent(one, factory, profiles[one.role], chance, seen, illegal=True))
    return found


# ---- fields ----

DATA = FORGE.data(Packet(b"", type=Type.DATA, buffer=5, packet=1, high_seq=3, data=bytes(48)))
NO_PADDING = bytes(5)
RESEND = FORGE.control([Message(Kind.RESEND, 7, 5, packets=(1,))])


@pytest.mark.parametrize(
    ("packet", "base", "changes", "named", "value"),
    [
        (DATA, "data", {"buffer": 2**32 - 1}, "buffer", 4),
        (DATA, "data", {"packet": 255}, "packet", 256),
        (DATA, "data", {"flags": 2}, "flags", 2),
        (DATA, "data", {"version": 5}, "version", 5),
        (DATA, "data", {fields.LDATA: 1}, "type", Type.LDATA),
        (DATA, "data", {fields.BYTES: -4}, "length", len(DATA) - 4),
        (DATA, "data", {"local_port": 0xFFFF}, "local_port", 999),
        (RESEND, "resend", {"seq": 5}, "messages", (Message(Kind.RESEND, 12, 5, packets=(1,), padding=NO_PADDING),)),
        (RESEND, "resend", {"entry": 20}, "messages", (Message(Kind.RESEND, 7, 5, packets=(21,), padding=NO_PADDING),)),
        (RESEND, "resend", {"kind": 3}, "messages", ()),
    ],
)  # fmt: skip
def test_a_changed_field_has_the_header_checksum_that_is_right_for_it(
    packet: bytes, base: str, changes: dict[str, int], named: str, value: object
) -> None:
    found = packets.read(fields.changed(packet, base, changes))
    assert getattr(found, named) == value
    assert found.checksum_good


def test_every_field_of_a_base_is_in_its_packets(invented: list[Played]) -> None:
    tried = Counter(one.name for result in invented for one in result.done)
    bases = {name.split(".")[1] for name in tried if name.startswith(script.ILLEGAL_PREFIX)}
    assert bases >= fields.BASES.keys(), "a base is never used"
    changed = {word for name in tried for word in name.split(".")[2:]}
    names = {word for words in changed for word in words.split("+")}
    assert names >= {
        "version",
        "type",
        "local_port",
        "source",
        "seq",
        "buffer",
        "packet",
        "count",
        "unique_id",
        "bytes",
    }


# ---- what is illegal ----


@pytest.mark.parametrize(
    ("role", "before", "legal"),
    [
        ("passive-receiver", WAIT, "bad.data.flags 0 2"),  # a receiver ignores reserved bits, and stores what comes
        ("passive-receiver", WAIT, "bad.data.ldata 0 1"),  # it may be the last packet
        ("passive-receiver", WAIT, "bad.data.high_seq 0 0"),  # unchanged
        ("passive-receiver", "keepalive", "bad.data.packet 0 20"),  # no GO came: there is no buffer
        ("passive-sender", "go", "bad.go.buffer 0 70000"),  # a GO may skip buffers (AMB-47)
        ("passive-sender", "go", "bad.go.bytes 0 4"),  # the whole message before the rest may be acted upon
        ("passive-sender", "go", "bad.resend.seq 0 65535"),  # not known to be acknowledged
        ("passive-sender", "go", "bad.nonsense 0"),
        ("passive-sender", "go", "bad.go.packet 0 1"),
        ("passive-sender", "go", "bad.go.seq 0"),
    ],
)
def test_a_change_after_which_the_packet_is_legal_is_left_out(
    factory: SimLinkFactory, role: str, before: str, legal: str
) -> None:
    assert done(replayed(factory, role, before, legal)) == [before]


@pytest.mark.parametrize(
    ("role", "moves"),
    [
        # Data of no buffer, outside of it, of a wrong size, from another port and host, and of a damaged content.
        ("passive-receiver", ["bad.data.buffer 0 70000", "bad.data.packet 0 20", "bad.data.bytes 0 8"]),
        ("active-receiver", ["bad.data.local_port 0 1", "bad.data.source 0 1", "bad.type 1"]),
        # A number that was acknowledged with another content, one beyond a hole, an unreadable message.
        ("passive-sender", ["bad.go.seq 0 65535", "bad.resend.buffer+seq 0 70000 20000", "bad.resend.count 0 3"]),
        # Requests for what does not exist, acknowledged and ignored; DONE in the middle; a message cut short.
        ("active-sender", ["bad.resend.entry 0 255", "bad.type 5", "bad.go.bytes 0 -4"]),
        ("active-sender", ["bad.response.unique_id 0 1", "bad.response.burst_size 0 65535", "bad.copy.version 0 5"]),
        ("passive-sender", ["bad.open.unique_id 0 1", "bad.open.local_port 0 1", "bad.short.length 0 11"]),
    ],
)
def test_a_transfer_survives_packets_that_must_have_no_effect(
    factory: SimLinkFactory, role: str, moves: list[str]
) -> None:
    begin = ["go", "control", "wait 20000"] if "sender" in role else [WAIT, "ack 1"]
    result = replayed(factory, role, *begin, *moves)
    assert done(result) == [*begin, *moves]
    assert (result.verdict, result.faults) == (Verdict.PASS, [])


@pytest.mark.parametrize(
    ("variant", "illegal"),
    [
        ("copy-of-an-open-with-another-version-aborted", "bad.open.packet_size+version 383 1 255"),
        ("openings-without-a-string-dropped", "bad.open.length+unique_id 116 65532 4294967295"),
    ],
)
@pytest.mark.usefixtures("built_library")
def test_an_open_with_another_header_may_be_of_another_connection_or_be_dropped(
    tmp_path: Path, variant: str, illegal: str
) -> None:
    result = replayed(with_faults(tmp_path, variant), "passive-receiver", illegal)
    assert done(result) == [illegal]
    assert (result.verdict, result.faults) == (Verdict.PASS, [])


def test_an_abort_that_answers_an_impossible_packet_is_a_warning(factory: SimLinkFactory) -> None:
    """AMB-48, AMB-71: an OK for a buffer that was never sent."""
    result = replayed(factory, "passive-sender", "go", "control", "bad.early-ok 0", "go")
    assert done(result) == ["go", "control", "bad.early-ok 0"], "the connection is over"
    assert [name for name, _ in result.warnings("ROBUST-07")] == ["ROBUST-07"]
    assert result.faults == []


def test_after_a_packet_that_could_be_true_only_a_false_success_fails(factory: SimLinkFactory) -> None:
    """A receiver may believe the acknowledgement of a GO that was lost: then it is not repeated."""
    result = replayed(factory, "passive-receiver", "lose 4", WAIT, "bad.null-ack.high_seq 0 20000")
    assert (len(result.done), result.faults) == (3, [])


# ---- whole scripts ----


def test_the_reference_fails_no_script_with_illegal_moves(factory: SimLinkFactory, invented: list[Played]) -> None:
    assert [(number, one.faults) for number, one in enumerate(invented) if one.faults] == []
    for one in invented[:10]:
        again = play.replay(one.script, factory, probe(factory, one.script.role, 1)[0])
        assert [frame.packet for frame in again.capture.frames] == [frame.packet for frame in one.capture.frames]


@pytest.fixture(scope="module")
def wrong(tmp_path_factory: pytest.TempPathFactory, built_library: Path) -> SimLinkFactory:
    """It stores data from any port, takes DONE in the middle for success, answers each KEEPALIVE, and refuses
    reserved bits."""
    del built_library
    names = (
        *("data-from-any-port", "premature-done-believed", "stray-keepalive-answered"),
        *("reserved-flags-refused", "response-reserved-refused"),
    )
    return with_faults(tmp_path_factory.mktemp("wrong"), *names)


@pytest.mark.parametrize(
    ("role", "moves", "requirement"),
    [
        ("passive-receiver", [WAIT, "ack 1", "bad.data.local_port 0 1"], "DATA-08"),  # what is delivered is wrong
        ("passive-sender", ["go", "control", "wait 20000", "bad.type 5"], "ROBUST-07"),
        ("passive-sender", ["keepalive", "bad.copy.local_port 0 1"], "DEMUX-03"),
    ],
)
def test_an_effect_that_an_illegal_packet_must_not_have_fails(
    wrong: SimLinkFactory, factory: SimLinkFactory, role: str, moves: list[str], requirement: str
) -> None:
    assert done(replayed(wrong, role, *moves)) == moves
    assert requirement in [name for name, _ in replayed(wrong, role, *moves).faults]
    assert replayed(factory, role, *moves).faults == []


# ---- scripts as cases of a run ----


def test_a_script_is_a_case_of_a_run(command: Command, wrong: SimLinkFactory, tmp_path: Path) -> None:
    moves = tuple(move(text) for text in ("go", "control", "wait 20000", "bad.type 5"))
    one = Script(ROLES_BY_NAME["passive-sender"], 1, 192, TERMS, TERMS, moves=moves, requirements=("ROBUST-07",))
    path, report = tmp_path / "script.7.toml", tmp_path / "report"
    path.write_text(one.text("DONE in the middle"), encoding="utf-8")
    assert script.load(path) == one
    words = ("run", "--script", str(path), "--report", str(report))
    failed = command(*words, "--iut-library", str(wrong.subject))
    assert failed.status == 1, failed.output + failed.errors
    rows = [json.loads(line) for line in (report / "results.jsonl").read_text(encoding="utf-8").splitlines()[1:]]
    [row] = [row for row in rows if row["origin"] == "case"]
    assert (row["case"], row["verdict"], row["requirements"]) == ("script_7", "FAIL", ["ROBUST-07"])
    assert (report / row["capture"]).stat().st_size > 500
    assert "success was reported" in (report / "report.html").read_text(encoding="utf-8")
    passed = command(*words)
    assert passed.status == 0, passed.output + passed.errors


def test_a_script_that_cannot_be_a_case_is_refused(command: Command, tmp_path: Path) -> None:
    one = Script(ROLES_BY_NAME["passive-sender"], 1, 192, TERMS, TERMS, requirements=("NOT-01",))
    path = tmp_path / "script.toml"
    path.write_text(one.text(), encoding="utf-8")
    refused = command("run", "--script", str(path))
    assert (refused.status, "NOT-01" in refused.errors) == (2, True)
    missing = command("run", "--script", str(tmp_path / "none.toml"))
    assert (missing.status, "none.toml" in missing.errors) == (2, True)


# ---- openings ----


@pytest.mark.parametrize(
    ("role", "opening"),
    [("active-sender", "reserved"), ("passive-receiver", "reserved"), ("passive-sender", "endless 1")],
)
def test_the_reference_reads_openings_that_no_conforming_peer_sends(
    factory: SimLinkFactory, role: str, opening: str
) -> None:
    """Reserved bits are ignored (ROBUST-04), and nothing is read beyond a packet (ROBUST-05)."""
    one = Script(ROLES_BY_NAME[role], 1, 192, TERMS, TERMS, opening=(move(opening),))
    result = play.replay(one, factory, probe(factory, one.role, 1)[0])
    assert result.verdict is Verdict.PASS, result.faults


@pytest.mark.parametrize("role", ["passive-receiver", "active-sender"])
def test_an_end_that_refuses_reserved_bits_is_reported(wrong: SimLinkFactory, role: str) -> None:
    one = Script(ROLES_BY_NAME[role], 1, 192, TERMS, TERMS, opening=(move("reserved"),))
    result = play.replay(one, wrong, probe(wrong, one.role, 1)[0])
    assert [rule for rule, _ in result.warnings("ROBUST-04")] == ["ROBUST-04"]


@pytest.mark.parametrize("opening", ["reserved", "endless 1", "padded", "steps 1"])
def test_the_plugin_does_not_judge_a_script_whose_opening_is_illegal(opening: str) -> None:
    """It would report the tester."""
    one = Script(ROLES_BY_NAME["passive-sender"], 1, 192, TERMS, TERMS, opening=(move(opening),))
    assert one.has_illegal_moves


def test_illegal_scripts_open_with_illegal_fields_more_often() -> None:
    scripts = [script.begin(random.Random(number), illegal=True) for number in range(400)]
    names = Counter(one.opening[0].name for one in scripts if one.opening)
    assert names.keys() >= {"foreign", "zero", "loose", "reserved", "endless", "padded", "steps"}
    assert names.total() > len(scripts) // 4


def test_a_change_that_was_seldom_made_is_wanted_more() -> None:
    """Beside one that was made a thousand times; all illegal moves together are wanted as before."""
    seen, often, seldom = play.Chosen(), move("bad.data.flags 3 2"), move("bad.data.flags 5 1")
    seen.changes["bad.data.flags", (2,)] = 999
    first, second = seen.illegal_weights([Choice(often, 1.0), Choice(seldom, 1.0)])
    assert second > 500 * first
    assert first + second == pytest.approx(2.0)
