# SPDX-License-Identifier: GPL-2.0-or-later
"""CLOSE: the end of a successful transfer (RFC 998 5.3.1)."""

from netblt_conformance.cases.case import ALL_ROLES, RECEIVERS, SENDERS, Case, case
from netblt_conformance.common.errors import NotSupportedError
from netblt_conformance.common.model import MICROSECONDS_PER_S as S
from netblt_conformance.common.tolerances import QUIET_US
from netblt_conformance.common.verdicts import Cause
from netblt_conformance.packets.packets import Kind, Type
from netblt_conformance.peer import ReceiverPeer
from netblt_conformance.peer.receiver import CONTROL_TIMER_MS

SLOW_ROUND_TRIP_US = 70 * S
MOST_PUBLISHED_MS = 65535

REPEATS_OF_OK = 3
FEWER = 1000  # of a full buffer a sender may not know that it is the last (AMB-41)


@case("CLOSE-01", roles=RECEIVERS)
def test_the_receiver_is_done_only_when_its_last_message_is_acknowledged(t: Case) -> None:
    peer = t.sender(1024, max_buffers=1)
    with t.preamble():
        peer.connect()
        peer.require(buffer_size=1024)
        go = peer.expect_go(0)
        peer.answer_controls(False)
        peer.withhold_ack(at=go.seq)
        peer.send_buffer(0)
    early = "DONE although the last OK is not acknowledged"
    heard = peer.listen(QUIET_US)  # an end that is done sends no more: the OK or repeats must not be requested
    done = [seen for seen in heard if seen.packet.type is Type.DONE]
    t.must(not done, early, done[0].frame if done else None, expected="DONE when the last OK is acknowledged")
    peer.expect_ok(0)
    peer.expect_repeats(2)
    done = [seen for seen in peer.seen if seen.packet.type is Type.DONE]
    t.must(not done, early, done[0].frame if done else None, expected="DONE when the last OK is acknowledged")
    t.must(
        not t.link.status().closed,
        "closed although the last OK is not acknowledged",
        expected="an open connection until the last OK is acknowledged",
    )
    peer.acknowledge()
    peer.expect_success()
    t.expect_delivered(peer.data)


@case("CLOSE-01", roles=RECEIVERS)
def test_the_receiver_is_not_done_while_an_earlier_buffer_has_holes(t: Case) -> None:
    peer = t.sender(2 * 1024, max_buffers=2)
    with t.preamble():
        peer.connect()
        peer.require(buffer_size=1024, max_buffers=2)
        peer.require_gos(2)
        peer.send_buffer(0, omit=[1])
        peer.send_buffer(1)
        peer.expect_ok(1)
    heard = peer.listen(QUIET_US)
    done = [seen for seen in heard if seen.packet.type is Type.DONE]
    t.must(
        not done,
        "DONE although buffer 0 has a hole",
        done[0].frame if done else None,
        expected="DONE when every buffer is complete",
    )
    t.must(
        not t.link.status().succeeded,
        "success was reported although buffer 0 has a hole",
        expected="success when every buffer is complete",
    )
    peer.finish()
    peer.expect_success()
    t.expect_delivered(peer.data)


def all_but_one_confirmed(peer: ReceiverPeer) -> int:
    """Both buffers have come and one has its OK. The number of the other: the first one, where both may be outstanding
    together."""
    peer.go_in_turn(0, 1)
    peer.expect_buffer(0)
    peer.expect_buffer(1)
    if peer.unconfirmed == [0, 1]:
        peer.ok(1)
        peer.expect_ack()
    return peer.unconfirmed[0]


@case("CLOSE-02", roles=SENDERS)
def test_the_sender_is_not_done_before_every_buffer_has_its_ok(t: Case) -> None:
    peer = t.receiver(1024 + FEWER)
    with t.preamble():
        peer.connect()
        peer.require(buffer_size=1024)
        waits = all_but_one_confirmed(peer)
    peer.listen(3 * S)
    t.must(
        not t.link.status().succeeded,
        f"success was reported although buffer {waits} has no OK",
        expected="success when every buffer has its OK",
    )
    peer.finish()
    peer.expect_success()


@case("CLOSE-02", roles=SENDERS)
def test_a_receiver_that_dies_before_the_last_ok_makes_the_transfer_fail(t: Case) -> None:
    peer = t.receiver(1024 + FEWER, iut={"death_timer_s": 3})
    with t.preamble():
        peer.connect()
        peer.require(buffer_size=1024)
        t.require_death_timer(peer)
        all_but_one_confirmed(peer)
    peer.go_silent()
    t.expect_death(peer)


@case("CLOSE-03", roles=SENDERS)
def test_the_final_ok_is_acknowledged(t: Case) -> None:
    peer = t.receiver(FEWER)
    with t.preamble():
        peer.connect()
        peer.require(buffer_size=1024)
        peer.go(0)
        peer.expect_buffer(0)
    ok = peer.ok(0)[0]
    peer.expect_ack(ok.seq)
    peer.send_done()
    peer.expect_success()


REPEATS = {"half and whole": (2, 1), "whole": (1,), "whole of 2 s": (1,), "three times": (4, 2, 1)}


@case("CLOSE-04", "CLOSE-05", roles=SENDERS, variants=tuple(REPEATS))
def test_an_ok_repeated_within_the_published_control_timer_is_acknowledged_again(t: Case) -> None:
    peer = t.receiver(FEWER)
    peer.control_timer_ms = 2000 if t.variant.endswith("2 s") else CONTROL_TIMER_MS
    with t.preamble():
        peer.connect()
        peer.require(buffer_size=1024)
        peer.go(0)
        peer.expect_buffer(0)
        ok = peer.ok(0)[0]
        peer.expect_ack(ok.seq)
    began_us = peer.now_us
    for share in REPEATS[t.variant]:  # at this share of the published value
        peer.listen(max(0, began_us + peer.ms(peer.control_timer_ms) // share - 2 * t.link.delay_us - peer.now_us))
        peer.send_control([ok])
        peer.expect(
            lambda packet: packet.type is Type.NULL_ACK and packet.high_seq >= ok.seq,
            peer.ack_deadline_us,
            "the repeated OK to be acknowledged during the dally",
        )
    dally_us = peer.now_us
    peer.expect_closed("the sender to close without DONE")
    t.observe("dally without DONE, ms", (peer.now_us - dally_us) // 1000)
    peer.expect_success()


@case("CLOSE-04", roles=SENDERS)
def test_the_dally_follows_the_newest_control_timer(t: Case) -> None:
    peer = t.receiver(1024 + FEWER, max_buffers=1)
    with t.preamble():
        peer.connect()
        peer.require(buffer_size=1024)
        for number, published_ms in enumerate((100, 2000)):
            peer.control_timer_ms = published_ms
            peer.go(number)
            peer.expect_buffer(number)
            ok = peer.ok(number)[0]
            peer.expect_ack(ok.seq)
    peer.listen(peer.ms(peer.control_timer_ms) - 2 * t.link.delay_us)
    peer.send_control([ok])
    peer.expect(
        lambda packet: packet.type is Type.NULL_ACK and packet.high_seq >= ok.seq,
        peer.ack_deadline_us,
        "the repeated OK to be acknowledged: its receiver's control timer has grown since the first OK",
    )


@case("CLOSE-06", "CLOSE-02", roles=SENDERS)
def test_a_done_ends_the_transfer(t: Case) -> None:
    peer = t.receiver(1024)
    with t.preamble():
        peer.connect()
    peer.finish()
    peer.expect_closed("the sender to close after DONE")
    t.must(
        not t.link.status().failed,
        "DONE turned success into failure, though every buffer has its OK",
        violated="CLOSE-02",
        expected="success, which the last OK has decided",
    )
    peer.expect_success()


@case("CLOSE-06", roles=ALL_ROLES, kills_nothing="the core frees a connection that has closed, with all its timers")
def test_nothing_follows_the_end_of_a_transfer(t: Case) -> None:
    """KEEPALIVEs are for the idle periods of an open connection (RFC 998 5.1)."""
    death_s = 4
    peer = t.peer(1024, own={"death_timer_s": death_s})
    with t.preamble():
        peer.connect()
        peer.finish()
        peer.expect_success()
        if not t.link.tells_outcome:
            raise NotSupportedError("it does not report its end")
        peer.expect_closed()
        peer.go_silent()
        peer.listen(2 * t.link.delay_us + QUIET_US)  # what was on its way
    late = peer.listen(2 * death_s * S)
    t.must(
        not late,
        f"{late[0].packet if late else ''} came after it had closed",
        late[0].frame if late else None,
        expected="no packet of a connection that is closed",
    )


@case("CLOSE-06", roles=RECEIVERS)
def test_done_is_sent_at_most_once(t: Case) -> None:
    peer = t.sender(1024)
    with t.preamble():
        peer.connect()
        peer.finish()
        peer.expect_success()
    peer.listen(2 * S)
    count = sum(seen.packet.type is Type.DONE for seen in peer.seen)
    t.observe("DONE packets", count)
    t.should(
        count <= 1, f"DONE was sent {count} times", expected="one DONE, which is neither acknowledged nor repeated"
    )


@case("CLOSE-07", roles=RECEIVERS)
def test_ok_publishes_the_control_timer(t: Case) -> None:
    peer = t.sender(1024, max_buffers=1)
    with t.preamble():
        peer.connect()
        go = peer.expect_go(0)
        peer.answer_controls(False)
        peer.withhold_ack(at=go.seq)
        peer.send_buffer(0)
    ok = peer.expect_ok(0)
    first = peer.first_seen(ok.seq)
    t.must(
        ok.control_timer_ms > 0,
        "OK publishes a control timer of 0 ms",
        first.frame,
        expected="a control timer that is greater than zero",
    )
    slack_us = t.tolerances.crossing_us if t.link.real_time else peer.ms(2)
    # A queue in several CONTROLs, or each CONTROL twice for safety: that is no repeat by the timer yet.
    together = peer.listen(slack_us)
    times_us = [max(seen.time_us for seen in (first, *together) if seen.packet.type is Type.CONTROL)]
    gaps_us: list[int] = []
    published_us = peer.ms(ok.control_timer_ms)
    # A coarse clock may shorten the first repeat, whatever else makes a receiver repeat another one: not all of them.
    while not gaps_us or (len(gaps_us) < REPEATS_OF_OK and max(gaps_us) < published_us // 2 - slack_us):
        repeat = peer.expect_control()
        gaps_us.append(repeat.time_us - times_us[-1])
        times_us.append(repeat.time_us)
    t.observe("published control timer and first repeat, ms", f"{ok.control_timer_ms} and {gaps_us[0] // 1000}")
    text = f"OK publishes a control timer of {ok.control_timer_ms} ms, but is repeated "
    late = (
        f"{text}after {gaps_us[0] / 1000:g} ms only: the dally of a sender with the published value has ended by then"
    )
    t.must(
        gaps_us[0] <= 2 * published_us + slack_us,
        late,
        repeat.frame,
        expected=f"repetition within {2 * published_us / 1000:g} ms",
    )
    early = f"{text}every {max(gaps_us) / 1000:g} ms"
    timer = "a control timer in milliseconds, high byte first, that the repetitions keep"
    t.must(max(gaps_us) >= published_us // 2 - slack_us, early, repeat.frame, expected=timer)


@case("CLOSE-07", roles=RECEIVERS)
def test_a_control_timer_beyond_16_bits_is_not_published_as_a_small_one(t: Case) -> None:
    if t.link.real_time:
        raise NotSupportedError("a control timer of more than a minute takes too long on a real link")
    peer = t.sender(1024, max_buffers=1)
    with t.preamble():
        peer.connect_without_acknowledging()
        go = peer.expect_go(0)
        peer.listen(SLOW_ROUND_TRIP_US)
        peer.withhold_ack(at=go.seq)
        peer.send_buffer(0)
        ok = peer.expect_ok(0)
    first, published_us = peer.first_seen(ok.seq), peer.ms(ok.control_timer_ms)
    t.observe("control timer published after a round trip of 70 s, ms", ok.control_timer_ms)
    if ok.control_timer_ms == MOST_PUBLISHED_MS:  # any larger value is published so
        return
    latest_us = 2 * published_us + t.tolerances.crossing_us
    again = [seen for seen in peer.listen(latest_us) if seen.packet.holds(ok.seq)]
    t.must(
        bool(again),
        f"OK publishes a control timer of {ok.control_timer_ms} ms after a round trip of 70 s, and is not repeated",
        first.frame,
        Cause.ABSENCE,
        expected=f"repetition within {2 * published_us / 1000:g} ms",
    )


@case("CLOSE-08", roles=SENDERS)
def test_repairs_are_served_after_the_last_buffer_was_sent(t: Case) -> None:
    peer = t.receiver(1024 + FEWER)
    with t.preamble():
        peer.connect()
        peer.require(buffer_size=1024)
        waits = all_but_one_confirmed(peer)
    peer.resend(waits, [1])
    peer.expect_copies(waits, 1)
    peer.message(Kind.OK, peer.first_buffer + waits)
    peer.send_control()
    peer.expect_ack()
    peer.send_done()
    peer.expect_success()
