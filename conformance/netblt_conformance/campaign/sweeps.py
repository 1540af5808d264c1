# SPDX-License-Identifier: GPL-2.0-or-later
"""Campaigns of schedules of faults: every single fault and pair of faults, then random schedules without end."""

from __future__ import annotations

import functools
import itertools
import random
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

from netblt_conformance.campaign.errors import CampaignError
from netblt_conformance.campaign.played import PlayedKind, PlayedParameters
from netblt_conformance.campaign.rows import Row
from netblt_conformance.common import paths
from netblt_conformance.common.arguments import roles_of
from netblt_conformance.common.model import MICROSECONDS_PER_S, Role
from netblt_conformance.common.verdicts import Cause, Verdict
from netblt_conformance.links.sim import SimLinkFactory
from netblt_conformance.sweep import faults
from netblt_conformance.sweep.faults import Schedule
from netblt_conformance.sweep.one import Bench, addresses, run
from netblt_conformance.sweep.schedule_file import ScheduleFile
from netblt_conformance.sweep.transfers import TRANSFERS, Transfer
from netblt_conformance.sweep.workers import JOB_SCHEDULES, Job, Outcome, Pool, Task, captures

Combination = tuple[Transfer, Role]
# The dissector's violations by index: whether the implementation is the offender, and the requirement.
Findings = dict[int, list[tuple[bool, str]]]
NOT_RUN = "not run: the schedules before it in its block broke the implementation"
# Random schedules of one transfer and role that follow each other: tshark starts once for each such run.
RANDOM_RUN = 2_000


class Parameters(PlayedParameters):
    """What a sweep goes through."""

    singles: bool = True
    pairs: bool = True
    random: bool = True  # schedules of several faults follow, as many as `units` requests


class Sweeps(PlayedKind):
    """A unit is one transfer under one schedule of faults."""

    unit = "schedule"
    about = "a short transfer in virtual time under one schedule of faults (docs/sweeps.md)"
    block = JOB_SCHEDULES
    measures: ClassVar[dict[str, str]] = {
        "packets": "packets that both ends sent",
        "virtual_s": "virtual time until the connection was closed, in seconds",
    }
    Parameters = Parameters

    def count(self) -> int | None:
        if self.subject.adapter is not None:
            raise CampaignError("a sweep needs a library: give [target] library, not adapter")
        SimLinkFactory(self._iut).check()
        without_end = self.parameters.random and self.limit is not None
        return None if without_end else len(self._exhaustive)

    @property
    def _iut(self) -> Path:
        return self.subject.library or paths.iut_library()

    # ---- which schedule is which unit ----

    @functools.cached_property
    def _combinations(self) -> list[tuple[Combination, tuple[int, int]]]:
        """Transfers and roles, with the number of packets of the undisturbed transfer in each direction."""
        from netblt_conformance.simlib import IutLibrary

        reference = IutLibrary(paths.iut_library())
        bench = Bench(reference, reference)
        return [
            ((transfer, role), run(bench, transfer, role, (), seed=self.seed).packets)
            for transfer in TRANSFERS
            for role in roles_of(self.parameters.roles)
        ]

    @functools.cached_property
    def _exhaustive(self) -> list[tuple[Combination, Schedule]]:
        """The first units: no fault, each fault, each pair of faults."""
        return [
            (combination, schedule)
            for combination, packets in self._combinations
            for schedule in itertools.chain(
                [()],
                faults.singles(packets) if self.parameters.singles else (),
                faults.pairs(packets) if self.parameters.pairs else (),
            )
        ]

    def schedule(self, unit: int) -> tuple[Combination, Schedule]:
        """What this unit runs. A random schedule comes from the seed and its number alone."""
        further = unit - len(self._exhaustive)
        if further < 0:
            return self._exhaustive[unit]
        combination, packets = self._combinations[further // RANDOM_RUN % len(self._combinations)]
        return combination, faults.random_schedule(packets, random.Random(f"{self.seed} {further}"))

    # ---- running them ----

    def run(self, units: range) -> list[Row]:
        rows: dict[int, Row] = {}
        with tempfile.TemporaryDirectory(prefix="netblt-campaign-") as folder:
            for first in range(units.start, units.stop, JOB_SCHEDULES):
                part = range(first, min(first + JOB_SCHEDULES, units.stop))
                rows |= self._run_part(part, Path(folder))
        return [rows[unit] for unit in units]

    def _run_part(self, units: range, folder: Path) -> dict[int, Row]:
        by_combination: dict[Combination, dict[int, Schedule]] = {}
        for unit in units:
            combination, schedule = self.schedule(unit)
            by_combination.setdefault(combination, {})[unit] = schedule
        rows: dict[int, Row] = {}
        for (transfer, role), schedules in by_combination.items():
            capture = folder / f"{transfer.name}.{role}.pcapng"
            reference = paths.iut_library()
            tasks = tuple(Task(self._iut, reference, transfer, role, schedule) for schedule in schedules.values())
            job = Job(units.start, tasks, self.seed, capture)
            rows |= dict(zip(schedules, self._rows(job, list(schedules)), strict=True))
        return rows

    def _rows(self, job: Job, units: list[int]) -> Iterator[Row]:
        """Of the schedules of one merged capture."""
        measured: dict[int, dict[str, float]] = {}
        failed: dict[int, Outcome] = {}

        def ran(_job: Job, index: int, packets: int, end_us: int) -> None:
            measured[index] = {"packets": packets, "virtual_s": end_us / MICROSECONDS_PER_S}

        def ended(outcome: Outcome) -> None:
            failed.setdefault(outcome.index, outcome)

        pool = Pool(1, ended, lambda _count: None, ran)
        pool.run(iter([job]))
        found = self._findings(job)
        for merged in captures(job):
            merged.unlink()
        for index, unit in enumerate(units):
            name = _name(job.tasks[index])
            if index in failed or index in found:
                row = _row(job, unit, index, failed.get(index), found.get(index, []))
                row.measures.update(measured.get(index, {}))
                yield row
            elif index in measured:  # it ran to its end
                yield Row(unit, name, measures=measured[index])
            else:
                yield Row(unit, name, Verdict.NA, NOT_RUN)

    def _findings(self, job: Job) -> Findings:
        found: Findings = {}
        if not self.parameters.dissector:
            return found
        by_address = {address: index for index in range(len(job.tasks)) for address in addresses(index)}
        for capture in captures(job):
            for finding in self._tshark.findings(capture, violations=True):
                index = by_address[finding.offender_address]
                ours = finding.offender_address == addresses(index)[0]
                found.setdefault(index, []).append((ours, finding.requirement))
        return found


def _name(task: Task) -> str:
    return f"{task.transfer.name} {task.role}"


def _row(job: Job, unit: int, index: int, outcome: Outcome | None, findings: list[tuple[bool, str]]) -> Row:
    """The worst of outcome and findings, with the schedule as a file."""
    task = job.tasks[index]
    faulty = sorted({requirement for ours, requirement in findings if ours})
    suite = sorted({requirement for ours, requirement in findings if not ours})
    verdict, cause, reasons = Verdict.PASS, Cause.JUDGEMENT, []
    if outcome is not None:
        verdict, cause = outcome.verdict, outcome.cause
        reasons.append(outcome.seen)
    if faulty:
        verdict = max(verdict, Verdict.FAIL)
        reasons += [f"{requirement} is violated (dissector)" for requirement in faulty]
    if suite:
        verdict, cause = Verdict.ERROR, Cause.SUITE
        reasons += [f"the reference endpoint: {requirement} is violated (dissector)" for requirement in suite]
    reason = "; ".join(reasons)
    file = ScheduleFile(task.transfer, task.role, job.seed, task.schedule, verdict.label, reason)
    return Row(unit, _name(task), verdict, reason, cause, " ".join(faulty), file.text())
