# SPDX-License-Identifier: GPL-2.0-or-later
"""A UDP relay that loses, reorders and delays datagrams: a bad network for who may not make namespaces."""

from __future__ import annotations

import random
import select
import socket
import threading
import time
from collections import deque

from selftest.netblt_command_lab import Host


class LossyRelay:
    """Listens on a port of `host` and passes datagrams on to `to_port` there, and the answers back.

    One datagram in `loss` is dropped and one in `reorder` is overtaken by the next, in each direction. All take
    `delay_s` longer.
    """

    def __init__(
        self, host: Host, to_port: int, *, seed: int = 1, loss: float = 0, reorder: float = 0, delay_s: float = 0
    ) -> None:
        with host.inside():
            self._outer = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            self._outer.bind((host.address, 0))
            self._inner = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            self._inner.bind((host.address, 0))
        self.port = int(self._outer.getsockname()[1])
        self._target = (host.address, to_port)
        self._client: tuple[str, int] | None = None
        self._random = random.Random(seed)
        self._loss, self._reorder, self._delay_s = loss, reorder, delay_s
        self._under_way: deque[tuple[float, socket.socket, bytes]] = deque()
        self._held: dict[socket.socket, bytes] = {}
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self.dropped = 0
        self.reordered = 0
        self.types: set[int] = set()  # of the NETBLT packets that came by

    def __enter__(self) -> LossyRelay:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        self._outer.close()
        self._inner.close()

    def _run(self) -> None:
        while not self._stop.is_set():
            ready, _, _ = select.select([self._outer, self._inner], [], [], 0.001 if self._under_way else 0.005)
            self._deliver()
            if not ready:
                self._release()
            for arriving in ready:
                datagram, source = arriving.recvfrom(65535)
                if arriving is self._outer:
                    self._client = source
                self.types.add(datagram[3])
                self._pass_on(self._inner if arriving is self._outer else self._outer, datagram)

    def _pass_on(self, leaving: socket.socket, datagram: bytes) -> None:
        chance = self._random.random()
        if chance < self._loss:
            self.dropped += 1
        elif chance < self._loss + self._reorder and leaving not in self._held:
            self._held[leaving] = datagram
            self.reordered += 1
        else:
            self._send(leaving, datagram)
            if leaving in self._held:
                self._send(leaving, self._held.pop(leaving))

    def _release(self) -> None:
        """Nothing follows that could overtake."""
        for leaving in list(self._held):
            self._send(leaving, self._held.pop(leaving))

    def _deliver(self) -> None:
        while self._under_way and self._under_way[0][0] <= time.monotonic():
            _, leaving, datagram = self._under_way.popleft()
            self._put_out(leaving, datagram)

    def _send(self, leaving: socket.socket, datagram: bytes) -> None:
        if self._delay_s > 0:
            self._under_way.append((time.monotonic() + self._delay_s, leaving, datagram))
        else:
            self._put_out(leaving, datagram)

    def _put_out(self, leaving: socket.socket, datagram: bytes) -> None:
        to = self._target if leaving is self._inner else self._client
        if to is not None:
            leaving.sendto(datagram, to)
