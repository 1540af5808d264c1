# SPDX-License-Identifier: GPL-2.0-or-later
"""CTRL-01, CTRL-06: control messages are numbered beyond 16 bits. A transfer of 2 GB in buffers of 64 KiB comes so far.

What follows 65535 is not specified. 0, 1, and an end that both ends and both clients learn of are accepted (AMB-12).
"""

from netblt_conformance.cases.case import RECEIVERS, SENDERS, Case, case
from netblt_conformance.common.errors import NotSupportedError
from netblt_conformance.common.model import Feature
from netblt_conformance.packets.packets import SEQ_MODULUS, Type
from netblt_conformance.peer import ReceiverPeer, SenderPeer
from netblt_conformance.peer.exchange import UnmetError

BUFFER_BYTES = 64
BUFFERS = SEQ_MODULUS // 2 + 232  # each has a GO and an OK
NEAR_THE_END = 256  # messages: an implementation may stop before it would have no number for all that it has to send
OBSERVED = "control message after number 65535"
SIZES = {
    "buffer_size": BUFFER_BYTES,
    "packet_size": BUFFER_BYTES,
    "burst_size": 50,
    "burst_interval_ms": 1,
    "max_buffers": 8,
}


def connect(t: Case, peer: ReceiverPeer | SenderPeer) -> None:
    """With larger buffers than the tester would have, the transfer ends before the numbers do."""
    with t.preamble():
        peer.connect()
    if 2 * peer.buffer_count <= SEQ_MODULUS:
        raise NotSupportedError(f"{peer.buffer_count} buffers were agreed on, this exchange needs {BUFFERS}")


def stops_cleanly(t: Case, peer: ReceiverPeer | SenderPeer, newest: int) -> bool:
    """Whether the implementation ended the connection where the numbers end, and its client knows."""
    ended = any(seen.packet.type in (Type.QUIT, Type.ABORT) for seen in peer.seen)
    if newest < SEQ_MODULUS - NEAR_THE_END or not ended:
        return False
    peer.expect_failure()
    t.observe(OBSERVED, "none: the connection ends")
    return True


@case("CTRL-01", "CTRL-05", roles=RECEIVERS, needs=(Feature.LONG,))
def test_numbers_go_on_beyond_sixteen_bits(t: Case) -> None:
    peer = t.sender(BUFFERS * BUFFER_BYTES, **SIZES)
    connect(t, peer)
    try:
        peer.finish()
    except UnmetError:
        if stops_cleanly(t, peer, peer.consecutive):
            return
        raise
    peer.expect_success()
    t.observe(OBSERVED, "0" if SEQ_MODULUS in peer.messages else "1")
    t.must(
        peer.consecutive > SEQ_MODULUS,
        f"message {peer.consecutive} is the newest one before which none is missing",
        expected=f"a GO and an OK for each of {BUFFERS} buffers",
    )
    t.expect_delivered(peer.data)


@case("CTRL-06", "CTRL-07", roles=SENDERS, needs=(Feature.LONG,))
def test_acknowledgements_go_on_beyond_sixteen_bits(t: Case) -> None:
    peer = t.receiver(BUFFERS * BUFFER_BYTES, **SIZES)
    connect(t, peer)
    try:
        received = peer.finish()
    except UnmetError:
        if stops_cleanly(t, peer, peer.high_seq):
            return
        raise
    peer.expect_success()
    t.observe(OBSERVED, "0")
    t.must(
        peer.high_seq == peer.next_seq - 1,
        f"message {peer.high_seq} is acknowledged",
        expected=f"acknowledgement of all {peer.next_seq - 1} messages",
    )
    t.expect_intact(received, peer.data)
