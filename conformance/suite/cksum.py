# SPDX-License-Identifier: GPL-2.0-or-later
"""CKSUM: what checksums protect."""

from netblt_conformance import packets
from netblt_conformance.case import ALL_ROLES, PASSIVE, Case, case
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


@case("CKSUM-01", "CKSUM-04", roles=ALL_ROLES)
def test_every_packet_of_a_transfer_with_data_checksums_carries_good_ones(t: Case) -> None:
    peer = t.peer(2999, data_checksum=True)  # odd: the last data area ends with half a word
    with t.preamble():
        peer.connect()
        t.must(peer.terms.data_checksum, "RESPONSE turned data checksums off")
        peer.finish()
    peer.listen(QUIET_US)
    peer.expect_success()


@case("CKSUM-06", roles=PASSIVE)
def test_an_open_with_a_bad_checksum_is_not_answered(t: Case) -> None:
    peer = t.peer()
    spoilt = packets.spoil(peer.forge.opening(Type.OPEN, peer.opening_values()))
    peer.send(spoilt)
    peer.silence(Type, QUIET_US, "an OPEN with a bad checksum must have no effect")
    with t.preamble():
        peer.open()
