# SPDX-License-Identifier: GPL-2.0-or-later
"""CKSUM: what checksums protect."""

from netblt_conformance import packets
from netblt_conformance.case import ALL_ROLES, PASSIVE, RECEIVERS, SENDERS, Case, case
from netblt_conformance.links.base import NotSupportedError
from netblt_conformance.packets import Type
from netblt_conformance.tolerances import QUIET_US


@case("CKSUM-01", roles=ALL_ROLES)
def test_every_packet_of_a_transfer_carries_a_good_checksum(t: Case) -> None:
    peer = t.peer(3000)
    with t.preamble():
        peer.connect()
        peer.finish()
    peer.listen(QUIET_US)
    bad = [seen for seen in peer.seen if not seen.packet.checksum_good]
    t.must(not bad, f"{len(bad)} packets carry a wrong checksum", bad[0].frame if bad else None)


@case("CKSUM-04", "CKSUM-01", roles=ALL_ROLES)
def test_every_packet_carries_good_checksums_when_data_checksums_are_on(t: Case) -> None:
    peer = t.peer(2999, data_checksum=True)  # odd: the last data area ends with half a word
    with t.preamble():
        peer.connect()
        t.must(peer.terms.data_checksum, "RESPONSE turned data checksums off")
        peer.finish()
    peer.expect_success()


@case("CKSUM-02", roles=PASSIVE)
def test_a_packet_whose_checksum_happens_to_be_zero_is_accepted(t: Case) -> None:
    peer = t.peer()
    # The low half of the unique ID takes up what the checksum would have been.
    plain = packets.read(peer.forge.opening(Type.OPEN, peer.opening_values(unique_id=0xA5A50000)))
    peer.unique_id = 0xA5A50000 | plain.checksum
    opening = peer.forge.opening(Type.OPEN, peer.opening_values())
    with t.preamble():
        t.must(packets.read(opening).checksum == 0, "the tester could not forge a checksum of zero")
    peer.send(opening)
    peer.expect_response()


@case("CKSUM-05", roles=RECEIVERS, control=True)
def test_a_wrong_data_checksum_is_ignored_when_data_checksums_are_off(t: Case) -> None:
    peer = t.sender(1024)
    with t.preamble():
        peer.connect()
        if peer.terms.data_checksum:
            raise NotSupportedError("the implementation turns data checksums on (AMB-24)")
        peer.expect_go(0)
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


@case("CKSUM-06", roles=RECEIVERS, control=True)
def test_a_data_packet_with_a_bad_header_checksum_is_not_stored(t: Case) -> None:
    peer = t.sender(1024)
    with t.preamble():
        peer.connect()
        peer.expect_go(0)
    for number in range(peer.packet_count(0)):
        packet = peer.forge.data(peer.data_packet(0, number))
        peer.send(packets.spoil(packet) if t.stimulus and number == 1 else packet)
    if t.stimulus:
        request = peer.expect_resend(0)
        t.must(1 in request.packets, f"{request} does not ask for the packet with the bad checksum")
    peer.finish()
    t.expect_delivered_by(peer)


@case("CKSUM-07", roles=RECEIVERS, control=True)
def test_data_with_a_bad_data_checksum_counts_as_lost(t: Case) -> None:
    peer = t.sender(1024, data_checksum=True)
    with t.preamble():
        peer.connect()
        t.must(peer.terms.data_checksum, "RESPONSE turned data checksums off")
        peer.expect_go(0)
    for number in range(peer.packet_count(0)):
        good = peer.data_packet(0, number)
        damaged = bytes([good.data[0] ^ 0xFF]) + good.data[1:]
        spoilt = t.stimulus and number == 2
        peer.send_packet(0, number, **({"data": damaged, "data_checksum": good.data_checksum} if spoilt else {}))
    if t.stimulus:
        request = peer.expect_resend(0)
        t.must(2 in request.packets, f"{request} does not ask for the packet whose data were damaged")
        t.must(not peer.find(packets.Kind.OK, 0), "OK for a buffer with damaged data")
    peer.finish()
    t.expect_delivered_by(peer)
