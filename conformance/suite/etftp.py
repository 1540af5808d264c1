# SPDX-License-Identifier: GPL-2.0-or-later
"""R1986: what RFC 1986 says of the transfer and of its end. Runs with --profile etftp."""

import dataclasses
from typing import Any

from netblt_conformance import wire
from netblt_conformance.cases.case import ALL_ROLES, RECEIVERS, SENDERS, Case, case
from netblt_conformance.common.errors import NotSupportedError
from netblt_conformance.common.model import MICROSECONDS_PER_MS as MS
from netblt_conformance.common.model import MICROSECONDS_PER_S as S
from netblt_conformance.common.model import Feature, Stop
from netblt_conformance.common.tolerances import QUIET_US
from netblt_conformance.packets import etftp, pacing, packets
from netblt_conformance.packets.packets import Kind, Type
from netblt_conformance.peer import ReceiverPeer, SenderPeer
from netblt_conformance.peer.exchange import Seen
from netblt_conformance.wire.fast import checksum_ok, data_checksum_ok

BUFFER, SIZE = 1024, 256
LENGTH = 2 * BUFFER + 600  # the last buffer has three packets
# What a packet size that changes means to oracles that know the one of the RESPONSE only.
OF_ONE_SIZE = ("CTRL-14", "DATA-03", "DATA-04", "DATA-05", "DATA-07", "RESEND-01", "TIMER-08")
FIXED_BYTES = {Type.KEEPALIVE: 12, Type.QUITACK: 12, Type.DONE: 12, Type.NULL_ACK: 20}


def transfer(t: Case, name: str = "", **options: object) -> ReceiverPeer | SenderPeer:
    """A whole transfer in which packet 1 of each buffer is lost at first, so that a RESEND is sent."""
    peer = t.peer(LENGTH, buffer_size=BUFFER, packet_size=SIZE, iut={"client_string": name}, **options)
    peer.connect()
    if isinstance(peer, SenderPeer):
        lost = set[int]()

        def loses(buffer: int, packet: int) -> bool:
            first = packet == 1 and buffer not in lost
            lost.update([buffer] if first else [])
            return first

        peer.finish(loses)
    else:
        peer.go(0)
        peer.expect_buffer(0)
        peer.resend(0, [1])
        peer.expect_copies(0, 1)
        peer.finish()
    peer.expect_success()
    return peer


@case("R1986-15", "R1986-16", "R1986-17", roles=ALL_ROLES)
def test_every_packet_has_the_format_of_its_table(t: Case) -> None:
    peer = transfer(t, "/a")
    for seen in peer.seen:
        kind, code = seen.packet.type, seen.wire[3]
        t.must(
            kind is not None,
            f"packet type {code} does not exist",
            seen.frame,
            violated="R1986-16",
            expected="a type code of RFC 1986",
        )
        assert kind is not None
        length = int.from_bytes(seen.wire[4:6], "big")
        aligned = length % 4 == 0 and len(seen.wire) % 4 == 0
        text = f"{kind.name} of {length} bytes is not aligned"
        t.must(aligned or seen.packet.is_data, text, seen.frame, violated="R1986-17", expected="a multiple of 4 bytes")
        least = 24 if seen.packet.is_data else FIXED_BYTES.get(kind, 12)
        fits = length == least or (kind not in FIXED_BYTES and length >= least)
        t.must(fits, f"{kind.name} of {length} bytes", seen.frame, expected=f"{least} bytes")
        judge_reserved(t, seen, kind)


def judge_reserved(t: Case, seen: Seen, kind: Type) -> None:
    """Bits that tables 7 and 9 to 12 reserve, and what is after the last message."""
    body = wire.ETFTP(seen.wire).payload
    if seen.packet.is_data:
        t.must(
            not int(body.flags) & ~1,
            f"reserved bits of {kind.name} are set",
            seen.frame,
            expected="reserved bits that are zero",
        )
    if kind is Type.CONTROL:
        rest = bytes(body.payload)
        t.must(
            not rest,
            f"{len(rest)} bytes after the last message are no control message",
            seen.frame,
            expected="whole control messages",
        )
        clean = not any(message.pad for message in body.messages)
        t.should(clean, "the padding of a control message is not zero", seen.frame, expected="zeros as padding")


@case("R1986-16", roles=ALL_ROLES)
def test_every_step_is_said_with_its_type_code(t: Case) -> None:
    peer = transfer(t)
    codes = {seen.wire[3] for seen in peer.seen}
    due = {Type.OPEN if t.role.active else Type.RESPONSE}
    due |= {Type.DATA, Type.LDATA} if t.role.sender else {Type.CONTROL}
    t.must(due <= codes <= set(range(12)), f"type codes {sorted(codes)}", expected=f"type codes {sorted(due)} at least")
    if not t.role.sender:
        kinds = {message.type for seen in peer.seen if seen.wire[3] == Type.CONTROL for message in messages_of(seen)}
        t.must(kinds == {0, 1, 2}, f"the control messages have the codes {sorted(kinds)}", expected="codes 0, 1 and 2")


def messages_of(seen: Seen) -> list[Any]:
    """As the scapy layer of ETFTP reads them."""
    return list(wire.ETFTP(seen.wire).payload.messages)


@case("R1986-17", roles=RECEIVERS)
def test_a_resend_of_an_odd_list_is_aligned(t: Case) -> None:
    peer = t.sender(BUFFER, buffer_size=BUFFER, packet_size=SIZE)
    with t.preamble():
        peer.connect()
        peer.expect_go(0)
    peer.send_buffer(0, omit=[0, 1, 2])
    request = peer.expect_resend(0)
    seen = peer.first_seen(request.seq)
    t.must(len(seen.wire) % 4 == 0, f"the CONTROL with {request} has {len(seen.wire)} bytes", seen.frame)
    peer.repair(0, [0, 1, 2])
    peer.finish()
    t.expect_delivered_by(peer)


@case("R1986-20", roles=ALL_ROLES, variants=("C is 0", "C is 1"))
def test_every_packet_is_summed(t: Case) -> None:
    peer = transfer(t, data_checksum=t.variant == "C is 1")
    for seen in peer.seen:
        t.must(
            checksum_ok(seen.wire),
            f"{seen} has a wrong header checksum",
            seen.frame,
            expected="a header checksum that fits",
        )
        if seen.packet.is_data and peer.terms.data_checksum:
            t.must(
                data_checksum_ok(seen.wire),
                f"{seen} has a wrong data area checksum",
                seen.frame,
                expected="a data area checksum that fits",
            )


@case("R1986-20", roles=RECEIVERS)
def test_data_with_a_wrong_checksum_are_asked_for_again(t: Case) -> None:
    peer = t.sender(BUFFER, buffer_size=BUFFER, packet_size=SIZE, data_checksum=True)
    with t.preamble():
        peer.connect()
        peer.expect_go(0)
    good = packets.data_checksum(peer.buffer_data(0)[:SIZE])
    peer.send_packet(0, 0, data_checksum=good ^ 0x0101)
    peer.send_buffer(0, omit=[0])
    t.must(
        peer.expect_resend(0).packets == (0,),
        "the packet with the wrong data area checksum was not requested alone",
        expected="a request for the damaged packet alone",
    )
    peer.repair(0, [0])
    peer.finish()
    t.expect_delivered_by(peer)


# ---- data ----


def first_copies(peer: ReceiverPeer) -> dict[int, list[Seen]]:
    """The data packets of each buffer in the order of their arrival."""
    found: dict[int, list[Seen]] = {}
    for seen in peer.seen:
        if seen.packet.is_data:
            found.setdefault(seen.packet.buffer, []).append(seen)
    return found


@case("R1986-21", "R1986-22", "R1986-07", roles=SENDERS)
def test_ldata_ends_each_buffer_and_l_marks_the_last_one(t: Case) -> None:
    peer = t.receiver(LENGTH, buffer_size=BUFFER, packet_size=SIZE)
    peer.connect()
    peer.require(max_buffers=1)
    for number in range(3):
        peer.go(number)
        peer.expect_buffer(number)
        if number == 2:
            peer.resend(2, [0, 2])
            peer.expect_copies(2, 0)
            peer.expect_copies(2, 2)
        peer.ok(number)
    peer.end()
    peer.expect_success()
    buffers = first_copies(peer)
    for number, seen in ((number, seen) for number, found in buffers.items() for seen in found):
        code, body = seen.wire[3], wire.ETFTP(seen.wire).payload
        highest = max(one.packet.packet for one in buffers[number])
        ends = body.packet == highest
        t.must((code == Type.LDATA) == ends, f"type {code} in packet {body.packet} of {highest}", seen.frame)
        last = number == max(buffers)
        flag = bool(int(body.flags) & 1)
        t.must(flag == last, f"L is {int(flag)} in buffer {number}", seen.frame, violated="R1986-22")
    lowest = min(seen.packet.packet for seen in buffers[min(buffers)])
    chosen = (t.profile.first_buffer, t.profile.spelling.first_packet + lowest)
    t.must(
        chosen == (0, 0),
        f"the first buffer is {chosen[0]}, its first packet {chosen[1]}",
        violated="R1986-07",
        expected="buffer 0 and packet 0",
    )


@case("R1986-07", roles=RECEIVERS)
def test_the_first_go_asks_for_buffer_0(t: Case) -> None:
    peer = t.sender(BUFFER, buffer_size=BUFFER)
    with t.preamble():
        peer.connect()
    peer.expect_go(0)
    t.must(
        peer.first_buffer == 0,
        f"the first GO asks for buffer {peer.first_buffer}",
        peer.controls[0].frame,
        expected="buffer 0",
    )
    peer.finish()
    t.expect_delivered_by(peer)


@case("R1986-14", roles=SENDERS)
def test_high_seq_names_messages_that_were_sent(t: Case) -> None:
    peer = transfer(t)
    highest = 0
    for seen in (seen for seen in peer.seen if seen.packet.acks):
        named = wire.ETFTP(seen.wire).payload.high_seq
        sent = {seq for seq, left_us in peer.monitor.session.issued.departures.items() if left_us < seen.time_us}
        t.must(
            named == 0 or named in sent,
            f"high-seq {named}, no such message was sent",
            seen.frame,
            expected="the number of a message that was sent",
        )
        t.should(
            named >= highest,
            f"high-seq falls from {highest} to {named}",
            seen.frame,
            expected="a high-seq that never falls",
        )
        highest = max(highest, named)
    t.must(highest > 0, "no message was ever acknowledged", expected="acknowledgement of messages")


INTERVAL_MS, BURST = 300, 2


@case("R1986-26", roles=SENDERS)
def test_the_burst_rate_is_in_milliseconds(t: Case) -> None:
    length = 12 * SIZE
    peer = t.receiver(length, buffer_size=length, packet_size=SIZE, burst_size=BURST, burst_interval_ms=INTERVAL_MS)
    with t.preamble():
        peer.connect()
    peer.go(0)
    interval_us = peer.ms(peer.terms.burst_interval_ms)
    buffer = peer.expect_buffer(0, 20 * interval_us)
    times = sorted(seen.time_us for seen in buffer.packets.values())
    wrong = pacing.complaint("packets", times, peer.terms.burst_size, interval_us, MS)
    t.must(wrong is None, wrong or "", expected="the agreed pace")
    t.must(
        times[-1] - times[0] <= 3 * 6 * interval_us,
        f"12 packets took {(times[-1] - times[0]) / S:.1f} s",
        expected=f"at most {3 * 6 * interval_us / S:.1f} s",
    )


# ---- OK and NULL-ACK ----


@case("R1986-23", roles=RECEIVERS)
def test_ok_returns_the_time_since_its_go(t: Case) -> None:
    peer = t.sender(BUFFER, buffer_size=BUFFER, max_buffers=1)
    with t.preamble():
        peer.connect()
        began_us = peer.first_seen(peer.expect_go(0).seq).time_us
        peer.listen(4300 * MS)
    peer.send_buffer(0)
    ok = peer.expect_ok(0)
    seen = peer.first_seen(ok.seq)
    elapsed_ms, stated = (seen.time_us - began_us) // MS, ok.control_timer_ms
    as_ms = abs(stated - elapsed_ms) <= t.tolerances.crossing_us // MS + 2 * t.link.delay_us // MS
    as_s = elapsed_ms // 1000 <= stated <= elapsed_ms // 1000 + 1
    t.observe("unit of the tight timer", "ms" if as_ms else "s" if as_s else "none")
    t.must(
        as_ms or as_s,
        f"OK came {elapsed_ms} ms after GO and returns {stated}",
        seen.frame,
        expected="the time that has passed since GO",
    )
    peer.finish()
    t.expect_delivered_by(peer)


OFFERS = {"a smaller burst": (4, 0), "a slower rate": (0, 40), "both": (2, 60)}


@case("R1986-06", roles=SENDERS, variants=tuple(OFFERS))
def test_a_null_ack_confirms_changed_burst_values(t: Case) -> None:
    peer = t.receiver(2 * BUFFER, buffer_size=BUFFER, burst_size=8, burst_interval_ms=20, max_buffers=1)
    with t.preamble():
        peer.connect()
        peer.go(0)
        peer.expect_buffer(0)
    size, interval_ms = OFFERS[t.variant]
    peer.offer = (size or peer.terms.burst_size, interval_ms or peer.terms.burst_interval_ms)
    ok = peer.ok(0)[0]
    seen = peer.expect(
        lambda packet: packet.type is Type.NULL_ACK and packet.high_seq >= ok.seq,
        t.tolerances.reaction_max_us,
        f"a NULL-ACK that confirms bursts of {peer.offer[0]} in {peer.offer[1]} ms",
    )
    stated = (seen.packet.burst_size, seen.packet.burst_interval_ms)
    t.must(
        stated[0] <= peer.offer[0] and stated[1] >= peer.offer[1],
        f"NULL-ACK confirms {stated}",
        seen.frame,
        expected=f"bursts of {peer.offer[0]} in {peer.offer[1]} ms",
    )
    peer.offer = None
    peer.finish()
    peer.expect_success()


def renegotiates(peer: ReceiverPeer | SenderPeer) -> None:
    """Opens with R at both ends. An implementation without it: N/A."""
    peer.extras.flags |= etftp.RENEGOTIATE
    peer.connect()
    opening = (peer.opens or peer.responses)[0]
    if not int(wire.ETFTP(opening.wire).payload.flags) & etftp.RENEGOTIATE:
        raise NotSupportedError("it does not renegotiate the packet size (R is 0)")


@case("R1986-05", roles=RECEIVERS)
def test_ok_carries_a_packet_size(t: Case) -> None:
    peer = t.sender(BUFFER, buffer_size=BUFFER, packet_size=SIZE, max_buffers=1)
    with t.preamble():
        renegotiates(peer)
        peer.expect_go(0)
    peer.send_buffer(0)
    seen = peer.first_seen(peer.expect_ok(0).seq)
    size = size_in_ok(seen)
    t.must(
        0 < size <= SIZE,
        f"OK offers packets of {size} bytes",
        seen.frame,
        expected=f"packets of {SIZE} bytes, as agreed",
    )
    peer.finish()
    t.expect_delivered_by(peer)


def size_in_ok(seen: Seen) -> int:
    return next(int(m.packet_size) for m in wire.ETFTP(seen.wire).payload.messages if m.type == Kind.OK)


@case("R1986-05", roles=SENDERS)
def test_a_smaller_packet_size_is_confirmed_and_used(t: Case) -> None:
    peer = t.receiver(3 * BUFFER, buffer_size=BUFFER, packet_size=SIZE, max_buffers=1)
    with t.preamble():
        renegotiates(peer)
        peer.go(0)
        peer.expect_buffer(0)
    t.provokes(*OF_ONE_SIZE)
    peer.extras.packet_size = SIZE // 2
    ok = peer.ok(0)[0]
    seen = peer.expect(
        lambda packet: packet.type is Type.NULL_ACK and packet.high_seq >= ok.seq,
        t.tolerances.reaction_max_us,
        "a NULL-ACK that confirms the packet size",
    )
    stated = wire.ETFTP(seen.wire).payload.packet_size
    t.must(
        stated == SIZE // 2,
        f"NULL-ACK confirms packets of {stated} bytes",
        seen.frame,
        expected=f"packets of {SIZE // 2} bytes, as offered",
    )
    peer.go(1)
    found = peer.expect_buffer(1)
    sizes = {len(one.packet.data) for one in found.packets.values()}
    t.must(
        sizes == {SIZE // 2},
        f"the next buffer has packets of {sorted(sizes)} bytes",
        expected=f"packets of {SIZE // 2} bytes",
    )
    t.must(
        peer.data[BUFFER : 2 * BUFFER] == found.data,
        "the smaller packets hold other data",
        expected="the data that were to be sent",
    )
    peer.finish()
    peer.expect_success()


def lose_half(peer: SenderPeer, buffer: int) -> None:
    """Sends a buffer of which the first half comes only when it is requested."""
    peer.expect_go(buffer)
    half = range(peer.packet_count(buffer) // 2)
    peer.send_buffer(buffer, omit=half)
    peer.repair(buffer, half)


@case("R1986-08", roles=RECEIVERS, variants=("packets of 256 bytes", "packets of 16 bytes"))
def test_much_loss_makes_packets_smaller_or_bursts_shorter(t: Case) -> None:
    size = SIZE if "256" in t.variant else 16
    peer = t.sender(2 * BUFFER, buffer_size=BUFFER, packet_size=size, burst_size=8, max_buffers=1)
    with t.preamble():
        renegotiates(peer)
        lose_half(peer, 0)
        ok = peer.expect_ok(0)
    seen = peer.first_seen(ok.seq)
    offered = size_in_ok(seen)
    terms = peer.terms
    slower = ok.burst_size < terms.burst_size or ok.burst_interval_ms > terms.burst_interval_ms
    t.must(offered in (0, *range(16, size + 1)), f"OK offers packets of {offered} bytes", seen.frame)
    t.should(
        0 < offered < size or slower,
        "half of the buffer was lost, and OK offers the same",
        seen.frame,
        expected="smaller packets or bursts",
    )
    t.should(
        size > 16 or ok.burst_size == terms.burst_size - 1,
        f"packets of {size} bytes cannot be smaller, and OK offers bursts of {ok.burst_size}",
        seen.frame,
        expected=f"bursts of {terms.burst_size - 1}",
    )


@case("R1986-08", roles=RECEIVERS)
def test_after_a_clean_buffer_packets_grow_again(t: Case) -> None:
    peer = t.sender(4 * BUFFER, buffer_size=BUFFER, packet_size=SIZE, max_buffers=1)
    with t.preamble():
        renegotiates(peer)
        lose_half(peer, 0)
        smaller = size_in_ok(peer.first_seen(peer.expect_ok(0).seq))
    if not 0 < smaller < SIZE:
        raise NotSupportedError("it did not make packets smaller")
    t.provokes(*OF_ONE_SIZE)
    use_packets_of(peer, smaller)
    peer.expect_go(1)
    peer.send_buffer(1)
    seen = peer.first_seen(peer.expect_ok(1).seq)
    larger = size_in_ok(seen)
    t.should(
        smaller < larger <= SIZE,
        f"packets of {smaller} bytes all came, OK offers {larger}",
        seen.frame,
        expected="no smaller packets when all came",
    )
    use_packets_of(peer, larger or smaller)
    peer.finish()
    t.expect_delivered_by(peer)


def use_packets_of(peer: SenderPeer, size: int) -> None:
    """Confirms the offered size, and sends such packets from now on."""
    peer.extras.packet_size = size
    peer.agreed = dataclasses.replace(peer.terms, packet_size=size)
    peer.null_ack()


@case("R1986-28", roles=RECEIVERS)
def test_without_r_an_ok_changes_no_packet_size(t: Case) -> None:
    peer = t.sender(2 * BUFFER, buffer_size=BUFFER, packet_size=SIZE, max_buffers=1)
    peer.extras.flags = etftp.BINARY
    with t.preamble():
        peer.connect()
        lose_half(peer, 0)
        ok = peer.expect_ok(0)
    seen = peer.first_seen(ok.seq)
    offered = size_in_ok(seen)
    t.must(
        offered in (0, SIZE),
        f"OK offers packets of {offered} bytes without R",
        seen.frame,
        expected="packets of the agreed size without R",
    )
    peer.finish()
    t.expect_delivered_by(peer)


@case("R1986-28", roles=SENDERS)
def test_without_r_the_packets_keep_their_size(t: Case) -> None:
    peer = t.receiver(3 * BUFFER, buffer_size=BUFFER, packet_size=SIZE, max_buffers=1)
    peer.extras.flags = etftp.BINARY
    with t.preamble():
        peer.connect()
        peer.go(0)
        peer.expect_buffer(0)
    peer.extras.packet_size = SIZE // 2
    peer.ok(0)
    peer.listen(QUIET_US)
    peer.go(1)
    sizes = {len(one.packet.data) for one in peer.expect_buffer(1).packets.values()}
    t.must(
        sizes == {SIZE},
        f"without R an OK made packets of {sorted(sizes)} bytes",
        expected="packets of the agreed size without R",
    )
    peer.finish()
    peer.expect_success()


# ---- the end ----


@case("R1986-10", roles=SENDERS)
def test_a_sender_quits_after_the_last_ok_and_closes_on_done(t: Case) -> None:
    peer = t.receiver(BUFFER, buffer_size=BUFFER)
    with t.preamble():
        peer.connect()
        peer.go(0)
        peer.expect_buffer(0)
    peer.silence([Type.QUIT], S, "the last buffer has no OK")
    peer.ok(0)
    peer.end()
    peer.listen(t.tolerances.crossing_us)
    peer.silence([Type.QUIT], 30 * S, "DONE has answered the QUIT")
    peer.expect_success()


@case("R1986-10", roles=RECEIVERS)
def test_a_receiver_answers_the_quit_at_the_end_with_done(t: Case) -> None:
    peer = t.sender(BUFFER, buffer_size=BUFFER)
    with t.preamble():
        peer.connect()
        peer.expect_go(0)
        peer.send_buffer(0)
        peer.expect_ok(0)
        peer.null_ack()
    peer.silence([Type.DONE], 2 * S, "the sender has not quit")
    peer.send_quit("")
    seen = peer.expect_answer_to_quit()
    t.must(
        seen.wire[3] == Type.DONE, f"{Type(seen.wire[3]).name} answers the QUIT at the end", seen.frame, expected="DONE"
    )
    t.expect_delivered_by(peer)
    peer.send_quit("")
    again = [one for one in peer.listen(t.tolerances.reaction_max_us) if one.packet.type is Type.QUITACK]
    t.observe("the QUIT at the end, repeated, is", "answered" if again else "not answered")


@case("R1986-27", roles=ALL_ROLES)
def test_a_quit_in_the_middle_is_answered_each_time(t: Case) -> None:
    peer = t.peer(4 * BUFFER, buffer_size=BUFFER, max_buffers=1)
    with t.preamble():
        peer.connect()
        t.run_first_buffer(peer)
    for _ in range(2):
        peer.send_quit("no more")
        seen = peer.expect_answer_to_quit()
    t.observe("a QUIT in the middle is answered with", Type(seen.wire[3]).name)
    peer.expect_failure()


@case("R1986-27", roles=ALL_ROLES, needs=(Feature.QUIT,), variants=("QUITACK", "DONE"))
def test_a_quit_is_repeated_until_either_answer_comes(t: Case) -> None:
    peer = t.peer(4 * BUFFER, buffer_size=BUFFER, max_buffers=1)
    with t.preamble():
        peer.connect()
        t.run_first_buffer(peer)
        t.link.stop(Stop.QUIT, "the client has had enough")
        peer.expect_type(Type.QUIT, 15 * S)
    peer.expect_type(Type.QUIT, 60 * S)
    if t.variant == "DONE" and not t.role.sender:
        raise NotSupportedError("DONE comes from receivers only")
    peer.send(peer.forge.packet(Type[t.variant]))
    peer.expect_failure()
    peer.listen(t.tolerances.crossing_us)
    peer.silence([Type.QUIT], 30 * S, "the QUIT was answered")
