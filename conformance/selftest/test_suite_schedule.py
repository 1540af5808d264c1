# SPDX-License-Identifier: GPL-2.0-or-later
"""The order in which runs are started: long ones early, every requirement soon, each role probed once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from netblt_conformance.common import paths
from netblt_conformance.common.model import ALL_ROLES
from netblt_conformance.links.sim import SimLinkFactory
from netblt_conformance.run.engine import Plan
from netblt_conformance.run.loaded import with_cases
from netblt_conformance.run.schedule import Planned, Schedule, deciding, durations, first_runs
from netblt_conformance.run.selection import Selection
from netblt_conformance.run.worker import Supervisor

SENDER, RECEIVER = "active-sender", "active-receiver"


def run(name: str, requirement: str = "CTRL-04", role: str = SENDER) -> Planned:
    return Planned(f"{name}[{role}]", name.partition(": ")[0], name, requirement, role)


def known(schedule: Schedule, *roles: str) -> Schedule:
    for role in roles or (SENDER, RECEIVER):
        schedule.known(role)
    return schedule


def everything(schedule: Schedule) -> list[str]:
    keys = []
    while (key := schedule.take()) is not None:
        keys.append(key)
        schedule.ended(key)
    return keys


def test_without_durations_the_order_of_the_suite_stays() -> None:
    runs = [run("b"), run("a"), run("c", "OPEN-01")]
    assert everything(known(Schedule(runs, 4))) == [one.key for one in runs]


def test_each_requirement_has_its_first_case_before_any_has_its_second() -> None:
    runs = [run("a1"), run("a2"), run("a3"), run("b1", "OPEN-01"), run("b2", "OPEN-01")]
    started = everything(known(Schedule(runs, 4, {})))
    assert started == [run(name).key for name in ("a1", "b1", "a2", "b2", "a3")]


def test_the_same_case_in_another_role_comes_as_early_and_a_variant_later() -> None:
    runs = [run("a: 1"), run("a: 2"), run("a: 1", role=RECEIVER)]
    started = everything(known(Schedule(runs, 4, {})))
    assert started == [run("a: 1").key, run("a: 1", role=RECEIVER).key, run("a: 2").key]


def test_a_first_case_that_takes_some_seconds_starts_before_the_short_ones_and_one_that_takes_long_does_not() -> None:
    runs = [run("a"), run("b", "OPEN-01"), run("c", "OPEN-02"), run("b: 2", "OPEN-01")]
    schedule = known(Schedule(runs, 2, {"b": 9.0, "c": 60.0}))
    assert [schedule.take() for _ in range(2)] == [run("c").key, run("b").key]
    schedule.ended(run("b").key)
    assert schedule.take() == run("a").key


def test_the_runs_that_are_named_start_before_the_other_short_ones_in_their_order() -> None:
    runs = [run("a"), run("b", "OPEN-01"), run("b: 2", "OPEN-01"), run("c", "OPEN-02")]
    first = [run(name).key for name in ("b: 2", "not selected", "a")]
    started = everything(known(Schedule(runs, 4, {}, first)))
    assert started == [run(name).key for name in ("b: 2", "a", "b", "c")]


def test_a_run_that_is_named_and_takes_some_seconds_does_not_wait_for_the_longest_ones() -> None:
    runs = [run("a"), run("longest"), run("long"), run("slow")]
    seconds = {"longest": 60.0, "long": 30.0, "slow": 9.0}
    schedule = known(Schedule(runs, 2, seconds, [run("slow").key]))
    assert [schedule.take(), schedule.take()] == [run("longest").key, run("slow").key]


def test_the_first_run_of_a_requirement_decides_about_it_in_its_role() -> None:
    runs = [run("a", "OPEN-01"), run("b", "OPEN-01"), run("a", "OPEN-01", RECEIVER), run("c", "OPEN-02")]
    assert deciding(runs) == {runs[0].key: "OPEN-01", runs[2].key: "OPEN-01", runs[3].key: "OPEN-02"}


def test_the_longest_runs_start_first_and_leave_half_of_the_workers_to_short_ones() -> None:
    runs = [run(name) for name in ("s1", "s2", "s3", "ten", "thirty", "twenty")]
    schedule = known(Schedule(runs, 4, {"ten": 11.0, "twenty": 20.0, "thirty": 30.0}))
    started = [schedule.take() for _ in range(4)]
    assert started == [run(name).key for name in ("thirty", "twenty", "s1", "s2")]
    schedule.ended(run("twenty").key)
    assert schedule.take() == run("ten").key


def test_long_runs_take_all_workers_when_nothing_else_is_left() -> None:
    schedule = known(Schedule([run("x"), run("y")], 2, {"x": 19.0, "y": 18.0}))
    assert [schedule.take(), schedule.take()] == [run("x").key, run("y").key]


def test_one_worker_still_runs_everything() -> None:
    schedule = known(Schedule([run("short"), run("long")], 1, {"long": 30.0}))
    assert sorted(everything(schedule)) == sorted([run("short").key, run("long").key])
    assert schedule.left == 0


def test_a_role_that_is_being_probed_gets_no_second_run_until_that_is_done() -> None:
    schedule = Schedule([run("a"), run("b"), run("c", role=RECEIVER)], 4)
    assert [schedule.take(), schedule.take(), schedule.take()] == [run("a").key, run("c", role=RECEIVER).key, None]
    schedule.known(SENDER)
    assert schedule.take() == run("b").key


def test_when_a_first_run_ends_without_a_probe_the_next_one_of_its_role_makes_it() -> None:
    schedule = Schedule([run("not applicable"), run("b"), run("c")], 4)
    key = schedule.take()
    assert key is not None
    schedule.ended(key)
    assert [schedule.take(), schedule.take()] == [run("b").key, None]


def test_every_case_with_a_duration_is_a_case_of_the_suite() -> None:
    listed = durations(paths.suite())
    missing = listed.keys() - with_cases(lambda loaded: set(loaded.cases))
    assert listed
    assert not missing, "run conformance/nightly/long_cases.py again"


def test_every_first_run_is_a_run_of_the_suite(built_library: Path, tmp_path: Path) -> None:
    plan = Plan(SimLinkFactory(built_library), 1, Selection(""), ALL_ROLES, tmp_path)
    listed = first_runs(paths.suite())
    missing = set(listed) - set(with_cases(lambda loaded: loaded.keys(plan)))
    assert listed
    assert not missing, "run conformance/nightly/first_runs.py again"


def test_a_role_is_probed_once_however_many_workers_there_are(built_library: Path, tmp_path: Path) -> None:
    roles, keys = [], []
    plan = Plan(SimLinkFactory(built_library), 1, Selection("OPEN-01,CTRL-04"), ALL_ROLES, tmp_path)

    def take(event: dict[str, str]) -> None:
        if event["event"] == "observed":
            roles.append(event["role"])
        if event["event"] == "start":
            keys.append(event["key"])

    watch: Callable[[dict[str, str]], None] = take
    Supervisor(plan, 4, 60.0, watch).run()
    assert sorted(roles) == sorted(map(str, ALL_ROLES))
    assert sorted(keys) == sorted(with_cases(lambda loaded: loaded.keys(plan)))
