# SPDX-License-Identifier: GPL-2.0-or-later
"""Limits on the memory and the time of the tshark processes that the suite starts: a hostile capture ends with an error
that names the limit, not with the machine."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from netblt_conformance.common.errors import JudgeError
from netblt_conformance.common.words import printable

MEMORY_VARIABLE, TIME_VARIABLE = "NETBLT_TSHARK_MEMORY_MIB", "NETBLT_TSHARK_SECONDS"
# Twice what a capture of 200,000 connections takes, and a fraction of what a machine for tests has.
MEMORY_MIB = 6144
# A capture of 100 million packets takes less.
TIME_S = 600
_MIB = 1 << 20
# What programs print when the system gives them no memory: GLib, the C++ library, the C library.
_NO_MEMORY = ("failed to allocate", "bad_alloc", "Cannot allocate memory", "out of memory")


@dataclass(frozen=True, slots=True)
class Limits:
    memory_mib: int  # of address space
    seconds: float

    def confined(self, command: Sequence[str]) -> list[str]:
        """The command with no more memory than this. A program does it, because threads of this process may hold locks
        that a function before exec would wait for."""
        program = shutil.which("prlimit")
        if program is None:
            raise JudgeError("prlimit is not installed (package util-linux); run tools/setup")
        return [program, f"--as={self.memory_mib * _MIB}", *command]


def _setting(name: str, default: float) -> float:
    text = os.environ.get(name)
    if text is None:
        return default
    try:
        value = float(text)
    except ValueError:
        value = 0
    if not 0 < value < 1e9:
        raise JudgeError(f"{name}={text}: a number greater than zero is expected")
    return value


def limits() -> Limits:
    """The limits that the environment sets, or the usual ones."""
    return Limits(int(_setting(MEMORY_VARIABLE, MEMORY_MIB)) or 1, _setting(TIME_VARIABLE, TIME_S))


class Watched:
    """A context manager: inside it the process has so many seconds, then it is killed."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self._limits = limits()
        self._timer = threading.Timer(self._limits.seconds, self._expire)
        self.expired = False

    def _expire(self) -> None:
        self.expired = True
        self._process.kill()

    def __enter__(self) -> Self:
        self._timer.daemon = True
        self._timer.start()
        return self

    def __exit__(self, error: type[BaseException] | None, *_: object) -> None:
        if error is not None:
            self._process.kill()  # what it would still write is not read
        self._process.wait()  # its output has ended, or the timer ends it
        self._timer.cancel()

    def why(self, words: bytes) -> str:
        """Why the process failed, which said `words` on its standard error; empty when it did not."""
        if self.expired:
            return (
                f"tshark took longer than the time limit of {self._limits.seconds:g} s; {TIME_VARIABLE} in the "
                "environment allows more"
            )
        return failure(self._process.returncode, words, self._limits)


def last_line(words: str) -> str:
    """What a program printed last, where it states why it failed. tshark warns root each time; and what tshark
    knows as its standard input has a name here."""
    lines = [line for line in words.strip().splitlines() if not line.startswith("Running as user")]
    return printable((lines or ["no reason given"])[-1].removeprefix("tshark: ").replace("The standard input", "it"))


def failure(status: int, words: bytes, limit: Limits) -> str:
    """Why a tshark that ended with this status failed; empty when it did not."""
    if not status:
        return ""
    text = words.decode("utf-8", "replace")
    if any(sign in text for sign in _NO_MEMORY):
        return (
            f"tshark reached the memory limit of {limit.memory_mib} MiB; {MEMORY_VARIABLE} in the environment allows "
            "more"
        )
    return f"{last_line(text)} (it ended with {signal.Signals(-status).name})" if status < 0 else last_line(text)
