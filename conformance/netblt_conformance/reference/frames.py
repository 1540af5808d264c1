# SPDX-License-Identifier: GPL-2.0-or-later
"""The packets of a capture, by connection: two addresses and two ports on one capture interface."""

from __future__ import annotations

import ipaddress
import itertools
import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from netblt_conformance.packets import captures, ipv4
from netblt_conformance.packets.link_layer import ip_header_at
from netblt_conformance.simlib import guided

_IPV6_BYTES = 40
_US = 1000
_OTHER_VERSIONS = (4, 5)
_ETFTP_FLAGS = 0xC  # T and R
_HEADER_BYTES = 12

Place = tuple[bytes, int]  # address and port of an end


@dataclass(frozen=True, slots=True)
class Frame:
    """One NETBLT packet."""

    number: int
    interface: int
    time_us: int
    source: bytes
    destination: bytes
    ip_id: int | None  # None: IPv6
    read: guided.Read
    cut: bool  # the capture holds only its beginning: the rest was filled with zeros
    captured: int  # bytes of the NETBLT packet in the capture
    udp: bool

    @property
    def places(self) -> tuple[Place, Place]:
        """Where it came from, and where it went."""
        ports = struct.unpack_from(">HH", self.read.raw.ljust(_HEADER_BYTES, b"\0"), 6)
        return (self.source, ports[0]), (self.destination, ports[1])


@dataclass(slots=True)
class Conversation:
    """All packets between two places, in the order of the capture."""

    places: tuple[Place, Place]
    frames: list[Frame] = field(default_factory=list)


def place_text(place: Place) -> str:
    return f"{ipaddress.ip_address(place[0])} port {place[1]}"


def read(path: Path) -> list[Frame]:
    """The NETBLT packets of a pcapng file. BrokenCaptureError when it cannot be read."""
    found = (_frame(packet) for packet in captures.read(path))
    return [frame for frame in found if frame is not None]


def _frame(packet: captures.CapturedPacket) -> Frame | None:
    skipped = ip_header_at(packet.interface.link_type, packet.data)
    if skipped < 0:
        return None
    data = packet.data[skipped:]
    cut = packet.original_length > len(packet.data)
    if cut:
        data += bytes(packet.original_length - len(packet.data))
    carried = _carried(data)
    if carried is None:
        return None
    source, destination, ip_id, payload, udp = carried
    time_us = packet.time_ns // _US
    number = packet.interface.number
    captured = len(payload) - (packet.original_length - len(packet.data) if cut else 0)
    return Frame(packet.number, number, time_us, source, destination, ip_id, guided.read(payload), cut, captured, udp)


def _carried(data: bytes) -> tuple[bytes, bytes, int | None, bytes, bool] | None:
    """Addresses, IP ID and payload of an IP packet that carries NETBLT, and whether UDP carries it."""
    if data and data[0] >> 4 == 6:
        if len(data) <= _IPV6_BYTES or data[6] != ipv4.NETBLT_PROTOCOL:
            return None
        length = int.from_bytes(data[4:6], "big")
        return data[8:24], data[24:40], None, data[_IPV6_BYTES : _IPV6_BYTES + length], False
    try:
        datagram = ipv4.unwrap(data)
    except ipv4.ForeignPacketError:
        return None
    if datagram.fragment:
        return None
    ip_id = int.from_bytes(data[4:6], "big")
    if datagram.protocol == ipv4.NETBLT_PROTOCOL:
        return datagram.source, datagram.destination, ip_id, datagram.payload, False
    inner = ipv4.unwrap_udp(datagram)
    if inner is None or guided.read(inner.payload).fault:
        return None
    return datagram.source, datagram.destination, ip_id, inner.payload, True


def conversations(frames: Iterable[Frame]) -> list[Conversation]:
    """The frames by interface, addresses and ports, in the order of their first frames. A frame that the network copied
    is left out: it has the IP ID and the bytes of one before."""
    found: dict[tuple[int, frozenset[Place]], Conversation] = {}
    seen: set[tuple[int, bytes, int, bytes]] = set()
    for frame in frames:
        if frame.ip_id:
            same = (frame.interface, frame.source, frame.ip_id, frame.read.raw)
            if same in seen:
                continue
            seen.add(same)
        key = frame.interface, frozenset(frame.places)
        found.setdefault(key, Conversation(frame.places)).frames.append(frame)
    return [conversation for conversation in found.values() if _is_rfc998(conversation)]


def _is_rfc998(conversation: Conversation) -> bool:
    """Not version 4 or ETFTP, whose OPEN has other fields where RFC 998 has reserved flags."""
    openings = [frame for frame in conversation.frames if frame.read.type in (guided.OPEN, guided.RESPONSE)]
    etftp = any(frame.udp and frame.read.flags & _ETFTP_FLAGS for frame in openings)
    return not etftp and all(frame.read.version not in _OTHER_VERSIONS for frame in openings)


def gapless(frames: Sequence[Frame], source: bytes) -> bool:
    """Whether the IP IDs of a host go up by one from frame to frame, so that none of its packets is missing."""
    ids = [frame.ip_id for frame in frames if frame.source == source]
    steps = {(b - a) & 0xFFFF if a is not None and b is not None else None for a, b in itertools.pairwise(ids)}
    return None not in ids and steps <= {1}


def ascending(frames: Sequence[Frame], source: bytes) -> bool:
    """Whether the IP IDs of a host go up, so that its packets were captured in the order in which they left."""
    ids = [frame.ip_id for frame in frames if frame.source == source]
    if None in ids:
        return False
    return all(0 < ((b or 0) - (a or 0)) & 0xFFFF < 0x8000 for a, b in itertools.pairwise(ids))
