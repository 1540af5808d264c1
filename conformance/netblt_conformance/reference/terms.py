# SPDX-License-Identifier: GPL-2.0-or-later
"""What OPEN and RESPONSE agree on, and the sizes that follow from it."""

from __future__ import annotations

from dataclasses import dataclass

from netblt_conformance.simlib.guided import Read

WRITE, CHECKSUM = 0x1, 0x2


@dataclass(frozen=True, slots=True)
class Terms:
    """One reading of what was agreed on."""

    buffer_size: int
    packet_size: int
    burst_size: int
    burst_interval_ms: int
    max_buffers: int
    data_checksum: bool

    @classmethod
    def of(cls, response: Read) -> Terms:
        return cls(
            response.buffer_size,
            response.packet_size,
            response.burst_size,
            response.burst_interval_ms,
            response.max_buffers,
            bool(response.flags & CHECKSUM),
        )

    @property
    def usable(self) -> bool:
        return self.buffer_size > 0 and self.packet_size > 0

    @property
    def packets(self) -> int:
        """Of a full buffer."""
        return -(-self.buffer_size // self.packet_size)

    def bytes_of(self, packet: int) -> int:
        """Data bytes of a packet of a full buffer; 0 beyond it."""
        return max(0, min(self.packet_size, self.buffer_size - packet * self.packet_size))
