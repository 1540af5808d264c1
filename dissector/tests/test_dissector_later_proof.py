# SPDX-License-Identifier: GPL-2.0-or-later
"""What looks wrong by itself and is right, or is the fault of another packet: later packets decide."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dissector.tests.ctrl04_stories import start
from dissector.tests.forge import DONE, KEEPALIVE, NS, OPEN, Trace, go, ok, open_body, packet
from dissector.tests.reader import Finding, Reader

AT_RECEIVER = ("-o", "netblt.capture_position:receiver")
RECEIVER, SENDER = "10.0.0.2 receiver", "10.0.0.1 sender"


def proven(reader: Reader, trace: Trace, capture: Path, *options: str) -> list[Finding]:
    return [found for found in reader.findings(trace.save(capture), *options) if found.verdict == "violation"]


def opened(**options: Any) -> Trace:
    """OPEN and RESPONSE were captured."""
    trace = Trace(**options)
    trace.open()
    trace.response()
    return trace


def with_buffers(trace: Trace, packets: int, outstanding: int) -> Trace:
    terms = {"buffer_size": packets * 512, "packet_size": 512, "max_buffers": outstanding}
    trace.terms = lambda: terms  # type: ignore[method-assign]
    return trace


def test_an_early_done_is_what_is_wrong_and_not_the_controls_after_it(reader: Reader, capture: Path) -> None:
    trace = start()
    trace.control(ok(5, 0), go(6, 4))
    trace.header_only(DONE, by_sender=False)
    trace.buffer(1, 6)
    proof = trace.control(ok(7, 1), go(8, 5))
    for _ in range(4):
        trace.null_ack(8)
        trace.control(ok(9, 2))
    assert proven(reader, trace, capture) == [Finding(proof, "CLOSE-01", "violation", RECEIVER)]


def test_messages_after_a_done_in_time_are_repeated_wrongly(reader: Reader, capture: Path) -> None:
    trace = opened()
    trace.control(go(1, 0))
    trace.buffer(0, 1, last=True)
    trace.control(ok(2, 0))
    trace.null_ack(2)
    trace.header_only(DONE, by_sender=False)
    again = trace.control(ok(2, 0))
    found = {(one.frame, one.requirement) for one in proven(reader, trace, capture)}
    assert found == {(again, "CTRL-05"), (again, "TIMER-02")}


def test_a_queue_may_be_sent_from_its_last_part_to_its_first(reader: Reader, capture: Path) -> None:
    """CTRL-01, CTRL-04, AMB-33: no CONTROL holds more than two messages."""
    trace = opened()
    trace.control(go(1, 0), go(2, 1))
    trace.buffer(0, 2)
    trace.buffer(1, 2)
    for _ in range(6):
        trace.control(go(5, 2), go(6, 3))
        trace.null_ack(2)
        trace.control(ok(3, 0), ok(4, 1))
        for _ in range(4):
            trace.null_ack(2)
        trace.time_ns += 100_000_000
    assert proven(reader, trace, capture) == []


def test_a_message_that_shows_itself_later_was_left_out_of_one_control(reader: Reader, capture: Path) -> None:
    """CTRL-04 and not CTRL-01: the number is used, by a message that was never captured before."""
    trace = start()
    trace.control(go(6, 4))
    trace.null_ack(4)
    trace.control(ok(5, 0), go(6, 4))
    proof = trace.null_ack(6)
    for _ in range(6):
        trace.control(ok(7, 1))
    assert proven(reader, trace, capture) == [Finding(proof, "CTRL-04", "violation", RECEIVER)]


def test_a_number_that_no_later_control_holds_was_left_out(reader: Reader, capture: Path) -> None:
    trace = start()
    wrong = trace.control(ok(5, 0), go(7, 4))
    frames = []
    for _ in range(6):
        trace.time_ns += NS
        trace.null_ack(5)
        frames.append(trace.control(go(7, 4)))
    assert Finding(frames[3], "CTRL-01", "violation", RECEIVER) in proven(reader, trace, capture)
    assert Finding(wrong, "CTRL-01", "suspected", RECEIVER) in reader.findings(capture)


@pytest.mark.parametrize(("travel_ns", "verdict"), [(0, "suspected"), (60_000_000, "violation")])
def test_an_acknowledgement_that_had_no_time_to_travel_was_not_known(
    reader: Reader, capture: Path, travel_ns: int, verdict: str
) -> None:
    """CTRL-05: no reaction of the receiver takes less than 50 ms, and the head leaves out what is acknowledged."""
    trace = Trace()
    trace.open()
    trace.time_ns += 50_000_000
    trace.response()
    trace.control(*(go(1 + number, number) for number in range(4)))
    trace.buffer(0, 4)
    trace.control(ok(5, 0), go(6, 4))
    trace.null_ack(5)
    trace.time_ns += travel_ns
    trace.control(go(6, 4))
    trace.time_ns += 100_000_000
    again = trace.control(ok(5, 0), go(6, 4))
    found = [one for one in reader.findings(trace.save(capture)) if one.requirement == "CTRL-05"]
    assert found == [Finding(again, "CTRL-05", verdict, RECEIVER)]


def test_at_the_receiver_the_captured_acknowledgements_are_all_that_it_knew(reader: Reader, capture: Path) -> None:
    trace = start()
    trace.control(ok(5, 0), go(6, 4))
    trace.buffer(1, 4)
    wrong = trace.control(go(6, 4))
    assert proven(reader, trace, capture) == []
    assert proven(reader, trace, capture, *AT_RECEIVER) == [Finding(wrong, "CTRL-04", "violation", RECEIVER)]


def test_at_the_receiver_an_acknowledgement_that_comes_later_was_not_known(reader: Reader, capture: Path) -> None:
    """CTRL-04: no CONTROL showed that two messages fit one, and no other part of the queue follows in time."""
    trace = with_buffers(Trace(), 4, 1)
    trace.open()
    trace.response()
    trace.control(go(1, 0))
    trace.buffer(0, 1)
    trace.control(ok(2, 0))
    trace.time_ns += 100_000_000
    trace.control(go(3, 1))
    trace.time_ns += 100_000_000
    proof = trace.null_ack(2)
    assert proven(reader, trace, capture, *AT_RECEIVER) == [Finding(proof, "CTRL-04", "violation", RECEIVER)]


def test_at_the_receiver_a_part_of_a_queue_is_no_violation(reader: Reader, capture: Path) -> None:
    """AMB-33: from the first part to the last, or the other way round; four messages were never in one CONTROL."""
    for parts in ([(3, 0), (4, 1)], [(5, 2), (6, 3)]), ([(5, 2), (6, 3)], [(3, 0), (4, 1)]):
        trace = opened()
        trace.control(go(1, 0), go(2, 1))
        trace.buffer(0, 2)
        trace.buffer(1, 2)
        for part in parts:
            trace.control(*(ok(seq, buffer) if seq < 5 else go(seq, buffer) for seq, buffer in part))
        trace.null_ack(6)
        assert proven(reader, trace, capture, *AT_RECEIVER) == []


def test_a_buffer_without_ok_is_waited_for_though_the_last_one_has_its_ok(reader: Reader, capture: Path) -> None:
    """TIMER-07: the transfer is over with the OKs of all buffers (5.3.1)."""
    trace = opened()
    trace.control(go(1, 0), go(2, 1))
    trace.buffer(0, 2, skip=[1])
    trace.buffer(1, 2, last=True)
    trace.control(ok(3, 1))
    trace.null_ack(3)
    for _ in range(12):
        trace.time_ns += 9 * NS
        trace.header_only(KEEPALIVE, by_sender=True)
        trace.header_only(KEEPALIVE, by_sender=False)
    found = [one for one in reader.findings(trace.save(capture)) if one.requirement == "TIMER-07"]
    assert [(one.verdict, one.offender) for one in found] == [("suspected", RECEIVER)]


def test_data_without_a_go_do_not_make_the_packets_after_them_wrong(reader: Reader, capture: Path) -> None:
    """DATA-01 alone, and neither ORDER-01, DATA-09 nor DATA-12."""
    trace = with_buffers(Trace(), 4, 2)
    trace.open()
    trace.response()
    trace.control(go(1, 0), go(2, 1))
    stray = trace.data(77, 0, 2)
    trace.buffer(0, 2)
    trace.buffer(1, 2)
    trace.control(ok(3, 0), ok(4, 1), go(5, 2))
    trace.null_ack(5)
    trace.buffer(2, 5, last=True)
    trace.control(ok(6, 2))
    trace.null_ack(6)
    found = reader.findings(trace.save(capture))
    assert [(one.frame, one.requirement) for one in found] == [(stray, "DATA-01")]


def test_a_number_beyond_a_buffer_is_wrong_where_numbers_count_from_zero(reader: Reader, capture: Path) -> None:
    trace = with_buffers(Trace(), 4, 2)
    trace.open()
    trace.response()
    trace.control(go(1, 0), go(2, 1))
    for number in (0, 1, 3):
        trace.data(0, number, 2)
    wrong = trace.data(0, 4, 2, ldata=True)
    assert Finding(wrong, "DATA-05", "violation", SENDER) in proven(reader, trace, capture)


@pytest.mark.parametrize("lost", [False, True])
def test_all_bytes_of_a_buffer_are_a_whole_buffer_whatever_its_first_number(
    reader: Reader, capture: Path, lost: bool
) -> None:
    """CTRL-14, AMB-10: packets count from 1, and no IP ID shows that none is missing. `lost`: one was not captured."""
    trace = with_buffers(Trace(v6=True), 4, 2)
    trace.open()
    trace.response()
    trace.control(go(1, 0))
    for number in range(1, 5):
        if not (lost and number == 3):
            trace.data(0, number, 1, ldata=number == 4)
    early = trace.control(ok(2, 0))
    found = [one for one in reader.findings(trace.save(capture)) if one.requirement == "CTRL-14"]
    assert [(one.frame, one.verdict) for one in found] == ([(early, "suspected")] if lost else [])


def test_a_receiver_may_take_data_before_the_acknowledgement_in_the_same_packet(reader: Reader, capture: Path) -> None:
    """CTRL-05: buffers of one packet, whose OK is queued before its high-seq is read."""
    trace = with_buffers(Trace(), 1, 1)
    trace.open()
    trace.response()
    trace.control(go(1, 0))
    for buffer in range(4):
        seq = 1 + 2 * buffer
        trace.data(buffer, 0, seq, ldata=True)
        trace.control(go(seq, buffer), ok(seq + 1, buffer), go(seq + 2, buffer + 1))
    assert proven(reader, trace, capture) == []


def test_an_ldata_in_the_middle_makes_no_short_buffer(reader: Reader, capture: Path) -> None:
    """DATA-04 alone, not DATA-02."""
    trace = with_buffers(Trace(), 4, 2)
    trace.open()
    trace.response()
    trace.control(go(1, 0), go(2, 1))
    trace.data(0, 0, 2)
    trace.data(0, 1, 2, ldata=True)
    proof = trace.data(0, 2, 2)
    trace.data(0, 3, 2, ldata=True)
    trace.control(ok(3, 0))
    trace.null_ack(3)
    assert proven(reader, trace, capture) == [Finding(proof, "DATA-04", "violation", SENDER)]


def test_a_buffer_that_ends_early_is_too_small_when_the_next_one_begins(reader: Reader, capture: Path) -> None:
    trace = with_buffers(Trace(), 4, 2)
    trace.open()
    trace.response()
    trace.control(go(1, 0), go(2, 1))
    trace.buffer(0, 2, packets=3)
    proof = trace.data(1, 0, 2)
    assert proven(reader, trace, capture) == [Finding(proof, "DATA-02", "violation", SENDER)]


def test_a_go_with_number_0_is_a_go(reader: Reader, capture: Path) -> None:
    """CTRL-01 by the receiver; its sender serves the GO, which is no DATA-01."""
    trace = opened()
    wrong = trace.control(go(0, 0), go(1, 1))
    trace.buffer(0, 1)
    trace.buffer(1, 1)
    trace.control(ok(2, 0), ok(3, 1))
    for _ in range(8):
        trace.null_ack(3)
        trace.header_only(KEEPALIVE, by_sender=False)
    assert proven(reader, trace, capture) == [Finding(wrong, "CTRL-01", "violation", RECEIVER)]


def test_no_buffers_are_not_more_than_were_proposed(reader: Reader, capture: Path) -> None:
    """NEG-10, not NEG-05."""
    trace = with_buffers(Trace(), 4, 2)
    trace.open()
    with_buffers(trace, 4, 0)
    wrong = trace.response()
    assert [(one.frame, one.requirement) for one in proven(reader, trace, capture)] == [(wrong, "NEG-10")]


def test_an_open_that_is_too_short_is_reported_before_any_other_packet(reader: Reader, capture: Path) -> None:
    trace = Trace()
    body = open_body(trace.uid, **trace.terms())[:16]
    wrong = trace.put(packet(OPEN, body, trace.sender.port, trace.receiver.port), trace.sender, trace.receiver)
    trace.open()
    trace.response()
    found = [one for one in reader.findings(trace.save(capture)) if one.requirement == "WIRE-08"]
    assert [one.frame for one in found[:1]] == [wrong]
