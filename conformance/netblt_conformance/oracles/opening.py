# SPDX-License-Identifier: GPL-2.0-or-later
"""OPEN-02, 04, 05, 07 and NEG-01..05, 07: what OPEN and RESPONSE packets of the implementation say."""

from __future__ import annotations

from netblt_conformance.oracles.base import Oracle
from netblt_conformance.packets.packets import Packet, Type, different_terms


class OpeningOracle(Oracle):
    _open: Packet | None = None
    _response: Packet | None = None
    _answered_us: int | None = None

    def sent(self, packet: Packet, time_us: int, frame: int) -> None:
        del frame
        matches = self._open is not None and packet.unique_id == self._open.unique_id
        if packet.type is Type.RESPONSE and matches and self._answered_us is None:
            self._answered_us = time_us

    def received(self, packet: Packet, time_us: int, frame: int) -> None:
        if packet.type is Type.OPEN:
            self._on_open(packet, time_us, frame)
        elif packet.type is Type.RESPONSE and self.session.open_sent is not None:
            self._on_response(packet, self.session.open_sent, frame)

    def _on_open(self, packet: Packet, time_us: int, frame: int) -> None:
        if self._open is None:
            self._open = packet
        elif others := different_terms(packet, self._open):
            self.fail("OPEN-04", f"a repeated OPEN differs from the first one in {', '.join(others)}", frame)
        if self._answered_us is not None and self.session.knew(self._answered_us, time_us):
            self.fail("OPEN-05", "OPEN was repeated after its RESPONSE had arrived", frame)

    def _on_response(self, packet: Packet, proposal: Packet, frame: int) -> None:
        if packet.unique_id != proposal.unique_id:
            text = f"RESPONSE carries unique ID {packet.unique_id:#010x}, the OPEN had {proposal.unique_id:#010x}"
            self.fail("OPEN-02", text, frame)
            return
        if self._response is None:
            self._response = packet
        elif others := different_terms(packet, self._response):
            self.fail("OPEN-07", f"a repeated RESPONSE differs from the first one in {', '.join(others)}", frame)
        self._judge_negotiation(packet, proposal, frame)

    def _judge_negotiation(self, response: Packet, proposal: Packet, frame: int) -> None:
        """RFC 998 section 4: only more restrictive, each field by itself (AMB-23)."""
        downward = (
            ("NEG-01", "buffer size", response.buffer_size, proposal.buffer_size),
            ("NEG-02", "data packet size", response.packet_size, proposal.packet_size),
            ("NEG-03", "burst size", response.burst_size, proposal.burst_size),
            ("NEG-05", "number of outstanding buffers", response.max_buffers, proposal.max_buffers),
        )
        for requirement, name, answer, asked in downward:
            if answer > asked:
                verdict = self.fail if asked else self.warn  # AMB-25: a zero was loosened into something usable
                verdict(requirement if asked else "NEG-10", f"{name} {answer} exceeds the proposed {asked}", frame)
            elif answer == 0:
                self.fail(requirement if asked else "NEG-10", f"{name} 0 cannot be used", frame)
        if response.burst_interval_ms < proposal.burst_interval_ms:
            text = f"burst interval {response.burst_interval_ms} ms is below the proposed {proposal.burst_interval_ms}"
            self.fail("NEG-04", text, frame)
        if response.writes != proposal.writes:
            self.fail("NEG-07", "RESPONSE changes the M bit", frame)
        if proposal.data_checksum_on and not response.data_checksum_on:
            self.warn("NEG-07", "RESPONSE turns data checksums off (AMB-24)", frame)
