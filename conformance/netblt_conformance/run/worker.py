# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs cases in child processes, so that an implementation that crashes or hangs in process costs one case only. Each
child asks for the next run when it has done one."""

from __future__ import annotations

import contextlib
import json
import mmap
import os
import struct
import time
from collections.abc import Callable
from typing import Any

from netblt_conformance.common import paths
from netblt_conformance.common.child import Child, Emit, Ending, Event, end_all, reporting, write_all
from netblt_conformance.common.verdicts import Origin, Result, Verdict
from netblt_conformance.common.waits import Awaited, LongWaits
from netblt_conformance.run.engine import Order, Plan
from netblt_conformance.run.loaded import Loaded, with_cases
from netblt_conformance.run.schedule import Schedule, deciding, durations, first_runs

_NUMBER = struct.Struct("@Q")


class Worker(Child):
    """One child that runs what it is given and reports events over a pipe."""

    def __init__(self, loaded: Loaded, plan: Plan, case_limit_s: float) -> None:
        self.plan = plan
        self._loaded = loaded
        self.assigned: str | None = None  # what it has to run, and has not done
        self.running: str | None = None
        self.note = ""  # what the case was doing, in its own words
        self._given = 0  # runs so far
        self._to_end = mmap.mmap(-1, _NUMBER.size)  # the number of the run that is to end early; shared with the child
        self._orders_out, self._orders = os.pipe()
        super().__init__(case_limit_s)
        os.close(self._orders_out)

    def order(self, key: str | None, profiles: dict[str, Any]) -> None:
        """Gives the child the next run, or the end of its work."""
        self.assigned = key
        self._given += 1
        line = json.dumps({"key": key, "profiles": profiles}).encode() + b"\n"
        with contextlib.suppress(BrokenPipeError):  # it died since it asked
            write_all(self._orders, line)

    def postpone(self) -> None:
        """The run under way is to end as soon as it waits."""
        self._to_end[:] = _NUMBER.pack(self._given)

    def work(self, emit: Emit) -> None:
        os.close(self._orders)
        source = os.fdopen(self._orders_out, "rb")

        def next_order() -> Order | None:
            emit({"event": "ready"})
            given = json.loads(source.readline() or "{}")
            self._given += 1
            return Order.from_json(given) if given.get("key") else None

        def postponed() -> bool:
            return self._to_end[:] == _NUMBER.pack(self._given)

        self._loaded.run(self.plan, emit, next_order, postponed)
        emit({"event": "done"})

    def events(self) -> list[Event] | None:
        events = super().events()
        for event in events or ():
            if event["event"] == "start":
                self.running, self.note = event["key"], ""
                self.began()
            elif event["event"] == "note":
                self.note = event["text"]
            elif event["event"] in ("ready", "done"):
                self.running = self.assigned = None
                self.paused()
        return events

    def reap(self) -> Ending:
        os.close(self._orders)
        self._to_end.close()
        return super().reap()


class Supervisor:
    """Keeps workers going until every run has a result."""

    def __init__(
        self,
        plan: Plan,
        jobs: int,
        case_limit_s: float,
        on_event: Callable[[dict[str, Any]], None],
        skip: frozenset[str] = frozenset(),
        spare: int = 0,
    ) -> None:
        """`jobs`: runs at a time; up to `spare` more run while as many wait long. `skip`: runs that are left out, by
        key."""
        self._plan = plan
        self._skip = skip
        self._jobs = jobs
        self._spare = spare
        self._limit_s = case_limit_s
        self._on_event = on_event
        self._workers: list[Worker] = []
        self._free: dict[Worker, None] = {}  # those that wait for a run, the longest waiting first
        self._profiles: dict[str, Any] = {}  # what was detected about each role, for the workers
        self._waits = LongWaits()
        self._usual_s: dict[str, float] = {}  # how long a run takes, by key, where that is long
        self._held: dict[str, list[dict[str, Any]]] = {}  # the events with the results of postponed runs
        self._failed: set[str] = set()  # runs whose own verdict is worse than PASS
        self._explained: set[str] = set()  # postponed runs whose failure others confirm

    def run(self) -> None:
        with_cases(self._run)

    def _run(self, loaded: Loaded) -> None:
        self._loaded = loaded
        planned = [run for run in loaded.planned(self._plan) if run.key not in self._skip]
        real_time = self._plan.factory.real_time
        seconds = durations(paths.suite()) if real_time else None
        first = first_runs(paths.suite()) if real_time else ()
        self._schedule = Schedule(planned, self._jobs, seconds, first)
        self._waits = LongWaits(deciding(planned))
        self._usual_s = {run.key: seconds[run.case] for run in planned if run.case in seconds} if seconds else {}
        self._workers = [self._start() for _ in range(min(self._jobs, len(planned)))]
        try:
            while self._workers:
                self._turn()
            self._on_event({"event": "confirmed", "keys": sorted(self._waits.confirmed | self._explained)})
        except BaseException:
            end_all(self._workers)
            raise

    def _start(self) -> Worker:
        return Worker(self._loaded, self._plan, self._limit_s)

    def _turn(self) -> None:
        """Takes in what the workers report, ends those that hang, and gives those that are free something to do."""
        for worker in reporting(self._workers):
            if not self._serve(worker):
                self._workers.remove(worker)
                self._free.pop(worker, None)
                self._after(worker)
        self._look_at_long_waits()
        self._give_work()

    def _give_work(self) -> None:
        """As many runs as may run at a time are under way, besides those that wait long."""
        most = self._jobs + min(self._waits.long, self._spare)
        if not self._free and len(self._workers) < most and self._schedule.left:
            self._workers.append(self._start())
        for worker in list(self._free):
            if len(self._workers) - len(self._free) >= most:
                break
            key = self._schedule.take()
            if key is None and (self._schedule.left or self._waits.open):
                break  # what is left waits for the first run of its role, or for what others wait for
            del self._free[worker]
            worker.order(key, self._profiles)

    def _look_at_long_waits(self) -> None:
        late = set(self._waits.to_postpone(time.monotonic()))
        for worker in self._workers:
            if worker.assigned in late:
                worker.postpone()
        for awaited, keys in self._waits.overdue(time.monotonic(), self._usual_s):
            self._on_event({"event": "overdue", "awaited": awaited.name, "keys": keys})
        settled, again = self._waits.decided()
        for key in again:
            del self._held[key]
            self._schedule.again(key)
        for key, kind, witnesses in settled:
            self._explained.add(key)
            for event in self._held.pop(key):
                if event["result"]["origin"] == Origin.CASE:
                    event["result"] |= {"expected": kind[1].value, "seen": _explanation(witnesses)}
                self._on_event(event)

    def _serve(self, worker: Worker) -> bool:
        """Passes events on; False when the worker has exited."""
        done = worker.assigned
        events = worker.events()
        if events is None:
            return False
        for event in events:
            if event["event"] == "ready":
                if done is not None:
                    self._schedule.ended(done)
                    self._waits.ended(done, failed=done in self._failed)
                self._free[worker] = None
                continue
            if event["event"] == "wait":
                now_s, awaited = time.monotonic(), Awaited[event["awaited"]]
                spans = event["seconds"], event["limit_s"]
                self._waits.reported(event["key"], event["role"], event["state"], awaited, *spans, now_s)
                continue
            if event["event"] == "postponed":
                self._held[event["key"]] = [
                    {"event": "result", "result": row, "at_s": event["at_s"]} for row in event["results"]
                ]
                self._waits.postponed(event["key"], event["role"], Awaited[event["awaited"]])
                continue
            if event["event"] == "result":
                self._note_result(Result.from_json(event["result"]))
            if event["event"] == "observed":
                self._profiles[event["role"]] = event["profile"]
                self._schedule.known(event["role"])
            self._on_event(event)
        return True

    def _note_result(self, result: Result) -> None:
        if result.origin is Origin.CASE and result.verdict not in (Verdict.PASS, Verdict.NA):
            self._failed.add(result.key)

    def _after(self, worker: Worker) -> None:
        """A worker that ended early broke in the case it was running: that is its verdict, and the rest goes on."""
        running, ended = worker.running, worker.reap()
        if worker.assigned is not None:
            self._schedule.ended(worker.assigned)
            self._waits.ended(worker.assigned, failed=False)
        if running is None:
            if ended.code != 0:
                what = ended.errors or f"a worker ended with exit code {ended.code}"
                self._on_event({"event": "trace", "what": what})
            return
        why = ended.fault("the case", worker.limit_s) or f"ended the process with exit code {ended.code}"
        after = f", after {worker.note}" if worker.note else ""
        what = f"the implementation {why}{after}"
        self._on_event({"event": "crash", "key": running, "why": what, "signal": max(-ended.code, 0)})
        if self._schedule.left:
            self._workers.append(self._start())


def _explanation(witnesses: list[str]) -> str:
    """Why a case was ended while it waited."""
    return f"not waited for to the end; {len(witnesses)} runs have waited for it in vain: {', '.join(witnesses)}"
