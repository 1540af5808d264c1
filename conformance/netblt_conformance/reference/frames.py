# SPDX-License-Identifier: GPL-2.0-or-later
"""The packets of a capture, by connection: two addresses and two ports on one capture interface."""

from __future__ import annotations

import ipaddress
import itertools
import struct
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from netblt_conformance.packets import captures, ipv4
from netblt_conformance.packets.ip_layer import ip_packet
from netblt_conformance.packets.offload import packet_bytes
from netblt_conformance.simlib import guided

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
    hides_more: bool  # more packets followed in the datagram, and the capture cut off their headers

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
    return [frame for packet in captures.read(path) for frame in _frames(packet)]


def _frames(packet: captures.CapturedPacket) -> Iterator[Frame]:
    """The NETBLT packets in a captured frame: none, one, or several in one UDP datagram."""
    ip = ip_packet(packet.interface.link_type, packet.data, packet.original_length)
    if ip is None or ip.fragment:
        return
    payload = packet.data[ip.begin : ip.end]
    missing = max(0, min(ip.end, packet.original_length) - len(packet.data))
    captured, udp = len(payload), ip.protocol == ipv4.UDP_PROTOCOL
    payload += bytes(missing)
    size = len(payload)
    if udp:
        inner = ipv4.udp_payload(payload)
        if inner is None or (first := guided.read(inner)).fault:
            return
        captured, payload = max(0, captured - ipv4.UDP_HEADER_BYTES), inner
        size = packet_bytes(inner, len(inner))
        if missing:  # the header of a second packet may have been cut off
            size = min(size, (first.length + 3) & ~3)
    elif ip.protocol != ipv4.NETBLT_PROTOCOL:
        return
    for number, at in enumerate(range(0, max(len(payload), 1), max(size, 1))):
        if at > max(captured - _HEADER_BYTES, 0):
            return
        part = payload[at : at + size]
        there = min(captured - at, len(part))
        hides_more = captured - _HEADER_BYTES < at + size < len(payload)
        yield Frame(
            packet.number,
            packet.interface.number,
            packet.time_ns // _US,
            ip.source,
            ip.destination,
            (ip.identification + number) & 0xFFFF if ip.identification else ip.identification,
            guided.read(part),
            there < len(part),
            there,
            udp,
            hides_more,
        )


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
