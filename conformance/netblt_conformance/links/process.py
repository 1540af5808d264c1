# SPDX-License-Identifier: GPL-2.0-or-later
"""Starting and ending an implementation's process, and saying in words how it ended."""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
import signal
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

_PR_SET_PDEATHSIG = 1
_SANITIZER = re.compile(r"(ERROR: \w*Sanitizer: .*|.*runtime error: .*|WARNING: \w*Sanitizer: .*)")


def die_with_parent() -> None:
    """In a child before exec: the kernel kills it when the thread that made it ends, however that came about."""
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


class Process:
    """A child with its standard error kept in an unnamed file."""

    def __init__(
        self,
        command: Sequence[str],
        environment: dict[str, str],
        before_exec: Callable[[], None] = die_with_parent,
        *,
        piped: bool = False,
        folder: Path | None = None,
        given_input: int | None = None,
        given_output: int | None = None,
    ) -> None:
        """`given_input`, `given_output`: descriptors that become its standard input or output; they stay the caller's.
        Output that goes there is not kept."""
        self.command = list(command)
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the process
        kept = not piped and given_output is None
        self._output = tempfile.TemporaryFile() if kept else None  # noqa: SIM115
        channel = subprocess.PIPE if piped else None
        self.popen = subprocess.Popen(
            self.command,
            stdin=channel or subprocess.DEVNULL if given_input is None else given_input,
            stdout=channel or self._output if given_output is None else given_output,
            stderr=self._errors,
            env={**os.environ, **environment},
            preexec_fn=before_exec,
            cwd=folder,
        )

    @property
    def exit_code(self) -> int | None:
        return self.popen.poll()

    def wait(self, seconds: float) -> int | None:
        try:
            return self.popen.wait(seconds)
        except subprocess.TimeoutExpired:
            return None

    def errors(self) -> str:
        return self._read(self._errors.fileno())

    def output(self) -> str:
        return self._read(self._output.fileno()) if self._output else ""

    @staticmethod
    def _read(descriptor: int) -> str:
        return os.pread(descriptor, 1 << 20, 0).decode("utf-8", "replace")

    def last_words(self) -> str:
        lines = [line.strip() for line in self.errors().splitlines() if line.strip()]
        return lines[-1] if lines else ""

    def fault(self) -> str | None:
        """Why this end counts as a crash: a signal or a sanitizer's report. None when it does not."""
        report = _SANITIZER.search(self.errors())
        if report:
            return f"sanitizer report: {report[0].strip()}"
        code = self.exit_code
        if code is not None and code < 0 and -code not in (signal.SIGTERM, signal.SIGINT, signal.SIGKILL):
            return f"crashed with {signal.Signals(-code).name}"
        return None

    def end(self) -> None:
        """Ends the process at once: whatever it would still say belongs to no case. May be called twice."""
        if self.popen.poll() is None:
            self.popen.kill()
            self.popen.wait()
        for stream in (self.popen.stdin, self.popen.stdout):
            if stream is not None and not stream.closed:
                with contextlib.suppress(BrokenPipeError):
                    stream.close()

    def free(self) -> None:
        self.end()
        self._errors.close()
        if self._output is not None:
            self._output.close()
