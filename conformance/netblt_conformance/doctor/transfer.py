# SPDX-License-Identifier: GPL-2.0-or-later
"""One transfer in one role: how far it comes, and what there is to see of the implementation."""

from __future__ import annotations

import contextlib
import enum
from collections.abc import Callable
from dataclasses import dataclass, field

from netblt_conformance.cases.case import Case, Profile
from netblt_conformance.cases.probe import probe
from netblt_conformance.common import wording
from netblt_conformance.common.errors import HarnessError, ImplementationError, NotSupportedError
from netblt_conformance.common.model import Role
from netblt_conformance.common.verdicts import Cause, Verdict
from netblt_conformance.links.base import Account, LinkFactory
from netblt_conformance.packets.capture import Capture, Frame
from netblt_conformance.packets.packets import Type
from netblt_conformance.peer import ReceiverPeer, SenderPeer

# Two buffers of four packets with the default parameters.
TRANSFER_BYTES = 2048


class Stage(enum.StrEnum):
    """How far a transfer came."""

    NOT_SUPPORTED = "not supported"  # the adapter or the implementation does not have the role
    NOT_STARTED = "not started"  # the program cannot be started, or is not ready
    SILENT = "silent"  # no packet of it came
    NOT_OPEN = "not open"  # packets came, but no connection
    REFUSED = "refused"  # it refused the connection
    OPEN = "open"  # the connection is open, no data move
    BEGUN = "begun"  # data move, but not all of them
    ENDED_BADLY = "ended badly"  # all data were there, the end was wrong
    CRASHED = "crashed"  # it crashed, hung or broke the protocol of the link
    WORKS = "works"


@dataclass(slots=True)
class Examined:
    """What came of one role."""

    role: Role
    stage: Stage
    reason: str = ""  # why it came no further
    account: Account = field(default_factory=Account)
    heard: int = 0  # packets of NETBLT that came from it
    profile: Profile = field(default_factory=Profile)


Peer = ReceiverPeer | SenderPeer


class WatchedCapture(Capture):
    """Hands each frame over at once: what a crash of this process would lose."""

    def __init__(self, on_frame: Callable[[Frame], None]) -> None:
        super().__init__()
        self._on_frame = on_frame

    def add_ip(self, time_us: int, packet: bytes, *, sent: bool) -> int:
        number = super().add_ip(time_us, packet, sent=sent)
        self._on_frame(self.frames[number])
        return number


class _Attempt:
    """One transfer under way."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.peer: Peer | None = None
        self.finished = False  # all data were transferred

    def body(self) -> None:
        peer = self.peer = self.case.peer(TRANSFER_BYTES)
        peer.connect()
        if isinstance(peer, ReceiverPeer):
            peer.go(0)
            peer.expect_buffer(0, peer.tolerances.ack_deadline_min_us + peer.tolerances.reaction_max_us)
            received = peer.finish()
            self.finished = True
            self.case.must(received == peer.data, f"it sent other data than it was given: {len(received)} bytes")
            peer.expect_success()
        else:
            peer.until(lambda: peer.first_buffer is not None, peer.tolerances.control_repeat_max_us, "a GO")
            peer.finish()
            self.finished = True
            peer.expect_success()
            self._expect_delivered(peer)

    def _expect_delivered(self, peer: SenderPeer) -> None:
        with contextlib.suppress(NotSupportedError):  # it cannot be known
            self.case.expect_delivered(peer.data)

    @property
    def stage(self) -> Stage:
        judgement = self.case.judgement
        if judgement.verdict is Verdict.PASS:
            return Stage.WORKS
        if judgement.cause is Cause.CRASH:
            return Stage.CRASHED
        if judgement.verdict is Verdict.ERROR:
            return Stage.NOT_STARTED
        peer = self.peer
        if peer is None or not peer.seen:
            return Stage.SILENT
        if self.finished:
            return Stage.ENDED_BADLY
        kinds = {seen.packet.type for seen in peer.seen if seen.packet.error is None}
        if peer.agreed is None:
            return Stage.REFUSED if Type.REFUSED in kinds else Stage.NOT_OPEN
        moves = {Type.DATA, Type.LDATA} if self.case.role.sender else {Type.CONTROL}
        return Stage.BEGUN if moves & kinds else Stage.OPEN


def _attempt(factory: LinkFactory, role: Role, seed: int, profile: Profile, capture: Capture) -> Examined:
    examined = Examined(role, Stage.NOT_STARTED, profile=profile)
    try:
        link = factory.make(capture)
    except (HarnessError, OSError) as error:
        examined.reason = str(error)
        return examined
    except ImplementationError as fault:
        examined.stage, examined.reason = Stage.CRASHED, str(fault)
        return examined
    try:
        attempt = _Attempt(Case("doctor", (), role, "stimulus", link, seed, profile))
        try:
            attempt.case.run(attempt.body)
        except NotSupportedError as reason:
            examined.stage, examined.reason = Stage.NOT_SUPPORTED, str(reason)
        else:
            examined.stage, examined.reason = attempt.stage, wording.judgement(attempt.case.judgement)
        examined.account = link.account()
        examined.heard = len(attempt.peer.seen) if attempt.peer is not None else 0
    finally:
        try:
            link.close()
        except ImplementationError as fault:  # a sanitizer reports at the end
            examined.stage, examined.reason = Stage.CRASHED, str(fault)
    return examined


def _chose_otherwise(examined: Examined) -> bool:
    """Whether the transfer may have failed because of a choice that RFC 998 leaves open: version, first number."""
    if examined.stage in (Stage.NOT_OPEN, Stage.OPEN, Stage.BEGUN):
        return True
    return examined.stage is Stage.SILENT and not examined.role.active and examined.account.exit_status is None


def examine(factory: LinkFactory, role: Role, seed: int, new_capture: Callable[[], Capture]) -> Examined:
    """Runs the transfer; with the choices of this implementation when it fails with the usual ones."""
    examined = _attempt(factory, role, seed, Profile(), new_capture())
    if _chose_otherwise(examined):
        profile, _ = probe(factory, role, seed)
        if profile.works and profile != examined.profile:
            return _attempt(factory, role, seed, profile, new_capture())
    return examined
