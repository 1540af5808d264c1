# SPDX-License-Identifier: GPL-2.0-or-later
"""Real packets through this host's own sockets: UDP on loopback where nothing else is allowed, or an implementation
that already runs at an address (raw IP or UDP). Times of arrival are the kernel's."""

from __future__ import annotations

import contextlib
import itertools
import os
import select
import socket
import time
from collections.abc import Sequence
from pathlib import Path

from netblt_conformance.common.errors import HarnessError, LinkUnavailableError
from netblt_conformance.common.model import DEFAULT_UDP_PORT, Encapsulation
from netblt_conformance.links import stamps
from netblt_conformance.links.base import IUT_ADDRESS, STRANGER_ADDRESS, TESTER_ADDRESS
from netblt_conformance.links.transport import Heard, Transport
from netblt_conformance.packets import ipv4

LOOPBACK_MTU = 1500  # what a packet may have on Ethernet: no case needs more
_BUFFER_BYTES = 4 * 1024 * 1024
_SUBNETS = 1 << 14  # 127.64.0 to 127.127.255
_FIRST_SUBNET = 64 << 8
_FREE_ATTEMPTS = 1_000


class SocketTransport(Transport):
    """`own`: the tester's sockets by the address that they stand for, bound; `remote`: the implementation's host."""

    def __init__(
        self,
        encapsulation: Encapsulation,
        own: dict[bytes, socket.socket],
        remote: str,
        udp_port: int = DEFAULT_UDP_PORT,
        mtu: int = LOOPBACK_MTU,
    ) -> None:
        self.encapsulation = encapsulation
        self.mtu = mtu
        self.second_address = STRANGER_ADDRESS in own
        self._own = own
        self._remote = remote
        self._udp_port = udp_port  # where the implementation listens
        self._iut_udp_port = udp_port  # where it last spoke from
        self._names = {sock: address for address, sock in own.items()}
        for sock in own.values():
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _BUFFER_BYTES)
            stamps.stamp(sock)
            sock.setblocking(False)

    def values(self) -> dict[str, str]:
        here = self._own[TESTER_ADDRESS].getsockname()
        return {
            "local_address": self._remote,
            "peer_address": here[0],
            "local_udp_port": str(self._udp_port),
            "peer_udp_port": str(here[1] or self._udp_port),
        }

    def before_exec(self) -> None:
        """The implementation lives where we do."""

    def listens(self, pid: int) -> bool:
        del pid
        address = "".join(f"{byte:02X}" for byte in reversed(socket.inet_aton(self._remote)))
        marks = {f"{address}:{self._udp_port:04X}", f"00000000:{self._udp_port:04X}"}
        with contextlib.suppress(OSError):
            lines = Path("/proc/net/udp").read_text(encoding="ascii").splitlines()[1:]
            return any(line.split()[1] in marks for line in lines)
        return False

    # ---- packets ----

    def _recorded(self, packet: bytes, source: bytes, destination: bytes, number: int) -> bytes:
        """As it goes into the capture."""
        if self.encapsulation is Encapsulation.IP:
            return ipv4.wrap(packet, source, destination, number)
        ports = (self._udp_port, self._iut_udp_port)
        if source == IUT_ADDRESS:
            ports = (self._iut_udp_port, self._udp_port)
        return ipv4.wrap_udp(packet, source, destination, ports, number)

    def send(self, packet: bytes, source: bytes, identification: int) -> list[Heard]:
        heard = list(iter(self._take, None))  # what came before it is before it
        recorded = self._recorded(packet, source, IUT_ADDRESS, identification)
        if len(recorded) > self.mtu:
            raise HarnessError(f"a case sends a packet of {len(recorded)} bytes, this link carries {self.mtu}")
        port = self._iut_udp_port if self.encapsulation is Encapsulation.UDP else 0
        now_ns = time.monotonic_ns()
        # On loopback the port may be closed again: an ICMP message about the packet before is of no interest.
        with contextlib.suppress(ConnectionRefusedError):
            self._own[source].sendto(packet, (self._remote, port))
        heard.append(Heard(now_ns, recorded, True, packet, source, IUT_ADDRESS))
        return heard

    @property
    def can_replay(self) -> bool:
        """A socket sends what the host has routed to it: nothing that tcpreplay could write to."""
        return False

    def replay(self, packets: Sequence[bytes], source: bytes, loops: int) -> None:
        del packets, source, loops
        raise HarnessError("packets are replayed over a veth only")

    def receive(self, timeout_s: float) -> Heard | None:
        ready, _, _ = select.select(list(self._own.values()), [], [], timeout_s)
        return self._take() if ready else None

    def _take(self) -> Heard | None:
        for sock, address in self._names.items():
            while True:
                try:
                    time_ns, data, whence = stamps.receive(sock)
                except (BlockingIOError, ConnectionRefusedError):
                    break
                heard = self._read(time_ns, data, whence, address)
                if heard is not None:
                    return heard
        return None

    def _read(self, time_ns: int, data: bytes, whence: tuple[str, int], address: bytes) -> Heard | None:
        if whence[0] != self._remote:
            return None
        number = 0
        if self.encapsulation is Encapsulation.IP:  # a raw socket hands over the IPv4 header too
            try:
                datagram = ipv4.unwrap(data)
            except ipv4.ForeignPacketError:
                return None
            number, data = int.from_bytes(data[4:6], "big"), datagram.payload
        else:
            self._iut_udp_port = whence[1]
        packet = self._recorded(data, IUT_ADDRESS, address, number)
        return Heard(time_ns, packet, False, data, IUT_ADDRESS, address)

    def close(self) -> None:
        for sock in self._own.values():
            sock.close()


def _bound(address: str, port: int) -> socket.socket:
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC)
    try:
        sock.bind((address, port))
    except OSError:
        sock.close()
        raise
    return sock


def loopback(udp_port: int, mtu: int) -> SocketTransport:
    """UDP on loopback: every case has three addresses of its own in 127.64.0.0/10. The process that holds the first one
    has the other two; the kernel gives it back when its owner dies."""
    begin = os.getpid() * 37
    for attempt in itertools.islice(itertools.count(begin), _FREE_ATTEMPTS):
        number = _FIRST_SUBNET + attempt % _SUBNETS
        net = f"127.{number >> 8}.{number & 255}"
        try:
            tester = _bound(f"{net}.1", udp_port)
        except OSError:
            continue
        try:
            stranger = _bound(f"{net}.3", udp_port)
        except OSError:
            tester.close()
            continue
        own = {TESTER_ADDRESS: tester, STRANGER_ADDRESS: stranger}
        return SocketTransport(Encapsulation.UDP, own, f"{net}.2", udp_port, mtu)
    raise HarnessError(f"UDP port {udp_port} is taken on all loopback addresses that were tried")


def to_host(
    address: str,
    encapsulation: Encapsulation,
    udp_port: int,
    mtu: int,
    local_address: str = "",
    own_udp_port: int = 0,
) -> SocketTransport:
    """To an implementation that runs at `address` (name or IPv4 address). `own_udp_port` 0: any."""
    try:
        remote = socket.gethostbyname(address)
    except OSError as error:
        raise LinkUnavailableError(f"remote.address: {address!r}: {error.strerror}") from None
    here = local_address or ""
    try:
        here = here or _route_to(remote)
        if encapsulation is Encapsulation.UDP:
            sock = _bound(here, own_udp_port)
        else:
            sock = socket.socket(socket.AF_INET, socket.SOCK_RAW | socket.SOCK_CLOEXEC, ipv4.NETBLT_PROTOCOL)
            sock.bind((here, 0))
    except PermissionError:
        raise LinkUnavailableError(
            f"speaking raw IP to {address} needs root or CAP_NET_RAW; where the implementation can do UDP, "
            'remote.encapsulation = "udp" needs neither'
        ) from None
    except OSError as error:
        where = f"remote.local_address {here}" if here else f"no route to {address}"
        raise LinkUnavailableError(f"{where}: {error.strerror}") from None
    return SocketTransport(encapsulation, {TESTER_ADDRESS: sock}, remote, udp_port, mtu)


def _route_to(address: str) -> str:
    """The address of ours from which the kernel would speak to that host."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect((address, DEFAULT_UDP_PORT))
        return str(probe.getsockname()[0])


def own_address(transport: SocketTransport) -> str:
    """For the report."""
    return f"{transport.values()['peer_address']} to {transport.values()['local_address']}"
