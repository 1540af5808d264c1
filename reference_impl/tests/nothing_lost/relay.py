# SPDX-License-Identifier: BSD-2-Clause
"""A relay for UDP on one host, between the active and the passive end: it can lose everything for a while, and change
the port that the passive end sees, as a NAT does that has forgotten a mapping."""

from __future__ import annotations

import contextlib
import select
import socket
import threading

import lab

LOOK_S = 0.05
DATAGRAM_MAX_BYTES = 65536
SOCKET_BYTES = 4 << 20


class Relay:
    """Forwards between the host that sends to `port` and the passive end at `to_port`, in a thread of its own."""

    def __init__(self, host: lab.Host, port: int, to_port: int) -> None:
        self.blocked = False
        self.from_active = 0
        self._host, self._to = host, ("127.0.0.1", to_port)
        self._front = self._socket()
        self._front.bind(("127.0.0.1", port))
        self._back = self._socket()
        self._client: tuple[str, int] | None = None
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def _socket(self) -> socket.socket:
        made: list[socket.socket] = []
        self._host.call(lambda: made.append(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)))
        for option in (socket.SO_RCVBUF, socket.SO_SNDBUF):
            made[0].setsockopt(socket.SOL_SOCKET, option, SOCKET_BYTES)
        return made[0]

    def change_port(self) -> None:
        """From now on the passive end sees another source port. What comes to the old one is lost."""
        old, self._back = self._back, self._socket()
        old.close()

    def _run(self) -> None:
        while not self._over.is_set():
            # The socket may be replaced and closed at any moment.
            with contextlib.suppress(OSError, ValueError):
                readable, _, _ = select.select([self._front, self._back], [], [], LOOK_S)
                for one in readable:
                    self._forward(one)

    def _forward(self, one: socket.socket) -> None:
        datagram, source = one.recvfrom(DATAGRAM_MAX_BYTES)
        if one is self._front:
            self._client = source
            self.from_active += len(datagram)
        if self.blocked:
            return
        if one is self._front:
            self._back.sendto(datagram, self._to)
        elif self._client is not None:
            self._front.sendto(datagram, self._client)

    def __enter__(self) -> Relay:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()
        self._front.close()
        self._back.close()
