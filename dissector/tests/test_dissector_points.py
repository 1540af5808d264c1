# SPDX-License-Identifier: GPL-2.0-or-later
"""Captures at both ends in one file (preference netblt.capture_points): each end is judged where it was captured."""

from __future__ import annotations

from pathlib import Path

import pytest

from dissector.tests.forge import DATA, Trace, data_body, go, packet
from dissector.tests.mutants import plans
from dissector.tests.reader import Reader
from dissector.tests.transfers import load, random_plan, run_all
from dissector.tests.two_points import Counts, library_of, write

ROOT = Path(__file__).resolve().parents[2]
REFERENCE = ROOT / "build" / "lib" / "libnetblt_iut.so"


def counted(reader: Reader, path: Path, *options: str) -> Counts:
    counts = Counts()
    counts.add(reader, path, *options)
    return counts


def test_suspicions_of_a_bad_path_are_settled(tmp_path: Path, reader: Reader) -> None:
    every = [random_plan(31_000_000 + number) for number in range(60)]
    for plan in every:
        plan.view.capture_loss, plan.view.skip, plan.view.snaplen = 0.0, 0.0, 0
    frames, _ = run_all(every, load(REFERENCE))
    preference = write(tmp_path / "both.pcapng", frames, every)
    before = counted(reader, tmp_path / "both.pcapng")
    after = counted(reader, tmp_path / "both.pcapng", "-o", preference)
    assert not after.violations
    assert before.suspicions.total() >= 50
    assert after.suspicions.total() <= before.suspicions.total() // 10


def test_what_excused_a_mutant_is_excluded_at_its_own_end(tmp_path: Path, reader: Reader) -> None:
    """It acknowledges one message more than it has received."""
    library, _ = library_of("null-ack-one-ahead", tmp_path)
    every = [plan for plan in plans(16) if plan.left_sends]
    for plan in every:
        plan.view.ids = "zero"  # no IP IDs show that nothing escaped the capture
    frames, _ = run_all(every, load(library), load(REFERENCE))
    preference = write(tmp_path / "both.pcapng", frames, every)
    before = counted(reader, tmp_path / "both.pcapng")
    after = counted(reader, tmp_path / "both.pcapng", "-o", preference)
    assert after.violations["CTRL-06", True] > before.violations["CTRL-06", True]
    assert not any(wrong for (_, left), wrong in after.violations.items() if not left)


def test_an_interface_without_a_position_is_judged_as_before(tmp_path: Path, reader: Reader) -> None:
    every = [random_plan(32_000_000 + number) for number in range(20)]
    frames, _ = run_all(every, load(REFERENCE))
    write(tmp_path / "both.pcapng", frames, every)
    before = counted(reader, tmp_path / "both.pcapng")
    same = counted(reader, tmp_path / "both.pcapng", "-o", "netblt.capture_points:-, nobody knows")
    assert before.suspicions == same.suspicions
    assert before.suspicions


@pytest.mark.parametrize(
    ("position", "verdict"), [("sender", "violation"), ("between", "suspected"), ("receiver", "suspected")]
)
def test_only_at_its_emitter_a_packet_cannot_have_been_cut(
    tmp_path: Path, reader: Reader, position: str, verdict: str
) -> None:
    """WIRE-04: Length counts four bytes more than were sent."""
    trace = Trace()
    trace.open()
    trace.response()
    trace.control(go(1, 0))
    whole = packet(DATA, data_body(0, 1, 0, bytes(trace.packet_size)), 1000, 1, covered=24)
    trace.put(whole[:-4], trace.sender, trace.receiver)
    path = trace.save(tmp_path / "short.pcapng")
    [found] = reader.findings(path, "-o", f"netblt.capture_position:{position}")
    assert (found.requirement, found.verdict, found.offender) == ("WIRE-04", verdict, "10.0.0.1 sender")
