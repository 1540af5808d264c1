# SPDX-License-Identifier: GPL-2.0-or-later
"""One end of a meeting on a real link: a program with its own sockets, or a pipe program whose packets are carried
between its pipe and a socket."""

from __future__ import annotations

import contextlib
import socket
import time
from abc import ABC, abstractmethod

from netblt_conformance.bakeoff.contestants import Contestant
from netblt_conformance.bakeoff.hosts import Host
from netblt_conformance.common import namespaces
from netblt_conformance.common.errors import HarnessError, ImplementationError
from netblt_conformance.common.model import Digest, Encapsulation, Start, Status
from netblt_conformance.links.base import NEVER_US
from netblt_conformance.links.pipe import PipeEndpoint
from netblt_conformance.links.program import Program
from netblt_conformance.links.stamps import StallMeter
from netblt_conformance.links.virtual import Output
from netblt_conformance.packets import ipv4

# A deadline may stay in the past so often without a packet.
_STUCK_STEPS = 1_000
_BUFFER_BYTES = 4 * 1024 * 1024
_LARGEST_DATAGRAM = 65_535
_TURN_PACKETS = 64  # that are given to it before the deadlines of both ends are looked at again
_US_PER_S = 1_000_000


class Player(ABC):
    """Calls raise ImplementationError when the implementation crashed or hangs, HarnessError when it cannot be run."""

    @abstractmethod
    def start(self, start: Start) -> None: ...

    @property
    def descriptor(self) -> int | None:
        """What to wait for."""
        return None

    @property
    def wait_s(self) -> float | None:
        """How long until serve() has to be called, if nothing arrives."""
        return None

    def serve(self) -> None:
        """Takes what has arrived and runs what is due."""
        return

    @abstractmethod
    def status(self) -> Status: ...

    @abstractmethod
    def reason(self) -> str: ...

    @abstractmethod
    def digest(self) -> Digest:
        """What its client received."""

    @abstractmethod
    def close(self) -> None: ...


class ProgramPlayer(Player):
    """A program with sockets of its own."""

    def __init__(self, contestant: Contestant, host: Host, meter: StallMeter) -> None:
        self._contestant = contestant
        # Exit status 127 means "not supported" to a run of cases. Here it is a failure: the adapter states the role.
        self._program = Program(contestant.adapter, host, meter, role_works=False)

    def start(self, start: Start) -> None:
        self._program.start(start, self._contestant.adapter.roles[start.role])

    def status(self) -> Status:
        return self._program.status()

    def reason(self) -> str:
        return self._program.reason()

    def digest(self) -> Digest:
        return self._program.digest()

    def close(self) -> None:
        self._program.close(then=lambda: None)


class CarriedPlayer(Player):
    """A pipe program in real time: its packets go out through a socket of its host, and arrive there."""

    def __init__(self, contestant: Contestant, host: Host) -> None:
        self._host = host
        self._began_ns = time.monotonic_ns()
        self._idle_steps = 0
        self._udp_peer = host.udp_port  # a peer is answered where it spoke from
        self._endpoint = PipeEndpoint(contestant.adapter)
        self._socket: socket.socket | None = None

    def _now_us(self) -> int:
        return (time.monotonic_ns() - self._began_ns) // 1_000

    def start(self, start: Start) -> None:
        self._socket = self._open_socket()
        self._began_ns = time.monotonic_ns()
        self._send(self._endpoint.start(start, 0))

    def _open_socket(self) -> socket.socket:
        with namespaces.elsewhere(self._host.namespace):
            if self._host.encapsulation is Encapsulation.IP:
                sock = socket.socket(socket.AF_INET, socket.SOCK_RAW | socket.SOCK_CLOEXEC, ipv4.NETBLT_PROTOCOL)
            else:
                sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC)
        port = self._host.udp_port if self._host.encapsulation is Encapsulation.UDP else 0
        try:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _BUFFER_BYTES)
            sock.bind((self._host.address, port))
        except OSError as error:
            sock.close()
            raise HarnessError(f"no socket for {self._host.address}: {error.strerror}") from None
        sock.setblocking(False)
        return sock

    @property
    def descriptor(self) -> int | None:
        return self._socket.fileno() if self._socket is not None else None

    @property
    def wait_s(self) -> float | None:
        deadline_us = self._endpoint.deadline_us()
        return None if deadline_us == NEVER_US else max(0, deadline_us - self._now_us()) / _US_PER_S

    def serve(self) -> None:
        for _ in range(_TURN_PACKETS):
            arrived = self._arrived()
            if arrived is None:
                break
            self._idle_steps = 0
            self._send(self._endpoint.packet(*arrived, self._now_us()))
        now_us = self._now_us()
        if self._endpoint.deadline_us() <= now_us:
            output = self._endpoint.advance(now_us)
            self._idle_steps = 0 if output or self._endpoint.deadline_us() > now_us else self._idle_steps + 1
            if self._idle_steps > _STUCK_STEPS:
                raise ImplementationError("hangs: its next deadline stays in the past and nothing happens")
            self._send(output)

    def _arrived(self) -> tuple[bytes, bytes] | None:
        """Source and NETBLT packet of the next datagram of the peer."""
        assert self._socket is not None
        while True:
            try:
                data, (address, port) = self._socket.recvfrom(_LARGEST_DATAGRAM)
            except (BlockingIOError, ConnectionRefusedError):
                return None
            if address != self._host.peer_address:
                continue
            source = socket.inet_aton(address)
            if self._host.encapsulation is Encapsulation.UDP:
                self._udp_peer = port
                return source, data
            with contextlib.suppress(ipv4.ForeignPacketError):  # a raw socket hands over the IPv4 header too
                return source, ipv4.unwrap(data).payload

    def _send(self, output: list[Output]) -> None:
        assert self._socket is not None
        for destination, packet in output:
            to = socket.inet_ntoa(destination), self._udp_peer if self._host.encapsulation is Encapsulation.UDP else 0
            try:
                # A peer that has ended has no socket any more: an ICMP message about the packet before is not of
                # interest. A full buffer of the kernel loses a packet, as a network card does.
                with contextlib.suppress(ConnectionRefusedError, BlockingIOError):
                    self._socket.sendto(packet, to)
            except OSError as error:
                raise ImplementationError(f"sends a packet that cannot leave, to {to[0]}: {error.strerror}") from None

    def status(self) -> Status:
        return self._endpoint.status()

    def reason(self) -> str:
        return self._endpoint.reason()

    def digest(self) -> Digest:
        return self._endpoint.digest()

    def close(self) -> None:
        self._endpoint.close()
        self._endpoint.end()
        if self._socket is not None:
            self._socket.close()


def player(contestant: Contestant, host: Host, meter: StallMeter) -> Player:
    return CarriedPlayer(contestant, host) if contestant.carried else ProgramPlayer(contestant, host, meter)
