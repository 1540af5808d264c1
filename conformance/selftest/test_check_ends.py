# SPDX-License-Identifier: GPL-2.0-or-later
"""netblt-conformance check with the captures of both ends of a path."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from netblt_conformance.common import paths
from netblt_conformance.packets import captures
from netblt_conformance.simlib import IutLibrary, IutParams, PcapngWriter
from selftest.conftest import Command
from selftest.scripts import nightly_script

GOLDEN = paths.root() / "pcaps" / "golden" / "lossy-transfer.pcapng"
SCHEMA = json.loads((paths.root() / "conformance" / "schemas" / "check.schema.json").read_text(encoding="utf-8"))
OPEN_TYPE, DATA_TYPE, CONTROL_TYPE = 0, 6, 9
OFFSET_NS = -7_000_000_000  # of the receiver's clock: it is late


@pytest.fixture
def bad_path(tmp_path: Path) -> tuple[Path, Path]:
    """Captures at both ends of a transfer whose network reorders, copies and loses; IP IDs are 0."""
    truth: Any = nightly_script("two_captures")
    params = IutParams(
        local_port=2000,
        buffer_size=4096,
        packet_size=512,
        burst_size=4,
        burst_interval_ms=5,
        max_buffers=4,
        data_checksum=True,
        seed=5,
    )
    rules = ("latency 10ms", "loss 10%", "reorder 20% by 30ms", "duplicate 10%", "corrupt 5%")
    plan = truth.Plan(3, params, 60_000, rules, offset_ns=OFFSET_NS, drift_ppm=120.0, numbered=False)
    frames = truth.run(plan, IutLibrary(paths.build() / "lib" / "libnetblt_iut.so"))
    files: tuple[Path, Path] = truth.captured(frames, plan, tmp_path)[0]
    return files


def document(command: Command, *arguments: object) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(command("check", "--json", *map(str, arguments)).output)
    jsonschema.validate(found, SCHEMA)
    return found


def suspicions(found: dict[str, Any]) -> int:
    rules = [rule for one in found["files"][0]["connections"] for rule in one["requirements"]]
    return sum(finding["verdict"] == "suspected" for rule in rules for finding in rule["findings"])


def test_both_ends_settle_what_each_capture_alone_suspects(command: Command, bad_path: tuple[Path, Path]) -> None:
    alone = [document(command, file) for file in bad_path]
    both = document(command, "--sender", bad_path[0], "--receiver", bad_path[1])
    assert suspicions(alone[1]) >= 10
    assert suspicions(both) <= sum(map(suspicions, alone)) // 10
    assert both["exit_code"] == 0
    assert both["captured_at"] == "ends"
    there, back = sorted(both["files"][0]["path"]["directions"], key=lambda one: one["source"])
    assert (there["source"], there["destination"]) == ("10.0.0.1", "10.0.0.2")
    assert min(there[name] for name in ("lost", "copies", "late", "damaged")) > 0
    assert there["captured_at_source"] == there["arrived"] + there["lost"] + there["unknown"]
    clock = both["files"][0]["path"]["clock"]
    assert abs(clock["offset_us"] - OFFSET_NS / 1000) < 100
    assert abs(clock["drift_ppm"] - 120) < 60
    assert back["missed"] == there["missed"] == 0


def test_findings_name_the_frames_of_their_own_capture(
    command: Command, bad_path: tuple[Path, Path], tmp_path: Path
) -> None:
    """The sender's packets have a version that no other packet of the path has: WIRE-02, at frames of its capture."""
    changed = []
    for number, file in enumerate(bad_path):
        writer = PcapngWriter()
        writer.interface("eth0")
        for packet in captures.read(file):
            data = bytearray(packet.data)
            if data[15] == 1 and data[23] == OPEN_TYPE:
                data[22] = 77  # the version; the header checksum does not fit any more
            writer.packet(0, packet.time_ns, bytes(data))
        writer.save(tmp_path / f"{number}.pcapng")
        changed.append(tmp_path / f"{number}.pcapng")
    alone = document(command, changed[0])["files"][0]["damaged"]
    both = document(command, "--sender", changed[0], "--receiver", changed[1])["files"][0]["damaged"]
    assert alone[0]["frames"] == [1]
    assert alone[0]["verdict"] == "INCONC"
    # The receiver's clock is late: in the merged file its packets come first.
    [own] = [one for one in both if one["interface"] == str(changed[0])]
    assert own["frames"] == alone[0]["frames"]
    assert (own["verdict"], own["requirement"], own["offender"]) == ("FAIL", "CKSUM-02", "10.0.0.1 sender")


def test_one_file_with_two_interfaces(command: Command) -> None:
    found = document(command, "--captured-at", "ends", GOLDEN)
    assert found["exit_code"] == 0
    assert [one["lost"] for one in found["files"][0]["path"]["directions"]] == [15, 3]
    text = command("check", "--captured-at", "ends", str(GOLDEN)).output
    assert "10.0.0.1 > 10.0.0.2" in text
    assert "clocks: lossy-transfer.pcapng (right) is ahead of" in text
    # Where the positions are not stated the path is shown all the same.
    assert document(command, GOLDEN)["files"][0]["path"] == found["files"][0]["path"]


def test_each_capture_gets_the_comments_of_its_own_frames(
    command: Command, bad_path: tuple[Path, Path], tmp_path: Path
) -> None:
    """The sender's DATA has another version than its other packets (WIRE-02)."""
    wrong = []
    for file in bad_path:
        writer = PcapngWriter()
        writer.interface("eth0")
        for packet in captures.read(file):
            data = bytearray(packet.data)
            if data[15] == 1 and data[23] == DATA_TYPE:
                data[22] += 1
                checksum = (int.from_bytes(data[20:22], "big") - 0x100) % 0xFFFF
                data[20:22] = checksum.to_bytes(2, "big")
            writer.packet(0, packet.time_ns, bytes(data))
        writer.save(tmp_path / f"wrong-{file.name}")
        wrong.append(tmp_path / f"wrong-{file.name}")
    options = ("--sender", wrong[0], "--receiver", wrong[1], "--write", tmp_path / "out")
    found = document(command, *options)["files"][0]["connections"]
    for connection in found:
        rules = [rule for rule in connection["requirements"] if rule["verdict"] == "FAIL"]
        frames = {finding["offending_frame"] or finding["frame"] for rule in rules for finding in rule["findings"]}
        name = Path(connection["interface"]).stem
        copy = list(captures.read(tmp_path / "out" / f"{name}.checked.pcapng"))
        assert frames
        assert {one.data[15] for one in copy if one.number in frames} == {1}
        assert frames <= {one.number for one in copy if one.comments}


def test_what_a_second_capture_would_settle_is_said(command: Command, bad_path: tuple[Path, Path]) -> None:
    found = document(command, bad_path[1])
    [wanted] = found["files"][0]["second_capture"]
    assert wanted == {
        "address": "10.0.0.1",
        "role": "sender",
        "suspicions": suspicions(found),
        "of": suspicions(found),
    }
    text = " ".join(command("check", str(bad_path[1])).output.split())
    assert f"a capture made at the sender (10.0.0.1) may settle {wanted['of']} of {wanted['of']} suspicions" in text
    assert document(command, "--captured-at", "sender", bad_path[0])["files"][0]["second_capture"] == []


def test_a_capture_that_lacks_packets_is_not_taken_for_all_that_its_end_sent(
    command: Command, bad_path: tuple[Path, Path], tmp_path: Path
) -> None:
    writer = PcapngWriter()
    writer.interface("eth0")
    for packet in captures.read(bad_path[0]):
        if packet.number % 7:
            writer.packet(0, packet.time_ns, packet.data)
    writer.save(tmp_path / "lossy.pcapng")
    found = document(command, "--sender", tmp_path / "lossy.pcapng", "--receiver", bad_path[1])["files"][0]
    assert any("lossy.pcapng lacks" in note for note in found["notes"])
    assert sum(one["missed"] for one in found["path"]["directions"]) > 0
    assert found["verdict"] == "INCONC"


def test_packets_that_the_capture_of_their_destination_missed_accuse_nobody(
    command: Command, bad_path: tuple[Path, Path], tmp_path: Path
) -> None:
    """The sender's capture lacks CONTROL packets: what it acknowledges shows that they arrived."""
    writer, kept = PcapngWriter(), 0
    writer.interface("eth0")
    for packet in captures.read(bad_path[0]):
        kept += packet.data[23] == CONTROL_TYPE
        if packet.data[23] != CONTROL_TYPE or kept % 3:
            writer.packet(0, packet.time_ns, packet.data)
    writer.save(tmp_path / "lossy.pcapng")
    found = document(command, "--sender", tmp_path / "lossy.pcapng", "--receiver", bad_path[1])["files"][0]
    [note] = found["notes"]
    assert "lossy.pcapng does not show the arrival of" in note
    assert "or the end confirms what never arrived" in note
    assert found["verdict"] == "INCONC"


def test_mistakes_are_named(command: Command, bad_path: tuple[Path, Path], tmp_path: Path) -> None:
    left, right = map(str, bad_path)

    def error(*arguments: str) -> str:
        done = command("check", *arguments)
        assert done.status == 2
        return done.errors

    assert "are exchanged: 10.0.0.1 sends the data" in error("--sender", right, "--receiver", left)
    assert "are the same file" in error("--sender", left, "--receiver", left)
    assert "are not of one path" in error("--sender", left, "--receiver", str(other_host(tmp_path)))
    assert "--sender needs --receiver" in error("--sender", left)
    assert "leave out FILE" in error("--sender", left, "--receiver", right, left)
    assert "name a capture" in error()
    assert "wants two interfaces" in error("--captured-at", "ends", left)


def other_host(folder: Path) -> Path:
    writer = PcapngWriter()
    writer.interface("eth0")
    for packet in captures.read(GOLDEN):
        data = bytearray(packet.data)
        data[12:20] = data[12:20].replace(b"\x0a\0\0", b"\x0a\x09\x09")
        writer.packet(0, packet.time_ns, bytes(data))
    writer.save(folder / "other.pcapng")
    return folder / "other.pcapng"
