# SPDX-License-Identifier: GPL-2.0-or-later
"""The pcapng writer (conformance/flakeway/pcapng.h) for Python: the only writer of captures in the project."""

from __future__ import annotations

import enum
import ipaddress
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from netblt_conformance.simlib._native import ffi, lib


class LinkType(enum.IntEnum):
    ETHERNET = 1
    RAW = 101


class CaptureDirection(enum.IntEnum):
    UNKNOWN = 0
    INBOUND = 1
    OUTBOUND = 2


def ipv4_wrap(source: str, destination: str, payload: bytes, identification: int, protocol: int = 30) -> bytes:
    """The IPv4 packet that carries `payload`: TTL 64, checksum set. Give each emitter a climbing identification."""
    header = ffi.new("uint8_t[20]")
    lib.ipv4_header(
        header,
        ipaddress.IPv4Address(source).packed,
        ipaddress.IPv4Address(destination).packed,
        protocol,
        identification & 0xFFFF,
        len(payload),
    )
    return bytes(ffi.buffer(header)) + payload


class PcapngWriter:
    """Writes a capture to memory; save() puts it into a file. Equal calls give equal bytes."""

    def __init__(self, application: str | None = "netblt-conformance") -> None:
        name = ffi.NULL if application is None else application.encode()
        writer = lib.pcapng_new(ffi.NULL, name)
        if writer == ffi.NULL:
            raise MemoryError
        self._writer = ffi.gc(writer, lib.pcapng_free)

    def interface(self, name: str, linktype: int = LinkType.RAW, description: str | None = None) -> int:
        """Adds an interface and answers its number (0, 1, ...)."""
        about = ffi.NULL if description is None else description.encode()
        number = int(lib.pcapng_add_interface(self._writer, name.encode(), about, linktype))
        if number < 0:
            self._fail()
        return number

    def packet(
        self,
        interface: int,
        time_ns: int,
        data: bytes,
        *,
        comment: str | None = None,
        direction: CaptureDirection = CaptureDirection.UNKNOWN,
        packet_id: int = 0,
        original_length: int = 0,
    ) -> None:
        """Appends one packet. The same packet on two interfaces may have the same packet_id. `original_length`: bytes
        on the wire when the capture cut the packet."""
        c_packet = ffi.new("pcapng_packet *")
        c_bytes = ffi.from_buffer("uint8_t[]", data)
        c_comment = ffi.NULL if comment is None else ffi.new("char[]", comment.encode())
        c_packet.interface = interface
        c_packet.time_ns = time_ns
        c_packet.bytes = c_bytes
        c_packet.length = len(data)
        c_packet.original_length = original_length
        c_packet.direction = direction
        c_packet.packet_id = packet_id
        c_packet.comment = c_comment
        if not lib.pcapng_write(self._writer, c_packet):
            self._fail()

    def bytes(self) -> bytes:
        """The file so far."""
        length = ffi.new("size_t *")
        pointer = lib.pcapng_bytes(self._writer, length)
        return bytes(ffi.buffer(pointer, length[0]))

    def save(self, path: str | Path) -> None:
        Path(path).write_bytes(self.bytes())

    @property
    def packets(self) -> int:
        """Packets written."""
        return int(lib.pcapng_packets_written(self._writer))

    def _fail(self) -> None:
        raise OSError(int(lib.pcapng_error(self._writer)), "the capture cannot be written")


@dataclass(frozen=True)
class Record:
    """One captured packet of a file that is written at once."""

    interface: int
    time_ns: int
    octets: bytes
    comment: str | None = None
    original_length: int = 0  # bytes on the wire when the capture cut the packet; 0: it is whole


def pcapng_file(interfaces: Sequence[str], records: Iterable[Record], linktype: int = LinkType.RAW) -> bytes:
    """A whole file, without the name of an application."""
    writer = PcapngWriter(None)
    for name in interfaces:
        writer.interface(name, linktype)
    for one in records:
        writer.packet(one.interface, one.time_ns, one.octets, comment=one.comment, original_length=one.original_length)
    return writer.bytes()
