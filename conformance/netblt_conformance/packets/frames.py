# SPDX-License-Identifier: GPL-2.0-or-later
"""Captures of this project (pcapng, little-endian, enhanced packet blocks) cut short behind a frame."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

from netblt_conformance.common.errors import JudgeError

_BLOCK_HEADER = struct.Struct("<II")
ENHANCED_PACKET = 6
_PACKET_HEADER_BYTES = 28
_IPV4_SOURCE = slice(12, 16)


def blocks(path: Path) -> Iterator[tuple[int, bytes]]:
    """(type, whole block) for every block."""
    data, at = path.read_bytes(), 0
    while at + _BLOCK_HEADER.size <= len(data):
        kind, length = _BLOCK_HEADER.unpack_from(data, at)
        if length < 12 or at + length > len(data):
            raise JudgeError(f"{path}: broken pcapng block at byte {at}")
        yield kind, data[at : at + length]
        at += length


def count_packets(path: Path) -> int:
    return sum(kind == ENHANCED_PACKET for kind, _ in blocks(path))


def emitter(path: Path, frame: int) -> bytes:
    """Source address of a frame (from 1) in a capture that starts at the IPv4 header; empty when it is not there."""
    packets = (block for kind, block in blocks(path) if kind == ENHANCED_PACKET)
    for number, block in enumerate(packets, 1):
        if number == frame:
            return block[_PACKET_HEADER_BYTES:][_IPV4_SOURCE]
    return b""


def cut(path: Path, frames: int, output: Path) -> None:
    """Writes the first `frames` frames of a capture to another file."""
    kept, packets = [], 0
    for kind, block in blocks(path):
        packets += kind == ENHANCED_PACKET
        if packets > frames:
            break
        kept.append(block)
    output.write_bytes(b"".join(kept))
