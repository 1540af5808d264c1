# SPDX-License-Identifier: GPL-2.0-or-later
"""OPEN-01, 02, 04, 05, 07, NEG-01..05, 07, DATA-05: what OPEN and RESPONSE packets of the implementation contain, and
what comes before them."""

from __future__ import annotations

from netblt_conformance.common.verdicts import Verdict
from netblt_conformance.oracles.base import Check, Oracle
from netblt_conformance.packets.packets import Kind, Packet, Type, different_terms, is_only_the_pair, low_byte_first

OTHER_OPEN = Check(
    "OPEN-04", expected="the same OPEN in its repetition", seen="a repeated OPEN differs from the first one in {fields}"
)
OPEN_AGAIN = Check(
    "OPEN-05", expected="no OPEN after the RESPONSE", seen="OPEN was repeated after its RESPONSE had arrived"
)
BEFORE_RESPONSE = Check(
    "OPEN-01",
    expected="nothing of a transfer before the RESPONSE to the OPEN",
    seen="{type} before the RESPONSE with the unique ID of the OPEN",
)
OTHER_ID = Check(
    "OPEN-02",
    expected="the unique ID of the OPEN in its RESPONSE",
    seen="RESPONSE carries unique ID {got:#010x}, the OPEN had {proposed:#010x}",
)
OTHER_RESPONSE = Check(
    "OPEN-07",
    expected="the same RESPONSE to a repeated OPEN",
    seen="a repeated RESPONSE differs from the first one in {fields}",
)
RENEGOTIATED_RESPONSE = Check(
    "OPEN-07",
    expected="the same RESPONSE to a repeated OPEN, also after an OK has renegotiated the pair (AMB-63)",
    seen="a repeated RESPONSE differs from the first one in {fields}",
    verdict=Verdict.WARN,
)
_DOWNWARD = {
    "buffer size": "NEG-01",
    "data packet size": "NEG-02",
    "burst size": "NEG-03",
    "number of outstanding buffers": "NEG-05",
}
RAISED = {
    name: Check(
        requirement,
        expected=f"a {name} that is at most the proposed one",
        seen="{name} {answer} exceeds the proposed {asked}",
    )
    for name, requirement in _DOWNWARD.items()
}
UNUSABLE = {
    name: Check(requirement, expected=f"a {name} that can be used", seen="{name} 0")
    for name, requirement in _DOWNWARD.items()
}
# A zero was proposed.
UNUSABLE_TOO = Check("NEG-10", expected="REFUSED, for a zero cannot be used", seen="RESPONSE with {name} 0")
LOOSENED = Check(
    "NEG-10",
    expected="REFUSED, for a zero cannot be used (AMB-25)",
    seen="{name} {answer} exceeds the proposed {asked}",
    verdict=Verdict.WARN,
)
INTERVAL_SHORTENED = Check(
    "NEG-04",
    expected="a burst interval that is at least the proposed one",
    seen="burst interval {answer} ms is below the proposed {asked}",
)
LOW_BYTE_FIRST = Check(
    "NEG-04", expected="the high byte first", seen="burst interval {asked} ms was answered with {answer} ms"
)
PACKETS_MAX = 0x10000  # that 16 bits can number
TOO_MANY_PACKETS = Check(
    "DATA-05",
    expected="buffers whose packets can be numbered with 16 bits (AMB-17)",
    seen="buffers of {count} packets are agreed",
    verdict=Verdict.WARN,  # a small transfer between such ends works
)
MODE_CHANGED = Check("NEG-07", expected="the M bit of the OPEN", seen="RESPONSE changes the M bit")
CHECKSUMS_OFF = Check(
    "NEG-07",
    expected="data checksums as the OPEN requests (AMB-24)",
    seen="RESPONSE turns data checksums off",
    verdict=Verdict.WARN,
)


_OF_TRANSFER = frozenset({Type.CONTROL, Type.NULL_ACK, Type.DATA, Type.LDATA, Type.DONE})


class OpeningOracle(Oracle):
    _open: Packet | None = None
    _response: Packet | None = None
    _answered_us: int | None = None
    _confirmed = False  # an OK was sent by either end

    def sent(self, packet: Packet, time_us: int, frame: int) -> None:
        del frame
        self._note_ok(packet)
        matches = self._open is not None and packet.unique_id == self._open.unique_id
        if packet.type is Type.RESPONSE and matches and self._answered_us is None:
            self._answered_us = time_us

    def received(self, packet: Packet, time_us: int, frame: int) -> None:
        self._note_ok(packet)
        if packet.type is Type.OPEN:
            self._on_open(packet, time_us, frame)
        elif packet.type is Type.RESPONSE and self.session.open_sent is not None:
            self._on_response(packet, self.session.open_sent, frame)
        elif packet.type in _OF_TRANSFER and self._open is not None and self._answered_us is None:
            self.report(BEFORE_RESPONSE, frame, type=packet.type.text)

    def _note_ok(self, packet: Packet) -> None:
        self._confirmed = self._confirmed or any(message.kind is Kind.OK for message in packet.messages)

    def _on_open(self, packet: Packet, time_us: int, frame: int) -> None:
        if self._open is None:
            self._open = packet
        elif others := different_terms(packet, self._open):
            self.report(OTHER_OPEN, frame, fields=", ".join(others))
        if self._answered_us is not None and self.session.knew(self._answered_us, time_us):
            self.report(OPEN_AGAIN, frame)

    def _on_response(self, packet: Packet, proposal: Packet, frame: int) -> None:
        if packet.unique_id != proposal.unique_id:
            self.report(OTHER_ID, frame, got=packet.unique_id, proposed=proposal.unique_id)
            return
        if self._response is None:
            self._response = packet
        elif others := different_terms(packet, self._response):
            renegotiated = self._confirmed and is_only_the_pair(others)
            self.report(RENEGOTIATED_RESPONSE if renegotiated else OTHER_RESPONSE, frame, fields=", ".join(others))
            if renegotiated:
                return
        self._judge_negotiation(packet, proposal, frame)

    def _judge_negotiation(self, response: Packet, proposal: Packet, frame: int) -> None:
        """RFC 998 section 4: only more restrictive, each field by itself (AMB-23)."""
        downward = (
            ("buffer size", response.buffer_size, proposal.buffer_size),
            ("data packet size", response.packet_size, proposal.packet_size),
            ("burst size", response.burst_size, proposal.burst_size),
            ("number of outstanding buffers", response.max_buffers, proposal.max_buffers),
        )
        for name, answer, asked in downward:
            if answer > asked:
                self.report(RAISED[name] if asked else LOOSENED, frame, name=name, answer=answer, asked=asked)
            elif answer == 0:
                self.report(UNUSABLE[name] if asked else UNUSABLE_TOO, frame, name=name)
        if response.burst_interval_ms < proposal.burst_interval_ms:
            answer, asked = response.burst_interval_ms, proposal.burst_interval_ms
            self.report(INTERVAL_SHORTENED, frame, answer=answer, asked=asked)
        self._judge_numbers(response, proposal, frame)
        if response.writes != proposal.writes:
            self.report(MODE_CHANGED, frame)
        if proposal.data_checksum_on and not response.data_checksum_on:
            self.report(CHECKSUMS_OFF, frame)

    def _judge_numbers(self, response: Packet, proposal: Packet, frame: int) -> None:
        """Half of all intervals grow when their bytes are swapped. 256 ms may be the limit of an implementation."""
        answer, asked = response.burst_interval_ms, proposal.burst_interval_ms
        if answer == low_byte_first(asked) and asked not in (1, answer):
            self.report(LOW_BYTE_FIRST, frame, answer=answer, asked=asked)
        count = -(-response.buffer_size // max(response.packet_size, 1))
        if count > PACKETS_MAX:
            self.report(TOO_MANY_PACKETS, frame, count=count)
