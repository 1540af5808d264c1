# SPDX-License-Identifier: GPL-2.0-or-later
"""Captures for CTRL-04: a CONTROL carries every message that is not acknowledged (RFC 998 5.2.1).

The violations have all that makes one provable: the whole conversation from its OPEN, IP IDs without a gap, missing
messages that were captured before, a queue no larger than a CONTROL seen earlier, and sender packets emitted later that
still acknowledge less. Each look-alike takes one of these away, or is plainly right.
"""

from __future__ import annotations

from pcaps.tools.exchange import BURST, RECEIVER, SENDER, Exchange, Frame
from pcaps.tools.octets import Message, go, resend
from pcaps.tools.octets import ok as ok_with_offer

RULE = "CTRL-04"
BUFFERS = 10
WINDOW = 8
TIMER_MS = 100  # until a CONTROL is repeated: half of what OKs publish, and too short for a gap between buffers


def ok(seq: int, buffer: int) -> Message:
    """An OK that offers what is in force."""
    return ok_with_offer(seq, buffer, control_timer_ms=200, **BURST)


def opened(about: str, *, active: str = SENDER, climbing_ids: bool = True, see_open: bool = True) -> Exchange:
    """A connection on which eight buffers have been GO'd, messages 1 to 8: 76 bytes, the largest CONTROL."""
    exchange = Exchange(about, BUFFERS, active=active, climbing_ids=climbing_ids)
    exchange.open(captured=see_open)
    exchange.says(*(go(1 + number, number) for number in range(WINDOW)))
    return exchange


def finish(exchange: Exchange, first: int, seq: int) -> Exchange:
    """Buffers from `first` on are sent and OK'd, one message each from `seq` on, all acknowledged at once."""
    for buffer in range(first, BUFFERS):
        exchange.sends(buffer, ack=seq - 1)
        exchange.says(ok(seq, buffer))
        seq += 1
    exchange.acks(seq - 1)
    exchange.done()
    return exchange


def left_out(exchange: Exchange) -> tuple[Frame, list[Frame]]:
    """Messages 9 and 10 are lost after the capture point; the next CONTROL goes out without them.

    Returns that CONTROL and the sender packets after it: those that acknowledge 8, and the first one that does more.
    """
    exchange.sends(0, ack=8)
    exchange.says(ok(9, 0), go(10, 8), comment="lost behind the capture point")
    exchange.sends(1, ack=8)
    offence = exchange.says(ok(11, 1), go(12, 9), comment="9 and 10 are neither acknowledged nor in here")
    proof = exchange.sends(2, ack=8, comment="still acknowledges 8 only")
    exchange.wait(TIMER_MS)
    exchange.says(ok(9, 0), go(10, 8), ok(11, 1), go(12, 9), ok(13, 2))
    proof += exchange.sends(3, ack=13)[:1]
    exchange.says(ok(14, 3))
    return offence, proof


def new_messages_alone() -> Exchange:
    """A receiver that sends new messages by themselves."""
    exchange = opened("The receiver sends two new messages without the two before them, which are not acknowledged.")
    offence, proof = left_out(exchange)
    exchange.wrong(RULE, offence, RECEIVER, proof)
    return finish(exchange, 4, 15)


def lowest_forgotten() -> Exchange:
    """A receiver, active this time, whose control timer repeats all but the lowest message."""
    about = "The receiver's timer repeats its queue without the lowest message, a RESEND that is not acknowledged."
    exchange = opened(about, active=RECEIVER)
    exchange.sends(0, 0, 1, ack=8)
    exchange.sends(0, 2, ack=8, comment="lost behind the capture point")
    exchange.sends(0, 3, ack=8)
    exchange.sends(1, ack=8)
    exchange.wait(40)
    exchange.says(resend(9, 0, [2]), ok(10, 1), go(11, 8), comment="lost behind the capture point")
    exchange.sends(2, 0, 1, ack=8)
    exchange.wait(TIMER_MS)
    offence = exchange.says(ok(10, 1), go(11, 8), comment="9 is neither acknowledged nor in here")
    proof = exchange.sends(2, 2, 3, ack=8, comment="still acknowledges 8 only")
    exchange.wait(TIMER_MS)
    exchange.says(resend(9, 0, [2]), ok(10, 1), go(11, 8), ok(12, 2))
    proof += exchange.sends(0, 2, ack=12)
    exchange.says(ok(13, 0), go(14, 9))
    exchange.wrong(RULE, offence, RECEIVER, proof)
    return finish(exchange, 3, 15)


def without_order() -> Exchange:
    """The violation again, but no IP ID shows what was emitted first."""
    about = "A CONTROL without two unacknowledged messages, but every IP ID is zero: the order of emission is unknown."
    exchange = opened(about, climbing_ids=False)
    offence, proof = left_out(exchange)
    exchange.doubtful(RULE, offence, RECEIVER, proof)
    return finish(exchange, 4, 15)


def without_open() -> Exchange:
    """The violation again, in a capture that began too late."""
    exchange = opened(
        "A CONTROL without two unacknowledged messages; the capture began after the RESPONSE.", see_open=False
    )
    offence, proof = left_out(exchange)
    exchange.doubtful(RULE, offence, RECEIVER, proof)
    return finish(exchange, 4, 15)


def ack_not_captured() -> Exchange:
    """The receiver had the acknowledgement; the capture has not."""
    exchange = opened("The capture missed the packet that acknowledged 9 and 10, so their absence is right.")
    exchange.sends(0, ack=8)
    exchange.says(ok(9, 0), go(10, 8))
    exchange.sends(1, 0, 1, ack=8)
    exchange.part(1, 2, ack=10)  # emitted, delivered, never captured: a gap in the IP IDs
    exchange.part(1, 3, ack=10)
    look_alike = exchange.says(ok(11, 1), go(12, 9), comment="right: 9 and 10 have been acknowledged")
    exchange.doubtful(RULE, look_alike, RECEIVER)
    exchange.doubtful("CTRL-14", look_alike, RECEIVER)
    exchange.sends(2, ack=12)
    exchange.says(ok(13, 2))
    return finish(exchange, 3, 14)


def ack_on_another_path() -> Exchange:
    """The acknowledgement overtakes an older packet on a path that the capture does not see."""
    about = (
        "The acknowledgement of 9 and 10 reached the receiver on another path and "
        "overtook an older packet, which is captured after the CONTROL and acknowledges 8. IP "
        "IDs increase all the time, with one gap."
    )
    exchange = opened(about)
    exchange.sends(0, ack=8)
    exchange.says(ok(9, 0), go(10, 8))
    exchange.sends(1, ack=8)
    late = exchange.part(2, 0, ack=8, comment="emitted before 9 and 10 arrived, delayed")
    exchange.part(2, 1, ack=10)  # delivered on another path
    look_alike = exchange.says(ok(11, 1), go(12, 9), comment="right: 9 and 10 have been acknowledged")
    exchange.capture(late)
    exchange.sends(2, 2, 3, ack=12)
    exchange.doubtful(RULE, look_alike, RECEIVER, [late])
    exchange.doubtful("CTRL-14", exchange.says(ok(13, 2)), RECEIVER)
    return finish(exchange, 3, 14)


def split_queue() -> Exchange:
    """More messages than one CONTROL holds: each of two carries a part (AMB-33)."""
    exchange = opened("The queue is larger than a packet, so the receiver spreads it over two CONTROLs.")
    for buffer in range(4):
        exchange.sends(buffer, ack=8)
    everything = [0, 1, 2, 3]
    first = [resend(9 + buffer, buffer, everything) for buffer in (0, 1, 2)]  # 20 bytes each: 72 in all
    second = resend(12, 3, everything)  # would make it 92, more than 64 data bytes and a header
    exchange.wait(40)
    exchange.says(*first, comment="lost behind the capture point")
    part = exchange.says(second, comment="the rest of the queue; lost behind the capture point")
    early = exchange.sends(4, ack=8)
    exchange.doubtful(RULE, part, RECEIVER, early)
    exchange.wait(TIMER_MS)
    exchange.says(*first)
    exchange.doubtful(RULE, exchange.says(second), RECEIVER)
    for buffer in range(4):
        exchange.sends(buffer, ack=12)
    exchange.says(ok(13, 0), ok(14, 1), ok(15, 2), go(16, 8), go(17, 9))
    exchange.acks(17)
    exchange.says(ok(18, 3), ok(19, 4))
    late = exchange.sends(5, ack=19)[0]
    exchange.doubtful("ORDER-04", late, SENDER)  # the retransmissions took their time
    exchange.says(ok(20, 5))
    return finish(exchange, 6, 21)


def delayed_control() -> Exchange:
    """An older, shorter CONTROL arrives after a newer one."""
    exchange = opened("The network delays a CONTROL: it is captured after a newer one, and is shorter and right.")
    exchange.sends(0, ack=8)
    older = exchange.queue(ok(9, 0), go(10, 8), comment="emitted before the CONTROL above it: see its IP ID")
    exchange.sends(1, ack=8)
    exchange.says(ok(9, 0), go(10, 8), ok(11, 1), go(12, 9))
    exchange.capture(older)
    exchange.sends(2, ack=12)
    exchange.says(ok(13, 2))
    return finish(exchange, 3, 14)


SCRIPTS = {
    "ctrl04-new-messages-alone": new_messages_alone,
    "ctrl04-lowest-forgotten": lowest_forgotten,
    "ctrl04-like-without-order": without_order,
    "ctrl04-like-without-open": without_open,
    "ctrl04-like-ack-not-captured": ack_not_captured,
    "ctrl04-like-ack-on-another-path": ack_on_another_path,
    "ctrl04-like-split-queue": split_queue,
    "ctrl04-like-delayed-control": delayed_control,
}
