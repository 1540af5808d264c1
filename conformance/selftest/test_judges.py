# SPDX-License-Identifier: GPL-2.0-or-later
"""Suite and dissector: when they contradict each other, and when they do not although their words differ."""

from __future__ import annotations

import dataclasses
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from netblt_conformance.catalogue import catalogue
from netblt_conformance.common.errors import JudgeError
from netblt_conformance.common.verdicts import Cause, Result, Verdict
from netblt_conformance.judges import second, standings
from netblt_conformance.judges.comparable import COMPARABLE
from netblt_conformance.judges.findings import Conclusion, Finding
from netblt_conformance.judges.second import disagreements, position_options
from netblt_conformance.judges.tshark import Tshark, plugin_folder
from netblt_conformance.links.base import IUT_ADDRESS, TESTER_ADDRESS
from netblt_conformance.packets import captures
from netblt_conformance.packets.capture import Capture
from netblt_conformance.packets.packets import Forge, Kind, Message, Packet, Type

if TYPE_CHECKING:
    from selftest.conftest import Command

pytestmark = [
    pytest.mark.usefixtures("built_writer"),
    pytest.mark.skipif(
        shutil.which("tshark") is None or not list(plugin_folder().glob("*/epan/netblt.so")), reason="no plugin"
    ),
]

CAPTURE = "CTRL-03.case.passive-receiver.pcapng"
TESTER, IUT = Forge(2, 1000, 1), Forge(2, 1, 1000)
OPENING = Packet(
    b"",
    unique_id=7,
    buffer_size=256,
    packet_size=256,
    burst_size=4,
    burst_interval_ms=10,
    death_timer_s=30,
    flags=1,
    max_buffers=4,
    string=b"\0\0\0\0",
)


def transfer(folder: Path, *controls: tuple[Message, ...], by_tester: bytes | None = None) -> Path:
    """The tester opens and sends, the implementation answers with these CONTROLs; nothing is lost."""
    capture, at = Capture(), 0

    def packet(payload: bytes, *, ours: bool) -> None:
        nonlocal at
        at += 1000
        ends = (TESTER_ADDRESS, IUT_ADDRESS) if ours else (IUT_ADDRESS, TESTER_ADDRESS)
        capture.add(at, payload, *ends, sent=ours)

    packet(TESTER.opening(Type.OPEN, OPENING), ours=True)
    packet(IUT.opening(Type.RESPONSE, OPENING), ours=False)
    if by_tester is not None:
        packet(by_tester, ours=True)
    for number, messages in enumerate(controls):
        packet(IUT.control(messages), ours=False)
        highest = max(message.seq for message in messages)
        data = Packet(b"", type=Type.LDATA, buffer=number, high_seq=highest, data=bytes(256))
        packet(TESTER.data(data), ours=True)
    capture.write(folder / CAPTURE)
    return folder


def go(seq: int, buffer: int) -> Message:
    return Message(Kind.GO, seq, buffer)


GOOD = ((go(1, 0),), (go(2, 1),), (go(3, 2),))
DESCENDING = ((go(1, 0),), (go(3, 2), go(2, 1)))


def result(verdict: Verdict, requirement: str = "CTRL-03", frame: int | None = None) -> Result:
    return Result("case", [requirement], "passive-receiver", verdict, "x", capture=CAPTURE, frame=frame, expected="y")


def test_judges_that_agree_say_nothing(tmp_path: Path) -> None:
    assert disagreements([result(Verdict.PASS)], transfer(tmp_path, *GOOD)) == []
    assert disagreements([result(Verdict.FAIL, frame=5)], transfer(tmp_path, *DESCENDING)) == []


def test_a_violation_that_the_suite_passed_is_an_error_of_the_suite(tmp_path: Path) -> None:
    found = disagreements([result(Verdict.PASS, "DATA-01")], transfer(tmp_path, *DESCENDING))
    assert [(one.verdict, one.requirements, one.frame) for one in found] == [(Verdict.ERROR, ["CTRL-03"], 5)]


def test_what_the_tester_made_undecidable_is_held_against_nobody(tmp_path: Path) -> None:
    passed = dataclasses.replace(result(Verdict.PASS, "DATA-01"), provoked=["CTRL-03"])
    assert disagreements([passed], transfer(tmp_path, *DESCENDING)) == []


def test_of_a_habit_the_first_packets_are_looked_at_and_of_others_all(tmp_path: Path) -> None:
    rows = [dataclasses.replace(result(Verdict.FAIL, frame=5), capture=f"{n}.pcapng") for n in range(30)]
    rows += [dataclasses.replace(result(Verdict.FAIL, "WIRE-02", 5), capture=f"{n}.pcapng") for n in range(3)]
    for row in rows:
        (tmp_path / str(row.capture)).touch()
    seen = [row.requirement for row in second._accused(rows, tmp_path)]
    assert (seen.count("CTRL-03"), seen.count("WIRE-02")) == (20, 3)


def test_the_captures_and_the_accused_packets_are_counted(tmp_path: Path) -> None:
    counts: list[tuple[int, int]] = []
    disagreements(
        [result(Verdict.FAIL, frame=5)], transfer(tmp_path, *GOOD), lambda done, of: counts.append((done, of))
    )
    assert counts == [(0, 2), (1, 2), (2, 2)]


def test_what_did_not_come_accuses_no_packet(tmp_path: Path) -> None:
    """The frame of such a failure is only the last one that came before the waiting ended."""
    failed = dataclasses.replace(result(Verdict.FAIL, frame=5), cause=Cause.ABSENCE)
    assert disagreements([failed], transfer(tmp_path, *GOOD)) == []


def test_one_more_violation_of_a_broken_implementation_is_a_failure_and_no_contradiction(tmp_path: Path) -> None:
    found = disagreements([result(Verdict.FAIL, "DATA-01", 5)], transfer(tmp_path, *DESCENDING))
    assert [(one.verdict, one.requirements) for one in found] == [(Verdict.FAIL, ["CTRL-03"])]


def test_on_a_real_link_what_the_suite_fails_elsewhere_in_the_role_is_no_contradiction(tmp_path: Path) -> None:
    folder, passed = transfer(tmp_path, *DESCENDING), result(Verdict.PASS, "DATA-01")
    elsewhere = dataclasses.replace(result(Verdict.FAIL), capture=None)

    def verdicts(other: Result, *, real_time: bool) -> list[Verdict]:
        return [one.verdict for one in disagreements([passed, other], folder, real_time=real_time)]

    assert verdicts(elsewhere, real_time=True) == [Verdict.FAIL]
    assert verdicts(elsewhere, real_time=False) == [Verdict.ERROR]
    assert verdicts(dataclasses.replace(elsewhere, role="active-receiver"), real_time=True) == [Verdict.ERROR]
    assert verdicts(dataclasses.replace(elsewhere, verdict=Verdict.WARN), real_time=True) == [Verdict.ERROR]


def test_failing_a_packet_that_the_dissector_found_right_is_an_error_of_the_suite(tmp_path: Path) -> None:
    found = disagreements([result(Verdict.FAIL, frame=5)], transfer(tmp_path, *GOOD))
    assert [(one.verdict, one.requirements, one.frame) for one in found] == [(Verdict.ERROR, ["CTRL-03"], 5)]


@pytest.mark.parametrize(
    ("requirement", "frame", "why"),
    [
        ("CTRL-03", None, "no packet was accused: what is missing leaves no trace"),
        ("CTRL-03", 4, "the packet accused is the tester's"),
        ("CTRL-05", 5, "only the tester knows which acknowledgements the implementation had received"),
        ("QUIT-01", 5, "the dissector has not seen this rule put to the test"),
    ],
)
def test_what_the_dissector_cannot_decide_contradicts_nobody(
    tmp_path: Path, requirement: str, frame: int | None, why: str
) -> None:
    assert disagreements([result(Verdict.FAIL, requirement, frame)], transfer(tmp_path, *GOOD)) == [], why


def test_deliberate_faults_of_the_tester_are_held_against_nobody(tmp_path: Path) -> None:
    """A tester that sends a CONTROL although it is the sender breaks WIRE-13; its address distinguishes it."""
    folder = transfer(tmp_path, *GOOD, by_tester=TESTER.control((go(1, 0),)))
    with Tshark() as tshark:
        offenders = {finding.offender_address for finding in tshark.findings(folder / CAPTURE)}
    assert offenders == {"192.0.2.1"}, "else this test proves nothing"
    assert disagreements([result(Verdict.PASS)], folder) == []


def test_captures_of_many_cases_are_told_apart(tmp_path: Path) -> None:
    transfer(tmp_path, *GOOD)
    rows = []
    for number, controls in enumerate((GOOD, DESCENDING, GOOD, DESCENDING)):
        transfer(tmp_path, *controls)
        name = f"{number}.pcapng"
        (tmp_path / CAPTURE).rename(tmp_path / name)
        rows.append(dataclasses.replace(result(Verdict.PASS), case=f"case {number}", capture=name))
    assert [one.capture for one in disagreements(rows, tmp_path)] == ["1.pcapng", "3.pcapng"]


def test_frames_in_the_words_of_a_finding_are_those_of_its_capture(tmp_path: Path) -> None:
    """All captures are judged in one merged file, which no user sees."""
    transfer(tmp_path, (go(1, 0),), (go(2, 1),), (go(2, 5),))
    rows = []
    for number in range(2):
        shutil.copy(tmp_path / CAPTURE, tmp_path / f"{number}.pcapng")
        rows.append(dataclasses.replace(result(Verdict.PASS), case=f"case {number}", capture=f"{number}.pcapng"))
    told = [
        (one.capture, one.frame, one.seen) for one in disagreements(rows, tmp_path) if "CTRL-02" in one.requirements
    ]
    assert [(capture, frame) for capture, frame, _ in told] == [("0.pcapng", 7), ("1.pcapng", 7)]
    assert all("differs from its copy in frame 5" in words for *_, words in told), told


def test_every_comparable_rule_is_known_and_provable() -> None:
    assert set(catalogue.requirements()) >= COMPARABLE


def test_the_position_is_the_end_that_the_tester_plays() -> None:
    assert position_options("active-sender") == ("-o", "netblt.capture_position:receiver")
    assert position_options("passive-receiver") == ("-o", "netblt.capture_position:sender")
    assert position_options("all") == ()


def test_a_capture_is_cut_behind_a_frame(tmp_path: Path) -> None:
    capture = transfer(tmp_path, *GOOD) / CAPTURE
    total = len(list(captures.read(capture)))
    for wanted in (0, 1, total):
        captures.cut(capture, wanted, tmp_path / "cut.pcapng")
        assert len(list(captures.read(tmp_path / "cut.pcapng"))) == wanted
    assert captures.emitter(capture, 1) == TESTER_ADDRESS
    assert captures.emitter(capture, 2) == IUT_ADDRESS
    assert captures.emitter(capture, total + 1) == b""


def finding(frame: int, verdict: str, offending: int = 0) -> Finding:
    return Finding(
        frame, "tester", 0, "CTRL-04", Conclusion(verdict), "10.0.0.2 receiver", "text", offending_frame=offending
    )


def test_a_suspicion_that_is_proven_later_is_told_once() -> None:
    early, other, proof = finding(3, "suspected"), finding(4, "suspected"), finding(9, "violation", 3)
    assert standings.settled([early, other, proof]) == [other, proof]


def test_a_suspicion_in_the_frame_of_a_violation_is_no_violation(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    both = [finding(4, "violation"), finding(4, "suspected")]
    monkeypatch.setattr(Tshark, "judge", lambda *_: both)
    (tmp_path / "x.pcapng").touch()
    with Tshark() as tshark:
        assert tshark.findings(tmp_path / "x.pcapng", violations=True) == both[:1]
        assert tshark.findings(tmp_path / "x.pcapng") == both


def test_without_the_report_of_conclusions_findings_speak_alone() -> None:
    (connection,) = standings.Reports().connections([finding(3, "suspected"), finding(9, "violation")])
    assert connection.standings["CTRL-04"].conclusion == Conclusion.VIOLATED


def test_a_plugin_without_the_report_is_named_as_too_old(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file in the place of the plugin that is none: tshark runs without it."""
    capture = transfer(tmp_path, *GOOD) / CAPTURE
    (of_this_version, *_) = plugin_folder().glob("*/epan/netblt.so")
    plugin = tmp_path / "plugins" / of_this_version.relative_to(plugin_folder())
    plugin.parent.mkdir(parents=True)
    plugin.write_bytes(b"")
    monkeypatch.setenv("NETBLT_PLUGIN_DIR", str(tmp_path / "plugins"))
    with Tshark() as tshark, pytest.raises(JudgeError, match="no report findings: it is older than this suite"):
        tshark.findings(capture)


@pytest.mark.usefixtures("built_library")
def test_clean_runs_have_judges_that_agree(command: Command) -> None:
    done = command("run", "--no-sweep", "--share", "1/3", "--select", "CTRL,DATA,RESEND", judged=True)
    assert done.status == 0, done.output
    assert {one.verdict for one in done.results} <= {Verdict.PASS, Verdict.NA}
