# SPDX-License-Identifier: GPL-2.0-or-later
"""ORDER: the lowest buffer goes first (RFC 998 5.2)."""

from netblt_conformance.cases.case import SENDERS, Case, case
from netblt_conformance.common.errors import NotSupportedError
from netblt_conformance.common.tolerances import QUIET_US
from netblt_conformance.packets.packets import Kind
from netblt_conformance.peer import ReceiverPeer

SLOW = {"buffer_size": 2048, "burst_size": 1, "burst_interval_ms": 20, "max_buffers": 3}


def left_out(peer: ReceiverPeer) -> set[tuple[int, int]]:
    """(buffer, packet) of every packet that had to be requested (AMB-72)."""
    requests = peer.monitor.session.issued.of(Kind.RESEND)
    return {(request.buffer - peer.first_buffer, number) for request in requests for number in request.packets}


def first_pass(peer: ReceiverPeer) -> list[tuple[int, int]]:
    """(buffer, packet) of every data packet that came by itself, in order of arrival."""
    data = [seen.packet for seen in peer.seen if seen.packet.is_data]
    order = [(p.buffer - peer.first_buffer, p.packet) for p in data]
    return [place for place in order if place not in left_out(peer)]


@case("ORDER-01", "ORDER-03", "R1030-04", roles=SENDERS)
def test_buffers_go_out_in_the_order_of_their_numbers(t: Case) -> None:
    peer = t.receiver(3 * 2048, **SLOW)
    with t.preamble():
        peer.connect()
    peer.go_in_turn(0, 1, 2)
    for number in range(3):
        peer.expect_buffer(number)
    left, packets = len(left_out(peer)), sum(len(buffer.packets) for buffer in peer.buffers.values())
    t.observe("packets left out of the first transmission", f"{left} of {packets}" if left else "none")
    order = first_pass(peer)
    buffers = [number for number, _ in order]
    t.must(buffers == sorted(buffers), f"the first pass went out as {order}")
    t.observe("order of the packets of a buffer", "ascending" if order == sorted(order) else "other")
    t.should(order == sorted(order), f"the packets of a buffer came as {order}", expected="ascending packets (AMB-68)")


@case("ORDER-02", "R1030-04", roles=SENDERS, control=True, variants=("one buffer ahead", "two buffers ahead"))
def test_repairs_come_before_any_packet_of_a_later_buffer(t: Case) -> None:
    ahead = 1 if t.variant == "one buffer ahead" else 2
    peer = t.receiver(3 * 2048, **SLOW)
    with t.preamble():
        peer.connect()
        peer.require(buffer_size=2048, packet_size=256, max_buffers=ahead + 1)
        peer.go(*range(min(3, peer.terms.max_buffers)))
        peer.expect_buffer(0)
        peer.until(lambda: len(peer.buffer(ahead).packets) >= 2, t.tolerances.reaction_max_us, f"buffer {ahead}")
    if t.stimulus:
        asked = [1, 4, 7]
        request = peer.resend(0, asked)
        before = len(peer.seen)
        for number in asked:
            peer.expect_copies(0, number, within_us=t.tolerances.reaction_max_us + 24 * peer.ms(20))
        late = [s for s in peer.seen[before:] if s.packet.is_data and s.packet.high_seq >= request.seq]
        waiting = set(asked)
        for seen in late:
            p = seen.packet
            if p.buffer == peer.first_buffer:
                waiting.discard(p.packet)
            elif waiting:
                text = f"{p} while packets {sorted(waiting)} of buffer 0 wait to be retransmitted"
                t.must(False, text, seen.frame)
    peer.finish()
    peer.expect_success()


@case("ORDER-02", "ORDER-01", roles=SENDERS, variants=("one after the other", "together"))
def test_repairs_of_the_lower_buffer_come_first_whichever_was_asked_for_first(t: Case) -> None:
    peer = t.receiver(3 * 2048, **SLOW)
    with t.preamble():
        peer.connect()
        peer.require(buffer_size=2048, packet_size=256, max_buffers=2)
        peer.go(0, 1)
        peer.expect_buffer(0)
        peer.expect_buffer(1)
    asked = [1, 4]
    later = peer.message(Kind.RESEND, peer.first_buffer + 1, range(8))
    if t.variant == "one after the other":
        peer.send_control([later])
        peer.until(lambda: peer.copies(1, 0) > 1, t.tolerances.reaction_max_us, "retransmissions of buffer 1")
    request = peer.resend(0, asked)
    before = len(peer.seen)
    peer.expect_copies(1, 7, within_us=t.tolerances.reaction_max_us + 24 * peer.ms(peer.terms.burst_interval_ms))
    waiting = set(asked)
    for seen in peer.seen[before:]:
        p = seen.packet
        if p.is_data and p.buffer == peer.first_buffer:
            waiting.discard(p.packet)
        elif p.is_data and p.high_seq >= request.seq:
            t.must(not waiting, f"{p} while packets {sorted(waiting)} of buffer 0 wait to be retransmitted", seen.frame)
    peer.finish()
    peer.expect_success()


@case("ORDER-03", "DATA-04", roles=SENDERS)
def test_the_ldata_ends_the_first_pass_of_a_buffer(t: Case) -> None:
    peer = t.receiver(2048, buffer_size=2048, burst_size=3)
    with t.preamble():
        peer.connect()
    peer.go(0)
    buffer = peer.expect_buffer(0)
    if (0, buffer.last_packet) in left_out(peer):
        raise NotSupportedError("it leaves the LDATA out of the first transmission until a RESEND names it (AMB-72)")
    order = [number for _, number in first_pass(peer)]
    t.must(
        order[-1] == buffer.last_packet,
        f"the first pass went out as {order}, LDATA is {buffer.last_packet}",
        expected="every packet once, LDATA last",
    )


@case("ORDER-03", roles=SENDERS)
def test_what_the_first_pass_leaves_out_waits_for_its_request(t: Case) -> None:
    """A sender may leave packets out until it knows that the peer's address is real (AMB-72). The monitor judges."""
    size, buffers = 6000, 10  # it may leave out the LDATA of some: then these show nothing
    sizes = {"buffer_size": size, "packet_size": 500, "burst_size": 12, "burst_interval_ms": 10}
    peer = t.receiver((buffers + 1) * size, **sizes, max_buffers=buffers)
    with t.preamble():
        peer.connect()
        together = range(min(buffers, peer.terms.max_buffers))
        peer.go(*together)
        peer.expect(lambda packet: packet.is_data, t.tolerances.reaction_max_us, "data")
        peer.listen(peer.pace_us + QUIET_US)
    begun = [number for number in together if peer.buffer(number).packets]  # more may wait for an OK
    t.observe("buffers with packets left out", sum(not peer.buffer(number).complete for number in begun))
    for number in begun:
        peer.expect_buffer(number)
        peer.listen(QUIET_US)
    peer.finish()
    peer.expect_success()


@case("ORDER-04", roles=SENDERS)
def test_the_next_buffer_follows_without_waiting_for_the_ok(t: Case) -> None:
    interval_ms = 40
    peer = t.receiver(2 * 1024, burst_size=4, burst_interval_ms=interval_ms, max_buffers=2)
    with t.preamble():
        peer.connect()
        peer.require(max_buffers=2)
    peer.go(0, 1)
    first = peer.expect_buffer(0)
    peer.until(lambda: bool(peer.buffer(1).packets), t.tolerances.reaction_max_us, "buffer 1 before OK(0)")
    end_us = max(seen.time_us for seen in first.packets.values())
    begin = min(peer.buffer(1).packets.values(), key=lambda seen: seen.time_us)
    gap_us = begin.time_us - end_us
    limit_us = peer.ms(peer.terms.burst_interval_ms) + t.tolerances.crossing_us
    t.should(
        gap_us <= limit_us,
        f"buffer 1 begins {gap_us / 1000:g} ms after buffer 0 ended",
        begin.frame,
        expected=f"a gap of at most {limit_us / 1000:g} ms",
    )
