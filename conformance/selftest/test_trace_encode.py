# SPDX-License-Identifier: GPL-2.0-or-later
"""The object that a page gets of each result: its packets, the deciding one, what is excluded; for every capture."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from netblt_conformance.common import paths
from netblt_conformance.common.verdicts import Origin, Result, Verdict
from netblt_conformance.links.base import IUT_ADDRESS, TESTER_ADDRESS
from netblt_conformance.packets import packets
from netblt_conformance.packets.capture import COUNTS_AS_LOST, Capture
from netblt_conformance.packets.packets import Type, seal
from netblt_conformance.simlib import PcapngWriter
from netblt_conformance.trace import build, encode
from netblt_conformance.trace.encode import FIELDS, Reader
from selftest.test_trace_network import through
from selftest.test_trace_state import DELAY_US, IUT, SCRIPT, TESTER, capture_of

if TYPE_CHECKING:
    from selftest.conftest import Command

PCAPS = paths.root() / "pcaps"
FAILED = Result(
    "x", ["CTRL-04"], "passive-receiver", Verdict.FAIL, "seen", expected="wanted", frame=11, capture="a.pcapng"
)


def event(found: dict[str, Any], place: int) -> dict[str, Any]:
    return dict(zip(found["fields"], found["events"][place], strict=True))


def drawn(result: Result, folder: Path, delay_us: int | None = DELAY_US) -> dict[str, Any]:
    found = Reader(folder, None if delay_us is None else delay_us * 1000).of_result(result)
    assert found is not None
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    return found


def test_a_case_on_a_virtual_link_shows_both_ends(tmp_path: Path) -> None:
    capture_of(SCRIPT, tmp_path / "a.pcapng")
    found = drawn(FAILED, tmp_path)
    assert [end["name"] for end in found["ends"]] == ["192.0.2.1:1001", "192.0.2.2:1002"]
    assert [end["under_test"] for end in found["ends"]] == [False, True]
    assert found["position"] == "both ends"
    decided = event(found, found["deciding"])
    assert (decided["arrived_frame"], decided["label"], decided["marks"]) == (11, "OK 0#3, GO 2#4", "R")
    assert decided["arrived_us"] - decided["sent_us"] == DELAY_US
    assert found["messages"][str(found["deciding"])] == [["OK", 3, 0, [4, 10, 70]], ["GO", 4, 2, []]]
    assert {event(found, place)["fate"] for place in range(len(found["events"]))} == {"arrived"}
    assert found["excuses"] == [
        "damage on the way, because its checksum is right",
        "loss and reordering on the way, because the link loses nothing and takes 1 ms for each packet",
    ]
    assert found["state"]


def test_in_real_time_the_way_of_the_testers_packets_is_inferred(tmp_path: Path) -> None:
    capture_of(SCRIPT, tmp_path / "a.pcapng")
    found = drawn(FAILED, tmp_path, None)
    assert found["position"] == "first end"
    events = [event(found, place) for place in range(len(found["events"]))]
    assert {one["known"] for one in events if one["source"] == 1} == {"captured"}
    assert "captured" not in {one["known"] for one in events if one["source"] == 0}
    assert [one["fate"] for one in events if one["label"].startswith("LDATA 0/3 hs 2,")] == ["arrived"]
    assert all(one["sent_us"] is None for one in events if one["source"] == 1)
    assert not any("link loses nothing" in one for one in found["excuses"])
    held_up = drawn(dataclasses.replace(FAILED, held_up_us=9), tmp_path, None)
    assert len(held_up["excuses"]) == len(found["excuses"]) - 1


def test_packets_of_others_are_shown_and_marked(tmp_path: Path) -> None:
    foreign = bytearray(SCRIPT[3][2])
    foreign[6:8] = b"\x0f\xff"
    script = (*SCRIPT[:7], (4, True, seal(foreign)), *SCRIPT[7:])
    capture_of(script, tmp_path / "a.pcapng")
    found = drawn(FAILED, tmp_path)
    assert len(found["events"]) == len(script)
    (one,) = [event(found, at) for at in range(len(script)) if event(found, at)["sent_frame"] == 8]
    assert one["remarks"][-1] == "not of this connection: 192.0.2.1 port 4095 to 192.0.2.2 port 1002"


def test_another_connection_on_the_same_ports_is_another_one(tmp_path: Path) -> None:
    second = tuple((1000 + at, sent, packet) for at, sent, packet in SCRIPT[2:])
    again = dataclasses.replace(packets.read(SCRIPT[0][2]), unique_id=8, buffer_size=512)
    opened = (
        (900, True, TESTER.opening(Type.OPEN, again)),
        (901, False, IUT.opening(Type.RESPONSE, again)),
    )
    capture_of((*SCRIPT, *opened, *second), tmp_path / "a.pcapng")
    for frame, buffer_size in ((11, 1024), (len(SCRIPT) + 11, 512)):
        found = drawn(dataclasses.replace(FAILED, frame=frame), tmp_path)
        assert found["terms"]["buffer_size"] == buffer_size
        decided = event(found, found["deciding"])
        assert (decided["arrived_frame"], decided["label"]) == (frame, "OK 0#3, GO 2#4")
        assert decided["marks"] == "R"
        first = event(found, 2 if buffer_size == 1024 else len(SCRIPT) + 2)
        assert (first["label"], first["marks"]) == ("GO 0#1, GO 1#2", "")


@pytest.mark.parametrize("rule", ["CTRL-13", "CTRL-07", "CTRL-10"])
@pytest.mark.parametrize("verdict", [Verdict.FAIL, Verdict.INCONC])
def test_findings_of_the_plugin_say_what_its_proof_excludes(tmp_path: Path, rule: str, verdict: Verdict) -> None:
    capture_of(SCRIPT, tmp_path / "a.pcapng")
    row = dataclasses.replace(
        FAILED, requirements=[rule], verdict=verdict, origin=Origin.CHECK, role="192.0.2.2 receiver"
    )
    texts = drawn(row, tmp_path, None)["excuses"]
    assert all(text.startswith("not excluded: ") == (verdict is Verdict.INCONC) for text in texts)
    if rule == "CTRL-13":
        assert any("contradict each other" in text for text in texts) == (verdict is Verdict.FAIL)
        assert not any("gap" in text for text in texts)
    if rule == "CTRL-07":
        assert any("a packet of the peer that the capture missed" in text for text in texts)
    if rule == "CTRL-10" and verdict is Verdict.INCONC:
        assert texts == ["not excluded: packets that would excuse it need not pass the capture"]


def test_what_passed_has_no_excuses(tmp_path: Path) -> None:
    capture_of(SCRIPT, tmp_path / "a.pcapng")
    assert drawn(dataclasses.replace(FAILED, verdict=Verdict.PASS), tmp_path)["excuses"] == []


def test_of_a_sweep_the_network_says_what_it_did(built_library: Path, tmp_path: Path) -> None:
    through(built_library, ("latency 10ms", "drop a>b nth=3 DATA"), 1, tmp_path)
    (tmp_path / "run.pcapng").rename(tmp_path / "a.pcapng")
    found = drawn(dataclasses.replace(FAILED, origin=Origin.SWEEP, frame=None, role="active-sender"), tmp_path)
    assert [end["under_test"] for end in found["ends"]] == [True, False]
    lost = [event(found, at) for at in range(len(found["events"])) if event(found, at)["fate"] == "lost"]
    assert [one["label"].partition(" hs")[0] for one in lost] == ["DATA 0/2"]
    assert found["state"]
    assert all(table["title"].endswith("before the last packet") for table in found["state"])
    assert found["excuses"] == [
        f"any loss but that of the schedule, because the network reports what it did (frames {lost[0]['sent_frame']})"
    ]


def test_a_large_capture_is_thinned_out_but_not_around_the_deciding_frame(tmp_path: Path) -> None:
    script = [*SCRIPT[:3], *((4 + number, True, SCRIPT[3][2]) for number in range(9000))]
    capture_of(script, tmp_path / "a.pcapng")
    found = drawn(dataclasses.replace(FAILED, frame=5000), tmp_path)
    first, last = found["window"]
    frames = [event(found, at)["sent_frame"] for at in range(len(found["events"]))]
    assert frames[first:last] == list(range(5000 - encode.WINDOW, 5001 + encode.WINDOW))
    assert frames[found["deciding"]] == 5000
    assert len(frames) <= encode.PLOT_EVENTS + 2 * encode.WINDOW + 2
    assert len(frames) + sum(found["left_out"].values()) == len(script)


@pytest.mark.parametrize("folder", ["golden", "violations", "dialects", "offload"])
def test_every_capture_has_a_trace_with_the_deciding_frame(folder: str) -> None:
    for path in sorted((PCAPS / folder).glob("*.pcapng")):
        captured = build.read(path)
        facts = path.with_suffix("").with_suffix(".expected.json")
        findings = json.loads(facts.read_text(encoding="utf-8"))["findings"] if facts.is_file() else []
        for frame, role in {(one["frame"], one.get("offender_address", "")) for one in findings} or {(0, "")}:
            row = Result(
                "x", ["CTRL-04"], role, Verdict.FAIL, "seen", expected="wanted", frame=frame, capture=path.name
            )
            found = Reader(path.parent).of_result(row)
            assert found is not None, path.name
            assert found["events"], path.name
            if frame:
                decided = event(found, found["deciding"])
                assert frame in (decided["sent_frame"], decided["arrived_frame"]), (path.name, frame)
                first, last = found["window"]
                assert first <= found["deciding"] < last
                assert len(found["events"][0]) == len(FIELDS)
        assert len({one.number for one in captured}) == len(captured)


def test_what_cannot_be_read_has_no_object(tmp_path: Path) -> None:
    assert Reader(tmp_path).of_result(FAILED) is None
    (tmp_path / "a.pcapng").write_bytes(b"no capture")
    assert Reader(tmp_path).of_result(FAILED) is None


def test_what_the_tester_ignores_on_purpose_is_lost(tmp_path: Path) -> None:
    capture = Capture()
    for time_ms, sent, packet in SCRIPT:
        ends = (TESTER_ADDRESS, IUT_ADDRESS) if sent else (IUT_ADDRESS, TESTER_ADDRESS)
        frame = capture.add(time_ms * 1000, packet, *ends, sent=sent)
        if time_ms == 5:
            capture.comment(frame, COUNTS_AS_LOST)
            capture.comment(frame, "FAIL CTRL-04: another comment")
    capture.write(tmp_path / "a.pcapng")
    found = drawn(FAILED, tmp_path)
    fates = [event(found, at)["fate"] for at in range(len(found["events"]))]
    assert [number for number, fate in enumerate(fates, 1) if fate == "lost"] == [8]
    assert any(text.startswith("other loss than what the tester ignores") for text in found["excuses"])


@pytest.mark.parametrize(
    ("captured_at", "position", "known"),
    [
        ("sender", "first end", {1}),
        ("receiver", "second end", {0}),
        ("path", "between", set()),
        ("unknown", "unknown", set()),
    ],
)
def test_where_the_capture_was_made_may_be_told(
    built_library: Path, tmp_path: Path, captured_at: str, position: str, known: set[int]
) -> None:
    """At an end, what its peer sent has arrived."""
    through(built_library, ("latency 10ms",), 1, tmp_path)
    writer = PcapngWriter()
    interface = writer.interface("eth0")
    for one in build.read(tmp_path / "run.pcapng"):
        if one.interface.name == "left":
            writer.packet(interface, one.time_ns, one.data)
    writer.save(tmp_path / "a.pcapng")
    found = Reader(tmp_path, captured_at=captured_at).of_result(dataclasses.replace(FAILED, role="-"))
    assert found is not None
    assert found["position"] == position
    events = [event(found, place) for place in range(len(found["events"]))]
    assert {one["source"] for one in events if one["known"] == "captured"} == known


@pytest.mark.usefixtures("built_library")
@pytest.mark.parametrize(
    ("role", "case"),
    [
        ("passive-receiver", "a lost control packet comes again with everything in it"),
        ("active-sender", "parameters combined in pairs work for an active sender: row 7"),
    ],
)
def test_a_case_marks_what_its_tester_treats_as_lost(command: Command, role: str, case: str) -> None:
    """CONTROLs of a receiving implementation, DATA of a sending one."""
    done = command("run", "--select", case, "--role", role, "--no-sweep", "--no-dissector")
    rows = [dataclasses.replace(row, frame=None) for row in done.results if row.capture and row.arm == "stimulus"]
    assert rows
    for row in rows:
        found = drawn(row, done.report)
        lost = [event(found, at) for at in range(len(found["events"])) if event(found, at)["fate"] == "lost"]
        assert lost
        assert {found["ends"][one["source"]]["under_test"] for one in lost} == {True}
        assert all(COUNTS_AS_LOST in one["remarks"] for one in lost)
