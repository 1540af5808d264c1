# SPDX-License-Identifier: GPL-2.0-or-later
"""WIRE: formats (RFC 998 section 8). Each case provokes the packets that it is about; the monitor reads every one."""

from netblt_conformance.cases.case import ACTIVE, ALL_ROLES, PASSIVE, RECEIVERS, SENDERS, Case, case
from netblt_conformance.common.model import MICROSECONDS_PER_S as S
from netblt_conformance.common.model import Feature
from netblt_conformance.common.tolerances import QUIET_US
from netblt_conformance.packets import packets
from netblt_conformance.packets.packets import Kind, Type
from netblt_conformance.peer import ReceiverPeer, SenderPeer


def lossy_transfer(peer: ReceiverPeer | SenderPeer) -> None:
    """Transfers everything, with one packet lost on the way."""
    if isinstance(peer, ReceiverPeer):
        peer.go(0)
        peer.expect_buffer(0)
        peer.resend(0, [1])
        peer.expect_copies(0, 1)
    else:
        peer.expect_go(0)
        peer.send_buffer(0, omit=[1])
        peer.expect_resend(0)
    peer.finish()


@case("WIRE-02", "WIRE-03", "WIRE-04", "WIRE-05", "WIRE-13", roles=ALL_ROLES)
def test_every_packet_has_a_sound_header(t: Case) -> None:
    peer = t.peer(2 * 1024 + 300, own={"death_timer_s": 2})
    with t.preamble():
        peer.connect()
        peer.listen(S)  # idle: KEEPALIVE
        lossy_transfer(peer)
    peer.expect_success()
    for seen in peer.seen:
        p = seen.packet
        t.must(p.type is not None, f"packet type {p.type_code} does not exist", seen.frame)
        t.must(
            p.foreign_port == peer.own_port,
            f"{p} is addressed to port {p.foreign_port}",
            seen.frame,
            expected="the port of the tester",
        )


@case("WIRE-04", roles=RECEIVERS, control=True)
def test_padding_after_length_does_not_keep_data_from_being_taken(t: Case) -> None:
    """RFC 998 8: a packet is a multiple of 4 bytes long, and Length counts header and data (AMB-02). Without the
    stimulus the packet ends with its data."""
    peer = t.sender(2 * 1024 - 3)
    with t.preamble():
        peer.connect()
        peer.expect_go(0)
        peer.send_buffer(0)
        peer.expect_ok(0)
        peer.expect_go(1)
    last = peer.packet_count(1) - 1
    peer.send_packets(1, range(last))
    padded = peer.forge.data(peer.data_packet(1, last))
    t.note(f"LDATA with {len(padded) - packets.read(padded).length} bytes of padding after Length")
    peer.send(padded if t.stimulus else padded[: packets.read(padded).length])
    peer.expect_ok(1)
    peer.finish()
    peer.expect_success()


@case(
    "WIRE-01",
    roles=ALL_ROLES,
    needs=(Feature.REAL_PACKETS,),
    kills_nothing="what carries a packet lies outside the core, and virtual links have no IP",
)
def test_every_packet_rides_in_ip_protocol_30(t: Case) -> None:
    peer = t.peer(2048)
    with t.preamble():
        peer.connect()
        peer.finish()
    peer.expect_success()
    carriers = {frame.packet[9] for frame in t.link.capture.frames if not frame.sent and frame.packet[0] >> 4 == 4}
    foreign = sorted(carriers - {30, 1, 2})  # its host may speak ICMP and IGMP
    t.must(not foreign, f"packets of IP protocol {foreign} came", expected="IP protocol 30")


@case("WIRE-06", roles=ALL_ROLES)
def test_keepalive_and_quitack_are_bare_headers(t: Case) -> None:
    peer = t.peer(2 * 1024, own={"death_timer_s": 2})
    with t.preamble():
        peer.connect()
        peer.listen(2 * S)
        peer.send_quit()
        peer.expect_type(Type.QUITACK)
    for seen in peer.seen:
        if seen.packet.type in (Type.KEEPALIVE, Type.QUITACK):
            size = len(seen.packet.raw)
            t.must(size == packets.HEADER_BYTES, f"{seen.packet} of {size} bytes", seen.frame)


@case("WIRE-06", roles=RECEIVERS)
def test_done_is_a_bare_header(t: Case) -> None:
    peer = t.sender(1024)
    with t.preamble():
        peer.connect()
        peer.finish()
        peer.expect_success()
        peer.listen(QUIET_US)
    done = [seen for seen in peer.seen if seen.packet.type is Type.DONE]
    t.observe("DONE is sent", bool(done))
    for seen in done:
        size = len(seen.packet.raw)
        t.must(size == packets.HEADER_BYTES, f"DONE of {size} bytes", seen.frame, expected="a bare header of 12 bytes")


@case("WIRE-07", roles=ALL_ROLES, variants=("", "abc", "four", "a longer one"))
def test_the_client_string_is_terminated_and_filled(t: Case) -> None:
    # A passive end may keep its RESPONSE from being longer than the OPEN: so there is room for its string.
    peer = t.peer(1024, own={"client_string": "r" * 32}, iut={"client_string": t.variant})
    with t.preamble():
        peer.connect()
    opening = (peer.opens or peer.responses)[0]
    field = opening.packet.string
    if not field:
        t.must(
            not t.variant, "the client string is missing", opening.frame, expected="the string that its client gave"
        )  # AMB-03: the empty one may be absent
        return
    t.must(
        field.endswith(b"\0") and len(field) % 4 == 0,
        f"the string field is {field!r}",
        opening.frame,
        expected="a string that ends in NUL and fills words of 4 bytes",
    )
    t.observe("NULs inside the client string", "yes" if b"\0" in field.rstrip(b"\0") else "no")


@case("WIRE-07", roles=ALL_ROLES)
def test_the_reason_of_an_abort_is_terminated_and_filled(t: Case) -> None:
    peer = t.peer(2048)
    with t.preamble():
        peer.connect()
        t.run_first_buffer(peer)
        if t.role.active:
            peer.send_response(unique_id=peer.unique_id ^ 0x55555555)
        else:
            peer.send_open(unique_id=peer.unique_id ^ 0x55555555)
        answers = (Type.ABORT, Type.REFUSED)
        seen = peer.expect(lambda packet: packet.type in answers, t.tolerances.reaction_max_us, "ABORT")
    field = seen.packet.string
    sound = not field or (field.endswith(b"\0") and len(field) % 4 == 0)
    t.must(
        sound,
        f"the reason field is {field!r}",
        seen.frame,
        expected="a reason that ends in NUL and fills words of 4 bytes",
    )


# Values that cannot be taken for one another, whatever field they end up in.
# Values that no implementation would choose as a limit, nor for what cannot be configured, such as a death timer.
DISTINCT = {"buffer_size": 3001, "packet_size": 307, "burst_size": 17, "burst_interval_ms": 23, "max_buffers": 13}


@case("WIRE-08", "WIRE-09", roles=ACTIVE)
def test_the_fields_of_an_open_are_where_they_belong(t: Case) -> None:
    peer = t.peer(2048, **DISTINCT, iut={"death_timer_s": 45})
    with t.preamble():
        opening = peer.await_open()
    _same_fields(t, opening.packet, {**DISTINCT, "death_timer_s": 45}, opening.frame)
    t.must(
        opening.packet.writes == t.role.sender,
        "the M bit has the wrong direction",
        opening.frame,
        expected="M = 1 where the active end sends (AMB-08)",
    )
    peer.respond()
    peer.finish()
    peer.expect_success()


@case("WIRE-08", "WIRE-09", roles=PASSIVE)
def test_the_fields_of_a_response_are_where_they_belong(t: Case) -> None:
    peer = t.peer(2048, **DISTINCT)
    with t.preamble():
        peer.open()
    response = peer.responses[0].packet
    for name, value in DISTINCT.items():
        answer, upward = getattr(response, name), name == "burst_interval_ms"
        fits = answer >= value if upward else 1 <= answer <= value
        t.must(fits, f"{name} {value} was answered with {answer}", peer.responses[0].frame)
    peer.finish()
    peer.expect_success()


def _same_fields(t: Case, packet: packets.Packet, wanted: dict[str, int], frame: int) -> None:
    """An active end proposes what it was configured to, or less; a value of another field is a field in the wrong
    place."""
    for name, value in wanted.items():
        got = getattr(packet, name)
        low_first = packets.low_byte_first(value) if value < 0x10000 else None
        t.must(
            got != low_first or got == value,
            f"{name} {value} is proposed as {got}",
            frame,
            expected="the high byte first",
        )
        elsewhere = [other for other, its in wanted.items() if other != name and its == got]
        t.must(
            got == value or not elsewhere,
            f"{name} holds the value of {', '.join(elsewhere)}: {got}",
            frame,
            expected=f"the value of {name}",
        )
        if got != value:
            t.observe(f"{name} {value} is proposed as", got)


@case("WIRE-10", roles=SENDERS, variants=("even", "odd"))
def test_the_fields_of_data_packets_are_where_they_belong(t: Case) -> None:
    peer = t.receiver(2 * 1024 + (512 if t.variant == "even" else 511))
    with t.preamble():
        peer.connect()
    received = peer.finish()
    peer.expect_success()
    t.must(
        received[: len(peer.data)] == peer.data, "the data are not at their offset", expected="the data at their offset"
    )
    if t.variant == "odd":
        last = next(s.packet for s in peer.seen if s.packet.type is Type.LDATA and s.packet.last_buffer)
        inside, behind = len(received) - len(peer.data), len(last.raw) - last.length
        form = (
            f"(c) {inside} bytes in Length" if inside else f"(a) {behind} bytes after Length" if behind else "(b) none"
        )
        t.observe("padding of odd data", form)


@case("WIRE-11", roles=SENDERS)
def test_the_fields_of_a_null_ack_are_where_they_belong(t: Case) -> None:
    peer = t.receiver(1024, burst_size=7, burst_interval_ms=21)
    with t.preamble():
        peer.connect()
        peer.require(buffer_size=1024)
        peer.go(0)
        peer.expect_buffer(0)
        peer.listen(QUIET_US)
        ok = peer.ok(0)[0]
        peer.expect_ack(ok.seq)
    null_acks = [seen for seen in peer.seen if seen.packet.type is Type.NULL_ACK]
    t.must(bool(null_acks), "the final OK was not acknowledged by a NULL-ACK", expected="a NULL-ACK for the final OK")
    newest = null_acks[-1]
    t.must(newest.packet.high_seq == ok.seq, f"{newest.packet}", newest.frame, expected=f"acknowledgement of {ok.seq}")


@case("WIRE-12", roles=RECEIVERS)
def test_control_messages_fill_their_packet_exactly(t: Case) -> None:
    peer = t.sender(3 * 1024)
    with t.preamble():
        peer.connect()
        peer.expect_go(0)
        peer.send_buffer(0, omit=[1])
    peer.expect_resend(0)
    peer.finish()
    peer.expect_success()
    kinds = {message.kind for message in peer.messages.values()}
    t.must(
        kinds == set(Kind),
        f"only {sorted(kind.name for kind in kinds)} came in this transfer",
        expected="every type of RFC 998",
    )
