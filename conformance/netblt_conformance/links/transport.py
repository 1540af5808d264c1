# SPDX-License-Identifier: GPL-2.0-or-later
"""How real packets get from the tester to an implementation and back. The tester and everything that it writes down
know the implementation as 192.0.2.2, whatever address it really has; a transport translates."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from netblt_conformance.common.model import Encapsulation


@dataclass(frozen=True, slots=True)
class Heard:
    """A packet on the wire, at the tester."""

    time_ns: int  # of the monotonic clock, by the kernel where it states it
    packet: bytes  # from the IPv4 header on
    sent: bool  # by the tester
    payload: bytes | None  # NETBLT and what follows its Length; None: a packet of another protocol
    source: bytes
    destination: bytes


class Surroundings(ABC):
    """Where the program of an implementation runs, and how its packets are carried."""

    encapsulation: Encapsulation

    @abstractmethod
    def values(self) -> dict[str, str]:
        """What the placeholders for addresses and UDP ports mean here."""

    @abstractmethod
    def before_exec(self) -> None:
        """In the implementation's child before exec: goes where it shall live."""

    @abstractmethod
    def listens(self, pid: int) -> bool:
        """Whether the implementation has a socket on which a packet of its peer can arrive."""


class Transport(Surroundings):
    """One way, for one case. OSError from any call is a fault of the machine."""

    mtu: int
    second_address: bool  # whether the tester can also speak as 192.0.2.3

    @abstractmethod
    def send(self, packet: bytes, source: bytes, identification: int) -> list[Heard]:
        """Sends a NETBLT packet. Answers what was on the wire up to and with it, in order; it is the last one."""

    @abstractmethod
    def receive(self, timeout_s: float) -> Heard | None:
        """The next packet of the implementation's host."""

    @property
    @abstractmethod
    def can_replay(self) -> bool:
        """Whether it can send packets at top speed."""

    @abstractmethod
    def replay(self, packets: Sequence[bytes], source: bytes, loops: int) -> None:
        """Sends NETBLT packets at top speed; more than one loop: unheard. Only where `can_replay` holds."""

    @abstractmethod
    def close(self) -> None: ...
