# SPDX-License-Identifier: GPL-2.0-or-later
"""Long waits: KEEPALIVE over many periods of the death timer, and a buffer under way whose client has stopped
(RFC 998 4, 5.2.3)."""

from netblt_conformance.cases.case import ALL_ROLES, RECEIVERS, SENDERS, Case, case
from netblt_conformance.common.errors import NotSupportedError
from netblt_conformance.common.model import MICROSECONDS_PER_S as S
from netblt_conformance.common.model import Feature
from netblt_conformance.common.tolerances import QUIET_US
from netblt_conformance.packets.packets import Kind, Type
from netblt_conformance.peer import ReceiverPeer, SenderPeer

# Periods of the death timer for which an idle end is listened to; on a real link no run waits so long.
PERIODS, REAL_PERIODS = 60, 2
# What the tester declares, and what the implementation has to declare. An end of a pair follows the larger
# or the smaller value: one that mixes the two up, or counts the packets it gets, becomes silent in one of them.
TIMERS_S = {
    "a much shorter one of the tester": (2, 60),
    "equal ones": (3, 3),
    "a much longer one of the tester": (24, 3),
}


def listen_for_periods(t: Case, peer: ReceiverPeer | SenderPeer, declared_s: int) -> None:
    """The tester sends its own KEEPALIVEs, as seldom as the implementation's death timer allows."""
    peer.listen(declared_s * S // 2)
    began_us = peer.now_us
    periods = REAL_PERIODS if t.link.real_time else PERIODS
    heard = peer.listen(periods * declared_s * S)
    given_up = t.link.tells_outcome and t.link.status().failed
    t.must(
        not given_up,
        "gave up although the tester's KEEPALIVEs came",
        violated="TIMER-10",
        expected="an open connection",
    )
    t.expect_signs_of_life(heard, began_us, peer.now_us, declared_s)


def goes_on(t: Case, peer: ReceiverPeer | SenderPeer) -> None:
    """The transfer that was waited with comes to its end."""
    if isinstance(peer, SenderPeer):
        peer.finish()
        t.expect_delivered_by(peer)
    else:
        peer.finish()
        peer.expect_success()


@case("TIMER-11", "TIMER-10", roles=ALL_ROLES, variants=tuple(TIMERS_S))
def test_keepalives_go_on_for_many_periods_before_the_first_buffer(t: Case) -> None:
    """A sender has no GO; a receiver's GO is acknowledged, and no data come: it may ask for them, and must not stop."""
    own_s, iut_s = TIMERS_S[t.variant]
    if t.link.real_time and own_s > 2:
        raise NotSupportedError("so many periods of this timer take too long on a real link")
    peer = t.peer(2048, own={"death_timer_s": own_s}, iut={"death_timer_s": iut_s})
    with t.preamble():
        peer.connect()
    listen_for_periods(t, peer, own_s)
    goes_on(t, peer)


@case("TIMER-11", "TIMER-10", roles=ALL_ROLES, needs=(Feature.CLIENT_STALL,), variants=tuple(TIMERS_S))
def test_keepalives_go_on_for_many_periods_while_the_client_stalls(t: Case) -> None:
    if t.link.real_time:
        raise NotSupportedError(
            "a program has memory of its own: the moment at which its client's stall begins is not known"
        )
    own_s, iut_s = TIMERS_S[t.variant]
    stall = {"client_stall_from": 0, "client_stall_until_us": (PERIODS + 3) * own_s * S}
    peer = t.peer(2048, own={"death_timer_s": own_s}, iut={"death_timer_s": iut_s, **stall})
    with t.preamble():
        peer.connect()
        if isinstance(peer, ReceiverPeer):
            peer.expect_ack(peer.go(0)[0].seq)
    listen_for_periods(t, peer, own_s)
    peer.listen(3 * own_s * S)
    goes_on(t, peer)


@case("TIMER-11", "TIMER-10", roles=ALL_ROLES, needs=(Feature.CLIENT_STALL,), variants=tuple(TIMERS_S))
def test_keepalives_go_on_for_many_periods_between_two_buffers(t: Case) -> None:
    if t.link.real_time:
        raise NotSupportedError(
            "a program has memory of its own: the moment at which its client's stall begins is not known"
        )
    own_s, iut_s = TIMERS_S[t.variant]
    stall = {"client_stall_from": 1, "client_stall_until_us": (PERIODS + 3) * own_s * S}
    peer = t.peer(3 * 1024, max_buffers=1, own={"death_timer_s": own_s}, iut={"death_timer_s": iut_s, **stall})
    with t.preamble():
        peer.connect()
        peer.require(buffer_size=1024)
        t.run_first_buffer(peer)
        if isinstance(peer, ReceiverPeer):
            peer.expect_ack(peer.ok(0)[0].seq)
            peer.expect_ack(peer.go(1)[0].seq)
        else:
            peer.expect_ok(0)
    listen_for_periods(t, peer, own_s)
    peer.listen(3 * own_s * S)
    goes_on(t, peer)


@case("DATA-15", roles=SENDERS, needs=(Feature.CLIENT_STALL,))
def test_what_is_asked_for_of_a_buffer_under_way_is_sent_again_while_the_client_stalls(t: Case) -> None:
    if t.link.real_time:
        raise NotSupportedError(
            "a program has memory of its own: the moment at which its client's stall begins is not known"
        )
    stall = {"client_stall_from": 2, "client_stall_until_us": 60 * S}
    peer = t.receiver(4 * 1024, max_buffers=3, iut=stall)
    with t.preamble():
        peer.connect()
        peer.require(buffer_size=1024, packets_per_buffer=3)
        together = range(min(3, peer.terms.max_buffers))
        peer.go_in_turn(*together)
        if len(together) == 1:
            peer.go_in_turn(1)
        peer.expect_buffer(0)
        peer.expect_buffer(1)
    for number in sorted({0, 1} & set(peer.unconfirmed), reverse=True):
        peer.resend(number, [1])
        peer.expect_copies(number, 1)
    peer.silence([Type.QUIT, Type.ABORT], QUIET_US, "a stalled client is no fault")
    peer.finish(within_us=120 * S)
    peer.expect_success()


@case("DATA-15", roles=RECEIVERS, needs=(Feature.CLIENT_STALL,), variants=("a hole", "the LDATA", "all but one packet"))
def test_a_buffer_under_way_is_received_to_its_end_while_the_client_stalls(t: Case) -> None:
    """Its client has no second buffer: what is missing of the first one is requested, and it is confirmed."""
    if t.link.real_time:
        raise NotSupportedError(
            "a program has memory of its own: the moment at which its client's stall begins is not known"
        )
    stall = {"client_stall_from": 1, "client_stall_until_us": 120 * S}
    peer = t.sender(2 * 1024, max_buffers=2, iut=stall)
    with t.preamble():
        peer.connect()
        peer.require(packets_per_buffer=3)
        peer.expect_go(0)
        peer.listen(QUIET_US)
    last = peer.packet_count(0) - 1
    lost = {"a hole": [1], "the LDATA": [last], "all but one packet": list(range(1, last + 1))}[t.variant]
    peer.send_buffer(0, omit=lost)
    peer.repair(0, lost)
    peer.expect_ok(0)
    t.must(
        peer.now_us < 120 * S,
        "the buffer was confirmed only after the client continued",
        expected="OK for the complete buffer without delay",
    )
    t.must(
        not peer.find(Kind.GO, 1),
        "a GO came although the client has no second buffer",
        expected="no GO before the client has a buffer",
    )
    peer.finish(within_us=180 * S)
    t.expect_delivered_by(peer)
