# SPDX-License-Identifier: GPL-2.0-or-later
"""What foreign implementations may rightly do is no violation; beside each the same thing done wrong."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from dissector.tests import forge
from dissector.tests.forge import Trace, go, ok, resend
from dissector.tests.reader import Reader

LONG, SHORT = 16, 3  # packet numbers in a list
AT_ONCE_NS, TORN_APART_NS, LATER_NS, TIMER_NS = 100_000, 5_000_000, 60_000_000, 100_000_000


def verdicts(reader: Reader, path: Path, requirement: str) -> set[str]:
    return {finding.verdict for finding in reader.findings(path) if finding.requirement == requirement}


@pytest.mark.parametrize(
    ("entries", "second", "verdict"),
    [(LONG, LONG, "suspected"), (SHORT, SHORT, "suspected"), (SHORT, SHORT - 1, "violation")],
)
def test_a_list_may_be_limited(reader: Reader, capture: Path, entries: int, second: int, verdict: str) -> None:
    """RESEND-06, AMB-33: one list in two messages, however long this end lets one be; but no packet is in both."""
    trace = Trace(packet_size=16)
    trace.terms = lambda: {"buffer_size": 16 * 64, "packet_size": 16, "max_buffers": 4}  # type: ignore[method-assign]
    trace.open()
    trace.response()
    trace.control(go(1, 0))
    trace.buffer(0, 1, 64)
    trace.control(go(2, 1), *(go(3 + number, 2 + number) for number in range(20)))  # large CONTROLs are possible
    trace.null_ack(22)
    trace.control(resend(23, 0, range(entries)), resend(24, 0, range(second, 2 * entries)))
    assert verdicts(reader, trace.save(capture), "RESEND-06") == {verdict}


@pytest.mark.parametrize(("second", "verdict"), [((3,), "suspected"), ((1, 3), "violation")])
def test_holes_may_be_requested_one_by_one(
    reader: Reader, capture: Path, second: tuple[int, ...], verdict: str
) -> None:
    """RESEND-06, AMB-31: a hole that shows while the request for another one is open; but no packet is in both."""
    trace = Trace(packet_size=256)
    trace.terms = lambda: {"buffer_size": 256 * 8, "packet_size": 256, "max_buffers": 4}  # type: ignore[method-assign]
    trace.open()
    trace.response()
    trace.control(go(1, 0))
    for number in range(5):
        if number in (1, 3):
            trace.sender.next_id()  # lost
        else:
            trace.data(0, number, 1)
    trace.control(resend(2, 0, (1,)))
    trace.control(resend(2, 0, (1,)), resend(3, 0, second))
    assert verdicts(reader, trace.save(capture), "RESEND-06") == {verdict}


@pytest.mark.parametrize(
    ("gap_ns", "verdict"), [(AT_ONCE_NS, "suspected"), (TORN_APART_NS, "suspected"), (LATER_NS, "violation")]
)
def test_messages_of_a_control_may_be_counted(reader: Reader, capture: Path, gap_ns: int, verdict: str) -> None:
    """CTRL-04: a queue of four in two CONTROLs of two, one right after the other, though four would have fitted."""
    trace = Trace()
    trace.open()
    trace.response()
    trace.control(go(1, 0), go(2, 1))
    trace.buffer(0, 2)
    trace.buffer(1, 2)
    trace.control(resend(3, 0, range(4)), resend(4, 1, range(4)))  # two messages, and room for a third
    trace.null_ack(4)
    trace.control(ok(5, 0), ok(6, 1))
    trace.time_ns += gap_ns - trace.gap_ns
    trace.control(go(7, 2), go(8, 3))
    trace.time_ns += LATER_NS  # too late for another part
    for _ in range(12):
        trace.null_ack(4)
    found = [f for f in reader.findings(trace.save(capture)) if f.requirement == "CTRL-04"]
    assert {finding.verdict for finding in found} == {verdict} | {"suspected"}


def test_one_message_may_be_larger_than_what_goes_together(reader: Reader, capture: Path) -> None:
    """CTRL-04, AMB-33: a RESEND must be sent, however long; it does not show that others would go into one packet."""
    trace = Trace(packet_size=16)
    trace.terms = lambda: {"buffer_size": 16 * 64, "packet_size": 16, "max_buffers": 8}  # type: ignore[method-assign]
    trace.open()
    trace.response()
    trace.control(go(1, 0), go(2, 1), go(3, 2))
    trace.buffer(0, 3, 64)
    trace.control(resend(4, 0, range(20)))
    for number in range(20):
        trace.data(0, number, 4)
    trace.buffer(1, 4, 64)
    trace.control(ok(5, 0), go(6, 3))
    trace.time_ns += AT_ONCE_NS - trace.gap_ns
    trace.control(ok(7, 1), go(8, 4))
    for _ in range(12):
        trace.null_ack(4)
    assert verdicts(reader, trace.save(capture), "CTRL-04") == {"suspected"}


@pytest.mark.parametrize(("lost", "verdict"), [(True, {"suspected"}), (False, {"suspected", "violation"})])
def test_a_part_may_be_lost_before_the_capture(reader: Reader, capture: Path, lost: bool, verdict: set[str]) -> None:
    """CTRL-04, AMB-33: the IP IDs show that something was emitted right before the CONTROL."""
    trace = Trace()
    trace.open()
    trace.response()
    trace.control(*(go(1 + number, number) for number in range(4)))
    trace.buffer(0, 4)
    trace.control(ok(5, 0), go(6, 4))
    trace.buffer(1, 4)
    if lost:
        trace.receiver.next_id()
    trace.control(ok(7, 1), go(8, 5))
    trace.time_ns += LATER_NS  # too late for another part
    for _ in range(12):
        trace.null_ack(4)
    assert verdicts(reader, trace.save(capture), "CTRL-04") == verdict


@pytest.mark.parametrize(("lost", "verdict"), [(True, set()), (False, {"violation"})])
def test_what_looks_like_the_head_may_be_a_part(reader: Reader, capture: Path, lost: bool, verdict: set[str]) -> None:
    """CTRL-05, AMB-33: the part before it escaped the capture, and what acknowledged that was lost after it."""
    trace = Trace()
    trace.open()
    trace.response()
    trace.control(*(go(1 + number, number) for number in range(4)))
    trace.buffer(0, 4)
    trace.buffer(1, 4)
    trace.control(ok(5, 0), go(6, 4))
    trace.null_ack(6)
    trace.time_ns += TIMER_NS
    if lost:
        trace.receiver.next_id()
    trace.control(ok(7, 1))
    trace.time_ns += TIMER_NS
    trace.control(ok(5, 0), go(6, 4), ok(7, 1))
    assert verdicts(reader, trace.save(capture), "CTRL-05") == verdict


@pytest.mark.parametrize("absent", [None, 500])
def test_a_queue_may_be_longer_than_what_is_remembered(reader: Reader, capture: Path, absent: int | None) -> None:
    """CTRL-01: 1200 requests for one packet each are not acknowledged; none is left out, or one is."""
    trace = Trace(packet_size=16)
    trace.terms = lambda: {"buffer_size": 16 * 2000, "packet_size": 16, "max_buffers": 1}  # type: ignore[method-assign]
    trace.open()
    trace.response()
    trace.control(go(1, 0))
    trace.null_ack(1)
    for first in range(2, 1202, 80):
        numbers = [seq for seq in range(first, first + 80) if seq != absent]
        trace.control(*(resend(seq, 0, [seq]) for seq in numbers))
    trace.null_ack(absent - 1 if absent else 1201)
    for _ in range(12):
        trace.null_ack(absent - 1 if absent else 1201)
    found = {f.requirement for f in reader.findings(trace.save(capture)) if f.verdict == "violation"}
    assert ("CTRL-01" in found) == (absent is not None)
    assert absent is not None or not found


def test_what_stood_in_a_truncated_control_is_missed_by_nobody(reader: Reader, capture: Path) -> None:
    """A short snap length spares OPEN, RESPONSE and NULL-ACK, and cuts every CONTROL after its first message."""
    trace = Trace()
    trace.terms = lambda: {"buffer_size": 4 * 512, "packet_size": 512, "max_buffers": 2}  # type: ignore[method-assign]
    trace.open()
    trace.response()
    trace.control(go(1, 0), go(2, 1), cut=20)
    trace.buffer(0, 2)
    trace.buffer(1, 2)
    for number in range(2, 8):
        trace.control(ok(2 * number - 1, number - 2), go(2 * number, number), cut=20)
        trace.buffer(number, 2 * number, last=number == 7)
    found = reader.findings(trace.save(capture))
    assert [f for f in found if f.requirement in {"DATA-01", "DATA-12", "CTRL-06", "CTRL-07"}] == []


@pytest.mark.parametrize(
    ("kind", "version", "verdict"),
    [
        (forge.ABORT, 1, set()),
        (forge.REFUSED, 1, set()),
        (forge.ABORT, 3, set()),
        (forge.KEEPALIVE, 1, {"violation"}),
    ],
    ids=["ABORT", "REFUSED", "ABORT in the version of its emitter", "KEEPALIVE"],
)
def test_a_packet_of_no_connection_may_be_answered_in_another_version(
    reader: Reader, capture: Path, kind: int, version: int, verdict: set[str]
) -> None:
    """AMB-01: the receiver keeps its version 1, and a sender of version 2 that has forgotten the connection answers in
    that of the receiver, or in the one that it has when it echoes none."""
    trace = Trace()
    trace.open()
    body = forge.open_body(trace.uid, **trace.terms())
    ports = trace.receiver.port, trace.sender.port
    trace.put(forge.packet(forge.RESPONSE, body, *ports, version=1), trace.receiver, trace.sender)
    trace.put(forge.packet(forge.CONTROL, go(1, 0), *ports, version=1), trace.receiver, trace.sender)
    reason = b"" if kind == forge.KEEPALIVE else forge.text_field(b"no such connection")
    trace.put(forge.packet(kind, reason, *reversed(ports), version=version), trace.sender, trace.receiver)
    assert verdicts(reader, trace.save(capture), "WIRE-02") == verdict


@pytest.mark.parametrize(("first", "verdict"), [(True, set()), (False, {"suspected", "violation"})])
def test_damaged_copies_of_a_packet_whose_checksum_is_zero_are_no_habit(
    reader: Reader, capture: Path, first: bool, verdict: set[str]
) -> None:
    """CKSUM-01: three packets with the checksum 0 show that it is left out, unless 0 was right in one packet."""
    trace = Trace()
    ports = trace.sender.port, trace.receiver.port
    (rest,) = struct.unpack(">H", forge.packet(forge.OPEN, forge.open_body(0, **trace.terms()), *ports)[:2])
    opening = forge.packet(forge.OPEN, forge.open_body(rest, **trace.terms()), *ports)
    assert opening[:2] == b"\0\0"
    if first:
        trace.put(opening, trace.sender, trace.receiver)
    for bit in range(3):
        damaged = bytes([*opening[:-1], opening[-1] ^ 1 << bit])
        trace.put(damaged, trace.sender, trace.receiver)
    assert verdicts(reader, trace.save(capture), "CKSUM-01") == verdict


@pytest.mark.parametrize(("named", "verdict"), [(False, set()), (True, {"violation"})])
def test_data_without_a_go_make_no_buffer_that_needs_an_ok(
    reader: Reader, capture: Path, named: bool, verdict: set[str]
) -> None:
    """CLOSE-01, DATA-06: buffers 0 and 7 have a GO, the numbers go up in steps. Data of buffer 3 come, which the
    receiver never requested (`named`: it did): it has confirmed all that it requested, and sends DONE."""
    trace = Trace()
    trace.open()
    trace.response()
    middle = [go(2, 3)] if named else []
    newest = 2 + len(middle)
    trace.control(go(1, 0), *middle, go(newest, 7))
    trace.buffer(0, newest)
    trace.data(3, 0, newest)
    trace.buffer(7, newest, last=True)
    trace.control(ok(newest + 1, 0), ok(newest + 2, 7))
    trace.null_ack(newest + 2)
    trace.header_only(forge.DONE, by_sender=False)
    assert verdicts(reader, trace.save(capture), "CLOSE-01") == verdict


@pytest.mark.parametrize(("acknowledged", "wrong"), [(1500, False), (1600, True)])
def test_so_many_messages_as_a_buffer_has_packets_may_wait_for_one_acknowledgement(
    reader: Reader, capture: Path, acknowledged: int, wrong: bool
) -> None:
    """A receiver that requests each packet in a message of its own: 1499 RESENDs in 15 CONTROLs (AMB-33)."""
    trace = Trace()
    trace.terms = lambda: {"buffer_size": 2000 * 16, "packet_size": 16, "max_buffers": 1}  # type: ignore[method-assign]
    trace.open()
    trace.response()
    trace.control(go(1, 0))
    trace.null_ack(1)
    for first in range(0, 1500, 100):
        trace.control(*(resend(2 + number, 0, [number]) for number in range(first, min(first + 100, 1499))))
    trace.null_ack(acknowledged)
    for _ in range(12):  # time enough for what may have been delayed
        trace.control(go(1501, 1))
    found = {finding.requirement for finding in reader.findings(trace.save(capture))}
    assert found & {"CTRL-05", "CTRL-06", "CTRL-07"} == ({"CTRL-06"} if wrong else set())
