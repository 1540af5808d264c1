# SPDX-License-Identifier: GPL-2.0-or-later
"""CTRL-04: what only looks like a broken rule. Nothing more than suspicion is allowed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from dissector.tests.ctrl04_stories import errors, new_message_alone, start
from dissector.tests.forge import DONE, KEEPALIVE, Trace, go, ok, resend, stories
from dissector.tests.reader import Reader

# Each of these is legal, or cannot be distinguished from what is. Nothing more than suspicion is allowed.


def acknowledgement_captured(trace: Trace) -> None:
    trace.control(ok(5, 0))
    trace.data(1, 0, 5)
    trace.control(go(6, 4))
    trace.data(1, 1, 5)
    trace.null_ack(6)


def acknowledgement_lost_by_the_capture(trace: Trace) -> None:
    trace.control(ok(5, 0))
    trace.sender.next_id()
    trace.control(go(6, 4))
    for number in range(4):
        trace.data(1, number, 5 if number else 4)
    trace.null_ack(6)


def acknowledgement_overtakes_late_packets(trace: Trace) -> None:
    """Three packets are late, after them a hole: the packet that went ahead and that the capture missed."""
    trace.control(ok(5, 0))
    trace.control(go(6, 4))
    for number in range(3):
        trace.data(1, number, 4)
    trace.sender.next_id()
    trace.data(2, 0, 6)
    trace.null_ack(6)


def acknowledgement_missed_before_a_keepalive(trace: Trace) -> None:
    trace.control(ok(5, 0))
    late = [trace.sender.next_id() for _ in range(2)]
    trace.sender.next_id()  # acknowledges 5, captured nowhere
    trace.control(go(6, 4))
    trace.data(1, 0, 4, ip_id=late[0])
    trace.data(1, 1, 4, ip_id=late[1])
    trace.header_only(KEEPALIVE, by_sender=True)
    trace.data(1, 3, 6)


def acknowledged_in_a_hole_before_a_keepalive(trace: Trace) -> None:
    trace.control(ok(5, 0))
    trace.sender.next_id()  # acknowledges 5
    trace.header_only(KEEPALIVE, by_sender=True)
    trace.control(go(6, 4))
    trace.null_ack(6)
    trace.null_ack(6)


def acknowledgement_captured_behind_the_control(trace: Trace) -> None:
    """A copy of it may have been in time; nothing later acknowledges less."""
    trace.control(ok(5, 0))
    trace.control(go(6, 4))
    trace.data(1, 0, 5)
    trace.null_ack(6)
    trace.null_ack(6)


def acknowledgement_doubled_by_the_network(trace: Trace) -> None:
    """The network makes copies; of the acknowledgement it made one that overtook all and that the capture missed."""
    trace.control(ok(5, 0))
    trace.data(1, 0, 4)
    trace.data(1, 0, 4, ip_id=trace.sender.ip_id)
    trace.control(go(6, 4))
    trace.data(1, 1, 4)
    trace.data(1, 2, 5)
    trace.data(1, 3, 6)


def acknowledgement_captured_late(trace: Trace) -> None:
    """A copy of it got through in time, and was not captured."""
    trace.control(ok(5, 0))
    early, exact = trace.sender.next_id(), trace.sender.next_id()
    trace.control(go(6, 4))
    trace.data(1, 0, 4, ip_id=early)
    trace.data(1, 2, 6)
    trace.data(1, 1, 5, ip_id=exact)


def said_again_by_a_delayed_control(trace: Trace) -> None:
    """It was emitted before the acknowledgement came in that the capture missed."""
    trace.control(ok(5, 0))
    older = trace.receiver.next_id()
    trace.control(go(6, 4))
    trace.data(1, 0, 4)
    trace.control(ok(5, 0), ip_id=older)
    trace.sender.next_id()
    trace.data(1, 1, 6)


def random_ids(trace: Trace) -> None:
    trace.control(ok(5, 0))
    trace.control(go(6, 4))
    for number, ip_id in enumerate((40000, 3, 61234, 20000, 20001, 7, 51000, 30000, 1234, 45678, 8)):
        trace.data(1 + number // 4, number % 4, 4, ip_id=ip_id)
    trace.null_ack(6, ip_id=5)


def zero_ids(trace: Trace) -> None:
    for frame in trace.frames:
        frame.data = frame.data[:4] + b"\0\0" + frame.data[6:]
    trace.control(ok(5, 0), ip_id=0)
    trace.control(go(6, 4), ip_id=0)
    for number in range(12):
        trace.data(1 + number // 4, number % 4, 4, ip_id=0)
    trace.null_ack(6, ip_id=0)


def ipv6(trace: Trace) -> None:
    fresh = start(v6=True)
    new_message_alone(fresh)
    trace.frames = fresh.frames


def body_never_captured(trace: Trace) -> None:
    trace.control(ok(6, 1), go(7, 4))  # 5 may have been sent and acknowledged before the capture saw any of it
    trace.data(1, 0, 4)
    trace.control(ok(6, 1), go(7, 4), go(8, 5))
    trace.null_ack(8)
    trace.null_ack(8)


def queue_larger_than_a_packet(trace: Trace) -> None:
    trace.control(resend(5, 1, range(300)))
    trace.control(resend(6, 2, range(300)))
    for number in range(4):
        trace.data(1, number, 4)
    trace.control(resend(5, 1, range(300)))
    trace.null_ack(6)
    trace.null_ack(6)


def small_packets_hold_no_more(trace: Trace) -> None:
    """DATA packets are 40 bytes with their header, no CONTROL is over 48: nothing shows that one of 56 gets through."""
    fresh = start(packet_size=16)
    fresh.control(resend(5, 1, range(12)))
    fresh.control(go(6, 4))
    fresh.null_ack(4)
    fresh.control(resend(5, 1, range(12)))
    fresh.null_ack(6)
    fresh.null_ack(6)
    trace.frames = fresh.frames


def parts_torn_apart_by_the_path(trace: Trace) -> None:
    """No CONTROL holds more than two messages; 1 ms lies between the two parts of a queue that is sent once more."""
    fresh = Trace()
    fresh.open()
    fresh.response()
    fresh.control(go(1, 0), go(2, 1))
    fresh.buffer(0, 2)
    fresh.control(ok(3, 0), go(4, 2))
    fresh.buffer(1, 2)
    for _ in range(2):
        fresh.control(ok(3, 0), go(4, 2))
        fresh.control(ok(5, 1), go(6, 3))
        fresh.null_ack(2)
    fresh.null_ack(6)
    trace.frames = fresh.frames


def parts_of_a_queue_whose_head_is_acknowledged(trace: Trace) -> None:
    """Three messages fit a CONTROL. The acknowledgement of 7 was captured at the sender, and is still on its way when
    the queue goes out twice; each time the capture has its last part alone."""
    for buffer in (1, 2):
        trace.buffer(buffer, 4)
    trace.control(ok(5, 0), ok(6, 1), go(7, 4))
    trace.null_ack(7)
    trace.receiver.next_id()  # 5 to 7
    trace.control(ok(8, 2))
    trace.receiver.next_id()  # 6 to 8
    trace.control(go(9, 5))
    trace.null_ack(9)


def delayed_older_control(trace: Trace) -> None:
    first = trace.receiver.next_id()
    trace.control(ok(5, 0), go(6, 4))
    trace.control(ok(5, 0), ip_id=first)
    trace.data(1, 0, 4)
    trace.null_ack(6)
    trace.null_ack(6)


def corrupted_control(trace: Trace) -> None:
    trace.control(ok(5, 0))
    trace.control(go(6, 4), corrupt=True)
    trace.data(1, 0, 4)
    trace.control(ok(5, 0), go(6, 4))
    trace.null_ack(6)
    trace.null_ack(6)


def message_only_seen_in_a_corrupted_control(trace: Trace) -> None:
    trace.control(ok(5, 0), corrupt=True)
    trace.control(go(6, 4))
    trace.data(1, 0, 4)
    trace.null_ack(6)
    trace.null_ack(6)


def duplicate_of_an_older_control(trace: Trace) -> None:
    trace.control(ok(5, 0))
    copy = trace.receiver.ip_id
    trace.control(ok(5, 0), go(6, 4))
    trace.control(ok(5, 0), ip_id=copy)
    trace.data(1, 0, 4)
    trace.null_ack(6)
    trace.null_ack(6)


def capture_starts_in_the_middle(trace: Trace) -> None:
    new_message_alone(trace)
    del trace.frames[:3]


def open_not_captured(trace: Trace) -> None:
    new_message_alone(trace)
    del trace.frames[0]


def response_not_captured(trace: Trace) -> None:
    new_message_alone(trace)
    del trace.frames[1]


def an_acknowledged_message_was_never_seen(trace: Trace) -> None:
    """Message 5 was lost by the capture: it is not complete, so nothing it shows is proof."""
    trace.data(1, 0, 5)
    trace.control(ok(6, 1))
    trace.control(go(7, 4))
    trace.data(1, 1, 5)
    trace.control(ok(6, 1), go(7, 4))
    trace.null_ack(7)


def data_of_an_accepted_buffer_never_seen(trace: Trace) -> None:
    del trace.frames[4]
    new_message_alone(trace)


def truncated_frames(trace: Trace) -> None:
    trace.data(1, 0, 4, cut=40)
    new_message_alone(trace)


def one_direction_only(trace: Trace) -> None:
    new_message_alone(trace)
    trace.frames = [frame for frame in trace.frames if frame.data[12:16] == bytes((10, 0, 0, 2))]


def late_control_of_the_connection_before(trace: Trace) -> None:
    """A stray packet with messages of the old connection appears after the new one has begun."""
    trace.header_only(11, by_sender=False)
    stray = trace.receiver.next_id()
    trace.uid += 1
    trace.open()
    trace.response()
    trace.control(go(1, 0), go(2, 1))
    trace.control(go(2, 5), ip_id=stray)
    trace.data(0, 0, 0)
    trace.data(0, 1, 2)
    trace.null_ack(2)


def very_late_control_of_the_connection_before(trace: Trace) -> None:
    """By now both ends are known to count, but the stray was emitted before the RESPONSE."""
    trace.header_only(DONE, by_sender=False)
    stray = trace.receiver.next_id()
    trace.uid += 1
    trace.open()
    trace.response()
    for seq in range(1, 5):
        trace.control(*(go(number, number) for number in range(1, seq + 1)))
        trace.null_ack(0)
    trace.control(go(3, 5), go(4, 6), ip_id=stray)
    trace.null_ack(0)
    trace.null_ack(4)


LOOK_ALIKES = [
    very_late_control_of_the_connection_before,
    acknowledgement_missed_before_a_keepalive,
    acknowledged_in_a_hole_before_a_keepalive,
    acknowledgement_captured_behind_the_control,
    acknowledgement_doubled_by_the_network,
    acknowledgement_captured_late,
    said_again_by_a_delayed_control,
    acknowledgement_captured,
    acknowledgement_lost_by_the_capture,
    acknowledgement_overtakes_late_packets,
    random_ids,
    zero_ids,
    ipv6,
    body_never_captured,
    queue_larger_than_a_packet,
    small_packets_hold_no_more,
    parts_torn_apart_by_the_path,
    parts_of_a_queue_whose_head_is_acknowledged,
    delayed_older_control,
    corrupted_control,
    message_only_seen_in_a_corrupted_control,
    duplicate_of_an_older_control,
    capture_starts_in_the_middle,
    open_not_captured,
    response_not_captured,
    an_acknowledged_message_was_never_seen,
    data_of_an_accepted_buffer_never_seen,
    truncated_frames,
    one_direction_only,
    late_control_of_the_connection_before,
]
# Where everything is plain there must not even be a suspicion.
UNSUSPICIOUS = {acknowledgement_captured, delayed_older_control, corrupted_control, duplicate_of_an_older_control}


@pytest.fixture(scope="module", autouse=True)
def _read_ahead(reader: Reader) -> None:
    reader.read_ahead(stories(LOOK_ALIKES, start))


@pytest.mark.parametrize("story", LOOK_ALIKES, ids=lambda story: story.__name__)
def test_a_legal_look_alike_is_no_error(reader: Reader, capture: Path, story: Callable[[Trace], None]) -> None:
    trace = start()
    story(trace)
    found = reader.findings(trace.save(capture))
    assert errors(found) == []
    assert not (story in UNSUSPICIOUS and [f for f in found if f.requirement == "CTRL-04"]), found


def test_a_delayed_shorter_control_is_noted(reader: Reader, capture: Path) -> None:
    trace = start()
    delayed_older_control(trace)
    rows = reader.rows(trace.save(capture), "netblt.analysis.ctrl_tail", "_ws.expert.severity")
    (noted,) = [row for row in rows if row["netblt.analysis.ctrl_tail"]]
    assert set(noted["_ws.expert.severity"]) == {str(0x400000)}
