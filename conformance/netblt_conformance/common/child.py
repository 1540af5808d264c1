# SPDX-License-Identifier: GPL-2.0-or-later
"""Forked processes that run code which may crash or hang, and report events to this process over a pipe.

A run, a sweep and doctor differ in what a child does and in what its end means; how it is forked, read, found to hang,
ended and described is here."""

from __future__ import annotations

import ctypes
import faulthandler
import json
import os
import re
import select
import signal
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, TypeVar

from netblt_conformance.common.kept import kept_file, kept_text
from netblt_conformance.common.words import printable

LOOK_S = 0.5  # between two looks whether a child hangs
# A child hangs beyond its limit when it has worked for this share of it, or waited for so many times as long.
HANG_LEAST_WORK, HANG_LONGEST_WAIT = 0.25, 4
FAILED = 3  # exit status of a child whose own code raised an exception
_PR_SET_PDEATHSIG = 1
NANOSECONDS_PER_S = 1_000_000_000
ENDING = (signal.SIGINT, signal.SIGTERM)  # Ctrl-C, and a CI system that cancels a job
_SANITIZER = re.compile(r"(ERROR|WARNING): \w*Sanitizer: ")
_UNDEFINED = "runtime error: "
# A line of a sanitizer is short; of a longer one only so much is looked at.
_LINE_CHARACTERS = 4096
_CHUNK_BYTES = 1 << 16

Event = dict[str, Any]
Emit = Callable[[Event], None]


def die_with_parent() -> None:
    """In a child before exec: the kernel kills it when the thread that made it ends, however that came about."""
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def sanitizer_report(text: str) -> str | None:
    """The first line in which a sanitizer reports an error, fit to be shown; None when there is none. Takes time in
    proportion to the text, whatever is in it."""
    for line in text.splitlines():
        looked_at = line[:_LINE_CHARACTERS]
        found = _SANITIZER.search(looked_at)
        if found:
            return printable(looked_at[found.start() :].strip())
        if _UNDEFINED in looked_at:
            return printable(looked_at.strip())
    return None


def processor_s(pid: int) -> float:
    """Processor time that a process has used; 0 when it has exited."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def starved_s(pid: int) -> float:
    """How long a process could have worked and had to wait for a processor; 0 when it has exited, or the kernel does
    not count that."""
    try:
        return int(Path(f"/proc/{pid}/schedstat").read_text(encoding="ascii").split()[1]) / NANOSECONDS_PER_S
    except (OSError, IndexError):
        return 0.0


def write_all(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]


@dataclass(frozen=True, slots=True)
class Ending:
    """How a child ended."""

    code: int  # exit status, negative for a signal
    errors: str  # its standard error
    overdue: bool  # it hung, and was killed for that
    output: str = ""  # its standard output, where that is kept

    def fault(self, what: str, limit_s: float) -> str | None:
        """Why this end counts as a crash, as text that follows "the implementation"; None when the process ended by
        itself. `what` took longer than `limit_s` when it hung."""
        if self.overdue:
            return f"hangs, or sends without end: {what} took more than {limit_s:g} s of real time"
        if report := sanitizer_report(self.errors):
            return f"was reported by a sanitizer: {report}"
        return f"crashed with {signal.Signals(-self.code).name}" if self.code < 0 else None


class Child(ABC):
    """A forked process. It lives until its work is over, or until end_all()."""

    keeps_output = False  # whether the standard output is kept; else it is thrown away
    longest_wait = HANG_LONGEST_WAIT  # a child that works little hangs after so many times its limit

    def __init__(self, limit_s: float) -> None:
        """Forks. `limit_s`: how long one piece of work may take before it counts as hung."""
        self.limit_s = limit_s
        self._errors: IO[bytes] = kept_file()  # read when the child has died
        self._output: IO[bytes] | None = kept_file() if self.keeps_output else None
        self._buffer = b""
        self._since_s: float | None = None  # when the piece of work began; None: it waits for work
        self._worked_s = self._starved_s = 0.0  # processor time before it, and the time that it waited for a processor
        reader, writer = os.pipe()
        # What a handler raises inside fork is lost, and one of the parent must not run in the child.
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)
        self.pid = os.fork()
        if self.pid == 0:
            os.close(reader)
            self._be_the_child(writer, mask)
        os.close(writer)
        self.descriptor = reader
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)

    @abstractmethod
    def work(self, emit: Emit) -> None:
        """In the child: does the work and emits events, which get the time as `at_s`. An exception becomes the event
        `trace`."""

    def _be_the_child(self, writer: int, mask: Iterable[int]) -> None:
        """Never returns. No buffer of the parent may be flushed twice, hence _exit."""

        def emit(event: Event) -> None:
            write_all(writer, json.dumps({**event, "at_s": time.monotonic()}).encode() + b"\n")

        status = FAILED
        try:
            die_with_parent()
            faulthandler.disable()  # the parent may have enabled it, but a crash here is the implementation's
            for number in ENDING:  # what the parent does with them is not for the child
                signal.signal(number, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
            os.dup2(self._errors.fileno(), 2)
            os.dup2(self._output.fileno() if self._output else os.open(os.devnull, os.O_WRONLY), 1)
            self.work(emit)
            status = 0
        except BaseException as error:
            emit({"event": "trace", "what": f"{type(error).__name__}: {error}"})
        finally:
            os._exit(status)

    # ---- in the parent ----

    def began(self) -> None:
        """A piece of work has begun: its limit counts from now."""
        self._since_s = time.monotonic()
        self._worked_s, self._starved_s = processor_s(self.pid), starved_s(self.pid)

    def paused(self) -> None:
        """It waits for work: nothing can hang."""
        self._since_s = None

    def events(self) -> list[Event] | None:
        """What has come; None when the child has closed its end."""
        chunk = os.read(self.descriptor, _CHUNK_BYTES)
        if not chunk:
            return None
        *lines, self._buffer = (self._buffer + chunk).split(b"\n")
        return [json.loads(line) for line in lines]

    @property
    def overdue(self) -> bool:
        """A busy machine makes any work take long: a child that hangs also works, or sleeps for much longer. The time
        in which it waits for a processor does not count."""
        if self._since_s is None:
            return False
        waited_s = time.monotonic() - self._since_s
        if waited_s <= self.limit_s:
            return False
        counted_s = waited_s - (starved_s(self.pid) - self._starved_s)
        worked_s = processor_s(self.pid) - self._worked_s
        works = worked_s > self.limit_s * HANG_LEAST_WORK
        sleeps = counted_s - worked_s > self.limit_s * self.longest_wait
        return counted_s > self.limit_s and (works or sleeps)

    def kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)

    def reap(self) -> Ending:
        """Once, after the last events. Waits for the end and frees everything."""
        overdue = self.overdue
        os.close(self.descriptor)
        _, status = os.waitpid(self.pid, 0)
        errors, output = (_taken(file) for file in (self._errors, self._output))
        return Ending(os.waitstatus_to_exitcode(status), errors, overdue, output)


def _taken(file: IO[bytes] | None) -> str:
    if file is None:
        return ""
    with file:
        return kept_text(file)


AnyChild = TypeVar("AnyChild", bound=Child)


def reporting(children: Sequence[AnyChild]) -> list[AnyChild]:
    """Waits until some have events, or for LOOK_S; kills those that hang. Returns those whose events() can be read."""
    ready, _, _ = select.select([child.descriptor for child in children], [], [], LOOK_S)
    for child in children:
        if child.overdue:
            child.kill()
    return [child for child in children if child.descriptor in ready]


def end_all(children: Sequence[Child]) -> None:
    """For when this process stops working: ends them at once, whatever they do."""
    for child in children:
        child.kill()
        child.reap()


def finish(child: Child) -> tuple[list[Event], Ending]:
    """Waits until a child that does one piece of work has ended. Returns all that it reported, and how it ended."""
    found: list[Event] = []
    try:
        while True:
            if reporting([child]):
                events = child.events()
                if events is None:
                    break
                found += events
    except BaseException:
        end_all([child])
        raise
    return found, child.reap()


Work = TypeVar("Work")


def run_each(
    work: Iterator[Work],
    jobs: int,
    start: Callable[[Work], AnyChild],
    serve: Callable[[AnyChild], bool],
    after: Callable[[AnyChild], AnyChild | None],
    ended: Callable[[AnyChild], None],
) -> None:
    """Does each piece of work in a child, at most `jobs` at a time. `serve` takes what a child reports; False when it
    has exited. `after` then answers the child that goes on with its work; where there is none, the work has `ended`."""
    children: list[AnyChild] = []
    try:
        while True:
            while len(children) < jobs and (piece := next(work, None)) is not None:
                children.append(start(piece))
            if not children:
                return
            for child in reporting(children):
                if serve(child):
                    continue
                children.remove(child)
                again = after(child)
                if again is not None:
                    children.append(again)
                else:
                    ended(child)
    except BaseException:
        end_all(children)
        raise
