# SPDX-License-Identifier: GPL-2.0-or-later
"""A first small transfer in each role: finds what the implementation chose where RFC 998 is silent."""

from __future__ import annotations

import contextlib
import dataclasses
import random

from netblt_conformance import tolerances
from netblt_conformance.capture import Capture
from netblt_conformance.case import Case, Profile
from netblt_conformance.links.base import HarnessError, ImplementationError, LinkFactory, NotSupportedError
from netblt_conformance.model import Role
from netblt_conformance.packets import Kind
from netblt_conformance.peer import ReceiverPeer, SenderPeer
from netblt_conformance.peer.base import Peer, UnmetError

VERSIONS = (2, 1, 0)  # AMB-01: tried in this order with a passive end
OPENS_OF_OTHER_VERSIONS = 2  # most likely nobody is there at all
FIRST_BUFFERS = (0, 1)  # AMB-09: tried in this order with a sender
PROBE_BYTES = 2048


def probe(factory: LinkFactory, role: Role, seed: int) -> tuple[Profile, dict[str, str]]:
    """The profile to use and what was observed on the way. A dead implementation gives the defaults and a remark."""
    observed: dict[str, str] = {}
    versions = (VERSIONS[0],) if role.active else VERSIONS
    for version in versions:
        for first_buffer in FIRST_BUFFERS if role.sender else FIRST_BUFFERS[:1]:
            profile = Profile(first_buffer, version)
            attempt = _attempt(factory, role, seed, profile)
            if attempt.works:
                factory.worked(role)
                return profile, {**observed, **attempt.observed}
            observed["first transfer"] = attempt.reason
            if not attempt.answered:
                break  # another buffer number cannot help
    return Profile(), observed


@dataclasses.dataclass(slots=True)
class _Attempt:
    works: bool = False
    answered: bool = False
    reason: str = ""
    observed: dict[str, str] = dataclasses.field(default_factory=dict)


def _attempt(factory: LinkFactory, role: Role, seed: int, profile: Profile) -> _Attempt:
    attempt = _Attempt()
    with contextlib.closing(factory.make(Capture())) as link:
        # A name that no implementation can know: one that answers 127 to it answers 127 to everything.
        name = f"probe_{random.Random(seed).getrandbits(32):08x}"
        case = Case(name, (), role, "stimulus", link, seed, profile)
        try:
            peer = case.peer(PROBE_BYTES)
            if role.active or profile.version == VERSIONS[0]:
                peer.connect()
            else:
                peer.open(attempts=OPENS_OF_OTHER_VERSIONS)
            attempt.answered = True
            _transfer(peer)
            attempt.works = True
            attempt.observed = _observe(peer)
        except (UnmetError, ImplementationError, NotSupportedError, HarnessError) as error:
            attempt.reason = str(error)
    return attempt


def _transfer(peer: Peer) -> None:
    if isinstance(peer, ReceiverPeer):
        peer.go(0)
        peer.expect_buffer(0, tolerances.ACK_DEADLINE_MIN_US + tolerances.REACTION_MAX_US)
    elif isinstance(peer, SenderPeer):
        peer.until(lambda: peer.first_buffer is not None, tolerances.CONTROL_REPEAT_MAX_US, "expected a GO")
        peer.finish()


def _observe(peer: Peer) -> dict[str, str]:
    """Choices that the specification leaves open: "your profile"."""
    emitted = [seen.packet for seen in peer.seen if seen.packet.error is None]
    observed = {"version byte": str(emitted[0].version)}
    if isinstance(peer, ReceiverPeer):
        observed["first buffer number"] = str(peer.first_buffer)
        observed["first packet number"] = str(min(peer.buffer(0).packets))
    elif isinstance(peer, SenderPeer):
        observed["first buffer number"] = str(peer.first_buffer)
        timers = [m.control_timer_ms for m in peer.messages.values() if m.kind is Kind.OK]
        observed["published control timer"] = f"{timers[0]} ms" if timers else "none"
    return observed
