# SPDX-License-Identifier: GPL-2.0-or-later
"""Two captures of one path as one trace, against the trace of the network between them."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from netblt_conformance.common.verdicts import Result, Verdict
from netblt_conformance.packets.captures import CapturedPacket
from netblt_conformance.pairing.paths import pair_files
from netblt_conformance.simlib import PcapngWriter
from netblt_conformance.trace import build
from netblt_conformance.trace.encode import Reader
from netblt_conformance.trace.frames import frames
from netblt_conformance.trace.model import Event, Fate, Known, Position, Trace
from netblt_conformance.trace.pair import of_pair
from selftest.test_trace_network import A, through

BAD = ("latency 10ms", "loss 4%", "reorder 4% by 7ms", "duplicate 3%", "corrupt 2%")
SKEW_NS = 5_000_000_000


def split(captured: list[CapturedPacket], folder: Path) -> tuple[Path, Path]:
    """Each side of the network as a file of its own, as its own host would have captured it."""
    paths = folder / "left.pcapng", folder / "right.pcapng"
    for path, skew_ns in zip(paths, (0, SKEW_NS), strict=True):
        writer = PcapngWriter()
        interface = writer.interface(path.stem)
        for one in captured:
            if one.interface.name == path.stem:
                writer.packet(interface, one.time_ns + skew_ns, one.data)
        writer.save(path)
    return paths


def told(trace: Trace) -> list[tuple[object, ...]]:
    """What both traces must agree on, in an order that does not depend on equal times."""
    rows = [
        (event.source, event.sent_ns, event.packet.raw, str(event.fate), event.copy_of is not None)
        for event in trace.events
    ]
    return sorted(rows, key=repr)


@pytest.mark.parametrize("seed", range(3))
def test_a_pair_tells_what_the_network_tells(built_library: Path, tmp_path: Path, seed: int) -> None:
    truth, _ = through(built_library, BAD, seed, tmp_path)
    trace = of_pair(pair_files(*split(build.read(tmp_path / "run.pcapng"), tmp_path)), under_test=A)
    assert trace.position is Position.BOTH
    assert trace.ends == truth.ends
    assert trace.terms == truth.terms

    def of(trace: Trace, fate: Fate) -> list[Event]:
        return [event for event in trace.events if event.fate is fate]

    assert [event.packet for event in of(trace, Fate.LOST)] == [event.packet for event in of(truth, Fate.LOST)]
    assert len(of(trace, Fate.LOST)) > 5
    assert len(trace.events) == len(truth.events)
    assert [row[:1] + row[2:] for row in told(trace)] == [row[:1] + row[2:] for row in told(truth)]
    assert {event.known for event in trace.events} == {Known.CAPTURED}
    late = [event.packet for event in trace.events if event.late and event.copy_of is None]
    assert late == [event.packet for event in truth.events if event.late and event.copy_of is None]


def test_times_are_on_the_clock_of_the_first(built_library: Path, tmp_path: Path) -> None:
    through(built_library, ("latency 10ms",), 1, tmp_path)
    trace = of_pair(pair_files(*split(build.read(tmp_path / "run.pcapng"), tmp_path)))
    for event in trace.events:
        assert event.sent_ns is not None
        assert event.arrived_ns is not None
        assert abs(event.arrived_ns - event.sent_ns - 10_000_000) < 100_000


@pytest.mark.parametrize("at", [0, 1])
def test_a_frame_of_either_file_is_found(built_library: Path, tmp_path: Path, at: int) -> None:
    """Both files count from 1: the file of the result shows which frame is meant."""
    truth, _ = through(built_library, ("latency 10ms", "drop a>b nth=4 DATA", "drop b>a nth=2 CONTROL"), 1, tmp_path)
    files = split(build.read(tmp_path / "run.pcapng"), tmp_path)
    pair = files[0].name, files[1].name
    row = Result("x", ["CTRL-04"], f"{A} sender", Verdict.FAIL, "seen", expected="wanted", capture=pair[at])
    lost = [event for event in truth.events if event.fate is Fate.LOST][at]
    assert lost.source == at
    packets = [frame.packet.raw for frame in frames(build.read(files[at]))]
    deciding = packets.index(lost.packet.raw) + 1
    reader = Reader(tmp_path, pair=pair)
    found = reader.of_result(dataclasses.replace(row, frame=deciding))
    assert found is not None
    event = dict(zip(found["fields"], found["events"][found["deciding"]], strict=True))
    assert (event["source"], event["sent_frame"], event["fate"], event["known"]) == (at, deciding, "lost", "captured")
    again = reader.of_result(dataclasses.replace(row, frame=len(packets)))
    assert again is not None
    last = dict(zip(again["fields"], again["events"][again["deciding"]], strict=True))
    assert last["sent_frame" if last["source"] == at else "arrived_frame"] == len(packets)


def test_files_of_two_paths_are_read_one_by_one(built_library: Path, tmp_path: Path) -> None:
    through(built_library, ("latency 10ms",), 1, tmp_path)
    files = split(build.read(tmp_path / "run.pcapng"), tmp_path)
    (tmp_path / "same.pcapng").write_bytes(files[0].read_bytes())
    row = Result("x", ["CTRL-04"], "-", Verdict.FAIL, "seen", expected="wanted", frame=3, capture=files[0].name)
    trace = Reader(tmp_path, pair=(files[0].name, "same.pcapng")).trace(row)
    assert trace is not None
    assert trace.position is Position.UNKNOWN


def test_one_file_with_two_interfaces_is_paired(built_library: Path, tmp_path: Path) -> None:
    truth, _ = through(built_library, ("latency 10ms", "drop a>b nth=4 DATA"), 1, tmp_path)
    writer = PcapngWriter()
    numbers = {name: writer.interface(name) for name in ("eth0", "eth1")}
    for one in build.read(tmp_path / "run.pcapng"):
        name = "eth0" if one.interface.name == "left" else "eth1"
        writer.packet(numbers[name], one.time_ns, one.data)
    writer.save(tmp_path / "both.pcapng")
    (lost,) = (event for event in truth.events if event.fate is Fate.LOST)
    row = Result("x", ["CTRL-04"], f"{A} sender", Verdict.FAIL, "seen", expected="wanted", frame=lost.sent_frame)
    trace = Reader(tmp_path).trace(dataclasses.replace(row, capture="both.pcapng"))
    assert trace is not None
    assert [event.sent_frame for event in trace.events if event.fate is Fate.LOST] == [lost.sent_frame]
    assert trace.position is Position.BOTH
    assert trace.accused == 0
