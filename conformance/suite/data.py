# SPDX-License-Identifier: GPL-2.0-or-later
"""DATA: buffers, packets and their delivery (RFC 998 3, 5.2, 5.3.1)."""

import contextlib
import itertools

from netblt_conformance.cases.case import ALL_ROLES, RECEIVERS, SENDERS, Case, case
from netblt_conformance.common.errors import NotSupportedError
from netblt_conformance.common.model import MICROSECONDS_PER_S as S
from netblt_conformance.common.model import Feature
from netblt_conformance.common.tolerances import QUIET_US
from netblt_conformance.packets.packets import Kind, Type
from netblt_conformance.peer import SenderPeer
from netblt_conformance.peer.exchange import UnmetError

BEYOND_16_BITS = 0x0001_2345
# Transfer lengths around the edges of packets (256 bytes) and buffers (1024 bytes).
LENGTHS = {"one packet": 4, "one full packet": 256, "two packets": 260, "full buffer": 1024, "buffer and a bit": 1028}


@case("DATA-01", roles=SENDERS)
def test_no_data_before_its_go(t: Case) -> None:
    peer = t.receiver(3 * 1024, max_buffers=3)
    with t.preamble():
        peer.connect()
    peer.silence([Type.DATA, Type.LDATA], 2 * S, "no GO was sent")
    peer.go(0)
    peer.expect_buffer(0)
    peer.listen(QUIET_US)
    others = [seen for seen in peer.seen if seen.packet.is_data and seen.packet.buffer != peer.first_buffer]
    t.must(
        not others,
        "data of a buffer that has no GO",
        others[0].frame if others else None,
        expected="data of requested buffers only",
    )


@case("DATA-04", "DATA-03", "DATA-05", roles=SENDERS, variants=tuple(LENGTHS))
def test_the_highest_packet_of_a_buffer_and_only_it_is_ldata(t: Case) -> None:
    peer = t.receiver(LENGTHS[t.variant])
    with t.preamble():
        peer.connect()
        peer.require(buffer_size=1024, packet_size=256)
    peer.go_in_turn(0, 1)
    peer.until(lambda: peer.last_buffer is not None, t.tolerances.reaction_max_us, "the last buffer")
    last = peer.last_buffer or 0
    for number in range(last + 1):
        buffer = peer.expect_buffer(number)
        rest = len(peer.data) - number * peer.terms.buffer_size
        # The end may be found late (AMB-41).
        count = max(1, -(-min(peer.terms.buffer_size, rest) // peer.terms.packet_size))
        types = [buffer.packets[n].packet.type for n in sorted(buffer.packets)]
        wanted = [Type.DATA] * (count - 1) + [Type.LDATA]
        text = f"buffer {number} came as {[kind.name for kind in types if kind is not None]}"
        if types in ([*wanted, Type.LDATA], [*wanted[:-1], Type.DATA, Type.LDATA]):
            empty = not buffer.packets[max(buffer.packets)].packet.data
            if empty:
                t.should(False, text + ", with an extra empty LDATA", expected="no empty LDATA after the data (AMB-42)")
                continue
        t.must(
            sorted(buffer.packets) == list(range(count)),
            f"buffer {number} has packets {sorted(buffer.packets)}",
            expected=f"packets 0 to {count - 1}",
        )
        t.must(types == wanted, text)
    peer.finish()
    peer.expect_success()


@case("DATA-02", "DATA-03", "R1030-09", roles=SENDERS)
def test_every_buffer_but_the_last_is_full_and_every_data_packet_has_the_agreed_size(t: Case) -> None:
    peer = t.receiver(3 * 1000 + 200, buffer_size=1000, packet_size=256, max_buffers=4)
    with t.preamble():
        peer.connect()
        peer.require(buffer_size=1000, packet_size=256)
    peer.go_in_turn(0, 1, 2, 3)
    for number in range(4):
        buffer = peer.expect_buffer(number)
        sizes = [len(buffer.packets[n].packet.data) for n in sorted(buffer.packets)]
        wanted = [peer.scaled(size) for size in ([256, 256, 256, 232] if number < 3 else [200])]
        t.must(
            sizes == wanted, f"buffer {number} came in packets of {sizes} bytes", expected=f"packets of {wanted} bytes"
        )


@case("DATA-05", "RESEND-02", roles=SENDERS)
def test_packet_numbers_go_on_beyond_one_byte(t: Case) -> None:
    count, asked = 300, (255, 256, 299)
    peer = t.receiver(count * 64 - 1, buffer_size=count * 64, packet_size=64, burst_size=100)
    with t.preamble():
        peer.connect()
        peer.require(buffer_size=count * 64, packet_size=64)
    peer.go(0)
    numbers = sorted(peer.expect_buffer(0).packets)
    t.must(
        numbers == list(range(count)),
        f"{count} packets have {len(numbers)} numbers from 0 to {max(numbers)}",
        expected=f"the numbers from 0 to {count - 1}",
    )
    peer.resend(0, asked)
    for number in asked:
        peer.expect_copies(0, number)
    peer.listen(QUIET_US)
    again = [number for number, copies in sorted(peer.buffer(0).copies.items()) if copies > 1]
    t.must(
        again == list(asked),
        f"RESEND of {list(asked)}: retransmitted were {again}",
        expected="retransmission of these packets",
    )
    peer.finish()
    peer.expect_success()


@case("DATA-06", roles=RECEIVERS)
def test_buffers_are_numbered_by_one(t: Case) -> None:
    peer = t.sender(5 * 1024)
    with t.preamble():
        peer.connect()
    peer.finish()
    gos = [m.buffer for _, m in sorted(peer.messages.items()) if m.kind is Kind.GO]
    first = gos[0]
    t.must(all(b > a for a, b in itertools.pairwise(gos)), f"GOs are numbered {gos}", expected="numbers that increase")
    t.should(
        gos == list(range(first, first + len(gos))),
        f"GOs are numbered {gos}",
        expected="numbers that go up by one (AMB-47)",
    )
    t.observe("first buffer number", first)


@case("DATA-06", roles=SENDERS)
def test_data_carry_the_number_of_their_go(t: Case) -> None:
    peer = t.receiver(3 * 1024, max_buffers=1)
    with t.preamble():
        peer.connect()
    for number in range(3):
        peer.go(number)
        data = peer.expect(lambda packet: packet.is_data, t.tolerances.reaction_max_us, "data")
        due = peer.first_buffer + number
        t.must(
            data.packet.buffer == due,
            f"data of buffer {data.packet.buffer} follow the GO for {due}",
            data.frame,
            expected=f"data of buffer {due}",
        )
        peer.expect_buffer(number)
        peer.ok(number)
    peer.finish()
    peer.expect_success()


@case("DATA-06", roles=SENDERS)
def test_a_buffer_number_has_32_bits(t: Case) -> None:
    peer = t.receiver(2 * 1024, max_buffers=1)
    peer.first_buffer = BEYOND_16_BITS
    with t.preamble():
        peer.connect()
    peer.go(0)
    within_us, ends = t.tolerances.reaction_max_us, (Type.ABORT, Type.QUIT)
    try:
        data = peer.expect(lambda p: p.is_data or p.type in ends, within_us, "data or ABORT")
    except UnmetError:
        data = None
    if data is None or not data.packet.is_data:
        raise NotSupportedError(f"it does not begin with buffer {BEYOND_16_BITS} (AMB-09)")
    text = f"data of buffer {data.packet.buffer} follow the GO for {BEYOND_16_BITS}"
    t.must(data.packet.buffer == BEYOND_16_BITS, text, data.frame, expected=f"data of buffer {BEYOND_16_BITS}")
    peer.finish()
    peer.expect_success()


@case("DATA-07", "DATA-08", roles=RECEIVERS, variants=("reversed", "doubled", "shuffled"))
def test_order_and_repetition_of_packets_do_not_matter(t: Case) -> None:
    peer = t.sender(2048, buffer_size=2048)
    with t.preamble():
        peer.connect()
        peer.expect_go(0)
    numbers = list(range(peer.packet_count(0)))
    if t.variant == "reversed":
        numbers.reverse()
    elif t.variant == "doubled":
        numbers = [n for n in numbers for _ in range(2)]
    else:
        t.random.shuffle(numbers)
    for number in numbers:
        peer.send_packet(0, number)
    peer.expect_ok(0)
    peer.finish()
    peer.expect_success()
    t.expect_delivered(peer.data)
    t.must(len(peer.find(Kind.OK, 0)) == 1, "more than one OK for the buffer", expected="one OK")


@case("DATA-07", "CTRL-14", roles=RECEIVERS)
def test_a_copy_does_not_stand_for_a_packet_that_is_missing(t: Case) -> None:
    """As many packets arrive as the buffer has, but one of them twice and one never."""
    peer = t.sender(2048, buffer_size=2048)
    with t.preamble():
        peer.connect()
        peer.expect_go(0)
    peer.send_packet(0, 0)
    peer.send_buffer(0, omit=[2])
    peer.expect_resend(0)
    peer.finish()
    peer.expect_success()
    t.expect_delivered(peer.data)


@case("DATA-08", roles=ALL_ROLES, variants=(*LENGTHS, "several buffers", "odd length"))
def test_the_data_arrive_byte_for_byte(t: Case) -> None:
    length = {**LENGTHS, "several buffers": 5 * 1024 + 516, "odd length": 1021}[t.variant]
    peer = t.peer(length)
    with t.preamble():
        peer.connect()
    received = peer.finish()
    peer.expect_success()
    t.expect_intact(received, peer.data)


@case("DATA-08", roles=RECEIVERS)
def test_buffers_reach_the_client_in_the_order_of_their_numbers(t: Case) -> None:
    peer = t.sender(3 * 1024, max_buffers=3)
    with t.preamble():
        peer.connect()
        peer.expect_go(0)
        peer.listen(QUIET_US)
        begun = sorted({peer.index(m.buffer) for m in peer.messages.values() if m.kind is Kind.GO})
    for number in reversed(begun):  # an implementation that GOes one buffer at a time is spared
        peer.send_buffer(number, omit=[0] if number == 0 else [])
    peer.finish()
    peer.expect_success()
    t.expect_delivered(peer.data)


@case("DATA-09", roles=SENDERS)
def test_the_last_buffer_flag_is_on_every_packet_of_the_last_buffer_and_on_no_other(t: Case) -> None:
    peer = t.receiver(2 * 1024 + 900, max_buffers=3)
    with t.preamble():
        peer.connect()
        peer.require(buffer_size=1024, packet_size=256)
        peer.go_in_turn(0, 1, 2)
        for number in range(3):
            peer.expect_buffer(number)
    asked = {number: packets for number, packets in ((2, [0, 3]), (1, [2])) if number in peer.unconfirmed}
    for number, packets in asked.items():
        peer.resend(number, packets)
    for number, packets in asked.items():
        peer.expect_copies(number, packets[-1])
    for seen in peer.seen:
        if seen.packet.is_data:
            flag, due = seen.packet.last_buffer, seen.packet.buffer == peer.first_buffer + 2
            t.must(flag == due, f"{seen.packet} has the last-buffer flag {'set' if flag else 'clear'}", seen.frame)
    peer.finish()
    peer.expect_success()


@case("DATA-09", "DATA-04", roles=SENDERS, variants=("one packet", "three packets", "full buffer"))
def test_the_only_buffer_is_marked_as_the_last(t: Case) -> None:
    peer = t.receiver({"one packet": 200, "three packets": 600, "full buffer": 1024}[t.variant])
    with t.preamble():
        peer.connect()
        peer.require(buffer_size=600)
        peer.go(0)
        buffer = peer.expect_buffer(0)
    # Of a full one it may not know it yet; then an empty one follows (AMB-41).
    for seen in buffer.packets.values() if t.variant != "full buffer" else ():
        t.must(
            seen.packet.last_buffer,
            f"{seen.packet} lacks the last-buffer flag",
            seen.frame,
            expected="the last-buffer flag in each packet of the last buffer",
        )
    peer.finish()
    peer.expect_success()


@case("DATA-10", roles=RECEIVERS)
def test_no_go_follows_the_last_buffer(t: Case) -> None:
    peer = t.sender(2 * 1024, max_buffers=1)
    with t.preamble():
        peer.connect()
    peer.finish()
    peer.expect_success()
    gos = [peer.index(m.buffer) for m in peer.messages.values() if m.kind is Kind.GO]
    last = peer.buffer_count - 1
    t.should(
        max(gos) <= last,
        f"GO for buffer {max(gos)}, the last one was {last}",
        expected="no GO beyond the last buffer (AMB-30)",
    )


@case("DATA-10", roles=RECEIVERS)
def test_the_last_buffer_flag_ends_the_issue_of_gos_when_several_are_outstanding(t: Case) -> None:
    peer = t.sender(4 * 1024, max_buffers=2)
    with t.preamble():
        peer.connect()
    lost: set[int] = set()

    def lose(buffer: int, packet: int) -> bool:
        """The flag is known from buffer 3 before the completion of buffer 2 makes room for another GO."""
        first = packet == 0 and buffer == 2 and buffer not in lost
        lost.update([buffer] if first else [])
        return first

    peer.finish(lose)
    peer.expect_success()
    t.expect_delivered(peer.data)
    # The monitor judges: only a GO that left after the flag had arrived is wrong.
    t.observe("highest GO, the last buffer is 3", max(peer.index(m.buffer) for m in peer.messages.values()))


@case("DATA-10", "CTRL-15", roles=RECEIVERS)
def test_any_packet_of_the_last_buffer_tells_that_it_is_the_last(t: Case) -> None:
    peer = t.sender(1024 + 700, max_buffers=2)
    with t.preamble():
        peer.connect()
        peer.require(buffer_size=1024, packet_size=256, max_buffers=2)
        peer.require_gos(2)
    peer.send_packet(1, 0)  # its LDATA is still to come
    peer.listen(QUIET_US)
    peer.send_buffer(0)
    peer.expect_ok(0)
    peer.listen(QUIET_US)
    text = "GO for buffer 2 although a packet of buffer 1 had the last-buffer flag (AMB-30)"
    t.should(not peer.find(Kind.GO, 2), text, expected="no GO beyond the last buffer")
    peer.finish()
    peer.expect_success()


@case("DATA-11", roles=SENDERS)
def test_several_buffers_go_out_without_waiting_for_an_ok(t: Case) -> None:
    peer = t.receiver(3 * 1024, max_buffers=3)
    with t.preamble():
        peer.connect()
        peer.require(max_buffers=2)
    together = range(min(3, peer.terms.max_buffers))
    peer.go(*together)
    for number in together:
        try:
            peer.expect_buffer(number)
        except UnmetError as unmet:
            if not peer.begins_after_ok():
                raise
            t.observe("buffers under way", "one")
            text = f"nothing of buffer {number} came before the OK of the one before"
            t.should(False, text, unmet.frame, expected="the next buffer without waiting for that OK (AMB-79)")
            break
    else:
        t.observe("buffers under way", f"{len(together)}, as many as were agreed")
    peer.finish()
    peer.expect_success()


@case("DATA-12", roles=RECEIVERS, variants=("1", "2", "5", "1 and lost packets", "2 and lost packets"))
def test_no_more_buffers_are_outstanding_than_agreed(t: Case) -> None:
    limit = int(t.variant.split()[0])
    lost: set[int] = set() if t.variant.endswith("packets") else set(range(8))

    def lose(buffer: int, packet: int) -> bool:
        """The first packet of each buffer is lost once: its LDATA comes, and it is not complete."""
        new = packet == 0 and buffer not in lost
        lost.add(buffer)
        return new

    peer = t.sender(8 * 1024, buffer_size=1024, max_buffers=limit)
    with t.preamble():
        peer.connect()
    peer.finish(lose)
    outstanding = most = 0
    for seen in peer.controls:
        news = [m for m in seen.packet.messages if peer.first_seen(m.seq) is seen]
        outstanding += sum((m.kind is Kind.GO) - (m.kind is Kind.OK) for m in news)
        most = max(most, outstanding)
    t.should(
        most <= limit,
        f"{most} buffers had a GO and no OK",
        expected=f"at most the {limit} buffers that were agreed (AMB-29)",
    )
    peer.expect_success()


@case("DATA-12", roles=SENDERS, variants=("1", "3", "1 of 4 after negotiation", "2 after a RESEND"))
def test_a_sender_holds_back_when_it_gets_too_many_gos(t: Case) -> None:
    restricted = t.variant.endswith("negotiation")  # the tester asks for fewer than the implementation could
    limit = int(t.variant.split()[0])
    peer = t.receiver((limit + 4) * 1024, max_buffers=4 if restricted else limit, own={"max_buffers": limit})
    with t.preamble():
        peer.connect()
        peer.require(max_buffers=limit)
        peer.go(*range(limit + 2))
        peer.expect_buffer(limit - 1)
        if t.variant.endswith("RESEND"):
            peer.expect_buffer(0)
            peer.resend(0, [0])
            peer.expect_copies(0, 0)
    peer.listen(peer.ack_deadline_us)  # the monitor fails a sender that accepts it
    text = f"of {limit + 2} GOs, where {limit} were agreed, {peer.high_seq} are acknowledged (AMB-29)"
    t.should(peer.high_seq >= limit + 2, text, expected="every GO to be acknowledged")
    sent = sorted(n for n, buffer in peer.buffers.items() if buffer.packets)
    t.must(
        len(sent) <= limit, f"buffers {sent} were sent without an OK", expected=f"at most {limit} buffers without an OK"
    )
    t.observe(f"buffers sent with {limit + 2} GOs where {limit} were agreed", len(sent))
    peer.finish()
    peer.expect_success()


@case("DATA-15", roles=SENDERS, needs=(Feature.CLIENT_STALL,))
def test_a_buffer_that_was_begun_is_finished_while_the_client_stalls(t: Case) -> None:
    stall = {"client_stall_from": 2, "client_stall_until_us": 20 * S}
    peer = t.receiver(3 * 2048, buffer_size=2048, burst_size=1, burst_interval_ms=20, iut=stall)
    with t.preamble():
        peer.connect()
        peer.require(buffer_size=2048, max_buffers=2)
    peer.go(0, 1)
    # A program may want more from its client before it begins: then nothing can be judged.
    with t.preamble() if t.link.real_time else contextlib.nullcontext():
        peer.expect_buffer(0)
        peer.until(lambda: bool(peer.buffer(1).packets), t.tolerances.reaction_max_us, "data of buffer 1")
    t.note("while the client has no third buffer")
    peer.message(Kind.OK, peer.first_buffer)
    peer.message(Kind.GO, peer.first_buffer + 2)
    peer.send_control()
    peer.expect_buffer(1)
    peer.silence([Type.DATA, Type.LDATA], QUIET_US, "the client does not have the next buffer yet")
    peer.expect_buffer(2, 25 * S)
    peer.finish()
    peer.expect_success()


@case("DATA-15", "RESEND-01", roles=RECEIVERS, needs=(Feature.CLIENT_STALL,))
def test_a_buffer_that_was_begun_is_completed_while_the_receiving_client_stalls(t: Case) -> None:
    stalled_until_us = 20 * S
    stall = {"client_stall_from": 2, "client_stall_until_us": stalled_until_us}
    peer = t.sender(3 * 1024, max_buffers=2, iut=stall)
    with t.preamble():
        peer.connect()
        peer.require(buffer_size=1024, packet_size=256)
        peer.expect_go(0)
        peer.send_buffer(0)
        peer.expect_ok(0)
        peer.expect_go(1)
        peer.send_buffer(1, omit=[1])
    t.note("while the client has no third buffer")
    request = peer.expect_resend(1)
    t.must(
        1 in request.packets,
        f"{request} does not ask for packet 1",
        peer.first_seen(request.seq).frame,
        expected="a request for packet 1",
    )
    peer.send_packet(1, 1)
    peer.expect_ok(1)
    meanwhile = peer.now_us < stalled_until_us
    t.must(
        meanwhile,
        "the buffer that was begun was completed only when the client had the next one",
        expected="data of a begun buffer without delay",
    )
    if not t.link.real_time:  # a program has memory of its own
        t.must(
            not peer.find(Kind.GO, 2),
            "the client has no third buffer yet, but its GO came",
            expected="no GO before the client has a buffer",
        )
    peer.finish(within_us=stalled_until_us + 3 * t.tolerances.control_repeat_max_us)
    t.expect_delivered_by(peer)


@case("NEG-11", "DATA-02", roles=ALL_ROLES, variants=("1", "100", "999", "65539", "70001"))
def test_buffers_of_any_size_work(t: Case) -> None:
    size = int(t.variant)
    peer = t.peer(2 * size + size // 2 + 3, buffer_size=size, packet_size=1432 if size > 1000 else 256, burst_size=20)
    with t.preamble():
        peer.connect()
        peer.require(buffer_size=min(size, 1024))
    received = peer.finish()
    peer.expect_success()
    t.expect_intact(received, peer.data)


@case("DATA-08", "DATA-04", roles=ALL_ROLES)
def test_an_empty_transfer_comes_to_an_end(t: Case) -> None:
    peer = t.peer(0)
    with t.preamble():
        peer.connect()
    if isinstance(peer, SenderPeer):
        peer.finish()
        peer.expect_success()
        t.expect_delivered(b"")
        return
    peer.go(0)
    ends = (Type.LDATA, Type.QUIT, Type.ABORT)
    seen = peer.expect(lambda packet: packet.type in ends, t.tolerances.close_max_us, "some end")
    t.observe("an empty transfer", f"ends in {seen.packet.type and seen.packet.type.name}")
    if seen.packet.type is Type.LDATA:
        empty = not seen.packet.data and seen.packet.last_buffer
        t.must(
            empty,
            f"{seen.packet} holds {len(seen.packet.data)} bytes",
            seen.frame,
            expected="an empty LDATA with the last-buffer flag",
        )
        peer.finish()
        peer.expect_success()
    elif seen.packet.type is Type.QUIT:
        peer.send(peer.forge.packet(Type.QUITACK))


@case("NEG-08", roles=SENDERS)
def test_packet_and_buffer_size_stay_what_they_were_through_every_ok(t: Case) -> None:
    peer = t.receiver(4 * 1024, max_buffers=1)
    with t.preamble():
        peer.connect()
        peer.require(buffer_size=1024, packet_size=256)
    for number in range(4):
        peer.offer = (4 + number, 5 + number)
        peer.go(number)
        sizes = [len(seen.packet.data) for _, seen in sorted(peer.expect_buffer(number).packets.items())]
        t.must(sizes == [peer.scaled(256)] * 4, f"buffer {number} came in packets of {sizes} bytes")
        peer.ok(number)
    peer.finish()  # it may not know before that there is nothing more (AMB-41)
    peer.expect_success()


@case("DATA-13", roles=SENDERS, variants=("earlier buffer", "last buffer", "after one request"))
def test_nothing_is_sent_again_without_a_request(t: Case) -> None:
    deaths = {"iut": {"death_timer_s": 8}, "own": {"death_timer_s": 8}}  # so that it has KEEPALIVEs to send meanwhile
    peer = t.receiver(1000 if t.variant == "last buffer" else 2 * 1024, **deaths)
    with t.preamble():
        peer.connect()
        peer.require(buffer_size=1000)
        peer.go(0)
        buffer = peer.expect_buffer(0)
        if t.variant == "after one request":
            peer.resend(0, [0])
            peer.expect_copies(0, 0)
    before = dict(buffer.copies)
    peer.silence([Type.DATA, Type.LDATA], 6 * S, "nothing was requested")
    t.must(buffer.copies == before, f"copies are {buffer.copies}", expected=f"copies {before}")
