# SPDX-License-Identifier: GPL-2.0-or-later
"""Bakeoffs: two implementations on real links, what counts as unsupported, points, JSON and page."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest
from netblt_conformance.adapter import adapter_file
from netblt_conformance.bakeoff import page, scorecard, text
from netblt_conformance.bakeoff.command import exit_code
from netblt_conformance.bakeoff.contestants import Contestant, why_not
from netblt_conformance.bakeoff.model import (
    PATHS,
    TRANSFER,
    Completion,
    EndReport,
    Implementation,
    Meeting,
    Milestone,
    Outcome,
    Pair,
    Violation,
    meetings,
    pairs,
)
from netblt_conformance.bakeoff.records import dumped, loaded
from netblt_conformance.common import paths
from netblt_conformance.common.model import ALL_ROLES, Encapsulation
from netblt_conformance.common.verdicts import ExitCode, Verdict
from selftest.conftest import Command, made_once
from selftest.test_report_browser import DESKTOP, PHONE, Complaints, await_visible, browser, opened, press

if TYPE_CHECKING:
    from playwright.sync_api import Browser

__all__ = ["browser"]  # a fixture

SCHEMA = json.loads((paths.root() / "conformance" / "schemas" / "bakeoff.schema.json").read_text(encoding="utf-8"))
REFERENCE, PIPE_C = (paths.adapters() / name for name in ("reference.toml", "example_pipe_c.toml"))
A, B = Implementation("a", Path("a.toml")), Implementation("b", Path("b.toml"))
# Its only role ends with the status that means "not supported" to a run of cases.
LIAR = """
name = "liar"
[wire]
encapsulation = ["ip", "udp"]
[wire.roles.active-sender]
command = ["sh", "-c", "exit 127"]
"""


# ---- on real links ----


def play(folder: Path) -> dict[str, Any]:
    done = Command(folder)(
        "bakeoff",
        str(REFERENCE),
        str(PIPE_C),
        "--paths",
        "clean,lossy",
        "--encapsulation",
        "raw",
        "--details",
        "all",
        "--output",
        str(folder),
    )
    document = json.loads((folder / "bakeoff.json").read_text(encoding="utf-8"))
    jsonschema.validate(document, SCHEMA)
    return {"status": done.status, "output": done.output, "folder": folder, **document}


@pytest.fixture(scope="module")
def played(wire_is_possible: None, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """A program and a pipe program, over a clean and a lossy path."""
    del wire_is_possible
    return made_once(tmp_path_factory, "bakeoff", play)


def test_a_program_and_a_pipe_program_complete_every_meeting_and_violate_nothing(played: dict[str, Any]) -> None:
    assert played["status"] == played["exit_code"] == ExitCode.HOLDS, played["output"]
    assert len(played["meetings"]) == 2 * 2 * 2 * 2  # openers, listeners, directions, paths
    assert {one["completion"] for one in played["meetings"]} == {"completed"}
    assert "16 meetings: 16 completed; 0 violations" in played["output"]
    for card in played["scorecard"]:
        assert card["total"]["reached"] == card["total"]["possible"] > 0


def test_what_was_lost_costs_bytes_on_the_line(played: dict[str, Any]) -> None:
    cost: dict[str, list[float]] = {"clean": [], "lossy": []}
    for one in played["meetings"]:
        cost[one["path"]].append(one["line_bytes_per_byte"])
        assert one["delivered_bytes"] == TRANSFER.data_bytes
        assert one["goodput_bps"] > 0
    assert min(cost["clean"]) > 1.05  # headers of NETBLT and IP
    assert sum(cost["lossy"]) > sum(cost["clean"])


def test_a_cell_of_the_page_opens_the_packets_of_its_meeting(played: dict[str, Any], browser: Browser) -> None:
    for size in (DESKTOP, PHONE):
        with opened(browser, viewport=size) as tab:
            complaints = Complaints()
            complaints.watch(tab)
            tab.goto((played["folder"] / "bakeoff.html").as_uri())
            assert tab.locator(".meetings a.badge.pass").count() == 16
            assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")
            press(tab.locator(".meetings a.badge").first)
            await_visible(tab, "#detail .ladder g.packet")
            assert tab.locator("#detail").inner_text().count("null") == 0
        assert complaints == []


def test_a_program_that_calls_itself_unsupported_while_it_runs_is_an_error(
    wire_is_possible: None, tmp_path: Path
) -> None:
    del wire_is_possible
    liar = tmp_path / "liar.toml"
    liar.write_text(LIAR, encoding="utf-8")
    done = Command(tmp_path)(
        "bakeoff", str(REFERENCE), str(liar), "--paths", "clean", "--encapsulation", "raw", "--output", str(tmp_path)
    )
    document = json.loads((tmp_path / "bakeoff.json").read_text(encoding="utf-8"))
    ends = {(one["active"], one["passive"], one["sender"]): one for one in document["meetings"]}
    assert ends["liar", "netblt reference", "active"]["completion"] == "error"
    assert "127" in ends["liar", "netblt reference", "active"]["why"]
    # What the adapter does not describe is unsupported.
    assert ends["netblt reference", "liar", "active"]["completion"] == "unsupported"
    assert ends["netblt reference", "liar", "active"]["why"] == "liar plays no passive-receiver (liar.toml)"
    assert done.status == ExitCode.COULD_NOT_RUN


# ---- what is unsupported ----


def contestant(file: Path, name: str) -> Contestant:
    adapter = adapter_file.read(file)
    return Contestant(Implementation(name, file, adapter.dialect), adapter, frozenset(adapter.roles))


def reason(opener: Contestant, listener: Contestant, encapsulation: Encapsulation) -> str:
    pair = Pair(opener.implementation, listener.implementation, opener_sends=True)
    known = {one.implementation: one for one in (opener, listener)}
    return why_not(Meeting(pair, PATHS["clean"], encapsulation, 1), known)


def test_implementations_of_different_dialects_do_not_meet() -> None:
    reference, etftp = contestant(REFERENCE, "r"), contestant(paths.adapters() / "etftp.toml", "e")
    assert reason(reference, reference, Encapsulation.UDP) == ""
    assert reason(etftp, etftp, Encapsulation.UDP) == ""
    assert "different dialects: etftp (e) and rfc998 (r)" in reason(reference, etftp, Encapsulation.UDP)
    assert reason(reference, etftp, Encapsulation.UDP) == reason(etftp, reference, Encapsulation.UDP)
    assert reason(etftp, etftp, Encapsulation.IP) == "e has no encapsulation ip, only udp"


def test_two_programs_that_cannot_change_different_udp_ports_do_not_meet() -> None:
    reference, etftp = contestant(REFERENCE, "r"), contestant(paths.adapters() / "etftp.toml", "e")
    same = replace(etftp, implementation=replace(etftp.implementation, dialect="rfc998"))
    moved = replace(same, implementation=B, adapter=replace(same.adapter, udp_port=9999))
    assert reason(same, moved, Encapsulation.UDP) == "e has UDP port 1818 only, b 9999"
    assert reason(same, reference, Encapsulation.UDP) == ""  # the reference takes any


# ---- outcomes and points ----

DONE = frozenset(Milestone)
BOTH = EndReport(succeeded=True)


def outcome(pair: Pair, path: str, completion: Completion, **more: Any) -> Outcome:
    reached = DONE if completion is Completion.COMPLETED else frozenset()
    met = Meeting(pair, PATHS[path], Encapsulation.IP, 1)
    return Outcome(met, completion, **{"milestones": reached, "opener": BOTH, "listener": BOTH, **more})


def breach(name: str, *, certain: bool = True) -> Violation:
    return Violation(name, "sender", "DATA-01", "sent something else", 7, certain)


def test_every_implementation_meets_every_one_in_every_pair_of_roles() -> None:
    found = list(pairs([A, B]))
    assert len(set(found)) == len(found) == 8
    for one in (A, B):
        roles = {pair.opener_role for pair in found if pair.opener == one}
        roles |= {pair.listener_role for pair in found if pair.listener == one}
        assert roles == set(ALL_ROLES)
    everything = meetings([A, B], list(PATHS.values()), list(Encapsulation), 1)
    assert len({one.key for one in everything}) == 8 * len(PATHS) * 2


def test_a_suspicion_costs_nothing_and_a_violation_costs_its_own_implementation() -> None:
    pair = Pair(A, B, opener_sends=True)
    suspected = outcome(pair, "clean", Completion.COMPLETED, violations=(breach("a", certain=False),))
    proven = outcome(pair, "clean", Completion.COMPLETED, violations=(breach("a"),))
    assert suspected.holds
    assert not proven.holds
    assert [str(card.total) for card in scorecard.cards([A, B], [suspected])] == ["18/18", "18/18"]
    assert [str(card.total) for card in scorecard.cards([A, B], [proven])] == ["8/18", "18/18"]


def test_unsupported_meetings_earn_nothing_cost_nothing_and_are_counted() -> None:
    pair = Pair(A, A, opener_sends=True)
    found = [outcome(pair, "clean", one) for one in (Completion.COMPLETED, Completion.UNSUPPORTED)]
    (card,) = scorecard.cards([A], found)
    assert (str(card.total), card.unsupported, card.played) == ("9/9", 1, 1)


def test_only_the_sender_keeps_within_the_rate_of_the_narrow_path() -> None:
    pair = Pair(A, B, opener_sends=True)
    full = outcome(pair, "narrow", Completion.COMPLETED, milestones=DONE - {Milestone.WITHIN_RATE})
    sender, receiver = scorecard.cards([A, B], [full])
    assert (str(sender.total), str(receiver.total)) == ("26/31", "26/26")
    sender, _ = scorecard.cards([A, B], [replace(full, disturbed=True)])
    assert str(sender.total) == "26/26"  # a machine that held processes up may have filled the queue


@pytest.mark.parametrize(
    ("completions", "status"),
    [
        ((Completion.COMPLETED, Completion.UNSUPPORTED), ExitCode.HOLDS),
        ((Completion.COMPLETED, Completion.FAILED, Completion.ERROR), ExitCode.FAILED),
        ((Completion.COMPLETED, Completion.ERROR), ExitCode.COULD_NOT_RUN),
        ((Completion.UNSUPPORTED,), ExitCode.COULD_NOT_RUN),
    ],
)
def test_the_exit_status_hides_no_failure(completions: tuple[Completion, ...], status: ExitCode) -> None:
    pair = Pair(A, B, opener_sends=True)
    assert exit_code([outcome(pair, "clean", one) for one in completions]) is status
    held = outcome(pair, "clean", Completion.COMPLETED, violations=(breach("b"),))
    assert exit_code([held]) is ExitCode.FAILED


def test_an_outcome_survives_json() -> None:
    more = {"why": "no", "violations": (breach("a"),), "milestones": frozenset({Milestone.OPENED})}
    one = outcome(Pair(A, B, opener_sends=False), "lossy", Completion.FAILED, **more)
    assert loaded(json.loads(json.dumps(dumped(one))), one.meeting) == one


def test_a_violation_makes_a_completed_meeting_a_fail_at_its_frame() -> None:
    pair = Pair(A, B, opener_sends=False)
    row = page.result_of(outcome(pair, "clean", Completion.COMPLETED, violations=(breach("b"),)))
    assert (row.verdict, row.frame, row.requirements, row.role) == (Verdict.FAIL, 7, ["DATA-01"], "10.77.0.2 sender")


def test_failures_are_reported_with_their_reason_and_capture() -> None:
    pair = Pair(A, B, opener_sends=True)
    failed = outcome(pair, "lossy", Completion.FAILED, why="b (passive-receiver) failed: disk full", capture="x.pcapng")
    shown = text.report([A, B], [failed], scorecard.cards([A, B], [failed]))
    assert "FAILED: a (active-sender), b (passive-receiver), lossy, ip (x.pcapng)" in shown
    assert "disk full" in shown
    assert "1 meetings: 1 failed; 0 violations, 0 suspected" in shown


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["missing.toml"], "missing.toml"),
        ([str(REFERENCE), "--paths", "clean,rough"], "'rough' is no path; known are clean, lossy"),
        ([str(REFERENCE), "--encapsulation", "ip"], "'ip' is no encapsulation; known are raw, udp"),
    ],
)
def test_mistakes_are_named(command: Command, arguments: list[str], words: str) -> None:
    done = command("bakeoff", *arguments)
    assert done.status == ExitCode.COULD_NOT_RUN
    assert words in done.errors
