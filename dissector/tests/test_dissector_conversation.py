# SPDX-License-Identifier: GPL-2.0-or-later
"""Each packet knows its place in the conversation: what it repeats, answers, acknowledges, and what answers it."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from dissector.tests import forge
from dissector.tests.forge import Frame, Trace, go, ok, resend
from dissector.tests.reader import Reader

MS = 1_000_000
PASSES = pytest.mark.parametrize("passes", [(), ("-2",)], ids=["one-pass", "two-passes"])


def started(*buffers: int) -> Trace:
    """OPEN 1, RESPONSE 2, CONTROL 3 with a GO for each buffer (sequence numbers from 1); 1 ms between packets."""
    trace = Trace()
    trace.open()
    trace.response()
    trace.control(*(go(1 + i, buffer) for i, buffer in enumerate(buffers)))
    return trace


def values(reader: Reader, path: Path, name: str, *options: str) -> list[list[str]]:
    return [row[name] for row in reader.rows(path, name, options=options)]


def one(reader: Reader, path: Path, frame: int, name: str, *options: str) -> list[str]:
    return values(reader, path, name, *options)[frame - 1]


def flagged(reader: Reader, path: Path, name: str, *options: str) -> list[int]:
    return [frame for frame, value in enumerate(values(reader, path, name, *options), 1) if value]


# --- data -----------------------------------------------------------------------------------------------------------


@PASSES
def test_a_repair_names_the_first_transmission_and_the_resend(
    reader: Reader, capture: Path, passes: tuple[str, ...]
) -> None:
    trace = started(0)
    first = trace.buffer(0, 1)
    asked = trace.control(resend(2, 0, [2]))
    again = trace.control(resend(2, 0, [2]))
    repair = trace.data(0, 2, 2)
    path = trace.save(capture)
    assert flagged(reader, path, "netblt.analysis.retransmission", *passes) == [again, repair]
    assert one(reader, path, repair, "netblt.analysis.first_frame", *passes) == [str(first[2])]
    assert one(reader, path, repair, "netblt.analysis.resend_frame", *passes) == [str(asked)]
    assert one(reader, path, repair, "netblt.analysis.repair_time", *passes) == ["0.002000000"]
    seen = bool(passes)  # what comes later is known on the second look
    assert one(reader, path, first[2], "netblt.analysis.retransmitted_in", *passes) == [str(repair)] * seen
    assert one(reader, path, asked, "netblt.analysis.repaired_in", *passes) == [str(repair)] * seen


def test_a_repair_of_a_packet_that_was_never_captured_is_a_retransmission(reader: Reader, capture: Path) -> None:
    trace = started(0)
    trace.buffer(0, 1, skip=[1])
    asked = trace.control(resend(2, 0, [1]))
    repair = trace.data(0, 1, 2)
    path = trace.save(capture)
    assert flagged(reader, path, "netblt.analysis.retransmission") == [repair]
    assert flagged(reader, path, "netblt.analysis.out_of_order") == []
    assert one(reader, path, repair, "netblt.analysis.first_frame") == []
    assert one(reader, path, repair, "netblt.analysis.resend_frame") == [str(asked)]


@pytest.mark.parametrize("far", [5000, 2**32 - 1])
def test_buffers_far_from_the_others_are_known_by_their_numbers(reader: Reader, capture: Path, far: int) -> None:
    """As when a capture begins with an old packet; numbers may come near one that was far when it was seen first."""
    trace = started(0)
    trace.buffer(0, 1)
    first = trace.data(far, 0, 1)
    asked = trace.control(*(go(2 + i, 400 * i) for i in range(1, far // 400 % 20)), resend(30, far, [0]))
    again = trace.data(far, 0, 30)
    path = trace.save(capture)
    assert one(reader, path, again, "netblt.analysis.first_frame") == [str(first)]
    assert one(reader, path, again, "netblt.analysis.resend_frame") == [str(asked)]


def test_of_two_resends_the_one_that_the_sender_knew_is_named(reader: Reader, capture: Path) -> None:
    trace = started(0)
    trace.buffer(0, 1)
    older = trace.control(resend(2, 0, [1]))
    newer = trace.control(resend(3, 0, [1]))
    repairs = [trace.data(0, 1, 2), trace.data(0, 1, 3)]
    path = trace.save(capture)
    asked = [one(reader, path, repair, "netblt.analysis.resend_frame") for repair in repairs]
    assert asked == [[str(older)], [str(newer)]]


def test_an_overtaken_packet_is_out_of_order_and_no_retransmission(reader: Reader, capture: Path) -> None:
    trace = started(0)
    trace.data(0, 0, 1, ip_id=200)
    trace.data(0, 2, 1, ip_id=202)
    late = trace.data(0, 1, 1, ip_id=201)
    path = trace.save(capture)
    assert flagged(reader, path, "netblt.analysis.out_of_order") == [late]
    assert flagged(reader, path, "netblt.analysis.retransmission") == []


@pytest.mark.parametrize("ids", [range(200, 220), [7, 9000, 31, 60000, 444, 2, 17], [0x1234] * 9])
def test_a_copy_of_the_capture_is_told_from_a_retransmission(reader: Reader, capture: Path, ids: list[int]) -> None:
    """By its IP ID: also where a host draws them, not where it gives all packets the same."""
    trace = started(0)
    for number in range(4):
        trace.data(0, number, 1, ip_id=ids[number])
    copy = trace.data(0, 3, 1, ip_id=ids[3])
    again = trace.data(0, 3, 1, ip_id=ids[4])
    path = trace.save(capture)
    constant = len(set(ids)) == 1
    assert flagged(reader, path, "netblt.analysis.duplicate") == ([] if constant else [copy])
    assert flagged(reader, path, "netblt.analysis.retransmission") == ([copy, again] if constant else [again])


def test_a_host_whose_first_packets_have_the_identification_0_repeats_them(reader: Reader, capture: Path) -> None:
    """RFC 6864 4.1: an atomic datagram may have any identification."""
    trace = Trace(gap_ns=1_000_000_000)
    for _ in range(3):
        trace.open(ip_id=0)
    trace.response()
    path = trace.save(capture)
    assert flagged(reader, path, "netblt.analysis.duplicate") == []
    assert flagged(reader, path, "netblt.analysis.retransmission") == [2, 3]


def test_a_copy_may_come_many_packets_later(reader: Reader, capture: Path) -> None:
    trace = started(0)
    for number in range(20):
        trace.data(0, number, 1, ip_id=200 + number)
    copy = trace.data(0, 3, 1, ip_id=203)
    path = trace.save(capture)
    assert flagged(reader, path, "netblt.analysis.duplicate") == [copy]
    assert one(reader, path, copy, "netblt.analysis.copy_of") == [str(4 + 3)]


def test_forged_packet_numbers_cost_no_memory_and_break_nothing(reader: Reader, capture: Path) -> None:
    trace = started(0)
    for number in (0, 65535, 1, 65534, 30000, 0):
        for buffer in (0, 0xFFFFFFFF, 0x80000000):
            trace.data(buffer, number, 1, fill=0)
    assert flagged(reader, trace.save(capture), "_ws.malformed") == []


# --- control --------------------------------------------------------------------------------------------------------


@PASSES
def test_a_control_message_knows_its_life(reader: Reader, capture: Path, passes: tuple[str, ...]) -> None:
    trace = started(0, 1)
    again = trace.control(go(1, 0), go(2, 1))
    some = trace.data(0, 0, 1)
    third = trace.control(go(2, 1))
    rest = trace.data(0, 1, 2)
    path = trace.save(capture)

    def column(frame: int, name: str) -> list[str]:
        return one(reader, path, frame, f"netblt.control.{name}", *passes)

    assert column(again, "first_frame") == ["3", "3"]
    assert column(third, "nth") == ["3"]
    assert one(reader, path, some, "netblt.acknowledges", *passes) == ["3"]
    assert one(reader, path, some, "netblt.ack_time", *passes) == ["0.002000000"]
    assert one(reader, path, rest, "netblt.ack_time", *passes) == ["0.004000000"]
    if passes:
        assert column(3, "times_sent") == ["2", "3"]
        assert column(3, "acked_in") == [str(some), str(rest)]
        assert column(3, "ack_time") == ["0.002000000", "0.004000000"]
        assert column(3, "first_data") == [str(some)]


def test_times_from_go_to_data_and_to_ok(reader: Reader, capture: Path) -> None:
    trace = started(0)
    first = trace.buffer(0, 1)
    done = trace.control(ok(2, 0))
    path = trace.save(capture)
    assert one(reader, path, first[0], "netblt.go_frame") == ["3"]
    assert one(reader, path, first[0], "netblt.go_time") == ["0.001000000"]
    assert one(reader, path, first[1], "netblt.go_time") == []
    assert one(reader, path, done, "netblt.go_frame") == ["3"]
    assert one(reader, path, done, "netblt.control.buffer_time") == ["0.005000000"]


def test_outstanding_buffers_are_those_with_a_go_and_no_ok(reader: Reader, capture: Path) -> None:
    trace = started(0, 1)
    trace.control(go(1, 0), go(2, 1))
    trace.control(ok(3, 0), go(4, 2), go(5, 3))
    trace.control(ok(3, 0), ok(6, 1))
    path = trace.save(capture)
    assert [int(value[0]) for value in values(reader, path, "netblt.outstanding")] == [0, 0, 2, 2, 3, 2]


def test_sequence_numbers_may_wrap(reader: Reader, capture: Path) -> None:
    trace = Trace()  # the capture begins in the middle of the transfer: the first message of all is number 1
    at = 65530
    for step in range(12):
        trace.control(go(at + step, step))
    last = trace.control(*(go(at + step, step) for step in range(12)))
    path = trace.save(capture)
    assert one(reader, path, last, "netblt.control.first_frame") == [str(1 + step) for step in range(12)]
    assert set(one(reader, path, last, "netblt.control.nth")) == {"2"}


# --- bursts ---------------------------------------------------------------------------------------------------------


def test_bursts_are_counted_and_their_gaps_measured(reader: Reader, capture: Path) -> None:
    """Four packets every 10 ms (agreed on: 8); the second burst lost half of its packets before the capture."""
    trace = started(0)
    begin = trace.time_ns
    for burst, count in enumerate((8, 4, 8)):
        for position in range(count):
            trace.time_ns = begin + (burst + 1) * 10 * MS + position * 100_000 - trace.gap_ns
            trace.data(0, 8 * burst + position, 1)
    path = trace.save(capture)
    data = slice(3, None)
    assert [int(value[0]) for value in values(reader, path, "netblt.burst")[data]] == [1] * 8 + [2] * 4 + [3] * 8
    positions = [int(value[0]) for value in values(reader, path, "netblt.burst.position")[data]]
    assert positions == [*range(1, 9), *range(1, 5), *range(1, 9)]
    gaps = [value[0] for value in values(reader, path, "netblt.burst.gap")[data] if value]
    assert gaps == ["0.010000000", "0.010000000"]


def test_half_an_interval_without_a_packet_ends_a_burst(reader: Reader, capture: Path) -> None:
    """The first packets of a burst were lost, so its start seems late and the next burst early."""
    trace = started(0)
    begin = trace.time_ns
    for at_ms in (14.2, 14.3, 20.0, 20.1):
        trace.time_ns = begin + int(at_ms * MS) - trace.gap_ns
        trace.data(0, int(at_ms * 10), 1)
    assert [value[0] for value in values(reader, trace.save(capture), "netblt.burst")[3:]] == ["1", "1", "2", "2"]


# --- streams --------------------------------------------------------------------------------------------------------


@PASSES
def test_the_opening_and_its_answer_are_linked(reader: Reader, capture: Path, passes: tuple[str, ...]) -> None:
    trace = Trace()
    first = trace.open()
    again = trace.open()
    answer = trace.response()
    path = trace.save(capture)
    assert one(reader, path, answer, "netblt.response_to", *passes) == [str(first)]
    assert one(reader, path, answer, "netblt.response_time", *passes) == ["0.002000000"]
    assert one(reader, path, again, "netblt.analysis.first_frame", *passes) == [str(first)]
    assert one(reader, path, first, "netblt.response_in", *passes) == [str(answer)] * bool(passes)


def test_every_packet_repeats_what_was_agreed_on(reader: Reader, capture: Path) -> None:
    trace = started(0)
    trace.buffer(0, 1)
    path = trace.save(capture)
    names = {"buffer_size": "2048", "packet_size": "512", "burst_size": "8", "burst_interval": "10"}
    names["max_buffers"] = "64"
    for name, value in names.items():
        assert values(reader, path, f"netblt.agreed.{name}") == [[], *[[value]] * (len(trace.frames) - 1)], name


def test_completeness_tells_how_much_of_a_connection_was_captured(reader: Reader, capture: Path) -> None:
    trace = started(0)
    trace.buffer(0, 1, last=True)
    trace.control(ok(2, 0))
    trace.header_only(forge.DONE, by_sender=False)
    path = trace.save(capture)
    assert values(reader, path, "netblt.completeness", "-2") == [["31"]] * len(trace.frames)
    assert int(one(reader, path, 4, "netblt.completeness")[0]) == 1 | 2 | 4
    assert "Complete (31)" in reader.tshark(path, "-2", "-V")
    trace.frames = trace.frames[1:-1]
    assert "Incomplete: RESPONSE without OPEN, data, end not captured" in reader.tshark(trace.save(capture), "-2", "-V")


def test_ports_used_again_are_another_stream(reader: Reader, capture: Path) -> None:
    trace = started(0)
    trace.buffer(0, 1, last=True)
    trace.control(ok(2, 0))
    trace.header_only(forge.DONE, by_sender=False)
    before = len(trace.frames)
    trace.uid += 1
    trace.open()
    trace.response()
    trace.control(go(1, 0))
    again = trace.data(0, 0, 1)
    path = trace.save(capture)
    streams = [value[0] for value in values(reader, path, "netblt.stream")]
    assert streams == ["0"] * before + ["1"] * 4
    assert [frame for frame in flagged(reader, path, "netblt.analysis.retransmission") if frame >= before] == []
    assert one(reader, path, again, "netblt.go_frame") == [str(again - 1)]


def test_a_quoted_packet_has_no_place_in_the_conversation(reader: Reader, capture: Path) -> None:
    trace = started(0)
    quoted = forge.ipv4(trace.frames[2].data[20:], trace.receiver.address, trace.sender.address, 77)
    icmp = struct.pack(">BBHI", 3, 1, 0, 0) + quoted
    raw = forge.ipv4(icmp, trace.sender.address, trace.receiver.address, 9, protocol=1)
    trace.frames.append(Frame(trace.time_ns + MS, raw))
    again = trace.control(go(1, 0))
    path = trace.save(capture)
    assert one(reader, path, again, "netblt.control.nth") == ["2"]
    assert one(reader, path, 4, "netblt.stream") == []
