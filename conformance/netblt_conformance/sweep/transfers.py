# SPDX-License-Identifier: GPL-2.0-or-later
"""The short transfers that sweeps go through."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Transfer:
    """What is sent, with which parameters. Small: a sweep's length grows with the square of the packets."""

    name: str
    about: str
    length: int  # bytes
    buffer_size: int
    packet_size: int
    burst_size: int
    burst_interval_ms: int
    max_buffers: int

    @property
    def data(self) -> bytes:
        """The same for everyone, and different at every place."""
        words = (hashlib.sha256(f"{self.name} {block}".encode()).digest() for block in range(-(-self.length // 32)))
        return b"".join(words)[: self.length]


TRANSFERS = (
    Transfer("lock-step", "one buffer outstanding, two whole buffers and a short one", 200, 96, 48, 2, 5, 1),
    Transfer("pipelined", "two buffers outstanding, four whole buffers and one packet", 400, 96, 32, 2, 5, 2),
)
TRANSFERS_BY_NAME = {transfer.name: transfer for transfer in TRANSFERS}
