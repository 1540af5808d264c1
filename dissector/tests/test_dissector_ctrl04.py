# SPDX-License-Identifier: GPL-2.0-or-later
"""CTRL-04: a CONTROL carries every unacknowledged message. True violations are found, legal look-alikes are not."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from dissector.tests.forge import DONE, KEEPALIVE, NULL_ACK, End, Trace, go, ok, packet, pcapng, resend
from dissector.tests.reader import Finding, Reader

RECEIVER = "10.0.0.2 receiver"


def start(**options: Any) -> Trace:
    """Four buffers GO'd (messages 1 to 4), the first one complete. The next message is 5."""
    trace = Trace(**options)
    trace.open()
    trace.response()
    trace.control(*(go(1 + number, number) for number in range(4)))
    trace.buffer(0, 4)
    return trace


def close_proof(trace: Trace, newest: int) -> int:
    """The sender goes on, then acknowledges everything; the frame that acknowledges is the proof."""
    return trace.null_ack(newest)


# Each of these breaks the rule in full view. They return the offending frame, and the frame that proves it.


def new_message_alone(trace: Trace) -> tuple[int, int]:
    trace.control(ok(5, 0))  # lost behind the capture point
    wrong = trace.control(go(6, 4))
    trace.buffer(1, 4)
    trace.control(ok(5, 0), go(6, 4), ok(7, 1))
    return wrong, close_proof(trace, 7)


def hole_in_the_middle(trace: Trace) -> tuple[int, int]:
    trace.control(ok(5, 0), go(6, 4))
    wrong = trace.control(ok(5, 0), go(7, 5))
    trace.data(1, 0, 4)
    trace.control(ok(5, 0), go(6, 4), go(7, 5))
    return wrong, close_proof(trace, 7)


def timer_repeat_without_the_head(trace: Trace) -> tuple[int, int]:
    trace.control(resend(5, 1, [0]), go(6, 4))
    wrong = trace.control(go(6, 4))
    trace.data(1, 0, 4)
    trace.data(1, 1, 4)
    trace.control(resend(5, 1, [0]), go(6, 4), go(7, 5))
    return wrong, close_proof(trace, 7)


def acknowledged_only_in_part(trace: Trace) -> tuple[int, int]:
    trace.control(ok(5, 0), go(6, 4))
    trace.data(1, 0, 5)
    wrong = trace.control(go(7, 5))
    trace.data(1, 1, 5)
    trace.control(go(6, 4), go(7, 5))
    return wrong, close_proof(trace, 7)


def never_said_again(trace: Trace) -> tuple[int, int]:
    """Nobody ever repeats message 5, so that the sender can acknowledge nothing more."""
    trace.control(ok(5, 0))
    wrong = trace.control(go(6, 4))
    frames = [trace.data(1 + number // 4, number % 4, 4) for number in range(12)]
    return wrong, frames[7]


def first_messages_of_a_connection(trace: Trace) -> tuple[int, int]:
    fresh = Trace()
    trace.frames.clear()
    trace.sender, trace.receiver, trace.time_ns = fresh.sender, fresh.receiver, fresh.time_ns
    trace.open()
    trace.response()
    trace.control(go(1, 0), go(2, 1))
    wrong = trace.control(go(3, 2))
    trace.null_ack(0)
    trace.control(go(1, 0), go(2, 1), go(3, 2))
    return wrong, close_proof(trace, 3)


def last_messages_of_a_transfer(trace: Trace) -> tuple[int, int]:
    """No newer message follows whose acknowledgement would show when it was emitted."""
    trace.buffer(1, 4)
    trace.control(ok(5, 0), ok(6, 1))
    wrong = trace.control(ok(6, 1))
    trace.null_ack(4)
    trace.control(ok(5, 0), ok(6, 1))
    return wrong, trace.null_ack(6)


def sender_packets_lost_before_the_capture(trace: Trace) -> tuple[int, int]:
    trace.control(ok(5, 0))
    trace.sender.next_id()
    wrong = trace.control(go(6, 4))
    trace.data(1, 0, 4)
    trace.sender.next_id()
    trace.data(1, 2, 4)
    trace.control(ok(5, 0), go(6, 4))
    return wrong, trace.data(1, 3, 6, ldata=True)


def sender_packets_reordered(trace: Trace) -> tuple[int, int]:
    """The acknowledgement of everything arrives before the last that acknowledges less: still nothing is between."""
    trace.control(ok(5, 0))
    wrong = trace.control(go(6, 4))
    trace.data(1, 0, 4)
    late = trace.sender.next_id()
    trace.data(1, 2, 6)
    return wrong, trace.data(1, 1, 4, ip_id=late)


def small_packets_with_room_for_the_queue(trace: Trace) -> tuple[int, int]:
    """28 bytes of messages fit where DATA packets of 24 + 16 bytes do, although no CONTROL showed it yet."""
    fresh = Trace(packet_size=16)
    trace.frames.clear()
    trace.packet_size, trace.time_ns = 16, fresh.time_ns
    trace.sender, trace.receiver = fresh.sender, fresh.receiver
    trace.open()
    trace.response()
    trace.control(go(1, 0))
    wrong = trace.control(go(2, 1))
    trace.null_ack(0)
    return wrong, trace.null_ack(2)


def keepalive_before_the_acknowledgement(trace: Trace) -> tuple[int, int]:
    trace.control(ok(5, 0))
    trace.sender.next_id()
    wrong = trace.control(go(6, 4))
    trace.data(1, 0, 4)
    trace.header_only(KEEPALIVE, by_sender=True)
    return wrong, trace.data(1, 1, 6)


def acknowledged_at_once(trace: Trace) -> tuple[int, int]:
    """The sender is idle, so nothing acknowledges less; but no IP ID is left for an acknowledgement of 5 alone."""
    trace.control(ok(5, 0))
    wrong = trace.control(go(6, 4))
    return wrong, trace.null_ack(6)


def first_messages_acknowledged_at_once(trace: Trace) -> tuple[int, int]:
    fresh = Trace(sender=End("10.0.0.1", 1000, 65533))
    trace.frames.clear()
    trace.sender, trace.receiver, trace.time_ns = fresh.sender, fresh.receiver, fresh.time_ns
    trace.open()
    trace.response()
    trace.control(go(1, 0))
    wrong = trace.control(go(2, 1))
    trace.data(0, 0, 2)
    return wrong, trace.data(0, 1, 2)


def acknowledged_one_by_one(trace: Trace) -> tuple[int, int]:
    """The packet that acknowledges 5 alone comes behind the CONTROL, in a network that shuffles nothing."""
    trace.control(ok(5, 0))
    wrong = trace.control(go(6, 4))
    trace.data(1, 0, 4)
    trace.data(1, 1, 5)
    return wrong, trace.data(1, 2, 6)


def said_again_by_the_receiver(trace: Trace) -> tuple[int, int]:
    """The sender's packets have holes everywhere, but the receiver says itself that it has no acknowledgement."""
    trace.control(ok(5, 0))
    trace.sender.next_id()
    wrong = trace.control(go(6, 4))
    trace.sender.next_id()
    trace.data(1, 0, 4)
    trace.control(ok(5, 0), go(6, 4))
    trace.sender.next_id()
    return wrong, trace.data(1, 1, 6)


VIOLATIONS = [
    last_messages_of_a_transfer,
    sender_packets_lost_before_the_capture,
    sender_packets_reordered,
    small_packets_with_room_for_the_queue,
    keepalive_before_the_acknowledgement,
    acknowledged_at_once,
    acknowledged_one_by_one,
    first_messages_acknowledged_at_once,
    said_again_by_the_receiver,
    new_message_alone,
    hole_in_the_middle,
    timer_repeat_without_the_head,
    acknowledged_only_in_part,
    never_said_again,
    first_messages_of_a_connection,
]


def errors(found: list[Finding]) -> list[Finding]:
    """Of the rule that this file is about: its stories take liberties with others."""
    return [finding for finding in found if finding.verdict == "violation" and finding.requirement == "CTRL-04"]


@pytest.mark.parametrize("story", VIOLATIONS, ids=lambda story: story.__name__)
@pytest.mark.parametrize("passes", [(), ("-2",)], ids=["one-pass", "two-passes"])
def test_a_violation_in_full_view_is_an_error(
    reader: Reader, capture: Path, story: Callable[[Trace], tuple[int, int]], passes: tuple[str, ...]
) -> None:
    trace = start()
    wrong, proof = story(trace)
    found = reader.findings(trace.save(capture), *passes)
    assert errors(found) == [Finding(proof, "CTRL-04", "violation", RECEIVER)]
    assert Finding(wrong, "CTRL-04", "suspected", RECEIVER) in found
    names = (
        "netblt.analysis.offending_frame",
        "netblt.analysis.ctrl_redundancy",
        "_ws.expert.severity",
        "_ws.expert.message",
    )
    row = reader.rows(capture, *names)[proof - 1]
    assert row["netblt.analysis.offending_frame"] == [str(wrong)]
    assert row["netblt.analysis.ctrl_redundancy"]
    told = dict(zip(row["_ws.expert.message"], row["_ws.expert.severity"], strict=True))
    assert str(0x800000) in [severity for text, severity in told.items() if text.endswith("[CTRL-04]")]
    row = reader.rows(capture, *names)[wrong - 1]
    told = dict(zip(row["_ws.expert.message"], row["_ws.expert.severity"], strict=True))
    assert [severity for text, severity in told.items() if text.startswith("Suspected: CONTROL up to")] == [
        str(0x600000)
    ]
    proven = reader.rows(capture, "netblt.analysis.proof_frame", options=("-2",))
    assert proven[wrong - 1]["netblt.analysis.proof_frame"] == [str(proof)]


def wrapping() -> End:
    return End("10.0.0.1", 1000, 65530)


@pytest.mark.parametrize("story", VIOLATIONS[:-1], ids=lambda story: story.__name__)
def test_ip_ids_may_wrap(reader: Reader, capture: Path, story: Callable[[Trace], tuple[int, int]]) -> None:
    trace = start(sender=wrapping())
    story(trace)
    assert len(errors(reader.findings(trace.save(capture)))) == 1


def test_the_active_end_may_be_the_receiver(reader: Reader, capture: Path) -> None:
    """Roles are found by behaviour, not by who opened."""
    trace = Trace(sender=End("10.0.0.9", 1, 7), receiver=End("10.0.0.3", 2000, 99))
    trace.sender, trace.receiver = trace.receiver, trace.sender
    trace.open()
    trace.response()
    trace.sender, trace.receiver = trace.receiver, trace.sender
    trace.control(go(1, 0))
    trace.null_ack(0)
    trace.control(go(2, 1))
    trace.null_ack(0)
    trace.control(go(1, 0), go(2, 1))
    trace.null_ack(2)
    assert [f.offender for f in errors(reader.findings(trace.save(capture)))] == ["10.0.0.3 receiver"]


def test_a_capture_at_the_sender_needs_no_ip_ids(reader: Reader, capture: Path) -> None:
    trace = start(v6=True)
    trace.control(ok(5, 0))
    trace.control(go(6, 4))
    proof = trace.data(1, 0, 4)
    path = trace.save(capture)
    assert errors(reader.findings(path)) == []
    told = reader.findings(path, "-o", "netblt.capture_position:sender")
    assert [(f.frame, f.verdict) for f in errors(told)] == [(proof, "violation")]


# Each of these is legal, or cannot be told from what is. Nothing more than suspicion is allowed.


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
    """Three packets are late, behind them a hole: the packet that went ahead and that the capture missed."""
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
    """All stories at once: a start of tshark takes longer than the test of a story."""

    def told(stories: Sequence[Callable[[Trace], Any]], **options: Any) -> Iterator[bytes]:
        for story in stories:
            trace = start(**options)
            story(trace)
            yield pcapng(trace.frames)

    reader.read_ahead([*told(VIOLATIONS), *told(VIOLATIONS, sender=wrapping()), *told(LOOK_ALIKES)])
    reader.read_ahead(told(VIOLATIONS), "-2")


@pytest.mark.parametrize("story", LOOK_ALIKES, ids=lambda story: story.__name__)
def test_a_legal_look_alike_is_no_error(reader: Reader, capture: Path, story: Callable[[Trace], None]) -> None:
    trace = start()
    story(trace)
    found = reader.findings(trace.save(capture))
    assert errors(found) == []
    assert not (story in UNSUSPICIOUS and [f for f in found if f.requirement == "CTRL-04"]), found


def test_without_checksum_validation_nothing_is_proven(reader: Reader, capture: Path) -> None:
    trace = start()
    new_message_alone(trace)
    assert errors(reader.findings(trace.save(capture), "-o", "netblt.check_checksum:FALSE")) == []


def test_a_duplicate_of_the_offending_control_is_not_reported_again(reader: Reader, capture: Path) -> None:
    trace = start()
    trace.control(ok(5, 0))
    wrong = trace.control(go(6, 4))
    trace.control(go(6, 4), ip_id=trace.receiver.ip_id)
    assert [finding.frame for finding in reader.findings(trace.save(capture))] == [wrong]


def test_a_delayed_shorter_control_is_noted(reader: Reader, capture: Path) -> None:
    trace = start()
    delayed_older_control(trace)
    rows = reader.rows(trace.save(capture), "netblt.analysis.ctrl_tail", "_ws.expert.severity")
    (noted,) = [row for row in rows if row["netblt.analysis.ctrl_tail"]]
    assert set(noted["_ws.expert.severity"]) == {str(0x400000)}


def test_the_forger_makes_what_it_says() -> None:
    trace = start()
    number = trace.null_ack(4)
    assert trace.frames[number - 1].data[20:] == packet(NULL_ACK, bytes((0, 4, 0, 8, 0, 10, 0, 0)), 1000, 1)
