# SPDX-License-Identifier: GPL-2.0-or-later
"""OPEN: connection setup (RFC 998 5.1)."""

import dataclasses

from netblt_conformance.cases.case import ACTIVE, ALL_ROLES, PASSIVE, RECEIVERS, Case, case
from netblt_conformance.common import tolerances
from netblt_conformance.common.errors import NotSupportedError
from netblt_conformance.common.model import MICROSECONDS_PER_S as S
from netblt_conformance.common.tolerances import QUIET_US
from netblt_conformance.common.verdicts import Cause
from netblt_conformance.packets.packets import Kind, Type, different_for_clients, different_terms, is_only_the_pair
from netblt_conformance.peer import ReceiverPeer, SenderPeer
from netblt_conformance.peer.exchange import Seen, UnmetError
from netblt_conformance.wire import data_checksum_ok

OTHER_ID = 0x0BADCAFE
TRANSFER = (Type.DATA, Type.LDATA, Type.CONTROL, Type.NULL_ACK)


def same_opening(t: Case, copy: Seen, first: Seen, *, renegotiated: bool = False) -> None:
    """AMB-63: a copy means the same to the other NETBLT; what it means to the client may differ. `renegotiated`: an OK
    was sent, which may have changed the pair."""
    others = different_terms(copy.packet, first.packet)
    kind = "RESPONSE" if first.packet.type is Type.RESPONSE else "OPEN"
    judge = t.should if renegotiated and is_only_the_pair(others) else t.must
    judge(not others, f"a repeated {kind} differs from the first one in {', '.join(others)}", copy.frame)
    free = different_for_clients(copy.packet, first.packet)
    t.observe("repeated opening packets differ in", ", ".join(free) or "nothing")


@case("OPEN-01", roles=ALL_ROLES)
def test_two_packets_set_a_connection_up(t: Case) -> None:
    peer = t.peer(2048)
    peer.connect()
    peer.finish()
    peer.expect_success()


@case("OPEN-02", roles=PASSIVE, variants=("any", "all bits set", "zero"))
def test_the_response_echoes_the_unique_id(t: Case) -> None:
    peer = t.peer()
    peer.unique_id = {"any": peer.unique_id, "all bits set": 0xFFFFFFFF, "zero": 0}[t.variant]
    response = peer.propose(Type.RESPONSE)
    got, sent = response.packet.unique_id, peer.unique_id
    t.must(
        got == sent, f"RESPONSE carries unique ID {got:#010x}", response.frame, expected=f"{sent:#010x}, as in the OPEN"
    )


@case("OPEN-03", "OPEN-04", roles=ACTIVE)
def test_an_open_without_answer_is_repeated_and_then_given_up(t: Case) -> None:
    peer = t.peer()
    peer.await_open()
    peer.until(lambda: len(peer.opens) >= 2, t.tolerances.open_retry_max_us, "OPEN to be repeated")
    if t.link.real_time:
        peer.listen(0)
        began_us = peer.now_us
        while not t.link.status().failed:
            if peer.now_us - began_us > tolerances.OPEN_GIVE_UP_REAL_US:
                t.inconclusive(f"still opens after {len(peer.opens)} OPENs and 100 s", expected="an end of the attempt")
            peer.listen(QUIET_US)
    peer.expect_failure(t.tolerances.open_give_up_max_us)
    t.observe("OPENs before giving up", len(peer.opens))
    peer.silence([Type.OPEN], 2 * S, "the attempt was given up")
    for seen in peer.opens[1:]:
        same_opening(t, seen, peer.opens[0])


@case("OPEN-05", roles=ACTIVE)
def test_a_response_ends_the_repetition_of_open(t: Case) -> None:
    peer = t.peer()
    with t.preamble():
        peer.await_open()
        peer.until(lambda: len(peer.opens) >= 2, t.tolerances.open_retry_max_us, "OPEN to be repeated")
    gap_us = peer.opens[1].time_us - peer.opens[0].time_us
    peer.respond()
    peer.listen(t.tolerances.crossing_us)
    peer.silence([Type.OPEN], 5 * gap_us, "no OPEN may follow the RESPONSE")


@case("OPEN-03", roles=ACTIVE, variants=("KEEPALIVE", "transfer"))
def test_only_an_answer_ends_the_repetition_of_open(t: Case) -> None:
    """The RESPONSE was lost, and what the passive end sent after it comes. Receipt of a RESPONSE clears the timer of
    OPEN, nothing else (RFC 998 5.1)."""
    peer = t.peer()
    with t.preamble():
        peer.await_open()
    if t.variant == "KEEPALIVE":
        peer.send_keepalive()
    elif isinstance(peer, ReceiverPeer):
        peer.go(0)
    else:
        peer.send(peer.forge.null_ack(0, 1, 20))
    known = len(peer.opens)
    peer.until(lambda: len(peer.opens) > known, t.tolerances.open_retry_max_us, "OPEN to be repeated")
    peer.respond()
    peer.finish()
    peer.expect_success()


@case("OPEN-06", roles=ACTIVE)
def test_refused_ends_the_attempt(t: Case) -> None:
    peer = t.peer()
    with t.preamble():
        peer.await_open()
    peer.send(peer.forge.reason(Type.REFUSED, "not today"))
    peer.listen(t.tolerances.crossing_us)
    peer.silence(Type, 5 * S, "nothing may follow REFUSED")
    peer.expect_failure()


@case("OPEN-06", "WIRE-07", "WIRE-13", roles=PASSIVE)
def test_an_open_for_a_port_that_nobody_serves_is_refused(t: Case) -> None:
    peer = t.peer(2048)
    unserved = dataclasses.replace(peer.forge, foreign_port=peer.iut_port ^ 1)
    t.link.send(unserved.opening(Type.OPEN, peer.opening_values()))
    heard = peer.listen(QUIET_US)
    turned = [
        s for s in heard if (s.packet.local_port, s.packet.foreign_port) == (peer.own_port, unserved.foreign_port)
    ]
    t.must(
        not turned,
        "the ports of the answer are those of the OPEN",
        turned[0].frame if turned else None,
        expected="its own port as Local Port",
    )
    answers = [seen.packet.type for seen in heard if seen.packet.local_port == unserved.foreign_port]
    t.observe("OPEN for a port that is not served", ", ".join(str(a and a.name) for a in answers) or "silence")
    t.must(Type.RESPONSE not in answers, "an OPEN for a port that is not served was accepted", expected="REFUSED")
    t.should(
        Type.REFUSED in answers,
        "an OPEN for a port that is not served was not answered by REFUSED",
        expected="REFUSED (AMB-26)",
    )
    peer.connect()
    peer.finish()
    peer.expect_success()


@case("OPEN-07", roles=PASSIVE, control=True)
def test_a_repeated_open_gets_the_same_response_again(t: Case) -> None:
    # In part beyond its limits and in part below, so that what it repeats is neither the proposal nor the limits.
    limits = {"buffer_size": 768, "packet_size": 96, "burst_size": 5, "burst_interval_ms": 20, "max_buffers": 3}
    proposal = {"buffer_size": 8192, "packet_size": 1024, "burst_size": 2, "burst_interval_ms": 30, "max_buffers": 1}
    peer = t.peer(iut=limits)
    with t.preamble():
        peer.open(**proposal)
    if t.stimulus:
        for _ in range(2):
            peer.send_open(**proposal)
            same_opening(t, peer.expect_response(), peer.responses[0])
    peer.finish()
    peer.expect_success()


@case("OPEN-07", roles=PASSIVE, control=True)
def test_an_open_repeated_in_the_middle_of_a_transfer_disturbs_nothing(t: Case) -> None:
    peer = t.peer(4096)
    with t.preamble():
        peer.connect()
        t.run_first_buffer(peer)
    if t.stimulus:
        answered_again(t, peer)
        if isinstance(peer, ReceiverPeer):  # 5.1 asks for another RESPONSE, and an OK may renegotiate the pair
            peer.offer = max(1, peer.terms.burst_size - 1), peer.terms.burst_interval_ms + 30
            peer.ok(0)
            peer.expect_ack()
            answered_again(t, peer)
    peer.finish()
    peer.expect_success()


def answered_again(t: Case, peer: ReceiverPeer | SenderPeer) -> None:
    answers = len(peer.responses)
    peer.send_open()
    peer.until(lambda: len(peer.responses) > answers, t.tolerances.reaction_max_us, "RESPONSE again")
    confirmed = (
        bool(peer.find(Kind.OK, 0)) if isinstance(peer, SenderPeer) else bool(peer.monitor.session.issued.offers)
    )
    same_opening(t, peer.responses[-1], peer.responses[0], renegotiated=confirmed)


@case("OPEN-08", roles=ACTIVE, control=True)
def test_a_repeated_response_is_ignored(t: Case) -> None:
    peer = t.peer(4096)
    with t.preamble():
        peer.connect()
        t.run_first_buffer(peer)
    if t.stimulus:
        peer.send_response(packet_size=peer.terms.packet_size // 2, max_buffers=1)
        peer.silence([Type.ABORT, Type.QUIT, Type.REFUSED], QUIET_US, "a repeated RESPONSE must be ignored")
    peer.finish()
    peer.expect_success()


_LATER_MS = 900  # interval of bursts of one packet, in a second RESPONSE
_TELLING_PACKETS = 4  # fewer may take as long for other reasons


@case("OPEN-08", roles=ACTIVE, control=True)
def test_the_first_response_goes_on_to_govern(t: Case) -> None:
    # A sender that took over the second one would stop summing data, a receiver would want sums that were not made.
    peer = t.peer(6 * 1024, max_buffers=3, data_checksum=t.role.sender)
    with t.preamble():
        peer.connect()
        t.run_first_buffer(peer)
    if t.stimulus:
        first = peer.response_values()
        pace = {"burst_size": 1, "burst_interval_ms": _LATER_MS}
        peer.send_response(**pace, buffer_size=512, packet_size=128, max_buffers=1, flags=first.flags ^ 2)
        peer.listen(t.tolerances.crossing_us)
    if isinstance(peer, ReceiverPeer):
        following = range(1, min(3, peer.terms.max_buffers))
        if not following:
            peer.ok(0)
            following = range(1, 2)
        # An OK would settle the pace again: the pace of the first RESPONSE has to last until then.
        began_us, packets = peer.now_us, len(following) * peer.terms.packets_per_buffer
        peer.go(*following)
        for number in following:
            for seen in peer.expect_buffer(number).packets.values():
                summed = not peer.terms.data_checksum or data_checksum_ok(seen.packet.raw)
                t.must(
                    summed,
                    f"{seen.packet} has a wrong data checksum after a second RESPONSE",
                    seen.frame,
                    expected="a data checksum, as the first RESPONSE agreed",
                )
        took_us, later = peer.now_us - began_us, f"one packet in {_LATER_MS} ms"
        t.must(
            packets < _TELLING_PACKETS or took_us < (packets - 1) * peer.ms(_LATER_MS) + peer.slower_us,
            f"{packets} packets took {took_us / S:g} s after a second RESPONSE with {later}",
            expected="the pace of the first RESPONSE",
        )
    peer.finish()
    peer.expect_success()


@case("OPEN-08", roles=ACTIVE)
def test_a_repeated_response_is_not_answered(t: Case) -> None:
    peer = t.peer(2048)
    with t.preamble():
        peer.connect()
        t.run_first_buffer(peer)
        peer.listen(QUIET_US)
        usual = len(peer.listen(QUIET_US))
    for _ in range(20):
        peer.send_response()
    extra = len(peer.listen(QUIET_US)) - usual
    t.must(extra < 15, f"{extra} packets answer 20 repetitions of RESPONSE", expected="no answer")
    peer.finish()
    peer.expect_success()


@case("OPEN-08", "OPEN-07", roles=RECEIVERS)
def test_a_repeated_opening_leaves_waiting_messages_alone(t: Case) -> None:
    peer = t.sender(4096)
    with t.preamble():
        peer.connect_without_acknowledging()
        waiting = peer.expect_go(0)
        peer.expect_repeats(1)
    _ = peer.send_response() if t.role.active else peer.send_open()
    peer.listen(t.tolerances.crossing_us)
    peer.expect_control(lambda control: control.holds(waiting.seq))
    peer.finish()
    peer.expect_success()


# The type of the foreign packet, and the bits in which its unique ID differs: one is enough.
FOREIGN = {
    "OPEN": (Type.OPEN, OTHER_ID),
    "RESPONSE": (Type.RESPONSE, OTHER_ID),
    "OPEN, only a high bit differs": (Type.OPEN, 1 << 16),
    "RESPONSE, only a high bit differs": (Type.RESPONSE, 1 << 16),
}


@case("OPEN-09", roles=ALL_ROLES, control=True, variants=tuple(FOREIGN))
def test_a_foreign_unique_id_on_an_open_connection_is_aborted_and_the_connection_survives(t: Case) -> None:
    peer = t.peer(4096)
    with t.preamble():
        peer.connect()
        t.run_first_buffer(peer)
    if t.stimulus:
        # Whichever end opened: "any OPEN or RESPONSE packet" for an open connection has its unique ID checked.
        kind, difference = FOREIGN[t.variant]
        usual = peer.response_values if t.role.active and kind is Type.RESPONSE else peer.opening_values
        peer.send(peer.forge.opening(kind, usual(unique_id=peer.unique_id ^ difference)))
        answers = (Type.ABORT, Type.REFUSED)
        try:
            seen = peer.expect(
                lambda packet: packet.type in answers, t.tolerances.reaction_max_us, "ABORT for the foreign ID"
            )
        except UnmetError as unmet:
            if t.role.active or kind is Type.OPEN:
                raise
            # An end that never opened may take a RESPONSE for what it cannot be, an attempt to open (ROBUST-08).
            t.should(False, unmet.seen, unmet.frame, expected=unmet.expected)
            return
        t.observe("foreign unique ID is answered with", seen.packet.type and seen.packet.type.name)
        t.should(seen.packet.type is Type.ABORT, "REFUSED", seen.frame, expected="ABORT (AMB-18)")
    if not t.role.active:  # the connection keeps its own ID; who does not repeat the RESPONSE fails OPEN-07
        answers_before = len(peer.responses)
        peer.send_open()
        try:
            peer.until(
                lambda: len(peer.responses) > answers_before,
                t.tolerances.reaction_max_us,
                "RESPONSE to a repetition of the OPEN that opened the connection",
            )
        except UnmetError as unmet:
            unmet.due_by = "OPEN-07"
            raise
        same = peer.responses[-1].packet.unique_id == peer.unique_id
        t.must(
            same,
            "the packet with the foreign unique ID replaced the connection",
            peer.responses[-1].frame,
            expected="the connection as it was",
        )
    peer.finish()
    peer.expect_success()


@case("OPEN-09", roles=ALL_ROLES)
def test_a_foreign_unique_id_is_answered_each_time_that_its_packet_is_repeated(t: Case) -> None:
    peer = t.peer(4096)
    kind = Type.RESPONSE if t.role.active else Type.OPEN
    with t.preamble():
        peer.connect()
        t.run_first_buffer(peer)
        values = peer.response_values if t.role.active else peer.opening_values
        foreign = peer.forge.opening(kind, values(unique_id=OTHER_ID))
    for count in range(1, 4):  # as an end does that opens, and does not get the answer
        peer.send(foreign)
        heard = peer.listen(tolerances.TESTER_RETRY_US)
        answered = any(seen.packet.type in (Type.ABORT, Type.REFUSED) for seen in heard)
        if count == 1:
            with t.preamble():
                t.must(answered, "a foreign unique ID was not answered", expected="ABORT for the foreign ID")
        elif answered:
            break
    t.must(
        answered,
        f"{kind.name} with a foreign unique ID was answered once, and its repetitions were not",
        cause=Cause.ABSENCE,
        expected="ABORT again",
    )
    peer.finish()
    peer.expect_success()


@case("OPEN-10", roles=ACTIVE, variants=("in its lowest bit", "in its highest bit"))
def test_a_response_with_another_unique_id_does_not_open_the_connection(t: Case) -> None:
    peer = t.peer()
    with t.preamble():
        peer.await_open()
    other_bit = 1 if t.variant == "in its lowest bit" else 1 << 31
    peer.send_response(unique_id=peer.unique_id ^ other_bit)
    if isinstance(peer, ReceiverPeer):
        peer.go(0)  # without it a sender sends nothing that would show it
    heard = peer.silence(TRANSFER, 2 * S, "a RESPONSE with the wrong unique ID must not open the connection")
    aborted = any(seen.packet.type is Type.ABORT for seen in heard)
    t.observe("RESPONSE with a wrong unique ID while opening", "ABORT" if aborted else "ignored")
    if aborted:
        return
    if t.link.status().failed and any(seen.packet.type is Type.OPEN for seen in heard):
        raise NotSupportedError("it gives up before another RESPONSE can follow")
    if not any(seen.packet.type is Type.OPEN for seen in heard):  # the RESPONSE to its OPEN may have been lost
        before, retry_us = len(peer.opens), t.tolerances.open_retry_max_us
        peer.until(lambda: len(peer.opens) > before or t.link.status().failed, retry_us, "OPEN to be repeated")
        if t.link.status().failed:
            raise NotSupportedError("it gives up before another RESPONSE can follow")
    peer.respond()
    peer.finish()
    peer.expect_success()


@case("OPEN-11", roles=RECEIVERS, variants=("none", "too small", "too large"))
def test_the_announced_transfer_size_changes_nothing(t: Case) -> None:
    peer = t.sender(3000)
    size = {"none": 0, "too small": 100, "too large": 1_000_000}[t.variant]
    with t.preamble():
        peer.connect(transfer_size=size)
    try:
        peer.finish()
    except UnmetError:
        if peer.has_quit:
            raise NotSupportedError("its client gives up a transfer of another size than announced") from None
        raise
    t.expect_transferred(peer)


@case("OPEN-12", roles=ALL_ROLES)
def test_the_client_string_reaches_the_client(t: Case) -> None:
    string = "tester: file name 'a b.tar', mode \x01"
    peer = t.peer(1024, own={"client_string": string}, iut={"client_string": "from the implementation"})
    with t.preamble():
        peer.connect()
        peer.finish()
        peer.expect_success()
    opening = (peer.opens or peer.responses)[0]
    got = opening.packet.text
    told = got == "from the implementation" or not t.link.tells_outcome  # one that runs already never got it
    t.should(told, f"its own client string came as {got!r}", opening.frame, expected="the string that its client gave")
    delivered = t.link.peer_string()
    if delivered is not None:
        t.should(
            delivered == string,
            f"the tester's client string reached the client as {delivered!r}",
            expected="the string that the tester sent",
        )
