# SPDX-License-Identifier: GPL-2.0-or-later
"""CTRL, sending implementation: how it takes control messages in and acknowledges them (RFC 998 5.2.1)."""

from netblt_conformance.cases.case import SENDERS, Case, case
from netblt_conformance.common.tolerances import QUIET_US
from netblt_conformance.packets.packets import Kind, Type
from netblt_conformance.peer.exchange import UnmetError


@case("CTRL-06", roles=SENDERS)
def test_the_high_sequence_number_follows_the_messages(t: Case) -> None:
    peer = t.receiver(4 * 1024, max_buffers=4)
    with t.preamble():
        peer.connect()
    for number in range(3):
        peer.make_room()
        message = peer.go(number)[0]
        peer.expect_ack(message.seq)
        peer.expect_buffer(number)
    lowest = peer.unconfirmed[0]
    request = peer.resend(lowest, [1])  # retransmissions carry it as well
    peer.expect_ack(request.seq)
    peer.expect_copies(lowest, 1)
    early = [s for s in peer.seen if s.packet.acks and s.packet.high_seq > peer.next_seq - 1]
    t.must(
        not early,
        "a message was acknowledged that was never sent",
        early[0].frame if early else None,
        expected="acknowledgement of messages that were sent only",
    )
    peer.finish()
    peer.expect_success()


@case("CTRL-06", roles=SENDERS)
def test_nothing_is_acknowledged_before_the_first_message(t: Case) -> None:
    peer = t.receiver(1024)
    with t.preamble():
        peer.connect()
    for seen in peer.listen(QUIET_US):
        acked = seen.packet.high_seq if seen.packet.acks else 0
        t.must(
            acked == 0,
            f"high sequence number {acked} before any message was sent",
            seen.frame,
            expected="high sequence number 0",
        )
    peer.go(0)
    peer.expect_ack(1)


@case("CTRL-06", roles=SENDERS)
def test_acknowledgements_go_on_beyond_one_byte(t: Case) -> None:
    sizes = {"buffer_size": 64, "packet_size": 64, "burst_size": 50, "burst_interval_ms": 1, "max_buffers": 2}
    peer = t.receiver(140 * 64, **sizes)
    with t.preamble():
        peer.connect()
    peer.finish()
    peer.expect_success()
    t.must(
        peer.high_seq >= 280, f"{peer.high_seq} messages are acknowledged", expected="acknowledgement of 280 messages"
    )


@case("CTRL-07", roles=SENDERS)
def test_a_message_behind_a_hole_is_not_acknowledged(t: Case) -> None:
    peer = t.receiver(4 * 1024, max_buffers=4)
    with t.preamble():
        peer.connect()
    first, second, third = (peer.message(Kind.GO, peer.first_buffer + n) for n in range(3))
    peer.send_control([first])
    peer.expect_ack(first.seq)
    peer.send_control([third])
    for seen in peer.listen(peer.ack_deadline_us):
        acked = seen.packet.high_seq if seen.packet.acks else 0
        t.must(
            acked <= first.seq,
            f"message {acked} was acknowledged, message 2 never arrived",
            seen.frame,
            expected=f"acknowledgement up to {first.seq}",
        )
    peer.send_control([second])
    peer.expect_ack(second.seq)
    t.observe("messages beyond a hole", "kept" if peer.high_seq == third.seq else "thrown away")
    peer.finish()
    peer.expect_success()


@case("CTRL-08", roles=SENDERS)
def test_messages_out_of_sequence_do_not_break_the_connection(t: Case) -> None:
    peer = t.receiver(2 * 1024, max_buffers=2)
    with t.preamble():
        peer.connect()
    first = peer.message(Kind.GO, peer.first_buffer)
    second = peer.message(Kind.GO, peer.first_buffer + 1)
    peer.send_control([second])
    peer.listen(QUIET_US)
    peer.send_control([first])
    peer.listen(QUIET_US)
    peer.finish()
    peer.expect_success()


@case("CTRL-09", "RESEND-02", roles=SENDERS, control=True)
def test_a_repeated_resend_is_served_once(t: Case) -> None:
    peer = t.receiver(2 * 1024)
    with t.preamble():
        peer.connect()
        peer.require(packets_per_buffer=2)
        peer.go(0)
        last = peer.expect_buffer(0).last_packet or 0
    wanted = {1, last}
    request = peer.resend(0, sorted(wanted))
    if t.stimulus:
        for _ in range(4):
            peer.send_control([request])
    peer.expect_copies(0, last)
    if t.stimulus:
        for _ in range(5):
            peer.send_control([request])
    peer.listen(QUIET_US)
    copies = {number: peer.copies(0, number) for number in range(last + 1)}
    expected = {number: 2 if number in wanted else 1 for number in copies}
    t.must(
        copies == expected,
        f"one RESEND of packets {sorted(wanted)}, repeated: copies are {copies}",
        expected=f"copies {expected}",
    )
    peer.finish()
    peer.expect_success()


@case("CTRL-09", "R1030-03", roles=SENDERS)
def test_a_repeated_go_does_not_restart_its_buffer(t: Case) -> None:
    peer = t.receiver(2 * 1024)
    with t.preamble():
        peer.connect()
        go = peer.go(0)[0]
        peer.expect_buffer(0)
    for _ in range(3):
        peer.send_control([go])
    peer.listen(QUIET_US)
    copies = {number: peer.copies(0, number) for number in peer.buffer(0).packets}
    t.must(set(copies.values()) == {1}, f"a repeated GO: copies are {copies}", expected="one copy of each packet")


@case("CTRL-10", roles=SENDERS)
def test_an_idle_sender_acknowledges_at_once_and_again_when_a_message_is_repeated(t: Case) -> None:
    peer = t.receiver(2 * 1024, max_buffers=1)
    with t.preamble():
        peer.connect()
        peer.go(0)
        peer.expect_buffer(0)
    ok = peer.ok(0)[0]
    peer.expect_ack(ok.seq)
    peer.listen(QUIET_US)
    peer.send_control([ok])  # as if the acknowledgement had been lost
    peer.expect(
        lambda packet: packet.acks and packet.high_seq >= ok.seq,
        peer.ack_deadline_us,
        "the repeated message to be acknowledged again",
    )


@case("CTRL-11", roles=SENDERS)
def test_a_null_ack_reports_the_agreed_burst_before_any_ok(t: Case) -> None:
    peer = t.receiver(1024, max_buffers=1)
    with t.preamble():
        peer.connect()
        go = peer.go(0)[0]
        peer.expect_buffer(0)
        peer.listen(QUIET_US)
        peer.send_control([go])
        seen = peer.expect_type(Type.NULL_ACK)
    reported, agreed = (seen.packet.burst_size, seen.packet.burst_interval_ms), peer.terms
    wanted = (agreed.burst_size, agreed.burst_interval_ms)
    slower = 0 < reported[0] <= wanted[0] and reported[1] >= wanted[1]
    choice = "the agreed pair" if reported == wanted else "a slower pair" if slower else "another pair"
    t.observe("NULL-ACK before any OK reports", choice)
    text = f"NULL-ACK reports the burst {reported}, agreed was {wanted}, and no OK has come (AMB-62)"
    t.should(slower, text, seen.frame, expected=f"the agreed burst {wanted}")


@case("CTRL-11", "NEG-09", roles=SENDERS)
def test_a_null_ack_reports_no_faster_pair_than_the_ok_offered(t: Case) -> None:
    peer = t.receiver(2 * 1024, max_buffers=1)
    with t.preamble():
        peer.connect()
        peer.require(buffer_size=1024, burst_size=2)
        peer.go(0)
        peer.expect_buffer(0)
    offer = peer.offer = min(3, peer.terms.burst_size - 1), peer.terms.burst_interval_ms + 30
    ok = peer.ok(0)[0]
    seen = peer.expect(
        lambda packet: packet.type is Type.NULL_ACK and packet.high_seq >= ok.seq,
        peer.ack_deadline_us,
        "NULL-ACK for the OK of the first buffer, while the second has no GO",
    )
    reported = seen.packet.burst_size, seen.packet.burst_interval_ms
    settled = 0 < reported[0] <= offer[0] and reported[1] >= offer[1]
    t.must(
        settled,
        f"NULL-ACK reports the burst {reported}",
        seen.frame,
        expected=f"the offered burst {offer}, or a more restrictive one",
    )
    peer.finish()
    peer.expect_success()


@case("CTRL-12", roles=SENDERS)
def test_all_gos_of_one_control_take_effect(t: Case) -> None:
    peer = t.receiver(3 * 1024, max_buffers=3)
    with t.preamble():
        peer.connect()
    allowed = range(min(3, peer.terms.max_buffers))
    gos = peer.go(*allowed)
    for number in allowed:
        peer.expect_buffer(number)
    peer.expect_ack(gos[-1].seq)
    peer.finish()
    peer.expect_success()


@case("CTRL-12", roles=SENDERS)
def test_all_messages_of_one_control_take_effect(t: Case) -> None:
    peer = t.receiver(4 * 1024, max_buffers=2)
    with t.preamble():
        peer.connect()
        together = min(2, peer.terms.max_buffers)
        peer.go(*range(together))
        lasts = [peer.expect_buffer(number).last_packet or 0 for number in range(together)]
    messages = [
        peer.message(Kind.OK, peer.first_buffer),
        *(peer.message(Kind.RESEND, peer.first_buffer + 1, [last]) for last in lasts[1:]),
        peer.message(Kind.GO, peer.first_buffer + together),
    ]
    peer.send_control(messages)
    peer.expect_buffer(together)
    for last in lasts[1:]:
        peer.expect_copies(1, last)
    peer.expect_ack(messages[-1].seq)
    peer.finish()
    peer.expect_success()


@case("CTRL-12", roles=SENDERS, variants=("GO", "RESEND", "OK"))
def test_a_new_message_behind_known_ones_takes_effect(t: Case) -> None:
    """When an acknowledgement was lost, a receiver sends the old and the new messages in one CONTROL (CTRL-04)."""
    outstanding = 1 if t.variant == "OK" else 2
    peer = t.receiver(2 * 1024, max_buffers=outstanding)
    with t.preamble():
        peer.connect()
        peer.require(packets_per_buffer=2)
        known = peer.go(0)
        peer.expect_buffer(0)
        peer.expect_ack(known[-1].seq)
        if t.variant == "GO":
            peer.make_room()
    buffer = peer.first_buffer + (t.variant == "GO")
    new = peer.message(Kind[t.variant], buffer, [1] if t.variant == "RESEND" else [])
    peer.send_control([*known, new])
    if t.variant == "GO":
        peer.expect_buffer(1)
    elif t.variant == "RESEND":
        peer.expect_copies(0, 1)
    peer.expect_ack(new.seq)
    peer.finish()
    peer.expect_success()


@case("CTRL-12", "CTRL-08", roles=SENDERS, variants=("RESEND", "OK"))
def test_a_message_behind_a_hole_has_its_effect_once_it_is_acknowledged(t: Case) -> None:
    peer = t.receiver(2 * 1024, max_buffers=2)
    with t.preamble():
        peer.connect()
        peer.require(packets_per_buffer=2)
        peer.go(0)
        peer.expect_buffer(0)
    if peer.terms.max_buffers > 1:
        missing = peer.message(Kind.GO, peer.first_buffer + 1)
    else:
        missing = peer.message(Kind.RESEND, peer.first_buffer, [0])
    behind = peer.message(Kind[t.variant], peer.first_buffer, [1] if t.variant == "RESEND" else [])
    peer.send_control([behind])
    peer.listen(QUIET_US)
    peer.send_control([missing])
    peer.expect_ack(missing.seq)
    peer.listen(QUIET_US)
    if peer.queue:  # it was thrown away (AMB-36)
        peer.send_control()
    if t.variant == "RESEND":
        try:
            peer.expect_copies(0, 1)
        except UnmetError as unmet:  # not a lack of retransmissions: the request was dropped after the hole
            unmet.due_by = "CTRL-12"
            raise
    peer.finish()
    peer.expect_success()


@case("CTRL-12", "CTRL-08", roles=SENDERS)
def test_all_messages_behind_a_hole_have_their_effect_once_they_are_acknowledged(t: Case) -> None:
    peer = t.receiver(4 * 1024, max_buffers=3)
    with t.preamble():
        peer.connect()
        peer.require(buffer_size=1024, max_buffers=3)
    gos = [peer.message(Kind.GO, peer.first_buffer + number) for number in range(3)]
    for go in reversed(gos):  # the CONTROLs overtake one another
        peer.send_control([go])
        peer.listen(QUIET_US)
    if peer.queue:  # what came early was thrown away (AMB-36)
        peer.send_control()
    peer.expect_ack(gos[-1].seq)
    for number in range(3):
        try:
            peer.expect_buffer(number)
        except UnmetError as unmet:  # everything was acknowledged
            unmet.due_by = "CTRL-12"
            raise
    peer.finish()
    peer.expect_success()


@case("CTRL-15", "DATA-12", roles=SENDERS, variants=("at first", "when the end is known"))
def test_a_go_beyond_the_end_of_the_data_is_acknowledged_and_ignored(t: Case) -> None:
    peer = t.receiver(700, max_buffers=4)
    with t.preamble():
        peer.connect()
        peer.require(buffer_size=700)
    if t.variant == "at first":
        peer.go(0, 1, 2, 3)
    else:
        peer.go(0)
        peer.expect_buffer(0)
        peer.go(1, 2, 3)
    peer.expect_ack(4)
    peer.expect_buffer(0)
    peer.finish()
    peer.expect_success()
