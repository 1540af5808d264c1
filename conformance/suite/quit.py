# SPDX-License-Identifier: GPL-2.0-or-later
"""QUIT and ABORT (RFC 998 5.3.2, 5.3.3)."""

from netblt_conformance import tolerances
from netblt_conformance.case import ALL_ROLES, Case, case
from netblt_conformance.links.base import Feature
from netblt_conformance.model import MICROSECONDS_PER_S as S
from netblt_conformance.model import Stop
from netblt_conformance.packets import Type
from netblt_conformance.peer import ReceiverPeer
from netblt_conformance.tolerances import QUIET_US

SLOW = {"burst_size": 1, "burst_interval_ms": 50}


def into_the_middle_of_a_buffer(peer: ReceiverPeer | object) -> None:
    """Some packets of buffer 0 are through, others are not."""
    from netblt_conformance.peer import SenderPeer

    if isinstance(peer, ReceiverPeer):
        peer.go(0)
        peer.until(lambda: len(peer.buffer(0).packets) >= 2, tolerances.REACTION_MAX_US, "expected data")
    elif isinstance(peer, SenderPeer):
        peer.expect_go(0)
        peer.send_packets(0, [0, 1])


@case("QUIT-01", "QUIT-05", roles=ALL_ROLES, variants=("idle", "mid-buffer"))
def test_quit_is_answered_with_quitack_and_ends_the_transfer(t: Case) -> None:
    peer = t.peer(4096, **SLOW)
    with t.preamble():
        peer.connect()
        if t.variant == "mid-buffer":
            into_the_middle_of_a_buffer(peer)
    peer.send_quit("the tester has had enough")
    peer.expect_type(Type.QUITACK)
    peer.silence([Type.DATA, Type.LDATA, Type.CONTROL], QUIET_US, "nothing may be transferred after QUITACK")
    peer.expect_failure()


@case("QUIT-02", roles=ALL_ROLES, needs=(Feature.QUIT,))
def test_quit_is_repeated_until_quitack_comes(t: Case) -> None:
    peer = t.peer(4096)
    with t.preamble():
        peer.connect()
        peer.listen(tolerances.CROSSING_US)
    t.link.stop(Stop.QUIT, "the client has had enough")
    peer.expect_type(Type.QUIT, 15 * S)
    peer.expect_type(Type.QUIT, 15 * S)
    peer.expect_type(Type.QUIT, 15 * S)
    peer.send(peer.forge.packet(Type.QUITACK))
    peer.listen(tolerances.CROSSING_US)
    peer.silence([Type.QUIT], 10 * S, "QUITACK must end the repetition")


@case("QUIT-03", roles=ALL_ROLES)
def test_a_repeated_quit_is_answered_again(t: Case) -> None:
    peer = t.peer(4096)
    with t.preamble():
        peer.connect()
        peer.send_quit()
        peer.expect_type(Type.QUITACK)
    peer.listen(QUIET_US)
    peer.send_quit()
    peer.expect_type(Type.QUITACK)


@case("QUIT-06", roles=ALL_ROLES, variants=("", "abc", "four", "long"))
def test_quit_may_carry_any_reason(t: Case) -> None:
    peer = t.peer(4096)
    with t.preamble():
        peer.connect()
    peer.send_quit("r" * 255 if t.variant == "long" else t.variant)
    peer.expect_type(Type.QUITACK)


@case("QUIT-06", roles=ALL_ROLES, needs=(Feature.QUIT,))
def test_the_reason_of_a_quit_is_terminated_and_filled(t: Case) -> None:
    peer = t.peer(4096)
    with t.preamble():
        peer.connect()
        peer.listen(tolerances.CROSSING_US)
    t.link.stop(Stop.QUIT, "four")
    seen = peer.expect_type(Type.QUIT, 15 * S)
    field = seen.packet.string
    sound = not field or (field.endswith(b"\0") and len(field) % 4 == 0)
    t.must(sound, f"the reason field is {field!r}", seen.frame)
    t.observe("reason of QUIT", seen.packet.text)
    peer.send(peer.forge.packet(Type.QUITACK))
    peer.expect_failure()


@case("ABORT-01", roles=ALL_ROLES, needs=(Feature.ABORT,))
def test_whoever_aborts_closes_at_once(t: Case) -> None:
    peer = t.peer(4096)
    with t.preamble():
        peer.connect()
        peer.listen(QUIET_US)
    t.link.stop(Stop.ABORT, "the implementation has had enough")
    peer.expect_type(Type.ABORT)
    t.must(t.link.status().closed, "the connection is still there after its ABORT")
    if not isinstance(peer, ReceiverPeer):
        peer.send_keepalive()
    else:
        peer.go(0)
    served = (Type.DATA, Type.LDATA, Type.CONTROL, Type.NULL_ACK, Type.KEEPALIVE, Type.DONE, Type.QUIT)
    peer.silence(served, 5 * S, "nothing may follow ABORT")
    peer.expect_failure()


@case("ABORT-02", "ABORT-03", roles=ALL_ROLES, variants=("idle", "mid-buffer"))
def test_abort_closes_without_any_answer(t: Case) -> None:
    peer = t.peer(4096, **SLOW)
    with t.preamble():
        peer.connect()
        if t.variant == "mid-buffer":
            into_the_middle_of_a_buffer(peer)
    peer.send_abort()
    # What was on its way may still come; an answer may not.
    answers = (Type.ABORT, Type.QUIT, Type.QUITACK, Type.REFUSED, Type.DONE)
    peer.silence(answers, tolerances.CROSSING_US, "ABORT must not be answered")
    peer.silence(Type, S, "nothing may follow ABORT")
    peer.expect_failure()


@case("ABORT-04", roles=tuple(role for role in ALL_ROLES if role.active))
def test_abort_during_setup_ends_the_attempt(t: Case) -> None:
    peer = t.peer()
    with t.preamble():
        peer.await_open()
    peer.send_abort()
    peer.listen(tolerances.CROSSING_US)
    peer.silence([Type.OPEN], 5 * S, "no OPEN may follow ABORT")
    peer.expect_failure()
