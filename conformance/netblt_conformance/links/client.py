# SPDX-License-Identifier: GPL-2.0-or-later
"""The client of a program that stalls: the suite holds the opposite end of the program's standard input or output, and
for a time gives nothing, or takes nothing (CTRL-13, DATA-15)."""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import threading
import time
from abc import ABC, abstractmethod

from netblt_conformance.common.model import Start

_LOOK_AGAIN_S = 0.05
_CHUNK_BYTES = 1 << 16
# The least that a pipe can hold: what lies in it is no longer the program's.
_PIPE_BYTES = 4096
# What a program has written before it ended has come through by then.
_END_LIMIT_S = 5.0


class StallingClient(ABC):
    """One end of a pipe; `program_end` is for the program and has to be closed here once it has it."""

    def __init__(self, program_end: int, own_end: int, until_s: float) -> None:
        """`until_s`: the end of the stall, on the monotonic clock."""
        self.program_end = program_end
        self._own_end = own_end
        self._until_s = until_s
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._work, daemon=True)
        os.set_blocking(own_end, False)

    def start(self) -> None:
        """The program runs: its end belongs to it alone."""
        os.close(self.program_end)
        self.program_end = -1
        self._thread.start()

    def close(self) -> None:
        """Ends the client, however far it is."""
        self._closing.set()
        if self.program_end >= 0:  # the program was never started
            os.close(self.program_end)
            os.close(self._own_end)
        else:
            self._thread.join()

    @property
    def received(self) -> bytes:
        """What the program has written, once it has ended."""
        return b""

    def _work(self) -> None:
        with contextlib.suppress(OSError):  # the program has exited
            self._serve()
        os.close(self._own_end)

    @abstractmethod
    def _serve(self) -> None: ...

    def _stall(self) -> None:
        self._closing.wait(max(0.0, self._until_s - time.monotonic()))


class SlowWriter(StallingClient):
    """Gives the first bytes at once, the others after the stall."""

    def __init__(self, data: bytes, first_bytes: int, until_s: float) -> None:
        reader, writer = os.pipe()
        self._parts = (data[:first_bytes], data[first_bytes:])
        super().__init__(reader, writer, until_s)

    def _serve(self) -> None:
        first, rest = self._parts
        self._write(first)
        self._stall()
        self._write(rest)

    def _write(self, data: bytes) -> None:
        while data and not self._closing.is_set():
            _, ready, _ = select.select([], [self._own_end], [], _LOOK_AGAIN_S)
            if ready:
                data = data[os.write(self._own_end, data[:_CHUNK_BYTES]) :]


class SlowReader(StallingClient):
    """Takes nothing during the stall, and everything after it."""

    def __init__(self, until_s: float) -> None:
        reader, writer = os.pipe()
        with contextlib.suppress(OSError):  # a kernel that gives no smaller pipe: the program only gets rid of more
            fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
        self._taken = bytearray()
        super().__init__(writer, reader, until_s)

    def _serve(self) -> None:
        self._stall()
        while not self._closing.is_set():
            ready, _, _ = select.select([self._own_end], [], [], _LOOK_AGAIN_S)
            if ready:
                chunk = os.read(self._own_end, _CHUNK_BYTES)
                if not chunk:
                    return
                self._taken += chunk

    @property
    def received(self) -> bytes:
        # A program that has ended may have left everything in the pipe: it is taken when the stall is over.
        self._thread.join(max(0.0, self._until_s - time.monotonic()) + _END_LIMIT_S)
        return bytes(self._taken)


def stalling_client(start: Start, until_s: float) -> StallingClient:
    """A sender's client gives the buffers that it does not withhold, and one byte more: without it the suite does not
    know that the last of them is not the last one of all. A receiver's client takes nothing: how much the program can
    hold until it feels that is its own affair."""
    wanted = start.parameters
    if start.role.sender:
        return SlowWriter(start.data, wanted.client_stall_from * wanted.buffer_size + 1, until_s)
    return SlowReader(until_s)
