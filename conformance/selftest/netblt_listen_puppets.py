# SPDX-License-Identifier: GPL-2.0-or-later
"""Scripted peers of `netblt listen` on loopback, where a process may use any address of 127.0.0.0/8."""

from __future__ import annotations

import random
import socket
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from selftest.netblt_command_lab import DEADLINE_S, Lab
from selftest.netblt_command_packets import (
    TYPE_ABORT,
    TYPE_CONTROL,
    TYPE_REFUSED,
    TYPE_RESPONSE,
    data_packet,
    keepalive_packet,
    open_packet,
)
from selftest.netblt_listen_helpers import meanwhile

SERVER = "127.0.0.1"
NETBLT_PORT = 1
GO = 0
IP_PKTINFO = 8  # of <linux/in.h>; Python names it from 3.14 on
FLOOD_MAX_OPENS = 40_000


class Puppet:
    """One peer that stores a file, packet by packet as the test wants."""

    def __init__(self, lab: Lab, address: str = "127.0.0.1", local_port: int = 20000) -> None:
        with lab.there.inside():
            self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind((address, 0))
        self.socket.connect((SERVER, lab.udp_port))
        self.local_port = local_port
        self.packet_bytes = self.sent = 0
        self.buffer = self.high_seq = 0

    def close(self) -> None:
        self.socket.close()

    def wait_for(self, *types: int, seconds: float = DEADLINE_S) -> bytes | None:
        """The next packet of one of these types; None when there is none in time. Others are passed over."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            self.socket.settimeout(left)
            try:
                packet = self.socket.recv(65535)
            except TimeoutError:
                return None
            if packet[3] in types:
                return packet
        return None

    def open(self, name: bytes) -> str:
        """Asks to store `name`. Returns "" when it may, else the reason of the REFUSED."""
        self.socket.send(open_packet(self.local_port, NETBLT_PORT, write=True, client_string=name))
        reply = self.wait_for(TYPE_RESPONSE, TYPE_REFUSED)
        assert reply is not None, "no reply to OPEN"
        if reply[3] == TYPE_REFUSED:
            return reason_of(reply)
        (self.packet_bytes,) = struct.unpack("!H", reply[24:26])
        return ""

    def validate(self) -> None:
        """Acknowledges the first GO with the first packet of its buffer, as any sender does."""
        control = self.wait_for(TYPE_CONTROL)
        assert control is not None, "no GO"
        kind, self.high_seq, self.buffer = struct.unpack("!BxHI", control[12:20])
        assert kind == GO
        self.send_data()

    def send_data(self) -> None:
        """The next packet of the first buffer, which has at least ten."""
        data = bytes([self.sent]) * self.packet_bytes
        packet = data_packet(
            self.local_port, NETBLT_PORT, data, buffer=self.buffer, number=self.sent, high_seq=self.high_seq
        )
        self.sent += 1
        self.socket.send(packet)

    def send_keepalive(self) -> None:
        self.socket.send(keepalive_packet(self.local_port, NETBLT_PORT))

    def abort_reason(self, seconds: float = DEADLINE_S) -> str | None:
        """Why the server has aborted; None when it does not within this time."""
        packet = self.wait_for(TYPE_ABORT, seconds=seconds)
        return None if packet is None else reason_of(packet)

    def is_heard(self) -> bool:
        """Whether the server still has the connection: it sends CONTROL or KEEPALIVE again and again, or ABORT."""
        return self.abort_reason(seconds=0.3) is None


def reason_of(packet: bytes) -> str:
    return packet[12:].rstrip(b"\0").decode()


@contextmanager
def kept_alive(puppet: Puppet, every_s: float = 0.2) -> Iterator[None]:
    """The puppet sends KEEPALIVEs meanwhile and nothing else."""

    def send(stop: threading.Event) -> None:
        while not stop.wait(every_s):
            puppet.send_keepalive()

    with meanwhile(send):
        yield


class Flood:
    """OPENs with forged source addresses from all over 127.0.0.0/8, each with a name of `names`."""

    def __init__(self, lab: Lab, names: list[bytes], *, write: bool) -> None:
        with lab.there.inside():
            self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.packets = [
            open_packet(20000 + i, NETBLT_PORT, write=write, client_string=name) for i, name in enumerate(names)
        ]
        self.server = (SERVER, lab.udp_port)
        self.random = random.Random(1)
        self.sent = 0

    def send(self) -> None:
        source = bytes([127, self.random.randrange(1, 255), self.random.randrange(256), self.random.randrange(1, 255)])
        info = struct.pack("@i4s4s", 0, source, bytes(4))  # struct in_pktinfo, see ip(7)
        self.socket.sendmsg(
            [self.packets[self.sent % len(self.packets)]],
            [(socket.IPPROTO_IP, IP_PKTINFO, info)],
            0,
            self.server,
        )
        self.sent += 1

    def send_many(self, count: int, per_second: int) -> None:
        """Bounded: `count` OPENs at this rate, or more slowly on a machine that cannot."""
        begun = time.monotonic()
        for i in range(count):
            while time.monotonic() - begun < i / per_second:
                time.sleep(0.001)
            self.send()

    @contextmanager
    def going_on(self, per_second: int) -> Iterator[None]:
        """The flood goes on meanwhile, in a thread, until it has sent FLOOD_MAX_OPENS."""

        def run(stop: threading.Event) -> None:
            begun = time.monotonic()
            while self.sent < FLOOD_MAX_OPENS and not stop.wait(0.001):
                while self.sent < (time.monotonic() - begun) * per_second:
                    self.send()

        try:
            with meanwhile(run):
                yield
        finally:
            self.socket.close()
