# SPDX-License-Identifier: GPL-2.0-or-later
"""Results that follow from one cause are grouped, the likely causes come first, and a habit is one row."""

from __future__ import annotations

import dataclasses
import json
import shlex
from typing import TYPE_CHECKING

from netblt_conformance.catalogue import catalogue
from netblt_conformance.common import wording
from netblt_conformance.common.verdicts import KNOWN, Cause, Judgement, Origin, Result, Verdict
from netblt_conformance.diagnosis.ranking import DISTURBED_ENOUGH, LikelyCause, likely_causes
from netblt_conformance.report import alike, causes
from netblt_conformance.report.page import render

if TYPE_CHECKING:
    from collections.abc import Sequence

BASE = ["netblt-conformance", "run"]


def row(
    case: str,
    *requirements: str,
    verdict: Verdict = Verdict.FAIL,
    cause: Cause = Cause.JUDGEMENT,
    role: str = "passive-receiver",
    frame: int | None = None,
    origin: Origin = Origin.CASE,
    violated: str = "",
    due_by: str = "",
) -> Result:
    seen, expected = ("", "") if verdict is Verdict.PASS else ("why", "why not")
    capture = f"{requirements[0]}.{case}.{role}.pcapng"
    return Result(
        case,
        list(requirements),
        role,
        verdict,
        seen,
        capture=capture,
        frame=frame,
        origin=origin,
        cause=cause,
        violated=violated,
        due_by=due_by,
        expected=expected,
    )


def seen(case: str, requirement: str, frame: int, role: str = "passive-receiver") -> Result:
    return row(case, requirement, frame=frame, role=role, origin=Origin.MONITOR)


def missing(case: str, *requirements: str) -> Result:
    return row(case, *requirements, cause=Cause.ABSENCE, frame=30)


def named(results: Sequence[Result]) -> list[tuple[str, ...]]:
    return [cause.requirements for cause in likely_causes(results)]


def test_a_run_without_failures_has_no_causes() -> None:
    assert named([row("a", "CTRL-04", verdict=Verdict.PASS), row("b", "CTRL-05", verdict=Verdict.NA)]) == []


def test_a_failure_that_suspects_no_requirement_has_no_cause_and_hides_none() -> None:
    unsuspecting = dataclasses.replace(missing("script 1460", "DATA-08"), requirements=[])
    assert named([unsuspecting]) == []
    assert named([unsuspecting, row("own", "CTRL-04")]) == [("CTRL-04",)]


def test_a_cause_is_shown_by_a_failure_and_not_by_a_warning_that_came_earlier() -> None:
    results = [row("one", "NEG-04", verdict=Verdict.WARN, frame=2), row("two", "NEG-04", frame=9)]
    (cause,) = likely_causes(results)
    assert (cause.first.case, cause.explains) == ("two", 2)


def test_a_violation_in_many_captures_explains_what_is_missing_there() -> None:
    results = [row("own", "CTRL-04", frame=4)]
    for number in range(5):
        results += [missing(f"case {number}", f"DATA-0{number}"), seen(f"case {number}", "CTRL-04", 6)]
    (cause,) = likely_causes(results)
    assert cause.requirement == "CTRL-04"
    assert (cause.explains, cause.follows) == (6, 5)
    assert (cause.first.case, cause.first.frame) == ("own", 4)


def test_what_is_due_in_any_state_accuses_the_requirement_by_which_it_is_due() -> None:
    """Whatever the cases are about, what they lack is a repeated CONTROL."""
    results = [
        row(f"case {number}", f"CTRL-0{number}", cause=Cause.ABSENCE, due_by="TIMER-01") for number in range(1, 4)
    ]
    assert named(results)[0][0] == "TIMER-01"
    assert named([dataclasses.replace(result, due_by="") for result in results])[0][0] != "TIMER-01"


def test_what_is_due_is_shown_by_what_did_not_come_and_not_by_another_violation() -> None:
    waits = [row(f"case {n}", f"TIMER-0{n}", cause=Cause.ABSENCE, due_by="CTRL-14") for n in range(1, 4)]
    passes = [row(f"passes {n}", "CTRL-02", verdict=Verdict.PASS) for n in range(9)]
    first = likely_causes([*waits, seen("case 1", "CTRL-02", 9), *passes])[0]
    assert (first.requirement, first.first.due_by, first.explains) == ("CTRL-14", "CTRL-14", 3)


def test_the_earlier_violation_in_a_capture_is_the_cause() -> None:
    results = [row("x", "CTRL-01", frame=3), row("y", "TIMER-08", frame=3)]
    results += [one for n in range(4) for one in (seen(f"case {n}", "TIMER-08", 9), seen(f"case {n}", "CTRL-01", 5))]
    assert named(results)[0] == ("CTRL-01",)


def test_a_requirement_whose_own_cases_pass_is_a_consequence() -> None:
    results = [row(f"own {n}", "OPEN-05", verdict=Verdict.PASS) for n in range(3)]
    for number in range(4):
        results += [row(f"case {number}", "ABORT-01", frame=6), seen(f"case {number}", "OPEN-05", 5)]
    assert named(results)[0] == ("ABORT-01",)


def test_a_requirement_of_many_aspects_is_the_cause_when_one_of_them_fails() -> None:
    results = [row(f"aspect {n}", "NEG-06", verdict=Verdict.PASS) for n in range(30)]
    results += [row(f"own {n}", "RATE-01", verdict=Verdict.PASS) for n in range(6)]
    results += [row("burst size", "NEG-06"), seen("burst size", "RATE-01", 6), seen("aspect 1", "RATE-01", 6)]
    assert named(results)[0] == ("NEG-06",)


def test_two_faults_are_two_causes_with_what_each_explains() -> None:
    results = [row(f"a {n}", "WIRE-07", frame=1) for n in range(4)] + [
        row(f"b {n}", "RATE-01", frame=9) for n in (0, 1)
    ]
    assert [(cause.requirement, cause.explains) for cause in likely_causes(results)] == [("WIRE-07", 4), ("RATE-01", 2)]


def test_a_requirement_that_only_the_same_cases_judge_is_named_beside_the_first() -> None:
    results = [missing(f"case {n}", "CLOSE-04", "CLOSE-05") for n in range(3)]
    assert named(results) == [("CLOSE-04", "CLOSE-05")]
    passing = row("another", "CLOSE-05", verdict=Verdict.PASS)
    assert named([*results, passing]) == [("CLOSE-04",)]


def test_messages_left_out_explain_gaps_in_the_numbers_but_not_the_reverse() -> None:
    gaps = [seen(f"case {n}", "CTRL-01", 4) for n in range(6)] + [row("own", "CTRL-01", frame=4)]
    assert named(gaps)[0] == ("CTRL-01",)
    left_out = [*gaps, seen("case 0", "CTRL-04", 8), row("made for it", "CTRL-04", frame=8, violated="CTRL-04")]
    assert named(left_out) == [("CTRL-04",)]


def test_a_permission_or_a_requirement_of_the_other_end_is_hardly_the_cause() -> None:
    """CTRL-16 permits something; OPEN-07 binds the passive end, OPEN-08 the active one."""
    passing = [row(f"own {n}", "CTRL-04", verdict=Verdict.PASS) for n in range(5)]
    assert named([*passing, missing("a", "CTRL-04", "CTRL-16")])[0][0] == "CTRL-04"
    assert named([missing("b", "OPEN-07", "OPEN-08")])[0][0] == "OPEN-07"
    active = dataclasses.replace(missing("b", "OPEN-07", "OPEN-08"), role="active-receiver")
    assert named([active])[0][0] == "OPEN-08"


def test_repairs_that_never_come_explain_that_none_comes_at_the_end_but_not_the_reverse() -> None:
    at_the_end = [row(f"end {n}", f"DATA-0{n}", cause=Cause.ABSENCE, due_by="CLOSE-08") for n in range(1, 4)]
    assert named(at_the_end)[0][0] == "CLOSE-08"
    before = row("before", "RESEND-04", cause=Cause.ABSENCE, due_by="RESEND-02")
    assert named([*at_the_end, before])[0][0] == "RESEND-02"


def test_a_habit_that_warns_in_every_run_comes_after_the_failures_and_hides_none() -> None:
    """Each run has the habit, three runs fail: the cause of these is what fails."""
    habit = [dataclasses.replace(seen(f"case {n}", "ORDER-03", 4), verdict=Verdict.WARN) for n in range(40)]
    found = likely_causes([*habit, *(row(f"case {n}", "DATA-12") for n in range(3))])
    assert [(cause.requirement, cause.explains, cause.follows) for cause in found] == [
        ("DATA-12", 3, 0),
        ("ORDER-03", 40, 0),
    ]


def test_what_only_warns_explains_failures_where_it_warns_in_failed_runs_only() -> None:
    """No NULL-ACK is a WARN of CTRL-10, and costs whole transfers."""
    lacks = [missing(f"case {n}", f"DATA-0{n}") for n in range(1, 5)]
    warned = [dataclasses.replace(seen(f"case {n}", "CTRL-10", 6), verdict=Verdict.WARN) for n in range(1, 5)]
    assert named([*lacks, *warned]) == [("CTRL-10",)]


def test_a_known_failure_is_no_evidence() -> None:
    failure = row("a", "CTRL-04", frame=4)
    assert named([failure]) == [("CTRL-04",)]
    assert named([dataclasses.replace(failure, observed={KNOWN: "https://example.org/1"})]) == []


def test_a_few_disturbed_results_alone_name_no_cause_but_many_do() -> None:
    disturbed = [
        dataclasses.replace(seen(f"case {n}", "CTRL-04", 4), held_up_us=80_000) for n in range(DISTURBED_ENOUGH)
    ]
    assert named(disturbed[1:]) == []
    assert named(disturbed) == [("CTRL-04",)]


def test_a_disturbed_result_counts_less_beside_one_that_is_not_disturbed() -> None:
    disturbed = [dataclasses.replace(row(f"case {n}", "CTRL-04"), held_up_us=80_000) for n in range(4)]
    assert named([*disturbed, *(row(f"other {n}", "DATA-01") for n in range(3))])[0] == ("DATA-01",)
    assert named([*disturbed, row("other", "DATA-01")])[0] == ("CTRL-04",)


def cause_of(*results: Result) -> LikelyCause:
    return likely_causes(results)[0]


def test_a_cause_is_printed_with_requirement_role_frame_counts_and_command() -> None:
    text = causes.lines([cause_of(row("a_case: odd", "CTRL-04", frame=4))], {}, BASE)
    assert f"CTRL-04 {catalogue.requirements()['CTRL-04'].title}" in text[1]
    assert "passive-receiver" in text[1]
    assert "frame 4 of CTRL-04.a_case: odd.passive-receiver.pcapng" in text[3]
    assert "explains 1 result;" in text[4]
    assert shlex.split(text[5])[2:] == ["--role", "passive-receiver", "--select", "a case: odd"]


def test_a_failed_first_transfer_stands_before_all_causes() -> None:
    observed = {"active-sender": {"first transfer": "no RESPONSE"}, "passive-sender": {"version byte": "2"}}
    text = causes.lines([cause_of(row("a", "CTRL-04"))], observed, BASE)
    assert text[0] == "first transfer failed (active-sender): no RESPONSE"
    assert text[2].strip() == "netblt-conformance doctor"
    assert "passive-sender" not in text[0]
    assert causes.lines([], {}, BASE) == []
    testing = {"testing": {"name": "x"}}
    assert "Likely causes" not in render.page({**testing, "observed": {}}, [], {})
    assert "(active-sender): no RESPONSE" in render.page({**testing, "observed": observed}, [], {})
    listed = render.page(testing, [], {}, [cause_of(row("a_case", "CTRL-04", frame=4))], BASE)
    assert "frame 4 of CTRL-04.a_case.passive-receiver.pcapng</a>; explains 1 result" in listed


def test_the_command_that_shows_a_failed_first_transfer_names_the_same_implementation() -> None:
    tested = ["--adapter", "my own.toml", "--link", "pipe"]
    assert causes.doctor_command([*BASE, *tested, "--seed", "3"]) == (
        "netblt-conformance doctor --adapter 'my own.toml' --link pipe"
    )
    assert causes.doctor_command([*BASE, "--profile", "etftp"]) is None, "doctor knows RFC 998 only"


def test_a_format_that_is_broken_in_every_case_is_one_row() -> None:
    results = [
        seen(f"case {n}", "WIRE-07", 1, role) for n in range(150) for role in ("active-sender", "active-receiver")
    ]
    (only,) = alike.merged(results)
    assert (only.case, only.frame, only.runs, len(only.also_in)) == ("case 0", 1, 300, 299)
    assert "in 300 runs; also as active-receiver" in wording.reason(only)


def test_other_roles_verdicts_and_requirements_stay_apart_and_so_do_cases() -> None:
    results = [seen("a", "CTRL-04", 2), seen("b", "CTRL-04", 3), seen("a", "CTRL-04", 2, "active-receiver")]
    results += [dataclasses.replace(seen("c", "CTRL-04", 3), verdict=Verdict.WARN), seen("c", "CTRL-05", 3)]
    results += [row("d", "CTRL-04", frame=1), row("e", "CTRL-04", frame=1)]
    assert [(one.case, one.runs) for one in alike.merged(results)] == [
        ("a", 2),
        ("a", 1),
        ("c", 1),
        ("c", 1),
        ("d", 1),
        ("e", 1),
    ]


def test_rows_that_the_machine_disturbed_join_one_that_it_did_not() -> None:
    disturbed = [dataclasses.replace(seen(f"case {n}", "CTRL-04", 2), held_up_us=80_000) for n in range(5)]
    (only,) = alike.merged(disturbed)
    assert (only.disturbed, only.runs) == (True, 5)
    (only,) = alike.merged([*disturbed, seen("quiet", "CTRL-04", 3)])
    assert (only.case, only.frame, only.disturbed, only.runs) == ("quiet", 3, False, 6)


def test_a_merged_row_survives_json() -> None:
    (merged,) = alike.merged([seen("a", "CTRL-04", 2), seen("b", "CTRL-04", 3)])
    assert Result.from_json(json.loads(json.dumps(merged.to_json()))) == merged


def test_a_packet_that_an_oracle_accuses_replaces_what_did_not_come() -> None:
    judgement = Judgement()
    judgement.worsen(Verdict.FAIL, "nothing came", 30, Cause.ABSENCE, expected="OK")
    judgement.take_violation("CTRL-01", Judgement(Verdict.WARN, "a gap", 4, expected="none"))
    assert judgement.frame == 30
    judgement.take_violation("CTRL-03", Judgement(Verdict.FAIL, "descending", 5, expected="ascending"))
    assert (judgement.expected, judgement.seen, judgement.frame) == ("ascending", "descending", 5)
    assert judgement.cause is Cause.JUDGEMENT
    assert judgement.requirement == "CTRL-03"
    judgement.take_violation("CTRL-04", Judgement(Verdict.FAIL, "left out", 6, expected="all"))
    assert (judgement.frame, judgement.requirement) == (5, "CTRL-03")


def test_of_the_packet_that_a_case_accuses_an_oracle_names_the_requirement() -> None:
    judgement = Judgement()
    judgement.worsen(Verdict.FAIL, "a wrong checksum", 7, expected="a right one")
    judgement.take_violation("CKSUM-02", Judgement(Verdict.FAIL, "0x1234", 7, expected="0x4321"))
    assert (judgement.seen, judgement.requirement) == ("a wrong checksum", "CKSUM-02")
