# SPDX-License-Identifier: GPL-2.0-or-later
"""How a command ends that a signal, a closed or full stream, a full disk or a mistake of its own stops: with one line
where the user can do something, and with an exit status that states no verdict."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import traceback
from collections.abc import Iterator
from typing import Any

from netblt_conformance.common.words import fit_lines


@contextlib.contextmanager
def ended_by_signals() -> Iterator[None]:
    """SIGTERM ends a command as Ctrl-C does: its processes end with it, and its temporary files go."""

    def end(_number: int, _frame: Any) -> None:
        raise KeyboardInterrupt

    before = signal.getsignal(signal.SIGTERM)
    handles = before is signal.SIG_DFL and threading.current_thread() is threading.main_thread()
    if handles:
        signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        if handles and signal.getsignal(signal.SIGTERM) is end:  # else it is ignored until the end of the process
            signal.signal(signal.SIGTERM, before)


@contextlib.contextmanager
def signals_wait() -> Iterator[None]:
    """Inside, a signal waits: an import that is interrupted ends in a traceback. Processes and threads that begin
    inside get no signals."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT, signal.SIGTERM))
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def open_streams() -> None:
    """A standard stream that is closed becomes /dev/null: no file that is opened later may take its number."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    sys.stdout = sys.stdout or os.fdopen(os.dup(1), "w", encoding="utf-8")
    sys.stderr = sys.stderr or os.fdopen(os.dup(2), "w", encoding="utf-8")


def _close_output() -> None:
    """Nothing more is written to standard output, also not when the process ends."""
    with contextlib.suppress(OSError, ValueError):  # no file, as in a test
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def explain(error: BaseException) -> None:
    """Writes to standard error what ended the command."""
    if isinstance(error, BrokenPipeError):
        _close_output()
    elif isinstance(error, KeyboardInterrupt):
        print("interrupted", file=sys.stderr)
    elif isinstance(error, OSError):  # a full disk, a file that went
        _close_output()
        where = f"{error.filename}: " if error.filename else ""
        print(fit_lines(f"error: {where}{error.strerror or error}"), file=sys.stderr)
    else:
        traceback.print_exception(error)
