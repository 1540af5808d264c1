# SPDX-License-Identifier: GPL-2.0-or-later
"""The reference core edited for ETFTP (RFC 1986), as a program: one transfer over UDP, in real time.

A passive end listens at UDP port 1818. Exit status: 0 the transfer succeeded, 1 it failed, 127 this role or these
parameters are not possible.
"""

from __future__ import annotations

import argparse
import os
import select
import socket
import sys
import time
from pathlib import Path

from netblt_conformance.common import paths
from netblt_conformance.common.model import ROLES_BY_NAME, Status
from netblt_conformance.simlib import Iut, IutError, IutLibrary, IutParams

SERVER_PORT = 1818
NOT_SUPPORTED = 127
US = 1_000_000
LARGEST_DATAGRAM = 65_535
SIZES = ("buffer_size", "packet_size", "burst_size", "burst_interval_ms", "max_buffers", "death_timer_s")


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("role", choices=sorted(ROLES_BY_NAME))
    parser.add_argument("file", type=Path, help="what is sent, or where it is written")
    parser.add_argument("--local", required=True, help="own IPv4 address")
    parser.add_argument("--peer", default="0.0.0.0", help="IPv4 address to open")
    parser.add_argument("--local-port", type=int, default=0)
    parser.add_argument("--peer-port", type=int, default=0)
    parser.add_argument("--name", default="", help="client string")
    parser.add_argument("--version", type=int, default=2)
    parser.add_argument("--data-checksum", action="store_true")
    for name in SIZES:
        parser.add_argument(name, type=int)
    return parser.parse_args()


def params_of(given: argparse.Namespace) -> IutParams:
    role = ROLES_BY_NAME[given.role]
    return IutParams(
        active=role.active,
        sender=role.sender,
        version_byte=given.version,
        data_checksum=given.data_checksum,
        local_port=given.local_port or 1024 + os.getpid() % 60_000,
        foreign_port=given.peer_port,
        seed=time.time_ns(),
        local_address=given.local,
        foreign_address=given.peer,
        client_string=given.name,
        **{name: getattr(given, name) for name in SIZES},
    )


def library() -> Path:
    """Built when the suite ran on the sim link, or now."""
    built = paths.iut_library("etftp")
    if not built.is_file():
        from netblt_conformance.mutants import subject  # they take a second to load
        from netblt_conformance.packets import dialect

        subject.library(dialect.ETFTP)
    return built


class Program:
    """Carries packets between a UDP socket and the core."""

    def __init__(self, sock: socket.socket, peers: dict[bytes, int]) -> None:
        self._sock = sock
        self._ports = peers  # UDP port of each address; a client is answered where it spoke from
        self._began_ns = time.monotonic_ns()

    def now_us(self) -> int:
        return (time.monotonic_ns() - self._began_ns) // 1000

    def run(self, iut: Iut) -> None:
        """Goes on until the connection is closed."""
        while not Status(iut.status).closed:
            while (output := iut.output(self.now_us())) is not None:
                address, packet = output
                self._sock.sendto(packet, (socket.inet_ntoa(address), self._ports.get(address, SERVER_PORT)))
            if Status(iut.status).closed:
                return
            deadline = iut.deadline
            wait_us = 60 * US if deadline is None else max(0, deadline - self.now_us())
            if select.select([self._sock], [], [], wait_us / US)[0]:
                packet, (host, port) = self._sock.recvfrom(LARGEST_DATAGRAM)
                self._ports[socket.inet_aton(host)] = port
                iut.packet(host, packet, self.now_us())
            else:
                iut.advance(self.now_us())


def main() -> int:
    given = options()
    role = ROLES_BY_NAME[given.role]
    data = given.file.read_bytes() if role.sender else b""
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.bind((given.local, 0 if role.active else SERVER_PORT))
    program = Program(sock, {})
    try:
        iut = IutLibrary(library()).start(params_of(given), data, program.now_us())
    except IutError as error:
        print(error, file=sys.stderr)
        return NOT_SUPPORTED
    program.run(iut)
    if not role.sender:
        given.file.write_bytes(iut.delivered)
    if not Status(iut.status).succeeded:
        print(iut.reason, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
