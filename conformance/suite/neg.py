# SPDX-License-Identifier: GPL-2.0-or-later
"""NEG: negotiation (RFC 998 section 4). The monitor compares every RESPONSE with its OPEN, field by field."""

from netblt_conformance.cases.case import ACTIVE, PASSIVE, RECEIVERS, SENDERS, Case, case
from netblt_conformance.catalogue import catalogue
from netblt_conformance.common import tolerances
from netblt_conformance.common.errors import NotSupportedError
from netblt_conformance.common.model import MICROSECONDS_PER_MS
from netblt_conformance.packets import pacing, packets
from netblt_conformance.packets.packets import Kind, Packet, Type
from netblt_conformance.peer import ReceiverPeer, SenderPeer
from netblt_conformance.peer.exchange import UnmetError
from netblt_conformance.wire import data_checksum_ok

_BEFORE_BURST_US = 5 * MICROSECONDS_PER_MS


def propose(t: Case, field: str, value: int, **limits: int) -> Packet:
    """OPEN with one distinctive value; the RESPONSE."""
    peer = t.peer(1024, iut=limits)
    response = peer.propose(Type.RESPONSE, **{field: value})
    t.observe(f"{field} {value} is answered with", getattr(response.packet, field))
    return response.packet


@case("NEG-01", roles=PASSIVE, variants=("100", "512", "1024", "65536", "16777216"))
def test_the_buffer_size_only_goes_down(t: Case) -> None:
    answer = propose(t, "buffer_size", int(t.variant)).buffer_size
    t.must(1 <= answer <= int(t.variant), f"buffer size {t.variant} was answered with {answer}")


@case("NEG-02", roles=PASSIVE, variants=("128", "256", "1432", "60000"))
def test_the_data_packet_size_only_goes_down(t: Case) -> None:
    answer = propose(t, "packet_size", int(t.variant)).packet_size
    t.must(1 <= answer <= int(t.variant), f"data packet size {t.variant} was answered with {answer}")


@case("NEG-03", roles=PASSIVE, variants=("1", "8", "1000"))
def test_the_burst_size_only_goes_down(t: Case) -> None:
    answer = propose(t, "burst_size", int(t.variant)).burst_size
    t.must(1 <= answer <= int(t.variant), f"burst size {t.variant} was answered with {answer}")


@case("NEG-04", roles=PASSIVE, variants=("1", "50", "512", "60000"))
def test_the_burst_interval_only_goes_up(t: Case) -> None:
    proposed = int(t.variant)
    answer = propose(t, "burst_interval_ms", proposed).burst_interval_ms
    text = f"burst interval {proposed} ms was answered with {answer} ms"
    # Half of all values grow when their bytes are swapped. 256 ms may also be the limit of an implementation.
    swapped = answer == packets.low_byte_first(proposed)
    t.must(not swapped or proposed == 1, text, expected="the high byte first")
    t.must(answer >= proposed, text)


@case("NEG-05", roles=PASSIVE, variants=("1", "8", "512", "65535"))
def test_the_number_of_outstanding_buffers_only_goes_down(t: Case) -> None:
    # 512 is within its limit: a byte would make 0 of it.
    limits = {"max_buffers": 600} if t.variant == "512" else {}
    answer = propose(t, "max_buffers", int(t.variant), **limits).max_buffers
    t.must(1 <= answer <= int(t.variant), f"{t.variant} outstanding buffers were answered with {answer}")


def _obeys_as_sender(t: Case, peer: ReceiverPeer) -> None:
    """Buffers, packets and data checksums follow the RESPONSE."""
    terms = peer.terms
    peer.go(0)
    buffer = peer.expect_buffer(0)
    for seen in buffer.packets.values():
        size = len(seen.packet.data)
        t.must(
            size <= terms.packet_size,
            f"{size} data bytes",
            seen.frame,
            expected=f"{terms.packet_size} data bytes, as agreed",
        )
        summed = not terms.data_checksum or data_checksum_ok(seen.packet.raw)
        t.must(summed, f"{seen.packet} has a wrong data checksum", seen.frame, expected="a data checksum, as agreed")
    total = len(buffer.data)
    t.must(
        total == terms.buffer_size, f"buffer 0 holds {total} bytes", expected=f"{terms.buffer_size} bytes, as agreed"
    )
    _keeps_the_pace(t, peer, sorted(seen.time_us for seen in buffer.packets.values()))


def _keeps_the_pace(t: Case, peer: ReceiverPeer, times: list[int]) -> None:
    """Wherever its intervals begin, no more packets than agreed leave in each of them."""
    interval_us = peer.ms(peer.terms.burst_interval_ms)
    wrong = pacing.complaint("packets", times, peer.terms.burst_size, interval_us, t.tolerances.crossing_us)
    t.must(wrong is None, f"{wrong}", expected="the agreed pace")


def _obeys_as_receiver(t: Case, peer: SenderPeer) -> None:
    """No more buffers are outstanding than the RESPONSE allows."""
    peer.expect_go(0)
    peer.listen(tolerances.QUIET_US)
    gos = [m for m in peer.messages.values() if m.kind is m.kind.GO]
    t.should(
        len(gos) <= peer.terms.max_buffers,
        f"{len(gos)} GOs",
        expected=f"at most {peer.terms.max_buffers} buffers, as agreed (AMB-29)",
    )
    if peer.terms.data_checksum:
        good = peer.data_packet(0, 0)
        peer.send_packet(0, 0, data=bytes(byte ^ 0xFF for byte in good.data), data_checksum=good.data_checksum ^ 0x5555)


def _obeys(t: Case, peer: ReceiverPeer | SenderPeer) -> None:
    """What was agreed holds, and the transfer comes to its end."""
    if isinstance(peer, ReceiverPeer):
        _obeys_as_sender(t, peer)
    else:
        _obeys_as_receiver(t, peer)
    peer.finish()
    peer.expect_success()
    if isinstance(peer, SenderPeer):
        t.expect_delivered(peer.data)


@case("NEG-06", roles=ACTIVE)
def test_the_active_end_obeys_a_response_that_restricts_everything(t: Case) -> None:
    peer = t.peer(2048, max_buffers=4)
    peer.await_open()
    proposal = peer.opens[-1].packet
    peer.respond(  # it may have proposed less than it was configured to
        buffer_size=min(768, proposal.buffer_size),
        packet_size=min(96, proposal.packet_size),
        burst_size=min(2, proposal.burst_size or 2),
        burst_interval_ms=max(60, proposal.burst_interval_ms),
        max_buffers=1,
        flags=proposal.flags | 2,
    )
    _obeys(t, peer)


@case("NEG-06", roles=PASSIVE)
def test_the_passive_end_obeys_what_it_answered(t: Case) -> None:
    small = {"buffer_size": 768, "packet_size": 96, "burst_size": 2, "burst_interval_ms": 60, "max_buffers": 1}
    peer = t.peer(2048, iut=small)
    peer.open(buffer_size=8192, packet_size=1024, burst_size=50, burst_interval_ms=1, max_buffers=8)
    _obeys(t, peer)


@case("NEG-06", roles=PASSIVE)
def test_the_passive_end_obeys_a_proposal_below_its_own_limits(t: Case) -> None:
    peer = t.peer(2048, max_buffers=4)
    peer.open(buffer_size=768, packet_size=96, burst_size=2, burst_interval_ms=60, max_buffers=1)
    _obeys(t, peer)


@case("NEG-07", roles=PASSIVE, variants=("data checksums off", "data checksums on"))
def test_the_mode_is_echoed_and_data_checksums_are_not_turned_off(t: Case) -> None:
    peer = t.peer(1024)
    proposal = peer.opening_values()
    flags = (proposal.flags & 1) | (2 if t.variant.endswith("on") else 0)
    answer = peer.propose(Type.RESPONSE, flags=flags)
    t.must(
        answer.packet.writes == bool(flags & 1),
        "RESPONSE changes the M bit",
        answer.frame,
        expected="the M bit of the OPEN",
    )
    if not flags & 2:
        on = answer.packet.data_checksum_on
        t.observe("data checksums that were not requested", "turned on" if on else "left off")
    else:
        t.should(
            answer.packet.data_checksum_on,
            "RESPONSE turns data checksums off",
            answer.frame,
            expected="data checksums as the OPEN requests (AMB-24)",
        )


@case("NEG-07", roles=PASSIVE, kills_nothing="the client of the reference refuses the other mode, not its core")
def test_an_open_of_the_other_mode_is_refused_or_obeyed(t: Case) -> None:
    """A passive end may serve one direction only. A RESPONSE agrees to the one that M names (AMB-08)."""
    peer = t.peer(1024)
    peer.monitor.disabled.update(catalogue.requirements())  # it knows the other direction
    flags = peer.opening_values().flags ^ 1
    peer.send_open(flags=flags)
    peer.listen(t.tolerances.reaction_max_us)
    answers = {seen.packet.type.name for seen in peer.seen if seen.packet.type is not None}
    t.observe("an OPEN of the other mode is answered with", ", ".join(sorted(answers)) or "nothing")
    if not peer.responses:
        return
    response = peer.responses[-1]
    same = response.packet.writes == bool(flags & 1)
    t.must(same, "RESPONSE changes the M bit", response.frame, expected="the M bit of the OPEN, or REFUSED")
    peer.settle(response.packet, response.packet.death_timer_s)
    if isinstance(peer, ReceiverPeer):
        peer.send_control([packets.Message(Kind.GO, 1, 0)])
        peer.listen(t.tolerances.reaction_max_us)
    wrong = [seen for seen in peer.seen if (seen.packet.is_data if t.role.sender else seen.packet.messages)]
    t.must(
        not wrong,
        f"{wrong[0].packet if wrong else ''} comes from the end that M does not let send it",
        wrong[0].frame if wrong else None,
        expected="the direction that M names, or REFUSED",
    )


@case("NEG-09", "CTRL-11", "RATE-05", roles=SENDERS, variants=("the only buffer", "the upper one of two"))
def test_a_slower_offer_is_adopted_and_never_loosened(t: Case) -> None:
    """The variant is the buffer whose OK makes the offer. A lower one may still wait for its own."""
    size, interval_ms = 1, 120
    confirmed = 0 if t.variant == "the only buffer" else 1
    peer = t.receiver(4 * 1024, max_buffers=confirmed + 1)
    with t.preamble():
        peer.connect()
        peer.require(max_buffers=confirmed + 1)
        peer.go_in_turn(*range(confirmed + 1))
        for number in range(confirmed + 1):
            peer.expect_buffer(number)
        peer.expect_ack()
    peer.offer = (size, interval_ms)
    offer = peer.ok(confirmed)[0]
    # A slower pair need not apply before the next burst, and only to buffers whose GO follows (AMB-43).
    peer.expect_ack(offer.seq)
    peer.listen(2 * peer.ms(peer.terms.burst_interval_ms))
    following = confirmed + 1
    peer.go(following)
    pace_us = tolerances.transfer_time_us(peer.terms.packets_per_buffer, size, interval_ms)
    buffer = peer.expect_buffer(following, t.tolerances.reaction_max_us + 4 * pace_us)
    times = sorted(seen.time_us for seen in buffer.packets.values())
    frame = buffer.packets[max(buffer.packets)].frame
    what = f"packets of buffer {following}"
    wrong = pacing.complaint(what, times, size, peer.ms(interval_ms), t.tolerances.crossing_us)
    for seen in peer.seen:
        p = seen.packet
        if p.type is Type.NULL_ACK and p.high_seq >= offer.seq:
            slower = p.burst_size <= size and p.burst_interval_ms >= interval_ms
            text = f"NULL-ACK reports {p.burst_size} in {p.burst_interval_ms} ms, the offer was {size} in {interval_ms}"
            t.must(
                slower,
                text,
                seen.frame,
                violated="NEG-09" if wrong else "CTRL-11",
                expected=f"the offer, {size} in {interval_ms} ms, or a more restrictive pair",
            )
    t.must(wrong is None, f"{wrong}", frame, expected="the offered pace")
    # An end that restricts the offer further states this, and then does so.
    for seen in peer.seen:
        p = seen.packet
        if p.type is Type.NULL_ACK and p.high_seq >= offer.seq and seen.time_us < times[0]:
            pace_us = peer.ms(p.burst_interval_ms)
            wrong = pacing.complaint(what, times, p.burst_size, pace_us, t.tolerances.crossing_us)
            t.must(wrong is None, f"{wrong}", frame, expected="the pace that NULL-ACK reports")


def _next_data_us(t: Case, peer: ReceiverPeer) -> int:
    """When the next data packet comes."""
    deadline_us = peer.now_us + t.tolerances.reaction_max_us
    while peer.now_us < deadline_us:
        for seen in peer.listen(peer.ms(1)):
            if seen.packet.is_data:
                return seen.time_us
    raise NotSupportedError("no data follow buffer 0 by themselves, or all of them are requested (AMB-72)")


@case("NEG-09", roles=SENDERS, variants=("while nothing is sent", "while data are sent", "just before a burst"))
def test_a_faster_offer_is_adopted_or_the_restriction_is_reported(t: Case) -> None:
    """While data are sent, one of them can carry the acknowledgement, which reports no pair: also just before a burst,
    for a sender that works by ticks of a clock."""
    interval_ms, outstanding = 100, 1 if t.variant == "while nothing is sent" else 2
    size = {"buffer_size": 4096, "burst_size": 2, "burst_interval_ms": interval_ms, "max_buffers": outstanding}
    peer = t.receiver((outstanding + 1) * 4096, **size)
    with t.preamble():
        peer.connect()
        peer.require(packets_per_buffer=3 * peer.terms.burst_size)  # or the pace of one buffer shows nothing
        peer.require(max_buffers=outstanding)
        peer.go(*range(outstanding))
        peer.expect_buffer(0)
    if t.variant == "just before a burst":
        burst_us = peer.ms(peer.terms.burst_interval_ms)
        began_us = _next_data_us(t, peer)
        peer.listen(max(0, began_us + burst_us - 2 * peer.link.delay_us - _BEFORE_BURST_US - peer.now_us))
    peer.offer = (1000, 1)
    offer = peer.ok(0)[0]
    peer.expect_ack(offer.seq)
    peer.expect_buffer(outstanding - 1)
    peer.listen(2 * peer.ms(peer.terms.burst_interval_ms))
    peer.go(outstanding)  # the first buffer whose GO follows the offer
    times = [seen.time_us for seen in peer.expect_buffer(outstanding).packets.values()]
    faster = max(times) - min(times) < len(times) // peer.terms.burst_size * peer.ms(interval_ms) // 2
    reports = [s.packet for s in peer.seen if s.packet.type is Type.NULL_ACK and s.packet.high_seq >= offer.seq]
    restricted = any(p.burst_size < 1000 or p.burst_interval_ms > 1 for p in reports)
    t.observe("a faster offer is", "adopted" if faster else "restricted")
    t.must(
        faster or restricted,
        f"buffer {outstanding} keeps the old pace, and no NULL-ACK reports that the offer was restricted",
        expected="the offered pace, or NULL-ACK with another one",
    )


@case("NEG-09", roles=SENDERS)
def test_the_agreed_pace_is_adopted_again_after_a_slower_one(t: Case) -> None:
    slower = 4
    peer = t.receiver(3 * 4096, buffer_size=4096, burst_size=2, burst_interval_ms=100, max_buffers=1)
    with t.preamble():
        peer.connect()
        agreed = peer.terms.burst_size, peer.terms.burst_interval_ms
        peer.require(packets_per_buffer=3 * agreed[0])  # or the pace of one buffer shows nothing
        for number, pair in enumerate(((agreed[0], slower * agreed[1]), agreed)):
            peer.go(number)
            peer.expect_buffer(number)
            peer.offer = pair
            offer = peer.ok(number)[0]
            peer.expect_ack(offer.seq)
    peer.listen(slower * peer.ms(agreed[1]))
    peer.go(2)
    times = [seen.time_us for seen in peer.expect_buffer(2).packets.values()]
    adopted = max(times) - min(times) < len(times) // agreed[0] * slower * peer.ms(agreed[1]) // 2
    reports = [s.packet for s in peer.seen if s.packet.type is Type.NULL_ACK and s.packet.high_seq >= offer.seq]
    restricted = any(p.burst_size < agreed[0] or p.burst_interval_ms > agreed[1] for p in reports)
    t.must(
        adopted or restricted,
        "buffer 2 keeps the slower pace, and no NULL-ACK reports that the offer was restricted",
        expected="the offered pace, or NULL-ACK with another one",
    )
    peer.finish()
    peer.expect_success()


@case("NEG-08", roles=RECEIVERS, variants=("3 packets", "300 packets"))
def test_every_ok_offers_a_usable_burst(t: Case) -> None:
    """Each pair whose numbers or bytes may be exchanged gives another one here. The oracle of NEG-08 judges the OKs."""
    peer = t.sender(3 * 1024, burst_size=int(t.variant.split()[0]), burst_interval_ms=29)
    with t.preamble():
        peer.connect()
    peer.finish()
    peer.expect_success()


@case("NEG-10", roles=ACTIVE, variants=("buffer_size", "packet_size", "max_buffers", "burst_size"))
def test_a_response_that_loosens_the_proposal_is_not_made_use_of(t: Case) -> None:
    peer = t.peer(16 * 1024)
    with t.preamble():
        peer.await_open()
    proposal = peer.opens[-1].packet
    peer.respond(**{t.variant: 2 * getattr(proposal, t.variant)})
    # What is agreed upon now is not known: it may clamp each value to its own proposal (AMB-25).
    t.provokes("DATA-02", "DATA-03", "DATA-04", "DATA-05", "DATA-12", "NEG-06", "RATE-01", "RATE-02", "RESEND-01")
    if isinstance(peer, ReceiverPeer):
        peer.go(0)
    peer.listen(2 * tolerances.QUIET_US)
    t.observe("a RESPONSE that loosens the proposal", "fails" if t.link.status().failed else "goes on")
    sizes = [len(seen.packet.data) for seen in peer.seen if seen.packet.is_data and seen.packet.buffer == 0]
    gos = [m for s in peer.seen for m in s.packet.messages if m.kind is Kind.GO]
    within = {
        "buffer_size": sum(sizes) <= proposal.buffer_size,
        "packet_size": max(sizes, default=0) <= proposal.packet_size,
        "max_buffers": len({m.buffer for m in gos}) <= proposal.max_buffers,
    }
    t.should(
        within.get(t.variant, True),
        f"uses a {t.variant} above its own proposal",
        expected="at most its own proposal (AMB-25)",
    )


@case("NEG-10", roles=tuple(role for role in ACTIVE if role.sender), variants=("burst_size", "burst_interval_ms"))
def test_a_response_that_loosens_the_pace_is_not_made_use_of(t: Case) -> None:
    peer = t.receiver(4096, buffer_size=4096, burst_size=2, burst_interval_ms=100)
    with t.preamble():
        peer.await_open()
    proposal = peer.opens[-1].packet
    looser = {"burst_size": 4 * proposal.burst_size, "burst_interval_ms": proposal.burst_interval_ms // 4}
    peer.respond(**{t.variant: looser[t.variant]})
    t.provokes("NEG-06", "RATE-01", "RATE-02")  # it may keep to its own proposal (AMB-25)
    peer.go(0)
    peer.listen(2 * tolerances.QUIET_US)
    times = [seen.time_us for seen in peer.seen if seen.packet.is_data]
    interval_us = peer.ms(proposal.burst_interval_ms)
    wrong = pacing.complaint("packets", times, proposal.burst_size, interval_us, t.tolerances.crossing_us)
    t.should(wrong is None, f"{wrong}", expected="the pace that it proposed (AMB-25)")


@case("NEG-10", roles=ACTIVE, variants=("buffer_size", "packet_size", "max_buffers"))
def test_a_response_of_zero_does_no_harm(t: Case) -> None:
    peer = t.peer(2048)
    with t.preamble():
        peer.await_open()
    peer.send_response(**{t.variant: 0})
    t.note(f"a RESPONSE with {t.variant} 0")
    # What it makes of such terms is its own affair, as long as it lives.
    t.provokes("DATA-02", "DATA-03", "DATA-04", "DATA-05", "DATA-12", "NEG-06", "RESEND-01")
    if isinstance(peer, ReceiverPeer):
        peer.go(0)
    peer.listen(2 * tolerances.QUIET_US)
    t.observe(f"a RESPONSE with {t.variant} 0", "fails" if t.link.status().failed else "goes on")
    t.must(
        not t.link.status().succeeded,
        "success was reported of a transfer that was not made",
        expected="failure to be reported to the client",
    )


@case("NEG-10", roles=PASSIVE, variants=("buffer_size", "packet_size", "max_buffers"))
def test_a_proposal_of_zero_is_not_accepted(t: Case) -> None:
    peer = t.peer(1024)
    try:
        answer = peer.propose(Type.REFUSED, Type.RESPONSE, Type.ABORT, **{t.variant: 0})
    except UnmetError:
        t.should(False, f"an OPEN with {t.variant} 0 was not answered", expected="REFUSED (AMB-26)")
        return
    if answer.packet.type is Type.RESPONSE:
        value = getattr(answer.packet, t.variant)
        t.must(
            value != 0, f"RESPONSE accepts {t.variant} 0", answer.frame, expected="REFUSED, for a zero cannot be used"
        )
        t.should(
            False,
            f"RESPONSE loosens {t.variant} 0 to {value}",
            answer.frame,
            expected="REFUSED, for a zero cannot be used (AMB-25)",
        )
