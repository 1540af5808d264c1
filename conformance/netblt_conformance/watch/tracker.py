# SPDX-License-Identifier: GPL-2.0-or-later
"""Connections as they pass by: state and throughput, from packet headers alone. Judging is the plugin's business."""

from __future__ import annotations

import enum
import ipaddress
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field

from netblt_conformance.packets.ip_layer import ip_packet
from netblt_conformance.packets.ipv4 import NETBLT_PROTOCOL, UDP_HEADER_BYTES, UDP_PROTOCOL, internet_checksum
from netblt_conformance.packets.packets import DATA_HEADER_BYTES, DATA_TYPES, HEADER_BYTES, Type

_HEADER = struct.Struct(">HBBHHH")
_CLOSING = (Type.DONE, Type.QUIT, Type.QUITACK, Type.ABORT, Type.REFUSED)
_BITS_PER_BYTE, _BITS_PER_MEGABIT = 8, 1e6


class Stage(enum.StrEnum):
    """How far a connection has come."""

    SEEN = "seen"
    OPENING = "opening"
    OPEN = "open"
    TRANSFERRING = "transferring"
    CLOSED = "closed"


@dataclass(frozen=True, slots=True)
class State:
    """The state of a connection, and the type of the packet that closed it."""

    stage: Stage = Stage.SEEN
    closed_by: Type | None = None

    @property
    def closed(self) -> bool:
        return self.stage is Stage.CLOSED

    def __str__(self) -> str:
        return self.stage + (f" ({self.closed_by.name})" if self.closed_by is not None else "")


@dataclass(slots=True)
class Flow:
    """One pair of ends."""

    title: str
    state: State = State()
    first_s: float = 0.0
    last_s: float = 0.0
    packets: int = 0
    data_bytes: int = 0  # in DATA and LDATA packets, retransmitted ones included
    reported_bytes: int = 0
    reported_s: float = 0.0

    def megabits(self) -> float:
        """Data per second from the first packet to the last."""
        elapsed = self.last_s - self.first_s
        return self.data_bytes * _BITS_PER_BYTE / elapsed / _BITS_PER_MEGABIT if elapsed > 0 else 0.0

    def megabits_lately(self) -> float:
        """The same since it was asked last."""
        elapsed, moved = self.last_s - self.reported_s, self.data_bytes - self.reported_bytes
        self.reported_s, self.reported_bytes = self.last_s, self.data_bytes
        return moved * _BITS_PER_BYTE / elapsed / _BITS_PER_MEGABIT if elapsed > 0 else 0.0


def payload(frame: bytes, link_type: int) -> tuple[str, str, bool, bytes] | None:
    """Source, destination, whether in UDP, and the payload that may hold NETBLT packets."""
    ip = ip_packet(link_type, frame, len(frame))
    if ip is None or ip.later_fragment or ip.protocol not in (NETBLT_PROTOCOL, UDP_PROTOCOL):
        return None
    udp = ip.protocol == UDP_PROTOCOL
    source, destination = (str(ipaddress.ip_address(address)) for address in (ip.source, ip.destination))
    return source, destination, udp, frame[ip.begin + (UDP_HEADER_BYTES if udp else 0) : ip.end]


def packets(data: bytes, udp: bool) -> Iterator[tuple[Type, int, int, int]]:
    """(type, local port, foreign port, data bytes) of every NETBLT packet in a payload; nothing in foreign UDP."""
    at = 0
    while at + HEADER_BYTES <= len(data):
        _sum, _version, code, length, local, foreign = _HEADER.unpack_from(data, at)
        if code > max(Type) or length < HEADER_BYTES or at + length > len(data):
            return
        covered = DATA_HEADER_BYTES if code in DATA_TYPES else length
        if udp and internet_checksum(data[at : at + covered]) != 0:
            return
        yield Type(code), local, foreign, max(0, length - DATA_HEADER_BYTES) if code in DATA_TYPES else 0
        at += -(-length // 4) * 4
        if not udp:
            return


@dataclass(slots=True)
class Tracker:
    flows: dict[tuple[str, str], Flow] = field(default_factory=dict)

    def note(self, frame: bytes, link_type: int, when_s: float) -> list[tuple[Flow, State]]:
        """Takes a frame in; the flows whose state it changes, and the new state."""
        found = payload(frame, link_type)
        if found is None:
            return []
        source, destination, udp, data = found
        changes = []
        for kind, local, foreign, data_bytes in packets(data, udp):
            ends = f"{source}:{local}", f"{destination}:{foreign}"
            key = (min(ends), max(ends))
            flow = self.flows.get(key)
            if flow is None or (kind is Type.OPEN and flow.state.stage not in (Stage.OPENING, Stage.SEEN)):
                flow = self.flows[key] = Flow(" > ".join(ends), first_s=when_s, reported_s=when_s)
            flow.packets, flow.last_s = flow.packets + 1, when_s
            flow.data_bytes += data_bytes
            if flow.state != (state := _state(flow.state, kind)):
                flow.state = state
                changes.append((flow, state))
        return changes


def _state(before: State, kind: Type) -> State:
    """What a packet of this type makes of a connection. What was closed stays so until the next OPEN."""
    if before.closed:
        return before
    if kind in _CLOSING:
        return State(Stage.CLOSED, kind)
    if kind is Type.OPEN:
        return State(Stage.OPENING)
    opens = kind is Type.RESPONSE and before.stage in (Stage.SEEN, Stage.OPENING)
    return State(Stage.OPEN if opens else Stage.TRANSFERRING)
