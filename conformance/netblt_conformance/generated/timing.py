# SPDX-License-Identifier: GPL-2.0-or-later
"""What RFC 998 says of times and of pace, judged when a script is over: when data timers and the control timer may
expire, how soon the next buffer follows, and what a sender makes of a faster offer."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field

from netblt_conformance.common.model import MICROSECONDS_PER_MS, Parameters
from netblt_conformance.common.verdicts import Verdict
from netblt_conformance.generated import findings
from netblt_conformance.oracles.base import Check
from netblt_conformance.oracles.session import after
from netblt_conformance.packets.packets import Kind, Message, Type
from netblt_conformance.peer import ReceiverPeer, SenderPeer
from netblt_conformance.peer.exchange import Seen

_NOT_DUE = "RESEND for buffer {buffer} {waited_ms:g} ms after {since}; its packets take {needed_ms:g} ms"
NOT_DUE = Check(
    "TIMER-09",
    expected="no request before the packets are due at the agreed pace",
    seen=_NOT_DUE,
    verdict=Verdict.WARN,
)
NOT_RESTARTED = Check(
    "TIMER-05",
    expected="a data timer that the first packet of the buffer restarts",
    seen=_NOT_DUE,
    verdict=Verdict.WARN,
)
SAME_TIMER = Check(
    "TIMER-03",
    expected="a control timer that follows the round trip",
    seen="OK publishes {published_ms} ms, as the first one or more, where {count} round trips give {fitting_ms} ms",
    verdict=Verdict.WARN,
)
APART = Check(
    "R1030-01",
    expected="OK and the next GO in one CONTROL",
    seen="OK and GO came at one time, and in CONTROLs of their own, {count} times; together never",
    verdict=Verdict.WARN,
)
PAUSE = Check(
    "ORDER-04",
    expected="the next buffer in the next burst",
    seen="buffer {buffer} began {gap_ms:g} ms after the one before, the burst interval is {interval_ms} ms",
    verdict=Verdict.WARN,
)
OLD_PACE = Check(
    "NEG-09",
    expected="the offered pace, or a NULL-ACK with another one",
    seen="after an offer of {burst} in {interval_ms} ms buffer {buffer} took {span_ms:g} ms, as agreed before, "
    "and no NULL-ACK reports this",
)

_MANY_ROUND_TRIPS = 8  # after which nothing of an initial value is left
_MANY_TIMES = 3  # so often it is no coincidence
# Below this a control timer may be the least that an implementation has, whatever the round trip is.
_LEAST_TIMER_MS = 500
_MUCH = 2  # a control timer above so many times of what fits does not follow
_VARIANCES = 4
_FASTER = 4  # times: a slower offer than that may be adopted and not be seen
_ALMOST = 0.9


def judge(peer: ReceiverPeer | SenderPeer, iut: Parameters) -> None:
    """After a script without illegal moves. `iut`: what the implementation was started with."""
    if isinstance(peer, SenderPeer):
        judge_data_timers(peer)
        judge_control_timer(peer)
        judge_sharing(peer)
    else:
        judge_pauses(peer, iut)
        judge_faster_offer(peer)


# ---- a receiving implementation ----


@dataclass(slots=True)
class _Paces:
    """The loosest pace of those that were agreed and offered so far."""

    burst: int
    interval_ms: int

    def add(self, burst: int, interval_ms: int) -> None:
        self.burst, self.interval_ms = max(self.burst, burst), min(self.interval_ms, interval_ms)

    def least_us(self, packets: int) -> int:
        """How long so many packets take at least, from the first to the last."""
        return (-(-packets // self.burst) - 1) * self.interval_ms * MICROSECONDS_PER_MS


def judge_data_timers(peer: SenderPeer) -> None:
    """TIMER-09: packets are requested when they are overdue, which takes as long as the bursts that they come in.
    TIMER-05: counted again from the first burst. A receiver may have measured another pace than the agreed one
    (R1030-07): so only the first request counts, before a second burst came."""
    session, terms = peer.monitor.session, peer.terms
    paces, gos = _Paces(max(terms.burst_size, 1), terms.burst_interval_ms), dict[int, int]()
    for seen in peer.seen:
        for message in seen.packet.messages:
            if message.kind is Kind.GO:
                gos.setdefault(message.buffer, message.seq)
            elif message.kind is Kind.OK:
                paces.add(message.burst_size, message.burst_interval_ms)
            else:
                departures = [us for us, high in session.acks_sent if not after(gos.get(message.buffer, 0), high)]
                data = {number: list(one.packets.values()) for number, one in session.data_sent.items()}
                before = {n: [us for us in times if us <= seen.time_us] for n, times in data.items()}
                if message.buffer in gos and departures and departures[0] <= seen.time_us:
                    _judge_request(peer, message, seen, departures[0], before, paces)
                return


def _judge_request(
    peer: SenderPeer, message: Message, seen: Seen, acked_us: int, data: dict[int, list[int]], paces: _Paces
) -> None:
    """`data`: departures of what was sent before, by buffer."""
    began = [us for times in data.values() for us in times]
    sent = peer.monitor.session.data_sent.get(message.buffer)
    if any(times for number, times in data.items() if number != message.buffer) or len(began) > paces.burst:
        return
    if began and (max(began) != min(began) or (sent is not None and sent.last_packet is not None)):
        return
    since_us = max([acked_us, *began])
    waited_us, needed_us = seen.time_us - since_us, paces.least_us(peer.terms.packets_per_buffer)
    if waited_us >= needed_us:
        return
    findings.tell(
        peer,
        NOT_RESTARTED if began else NOT_DUE,
        seen.frame,
        buffer=message.buffer,
        waited_ms=waited_us / MICROSECONDS_PER_MS,
        since="its first packet" if began else "the acknowledgement of its GO",
        needed_ms=needed_us / MICROSECONDS_PER_MS,
    )


@dataclass(slots=True)
class _RoundTrips:
    """A smoothed round trip and its variance, of messages that came once before they were acknowledged."""

    count: int = 0
    is_known: bool = False  # the newest acknowledgement gave one
    smoothed_us: float = 0
    variance_us: float = 0

    def add(self, round_trip_us: int) -> None:
        if self.count == 0:
            self.smoothed_us, self.variance_us = round_trip_us, round_trip_us / 2
        error_us = round_trip_us - self.smoothed_us
        self.smoothed_us += error_us / 8
        self.variance_us += (abs(error_us) - self.variance_us) / 4
        self.count += 1

    @property
    def fitting_ms(self) -> float:
        return (self.smoothed_us + _VARIANCES * self.variance_us) / MICROSECONDS_PER_MS


def judge_control_timer(peer: SenderPeer) -> None:
    """TIMER-03: the initial value is free, later ones are made of round trips. What was repeated gives none."""
    acks, trips, judged = peer.monitor.session.acks_sent, _RoundTrips(), 0
    came: dict[int, list[int]] = {}
    published: list[int] = []
    for seen in peer.controls:
        while judged < len(acks) and acks[judged][0] <= seen.time_us:
            departure_us, high = acks[judged]
            judged += 1
            times = [came.pop(seq) for seq in list(came) if not after(seq, high)]
            trips.is_known = bool(times) and all(len(one) == 1 for one in times)
            if trips.is_known:
                trips.add(departure_us - max(one[0] for one in times) + 2 * peer.link.delay_us)
        for message in seen.packet.messages:
            if judged and not after(message.seq, acks[judged - 1][1]):
                continue
            came.setdefault(message.seq, []).append(seen.time_us)
            if message.kind is Kind.OK and len(came[message.seq]) == 1:
                published.append(message.control_timer_ms)
        if not published or trips.count < _MANY_ROUND_TRIPS or not trips.is_known:
            continue
        newest_ms, fitting_ms = published[-1], round(trips.fitting_ms)
        if min(published) == published[0] and newest_ms > max(_LEAST_TIMER_MS, _MUCH * fitting_ms):
            values = {"published_ms": newest_ms, "count": trips.count, "fitting_ms": fitting_ms}
            findings.tell(peer, SAME_TIMER, seen.frame, **values)
            return


@dataclass(slots=True)
class _Pairs:
    """How often an OK and a GO that came at one time shared a CONTROL."""

    together: int = 0
    apart: list[int] = field(default_factory=list)  # frames


def judge_sharing(peer: SenderPeer) -> None:
    """R1030-01: as many messages as possible share a CONTROL."""
    pairs, known = _Pairs(), set[int]()
    last: tuple[int, set[Kind]] = (-1, set())
    for seen in peer.controls:
        new = {one.kind for one in seen.packet.messages if one.seq not in known} - {Kind.RESEND}
        fits = seen.packet.length <= peer.monitor.session.control_limit
        known |= {one.seq for one in seen.packet.messages}
        if len(new) > 1:
            pairs.together += 1
        elif new and fits and seen.time_us == last[0] and last[1] and new != last[1]:
            pairs.apart.append(seen.frame)
        last = seen.time_us, new
    if len(pairs.apart) >= _MANY_TIMES and not pairs.together:
        findings.tell(peer, APART, pairs.apart[0], count=len(pairs.apart))


# ---- a sending implementation ----


def _first_copies(peer: ReceiverPeer) -> list[Seen]:
    """Data packets in the order in which they came, up to the first retransmission."""
    known: set[tuple[int, int]] = set()
    found: list[Seen] = []
    for seen in peer.seen:
        if not seen.packet.is_data:
            continue
        name = seen.packet.buffer, seen.packet.packet
        if name in known:
            break
        known.add(name)
        found.append(seen)
    return found


def _is_before_requests(peer: ReceiverPeer, time_us: int) -> bool:
    """Whether no RESEND had been sent: retransmissions take part in the pace."""
    session = peer.monitor.session
    return all(session.issued.departures[one.seq] >= time_us for one in session.issued.of(Kind.RESEND))


def judge_pauses(peer: ReceiverPeer, iut: Parameters) -> None:
    """ORDER-04: with its GO there, a buffer follows the one before in the next burst."""
    session, data = peer.monitor.session, _first_copies(peer)
    gone = {one.buffer: session.issued.departures[one.seq] for one in session.issued.of(Kind.GO)}
    for before, seen in itertools.pairwise(data):
        buffer = seen.packet.buffer
        if before.packet.type is not Type.LDATA or buffer <= before.packet.buffer:
            continue
        oks = session.issued.of(Kind.OK)
        confirmed = [one for one in oks if session.knew(session.issued.departures[one.seq], before.time_us)]
        begun = {one.packet.buffer for one in data if one.time_us <= before.time_us}
        outstanding = begun - {one.buffer for one in confirmed}
        if (
            not session.knew(gone.get(buffer, before.time_us), before.time_us)
            or len(outstanding) >= peer.terms.max_buffers
            or before.time_us <= iut.client_stall_until_us
            or not _is_before_requests(peer, seen.time_us)
        ):
            continue
        reported = [one.packet.burst_interval_ms for one in peer.seen if one.packet.type is Type.NULL_ACK]
        offered = [one.burst_interval_ms for one in session.issued.of(Kind.OK)]
        interval_ms = max(peer.terms.burst_interval_ms, *reported, *offered, 0)
        gap_us = seen.time_us - before.time_us
        if gap_us > interval_ms * MICROSECONDS_PER_MS + 2 * peer.tolerances.crossing_us:
            gap_ms = gap_us / MICROSECONDS_PER_MS
            findings.tell(peer, PAUSE, seen.frame, buffer=buffer, gap_ms=gap_ms, interval_ms=interval_ms)
            return


def judge_faster_offer(peer: ReceiverPeer) -> None:
    """NEG-09: the pair of an OK holds for buffers whose GO follows its acknowledgement (AMB-43), or a NULL-ACK reports
    what holds instead."""
    session, terms = peer.monitor.session, peer.terms
    if not terms.burst_interval_ms or not terms.burst_size:
        return

    def is_faster(offer: Message) -> bool:
        pace = offer.burst_size * terms.burst_interval_ms, terms.burst_size * max(offer.burst_interval_ms, 1)
        return pace[0] >= _FASTER * pace[1] and offer.burst_size >= terms.burst_size

    data = _first_copies(peer)
    for go in session.issued.of(Kind.GO):
        gone_us, times = session.issued.departures[go.seq], [s.time_us for s in data if s.packet.buffer == go.buffer]
        bursts = -(-len(times) // max(terms.burst_size, 1))
        if bursts < _MANY_TIMES or not _is_before_requests(peer, max(times)):
            continue
        acked = max((s.packet.high_seq for s in peer.seen if s.packet.acks and s.time_us <= gone_us), default=0)
        before = [one for one in session.issued.of(Kind.OK) if session.issued.departures[one.seq] <= max(times)]
        settled = [one for one in before if one.seq <= acked][-1:]
        in_force = settled + [one for one in before if one.seq > acked]
        span_us, interval_us = max(times) - min(times), terms.burst_interval_ms * MICROSECONDS_PER_MS
        if settled and all(map(is_faster, in_force)) and span_us >= _ALMOST * (bursts - 1) * interval_us:
            if any(s.packet.high_seq >= settled[0].seq for s in peer.seen if s.packet.type is Type.NULL_ACK):
                return
            offer, span_ms = settled[0], span_us / MICROSECONDS_PER_MS
            values = {"burst": offer.burst_size, "interval_ms": offer.burst_interval_ms, "buffer": go.buffer}
            findings.tell(peer, OLD_PACE, None, **values, span_ms=span_ms)
            return
