# SPDX-License-Identifier: GPL-2.0-or-later
"""What a program writes to its standard output or error, kept up to a size: its beginning and its end."""

from __future__ import annotations

import array
import contextlib
import fcntl
import os
import select
import subprocess
import termios
import threading
import time
from collections.abc import Sequence
from typing import IO

# The beginning shows what went wrong first, the end why a program died. More of either is not useful.
HEAD_BYTES = TAIL_BYTES = 256 << 10
# For code that runs inside a process of the suite and writes to a file.
FILE_BYTES = 1 << 20
_CHUNK_BYTES = 1 << 16
_SETTLE_S = 2.0  # for what a program wrote right before it ended
_F_ADD_SEALS, _F_SEAL_GROW = 1033, 4


class Kept:
    """A pipe that is read all the time, so that the program never waits: what is not kept is dropped."""

    def __init__(self) -> None:
        self._reader, self.writer = os.pipe()  # `writer` goes to the program; close_writer() after that
        self._stop, self._stopped = os.pipe()
        self._head, self._tail = bytearray(), bytearray()
        self._dropped = 0
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def close_writer(self) -> None:
        os.close(self.writer)

    def _read(self) -> None:
        while True:
            ready, _, _ = select.select([self._reader, self._stop], [], [])
            if self._stop in ready:
                return
            with self._lock:
                data = os.read(self._reader, _CHUNK_BYTES)
                self._keep(data)
            if not data:
                return

    def _keep(self, data: bytes) -> None:
        begin = data[: HEAD_BYTES - len(self._head)]
        self._head += begin
        self._tail += data[len(begin) :]
        if len(self._tail) > 2 * TAIL_BYTES:
            self._drop()

    def _drop(self) -> None:
        too_many = len(self._tail) - TAIL_BYTES
        if too_many > 0:
            del self._tail[:too_many]
            self._dropped += too_many

    def _waits(self) -> bool:
        """Something was written that is not read yet."""
        count = array.array("i", [0])
        fcntl.ioctl(self._reader, termios.FIONREAD, count)
        return count[0] > 0

    def text(self) -> str:
        """What was written so far."""
        give_up = time.monotonic() + _SETTLE_S
        while self._stopped >= 0 and self._thread.is_alive() and time.monotonic() < give_up:
            with self._lock:
                if not self._waits():
                    break
            time.sleep(0)
        with self._lock:
            self._drop()
            note = f"\n... {self._dropped} bytes left out ...\n".encode() if self._dropped else b""
            return bytes(self._head + note + self._tail).decode("utf-8", "replace")

    def close(self) -> None:
        """May be called twice."""
        if self._stopped >= 0:
            os.close(self._stopped)
            self._stopped = -1
            self._thread.join()
            os.close(self._reader)
            os.close(self._stop)


def first_line(command: Sequence[str], environment: dict[str, str], limit_s: float) -> str:
    """The first line that a program prints; empty when it fails, or does not end in time."""
    kept = Kept()
    try:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=kept.writer, stderr=subprocess.DEVNULL, env=environment
        )
    except OSError:
        kept.close_writer()
        kept.close()
        return ""
    kept.close_writer()
    try:
        status = process.wait(limit_s)
    except subprocess.TimeoutExpired:
        process.kill()
        status = process.wait()
    lines = kept.text().strip().splitlines()
    kept.close()
    return lines[0] if lines and status == 0 else ""


def kept_file() -> IO[bytes]:
    """A file in memory for standard output or error of a forked process: what is written beyond FILE_BYTES fails there,
    so that an implementation inside of the process cannot fill a disk."""
    descriptor = os.memfd_create("netblt-kept", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.ftruncate(descriptor, FILE_BYTES)
    fcntl.fcntl(descriptor, _F_ADD_SEALS, _F_SEAL_GROW)
    return os.fdopen(descriptor, "w+b", buffering=0)


def kept_text(file: IO[bytes]) -> str:
    """What a process wrote to it. The place is shared with the process, so it states how much that is."""
    with contextlib.suppress(OSError):
        written = min(os.lseek(file.fileno(), 0, os.SEEK_CUR), FILE_BYTES)
        return os.pread(file.fileno(), written, 0).decode("utf-8", "replace")
    return ""
