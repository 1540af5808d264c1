# SPDX-License-Identifier: GPL-2.0-or-later
"""CKSUM: what checksums protect."""

from netblt_conformance.cases.case import ACTIVE, ALL_ROLES, PASSIVE, RECEIVERS, SENDERS, Case, case
from netblt_conformance.common.errors import NotSupportedError
from netblt_conformance.common.model import MICROSECONDS_PER_S as S
from netblt_conformance.common.tolerances import QUIET_US
from netblt_conformance.common.waits import Awaited
from netblt_conformance.packets import packets
from netblt_conformance.packets.packets import Kind, Message, Type
from netblt_conformance.peer import ReceiverPeer, SenderPeer
from netblt_conformance.peer.exchange import UnmetError
from netblt_conformance.wire import data_checksum_ok


@case("CKSUM-01", "CKSUM-02", "CKSUM-03", roles=ALL_ROLES, variants=("3000 bytes", "2999 bytes"))
def test_every_packet_of_a_transfer_carries_a_good_checksum(t: Case) -> None:
    peer = t.peer(int(t.variant.split()[0]))  # the monitor sums every packet again
    with t.preamble():
        peer.connect()
        peer.finish()
    peer.listen(QUIET_US)


@case("CKSUM-01", roles=ALL_ROLES)
def test_packets_outside_a_transfer_carry_good_checksums_too(t: Case) -> None:
    peer = t.peer(3000, own={"death_timer_s": 2})
    with t.preamble():
        peer.connect()
        peer.listen(S)  # KEEPALIVE
        other = peer.unique_id ^ 0x55555555
        _ = peer.send_response(unique_id=other) if t.role.active else peer.send_open(unique_id=other)
        peer.listen(QUIET_US)  # ABORT
        peer.send_quit()
        peer.expect_type(Type.QUITACK)
    bad = [seen for seen in peer.seen if not seen.packet.checksum_good]
    t.must(not bad, f"{bad[0].packet if bad else ''} carries a wrong checksum", bad[0].frame if bad else None)


@case("CKSUM-01", roles=PASSIVE)
def test_a_refusal_carries_a_good_checksum(t: Case) -> None:
    peer = t.peer()
    try:
        seen = peer.propose(Type.REFUSED, Type.ABORT, Type.RESPONSE, max_buffers=0)
    except UnmetError:
        raise NotSupportedError("it refuses by silence (AMB-26)") from None
    t.must(seen.packet.checksum_good, f"{seen.packet} carries a wrong checksum", seen.frame)


def connect_with_data_checksums(t: Case, peer: ReceiverPeer | SenderPeer) -> None:
    peer.connect()
    t.must(
        peer.terms.data_checksum,
        "RESPONSE turned data checksums off",
        expected="data checksums as the OPEN requests",
    )


@case("CKSUM-04", "CKSUM-01", roles=ALL_ROLES)
def test_every_packet_carries_good_checksums_when_data_checksums_are_on(t: Case) -> None:
    peer = t.peer(2999, data_checksum=True)  # not even: the last data area ends with half a word
    with t.preamble():
        connect_with_data_checksums(t, peer)
        if isinstance(peer, ReceiverPeer):
            peer.go(0)
            peer.expect_buffer(0)
            peer.resend(0, [0, 1])  # retransmissions are summed like first copies
            peer.expect_copies(0, 1)
        peer.finish()
    peer.expect_success()


@case("CKSUM-04", roles=SENDERS)
def test_an_empty_ldata_is_summed_too(t: Case) -> None:
    peer = t.receiver(b"", data_checksum=True)
    with t.preamble():
        peer.connect()
        peer.go(0)
        ends = (Type.LDATA, Type.QUIT, Type.ABORT)
        seen = peer.expect(lambda packet: packet.type in ends, t.tolerances.close_max_us, "some end")
    if seen.packet.type is not Type.LDATA or seen.packet.data or not peer.terms.data_checksum:
        raise NotSupportedError("it ends an empty transfer without an empty LDATA (AMB-41)")
    right = packets.data_checksum(b"")
    found = seen.packet.data_checksum
    text = f"the data checksum of the empty LDATA is 0x{found:04x}"
    t.must(found == right, text, seen.frame, expected=f"0x{right:04x}, the complement of a sum of 0")
    peer.finish()
    peer.expect_success()


# Data whose sum has a carry that makes another carry, for sums over words of 16 bits, or of 32 in either byte order.
TWO_CARRIES = b"".join(bytes.fromhex(words).ljust(256, b"\0") for words in ("ffffffff0001", "ffff0001", "0100ffff"))


@case("CKSUM-02", "CKSUM-04", roles=SENDERS)
def test_a_carry_of_a_carry_is_not_lost(t: Case) -> None:
    peer = t.receiver(TWO_CARRIES, data_checksum=True)
    with t.preamble():
        connect_with_data_checksums(t, peer)
    peer.go(0)
    for seen in peer.expect_buffer(0).packets.values():
        good = data_checksum_ok(seen.packet.raw)
        t.must(
            good,
            f"the data checksum of {seen.packet} is wrong",
            seen.frame,
            expected="a data checksum that fits the data",
        )


# Their sums have many carries, or more than 24 bits before the carries are added.
SUMMED = {"a carry of a carry": TWO_CARRIES, "1,400 bytes of ones": b"\xff" * 1400, "one byte": b"\xa5"}


@case("CKSUM-04", "DATA-08", roles=RECEIVERS, variants=tuple(SUMMED))
def test_data_are_taken_whatever_the_carries_of_their_sum(t: Case) -> None:
    data = SUMMED[t.variant]
    peer = t.sender(data, data_checksum=True, packet_size=1400 if len(data) > len(TWO_CARRIES) else 256)
    with t.preamble():
        connect_with_data_checksums(t, peer)
        peer.expect_go(0)
    peer.send_buffer(0)
    peer.expect_ok(0)
    peer.finish()
    t.expect_delivered_by(peer)


@case("CKSUM-02", roles=PASSIVE)
def test_an_open_whose_checksum_happens_to_be_zero_is_accepted(t: Case) -> None:
    peer = t.peer()
    # The low half of the unique ID takes up what the checksum would have been.
    plain = packets.read(peer.forge.opening(Type.OPEN, peer.opening_values(unique_id=0xA5A50000)))
    peer.unique_id = 0xA5A50000 | plain.checksum
    opening = peer.forge.opening(Type.OPEN, peer.opening_values())
    with t.preamble():
        t.must(
            packets.read(opening).checksum == 0,
            "the tester could not forge a checksum of zero",
            expected="a packet whose checksum is zero",
        )
    peer.send(opening)
    peer.expect_response()


@case("CKSUM-02", roles=ACTIVE)
def test_a_response_whose_checksum_happens_to_be_zero_is_accepted(t: Case) -> None:
    peer = t.peer(2048)
    with t.preamble():
        peer.await_open()
    # The low half of the transfer size, which no NETBLT makes use of, takes up what the checksum would have been.
    plain = packets.read(peer.forge.opening(Type.RESPONSE, peer.response_values(transfer_size=0)))
    size = plain.checksum
    forged = packets.read(peer.forge.opening(Type.RESPONSE, peer.response_values(transfer_size=size)))
    with t.preamble():
        t.must(
            forged.checksum == 0,
            "the tester could not forge a checksum of zero",
            expected="a packet whose checksum is zero",
        )
    peer.respond(transfer_size=size)
    peer.finish()
    t.expect_transferred(peer)


@case("CKSUM-02", roles=SENDERS)
def test_a_control_whose_checksum_happens_to_be_zero_is_accepted(t: Case) -> None:
    peer = t.receiver(1024)
    with t.preamble():
        peer.connect()
    # A RESEND for an unknown buffer is acknowledged and dropped: its one entry takes up the checksum.
    seq, unknown = peer.next_seq, peer.first_buffer + 1000
    plain = packets.read(peer.forge.control([Message(Kind.RESEND, seq, unknown, packets=(0,))]))
    request = peer.message(Kind.RESEND, unknown, packets=(plain.checksum,))
    forged = peer.forge.control([request])
    with t.preamble():
        t.must(
            packets.read(forged).checksum == 0,
            "the tester could not forge a checksum of zero",
            expected="a packet whose checksum is zero",
        )
    peer.send(forged)
    peer.expect_ack(request.seq)


def connect_without_data_checksums(peer: SenderPeer) -> None:
    peer.connect()
    if peer.terms.data_checksum:
        raise NotSupportedError("the implementation turns data checksums on (AMB-24)")
    peer.expect_go(0)


@case("CKSUM-02", roles=RECEIVERS)
def test_data_whose_header_checksum_happens_to_be_zero_are_accepted(t: Case) -> None:
    peer = t.sender(1024)
    with t.preamble():
        connect_without_data_checksums(peer)
    for number in range(peer.packet_count(0)):
        # The Data Area Checksum, which means nothing here, takes up what the header's would have been.
        plain = packets.read(peer.forge.data(peer.data_packet(0, number)))
        peer.send_packet(0, number, data_checksum=plain.checksum)
    peer.expect_ok(0)


@case("CKSUM-05", roles=RECEIVERS, control=True)
def test_a_wrong_data_checksum_is_ignored_when_data_checksums_are_off(t: Case) -> None:
    peer = t.sender(1024)
    with t.preamble():
        connect_without_data_checksums(peer)
    for number in range(peer.packet_count(0)):
        peer.send_packet(0, number, data_checksum=0xBEEF if t.stimulus else 0)
    peer.expect_ok(0)


@case("CKSUM-06", roles=PASSIVE)
def test_an_open_with_a_bad_checksum_is_not_answered(t: Case) -> None:
    peer = t.peer()
    peer.send(packets.spoil(peer.forge.opening(Type.OPEN, peer.opening_values())))
    peer.silence(Type, QUIET_US, "an OPEN with a bad checksum must have no effect")
    with t.preamble():
        peer.open()


@case("CKSUM-06", roles=SENDERS, control=True)
def test_a_control_with_a_bad_checksum_has_no_effect(t: Case) -> None:
    peer = t.receiver()
    with t.preamble():
        peer.connect()
    go = peer.message(packets.Kind.GO, peer.first_buffer)
    if t.stimulus:
        peer.send(packets.spoil(peer.forge.control([go])))
        peer.silence([Type.DATA, Type.LDATA], QUIET_US, "a GO with a bad checksum must have no effect")
        t.must(peer.high_seq == 0, f"a GO with a bad checksum was acknowledged: high-seq {peer.high_seq}")
    peer.send_control([go])
    peer.expect_buffer(0)
    peer.expect_ack(1)


@case("CKSUM-06", roles=ALL_ROLES, variants=("QUIT", "ABORT"), control=True)
def test_a_quit_or_abort_with_a_bad_checksum_leaves_the_connection_alone(t: Case) -> None:
    peer = t.peer()
    with t.preamble():
        peer.connect()
    if t.stimulus:
        peer.send(packets.spoil(peer.forge.reason(Type[t.variant], "spoilt")))
        peer.silence([Type.QUITACK], QUIET_US, "a packet with a bad checksum must not be answered")
    peer.finish()
    peer.expect_success()


@case("CKSUM-06", roles=ACTIVE)
def test_a_response_with_a_bad_checksum_does_not_open_the_connection(t: Case) -> None:
    peer = t.peer()
    with t.preamble():
        peer.await_open()
    peer.send(packets.spoil(peer.forge.opening(Type.RESPONSE, peer.response_values())))
    if isinstance(peer, ReceiverPeer):
        peer.go(0)  # without it a sender sends nothing that would show it
    transfer = (Type.DATA, Type.LDATA, Type.CONTROL, Type.NULL_ACK)
    peer.silence(transfer, QUIET_US, "a RESPONSE with a bad checksum must have no effect")
    peer.respond()
    peer.finish()
    peer.expect_success()


@case("CKSUM-06", roles=RECEIVERS)
def test_a_null_ack_with_a_bad_checksum_acknowledges_nothing(t: Case) -> None:
    peer = t.sender(2048)
    with t.preamble():
        peer.connect_without_acknowledging()
        go = peer.expect_go(0)
    terms = peer.terms
    peer.send(packets.spoil(peer.forge.null_ack(max(peer.messages), terms.burst_size, terms.burst_interval_ms)))
    peer.listen(t.tolerances.crossing_us)
    repeat = peer.expect_control()
    parts = [repeat, *peer.listen(t.tolerances.crossing_us)]  # the queue may be in several (AMB-33)
    held = [message.seq for part in parts for message in part.packet.messages]
    t.must(
        go.seq in held,
        f"CONTROL holds {held}",
        repeat.frame,
        expected=f"message {go.seq}, which was never acknowledged",
    )


@case("CKSUM-06", roles=SENDERS, dialects=("rfc998",))
def test_a_done_with_a_bad_checksum_does_not_end_the_dally(t: Case) -> None:
    peer = t.receiver(1000)  # of a full buffer it may not know that it is the last (AMB-41)
    with t.preamble():
        peer.connect()
        peer.require(buffer_size=1024)
        peer.go(0)
        peer.expect_buffer(0)
        ok = peer.ok(0)[0]
        peer.expect_ack(ok.seq)
    peer.send(packets.spoil(peer.forge.packet(Type.DONE)))
    peer.send_control([ok])
    peer.expect(
        lambda packet: packet.type is Type.NULL_ACK and packet.high_seq >= ok.seq,
        peer.ack_deadline_us,
        "the repeated OK to be acknowledged, as a DONE with a bad checksum must have no effect",
    )


def expect_resend_and_no_ok(t: Case, peer: SenderPeer, count: int, text: str, expected: str = "") -> None:
    """The `count`-th request for buffer 0 comes. `text`: what an OK is that comes instead."""
    peer.until(
        lambda: len(peer.requests(0)) >= count or bool(peer.find(Kind.OK, 0)),
        peer.request_max_us(0),
        "RESEND for buffer 0",
        Awaited.RESEND,
    )
    t.must(not peer.find(Kind.OK, 0), text, expected=expected)


@case("CKSUM-06", roles=RECEIVERS, control=True, variants=("DATA", "LDATA"))
def test_a_data_packet_with_a_bad_header_checksum_is_not_stored(t: Case) -> None:
    peer = t.sender(1024)
    with t.preamble():
        peer.connect()
        peer.expect_go(0)
    count = peer.packet_count(0)
    spoilt = min(1, count - 1) if t.variant == "DATA" else count - 1
    for number in range(count):
        packet = peer.forge.data(peer.data_packet(0, number))
        peer.send(packets.spoil(packet) if t.stimulus and number == spoilt else packet)
    if t.stimulus:
        text = f"OK for a buffer of which packet {spoilt} had a bad header checksum"
        expect_resend_and_no_ok(t, peer, 1, text)
        request = peer.expect_resend(0)
        t.must(spoilt in request.packets, f"{request} does not ask for the packet with the bad checksum")
    peer.finish()
    t.expect_delivered_by(peer)


# Counted from the end where negative: both ends together decide how many packets a buffer has.
DAMAGED = {
    "a packet in the middle": (1,),
    "the LDATA": (-1,),
    "the first and the last packet": (0, -1),
    "an LDATA of 4 bytes": (-1,),
    "a packet whose data checksum became zero": (1,),
}
FOUR_BYTES_MORE = 512 + 4  # than some full packets


def damage(peer: SenderPeer, buffer: int, number: int, *, zero: bool = False) -> None:
    """Sends a packet whose data the network changed; everything else in it is right. `zero`: its data checksum is 0
    too, which in RFC 998 does not mean that there is none."""
    good = peer.data_packet(buffer, number)
    damaged = bytes([good.data[0] ^ 0xFF]) + good.data[1:]
    if zero and packets.data_checksum(damaged) == 0:
        damaged = bytes([good.data[0] ^ 0x7F]) + good.data[1:]
    peer.send_packet(buffer, number, data=damaged, data_checksum=0 if zero else good.data_checksum)


UNDAMAGED = "no OK before all data are undamaged"


@case("CKSUM-07", roles=RECEIVERS, control=True, variants=tuple(DAMAGED))
def test_data_with_a_bad_data_checksum_counts_as_lost(t: Case) -> None:
    peer = t.sender(FOUR_BYTES_MORE if t.variant == "an LDATA of 4 bytes" else 1024, data_checksum=True)
    with t.preamble():
        connect_with_data_checksums(t, peer)
        peer.expect_go(0)
    size = peer.packet_count(0)
    wanted = {number % size for number in DAMAGED[t.variant]}
    for number in range(size):
        if t.stimulus and number in wanted:
            damage(peer, 0, number, zero=t.variant.endswith("became zero"))
        else:
            peer.send_packet(0, number)
    if t.stimulus:
        asked: set[int] = set()
        for count in range(1, len(wanted) + 1):  # the LDATA may have to wait until all before it are there (AMB-32)
            expect_resend_and_no_ok(t, peer, count, "OK for a buffer with damaged data", UNDAMAGED)
            request = peer.expect_resend(0, count)
            asked |= set(request.packets)
            if wanted <= asked:
                break
            t.must(bool(asked & wanted), f"{request} asks for none of the packets whose data were damaged")
            peer.send_packets(0, [number for number in request.packets if number < size])
        lacking = sorted(wanted - asked)
        t.must(not lacking, f"packets {lacking}, whose data were damaged, are not requested")
        t.must(
            not peer.find(Kind.OK, 0),
            "OK for a buffer with damaged data",
            expected=UNDAMAGED,
        )
    peer.finish()
    t.expect_delivered_by(peer)


@case("CKSUM-07", roles=RECEIVERS, control=True)
def test_a_damaged_copy_of_a_packet_that_has_come_changes_nothing(t: Case) -> None:
    peer = t.sender(1024, data_checksum=True)
    with t.preamble():
        connect_with_data_checksums(t, peer)
        peer.expect_go(0)
        peer.require(packets_per_buffer=3)
        last = peer.packet_count(0) - 1
        peer.send_packets(0, range(last - 1))
    if t.stimulus:
        for number in range(last - 1):
            damage(peer, 0, number)
    peer.send_packets(0, range(last - 1, last + 1))
    peer.finish()
    t.expect_delivered_by(peer)


@case("CKSUM-07", roles=RECEIVERS, control=True)
def test_damaged_data_of_a_retransmission_count_as_lost_again(t: Case) -> None:
    lost = [1, 2]
    peer = t.sender(1024, data_checksum=True)
    with t.preamble():
        connect_with_data_checksums(t, peer)
        peer.expect_go(0)
        peer.require(packets_per_buffer=4)
        peer.send_buffer(0, omit=lost)
        listed = peer.expect_resend(0).packets
        spoilt = next((number for number in listed if number in lost), lost[0])
    if t.stimulus:
        damage(peer, 0, spoilt)
        peer.send_packets(0, [number for number in listed if number in lost and number != spoilt])
        expect_resend_and_no_ok(t, peer, 2, f"OK though the data of packet {spoilt} were damaged", UNDAMAGED)
    peer.finish()
    t.expect_delivered_by(peer)
