# SPDX-License-Identifier: GPL-2.0-or-later
"""Forked children: their events arrive, and crash, hang, exception and sanitizer report are distinguished."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from netblt_conformance.common import child as child_module
from netblt_conformance.common.child import FAILED, Child, Emit, Ending, Event, end_all, reporting, starved_s

WHAT = "the work"
LIMIT_S = 0.4


class ChildThat(Child):
    def __init__(self, works: Callable[[Emit], None], limit_s: float = 60.0) -> None:
        self._works = works
        super().__init__(limit_s)

    def work(self, emit: Emit) -> None:
        self._works(emit)


def end_of(child: Child) -> tuple[list[Event], Ending]:
    events: list[Event] = []
    while True:
        for one in reporting([child]):
            found = one.events()
            if found is None:
                return events, one.reap()
            events += found


def spin(_emit: Emit) -> None:
    while True:
        pass


def test_events_arrive_in_order_with_their_time() -> None:
    began_s = time.monotonic()

    def count(emit: Emit) -> None:
        for number in range(5000):
            emit({"event": "number", "number": number, "padding": "x" * 50})

    events, ended = end_of(ChildThat(count))
    assert [event["number"] for event in events] == list(range(5000))
    assert began_s <= events[0]["at_s"] <= events[-1]["at_s"] <= time.monotonic()
    assert ended == Ending(0, "", overdue=False)
    assert ended.fault(WHAT, 60.0) is None


def test_an_exception_is_an_event_and_no_crash() -> None:
    def fail(_emit: Emit) -> None:
        raise ValueError("no such thing")

    [event], ended = end_of(ChildThat(fail))
    assert (event["event"], event["what"]) == ("trace", "ValueError: no such thing")
    assert ended.code == FAILED
    assert ended.fault(WHAT, 60.0) is None


def test_a_signal_is_a_crash_and_earlier_events_are_kept() -> None:
    def crash(emit: Emit) -> None:
        emit({"event": "here"})
        os.kill(os.getpid(), signal.SIGSEGV)

    [event], ended = end_of(ChildThat(crash))
    assert event["event"] == "here"
    assert ended.fault(WHAT, 60.0) == "crashed with SIGSEGV"


def test_a_report_of_a_sanitizer_is_a_crash_whatever_the_exit_status() -> None:
    def report(_emit: Emit) -> None:
        os.write(2, b"x.c:3: runtime error: shift\n")

    assert end_of(ChildThat(report))[1].fault(WHAT, 60.0) == "was reported by a sanitizer: x.c:3: runtime error: shift"


def test_a_child_that_works_beyond_its_limit_hangs_and_is_killed() -> None:
    child = ChildThat(spin, LIMIT_S)
    child.began()
    _, ended = end_of(child)
    assert ended.overdue
    assert ended.code == -signal.SIGKILL
    assert ended.fault(WHAT, LIMIT_S) == "hangs, or sends without end: the work took more than 0.4 s of real time"


def test_a_child_that_waits_for_work_does_not_hang() -> None:
    child = ChildThat(spin, LIMIT_S)
    child.began()
    child.paused()
    until_s = time.monotonic() + 2 * LIMIT_S
    while time.monotonic() < until_s:
        assert reporting([child]) == []
    assert not child.overdue
    end_all([child])
    with pytest.raises(ProcessLookupError):
        os.kill(child.pid, 0)


def test_a_child_that_sleeps_gets_four_times_its_limit() -> None:
    child = ChildThat(lambda _emit: time.sleep(60), LIMIT_S)
    child.began()
    began_s = time.monotonic()
    _, ended = end_of(child)
    assert ended.overdue
    assert time.monotonic() - began_s >= 4 * LIMIT_S


@pytest.mark.parametrize("work", [lambda _emit: time.sleep(60), spin], ids=["sleeps", "works"])
def test_the_time_in_which_a_child_waits_for_a_processor_does_not_count(
    monkeypatch: pytest.MonkeyPatch, work: Callable[[Emit], None]
) -> None:
    """What the kernel reports is replaced: the child waits for a processor all the time."""
    monkeypatch.setattr(child_module, "starved_s", lambda _pid: time.monotonic())
    child = ChildThat(work, LIMIT_S)
    child.began()
    until_s = time.monotonic() + 5 * LIMIT_S
    while time.monotonic() < until_s:
        assert reporting([child]) == []
    assert not child.overdue
    end_all([child])


@pytest.mark.skipif(not Path("/proc/self/schedstat").exists(), reason="this kernel does not count it")
def test_the_time_that_a_process_waits_for_a_processor_is_known() -> None:
    """Two processes that share one processor: each of them waits about as long as it works."""
    processor = {min(os.sched_getaffinity(0))}

    def spin_there(emit: Emit) -> None:
        os.sched_setaffinity(0, processor)
        spin(emit)

    children = [ChildThat(spin_there) for _ in range(2)]
    until_s = time.monotonic() + 60
    while not all(starved_s(child.pid) > 0.1 for child in children):
        assert time.monotonic() < until_s
        time.sleep(0.05)
    end_all(children)
    assert starved_s(children[0].pid) == 0.0
