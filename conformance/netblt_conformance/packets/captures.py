# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads pcapng capture files and streams, on the library python-pcapng.

The only reader of the project: every byte order, timestamp resolution and packet block that the format has. Captures
are written by `simlib.PcapngWriter` alone. tshark reads captures for the dissector check.
"""

from __future__ import annotations

import enum
import io
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pcapng
from pcapng.blocks import (
    BasePacketBlock,
    EnhancedPacket,
    InterfaceDescription,
    InterfaceStatistics,
    SectionHeader,
    SimplePacket,
    register_block,
)
from pcapng.exceptions import CorruptedFile, PcapngException, TruncatedFile
from pcapng.structs import TYPE_BYTES, TYPE_I64, TYPE_STRING, Option, OptionsField

from netblt_conformance.common.errors import JudgeError
from netblt_conformance.packets.formats import why_no_pcapng

_NANOSECONDS = 10**9
_DEFAULT_RESOLUTION = 6  # the format's default: microseconds
_POWER_OF_TWO = 0x80
_IPV4_SOURCE = slice(12, 16)
_CHUNK_BYTES = 32 << 20


class BrokenCaptureError(JudgeError):
    """Not pcapng, damaged, or cut short."""


@dataclass(frozen=True, slots=True)
class Interface:
    """An interface of a section, numbered from 0."""

    number: int
    name: str
    link_type: int
    resolution: int = _DEFAULT_RESOLUTION  # the option if_tsresol
    offset_s: int = 0  # the option if_tsoffset

    def time_ns(self, ticks: int) -> int:
        """Nanoseconds since 1970 of a timestamp, rounded down."""
        exponent = self.resolution & ~_POWER_OF_TWO
        ticks *= _NANOSECONDS
        since = ticks >> exponent if self.resolution & _POWER_OF_TWO else ticks // 10**exponent
        return since + self.offset_s * _NANOSECONDS


_FIXED_BYTES = 20  # of an enhanced packet block: interface, time (high, low), captured and original length
_OPTION_HEAD_BYTES = 4  # code and length
_OPTION_END, _OPTION_COMMENT, _OPTION_FLAGS, _OPTION_PACKET_ID = 0, 1, 2, 5
_DIRECTION_BITS = 3  # of the flags


@register_block
class _PacketBlock(EnhancedPacket):  # type: ignore[misc]
    """The enhanced packet block, with its options left encoded for `_options`: for each packet the library builds a
    table of all options that there can be, which takes four fifths of its time."""

    magic_number = EnhancedPacket.magic_number
    schema = EnhancedPacket.schema[:-1]

    def __init__(self, section: SectionHeader, raw: bytes, endianness: str) -> None:
        self.section = section
        number, high, low, captured, original = struct.unpack_from(f"{endianness}5I", raw)
        if _FIXED_BYTES + captured > len(raw):
            raise CorruptedFile(f"a packet of {captured} bytes does not fit into its block")
        self._decoded = {
            "interface_id": number,
            "timestamp_high": high,
            "timestamp_low": low,
            "packet_len": original,
            "packet_data": raw[_FIXED_BYTES : _FIXED_BYTES + captured],
            "encoded_options": raw[_FIXED_BYTES + captured + -captured % 4 :],
        }


@register_block
class _InterfaceBlock(InterfaceDescription):  # type: ignore[misc]
    """The interface description block with the options that are read here. The library warns about the type that it
    gives to the resolution itself."""

    magic_number = InterfaceDescription.magic_number
    schema = (
        *InterfaceDescription.schema[:-1],
        (
            "options",
            OptionsField(
                [
                    Option(2, "if_name", TYPE_STRING),
                    Option(9, "if_tsresol", TYPE_BYTES),
                    Option(14, "if_tsoffset", TYPE_I64),
                ]
            ),
            None,
        ),
    )


class Way(enum.IntEnum):
    """The direction of a packet as the program that captured it states (epb_flags)."""

    UNKNOWN = 0
    INBOUND = 1
    OUTBOUND = 2


_WAYS = (Way.UNKNOWN, Way.INBOUND, Way.OUTBOUND, Way.UNKNOWN)  # by the two bits


@dataclass(frozen=True, slots=True)
class CapturedPacket:
    """One packet: its frame number (from 1), its bytes from the link layer on, and what the capture states about it."""

    number: int
    interface: Interface
    time_ns: int  # since 1970; 0 in a simple packet block, which has no time
    data: bytes
    original_length: int  # on the wire, in bytes
    comments: tuple[str, ...] = ()
    way: Way = Way.UNKNOWN
    packet_id: int = 0  # the same packet at another interface of the file has the same; 0: none


@dataclass(frozen=True, slots=True)
class Statistics:
    """What a capture program counted on an interface."""

    interface: Interface
    dropped: int | None  # packets; None: not known


Item = Interface | CapturedPacket | Statistics


class CaptureStream:
    """Takes a capture in pieces of any size and gives what is complete."""

    def __init__(self) -> None:
        self._scanner = pcapng.FileScanner(io.BytesIO())
        self._rest = b""
        self._interfaces: list[Interface] = []
        self._packets = 0
        self.consumed = 0  # bytes of the complete blocks so far
        self.whole = b""  # the complete blocks of the last feed()

    @property
    def between_blocks(self) -> bool:
        """Whether everything that was fed is complete."""
        return not self._rest

    def feed(self, data: bytes) -> Iterator[Item]:
        """Reads on. Raises BrokenCaptureError with the byte at which the broken block begins."""
        data = self._rest + data
        stream, base = io.BytesIO(data), self.consumed
        self._scanner.stream = stream
        try:
            for block in self._scanner:
                self.consumed = base + stream.tell()
                yield from self._items(block)
        except TruncatedFile:
            pass  # the rest of the block has not arrived
        except (PcapngException, ValueError, KeyError, RuntimeError, struct.error) as error:
            raise BrokenCaptureError(f"broken pcapng block at byte {self.consumed}: {error}") from None
        self.whole, self._rest = data[: self.consumed - base], data[self.consumed - base :]

    def _items(self, block: Any) -> Iterator[Item]:
        if isinstance(block, BasePacketBlock):
            yield self._packet(block)
        elif isinstance(block, InterfaceDescription):
            self._interfaces.append(_interface(block, len(self._interfaces)))
            yield self._interfaces[-1]
        elif isinstance(block, InterfaceStatistics):
            yield Statistics(self._interface(block.interface_id), block.options.get("isb_ifdrop"))
        elif isinstance(block, SectionHeader):
            self._interfaces = []

    def _interface(self, number: int) -> Interface:
        if number >= len(self._interfaces):
            raise ValueError(f"interface {number} is not described")
        return self._interfaces[number]

    def _packet(self, block: Any) -> CapturedPacket:
        self._packets += 1
        interface = self._interface(block.interface_id)
        if isinstance(block, SimplePacket):
            return CapturedPacket(self._packets, interface, 0, block.packet_data, block.packet_len)
        time_ns = interface.time_ns(block.timestamp_high << 32 | block.timestamp_low)
        packet = self._packets, interface, time_ns, block.packet_data, block.packet_len
        if not isinstance(block, _PacketBlock):
            return CapturedPacket(*packet, tuple(block.options.get_all("opt_comment")))
        if not block.encoded_options:
            return CapturedPacket(*packet)
        comments, way, packet_id = [], Way.UNKNOWN, 0
        for code, value in _options(block.encoded_options, block.section.endianness):
            if code == _OPTION_COMMENT:
                comments.append(value.decode("utf-8"))
            elif code == _OPTION_FLAGS:
                (flags,) = struct.unpack(f"{block.section.endianness}I", value)
                way = _WAYS[flags & _DIRECTION_BITS]
            elif code == _OPTION_PACKET_ID:
                (packet_id,) = struct.unpack(f"{block.section.endianness}Q", value)
        return CapturedPacket(*packet, tuple(comments), way, packet_id)


def _options(encoded: bytes, endianness: str) -> Iterator[tuple[int, bytes]]:
    """(code, value) of the options of a packet block."""
    at = 0
    while at + _OPTION_HEAD_BYTES <= len(encoded):
        code, length = struct.unpack_from(f"{endianness}2H", encoded, at)
        at += _OPTION_HEAD_BYTES
        if code == _OPTION_END:
            return
        if at + length > len(encoded):
            raise CorruptedFile(f"an option of {length} bytes does not fit into its block")
        yield code, encoded[at : at + length]
        at += length + -length % 4


def _interface(block: Any, number: int) -> Interface:
    options = block.options
    resolution = options.get("if_tsresol")
    return Interface(
        number,
        options.get("if_name", f"interface {number}"),
        block.link_type,
        resolution[0] if resolution else _DEFAULT_RESOLUTION,
        options.get("if_tsoffset", 0),
    )


def _items(path: Path) -> Iterator[tuple[Item, int]]:
    """What is in a file, each with the byte after its block."""
    if why := why_no_pcapng(path):
        raise BrokenCaptureError(f"{path}: {why}")
    stream = CaptureStream()
    try:
        with path.open("rb") as file:
            while data := file.read(_CHUNK_BYTES):
                for item in stream.feed(data):
                    yield item, stream.consumed
    except BrokenCaptureError as error:
        raise BrokenCaptureError(f"{path}: {error}") from None
    if not stream.between_blocks:
        raise BrokenCaptureError(f"{path}: truncated: the pcapng block at byte {stream.consumed} is not complete")


def items(path: Path) -> Iterator[Item]:
    """Interfaces, packets and statistics of a capture file, in its order. Raises BrokenCaptureError as read() does."""
    for item, _end in _items(path):
        yield item


def read(path: Path) -> Iterator[CapturedPacket]:
    """The packets of a capture file. Raises BrokenCaptureError, which names the file, where it is damaged."""
    for item, _end in _items(path):
        if isinstance(item, CapturedPacket):
            yield item


def emitter(path: Path, frame: int) -> bytes:
    """Source address of a frame (from 1) in a capture that starts at the IPv4 header; empty when it is not there."""
    for packet in read(path):
        if packet.number == frame:
            return packet.data[_IPV4_SOURCE]
    return b""


def cut(path: Path, frames: int, output: Path) -> None:
    """Writes the first `frames` frames of a capture, and the interfaces before them, to another file."""
    kept = 0
    for item, end in _items(path):
        if isinstance(item, CapturedPacket) and item.number > frames:
            break
        kept = end
    output.write_bytes(path.read_bytes()[:kept])
