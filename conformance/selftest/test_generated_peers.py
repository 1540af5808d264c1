# SPDX-License-Identifier: GPL-2.0-or-later
"""Generated legal peers: scripts as files, which moves are legal when, and that a fault is found and shrunk."""

from __future__ import annotations

import dataclasses
import json
import random
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from netblt_conformance.cases.case import Profile
from netblt_conformance.cases.probe import probe
from netblt_conformance.common import paths
from netblt_conformance.common.model import ALL_ROLES, ROLES_BY_NAME, Role
from netblt_conformance.common.toml_file import TomlError
from netblt_conformance.common.verdicts import Verdict
from netblt_conformance.generated import copies, play, script, summary
from netblt_conformance.generated.moves import STRAYS
from netblt_conformance.generated.play import Played
from netblt_conformance.generated.results import LEGAL, MISSED, Judged, Results
from netblt_conformance.generated.script import Script, move
from netblt_conformance.generated.second import Merged, violations, violations_alone
from netblt_conformance.generated.shrunk import shrunk
from netblt_conformance.generated.summary import Matrix
from netblt_conformance.judges.tshark import Tshark
from netblt_conformance.links.sim import SimLinkFactory
from netblt_conformance.mutants import mutants, subject
from netblt_conformance.mutants.mutants import MutantError
from netblt_conformance.packets import packets
from netblt_conformance.packets.packets import DATA_HEADER_BYTES, Kind, Type
from selftest.faulty import faulty_library, objects
from selftest.small_scripts import TERMS, WAIT, replayed

if TYPE_CHECKING:
    from selftest.conftest import Command, Outcome

SCRIPTS = 200
IP_HEADER_BYTES = 20


def profile(factory: SimLinkFactory, role: Role) -> Profile:
    return probe(factory, role, 1)[0]


def invented(factory: SimLinkFactory, count: int) -> list[Played]:
    profiles = {role: profile(factory, role) for role in ALL_ROLES}
    found, seen = [], play.Chosen()
    for number in range(count):
        chance = random.Random(f"test {number}")
        one = script.begin(chance)
        found.append(play.invent(one, factory, profiles[one.role], chance, seen))
    return found


def played(factory: SimLinkFactory, role: str, *moves: str) -> list[str]:
    """The moves of these that were legal when their turn came."""
    result = replayed(factory, role, *moves)
    assert result.verdict <= Verdict.WARN, result.faults
    return [str(one) for one in result.done]


# ---- files ----


def test_a_script_file_keeps_everything(tmp_path: Path) -> None:
    for number in range(50):
        chance = random.Random(number)
        written = script.begin(chance).with_moves((move("resend 0 1 2"), move("control")))
        path = tmp_path / "script.toml"
        path.write_text(written.text("a reason\nin two lines"), encoding="utf-8")
        assert script.load(path) == written


@pytest.mark.parametrize(
    ("old", "new", "named"),
    [
        ("layout = 1", "layout = 9", "layout"),
        ("passive-sender", "sender", "role"),
        ("packet_size = 48", "packet_size = 0", "packet_size"),
        ("length = 192", "length = -1", "length"),
        ('"control"', '"control x"', "control x"),
        ('"control"', '""', "moves"),
        ("openings_lost", "openings", "openings"),
        ("seed = 1", "seed = ", "line"),
    ],
)
def test_a_bad_script_file_is_refused_with_the_name_of_what_is_wrong(
    tmp_path: Path, old: str, new: str, named: str
) -> None:
    text = Script(ROLES_BY_NAME["passive-sender"], 1, 192, TERMS, TERMS, moves=(move("control"),)).text()
    assert old in text
    path = tmp_path / "script.toml"
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(TomlError, match=named):
        script.load(path)


def test_a_death_timer_of_many_hours_stands_beside_one_that_needs_few_keepalives_only() -> None:
    """A tester that an implementation may outwait for 11 hours keeps it alive for as long."""
    scripts = [script.begin(random.Random(number)) for number in range(3000)]
    beside = {one.iut.death_timer_s for one in scripts if one.own.death_timer_s == 40_000}
    assert len(beside) > 1
    assert min(beside) == 60


# ---- which moves are legal when ----


def test_a_receiver_opens_no_more_buffers_than_agreed(factory: SimLinkFactory) -> None:
    assert played(factory, "passive-sender", "go", "go", "control") == ["go", "control"]


def test_a_receiver_confirms_what_is_complete_and_nothing_else(factory: SimLinkFactory) -> None:
    assert played(factory, "passive-sender", "go", "ok 0", "control", WAIT, "ok 1", "ok 0", "ok 0") == [
        "go",
        "control",
        WAIT,
        "ok 0",
    ]


def test_a_receiver_requests_what_is_missing_when_a_data_timer_can_have_expired(factory: SimLinkFactory) -> None:
    lost = ("lose 1", "go", "control", "wait 20000")
    tried = (*lost, "resend 0 0", WAIT, "resend 0 1", "resend 1 0", "resend 0 0", "resend 0 0")
    assert played(factory, "passive-sender", *tried) == [*lost, WAIT, "resend 0 0"]


def test_a_receiver_sends_no_empty_control(factory: SimLinkFactory) -> None:
    assert played(factory, "active-sender", "control", "go", "control") == ["go", "control"]


def test_a_sender_sends_each_packet_of_a_buffer_with_a_go_once(factory: SimLinkFactory) -> None:
    tried = ("data 0 0", WAIT, "data 1 0", "data 0 0", "data 0 0", "data 0 2", "data 0 1")
    assert played(factory, "passive-receiver", *tried) == [WAIT, "data 0 0", "data 0 1"]


def test_a_sender_retransmits_what_is_requested_once_for_each_request(factory: SimLinkFactory) -> None:
    first = (WAIT, "data 0 1", "ack 1", "wait 1200000", "wait 1200000")
    assert played(factory, "passive-receiver", *first, "data 0 0", "data 0 0") == [*first, "data 0 0"]


def test_a_sender_acknowledges_only_what_came(factory: SimLinkFactory) -> None:
    assert played(factory, "passive-receiver", "ack 1", WAIT, "ack 2", "carry 0", "carry 1", "carry 1") == [
        WAIT,
        "carry 1",
    ]


def test_the_tester_waits_no_longer_than_its_death_timer_allows(factory: SimLinkFactory) -> None:
    assert played(factory, "passive-receiver", "wait 100000000", "wait 0", "nonsense", "lose") == []


def test_nobody_leaves_when_all_data_were_sent(factory: SimLinkFactory) -> None:
    every = (WAIT, "data 0 0 1", "ack 1", WAIT, "ack 3", WAIT, "data 1 0 1")
    done = played(factory, "passive-receiver", *every, "abort")
    assert done[-1] == "data 1 0 1"


def test_a_damaged_copy_differs_where_a_checksum_covers_it() -> None:
    data = bytes((0, 0, 0, Type.DATA, *range(60)))
    for bit in range(600):
        changed = copies.flipped(data, bit, data_summed=False)
        [at] = [n for n in range(len(data)) if changed[n] != data[n]]
        assert at < DATA_HEADER_BYTES, "beyond the header nothing shows it"
    assert {copies.flipped(data, bit, data_summed=True) for bit in range(8 * len(data))} == {
        copies.flipped(data, bit, data_summed=True) for bit in range(16 * len(data))
    }


def test_a_copy_has_the_identification_of_its_original(factory: SimLinkFactory) -> None:
    role = ROLES_BY_NAME["passive-sender"]
    one = Script(role, 1, 192, TERMS, TERMS, moves=(move("go"), move("control"), move("again 0")))
    sent = [frame for frame in play.replay(one, factory, profile(factory, role)).capture.frames if frame.sent]
    copy, *_ = [frame for frame in sent if frame.comments and "again" in "".join(frame.comments)]
    assert [frame.packet for frame in sent].count(copy.packet) >= 2


def test_the_implementation_outlives_almost_a_death_timer_of_silence(factory: SimLinkFactory) -> None:
    assert played(factory, "passive-sender", *["hush"] * 4) == ["hush"] * 3, "a script waits for three death timers"
    tried = (WAIT, "hush", "carry 1", "hush", "ack 1", "hush")
    assert played(factory, "active-receiver", *tried) == [WAIT, "carry 1", "ack 1", "hush"], "all is acknowledged then"


def test_packets_of_other_connections_change_nothing(factory: SimLinkFactory) -> None:
    strays = [f"stray {number}" for number in range(len(STRAYS) + 1)]
    assert played(factory, "passive-sender", "go", "control", *strays) == ["go", "control", *strays[:-1]]


@pytest.mark.parametrize("lost", range(3))
def test_quits_and_their_answers_may_be_lost(factory: SimLinkFactory, lost: int) -> None:
    for role in ("active-sender", "passive-receiver"):
        for name in ("quit", "client-quit"):
            assert played(factory, role, WAIT, f"{name} {lost}", WAIT) == [WAIT, f"{name} {lost}"]


@pytest.mark.parametrize("lost", range(7))
def test_done_and_acknowledgements_of_the_last_ok_may_be_lost(factory: SimLinkFactory, lost: int) -> None:
    moves = ["publish 2000", "go", "control", f"done-lost {lost}"]
    assert played(factory, "passive-sender", *moves, "publish 3", "done-lost 7") == moves


def test_a_control_may_be_repeated_once_there_is_one(factory: SimLinkFactory) -> None:
    assert played(factory, "active-sender", "repeat", "go", "control", "repeat") == ["go", "control", "repeat"]


@pytest.mark.parametrize("lost", [0, 2])
@pytest.mark.parametrize("how", ["crossed", "unanswered"])
def test_quits_may_cross_and_may_get_no_answer(factory: SimLinkFactory, how: str, lost: int) -> None:
    for role in ("active-sender", "passive-receiver"):
        assert played(factory, role, WAIT, f"client-quit-{how} {lost}") == [WAIT, f"client-quit-{how} {lost}"]


def test_the_first_part_of_a_queue_may_be_lost(factory: SimLinkFactory) -> None:
    moves = ["go", "control", WAIT, "ok 0", "go-on", "go-on", "tail 1", "tail 5", "control"]
    done = ["go", "control", WAIT, "ok 0", "go-on", "go-on", "tail 1", "control"]
    assert played(factory, "passive-sender", *moves) == done


def test_data_may_be_damaged_where_a_checksum_shows_it(factory: SimLinkFactory) -> None:
    moves = (WAIT, "data-damaged 0 0 5", "data-damaged 0 0 5", "data 0 0", "data 0 1")
    assert played(factory, "passive-receiver", *moves) == [WAIT, "data 0 0", "data 0 1"], "no data checksums"
    summed = dataclasses.replace(TERMS, data_checksum=True)
    role = ROLES_BY_NAME["passive-receiver"]
    one = Script(role, 1, 192, summed, summed, moves=tuple(move(text) for text in moves))
    result = play.replay(one, factory, profile(factory, role))
    assert [str(done) for done in result.done] == [WAIT, "data-damaged 0 0 5", "data 0 1"], "it counts as sent"
    assert not result.faults


def test_other_packets_than_keepalives_keep_a_connection_alive(factory: SimLinkFactory) -> None:
    for role in ("passive-sender", "active-receiver"):
        first = ["go", "control"] if role.endswith("sender") else [WAIT, "ack 1"]
        assert played(factory, role, *first, "trickle", "storm 0", "storm 1") == [
            *first,
            "trickle",
            "storm 0",
            "storm 1",
        ]


def test_packets_just_before_keepalives_may_get_their_answers_among_them(factory: SimLinkFactory) -> None:
    """CTRL-10: each CONTROL is acknowledged; no KEEPALIVE is (TIMER-12)."""
    moves = ("go", *("control",) * 18, "storm 0")
    assert played(factory, "passive-sender", *moves) == list(moves)


@pytest.mark.parametrize("name", ["foreign 3", "damaged 9", "refuse", "abort", "none", "restart", "zero 1", "loose 4"])
def test_an_active_end_opens_beside_other_packets_or_not_at_all(factory: SimLinkFactory, name: str) -> None:
    for known in ("active-sender", "active-receiver"):
        opened_as(factory, known, name)


@pytest.mark.parametrize("name", ["elsewhere", "zero 2", "large 1"])
def test_a_passive_end_is_asked_for_what_it_refuses(factory: SimLinkFactory, name: str) -> None:
    for known in ("passive-sender", "passive-receiver"):
        opened_as(factory, known, name)


def test_a_copy_of_an_opening_is_one_of_the_packet_that_arrived_whole(factory: SimLinkFactory) -> None:
    """The damaged RESPONSE before it would not keep the connection alive."""
    role = ROLES_BY_NAME["active-sender"]
    one = Script(role, 1, 192, TERMS, TERMS, opening=(move("damaged 9"),), moves=(move("opening"), move("trickle")))
    result = play.replay(one, factory, profile(factory, role))
    assert (len(result.done), result.faults) == (2, [])


def test_no_peer_is_silent_when_a_quit_may_have_to_wait_for_a_buffer(factory: SimLinkFactory) -> None:
    """It would count as dead before the QUIT is due (QUIT-04)."""
    role = ROLES_BY_NAME["passive-sender"]
    for before in ((), (move("go"), move("control"))):
        one = Script(role, 1, 192, TERMS, TERMS, moves=(*before, move("client-quit-unanswered 0")))
        result = play.replay(one, factory, profile(factory, role))
        assert (result.done[-1].name == "client-quit-unanswered", result.faults) == (not before, [])


def test_a_damaged_acknowledgement_acknowledges_nothing(factory: SimLinkFactory) -> None:
    """The GO is repeated, and the tester may still acknowledge it."""
    role = ROLES_BY_NAME["passive-receiver"]
    moves = tuple(move(text) for text in (WAIT, "ack-damaged 1", "wait 1200000", "ack 1", "ack-damaged 1"))
    result = play.replay(Script(role, 1, 192, TERMS, TERMS, moves=moves), factory, profile(factory, role))
    assert (list(result.done), result.faults) == (list(moves[:-1]), [])
    said = [one.messages for one in map(packets.read, (f.packet[20:] for f in result.capture.frames if not f.sent))]
    assert sum(any(message.kind is Kind.GO and message.seq == 1 for message in found) for found in said) > 1


def test_each_of_several_lost_retransmissions_is_requested_again(factory: SimLinkFactory) -> None:
    """A move whose demand is not met is a part of the script, so that the script shows it again."""
    role = ROLES_BY_NAME["passive-receiver"]
    moves = tuple(move(text) for text in (WAIT, "ack 1", "data 0 0", "wait 1200000", "repairs-lost 0 4"))
    result = play.replay(Script(role, 1, 192, TERMS, TERMS, moves=moves), factory, profile(factory, role))
    assert (list(result.done), result.faults) == (list(moves), [])
    wire = [packets.read(frame.packet[20:]) for frame in result.capture.frames if not frame.sent]
    asked = {message.seq for packet in wire for message in packet.messages if message.kind is Kind.RESEND}
    assert len(asked) == 5


def test_an_end_that_asks_three_times_only_is_found(tmp_path: Path) -> None:
    role, factory = ROLES_BY_NAME["passive-receiver"], SimLinkFactory(faulty_library(tmp_path, "asked-thrice"))
    moves = tuple(move(text) for text in (WAIT, "ack 1", "data 0 0", "wait 1200000", "repairs-lost 0 4"))
    result = play.replay(Script(role, 1, 192, TERMS, TERMS, moves=moves), factory, profile(factory, role))
    assert (list(result.done), [rule for rule, _ in result.faults]) == (list(moves), ["RESEND-04"])


def test_a_tester_that_has_quit_sends_no_keepalive(factory: SimLinkFactory) -> None:
    """It would show that the connection goes on, so that the QUIT came from another host (AMB-73)."""
    role, iut = ROLES_BY_NAME["passive-receiver"], dataclasses.replace(TERMS, death_timer_s=3)
    one = Script(role, 1, 192, iut, TERMS, moves=(move("hush"), move("quit 2")))
    result = play.replay(one, factory, profile(factory, role))
    sent = [packets.read(frame.packet[20:]).type for frame in result.capture.frames if frame.sent]
    quits = [at for at, kind in enumerate(sent) if kind is Type.QUIT]
    after = sent[quits[0] : quits[-1]]
    assert len(quits) > 2
    assert (Type.KEEPALIVE not in after, result.faults) == (True, [])


def opened_as(factory: SimLinkFactory, known: str, name: str) -> None:
    role = ROLES_BY_NAME[known]
    one = Script(role, 1, 192, TERMS, TERMS, opening=(move(name),), moves=(move("keepalive"),))
    result = play.replay(one, factory, profile(factory, role))
    assert not result.faults
    goes_on = name.split()[0] in ("foreign", "damaged", "elsewhere")
    assert bool(result.done) == goes_on, "without a connection no move is legal"


# ---- whole scripts ----


def test_the_reference_fails_no_generated_script(factory: SimLinkFactory) -> None:
    found = invented(factory, SCRIPTS)
    assert [(number, one.faults) for number, one in enumerate(found) if one.faults] == []
    names = {str(one).split()[0] for result in found for one in result.done}
    assert names >= {"go", "ok", "resend", "control", "data", "ack", "carry", "lose", "again", "damaged", "cut", "wait"}
    assert {result.script.role for result in found} == set(ALL_ROLES)


def test_the_same_seed_gives_the_same_packets_and_so_does_the_script(factory: SimLinkFactory) -> None:
    first, second = invented(factory, 10), invented(factory, 10)
    assert [one.script for one in first] == [one.script for one in second]
    for one, other in zip(first, second, strict=True):
        assert one.capture.frames == other.capture.frames
        again = play.replay(one.script, factory, profile(factory, one.script.role))
        packets = [frame.packet for frame in one.capture.frames]
        assert [frame.packet for frame in again.capture.frames] == packets


@pytest.fixture(scope="module")
def wrong(tmp_path_factory: pytest.TempPathFactory, built_library: Path) -> SimLinkFactory:
    """A receiver whose CONTROLs hold only what is new."""
    del built_library
    factory = SimLinkFactory(faulty_library(tmp_path_factory.mktemp("wrong"), "only-new-messages"))
    factory.check()
    return factory


def test_a_planted_fault_is_found_and_its_script_shrunk(wrong: SimLinkFactory, factory: SimLinkFactory) -> None:
    found = next(one for one in invented(wrong, SCRIPTS) if "CTRL-04" in one.kinds)
    role = found.script.role
    known = profile(wrong, role)
    small = shrunk(found.script, lambda one: "CTRL-04" in play.replay(one, wrong, known).kinds)
    assert "CTRL-04" in play.replay(small, wrong, known).kinds
    assert len(small.moves) < len(found.script.moves)
    for number in range(len(small.moves)):
        less = small.with_moves(small.moves[:number] + small.moves[number + 1 :])
        assert "CTRL-04" not in play.replay(less, wrong, known).kinds, "one move can be left out"
    assert not play.replay(small, factory, profile(factory, role)).faults, "the reference fails it too"


# ---- the commands ----


@pytest.fixture(scope="module")
def crashing(tmp_path_factory: pytest.TempPathFactory, built_library: Path) -> Path:
    """A library that crashes when a RESEND has to be made."""
    del built_library
    folder = tmp_path_factory.mktemp("crashing")
    mutants.copy(paths.core(), folder / "core")
    source = mutants.source_file(folder / "core", "receiver_timers.c")
    text = source.read_text(encoding="utf-8")
    assert text.count("resends_sent++;") == 1
    source.write_text(text.replace("resends_sent++;", "resends_sent++; __builtin_trap();"), encoding="utf-8")
    subject.iut_builder().build_iut(folder / "core", folder / "crashing.so", cache=objects())
    return folder / "crashing.so"


def without_seconds(done: Outcome) -> str:
    return done.output.rpartition(",")[0]


def test_the_number_of_processes_changes_nothing(command: Command, built_library: Path, tmp_path: Path) -> None:
    del built_library
    words = ("generate", "--count", "110", "--seed", "3", "--output", str(tmp_path))
    one, two = command(*words, "-j", "1"), command(*words, "-j", "2")
    assert (one.status, two.status) == (0, 0), one.output + one.errors
    assert without_seconds(one) == without_seconds(two)
    assert "110 scripts" in one.output
    assert list(tmp_path.iterdir()) == []


def test_a_crash_is_the_failure_of_its_script_which_can_be_played(
    command: Command, crashing: Path, tmp_path: Path
) -> None:
    library = ("--iut-library", str(crashing))
    done = command(
        "generate",
        "--count",
        "30",
        "--role",
        "passive-receiver",
        "--output",
        str(tmp_path),
        "--no-dissector",
        *library,
    )
    assert done.status == 1, done.output + done.errors
    [path] = sorted(tmp_path.glob("script.*.toml"))
    assert "the implementation crashed with SIG" in path.read_text(encoding="utf-8")
    assert len(script.load(path).moves) <= 3, "a buffer of which something is missing suffices"
    assert command("play", str(path), "--no-dissector", *library).status == 1
    assert command("play", str(path)).status == 0, "the reference passes it"


def test_a_failing_script_is_written_with_its_capture_and_fails_again(
    command: Command, wrong: SimLinkFactory, tmp_path: Path
) -> None:
    library = ("--iut-library", str(wrong.subject))
    words = ("--count", "3", "--seed", "5", "--role", "active-receiver", "--output", str(tmp_path))
    done = command("generate", *words, *library)
    assert done.status == 1, done.output + done.errors
    files = sorted(tmp_path.glob("script.*.toml"))
    assert files
    assert all(path.with_suffix(".pcapng").stat().st_size > 500 for path in files)
    again = command("play", *map(str, files), *library)
    assert again.status == 1
    assert "CTRL-04" in again.output


def test_the_plugin_judges_each_script_of_a_merged_capture_by_itself(wrong: SimLinkFactory, tmp_path: Path) -> None:
    merged, scripts = Merged(), invented(wrong, 40)
    for number, one in enumerate(scripts):
        merged.add(number, one.script, one.capture)
    merged.save(tmp_path / "block")
    alone = tmp_path / "alone.pcapng"
    with Tshark() as tshark:
        found = list(violations(tshark, tmp_path / "block"))
        seen = {one.number for one in found if one.by_implementation and one.finding.requirement == "CTRL-04"}
        assert seen, "the oracles see it more often: the plugin suspects where packets may have crossed"
        for number in seen:
            scripts[number].capture.write(alone)
            again = violations_alone(tshark, scripts[number].script, alone)
            assert "CTRL-04" in {one.finding.requirement for one in again if one.by_implementation}
    alone.unlink()
    sound = [one for one in found if not scripts[one.number].faults]  # a peer may go wrong beside a wrong one
    assert not [one for one in sound if one.is_mistake_in(scripts[one.number].script)]
    assert list(tmp_path.iterdir()) == []


def test_generated_peers_need_virtual_time(command: Command, tmp_path: Path) -> None:
    done = command("generate", "--adapter", str(paths.adapters() / "reference.toml"), "--output", str(tmp_path))
    assert done.status == 2
    assert "virtual time" in done.errors
    bad = tmp_path / "bad.toml"
    bad.write_text("layout = 2\n", encoding="utf-8")
    done = command("play", str(bad))
    assert (done.status, "layout" in done.errors) == (2, True)


def test_a_matrix_tells_which_cases_scripts_replace(tmp_path: Path) -> None:
    file = tmp_path / "matrix.json"
    kills = {"a": ["one", "two"], "b": ["two"], "c": ["three"], "d": []}
    file.write_text(json.dumps({"layout": 1, "kills": kills}), encoding="utf-8")
    matrix = Matrix.read(file)
    lines = summary.cases(matrix, frozenset({"a", "b"}), frozenset("abd"))
    assert lines[0] == "0 mutants are killed by hand-written cases only: none", "c was not judged"
    assert lines[1:] == ["2 of 3 cases that kill a mutant kill none that scripts miss:", "    one", "    two"]
    assert matrix.only_by_cases(frozenset({"a"}), frozenset("abcd")) == ["b", "c"]
    file.write_text("{}", encoding="utf-8")
    with pytest.raises(MutantError, match="no matrix of cases and mutants"):
        Matrix.read(file)


def test_what_was_missed_is_named_by_requirement() -> None:
    known = mutants.load(paths.mutants())
    missed = [one for one in known if one.name == "only-new-messages"]
    lines = summary.by_requirement([one for one in known if one not in missed], missed)
    of_rule = sum(one.requirement == "CTRL-04" for one in known)
    rules = len({one.requirement for one in known})
    assert lines == [
        f"CTRL-04    {of_rule - 1} of {of_rule} killed, missed: only-new-messages",
        f"all mutants of {rules - 1} of {rules} requirements are killed",
    ]


@pytest.mark.nightly
def test_mutants_are_killed_and_variants_accepted(command: Command, built_library: Path) -> None:
    del built_library
    done = command("generate", "--count", "20", "--mutants", "only-new-messages", "foreign-response-silent")
    assert done.status == 1, done.output + done.errors
    assert "killed   CTRL-04    only-new-messages" in done.output
    assert "missed   OPEN-09    foreign-response-silent" in done.output, "only another connection shows it"
    assert "1 of 2 mutants killed" in done.output
    done = command("generate", "--count", "20", "--variants", "base-1000")
    assert done.status == 0, done.output + done.errors
    assert "1 of 1 variants accepted, 20 scripts" in done.output


def test_the_measurement_refuses_what_it_cannot_do(command: Command) -> None:
    done = command("generate", "--mutants", "no-such-mutant")
    assert (done.status, "no-such-mutant" in done.errors) == (2, True)
    done = command("generate", "--mutants", "--role", "active-sender")
    assert (done.status, "--count, --seed and --illegal only" in done.errors) == (2, True)


# ---- openings ----


def opened(factory: SimLinkFactory, role: str, opening: str) -> Played:
    known = ROLES_BY_NAME[role]
    one = Script(known, 1, 192, TERMS, TERMS, opening=(move(opening),))
    return play.replay(one, factory, profile(factory, known))


@pytest.mark.parametrize("role", ["passive-sender", "active-receiver"])
@pytest.mark.parametrize(("which", "checksum"), [(0, 0), (1, 0xFFFE)])
def test_an_opening_has_a_checksum_that_wrong_sums_get_wrong(
    factory: SimLinkFactory, role: str, which: int, checksum: int
) -> None:
    """CKSUM-02: zero is a checksum like others, and the carry of a carry counts (0xFFFE)."""
    result = opened(factory, role, f"sum {which}")
    frames = [packets.read(one.packet[IP_HEADER_BYTES:]) for one in result.capture.frames]
    opening = Type.OPEN if role.startswith("passive") else Type.RESPONSE
    assert next(one.checksum for one in frames if one.type is opening) == checksum
    assert result.verdict is Verdict.PASS


def test_a_copy_of_a_stray_packet_and_a_second_request_from_its_port_are_two_things(factory: SimLinkFactory) -> None:
    """The answer to the second OPEN is no answer to an ABORT (DEMUX-03), whatever port the strays have come from."""
    for seed in range(4):  # other ports
        moves = tuple(move(text) for text in ("stray 0", "second", "stray 0"))
        one = Script(ROLES_BY_NAME["passive-sender"], seed, 192, TERMS, TERMS, moves=moves)
        result = play.replay(one, factory, profile(factory, one.role))
        assert result.verdict is Verdict.PASS, result.faults


def test_a_measurement_of_mutants_goes_on_where_it_was_interrupted(tmp_path: Path) -> None:
    path, how = tmp_path / "results.json", {"count": 100, "seed": 1, "illegal": True}
    Results(path, how).add("deaf", Judged("TIMER-03", MISSED, 200))
    again = Results(path, how)
    again.add("mute", Judged("CTRL-04", LEGAL, 3, "script 2: CTRL-04"))
    assert Results(path, how).judged == again.judged
    assert sorted(again.judged) == ["deaf", "mute"]


@pytest.mark.parametrize(
    ("text", "named"), [("{", "not a file"), ('{"how": {"count": 1}, "mutants": {}}', "measured with .* another file")]
)
def test_a_file_of_other_results_is_refused(tmp_path: Path, text: str, named: str) -> None:
    path = tmp_path / "results.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(MutantError, match=named):
        Results(path, {"count": 100})
