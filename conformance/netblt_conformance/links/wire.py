# SPDX-License-Identifier: GPL-2.0-or-later
"""The wire link: any program, real IPv4 packets, each case in two network namespaces of its own."""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import signal
import socket
import struct
import tempfile
import time
from pathlib import Path

from netblt_conformance import ipv4
from netblt_conformance.adapter import Adapter
from netblt_conformance.capture import Capture
from netblt_conformance.links import netns
from netblt_conformance.links.base import (
    IUT_ADDRESS,
    STRANGER_ADDRESS,
    TESTER_ADDRESS,
    Arrival,
    Feature,
    HarnessError,
    ImplementationError,
    Link,
    LinkUnavailableError,
    NotSupportedError,
)
from netblt_conformance.links.process import Process, die_with_parent
from netblt_conformance.model import MICROSECONDS_PER_S, Digest, Start, Status, Stop, address_text

ETHERTYPE_IPV4 = 0x0800
ETHERNET_BYTES = 14
# The default holds some 50 small frames; an idle test must not lose what a burst brings.
SOCKET_BUFFER_BYTES = 4 * 1024 * 1024
MTU_BYTES = 1500
EXIT_NOT_SUPPORTED = 127
EXIT_USAGE = 2
_SO_RCVBUFFORCE = 33
_RAW_PROTOCOL_MARK = f":{ipv4.NETBLT_PROTOCOL:04X} "
# How often a wait looks whether the program has ended.
POLL_S = 0.05


class MonotonicClock:
    def __init__(self) -> None:
        self._began_ns = time.monotonic_ns()

    def now_us(self) -> int:
        return (time.monotonic_ns() - self._began_ns) // 1_000


class WireLink(Link):
    """One program in its namespace, and the tester's end as a socket without any address."""

    name = "wire"
    real_time = True
    delay_us = 0

    def __init__(self, adapter: Adapter, capture: Capture) -> None:
        super().__init__(capture)
        self._adapter = adapter
        self.features = frozenset({Feature.SECOND_ADDRESS} | ({Feature.QUIT} if adapter.quit_signal else set()))
        self._clock = MonotonicClock()
        self._process: Process | None = None
        self._start: Start | None = None
        self._identification: dict[bytes, int] = {}
        self._folder = Path(tempfile.mkdtemp(prefix="netblt-wire-"))
        neighbours = (address_text(TESTER_ADDRESS), address_text(STRANGER_ADDRESS))
        self._wire = netns.make_wire(address_text(IUT_ADDRESS), neighbours)
        with netns.elsewhere(self._wire.tester_namespace):
            self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETHERTYPE_IPV4))
        with contextlib.suppress(PermissionError):  # in a user namespace the limit of the system holds
            self._socket.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, SOCKET_BUFFER_BYTES)
        self._socket.bind((netns.TESTER_INTERFACE, ETHERTYPE_IPV4))
        self._socket.setblocking(False)
        self._ethernet = self._wire.iut_mac + self._wire.tester_mac + struct.pack(">H", ETHERTYPE_IPV4)

    @property
    def clock(self) -> MonotonicClock:
        return self._clock

    # ---- the program ----

    def start(self, start: Start) -> None:
        self._start = start
        template = self._adapter.roles.get(start.role)
        if template is None:
            raise NotSupportedError(f"{self._adapter.path.name} describes no {start.role}")
        if start.role.sender:
            (self._folder / "in").write_bytes(start.data)
        command = self._adapter.expand(template, self._values(start))
        namespace = self._wire.iut_namespace

        def before_exec() -> None:
            netns.enter(namespace)
            die_with_parent()

        environment = {**self._adapter.environment, "NETBLT_TEST_ID": start.test_id}
        try:
            self._process = Process(command, environment, before_exec, folder=self._folder)
        except OSError as error:
            raise HarnessError(f"{self._adapter.path.name}: {command[0]}: {error.strerror}") from None
        if not start.role.active:
            self._await_ready()

    def _values(self, start: Start) -> dict[str, str]:
        p = start.parameters
        return {
            "local_address": address_text(start.local_address),
            "peer_address": address_text(start.foreign_address),
            "local_port": str(start.local_port),
            "peer_port": str(start.foreign_port),
            "file_in": str(self._folder / "in"),
            "file_out": str(self._folder / "out"),
            "buffer_size": str(p.buffer_size),
            "packet_size": str(p.packet_size),
            "burst_size": str(p.burst_size),
            "burst_interval_ms": str(p.burst_interval_ms),
            "death_timer_s": str(p.death_timer_s),
            "max_buffers": str(p.max_buffers),
            "version": str(p.version),
            "client_string": p.client_string,
            "data_checksum": "1" if p.data_checksum else "",
        }

    @property
    def _running(self) -> Process:
        if self._process is None:
            raise HarnessError("the program was not started")
        return self._process

    def _await_ready(self) -> None:
        """A passive end listens when a raw socket of protocol 30 shows in its namespace."""
        raw_sockets = Path(f"/proc/{self._running.popen.pid}/net/raw")
        give_up = time.monotonic() + self._adapter.ready_s
        while time.monotonic() < give_up:
            self._look_for_end()
            with contextlib.suppress(OSError):
                if _RAW_PROTOCOL_MARK in raw_sockets.read_text(encoding="ascii"):
                    return
            time.sleep(0.002)
        raise HarnessError(
            f"{self._running.command[0]} did not listen within {self._adapter.ready_s:g} s (wire.ready_s)"
        )

    def _look_for_end(self) -> None:
        """Raises when the program ended in a way that is no outcome of a transfer."""
        process = self._running
        code = process.exit_code
        if code is None:
            return
        words = process.last_words()
        fault = process.fault()
        if fault is not None:
            raise ImplementationError(fault + (f": {words}" if words and words not in fault else ""))
        if code == EXIT_NOT_SUPPORTED:
            raise NotSupportedError(words or "the program says so with exit status 127")
        if code == EXIT_USAGE:
            raise HarnessError(f"{process.command[0]} refuses its command line: {words or 'exit status 2'}")

    # ---- packets ----

    def send(self, packet: bytes, source: bytes = TESTER_ADDRESS) -> int:
        identification = self._identification.get(source, 0) + 1
        self._identification[source] = identification
        datagram = ipv4.wrap(packet, source, IUT_ADDRESS, identification)
        if len(datagram) > MTU_BYTES:
            raise HarnessError(f"a case sends a packet of {len(datagram)} bytes, this link carries {MTU_BYTES}")
        frame = self.capture.add_ip(self._clock.now_us(), datagram, sent=True)
        try:
            self._socket.send(self._ethernet + datagram)
        except OSError as error:
            raise HarnessError(f"the tester's socket: {error.strerror}") from None
        return frame

    def receive(self, until_us: int) -> Arrival | None:
        while True:
            left_s = (until_us - self._clock.now_us()) / MICROSECONDS_PER_S
            ready, _, _ = select.select([self._socket], [], [], min(max(left_s, 0), POLL_S))
            if ready:
                arrival = self._take(self._socket.recv(65535)[ETHERNET_BYTES:])
                if arrival is not None:
                    return arrival
            elif left_s <= 0:
                return None
            elif self._process is not None:
                self._look_for_end()

    def _take(self, packet: bytes) -> Arrival | None:
        """Records whatever the implementation's host sends; NETBLT packets for the tester come back."""
        now_us = self._clock.now_us()
        try:
            datagram = ipv4.unwrap(packet)
        except ipv4.ForeignPacketError:
            return None
        frame = self.capture.add_ip(now_us, packet, sent=False)
        if datagram.protocol != ipv4.NETBLT_PROTOCOL or datagram.fragment:
            return None
        return Arrival(now_us, datagram.payload, datagram.source, datagram.destination, frame)

    # ---- outcome ----

    def deadline_us(self) -> int | None:
        return None

    def status(self) -> Status:
        self._look_for_end()
        code = self._running.exit_code
        if code is None:
            return Status.OPEN
        return Status.CLOSED_DONE if code == 0 else Status.CLOSED_FAILED

    def reason(self) -> str:
        return self._running.last_words() or f"exit status {self._running.exit_code}"

    def digest(self) -> Digest:
        try:
            return Digest.of((self._folder / "out").read_bytes())
        except OSError:
            return Digest.of(b"")

    def peer_string(self) -> str | None:
        return None

    def stop(self, how: Stop, reason: str) -> None:
        del reason
        if how is not Stop.QUIT or self._adapter.quit_signal is None:
            raise NotSupportedError(f"the adapter says of no way to {how.value}")
        self._running.popen.send_signal(signal.Signals[self._adapter.quit_signal])

    def close(self) -> None:
        if self._process is not None:
            fault = self._process.fault() if self._process.exit_code is not None else None
            self._process.free()
            self._process = None
            self._free()
            if fault is not None:
                raise ImplementationError(fault)
        self._free()

    def _free(self) -> None:
        self._socket.close()
        self._wire.close()
        shutil.rmtree(self._folder, ignore_errors=True)


class WireLinkFactory:
    """One program for each case."""

    name = "wire"

    def __init__(self, adapter: Adapter) -> None:
        self._adapter = adapter
        self._prepared = False

    def check(self) -> None:
        """Tries the whole way in a child: rights, namespaces, the program's file."""
        if not self._adapter.roles:
            raise LinkUnavailableError(f"{self._adapter.path}: no [wire.roles]: it cannot be used with --link wire")
        for role, template in self._adapter.roles.items():
            program = self._adapter.expand(template[:1], {})[0]
            if shutil.which(program) is None:
                hint = "run tools/build first" if "{bin}" in template[0] else "see the adapter"
                raise LinkUnavailableError(f"{self._adapter.path}: {role}: no program {program}: {hint}")
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                self.make(Capture()).close()
            except BaseException as error:
                os.write(writer, str(error).encode()[:4000])
            finally:
                os._exit(0)
        os.close(writer)
        with os.fdopen(reader, "rb") as stream:
            message = stream.read().decode()
        os.waitpid(child, 0)
        if message:
            raise LinkUnavailableError(message)

    def describe(self) -> dict[str, str]:
        return {"adapter": self._adapter.name}

    def make(self, capture: Capture) -> WireLink:
        if not self._prepared:
            netns.become_root_of_a_user_namespace()
            self._prepared = True
        return WireLink(self._adapter, capture)
