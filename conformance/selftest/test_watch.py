# SPDX-License-Identifier: GPL-2.0-or-later
"""netblt-conformance watch: violations as they occur, a flood survived, its own helpers."""

from __future__ import annotations

import json
import os
import shutil
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from netblt_conformance.common import paths
from netblt_conformance.judges.tshark import plugin_folder
from netblt_conformance.packets import ipv4
from netblt_conformance.packets.packets import Forge, Packet, Type
from netblt_conformance.watch.command import careful
from netblt_conformance.watch.session import Watched
from netblt_conformance.watch.tracker import Tracker
from selftest.page_reader import PageReader

LAB = Path(__file__).with_name("watch_lab.py")
VIOLATING = paths.root() / "pcaps" / "violations" / "ctrl04-new-messages-alone.pcapng"
LONG = paths.root() / "pcaps" / "golden" / "lossy-transfer.pcapng"
SCHEMA = json.loads((paths.root() / "conformance" / "schemas" / "check.schema.json").read_text(encoding="utf-8"))
RAW = 101
HANGS_S = 300  # nothing takes so long, on the busiest machine

live = pytest.mark.skipif(
    os.geteuid() != 0 or not shutil.which("dumpcap") or not list(plugin_folder().glob("*/epan/netblt.so")),
    reason="needs root, dumpcap and the plugin",
)


def lab(folder: Path, *arguments: str) -> dict[str, Any]:
    done = subprocess.run(
        ["unshare", "-n", sys.executable, str(LAB), *arguments],
        capture_output=True,
        text=True,
        timeout=HANGS_S,
        env={**os.environ, "LAB_FOLDER": str(folder), "PYTHONPATH": str(paths.root() / "conformance")},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


@live
def test_a_violation_is_told_while_the_watch_goes_on(tmp_path: Path) -> None:
    kept = tmp_path / "kept.pcapng"
    row = lab(tmp_path, "replay", str(VIOLATING), "--json", "--write", str(kept))
    told = json.loads(row["told"])
    assert (told["requirement"], told["offending_frame"]) == ("CTRL-04", 13)
    lines = [json.loads(line) for line in row["output"].splitlines()]
    jsonschema.validate(lines[-1], SCHEMA)
    assert lines[-1]["exit_code"] == row["status"] == 1
    assert lines[-1]["capture"]["watched"] == {"packets": 55, "dropped": 0}
    words = [sys.executable, "-m", "netblt_conformance", "check", "-q", str(kept)]
    assert subprocess.run(words, check=False, capture_output=True).returncode == 1, "the file holds the same"


@live
def test_at_the_end_a_page_draws_what_happened(tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    row = lab(tmp_path, "replay", str(VIOLATING), "--json", "--html", str(file))
    assert row["status"] == 1
    page = PageReader(file.read_text(encoding="utf-8"))
    (violated,) = [one for one in page.rows if one["badge"] == "FAIL"]
    detail = page.detail(violated)
    assert len(detail["events"]) == 55
    assert detail["deciding_frame"] == 13
    assert detail["capture_link"] == "", "nobody asked for the capture: it is gone"


@live
@pytest.mark.skipif(not shutil.which("tcpreplay"), reason="tcpreplay is not installed")
def test_a_flood_is_survived_and_what_was_dropped_is_told(tmp_path: Path) -> None:
    row = lab(tmp_path, "flood", str(LONG), "--json", "--buffer", "1")
    assert row["tcpreplay"] == 0, row["said"]
    document = json.loads(row["output"].splitlines()[-1])
    capture = document["capture"]["watched"]
    # On a busy machine the kernel's buffer of one MiB may still hold frames when the watch has to end.
    not_looked_at = row["arrived"] - capture["packets"] - capture["dropped"]
    assert 0 <= not_looked_at * row["mean_bytes"] <= 1 << 20
    assert capture["dropped"] > 0
    assert any("dropped" in note for note in document["files"][0]["notes"])
    assert document["complete"] is False
    assert row["status"] != 0, "a judgement without the dropped packets is incomplete"
    events = [json.loads(line) for line in row["output"].splitlines()]
    assert [one["packets"] for one in events if one["kind"] == "dropped"] == [capture["dropped"]]
    assert "incomplete" in row["errors"]


@live
def test_an_interface_that_is_not_there_is_named() -> None:
    words = [sys.executable, "-m", "netblt_conformance", "watch", "-i", "nowhere", "--duration", "1"]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=HANGS_S)
    assert done.returncode == 2
    assert "nowhere" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


@live
def test_silence_is_no_success() -> None:
    watch = f"ip link set lo up && exec {sys.executable} -m netblt_conformance watch -i lo --duration 0.5"
    words = ["unshare", "-n", "sh", "-c", watch]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=HANGS_S)
    assert done.returncode == 2
    assert "no NETBLT packet passed" in done.stderr


@live
def test_the_time_of_a_watch_begins_when_the_capture_does(tmp_path: Path) -> None:
    slow = tmp_path / "dumpcap"
    slow.write_text('#!/bin/sh\nsleep 1.5\nexec dumpcap "$@"\n', encoding="utf-8")
    slow.chmod(0o755)
    watch = f"ip link set lo up && exec {sys.executable} -m netblt_conformance watch -i lo --duration 0.5"
    done = subprocess.run(
        ["unshare", "-n", "sh", "-c", watch],
        env={**os.environ, "NETBLT_DUMPCAP": str(slow)},
        capture_output=True,
        text=True,
        check=False,
        timeout=HANGS_S,
    )
    assert done.returncode == 2
    assert "watching lo" in done.stderr
    assert "no NETBLT packet passed" in done.stderr


def packet(payload: bytes, *, back: bool = False) -> bytes:
    ends = bytes([10, 0, 0, 1]), bytes([10, 0, 0, 2])
    source, destination = reversed(ends) if back else ends
    return ipv4.wrap(payload, source, destination, 1)


def test_a_connection_goes_through_its_states() -> None:
    there, back = Forge(2, 1000, 1), Forge(2, 1, 1000)
    tracker, states = Tracker(), []
    values = Packet(b"", type=Type.DATA, data=bytes(100))
    for payload, returns in (
        (there.opening(Type.OPEN, Packet(b"", string=b"\0\0\0\0")), False),
        (back.opening(Type.RESPONSE, Packet(b"", string=b"\0\0\0\0")), True),
        (there.data(values), False),
        (there.data(values), False),
        (back.packet(Type.DONE), True),
        (back.reason(Type.QUIT, "late"), True),
    ):
        states += [str(state) for _, state in tracker.note(packet(payload, back=returns), RAW, 1.0)]
    assert states == ["opening", "open", "transferring", "closed (DONE)"]
    (flow,) = tracker.flows.values()
    assert (flow.packets, flow.data_bytes) == (6, 200)


def test_udp_that_is_not_netblt_is_left_alone() -> None:
    netblt = Forge(2, 1000, 1).packet(Type.KEEPALIVE)
    for payload, seen in ((netblt, 1), (bytes(40), 0), (netblt[:-2] + b"xx", 0)):
        udp = struct.pack(">HHHH", 5000, 6000, 8 + len(payload), 0) + payload
        tracker = Tracker()
        tracker.note(ipv4.wrap(udp, bytes(4), bytes([10, 0, 0, 1]), 1, 17), RAW, 0.0)
        assert len(tracker.flows) == seen


def test_drops_make_the_verdict_careful() -> None:
    one = Watched("eth0", packets=10, dropped=0)
    assert careful([one]) == []
    one.dropped = 3
    assert "dropped 3 packets" in careful([one])[0]
    one.dropped = None
    assert "not known" in careful([one])[0]
