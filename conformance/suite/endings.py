# SPDX-License-Identifier: GPL-2.0-or-later
"""Near the end: what the death timer counts from, QUITs that cross, what goes on while a QUIT waits for the end of a
buffer, and what a sender reads and sends while it dallies (RFC 998 5.2, 5.3)."""

import dataclasses

from netblt_conformance.cases.case import ACTIVE, ALL_ROLES, PASSIVE, RECEIVERS, SENDERS, Case, case
from netblt_conformance.common import tolerances
from netblt_conformance.common.errors import NotSupportedError
from netblt_conformance.common.model import MICROSECONDS_PER_S as S
from netblt_conformance.common.model import Feature, Stop
from netblt_conformance.common.tolerances import QUIET_US
from netblt_conformance.common.waits import Awaited
from netblt_conformance.packets.packets import Kind, Message, Type
from netblt_conformance.peer import ReceiverPeer, SenderPeer
from netblt_conformance.peer.exchange import UnmetError

FEWER = 1000  # of a full buffer a sender may not know that it is the last (AMB-41)
WHY = "the client has had enough"
# How much before its time a death timer may expire for what this suite can measure.
EARLY_US = 3 * S // 2
# What a QUIT that waits may wait for: a buffer that is under way, one at a time (AMB-56).
WAITING = {"max_buffers": 1, "iut": {"death_timer_s": 60}}


def require_that_quit_waits(peer: ReceiverPeer | SenderPeer) -> None:
    """What is due while a QUIT waits is the subject: an end that quits in the middle of a buffer has nothing to show
    here, others judge it (QUIT-04)."""
    if peer.has_quit:
        raise NotSupportedError("its QUIT does not wait for the end of this buffer (AMB-56)")


def quit_and_answer(t: Case, peer: ReceiverPeer | SenderPeer, *, count: int) -> None:
    """QUIT, 250 ms apart, each of which is acknowledged."""
    for number in range(count):
        if number:
            peer.listen(QUIET_US // 2)
        peer.send_quit()
        peer.expect_type(Type.QUITACK, t.tolerances.reaction_max_us)


# ---- the death timer ----


def go_on(peer: ReceiverPeer | SenderPeer) -> None:
    """The tester speaks again, and the transfer succeeds."""
    peer.speak_regularly()
    peer.finish()
    peer.expect_success()


@case("TIMER-10", roles=ALL_ROLES, variants=("66 s", "2148 s", "4295 s"))
def test_a_long_death_timer_does_not_expire_after_a_few_seconds(t: Case) -> None:
    """These do not fit 16 bits of milliseconds, 31 or 32 bits of microseconds."""
    peer = t.peer(2048, iut={"death_timer_s": int(t.variant.split()[0])})
    with t.preamble():
        peer.connect()
        if peer.terms.iut_death_timer_s * S < 6 * S + EARLY_US:
            raise NotSupportedError("it declares a short death timer of its own")
    peer.go_silent()
    peer.listen(6 * S)
    text = f"gave up after 6 s of silence, {peer.terms.iut_death_timer_s} s were declared"
    t.must(not t.link.status().failed, text, expected="an open connection")
    go_on(peer)


@case("TIMER-10", roles=ACTIVE)
def test_the_death_timer_of_an_active_end_does_not_run_before_the_response(t: Case) -> None:
    peer = t.peer(2048, iut={"death_timer_s": 4})
    with t.preamble():
        declared_us = peer.await_open().packet.death_timer_s * S
        if not EARLY_US < declared_us <= 10 * S:
            raise NotSupportedError("it declares a death timer of its own")
        peer.listen(3 * declared_us // 4)  # as if the first RESPONSEs had been lost
        if t.link.status().failed:
            raise NotSupportedError("it gives up the attempt to open sooner (OPEN-03)")
        peer.respond()
    peer.go_silent()
    peer.listen(declared_us - EARLY_US)
    text = f"gave up {(declared_us - EARLY_US) / S:g} s after the RESPONSE, {declared_us // S} s were declared"
    t.must(not t.link.status().failed, text, expected="a death timer that runs from the RESPONSE")
    go_on(peer)


@case("TIMER-10", roles=PASSIVE)
def test_a_peer_that_is_silent_after_its_open_is_given_up(t: Case) -> None:
    """What its client hears of it is open, since any host can forge an OPEN: the packets are judged."""
    peer = t.peer(2048, iut={"death_timer_s": 3})
    with t.preamble():
        if isinstance(peer, SenderPeer):
            peer.connect_without_acknowledging()
        else:
            peer.connect()
        t.require_death_timer(peer)
    peer.go_silent()
    peer.listen(tolerances.death_max_us(peer.terms.iut_death_timer_s))
    late = [seen for seen in peer.listen(6 * S) if seen.packet.type not in (Type.ABORT, Type.REFUSED)]
    text = f"{late[0] if late else 'a packet'} came although the peer had been silent since its OPEN"
    frame, expected = late[0].frame if late else None, "an end that gives the peer up"
    if t.role.sender:  # a sender can close, it need not (AMB-65)
        t.should(not late, text, frame, expected=f"{expected} (AMB-65)")
    else:
        t.must(not late, text, frame, expected=expected)


@case("QUIT-03", "TIMER-10", roles=ALL_ROLES)
def test_a_quit_just_before_the_death_timer_expires_is_answered_again_after_it(t: Case) -> None:
    peer = t.peer(4096, iut={"death_timer_s": 4})
    with t.preamble():
        peer.connect()
        declared_us = peer.terms.iut_death_timer_s * S
        peer.go_silent()
        peer.listen(peer.last_sent_us + declared_us - 350 * 1000 - t.link.delay_us - peer.now_us)
        quit_and_answer(t, peer, count=1)
    for _ in range(2):
        peer.listen(QUIET_US // 2)
        peer.send_quit()
        peer.expect_type(Type.QUITACK)


# ---- QUITs that cross, QUIT and ABORT at other moments ----


def let_it_quit(t: Case, peer: ReceiverPeer | SenderPeer) -> None:
    peer.connect()
    peer.listen(t.link.delay_us + t.tolerances.crossing_us)
    t.link.stop(Stop.QUIT, WHY)
    peer.expect_type(Type.QUIT, 15 * S)


@case("QUIT-02", roles=ALL_ROLES, needs=(Feature.QUIT,))
def test_a_quit_that_has_crossed_another_one_is_repeated_until_quitack_comes(t: Case) -> None:
    """The QUIT of the peer is no acknowledgement: QUITACK is."""
    peer = t.peer(4096)
    with t.preamble():
        let_it_quit(t, peer)
        peer.send_quit()
        peer.expect_type(Type.QUITACK)
        peer.listen(2 * t.link.delay_us + t.tolerances.crossing_us)
    for _ in range(2):
        peer.expect_type(Type.QUIT, 15 * S)
    peer.send(peer.forge.packet(Type.QUITACK))
    peer.expect_failure()


@case("QUIT-03", roles=ALL_ROLES, needs=(Feature.QUIT,))
def test_an_end_that_quits_itself_answers_a_repeated_quit_again(t: Case) -> None:
    peer = t.peer(4096)
    with t.preamble():
        let_it_quit(t, peer)
    quit_and_answer(t, peer, count=3)
    peer.send(peer.forge.packet(Type.QUITACK))
    peer.expect_failure()


@case("QUIT-03", roles=SENDERS)
def test_a_sender_answers_a_repeated_quit_again_in_its_dally(t: Case) -> None:
    peer = t.receiver(FEWER)
    peer.control_timer_ms = 2000  # it dallies for longer than that
    with t.preamble():
        into_the_dally(peer)
    quit_and_answer(t, peer, count=3)


@case("ABORT-02", roles=ALL_ROLES, needs=(Feature.QUIT,))
def test_an_abort_is_not_answered_by_an_end_that_quits(t: Case) -> None:
    peer = t.peer(4096)
    with t.preamble():
        let_it_quit(t, peer)
    peer.send_abort()
    answers = (Type.ABORT, Type.QUITACK, Type.REFUSED, Type.DONE)
    peer.silence(answers, t.tolerances.crossing_us + QUIET_US, "ABORT must not be answered")
    peer.send(peer.forge.packet(Type.QUITACK))
    peer.expect_failure()


# ---- while a QUIT waits for the end of a buffer ----


@case("TIMER-11", roles=ALL_ROLES, needs=(Feature.QUIT,))
def test_keepalives_go_on_while_a_quit_waits_for_the_end_of_a_buffer(t: Case) -> None:
    declared_s = 2
    slow = {"burst_size": 1, "burst_interval_ms": 8000}
    peer = t.peer(2048, **slow, own={"death_timer_s": declared_s}, **WAITING)
    with t.preamble():
        peer.connect()
        peer.require(packets_per_buffer=2)
        if isinstance(peer, ReceiverPeer):
            peer.go(0)
            peer.until(lambda: bool(peer.buffer(0).packets), t.tolerances.reaction_max_us, "data")
        else:
            peer.expect_go(0)
            peer.send_packet(0, 0)
            peer.listen(t.link.delay_us + t.tolerances.crossing_us)
        t.link.stop(Stop.QUIT, WHY)
        peer.listen(QUIET_US)
    began_us = peer.now_us
    heard = peer.listen(3 * declared_s * S)
    require_that_quit_waits(peer)
    t.expect_signs_of_life(heard, began_us, peer.now_us, declared_s)


@case("TIMER-01", roles=RECEIVERS, needs=(Feature.QUIT,))
def test_a_control_is_repeated_while_a_quit_waits_for_the_end_of_a_buffer(t: Case) -> None:
    peer = t.sender(2048, **WAITING)
    with t.preamble():
        peer.connect()
        peer.require(packets_per_buffer=3)
        peer.expect_go(0)
        peer.listen(t.tolerances.crossing_us)
        peer.answer_controls(False)
        peer.withhold_ack()
        peer.send_buffer(0, omit=[peer.packet_count(0) - 1])
        peer.expect_resend(0)
    t.link.stop(Stop.QUIT, WHY)
    count = len(peer.controls)
    peer.until(lambda: len(peer.controls) >= count + 2 or peer.has_quit, 2 * peer.repeat_max_us, "CONTROL twice again")
    require_that_quit_waits(peer)


@case("TIMER-07", roles=RECEIVERS, needs=(Feature.QUIT,))
def test_what_is_missing_is_requested_while_a_quit_waits_for_the_end_of_the_buffer(t: Case) -> None:
    peer = t.sender(2048, **WAITING)
    with t.preamble():
        peer.connect()
        peer.require(packets_per_buffer=3)
        peer.expect_go(0)
        peer.listen(t.tolerances.crossing_us)
        last = peer.packet_count(0) - 1  # the LDATA: with it the buffer has been sent
        peer.send_buffer(0, omit=[last])
        peer.listen(t.link.delay_us + t.tolerances.crossing_us)
    t.link.stop(Stop.QUIT, WHY)
    peer.listen(2 * t.link.delay_us + t.tolerances.crossing_us)
    count = len(peer.find(Kind.RESEND, 0))  # its data timer may have expired before

    def has_come() -> bool:
        return len(peer.find(Kind.RESEND, 0)) > count or peer.has_quit

    peer.until(has_come, peer.request_max_us(0), "RESEND for buffer 0", Awaited.RESEND)
    require_that_quit_waits(peer)
    peer.repair(0, [last])
    peer.until(lambda: peer.has_quit, 15 * S, "QUIT after the buffer")
    peer.send(peer.forge.packet(Type.QUITACK))
    peer.expect_failure()


@case("TIMER-11", roles=RECEIVERS)
def test_a_receiver_whose_control_waits_for_its_acknowledgement_speaks_often_enough(t: Case) -> None:
    """Its control timer may be longer than the death timer that the peer declared: then it is KEEPALIVEs."""
    declared_s = 1
    peer = t.sender(2048, own={"death_timer_s": declared_s}, iut={"death_timer_s": 60})
    with t.preamble():
        peer.connect_without_acknowledging()
        peer.expect_go(0)
    began_us = peer.now_us
    heard = peer.listen(12 * S)
    t.expect_signs_of_life(heard, began_us, peer.now_us, declared_s)


# ---- the dally of a sender ----


@case("CTRL-07", "CLOSE-03", roles=SENDERS)
def test_a_sender_in_its_dally_acknowledges_no_hole_and_then_everything(t: Case) -> None:
    """A queue may be cut into several CONTROLs (AMB-33): the one with a RESEND was lost, the one with the OKs came."""
    peer = t.receiver(1024 + FEWER, max_buffers=2)
    peer.control_timer_ms = 3000  # it dallies for longer than that
    with t.preamble():
        peer.connect()
        peer.require(buffer_size=1024, packets_per_buffer=2, max_buffers=2)
        newest = peer.go(0, 1)[-1]
        peer.expect_buffer(0)
        peer.expect_buffer(1)
        peer.expect_ack(newest.seq)
        resend = peer.message(Kind.RESEND, peer.first_buffer + 1, [0])
        oks = [peer.message(Kind.OK, peer.first_buffer + number) for number in range(2)]
    peer.send_control(oks)
    for seen in peer.listen(peer.ack_deadline_us):
        acked = seen.packet.high_seq if seen.packet.acks else 0
        text = f"message {acked} was acknowledged, message {resend.seq} never arrived"
        t.must(acked < resend.seq, text, seen.frame, expected="acknowledgement of what came before the hole")
    peer.send_control([resend, *oks])
    what = "everything to be acknowledged after the hole was filled"
    try:
        peer.until(lambda: peer.high_seq >= oks[-1].seq, peer.ack_deadline_us, what)
    except UnmetError as unmet:
        t.must(False, unmet.seen, unmet.frame, violated="CLOSE-03", expected=what)


def into_the_dally(peer: ReceiverPeer) -> list[Message]:
    """The only buffer has its OK, which is acknowledged."""
    peer.connect()
    peer.require(buffer_size=FEWER)
    peer.go(0)
    peer.expect_buffer(0)
    oks = peer.ok(0)
    peer.expect_ack(oks[-1].seq)
    return oks


@case("CLOSE-04", roles=SENDERS)
def test_the_dally_follows_a_longer_control_timer_of_a_repeated_ok(t: Case) -> None:
    """A control timer may grow with each repeat (AMB-44). Whether a repeat restarts the dally is open: a WARN."""
    peer = t.receiver(FEWER)
    with t.preamble():
        oks = into_the_dally(peer)
        peer.listen(peer.ms(peer.control_timer_ms) // 2)
        grown = [dataclasses.replace(ok, control_timer_ms=3000) for ok in oks]
        peer.send_control(grown)
        peer.listen(3 * S - 2 * t.link.delay_us - t.tolerances.crossing_us)
    count = len(peer.seen)
    peer.send_control(grown)
    peer.listen(peer.ack_deadline_us)
    answered = any(seen.packet.type is Type.NULL_ACK for seen in peer.seen[count:])
    text = "an OK that was repeated within the control timer of the OK before was not acknowledged"
    t.should(answered, text, expected="a dally that follows the control timer of the newest OK")


@case("CLOSE-04", roles=SENDERS)
def test_keepalives_do_not_prolong_the_dally(t: Case) -> None:
    peer = t.receiver(FEWER)
    with t.preamble():
        into_the_dally(peer)
        if not t.link.tells_outcome:
            raise NotSupportedError("whether it has closed cannot be known")
    dally_us = max(20 * S, t.tolerances.close_max_us)
    deadline_us = peer.now_us + dally_us
    while not t.link.status().closed and peer.now_us < deadline_us:
        peer.send_keepalive()
        peer.listen(QUIET_US // 2)
    text = f"the dally goes on for {dally_us // S} s of KEEPALIVEs, an OK published a control timer of 500 ms"
    t.should(t.link.status().closed, text, expected="a sender that closes by itself after its dally")
