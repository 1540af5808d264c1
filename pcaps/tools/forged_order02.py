# SPDX-License-Identifier: GPL-2.0-or-later
"""Captures for ORDER-02: packets that a RESEND requested precede those of later buffers (RFC 998 5.2).

A violation is an inversion: a packet of a later buffer, whose high-seq shows that the RESEND was known when it was
built, and after it, by IP ID too, the retransmission. The look-alikes have something of that, and a reason.
"""

from __future__ import annotations

from pcaps.tools.exchange import SENDER, Exchange
from pcaps.tools.forged_ctrl04 import ok
from pcaps.tools.octets import go, resend

RULE = "ORDER-02"
BUFFERS = 6
LOST = "lost behind the capture point"


def opened(about: str, *, climbing_ids: bool = True) -> Exchange:
    """A connection on which four buffers have been GO'd and two sent; packet 1 of buffer 0 was lost on the way."""
    exchange = Exchange(about, BUFFERS, climbing_ids=climbing_ids)
    exchange.open()
    exchange.says(*(go(1 + number, number) for number in range(4)))
    exchange.sends(0, 0, ack=4)
    exchange.sends(0, 1, ack=4, comment=LOST)
    exchange.sends(0, 2, 3, ack=4)
    exchange.sends(1, ack=4)
    exchange.says(ok(5, 1))
    return exchange


def finish(exchange: Exchange, seq: int, rest_of_2: tuple[int, ...]) -> Exchange:
    """Buffer 0 has been completed; `seq` is the next message and `rest_of_2` what buffer 2 still lacks."""
    if rest_of_2:
        exchange.sends(2, *rest_of_2, ack=seq - 1)
    exchange.says(ok(seq, 0), ok(seq + 1, 2), go(seq + 2, 4), go(seq + 3, 5))
    seq += 3
    for buffer in (3, 4, 5):
        exchange.sends(buffer, ack=seq)
        seq += 1
        exchange.says(ok(seq, buffer))
    exchange.acks(seq)
    exchange.done()
    return exchange


def progress_first() -> Exchange:
    """One packet of the next buffer goes out between learning of the hole and filling it."""
    exchange = opened("The sender acknowledges a RESEND in a packet of a later buffer, and retransmits only then.")
    exchange.says(ok(5, 1), resend(6, 0, [1]))
    exchange.sends(2, 0, ack=5, comment="built before the RESEND arrived")
    offence = exchange.sends(2, 1, ack=6, comment="knows RESEND 6, and is not the repair")[0]
    proof = exchange.sends(0, 1, ack=6, comment="the repair")
    exchange.wrong(RULE, offence, SENDER, proof)
    return finish(exchange, 7, (2, 3))


def repair_interrupted() -> Exchange:
    """Of two missing packets one is retransmitted, then the next buffer gets a turn."""
    exchange = Exchange("The sender serves half of a RESEND, then a packet of a later buffer, then the rest.", BUFFERS)
    exchange.open()
    exchange.says(*(go(1 + number, number) for number in range(4)))
    exchange.sends(0, 0, ack=4)
    exchange.sends(0, 1, ack=4, comment=LOST)
    exchange.sends(0, 2, ack=4)
    exchange.sends(0, 3, ack=4, comment=LOST)
    exchange.sends(1, ack=4)
    exchange.says(ok(5, 1))
    exchange.says(ok(5, 1), resend(6, 0, [1, 3]))
    exchange.sends(0, 1, ack=6)
    offence = exchange.sends(2, 0, ack=6, comment="packet 3 of buffer 0 is still due")[0]
    proof = exchange.sends(0, 3, ack=6)
    exchange.wrong(RULE, offence, SENDER, proof)
    return finish(exchange, 7, (1, 2, 3))


def newer_resend() -> Exchange:
    """The retransmission was made in time and lost; the packet after the later buffer answers a second RESEND."""
    exchange = opened("A retransmission is lost and requested again: the second copy rightly follows later buffers.")
    exchange.says(ok(5, 1), resend(6, 0, [1]))
    exchange.sends(0, 1, ack=6, comment=LOST)
    exchange.sends(2, 0, 1, ack=6)
    exchange.wait(40)
    exchange.says(resend(7, 0, [1]))
    exchange.sends(0, 1, ack=7)
    return finish(exchange, 8, (2, 3))


def reordered() -> Exchange:
    """The network swaps the retransmission and the packet after it."""
    exchange = opened("The retransmission was emitted first, as its IP ID shows, and overtaken on the way.")
    exchange.says(ok(5, 1), resend(6, 0, [1]))
    repair = exchange.part(0, 1, ack=6, comment="emitted before the packet above it: see its IP ID")
    exchange.sends(2, 0, 1, ack=6)
    exchange.capture(repair)
    return finish(exchange, 7, (2, 3))


def duplicated() -> Exchange:
    """The network delivers the retransmission twice."""
    exchange = opened(
        "The retransmission is sent in time; the network's copy of it, with the same IP ID, arrives later."
    )
    exchange.says(ok(5, 1), resend(6, 0, [1]))
    repair = exchange.sends(0, 1, ack=6)[0]
    exchange.sends(2, 0, 1, ack=6)
    exchange.capture(repair, comment="a network duplicate: the same IP ID")
    return finish(exchange, 7, (2, 3))


def resend_unknown() -> Exchange:
    """Packets of the next buffer pass while the RESEND is still on its way."""
    exchange = opened("Packets of a later buffer follow the RESEND in the capture, but do not acknowledge it yet.")
    exchange.says(ok(5, 1), resend(6, 0, [1]))
    exchange.sends(2, ack=5, comment="built before the RESEND arrived")
    exchange.sends(0, 1, ack=6)
    return finish(exchange, 7, ())


def complete_after_all() -> Exchange:
    """The missing packet was only late: OK follows the RESEND, and the sender knows both when it goes on."""
    exchange = opened("An OK of the same buffer makes the retransmission unnecessary, but it is sent.")
    exchange.says(ok(5, 1), resend(6, 0, [1]), comment="lost behind the capture point")
    exchange.says(ok(5, 1), resend(6, 0, [1]), ok(7, 0), comment="packet 1 was late, not lost")
    exchange.sends(2, 0, ack=7, comment="knows RESEND 6 and OK 7")
    exchange.sends(0, 1, ack=7, comment="needless, but no inversion")
    exchange.sends(2, 1, 2, 3, ack=7)
    exchange.says(ok(8, 2), go(9, 4), go(10, 5))
    for buffer, seq in ((3, 11), (4, 12), (5, 13)):
        exchange.sends(buffer, ack=seq - 1)
        exchange.says(ok(seq, buffer))
    exchange.acks(13)
    exchange.done()
    return exchange


def without_order() -> Exchange:
    """The violation again, but no IP ID shows what was emitted first."""
    exchange = opened(
        "The retransmission is captured after a later buffer, but every IP ID is zero.", climbing_ids=False
    )
    exchange.says(ok(5, 1), resend(6, 0, [1]))
    look_alike = exchange.sends(2, 0, ack=6)[0]
    others = exchange.sends(0, 1, ack=6)
    exchange.doubtful(RULE, look_alike, SENDER, others)
    return finish(exchange, 7, (1, 2, 3))


SCRIPTS = {
    "order02-progress-first": progress_first,
    "order02-repair-interrupted": repair_interrupted,
    "order02-like-newer-resend": newer_resend,
    "order02-like-reordered": reordered,
    "order02-like-duplicated": duplicated,
    "order02-like-resend-unknown": resend_unknown,
    "order02-like-complete-after-all": complete_after_all,
    "order02-like-without-order": without_order,
}
