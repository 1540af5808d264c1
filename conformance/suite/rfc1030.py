# SPDX-License-Identifier: GPL-2.0-or-later
"""What RFC 1030 reports of real networks: control packets lost, LDATA lost or late, long delays, a sender deaf while it
sends; and its rules for an implementation that works well there."""

from collections.abc import Callable, Iterable

from netblt_conformance.cases.case import RECEIVERS, SENDERS, Case, case
from netblt_conformance.common.errors import NotSupportedError
from netblt_conformance.common.tolerances import QUIET_US, transfer_time_us
from netblt_conformance.packets.packets import Kind, Message, Packet
from netblt_conformance.peer import SenderPeer
from netblt_conformance.peer.exchange import UnmetError

DELAY_MS = 600  # the one-way delay over the satellites of RFC 1030
PACED = {"buffer_size": 2048, "burst_size": 4, "burst_interval_ms": 20}
# A buffer takes longer than what an implementation adds to a data timer.
SLOW = {**PACED, "burst_interval_ms": 100}


def first_with(kind: Kind) -> Callable[[Packet], bool]:
    """Picks every CONTROL until the one after the first that holds such a message."""
    hit: list[Packet] = []

    def lose(packet: Packet) -> bool:
        if hit or not any(message.kind is kind for message in packet.messages):
            return False
        hit.append(packet)
        return True

    return lose


LOST = {"GO": Kind.GO, "OK": Kind.OK, "RESEND": Kind.RESEND}


@case("CTRL-04", "TIMER-01", "R1030-02", roles=RECEIVERS, variants=("OK", "OK and GO", "RESEND", "GO"))
def test_a_lost_control_packet_comes_again_with_everything_in_it(t: Case) -> None:
    peer = t.sender(4 * 1024, max_buffers=1 if t.variant == "OK and GO" else 2)
    peer.lose = first_with(LOST[t.variant.partition(" ")[0]])
    with t.preamble():
        peer.connect()
    lost: set[int] = set()

    def lose(buffer: int, packet: int) -> bool:
        first = t.variant == "RESEND" and buffer == 1 and packet == 1 and not lost
        lost.update([packet] if first else [])
        return first

    peer.finish(lose)
    t.expect_delivered_by(peer)


@case("RESEND-05", "TIMER-07", roles=RECEIVERS, variants=("once", "three times"))
def test_an_ldata_lost_again_and_again_is_got_in_the_end(t: Case) -> None:
    left = {"once": 1, "three times": 3}[t.variant]
    peer = t.sender(2 * 1024)
    with t.preamble():
        peer.connect()

    def lose(buffer: int, packet: int) -> bool:
        nonlocal left
        gone = buffer == 0 and packet == peer.packet_count(0) - 1 and left > 0
        left -= gone
        return gone

    peer.finish(lose)
    t.expect_delivered_by(peer)


@case("R1030-05", "RESEND-07", roles=RECEIVERS)
def test_an_ldata_that_overtakes_its_buffer_triggers_no_resend(t: Case) -> None:
    peer = t.sender(2048, **PACED)
    with t.preamble():
        peer.connect()
        peer.expect_go(0)
        peer.require(buffer_size=2048, packet_size=256)
    before = peer.now_us
    for number in (7, 0, 1, 2, 3, 4, 5, 6):  # as when the LDATA takes a shorter way
        peer.send_packet(0, number)
    peer.expect_ok(0)
    early = peer.find(Kind.RESEND, 0)
    held_up = t.link.real_time and peer.now_us - before > peer.ms(15)
    t.should(not early or held_up, f"{early[0] if early else ''}", expected="no RESEND, as nothing was lost (AMB-31)")
    t.expect_delivered_by(peer)


LONG_ENOUGH_US = 40_000  # a timer that outlasts what is on its way


def react_late(peer: SenderPeer, rounds: Iterable[int], delay_ms: int) -> None:
    """Buffer after buffer, every reaction of the tester `delay_ms` late, like over a long path."""
    for number in rounds:
        try:
            peer.expect_go(number, 2 * peer.ms(delay_ms))
        except UnmetError:
            peer.null_ack()  # it may wait for this before its next GO, and there are no data to carry it
            peer.expect_go(number, 20_000_000)
        peer.listen(peer.ms(delay_ms))
        peer.send_buffer(number)  # carries the acknowledgement
        peer.listen(peer.ms(1))


@case("TIMER-03", "R1030-10", roles=RECEIVERS)
def test_the_control_timer_follows_the_round_trip(t: Case) -> None:
    rounds = 10
    peer = t.sender(3 * rounds * 512, buffer_size=512, max_buffers=1)
    with t.preamble():
        peer.answer_controls(False)
        peer.connect()
        peer.require(buffer_size=512)
        react_late(peer, range(rounds), 5)
    quick = peer.expect_ok(rounds - 1)
    react_late(peer, range(rounds, 3 * rounds), 400)
    slow = peer.expect_ok(3 * rounds - 1)
    t.observe("control timer at 5 ms and at 400 ms, ms", f"{quick.control_timer_ms} and {slow.control_timer_ms}")
    fits = slow.control_timer_ms >= 400 and slow.control_timer_ms > quick.control_timer_ms
    text = f"{slow.control_timer_ms} ms are published at a round trip of 400 ms, {quick.control_timer_ms} ms at 5 ms"
    t.should(fits, text)
    peer.finish()
    t.expect_delivered_by(peer)


@case("TIMER-01", roles=RECEIVERS)
def test_a_control_with_news_sets_the_control_timer_again(t: Case) -> None:
    """Whenever the receiver sends a CONTROL it sets the timer (RFC 998 5.2.1), also one that has run for long."""
    if t.link.real_time:
        raise NotSupportedError("on a real link the moment before the end of a timer cannot be met")
    late = 6  # buffers with a long round trip, so that the timer is long
    peer = t.sender((late + 4) * 256, buffer_size=256, burst_size=100, max_buffers=2)
    with t.preamble():
        peer.answer_controls(False)
        peer.connect()
        peer.require(max_buffers=2)
        react_late(peer, range(late), 200)
        peer.answer_controls(True)
        peer.null_ack()
        peer.require_gos(2, first=late)
        peer.listen(QUIET_US)
        peer.answer_controls(False)
        peer.withhold_ack()
        peer.send_buffer(late)
        ok = peer.expect_ok(late)
        set_us, timer_us = peer.first_seen(ok.seq).time_us, peer.ms(ok.control_timer_ms)
        peer.listen(max(0, set_us + 7 * timer_us // 10 - peer.now_us))
        if timer_us < LONG_ENOUGH_US or peer.controls[-1].time_us > set_us + timer_us // 4:
            raise NotSupportedError(f"CONTROL is repeated within a timer of {ok.control_timer_ms} ms")
    peer.send_buffer(late + 1)
    news = peer.first_seen(peer.expect_ok(late + 1).seq)
    peer.listen(peer.ms(2))  # what is new may fill more than one CONTROL
    newest = max(news, peer.controls[-1], key=lambda seen: seen.time_us)
    repeat = peer.expect_control()
    while any(peer.first_seen(message.seq) is repeat for message in repeat.packet.messages):  # its GO may come later
        newest, repeat = repeat, peer.expect_control()
    gap_us, old_us = repeat.time_us - newest.time_us, repeat.time_us - set_us
    t.should(
        gap_us >= timer_us // 2,
        f"CONTROL was repeated {gap_us / 1000:g} ms after {newest.packet} and {old_us / 1000:g} ms after the one "
        f"before the news; the timer is {ok.control_timer_ms} ms",
        repeat.frame,
        expected="the control timer to be set by each CONTROL",
    )
    peer.finish()
    t.expect_delivered_by(peer)


@case("TIMER-01", "DATA-13", "CTRL-14", roles=RECEIVERS)
def test_a_transfer_over_a_path_of_600_ms_completes(t: Case) -> None:
    peer = t.sender(6 * 1024, max_buffers=3)
    with t.preamble():
        peer.answer_controls(False)
        peer.connect()
    react_late(peer, range(peer.buffer_count), 2 * DELAY_MS)
    t.observe("CONTROLs for a transfer with a round trip of 1.2 s", len(peer.controls))
    peer.finish()
    t.expect_delivered_by(peer)


@case("DATA-13", "CTRL-09", "R1030-03", roles=SENDERS)
def test_a_receiver_that_answers_1200_ms_late_gets_every_packet_once(t: Case) -> None:
    peer = t.receiver(4 * 1024, max_buffers=2)
    with t.preamble():
        peer.connect()
        peer.require(buffer_size=1024)
    for number in range(4):
        go = peer.go(number)
        peer.expect_buffer(number)
        peer.listen(peer.ms(2 * DELAY_MS))
        peer.send_control(go)  # by the control timer its acknowledgement is still on the way
        peer.ok(number)
        peer.listen(peer.ms(DELAY_MS))
    copies = {n: dict(buffer.copies) for n, buffer in peer.buffers.items()}
    t.must(
        all(set(c.values()) == {1} for c in copies.values()),
        f"nothing was requested: copies are {copies}",
        expected="one copy of each packet",
    )
    peer.finish()
    peer.expect_success()


@case("CTRL-04", "CTRL-14", roles=RECEIVERS)
def test_a_sender_that_is_deaf_while_it_sends_does_no_harm(t: Case) -> None:
    peer = t.sender(8 * 1024, buffer_size=2048, burst_size=2, burst_interval_ms=20, max_buffers=2)
    with t.preamble():
        peer.connect()
        peer.expect_go(0)
    for number in range(4):
        peer.expect_go(number)
        peer.answer_controls(False)
        peer.withhold_ack()
        peer.send_buffer(number)
        peer.expect_ok(number)
        peer.acknowledge()
    for number in range(4):
        count = len(peer.find(Kind.OK, number))
        t.must(count == 1, f"{count} OK messages for buffer {number}", expected="one OK")
    peer.finish()
    t.expect_delivered_by(peer)


def _share_a_control(peer: SenderPeer, buffer: int) -> bool:
    """Whether the OK of a buffer and the GO of the next one both came, first in one CONTROL."""
    oks, gos = peer.find(Kind.OK, buffer), peer.find(Kind.GO, buffer + 1)
    return bool(oks and gos) and peer.first_seen(oks[0].seq) is peer.first_seen(gos[0].seq)


@case("R1030-01", "R1030-10", roles=RECEIVERS)
def test_ok_and_the_next_go_share_a_control_and_there_is_about_one_for_each_buffer(t: Case) -> None:
    buffers = 30
    peer = t.sender(buffers * 256, buffer_size=256, burst_size=8, burst_interval_ms=5, max_buffers=1)
    with t.preamble():
        peer.connect()
        peer.require(buffer_size=256)
    peer.finish()
    peer.expect_success()
    together = sum(_share_a_control(peer, n) for n in range(buffers - 1))
    t.observe("OK and next GO in one CONTROL", f"{together} of {buffers - 1}")
    t.should(
        together >= (buffers - 1) * 3 // 4,
        f"OK(n) and GO(n+1) were in one CONTROL {together} times only",
        expected="OK(n) and GO(n+1) in one CONTROL",
    )
    limit = buffers * 6 // 5 + (buffers if t.link.real_time else 2)
    t.should(
        len(peer.controls) <= limit,
        f"{len(peer.controls)} CONTROLs for {buffers} buffers without any loss",
        expected="about one CONTROL for each buffer",
    )


@case("R1030-07", "TIMER-09", roles=RECEIVERS)
def test_a_slow_sender_is_not_asked_again_once_its_pace_is_known(t: Case) -> None:
    buffers, each = 8, 8
    peer = t.sender(
        buffers * each * 64, buffer_size=each * 64, packet_size=64, burst_size=1, burst_interval_ms=20, max_buffers=1
    )
    with t.preamble():
        peer.connect()
        peer.require(buffer_size=each * 64, packet_size=64)
    for number in range(buffers):
        peer.expect_go(number, 20_000_000)
        for packet in range(each):
            peer.listen(peer.ms(60))  # a third of the pace that was agreed
            peer.send_packet(number, packet)
        peer.expect_ok(number)
    late = [m for n in range(buffers // 2, buffers) for m in peer.find(Kind.RESEND, n)]
    early = [m for n in range(buffers // 2) for m in peer.find(Kind.RESEND, n)]
    t.observe("RESENDs at a third of the pace, first and second half", f"{len(early)} and {len(late)}")
    t.should(
        not late,
        f"still requests packets that arrive at a steady pace: {late[0] if late else ''}",
        expected="no requests for packets that come in time",
    )
    t.expect_delivered_by(peer)


@case("R1030-11", "DATA-08", roles=RECEIVERS + SENDERS, variants=("1430", "255", "250"))
def test_packet_sizes_that_are_no_multiple_of_four_work(t: Case) -> None:
    size = int(t.variant)
    peer = t.peer(10 * size + 7, buffer_size=4 * size, packet_size=size)
    with t.preamble():
        peer.connect()
    received = peer.finish()
    peer.expect_success()
    t.expect_intact(received, peer.data)


def expect_none_early(t: Case, early: list[Message], due: str) -> None:
    """None of these requests should have come. `due`: when the packets are due."""
    seen = f"requested packets that were not due yet: {early[0] if early else ''}"
    t.should(not early, seen, expected=f"no request before {due}")


@case("TIMER-09", roles=RECEIVERS)
def test_no_packet_is_asked_for_while_data_flow_on_schedule(t: Case) -> None:
    peer = t.sender(8 * 256, buffer_size=8 * 256, burst_size=1, burst_interval_ms=200, max_buffers=1)
    with t.preamble():
        peer.connect()
        peer.expect_go(0)
        peer.require(buffer_size=8 * 256, packet_size=256)
    peer.send_buffer(0)
    peer.expect_ok(0)
    expect_none_early(t, peer.find(Kind.RESEND, 0), "the packets are due")
    t.expect_delivered_by(peer)


@case("TIMER-09", roles=RECEIVERS)
def test_no_packet_is_asked_for_while_data_flow_at_the_pace_that_a_null_ack_reported(t: Case) -> None:
    """A sender may make an offer more restrictive, and reports so in a NULL-ACK (RFC 998 4)."""
    size = 4 * 256
    peer = t.sender(3 * size, buffer_size=size, packet_size=256, burst_size=4, burst_interval_ms=20, max_buffers=1)
    with t.preamble():
        peer.connect()
        peer.require(buffer_size=size, packet_size=256)
        peer.restriction = (1, 500)
        t.run_first_buffer(peer)
        peer.expect_ok(0)
        peer.expect_go(1)
    for number in (1, 2):
        peer.expect_go(number)
        peer.send_buffer(number)
        peer.expect_ok(number)
        expect_none_early(t, peer.find(Kind.RESEND, number), "the packets are due at the reported pace")
    t.expect_delivered_by(peer)


@case("TIMER-09", roles=RECEIVERS)
def test_no_packet_is_asked_for_before_those_of_the_buffers_below_have_come(t: Case) -> None:
    """One acknowledgement for many GOs starts all their data timers at once (RFC 998 5.2.2)."""
    count, size = 4, 4 * 256
    paced = {"burst_size": 1, "burst_interval_ms": 50, "max_buffers": count}
    peer = t.sender(count * size, buffer_size=size, packet_size=256, **paced)
    with t.preamble():
        peer.connect()
        peer.require(buffer_size=size, packet_size=256, max_buffers=count)
        peer.require_gos(count)
    for number in range(count):
        peer.send_buffer(number)
        peer.listen(peer.ms(50))
    expect_none_early(
        t,
        [request for number in range(count) for request in peer.find(Kind.RESEND, number)],
        "the packets are due, after those of all buffers below",
    )
    peer.finish()
    t.expect_delivered_by(peer)


def time_until_asked(peer: SenderPeer, buffer: int, since_us: int) -> int:
    """From `since_us` to the arrival of the first RESEND for the buffer."""
    return peer.first_seen(peer.expect_resend(buffer).seq).time_us - since_us


def loose_timer_us(peer: SenderPeer, buffer: int) -> int:
    """From the GO for a buffer to its first RESEND. CONTROLs get no answer from then on: a request below that is
    acknowledged may postpone the timer. Where they have no room for one more request, those below are acknowledged."""
    since_us = peer.first_seen(peer.expect_go(buffer).seq).time_us
    peer.answer_controls(False)
    try:
        return time_until_asked(peer, buffer, since_us)
    except UnmetError:
        peer.acknowledge()
        return time_until_asked(peer, buffer, since_us)


def tight_max_us(peer: SenderPeer, loose_us: int, below: int) -> int:
    """A tight timer, at most, beside a loose one that includes so many buffers below: the same formula gives less for
    fewer packets. What is added to the time of the packets is not known, and may be much more than that time."""
    packets = below * peer.terms.packets_per_buffer
    return loose_us - transfer_time_us(packets, peer.terms.burst_size, peer.terms.burst_interval_ms) // 2


def send_at_once(peer: SenderPeer, buffer: int) -> None:
    """The network has held up the packets of a buffer, and lets all of them arrive together."""
    for packet in range(peer.packet_count(buffer)):
        peer.send_packet(buffer, packet)


@case("TIMER-05", roles=RECEIVERS)
def test_the_first_packet_of_a_buffer_tightens_its_timer(t: Case) -> None:
    """The highest of four buffers: both timers are calculated in the same manner, and the tight one is shorter because
    those below have been dealt with by then (RFC 998 5.2.2)."""
    peer = t.sender(8 * 2048, **SLOW, max_buffers=4)
    with t.preamble():
        peer.connect()
        peer.require(buffer_size=2048, max_buffers=4)
        peer.require_gos(4)
        loose_us = loose_timer_us(peer, 3)
        peer.withhold_ack()
        for buffer in range(4):
            peer.send_buffer(buffer)
        peer.require_go_behind_unacknowledged(7)
        peer.acknowledge()
        peer.listen(2 * t.link.delay_us)
        for buffer in range(4, 7):
            send_at_once(peer, buffer)
    began_us = peer.now_us
    peer.send_packet(7, 0)
    tight_us = time_until_asked(peer, 7, began_us)
    t.observe("data timer, loose and tight, ms", f"{loose_us // 1000} and {tight_us // 1000}")
    text = f"asked after {tight_us / 1000:g} ms with a packet there, after {loose_us / 1000:g} ms with none"
    if not t.link.real_time:  # a busy machine stretches both
        t.should(tight_us < tight_max_us(peer, loose_us, 3), text)
    peer.finish()
    t.expect_delivered_by(peer)


@case("TIMER-06", "R1030-06", roles=RECEIVERS)
def test_data_of_a_later_buffer_make_earlier_ones_due_soon_but_not_at_once(t: Case) -> None:
    """Of three outstanding buffers the middle one: its loose timer includes the lowest, whose packets then come all at
    once. Its tight timer, calculated in the same manner, no longer does (RFC 998 5.2.2)."""
    peer = t.sender(6 * 2048, **SLOW, max_buffers=3)
    with t.preamble():
        peer.connect()
        peer.require(buffer_size=2048, max_buffers=3)
        peer.require_gos(3)
        loose_us = loose_timer_us(peer, 1)
        peer.withhold_ack()
        for buffer in range(3):
            peer.send_buffer(buffer)
        peer.require_go_behind_unacknowledged(5)
        peer.acknowledge()
        peer.listen(2 * t.link.delay_us)
        send_at_once(peer, 3)
    began_us = peer.now_us
    peer.send_packet(5, 0)
    waited_us = time_until_asked(peer, 4, began_us)
    t.observe("buffer 4 requested after data of buffer 5, ms", waited_us // 1000)
    t.should(
        waited_us > 2 * t.link.delay_us + peer.ms(5),
        "requested at once: reordering is treated as loss",
        expected="a wait before the RESEND",
    )
    text = f"asked after {waited_us / 1000:g} ms; with no sign of loss it took {loose_us / 1000:g} ms"
    if not t.link.real_time:  # a busy machine stretches both
        t.should(waited_us < tight_max_us(peer, loose_us, 1), text)
    peer.finish()
    t.expect_delivered_by(peer)


@case("CTRL-16", roles=RECEIVERS)
def test_a_request_larger_than_a_packet_loses_nothing(t: Case) -> None:
    size, count = 64, 1000
    peer = t.sender(size * count, buffer_size=size * count, packet_size=size, burst_size=500, max_buffers=1)
    with t.preamble():
        peer.connect()
        peer.expect_go(0)
        peer.require(buffer_size=size * count, packet_size=size)
    peer.send_packet(0, 0)
    peer.send_packet(0, count - 1)
    # At a slow pace its timer for what the first requests had no room for is as long as the buffer takes.
    peer.finish(within_us=2 * (peer.data_timer_max_us + peer.pace_us))
    numbers = sorted(peer.messages)
    t.must(
        numbers == list(range(1, len(numbers) + 1)),
        f"the numbers used are {numbers}",
        expected=f"the numbers from 1 to {len(numbers)}",
    )
    largest = max(seen.packet.length for seen in peer.controls)
    t.observe("largest CONTROL, bytes", largest)
    t.should(
        largest <= 1480, f"a CONTROL of {largest} bytes was sent", expected="CONTROLs that fit most paths (DATA-14)"
    )
    peer.listen(QUIET_US)
    t.expect_delivered_by(peer)
