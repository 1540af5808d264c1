# SPDX-License-Identifier: GPL-2.0-or-later
"""RATE: the negotiated pace (RFC 998 4). The monitor counts packets in every span of time in every case."""

from netblt_conformance import tolerances
from netblt_conformance.case import SENDERS, Case, case

BURST, INTERVAL_MS = 3, 100
PACED = {"buffer_size": 12 * 256, "burst_size": BURST, "burst_interval_ms": INTERVAL_MS, "max_buffers": 1}


@case("RATE-01", "RATE-02", "RATE-04", "R1030-08", roles=SENDERS)
def test_bursts_keep_size_and_interval_without_help_of_the_receiver(t: Case) -> None:
    peer = t.receiver(12 * 256, **PACED)
    with t.preamble():
        peer.connect()
    peer.go(0)
    buffer = peer.expect_buffer(0)
    times = sorted(seen.time_us for seen in buffer.packets.values())
    for index in range(len(times) - BURST):
        gap_us = times[index + BURST] - times[index]
        least_us = peer.ms(INTERVAL_MS) - tolerances.CROSSING_US
        text = f"packets {index} to {index + BURST} of the buffer within {gap_us / 1000:g} ms"
        t.must(gap_us >= least_us, f"{text}; the pace is {BURST} in {INTERVAL_MS} ms")
    most_us = (len(times) // BURST + 2) * peer.ms(INTERVAL_MS) + tolerances.REACTION_MAX_US
    t.should(times[-1] - times[0] <= most_us, "the pace is far below what was agreed")


@case("RATE-03", roles=SENDERS)
def test_repairs_are_paced_too(t: Case) -> None:
    peer = t.receiver(12 * 256, **PACED)
    with t.preamble():
        peer.connect()
        peer.require(packets_per_buffer=BURST + 1)
        peer.go(0)
        last = min(8, peer.expect_buffer(0).last_packet or 0)
        peer.listen(2 * peer.ms(INTERVAL_MS))
    before = len(peer.seen)
    peer.resend(0, range(last + 1))
    pace_us = tolerances.transfer_time_us(last + 1, peer.terms.burst_size, peer.terms.burst_interval_ms)
    peer.expect_copies(0, last, within_us=tolerances.REACTION_MAX_US + 2 * pace_us)
    times = [seen.time_us for seen in peer.seen[before:] if seen.packet.is_data]
    for index in range(len(times) - BURST):
        gap_us = times[index + BURST] - times[index]
        text = (
            f"repairs {index} to {index + BURST} within {gap_us / 1000:g} ms; the pace is {BURST} in {INTERVAL_MS} ms"
        )
        t.must(gap_us >= peer.ms(INTERVAL_MS) - tolerances.CROSSING_US, text)
