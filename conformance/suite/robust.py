# SPDX-License-Identifier: GPL-2.0-or-later
"""ROBUST and DEMUX: packets that no conforming peer of this connection would send."""

import dataclasses

from netblt_conformance.cases.case import ALL_ROLES, PASSIVE, RECEIVERS, SENDERS, Case, case
from netblt_conformance.common.model import Digest, Feature
from netblt_conformance.common.tolerances import QUIET_US
from netblt_conformance.links.base import STRANGER_ADDRESS, TESTER_ADDRESS
from netblt_conformance.packets import packets
from netblt_conformance.packets.packets import Kind, Packet, Type
from netblt_conformance.packets.reserved import reserved_set
from netblt_conformance.peer import ReceiverPeer, SenderPeer
from netblt_conformance.peer.exchange import UnmetError


def one_of_each_type(peer: ReceiverPeer | SenderPeer) -> dict[Type, bytes]:
    """A well-formed packet of every type on this connection, none of which may do harm in the state it is sent in."""
    forge = peer.forge
    data = Packet(b"", buffer=90_000, packet=0, flags=0, data=b"x" * 16)
    return {
        Type.OPEN: forge.opening(Type.OPEN, peer.opening_values(unique_id=7)),
        Type.RESPONSE: forge.opening(Type.RESPONSE, peer.opening_values(unique_id=7)),
        Type.QUIT: forge.reason(Type.QUIT, "truncated"),
        Type.ABORT: forge.reason(Type.ABORT, "truncated"),
        Type.DATA: forge.data(dataclasses.replace(data, type=Type.DATA)),
        Type.LDATA: forge.data(dataclasses.replace(data, type=Type.LDATA)),
        Type.NULL_ACK: forge.null_ack(0, 1, 1),
        Type.CONTROL: forge.control([packets.Message(Kind.GO, 60_000, 90_000)]),
        Type.REFUSED: forge.reason(Type.REFUSED, "truncated"),
    }


def after_first_buffer(t: Case, *, with_next_go: bool = False) -> ReceiverPeer | SenderPeer:
    """A peer in the middle of a transfer of several buffers. `with_next_go`: a receiving implementation has requested
    the second one too."""
    peer = t.peer(4096)
    with t.preamble():
        peer.connect()
        t.run_first_buffer(peer)
        if with_next_go and isinstance(peer, SenderPeer):
            peer.expect_go(1)
    return peer


@case("ROBUST-01", roles=ALL_ROLES, control=True)
def test_truncated_packets_have_no_effect(t: Case) -> None:
    peer = after_first_buffer(t)
    if t.stimulus:
        for packet in one_of_each_type(peer).values():
            for end in range(len(packet)):
                peer.send(packet[:end])  # Length exceeds what is there
        heard = peer.listen(QUIET_US)
        answers = [s for s in heard if s.packet.type in (Type.ABORT, Type.QUITACK, Type.RESPONSE, Type.REFUSED)]
        t.must(
            not answers, "a truncated packet was answered", answers[0].frame if answers else None, expected="no answer"
        )
    peer.finish()
    peer.expect_success()


@case("ROBUST-01", roles=ALL_ROLES)
def test_a_length_below_the_minimum_of_its_type_has_no_effect(t: Case) -> None:
    peer = after_first_buffer(t)
    for kind, packet in one_of_each_type(peer).items():
        if kind in packets.MINIMUM_BYTES:
            short = bytearray(packet)
            short[4:6] = (packets.MINIMUM_BYTES[kind] - 4).to_bytes(2, "big")
            peer.send(packets.seal(short))
    heard = peer.listen(QUIET_US)
    answers = [s for s in heard if s.packet.type in (Type.ABORT, Type.RESPONSE, Type.REFUSED)]
    t.must(
        not answers,
        "a packet that is too short was answered",
        answers[0].frame if answers else None,
        expected="no answer",
    )
    peer.finish()
    peer.expect_success()


@case("ROBUST-02", roles=ALL_ROLES)
def test_unknown_packet_types_are_ignored(t: Case) -> None:
    peer = after_first_buffer(t)
    for kind in (12, 13, 127, 255):
        peer.send(peer.forge.packet(kind, b"\0" * 8))
    peer.finish()
    peer.expect_success()


@case("ROBUST-02", "ROBUST-03", roles=SENDERS, variants=("unknown type", "RESEND overrun", "one entry too many"))
def test_an_unreadable_message_is_neither_acted_upon_nor_acknowledged(t: Case) -> None:
    peer = t.receiver(2048)
    with t.preamble():
        peer.connect()
    go = peer.message(Kind.GO, peer.first_buffer)
    bad = peer.message(Kind.RESEND, peer.first_buffer, [0, 1, 2, 3])
    raw = bytearray(peer.forge.control([go, bad]))
    at = packets.HEADER_BYTES + go.size
    if t.variant == "unknown type":
        raw[at] = 3
    elif t.variant == "one entry too many":
        raw[at + 8 : at + 10] = b"\0\x05"
    else:
        raw[at + 8 : at + 10] = b"\xff\xff"
    peer.send(packets.seal(raw))
    peer.queue.remove(bad)  # as it was meant it never leaves
    try:
        peer.until(lambda: bool(peer.buffer(0).packets), t.tolerances.reaction_max_us, "data of buffer 0")
        fate = "acted upon"
    except UnmetError:
        fate = "dropped with it"
        peer.send_control([go])
        peer.until(lambda: bool(peer.buffer(0).packets), t.tolerances.reaction_max_us, "data of buffer 0")
    t.observe(f"the message before an unreadable one ({t.variant})", fate)
    if t.variant == "unknown type":
        kept = fate == "acted upon"
        t.should(
            kept,
            "the GO before a message of unknown type was dropped with it, instead of that message alone",
            expected="the GO to be processed, as it is whole",
        )
    peer.listen(QUIET_US + 2 * peer.pace_us)
    rule = "ROBUST-02" if t.variant == "unknown type" else "ROBUST-03"
    t.must(
        peer.high_seq <= go.seq,
        f"the unreadable message {bad.seq} was acknowledged",
        violated=rule,
        expected="no acknowledgement of an unreadable message",
    )
    copies = dict(peer.buffer(0).copies)
    t.must(
        set(copies.values()) == {1},
        f"the unreadable message was acted upon: copies are {copies}",
        expected="one copy of each packet",
    )
    peer.next_seq = bad.seq
    peer.finish()
    peer.expect_success()


@case("ROBUST-02", roles=SENDERS, variants=("half an OK", "half a GO"))
def test_a_message_that_its_packet_cuts_short_is_not_acknowledged(t: Case) -> None:
    peer = t.receiver(2048, max_buffers=2)
    with t.preamble():
        peer.connect()
        peer.go(0)
        peer.expect_buffer(0)
        if t.variant == "half a GO":
            peer.make_room()
    kind, number = (Kind.OK, 0) if t.variant == "half an OK" else (Kind.GO, 1)
    message = peer.message(kind, peer.first_buffer + number)
    raw = bytearray(peer.forge.control([message]))[: packets.HEADER_BYTES + message.size // 2]
    raw[4:6] = len(raw).to_bytes(2, "big")
    peer.send(packets.seal(raw))
    peer.listen(QUIET_US)
    t.must(peer.high_seq < message.seq, f"{t.variant} was acknowledged", expected="no acknowledgement")
    t.must(not peer.buffer(1).packets, f"{t.variant} was processed as a whole one", expected="no effect")
    peer.send_control([message])
    peer.finish()
    peer.expect_success()


@case("ROBUST-04", roles=ALL_ROLES)
def test_reserved_bits_and_padding_of_the_opening_are_ignored(t: Case) -> None:
    peer = t.peer(2048)
    if t.role.active:
        with t.preamble():
            peer.await_open()
        values = peer.response_values()
        peer.send(reserved_set(peer.forge.opening(Type.RESPONSE, values)))
        peer.settle(values, peer.opens[-1].packet.death_timer_s)
    else:
        peer.send(reserved_set(peer.forge.opening(Type.OPEN, peer.opening_values())))
        peer.expect_response()
    peer.finish()
    peer.expect_success()


@case("ROBUST-04", roles=SENDERS)
def test_padding_in_control_messages_is_ignored(t: Case) -> None:
    peer = t.receiver(2048)
    with t.preamble():
        peer.connect()
        peer.require(packets_per_buffer=2)
    t.provokes("CTRL-06")  # an end that drops such a packet acknowledges nothing: that is a should
    for kind, listed in ((Kind.GO, ()), (Kind.RESEND, (1,)), (Kind.OK, ())):
        message = peer.message(kind, peer.first_buffer, listed)
        peer.send(reserved_set(peer.forge.control([message])))
        peer.expect_ack(message.seq)
        peer.expect_buffer(0)
        if kind is Kind.RESEND:
            peer.expect_copies(0, 1)
    peer.finish()
    peer.expect_success()


@case("ROBUST-04", roles=RECEIVERS)
def test_padding_of_a_null_ack_is_ignored(t: Case) -> None:
    peer = t.sender(2048, max_buffers=1)
    with t.preamble():
        peer.connect_without_acknowledging()
        go = peer.expect_go(0)
        gap_us = peer.expect_repeats(2)
    t.provokes("CTRL-05", "TIMER-02")  # an end that drops such a packet goes on to repeat: that is a should
    terms = peer.terms
    peer.send(reserved_set(peer.forge.null_ack(max(peer.messages), terms.burst_size, terms.burst_interval_ms)))
    peer.listen(t.tolerances.crossing_us)
    stale = [seen for seen in peer.listen(4 * gap_us) if seen.packet.holds(go.seq)]
    text = "a NULL-ACK whose padding is not zero acknowledges nothing"
    t.should(not stale, text, stale[0].frame if stale else None)
    peer.finish()
    t.expect_delivered_by(peer)


@case("ROBUST-04", roles=PASSIVE)
def test_reserved_bits_are_ignored(t: Case) -> None:
    peer = t.peer(2048)
    with t.preamble():
        flags = peer.opening_values().flags
    peer.open(flags=flags | 0xFFF0)
    peer.finish()
    peer.expect_success()


@case("ROBUST-05", roles=PASSIVE, variants=("absent", "unterminated"))
def test_an_open_without_a_proper_string_is_survived(t: Case) -> None:
    peer = t.peer(2048)
    string = b"" if t.variant == "absent" else b"abcdefgh"
    opening = peer.forge.opening(Type.OPEN, peer.opening_values(string=string))
    peer.send(opening + b"beyond!!")  # after Length: none of this is the string
    heard = peer.listen(QUIET_US)
    accepted = any(seen.packet.type is Type.RESPONSE for seen in heard)
    t.observe(f"OPEN with the string {t.variant}", "accepted" if accepted else "dropped")
    if not accepted:
        peer.open()
    else:
        peer.settle(peer.responses[0].packet, peer.responses[0].packet.death_timer_s)
    peer.finish()
    peer.expect_success()
    delivered = t.link.peer_string()
    if accepted and delivered is not None:  # AMB-03: cut at Length; nothing beyond it was ever sent
        t.must(
            string.decode().startswith(delivered),
            f"the string reached the client as {delivered!r}",
            expected="the string of the packet",
        )


@case("ROBUST-05", roles=ALL_ROLES, variants=("absent", "unterminated"))
def test_a_quit_without_a_proper_string_is_survived(t: Case) -> None:
    peer = t.peer(2048)
    with t.preamble():
        peer.connect()
    t.provokes("QUIT-05")  # an end that drops it goes on with the transfer
    reason = b"" if t.variant == "absent" else b"abcdefgh"
    peer.send(peer.forge.packet(Type.QUIT, reason) + b"beyond!!")  # after Length: none of this is the reason
    heard = peer.listen(QUIET_US)
    accepted = any(seen.packet.type is Type.QUITACK for seen in heard)
    t.observe(f"QUIT with the reason {t.variant}", "accepted" if accepted else "dropped")
    if not accepted:
        peer.finish()
        peer.expect_success()
        return
    peer.expect_failure()
    told = t.link.reason()
    t.must(
        "beyond" not in told,
        f"the client was given the reason {told!r}, which was never in the packet",
        expected="a reason from the packet",
    )


def waits_for_a_buffer(t: Case, data_bytes: int, **required: int) -> SenderPeer:
    """The implementation has sent the GO of its only outstanding buffer, of which nothing was sent."""
    peer = t.sender(data_bytes, max_buffers=1)
    with t.preamble():
        peer.connect()
        peer.require(**required)
        peer.expect_go(0)
    return peer


def answers_with_abort(peer: SenderPeer) -> bool:
    return any(seen.packet.type is Type.ABORT for seen in peer.listen(QUIET_US))


@case("ROBUST-06", roles=RECEIVERS)
def test_impossible_data_is_never_stored(t: Case) -> None:
    peer = waits_for_a_buffer(t, 2048, packets_per_buffer=2)
    junk = b"\xee" * peer.terms.packet_size
    never = (peer.first_buffer or 0) ^ 0x4000_0000  # no GO names it, in whatever steps the numbers go up
    peer.send_packet(0, 0, buffer=never, data=junk)
    peer.send_packet(0, 0, packet=peer.terms.packets_per_buffer, data=junk)  # outside the buffer
    peer.send_packet(0, 0, packet=65535, data=junk)
    peer.send_packet(0, 0, data=junk + b"\xee" * 64)
    if t.was_aborted(peer, "data that are impossible"):
        return
    peer.send_buffer(0)
    peer.expect_ok(0)
    peer.send_packet(0, 0, data=junk)  # had its OK
    peer.finish()
    peer.expect_success()
    t.expect_delivered(peer.data)


SHORT = "a DATA packet shorter than agreed is"


@case("ROBUST-06", roles=RECEIVERS)
def test_a_data_packet_shorter_than_agreed_is_not_stored(t: Case) -> None:
    """RFC 998 3 binds the sender: all packets of a buffer but the last have one size. No receiver has to check it."""
    peer = waits_for_a_buffer(t, 2048, packets_per_buffer=2)
    t.provokes("RESEND-01", "CTRL-14", "CLOSE-01")  # what has arrived of the buffer is a matter of opinion
    peer.send_packet(0, 0, data=b"\xee" * (peer.terms.packet_size - 4))
    if answers_with_abort(peer):
        t.observe(SHORT, "a reason to ABORT")
        return
    peer.send_buffer(0)
    peer.finish()
    peer.expect_success()
    ignored = t.link.digest() == Digest.of(peer.data)
    t.observe(SHORT, "ignored" if ignored else "stored")
    t.should(ignored, "a DATA packet shorter than agreed was stored", expected="no effect of its data (AMB-75)")


def waits_for_a_short_buffer(t: Case) -> SenderPeer:
    """Three packets of a buffer that has room for four. What has arrived of it is a matter of opinion from now on."""
    peer = waits_for_a_buffer(t, 700, packets_per_buffer=4, buffer_size=1024)
    t.provokes("RESEND-01", "CTRL-14")
    return peer


CONTRADICTION = "an LDATA that contradicts an earlier one is"


@case("ROBUST-06", roles=RECEIVERS)
def test_an_ldata_that_contradicts_an_earlier_one_is_not_stored(t: Case) -> None:
    peer = waits_for_a_short_buffer(t)
    t.provokes("CLOSE-01")  # what the buffer is made of depends on the LDATA that is believed
    last, junk = peer.packet_count(0) - 1, b"\xee" * peer.terms.packet_size
    peer.send_packet(0, last)
    shorter = dataclasses.replace(peer.data_packet(0, last - 1, data=junk), type=Type.LDATA)
    peer.send(peer.forge.data(shorter))
    peer.send_packet(0, 0, packet=last + 1, data=junk)  # after the LDATA
    if answers_with_abort(peer):
        t.observe(CONTRADICTION, "a reason to ABORT")
        return
    peer.send_packets(0, range(last))
    peer.finish()
    peer.expect_success()
    ignored = t.link.digest() == Digest.of(peer.data)
    t.observe(CONTRADICTION, "ignored" if ignored else "believed")
    t.should(
        ignored,
        "an LDATA with another number than an earlier one was stored, or makes the buffer shorter",
        expected="no effect of the second LDATA (AMB-70)",
    )


@case("ROBUST-06", roles=RECEIVERS)
def test_an_ldata_longer_than_a_packet_is_not_stored(t: Case) -> None:
    peer = waits_for_a_short_buffer(t)
    peer.send_packet(0, peer.packet_count(0) - 1, data=b"\xee" * (peer.terms.packet_size + 64))
    if not answers_with_abort(peer):
        peer.finish()
        t.expect_delivered_by(peer)


@case("ROBUST-04", roles=RECEIVERS)
def test_reserved_bits_of_data_are_ignored(t: Case) -> None:
    peer = t.sender(2048)
    with t.preamble():
        peer.connect()
    for buffer in range(peer.buffer_count):
        peer.expect_go(buffer)
        for number in range(peer.packet_count(buffer)):
            peer.send_packet(buffer, number, flags=0xFFFE | int(buffer == peer.buffer_count - 1))
        peer.expect_ok(buffer)
    peer.finish()
    t.expect_delivered_by(peer)


@case("ROBUST-01", roles=RECEIVERS)
def test_data_that_end_before_their_length_are_not_stored(t: Case) -> None:
    peer = t.sender(1024)
    with t.preamble():
        peer.connect()
        peer.expect_go(0)
    last = peer.packet_count(0) - 1
    for cut, number in ((4, 0), (1, last)):  # only the header checksum protects them, and it is good
        peer.send(peer.forge.data(peer.data_packet(0, number))[:-cut])
    peer.listen(QUIET_US)
    peer.finish()
    peer.expect_success()
    t.expect_delivered(peer.data)


IMPOSSIBLE = (
    *("OK for unsent data", "OK for half a buffer", "OK for no buffer"),
    *("premature DONE", "DONE before any OK"),
)


@case("ROBUST-07", roles=SENDERS, variants=IMPOSSIBLE)
def test_impossible_control_is_never_success(t: Case) -> None:
    # Of a full buffer it may not know that it is the last.
    fewer = {"OK for half a buffer": 1024, "OK for no buffer": 1000, "DONE before any OK": 1000}
    peer = t.receiver(fewer.get(t.variant, 4 * 1024), burst_size=1, burst_interval_ms=100)
    with t.preamble():
        peer.connect()
        peer.go(0)
        peer.until(lambda: bool(peer.buffer(0).packets), t.tolerances.reaction_max_us, "data")
        if t.variant in ("DONE before any OK", "OK for no buffer"):
            peer.expect_buffer(0)
    if "DONE" in t.variant:
        peer.send_done()
    elif t.variant == "OK for no buffer":  # it has no GO
        peer.message(Kind.OK, peer.first_buffer + 7)
        peer.send_control()
    else:
        for number in range(1 if "half" in t.variant else 4):
            peer.message(Kind.OK, peer.first_buffer + number)
        peer.send_control()
    heard = peer.listen(2 * QUIET_US)
    if t.variant == "OK for unsent data":
        aborted = any(seen.packet.type is Type.ABORT for seen in heard)
        t.observe("OK for unsent data", "ABORT" if aborted else "ignored")
    t.must(
        not t.link.status().succeeded,
        "success was reported although the buffer has no OK"
        if t.variant in ("DONE before any OK", "OK for no buffer")
        else "success was reported although the data were never sent",
        expected="no success before all data were sent and have their OKs",
    )


@case("ROBUST-08", roles=ALL_ROLES, control=True)
def test_packets_of_the_wrong_direction_are_ignored(t: Case) -> None:
    peer = after_first_buffer(t)
    if t.stimulus:
        packet = one_of_each_type(peer)
        wrong = (Type.DATA, Type.LDATA, Type.NULL_ACK) if t.role.sender else (Type.CONTROL,)
        for kind in (*wrong, Type.REFUSED):
            peer.send(packet[kind])
        if not t.role.sender:
            t.link.send(peer.forge.packet(Type.DONE))
        if not t.role.active:
            t.link.send(peer.forge.opening(Type.RESPONSE, peer.opening_values()))
        peer.silence([Type.ABORT], QUIET_US, "a packet of the wrong direction must be ignored")
    peer.finish()
    peer.expect_success()


def continue_as(t: Case, peer: ReceiverPeer | SenderPeer, forge: packets.Forge, source: bytes, whose: str) -> None:
    """What would come next in this transfer, data or the GO for the next buffer, comes from another host or port, or is
    for another port."""
    if isinstance(peer, SenderPeer):
        for number in range(peer.packet_count(1)):
            junk = b"\xee" * len(peer.data_packet(1, number).data)
            checksum = packets.data_checksum(junk)
            packet = peer.data_packet(1, number, data=junk, data_checksum=checksum)
            t.link.send(forge.data(packet), source)
        peer.listen(QUIET_US)
        t.must(
            not peer.find(Kind.OK, 1),
            f"data {whose} were taken into the buffer",
            expected="data of this connection only",
        )
    else:
        go = packets.Message(Kind.GO, peer.next_seq, peer.first_buffer + 1)
        t.link.send(forge.control([go]), source)
        peer.listen(QUIET_US)
        t.must(
            peer.high_seq < go.seq and not peer.buffer(1).copies,
            f"a GO {whose} was processed as the receiver's",
            expected="messages of this connection only",
        )


def go_on_between_others(t: Case, peer: ReceiverPeer | SenderPeer, other: packets.Forge, whose: str) -> None:
    """What would come next in this transfer, and what would end it, between other ports."""
    continue_as(t, peer, other, TESTER_ADDRESS, whose)
    for kind in (Type.ABORT, Type.QUIT, Type.REFUSED):
        t.link.send(other.reason(kind, whose))
    for kind in (Type.DONE, Type.QUITACK):
        t.link.send(other.packet(kind))
    peer.listen(QUIET_US)
    t.must(
        not t.link.status().failed,
        f"a packet {whose} ended the connection",
        expected="a connection that goes on",
    )


@case("DEMUX-01", roles=ALL_ROLES, control=True, needs=(Feature.SECOND_ADDRESS,))
def test_packets_from_another_address_do_not_touch_the_connection(t: Case) -> None:
    peer = after_first_buffer(t, with_next_go=True)
    if t.stimulus:
        continue_as(t, peer, peer.forge, STRANGER_ADDRESS, "from another address")
        for kind in (Type.ABORT, Type.QUIT):
            t.link.send(peer.forge.reason(kind, "stranger"), STRANGER_ADDRESS)
        t.link.send(peer.forge.packet(Type.DONE), STRANGER_ADDRESS)
        peer.listen(QUIET_US)
    peer.finish()
    peer.expect_success()


@case("DEMUX-02", roles=ALL_ROLES, control=True)
def test_packets_from_another_port_do_not_touch_the_connection(t: Case) -> None:
    peer = after_first_buffer(t, with_next_go=True)
    if t.stimulus:
        other = dataclasses.replace(peer.forge, local_port=peer.own_port ^ 1)
        go_on_between_others(t, peer, other, "from another port")
    peer.finish()
    peer.expect_success()


@case("DEMUX-01", roles=ALL_ROLES, control=True)
def test_packets_to_another_port_do_not_touch_the_connection(t: Case) -> None:
    """The peer may have two connections from one of its ports, to two ports of a host."""
    peer = after_first_buffer(t, with_next_go=True)
    if t.stimulus:
        other = dataclasses.replace(peer.forge, foreign_port=peer.iut_port ^ 1)
        go_on_between_others(t, peer, other, "to another port")
    peer.finish()
    peer.expect_success()


@case("DEMUX-02", roles=PASSIVE, control=True)
def test_an_open_from_another_port_is_a_request_of_its_own(t: Case) -> None:
    peer = t.peer(4096)
    with t.preamble():
        peer.connect()
        t.run_first_buffer(peer)
        if isinstance(peer, ReceiverPeer):  # a sender that got its OK knows its peer
            peer.expect_ack(peer.ok(0)[0].seq)
    if t.stimulus:
        second = dataclasses.replace(peer.forge, local_port=peer.own_port ^ 1)
        t.link.send(second.opening(Type.OPEN, peer.opening_values(unique_id=peer.unique_id ^ 0x0F0F0F0F)))
        heard = peer.listen(2 * QUIET_US)
        aborts = [s for s in heard if s.packet.type is Type.ABORT]
        frame = aborts[0].frame if aborts else None
        first = [s for s in aborts if s.packet.foreign_port == peer.own_port]
        t.must(
            not first,
            "an OPEN from another port aborted the existing connection",
            frame,
            expected="no effect on the existing connection",
        )
        t.should(
            not aborts,
            "an OPEN from another port was answered with ABORT",
            frame,
            expected="RESPONSE or REFUSED (AMB-19)",
        )
        answers = [s for s in heard if s.packet.foreign_port == second.local_port]
        kinds = {s.packet.type.name for s in answers if s.packet.type is not None}
        t.observe("a second OPEN to the same port is answered with", ", ".join(sorted(kinds)) or "nothing")
        t.should(
            bool(kinds & {"RESPONSE", "REFUSED", "ABORT"}),
            "an OPEN from another port was not answered",
            expected="RESPONSE or REFUSED",
        )
        if "RESPONSE" in kinds:
            t.link.send(second.reason(Type.ABORT, "only a try"))
    peer.finish()
    peer.expect_success()


@case("DEMUX-03", roles=PASSIVE)
def test_packets_for_no_connection_create_nothing(t: Case) -> None:
    peer = t.peer(2048)
    t.link.send(peer.forge.reason(Type.ABORT, "stray"))
    answers = [s for s in peer.listen(QUIET_US) if s.packet.foreign_port == peer.own_port]
    t.must(
        not answers,
        "an ABORT was answered",
        answers[0].frame if answers else None,
        expected="no answer to ABORT (AMB-55)",
    )
    for kind, packet in one_of_each_type(peer).items():
        if kind is not Type.OPEN:
            t.link.send(packet)
            t.link.send(peer.forge.packet(Type.DONE))
    for bare in (Type.KEEPALIVE, Type.QUITACK):
        t.link.send(peer.forge.packet(bare))
    heard = peer.listen(QUIET_US)
    t.must(
        len(heard) <= 18,
        f"{len(heard)} packets answer packets of no connection",
        expected="at most one answer to each packet",
    )
    kinds = sorted({seen.packet.type.name for seen in heard if seen.packet.type is not None})
    t.observe("packets for no connection are answered with", ", ".join(kinds) or "silence")
    strange = [s for s in heard if s.packet.type not in (Type.ABORT, Type.REFUSED, Type.QUITACK)]
    t.must(
        not strange,
        "a packet of no connection got more than ABORT",
        strange[0].frame if strange else None,
        expected="ABORT or no answer",
    )
    peer.open()
    peer.finish()
    peer.expect_success()
