# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs schedules in child processes. A crash or a hang of the implementation is the verdict of the one schedule that
caused it; the others go on in a fresh child."""

from __future__ import annotations

import json
import os
import select
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from netblt_conformance.common.kept import kept_file, kept_text
from netblt_conformance.common.model import Role
from netblt_conformance.common.verdicts import Cause, Verdict
from netblt_conformance.common.words import last_lines
from netblt_conformance.links.process import die_with_parent, sanitizer_report
from netblt_conformance.simlib import IutLibrary, PcapngWriter
from netblt_conformance.sweep.faults import Schedule
from netblt_conformance.sweep.one import Bench, run
from netblt_conformance.sweep.transfers import Transfer

# Real time after which one schedule, which takes well under a millisecond, counts as hung.
SCHEDULE_LIMIT_S = 20.0
# Crashes and hangs of one job after which the rest of it is left alone: it would tell nothing new.
BREAKS_MAX = 10
# Schedules in one job: one merged capture for the dissector, which starts once for each.
JOB_SCHEDULES = 4_000


@dataclass(frozen=True, slots=True)
class Job:
    """A run of schedules of one transfer and role, whose captures are merged into one file."""

    number: int
    transfer: Transfer
    role: Role
    schedules: tuple[Schedule, ...]
    seed: int
    capture: Path


@dataclass(frozen=True, slots=True)
class Outcome:
    """Of one schedule; `index` counts in its job."""

    job: Job
    index: int
    verdict: Verdict
    reason: str
    cause: Cause = Cause.JUDGEMENT

    @property
    def schedule(self) -> Schedule:
        return self.job.schedules[self.index]


@dataclass(slots=True)
class _Child:
    job: Job
    pid: int
    descriptor: int
    errors: IO[bytes]
    first: int  # schedule with which it began
    next: int  # schedule that it is at
    breaks: int = 0  # crashes and hangs of this job so far
    since: float = field(default_factory=time.monotonic)
    buffer: bytes = b""
    done: bool = False


class Pool:
    """At most `jobs` children at a time. `on_outcome` hears of every schedule that did not pass, `on_progress` of the
    number of schedules that ended."""

    def __init__(
        self,
        iut: Path,
        reference: Path,
        jobs: int,
        on_outcome: Callable[[Outcome], None],
        on_progress: Callable[[int], None],
    ) -> None:
        self._iut = iut
        self._reference = reference
        self._jobs = jobs
        self._on_outcome = on_outcome
        self._on_progress = on_progress

    def run(self, work: Iterator[Job], on_job: Callable[[Job], None]) -> None:
        """`on_job` hears of each job whose merged capture is complete."""
        children: list[_Child] = []
        try:
            while True:
                while len(children) < self._jobs and (job := next(work, None)) is not None:
                    children.append(self._start(job, 0))
                if not children:
                    return
                ready, _, _ = select.select([child.descriptor for child in children], [], [], 0.5)
                for child in list(children):
                    if time.monotonic() - child.since > SCHEDULE_LIMIT_S:
                        os.kill(child.pid, signal.SIGKILL)
                    if child.descriptor in ready and not self._serve(child):
                        children.remove(child)
                        again = self._after(child)
                        if again is not None:
                            children.append(again)
                        else:
                            on_job(child.job)
        except BaseException:
            for child in children:
                os.kill(child.pid, signal.SIGKILL)
                os.waitpid(child.pid, 0)
                os.close(child.descriptor)
            raise

    def _start(self, job: Job, first: int, breaks: int = 0) -> _Child:
        errors: IO[bytes] = kept_file()  # read when the child has died
        reader, writer = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(reader)
            self._child(job, first, writer, errors)
        os.close(writer)
        return _Child(job, pid, reader, errors, first, first, breaks)

    def _child(self, job: Job, first: int, writer: int, errors: IO[bytes]) -> None:
        """Never returns."""
        die_with_parent()
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends it
        os.dup2(errors.fileno(), 2)

        def emit(**event: Any) -> None:
            data = json.dumps(event).encode() + b"\n"
            while data:
                data = data[os.write(writer, data) :]

        status = 3
        try:
            bench = Bench(IutLibrary(self._iut), IutLibrary(self._reference))
            capture = PcapngWriter()
            for index in range(first, len(job.schedules)):
                emit(at=index)
                ran = run(
                    bench, job.transfer, job.role, job.schedules[index], seed=job.seed, number=index, capture=capture
                )
                if ran.verdict is not Verdict.PASS:
                    emit(index=index, verdict=ran.verdict.name, reason=ran.reason)
                if ran.verdict is Verdict.FAIL and not job.schedules[index]:
                    break  # it does not even work undisturbed: faults would tell nothing
            part = job.capture.with_suffix(f".{first}.pcapng")
            capture.save(part)
            emit(done=True)
            status = 0
        except BaseException as error:
            os.write(2, f"{type(error).__name__}: {error}\n".encode())
        finally:
            os._exit(status)

    def _serve(self, child: _Child) -> bool:
        """Passes on what a child says; False when it is gone."""
        chunk = os.read(child.descriptor, 1 << 16)
        if not chunk:
            return False
        *lines, child.buffer = (child.buffer + chunk).split(b"\n")
        before = child.next
        for line in lines:
            event = json.loads(line)
            if "at" in event:
                child.next, child.since = event["at"], time.monotonic()
            elif "done" in event:
                child.done, child.next = True, len(child.job.schedules)
            else:
                self._on_outcome(Outcome(child.job, event["index"], Verdict[event["verdict"]], event["reason"]))
        self._on_progress(child.next - before)
        return True

    def _after(self, child: _Child) -> _Child | None:
        """A child that ended early broke in the schedule it was at; the rest is another child's."""
        overdue = time.monotonic() - child.since > SCHEDULE_LIMIT_S
        os.close(child.descriptor)
        _, status = os.waitpid(child.pid, 0)
        words = kept_text(child.errors)
        child.errors.close()
        if child.done:
            return None
        code = os.waitstatus_to_exitcode(status)
        report = sanitizer_report(words)
        verdict, cause = Verdict.FAIL, Cause.CRASH
        if overdue:
            why = f"the implementation hangs: more than {SCHEDULE_LIMIT_S:g} s of real time"
        elif report:
            why = f"a sanitizer reported the implementation: {report}"
        elif code < 0:
            why = f"the implementation crashed with {signal.Signals(-code).name}"
        else:
            verdict, cause = Verdict.ERROR, Cause.SUITE
            why = last_lines(words) or f"a sweep's process ended with exit code {code}"
        rest, breaks = child.next + 1, child.breaks + 1
        left = len(child.job.schedules) - rest
        if breaks == BREAKS_MAX and left:
            why += f"; so did {breaks - 1} schedules before it, and the {left} after it were not run"
        self._on_outcome(Outcome(child.job, child.next, verdict, why, cause))
        self._on_progress(1)
        return self._start(child.job, rest, breaks) if left and breaks < BREAKS_MAX else None


def captures(job: Job) -> list[Path]:
    """The merged captures of a job: one, and one more for each crash after it."""
    return sorted(job.capture.parent.glob(f"{job.capture.stem}.*.pcapng"))
