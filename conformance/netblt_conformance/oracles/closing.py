# SPDX-License-Identifier: GPL-2.0-or-later
"""ABORT-02, ABORT-03, QUIT-05, CLOSE-06: what must not follow the end of a connection."""

from __future__ import annotations

from netblt_conformance.oracles.base import Oracle, Report
from netblt_conformance.oracles.session import Session
from netblt_conformance.packets.packets import Packet, Type

LATE_ANSWERS = (Type.ABORT, Type.REFUSED, Type.RESPONSE, Type.QUITACK)
TRANSFER = (Type.DATA, Type.LDATA, Type.CONTROL, Type.NULL_ACK)


class ClosingOracle(Oracle):
    def __init__(self, session: Session, report: Report) -> None:
        super().__init__(session, report)
        self._abort_us: int | None = None
        self._quit_us: int | None = None
        self._dones = 0
        self._own_quit = False
        self._spoke_since = False  # a late packet of the tester may be answered with ABORT or REFUSED (AMB-55)
        self._transfers_on = False  # after its own ABORT or QUIT, which need not be believed then (AMB-73)

    def sent(self, packet: Packet, time_us: int, frame: int) -> None:
        del frame
        if self._abort_us is not None:
            self._spoke_since = True
        if packet.type in TRANSFER and (self._abort_us is not None or self._quit_us is not None):
            self._transfers_on = True
        if packet.type is Type.ABORT and self._abort_us is None:
            self._abort_us = time_us
        elif packet.type is Type.QUIT and self._quit_us is None:
            self._quit_us = time_us

    def _answered_abort(self, packet: Packet, time_us: int, frame: int) -> None:
        """An answer comes back after one round trip; what left before cannot be one."""
        assert self._abort_us is not None
        assert packet.type is not None
        if time_us - self._abort_us >= self.session.round_trip_us:
            requirement = "ABORT-02" if packet.type is Type.ABORT else "ABORT-03"
            self.fail(requirement, f"ABORT was answered with {packet.type.name}", frame)

    def received(self, packet: Packet, time_us: int, frame: int) -> None:
        assert packet.type is not None
        aborted = self._abort_us is not None and self.session.knew(self._abort_us, time_us)
        if aborted and packet.type is Type.QUITACK and self._quit_us is None:
            self.fail("ABORT-03", "ABORT was answered with QUITACK", frame)
        elif aborted and not self._transfers_on and not (self._spoke_since and packet.type in LATE_ANSWERS):
            self.fail("ABORT-02", f"{packet.type.name} came after ABORT had arrived", frame)
        answered = packet.type in (Type.ABORT, Type.QUITACK) and self._quit_us is None and not self._spoke_since
        if self._abort_us is not None and answered and not aborted:
            self._answered_abort(packet, time_us, frame)
        quitted = self._quit_us is not None and self.session.knew(self._quit_us, time_us)
        if quitted and not self._transfers_on and packet.type in (Type.DATA, Type.LDATA, Type.CONTROL):
            self.fail("QUIT-05", f"{packet.type.name} was sent after QUIT had arrived", frame)
        if self._own_quit and packet.type in (Type.DATA, Type.LDATA, Type.CONTROL):
            self.fail("QUIT-05", f"{packet.type.name} was sent after the sender's own QUIT", frame)
        self._own_quit |= packet.type is Type.QUIT
        if packet.type is Type.DONE:
            self._dones += 1
            if self._dones > 1:
                self.warn("CLOSE-06", "DONE was sent more than once", frame)
