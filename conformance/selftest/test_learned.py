# SPDX-License-Identifier: GPL-2.0-or-later
"""Learned state machines: learning, files, comparison, and what a difference means."""

from __future__ import annotations

import itertools
import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest
from netblt_conformance.cases.case import Profile
from netblt_conformance.commands import cli
from netblt_conformance.common import paths
from netblt_conformance.common.errors import HarnessError, LinkUnavailableError
from netblt_conformance.common.model import (
    ACTIVE_RECEIVER,
    ACTIVE_SENDER,
    ALL_ROLES,
    PASSIVE_RECEIVER,
    PASSIVE_SENDER,
    Role,
)
from netblt_conformance.learned import learning, measure, page
from netblt_conformance.learned.alphabet import MANY_BUFFERS, TIME, inputs
from netblt_conformance.learned.campaign import Learned, load_other, names, reference_factory
from netblt_conformance.learned.classes import Class, explain
from netblt_conformance.learned.connection import Connection
from netblt_conformance.learned.differences import Difference, changes, differences
from netblt_conformance.learned.judged import Judged, Violation, judge
from netblt_conformance.learned.machine import Machine, Step, dot, from_steps, load, save
from netblt_conformance.learned.sequences import tours
from netblt_conformance.learned.themes import MAIN, Part, part_named, parts
from netblt_conformance.learned.timing import Came, Timing
from netblt_conformance.learned.workers import Place, Work, run
from netblt_conformance.mutants.mutants import Edit, Variant
from netblt_conformance.packets.packets import Kind, Message, Packet, Type
from selftest.faulty import faulty_library

WORKS = Profile(works=True)
ALL_PARTS = [part for role in ALL_ROLES for part in parts(role)]


def light_switch(last_output: str = "off") -> Machine:
    """Two states: `press` goes from one to the other, `look` stays."""
    steps = {
        "dark": {"press": ("on", "bright"), "look": ("dark", "dark")},
        "bright": {"press": (last_output, "dark"), "look": ("bright", "bright")},
    }
    return from_steps("passive-receiver", "-", ("press", "look"), steps, "dark")


def nothing_learned(_word: Any) -> None:
    """The inputs are not noted."""


# ---- learning ----


def test_a_transfer_is_a_path_of_the_machine_that_is_learned_with_few_inputs() -> None:
    """Stimulus: the reference as a passive sender, the small alphabet. Outcome: a machine in which the inputs of a
    transfer lead to success."""
    part = part_named(PASSIVE_SENDER, MAIN)
    few = names(part, small=True)
    machine = learning.learn(reference_factory(), part, WORKS, few, 1, nothing_learned)
    outputs = machine.run([name for name in part.transfer if name in few])
    assert outputs[0].startswith("RESPONSE")
    assert "client: success" in outputs[-1]
    assert len(machine.steps) > 5


@pytest.mark.parametrize("part", ALL_PARTS, ids=str)
def test_the_stored_machine_of_the_reference_predicts_a_transfer_and_its_late_packets(part: Part) -> None:
    word = [name for name in (*part.transfer, "QUIT", "KEEPALIVE") if name in part.names]
    with Connection(reference_factory(), part, WORKS) as connection:
        assert [connection.do(name) for name in word] == load_other(None, part).run(word)


@pytest.mark.parametrize("part", [part_named(role, MAIN) for role in ALL_ROLES], ids=str)
def test_the_stored_machine_knows_deadlines_that_pass_where_an_input_of_a_transfer_did_not_come(part: Part) -> None:
    """Several deadlines: the data timer and the control timer request packets; the death timer ends the connection."""
    whole, deadlines = part.transfer, ("time",) * 3
    missing = [(*whole[:at], *whole[at + 1 :]) for at in range(1, len(whole))]
    words = {(*word[:place], *deadlines, *word[place:]) for word in missing for place in range(1, len(word) + 1)}
    for word in sorted(words):
        with Connection(reference_factory(), part, WORKS) as connection:
            assert [connection.do(name) for name in word] == load_other(None, part).run(word), word


def test_reactions_that_differ_from_time_to_time_end_the_learning(monkeypatch: pytest.MonkeyPatch) -> None:
    count = itertools.count()
    monkeypatch.setattr(Connection, "do", lambda _connection, _name: str(next(count)))
    with pytest.raises(HarnessError, match="the same inputs have different outputs"):
        learning.learn(
            reference_factory(), part_named(PASSIVE_SENDER, MAIN), WORKS, ("OPEN", "time"), 1, nothing_learned
        )


def test_a_machine_with_too_many_states_is_written_and_not_compared(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(learning, "STATES_MOST", 4)
    words = ["learn", "--role", "active-sender", "--theme", "loss", "--theme", "numbers", "--output", str(tmp_path)]
    assert cli.main([*words, "-j", "1"]) == 0
    output = capsys.readouterr().out
    assert "not complete: more than 4 states" in output
    assert "0 differences: " in output
    cut = {path.stem: load(path).is_cut for path in tmp_path.glob("*.json")}
    assert cut == {"active-sender.loss": True, "active-sender.numbers": False}


def test_the_small_alphabet_is_compared_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Stimulus: a sender that does not set the last-buffer flag where it should, and the reference itself. Outcome: a
    difference of the one; none of the other; and "not compared" where there is no other machine."""
    library = faulty_library(tmp_path, "last-flag-on-ldata-only")
    words = ["learn", "--small", "--role", "active-sender", "--output", str(tmp_path), "-j", "1", "--no-dissector"]
    assert cli.main([*words, "--iut-library", str(library)]) == 1
    assert "forbidden DATA-09" in capsys.readouterr().out
    assert cli.main(words) == 0
    assert "0 differences: " in capsys.readouterr().out
    assert cli.main([*words, "--against", str(tmp_path)]) == 0
    assert "0 differences: " in capsys.readouterr().out
    assert cli.main([*words, "--against", "none"]) == 0
    assert "not compared" in capsys.readouterr().out


def test_options_that_the_small_alphabet_leaves_no_sense_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["learn", "--small", "--role", "active-sender", "--output", str(tmp_path), "-j", "1"]
    assert cli.main([*words, "--theme", "loss"]) == 2
    assert "leave out --theme" in capsys.readouterr().err
    assert cli.main([*words, "--against", str(paths.learned())]) == 2
    assert "other inputs" in capsys.readouterr().err


def test_without_aalpy_the_error_names_the_extra_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "aalpy", None)
    assert cli.main(["learn"]) == 2
    assert "netblt-conformance[learn]" in capsys.readouterr().err


def test_a_crash_is_reported_with_the_inputs_before_it() -> None:
    def crash(_emit: Any, place: Place) -> None:
        place.note(["OPEN", "QUIT"])
        os.kill(os.getpid(), signal.SIGSEGV)

    piece, ended = Work("crashes", crash), list[str]()
    run([piece, Work("ends", lambda _emit, _place: 1)], 1, on_end=lambda work: ended.append(work.name))
    assert ended == ["crashes", "ends"]
    assert piece.word == ("OPEN", "QUIT")
    assert "SIGSEGV" in piece.fault


@pytest.mark.parametrize("role", ALL_ROLES, ids=str)
def test_each_input_of_a_role_can_be_given_in_each_situation(role: Role) -> None:
    """No input needs another one before it: where it is not possible, nothing is sent."""
    for part in parts(role):
        for name in part.names:
            with Connection(reference_factory(), part, WORKS) as connection:
                assert isinstance(connection.do(name), str)


@pytest.mark.parametrize("role", [role for role in ALL_ROLES if role.active], ids=str)
def test_a_client_that_quits_before_any_answer_is_not_held_against_the_implementation(
    role: Role, tmp_path: Path
) -> None:
    """The QUIT goes to the port that the OPEN was for: nothing came from it yet."""
    part = part_named(role, MAIN)
    assert "client quits" in part.names
    judged = judge(reference_factory(), part, WORKS, ["client quits"], tmp_path / "quit.pcapng", 0)
    assert any("QUIT" in one for one in judged.outputs), judged.outputs
    assert judged.violations == ()


def reactions(role: Role, theme: str, *word: str) -> list[str]:
    """Of the reference."""
    with Connection(reference_factory(), part_named(role, theme), WORKS) as connection:
        return [connection.do(name) for name in word]


def test_reactions_that_are_alike_but_for_the_number_of_their_buffer_are_there_once() -> None:
    """Stimulus: 150 buffers arrive, one after another. Outcome: one reaction, which is repeated, and the last one."""
    *_, seen = reactions(ACTIVE_RECEIVER, "many", "RESPONSE", MANY_BUFFERS)
    assert seen == "CONTROL[new OK +0, new GO +1]*, CONTROL[new OK +0]"


def test_a_long_row_of_packets_in_a_resend_is_written_by_its_ends() -> None:
    """Stimulus: of a buffer of 260 packets only the last one arrives. Outcome: all others are requested."""
    *_, seen = reactions(ACTIVE_RECEIVER, "long", "RESPONSE", "BUFFER only last", TIME)
    assert seen == "CONTROL[new RESEND 0:0...258]"


def test_the_client_of_the_theme_stall_has_no_buffer_after_the_first() -> None:
    """Stimulus: the first buffer arrives, where two may be outstanding; the peer acknowledges all. Legal outcome: no GO
    for the second one until the peer counts as dead."""
    *_, confirmed, more = reactions(ACTIVE_RECEIVER, "stall", "RESPONSE", "BUFFER", TIME)
    assert confirmed == "CONTROL[new OK 0]"
    assert "GO 1" not in more


def test_a_go_beyond_the_agreed_number_is_served_after_an_ok() -> None:
    """Stimulus: a third GO where two buffers may be outstanding, then the OK of the first. Legal outcome: the GO is
    acknowledged, and its buffer comes after the OK."""
    *_, acknowledged, served = reactions(PASSIVE_SENDER, "limit", "OPEN", "GO", "GO", "GO too many", "OK")
    assert acknowledged == "NULL-ACK"
    assert served.startswith("DATA 2.0")


def test_a_response_may_leave_one_outstanding_buffer_of_two() -> None:
    """Stimulus: two GOs where the RESPONSE made it one buffer. Outcome: the first buffer; of the second one nothing."""
    *_, first, second = reactions(ACTIVE_SENDER, "limit", "RESPONSE one buffer", "GO", "GO too many")
    assert first.startswith("DATA 0.0")
    assert second == "NULL-ACK"
    assert reactions(ACTIVE_SENDER, "limit", "RESPONSE", "GO", "GO")[-1].startswith("DATA 1.0")


def test_an_open_with_half_of_the_unique_id_is_of_another_connection() -> None:
    *_, seen = reactions(PASSIVE_SENDER, "setup", "OPEN", "OPEN other half")
    assert seen == reactions(PASSIVE_SENDER, "setup", "OPEN", "OPEN other ID")[-1]
    assert seen != reactions(PASSIVE_SENDER, "setup", "OPEN", "OPEN")[-1]


def test_messages_can_be_acknowledged_one_by_one() -> None:
    """Stimulus: the first of two GOs is acknowledged, and a buffer arrives. Legal outcome: the second GO is repeated
    with the new messages (CTRL-04)."""
    *_, seen = reactions(ACTIVE_RECEIVER, "acks", "RESPONSE", "NULL-ACK first", "BUFFER early")
    assert seen == "CONTROL[GO 1, new OK 0, new GO 2]"


def test_the_document_lists_each_input() -> None:
    text = (paths.root() / "docs" / "learned.md").read_text(encoding="utf-8")
    for one in {one for role in ALL_ROLES for one in inputs(role)}:
        assert f"| `{one.name}` | {one.about} | {'yes' if one.legal else 'no'} |" in text


# ---- machines ----


def test_a_machine_is_read_as_it_was_written(tmp_path: Path) -> None:
    save(light_switch(), tmp_path / "machine.json")
    assert load(tmp_path / "machine.json") == light_switch()


@pytest.mark.parametrize(
    ("old", "new", "mistake"),
    [
        ('"bright", 1]', '"bright", 7]', "state 1, input look: there is no state 7"),
        ("passive-receiver", "sideways", "unknown role 'sideways'"),
        ('"layout": 2', '"layout": 9', "layout"),
        ('"look": ["dark", 0]', '"glance": ["dark", 0]', "state 0 has not one transition for each input"),
    ],
)
def test_a_file_with_a_mistake_is_refused_and_the_mistake_is_named(
    old: str, new: str, mistake: str, tmp_path: Path
) -> None:
    file = tmp_path / "machine.json"
    save(light_switch(), file)
    text = file.read_text(encoding="utf-8")
    assert old in text
    file.write_text(text.replace(old, new), encoding="utf-8")
    with pytest.raises(LinkUnavailableError, match=mistake):
        load(file)


def test_graphviz_text_has_an_arrow_for_each_change_of_state() -> None:
    text = dot(light_switch())
    assert 's0 -> s1 [label="press / on"];' in text
    assert 's1 -> s0 [label="press / off"];' in text


def test_tours_go_through_each_transition() -> None:
    machine = load_other(None, part_named(PASSIVE_SENDER, MAIN))
    walked = set()
    for word in tours(machine, 1):
        for place, name in enumerate(word):
            walked.add((machine.after(word[:place]), name))
    assert walked == {(state, name) for state, name, _ in machine.edges()}


def test_the_page_shows_states_differences_and_escaped_text(tmp_path: Path) -> None:
    machine = light_switch("<off>")
    page.write(
        tmp_path / "learned.html", {"name": "switch"}, [Learned(part_named(PASSIVE_RECEIVER, MAIN), machine)], []
    )
    text = (tmp_path / "learned.html").read_text(encoding="utf-8")
    assert "&lt;off&gt;" in text
    assert 'data-state="1"' in text


# ---- differences ----


def test_the_shortest_sequence_to_a_difference_is_found() -> None:
    found = list(differences(light_switch(), light_switch("broken")))
    assert found == [Difference("passive-receiver", ("press", "press"), "off", "broken")]


def test_machines_of_other_inputs_are_not_compared() -> None:
    other = Machine("passive-receiver", "-", ("press",), [{"press": Step("on", 0)}])
    with pytest.raises(HarnessError, match="look"):
        list(differences(light_switch(), other))


def test_a_difference_is_what_is_missing_and_what_is_there_instead() -> None:
    expected, seen = "CONTROL[OK 0, new GO 1], client: failure, closed", "DONE, client: failure, closed"
    assert changes(expected, seen) == (["CONTROL[OK 0, new GO 1]"], ["DONE"])


QUIETLY = Judged((), (), ())
NO_QUITACK = Difference("passive-receiver", ("OPEN", "QUIT"), "QUITACK, client: failure", "client: failure")


def test_a_violation_in_the_case_makes_a_difference_forbidden() -> None:
    broken = Judged((), (), (Violation("CTRL-04", True, "an old message is missing", "oracles"),))
    explanation = explain(NO_QUITACK, [broken], [QUIETLY], [])
    assert (explanation.kind, explanation.identifiers) == (Class.FORBIDDEN, ("CTRL-04",))


def test_what_is_held_against_the_reference_as_well_does_not_count() -> None:
    broken = Judged((), (), (Violation("CTRL-04", True, "an old message is missing", "oracles"),))
    assert explain(NO_QUITACK, [broken], [broken], []).identifiers == ("QUIT-01",)


def test_a_missing_reaction_to_a_legal_sequence_names_the_requirement_by_which_it_is_due() -> None:
    explanation = explain(NO_QUITACK, [QUIETLY], [QUIETLY], [])
    assert (explanation.kind, explanation.identifiers) == (Class.FORBIDDEN, ("QUIT-01",))


def test_a_reaction_that_is_only_late_is_permitted_by_the_reaction_time() -> None:
    explanation = explain(NO_QUITACK, [Judged((), ("QUITACK",), ())], [QUIETLY], [])
    assert (explanation.kind, explanation.identifiers) == (Class.PERMITTED, ("AMB-78",))


def test_the_difference_of_a_legal_variant_is_permitted_by_its_ambiguity() -> None:
    row = {
        "role": "passive-receiver",
        "kind": " ".join(NO_QUITACK.kind),
        "ambiguities": ["AMB-55"],
        "variants": ["silent"],
    }
    explanation = explain(NO_QUITACK, [QUIETLY], [QUIETLY], [row])
    assert (explanation.kind, explanation.identifiers) == (Class.PERMITTED, ("AMB-55",))


def test_a_reaction_that_the_reference_shows_as_well_is_not_forbidden() -> None:
    """The machine that is compared with may be incomplete."""
    same = Judged(("RESPONSE", NO_QUITACK.seen), (), ())
    explanation = explain(NO_QUITACK, [same], [same], [])
    assert explanation.kind is Class.NEW
    assert "incomplete" in explanation.text


def kind_and_names(
    role: str, word: tuple[str, ...], expected: str, seen: str, later: tuple[str, ...] = ()
) -> tuple[Class, tuple[str, ...]]:
    judged = Judged((seen,), later, ())
    explanation = explain(Difference(role, word, expected, seen), [judged], [QUIETLY], [])
    return explanation.kind, explanation.identifiers


LOSS = ("RESPONSE", "DATA", "time")


@pytest.mark.parametrize(
    ("role", "word", "expected", "seen", "later", "names"),
    [
        # One request in several messages.
        ("active-receiver", LOSS, "CONTROL[new RESEND 0:1+2]", "CONTROL[new RESEND 0:1, new RESEND 0:2]", (), "AMB-33"),
        # In several packets, and a long row of numbers.
        (
            "active-receiver",
            LOSS,
            "CONTROL[new RESEND 0:0...9]",
            "CONTROL[new RESEND 0:0+1+2+3+4], CONTROL[new RESEND 0:5+6+7+8+9]",
            (),
            "AMB-33",
        ),
        (
            "passive-receiver",
            ("OPEN", "DATA"),
            "CONTROL[new OK 0, new GO 1]",
            "-",
            ("CONTROL[new OK 0, new GO 1]",),
            "AMB-69",
        ),
        ("passive-receiver", ("OPEN", "DATA"), "CONTROL[new OK +0]*", "-", ("CONTROL[new OK 0]",), "AMB-69"),
        (
            "active-sender",
            ("RESPONSE", "GO"),
            "DATA 0.0 L ... DATA 0.8 L, LDATA 0.9 L",
            "DATA 0.0 L ... DATA 0.7 L",
            ("DATA 0.8 L", "LDATA 0.9 L"),
            "RATE-01",
        ),
        ("passive-receiver", ("OPEN",), "CONTROL[new GO 0]", "CONTROL[new GO 0, new GO 1]", (), "AMB-29"),
        ("active-sender", ("RESPONSE", "GO", "GO skipping"), "NULL-ACK", "DATA 1.0, LDATA 1.1", (), "AMB-47"),
        ("active-receiver", ("RESPONSE", "DATA", "client quits"), "QUIT", "-", (), "AMB-56"),
        (
            "active-receiver",
            ("client quits",),
            "QUIT, client: failure, closed",
            "client: failure, closed",
            (),
            "AMB-76",
        ),
        ("active-sender", ("RESPONSE", "client quits"), "QUIT", "QUIT, client: failure", (), "AMB-77"),
        ("active-receiver", ("RESPONSE", "QUIT other version"), "QUITACK, client: failure", "-", (), "AMB-01"),
        (
            "passive-receiver",
            ("OPEN",),
            "RESPONSE, CONTROL[new GO 0], client: open",
            "-",
            ("RESPONSE(burst_interval_ms larger)", "CONTROL[new GO 0]", "client: open"),
            "AMB-78",
        ),
    ],
)
def test_the_same_in_other_packets_or_later_is_a_choice(
    role: str, word: tuple[str, ...], expected: str, seen: str, later: tuple[str, ...], names: str
) -> None:
    assert kind_and_names(role, word, expected, seen, later) == (Class.PERMITTED, (names,))


@pytest.mark.parametrize(
    ("role", "word", "expected", "seen", "later", "name"),
    [
        ("active-receiver", LOSS, "CONTROL[new RESEND 0:1+2]", "CONTROL[new RESEND 0:1]", (), "TIMER-07"),
        ("passive-receiver", ("OPEN", "DATA"), "CONTROL[new OK 0, new GO 1]", "CONTROL[new GO 1]", (), "CTRL-14"),
        ("active-sender", ("RESPONSE", "GO"), "DATA 0.0, LDATA 0.1", "DATA 0.0", (), "OPEN-01"),
        ("active-sender", ("RESPONSE", "GO", "GO"), "NULL-ACK", "DATA 0.0 ack fewer", (), "CTRL-10"),
        ("active-sender", ("RESPONSE", "client quits"), "QUIT", "-", (), "QUIT-06"),
        ("passive-receiver", ("OPEN", "OPEN other ID"), "ABORT", "-", (), "OPEN-09"),
        ("active-receiver", LOSS, "CONTROL[RESEND 0:0]*", "-", (), "TIMER-01"),
        ("passive-receiver", ("OPEN",), "RESPONSE, client: open", "-", ("KEEPALIVE",), "OPEN-01"),
        (
            "active-sender",
            ("RESPONSE", "GO", "OK", "time"),
            "KEEPALIVE, client: success, closed",
            "client: success, closed, closed before the control timer",
            (),
            "CLOSE-04",
        ),
    ],
)
def test_what_never_came_is_forbidden_by_the_requirement_by_which_it_is_due(
    role: str, word: tuple[str, ...], expected: str, seen: str, later: tuple[str, ...], name: str
) -> None:
    assert kind_and_names(role, word, expected, seen, later) == (Class.FORBIDDEN, (name,))


@pytest.mark.parametrize(
    ("role", "word", "expected", "seen"),
    [
        # The time-out ended with news; the reference gave up in it.
        ("active-receiver", LOSS, "CONTROL[RESEND 0:0]*, client: failure, closed", "CONTROL[new RESEND 0:0]"),
        ("active-sender", ("RESPONSE", "type 15"), "ABORT", "-"),
    ],
)
def test_what_is_due_in_other_situations_only_is_not_forbidden(
    role: str, word: tuple[str, ...], expected: str, seen: str
) -> None:
    assert kind_and_names(role, word, expected, seen) == (Class.NEW, ())


def test_a_crash_is_forbidden() -> None:
    assert explain(NO_QUITACK, [Judged((), (), (), "crashed")], [QUIETLY], []).kind is Class.FORBIDDEN


def test_a_variant_without_ambiguity_is_explained_by_one_that_differs_in_the_same_way() -> None:
    row = {"role": "passive-receiver", "kind": " ".join(NO_QUITACK.kind), "ambiguities": ["AMB-55"], "variants": ["a"]}
    edit = Edit(file="close.c", old="a", new="b")
    variant = Variant(name="unnamed", ambiguities=(), about="text", edit=(edit,))
    assert measure.explaining(measure.Outcome(variant, (NO_QUITACK,)), [row]) == {"AMB-55"}
    assert measure.explaining(measure.Outcome(variant, (NO_QUITACK,)), []) == set()


def test_a_requirement_may_leave_the_choice_of_a_variant_by_its_own_words() -> None:
    edit = Edit(file="params.c", old="a", new="b")
    variant = Variant(name="small", ambiguities=(), permitted_by=("NEG-01",), about="text", edit=(edit,))
    outcome = measure.Outcome(variant, (NO_QUITACK,))
    assert measure.explaining(outcome, []) == {"NEG-01"}
    explanation = explain(NO_QUITACK, [QUIETLY], [QUIETLY], measure.permitted_rows([outcome], []))
    assert (explanation.kind, explanation.identifiers) == (Class.PERMITTED, ("NEG-01",))


# ---- what times prove ----


def repeated_control(*times_ms: int) -> list[Came]:
    """A CONTROL with an OK that publishes a control timer of 100 ms, again and again."""
    message = Message(Kind.OK, 1, 0, control_timer_ms=100)
    packet = Packet(b"", type=Type.CONTROL, messages=(message,))
    return [Came(1000 * time_ms, "CONTROL[OK 0]", packet) for time_ms in times_ms]


@pytest.mark.parametrize(
    ("times_ms", "now_ms", "marks"),
    [
        ((100, 200, 350), 400, []),
        ((100, 400), 500, ["repeated later than published"]),
        ((100, 140), 200, ["repeated sooner than published"]),
        ((100, 200), 700, ["no more CONTROL[OK 0]"]),
    ],
)
def test_repetitions_are_held_against_the_control_timer_that_their_ok_publishes(
    times_ms: tuple[int, ...], now_ms: int, marks: list[str]
) -> None:
    """Stimulus: repetitions at these times, then silence. A back-off of three halves is legal."""
    timing = Timing(death_us=200_000_000)
    assert timing.marks(repeated_control(*times_ms), 1000 * now_ms, 0, closed=False) == marks
