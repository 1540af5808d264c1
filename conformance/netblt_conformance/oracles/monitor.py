# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs every oracle over every packet of one connection."""

from __future__ import annotations

from collections.abc import Hashable

from netblt_conformance.oracles.acks import AckOracle
from netblt_conformance.oracles.answers import AnswerOracle
from netblt_conformance.oracles.base import Check, Oracle, Violation
from netblt_conformance.oracles.checksums import ChecksumOracle
from netblt_conformance.oracles.closing import ClosingOracle
from netblt_conformance.oracles.content import ContentOracle
from netblt_conformance.oracles.control import ControlOracle
from netblt_conformance.oracles.data import DataOracle
from netblt_conformance.oracles.formats import FormatOracle
from netblt_conformance.oracles.idle import IdleOracle
from netblt_conformance.oracles.opening import OpeningOracle
from netblt_conformance.oracles.order import OrderOracle
from netblt_conformance.oracles.progress import ProgressOracle
from netblt_conformance.oracles.rate import RateOracle
from netblt_conformance.oracles.repetition import RepetitionOracle
from netblt_conformance.oracles.requests import RequestOracle
from netblt_conformance.oracles.session import Session
from netblt_conformance.packets.packets import Packet, Type

ORACLES: tuple[type[Oracle], ...] = (
    ChecksumOracle,
    FormatOracle,
    OpeningOracle,
    ControlOracle,
    RequestOracle,
    AckOracle,
    DataOracle,
    ContentOracle,
    OrderOracle,
    RateOracle,
    ClosingOracle,
    IdleOracle,
    RepetitionOracle,
    AnswerOracle,
    ProgressOracle,
)

# What an implementation sends in the setup of a connection; ABORT may answer an OPEN too.
OPENING = (Type.OPEN, Type.RESPONSE, Type.REFUSED, Type.ABORT)


class Monitor:
    """Collects violations; each is reported once for the same check and values."""

    def __init__(self, session: Session, earlier: Monitor | None = None, foreign: frozenset[str] = frozenset()) -> None:
        """`earlier`: of the connection that the same ports had before. `foreign`: requirements that do not hold in the
        dialect of this one."""
        self.session = session
        self._earlier = earlier
        self._foreign = foreign
        self.violations: list[Violation] = []
        self._known: set[tuple[Check, tuple[tuple[str, Hashable], ...]]] = set()
        self.disabled: set[str] = set()  # requirements that this case provokes on purpose
        self._oracles = [oracle(session, self.report) for oracle in ORACLES]

    def report(self, violation: Violation) -> None:
        key = (violation.check, violation.values)
        judged = {violation.requirement, violation.check.explains}.isdisjoint(self.disabled | self._foreign)
        if key not in self._known and judged:
            self._known.add(key)
            self.violations.append(violation)

    def finish(self) -> None:
        for oracle in self._oracles:
            oracle.finish()

    def sent(self, packet: Packet, time_us: int, frame: int) -> None:
        """A packet of the tester. Deliberately damaged ones must have no effect, so the oracles do not see them; of a
        CONTROL the messages before the damage count (ROBUST-02)."""
        unreadable = packet.error is not None and packet.type is not Type.CONTROL
        damaged = unreadable or packet.type is None or not packet.checksum_good
        if damaged or not self.session.same_connection(packet, sent=True):
            return
        self.session.note_sent(packet, time_us)
        for oracle in self._oracles:
            oracle.sent(packet, time_us, frame)

    def came_late(self) -> None:
        """A copy of a packet of the tester comes when the connection is over."""
        for oracle in self._oracles:
            oracle.came_late()

    def received(self, packet: Packet, time_us: int, frame: int) -> None:
        ours = self.session.same_connection(packet, sent=False) or packet.type is Type.OPEN
        readable = packet.error is None and packet.type is not None
        if ours and readable and self._earlier is not None and self._is_left_over(packet):
            self._earlier.received(packet, time_us, frame)
            return
        if ours and readable:
            self.session.note_received(packet, time_us)
        for oracle in self._oracles:
            if oracle.sees_everything or (ours and readable):
                oracle.received(packet, time_us, frame)

    def _is_left_over(self, packet: Packet) -> bool:
        """Whether it can only be of the earlier connection: before its RESPONSE a connection has no other packets."""
        return self.session.response is None and packet.type not in OPENING
