# SPDX-License-Identifier: GPL-2.0-or-later
"""Area ROBUST on real packets: storms of old packets and floods, sent by tcpreplay. Wire link only."""

from __future__ import annotations

from netblt_conformance.cases import replayed
from netblt_conformance.cases.case import Case, case
from netblt_conformance.common.model import Feature
from netblt_conformance.links.base import STRANGER_ADDRESS, TESTER_ADDRESS
from netblt_conformance.peer import ReceiverPeer, SenderPeer
from netblt_conformance.peer.base import Peer
from netblt_conformance.peer.exchange import UnmetError

LENGTH = 6 * 1024
DONE = 2  # buffers that are through when the storm comes
COPIES = 8
# Some 40,000 packets: a fraction of a second at top speed.
FLOOD_LOOPS = 100
DEATH_TIMER_S = 5
WHY = "tcpreplay needs real packets; mutants are judged in virtual time"


def half_a_transfer(peer: Peer) -> None:
    """Some buffers go through, so that there is something old to repeat."""
    peer.connect()
    if isinstance(peer, ReceiverPeer):
        for number in range(DONE):
            peer.go(number)
            peer.expect_buffer(number)
            peer.ok(number)
            peer.expect_ack()
    elif isinstance(peer, SenderPeer):
        for number in range(DONE):
            peer.expect_go(number)
            peer.send_buffer(number)
            peer.expect_ok(number)
        peer.null_ack()


def complete(t: Case, peer: Peer) -> None:
    if isinstance(peer, ReceiverPeer):
        received = peer.finish()
        t.expect_intact(received, peer.data)
        peer.expect_success()
    elif isinstance(peer, SenderPeer):
        peer.finish()
        t.expect_delivered_by(peer)


def stale(peer: Peer) -> list[bytes]:
    """What a live connection must see through of an earlier one between the same ports."""
    assert isinstance(peer, ReceiverPeer | SenderPeer)
    acknowledged = peer.high_seq if isinstance(peer, ReceiverPeer) else peer.ack
    base = peer.first_buffer or 0
    ports = (peer.own_port, peer.iut_port)
    return replayed.storm(ports, acknowledged, range(base, base + DONE), from_sender=isinstance(peer, SenderPeer))


@case("DATA-08", "DEMUX-04", needs=(Feature.REPLAY,), kills_nothing=WHY)
def test_a_storm_of_duplicates_does_no_harm(t: Case) -> None:
    """Every packet so far comes eight times more, at once and in the middle of the transfer."""
    peer = t.peer(LENGTH)
    with t.preamble():
        half_a_transfer(peer)
    t.link.replay(replayed.sent(t.link.capture) * COPIES)
    complete(t, peer)


@case("DATA-08", "DEMUX-04", needs=(Feature.REPLAY,), kills_nothing=WHY)
def test_a_storm_of_an_earlier_connection_does_no_harm(t: Case) -> None:
    """Packets of a connection that once was between these ports, in other words and with other data."""
    peer = t.peer(LENGTH)
    with t.preamble():
        half_a_transfer(peer)
        storm = stale(peer)
    t.link.replay(storm * COPIES)
    complete(t, peer)


@case("ROBUST-01", needs=(Feature.REPLAY,), kills_nothing=WHY)
def test_a_flood_ends_no_worse_than_in_a_clean_failure(t: Case) -> None:
    """Rubbish as fast as the machine can, from the peer's address and from another: the transfer goes on, or the
    client learns that it does not; nothing crashes, nothing hangs."""
    peer = t.peer(LENGTH, iut={"death_timer_s": DEATH_TIMER_S})
    with t.preamble():
        half_a_transfer(peer)
    sender = isinstance(peer, SenderPeer)
    rubbish = replayed.rubbish((peer.own_port, peer.iut_port), t.random, from_sender=sender)
    for source in (TESTER_ADDRESS, STRANGER_ADDRESS):
        t.link.replay(rubbish, source, loops=FLOOD_LOOPS)
    try:
        complete(t, peer)
    except UnmetError:
        peer.go_silent()
        peer.expect_failure(t.tolerances.close_max_us)
