# SPDX-License-Identifier: GPL-2.0-or-later
"""TIMER: control, data and death timers, KEEPALIVE (RFC 998 5.2)."""

import dataclasses

from netblt_conformance.cases.case import ALL_ROLES, RECEIVERS, SENDERS, Case, case
from netblt_conformance.common.errors import NotSupportedError
from netblt_conformance.common.model import MICROSECONDS_PER_S as S
from netblt_conformance.common.model import Feature
from netblt_conformance.common.tolerances import QUIET_US, death_max_us
from netblt_conformance.common.verdicts import Cause
from netblt_conformance.common.waits import Awaited
from netblt_conformance.links.base import STRANGER_ADDRESS, TESTER_ADDRESS
from netblt_conformance.packets.packets import Kind, Type
from netblt_conformance.peer import ReceiverPeer, SenderPeer
from netblt_conformance.peer.exchange import Seen

OPENING = "copies of OPEN or RESPONSE"


@case("TIMER-01", roles=RECEIVERS)
def test_a_control_that_is_not_acknowledged_is_repeated_again_and_again(t: Case) -> None:
    peer = t.sender(2048)
    with t.preamble():
        peer.connect_without_acknowledging()
        peer.expect_go(0)
    first_us, longest_us = peer.expect_repeats(1), peer.expect_repeats(4)
    t.observe("longest gap between repeats of CONTROL, ms", longest_us // 1000)
    t.observe("repeats of CONTROL", "at growing intervals" if longest_us > 5 * first_us // 4 else "at one pace")


@case("TIMER-01", roles=RECEIVERS)
def test_only_the_death_timer_ends_the_repetition_of_control(t: Case) -> None:
    peer = t.sender(2048)
    with t.preamble():
        peer.connect_without_acknowledging()
        peer.expect_go(0)
    began_us = peer.now_us  # the tester's KEEPALIVEs keep the connection alive
    repeats, gap_us, death_us = 0, 0, peer.terms.iut_death_timer_s * S
    while repeats < 12 and not (t.link.real_time and gap_us > death_us):  # a timer that doubles soon takes hours
        gap_us, repeats = peer.expect_repeats(1), repeats + 1
    t.observe(f"{repeats} repeats of CONTROL took, s", (peer.now_us - began_us) // S)
    peer.finish()
    peer.expect_success()


@case("TIMER-02", roles=RECEIVERS)
def test_the_acknowledgement_of_everything_stops_the_control_timer(t: Case) -> None:
    peer = t.sender(2048, max_buffers=2)
    with t.preamble():
        peer.connect_without_acknowledging()
        peer.expect_go(0)
        peer.listen(t.tolerances.crossing_us)
        gap_us = peer.expect_repeats(2)
    highest = max(peer.messages)
    peer.acknowledge(highest)
    stale = peer.repeated(highest, 4 * gap_us)
    t.must(
        not stale,
        "CONTROL was repeated after all its messages were acknowledged",
        stale[0].frame if stale else None,
        expected="no CONTROL without messages",
    )


@case("TIMER-02", roles=RECEIVERS)
def test_the_acknowledgement_of_a_part_does_not_stop_the_control_timer(t: Case) -> None:
    # One buffer at a time: OK(0) and GO(1) are out. While GO(1) is not acknowledged no data timer runs, so a repetition
    # can only come from the control timer.
    peer = t.sender(2048, max_buffers=1)
    with t.preamble():
        peer.connect()
        peer.expect_go(0)
        peer.listen(t.tolerances.crossing_us)
        peer.answer_controls(False)
        peer.withhold_ack()
        next_go = len(peer.messages)  # nothing but GOs has come, one or more (AMB-29)
        peer.send_buffer(0)
        peer.expect_ok(0)
        peer.require_go_behind_unacknowledged(next_go)
    highest = max(peer.messages)
    peer.acknowledge(highest - 1)
    peer.listen(t.tolerances.crossing_us)
    repeat = peer.expect_control()
    held = [message.seq for message in repeat.packet.messages]
    t.must(
        held[:1] == [highest],
        f"CONTROL holds {held}, {highest - 1} was acknowledged",
        repeat.frame,
        expected="messages that are not acknowledged",
    )


@case("TIMER-04", roles=RECEIVERS, variants=("acknowledged", "not acknowledged"))
def test_the_data_timer_runs_from_the_acknowledgement_of_the_go(t: Case) -> None:
    peer = t.sender(2048, max_buffers=1)
    with t.preamble():
        peer.answer_controls(t.variant == "acknowledged")
        if t.variant != "acknowledged":
            peer.withhold_ack(at=0)
        peer.connect()
        peer.expect_go(0)
    if t.variant == "acknowledged":
        began_us = peer.now_us
        request = peer.expect_resend(0)
        t.observe("RESEND for a buffer without data, ms after its ack", (peer.now_us - began_us) // 1000)
        t.must(bool(request.packets), "RESEND without any entry", expected="the missing packets")
    else:
        peer.expect_repeats(3)
        t.must(
            not peer.find(Kind.RESEND, 0),
            "RESEND although the GO was never acknowledged",
            expected="no RESEND before the GO is acknowledged",
        )
    peer.finish()
    peer.expect_success()


@case("TIMER-07", "TIMER-04", roles=RECEIVERS)
def test_a_later_buffer_of_which_nothing_comes_is_requested(t: Case) -> None:
    """A NULL-ACK acknowledged its GO together with that of the buffer before, which arrives whole."""
    peer = t.sender(3 * 1024, buffer_size=1024, max_buffers=2)
    with t.preamble():
        peer.connect()
        peer.require(buffer_size=1024, max_buffers=2)
        t.run_first_buffer(peer)
        peer.require_gos(2, first=1)
        peer.lost_buffers.add(2)
        peer.send_buffer(1)
        peer.expect_ok(1)
    peer.expect_resend(2)
    peer.finish()
    t.expect_delivered_by(peer)


@case("TIMER-04", "TIMER-07", roles=RECEIVERS)
def test_the_data_timer_runs_from_the_acknowledgement_of_a_request_that_some_of_its_data_overtook(t: Case) -> None:
    lost = [1, 2]
    peer = t.sender(1024, max_buffers=1)
    what = "a RESEND for what is missing of buffer 0"
    with t.preamble():
        peer.connect()
        peer.require(packets_per_buffer=4)
        peer.expect_go(0)
        peer.listen(t.tolerances.crossing_us)
        peer.answer_controls(False)
        peer.withhold_ack()
        acked = peer.ack
        peer.send_buffer(0, omit=lost)
        listed = peer.expect_request_after(0, acked, what, Awaited.RESEND).packets
    peer.send_packets(0, [number for number in listed if number in lost][:1])
    peer.listen(t.tolerances.crossing_us)
    newest = max(peer.messages)
    peer.acknowledge()
    peer.expect_request_after(0, newest, what, Awaited.RESEND)  # the other one was lost again
    peer.finish()
    t.expect_delivered_by(peer)


@case("TIMER-07", roles=RECEIVERS, variants=("KEEPALIVEs", "acknowledgements of nothing new"))
def test_what_comes_does_not_put_off_the_data_timer(t: Case) -> None:
    peer = t.sender(1024)
    with t.preamble():
        peer.connect()
        peer.require(packets_per_buffer=3)
        peer.expect_go(0)
        peer.send_buffer(0, omit=[1])
    until_us = peer.now_us + peer.data_timer_max_us
    while not peer.find(Kind.RESEND, 0) and peer.now_us < until_us:
        if t.variant == "KEEPALIVEs":
            peer.send_keepalive()
        else:
            peer.null_ack()
        peer.listen(peer.ms(100))
    t.must(
        bool(peer.find(Kind.RESEND, 0)),
        f"no RESEND for packet 1 of buffer 0 as long as {t.variant} come",
        cause=Cause.ABSENCE,
        expected="RESEND when the data timer expires",
    )
    peer.finish()
    t.expect_delivered_by(peer)


@case("TIMER-01", roles=RECEIVERS, needs=(Feature.CLIENT_STALL,))
def test_control_is_repeated_while_the_client_has_no_buffer(t: Case) -> None:
    if t.link.real_time:
        raise NotSupportedError(
            "a program has memory of its own: the moment at which its client's stall begins is not known"
        )
    peer = t.sender(2048, max_buffers=2, iut={"client_stall_from": 1, "client_stall_until_us": 120 * S})
    with t.preamble():
        peer.connect_without_acknowledging()
        peer.expect_go(0)
    peer.expect_repeats(3)
    peer.finish(within_us=180 * S)
    t.expect_delivered_by(peer)


@case("TIMER-08", roles=RECEIVERS)
def test_a_complete_buffer_is_not_asked_for(t: Case) -> None:
    peer = t.sender(2048, max_buffers=1)
    with t.preamble():
        peer.connect()
        peer.expect_go(0)
        peer.send_buffer(0)
        peer.expect_ok(0)
    peer.listen(2 * S)
    t.must(not peer.find(Kind.RESEND, 0), "RESEND for a buffer that had its OK", expected="no RESEND after OK")


@case("TIMER-08", roles=RECEIVERS)
def test_a_buffer_that_is_complete_when_its_request_is_acknowledged_is_not_asked_for(t: Case) -> None:
    peer = t.sender(2 * 1024, max_buffers=2)
    with t.preamble():
        peer.connect()
        peer.require(packets_per_buffer=3, max_buffers=2)
        peer.require_gos(2)
        peer.answer_controls(False)
        peer.withhold_ack()
        acked = peer.ack
        for number in range(2):  # buffer 0 stays as it is, so that buffer 1 is not over and done with
            peer.send_buffer(number, omit=[1])

        def asked() -> bool:
            return any(request.seq > acked for request in peer.find(Kind.RESEND, 1))

        peer.until(asked, peer.data_timer_max_us, "RESEND for buffer 1")
        peer.send_packet(1, 1)
        peer.expect_ok(1)
    newest = max(peer.messages)
    peer.acknowledge()
    peer.listen(2 * S)
    again = [request for request in peer.find(Kind.RESEND, 1) if request.seq > newest]
    t.must(not again, f"{again[0] if again else ''}, which had its OK", expected="no RESEND after OK")
    peer.finish()
    peer.expect_success()


@case("TIMER-10", roles=ALL_ROLES, variants=("silence", "KEEPALIVEs", "other packets", OPENING))
def test_the_death_timer_ends_a_connection_only_when_the_peer_is_silent(t: Case) -> None:
    death_s = 3
    peer = t.peer(2048, iut={"death_timer_s": death_s})
    with t.preamble():
        peer.connect()
        t.require_death_timer(peer)
        if t.variant == OPENING:
            t.run_first_buffer(peer)
    declared_us = peer.terms.iut_death_timer_s * S
    if t.variant != "silence":
        speak(peer, 3 * declared_us, t.variant)
        t.must(not t.link.status().failed, f"gave up although {t.variant} came", expected="an open connection")
        peer.finish()
        peer.expect_success()
        return
    # In the middle of the transfer: a passive program may go on waiting where a peer sent an OPEN and nothing else,
    # because any host can forge one.
    t.run_first_buffer(peer)
    peer.go_silent()
    silent_since_us = peer.now_us
    if not t.expect_death(peer):
        return
    waited_us = peer.now_us - silent_since_us
    last = peer.seen[-1].packet.type if peer.seen and peer.now_us - peer.seen[-1].time_us < S else None
    t.observe("last packet at death", "ABORT" if last is Type.ABORT else "none")
    text = f"gave up after {waited_us / S:g} s of silence, {peer.terms.iut_death_timer_s} s were declared"
    t.must(waited_us >= declared_us - t.tolerances.crossing_us - 2 * QUIET_US, text)


@case("TIMER-10", roles=ALL_ROLES, control=True, variants=("another port", "another address"))
def test_packets_of_others_do_not_keep_a_connection_alive(t: Case) -> None:
    """RFC 998 5.2.3: the death timer never expires while the peer sends packets, and here it sends none."""
    source = STRANGER_ADDRESS if t.variant == "another address" else TESTER_ADDRESS
    if source is STRANGER_ADDRESS and Feature.SECOND_ADDRESS not in t.link.features:
        raise NotSupportedError("this link has no second address")
    peer = t.peer(4096, iut={"death_timer_s": 3})
    with t.preamble():
        peer.connect()
        t.require_death_timer(peer)
        t.run_first_buffer(peer)
    forge = peer.forge if source is STRANGER_ADDRESS else dataclasses.replace(peer.forge, local_port=peer.own_port ^ 1)
    peer.go_silent()
    until_us = peer.now_us + death_max_us(peer.terms.iut_death_timer_s)
    while peer.now_us < until_us and not t.link.status().failed:
        if t.stimulus:
            t.link.send(forge.packet(Type.KEEPALIVE), source)
        peer.listen(S // 2)
    alive = not t.link.status().failed
    text = f"{peer.terms.iut_death_timer_s} s were declared, the peer is silent for longer, and no failure is reported"
    if alive and t.role.sender:  # a sender can close, it need not (AMB-65)
        t.should(False, text, expected="an end that gives up (AMB-65)")
    elif alive:
        t.must(False, f"{text}: KEEPALIVEs come from {t.variant}" if t.stimulus else text, expected="a failure")


@case("TIMER-10", roles=RECEIVERS)
def test_copies_of_data_that_it_has_keep_a_receiver_alive(t: Case) -> None:
    peer = t.sender(2048, iut={"death_timer_s": 3})
    with t.preamble():
        peer.connect()
        t.require_death_timer(peer)
        peer.require(packets_per_buffer=2)
        peer.expect_go(0)
        peer.send_packet(0, 0)
        peer.listen(t.tolerances.crossing_us)
    declared_us = peer.terms.iut_death_timer_s * S
    peer.go_silent()
    for _ in range(12):
        peer.send_packet(0, 0)
        peer.listen(3 * declared_us // 12)
    peer.speak_regularly()
    t.must(not t.link.status().failed, "gave up although copies of data came", expected="an open connection")
    peer.finish()
    t.expect_delivered_by(peer)


def speak(peer: ReceiverPeer | SenderPeer, span_us: int, what: str) -> None:
    """The tester has nothing new to send for so long, and shows often enough that it is there."""
    if what == "KEEPALIVEs":
        peer.listen(span_us)
        return
    peer.go_silent()
    for _ in range(12):
        if what == OPENING:
            (peer.send_response if peer.role.active else peer.send_open)()
        else:
            peer.show_life()
        peer.listen(span_us // 12)
    peer.speak_regularly()


@case("TIMER-10", roles=RECEIVERS)
def test_data_alone_keep_a_receiver_from_giving_up(t: Case) -> None:
    peer = t.sender(12 * 64, buffer_size=12 * 64, packet_size=64, iut={"death_timer_s": 3})
    with t.preamble():
        peer.connect()
        peer.expect_go(0)
        t.require_death_timer(peer)
    count = peer.packet_count(0)
    peer.go_silent()
    for number in range(count):
        peer.listen(3 * peer.terms.iut_death_timer_s * S // 12)
        peer.send_packet(0, number % count)
    t.must(not t.link.status().failed, "gave up although data came", expected="an open connection")
    peer.speak_regularly()
    peer.finish()
    peer.expect_success()


@case("TIMER-10", roles=ALL_ROLES)
def test_the_death_timer_ends_a_transfer_that_was_begun_and_later_packets_are_not_served(t: Case) -> None:
    peer = t.peer(4096, iut={"death_timer_s": 3})
    with t.preamble():
        peer.connect()
        t.require_death_timer(peer)
        into_the_middle(peer)
    peer.go_silent()
    if not t.expect_death(peer):
        return
    peer.listen(t.tolerances.crossing_us)
    if isinstance(peer, ReceiverPeer):
        peer.ok(0)
    else:
        peer.send_packet(0, peer.packet_count(0) - 1)
    late = {Type.ABORT, Type.REFUSED}  # a late packet may be answered so (AMB-55)
    served = [seen for seen in peer.listen(5 * S) if seen.packet.type not in late]
    text = f"the peer was reported dead to the client, but {served[0] if served else 'a packet'} came"
    frame = served[0].frame if served else None
    if t.role.sender:  # a sender can close, it need not (AMB-65)
        t.should(not served, text, frame, expected="an end that gives up (AMB-65)")
    else:  # its CONTROLs are not acknowledged: it shuts down (RFC 998 5.2.1)
        t.must(not served, text, frame)


def into_the_middle(peer: ReceiverPeer | SenderPeer) -> None:
    """Something of buffer 0 is through; a sender waits for its OK, a receiver for the rest."""
    if isinstance(peer, ReceiverPeer):
        peer.go(0)
        peer.expect_buffer(0)
    else:
        peer.require(packets_per_buffer=2)
        peer.expect_go(0)
        peer.send_packet(0, 0)


STRANGE = "after a foreign opening with a longer death timer"
IDLE = (
    *("before the first buffer", "between two buffers", "in the middle of a buffer", "while the peer sends packets"),
    STRANGE,
)


@case("TIMER-11", roles=ALL_ROLES, variants=IDLE)
def test_an_idle_end_speaks_often_enough_for_the_declared_death_timer(t: Case) -> None:
    declared_s = 4
    peer = t.peer(4096, own={"death_timer_s": declared_s})
    with t.preamble():
        peer.connect()
        if t.variant == "between two buffers":
            idle_between_buffers(t, peer)
        elif t.variant == "in the middle of a buffer":
            into_the_middle(peer)
        elif t.variant == STRANGE:
            foreign = {"unique_id": peer.unique_id ^ 0x55555555, "death_timer_s": 0xFFFF}
            _ = peer.send_response(**foreign) if t.role.active else peer.send_open(**foreign)
    peer.listen(S)
    heard: list[Seen] = []
    began_us = peer.now_us
    for _ in range(32):  # what it receives does not replace what it has to send
        if t.variant == "while the peer sends packets":
            peer.send_keepalive()
        heard += peer.listen(2 * declared_s * S // 32)
    t.observe("packets in a declared death timer of 4 s", len(heard) / 2)
    t.expect_signs_of_life(heard, began_us, peer.now_us, declared_s)


@case("TIMER-11", "OPEN-08", roles=tuple(role for role in ALL_ROLES if role.active))
def test_a_repeated_response_with_another_death_timer_leaves_keepalive_as_it_was(t: Case) -> None:
    declared_s = 4
    peer = t.peer(4096, own={"death_timer_s": declared_s})
    with t.preamble():
        peer.connect()
        t.run_first_buffer(peer)
    peer.send_response(death_timer_s=0xFFFF)
    peer.listen(S)
    began_us = peer.now_us
    came = peer.listen(3 * declared_s * S)
    t.expect_signs_of_life(came, began_us, peer.now_us, declared_s)
    peer.finish()
    peer.expect_success()


def idle_between_buffers(t: Case, peer: ReceiverPeer | SenderPeer) -> None:
    """One buffer is transferred and confirmed, and everything acknowledged; then neither end has anything to send."""
    t.run_first_buffer(peer)
    if isinstance(peer, ReceiverPeer):
        ok = peer.ok(0)[0]
        peer.expect_ack(ok.seq)
    else:
        peer.expect_ok(0)


@case("CTRL-10", "TIMER-11", roles=SENDERS, needs=(Feature.CLIENT_STALL,))
def test_a_sender_acknowledges_and_speaks_while_its_client_has_nothing_to_send(t: Case) -> None:
    declared_s, stalled_until_us = 4, 20 * S
    stall = {"client_stall_from": 2, "client_stall_until_us": stalled_until_us}
    peer = t.receiver(3 * 1024, max_buffers=3, own={"death_timer_s": declared_s}, iut=stall)
    with t.preamble():
        peer.connect()
        peer.require(buffer_size=1024)
        peer.go(0)
        peer.expect_buffer(0)
        peer.make_room()
        peer.go(1)
        peer.listen(QUIET_US)  # it may want a third buffer of its client before it begins with the second
        peer.make_room()
    peer.expect_ack(peer.go(2)[0].seq)
    peer.listen(S)
    began_us = peer.now_us
    heard = peer.listen(2 * declared_s * S)
    if peer.now_us < stalled_until_us:
        t.expect_signs_of_life(heard, began_us, peer.now_us, declared_s)
    peer.listen(max(0, stalled_until_us - peer.now_us))
    peer.finish()
    peer.expect_success()


def keepalives(packets: list[Seen]) -> int:
    return sum(seen.packet.type is Type.KEEPALIVE for seen in packets)


@case("TIMER-12", roles=ALL_ROLES, variants=("before the first buffer", "between two buffers"))
def test_a_keepalive_is_not_answered(t: Case) -> None:
    peer = t.peer(2048)
    with t.preamble():
        peer.connect()
        if t.variant == "between two buffers":
            idle_between_buffers(t, peer)
        peer.listen(QUIET_US)
        usual = peer.listen(QUIET_US)  # an implementation may be talkative by itself
    for _ in range(20):
        peer.send_keepalive()
    answers = peer.listen(QUIET_US)
    frame = answers[0].frame if answers else None
    # RFC 998 5.2.3: KEEPALIVEs leave at fixed intervals. Two ends that answer them with KEEPALIVEs never stop.
    extra = keepalives(answers) - keepalives(usual)
    t.must(extra < 15, f"{extra} KEEPALIVEs answer 20 KEEPALIVEs", frame, expected="no answer")
    extra = len(answers) - len(usual)  # a NULL-ACK as an answer is needless, and RFC 998 does not forbid it
    t.should(extra < 15, f"{extra} packets answer 20 KEEPALIVEs", frame, expected="no answer")
    peer.finish()
    peer.expect_success()
