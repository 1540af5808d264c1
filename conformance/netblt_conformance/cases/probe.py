# SPDX-License-Identifier: GPL-2.0-or-later
"""A first small transfer in each role: finds what the implementation chose where RFC 998 is silent."""

from __future__ import annotations

import contextlib
import dataclasses
import random
from collections.abc import Callable
from typing import Any

from netblt_conformance.cases.case import Case, Profile
from netblt_conformance.common import wording
from netblt_conformance.common.errors import HarnessError, ImplementationError, NotSupportedError
from netblt_conformance.common.model import MICROSECONDS_PER_MS, Role
from netblt_conformance.common.verdicts import FIRST_TRANSFER, Verdict
from netblt_conformance.links.base import LinkFactory
from netblt_conformance.packets.capture import Capture
from netblt_conformance.packets.dialect import RFC998, Dialect
from netblt_conformance.packets.packets import Kind, Packet, Type
from netblt_conformance.packets.spelling import Covers, Spelling, spelling_of
from netblt_conformance.peer import ReceiverPeer, SenderPeer
from netblt_conformance.peer.base import Peer
from netblt_conformance.peer.exchange import UnmetError

VERSIONS = (2, 1, 0)  # AMB-01: tried in this order with a passive end
OPENS_OF_OTHER_VERSIONS = 2  # most likely there is no end at all
FIRST_BUFFERS = (0, 1)  # AMB-09: tried in this order with a sender
PROBE_BYTES = 2048
# AMB-04, AMB-10: a receiver with other conventions than the tester only reports that nothing useful came.
SPELLINGS = (Spelling(first_packet=1), Spelling(covers=Covers.DATA), Spelling(1, Covers.DATA))


def probe(factory: LinkFactory, role: Role, seed: int, dialect: Dialect = RFC998) -> tuple[Profile, dict[str, str]]:
    """The profile to use and what was observed on the way. A dead implementation gives the defaults and a remark."""
    observed: dict[str, str] = {}
    versions = (VERSIONS[0],) if role.active else VERSIONS
    for version in versions:
        for first_buffer in FIRST_BUFFERS if role.sender else FIRST_BUFFERS[:1]:
            profile = Profile(first_buffer, version)
            attempt = _attempt(factory, role, seed, profile, dialect)
            if attempt.answered:
                profile, attempt = _spelt_otherwise(factory, role, seed, profile, dialect, attempt)
            if attempt.works:
                factory.worked(role)
                profile = _spelt_with_sums(factory, role, seed, profile, dialect)
                profile = dataclasses.replace(profile, works=True, latency_us=attempt.latency_us)
                return profile, {**observed, **attempt.observed}
            if not attempt.supported:
                return Profile(), {}  # the cases of this role are N/A
            if attempt.answered or FIRST_TRANSFER not in observed:
                observed[FIRST_TRANSFER] = attempt.reason
            if not attempt.answered:
                break  # another buffer number cannot help
        if attempt.answered:
            break  # another version cannot help
    return Profile(), observed


def _spelt_otherwise(
    factory: LinkFactory,
    role: Role,
    seed: int,
    profile: Profile,
    dialect: Dialect,
    before: _Attempt,
    **options: Any,
) -> tuple[Profile, _Attempt]:
    """The same once more with the other wire conventions that what came suggests; as it was when none of them works."""
    for spelling in before.spellings:
        other = dataclasses.replace(profile, spelling=spelling)
        attempt = _attempt(factory, role, seed, other, dialect, factory.tolerances.other_spelling_max_us, **options)
        if attempt.works:
            return other, attempt
    return profile, before


def _spelt_with_sums(factory: LinkFactory, role: Role, seed: int, profile: Profile, dialect: Dialect) -> Profile:
    """The profile after a transfer with data checksums, which may be spelt otherwise (AMB-04)."""
    if profile.spelling.covers is not Covers.HEADER:
        return profile
    attempt = _attempt(factory, role, seed, profile, dialect, data_checksum=True)
    if any(spelling.covers is not Covers.HEADER for spelling in attempt.spellings):
        attempt.spellings = [dataclasses.replace(profile.spelling, covers=Covers.DATA_IF_SUMMED)]
        return _spelt_otherwise(factory, role, seed, profile, dialect, attempt, data_checksum=True)[0]
    return profile


@dataclasses.dataclass(slots=True)
class _Attempt:
    works: bool = False
    answered: bool = False
    supported: bool = True  # the implementation plays this role
    reason: str = ""
    latency_us: int = 0
    spellings: list[Spelling] = dataclasses.field(default_factory=list)  # what else may be tried
    observed: dict[str, str] = dataclasses.field(default_factory=dict)


def _attempt(
    factory: LinkFactory,
    role: Role,
    seed: int,
    profile: Profile,
    dialect: Dialect,
    within_us: int | None = None,
    **options: Any,
) -> _Attempt:
    """One transfer, which takes `within_us` at most (default: first_transfer_max_us)."""
    attempt = _Attempt()
    peer: Peer | None = None
    with contextlib.closing(factory.make(Capture())) as link:
        # A name that no implementation can know: one that answers 127 to it answers 127 to everything.
        name = f"probe_{random.Random(seed).getrandbits(32):08x}"
        case = Case(name, (), role, "stimulus", link, seed, profile, dialect=dialect)
        try:
            peer = case.peer(PROBE_BYTES, **options)
            if role.active or profile.version == VERSIONS[0]:
                peer.connect()
            else:
                peer.open(attempts=OPENS_OF_OTHER_VERSIONS)
            attempt.answered = True
            _transfer(peer, within_us or peer.tolerances.first_transfer_max_us)
            attempt.works = True
            attempt.observed = _observe(peer, profile)
            attempt.latency_us = _latency_us(peer)
            if attempt.latency_us >= MICROSECONDS_PER_MS:
                attempt.observed["each reaction waits"] = f"{attempt.latency_us // MICROSECONDS_PER_MS} ms"
        except NotSupportedError:
            attempt.supported = False
        except (UnmetError, ImplementationError, HarnessError) as error:
            attempt.reason = "; ".join([str(error), *_first_violation(case)])
        if peer is not None and peer.agreed is not None:
            attempt.spellings = _spellings(peer, profile.spelling, attempt.works)
    return attempt


def _first_violation(case: Case) -> list[str]:
    """The first packet that an oracle suspects."""
    found = [one for one in case.settle() if one.verdict is Verdict.FAIL and one.frame is not None]
    first = min(found, key=lambda one: one.frame or 0, default=None)
    return [] if first is None else [f"{first.requirement}: {wording.judgement(first.judgement)}"]


def _spellings(peer: Peer, tried: Spelling, works: bool) -> list[Spelling]:
    if isinstance(peer, SenderPeer):
        return [] if works or peer.first_buffer is None else _spellings_of_receiver(peer)
    data = [seen.packet for seen in peer.seen if seen.packet.is_data]
    numbers = {packet.buffer for packet in data}
    first = [packet for packet in data if packet.buffer == min(numbers)]
    found = spelling_of(first, peer.terms.data_checksum, tried)
    return [] if found == tried else [found]


def _spellings_of_receiver(peer: SenderPeer) -> list[Spelling]:
    """The other wire conventions that agree with what it requested and confirmed. An OK means that data arrived, so
    only the numbers may differ. A request for packet 0 means that it counts from 0, for the one after the last, from
    1."""
    packets_per_buffer = peer.terms.packets_per_buffer
    asked = {number for message in peer.messages.values() for number in message.packets}
    took_data = any(message.kind is Kind.OK for message in peer.messages.values())
    from_one = packets_per_buffer in asked
    return [
        spelling
        for spelling in SPELLINGS
        if not (took_data and (spelling.covers is not Covers.HEADER or not from_one))
        and not (spelling.first_packet == 1 and 0 in asked)
        and not (spelling.first_packet == 0 and from_one)
    ]


def _transfer(peer: Peer, within_us: int) -> None:
    if isinstance(peer, ReceiverPeer):
        peer.go(0)
        peer.expect_buffer(0, peer.tolerances.ack_deadline_min_us + peer.tolerances.reaction_max_us)
    elif isinstance(peer, SenderPeer):
        peer.until(lambda: peer.first_buffer is not None, within_us, "a GO")
        peer.finish(within_us=within_us + peer.pace_us)


def _latency_us(peer: Peer) -> int:
    """The shortest time for which it held a reaction that nothing delays: to the opening, to a GO for data that are
    there, to the last packet of a buffer. Real links: 0, the time on the way is not known."""
    link, session = peer.link, peer.monitor.session
    if link.real_time:
        return 0
    reactions: list[tuple[int, list[int]]] = []  # when the tester sent, and when what may be a reaction came

    def reaction(sent_us: int, kind: Callable[[Packet], bool]) -> None:
        reactions.append((sent_us, [seen.time_us for seen in peer.seen if kind(seen.packet)]))

    if not peer.role.active:
        reaction(link.capture.frames[0].time_us, lambda packet: packet.type is Type.RESPONSE)
    elif isinstance(peer, SenderPeer):
        reaction(session.life.opened_us, lambda packet: packet.type is Type.CONTROL)
    for go_us in list(session.issued.departures.values())[:1]:
        reaction(go_us, lambda packet: packet.acks)
    if session.data_sent:
        number, data = list(session.data_sent.items())[-1]
        confirmed, last_us = (Kind.OK, number), max(data.packets.values())
        reaction(last_us, lambda packet: any((m.kind, m.buffer) == confirmed for m in packet.messages))
    waits = [min(came) - sent_us - 2 * link.delay_us for sent_us, came in reactions if came]
    return max(0, min(waits, default=0))


def _observe(peer: Peer, profile: Profile) -> dict[str, str]:
    """Choices that the specification leaves open: "your profile"."""
    emitted = [seen.packet for seen in peer.seen if seen.packet.error is None]
    observed = {"version byte": str(emitted[0].version)}
    if isinstance(peer, ReceiverPeer):
        observed["first buffer number"] = str(peer.first_buffer)
    elif isinstance(peer, SenderPeer):
        observed["first buffer number"] = str(peer.first_buffer)
        timers = [m.control_timer_ms for m in peer.messages.values() if m.kind is Kind.OK]
        observed["published control timer"] = f"{timers[0]} ms" if timers else "none"
    observed["first packet number"] = str(profile.spelling.first_packet)
    return observed
