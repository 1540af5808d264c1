# SPDX-License-Identifier: GPL-2.0-or-later
"""One wrong packet is reported once, and by its own frame, however many packets after it look wrong because of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dissector.tests.forge import CONTROL, DONE, NS, Trace, go, ok, packet, resend
from dissector.tests.reader import ROOT, Reader

VIOLATIONS = ROOT / "pcaps" / "violations"


def blamed_frames(reader: Reader, name: str, requirement: str) -> list[int]:
    """The offending frame of each violation of the rule."""
    columns = ("frame.number", "netblt.analysis.requirement", "netblt.analysis.verdict", "netblt.analysis.offender")
    frames = []
    for row in reader.rows(VIOLATIONS / f"{name}.pcapng", *columns, "netblt.analysis.offending_frame"):
        told = list(zip(row[columns[1]], row[columns[2]], strict=True))
        named = row["netblt.analysis.offending_frame"]
        for rule, verdict in told:
            if (rule, verdict) == (requirement, "violation"):
                frames.append(int((named or row["frame.number"])[0]))
    return frames


def test_an_early_ldata_is_told_once_by_its_own_frame(reader: Reader) -> None:
    types = reader.rows(VIOLATIONS / "data04-ldata-too-early.pcapng", "frame.number", "netblt.type", "netblt.packet")
    early = [
        int(row["frame.number"][0]) for row in types if row["netblt.type"] == ["7"] if row["netblt.packet"] == ["1"]
    ]
    assert len(early) == 1
    assert blamed_frames(reader, "data04-ldata-too-early", "DATA-04") == early


def test_a_flag_that_others_contradict_is_told_once_by_its_own_frame(reader: Reader) -> None:
    """Once by itself, once when the next buffer shows that it was wrong; not for each buffer after it."""
    frames = blamed_frames(reader, "data09-one-packet-flagged", "DATA-09")
    assert len(frames) == 2
    assert len(set(frames)) == 1


def test_an_acknowledgement_that_falls_is_told_when_it_falls(reader: Reader) -> None:
    """Two packets acknowledge less than the one before them."""
    assert len(blamed_frames(reader, "ctrl06-before-it-was-said", "CTRL-06")) == 2


def test_a_copy_too_many_is_told_by_its_own_frame_though_another_was_asked_for(reader: Reader) -> None:
    name = "data13-before-it-was-asked-for"
    wanted = json.loads((VIOLATIONS / f"{name}.expected.json").read_text(encoding="utf-8"))
    assert blamed_frames(reader, name, "DATA-13") == [wanted["findings"][0]["frame"]]


@pytest.mark.parametrize(
    ("name", "requirement"),
    [("resend06-repeated", "RESEND-06"), ("timer08-again-and-again", "TIMER-08"), ("data09-far-buffer", "DATA-09")],
)
def test_what_goes_on_is_told_once(reader: Reader, name: str, requirement: str) -> None:
    assert len(blamed_frames(reader, name, requirement)) == 1


@pytest.mark.parametrize("gap_ns", [50_000, 10_000_000])
def test_a_control_seen_twice_at_once_is_no_early_repetition(reader: Reader, capture: Path, gap_ns: int) -> None:
    """TIMER-03: where no IP ID shows it, a capture on all interfaces of a router has every packet twice."""
    trace = Trace(v6=True)
    trace.open()
    trace.response()
    trace.control(go(1, 0), go(2, 1))
    trace.buffer(0, 2)
    trace.control(ok(3, 0), go(4, 2))
    trace.time_ns += gap_ns - trace.gap_ns
    trace.control(ok(3, 0), go(4, 2))
    trace.buffer(1, 4)
    trace.control(ok(5, 1))  # the CONTROL before was no part of a longer queue: this one begins with what is new
    told = {finding.requirement for finding in reader.findings(trace.save(capture))}
    assert ("TIMER-03" in told) == (gap_ns > 1_000_000)


def opened(**options: Any) -> Trace:
    """Four GOs (messages 1 to 4) for buffers of four packets."""
    trace = Trace(**options)
    trace.open()
    trace.response()
    trace.control(*(go(1 + number, number) for number in range(4)))
    return trace


def goes_on(trace: Trace, first: int) -> None:
    """OK and GO for one buffer after the other, from buffer `first` on; the next message is 5."""
    seq = 5
    for buffer in range(first, first + 6):
        trace.buffer(buffer, seq - 1)
        trace.control(ok(seq, buffer), go(seq + 1, buffer + 4))
        seq += 2
    trace.null_ack(seq - 1)


def told(reader: Reader, trace: Trace, capture: Path) -> set[str]:
    """The rules of all violations and suspicions."""
    return {found.requirement for found in reader.findings(trace.save(capture))}


def test_an_impossible_packet_number_does_not_make_the_ldata_wrong(reader: Reader, capture: Path) -> None:
    """Buffers have packets 0 to 3. The right packet follows when it is requested."""
    trace = opened()
    trace.data(0, 0, 4)
    trace.data(0, 99, 4)
    trace.data(0, 2, 4)
    trace.data(0, 3, 4, ldata=True)
    trace.time_ns += NS // 2
    trace.control(resend(5, 0, [1]))
    trace.data(0, 1, 5)
    trace.control(ok(6, 0), go(7, 4))
    trace.buffer(1, 7)
    assert told(reader, trace, capture) == {"DATA-05"}


def test_a_buffer_below_those_before_it_may_get_its_ok(reader: Reader, capture: Path) -> None:
    """RFC 998 8: numbers increase. The GO for a lower one is wrong; its data and its OK are not."""
    trace = Trace()
    trace.open()
    trace.response()
    trace.control(go(1, 50), go(2, 51))
    trace.buffer(50, 2)
    trace.control(ok(3, 50), go(4, 40))
    trace.buffer(51, 4)
    trace.control(ok(5, 51), go(6, 52))
    trace.buffer(40, 6)
    trace.control(ok(7, 40), go(8, 53))
    for buffer in (52, 53):
        trace.buffer(buffer, 8)
    assert told(reader, trace, capture) == {"DATA-06"}


def test_who_is_told_too_high_an_acknowledgement_may_repeat_the_message(reader: Reader, capture: Path) -> None:
    """The sender acknowledges one message more than there is. The receiver need not believe it afterwards."""
    trace = opened()
    trace.buffer(0, 5)
    trace.control(ok(5, 0), go(6, 4))
    trace.buffer(1, 5)
    trace.control(ok(5, 0), go(6, 4), ok(7, 1), go(8, 5))
    trace.buffer(2, 8)
    found = reader.findings(trace.save(capture), "-o", "netblt.capture_points:receiver")
    assert {one.requirement for one in found} == {"CTRL-06"}


def test_data_for_a_go_with_a_bad_checksum_are_told_as_such_only(reader: Reader, capture: Path) -> None:
    """CKSUM-06: the sender acknowledges a CONTROL that it had to drop. That the buffers have no GO follows from it."""
    trace = Trace()
    trace.open()
    trace.response()
    raw = packet(CONTROL, b"".join(go(1 + number, number) for number in range(4)), 1, 1000)
    trace.put(b"\x55\xaa" + raw[2:], trace.receiver, trace.sender)
    for buffer in range(2):
        trace.buffer(buffer, 4)
    assert told(reader, trace, capture) == {"CKSUM-06"}


def test_a_capture_that_begins_after_the_gos_does_not_miss_them(reader: Reader, capture: Path) -> None:
    """Nothing shows which GOs and RESENDs were sent before."""
    trace = opened()
    goes_on(trace, 0)
    trace.control(resend(17, 6, [0]))
    del trace.frames[:4]
    assert told(reader, trace, capture) == set()


def test_a_request_that_the_capture_cut_off_explains_the_retransmission(reader: Reader, capture: Path) -> None:
    """A snap length leaves the first message of a CONTROL. The others are not known, a RESEND among them."""
    trace = opened()
    trace.buffer(0, 4, skip=(1,))
    trace.control(ok(5, 99), resend(6, 0, [1, 3]), cut=30)
    trace.data(0, 1, 6)
    trace.data(0, 3, 6, ldata=True)
    trace.control(ok(7, 0), go(8, 4), cut=30)
    trace.buffer(1, 8, last=True)
    trace.control(ok(9, 1))
    trace.null_ack(9)
    trace.header_only(DONE, by_sender=False)
    assert not told(reader, trace, capture) & {"DATA-13", "ORDER-01", "ORDER-03", "CLOSE-01"}
