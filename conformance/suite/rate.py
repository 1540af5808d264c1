# SPDX-License-Identifier: GPL-2.0-or-later
"""RATE: the negotiated pace (RFC 998 4). The monitor counts packets in every span of time in every case."""

import dataclasses

from netblt_conformance.cases.case import SENDERS, Case, case
from netblt_conformance.common import tolerances
from netblt_conformance.common.model import MICROSECONDS_PER_MS
from netblt_conformance.packets import pacing
from netblt_conformance.peer import ReceiverPeer

# Not a multiple of any tick; and longer than a byte can hold.
BURST, INTERVALS_MS = 3, {"47 ms": 47, "300 ms": 300}
# The first two bursts may lie close together, and times are no better than crossing_us: what is wrong has to add up.
PACKETS = 12 * BURST
PACED = {"buffer_size": PACKETS * 256, "burst_size": BURST, "max_buffers": 1}


def keeps_the_pace(t: Case, peer: ReceiverPeer, what: str, times: list[int]) -> None:
    """As it was agreed, which may be less than was requested."""
    interval_us = peer.ms(peer.terms.burst_interval_ms)
    # Nothing can be seen early in virtual time.
    slack_us = t.tolerances.crossing_us if t.link.real_time else MICROSECONDS_PER_MS
    wrong = pacing.complaint(what, times, peer.terms.burst_size, interval_us, slack_us)
    t.must(wrong is None, wrong or "", expected="the agreed pace")


@case("RATE-01", "RATE-02", "RATE-04", "R1030-08", roles=SENDERS, variants=tuple(INTERVALS_MS))
def test_bursts_keep_size_and_interval_without_help_of_the_receiver(t: Case) -> None:
    peer = t.receiver(PACKETS * 256, **PACED, burst_interval_ms=INTERVALS_MS[t.variant])
    with t.preamble():
        peer.connect()
    peer.go(0)
    buffer = peer.expect_buffer(0)
    times = sorted(seen.time_us for seen in buffer.packets.values())
    keeps_the_pace(t, peer, "packets", times)
    bursts = len(times) // peer.terms.burst_size + 2
    most_us = bursts * peer.ms(peer.terms.burst_interval_ms) + t.tolerances.reaction_max_us
    t.should(times[-1] - times[0] <= most_us, "a pace that is far lower", expected="the agreed pace")


@dataclasses.dataclass(frozen=True)
class Sequence:
    """Buffers of four packets: how many packets a burst has, how many buffers are requested together, how many
    intervals pass before the next ones are requested, and whether each OK offers a slower pair than was agreed."""

    burst: int
    together: int
    pause: int = 0
    changes: bool = False


SEQUENCES = {
    "one buffer at a time": Sequence(4, 1),  # a sender that counts from zero in each buffer sends them all at once
    "three at once": Sequence(4, 3),
    "bursts that end in the next buffer": Sequence(3, 6),  # six, so that one packet too many in each burst adds up
    "after a pause": Sequence(1, 1, pause=5),  # bursts that were not due are not sent later
    "while the pair changes": Sequence(4, 1, changes=True),  # the first burst of another pair waits for its turn too
}


@case("RATE-02", "RATE-01", roles=SENDERS, variants=tuple(SEQUENCES))
def test_the_pace_goes_on_from_buffer_to_buffer(t: Case) -> None:
    given, size, interval_ms = SEQUENCES[t.variant], 4, 100
    buffers = 3 if given.pause else 12
    paced = {"burst_size": given.burst, "burst_interval_ms": interval_ms, "max_buffers": given.together}
    peer = t.receiver(buffers * size * 256, buffer_size=size * 256, **paced)
    with t.preamble():
        peer.connect()
        peer.require(buffer_size=size * 256)
    together = min(given.together, peer.terms.max_buffers)
    for first in range(0, buffers, together):
        numbers = range(first, min(first + together, buffers))
        peer.go(*numbers)
        for number in numbers:
            peer.expect_buffer(number)
        if given.changes:
            peer.offer = peer.terms.burst_size, peer.terms.burst_interval_ms + (10 if first % 2 else 20)
        peer.ok(*numbers)
        if given.pause:
            peer.listen(given.pause * peer.ms(interval_ms))
    keeps_the_pace(t, peer, "packets", [seen.time_us for seen in peer.seen if seen.packet.is_data])
    peer.finish()
    peer.expect_success()


@case("RATE-01", "RATE-02", "NEG-06", roles=SENDERS)
def test_an_interval_that_needs_16_bits_is_kept(t: Case) -> None:
    peer = t.receiver(PACKETS * 256, **{**PACED, "burst_size": 1}, burst_interval_ms=40_000)
    with t.preamble():
        peer.connect()
        peer.require(packets_per_buffer=8)
    peer.go(0)
    peer.listen(t.tolerances.reaction_max_us)
    keeps_the_pace(t, peer, "packets", [seen.time_us for seen in peer.seen if seen.packet.is_data])


@case("RATE-03", roles=SENDERS, variants=tuple(INTERVALS_MS))
def test_repairs_are_paced_too(t: Case) -> None:
    peer = t.receiver(PACKETS * 256, **PACED, burst_interval_ms=INTERVALS_MS[t.variant])
    with t.preamble():
        peer.connect()
        peer.require(packets_per_buffer=BURST + 1)
        peer.go(0)
        last = peer.expect_buffer(0).last_packet or 0
        peer.listen(2 * peer.ms(peer.terms.burst_interval_ms))
    before = len(peer.seen)
    peer.resend(0, range(last + 1))
    pace_us = tolerances.transfer_time_us(last + 1, peer.terms.burst_size, peer.terms.burst_interval_ms)
    peer.expect_copies(0, last, within_us=t.tolerances.reaction_max_us + 2 * pace_us)
    times = [seen.time_us for seen in peer.seen[before:] if seen.packet.is_data]
    keeps_the_pace(t, peer, "repairs", times)
