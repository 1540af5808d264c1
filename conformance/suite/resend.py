# SPDX-License-Identifier: GPL-2.0-or-later
"""RESEND: asking for what is missing and serving it (RFC 998 5.2, 5.2.2)."""

from netblt_conformance.cases.case import RECEIVERS, SENDERS, Case, case
from netblt_conformance.common.tolerances import QUIET_US
from netblt_conformance.packets.packets import Kind, Message, Type
from netblt_conformance.peer.receiver import ReceivedBuffer
from netblt_conformance.peer.sender import USELESS_REQUESTS

# A data timer may have run out when the tester took longer than this for a few packets on a busy machine.
HELD_UP_US = 15_000

LOST_AGAIN = 6  # times: nothing in RFC 998 ends the loop
SMALL = 64  # bytes in a packet: a buffer that an implementation restricts still has holes to offer
LOST = {"one hole": [1], "two holes": [1, 5], "first packet": [0], "many holes": [0, 2, 3, 5, 6]}


@case("RESEND-01", "TIMER-07", roles=RECEIVERS, variants=tuple(LOST))
def test_a_resend_lists_exactly_what_is_missing(t: Case) -> None:
    lost = LOST[t.variant]
    peer = t.sender(2048 + 1024, buffer_size=2048, packet_size=SMALL)
    with t.preamble():
        peer.connect()
        peer.require(packets_per_buffer=max(lost) + 2)  # its LDATA comes
        peer.expect_go(0)
    peer.send_buffer(0, omit=lost)
    listed = set(peer.expect_resend(0).packets)
    useless = 0
    # A hole that packets after it prove may be requested before the LDATA comes (AMB-31).
    while listed < set(lost) and useless <= USELESS_REQUESTS:
        what = f"a request for {sorted(set(lost) - listed)}, also missing"
        request = set(peer.expect_request_after(0, max(peer.messages), what).packets)
        useless = 0 if request - listed else useless + 1
        listed |= request
    # On a real link the tester may be held up in the middle of the buffer: what it had not sent yet may be listed too,
    # and the monitor looks at every entry.
    right = listed >= set(lost) if t.link.real_time else listed == set(lost)
    text = f"requests list {sorted(listed)}"
    t.must(right, text, peer.controls[-1].frame, expected=f"requests for {lost}")
    peer.finish()
    t.expect_delivered_by(peer)


@case("RESEND-01", "RESEND-04", roles=RECEIVERS)
def test_a_later_resend_lists_what_is_still_missing(t: Case) -> None:
    repaired, lost = [1, 4], [0, 6]
    peer = t.sender(2048 + 1024, buffer_size=2048, packet_size=SMALL)
    with t.preamble():
        peer.connect()
        peer.require(packets_per_buffer=8)
        peer.expect_go(0)
        peer.send_buffer(0, omit=[*repaired, *lost])
        peer.expect_resend(0)
    peer.send_packets(0, repaired)
    peer.listen(t.tolerances.crossing_us)
    request = peer.expect_request_after(0, max(peer.messages), "another RESEND for buffer 0")
    t.must(
        set(request.packets) <= set(lost),
        str(request),
        peer.first_seen(request.seq).frame,
        expected=f"a request for {lost}",
    )
    peer.finish()
    t.expect_delivered_by(peer)


@case("RESEND-02", "DATA-13", roles=SENDERS, control=True)
def test_exactly_the_listed_packets_are_sent_again(t: Case) -> None:
    peer = t.receiver(4096, buffer_size=2048)
    with t.preamble():
        peer.connect()
        peer.go(0)
        buffer = peer.expect_buffer(0)
    wanted = [2, 5] if t.stimulus else []
    if wanted:
        peer.resend(0, wanted)
    peer.listen(2 * QUIET_US + peer.slower_us)
    copies = {number: buffer.copies[number] for number in sorted(buffer.copies)}
    expected = {number: 2 if number in wanted else 1 for number in range(peer.terms.packets_per_buffer)}
    t.must(
        copies == expected,
        f"RESEND of {wanted}: copies are {copies}",
        expected=f"two copies of {wanted}, one of the others",
    )
    peer.finish()
    peer.expect_success()


@case("RESEND-02", "DATA-13", roles=SENDERS)
def test_what_is_requested_of_any_of_many_outstanding_buffers_is_sent_again(t: Case) -> None:
    """More buffers than before are outstanding when the first ones have their OK."""
    first, confirmed, more = 8, 5, 6
    peer = t.receiver(20 * 1024, max_buffers=16)
    with t.preamble():
        peer.connect()
        peer.require(buffer_size=1024, packets_per_buffer=2, max_buffers=first - confirmed + more)
        peer.go_in_turn(*range(first))
        for number in range(first):
            peer.expect_buffer(number)
        peer.ok(*range(confirmed))
        peer.expect_ack()
        peer.go(*range(first, first + more))
        for number in range(first, first + more):
            peer.expect_buffer(number)
    for number in range(confirmed, first + more):
        peer.resend(number, [1])
        peer.expect_copies(number, 1)
    peer.finish()
    peer.expect_success()


@case("RESEND-03", "DATA-09", roles=SENDERS, variants=("earlier buffer", "last buffer"))
def test_repairs_keep_type_flag_and_content(t: Case) -> None:
    target = 0 if t.variant == "earlier buffer" else 1
    peer = t.receiver(1024 + 701)
    with t.preamble():
        peer.connect()
        peer.require(buffer_size=1024)
        together = range(2 if peer.terms.max_buffers > 1 else target + 1)
        peer.go_in_turn(*together)
        for number in together:
            peer.expect_buffer(number)
        buffer = peer.buffer(target)
    last = buffer.last_packet or 0
    asked = sorted({0, last // 2, last})
    peer.resend(target, asked)
    for number in asked:
        peer.expect_copies(target, number)
    again = [s for s in peer.seen if s.packet.is_data and s.packet.buffer - peer.first_buffer == target]
    for seen in again:
        p, first = seen.packet, buffer.packets[seen.packet.packet].packet
        same = (p.type, p.flags, p.data, p.data_checksum) == (first.type, first.flags, first.data, first.data_checksum)
        t.must(same, f"packet {p.packet} changed in its retransmission", seen.frame)
    peer.finish()
    peer.expect_success()


@case("RESEND-04", roles=RECEIVERS)
def test_a_packet_lost_again_is_asked_for_again(t: Case) -> None:
    peer = t.sender(1024, buffer_size=1024)
    with t.preamble():
        peer.connect()
        peer.expect_go(0)
        peer.send_buffer(0, omit=[1])
    times = []
    for count in range(1, LOST_AGAIN + 1):
        request = peer.expect_resend(0, count)
        times.append(peer.now_us)
        t.must(1 in request.packets, f"{request} does not ask for packet 1", expected="a request for packet 1")
    t.observe("second RESEND, ms after the first", (times[1] - times[0]) // 1000)
    peer.finish()
    t.expect_delivered_by(peer)


@case("RESEND-04", roles=SENDERS)
def test_a_packet_asked_for_again_is_sent_again(t: Case) -> None:
    peer = t.receiver(1024)
    with t.preamble():
        peer.connect()
        peer.go(0)
        peer.expect_buffer(0)
    for count in range(2, 7):
        peer.resend(0, [1])
        peer.expect_copies(0, 1, count)
    peer.finish()
    peer.expect_success()


@case("RESEND-05", "TIMER-07", roles=RECEIVERS, variants=("full last buffer", "short last buffer", "earlier buffer"))
def test_a_lost_ldata_is_asked_for(t: Case) -> None:
    length = {"full last buffer": 1024, "short last buffer": 600, "earlier buffer": 2048}[t.variant]
    peer = t.sender(length)
    with t.preamble():
        peer.connect()
        peer.expect_go(0)
    last = peer.packet_count(0) - 1
    peer.send_buffer(0, omit=[last])
    request = peer.expect_resend(0)
    if t.variant == "short last buffer":
        whole = set(request.packets) | set(range(last)) >= set(range(peer.terms.packets_per_buffer))
        t.observe("RESEND without LDATA asks for", "all that a full buffer has" if whole else str(request.packets))
    # AMB-32: a list that has not reached the LDATA yet must get there; the transfer below has to end.
    asked = last in request.packets
    t.must(asked or t.variant == "short last buffer", str(request), expected=f"a request for the LDATA, packet {last}")
    peer.finish()
    t.expect_delivered_by(peer)


BEYOND = {"at the end": [1, 2, 3], "in the middle": [1, 3, 2], "far beyond": [1, 200]}


@case("RESEND-05", "RESEND-02", roles=SENDERS, variants=tuple(BEYOND))
def test_numbers_behind_the_ldata_are_ignored_and_the_others_served(t: Case) -> None:
    peer = t.receiver(600)  # packets 0, 1 and a short LDATA 2
    with t.preamble():
        peer.connect()
        peer.require(buffer_size=600, packet_size=256)
        peer.go(0)
        buffer = peer.expect_buffer(0)
    asked = BEYOND[t.variant]
    request = peer.resend(0, asked)
    if max(asked) >= peer.terms.packets_per_buffer:  # of no buffer: its peer may be thought to malfunction (5.3.3)
        came = peer.listen(t.tolerances.crossing_us)
        if any(seen.packet.type is Type.ABORT for seen in came):
            t.observe("a number beyond any buffer is", "answered with ABORT")
            return
    peer.expect_copies(0, 2 if 2 in asked else 1)
    peer.expect_ack(request.seq)
    heard = peer.silence([Type.ABORT, Type.QUIT], QUIET_US, "an over-long list is legal (AMB-32)")
    del heard
    text = f"RESEND of {asked}, the LDATA is 2: copies are {buffer.copies}"
    due = {number: 2 if number in asked else 1 for number in range(3)}
    replies = buffer.copies[2] - due[2]
    t.observe("a number beyond the LDATA is", "replied to with the LDATA" if replies else "ignored")
    t.must(0 <= replies <= sum(number > 2 for number in asked), text)  # AMB-32
    t.must({**buffer.copies, 2: due[2]} == due, text)
    peer.finish()
    peer.expect_success()


@case("RESEND-06", roles=RECEIVERS)
def test_a_request_that_is_not_acknowledged_is_repeated_not_renewed(t: Case) -> None:
    peer = t.sender(2048)
    with t.preamble():
        peer.connect()
        peer.expect_go(0)
        peer.listen(QUIET_US)
        peer.answer_controls(False)
        peer.withhold_ack()
        peer.send_buffer(0, omit=[2])
        acked = peer.ack
        peer.expect_resend(0)
    held_since = len(peer.controls)
    peer.expect_repeats(3)
    peer.listen(2 * QUIET_US)
    t.must(len(peer.controls) > held_since, "the request was not repeated", expected="another request")
    requests = [request for request in peer.requests(0) if request.seq > acked]
    t.must(
        len(requests) <= 1,
        f"{len(requests)} requests for buffer 0 are open: {', '.join(map(str, requests))}",
        expected="one open request",
    )
    peer.finish()
    peer.expect_success()


@case("RESEND-07", "R1030-05", roles=RECEIVERS)
def test_a_hole_at_the_ldata_is_not_asked_for_at_once(t: Case) -> None:
    peer = t.sender(1024)
    with t.preamble():
        peer.connect()
        peer.expect_go(0)
        peer.require(buffer_size=1024, packet_size=256)
    began_us = peer.now_us
    peer.send_packets(0, [0, 1, 3])
    heard = peer.listen(peer.ms(5) + 2 * t.link.delay_us)
    early = [s for s in heard if any(m.kind is Kind.RESEND for m in s.packet.messages)]
    if early and t.link.real_time and early[0].time_us - began_us > HELD_UP_US:
        t.observe("RESEND at the LDATA", "not judged: the tester was held up")
        early = []
    else:
        t.observe("RESEND at the LDATA", "at once" if early else "by the timer")
    t.should(
        not early,
        "RESEND at the arrival of the LDATA",
        early[0].frame if early else None,
        expected="RESEND by the data timer (AMB-31)",
    )
    peer.send_packet(0, 2)
    peer.expect_ok(0)


def judge_doubled(t: Case, buffer: ReceivedBuffer, request: Message) -> None:
    """AMB-35: what a RESEND names is retransmitted (5.2), whether it waits for its first transmission or not."""
    doubled = sorted(number for number, copies in buffer.copies.items() if copies > 1)
    t.observe("a RESEND before the first transmission is", "served literally" if doubled else "dropped")
    text = f"{request} before their first transmission: copies are {buffer.copies}"
    more = [n for n in doubled if n not in request.packets or buffer.copies[n] > 2]
    t.must(not more, text, expected="one copy, and one for each request")
    t.should(not doubled, text, expected="one copy of each packet (AMB-35)")


@case("RESEND-08", roles=SENDERS)
def test_packets_that_wait_for_their_first_transmission_are_not_doubled(t: Case) -> None:
    peer = t.receiver(4096, buffer_size=4096, burst_size=1, burst_interval_ms=50, max_buffers=1)
    with t.preamble():
        peer.connect()
        peer.require(packets_per_buffer=8)  # some packets must still wait
        peer.go(0)
        peer.until(lambda: len(peer.buffer(0).packets) >= 2, t.tolerances.reaction_max_us, "data")
    buffer, last = peer.buffer(0), peer.terms.packets_per_buffer - 1
    waiting = [number for number in (last - 1, last) if number > max(buffer.packets) + 4]
    request = peer.resend(0, waiting)  # as when a data timer expires before the sender got there (AMB-35)
    peer.expect_buffer(0)
    peer.expect_ack(request.seq)
    peer.listen(QUIET_US)
    judge_doubled(t, buffer, request)
    peer.finish()
    peer.expect_success()


@case("RESEND-08", roles=SENDERS)
def test_a_buffer_that_waits_behind_another_one_is_not_doubled_by_a_request(t: Case) -> None:
    peer = t.receiver(4096, buffer_size=2048, burst_size=1, burst_interval_ms=50, max_buffers=2)
    with t.preamble():
        peer.connect()
        peer.require(packets_per_buffer=6, max_buffers=2)
        peer.go(0, 1)
        peer.until(lambda: bool(peer.buffer(0).packets), t.tolerances.reaction_max_us, "data")
    request = peer.resend(1, [0, 1, peer.terms.packets_per_buffer - 1])
    for number in range(2):
        peer.expect_buffer(number)
    peer.expect_ack(request.seq)
    peer.listen(QUIET_US)
    judge_doubled(t, peer.buffer(1), request)
    peer.finish()
    peer.expect_success()


@case("RESEND-08", roles=SENDERS, variants=("confirmed buffer", "next buffer", "buffer far ahead", "no entries"))
def test_a_request_that_makes_no_sense_is_acknowledged_and_dropped(t: Case) -> None:
    peer = t.receiver(4 * 1024, max_buffers=2)
    with t.preamble():
        peer.connect()
        peer.go(0)
        peer.expect_buffer(0)
        if t.variant == "confirmed buffer":
            peer.ok(0)
            peer.expect_ack()
    asked: dict[str, tuple[int, list[int]]] = {
        "confirmed buffer": (0, [1]),
        "next buffer": (1, [0, 1]),  # which has no GO yet
        "buffer far ahead": (1000, [1]),
        "no entries": (0, []),
    }
    request: Message = peer.resend(*asked[t.variant])
    if t.was_aborted(peer, f"a RESEND for a {t.variant}", violated="RESEND-08"):
        return
    peer.expect_ack(request.seq)
    peer.listen(QUIET_US)
    copies = dict(peer.buffer(0).copies)
    t.must(set(copies.values()) == {1}, f"{request}: copies are {copies}", expected="no retransmission")
    t.must(not peer.buffer(1).packets, f"{request}: buffer 1 was sent without any GO", expected="no data before the GO")
    peer.finish()
    peer.expect_success()
