# SPDX-License-Identifier: GPL-2.0-or-later
"""Hand-made packets and a raw socket: just enough of a peer to ask the command what it answers.

Own arithmetic on purpose: neither the scapy layer nor the endpoint takes part in it.
"""

from __future__ import annotations

import socket
import struct
import time
from typing import NamedTuple

PROTOCOL = 30
MOMENT_S = 0.3
DEADLINE_S = 30.0
TYPE_OPEN, TYPE_RESPONSE, TYPE_KEEPALIVE, TYPE_ABORT, TYPE_DATA, TYPE_CONTROL, TYPE_REFUSED = 0, 1, 2, 5, 6, 9, 10


class Answer(NamedTuple):
    type: int
    local_port: int
    foreign_port: int


def checksum(data: bytes) -> int:
    """RFC 998 5.1: the complement of the ones-complement sum of 16-bit words."""
    if len(data) % 2:
        data += b"\0"
    total: int = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def open_packet(
    local_port: int, foreign_port: int, *, write: bool = True, version: int = 2, client_string: bytes = b""
) -> bytes:
    """An OPEN (RFC 998 section 8)."""
    body = struct.pack("!IIIHHHHHH", 0x12345678, 14560, 0, 1456, 4, 10, 30, 1 if write else 0, 2)
    body += client_string + bytes(4 - len(client_string) % 4)
    length = 12 + len(body)
    header = struct.pack("!BBHHHH", version, TYPE_OPEN, length, local_port, foreign_port, 0)
    return struct.pack("!H", checksum(b"\0\0" + header + body)) + header + body


def keepalive_packet(local_port: int, foreign_port: int) -> bytes:
    """A KEEPALIVE: a header and nothing more."""
    header = struct.pack("!BBHHHH", 2, TYPE_KEEPALIVE, 12, local_port, foreign_port, 0)
    return struct.pack("!H", checksum(b"\0\0" + header)) + header


def data_packet(local_port: int, foreign_port: int, data: bytes, *, buffer: int, number: int, high_seq: int) -> bytes:
    """A DATA packet that acknowledges the control messages up to high_seq."""
    header = struct.pack("!BBHHHH", 2, TYPE_DATA, 24 + len(data), local_port, foreign_port, 0)
    fields = struct.pack("!IHHHH", buffer, high_seq, number, checksum(data), 0)
    return struct.pack("!H", checksum(b"\0\0" + header + fields)) + header + fields + data


def go_packet(local_port: int, foreign_port: int, *, buffer: int, seq: int) -> bytes:
    """A CONTROL packet with one GO."""
    header = struct.pack("!BBHHHH", 2, TYPE_CONTROL, 20, local_port, foreign_port, 0)
    message = struct.pack("!BBHI", 0, 0, seq, buffer)
    return struct.pack("!H", checksum(b"\0\0" + header + message)) + header + message


class RawPeer:
    """A raw IP protocol 30 socket in the namespace where it is made."""

    def __init__(self, address: str) -> None:
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_RAW, PROTOCOL)
        self.socket.bind((address, 0))

    def __enter__(self) -> RawPeer:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def send(self, packet: bytes, to: str) -> None:
        self.socket.sendto(packet, (to, 0))

    def datagrams(self, wanted: int) -> list[bytes]:
        """What comes back, IP headers and all: so many as are wanted, and what more comes within a moment."""
        datagrams: list[bytes] = []
        end = time.monotonic() + (MOMENT_S if wanted == 0 else DEADLINE_S)
        while (left := end - time.monotonic()) > 0:
            self.socket.settimeout(left)
            try:
                datagrams.append(self.socket.recv(65535))
            except TimeoutError:
                break
            if len(datagrams) == wanted:
                end = time.monotonic() + MOMENT_S
        return datagrams

    def answers(self, wanted: int) -> list[Answer]:
        """The NETBLT packets among them."""
        packets = [datagram[(datagram[0] & 15) * 4 :] for datagram in self.datagrams(wanted)]
        return [Answer(*struct.unpack("!3xB2xHH", packet[:10])) for packet in packets]
