# SPDX-License-Identifier: GPL-2.0-or-later
"""Everything about a packet is decided once, in capture order: one pass, two passes and clicking in a GUI agree."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path
from typing import Any

import pytest

from dissector.tests.forge import write_pcapng
from dissector.tests.reader import ROOT, Reader
from dissector.tests.traffic import POSITIONS, random_settings, run_transfers

CAPTURES = sorted((ROOT / "pcaps").glob("*/*.pcapng"))
# These look forward: what comes later is not known yet when a packet is read for the first time.
FORWARD = {
    *("netblt.analysis.retransmitted_in", "netblt.analysis.repaired_in", "netblt.response_in"),
    *("netblt.control.times_sent", "netblt.control.acked_in", "netblt.control.ack_time"),
    *("netblt.control.first_data", "netblt.control.ok_frame", "netblt.control.buffer_time"),
    *("netblt.completeness", "netblt.stream.uid", "netblt.analysis.proof_frame"),
}
FORWARD_TREE = {"netblt.reassembled_in", "netblt.fragment", "netblt.fragments"}  # reassembly, as every protocol's
PROTOCOL = "NETBLT Bulk Data Transfer Protocol"


@pytest.fixture(scope="module")
def fields(reader: Reader) -> list[str]:
    return reader.fields()


@pytest.fixture(scope="module")
def everything(reader: Reader) -> Path:
    """All captures one after the other, as sections of one file: connections of different sections are different."""
    assert len(CAPTURES) > 10
    path = reader.home / "everything.pcapng"
    path.write_bytes(b"".join(capture.read_bytes() for capture in CAPTURES))
    path.chmod(0o644)
    return path


@pytest.fixture(scope="module")
def traffic(reader: Reader) -> Path:
    """Many transfers at once on bad paths: more kinds of findings and links than the small captures have."""
    frames, _ = run_transfers([random_settings(900 + number) for number in range(12)])
    return write_pcapng(reader.home / "traffic.pcapng", frames[:2500], interfaces=POSITIONS)


def agrees_with_second(name: str, first: str, second: str) -> bool:
    """Equal; or a look forward that the first pass had not come to."""
    return first == second or name in FORWARD or any(name.startswith(prefix) for prefix in FORWARD_TREE)


def compare_passes(reader: Reader, path: Path, fields: list[str]) -> int:
    """How many values were compared. The lines that tshark prints are compared first: to take all of them apart takes
    longer than both passes."""
    wanted = ["-T", "fields", *(argument for name in fields for argument in ("-e", name))]
    once, twice = (reader.tshark(path, *passes, *wanted).splitlines() for passes in ((), ("-2",)))
    assert len(once) == len(twice) > 0
    compared = 0
    for frame, (line, other) in enumerate(zip(once, twice, strict=True), start=1):
        values = line.split("\t")
        assert len(values) == len(fields), frame
        compared += len(values) - values.count("")
        if line != other:
            for name, first, second in zip(fields, values, other.split("\t"), strict=True):
                assert agrees_with_second(name, first, second), (frame, name, first, second)
    return compared


def plain(line: str) -> str:
    """tshark puts what the plugin made up into brackets, sharkd does not."""
    return line[1:-1] if line.startswith("[") and line.endswith("]") else line


def texts_by_tshark(reader: Reader, path: Path) -> dict[int, list[str]]:
    """The lines of the protocol's tree for each frame, second pass."""
    out: dict[int, list[str]] = {}
    for block in re.split(r"^(?=Frame \d+: |Packet comments)", reader.tshark(path, "-2", "-V"), flags=re.MULTILINE):
        if found := re.match(r"Frame (\d+): ", block):
            lines = [line.strip() for line in block[block.find(PROTOCOL) :].splitlines()] if PROTOCOL in block else []
            out[int(found[1])] = [plain(line) for line in lines if line]
    return out


def labels(nodes: list[dict[str, Any]]) -> list[str]:
    out = []
    for node in nodes:
        out.append(plain(node["l"].strip()))
        out += labels(node.get("n", []))
    return out


def texts_by_sharkd(reader: Reader, path: Path, frames: list[int]) -> dict[int, list[str]]:
    """The same, when frames are requested in the given order."""
    out = {}
    for frame, text in reader.sharkd(path, frames).items():
        nodes = json.loads(text)
        start = next((i for i, node in enumerate(nodes) if node["l"].startswith(PROTOCOL)), len(nodes))
        out[frame] = labels(nodes[start:])
    return out


def compare_orders(reader: Reader, path: Path, seed: int) -> None:
    expected = texts_by_tshark(reader, path)
    frames = list(expected)
    random.Random(seed).shuffle(frames)
    found = texts_by_sharkd(reader, path, frames)
    for frame in frames:
        assert found[frame] == expected[frame], frame
    assert any(len(lines) > 10 for lines in expected.values())


def test_both_passes_say_the_same(reader: Reader, everything: Path, fields: list[str]) -> None:
    assert compare_passes(reader, everything, fields) > 20_000


def test_frames_can_be_asked_for_in_any_order(reader: Reader, everything: Path) -> None:
    compare_orders(reader, everything, seed=2)


def test_both_passes_say_the_same_about_bad_paths(reader: Reader, traffic: Path, fields: list[str]) -> None:
    assert compare_passes(reader, traffic, fields) > 20_000


# What a frame is, and what is reported of it that names no frame: a read filter gives frames other numbers.
OF_THE_FRAME = ("frame.time_epoch", "frame.interface_name", "ip.id")
SAID_OF_IT = (
    *("netblt.stream", "netblt.role", "netblt.outstanding", "netblt.burst", "netblt.burst.position"),
    *("netblt.analysis.requirement", "netblt.analysis.verdict", "netblt.analysis.retransmission"),
    *("netblt.analysis.duplicate", "netblt.analysis.out_of_order", "netblt.capture_position"),
)


@pytest.mark.parametrize("kept", ["netblt.control.type", "!netblt.control.type", "frame.interface_id == 1"])
def test_a_read_filter_drops_frames_and_changes_nothing_about_the_others(
    reader: Reader, traffic: Path, kept: str
) -> None:
    once = reader.rows(traffic, *OF_THE_FRAME, *SAID_OF_IT, options=("-Y", kept))
    filtered = reader.rows(traffic, *OF_THE_FRAME, *SAID_OF_IT, options=("-2", "-R", kept))
    assert len(once) > 100
    assert filtered == once


def test_frames_of_bad_paths_can_be_asked_for_in_any_order(reader: Reader, traffic: Path) -> None:
    compare_orders(reader, traffic, seed=1)
