# SPDX-License-Identifier: GPL-2.0-or-later
"""Real packets over a veth between two namespaces. A packet socket sees both directions, so order and times are the
kernel's own; the tester's side has no address, so its kernel never answers by itself."""

from __future__ import annotations

import contextlib
import errno
import select
import socket
import struct
import time
from collections.abc import Sequence
from pathlib import Path

from netblt_conformance.common import namespaces
from netblt_conformance.common.errors import HarnessError, LinkUnavailableError
from netblt_conformance.common.model import DEFAULT_UDP_PORT, Encapsulation, address_text
from netblt_conformance.links import netns, replay, stamps
from netblt_conformance.links.base import IUT_ADDRESS, STRANGER_ADDRESS, TESTER_ADDRESS
from netblt_conformance.links.transport import Heard, Transport
from netblt_conformance.packets import ipv4

ETHERTYPE_ALL = 0x0003
ETHERTYPE_IPV4 = 0x0800
ETHERNET_BYTES = 14
ETHERNET_MTU = 1500
# The default holds some 50 small frames; an idle test must not lose what a burst brings.
SOCKET_BUFFER_BYTES = 4 * 1024 * 1024
_SO_RCVBUFFORCE = 33
_SOL_PACKET = 263
_PACKET_IGNORE_OUTGOING = 23  # linux/if_packet.h
_RAW_PROTOCOL_MARK = f":{ipv4.NETBLT_PROTOCOL:04X} "


def has_socket(pid: int, encapsulation: Encapsulation, udp_port: int) -> bool:
    """Whether there is a socket for NETBLT in the network namespace of a process."""
    kind, mark = ("raw", _RAW_PROTOCOL_MARK)
    if encapsulation is Encapsulation.UDP:
        kind, mark = ("udp", f":{udp_port:04X} ")
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/net/{kind}").read_text(encoding="ascii").splitlines()[1:]:
            if mark in line.split(":", 1)[1][:16]:
                return True
    return False


class VethTransport(Transport):
    second_address = True

    def __init__(self, encapsulation: Encapsulation, udp_port: int = DEFAULT_UDP_PORT, mtu: int = ETHERNET_MTU) -> None:
        self.encapsulation = encapsulation
        self.mtu = mtu
        self._udp_port = udp_port
        # Where the implementation's datagrams come from: an active end may use any port.
        self._iut_udp_port = udp_port
        neighbours = (address_text(TESTER_ADDRESS), address_text(STRANGER_ADDRESS))
        self.wire = netns.make_wire(address_text(IUT_ADDRESS), neighbours, mtu)
        with namespaces.elsewhere(self.wire.tester_namespace):
            self._ear = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETHERTYPE_ALL))
            # A socket does not get its own packets: the other one gets them. Protocol 0: it gets none.
            self._mouth = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
        with contextlib.suppress(PermissionError):  # in a user namespace the limit of the system holds
            self._ear.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, SOCKET_BUFFER_BYTES)
        stamps.stamp(self._ear)
        self._ear.bind((netns.TESTER_INTERFACE, ETHERTYPE_ALL))
        self._mouth.bind((netns.TESTER_INTERFACE, 0))
        self._ear.setblocking(False)
        self._mouth.setblocking(False)
        self._ethernet = self.wire.iut_mac + self.wire.tester_mac + struct.pack(">H", ETHERTYPE_IPV4)

    def values(self) -> dict[str, str]:
        return {
            "local_address": address_text(IUT_ADDRESS),
            "peer_address": address_text(TESTER_ADDRESS),
            "local_udp_port": str(self._udp_port),
            "peer_udp_port": str(self._udp_port),
        }

    def before_exec(self) -> None:
        namespaces.enter(self.wire.iut_namespace)

    def listens(self, pid: int) -> bool:
        return has_socket(pid, self.encapsulation, self._udp_port)

    # ---- packets ----

    def send(self, packet: bytes, source: bytes, identification: int) -> list[Heard]:
        datagram = self._wrapped(packet, source, identification)
        if len(datagram) > self.mtu:
            raise HarnessError(f"a case sends a packet of {len(datagram)} bytes, this link carries {self.mtu}")
        self._put(self._ethernet + datagram)
        heard: list[Heard] = []
        while True:  # the kernel has queued our own packet before send() came back
            one = self._take()
            if one is None:
                heard.append(Heard(time.monotonic_ns(), datagram, True, packet, source, IUT_ADDRESS))
                return heard
            heard.append(one)
            if one.sent and one.packet == datagram:
                return heard

    def _wrapped(self, packet: bytes, source: bytes, identification: int) -> bytes:
        if self.encapsulation is Encapsulation.IP:
            return ipv4.wrap(packet, source, IUT_ADDRESS, identification)
        return ipv4.wrap_udp(packet, source, IUT_ADDRESS, (self._udp_port, self._iut_udp_port), identification)

    @property
    def can_replay(self) -> bool:
        return replay.program() is not None

    def replay(self, packets: Sequence[bytes], source: bytes, loops: int) -> None:
        frames = [(0, self._ethernet + self._wrapped(packet, source, 0)) for packet in packets]
        self._ear.setsockopt(_SOL_PACKET, _PACKET_IGNORE_OUTGOING, int(loops > 1))
        try:
            replay.replay(
                netns.TESTER_INTERFACE,
                frames,
                lambda: namespaces.enter(self.wire.tester_namespace),
                top_speed=True,
                loops=loops,
            )
        finally:
            self._ear.setsockopt(_SOL_PACKET, _PACKET_IGNORE_OUTGOING, 0)

    def _put(self, frame: bytes) -> None:
        while True:
            try:
                self._mouth.send(frame)
                return
            except OSError as error:
                if error.errno not in (errno.ENOBUFS, errno.EAGAIN):
                    raise HarnessError(f"the tester's socket: {error.strerror}") from None
                select.select([], [self._mouth], [], 0.001)

    def receive(self, timeout_s: float) -> Heard | None:
        ready, _, _ = select.select([self._ear], [], [], timeout_s)
        return self._take() if ready else None

    def _take(self) -> Heard | None:
        """The next IPv4 packet that waits in the socket, of either direction."""
        while True:
            try:
                time_ns, frame, whence = stamps.receive(self._ear)
            except BlockingIOError:
                return None
            except OSError as error:  # the interface went down: reported once, then it goes on
                raise HarnessError(f"the tester's socket: {error.strerror}") from None
            if frame[12:ETHERNET_BYTES] != self._ethernet[12:]:
                continue
            heard = self._read(time_ns, frame[ETHERNET_BYTES:], sent=whence[2] == socket.PACKET_OUTGOING)
            if heard is not None:
                return heard

    def _read(self, time_ns: int, packet: bytes, *, sent: bool) -> Heard | None:
        try:
            datagram = ipv4.unwrap(packet)
        except ipv4.ForeignPacketError:
            return None
        payload: bytes | None = None
        if not datagram.fragment:
            payload = self._payload(datagram, sent)
        return Heard(time_ns, packet, sent, payload, datagram.source, datagram.destination)

    def _payload(self, datagram: ipv4.Datagram, sent: bool) -> bytes | None:
        if self.encapsulation is Encapsulation.IP:
            return datagram.payload if datagram.protocol == ipv4.NETBLT_PROTOCOL else None
        udp = ipv4.unwrap_udp(datagram)
        if udp is None or (not sent and udp.destination_port != self._udp_port):
            return None
        if not sent:
            self._iut_udp_port = udp.source_port
        return udp.payload

    def close(self) -> None:
        self._ear.close()
        self._mouth.close()
        self.wire.close()


def usable() -> str | None:
    """Why namespaces cannot be had here; None when they can. For a process without threads, which is then in them."""
    try:
        netns.become_root_of_a_user_namespace()
        VethTransport(Encapsulation.IP).close()
    except (LinkUnavailableError, HarnessError, OSError) as error:
        return str(error)
    return None
