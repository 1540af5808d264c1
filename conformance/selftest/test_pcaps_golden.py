# SPDX-License-Identifier: GPL-2.0-or-later
"""The golden captures show what their run knows of itself."""

from __future__ import annotations

import hashlib
import json
import struct
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from netblt_conformance.common import paths
from netblt_conformance.wire import NETBLT, checksum_ok, data_checksum_ok, peek

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from pcaps.tools.read_capture import Captured, capture

ROOT = Path(__file__).resolve().parents[2]
GOLDEN = sorted((ROOT / "pcaps" / "golden").glob("*.pcapng"))
LARGEST_FILE_BYTES = 300_000
OTHER_SIDE = {"left": "right", "right": "left"}
DATA, LDATA, CONTROL = 6, 7, 9
RESEND = 2

pytestmark = pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)


def expectation(path: Path) -> dict[str, Any]:
    """What lies beside a capture."""
    found: dict[str, Any] = json.loads(path.with_suffix(".expected.json").read_text(encoding="utf-8"))
    return found


def entered(packet: Captured, parameters: dict[str, Any]) -> bool:
    """Whether the packet was captured on the side of its emitter."""
    return bool(parameters[packet.interface]["local_address"] == packet.source)


def kind(packet: Captured) -> int:
    """The packet type."""
    header = peek(packet.netblt)
    assert header is not None
    return header.type


def test_it_is_small_and_has_two_capture_points(path: Path) -> None:
    assert path.stat().st_size < LARGEST_FILE_BYTES
    assert {packet.interface for packet in capture(path)} == {"left", "right"}


def test_each_side_holds_what_was_emitted_there_and_delivered_there(path: Path) -> None:
    wanted = expectation(path)
    counts: Counter[tuple[bool, str]] = Counter()
    for packet in capture(path):
        counts[entered(packet, wanted["parameters"]), packet.interface] += 1
    for side in ("left", "right"):
        assert counts[True, side] == wanted["emitted"][side]
        assert counts[False, OTHER_SIDE[side]] == wanted["delivered"][side]


def test_the_dropped_packets_bear_the_rule_and_never_reach_the_other_side(path: Path) -> None:
    wanted = expectation(path)
    packets = capture(path)
    dropped = [packet for packet in packets if any("dropped by" in comment for comment in packet.comments)]
    told = Counter((drop["interface"], drop["time_us"]) for drop in wanted["dropped"])
    assert Counter((packet.interface, packet.time_ns // 1000) for packet in dropped) == told
    rules = {(drop["interface"], drop["time_us"]): drop["rule"] for drop in wanted["dropped"]}
    arrived = {
        (packet.source, packet.identification) for packet in packets if not entered(packet, wanted["parameters"])
    }
    for packet in dropped:
        assert rules[packet.interface, packet.time_ns // 1000] in " ".join(packet.comments)
        assert (packet.source, packet.identification) not in arrived
    assert {drop["interface"] for drop in wanted["dropped"]} == {"left", "right"}


def test_packets_arrive_out_of_order_in_both_directions(path: Path) -> None:
    wanted = expectation(path)
    arrived: dict[str, list[int]] = {"left": [], "right": []}
    for packet in capture(path):
        if not entered(packet, wanted["parameters"]):
            arrived[packet.interface].append(packet.identification)
    for side, ids in arrived.items():
        assert ids != sorted(ids), side


def test_a_resend_is_among_them(path: Path) -> None:
    controls = [NETBLT(packet.netblt) for packet in capture(path) if kind(packet) == CONTROL]
    assert any(message.type == RESEND for control in controls for message in control.messages)


def test_what_arrived_is_the_file(path: Path) -> None:
    """Put together from the delivered DATA packets alone, with struct."""
    wanted = expectation(path)
    parameters = wanted["parameters"]["left"]
    pieces: dict[int, bytes] = {}
    for packet in capture(path):
        octets = packet.netblt
        if entered(packet, wanted["parameters"]) or kind(packet) not in (DATA, LDATA):
            continue
        assert checksum_ok(octets)
        assert data_checksum_ok(octets) or not parameters["data_checksum"]
        length, buffer, number = (
            struct.unpack_from(form, octets, at)[0] for form, at in ((">H", 4), (">I", 12), (">H", 18))
        )
        offset = buffer * parameters["buffer_size"] + number * parameters["packet_size"]
        assert pieces.setdefault(offset, octets[24:length]) == octets[24:length]
    whole = b"".join(octets for _, octets in sorted(pieces.items()))
    assert len(whole) == wanted["bytes"]
    assert hashlib.sha256(whole).hexdigest() == wanted["sha256"]


def test_two_runs_give_the_same_capture(path: Path, tmp_path: Path) -> None:
    """Not necessarily the committed one: an endpoint may change its timers and stay right."""
    if not paths.iut_library().is_file():
        pytest.skip(f"{paths.iut_library()} is not built: run tools/build")
    for folder in ("first", "second"):
        command = [sys.executable, "-m", "pcaps.tools.make_golden", "--directory", str(tmp_path / folder)]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    for name in (path.name, f"{path.stem}.expected.json"):
        assert (tmp_path / "first" / name).read_bytes() == (tmp_path / "second" / name).read_bytes()
    assert json.loads((tmp_path / "first" / f"{path.stem}.expected.json").read_text(encoding="utf-8"))["dropped"]
