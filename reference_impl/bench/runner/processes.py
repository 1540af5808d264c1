# SPDX-License-Identifier: BSD-2-Clause
"""Programs that end with us, and what they cost.

Every child dies with this process, however that ends (PR_SET_PDEATHSIG, set by `setpriv`), and with it the network
namespace that it holds: nothing remains and nothing has to be searched for.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO

GRACE_S = 5.0  # from SIGTERM to SIGKILL


class BenchError(Exception):
    """A sentence for the user: what could not be measured, and why."""


@dataclass(frozen=True)
class Ended:
    """How a program ended."""

    status: int  # as subprocess: negative = killed by that signal
    cpu_s: float  # user and system time, all threads; with it the network stack that ran on their behalf
    out: str
    err: str

    @property
    def last_words(self) -> str:
        lines = self.err.strip().splitlines() or self.out.strip().splitlines()
        return lines[-1][:200] if lines else f"exit status {self.status}"


class Program:
    """A running child. Its output goes to files, so that it never waits for a reader."""

    def __init__(self, argv: Sequence[str | Path], *, namespace: int | None = None, cpu: int | None = None,
                 priority: int = 0, stdin: str = "/dev/null") -> None:  # fmt: skip
        words = ["setpriv", "--pdeathsig", "KILL"]
        if namespace is not None:
            words += ["nsenter", f"--net=/proc/{namespace}/ns/net"]
        if cpu is not None and cpu in os.sched_getaffinity(0):
            words += ["taskset", "-c", str(cpu)]
        if priority > 0:  # real-time
            words += ["chrt", "-f", str(priority)]
        self.name = Path(argv[0]).name
        self._out, self._err = tempfile.TemporaryFile(), tempfile.TemporaryFile()  # noqa: SIM115
        with Path(stdin).open("rb") as source:
            self._popen = subprocess.Popen(
                [*words, *map(str, argv)], stdin=source, stdout=self._out, stderr=self._err, close_fds=True
            )
        self.pid = self._popen.pid
        self._pidfd = os.pidfd_open(self.pid)
        self._ended: Ended | None = None

    def __enter__(self) -> Program:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, what: BaseException | None, where: TracebackType | None
    ) -> None:
        self.end()

    def running(self) -> bool:
        return self._ended is None and not self._exited(0)

    def _exited(self, timeout_s: float) -> bool:
        poll = select.poll()
        poll.register(self._pidfd, select.POLLIN)
        return bool(poll.poll(max(0, timeout_s) * 1000))

    def _read(self, file: IO[bytes]) -> str:
        file.seek(0)
        text = file.read().decode("utf-8", "replace")
        file.close()
        return text

    def signal(self, number: signal.Signals) -> None:
        if self._ended is None:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._pidfd, number)

    def wait(self, timeout_s: float) -> Ended | None:
        """How it ended, or None when it has not."""
        if self._ended is None and self._exited(timeout_s):
            _, status, usage = os.wait4(self.pid, 0)
            self._popen.returncode = os.waitstatus_to_exitcode(status)
            os.close(self._pidfd)
            self._ended = Ended(
                self._popen.returncode, usage.ru_utime + usage.ru_stime, self._read(self._out), self._read(self._err)
            )
        return self._ended

    def end(self) -> Ended:
        """Asks it to end, then insists."""
        for number in (signal.SIGTERM, signal.SIGKILL):
            if self._ended is None:
                self.signal(number)
                self.wait(GRACE_S)
        if self._ended is None:
            raise BenchError(f"{self.name} (process {self.pid}) does not end")
        return self._ended

    def peek(self) -> str:
        """What it has written to stdout so far."""
        return os.pread(self._out.fileno(), 1 << 20, 0).decode("utf-8", "replace") if self._ended is None else ""


def run(argv: Sequence[str | Path], *, namespace: int | None = None) -> str:
    """Runs a short command to its end; its output."""
    with Program(argv, namespace=namespace) as program:
        ended = program.wait(20)
        if ended is None or ended.status != 0:
            why = "does not end" if ended is None else ended.last_words
            raise BenchError(f"{' '.join(map(str, argv))}: {why}")
        return ended.out
