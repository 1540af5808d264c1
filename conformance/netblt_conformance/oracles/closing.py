# SPDX-License-Identifier: GPL-2.0-or-later
"""QUIT-02, ABORT-02, ABORT-03, QUIT-05, CLOSE-06: what must not follow the end of a connection."""

from __future__ import annotations

from netblt_conformance.common.verdicts import Verdict
from netblt_conformance.oracles.base import Check, Oracle, Report
from netblt_conformance.oracles.session import Session
from netblt_conformance.packets.packets import Packet, Type

LATE_ANSWERS = (Type.ABORT, Type.REFUSED, Type.RESPONSE, Type.QUITACK)
TRANSFER = (Type.DATA, Type.LDATA, Type.CONTROL, Type.NULL_ACK)


ABORT_ANSWERED = Check("ABORT-02", expected="no answer to ABORT", seen="ABORT was answered with {type}")
ABORT_ACKNOWLEDGED = Check("ABORT-03", expected="no QUITACK for an ABORT", seen="ABORT was answered with {type}")
AFTER_ABORT = Check(
    "ABORT-02", arrival=True, expected="no packet after ABORT", seen="{type} came after ABORT had arrived"
)
AFTER_QUIT = Check(
    "QUIT-05",
    arrival=True,
    expected="no DATA, LDATA or CONTROL after QUIT",
    seen="{type} was sent after QUIT had arrived",
)
AFTER_OWN_QUIT = Check(
    "QUIT-05", expected="no DATA, LDATA or CONTROL after QUIT", seen="{type} was sent after the sender's own QUIT"
)
QUIT_TOO_SOON = Check("QUIT-02", expected="a wait before each repetition of QUIT", seen="QUIT was repeated at once")
QUIT_AFTER_QUITACK = Check(
    "QUIT-02", arrival=True, expected="no QUIT after QUITACK", seen="QUIT was repeated although its QUITACK had arrived"
)
DONE_AGAIN = Check("CLOSE-06", expected="one DONE", seen="DONE was sent more than once", verdict=Verdict.WARN)


class ClosingOracle(Oracle):
    def __init__(self, session: Session, report: Report) -> None:
        super().__init__(session, report)
        self._abort_us: int | None = None
        self._quit_us: int | None = None
        self._dones = 0
        self._own_quit = False
        self._own_quit_us: int | None = None  # when the newest one came
        self._quitack_us: int | None = None
        self._spoke_since = False  # a late packet of the tester may be answered with ABORT or REFUSED (AMB-55)
        self._transfers_on = False  # after its own ABORT or QUIT, which need not be believed then (AMB-73)

    def sent(self, packet: Packet, time_us: int, frame: int) -> None:
        del frame
        if self._abort_us is not None:
            self._spoke_since = True
        if not self.session.has_its_version(packet):
            return  # an implementation may discard it (AMB-01)
        if packet.type in TRANSFER and (self._abort_us is not None or self._quit_us is not None):
            self._transfers_on = True
        if packet.type is Type.ABORT and self._abort_us is None:
            self._abort_us = time_us
        elif packet.type is Type.QUIT and self._quit_us is None:
            self._quit_us = time_us
        elif packet.type is Type.QUITACK and self._own_quit and self._quitack_us is None:
            self._quitack_us = time_us

    def came_late(self) -> None:
        self._spoke_since = True

    def _on_own_quit(self, time_us: int, frame: int) -> None:
        """A repetition needs a time-out, and ends with the QUITACK."""
        before_us, self._own_quit_us = self._own_quit_us, time_us
        if before_us is not None and not self.session.real_time and time_us - before_us <= self.session.round_trip_us:
            self.report(QUIT_TOO_SOON, frame)
        if self._quitack_us is not None and self.session.knew(self._quitack_us, time_us):
            self.report(QUIT_AFTER_QUITACK, frame)

    def _answered_abort(self, packet: Packet, time_us: int, frame: int) -> None:
        """An answer comes back after one round trip; what left before cannot be one."""
        assert self._abort_us is not None
        assert packet.type is not None
        if time_us - self._abort_us >= self.session.round_trip_us:
            check = ABORT_ANSWERED if packet.type is Type.ABORT else ABORT_ACKNOWLEDGED
            self.report(check, frame, type=packet.type.text)

    def received(self, packet: Packet, time_us: int, frame: int) -> None:
        assert packet.type is not None
        aborted = self._abort_us is not None and self.session.knew(self._abort_us, time_us)
        if aborted and packet.type is Type.QUITACK and self._quit_us is None:
            self.report(ABORT_ACKNOWLEDGED, frame, type=packet.type.text)
        elif aborted and not self._transfers_on and not (self._spoke_since and packet.type in LATE_ANSWERS):
            self.report(AFTER_ABORT, frame, type=packet.type.text)
        answered = packet.type in (Type.ABORT, Type.QUITACK) and self._quit_us is None and not self._spoke_since
        if self._abort_us is not None and answered and not aborted:
            self._answered_abort(packet, time_us, frame)
        quitted = self._quit_us is not None and self.session.knew(self._quit_us, time_us)
        if quitted and not self._transfers_on and packet.type in (Type.DATA, Type.LDATA, Type.CONTROL):
            self.report(AFTER_QUIT, frame, type=packet.type.text)
        if self._own_quit and packet.type in (Type.DATA, Type.LDATA, Type.CONTROL):
            self.report(AFTER_OWN_QUIT, frame, type=packet.type.text)
        if packet.type is Type.QUIT:
            self._own_quit = True
            self._on_own_quit(time_us, frame)
        if packet.type is Type.DONE:
            self._dones += 1
            if self._dones > 1:
                self.report(DONE_AGAIN, frame)
