# SPDX-License-Identifier: GPL-2.0-or-later
"""Traces of captures on both sides of the simulated network, against what its engine reports that it did."""

from __future__ import annotations

from pathlib import Path

import pytest
from netblt_conformance.simlib import (
    ActionKind,
    Direction,
    Flakeway,
    IutLibrary,
    IutParams,
    PcapngWriter,
    run_pair,
)
from netblt_conformance.trace import build
from netblt_conformance.trace.model import Fate, Known, Position, Trace

A, B = "10.0.0.1", "10.0.0.2"
BAD = ("latency 10ms", "loss 4%", "reorder 4% by 7ms", "duplicate 4%", "corrupt 3%")


def through(library_path: Path, rules: tuple[str, ...], seed: int, folder: Path) -> tuple[Trace, Flakeway]:
    """The trace of a transfer, and the engine that it passed."""
    library, flakeway, writer = IutLibrary(library_path), Flakeway(seed, *rules), PcapngWriter()
    sender = IutParams(active=True, sender=True, seed=seed, local_address=A, foreign_address=B)
    receiver = IutParams(active=False, seed=seed + 1, local_address=B, foreign_address=A)
    with library.start(sender, bytes(range(256)) * 500) as a, library.start(receiver) as b:
        run_pair(a, b, flakeway, capture=writer)
    writer.save(folder / "run.pcapng")
    return build.build(build.read(folder / "run.pcapng"), under_test=A), flakeway


@pytest.mark.parametrize("seed", range(8))
def test_the_fate_of_each_packet_is_what_the_engine_did(built_library: Path, tmp_path: Path, seed: int) -> None:
    trace, flakeway = through(built_library, BAD, seed, tmp_path)
    assert trace.position is Position.BOTH
    originals = [event for event in trace.events if event.copy_of is None]
    for direction in Direction:
        stats = flakeway.stats(direction)
        mine = [event for event in originals if event.source == int(direction)]
        assert len(mine) == stats.seen
        assert sum(event.fate is Fate.LOST for event in mine) == stats.dropped
        copies = [event for event in trace.events if event.source == int(direction) and event.copy_of is not None]
        assert len(copies) == stats.duplicated
    did = {(event.packet_id, event.action) for event in flakeway.events}
    assert len(did) > 20
    # The engine numbers what enters, in the order of the trace.
    for number, event in enumerate(originals, 1):
        assert event.known is Known.CAPTURED
        assert (event.fate is Fate.LOST) == ((number, ActionKind.DROP) in did)
        assert (event.fate is Fate.DAMAGED) == (
            (number, ActionKind.CORRUPT) in did and (number, ActionKind.DROP) not in did
        )
        assert bool(event.remarks) == any(one == number for one, _ in did), event.remarks


def test_a_packet_that_another_overtook_is_late(built_library: Path, tmp_path: Path) -> None:
    rules = ("latency 10ms", "delay 3ms a>b DATA nth=3", "duplicate a>b DATA nth=5", "drop b>a nth=2 OK")
    trace, _ = through(built_library, rules, 1, tmp_path)
    data = [event for event in trace.events if event.packet.is_data and event.copy_of is None]
    late = [event for event in trace.events if event.late and event.copy_of is None]
    assert late == [data[2]]
    assert late[0].arrived_ns is not None
    assert late[0].sent_ns is not None
    assert late[0].arrived_ns - late[0].sent_ns == 13_000_000
    copy = next(event for event in trace.events if event.copy_of is not None)
    assert trace.events[copy.copy_of or 0] == data[4]
    lost = [event for event in trace.events if event.fate is Fate.LOST]
    assert [event.source for event in lost] == [1]
    assert "drop b>a nth=2 OK" in lost[0].remarks[0]


def test_a_retransmission_is_one_and_its_lost_original_is_none(built_library: Path, tmp_path: Path) -> None:
    trace, _ = through(built_library, ("latency 10ms", "drop a>b DATA nth=7", "drop b>a nth=1 CONTROL"), 1, tmp_path)
    lost = [event for event in trace.events if event.fate is Fate.LOST]
    again = [event for event in trace.events if event.repeated]
    assert [event.repeated for event in lost] == [False, False]
    assert sorted(event.source for event in lost) == sorted(event.source for event in again) == [0, 1]
    data = [next(event.packet for event in events if event.packet.is_data) for events in (lost, again)]
    assert [(packet.buffer, packet.packet) for packet in data][:1] * 2 == [(p.buffer, p.packet) for p in data]


def test_the_ends_and_terms_are_those_of_the_opening(built_library: Path, tmp_path: Path) -> None:
    trace, _ = through(built_library, ("latency 10ms",), 1, tmp_path)
    first, second = trace.ends
    assert (first.address, first.sends_data, first.under_test) == (A, True, True)
    assert (second.address, second.sends_data, second.under_test) == (B, False, False)
    response = next(event.packet for event in trace.events if event.packet.packet_size and event.source == 1)
    assert trace.terms.packet_size == response.packet_size
    assert trace.terms.death_timer_s == response.death_timer_s
    assert not any(event.repeated or event.late for event in trace.events)
    assert {event.fate for event in trace.events} == {Fate.ARRIVED}
