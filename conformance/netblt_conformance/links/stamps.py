# SPDX-License-Identifier: GPL-2.0-or-later
"""When a packet passed the kernel, rather than when this program got round to reading it (SO_TIMESTAMPNS), and how long
the machine kept the processes of a case waiting for a processor. Both make verdicts in real time worth something."""

from __future__ import annotations

import contextlib
import os
import socket
import struct
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

NANOSECONDS_PER_US = 1_000
_SO_TIMESTAMPNS = 35  # Linux, asm-generic/socket.h; Python has no name for it
_TIMESPEC = struct.Struct("@qq")
_NANOSECONDS_PER_S = 1_000_000_000
_ANCILLARY_BYTES = socket.CMSG_SPACE(_TIMESPEC.size)
_SAME_MOMENT_NS = 20_000
_CLOCK_READINGS = 10
_LARGEST_PACKET = 65_535 + 64
_INODE = 9  # column of /proc/PID/net/udp and raw


def stamp(sock: socket.socket) -> None:
    """From now on the kernel notes when each packet came."""
    sock.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)


def both_clocks_ns() -> tuple[int, int]:
    """The monotonic clock and the one that people set at the same moment. Losing the processor between the two readings
    would put a packet before what it answers, so they are read again, and those that lie closest together count."""
    closest: tuple[int, int, int] | None = None
    for _ in range(_CLOCK_READINGS):
        before_ns, real_ns, after_ns = time.monotonic_ns(), time.time_ns(), time.monotonic_ns()
        reading = (after_ns - before_ns, before_ns, real_ns)
        closest = reading if closest is None else min(closest, reading)
        if closest[0] <= _SAME_MOMENT_NS:
            break
    assert closest is not None
    return closest[1], closest[2]


def receive(sock: socket.socket) -> tuple[int, bytes, Any]:
    """(when it came, in nanoseconds of the monotonic clock; the packet; whence). BlockingIOError when there is none."""
    data, ancillary, _, whence = sock.recvmsg(_LARGEST_PACKET, _ANCILLARY_BYTES)
    now_ns, now_real_ns = both_clocks_ns()
    for level, kind, value in ancillary:
        if level == socket.SOL_SOCKET and kind == _SO_TIMESTAMPNS:
            seconds, nanoseconds = _TIMESPEC.unpack(value[: _TIMESPEC.size])
            # The kernel's clock is the one that people set: only its distance from now is used. A step in between
            # would put the packet into the future or far into the past.
            age_ns = now_real_ns - (seconds * _NANOSECONDS_PER_S + nanoseconds)
            return now_ns - max(0, age_ns), data, whence
    return now_ns, data, whence


def waited_ns(pid: int | None = None) -> int:
    """How long all threads of a process (this one by default) have waited for a processor although they could have run.
    0 where the kernel does not state it."""
    total = 0
    folder = Path(f"/proc/{os.getpid() if pid is None else pid}/task")
    with contextlib.suppress(OSError, ValueError, IndexError):
        for task in folder.iterdir():
            total += int((task / "schedstat").read_text(encoding="ascii").split()[1])
    return total


def _open_files(pid: int) -> Iterator[str]:
    for entry in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(OSError):  # closed meanwhile
            yield str(entry.readlink())


def dropped_packets(pid: int) -> int:
    """How many packets the kernel has dropped because a UDP or raw socket of the process had no room for them. 0 where
    the kernel does not state it."""
    total = 0
    with contextlib.suppress(OSError, ValueError, IndexError):
        held = set(_open_files(pid))
        for kind in ("udp", "raw"):
            for line in Path(f"/proc/{pid}/net/{kind}").read_text(encoding="ascii").splitlines()[1:]:
                fields = line.split()
                if f"socket:[{fields[_INODE]}]" in held:
                    total += int(fields[-1])
    return total


class StallMeter:
    """What the machine did to a case: for how long the tester and the implementation waited for a processor, how late
    the tester woke, and how many packets the kernel dropped at the implementation's sockets."""

    def __init__(self) -> None:
        self._began_ns = waited_ns()
        self._late_us = 0
        self._implementation_us = 0
        self.dropped_packets = 0

    def woke(self, wanted_us: int, now_us: int) -> None:
        """The tester asked to be woken at one moment and was at another."""
        self._late_us = max(self._late_us, now_us - wanted_us)

    def look_at(self, pid: int) -> None:
        """Called while the implementation's process lives: afterwards it is not known."""
        self._implementation_us = max(self._implementation_us, waited_ns(pid) // NANOSECONDS_PER_US)
        self.dropped_packets = max(self.dropped_packets, dropped_packets(pid))

    @property
    def held_up_us(self) -> int:
        """An upper bound of what the machine has added to any interval of this case."""
        own_us = (waited_ns() - self._began_ns) // NANOSECONDS_PER_US
        return max(own_us, self._late_us, self._implementation_us)
