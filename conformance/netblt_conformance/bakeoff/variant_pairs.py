# SPDX-License-Identifier: GPL-2.0-or-later
"""All legal variants of the reference core against each other, under single faults, in virtual time: which pairs
complete, which are documented not to, and what the Wireshark plugin finds in their captures."""

from __future__ import annotations

import random
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from netblt_conformance.bakeoff.incompatible import VariantMeeting
from netblt_conformance.common.model import ACTIVE_SENDER, PASSIVE_SENDER, Role
from netblt_conformance.common.verdicts import Verdict
from netblt_conformance.judges.tshark import Tshark
from netblt_conformance.simlib import IutLibrary
from netblt_conformance.sweep import faults
from netblt_conformance.sweep.faults import Schedule
from netblt_conformance.sweep.offences import Offence, judging
from netblt_conformance.sweep.one import Bench, run
from netblt_conformance.sweep.transfers import TRANSFERS, Transfer
from netblt_conformance.sweep.workers import JOB_SCHEDULES, Job, Outcome, Pool, Task

REFERENCE = "reference"
# The sender is on side A of the flakeway, in both of its roles.
ROLES = (ACTIVE_SENDER, PASSIVE_SENDER)

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Member:
    """A variant, or the reference."""

    name: str
    library: Path


@dataclass(frozen=True, slots=True)
class Plan:
    """Which pairs (sender, receiver) meet, under how many of the single faults of each transfer (None: all)."""

    reference: Path
    pairs: tuple[tuple[Member, Member], ...]
    faults: int | None
    seed: int
    jobs: int
    dissector: bool = True


def pairs(members: Sequence[Member], *, one: str = "") -> tuple[tuple[Member, Member], ...]:
    """Every ordered pair; with `one`, only those that this member is in."""
    return tuple((s, r) for s in members for r in members if not one or one in (s.name, r.name))


@dataclass(slots=True)
class Found:
    """What came of all pairs."""

    names: dict[Path, str]
    transfers: int = 0
    failures: dict[tuple[str, str], list[Outcome]] = field(default_factory=lambda: defaultdict(list))
    undecided: dict[tuple[str, str], list[Outcome]] = field(default_factory=lambda: defaultdict(list))
    unanswered: int = 0  # transfers whose data arrived, and whose last OK got no answer (AMB-53)
    offences: list[Offence] = field(default_factory=list)

    def pair(self, task: Task) -> tuple[str, str]:
        """Names of sender and receiver."""
        return self.names[task.a], self.names[task.b]

    def meeting(self, task: Task) -> VariantMeeting:
        sender, receiver = self.pair(task)
        return VariantMeeting(sender, receiver, "sender" if task.role.active else "receiver", bool(task.schedule))

    def offender(self, offence: Offence) -> str:
        return self.pair(offence.task)[0 if offence.by_a else 1]


class _Schedules:
    """The single faults of each transfer and role, and which of them a pair gets."""

    def __init__(self, plan: Plan) -> None:
        reference = IutLibrary(plan.reference)
        self._plan = plan
        self._singles: dict[tuple[str, Role], list[Schedule]] = {}
        for transfer in TRANSFERS:
            for role in ROLES:
                base = run(Bench(reference, reference), transfer, role, (), seed=plan.seed)
                self._singles[transfer.name, role] = list(faults.singles(base.packets))

    def count(self) -> int:
        """Transfers of one pair."""
        most = self._plan.faults
        return sum(1 + (len(found) if most is None else min(most, len(found))) for found in self._singles.values())

    def of(self, pair: tuple[Member, Member], transfer: Transfer, role: Role) -> list[Schedule]:
        """First none. The same seed gives the same ones, whichever pairs meet."""
        singles, most = self._singles[transfer.name, role], self._plan.faults
        if most is not None and most < len(singles):
            names = " ".join(member.name for member in pair)
            singles = random.Random(f"{self._plan.seed} {names} {transfer.name} {role}").sample(singles, most)
        return [(), *singles]


def meet(plan: Plan, progress: Progress) -> Found:
    """Plays everything. `progress` gets how many transfers have ended, and of how many."""
    schedules = _Schedules(plan)
    names = {member.library: member.name for pair in plan.pairs for member in pair}
    found, done = Found(names, len(plan.pairs) * schedules.count()), 0

    def take(outcome: Outcome) -> None:
        if outcome.verdict is Verdict.WARN:
            found.unanswered += 1
            return
        kept = found.undecided if outcome.verdict is Verdict.INCONC else found.failures
        kept[found.pair(outcome.task)].append(outcome)

    def ended(count: int) -> None:
        nonlocal done
        done += count
        progress(done, found.transfers)

    with tempfile.TemporaryDirectory(prefix="netblt-pairs-") as name, ExitStack() as stack:
        folder = Path(name) if plan.dissector else None
        judges = None
        if plan.dissector:
            judges = judging(stack.enter_context(Tshark()), found.offences.append)
        Pool(plan.jobs, take, ended, judging=judges).run(_jobs(plan, schedules, folder))
    return found


def _jobs(plan: Plan, schedules: _Schedules, folder: Path | None) -> Iterator[Job]:
    """Pairs stay together: what does not work undisturbed is left out. The captures of each job go to `folder`."""
    tasks: list[Task] = []
    number = 0
    for pair in plan.pairs:
        mine = [
            Task(pair[0].library, pair[1].library, transfer, role, schedule)
            for transfer in TRANSFERS
            for role in ROLES
            for schedule in schedules.of(pair, transfer, role)
        ]
        if tasks and len(tasks) + len(mine) > JOB_SCHEDULES:
            yield _job(number, tasks, plan.seed, folder)
            tasks, number = [], number + 1
        tasks += mine
    if tasks:
        yield _job(number, tasks, plan.seed, folder)


def _job(number: int, tasks: Sequence[Task], seed: int, folder: Path | None) -> Job:
    return Job(number, tuple(tasks), seed, None if folder is None else folder / f"job{number}.pcapng")
