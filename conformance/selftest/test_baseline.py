# SPDX-License-Identifier: GPL-2.0-or-later
"""Two runs compared: what counts as a new failure, what as noise, and what an unreadable file gives."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from netblt_conformance.baseline import ci, noise, records, text
from netblt_conformance.baseline.compare import Comparison, Kind, compare
from netblt_conformance.baseline.document import document
from netblt_conformance.commands.cli import main
from netblt_conformance.common import paths
from netblt_conformance.common.remarks import Note, Remark
from netblt_conformance.common.verdicts import KNOWN, Cause, Origin, Result, Verdict, harden
from netblt_conformance.report import files

SCHEMA = json.loads((paths.root() / "conformance" / "schemas" / "diff.schema.json").read_text(encoding="utf-8"))
HEADER: dict[str, Any] = {
    "testing": {"name": "somebody's endpoint", "link": "sim"},
    "suite": "netblt-conformance 0.1.0",
    "link": "sim",
    "seed": 1,
    "schedule": {"delay": "1 ms"},
    "versions": {"suite": "0.1.0", "dissector": "0.1.0"},
    "select": "",
    "strict": False,
    "complete": True,
    "observed": {},
}
P, W, I, F, E, N = Verdict.PASS, Verdict.WARN, Verdict.INCONC, Verdict.FAIL, Verdict.ERROR, Verdict.NA  # noqa: E741


def row(verdict: Verdict, case: str = "a_case", role: str = "active-sender", **more: Any) -> Result:
    if verdict is not P:
        more = {"seen": "why", "expected": "something else", **more}
    return Result(case, more.pop("requirements", ["CTRL-04"]), role, verdict, **more)


def known_failure() -> Result:
    return row(F).noted(Note(Remark.KNOWN, link="https://example.org/1"), verdict=W)


def compared(
    before: Sequence[Result],
    now: Sequence[Result],
    old: dict[str, Any] | None = None,
    new: dict[str, Any] | None = None,
) -> Comparison:
    found = compare(
        records.of_run("old", {**HEADER, **(old or {})}, before),
        records.of_run("new", {**HEADER, **(new or {})}, now),
    )
    jsonschema.validate(document(found), SCHEMA)
    return found


def kinds(found: Comparison) -> list[Kind]:
    return [change.kind for change in found.changes]


RULES: dict[str, tuple[Verdict, dict[Verdict, Kind | None]]] = {
    # before: what a result of now is called
    "passed": (
        P,
        {P: None, W: Kind.WORSE, I: Kind.NOT_JUDGED, F: Kind.NEW_FAILURE, E: Kind.NOT_JUDGED, N: Kind.NOT_JUDGED},
    ),
    "warned": (W, {P: Kind.FIXED, W: None, I: Kind.NOT_JUDGED, F: Kind.NEW_FAILURE, E: Kind.NOT_JUDGED}),
    "inconclusive": (I, {P: Kind.JUDGED, W: Kind.JUDGED, I: None, F: Kind.NEW_FAILURE, N: Kind.NOT_JUDGED}),
    "failed": (
        F,
        {
            P: Kind.FIXED,
            W: Kind.FIXED,
            I: Kind.NOT_JUDGED,
            F: Kind.STILL_FAILING,
            E: Kind.NOT_JUDGED,
            N: Kind.NOT_JUDGED,
        },
    ),
    "not available": (N, {P: Kind.JUDGED, F: Kind.NEW_FAILURE, N: None, I: Kind.NOT_JUDGED}),
    "in error": (E, {P: Kind.JUDGED, F: Kind.NEW_FAILURE, E: None}),
}


@pytest.mark.parametrize("name", RULES)
def test_each_step_from_one_verdict_to_another_has_a_name(name: str) -> None:
    before, steps = RULES[name]
    for now, kind in steps.items():
        found = compared([row(before)], [row(now)])
        assert kinds(found) == ([kind] if kind else []), (before, now)
        assert found.fails == (kind is Kind.NEW_FAILURE)
        assert found.unchanged == (kind is None)


def test_what_only_one_run_has() -> None:
    assert kinds(compared([], [row(P)])) == [Kind.NEW]
    assert kinds(compared([row(F)], [])) == [Kind.GONE]
    found = compared([row(P, "other")], [row(F)])
    assert kinds(found) == [Kind.NEW_FAILURE, Kind.GONE], "the baseline excuses only what it lists"
    assert found.fails


def test_results_are_matched_by_case_role_and_arm_and_not_by_their_text() -> None:
    before = [row(F, role="active-sender"), row(P, role="passive-sender"), row(P, arm="control")]
    now = [
        row(F, role="active-sender", seen="in other words", frame=9),
        row(F, role="passive-sender"),
        row(P, arm="control"),
    ]
    found = compared(before, now)
    assert kinds(found) == [Kind.STILL_FAILING, Kind.NEW_FAILURE]
    assert [change.cause_changed for change in found.changes] == [False, False]


def test_rows_of_cases_that_do_not_exist_are_matched_by_requirement() -> None:
    one, other = (row(N, "no case", "all", requirements=[which]) for which in ("CTRL-01", "CTRL-02"))
    assert kinds(compared([one], [one, other])) == [Kind.NEW]


@pytest.mark.parametrize(
    ("before", "now"),
    [
        ({"cause": Cause.JUDGEMENT}, {"cause": Cause.ABSENCE}),
        ({"violated": "CTRL-04"}, {"violated": "CTRL-05"}),
        ({"cause": Cause.ABSENCE, "due_by": "CTRL-02"}, {"cause": Cause.ABSENCE}),
        ({"cause": Cause.CRASH}, {"cause": Cause.JUDGEMENT}),
    ],
)
def test_a_failure_on_other_evidence_is_no_new_one_but_reported(before: dict[str, Any], now: dict[str, Any]) -> None:
    found = compared([row(F, **before)], [row(F, **now)])
    assert kinds(found) == [Kind.STILL_FAILING]
    assert found.changes[0].cause_changed
    assert "another cause" in "\n".join(text.lines(found, False, everything=True))


def test_a_crash_is_excused_by_a_crash_only() -> None:
    assert kinds(compared([row(F)], [row(F, cause=Cause.CRASH)])) == [Kind.NEW_FAILURE]
    assert kinds(compared([row(F, cause=Cause.CRASH)], [row(F, cause=Cause.CRASH)])) == [Kind.STILL_FAILING]


def test_known_failures_of_the_adapter() -> None:
    assert kinds(compared([row(F)], [known_failure()])) == [Kind.STILL_FAILING]
    assert kinds(compared([known_failure()], [known_failure()])) == [Kind.STILL_FAILING]
    assert kinds(compared([known_failure()], [row(P)])) == [Kind.FIXED]
    assert kinds(compared([row(P)], [known_failure()])) == [Kind.WORSE]
    uncovered = compared([known_failure()], [known_failure().noted(verdict=F)])
    assert kinds(uncovered) == [Kind.NEW_FAILURE], "the adapter no longer covers it"
    shown = "\n".join(text.lines(uncovered, False, everything=False))
    assert shown.count("https://example.org/1") == 2, "once for each of the two"


def entry(number: int, link: str) -> Result:
    more: dict[str, Any] = {"origin": Origin.KNOWN, "cause": Cause.SUITE, "observed": {KNOWN: link}}
    return row(F, f"known failure {number}", "all", **more)


def test_an_entry_of_the_adapter_is_matched_by_its_link_and_not_by_its_number() -> None:
    found = compared([entry(1, "https://example.org/1")], [entry(1, "https://example.org/2")])
    assert kinds(found) == [Kind.NEW_FAILURE, Kind.FIXED]
    assert kinds(compared([entry(1, "https://example.org/1")], [entry(4, "https://example.org/1")])) == [
        Kind.STILL_FAILING
    ]
    interrupted = compared([entry(1, "https://example.org/1")], [], new={"complete": False})
    assert kinds(interrupted) == [Kind.GONE]


def finding(case: str, role: str = "active-sender", origin: Origin = Origin.MONITOR, **more: Any) -> Result:
    return row(F, case, role, origin=origin, **more)


def test_what_an_oracle_found_is_matched_by_requirement_and_role_whatever_case_shows_it() -> None:
    before = [row(P, "one"), row(P, "two"), finding("one")]
    now = [row(P, "one"), row(P, "two"), finding("two")]
    assert kinds(compared(before, now)) == [Kind.STILL_FAILING]
    other = compared(before, [*now[:2], finding("one", "passive-sender")])
    assert kinds(other) == [Kind.NEW_FAILURE, Kind.FIXED]
    formats = [finding("one", role, requirements=["WIRE-02"]) for role in ("active-sender", "passive-sender")]
    assert kinds(compared(formats[:1], formats[1:])) == [Kind.STILL_FAILING], "formats are one for all roles"
    warned = dataclasses.replace(finding("one"), verdict=W)
    assert kinds(compared(before[:2], [*before[:2], warned])) == [Kind.WORSE], "it exists because something is wrong"


def test_what_an_oracle_found_is_fixed_only_when_its_case_was_judged_again() -> None:
    before = [row(P, "one"), finding("one")]
    assert kinds(compared(before, [row(P, "one")])) == [Kind.FIXED]
    assert kinds(compared(before, [row(I, "one")])) == [Kind.NOT_JUDGED, Kind.GONE]
    assert kinds(compared(before, [row(P, "two")])) == [Kind.NEW, Kind.GONE, Kind.GONE]


def test_what_the_plugin_found_is_fixed_only_when_the_plugin_looked_again() -> None:
    before = [row(F, "one"), finding("one", origin=Origin.DISSECTOR)]
    now = [row(P, "one")]
    assert kinds(compared(before, now)) == [Kind.FIXED, Kind.FIXED]
    without = compared(before, now, new={"versions": {"suite": "0.1.0"}})
    assert kinds(without) == [Kind.FIXED, Kind.GONE]
    assert [one.name for one in without.parameters] == ["versions.dissector"]


def test_strict_alone_is_no_difference() -> None:
    strict = {"strict": True}
    found = compared([row(W)], [harden(row(W))], new=strict)
    assert kinds(found) == [Kind.STILL_FAILING]
    assert [one.name for one in found.parameters] == ["strict"]
    assert kinds(compared([harden(row(W))], [row(W)], old=strict)) == []
    assert kinds(compared([row(P)], [harden(row(W))], new=strict)) == [Kind.NEW_FAILURE]
    assert kinds(compared([row(P)], [known_failure()], new=strict)) == [Kind.WORSE]


def test_of_several_rows_of_one_result_the_worst_counts() -> None:
    assert kinds(compared([row(P)], [row(P), row(F)])) == [Kind.NEW_FAILURE]
    assert kinds(compared([row(F), row(P)], [row(F)])) == [Kind.STILL_FAILING]


def test_a_changed_parameter_is_reported_and_nothing_else_follows_from_it() -> None:
    other = {
        "seed": 2,
        "link": "pipe",
        "testing": {"name": "somebody's endpoint", "link": "pipe", "profile": "ETFTP"},
        "select": "CTRL",
        "complete": False,
        "causes": [{"x": 1}],
        "baseline": {"layout": 1},
    }
    found = compared([row(P)], [row(P)], new=other)
    names = {one.name for one in found.parameters}
    assert names == {"testing.link", "testing.profile", "link", "seed", "complete", "select"}
    assert (found.fails, found.unchanged, found.slower) == (False, 1, None)
    assert "seed: 1 -> 2" in "\n".join(text.lines(found, False, everything=False))
    assert "interrupted" in text.run_line(found.now)


def test_observations_that_differ_are_one_row_for_all_their_results() -> None:
    before = [
        row(P, role=role, observed={"QUIT": "waits", "gone": "1"}) for role in ("active-sender", "passive-sender")
    ]
    now = [dataclasses.replace(one, observed={"QUIT": "at once", "new": "2"}) for one in before]
    found = compared(before, now)
    where = ("a_case[active-sender]", "a_case[passive-sender]")
    assert [dataclasses.astuple(one) for one in found.observations] == [
        ("QUIT", "waits", "at once", where), ("gone", "1", "", where), ("new", "", "2", where),
    ]  # fmt: skip
    header = {"observed": {"active-sender": {"version byte": "2"}, "passive-sender": {"version byte": "2"}}}
    roles = compared([], [], header, {"observed": {"active-sender": {"version byte": "3"}}})
    assert [dataclasses.astuple(one) for one in roles.observations] == [("version byte", "2", "3", ("active-sender",))]


def test_the_link_of_a_known_failure_is_no_observation() -> None:
    covered = dataclasses.replace(known_failure(), observed={KNOWN: "https://example.org/1"})
    assert compared([row(F)], [covered]).observations == []


def test_nothing_is_observed_in_a_case_that_came_to_no_verdict() -> None:
    assert compared([row(P, observed={"x": "1"})], [row(I)]).observations == []


@pytest.mark.parametrize(
    ("name", "before", "now", "virtual", "same"),
    [
        ("repeats of QUIT, ms", "1000", "1001", True, False),
        ("repeats of QUIT, ms", "1000", "1900", False, True),
        ("repeats of QUIT, ms", "1000", "2100", False, False),
        ("second RESEND, ms after the first", "30", "190", False, True),
        ("published control timer and first repeat, ms", "10 and 10", "18 and 40", False, True),
        ("published control timer and first repeat, ms", "10 and 10", "18 and 400", False, False),
        ("published control timer and first repeat, ms", "10 and 10", "none", False, False),
        ("12 repeats of CONTROL took, s", "6", "59", False, False),
        ("published control timer", "18 ms", "28 ms", False, True),
        ("death timer 0 of the peer", "6 packets in 3 s", "12 packets in 3 s", False, False),
        ("CONTROLs for a transfer with a round trip of 1.2 s", "28", "29", False, False),
        ("version byte", "2", "3", False, False),
        ("first buffer number", "1305720886", "531892127", False, True),
        ("first buffer number", "0", "531892127", True, False),
    ],
)
def test_which_observations_are_the_same(name: str, before: str, now: str, virtual: bool, same: bool) -> None:
    assert noise.is_same_observation(name, before, now, virtual=virtual) is same
    assert noise.is_same_observation(name, now, before, virtual=virtual) is same


@pytest.mark.parametrize(
    ("link", "before_s", "now_s", "slower"),
    [
        ("sim", 1.0, 1.2, True),
        ("sim", 1.0, 1.09, False),
        ("sim", 0.01, 0.029, False),
        ("sim", 1.2, 1.0, False),
        ("wire", 1.0, 1.5, False),
        ("wire", 2.3, 3.9, False),
        ("wire", 2.0, 4.5, True),
        ("wire", 20.0, 24.0, False),
    ],
)
def test_which_cases_are_slower(link: str, before_s: float, now_s: float, slower: bool) -> None:
    found = compared([row(P, seconds=before_s)], [row(P, seconds=now_s)], {"link": link}, {"link": link})
    assert found.slower is not None
    assert bool(found.slower) is slower
    assert not found.fails


def test_times_of_other_links_or_of_failures_are_not_compared() -> None:
    slow = [row(P, seconds=1)], [row(P, seconds=9)]
    assert compared(*slow, new={"link": "pipe"}).slower is None
    assert compared(*slow, new={"schedule": {"delay": "5 ms"}}).slower is None
    assert compared([row(F, seconds=1)], [row(F, seconds=9)]).slower == []
    assert "Times are not compared" in "\n".join(
        text.lines(compared(*slow, new={"link": "pipe"}), False, everything=False)
    )


def test_the_text_keeps_to_80_columns_and_counts_what_it_leaves_out() -> None:
    before = [row(P, f"a_case_with_a_long_name_{number}") for number in range(2 * text.SHOWN_MAX)]
    found = compared(
        before, [dataclasses.replace(one, verdict=F, seen="why " * 40, expected="something else") for one in before]
    )
    short, all_of_it = (text.lines(found, False, everything=everything) for everything in (False, True))
    assert max(map(len, "\n".join(all_of_it).split("\n"))) <= 80
    assert "\n".join(short).count("before: PASS") == text.SHOWN_MAX
    assert f"  ... {text.SHOWN_MAX} more: --verbose or --json" in short
    assert "\n".join(all_of_it).count("before: PASS") == 2 * text.SHOWN_MAX
    assert short[-1].startswith(f"{2 * text.SHOWN_MAX} new failures")


def test_roles_that_changed_alike_are_one_row() -> None:
    roles = ("active-sender", "active-receiver")
    found = compared([row(P, role=role) for role in roles], [row(F, role=role) for role in roles])
    lines = "\n".join(text.lines(found, False, everything=False))
    assert lines.count("before: PASS") == 1
    assert ", ".join(roles) in lines
    assert "New failures: 2" in lines


def written(folder: Path, results: Sequence[Result], **more: Any) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / files.JSON_LINES).write_text(files.json_lines({**HEADER, **more}, results), encoding="utf-8")
    return folder


def test_diff_takes_folders_and_files_and_its_status_says_whether_something_fails_anew(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good, bad = written(tmp_path / "good", [row(P), row(W, "w")]), written(tmp_path / "bad", [row(F), row(E, "w")])
    assert main(["diff", str(good), str(bad / files.JSON_LINES)]) == 1
    assert "New failures: 1" in capsys.readouterr().out
    assert main(["diff", str(bad), str(good)]) == 0
    assert main(["diff", str(good), str(good)]) == 0
    capsys.readouterr()
    assert main(["diff", "--json", str(good), str(bad)]) == 1
    found = json.loads(capsys.readouterr().out)
    jsonschema.validate(found, SCHEMA)
    assert (found["kind"], found["counts"]["new failure"], found["counts"]["no longer judged"]) == ("diff", 1, 1)


@pytest.mark.parametrize(
    ("line", "change", "words"),
    [
        (2, lambda text: text[:-9], "not JSON"),
        (2, lambda text: text.replace('"FAIL"', '"GOOD"'), "verdict: 'GOOD' must be one of PASS, WARN"),
        (
            2,
            lambda text: text.replace('"seconds": 0.0', '"seconds": "long"'),
            "seconds: 'long': must be a valid number",
        ),
        (2, lambda text: text.replace('"role": "active-sender", ', ""), "role: missing"),
        (2, lambda text: text.replace('"origin": "case"', '"origin": "me"'), "origin: 'me'"),
        (2, lambda text: text.replace('"kind": "result"', '"kind": "run"'), "must be the line of a result"),
        (2, lambda _text: "[1]", "must be a JSON object"),
        (2, lambda _text: "[" * 100_000, "not JSON"),
        (1, lambda text: text.replace('"kind": "run"', '"kind": "check"'), "must be the line of a run"),
        (1, lambda text: text.replace('"layout": 1', '"layout": 2'), "layout 2; this command reads layout 1"),
        (1, lambda text: text.replace('"seed": 1', '"seed": null'), "seed: None"),
        (1, lambda text: text.replace('"complete": true, ', ""), "complete: missing"),
    ],
)
def test_what_cannot_be_read_is_named_with_its_line(
    line: int, change: Any, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good = written(tmp_path / "good", [row(F)])
    file = good / files.JSON_LINES
    lines = file.read_text(encoding="utf-8").splitlines()
    assert change(lines[line - 1]) != lines[line - 1]
    lines[line - 1] = change(lines[line - 1])
    other = tmp_path / "other.jsonl"
    other.write_text("\n".join(lines) + "\n", encoding="utf-8")
    for old, new in ((other, good), (good, other)):
        assert main(["diff", str(old), str(new)]) == 2
        said = capsys.readouterr()
        assert said.err.startswith(f"error: {other}:{line}: ")
        assert words in said.err
        assert said.out == ""


def test_files_that_are_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good = written(tmp_path / "good", [row(P)])
    (tmp_path / "empty.jsonl").touch()
    (tmp_path / "binary.jsonl").write_bytes(b'{"kind": "run"}\n\xff\xfe')
    (tmp_path / "folder").mkdir()
    for name, words in {
        "empty.jsonl": "empty: the run wrote no results",
        "binary.jsonl": "binary.jsonl:2: not UTF-8",
        "folder": "results.jsonl: No such file",
        "nothing": "nothing: No such file",
    }.items():
        assert main(["diff", str(tmp_path / name), str(good)]) == 2
        assert words in capsys.readouterr().err


def test_fields_of_a_newer_suite_do_no_harm(tmp_path: Path) -> None:
    folder = written(tmp_path / "new", [row(P)], field_of_tomorrow={"x": [1]})
    file = folder / files.JSON_LINES
    file.write_text(file.read_text(encoding="utf-8").replace('"arm"', '"tomorrow": 1, "arm"'), encoding="utf-8")
    assert main(["diff", str(folder), str(folder)]) == 0


def test_annotations_name_the_requirement_and_are_escaped() -> None:
    found = compared([row(P)], [row(F, seen="50 %: a\nb", capture="x.pcapng", frame=6)])
    text_of_it = "FAIL: 50 %25: a b; expected: something else [x.pcapng, frame 6]"
    assert ci.github_lines(found.now, found) == f"::error title=CTRL-04 a case%2C active-sender::{text_of_it}\n"
    assert ci.github_lines(found.before, None) == ""


def test_annotations_are_of_new_failures_and_errors_only_and_of_each_requirement_first() -> None:
    failing = [row(F, f"case_{number}") for number in range(ci.ANNOTATIONS_MAX)]
    new = [row(F, "another", requirements=["QUIT-04"]), row(E, "wrong")]
    old = [row(F, "old"), *(dataclasses.replace(one, verdict=P) for one in failing)]
    found = compared(old, [row(F, "old"), *failing, *new])
    lines = ci.github_lines(found.now, found).splitlines()
    assert len(lines) == ci.ANNOTATIONS_MAX
    assert [line.split("::")[1].split()[1].removeprefix("title=") for line in lines[:2]] == ["CTRL-04", "QUIT-04"]
    assert "3 more failures" in lines[-1]
    assert "old" not in "".join(lines)
    assert "wrong" in ci.github_lines(found.now, compared([], [row(E, "wrong")]))


def test_the_summary_is_markdown_in_which_the_text_of_others_does_nothing() -> None:
    hostile = "<img src=x> | `code` [link](https://example.org) \u202e"
    found = compared([row(P), row(F, "b")], [row(F, seen=hostile), row(P, "b")])
    summary = ci.summary(found.now, found)
    assert not any(text in summary for text in ("<img", "`", "[link]", "\u202e"))
    table = [line for line in summary.splitlines() if line.startswith("|")]
    assert {line.count("|") for line in table} == {6}
    assert "**1 new failure, 1 fixed, 0 unchanged**" in summary
    assert "### New failures: 1" in summary
    alone = ci.summary(found.now)
    assert "### Failed: 1" in alone
    assert {line.count("|") for line in alone.splitlines() if line.startswith("|")} == {5}


def test_a_summary_of_very_many_failures_stays_small() -> None:
    rows = [row(F, f"case_{number}", seen="x" * 9000) for number in range(3000)]
    found = compared([dataclasses.replace(one, verdict=P) for one in rows], rows)
    assert len(ci.summary(found.now, found).encode()) < 1 << 20
    assert "2950 more are in the report." in ci.summary(found.now, found)


def test_a_record_of_an_earlier_version_has_its_reason_as_what_was_seen(tmp_path: Path) -> None:
    file = tmp_path / files.JSON_LINES
    rows = [json.loads(line) for line in files.json_lines(HEADER, [row(F), row(P, "b")]).splitlines()]
    for one in rows[1:]:
        one.pop("seen", None)
        one.pop("expected", None)
        one["reason"] = "in words" if one["verdict"] == "FAIL" else ""
    file.write_text("".join(json.dumps(one) + "\n" for one in rows), encoding="utf-8")
    failed, passed = records.read(file).results
    assert (failed.seen, bool(failed.expected), passed.seen) == ("in words", True, "")
