# SPDX-License-Identifier: GPL-2.0-or-later
"""What an implementation chose where RFC 998 leaves a choice. Nothing here fails a choice: each case reports it, under
the name that catalogue/ambiguities.toml gives it, and only asks that the connection survives it."""

import contextlib

from netblt_conformance.cases.case import ACTIVE, ALL_ROLES, PASSIVE, RECEIVERS, SENDERS, Case, case
from netblt_conformance.common import tolerances
from netblt_conformance.common.model import MICROSECONDS_PER_S as S
from netblt_conformance.common.tolerances import QUIET_US
from netblt_conformance.packets import packets
from netblt_conformance.packets.packets import Kind, Packet, Type
from netblt_conformance.packets.spelling import Covers
from netblt_conformance.peer import ReceiverPeer
from netblt_conformance.peer.exchange import UnmetError


@case("WIRE-08", "WIRE-02", roles=ALL_ROLES)
def test_the_opening_packet_of_a_small_transfer(t: Case) -> None:
    peer = t.peer(1021)
    with t.preamble():
        peer.connect()
    opening = (peer.opens or peer.responses)[0].packet
    t.observe("version byte", opening.version)
    t.observe("empty client string", f"{len(opening.string)} bytes" if opening.string else "absent")
    active_sends = opening.writes == (t.role.active == t.role.sender)
    t.observe("M bit", "1 = the active end sends" if active_sends else "1 = the active end receives")
    if t.role.sender:
        exact = opening.transfer_size == 1021
        t.observe("transfer size announced", "exact" if exact else str(opening.transfer_size))
    peer.finish()
    peer.expect_success()
    versions = {seen.packet.version for seen in peer.seen}
    t.must(
        len(versions) == 1,
        f"the version byte changes within the connection: {sorted(versions)}",
        expected="one version byte (AMB-01)",
    )


@case("WIRE-10", roles=SENDERS)
def test_the_free_fields_of_data(t: Case) -> None:
    peer = t.receiver(1024)
    with t.preamble():
        peer.connect()
        go = peer.go(0)[0]
        peer.expect_buffer(0)
        peer.expect_ack(go.seq)
    data = [seen.packet for seen in peer.seen if seen.packet.is_data]
    if not peer.terms.data_checksum:
        fields = {p.data_checksum for p in data}
        summed = all(p.data_checksum == packets.data_checksum(p.data) for p in data)
        t.observe("data checksum field when off", "0" if fields == {0} else "computed" if summed else "anything")
    first = next(seen.packet for seen in peer.seen if seen.packet.acks and seen.packet.high_seq >= go.seq)
    t.observe("acknowledgement of a GO", f"in {first.type and first.type.name}")
    peer.finish()
    peer.expect_success()


@case(
    "DATA-05",
    roles=ALL_ROLES,
    kills_nothing="to number packets from 1 is an open choice (AMB-10): the variant packets-from-1 gets its WARN here",
)
def test_packets_are_numbered_from_zero(t: Case) -> None:
    peer = t.peer(2048)
    with t.preamble():
        peer.connect()
        peer.finish()
    first = t.profile.spelling.first_packet
    t.observe("first packet number", first)
    t.should(
        first == 0,
        f"packets of a buffer are numbered from {first}",
        expected="packets that are numbered from 0; others cannot interoperate with it (AMB-10)",
    )


@case(
    "CKSUM-03",
    roles=ALL_ROLES,
    variants=("data checksums off", "data checksums on"),
    kills_nothing="to sum header and data is an open choice (AMB-04): the variants sums-data-too get their WARN here",
)
def test_the_header_checksum_of_data_covers_the_header_alone(t: Case) -> None:
    peer = t.peer(2048, data_checksum=t.variant == "data checksums on")
    with t.preamble():
        peer.connect()
        peer.finish()
    covers = t.profile.spelling.covers
    t.observe("header checksum of data covers", covers.value)
    whole = covers is Covers.DATA or (covers is Covers.DATA_IF_SUMMED and peer.terms.data_checksum)
    t.should(
        not whole,
        f"it covers {covers.value}; peers that sum the header alone cannot interoperate with it (AMB-04)",
    )


OTHER_VERSION = 7


@case("WIRE-02", "OPEN-01", roles=PASSIVE, kills_nothing="it reports a choice: any answer is legal, and none")
def test_an_open_of_another_version_gets_some_answer(t: Case) -> None:
    peer = t.peer(1024)
    peer.version = OTHER_VERSION
    name = f"an OPEN of version {OTHER_VERSION} is answered with"
    try:
        seen = peer.propose(Type.RESPONSE, Type.REFUSED, Type.ABORT)
    except UnmetError:
        t.observe(name, "silence")
        peer.version = peer.parameters.version
        with t.preamble():  # the silence of an end that is not there shows nothing
            peer.open()
        return
    t.observe(name, f"{seen.packet.type and seen.packet.type.name} of version {seen.packet.version}")


@case("CTRL-04", "CTRL-03", roles=RECEIVERS)
def test_a_new_message_behind_an_unacknowledged_one_leaves_some_time(t: Case) -> None:
    peer = t.sender(2 * 1024, max_buffers=1)
    with t.preamble():
        peer.connect_without_acknowledging()
        peer.expect_go(0)
        peer.send_buffer(0)
    began_us = peer.now_us
    peer.expect_ok(0)
    at_once = peer.now_us - began_us <= QUIET_US
    t.observe("a new message after an unacknowledged one leaves", "at once" if at_once else "with a repetition")
    peer.finish()
    t.expect_delivered_by(peer)


@case("CLOSE-01", "TIMER-10", roles=RECEIVERS)
def test_a_receiver_whose_last_acknowledgement_never_comes_ends_somehow(t: Case) -> None:
    peer = t.sender(1024, max_buffers=1, iut={"death_timer_s": 3})
    with t.preamble():
        peer.connect()
        peer.require(buffer_size=1024)
        go = peer.expect_go(0)
        peer.answer_controls(False)
        peer.withhold_ack(at=go.seq)
        peer.send_buffer(0)
        peer.expect_ok(0)
    peer.go_silent()
    within_us = tolerances.death_max_us(peer.terms.iut_death_timer_s)
    peer.until(lambda: t.link.status().succeeded or t.link.status().failed, within_us, "some outcome")
    success = t.link.status().succeeded
    t.observe("without the last acknowledgement the client is given", "success" if success else "failure")
    if success:
        t.expect_delivered(peer.data)


PROPOSALS = {
    "burst interval 0 is answered with": {"burst_interval_ms": 0},
    "a buffer of more than 65535 packets is answered with": {"buffer_size": 1 << 24, "packet_size": 16},
}


@case("NEG-04", "NEG-01", roles=PASSIVE, variants=tuple(PROPOSALS))
def test_an_odd_proposal_gets_some_answer(t: Case) -> None:
    peer = t.peer(1024, iut={"buffer_size": 1 << 23, "packet_size": 1024})
    try:
        seen = peer.propose(Type.RESPONSE, Type.REFUSED, Type.ABORT, **PROPOSALS[t.variant])
    except UnmetError:
        t.observe(t.variant, "silence")
        return
    p = seen.packet
    values = f"{p.buffer_size} bytes in packets of {p.packet_size}, bursts every {p.burst_interval_ms} ms"
    t.observe(t.variant, values if p.type is Type.RESPONSE else str(p.type and p.type.name))


@case("ROBUST-08", "OPEN-01", roles=ACTIVE)
def test_transfer_packets_that_overtake_the_response_do_no_harm(t: Case) -> None:
    peer = t.peer(2048)
    with t.preamble():
        peer.await_open()
    if isinstance(peer, ReceiverPeer):
        peer.send_control([peer.message(Kind.GO, peer.first_buffer)])
    else:
        peer.send(peer.forge.data(Packet(b"", type=Type.DATA, buffer=0, data=peer.data[:256])))
    heard = peer.silence([Type.DATA, Type.LDATA], QUIET_US, "nothing was agreed yet")
    peer.respond()
    later = peer.listen(QUIET_US)
    used = isinstance(peer, ReceiverPeer) and any(seen.packet.is_data for seen in later)
    t.observe("transfer packets before RESPONSE", "kept" if used else "dropped")
    del heard
    peer.finish()
    peer.expect_success()


@case("CTRL-12", "CTRL-10", roles=SENDERS)
def test_an_empty_control_does_no_harm(t: Case) -> None:
    peer = t.receiver(2048)
    with t.preamble():
        peer.connect()
        t.run_first_buffer(peer)
        peer.listen(QUIET_US)
    peer.send_control([])
    heard = peer.listen(QUIET_US)
    answered = any(seen.packet.type is Type.NULL_ACK for seen in heard)
    t.observe("an empty CONTROL is", "acknowledged" if answered else "processed as a KEEPALIVE")
    peer.finish()
    peer.expect_success()


@case("ROBUST-07", "DATA-01", "DATA-06", roles=SENDERS)
def test_a_go_that_skips_a_buffer_is_never_success(t: Case) -> None:
    peer = t.receiver(4 * 1024, max_buffers=3)
    with t.preamble():
        peer.connect()
        peer.go(0)
        peer.expect_buffer(0)
        peer.ok(0)  # a sender may have one buffer under way at a time (AMB-79)
    peer.go(2)
    with contextlib.suppress(UnmetError):  # its client may be slow to provide the buffer
        peer.until(lambda: bool(peer.buffer(2).packets), t.tolerances.reaction_max_us, "data of buffer 2")
    if t.link.status().failed:
        t.observe("a GO that skips a buffer is", "refused")
        t.should(
            False, "the transfer failed at a GO that skips a buffer number", expected="a transfer that goes on (AMB-47)"
        )
        return
    served = bool(peer.buffer(2).packets)
    t.observe("a GO that skips a buffer is", "served" if served else "held")
    t.should(
        served,
        "a GO that skips a buffer number was held back",
        violated="DATA-06",
        expected="data of the buffer that the GO names (AMB-47)",
    )
    t.must(
        not t.link.status().succeeded,
        "success was reported although buffers are missing",
        expected="no success before all buffers came",
    )
    if served:  # numbers only increase (RFC 998 section 8): a GO for the skipped number would be no valid stimulus
        return
    t.provokes("ORDER-01")
    peer.go(1)
    peer.finish()
    peer.expect_success()


@case("TIMER-10", "TIMER-11", roles=ALL_ROLES)
def test_a_peer_that_declares_a_death_timer_of_zero_is_borne(t: Case) -> None:
    peer = t.peer(2048, own={"death_timer_s": 0})
    try:
        peer.connect()
    except UnmetError:
        t.observe("death timer 0 of the peer", "no connection")
        return
    heard = peer.listen(3 * S)
    t.observe("death timer 0 of the peer", f"{len(heard)} packets in 3 s")
    t.must(not t.link.status().failed, "gave up although the tester sends packets", expected="an open connection")
    peer.finish()
    peer.expect_success()


@case("TIMER-10", roles=ALL_ROLES)
def test_damaged_packets_may_or_may_not_keep_a_connection_alive(t: Case) -> None:
    peer = t.peer(2048, iut={"death_timer_s": 3})
    with t.preamble():
        peer.connect()
        t.run_first_buffer(peer)
        peer.go_silent()
    for _ in range(2 * 3 * peer.terms.iut_death_timer_s):
        peer.send(packets.spoil(peer.forge.packet(Type.KEEPALIVE)))
        peer.listen(S // 3)
    dead = t.link.status().failed
    t.observe("damaged packets keep a connection alive", "no" if dead else "yes")
    if not dead:
        t.expect_death(peer)


@case("ROBUST-06", "CTRL-05", roles=RECEIVERS)
def test_the_header_of_useless_data_may_acknowledge(t: Case) -> None:
    peer = t.sender(2048, max_buffers=1)
    with t.preamble():
        peer.connect_without_acknowledging()
        go = peer.expect_go(0)
    t.provokes("CTRL-05", "TIMER-02")
    peer.send_packet(0, 0, buffer=((peer.first_buffer or 0) + 500) % 2**32, high_seq=go.seq)
    peer.listen(t.tolerances.crossing_us)
    heard = peer.listen(4 * S)
    if t.was_aborted(peer, "data of a buffer that was not requested"):
        return
    repeated = any(seen.packet.holds(go.seq) for seen in heard)
    t.observe("the acknowledgement in useless data is", "not used" if repeated else "used")
    peer.finish()
    t.expect_delivered_by(peer)
