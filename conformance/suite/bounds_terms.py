# SPDX-License-Identifier: GPL-2.0-or-later
"""Both sides of each bound of what an OPEN and a RESPONSE contain: sizes, pace, number of buffers, death timer,
transfer size and client string (RFC 998 4, 5.1, 8). docs/conformance.md has the table of all bounds."""

import dataclasses

from netblt_conformance.cases.case import ACTIVE, ALL_ROLES, PASSIVE, RECEIVERS, SENDERS, Case, case
from netblt_conformance.common.errors import NotSupportedError
from netblt_conformance.common.model import MICROSECONDS_PER_S as S
from netblt_conformance.common.tolerances import QUIET_US
from netblt_conformance.packets import packets
from netblt_conformance.packets.packets import Type
from netblt_conformance.peer import ReceiverPeer, SenderPeer
from netblt_conformance.peer.exchange import UnmetError

# The limits that the implementation gets, and what an active one has to propose.
LIMITS = {"buffer_size": 1000, "packet_size": 200, "burst_size": 5, "burst_interval_ms": 20, "max_buffers": 3}
# The most restrictive value that any implementation must be able to use: RFC 998 4 speaks of packets of 128 bytes.
TIGHTEST = {"buffer_size": 100, "packet_size": 128, "burst_size": 1, "burst_interval_ms": 65535, "max_buffers": 1}
RULES = {
    "buffer_size": "NEG-01", "packet_size": "NEG-02", "burst_size": "NEG-03", "burst_interval_ms": "NEG-04",
    "max_buffers": "NEG-05",
}  # fmt: skip
SIDES = {"below": -1, "at": 0, "above": 1}
LENGTH = 2 * LIMITS["buffer_size"] + 300


def transfer(t: Case, peer: ReceiverPeer | SenderPeer) -> None:
    """All data, under the watch of the monitor, which knows what was agreed."""
    received = peer.finish()
    peer.expect_success()
    t.expect_intact(received, peer.data)


@case(
    "NEG-06", "NEG-01", "NEG-02", "NEG-03", "NEG-04", "NEG-05",
    roles=PASSIVE, variants=tuple(f"{field} one {side}" for field in LIMITS for side in ("below", "above")),
)  # fmt: skip
def test_a_proposal_beside_the_own_limit_is_restricted_and_obeyed(t: Case) -> None:
    field, _, side = t.variant.split()
    proposed, limit, upward = LIMITS[field] + SIDES[side], LIMITS[field], field == "burst_interval_ms"
    peer = t.peer(LENGTH, **LIMITS)
    response = peer.open(**{field: proposed})
    answer = getattr(response.packet, field)
    text = f"{field} {proposed} was answered with {answer}"
    t.must(
        answer >= proposed if upward else 1 <= answer <= proposed,
        text,
        response.frame,
        violated=RULES[field],
        expected=f"{field} that is no less restrictive than {proposed}",
    )
    within = answer >= limit if upward else answer <= limit
    if t.link.imposes(t.role, field):
        t.should(within, text, response.frame, violated=RULES[field], expected=f"its own limit, {limit}")
    transfer(t, peer)


@case(
    "NEG-06", "DATA-08",
    roles=ACTIVE, variants=tuple(f"{field} {how}" for field in LIMITS for how in ("one tighter", "tightest")),
)  # fmt: skip
def test_a_response_at_the_edge_of_the_proposal_is_obeyed(t: Case) -> None:
    field, how = t.variant.split(" ", 1)
    if t.link.real_time and t.variant == "burst_interval_ms tightest":
        raise NotSupportedError("bursts one minute apart take too long on a real link")
    peer = t.peer(LIMITS["buffer_size"] + 300, **LIMITS)
    proposal = peer.await_open().packet
    tighter = 1 if field == "burst_interval_ms" else -1
    value = TIGHTEST[field] if how == "tightest" else getattr(proposal, field) + tighter
    if value < 1 or (value > getattr(proposal, field)) != (field == "burst_interval_ms"):
        raise NotSupportedError(f"it proposes a {field} of {getattr(proposal, field)}")
    peer.respond(**{field: value})
    transfer(t, peer)


@case("NEG-06", "DATA-08", roles=ACTIVE)
def test_a_response_that_equals_the_proposal_is_obeyed(t: Case) -> None:
    peer = t.peer(LENGTH, **LIMITS)
    proposal = peer.await_open().packet
    peer.respond(**{field: getattr(proposal, field) for field in LIMITS})
    transfer(t, peer)


SIZES = {"one byte less than a packet": -1, "one packet": 0, "one byte more than a packet": 1}


@case("NEG-11", "DATA-04", "DATA-03", roles=ALL_ROLES, variants=tuple(SIZES))
def test_buffers_beside_the_size_of_a_packet_work(t: Case) -> None:
    size = 256 + SIZES[t.variant]
    peer = t.peer(3 * size + 1, buffer_size=size, packet_size=256)
    with t.preamble():
        peer.connect()
        peer.require(buffer_size=size, packet_size=256)
    transfer(t, peer)


PACKETS = {"65535": 65535, "65536": 65536, "65537": 65537}


@case("DATA-05", "NEG-01", roles=PASSIVE, variants=tuple(PACKETS))
def test_no_buffer_is_agreed_whose_packets_cannot_be_numbered(t: Case) -> None:
    """A packet number has 16 bits: 65536 packets are the most that a buffer can have. RFC 998 does not mention it, and
    the tester proposes the buffer (AMB-17)."""
    size, asked = 128, PACKETS[t.variant]
    peer = t.peer(1024, iut={"buffer_size": size * 65535, "packet_size": size})
    seen = peer.propose(Type.RESPONSE, Type.REFUSED, Type.ABORT, buffer_size=asked * size, packet_size=size)
    if seen.packet.type is not Type.RESPONSE:
        t.observe(f"a buffer of {asked} packets is answered with", str(seen.packet.type and seen.packet.type.name))
        return
    count = -(-seen.packet.buffer_size // max(seen.packet.packet_size, 1))
    t.observe(f"of a buffer of {asked} packets are accepted", count)
    t.should(
        count <= 65536,
        f"buffers of {count} packets are agreed",
        seen.frame,
        expected="at most 65536 packets in a buffer, as a packet number has 16 bits (AMB-17)",
    )


LARGEST = {"buffer_size": 0xFFFFFFFF, "packet_size": 0xFFFF, "burst_size": 0xFFFF, "max_buffers": 0xFFFF}


@case("NEG-01", "NEG-02", "NEG-03", "NEG-05", "NEG-06", roles=PASSIVE, variants=tuple(LARGEST))
def test_the_largest_value_of_a_field_is_restricted_and_obeyed(t: Case) -> None:
    peer = t.peer(LENGTH, **LIMITS)
    response = peer.open(**{t.variant: LARGEST[t.variant]})
    answer = getattr(response.packet, t.variant)
    limit, rule = LIMITS[t.variant], RULES[t.variant]
    if t.link.imposes(t.role, t.variant):
        text = f"{t.variant} {answer} exceeds its own limit {limit}"
        t.should(answer <= limit, text, response.frame, violated=rule, expected=f"at most its own limit, {limit}")
    else:
        t.observe(f"a {t.variant} of {LARGEST[t.variant]} is answered with", answer)
    t.must(
        answer >= 1, f"{t.variant} {answer}", response.frame, violated=rule, expected=f"{t.variant} that can be used"
    )
    if answer <= 4 * LIMITS[t.variant]:  # else a transfer is too large for this exchange
        transfer(t, peer)


# ---- death timer ----


@case("TIMER-11", roles=ALL_ROLES, variants=("1 s", "65535 s"))
def test_the_smallest_and_the_largest_death_timer_of_the_peer_are_followed(t: Case) -> None:
    declared_s = int(t.variant.split()[0])
    peer = t.peer(2048, death_timer_s=declared_s)
    with t.preamble():
        peer.connect()
    peer.listen(S)
    began_us = peer.now_us
    heard = peer.listen((2 if t.link.real_time else 20) * S)
    if declared_s == 1:
        t.expect_signs_of_life(heard, began_us, peer.now_us, declared_s)
    idle = [seen for seen in heard if seen.packet.type is Type.KEEPALIVE]
    rate = len(idle) * S / (peer.now_us - began_us)
    text = f"{rate:.0f} KEEPALIVEs in a second, a death timer of {declared_s} s was declared"
    t.should(rate <= 40, text, idle[0].frame if idle else None, expected="at most 40 KEEPALIVEs in a second")
    transfer(t, peer)


@case("TIMER-10", roles=ALL_ROLES)
def test_a_packet_shortly_before_the_death_timer_expires_is_enough(t: Case) -> None:
    peer = t.peer(2048, iut={"death_timer_s": 3})
    with t.preamble():
        peer.connect()
        t.require_death_timer(peer)
    peer.go_silent()
    for _ in range(1 if t.link.real_time else 5):
        peer.send_keepalive()
        peer.listen(peer.terms.iut_death_timer_s * S * 9 // 10)
        t.must(
            not t.link.status().failed,
            "gave up before its death timer had expired",
            expected="an open connection until the death timer expires",
        )
    peer.speak_regularly()
    peer.send_keepalive()
    transfer(t, peer)


# ---- control timer, which a sender reads in OKs ----


@case("CLOSE-04", "CLOSE-03", roles=SENDERS, variants=("0 ms", "1 ms", "65535 ms"))
def test_the_smallest_and_the_largest_published_control_timer_end_in_a_dally(t: Case) -> None:
    published_ms = int(t.variant.split()[0])
    if t.link.real_time and published_ms > 1000:
        raise NotSupportedError("a control timer of one minute takes too long on a real link")
    peer = t.receiver(900, iut={"death_timer_s": 120})
    peer.control_timer_ms = published_ms
    with t.preamble():
        peer.connect()
        peer.require(buffer_size=900)
        peer.go(0)
        peer.expect_buffer(0)
    ok = peer.ok(0)[0]
    peer.expect_ack(ok.seq)
    if published_ms > 1:
        peer.listen(peer.ms(published_ms) - 2 * t.link.delay_us)
        peer.send_control([ok])
        peer.expect(
            lambda packet: packet.type is Type.NULL_ACK and packet.high_seq >= ok.seq,
            peer.ack_deadline_us,
            f"the OK to be acknowledged again: its receiver's control timer is {published_ms} ms",
        )
    peer.send_done()
    peer.expect_success()


# ---- what is for the clients ----

ANNOUNCED = {"one byte less": -1, "exactly": 0, "one byte more": 1}


@case("OPEN-11", roles=RECEIVERS, variants=(*ANNOUNCED, "2**32 - 1"))
def test_an_announced_size_beside_the_real_one_changes_nothing(t: Case) -> None:
    peer = t.sender(3000)
    size = 0xFFFFFFFF if t.variant not in ANNOUNCED else len(peer.data) + ANNOUNCED[t.variant]
    with t.preamble():
        peer.connect(transfer_size=size)
    try:
        peer.finish()
    except UnmetError:
        if peer.has_quit:
            raise NotSupportedError("its client gives up a transfer of another size than announced") from None
        raise
    t.expect_transferred(peer)


@case("WIRE-07", "OPEN-12", roles=ALL_ROLES, variants=("1", "3", "4", "5", "7", "8", "104", "247", "252", "255"))
def test_client_strings_around_a_multiple_of_four_arrive(t: Case) -> None:
    string = "".join(chr(ord("a") + n % 26) for n in range(int(t.variant)))
    peer = t.peer(500, own={"client_string": string}, iut={"client_string": string})
    peer.connect()
    opening = (peer.opens or peer.responses)[0]
    field = opening.packet.string
    t.must(
        not field or (field.endswith(b"\0") and len(field) % 4 == 0),
        f"the string field is {field!r}",
        expected="a string that ends in NUL and fills words of 4 bytes",
    )
    text = opening.packet.text
    t.should(
        text == string or not t.link.tells_outcome,
        f"its client string came as {text!r}",
        opening.frame,
        expected=f"{string!r}, as its client gave it",
    )
    transfer(t, peer)
    delivered = t.link.peer_string()
    if delivered is not None:
        t.should(
            delivered == string,
            f"the tester's client string reached the client as {delivered!r}",
            expected=f"{string!r}, as the tester sent it",
        )


@case("WIRE-07", "OPEN-01", roles=PASSIVE, variants=("one NUL more than needed", "four NULs more", "only NULs"))
def test_a_client_string_with_more_fill_than_needed_is_accepted(t: Case) -> None:
    peer = t.peer(500)
    fill = {"one NUL more than needed": b"ab\0\0", "four NULs more": b"abc\0\0\0\0\0", "only NULs": bytes(8)}[t.variant]
    peer.open(string=fill)
    transfer(t, peer)


# ---- Length ----

SHORT = {Type.KEEPALIVE: 12, Type.QUIT: 12, Type.ABORT: 12, Type.DONE: 12, Type.QUITACK: 12, **packets.MINIMUM_BYTES}


@case("ROBUST-01", "WIRE-04", roles=ALL_ROLES, control=True, variants=("one below", "one beyond the end"))
def test_a_length_beside_what_its_type_needs_has_no_effect(t: Case) -> None:
    """At the minimum itself each of these packets is used in the other cases."""
    peer = t.peer(4096)
    with t.preamble():
        peer.connect()
        t.run_first_buffer(peer)
    if t.stimulus:
        for kind, least in SHORT.items():
            packet = bytearray(one_of(peer, kind))
            length = least - 1 if t.variant == "one below" else len(packet) + 1
            packet[4:6] = length.to_bytes(2, "big")
            peer.send(packets.seal(packet))
        heard = peer.listen(QUIET_US)
        answers = (Type.ABORT, Type.QUITACK, Type.RESPONSE, Type.REFUSED)
        wrong = [seen for seen in heard if seen.packet.type in answers]
        t.must(
            not wrong,
            "a packet with an impossible Length was answered",
            wrong[0].frame if wrong else None,
            expected="no answer to a packet with an impossible Length",
        )
        t.must(
            not t.link.status().failed,
            "a packet with an impossible Length ended the connection",
            expected="a connection that goes on",
        )
    transfer(t, peer)


def one_of(peer: ReceiverPeer | SenderPeer, kind: Type) -> bytes:
    """A packet of this type that would have an effect if its Length were right."""
    if kind in packets.OPENING_TYPES:
        return peer.forge.opening(kind, peer.opening_values(unique_id=peer.unique_id ^ 0xFFFF))
    if kind in packets.DATA_TYPES:
        values = packets.Packet(b"", type=kind, buffer=1, packet=0, data=b"x" * 16)
        return peer.forge.data(dataclasses.replace(values, flags=0))
    if kind is Type.NULL_ACK:
        return peer.forge.null_ack(65535, 1, 1)
    return peer.forge.packet(kind)
