# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs cases in child processes, so that an implementation that crashes or hangs in process costs one case only."""

from __future__ import annotations

import dataclasses
import faulthandler
import json
import os
import re
import select
import signal
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

from netblt_conformance.engine import Plan
from netblt_conformance.links.process import die_with_parent
from netblt_conformance.loaded import Loaded, with_cases

# A case counts as hung beyond its limit when it has worked for this share of it, or waited for so many times as long.
HANG_LEAST_WORK, HANG_LONGEST_WAIT = 0.25, 4

SANITIZER = re.compile(r"(ERROR: \w*Sanitizer: .*|.*runtime error: .*)")


class Worker:
    """One child that runs its share of the cases and reports events over a pipe."""

    def __init__(self, loaded: Loaded, plan: Plan, case_limit_s: float) -> None:
        self.plan = plan
        self._loaded = loaded
        self._limit_s = case_limit_s
        self._errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - read when the child has died
        self.running: str | None = None
        self.note = ""  # what the case was doing, in its own words
        self._since = time.monotonic()
        self._worked_s = 0.0
        self._buffer = b""
        reader, writer = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(reader)
            self._child(writer)
        os.close(writer)
        self.descriptor = reader

    def _child(self, writer: int) -> None:
        """Never returns. No buffer of the parent may be flushed twice, hence _exit."""
        die_with_parent()
        faulthandler.disable()  # whoever runs us may have asked for it: a crash here is the implementation's
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.dup2(self._errors.fileno(), 2)
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)

        def emit(event: dict[str, Any]) -> None:
            _write_all(writer, json.dumps(event).encode() + b"\n")

        status = 3
        try:
            self._loaded.run(self.plan, emit)
            status = 0
            emit({"event": "done"})
        except BaseException as error:
            emit({"event": "trace", "what": f"{type(error).__name__}: {error}"})
        finally:
            os._exit(status)

    def events(self) -> list[dict[str, Any]] | None:
        """What has come; None when the child has closed its end."""
        chunk = os.read(self.descriptor, 1 << 16)
        if not chunk:
            return None
        *lines, self._buffer = (self._buffer + chunk).split(b"\n")
        events = [json.loads(line) for line in lines]
        for event in events:
            if event["event"] == "start":
                self.running, self._since, self.note = event["key"], time.monotonic(), ""
                self._worked_s = _processor_s(self.pid)
            elif event["event"] == "note":
                self.note = event["text"]
            elif event["event"] == "done":
                self.running = None
        return events

    @property
    def overdue(self) -> bool:
        """A busy machine makes any case take long: one that hangs also works, or sleeps for much longer."""
        waited_s = time.monotonic() - self._since
        if self.running is None or waited_s <= self._limit_s:
            return False
        worked_s = _processor_s(self.pid) - self._worked_s
        return worked_s > self._limit_s * HANG_LEAST_WORK or waited_s > self._limit_s * HANG_LONGEST_WAIT

    def kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)

    def reap(self) -> int:
        """The wait status' exit code, negative for a signal."""
        os.close(self.descriptor)
        _, status = os.waitpid(self.pid, 0)
        return os.waitstatus_to_exitcode(status)

    def errors(self) -> str:
        text = os.pread(self._errors.fileno(), 1 << 20, 0).decode("utf-8", "replace")
        self._errors.close()
        return text


def _processor_s(pid: int) -> float:
    """Processor time that a process has used; 0 when it is gone."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _write_all(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]


class Supervisor:
    """Keeps workers going until every run has a result."""

    def __init__(
        self,
        plan: Plan,
        jobs: int,
        case_limit_s: float,
        on_event: Callable[[dict[str, Any]], None],
        skip: frozenset[str] = frozenset(),
    ) -> None:
        """`skip`: runs that are left out, by key."""
        self._plan = plan
        self._skip = skip
        self._jobs = jobs
        self._limit_s = case_limit_s
        self._on_event = on_event

    def run(self) -> None:
        with_cases(self._run)

    def _run(self, loaded: Loaded) -> None:
        self._loaded = loaded
        loaded.prepare(self._plan)
        workers = [self._start(share, frozenset()) for share in range(self._jobs)]
        finished: dict[int, set[str]] = {share: set() for share in range(self._jobs)}
        try:
            while workers:
                ready, _, _ = select.select([worker.descriptor for worker in workers], [], [], 0.5)
                for worker in list(workers):
                    if worker.overdue:
                        worker.kill()
                    if worker.descriptor in ready and not self._serve(worker, finished):
                        workers.remove(worker)
                        workers.extend(self._after(worker, finished))
        except BaseException:
            for worker in workers:
                worker.kill()
                worker.reap()
            raise

    def _start(self, share: int, done: frozenset[str]) -> Worker:
        plan = dataclasses.replace(self._plan, share=(share, self._jobs), skip=done | self._skip)
        return Worker(self._loaded, plan, self._limit_s)

    def _serve(self, worker: Worker, finished: dict[int, set[str]]) -> bool:
        """Passes events on; False when the worker is gone."""
        events = worker.events()
        if events is None:
            return False
        for event in events:
            if event["event"] == "start":
                finished[worker.plan.share[0]].add(event["key"])
            self._on_event(event)
        return True

    def _after(self, worker: Worker, finished: dict[int, set[str]]) -> list[Worker]:
        """A worker that ended early broke in the case it was running: that is its verdict, and the rest goes on."""
        overdue, running = worker.overdue, worker.running
        code = worker.reap()
        words = worker.errors()
        if running is None:
            if code != 0:
                self._on_event({"event": "trace", "what": words or f"a worker ended with exit code {code}"})
            return []
        report = SANITIZER.search(words)
        if overdue:
            why = f"hangs: the case took more than {self._limit_s:g} s of real time"
        elif report:
            why = f"was reported by a sanitizer: {report[0].strip()}"
        elif code < 0:
            why = f"crashed with {signal.Signals(-code).name}"
        else:
            why = f"ended the process with exit code {code}"
        after = f", after {worker.note}" if worker.note else ""
        self._on_event({"event": "crash", "key": running, "why": f"the implementation {why}{after}"})
        # The share is cut anew from what is left, so the plan names everything that was begun.
        return [self._resume(worker, finished)]

    def _resume(self, worker: Worker, finished: dict[int, set[str]]) -> Worker:
        share = worker.plan.share[0]
        return self._start(share, frozenset(finished[share]))
