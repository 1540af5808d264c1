# SPDX-License-Identifier: GPL-2.0-or-later
"""Both sides of each bound of numbers and lengths in a transfer: data at the edges of packets and buffers, packet,
buffer and control sequence numbers, entries of a RESEND (RFC 998 3, 5.2, 8)."""

from netblt_conformance.cases.case import ALL_ROLES, RECEIVERS, SENDERS, Case, case
from netblt_conformance.common.errors import NotSupportedError
from netblt_conformance.common.tolerances import QUIET_US
from netblt_conformance.packets.packets import Kind, Message, Type
from netblt_conformance.peer import ReceiverPeer
from netblt_conformance.peer.exchange import UnmetError

PACKET_BYTES, BUFFER_BYTES = 256, 1024
# One byte beside each edge of a packet and of a buffer: the last packet has one byte, all but one, or all.
EDGES = (1, *(edge + side for edge in (PACKET_BYTES, BUFFER_BYTES, 2 * BUFFER_BYTES) for side in (-1, 0, 1)))


@case("DATA-08", "DATA-04", "DATA-03", "DATA-02", roles=ALL_ROLES, variants=tuple(map(str, EDGES)))
def test_lengths_beside_the_edges_of_packets_and_buffers_arrive(t: Case) -> None:
    length = int(t.variant)
    peer = t.peer(length, buffer_size=BUFFER_BYTES, packet_size=PACKET_BYTES)
    with t.preamble():
        peer.connect()
    received = peer.finish()
    peer.expect_success()
    t.expect_intact(received, peer.data)


TINY = 64  # bytes in a packet of which a buffer has many


def received_buffer(t: Case, count: int) -> ReceiverPeer:
    """One buffer of so many packets, which take little time, has come."""
    size, pace = count * TINY, {"burst_size": 100, "burst_interval_ms": 5}
    peer = t.receiver(size, buffer_size=size, packet_size=TINY, max_buffers=1, **pace)
    with t.preamble():
        peer.connect()
        peer.require(buffer_size=size, packet_size=TINY)
        peer.go(0)
        peer.expect_buffer(0)
    return peer


@case("DATA-05", "DATA-07", roles=ALL_ROLES, variants=("255", "256", "257"))
def test_buffers_with_a_byte_full_of_packets_arrive(t: Case) -> None:
    count, size = int(t.variant), 64
    if t.link.real_time and count < 257:
        raise NotSupportedError("on a real link one number of packets that needs more than a byte must do")
    sizes = {"buffer_size": count * size, "packet_size": size, "burst_size": 100, "burst_interval_ms": 5}
    peer = t.peer(2 * count * size - 1, **sizes)
    with t.preamble():
        peer.connect()
        peer.require(buffer_size=count * size, packet_size=size)
    received = peer.finish()
    peer.expect_success()
    t.expect_intact(received, peer.data)


# Three buffers on both sides of what 8, 16, 31 and 32 bits can hold; numbers never wrap: RFC 998 8 lets them only grow.
FIRST = {"8 bits": 0xFE, "16 bits": 0xFFFE, "31 bits": 0x7FFFFFFE, "32 bits": 0xFFFFFFFC}


@case("DATA-06", roles=SENDERS, variants=tuple(FIRST))
def test_buffer_numbers_go_on_beyond_each_width(t: Case) -> None:
    peer = t.receiver(3 * BUFFER_BYTES - 100, max_buffers=1)
    peer.first_buffer = FIRST[t.variant]
    with t.preamble():
        peer.connect()
        peer.require(buffer_size=BUFFER_BYTES)
        try:
            peer.go(0)
            peer.expect_buffer(0)
        except UnmetError:
            raise NotSupportedError(f"it does not begin with buffer {peer.first_buffer} (AMB-09)") from None
    received = peer.finish()
    peer.expect_success()
    t.expect_intact(received, peer.data)


@case("RESEND-02", "RESEND-03", "CTRL-10", roles=SENDERS, variants=("0", "1", "2", "3", "all but one", "all"))
def test_a_resend_of_any_number_of_packets_is_served(t: Case) -> None:
    peer = t.receiver(2 * 2048, buffer_size=2048, max_buffers=1)
    with t.preamble():
        peer.connect()
        peer.require(packets_per_buffer=4)
        peer.go(0)
        last = peer.expect_buffer(0).last_packet or 0
    count = {"all": last + 1, "all but one": last}.get(t.variant, -1)
    asked = list(range(count if count >= 0 else int(t.variant)))
    request = peer.resend(0, asked)
    peer.expect_ack(request.seq)
    for number in asked:
        peer.expect_copies(0, number)
    peer.listen(QUIET_US)
    copies = [peer.copies(0, number) for number in range(last + 1)]
    wanted = [2 if number in asked else 1 for number in range(last + 1)]
    t.must(copies == wanted, f"RESEND of {len(asked)} packets: copies are {copies}", expected=f"copies {wanted}")
    peer.finish()
    peer.expect_success()


@case("RESEND-02", "DATA-13", roles=SENDERS, variants=("255", "256", "257"))
def test_a_resend_with_a_byte_full_of_entries_is_served(t: Case) -> None:
    count = int(t.variant)
    peer = received_buffer(t, count)
    request = peer.resend(0, range(count))
    for number in range(count):
        peer.expect_copies(0, number)
    peer.expect_ack(request.seq)
    peer.finish()
    peer.expect_success()


# RFC 998 5.2.1: 50 to 80 control messages are placed in a typical CONTROL of 1000 bytes.
MANY_MESSAGES = 60


@case("CTRL-12", "RESEND-02", roles=SENDERS)
def test_all_of_many_messages_of_one_control_take_effect(t: Case) -> None:
    peer = received_buffer(t, MANY_MESSAGES)
    with t.preamble():
        peer.expect_ack()
    messages = [peer.message(Kind.RESEND, peer.first_buffer, [number]) for number in range(MANY_MESSAGES)]
    peer.send_control(messages)
    for number in range(MANY_MESSAGES):
        peer.expect_copies(0, number)
    peer.expect_ack(messages[-1].seq)
    peer.finish()
    peer.expect_success()


@case("RESEND-01", "RESEND-04", roles=RECEIVERS, variants=("1", "2", "all but one", "all"))
def test_any_number_of_missing_packets_is_asked_for(t: Case) -> None:
    peer = t.sender(2048 + 700, buffer_size=2048, max_buffers=1)
    with t.preamble():
        peer.connect()
        peer.require(packets_per_buffer=4)
        peer.expect_go(0)
    count = peer.packet_count(0)
    lost = range({"all": count, "all but one": count - 1}.get(t.variant, 0) or int(t.variant))
    peer.send_buffer(0, omit=lost)
    asked = peer.repair(0, lost)
    extra = asked - set(lost)
    beyond = all(number >= count for number in extra)  # a receiver may not know where the buffer ends (AMB-32)
    t.must(
        beyond or t.link.real_time,
        f"RESEND asks for {sorted(extra)}, which had come",
        expected="requests for missing packets only",
    )
    peer.finish()
    t.expect_delivered_by(peer)


# After message 1: the next but one, and both sides of half the range of 16 bits, where serial numbers turn round.
BEHIND = {"3": 3, "32768": 32768, "32769": 32769, "32770": 32770, "65535": 65535}


@case("CTRL-07", "CTRL-08", roles=SENDERS, variants=tuple(BEHIND))
def test_a_message_far_behind_a_hole_is_not_acknowledged(t: Case) -> None:
    peer = t.receiver(2 * BUFFER_BYTES - 100, max_buffers=2)
    with t.preamble():
        peer.connect()
        peer.require(buffer_size=BUFFER_BYTES)
        peer.go(0)
        peer.expect_buffer(0)
        peer.expect_ack()
    newest, hole = peer.high_seq, peer.next_seq  # the GO, and what had to be requested (AMB-72)
    stray = Message(Kind.RESEND, (BEHIND[t.variant] + hole - 3) % 65535 + 1, peer.first_buffer, packets=(0,))
    peer.send_control([stray])
    for seen in peer.listen(peer.ack_deadline_us):
        acked = seen.packet.high_seq if seen.packet.acks else newest
        text = f"message {acked} was acknowledged; of those after {newest} only {stray.seq} came"
        t.must(acked == newest, text, seen.frame, expected=f"message {newest} to be acknowledged")
    if stray.seq == hole + 1:  # the hole is filled, and the stray counts unless it was thrown away (AMB-36)
        peer.queue.append(stray)
        peer.next_seq = hole
        peer.resend(0, [1])
        peer.expect_copies(0, 1)
        peer.next_seq = hole + 2
        peer.expect_ack(hole)
    peer.finish()
    peer.expect_success()


@case("CTRL-01", "CTRL-06", roles=SENDERS)
def test_a_message_zero_is_no_message_one(t: Case) -> None:
    """Numbers start at one: whatever is made of a message 0, it fills no hole."""
    peer = t.receiver(2 * BUFFER_BYTES - 100, max_buffers=1)
    with t.preamble():
        peer.connect()
    peer.send_control([Message(Kind.GO, 0, peer.first_buffer)])
    heard = peer.listen(peer.ack_deadline_us)
    t.observe(
        "a control message with the number 0 is", "acted upon" if any(s.packet.is_data for s in heard) else "ignored"
    )
    if any(seen.packet.type in (Type.ABORT, Type.QUIT) for seen in heard):
        raise NotSupportedError("it ends a connection in which a message has the number 0")
    wrong = [seen for seen in heard if seen.packet.acks and seen.packet.high_seq]
    t.must(
        not wrong,
        "a message was acknowledged although only number 0 came",
        wrong[0].frame if wrong else None,
        expected="no acknowledgement: numbering starts at 1",
    )
    peer.go(0)
    peer.expect_buffer(0)
    peer.finish()
    peer.expect_success()


@case("DATA-12", "DATA-11", roles=ALL_ROLES, variants=("1", "2", "3", "4"))
def test_transfers_of_as_many_buffers_as_may_be_outstanding_and_one_more_arrive(t: Case) -> None:
    """The number of buffers lies on both sides of the agreed number, three."""
    peer = t.peer(int(t.variant) * BUFFER_BYTES - 100, max_buffers=3)
    with t.preamble():
        peer.connect()
    received = peer.finish()
    peer.expect_success()
    t.expect_intact(received, peer.data)
