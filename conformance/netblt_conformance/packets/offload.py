# SPDX-License-Identifier: GPL-2.0-or-later
"""Segmentation offload: a host gives its network card, and the capture, several packets as one UDP datagram."""

from __future__ import annotations

from netblt_conformance.wire.fast import HEADER_BYTES, checksum_ok, peek


def packet_bytes(payload: bytes, length: int) -> int:
    """The size of the packets in a UDP datagram of `length` bytes, of which `payload` was captured: they have one size,
    only the last may be shorter. It is `length` where the datagram is one packet."""
    header = peek(payload)
    if header is not None and HEADER_BYTES <= header.length < len(payload):
        for tried in (header.length, (header.length + 3) & ~3):
            if tried < len(payload) and checksum_ok(payload[tried : 2 * tried]):
                return tried
    return length
