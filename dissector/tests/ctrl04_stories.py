# SPDX-License-Identifier: GPL-2.0-or-later
"""CTRL-04: receivers that leave out what is not acknowledged, in full view."""

from __future__ import annotations

from typing import Any

from dissector.tests.forge import KEEPALIVE, End, Trace, go, ok, resend
from dissector.tests.reader import Finding

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
    trace.control(ok(5, 0))  # lost after the capture point
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
    """Message 5 is never repeated, so that the sender can acknowledge nothing more."""
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
    trace.time_ns += 100_000_000  # too late for the next part of a queue
    wrong = trace.control(go(2, 1))
    trace.time_ns += 100_000_000  # too late for a part that is sent after this one
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
    trace.time_ns += 100_000_000  # too late for the next part of a queue
    wrong = trace.control(go(2, 1))
    trace.time_ns += 100_000_000  # too late for a part that is sent after this one
    trace.data(0, 0, 2)
    return wrong, trace.data(0, 1, 2)


def acknowledged_one_by_one(trace: Trace) -> tuple[int, int]:
    """The packet that acknowledges 5 alone comes after the CONTROL, in a network that shuffles nothing."""
    trace.control(ok(5, 0))
    wrong = trace.control(go(6, 4))
    trace.data(1, 0, 4)
    trace.data(1, 1, 5)
    return wrong, trace.data(1, 2, 6)


def said_again_by_the_receiver(trace: Trace) -> tuple[int, int]:
    """The sender's packets have holes everywhere, but the receiver shows itself that it has no acknowledgement."""
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


def wrapping() -> End:
    return End("10.0.0.1", 1000, 65530)
