# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs schedules in child processes. A crash or a hang of the implementation is the verdict of the one schedule that
caused it; the others go on in a fresh child. The captures of a job are judged in a child too: this process forks, so it
must have no threads."""

from __future__ import annotations

import mmap
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from netblt_conformance.common.child import Child, Emit, Event, run_each
from netblt_conformance.common.errors import JudgeError
from netblt_conformance.common.model import Role
from netblt_conformance.common.verdicts import Cause, Verdict
from netblt_conformance.common.words import last_lines
from netblt_conformance.judges.limits import limits
from netblt_conformance.simlib import IutLibrary, PcapngWriter
from netblt_conformance.sweep.faults import Schedule
from netblt_conformance.sweep.one import Bench, run
from netblt_conformance.sweep.transfers import Transfer

# Real time after which one schedule, which takes well under a millisecond, counts as hung.
SCHEDULE_LIMIT_S = 20.0
# Crashes and hangs of one job after which the rest of it is left alone: it would show nothing new.
BREAKS_MAX = 10
# A child reports how far it is after so many seconds: an event for each schedule would take as long as the schedule.
REPORT_S = 0.1
# Schedules in one job: one merged capture for the dissector, which starts once for each.
JOB_SCHEDULES = 4_000


@dataclass(frozen=True, slots=True)
class Task:
    """One transfer under one schedule. `a` and `b` are libraries; `role` is the part of A."""

    a: Path
    b: Path
    transfer: Transfer
    role: Role
    schedule: Schedule

    @property
    def undisturbed(self) -> Task:
        """The same transfer without any fault."""
        return Task(self.a, self.b, self.transfer, self.role, ())


@dataclass(frozen=True, slots=True)
class Job:
    """Transfers whose captures are merged into one file; None: they are not captured."""

    number: int
    tasks: tuple[Task, ...]
    seed: int
    capture: Path | None


@dataclass(frozen=True, slots=True)
class Outcome:
    """Of one schedule; `index` counts in its job."""

    job: Job
    index: int
    verdict: Verdict
    seen: str
    cause: Cause = Cause.JUDGEMENT
    honest: bool = False  # see Ran

    @property
    def task(self) -> Task:
        return self.job.tasks[self.index]


class _Notes:
    """What became of the tasks of a job, in memory that a child shares with its parent: a crash loses nothing of it."""

    def __init__(self, tasks: int) -> None:
        # Where the child is, then two numbers for each task. The second one is 0 until the task has run to its end.
        self._cells = memoryview(mmap.mmap(-1, (1 + 2 * tasks) * 8)).cast("q")

    @property
    def at(self) -> int:
        """Index of the task that the child is at; the number of tasks when it has run all."""
        return self._cells[0]

    @at.setter
    def at(self, index: int) -> None:
        self._cells[0] = index

    def write(self, index: int, packets: int, end_us: int) -> None:
        self._cells[2 * index + 1], self._cells[2 * index + 2] = packets, end_us + 1

    def read(self, index: int) -> tuple[int, int] | None:
        """Packets and virtual time of a task that ran to its end."""
        packets, after_us = self._cells[2 * index + 1], self._cells[2 * index + 2]
        return (packets, after_us - 1) if after_us else None


class _Child(Child):
    """Runs the tasks of a job, from `first` on."""

    def __init__(self, job: Job, first: int = 0, breaks: int = 0) -> None:
        self.job = job
        self.first = first
        self.next = first  # task that it was at when the parent last looked
        self.notes = _Notes(len(job.tasks))
        self.notes.at = first
        self.breaks = breaks  # crashes and hangs of this job so far
        self.done = False
        self.trace = ""  # the exception that ended it
        super().__init__(SCHEDULE_LIMIT_S)
        self.began()

    def work(self, emit: Emit) -> None:
        job, libraries = self.job, _Libraries()
        capture = None if job.capture is None else PcapngWriter()
        useless: set[Task] = set()  # they do not even work undisturbed: faults would show nothing
        report_s = time.monotonic() + REPORT_S
        for index in range(self.first, len(job.tasks)):
            task = job.tasks[index]
            if useless and task.undisturbed in useless:
                continue
            self.notes.at = index
            if time.monotonic() > report_s:
                emit({"event": "at"})
                report_s = time.monotonic() + REPORT_S
            bench = Bench(libraries[task.a], libraries[task.b])
            ran = run(bench, task.transfer, task.role, task.schedule, seed=job.seed, number=index, capture=capture)
            self.notes.write(index, sum(ran.packets), ran.end_us)
            if ran.verdict is not Verdict.PASS:
                event = {"event": "ran", "index": index, "verdict": ran.verdict.name}
                emit({**event, "seen": ran.seen, "honest": ran.honest})
            if ran.verdict is Verdict.FAIL and not task.schedule:
                useless.add(task)
        if capture is not None and job.capture is not None:
            capture.save(job.capture.with_suffix(f".{self.first}.pcapng"))
        self.notes.at = len(job.tasks)
        emit({"event": "done"})


JudgeCaptures = Callable[[Job, Emit], None]
"""Runs in a child: judges the merged captures of a job, and emits an event for each thing that it finds."""


class _JudgeChild(Child):
    """Judges the captures of a job whose schedules have all run."""

    def __init__(self, job: Job, judge: JudgeCaptures) -> None:
        self.job = job
        self._judge = judge
        self.done = False
        self.trace = ""
        super().__init__(limits().seconds)
        self.began()

    def work(self, emit: Emit) -> None:
        self._judge(self.job, emit)
        emit({"event": "done"})


_Worker = _Child | _JudgeChild


def _not_noted(_job: Job, _index: int, _packets: int, _end_us: int) -> None:
    """A schedule that ran to its end is of no interest by itself."""


class _Libraries(dict[Path, IutLibrary]):
    """Libraries by their path, loaded when they are first needed."""

    def __missing__(self, path: Path) -> IutLibrary:
        return self.setdefault(path, IutLibrary(path))


@dataclass(frozen=True, slots=True)
class Judging:
    """Who judges the captures of each job, and who gets each event of that: job and event."""

    judge: JudgeCaptures
    on_found: Callable[[Job, Event], None]


class Pool:
    """At most `jobs` children at a time. `on_outcome` gets every schedule that did not pass, `on_progress` the number
    of schedules that ended, `on_ran` each that ran to its end: job, index, packets and virtual time. With `judging` the
    captures of a job are judged as soon as they are complete."""

    def __init__(
        self,
        jobs: int,
        on_outcome: Callable[[Outcome], None],
        on_progress: Callable[[int], None],
        on_ran: Callable[[Job, int, int, int], None] = _not_noted,
        judging: Judging | None = None,
    ) -> None:
        self._jobs = jobs
        self._on_outcome = on_outcome
        self._on_progress = on_progress
        self._on_ran = on_ran
        self._judging = judging

    def run(self, work: Iterator[Job]) -> None:
        """All jobs. JudgeError when captures cannot be judged."""
        run_each(work, self._jobs, self._start, self._serve, self._after, lambda _child: None)

    @staticmethod
    def _start(job: Job) -> _Worker:
        return _Child(job)

    def _serve(self, child: _Worker) -> bool:
        """Passes on what a child reports; False when it has exited."""
        events = child.events()
        if isinstance(child, _JudgeChild):
            self._take_found(child, events or [])
        else:
            self._take_ran(child, events or [])
        return events is not None

    def _take_found(self, child: _JudgeChild, events: list[Event]) -> None:
        assert self._judging is not None
        for event in events:
            if event["event"] == "done":
                child.done = True
            elif event["event"] == "trace":
                child.trace = event["what"]
            else:
                self._judging.on_found(child.job, event)

    def _take_ran(self, child: _Child, events: list[Event]) -> None:
        before, child.next = child.next, child.notes.at
        for index in range(before, child.next):
            if ran := child.notes.read(index):
                self._on_ran(child.job, index, *ran)
        for event in events:
            if event["event"] == "ran":
                verdict = Verdict[event["verdict"]]
                self._on_outcome(Outcome(child.job, event["index"], verdict, event["seen"], honest=event["honest"]))
            elif event["event"] == "done":
                child.done = True
            elif event["event"] == "trace":
                child.trace = event["what"]
        if child.next != before:
            child.began()
        self._on_progress(child.next - before)

    def _after(self, child: _Worker) -> _Worker | None:
        """Who goes on with the job: what has run is judged."""
        if isinstance(child, _Child):
            return self._rest(child) or self._judge(child.job)
        ended = child.reap()
        if not child.done:
            why = child.trace or ended.fault("tshark", child.limit_s) or last_lines(ended.errors)
            raise JudgeError(f"the dissector check failed: {why}")
        return None

    def _judge(self, job: Job) -> _JudgeChild | None:
        return None if self._judging is None else _JudgeChild(job, self._judging.judge)

    def _rest(self, child: _Child) -> _Child | None:
        """A child that ended early broke in the schedule it was at; the rest is another child's."""
        ended = child.reap()
        if child.done:
            return None
        if fault := ended.fault("the schedule", child.limit_s):
            verdict, cause, why = Verdict.FAIL, Cause.CRASH, f"the implementation {fault}"
        else:
            verdict, cause = Verdict.ERROR, Cause.SUITE
            why = child.trace or last_lines(ended.errors) or f"a sweep's process ended with exit code {ended.code}"
        rest, breaks = child.next + 1, child.breaks + 1
        left = len(child.job.tasks) - rest
        if breaks == BREAKS_MAX and left:
            why += f"; so did {breaks - 1} schedules before it, and the {left} after it were not run"
        self._on_outcome(Outcome(child.job, child.next, verdict, why, cause))
        self._on_progress(1)
        if not left or breaks == BREAKS_MAX:
            return None
        return _Child(child.job, rest, breaks)


def captures(job: Job) -> list[Path]:
    """The merged captures of a job: one, and one more for each crash after it."""
    return [] if job.capture is None else sorted(job.capture.parent.glob(f"{job.capture.stem}.*.pcapng"))
