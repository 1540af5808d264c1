# SPDX-License-Identifier: GPL-2.0-or-later
"""The words that links, peers and cases share: roles, parameters, status, digest."""

from __future__ import annotations

import enum
import hashlib
import ipaddress
from dataclasses import dataclass, field

MICROSECONDS_PER_MS = 1_000
MICROSECONDS_PER_S = 1_000_000


@dataclass(frozen=True, slots=True)
class Role:
    """The part that the implementation under test plays: who opens, and which way the data flows."""

    active: bool
    sender: bool

    def __str__(self) -> str:
        return f"{'active' if self.active else 'passive'}-{'sender' if self.sender else 'receiver'}"

    @property
    def opposite(self) -> Role:
        """The role of the end that meets it."""
        return Role(active=not self.active, sender=not self.sender)


ACTIVE_SENDER = Role(active=True, sender=True)
ACTIVE_RECEIVER = Role(active=True, sender=False)
PASSIVE_SENDER = Role(active=False, sender=True)
PASSIVE_RECEIVER = Role(active=False, sender=False)
ALL_ROLES = (ACTIVE_SENDER, ACTIVE_RECEIVER, PASSIVE_SENDER, PASSIVE_RECEIVER)
ROLES_BY_NAME = {str(role): role for role in ALL_ROLES}


@dataclass(frozen=True, slots=True)
class Parameters:
    """What one end proposes (active) or can do at most (passive). Small by default, so that real time stays short."""

    buffer_size: int = 1024
    packet_size: int = 256
    burst_size: int = 8
    burst_interval_ms: int = 10
    death_timer_s: int = 30
    max_buffers: int = 2
    data_checksum: bool = False
    version: int = 2
    client_string: str = ""
    client_stall_from: int = 0  # the client withholds buffers with this index and above ...
    client_stall_until_us: int = 0  # ... until this time; 0 = never

    @property
    def packets_per_buffer(self) -> int:
        return -(-self.buffer_size // self.packet_size)


@dataclass(frozen=True, slots=True)
class Start:
    """Everything that starts one end of one transfer."""

    role: Role
    parameters: Parameters
    local_address: bytes  # IPv4, of the implementation under test
    foreign_address: bytes  # IPv4, of the tester
    local_port: int  # passive: listened to; active: a wish that a program may ignore
    foreign_port: int  # active: opened
    seed: int
    test_id: str
    data: bytes = b""  # what a sender sends


class Status(enum.IntEnum):
    """What the client of the implementation under test knows. The numbers are those of netblt_iut.h and the pipe."""

    OPENING = 0
    OPEN = 1
    DONE = 2
    FAILED = 3
    CLOSED_DONE = 4
    CLOSED_FAILED = 5

    @property
    def succeeded(self) -> bool:
        return self in (Status.DONE, Status.CLOSED_DONE)

    @property
    def failed(self) -> bool:
        return self in (Status.FAILED, Status.CLOSED_FAILED)

    @property
    def closed(self) -> bool:
        return self in (Status.CLOSED_DONE, Status.CLOSED_FAILED)


class Stop(enum.Enum):
    QUIT = "quit"  # the client asks to quit (RFC 998 5.3.2)
    ABORT = "abort"  # the NETBLT layer aborts (RFC 998 5.3.3)


@dataclass(frozen=True, slots=True)
class Digest:
    """What was delivered: compared, never carried."""

    length: int
    sha256: str = field(repr=False)

    @classmethod
    def of(cls, data: bytes) -> Digest:
        return cls(len(data), hashlib.sha256(data).hexdigest())

    def __str__(self) -> str:
        return f"{self.length} bytes, SHA-256 {self.sha256[:12]}"


def address_text(address: bytes) -> str:
    return str(ipaddress.IPv4Address(address))


class Feature(enum.Enum):
    CLIENT_STALL = "client stall"  # the client can withhold buffers until a time
    QUIT = "quit"  # the client can be asked to quit
    ABORT = "abort"  # the NETBLT layer can be made to abort
    REAL_PACKETS = "real IP packets"  # what carries NETBLT is the implementation's work
    DATAGRAMS = "real UDP datagrams"  # the same, where the carrier is UDP
    SECOND_ADDRESS = "second address"  # the tester can speak from another address
    REPLAY = "tcpreplay"  # prepared packets can be sent at once, as fast as the machine can
    LONG = "more than a minute for one case (--long)"  # the user waits so long


class Encapsulation(enum.Enum):
    """RFC 998's own place above IP (WIRE-01), or the project's way through networks that let only UDP pass."""

    IP = "ip"
    UDP = "udp"


DEFAULT_UDP_PORT = 9980
