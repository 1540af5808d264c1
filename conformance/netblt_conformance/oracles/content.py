# SPDX-License-Identifier: GPL-2.0-or-later
"""DATA-08: what the data packets of a sending implementation hold, where the data of its client are known."""

from __future__ import annotations

from netblt_conformance.oracles.base import Check, Oracle, Report
from netblt_conformance.oracles.session import Session
from netblt_conformance.packets.packets import Kind, Packet, Type

OTHER_DATA = Check(
    "DATA-08",
    expected="the data of the client, each byte in its place",
    seen="packet {packet} of buffer {buffer} holds other data than the client gave for bytes {first} to {last}",
)


class ContentOracle(Oracle):
    def __init__(self, session: Session, report: Report) -> None:
        super().__init__(session, report)
        self._gos: set[int] = set()  # buffers that were requested; the first and the last of them
        self._first, self._last = 0, 0
        self._even = True  # all packets have the agreed sizes: else the place of later data is not known

    def sent(self, packet: Packet, time_us: int, frame: int) -> None:
        del time_us, frame
        numbers = {message.buffer for message in packet.messages if message.kind is Kind.GO} - self._gos
        if packet.type is Type.CONTROL and numbers:
            self._gos |= numbers
            self._first, self._last = min(self._gos), max(self._gos)

    def received(self, packet: Packet, time_us: int, frame: int) -> None:
        del time_us
        terms, data = self.session.response, self.session.data
        if not packet.is_data or terms is None or data is None:
            return
        begin = packet.packet * terms.packet_size
        self._even = self._even and self._has_agreed_size(packet, terms, begin)
        index = self._index(packet.buffer)
        if not self._even or index is None:
            return
        first = index * terms.buffer_size + begin
        wanted = data[first : first + len(packet.data)]  # beyond the end of all data there is padding (AMB-02)
        if packet.data[: len(wanted)] != wanted:
            last = first + len(wanted) - 1
            self.report(OTHER_DATA, frame, packet=packet.packet, buffer=packet.buffer, first=first, last=last)

    @staticmethod
    def _has_agreed_size(packet: Packet, terms: Packet, begin: int) -> bool:
        """DATA-02, DATA-03, DATA-05 judge the others."""
        end = begin + len(packet.data)
        if packet.type is Type.DATA:
            return len(packet.data) == terms.packet_size and end <= terms.buffer_size
        return end <= terms.buffer_size if packet.last_buffer else end == terms.buffer_size

    def _index(self, buffer: int) -> int | None:
        """How many buffers are before this one. None where the GOs leave numbers out (AMB-47)."""
        if buffer not in self._gos or self._last - self._first >= len(self._gos):
            return None
        return buffer - self._first
