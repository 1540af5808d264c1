# SPDX-License-Identifier: GPL-2.0-or-later
"""Sweeps: what they go through, what they notice, and that a failure can be replayed and shrunk."""

from __future__ import annotations

import os
import shutil
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import pytest
from netblt_conformance.common import paths
from netblt_conformance.common.errors import JudgeError
from netblt_conformance.common.model import ACTIVE_SENDER, ROLES_BY_NAME, Role, Status
from netblt_conformance.common.verdicts import Verdict
from netblt_conformance.judges.tshark import Finding, Tshark
from netblt_conformance.mutants import mutants, subject
from netblt_conformance.simlib import PairEnd
from netblt_conformance.sweep import faults, one, schedule_file
from netblt_conformance.sweep.one import Bench, Ran, run
from netblt_conformance.sweep.plan import SweepPlan
from netblt_conformance.sweep.shrink import shrink
from netblt_conformance.sweep.stage import Replay, Sweep
from netblt_conformance.sweep.transfers import TRANSFERS_BY_NAME
from selftest.faulty import faulty_library, objects

if TYPE_CHECKING:
    from netblt_conformance.simlib import Iut
    from selftest.conftest import Command

ONE_ROLE = ("--role", "passive-receiver")


def test_singles_hit_every_packet_of_both_directions_with_every_action() -> None:
    found = set(faults.singles((2, 1)))
    wanted = {(f"{action} a>b nth={nth}",) for action in faults.ACTIONS for nth in range(1, 5)}
    wanted |= {(f"{action} b>a nth={nth}",) for action in faults.ACTIONS for nth in range(1, 4)}
    assert found == wanted


def test_pairs_are_all_pairs_of_singles_at_different_packets() -> None:
    singles = [rules[0] for rules in faults.singles((1, 1))]
    place = {single: single.split(" ", 1)[1] for single in singles}
    wanted = {frozenset((a, b)) for a in singles for b in singles if place[a] != place[b]}
    found = [frozenset(rules) for rules in faults.pairs((1, 1))]
    assert set(found) == wanted
    assert len(found) == len(wanted), "a pair came twice"


def test_random_schedules_come_from_their_seed() -> None:
    def of(seed: int) -> list[faults.Schedule]:
        return list(faults.random_schedules((5, 5), seed, 20))

    assert of(1) == of(1)
    assert of(1) != of(2)


@pytest.mark.parametrize("guilty", [{"c"}, {"a", "f"}, {"b", "c", "e"}, set("abcdefgh"), set()])
def test_shrinking_leaves_just_the_rules_that_are_needed(guilty: set[str]) -> None:
    assert set(shrink("abcdefgh", lambda rules: guilty <= set(rules))) == guilty


def test_shrinking_ends_where_no_single_rule_can_go() -> None:
    """Failing may need any three rules: then the answer is some three."""
    assert len(shrink("abcdefghij", lambda rules: len(rules) >= 3)) == 3


@pytest.mark.parametrize("role", ROLES_BY_NAME.values(), ids=str)
@pytest.mark.parametrize("lost", [2, 7])
def test_an_end_may_give_up_when_the_network_loses_every_open(built_library: Path, role: Role, lost: int) -> None:
    """Two lost OPENs must be recovered from. After seven the active end has given up, which RFC 998 permits."""
    direction = "a>b" if role.active else "b>a"
    rules = tuple(f"drop {direction} nth={nth}" for nth in range(1, lost + 1))
    verdict = run_one(built_library, role, rules).verdict
    assert verdict is (Verdict.PASS if lost == 2 else Verdict.INCONC)


def test_an_end_may_give_up_when_the_network_loses_every_end_of_a_transfer(built_library: Path) -> None:
    """From its third packet on all that the receiver sends is lost: the sender's death timer expires."""
    rules = tuple(f"drop a>b nth={nth}" for nth in range(3, 200))
    found = run_one(built_library, ROLES_BY_NAME["passive-receiver"], rules)
    assert found.verdict is Verdict.INCONC, found.seen
    assert "the network lost too much" in found.seen


def test_a_packet_that_is_held_for_a_next_one_that_never_comes_is_lost(built_library: Path) -> None:
    """Two packets are dropped, three others wait in the flakeway for ever."""
    rules = ("drop a>b nth=1", "swap b>a nth=2", "swap b>a nth=3", "drop b>a nth=4", "swap b>a nth=5")
    assert run_one(built_library, ROLES_BY_NAME["passive-receiver"], rules).verdict is Verdict.INCONC


@pytest.mark.parametrize(
    ("end", "statuses", "delivered", "honest"),
    [
        (PairEnd.CLOSED, (Status.CLOSED_FAILED, Status.CLOSED_FAILED), b"da", True),
        (PairEnd.CLOSED, (Status.CLOSED_DONE, Status.CLOSED_FAILED), b"data", True),
        (PairEnd.CLOSED, (Status.CLOSED_DONE, Status.CLOSED_FAILED), b"da", False),
        (PairEnd.CLOSED, (Status.CLOSED_FAILED, Status.CLOSED_DONE), b"dada", False),
        (PairEnd.TIME_LIMIT, (Status.OPEN, Status.OPEN), b"da", True),
        (PairEnd.TIME_LIMIT, (Status.CLOSED_DONE, Status.OPEN), b"da", False),
        (PairEnd.IDLE, (Status.OPEN, Status.OPEN), b"da", False),
        (PairEnd.PACKET_LIMIT, (Status.OPEN, Status.OPEN), b"da", False),
    ],
    ids=[
        "both failed",
        "all is there",
        "done with a part",
        "done with other data",
        "both try on",
        "one is done",
        "both wait for nothing",
        "too many packets",
    ],
)
@pytest.mark.parametrize("role", ROLES_BY_NAME.values(), ids=str)
def test_a_failure_is_honest_if_no_client_is_told_of_a_success_and_no_end_stops_or_floods(
    role: Role, end: PairEnd, statuses: tuple[Status, Status], delivered: bytes, *, honest: bool
) -> None:
    iut, reference = (SimpleNamespace(status=status, delivered=delivered) for status in statuses)
    assert one._honest(end, cast("Iut", iut), cast("Iut", reference), role, b"data") is honest


@pytest.mark.parametrize("role", ROLES_BY_NAME.values(), ids=str)
def test_a_passive_end_may_wait_for_an_open_for_ever_and_an_active_end_may_not_wait_for_nothing(role: Role) -> None:
    """The end that was to open gave up, as its OPENs got no answer."""
    gave_up, waits = (SimpleNamespace(status=one, delivered=b"") for one in (Status.CLOSED_FAILED, Status.OPENING))
    for active, passive, honest in ((gave_up, waits, True), (waits, gave_up, False)):
        iut, reference = (active, passive) if role.active else (passive, active)
        assert one._honest(PairEnd.IDLE, cast("Iut", iut), cast("Iut", reference), role, b"data") is honest


def run_one(library: Path, role: Role, rules: faults.Schedule) -> Ran:
    from netblt_conformance.simlib import IutLibrary

    both = IutLibrary(library)
    return run(Bench(both, both), TRANSFERS_BY_NAME["lock-step"], role, rules, seed=1)


GOOD = """
layout = 1
transfer = "lock-step"
role = "active-sender"
seed = 3
rules = ["drop a>b nth=2"]
"""


@pytest.mark.parametrize(
    ("old", "new", "named"),
    [
        ('"lock-step"', '"lock"', "transfer"),
        ('"active-sender"', '"sender"', "role"),
        ("layout = 1", "layout = 9", "layout"),
        ("seed = 3", 'seed = "x"', "seed"),
        ('["drop a>b nth=2"]', '"drop"', "rules"),
        ("seed", "sed", "sed"),
        ("seed = 3", "seed = ", "line"),
    ],
)
def test_a_bad_schedule_file_is_refused_with_the_name_of_what_is_wrong(
    tmp_path: Path, command: Command, built_library: Path, old: str, new: str, named: str
) -> None:
    del built_library
    path = tmp_path / "schedule.toml"
    path.write_text(GOOD.replace(old, new, 1))
    done = command("replay", str(path))
    assert done.status == 2
    assert str(path) in done.errors
    assert named in done.errors


def test_a_schedule_file_keeps_everything() -> None:
    file = schedule_file.ScheduleFile(
        TRANSFERS_BY_NAME["pipelined"],
        ROLES_BY_NAME["passive-sender"],
        9,
        ('drop a>b nth=1 OK "', "loss 2%"),
        "FAIL",
        'a "reason"',
    )
    assert _written(file) == file


def _written(file: schedule_file.ScheduleFile) -> schedule_file.ScheduleFile:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.toml"
        path.write_text(file.text(), encoding="utf-8")
        return schedule_file.load(path)


@pytest.mark.long
def test_the_reference_repairs_every_single_and_every_pair_of_faults(command: Command, built_library: Path) -> None:
    del built_library
    done = command("run", "--select", "sweep", *ONE_ROLE)
    assert done.status == 0, done.output + done.errors
    assert {result.verdict for result in done.results} == {Verdict.PASS}
    schedules = sum(int(result.observed["schedules"]) for result in done.results)
    assert schedules > 5_000, "a quarter of 20,000: there are four roles"


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory, built_library: Path) -> dict[str, Path]:
    """Cores with one rule broken, built as libraries."""
    del built_library
    folder = tmp_path_factory.mktemp("broken")
    libraries = {}
    edits = {
        # Wrong only when a RESEND has to be made: two faults may be needed, one suffices.
        "crash": ("receiver_timers.c", "resends_sent++;", "resends_sent++; __builtin_trap();"),
    }
    for name, (file, old, new) in edits.items():
        core = folder / name
        shutil.copytree(paths.root() / "reference_impl" / "core", core)
        source = mutants.source_file(core, file)
        text = source.read_text()
        assert text.count(old) == 1, f"{file}: {old!r} is not there once"
        source.write_text(text.replace(old, new))
        libraries[name] = folder / f"{name}.so"
        subject.iut_builder().build_iut(core, libraries[name], cache=objects())
    return libraries


@pytest.mark.long
def test_a_crash_under_a_fault_is_the_verdict_of_that_schedule_which_can_be_replayed_and_shrunk(
    command: Command, broken: dict[str, Path], tmp_path: Path
) -> None:
    library = ("--iut-library", str(broken["crash"]))
    done = command("run", "--select", "sweep_lock", *ONE_ROLE, *library)
    assert done.status == 1
    failed = [result for result in done.results if result.verdict is Verdict.FAIL]
    assert failed
    assert all("crashed" in result.seen for result in failed)
    kept = sorted(done.report.glob("sweep.*.toml"))
    assert kept, "no schedule was kept"
    assert all(len(schedule_file.load(path).rules) == 1 for path in kept), "one lost packet of data suffices"

    assert command("replay", str(kept[0]), *library).status == 1
    assert command("replay", str(kept[0])).status == 0, "the reference repairs it"

    long = tmp_path / "long.toml"
    file = schedule_file.load(kept[0])
    rules = ("duplicate b>a nth=1", *file.rules, "swap a>b nth=2")
    long.write_text(schedule_file.ScheduleFile(file.transfer, file.role, file.seed, rules).text())
    assert command("shrink", str(long), *library, "--output", str(tmp_path / "small.toml")).status == 0
    assert schedule_file.load(tmp_path / "small.toml").rules == file.rules


def test_shrinking_needs_no_dissector_where_the_fault_shows_without_it(
    broken: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A start of tshark takes as long as ten steps, and a broken implementation fails in many schedules."""
    judged: list[Path] = []

    def findings(_tshark: Tshark, path: Path) -> list[Finding]:
        judged.append(path)
        return []

    monkeypatch.setattr(Tshark, "findings", findings)
    rules = ("drop b>a nth=2", "duplicate b>a nth=1", "swap a>b nth=2")
    role = ROLES_BY_NAME["passive-receiver"]
    file = schedule_file.ScheduleFile(TRANSFERS_BY_NAME["lock-step"], role, 1, rules)
    small = Replay(broken["crash"], paths.iut_library()).shrink(file, Verdict.FAIL)
    assert (small.verdict, small.rules) == (Verdict.FAIL.label, rules[:1])
    assert len(judged) <= 1, "the last schedule alone"


def test_a_schedule_that_does_not_fail_again_stays_as_it_was_found(built_library: Path) -> None:
    """An implementation need not do the same each time."""
    role, rules = ROLES_BY_NAME["passive-receiver"], ("drop b>a nth=2", "duplicate b>a nth=1")
    file = schedule_file.ScheduleFile(TRANSFERS_BY_NAME["lock-step"], role, 1, rules, Verdict.FAIL.label, "it hung")
    assert Replay(built_library, paths.iut_library()).shrink(file, Verdict.FAIL) == file


@pytest.mark.nightly
def test_a_rule_that_only_the_dissector_sees_broken_fails_the_sweep(
    command: Command, tmp_path: Path, built_library: Path
) -> None:
    """CTRL-04: every byte still arrives, but a CONTROL holds only the news."""
    del built_library
    library = faulty_library(tmp_path, "only-new-messages")
    done = command("run", "--select", "sweep_pipelined", *ONE_ROLE, "--iut-library", str(library), judged=True)
    assert done.status == 1
    assert any("CTRL-04" in result.seen and "dissector" in result.seen for result in done.results)
    captures = list(done.report.glob("sweep.*.pcapng"))
    assert captures
    assert all(capture.stat().st_size > 1000 for capture in captures)


def test_a_sweep_forks_no_process_while_it_has_a_thread(
    monkeypatch: pytest.MonkeyPatch, built_library: Path, tmp_path: Path
) -> None:
    """A thread may hold a lock that the forked process then waits for without end (Python 3.12 and later warn). The
    captures of the first job are judged while the second one runs."""
    before, forked, fork = set(threading.enumerate()), list[set[threading.Thread]](), os.fork

    def watched() -> int:
        forked.append(set(threading.enumerate()) - before)
        return fork()

    monkeypatch.setattr(os, "fork", watched)
    plan = SweepPlan(built_library, (ACTIVE_SENDER,), 1, tmp_path, jobs=1, singles=False, pairs=False)
    results = Sweep(plan, lambda _done, _of: None).run()
    assert [result.verdict for result in results] == [Verdict.PASS, Verdict.PASS]
    assert len(forked) == 4, "two jobs, and the plugin on the captures of each"
    assert not any(forked)


def test_a_plugin_that_cannot_judge_ends_the_sweep_with_its_reason(
    monkeypatch: pytest.MonkeyPatch, built_library: Path, tmp_path: Path
) -> None:
    def fails(*_: object, **__: object) -> list[Finding]:
        raise JudgeError("tshark could not read it: no reason given")

    monkeypatch.setattr(Tshark, "findings", fails)
    plan = SweepPlan(built_library, (ACTIVE_SENDER,), 1, tmp_path, jobs=1, singles=False, pairs=False)
    with pytest.raises(JudgeError, match="tshark could not read it"):
        Sweep(plan, lambda _done, _of: None).run()
