# SPDX-License-Identifier: GPL-2.0-or-later
"""R1986-11: how long an end of ETFTP waits before it repeats a message or a request (RFC 1986 2.5)."""

import itertools

from netblt_conformance import wire
from netblt_conformance.cases.case import ACTIVE, RECEIVERS, SENDERS, Case, case
from netblt_conformance.common.model import MICROSECONDS_PER_S as S
from netblt_conformance.packets.packets import Type
from netblt_conformance.peer import ReceiverPeer, SenderPeer
from netblt_conformance.peer.exchange import Seen

BUFFER, SIZE = 1024, 256
FIRST_TIMEOUT_S = BACK_OFF_S = 5


def radio_wait_s(peer: ReceiverPeer | SenderPeer) -> int:
    """How long an answer is waited for: by the radio delay of the OPEN, whichever end sent it (2.5)."""
    opening = wire.ETFTP(peer.opens[0].wire).payload.radio_delay_s if peer.opens else peer.extras.radio_delay_s
    return 4 * int(opening) + FIRST_TIMEOUT_S


def expect_patience(t: Case, seen: list[Seen], wait_s: int) -> None:
    """What got no answer is repeated after `wait_s`, and 5 s later each time (2.5)."""
    gaps = [after.time_us - before.time_us for before, after in itertools.pairwise(seen)]
    words = ", ".join(f"{gap / S:.1f}" for gap in gaps)
    slack_us = t.tolerances.crossing_us
    t.should(
        gaps[0] >= wait_s * S - slack_us,
        f"repeated after {words} s",
        seen[1].frame,
        expected=f"waits of {wait_s} s or more",
    )
    grows = all(after - before >= BACK_OFF_S * S - slack_us for before, after in itertools.pairwise(gaps))
    t.should(grows, f"repeated after {words} s", expected=f"each wait to be {BACK_OFF_S} s longer than the one before")


@case("R1986-11", roles=ACTIVE)
def test_an_open_without_an_answer_waits_for_the_radios(t: Case) -> None:
    peer = t.peer(1024)
    with t.preamble():
        first = peer.await_open()
        wait_s = radio_wait_s(peer)
        most_us = (wait_s + 2 * BACK_OFF_S) * S + t.tolerances.open_retry_max_us
        again = [peer.expect_type(Type.OPEN, most_us) for _ in range(3)]
    expect_patience(t, [first, *again], wait_s)


@case("R1986-11", roles=SENDERS)
def test_a_quit_without_an_answer_comes_again_after_five_seconds(t: Case) -> None:
    peer = t.receiver(BUFFER, buffer_size=BUFFER, death_timer_s=120)
    with t.preamble():
        peer.connect()
        peer.go(0)
        peer.expect_buffer(0)
        peer.ok(0)
        first = peer.expect_type(Type.QUIT)
        again = peer.expect_type(Type.QUIT, 60 * S)
    gap_us = again.time_us - first.time_us
    t.should(
        gap_us >= 5 * S,
        f"the QUIT was repeated after {gap_us / S:.1f} s",
        again.frame,
        expected="a wait of 5 s or more",
    )
    peer.end()
    peer.expect_success()


@case("R1986-11", roles=RECEIVERS)
def test_a_control_without_an_acknowledgement_waits_for_the_radios(t: Case) -> None:
    peer = t.sender(BUFFER, buffer_size=BUFFER, max_buffers=1)
    with t.preamble():
        peer.connect_without_acknowledging()
        peer.expect_go(0)
        first = peer.controls[0]
        again = [peer.expect_control() for _ in range(3)]
    expect_patience(t, [first, *again], radio_wait_s(peer))
    peer.finish()
    t.expect_delivered_by(peer)


@case("R1986-11", roles=RECEIVERS)
def test_a_resend_waits_for_what_may_still_come(t: Case) -> None:
    peer = t.sender(BUFFER, buffer_size=BUFFER, packet_size=SIZE, max_buffers=1)
    with t.preamble():
        peer.connect()
        peer.expect_go(0)
        peer.send_buffer(0, omit=[1])
        began_us = peer.now_us
        seen = peer.first_seen(peer.expect_resend(0).seq)
    waited_us, wait_s = seen.time_us - began_us, radio_wait_s(peer)
    text = f"the RESEND came {waited_us / S:.1f} s after the last packet, {wait_s} s are due"
    t.should(waited_us >= wait_s * S - t.tolerances.crossing_us, text, seen.frame, expected=f"a wait of {wait_s} s")
    peer.repair(0, [1])
    peer.finish()
    t.expect_delivered_by(peer)
