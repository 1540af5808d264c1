# SPDX-License-Identifier: GPL-2.0-or-later
"""A second connection between the same two ports: after the end of the first one, and while its sender still dallies
(RFC 998 5.1, 5.3.1)."""

from netblt_conformance.cases.case import PASSIVE, Case, case
from netblt_conformance.common import tolerances
from netblt_conformance.packets.packets import Type
from netblt_conformance.peer import ReceiverPeer, SenderPeer
from netblt_conformance.peer.exchange import UnmetError

FEWER = 1000  # of a full buffer a sender may not know that it is the last (AMB-41)
ANSWERS = (Type.RESPONSE, Type.REFUSED, Type.ABORT)


def ask_again(peer: ReceiverPeer | SenderPeer) -> Type | None:
    """What an OPEN on the old ports is answered with."""
    peer.send_open()
    try:
        return peer.expect(lambda p: p.type in ANSWERS, tolerances.TESTER_RETRY_US, "some answer").packet.type
    except UnmetError:
        return None


def run_again(t: Case, peer: ReceiverPeer | SenderPeer) -> bool:
    """The transfer of a connection that was accepted; False when the RESPONSE was but a late copy of an earlier one,
    without a connection (AMB-66)."""
    peer.settle(peer.responses[-1].packet, peer.responses[-1].packet.death_timer_s)
    began = len(peer.seen)
    try:
        received = peer.finish()
    except UnmetError:
        if any(seen.packet.is_data or seen.packet.messages for seen in peer.seen[began:]):
            raise
        return False
    if received is not None or not t.link.real_time:  # a program has one file for all connections, or one for each
        t.expect_intact(received, peer.data)
    return True


def expect_service(t: Case, peer: ReceiverPeer | SenderPeer) -> None:
    """A RESPONSE with the ID of a new OPEN is no late copy: a transfer follows, or the client gives no buffer."""
    if run_again(t, peer):
        return
    expected = "a transfer after RESPONSE"
    text = "a new OPEN got RESPONSE, and no packet follows it in the new connection"
    t.must(peer.is_served(), text, expected=f"{expected}, or at least a KEEPALIVE")
    t.should(False, "a new OPEN got RESPONSE, but no transfer follows it", expected=expected)


@case("CLOSE-04", "DEMUX-04", roles=tuple(role for role in PASSIVE if role.sender))
def test_a_new_open_in_the_dally_leaves_the_finished_transfer_a_success(t: Case) -> None:
    peer = t.receiver(FEWER)
    peer.control_timer_ms = 2000  # it dallies for longer than that
    with t.preamble():
        peer.connect()
        peer.require(buffer_size=FEWER)
        peer.go(0)
        peer.expect_buffer(0)
        peer.expect_ack(peer.ok(0)[0].seq)
        peer.expect_success()
    second = t.again(peer)  # as if the DONE had been lost: the receiver may close, and open again at once
    answer = ask_again(second)
    t.observe("a new OPEN in the dally is answered with", answer.name if answer is not None else "silence")
    t.must(
        not t.link.status().failed,
        "the finished transfer became a failure when a new OPEN came in its dally",
        expected="no effect on the finished transfer",
    )
    if answer is Type.RESPONSE:
        expect_service(t, second)


@case("DEMUX-04", "OPEN-02", roles=PASSIVE, variants=("a new unique ID", "the old unique ID"))
def test_ports_can_be_used_again_after_a_clean_end(t: Case) -> None:
    peer = t.peer(FEWER)
    with t.preamble():
        peer.connect()
        peer.finish()
        peer.expect_success()
        if t.link.tells_outcome:
            peer.expect_closed()
    old = t.variant == "the old unique ID"
    second = t.again(peer, peer.unique_id if old else None)
    answer = ask_again(second)
    text = answer.name if answer is not None else "silence"
    if answer is Type.RESPONSE and not old:
        expect_service(t, second)
    elif answer is Type.RESPONSE and not run_again(t, second):
        text = "RESPONSE, and no transfer"
    name = "the old unique ID after a clean end" if old else "a new unique ID after a clean end"
    t.observe(f"{name} is answered with", text)
    t.should(
        old or answer is not Type.ABORT,
        "a new OPEN on the ports of a closed connection was answered with ABORT",
        expected="RESPONSE, REFUSED or no answer",
    )
