# SPDX-License-Identifier: GPL-2.0-or-later
"""QUIT and ABORT (RFC 998 5.3.2, 5.3.3)."""

from netblt_conformance.cases.case import ALL_ROLES, SENDERS, Case, case
from netblt_conformance.common.errors import NotSupportedError
from netblt_conformance.common.model import MICROSECONDS_PER_S as S
from netblt_conformance.common.model import Feature, Stop
from netblt_conformance.common.tolerances import QUIET_US
from netblt_conformance.packets.packets import Type
from netblt_conformance.peer import ReceiverPeer, SenderPeer
from netblt_conformance.peer.exchange import Seen

SLOW = {"burst_size": 1, "burst_interval_ms": 50}


def into_the_middle_of_a_buffer(peer: ReceiverPeer | object, number: int = 0) -> None:
    """Some packets of the buffer are through, others are not."""
    if isinstance(peer, ReceiverPeer | SenderPeer):
        peer.require(packets_per_buffer=3)
    if isinstance(peer, ReceiverPeer):
        peer.go(number)
        peer.until(lambda: len(peer.buffer(number).packets) >= 2, peer.tolerances.reaction_max_us, "data")
    elif isinstance(peer, SenderPeer):
        peer.expect_go(number)
        peer.send_packets(number, [0, 1])


@case("QUIT-01", "QUIT-05", "WIRE-13", roles=ALL_ROLES, variants=("idle", "mid-buffer"))
def test_quit_is_answered_with_quitack_and_ends_the_transfer(t: Case) -> None:
    peer = t.peer(4096, **SLOW)
    with t.preamble():
        peer.connect()
        if t.variant == "mid-buffer":
            into_the_middle_of_a_buffer(peer)
    peer.send_quit("the tester has had enough")
    peer.expect_type(Type.QUITACK)
    peer.silence([Type.DATA, Type.LDATA, Type.CONTROL], QUIET_US, "nothing may be transferred after QUITACK")
    peer.expect_failure()


@case("QUIT-02", "WIRE-13", roles=ALL_ROLES, needs=(Feature.QUIT,))
def test_quit_is_repeated_until_quitack_comes(t: Case) -> None:
    peer = t.peer(4096)
    with t.preamble():
        peer.connect()
        peer.listen(t.tolerances.crossing_us)
    t.link.stop(Stop.QUIT, "the client has had enough")
    peer.expect_type(Type.QUIT, 15 * S)
    began_us = peer.now_us
    peer.expect_type(Type.QUIT, 15 * S)
    t.observe("repeats of QUIT, ms", (peer.now_us - began_us) // 1000)
    peer.expect_type(Type.QUIT, 15 * S)
    peer.send(peer.forge.packet(Type.QUITACK))
    peer.listen(t.tolerances.crossing_us)
    peer.silence([Type.QUIT], 10 * S, "QUITACK must end the repetition")


@case("QUIT-02", roles=ALL_ROLES, needs=(Feature.QUIT,), variants=("KEEPALIVEs", "other packets"))
def test_quit_is_repeated_for_as_long_as_the_peer_is_alive(t: Case) -> None:
    """Neither a QUITACK nor the death timer ends the repetition: the tester goes on, as if no QUIT had come."""
    repeats = 2 if t.link.real_time else 12
    peer = t.peer(4096, iut={"death_timer_s": 6})
    with t.preamble():
        peer.connect()
        peer.listen(t.link.delay_us + t.tolerances.crossing_us)
    t.link.stop(Stop.QUIT, "the client has had enough")
    times_us = [peer.expect_type(Type.QUIT, 15 * S).time_us]
    patience_us = 15 * S
    for _ in range(repeats):
        times_us.append(expect_quit(peer, patience_us, t.variant).time_us)
        patience_us = max(patience_us, 3 * (times_us[-1] - times_us[-2]))  # it may wait longer and longer
    t.must(
        not t.link.status().closed,
        "the attempt to quit ended although the peer is alive and sent no QUITACK",
        expected="QUIT to be repeated until QUITACK comes",
    )
    peer.send(peer.forge.packet(Type.QUITACK))
    peer.expect_failure()


def expect_quit(peer: ReceiverPeer | SenderPeer, within_us: int, meanwhile: str) -> Seen:
    """The next QUIT, while the tester sends this often enough for the death timer."""
    if meanwhile == "KEEPALIVEs":
        return peer.expect_type(Type.QUIT, within_us)
    peer.go_silent()
    deadline_us = peer.now_us + within_us
    while peer.now_us < deadline_us - S:
        peer.show_life()
        for seen in peer.listen(S):
            if seen.packet.type is Type.QUIT:
                return seen
    return peer.expect_type(Type.QUIT, S)


@case("QUIT-02", roles=ALL_ROLES, needs=(Feature.QUIT,))
def test_quit_is_not_repeated_before_a_quitack_can_have_come(t: Case) -> None:
    peer = t.peer(4096)
    with t.preamble():
        peer.connect()
        peer.listen(t.tolerances.crossing_us)
    t.link.stop(Stop.QUIT, "the client has had enough")
    first = peer.expect_type(Type.QUIT, 15 * S)
    peer.send(peer.forge.packet(Type.QUITACK))
    again = [seen for seen in peer.listen(10 * S) if seen.packet.type is Type.QUIT]
    # What left before the QUITACK arrived comes within one round trip.
    early = [seen for seen in again if seen.time_us - first.time_us <= 2 * t.link.delay_us]
    t.must(
        not early,
        "QUIT was repeated without a time-out",
        early[0].frame if early else None,
        expected="a wait before each repetition",
    )
    late = [seen for seen in again if seen not in early]
    text = "QUIT was repeated although its QUITACK had arrived"
    t.must(
        not late or (t.link.real_time and len(late) == 1),
        text,
        late[0].frame if late else None,
        expected="no QUIT after QUITACK",
    )
    peer.expect_failure()


@case("QUIT-03", roles=ALL_ROLES, variants=("250 ms apart", "1 s apart"))
def test_a_repeated_quit_is_answered_again(t: Case) -> None:
    """How long the sender of a QUITACK dallies is not specified: after seconds a missing answer is a WARN (AMB-57)."""
    peer = t.peer(4096)
    with t.preamble():
        peer.connect()
        peer.send_quit()
        peer.expect_type(Type.QUITACK)
    began_us = peer.now_us
    for _ in range(2):
        if t.variant == "250 ms apart":
            peer.listen(QUIET_US // 2)
            peer.send_quit()
            peer.expect_type(Type.QUITACK)
            continue
        peer.listen(S)
        answers = sum(seen.packet.type is Type.QUITACK for seen in peer.seen)
        peer.send_quit()
        late = f"{(peer.now_us - began_us) / S:.1f} s after the QUITACK"
        peer.listen(QUIET_US)
        answered = sum(seen.packet.type is Type.QUITACK for seen in peer.seen) > answers
        t.should(answered, f"a QUIT repeated {late} was not answered", expected="QUITACK (AMB-57)")
        if not answered:
            return


@case("QUIT-01", roles=ALL_ROLES, needs=(Feature.QUIT,))
def test_an_end_that_quits_itself_answers_a_quit(t: Case) -> None:
    peer = t.peer(4096)
    with t.preamble():
        peer.connect()
        peer.listen(t.tolerances.crossing_us)
        t.link.stop(Stop.QUIT, "the client has had enough")
        peer.expect_type(Type.QUIT, 15 * S)
    peer.send_quit()  # the two have crossed
    peer.expect_type(Type.QUITACK)
    peer.send(peer.forge.packet(Type.QUITACK))
    peer.expect_failure()


@case("QUIT-01", roles=SENDERS)
def test_a_sender_answers_a_quit_in_its_dally(t: Case) -> None:
    peer = t.receiver(1000)  # of a full buffer it may not know that it is the last (AMB-41)
    peer.control_timer_ms = 2000  # it dallies for longer than that
    with t.preamble():
        peer.connect()
        peer.require(buffer_size=1000)
        peer.go(0)
        peer.expect_buffer(0)
        peer.expect_ack(peer.ok(0)[0].seq)
    peer.send_quit()
    peer.expect_type(Type.QUITACK)
    if t.link.tells_outcome:
        text, expected = "failure was reported although every buffer has its OK", "success: the transfer was complete"
        peer.until(lambda: t.link.status().closed, t.tolerances.close_max_us, "the sender to close")
        t.should(t.link.status().succeeded, text, expected=expected)


@case("QUIT-02", roles=ALL_ROLES, needs=(Feature.QUIT,))
def test_a_quit_that_nobody_answers_ends_with_the_death_timer(t: Case) -> None:
    peer = t.peer(4096, iut={"death_timer_s": 3})
    with t.preamble():
        peer.connect()
        t.require_death_timer(peer)
        peer.listen(t.tolerances.crossing_us)
    peer.go_silent()
    t.link.stop(Stop.QUIT, "the client has had enough")
    peer.expect_type(Type.QUIT, 15 * S)
    peer.listen(2 * peer.terms.iut_death_timer_s * S)
    peer.silence([Type.QUIT], 10 * S, "the death timer has expired, which ends the repetition")
    peer.expect_failure()


@case(
    "QUIT-04", roles=ALL_ROLES, needs=(Feature.QUIT,), variants=("one buffer", "several buffers", "the second buffer")
)
def test_a_quit_of_the_client_waits_for_the_end_of_the_buffer(t: Case) -> None:
    """With one buffer at a time RFC 998 leaves no choice; with several there may be no moment between two (AMB-56)."""
    peer = t.peer(3 * 1024, **SLOW, max_buffers=2 if t.variant == "several buffers" else 1)
    number = 1 if t.variant == "the second buffer" else 0
    with t.preamble():
        peer.connect()
        peer.require(buffer_size=1024, packet_size=256)
        if number:
            t.run_first_buffer(peer)
            if isinstance(peer, ReceiverPeer):
                peer.ok(0)
        into_the_middle_of_a_buffer(peer, number)
    t.link.stop(Stop.QUIT, "the client has had enough")
    if isinstance(peer, ReceiverPeer):
        heard = peer.listen(4 * peer.ms(peer.terms.burst_interval_ms) + QUIET_US)
        ends = [s.time_us for s in peer.seen if s.packet.type is Type.LDATA]
        ended = ends[number] if len(ends) > number else peer.now_us
        early = [s for s in heard if s.packet.type is Type.QUIT and s.time_us < ended]
    else:
        early = [s for s in peer.listen(QUIET_US) if s.packet.type is Type.QUIT]
        peer.send_packets(number, [2, 3])
    t.observe("QUIT in the middle of a buffer", "at once" if early else "waits")
    judge = t.must if peer.terms.max_buffers == 1 else t.should
    judge(not early, "QUIT in the middle of a buffer (AMB-56)", early[0].frame if early else None)
    if not early:
        expect_quit_between_buffers(peer, number)
    peer.send(peer.forge.packet(Type.QUITACK))
    peer.expect_failure()


def expect_quit_between_buffers(peer: ReceiverPeer | SenderPeer, first: int = 0) -> None:
    """A buffer has been sent when its packets are out, or when its OK has come: RFC 998 5.2.2 calls it SENDING until
    then, and 5.3.2 speaks of "between buffer transmissions" only. A sender that has begun a second one may finish that
    as well, up to its OK (AMB-56)."""
    if isinstance(peer, ReceiverPeer):
        for number in range(first, first + peer.terms.max_buffers):
            if number > first and not peer.buffer(number).packets:
                break
            peer.expect_buffer(number, 15 * S, unless=lambda: peer.has_quit)
            peer.listen(QUIET_US)
            if peer.has_quit:
                break
            peer.ok(number)
    peer.until(lambda: peer.has_quit, 15 * S, "QUIT after the buffer")


@case("QUIT-05", roles=ALL_ROLES, needs=(Feature.QUIT,))
def test_nothing_is_transferred_behind_its_own_quit(t: Case) -> None:
    peer = t.peer(4096, **SLOW)
    with t.preamble():
        peer.connect()
        peer.require(buffer_size=1024, packet_size=256)
        into_the_middle_of_a_buffer(peer)
        if isinstance(peer, ReceiverPeer):
            peer.require(max_buffers=2)
            peer.go(1)  # so that there are data that it must not send any more
            peer.expect_ack()
    t.link.stop(Stop.QUIT, "the client has had enough")
    if isinstance(peer, SenderPeer):
        peer.send_packets(0, [2, 3])
    expect_quit_between_buffers(peer)
    transfer = (Type.DATA, Type.LDATA, Type.CONTROL)
    peer.silence(transfer, 2 * QUIET_US, "nothing may be transferred after QUIT")
    peer.send(peer.forge.packet(Type.QUITACK))
    peer.expect_failure()


@case("ABORT-01", roles=tuple(role for role in ALL_ROLES if role.active or role.sender))
def test_nothing_follows_an_abort_that_the_tester_provoked(t: Case) -> None:
    peer = t.peer(8 * 1024, **SLOW)
    with t.preamble():
        if t.role.active:
            peer.await_open()
            peer.send_response(packet_size=2 * peer.opens[-1].packet.packet_size)
        else:
            peer.connect()
            assert isinstance(peer, ReceiverPeer)
            peer.go(0)
            peer.ok(3)
        t.provokes("DATA-03", "DATA-05", "RESEND-01")
        heard = peer.listen(2 * S)
    if not any(seen.packet.type is Type.ABORT for seen in heard):
        raise NotSupportedError("it does not abort here, which is as good (AMB-25, AMB-48)")
    peer.send_keepalive()
    late = {Type.ABORT, Type.REFUSED}  # a late packet may be answered so (AMB-55)
    peer.silence(set(Type) - late, 5 * S, "nothing may follow ABORT")
    peer.expect_failure()


@case("QUIT-06", roles=ALL_ROLES, variants=("", "abc", "four", "long"))
def test_quit_may_carry_any_reason(t: Case) -> None:
    peer = t.peer(4096)
    with t.preamble():
        peer.connect()
    peer.send_quit("r" * 255 if t.variant == "long" else t.variant)
    peer.expect_type(Type.QUITACK)


@case("QUIT-06", "WIRE-07", "CKSUM-01", roles=ALL_ROLES, needs=(Feature.QUIT,))
def test_the_reason_of_a_quit_is_terminated_and_filled(t: Case) -> None:
    peer = t.peer(4096)
    with t.preamble():
        peer.connect()
        peer.listen(t.tolerances.crossing_us)
    t.link.stop(Stop.QUIT, "four")
    seen = peer.expect_type(Type.QUIT, 15 * S)
    field = seen.packet.string
    sound = not field or (field.endswith(b"\0") and len(field) % 4 == 0)
    t.must(sound, f"the reason field is {field!r}", seen.frame)
    t.observe("reason of QUIT", seen.packet.text)
    if not t.link.real_time:  # there the client sends what it likes
        t.must(
            seen.packet.text in ("four", ""),
            f"QUIT has the reason {seen.packet.text!r}",
            expected="'four', the reason that the client gave",
        )
        t.should(
            seen.packet.text == "four",
            "QUIT has no reason",
            seen.frame,
            expected="the reason that the client gave (AMB-03)",
        )
    peer.send(peer.forge.packet(Type.QUITACK))
    peer.expect_failure()


@case("ABORT-01", roles=ALL_ROLES, needs=(Feature.ABORT,))
def test_whoever_aborts_closes_at_once(t: Case) -> None:
    peer = t.peer(4096)
    with t.preamble():
        peer.connect()
        peer.listen(QUIET_US)
    t.link.stop(Stop.ABORT, "the implementation has had enough")
    peer.expect_type(Type.ABORT)
    t.should(
        t.link.status().closed,
        "the connection is still there after its ABORT",
        expected="an end that has forgotten the connection",
    )
    if not isinstance(peer, ReceiverPeer):
        peer.send_keepalive()
    else:
        peer.go(0)
    served = (Type.DATA, Type.LDATA, Type.CONTROL, Type.NULL_ACK, Type.KEEPALIVE, Type.DONE, Type.QUIT)
    peer.silence(served, 5 * S, "nothing may follow ABORT")
    peer.expect_failure()


@case("ABORT-02", "ABORT-03", roles=ALL_ROLES, variants=("idle", "mid-buffer"))
def test_abort_closes_without_any_answer(t: Case) -> None:
    peer = t.peer(4096, **SLOW)
    with t.preamble():
        peer.connect()
        if t.variant == "mid-buffer":
            into_the_middle_of_a_buffer(peer)
    if not isinstance(peer, ReceiverPeer):
        peer.answer_controls(False)  # an end that aborts sends nothing more
    peer.send_abort()
    # What was on its way may still come; an answer may not.
    answers = (Type.ABORT, Type.QUIT, Type.QUITACK, Type.REFUSED, Type.DONE)
    peer.silence(answers, t.tolerances.crossing_us, "ABORT must not be answered")
    if t.link.tells_outcome:
        t.observe("an ABORT is accepted", "at once" if t.link.status().failed else "after a wait")
    peer.silence(Type, S, "nothing may follow ABORT")
    peer.expect_failure()


@case("ABORT-04", roles=tuple(role for role in ALL_ROLES if role.active))
def test_abort_during_setup_ends_the_attempt(t: Case) -> None:
    peer = t.peer()
    with t.preamble():
        peer.await_open()
    peer.send_abort()
    peer.listen(t.tolerances.crossing_us)
    peer.silence([Type.OPEN], 5 * S, "no OPEN may follow ABORT")
    peer.expect_failure()
