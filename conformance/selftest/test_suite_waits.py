# SPDX-License-Identifier: GPL-2.0-or-later
"""Long waits: a few cases wait to the end, the others of the same kind are postponed, and nothing is lost by it."""

from __future__ import annotations

import collections
import contextlib
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import pytest
from netblt_conformance.cases.case import Case, Profile
from netblt_conformance.catalogue import catalogue
from netblt_conformance.common.model import Role
from netblt_conformance.common.tolerances import DEFAULT
from netblt_conformance.common.verdicts import Cause, Result, Verdict
from netblt_conformance.common.waits import (
    LONGER_THAN_EVER,
    OVERDUE_RUNS,
    OVERDUE_S,
    POSTPONE_S,
    REPORT_US,
    WITNESSES,
    Awaited,
    DecidedError,
    LongWaits,
    PostponedError,
    Wait,
    Watch,
)
from netblt_conformance.links.base import Link
from netblt_conformance.oracles import Monitor
from netblt_conformance.oracles.base import Check, Violation
from netblt_conformance.oracles.session import GROWTH
from netblt_conformance.packets.packets import Kind, Message
from netblt_conformance.peer import ReceiverPeer, SenderPeer
from netblt_conformance.peer.base import Peer
from netblt_conformance.peer.exchange import UnmetError
from netblt_conformance.peer.sender import GROWN_WAITS
from netblt_conformance.run.engine import Plan
from netblt_conformance.run.schedule import Planned, Schedule
from netblt_conformance.run.worker import Supervisor, Worker

ROLE, OTHER_ROLE = "active-receiver", "passive-receiver"
S = 1_000_000
LONG_S = REPORT_US / S
LIMIT_S = 60.0


def begin(
    waits: LongWaits,
    *keys: str,
    role: str = ROLE,
    awaited: Awaited = Awaited.SUCCESS,
    at_s: float = 0.0,
    limit_s: float = LIMIT_S,
) -> None:
    """These runs have waited since `at_s`, and are reported."""
    for key in keys:
        waits.reported(key, role, "long", awaited, LONG_S, limit_s, at_s + LONG_S)


def fail(waits: LongWaits, *keys: str, role: str = ROLE, awaited: Awaited = Awaited.SUCCESS) -> None:
    """These runs have waited in vain, and failed."""
    for key in keys:
        waits.reported(key, role, "in vain", awaited, LIMIT_S, LIMIT_S, LIMIT_S)
        waits.ended(key, failed=True)


def postpone(waits: LongWaits, now_s: float) -> list[str]:
    keys = waits.to_postpone(now_s)
    for key in keys:
        waits.postponed(key, ROLE, Awaited.SUCCESS)
        waits.ended(key, failed=False)
    return keys


def test_as_many_runs_as_are_needed_wait_to_the_end_and_the_others_are_postponed() -> None:
    waits = LongWaits()
    begin(waits, "a", "b", "c", "d", "e")
    assert waits.to_postpone(POSTPONE_S - 0.1) == []
    assert postpone(waits, POSTPONE_S) == ["d", "e"]
    assert waits.to_postpone(1000.0) == []
    assert WITNESSES == 3


def test_what_several_runs_wait_for_longer_than_usual_is_overdue_once() -> None:
    waits = LongWaits()
    begin(waits, "a", "b", role=ROLE)
    begin(waits, "c", role=OTHER_ROLE)
    begin(waits, "d", awaited=Awaited.OPEN)
    assert OVERDUE_RUNS == 3
    assert waits.overdue(OVERDUE_S - 0.1, {}) == []
    usual_s = {"c": OVERDUE_S}
    assert waits.overdue(OVERDUE_S * LONGER_THAN_EVER - 0.1, usual_s) == [], "one of them may take so long"
    assert waits.overdue(OVERDUE_S * LONGER_THAN_EVER, usual_s) == [(Awaited.SUCCESS, ["a", "b", "c"])]
    assert waits.overdue(1000.0, {}) == []


def test_runs_are_not_overdue_while_others_had_to_wait_as_long_for_what_came() -> None:
    waits = LongWaits()
    begin(waits, "early")
    waits.reported("early", ROLE, "came", Awaited.SUCCESS, 20.0, LIMIT_S, 20.0)
    begin(waits, "a", "b", "c", at_s=20.0)
    assert waits.overdue(20.0 + 20.0, {}) == []
    assert waits.overdue(20.0 + 20.0 * LONGER_THAN_EVER, {}) != []


def test_few_runs_that_wait_are_left_alone() -> None:
    waits = LongWaits()
    begin(waits, "a", "b", "c")
    begin(waits, "d", role=OTHER_ROLE)
    begin(waits, "e", awaited=Awaited.OPEN)
    assert waits.to_postpone(1000.0) == []


def test_when_the_witnesses_fail_the_postponed_runs_are_settled_and_later_ones_wait_shortly() -> None:
    waits = LongWaits()
    begin(waits, "a", "b", "c", "d")
    assert postpone(waits, POSTPONE_S) == ["d"]
    fail(waits, "a", "b")
    assert waits.decided() == ([], [])
    assert waits.open
    fail(waits, "c")
    assert waits.decided() == ([("d", (ROLE, Awaited.SUCCESS), ["a", "b", "c"])], [])
    assert not waits.open
    assert waits.confirmed == {"a", "b", "c"}
    begin(waits, "e", at_s=70.0)
    assert waits.to_postpone(70.0 + LONG_S) == ["e"]


def test_when_what_a_witness_waits_for_comes_the_postponed_runs_run_again_in_full() -> None:
    waits = LongWaits()
    begin(waits, "a", "b", "c", "d")
    assert postpone(waits, POSTPONE_S) == ["d"]
    waits.reported("a", ROLE, "came", Awaited.SUCCESS, 30.0, LIMIT_S, 30.0)
    assert waits.decided() == ([], ["d"])
    assert not waits.open
    begin(waits, "d", at_s=31.0)
    assert waits.to_postpone(1000.0) == []


def test_a_run_that_waits_in_vain_and_passes_is_no_witness() -> None:
    waits = LongWaits()
    begin(waits, "a", "b", "c", "d")
    postpone(waits, POSTPONE_S)
    waits.reported("a", ROLE, "in vain", Awaited.SUCCESS, 60.0, LIMIT_S, 60.0)
    waits.ended("a", failed=False)
    assert waits.decided() == ([], ["d"])


def test_a_witness_that_ends_without_a_word_is_replaced() -> None:
    waits = LongWaits()
    begin(waits, "a", "b", "c", "d", "e")
    waits.ended("a", failed=False)
    assert waits.to_postpone(POSTPONE_S) == ["e"]


def test_the_run_that_decides_about_what_is_due_waits_to_the_end() -> None:
    waits = LongWaits({"own": "OPEN-01", "other": "OPEN-02"})
    runs = ("a", "b", "c", "own", "other")
    for key in runs:
        begin(waits, key, awaited=Awaited.RESPONSE)
    assert waits.to_postpone(POSTPONE_S) == ["other"]
    fail(waits, "a", "b", "c", awaited=Awaited.RESPONSE)
    assert waits.to_postpone(POSTPONE_S) == ["other"]


def test_what_is_due_by_no_requirement_is_waited_for_to_the_end_by_witnesses_only() -> None:
    waits = LongWaits({"own": "OPEN-01"})
    begin(waits, "a", "b", "c", "own", "none")
    assert waits.to_postpone(POSTPONE_S) == ["own", "none"]


def test_the_witnesses_are_those_that_know_the_outcome_first() -> None:
    waits = LongWaits()
    begin(waits, "a", "b", limit_s=20.0)
    begin(waits, "slow", limit_s=180.0)
    begin(waits, "d", limit_s=60.0)
    begin(waits, "e", limit_s=60.0, at_s=1.0)
    assert sorted(postpone(waits, 1.0 + POSTPONE_S)) == ["e", "slow"]
    fail(waits, "a", "b", "d")
    settled, again = waits.decided()
    assert (sorted(key for key, _, _ in settled), again) == (["e", "slow"], [])


def test_the_limit_of_a_wait_is_reported_with_it() -> None:
    told: list[float] = []
    wait = Wait(Watch(lambda _state, _awaited, _seconds, limit_s: told.append(limit_s)), Awaited.TRANSFER, 0, 90 * S)
    wait.goes_on(3 * S)
    assert told == [90.0]


def test_nobody_is_postponed_before_it_has_waited_longer_than_any_wait_that_succeeded() -> None:
    waits = LongWaits()
    begin(waits, "z")
    waits.reported("z", ROLE, "came", Awaited.SUCCESS, 10.0, LIMIT_S, 10.0)
    begin(waits, "a", "b", "c", "d", at_s=20.0)
    assert waits.to_postpone(20.0 + 14.9) == []
    assert waits.to_postpone(20.0 + 15.0) == ["d"]


def test_a_wait_is_reported_once_it_is_long_and_ends_when_it_is_postponed() -> None:
    told: list[tuple[str, float]] = []
    watch = Watch(lambda state, _awaited, seconds, _limit_s: told.append((state, seconds)), lambda: len(told) > 0)
    wait = Wait(watch, Awaited.SUCCESS, began_us=S, limit_us=60 * S)
    wait.goes_on(S + REPORT_US - 1)
    assert told == []
    with pytest.raises(PostponedError) as ended:
        wait.goes_on(S + REPORT_US)
    assert told == [("long", LONG_S)]
    assert ended.value.awaited is Awaited.SUCCESS


def test_a_case_that_has_failed_ends_its_long_wait() -> None:
    reports: list[str] = []
    wait = Wait(
        Watch(lambda state, _awaited, _seconds, _limit_s: reports.append(state), decided=lambda: True),
        Awaited.SUCCESS,
        began_us=S,
        limit_us=60 * S,
    )
    wait.goes_on(S + REPORT_US - 1)
    with pytest.raises(DecidedError):
        wait.goes_on(S + REPORT_US)
    assert reports == ["long"], "whether it would have come is not known"


@pytest.mark.parametrize(
    ("violation", "decided"),
    [
        (None, False),
        (Violation(Check("CTRL-04", "a should", "is not met", Verdict.WARN), (), 1), False),
        (Violation(Check("CTRL-03", "something else", "not judged by the case"), (), 1), False),
        (Violation(Check("CTRL-04", "something", "judged by the case"), (), 1), True),
    ],
)
def test_a_case_is_decided_once_an_oracle_finds_a_breach_of_what_it_judges(
    violation: Violation | None, decided: bool
) -> None:
    judged = (catalogue.requirements()["CTRL-04"],)
    link = cast("Link", SimpleNamespace(dropped_packets=0))
    case = Case("a", judged, Role(active=True, sender=False), "stimulus", link, 1, Profile())
    violations = [violation] if violation else []
    case.monitors.append(cast("Monitor", SimpleNamespace(violations=violations, finish=lambda: None)))
    assert case.is_decided is decided

    def wait_for_success() -> None:
        if case.is_decided:
            raise DecidedError

    case.run(wait_for_success)
    case.settle()
    assert (case.judgement.verdict is Verdict.FAIL) is decided


@pytest.mark.parametrize(
    ("arrival", "dropped", "verdict"),
    [(True, 0, Verdict.FAIL), (True, 1, Verdict.PASS), (False, 1, Verdict.FAIL)],
)
def test_what_supposes_an_arrival_is_not_judged_where_packets_found_no_room(
    *, arrival: bool, dropped: int, verdict: Verdict
) -> None:
    judged = (catalogue.requirements()["RESEND-01"],)
    link = cast("Link", SimpleNamespace(dropped_packets=dropped))
    case = Case("a", judged, Role(active=True, sender=False), "stimulus", link, 1, Profile())
    violation = Violation(Check("RESEND-01", "what is missing", "what had arrived", arrival=arrival), (), 1)
    case.monitors.append(cast("Monitor", SimpleNamespace(violations=[violation], finish=lambda: None)))
    assert case.is_decided is (verdict is Verdict.FAIL)
    case.settle()
    assert case.judgement.verdict is verdict


def test_a_case_that_found_a_breach_itself_is_decided() -> None:
    case = Case("a", (), Role(active=True, sender=False), "stimulus", cast("Link", None), 1, Profile())
    case.judgement.worsen(Verdict.INCONC, "the preamble did not come about")
    assert not case.is_decided
    case.judgement.worsen(Verdict.FAIL, "wrong", expected="right")
    assert case.is_decided


@pytest.mark.parametrize(("awaited", "limit_us"), [(Awaited.OTHER, 60 * S), (Awaited.SUCCESS, 4 * S)])
def test_what_no_other_case_waits_for_and_what_is_short_is_never_reported(awaited: Awaited, limit_us: int) -> None:
    told: list[str] = []
    wait = Wait(
        Watch(lambda state, _awaited, _seconds, _limit_s: told.append(state), lambda: True), awaited, 0, limit_us
    )
    wait.goes_on(1000 * S)
    wait.ended(1000 * S, came=False)
    assert told == []


def test_the_end_of_a_wait_is_reported_only_if_its_beginning_was() -> None:
    told: list[tuple[str, float]] = []
    watch = Watch(lambda state, _awaited, seconds, _limit_s: told.append((state, seconds)))
    Wait(watch, Awaited.TRANSFER, 0, 60 * S).ended(S, came=True)
    assert told == []
    wait = Wait(watch, Awaited.TRANSFER, 0, 60 * S)
    wait.goes_on(3 * S)
    wait.ended(60 * S, came=False)
    assert told == [("long", 3.0), ("in vain", 60.0)]


@pytest.mark.parametrize(("published_ms", "seconds"), [(1, 5), (500, 5), (501, 5.01), (2000, 20), (65535, 20)])
def test_a_repeat_is_waited_for_ten_times_as_long_as_was_published_but_not_too_short_or_long(
    published_ms: int, seconds: float
) -> None:
    assert DEFAULT.published_repeat_max_us(published_ms) == round(seconds * S)


def test_what_is_waited_for_inside_a_wait_is_a_part_of_it() -> None:
    """Five OPENs are one wait for RESPONSE, which is not over when the first one gets none."""
    told: list[tuple[str, Awaited]] = []
    now = SimpleNamespace(us=0)
    peer = Peer.__new__(Peer)
    watch = Watch(lambda state, awaited, _seconds, _limit_s: told.append((state, awaited)))
    peer.link = cast("Link", SimpleNamespace(watch=watch, clock=SimpleNamespace(now_us=lambda: now.us)))
    peer._wait = None

    def open_in_vain() -> None:
        with peer._waits(Awaited.RESPONSE, 5 * S):
            for _ in range(5):
                with contextlib.suppress(UnmetError), peer._waits(Awaited.OTHER, S):
                    now.us += S
                    assert peer._wait is not None
                    peer._wait.goes_on(now.us)
                    raise UnmetError("RESPONSE", "none to this OPEN")
            raise UnmetError("RESPONSE", "none")

    with pytest.raises(UnmetError):
        open_in_vain()
    assert told == [("long", Awaited.RESPONSE), ("in vain", Awaited.RESPONSE)]


class EndlessTransfer(SenderPeer):
    """The implementation asks for more at every moment and completes nothing; a step takes a second."""

    data_timer_max_us = _repeat_limit_us = 20 * S
    pace_us = buffer_count = 0
    _progress_made = 0, 0
    steps, steps_max = 0, 1000

    @property
    def now_us(self) -> int:
        return self.steps * S

    def _serve(self, _unsent: object, _lose: object) -> bool:
        self.steps += 1
        assert self.steps < self.steps_max, "the transfer has no end"
        return True

    def _has_all_oks(self) -> bool:
        return False

    def null_ack(self, high_seq: int | None = None) -> int:
        del high_seq
        return 0

    def due_by(self, awaited: Awaited) -> str:
        del awaited
        return ""


def test_a_transfer_that_asks_for_ever_ends_with_its_limit() -> None:
    peer = EndlessTransfer.__new__(EndlessTransfer)
    peer.link = cast("Link", SimpleNamespace(watch=Watch(), over=False, tells_outcome=False))
    peer._wait, peer.messages = None, {}
    peer.lost_buffers, peer._confirmed = set(), set()
    with pytest.raises(UnmetError, match="not within 60 s"):
        peer.finish()
    assert peer.steps == 3 * DEFAULT.control_repeat_max_us // S


class EndlessRequests(EndlessTransfer):
    """It requests the same buffer again and again; each time its data timer has doubled."""

    buffer_count, steps_max = 1, 10_000_000

    def index(self, _number: int) -> int:
        return 0

    def _request_times(self, _buffer: int) -> list[int]:
        return [0, self.now_us]


def test_a_data_timer_that_grows_without_end_is_not_waited_for_without_end() -> None:
    peer = EndlessRequests.__new__(EndlessRequests)
    peer.link = cast("Link", SimpleNamespace(watch=Watch(), over=False, tells_outcome=False))
    peer._wait, peer.served, peer._gos, peer._of_buffer = None, {1}, [0], {}
    peer.messages = {1: Message(Kind.RESEND, 1, 0, packets=(0,))}
    peer.lost_buffers, peer._confirmed = {0}, set()
    with pytest.raises(UnmetError, match="not within"):
        peer.finish()
    limit_s = 3 * DEFAULT.control_repeat_max_us // S
    assert peer.steps == limit_s * (1 + GROWTH) ** GROWN_WAITS


class PostponedWorker:
    """A worker that has just ended a run early."""

    assigned = "a"

    def events(self) -> list[dict[str, Any]]:
        result = Result("a", ["OPEN-01"], ROLE, Verdict.INCONC, "ended while it waited", cause=Cause.ABSENCE).to_json()
        about: dict[str, Any] = {"key": "a", "role": ROLE, "awaited": "SUCCESS"}
        return [
            {"event": "wait", **about, "state": "long", "seconds": LONG_S, "limit_s": LIMIT_S, "at_s": 6.0},
            {"event": "postponed", **about, "results": [result], "at_s": 7.0},
        ]


def test_the_result_of_a_postponed_run_names_the_witnesses_and_keeps_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[dict[str, Any]] = []
    supervisor = Supervisor(cast("Plan", None), 1, 1.0, told.append)
    supervisor._serve(cast("Worker", PostponedWorker()))
    decided: tuple[list[Any], list[str]] = ([("a", (ROLE, Awaited.SUCCESS), ["b", "c"])], [])
    monkeypatch.setattr(LongWaits, "decided", lambda _waits: decided)
    supervisor._look_at_long_waits()
    [event] = told
    assert (event["event"], event["at_s"]) == ("result", 7.0)
    assert event["result"]["seen"].endswith("2 runs have waited for it in vain: b, c")
    assert event["result"]["expected"] == Awaited.SUCCESS.value


class IdleWorker:
    """A worker that has just been started."""

    def __init__(self) -> None:
        self.given: list[str | None] = []

    def order(self, key: str | None, _profiles: dict[str, Any]) -> None:
        self.given.append(key)


def supervisor_of(started: list[IdleWorker], spare: int) -> Supervisor:
    """With one job and three runs; each worker that it starts is appended and wants work at once."""

    class OfIdleWorkers(Supervisor):
        def _start(self) -> Worker:
            started.append(IdleWorker())
            worker = cast("Worker", started[-1])
            self._free[worker] = None
            return worker

    supervisor = OfIdleWorkers(cast("Plan", None), 1, 1.0, lambda _event: None, spare=spare)
    supervisor._schedule = Schedule([Planned(key, key, key, "OPEN-01", ROLE) for key in "abc"], 1)
    supervisor._schedule.known(ROLE)
    supervisor._give_work()
    return supervisor


def test_another_run_starts_in_place_of_one_that_waits_long_and_no_more_than_may() -> None:
    started: list[IdleWorker] = []
    supervisor = supervisor_of(started, spare=1)
    supervisor._give_work()
    assert [worker.given for worker in started] == [["a"]]
    begin(supervisor._waits, "a")
    supervisor._give_work()
    assert [worker.given for worker in started] == [["a"], ["b"]]
    begin(supervisor._waits, "b")
    supervisor._give_work()
    assert len(started) == 2


def test_no_further_run_starts_when_the_long_wait_is_over() -> None:
    started: list[IdleWorker] = []
    supervisor = supervisor_of(started, spare=1)
    begin(supervisor._waits, "a")
    supervisor._give_work()
    supervisor._waits.reported("a", ROLE, "came", Awaited.SUCCESS, 20.0, LIMIT_S, 20.0)
    supervisor._free[cast("Worker", started[1])] = None
    supervisor._give_work()
    assert [worker.given for worker in started] == [["a"], ["b"]]


def test_a_long_wait_makes_no_room_where_the_number_of_runs_at_a_time_is_fixed() -> None:
    started: list[IdleWorker] = []
    supervisor = supervisor_of(started, spare=0)
    begin(supervisor._waits, "a")
    supervisor._give_work()
    assert len(started) == 1


@pytest.mark.parametrize(
    ("burst_size", "interval_ms", "longer_ms"), [(8, 10, 0), (8, 5, 0), (2, 10, 60), (8, 900, 1780)]
)
def test_a_wait_is_longer_by_what_the_implementation_made_the_pace_slower(
    burst_size: int, interval_ms: int, longer_ms: int
) -> None:
    """NEG-03, NEG-04: two buffers of eight packets were to go in bursts of eight each 10 ms."""
    planned = SimpleNamespace(burst_size=8, burst_interval_ms=10)
    terms = SimpleNamespace(burst_size=burst_size, burst_interval_ms=interval_ms, packets_per_buffer=8)
    peer = SimpleNamespace(
        agreed=terms, terms=terms, parameters=planned, setting=SimpleNamespace(iut_parameters=planned)
    )
    assert ReceiverPeer.slower_us.fget(peer) == longer_ms * S // 1000  # type: ignore[attr-defined]


class Trickling(ReceiverPeer):
    """Each new packet takes almost as long as is waited for one."""

    packets = now_s = 0
    _news = 0

    def until(self, condition: Callable[[], bool], within_us: int, *_what: object) -> None:
        self.now_s += within_us // S
        self.packets, self._news = self.packets + 1, self._news + (self.packets < 5)
        if not condition():
            raise UnmetError("all packets", "nothing new")


def test_a_buffer_is_waited_for_while_its_packets_come() -> None:
    """RFC 998 has no least pace."""
    peer = Trickling.__new__(Trickling)
    peer._goes_on_until(lambda: peer.packets == 4, 2 * S, "all packets")
    assert peer.now_s == 8
    peer = Trickling.__new__(Trickling)
    with pytest.raises(UnmetError):
        peer._goes_on_until(lambda: False, 2 * S, "all packets")
    assert peer.packets == 6


class Serving(SenderPeer):
    """A sender with one buffer of three packets; notes what it sends."""

    buffer_count = 1
    delivered: list[list[int]]

    def index(self, _number: int) -> int:
        return 0

    def may_send(self, _buffer: int) -> bool:
        return True

    def packet_count(self, _number: int) -> int:
        return 3

    def _deliver(self, _buffer: int, numbers: list[int], _lose: object) -> None:
        self.delivered.append(numbers)


def test_packets_that_several_requests_name_are_sent_once() -> None:
    """5.2.1: a sender marks what a RESEND names. Requests of another buffer wait."""
    peer = Serving.__new__(Serving)
    peer.delivered, peer._gos, peer._confirmed = [], [0], set()
    named = {1: (0, 2), 2: (0,), 3: (1, 0)}
    peer.messages = {seq: Message(Kind.RESEND, seq, 0, packets=packets) for seq, packets in named.items()}
    peer.messages[4] = Message(Kind.RESEND, 4, 1, packets=(0,))
    peer._requests = [(0, 1), (0, 2), (0, 3), (1, 4)]
    assert peer._serve(collections.deque(), lambda _buffer, _packet: False)
    assert (peer.delivered, peer._requests) == ([[0, 1, 2]], [(1, 4)])
