# SPDX-License-Identifier: GPL-2.0-or-later
"""dumpcap's pcapng as it comes out of a pipe: whole blocks, what they say, and what pushes them on."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

SECTION, INTERFACE, STATISTICS, PACKET = 0x0A0D0D0A, 1, 5, 6
_HEADER = struct.Struct("<II")
_EPB = struct.Struct("<5I")
_OPTION = struct.Struct("<HH")
_NAME, _RESOLUTION, _DROPPED = 2, 9, 5
_MICROSECONDS = 1e-6
# A block type for local use: readers skip it. tshark reads pipes 8 KiB at a time and shows a packet only when the piece
# that it ends in is full, so behind the last packet of a burst goes one block of nothing.
_LOCAL_BLOCK = 0x8000_0B17
FILLER_BYTES = 16 * 1024
FILLER = _HEADER.pack(_LOCAL_BLOCK, FILLER_BYTES) + bytes(FILLER_BYTES - 12) + struct.pack("<I", FILLER_BYTES)


class BrokenStreamError(Exception):
    """What came is no pcapng."""


class Blocks:
    """Takes pieces of any size, gives whole blocks."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, data: bytes) -> Iterator[tuple[int, bytes]]:
        data, at = self._rest + data, 0
        while at + _HEADER.size <= len(data):
            kind, length = _HEADER.unpack_from(data, at)
            if length < 12 or length % 4:
                raise BrokenStreamError(f"block of type {kind:#x} with length {length}")
            if at + length > len(data):
                break
            yield kind, data[at : at + length]
            at += length
        self._rest = data[at:]


@dataclass(slots=True)
class Interface:
    name: str
    link_type: int
    tick_s: float = _MICROSECONDS
    packets: int = 0
    dropped: int | None = None  # None: not known


def _options(data: bytes) -> Iterator[tuple[int, bytes]]:
    at = 0
    while at + _OPTION.size <= len(data):
        code, length = _OPTION.unpack_from(data, at)
        at += _OPTION.size
        yield code, data[at : at + length]
        at += -(-length // 4) * 4


def interface(block: bytes, number: int) -> Interface:
    found = Interface(f"interface {number}", int.from_bytes(block[8:10], "little"))
    for code, value in _options(block[16:-4]):
        if code == _NAME:
            found.name = value.decode("utf-8", "replace")
        elif code == _RESOLUTION and value:
            found.tick_s = float(2 ** -(value[0] & 127) if value[0] & 128 else 10.0 ** -value[0])
    return found


def drops(block: bytes) -> tuple[int, int | None]:
    """Interface and packets that were dropped on it, of an interface statistics block."""
    number = int.from_bytes(block[8:12], "little")
    for code, value in _options(block[20:-4]):
        if code == _DROPPED:
            return number, int.from_bytes(value, "little")
    return number, None


def packet(block: bytes) -> tuple[int, int, bytes]:
    """Interface, time in ticks, the frame's bytes."""
    number, high, low, captured, _original = _EPB.unpack_from(block, 8)
    return number, high << 32 | low, block[28 : 28 + captured]
