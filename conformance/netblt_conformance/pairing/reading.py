# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads the NETBLT packets of a capture into columns, one table for each capture point."""

from __future__ import annotations

import ipaddress
import shutil
import struct
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from netblt_conformance.common.errors import JudgeError
from netblt_conformance.common.model import DEFAULT_UDP_PORT
from netblt_conformance.packets import captures, etftp
from netblt_conformance.packets.captures import CapturedPacket
from netblt_conformance.packets.ip_layer import ip_packet
from netblt_conformance.packets.ipv4 import NETBLT_PROTOCOL, UDP_HEADER_BYTES, UDP_PROTOCOL
from netblt_conformance.packets.offload import packet_bytes
from netblt_conformance.wire.fast import checksum_ok, sums_to_ffff

Integers = npt.NDArray[np.int64]

# Of each packet so many bytes are compared and kept: they hold every header. Of a CONTROL all is kept: it may have
# dozens of messages.
HEAD_BYTES = 128
NO_ID = -1
_CONTROL = bytes([9])  # the type
_PCAPNG_MAGIC = b"\x0a\x0d\x0d\x0a"
_UDP_PORTS = frozenset((DEFAULT_UDP_PORT, etftp.SERVER_PORT))


class Flow(NamedTuple):
    """The packets from one address to another; the ports are those of UDP, 0 without UDP."""

    source: str
    destination: str
    source_port: int
    destination_port: int

    @property
    def back(self) -> Flow:
        return Flow(self.destination, self.source, self.destination_port, self.source_port)


class _Carried(NamedTuple):
    """A NETBLT packet, and what carried it."""

    flow: tuple[bytes, bytes, int, int]
    identification: int
    payload: bytes
    length: int  # on the wire, in bytes


@dataclass(slots=True)
class Point:
    """The NETBLT packets that one capture point saw, in the order of the capture: columns of equal length."""

    name: str  # for people: the file, and the interface where the file has several
    path: Path
    interface: int
    flows: list[Flow]
    frame: Integers
    time_ns: Integers  # since 1970, on the clock of this capture
    flow: Integers  # number in `flows`
    length: Integers  # bytes of NETBLT packet on the wire
    captured: Integers  # bytes of it that are in the file
    whole: Integers  # hash of these
    identification: Integers  # of IPv4; NO_ID where there is none
    head: list[bytes]  # the first HEAD_BYTES; all of a CONTROL
    dropped: int = 0  # packets that the capture program reports as missed

    def __len__(self) -> int:
        return len(self.frame)


@dataclass(slots=True)
class _Columns:
    """A Point while it is read."""

    name: str
    number: int
    flows: dict[tuple[bytes, bytes, int, int], int] = field(default_factory=dict)
    sure: set[int] = field(default_factory=set)  # flows that are NETBLT beyond doubt
    rows: list[tuple[int, int, int, int, int, int, int]] = field(default_factory=list)
    head: list[bytes] = field(default_factory=list)
    dropped: int = 0

    def add(self, packet: CapturedPacket, carried: _Carried) -> None:
        flow = self.flows.setdefault(carried.flow, len(self.flows))
        payload = carried.payload
        if flow not in self.sure and _is_netblt(carried.flow, payload):
            self.sure.add(flow)
        self.rows.append(
            (packet.number, packet.time_ns, flow, carried.length, len(payload), hash(payload), carried.identification)
        )
        self.head.append(payload if payload[3:4] == _CONTROL else payload[:HEAD_BYTES])

    def point(self, path: Path, several: bool) -> Point:
        table = np.array(self.rows, dtype=np.int64).reshape(-1, 7)
        kept = np.isin(table[:, 2], list(self.sure))
        frame, time_ns, flow, length, captured, whole, identification = np.ascontiguousarray(table[kept].T)
        head = [one for one, wanted in zip(self.head, kept, strict=True) if wanted] if not kept.all() else self.head
        name = f"{path.name} ({self.name})" if several else path.name
        flows = [Flow(_address(a), _address(b), c, d) for a, b, c, d in self.flows]
        return Point(
            name=name,
            path=path,
            interface=self.number,
            flows=flows,
            frame=frame,
            time_ns=time_ns,
            flow=flow,
            length=length,
            captured=captured,
            whole=whole,
            identification=identification,
            head=head,
            dropped=self.dropped,
        )


def _is_netblt(flow: tuple[bytes, bytes, int, int], payload: bytes) -> bool:
    """False when nothing shows it; another packet of the flow may."""
    ports = flow[2:]
    if ports == (0, 0) or not _UDP_PORTS.isdisjoint(ports) or checksum_ok(payload):
        return True
    return len(payload) >= 24 and payload[3] in (6, 7) and sums_to_ffff(payload[:24])  # DATA that was cut


def _address(packed: bytes) -> str:
    return str(ipaddress.ip_address(packed))


def points(path: Path) -> list[Point]:
    """A Point for each interface of the file on which NETBLT packets were captured. JudgeError when the file cannot be
    read."""
    seen: dict[tuple[int, int], _Columns] = {}
    sections = 0
    with pcapng_of(path) as file:
        for item in captures.items(file):
            if isinstance(item, captures.Interface):
                sections += item.number == 0
            elif isinstance(item, captures.Statistics):
                columns = seen.get((sections, item.interface.number))
                if columns is not None:
                    columns.dropped += item.dropped or 0
            else:
                carried = list(carried_by(item))
                if carried:
                    key = sections, item.interface.number
                    columns = seen.get(key) or seen.setdefault(
                        key, _Columns(item.interface.name, item.interface.number)
                    )
                    for one in carried:
                        columns.add(item, one)
    found = [one for one in seen.values() if one.sure]
    return [one.point(path, len(found) > 1) for one in found]


class pcapng_of:  # noqa: N801 (used as a function)
    """The file as pcapng: itself, or a copy that Wireshark's editcap makes of another format or of a packed file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    def __enter__(self) -> Path:
        try:
            with self._path.open("rb") as file:
                if file.read(4) == _PCAPNG_MAGIC:
                    return self._path
        except OSError as error:
            raise JudgeError(f"{self._path}: {error.strerror}") from None
        program = shutil.which("editcap")
        if program is None:
            raise JudgeError("editcap is not installed (package wireshark-common); run tools/setup")
        self._folder = tempfile.TemporaryDirectory(prefix="netblt-pair-")
        copy = Path(self._folder.name) / self._path.name
        done = subprocess.run(
            [program, "-F", "pcapng", str(self._path), str(copy)], capture_output=True, text=True, check=False
        )
        if done.returncode:
            words = done.stderr.strip().splitlines() or ["no reason given"]
            raise JudgeError(f"{self._path}: cannot be read: {words[-1].removeprefix('editcap: ')}")
        return copy

    def __exit__(self, *_: object) -> None:
        if self._folder is not None:
            self._folder.cleanup()


def carried_by(packet: CapturedPacket) -> Iterator[_Carried]:
    """The NETBLT packets in a frame: none, one, or several in one UDP datagram."""
    data = packet.data
    ip = ip_packet(packet.interface.link_type, data, packet.original_length)
    if ip is None:
        return
    at, end = ip.begin, ip.end
    identification = NO_ID if ip.identification is None else ip.identification
    if ip.protocol == NETBLT_PROTOCOL:
        yield _Carried((ip.source, ip.destination, 0, 0), identification, data[at:end], end - at)
    elif ip.protocol == UDP_PROTOCOL and not ip.later_fragment and at + UDP_HEADER_BYTES <= len(data):
        source_port, destination_port, length = struct.unpack_from(">HHH", data, at)
        end = min(end, at + length) if length >= UDP_HEADER_BYTES else end
        payload = data[at + UDP_HEADER_BYTES : end]
        flow = ip.source, ip.destination, source_port, destination_port
        yield from _split(flow, identification, payload, end - at - UDP_HEADER_BYTES)


def _split(flow: tuple[bytes, bytes, int, int], identification: int, payload: bytes, length: int) -> Iterator[_Carried]:
    size = packet_bytes(payload, length)
    for number, at in enumerate(range(0, max(length, 1), max(size, 1))):
        own = identification if identification == NO_ID else (identification + number) & 0xFFFF
        yield _Carried(flow, own, payload[at : at + size], min(size, length - at))
