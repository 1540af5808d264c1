# SPDX-License-Identifier: GPL-2.0-or-later
"""RESEND: requests that come while something else still waits to be sent (RFC 998 5.2, 5.2.1)."""

from netblt_conformance.cases.case import SENDERS, Case, case
from netblt_conformance.common import tolerances
from netblt_conformance.common.errors import NotSupportedError
from netblt_conformance.common.model import Feature
from netblt_conformance.common.tolerances import QUIET_US
from netblt_conformance.packets.packets import Kind, Message
from netblt_conformance.peer import ReceiverPeer

# One packet at a time, so that what is requested waits when more is requested.
SLOW = {"buffer_size": 2048, "burst_size": 1, "burst_interval_ms": 50}

Places = dict[tuple[int, int], int]  # (buffer, packet) -> how many copies came


def copies(peer: ReceiverPeer) -> Places:
    return {(n, p): count for n, buffer in sorted(peer.buffers.items()) for p, count in sorted(buffer.copies.items())}


def took_us(t: Case, peer: ReceiverPeer, packets: int) -> int:
    """By then so many packets have come at the agreed pace."""
    pace_us = tolerances.transfer_time_us(packets, peer.terms.burst_size, peer.terms.burst_interval_ms)
    return t.tolerances.reaction_max_us + 2 * pace_us


def await_repairs(t: Case, peer: ReceiverPeer, before: Places, asked: list[tuple[int, int]]) -> None:
    """Each of these packets comes once more; then whatever else comes."""
    for buffer, number in asked:
        due = before.get((buffer, number), 0) + 1
        peer.expect_copies(buffer, number, due, within_us=took_us(t, peer, len(asked) + peer.terms.packets_per_buffer))
    peer.listen(QUIET_US + 2 * peer.ms(peer.terms.burst_interval_ms))


def judge_others(t: Case, peer: ReceiverPeer, before: Places, asked: list[tuple[int, int]]) -> None:
    """What was not requested is not repeated."""
    others = ((place, count) for place, count in copies(peer).items() if place not in asked)
    more = [place for place, count in others if count > max(1, before.get(place, 0))]
    text = f"requested were {sorted(asked)}; (buffer, packet) {more} came as well"
    t.must(not more, text, violated="DATA-13", expected="retransmission on request only")


@case("RESEND-02", "DATA-13", roles=SENDERS)
def test_a_packet_that_is_asked_for_again_while_it_waits_is_sent_with_the_others(t: Case) -> None:
    peer = t.receiver(4096, **SLOW, max_buffers=1)
    with t.preamble():
        peer.connect()
        peer.require(packets_per_buffer=6)
        peer.go(0)
        last = peer.expect_buffer(0).last_packet or 0
    before = copies(peer)
    asked = [(0, number) for number in range(1, last + 1)]
    request = peer.resend(0, [number for _, number in asked])
    peer.expect_ack(request.seq)
    peer.resend(0, [last - 1, last])  # as when a data timer expires before their turn came
    await_repairs(t, peer, before, asked)
    judge_others(t, peer, before, asked)
    counts = {place: count for place, count in copies(peer).items() if place[1] < last - 1}
    wanted = {place: before[place] + (place in asked) for place in counts}
    t.must(counts == wanted, f"copies of (buffer, packet) are {counts}", expected=f"copies {wanted}")
    peer.finish()
    peer.expect_success()


TOGETHER: dict[str, list[tuple[int, list[int]]]] = {
    "higher packets, then lower ones": [(0, [4, 5, 6, 7]), (0, [0, 2])],  # one request in two messages (AMB-33)
    "a buffer, then the next one": [(0, [0, 1]), (1, [1, 3])],
    "a buffer, then the OK of the next one": [(0, [1, 2, 5])],
    "each of many buffers": [(number, [0]) for number in range(8)],
}


@case("RESEND-02", "DATA-13", roles=SENDERS, variants=tuple(TOGETHER))
def test_requests_that_come_together_are_all_served(t: Case) -> None:
    many, confirms = t.variant == "each of many buffers", t.variant.endswith("OK of the next one")
    count = 8 if many else 2
    sizes = {**SLOW, "max_buffers": count, **({"buffer_size": 512, "burst_size": 4} if many else {})}
    peer = t.receiver((count + 1) * int(sizes["buffer_size"]), **sizes)
    with t.preamble():
        peer.connect()
        peer.require(packets_per_buffer=2 if many else 8)
        outstanding = min(count, peer.terms.max_buffers)
        wanted = [(number, packets) for number, packets in TOGETHER[t.variant] if number < outstanding]
        if len(wanted) < 2 and outstanding < 2:
            raise NotSupportedError("both ends agreed on 1 outstanding buffer, this exchange needs 2")
        peer.go(*range(outstanding))
        for number in range(outstanding):
            peer.expect_buffer(number)
        peer.expect_ack()
    before = copies(peer)
    messages = [peer.message(Kind.RESEND, peer.first_buffer + number, packets) for number, packets in wanted]
    if confirms:
        messages.append(peer.message(Kind.OK, peer.first_buffer + 1))
    peer.send_control(messages)
    asked = [(number, packet) for number, packets in wanted for packet in packets]
    await_repairs(t, peer, before, asked)
    judge_others(t, peer, before, asked)
    counts = copies(peer)
    due = {place: before[place] + (place in asked) for place in before}
    t.must(counts == due, f"copies of (buffer, packet) are {counts}", expected=f"copies {due}")
    peer.expect_ack(messages[-1].seq)
    peer.finish()
    peer.expect_success()


@case("RESEND-02", "DATA-13", roles=SENDERS, variants=("the first packet", "the newest packet"))
def test_a_request_during_the_first_pass_is_served(t: Case) -> None:
    """Its data timer may have run out before the sender, which is slower than was estimated, was through."""
    peer = t.receiver(4096, buffer_size=4096, burst_size=1, burst_interval_ms=100, max_buffers=1)
    with t.preamble():
        peer.connect()
        peer.require(packets_per_buffer=8)
        peer.go(0)
        buffer = peer.buffer(0)
        peer.until(lambda: len(buffer.packets) > 2, took_us(t, peer, 4), "three packets")
    came = sorted(buffer.packets, key=lambda number: buffer.packets[number].time_us)
    named = came[0 if t.variant == "the first packet" else -1]
    before = copies(peer)
    request: Message = peer.resend(0, [named])
    peer.expect_ack(request.seq)
    await_repairs(t, peer, before, [(0, named)])
    peer.expect_buffer(0)
    peer.listen(QUIET_US)
    requests = peer.monitor.session.issued.of(Kind.RESEND, peer.first_buffer)  # what was left out as well (AMB-72)
    judge_others(t, peer, {}, [(0, number) for request in requests for number in request.packets])
    t.must(buffer.copies[named] == 2, f"{request}: {buffer.copies[named]} copies came", expected="two copies")
    peer.finish()
    peer.expect_success()


CONFIRMED = {"the only buffer": 0, "the upper one of two": 1, "the lower one of two": 0}


@case("RESEND-02", "DATA-13", roles=SENDERS, variants=tuple(CONFIRMED))
def test_nothing_of_a_buffer_is_sent_again_behind_its_ok(t: Case) -> None:
    """What a RESEND named had only been late: the OK comes while the retransmissions wait. The buffer is disposed of
    then (RFC 998 5.2.2)."""
    count, confirmed = 1 if t.variant == "the only buffer" else 2, CONFIRMED[t.variant]
    peer = t.receiver(3 * 2048, **SLOW, max_buffers=count)
    with t.preamble():
        peer.connect()
        peer.require(packets_per_buffer=8, max_buffers=count)
        peer.go(*range(count))
        for number in range(count):
            peer.expect_buffer(number)
        peer.expect_ack()
        last = peer.terms.packets_per_buffer - 1
        peer.resend(confirmed, range(last + 1))
        peer.expect_copies(confirmed, 0)
    (ok,) = peer.ok(confirmed)
    peer.expect_ack(ok.seq)
    known = len(peer.seen)
    peer.listen(took_us(t, peer, last + 1))
    late = [s for s in peer.seen[known:] if s.packet.is_data and s.packet.buffer == peer.first_buffer + confirmed]
    t.must(
        not late,
        f"{late[0].packet if late else ''} came although {ok} was acknowledged",
        late[0].frame if late else None,
        expected="nothing of a buffer that has its OK",
    )
    peer.finish()
    peer.expect_success()


# More than 15 bits can hold, and a packet of one byte for each.
FAR = 33_000


# A passive sender that does not know yet whether its peer's address is real may send little until a RESEND proves it.
@case("RESEND-02", roles=tuple(role for role in SENDERS if role.active), needs=(Feature.LONG,))
def test_packet_numbers_of_a_request_have_16_bits(t: Case) -> None:
    if t.link.real_time:
        raise NotSupportedError("on a real link so many packets take long")
    sizes = {"buffer_size": FAR, "packet_size": 1, "burst_size": 1000, "burst_interval_ms": 10, "max_buffers": 1}
    peer = t.receiver(FAR, **sizes)
    with t.preamble():
        peer.connect()
        peer.require(packets_per_buffer=FAR)
        peer.go(0)
        peer.expect_buffer(0)
    before = copies(peer)
    asked = [(0, FAR - 100), (0, FAR - 2)]
    peer.resend(0, [number for _, number in asked])
    await_repairs(t, peer, before, asked)
    peer.finish()
    peer.expect_success()
