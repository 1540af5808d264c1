# SPDX-License-Identifier: GPL-2.0-or-later
"""A skeleton of a NETBLT endpoint: a passive receiver that refuses every OPEN. Replace its parts by calls of your
implementation. The file pipe.py reads and writes the pipe and stays as it is."""

from __future__ import annotations

import struct
from dataclasses import dataclass

OPEN, REFUSED = 0, 10
HEADER_BYTES, OPEN_BYTES = 12, 36
OPENING, IS_OPEN, DONE, FAILED, CLOSED_DONE, CLOSED_FAILED = range(6)
NEVER = 2**64 - 1


class UnsupportedError(Exception):
    """The answer is UNSUPPORTED: the case is N/A."""


@dataclass(frozen=True)
class Start:
    """What the request START gives, and in this order. Moments are microseconds since the case began."""

    active: bool
    sender: bool
    version: int
    data_checksum: bool
    local_port: int
    foreign_port: int
    buffer_size: int
    packet_size: int
    burst_size: int
    burst_interval_ms: int
    death_timer_s: int
    max_buffers: int
    stall_from: int
    stall_until_us: int
    seed: int
    local_address: bytes
    foreign_address: bytes
    client_string: str = ""
    test_id: str = ""
    data: bytes = b""


def ones_sum(octets: bytes) -> int:
    """The sum of the Internet checksum (RFC 1071): 0xffff over a packet whose checksum is right."""
    octets += bytes(len(octets) % 2)
    total: int = sum(struct.unpack(f">{len(octets) // 2}H", octets))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total


def packet(kind: int, version: int, local_port: int, foreign_port: int, body: bytes) -> bytes:
    """A NETBLT packet: header, checksum, and zeros up to a multiple of 4 bytes."""
    length = HEADER_BYTES + len(body)
    raw = struct.pack(">HBBHHHH", 0, version, kind, length, local_port, foreign_port, 0) + body
    return struct.pack(">H", ~ones_sum(raw) & 0xFFFF) + raw[2:] + bytes(-length % 4)


class Endpoint:
    def __init__(self, start: Start, now_us: int) -> None:  # noqa: ARG002  # timers will need the moment
        if start.active or start.sender:
            raise UnsupportedError("only a passive receiver is implemented")
        if start.stall_until_us:
            raise UnsupportedError("a client that stalls is not implemented")
        self.start = start
        self.outputs: list[tuple[bytes, bytes]] = []  # destination address and packet; pipe.py empties it
        self.deadline_us = NEVER  # next: the moment of the earliest timer that runs
        self.status, self.reason = OPENING, ""
        self.delivered = b""
        self.peer_string = ""

    def on_packet(self, now_us: int, source: bytes, raw: bytes) -> None:  # noqa: ARG002
        """Next: answer an OPEN by a RESPONSE and a CONTROL packet with GO, and take DATA and LDATA (RFC 998 section
        5)."""
        if len(raw) < OPEN_BYTES or raw[3] != OPEN:
            return
        length, theirs, ours = struct.unpack_from(">HHH", raw, 4)
        if not OPEN_BYTES <= length <= len(raw) or ones_sum(raw[:length]) != 0xFFFF:
            return
        reason = b"not implemented yet\0" if ours == self.start.local_port else b"nobody listens on this port\0"
        self.outputs.append((source, packet(REFUSED, self.start.version, ours, theirs, reason)))

    def advance(self, now_us: int) -> None:
        """Next: retransmit the CONTROL packet, request missing packets, send KEEPALIVE, detect a dead peer."""

    def stop(self, now_us: int, abort: bool, reason: str) -> None:  # noqa: ARG002
        raise UnsupportedError("the client cannot quit or abort yet")
