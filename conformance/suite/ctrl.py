# SPDX-License-Identifier: GPL-2.0-or-later
"""CTRL, receiving implementation: control messages as one long-lived packet (RFC 998 5.2.1).

The tester keeps acknowledgements back by claiming that message 2 never arrived: messages after the hole are known to
it, and may be acted upon, but not acknowledged (AMB-36).
"""

from collections.abc import Callable, Iterator

from netblt_conformance.cases.case import RECEIVERS, Case, case
from netblt_conformance.common.errors import NotSupportedError
from netblt_conformance.common.model import MICROSECONDS_PER_S as S
from netblt_conformance.common.model import Feature
from netblt_conformance.common.tolerances import QUIET_US
from netblt_conformance.common.waits import Awaited
from netblt_conformance.packets.packets import Kind
from netblt_conformance.peer import SenderPeer
from netblt_conformance.peer.exchange import UnmetError

BUFFER_BYTES = 512
BUFFERS = 4
STALLED_BYTES = 256 * 1024  # more than lies in pipes and sockets between a program and its client


def hold_the_hole(t: Case) -> SenderPeer:
    """The first GO is acknowledged; whatever message comes second, the tester claims to miss it."""
    peer = t.sender(8 * BUFFER_BYTES, buffer_size=BUFFER_BYTES, max_buffers=BUFFERS)
    with t.preamble():
        peer.answer_controls(False)
        peer.withhold_ack(at=1)
        peer.connect()
        await_gos(t, peer)
    return peer


def await_gos(t: Case, peer: SenderPeer) -> None:
    """As many GOs as the implementation issues at first: one at a time is enough for it (AMB-29)."""
    peer.expect_go(0)
    peer.listen(QUIET_US)
    t.observe("GOs at first", len(peer.messages))


def settle(peer: SenderPeer) -> None:
    """Lets the rest of a queue arrive that was cut into several CONTROLs (AMB-33)."""
    peer.listen(2 * peer.tolerances.crossing_us if peer.link.real_time else 0)


def waits_for_acks(peer: SenderPeer, number: int) -> bool:
    """Whether it keeps this GO back as long as an earlier message is not acknowledged, which is legal (AMB-29): then no
    more buffers are to be had here, and what its queue holds by now must do."""
    if not peer.find(Kind.GO, number):
        peer.listen(peer.tolerances.reaction_max_us)
    return not peer.find(Kind.GO, number) and peer.ack < max(peer.messages)


def complete_three(peer: SenderPeer) -> Iterator[int]:
    """Completes three buffers, out of order when enough are open. Yields the number of each when its OK is there."""
    every_go = all(peer.find(Kind.GO, number) for number in range(BUFFERS))
    for number in (0, 2, 3) if every_go else (0, 1, 2):
        if number and waits_for_acks(peer, number):
            return
        peer.expect_go(number)
        peer.send_buffer(number)
        peer.expect_ok(number)
        settle(peer)
        yield number


@case("CTRL-01", roles=RECEIVERS)
def test_control_messages_are_numbered_from_one_without_gaps_through_a_lossy_transfer(t: Case) -> None:
    peer = t.sender(6 * 1024, max_buffers=3)
    with t.preamble():
        peer.connect()
    lost: set[tuple[int, int]] = set()

    def lose(buffer: int, packet: int) -> bool:
        first = (buffer, packet) not in lost
        lost.add((buffer, packet))
        return first and (buffer + packet) % 3 == 0

    peer.finish(lose)
    numbers = sorted(peer.messages)
    t.must(
        numbers == list(range(1, len(numbers) + 1)),
        f"the numbers used are {numbers}",
        expected=f"the numbers from 1 to {len(numbers)}",
    )
    t.must(
        any(m.kind is Kind.RESEND for m in peer.messages.values()),
        "no RESEND came although packets were lost",
        expected="RESEND for the packets that were lost",
    )
    peer.expect_success()


@case("CTRL-01", roles=RECEIVERS)
def test_numbers_go_on_beyond_one_byte(t: Case) -> None:
    sizes = {"buffer_size": 64, "packet_size": 64, "burst_size": 50, "burst_interval_ms": 1, "max_buffers": 2}
    peer = t.sender(140 * 64, **sizes)
    with t.preamble():
        peer.connect()
    peer.finish()
    peer.expect_success()
    t.must(
        max(peer.messages) >= 280,
        f"the highest number is {max(peer.messages)}",
        expected="280 messages for 140 buffers",
    )
    t.expect_delivered(peer.data)


@case("CTRL-02", "TIMER-01", roles=RECEIVERS)
def test_a_repeated_message_is_the_same_message(t: Case) -> None:
    peer = hold_the_hole(t)
    peer.send_buffer(0, omit=[1])
    peer.expect_resend(0)
    peer.withhold_ack(at=1)
    peer.expect_round(2)
    stay_the_same(t, peer)


def stay_the_same(t: Case, peer: SenderPeer) -> None:
    for seen in peer.controls:
        for message in seen.packet.messages:
            first = peer.messages[message.seq]
            t.must(
                message.identity == first.identity,
                f"message {first} was repeated as {message}",
                seen.frame,
                expected=f"{first} again",
            )


@case("CTRL-02", roles=RECEIVERS)
def test_messages_of_every_kind_stay_the_same_through_their_repetitions(t: Case) -> None:
    peer = hold_the_hole(t)
    peer.acknowledge(max(peer.messages))
    peer.send_buffer(0, omit=[0])
    request = peer.expect_resend(0)
    peer.expect_repeats(2)
    peer.acknowledge(request.seq)
    peer.send_packet(0, 0)
    peer.expect_ok(0)
    peer.expect_repeats(3)
    stay_the_same(t, peer)


@case("CTRL-02", roles=RECEIVERS, variants=("some of it", "all of it"))
def test_a_repeated_request_keeps_its_list_when_what_it_lists_has_come(t: Case) -> None:
    peer = t.sender(1024, buffer_size=1024)
    with t.preamble():
        peer.connect()
        peer.require(packets_per_buffer=4)
        go = peer.expect_go(0)
        peer.answer_controls(False)
        peer.withhold_ack(at=go.seq)
        peer.send_buffer(0, omit=[0, 1])
        request = peer.expect_resend(0)
        if len(request.packets) < 2:
            raise NotSupportedError("it asks for one packet at a time")
    peer.send_packets(0, [0] if t.variant == "some of it" else [0, 1])
    peer.expect_round(request.seq)
    stay_the_same(t, peer)
    peer.finish()
    t.expect_delivered_by(peer)


@case("CTRL-02", "TIMER-01", roles=RECEIVERS)
def test_the_last_ok_stays_the_same_through_its_repetitions(t: Case) -> None:
    peer = t.sender(BUFFER_BYTES, buffer_size=BUFFER_BYTES, max_buffers=1)
    with t.preamble():
        peer.connect()
        go = peer.expect_go(0)
        peer.answer_controls(False)
        peer.withhold_ack(at=go.seq)
        peer.send_buffer(0)
        peer.expect_ok(0)
    peer.expect_repeats(3)
    stay_the_same(t, peer)


@case("CTRL-03", roles=RECEIVERS)
def test_messages_in_a_control_ascend_without_gaps(t: Case) -> None:
    peer = hold_the_hole(t)
    for _ in complete_three(peer):
        pass
    longest = max(len(seen.packet.messages) for seen in peer.controls)
    t.observe("messages in the longest CONTROL", longest)
    for seen in peer.controls:
        sequences = [message.seq for message in seen.packet.messages]
        in_order = sequences == list(range(sequences[0], sequences[0] + len(sequences))) if sequences else True
        t.must(in_order, f"a CONTROL holds messages {sequences}", seen.frame)


@case("CTRL-04", "CTRL-01", "CTRL-03", roles=RECEIVERS)
def test_every_control_carries_all_messages_that_are_not_acknowledged(t: Case) -> None:
    peer = hold_the_hole(t)
    for _ in complete_three(peer):
        newest = max(peer.messages)
        lacking = sorted(set(range(2, newest + 1)) - peer.round_with(newest))
        frame = peer.first_seen(newest).frame
        t.must(not lacking, f"CONTROL with new messages leaves out {lacking}, which are not acknowledged", frame)
    # Then by the timer alone.
    lacking = sorted(set(range(2, max(peer.messages) + 1)) - peer.expect_round(2))
    text = f"repeated CONTROL leaves out {lacking}, which are not acknowledged"
    t.must(not lacking, text, peer.controls[-1].frame)


@case("CTRL-04", "R1030-02", roles=RECEIVERS)
def test_the_control_timer_repeats_the_whole_packet_when_nothing_was_ever_acknowledged(t: Case) -> None:
    peer = t.sender(8 * BUFFER_BYTES, buffer_size=BUFFER_BYTES, max_buffers=BUFFERS)
    with t.preamble():
        peer.connect_without_acknowledging()
        await_gos(t, peer)
        if len(peer.messages) == 1:  # one at a time: then an OK makes the queue longer
            peer.send_buffer(0)
            peer.expect_ok(0)
    for _ in range(2):
        known = sorted(peer.messages)  # others may follow, where its client provides buffers one by one
        held = sorted(peer.expect_round(1))
        text = f"repeated CONTROL holds {held} of {known}"
        t.must(
            set(held) >= set(known),
            text,
            peer.controls[-1].frame,
            expected="all messages, none of which is acknowledged",
        )


@case("CTRL-05", "CTRL-04", roles=RECEIVERS)
def test_acknowledged_messages_leave_the_head_of_the_queue(t: Case) -> None:
    peer = hold_the_hole(t)
    with t.preamble():
        for _ in complete_three(peer):
            pass
    peer.acknowledge(2)
    peer.listen(QUIET_US)
    before = len(peer.controls)
    peer.expect_round(3)
    for seen in peer.controls[max(before, 1) :]:
        held = [message.seq for message in seen.packet.messages]
        t.must(not held or min(held) > 2, f"CONTROL holds {held} after messages up to 2 were acknowledged", seen.frame)


@case("CTRL-05", "TIMER-02", roles=RECEIVERS, variants=("DATA", "LDATA"))
def test_what_data_packets_acknowledge_is_not_repeated(t: Case) -> None:
    peer = t.sender(2048, max_buffers=1)
    with t.preamble():
        peer.connect_without_acknowledging()
        peer.expect_go(0)
        peer.require(packets_per_buffer=2)
        peer.listen(t.tolerances.crossing_us)
        gap_us = peer.expect_repeats(2)
    highest = max(peer.messages)
    peer.withhold_ack(at=highest)
    peer.go_silent()  # nothing else acknowledges
    peer.send_packet(0, 0 if t.variant == "DATA" else peer.packet_count(0) - 1)
    stale = peer.repeated(highest, 4 * gap_us)
    text = f"CONTROL was repeated although {t.variant} had acknowledged all its messages"
    t.must(not stale, text, stale[0].frame if stale else None)


@case("CTRL-05", "TIMER-02", roles=RECEIVERS)
def test_what_a_null_ack_of_a_slower_pace_than_the_offered_one_acknowledges_is_not_repeated(t: Case) -> None:
    peer = t.sender(2048, max_buffers=1)
    with t.preamble():
        peer.connect()
        peer.expect_go(0)
        peer.listen(QUIET_US)
        peer.answer_controls(False)
        peer.withhold_ack()
        peer.send_buffer(0)
        ok = peer.expect_ok(0)
        peer.listen(t.tolerances.crossing_us)
        gap_us = peer.expect_repeats(2)
    highest = max(peer.messages)
    # A sender may make an offer more restrictive, and has to report it so (RFC 998 4).
    slower_ms = max(peer.terms.burst_interval_ms, ok.burst_interval_ms) + 30
    peer.go_silent()  # nothing else acknowledges
    peer.send(peer.forge.null_ack(highest, 1, slower_ms))
    stale = peer.repeated(highest, 4 * gap_us)
    text = "CONTROL was repeated although a NULL-ACK with a slower pace had acknowledged all its messages"
    t.must(not stale, text, stale[0].frame if stale else None, expected="no CONTROL without messages")


@case("CTRL-13", roles=RECEIVERS, needs=(Feature.CLIENT_STALL,))
def test_no_go_without_a_client_buffer(t: Case) -> None:
    stalled_until_us, death_timer_s = 20 * S, 8
    peer = t.sender(
        STALLED_BYTES if t.link.real_time else 16 * 1024,
        buffer_size=4096,
        packet_size=1024,
        own={"death_timer_s": death_timer_s},
        iut={"client_stall_from": 0, "client_stall_until_us": stalled_until_us},
    )
    with t.preamble():
        peer.connect()
    served = serve_while_it_asks(peer, stalled_until_us)
    if t.link.real_time:  # a program has memory of its own, and may choose how much
        t.observe("bytes taken while the client does not read", served * peer.terms.buffer_size)
        if peer.now_us > stalled_until_us - death_timer_s * S or served == peer.buffer_count:
            t.inconclusive(
                f"{served} buffers were requested and accepted although its client reads nothing",
                expected="no GO before the client has room",
            )
    else:
        t.must(
            not peer.messages,
            "the client has no buffer yet, but a CONTROL came",
            expected="no CONTROL before the client has a buffer",
        )
    began_us, gos = peer.now_us, len(peer.messages)
    heard = peer.listen(stalled_until_us - S - began_us)
    if not t.link.real_time:
        t.must(
            len(peer.messages) == gos,
            "the client has no buffer yet, but a CONTROL came",
            peer.seen[-1].frame,
            expected="no CONTROL before the client has a buffer",
        )
    t.expect_signs_of_life(heard, began_us, peer.now_us, death_timer_s)
    peer.finish()
    peer.expect_success()
    t.expect_delivered(peer.data)


@case("CTRL-13", roles=RECEIVERS, needs=(Feature.CLIENT_STALL,))
def test_buffers_behind_the_first_ones_wait_for_the_client_too(t: Case) -> None:
    if t.link.real_time:
        raise NotSupportedError("a program has memory of its own, and may choose how much")
    stalled_until_us = 20 * S
    stall = {"client_stall_from": 2, "client_stall_until_us": stalled_until_us}
    peer = t.sender(4 * 1024, max_buffers=2, iut=stall)
    with t.preamble():
        peer.connect()
    for number in range(2):
        peer.expect_go(number)
        peer.send_buffer(number)
        peer.expect_ok(number)
    peer.listen(stalled_until_us - S - peer.now_us)
    t.must(
        not peer.find(Kind.GO, 2),
        "the client has no third buffer yet, but its GO came",
        peer.controls[-1].frame,
        expected="no GO before the client has a buffer",
    )
    peer.finish()
    peer.expect_success()
    t.expect_delivered(peer.data)


def serve_while_it_asks(peer: SenderPeer, until_us: int) -> int:
    """Delivers the buffers that are requested, until none is. Returns how many had their OK."""
    for number in range(peer.buffer_count):
        if peer.now_us >= until_us:
            return number
        try:
            peer.expect_go(number)
            peer.send_buffer(number)
            peer.expect_ok(number)
        except UnmetError:
            return number
    return peer.buffer_count


@case("CTRL-14", roles=RECEIVERS)
def test_ok_comes_exactly_when_the_buffer_is_complete(t: Case) -> None:
    peer = t.sender(1024 + 256)
    with t.preamble():
        peer.connect()
        peer.expect_go(0)
    peer.send_buffer(0, omit=[1])
    peer.listen(QUIET_US)
    t.must(not peer.find(Kind.OK, 0), "OK came although packet 1 was never sent", expected="no OK before packet 1")
    peer.send_packet(0, 1)
    peer.expect_ok(0)
    peer.send_packet(0, 1)  # comes late once more
    peer.send_packet(0, 0)
    peer.listen(QUIET_US)
    peer.finish()
    peer.expect_success()
    for number in range(peer.buffer_count):
        count = len(peer.find(Kind.OK, number))
        t.must(count == 1, f"{count} OK messages for buffer {number}", expected="one OK")


@case("TIMER-01", roles=RECEIVERS)
def test_data_do_not_put_off_the_repetition_of_control(t: Case) -> None:
    _is_repeated_while(t, "data", lambda peer: peer.send_packet(0, 0))


@case("TIMER-01", roles=RECEIVERS)
def test_acknowledgements_of_nothing_do_not_put_off_the_repetition_of_control(t: Case) -> None:
    _is_repeated_while(t, "NULL-ACKs", lambda peer: peer.null_ack(0))


def _is_repeated_while(t: Case, what: str, send: Callable[[SenderPeer], int]) -> None:
    peer = t.sender(2 * 1024, max_buffers=1)  # no other GO: a new message would take this one along
    with t.preamble():
        peer.connect_without_acknowledging()
        go = peer.expect_go(0)
        gap_us = peer.expect_repeats(1)
    before, until_us = len(peer.controls), peer.now_us + t.tolerances.control_repeat_max_us
    while len(peer.controls) == before and peer.now_us < until_us:
        send(peer)
        peer.listen(max(1_000, min(20_000, gap_us // 2)))  # before the timer expires
    repeated = any(seen.packet.holds(go.seq) for seen in peer.controls[before:])
    t.must(repeated, f"GO is not repeated as long as {what} come, though nothing was acknowledged")
    peer.finish()
    peer.expect_success()


@case("CTRL-04", "CTRL-16", roles=RECEIVERS, variants=("requests", "GOs"))
def test_a_queue_larger_than_a_packet_begins_with_its_oldest_message(t: Case) -> None:
    """No CONTROL arrives until the queue fills more than one packet. A receiver may keep its requests out of the queue
    until there is room for them (AMB-33)."""
    if t.variant == "requests":
        peer = _whose_requests_are_lost(t)
    else:
        peer = t.sender(GOS * 64, buffer_size=64, packet_size=64, max_buffers=GOS)
        with t.preamble():
            peer.connect_without_acknowledging()
            peer.expect_go(0)
            peer.listen(QUIET_US)
    lowest = peer.ack + 1
    peer.expect_control(lambda control: control.holds(lowest))


@case("TIMER-07", "CTRL-16", roles=RECEIVERS)
def test_what_found_no_room_in_a_full_control_is_requested_when_there_is_room(t: Case) -> None:
    peer = _whose_requests_are_lost(t)
    newest = max(peer.messages)
    peer.acknowledge()
    for number in range(REQUESTED):
        peer.expect_request_after(number, newest, f"RESEND for buffer {number}", Awaited.RESEND)
    peer.finish()
    t.expect_delivered_by(peer)


GOS = 300  # more than fit into an Ethernet frame
REQUESTED = 4  # buffers, each with most of its packets: more than fit as well


def _whose_requests_are_lost(t: Case) -> SenderPeer:
    size, count, buffers = 64, 240, REQUESTED
    sizes = {"buffer_size": size * count, "packet_size": size, "burst_size": count, "max_buffers": buffers}
    peer = t.sender(buffers * size * count, **sizes)
    with t.preamble():
        peer.connect()
        peer.require(buffer_size=size * count, packet_size=size, max_buffers=buffers)
        peer.require_gos(buffers)
        peer.answer_controls(False)
        peer.withhold_ack()
        peer.lose = lambda _control: True
        for number in range(buffers):
            peer.send_packet(number, 0)
            peer.send_packet(number, count - 1)  # or it may ask for no more than the next one (AMB-32)
        peer.listen(peer.data_timer_max_us // 4)
    peer.lose = lambda _control: False
    return peer


@case("CTRL-15", roles=RECEIVERS, variants=("1", "4"))
def test_buffers_beyond_the_last_one_do_not_block_the_end(t: Case) -> None:
    peer = t.sender(700, max_buffers=int(t.variant))
    with t.preamble():
        peer.connect()
    peer.finish()
    peer.expect_success()
    t.expect_delivered(peer.data)
    beyond = [m for m in peer.messages.values() if m.kind is Kind.RESEND and m.buffer > (peer.first_buffer or 0)]
    t.observe("requests beyond the last buffer", len(beyond))
    t.should(
        not beyond,
        f"RESEND for a buffer beyond the last one: {beyond[0] if beyond else ''}",
        expected="no RESEND beyond the last buffer (AMB-30)",
    )
