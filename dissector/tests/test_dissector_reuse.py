# SPDX-License-Identifier: GPL-2.0-or-later
"""DEMUX-04: ports that are used again. Most packets do not state which connection they belong to, so what the one
before left on its way, or an opening that escaped the capture, must not be reported as a fault."""

from __future__ import annotations

from pathlib import Path

import pytest

from dissector.tests import forge
from dissector.tests.forge import Trace, go, ok
from dissector.tests.reader import Reader

BUFFERS = 4


def transfer(trace: Trace, *, opened: bool = True, ends: bool = True) -> None:
    """A conforming one of full buffers; with `opened` false OPEN and RESPONSE escape the capture."""
    if opened:
        trace.open()
        trace.response()
    else:
        trace.sender.next_id()
        trace.receiver.next_id()
    trace.control(go(1, 0))
    seq = 1
    for buffer in range(BUFFERS):
        last = buffer == BUFFERS - 1
        trace.buffer(buffer, seq, last=last)
        trace.control(ok(seq + 1, buffer), *([] if last else [go(seq + 2, buffer + 1)]))
        seq += 1 if last else 2
    trace.null_ack(seq)
    if ends:
        trace.header_only(forge.DONE, by_sender=False)


def violations(reader: Reader, path: Path) -> list[tuple[int, str]]:
    return [(one.frame, one.requirement) for one in reader.findings(path) if one.verdict == "violation"]


def test_an_old_done_behind_the_next_open_is_not_held_against_the_next_connection(
    reader: Reader, capture: Path
) -> None:
    trace = Trace()
    transfer(trace)
    old, number = trace.frames[-1].data[20:], trace.receiver.ip_id
    trace.uid += 1
    trace.open()
    trace.put(old, trace.receiver, trace.sender, ip_id=number)  # the network doubled it
    trace.response()
    trace.control(go(1, 0))
    for _ in range(4):
        trace.control(go(1, 0))  # nothing is acknowledged yet
    assert violations(reader, trace.save(capture)) == []


def test_a_connection_whose_opening_was_not_captured_is_not_the_one_before(reader: Reader, capture: Path) -> None:
    for ends in (True, False):
        trace = Trace()
        transfer(trace, ends=ends)
        if not ends:
            trace.receiver.next_id()  # the capture missed DONE as well
        trace.packet_size //= 2
        transfer(trace, opened=False)
        assert violations(reader, trace.save(capture)) == [], f"DONE captured: {ends}"


def test_who_goes_on_behind_done_is_still_convicted(reader: Reader, capture: Path) -> None:
    trace = Trace()
    transfer(trace)
    again = trace.control(ok(2 * BUFFERS, BUFFERS - 1))
    assert (again, "CTRL-05") in violations(reader, trace.save(capture))


def test_an_opening_that_the_capture_cuts_short_is_that_of_another_connection(reader: Reader, capture: Path) -> None:
    """The fields were captured, the client string not: nothing can be verified, but which end is which is known."""
    trace = Trace()
    for _ in range(2):
        trace.open(cut=36)
        trace.response(cut=36)
        trace.control(go(1, 0))
        trace.buffer(0, 1, last=True)
        trace.control(ok(2, 0))
        trace.null_ack(2)
        trace.header_only(forge.DONE, by_sender=False)
        trace.uid += 1
        trace.packet_size //= 2
    streams = reader.rows(trace.save(capture), "netblt.stream")
    half = len(streams) // 2
    assert [row["netblt.stream"][0] for row in streams] == ["0"] * half + ["1"] * half
    assert reader.findings(capture) == []


def test_the_same_id_on_the_same_ports_begins_another_connection(reader: Reader, capture: Path) -> None:
    """OPEN-14: the second transfer has other terms, and everything of it is counted from the beginning."""
    trace = Trace()
    transfer(trace)
    half = len(trace.frames)
    trace.packet_size //= 2
    transfer(trace)
    streams = [row["netblt.stream"][0] for row in reader.rows(trace.save(capture), "netblt.stream")]
    assert streams == ["0"] * half + ["1"] * (len(streams) - half)
    found = reader.findings(capture)
    assert [(one.frame, one.requirement, one.verdict) for one in found] == [(half + 1, "OPEN-14", "suspected")]


def test_an_id_used_again_behind_another_one_begins_a_third_connection(reader: Reader, capture: Path) -> None:
    trace = Trace()
    first = trace.uid
    transfer(trace)
    trace.uid += 1
    transfer(trace)
    trace.uid = first
    trace.packet_size //= 2
    transfer(trace)
    streams = [row["netblt.stream"][0] for row in reader.rows(trace.save(capture), "netblt.stream")]
    assert sorted(set(streams)) == ["0", "1", "2"]
    assert violations(reader, capture) == []


def test_a_silent_connection_is_over_when_its_id_is_used_again(reader: Reader, capture: Path) -> None:
    """Neither end said that it leaves. Both died, or the capture missed it."""
    trace = Trace()
    trace.open()
    trace.response()
    trace.control(go(1, 0))
    trace.buffer(0, 1)
    trace.time_ns += 3_600_000_000_000
    trace.packet_size //= 2
    transfer(trace)
    streams = {row["netblt.stream"][0] for row in reader.rows(trace.save(capture), "netblt.stream")}
    assert streams == {"0", "1"}
    assert violations(reader, capture) == []


def test_a_repeated_open_of_a_living_connection_opens_no_other(reader: Reader, capture: Path) -> None:
    trace = Trace()
    trace.open()
    trace.response()
    trace.control(go(1, 0))
    trace.buffer(0, 1)
    trace.open()
    streams = {row["netblt.stream"][0] for row in reader.rows(trace.save(capture), "netblt.stream")}
    assert streams == {"0"}


def test_a_second_response_whose_open_was_not_captured_convicts_nobody(reader: Reader, capture: Path) -> None:
    """OPEN-07: it may answer the OPEN of another connection with the same ID."""
    trace = Trace()
    transfer(trace)
    trace.packet_size //= 2
    trace.sender.next_id()  # the OPEN
    trace.response()
    assert violations(reader, trace.save(capture)) == []


@pytest.mark.parametrize(
    ("confirmed", "changed", "expected"),
    [
        (True, {"burst_size": 7, "burst_interval": 20}, "suspected"),
        (False, {"burst_size": 7, "burst_interval": 20}, "violation"),
        (True, {"burst_size": 7, "max_buffers": 63}, "violation"),
    ],
)
def test_a_response_that_comes_again_after_an_ok_may_have_another_pair(
    reader: Reader, capture: Path, confirmed: bool, changed: dict[str, int], expected: str
) -> None:
    """OPEN-07, AMB-63: every OK may renegotiate burst size and burst interval, and nothing else."""
    trace = Trace()
    trace.open()
    trace.response()
    if confirmed:
        trace.control(go(1, 0))
        trace.buffer(0, 1)
        trace.control(ok(2, 0))
        trace.null_ack(2)
    trace.open()
    terms = trace.terms()
    trace.terms = lambda: terms | changed  # type: ignore[method-assign]
    trace.response()
    found = [one.verdict for one in reader.findings(trace.save(capture)) if one.requirement == "OPEN-07"]
    assert found == [expected]
