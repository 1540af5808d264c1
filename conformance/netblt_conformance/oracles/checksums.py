# SPDX-License-Identifier: GPL-2.0-or-later
"""CKSUM-01..04: every packet that the implementation emits is summed again."""

from __future__ import annotations

from netblt_conformance.common.verdicts import Verdict
from netblt_conformance.oracles.base import Check, Oracle
from netblt_conformance.packets.packets import HEADER_BYTES, Packet, data_checksum
from netblt_conformance.wire import data_checksum_ok
from netblt_conformance.wire.fast import sums_to_ffff

_HEADER_ONLY = "a header checksum of DATA and LDATA over the 24 bytes of the header"
COVERS_DATA = Check(
    "CKSUM-03",
    expected=_HEADER_ONLY,
    seen="the header checksum of data packets covers the data too",
    verdict=Verdict.WARN,
)
COVERS_MORE = Check("CKSUM-03", expected=_HEADER_ONLY, seen="the header checksum of {type} covers {covered} bytes")
NO_SUM = Check("CKSUM-01", expected="a checksum in every packet", seen="{type} carries no checksum")
WRONG_SUM = Check(
    "CKSUM-02",
    stalls=True,
    expected="the complement of the sum of the packet",
    seen="{type} carries a wrong checksum, 0x{checksum:04x}",
)
WRONG_DATA_SUM = Check(
    "CKSUM-04",
    expected="the checksum of the data in the Data Area Checksum",
    seen="{packet} has the Data Area Checksum 0x{checksum:04x}, its {size} bytes give 0x{good:04x}",
)


class ChecksumOracle(Oracle):
    sees_everything = True

    def received(self, packet: Packet, time_us: int, frame: int) -> None:
        del time_us
        if not HEADER_BYTES <= packet.length <= len(packet.raw):
            return
        if not packet.checksum_good:
            self._bad_header(packet, frame)
        elif packet.is_data and self.session.response is not None and self.session.response.data_checksum_on:
            self._check_data(packet, frame)

    def _bad_header(self, packet: Packet, frame: int) -> None:
        """CKSUM-03: a checksum over header and data is a variant that only its like can talk to (AMB-04)."""
        if packet.is_data and sums_to_ffff(packet.raw[: packet.length]):
            self.report(COVERS_DATA, frame)
            return
        name = packet.type.text if packet.type is not None else f"type {packet.type_code}"
        if packet.checksum == 0:
            self.report(NO_SUM, frame, type=name)
        elif packet.is_data and (covered := self._covered(packet)):
            self.report(COVERS_MORE, frame, type=name, covered=covered)
        else:
            self.report(WRONG_SUM, frame, type=name, checksum=packet.checksum)

    @staticmethod
    def _covered(packet: Packet) -> int:
        """How many bytes a wrong header checksum is right for; 0: for no number of them."""
        lengths = range(HEADER_BYTES, packet.length, 2)
        return next((length for length in lengths if sums_to_ffff(packet.raw[:length])), 0)

    def _check_data(self, packet: Packet, frame: int) -> None:
        """CKSUM-04: summed with the Data Area Checksum, the data gives 0xFFFF."""
        if not data_checksum_ok(packet.raw):
            good, size = data_checksum(packet.data), len(packet.data)
            what, checksum = str(packet), packet.data_checksum
            self.report(WRONG_DATA_SUM, frame, packet=what, checksum=checksum, size=size, good=good)
