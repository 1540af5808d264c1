# SPDX-License-Identifier: GPL-2.0-or-later
"""Starting and ending an implementation's process, and describing how it ended."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

from netblt_conformance.common.child import die_with_parent, sanitizer_report
from netblt_conformance.common.kept import Kept
from netblt_conformance.common.words import last_lines
from netblt_conformance.links.base import Account

_PR_SET_CHILD_SUBREAPER = 36


def adopt_orphans() -> None:
    """Processes that descend from this one and lose their parent become its children: a program that goes on in the
    background is seen, and ended."""
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1)


_started: set[int] = set()  # children that a Process has started and not ended yet


def children() -> set[int]:
    """The children of this process that run, without those that a Process has started."""
    found: set[int] = set()
    with contextlib.suppress(OSError, ValueError):
        for task in Path("/proc/self/task").iterdir():
            found.update(map(int, (task / "children").read_text(encoding="ascii").split()))
    return {pid for pid in found - _started if _runs(pid)}


def _runs(pid: int) -> bool:
    """Not a zombie."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return False
    return state not in "ZX"


class Process:
    """A child whose standard output and error are kept, each up to a size (kept.py)."""

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
        self._errors = Kept()
        self._output = Kept() if not piped and given_output is None else None
        channel = subprocess.PIPE if piped else None
        kept = [one for one in (self._errors, self._output) if one is not None]
        try:
            self.popen = subprocess.Popen(
                self.command,
                stdin=channel or subprocess.DEVNULL if given_input is None else given_input,
                stdout=self._output.writer if self._output else channel if given_output is None else given_output,
                stderr=self._errors.writer,
                env={**os.environ, **environment},
                preexec_fn=before_exec,
                cwd=folder,
            )
            _started.add(self.popen.pid)
        except BaseException:
            for one in kept:
                one.close_writer()
                one.close()
            raise
        for one in kept:
            one.close_writer()

    @property
    def exit_code(self) -> int | None:
        return self.popen.poll()

    def wait(self, seconds: float) -> int | None:
        try:
            return self.popen.wait(seconds)
        except subprocess.TimeoutExpired:
            return None

    def errors(self) -> str:
        return self._errors.text()

    def output(self) -> str:
        return self._output.text() if self._output else ""

    def account(self) -> Account:
        return Account(tuple(self.command), self.exit_code, self.output(), self.errors())

    def last_words(self) -> str:
        """The last lines of its standard error."""
        return last_lines(self.errors())

    def how_it_ended(self) -> str:
        """As text; for a process that has ended."""
        code = self.exit_code
        return signal.Signals(-code).name if code is not None and code < 0 else f"exit status {code}"

    def fault(self) -> str | None:
        """Why this end counts as a crash: a signal or a sanitizer's report. None when it does not."""
        report = sanitizer_report(self.errors())
        if report:
            return f"sanitizer report: {report}"
        code = self.exit_code
        if code is not None and code < 0 and -code not in (signal.SIGTERM, signal.SIGINT, signal.SIGKILL):
            return f"crashed with {signal.Signals(-code).name}"
        return None

    def end(self) -> None:
        """Ends the process at once: whatever it would still print belongs to no case. May be called twice."""
        if self.popen.poll() is None:
            self.popen.kill()
            self.popen.wait()
        _started.discard(self.popen.pid)
        for stream in (self.popen.stdin, self.popen.stdout):
            if stream is not None and not stream.closed:
                with contextlib.suppress(BrokenPipeError):
                    stream.close()

    def free(self) -> None:
        self.end()
        self._errors.close()
        if self._output is not None:
            self._output.close()
