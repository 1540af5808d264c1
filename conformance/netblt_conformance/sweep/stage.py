# SPDX-License-Identifier: GPL-2.0-or-later
"""The sweep as part of a run: one verdict for each transfer and role, by its outcome and by the dissector."""

from __future__ import annotations

import functools
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from netblt_conformance.common import paths
from netblt_conformance.common.model import Role
from netblt_conformance.common.verdicts import Cause, Judgement, Origin, Result, Verdict
from netblt_conformance.judges.findings import Conclusion
from netblt_conformance.judges.tshark import Finding, Tshark
from netblt_conformance.simlib import IutLibrary
from netblt_conformance.sweep import faults
from netblt_conformance.sweep.faults import Schedule
from netblt_conformance.sweep.offences import Offence, judging
from netblt_conformance.sweep.one import EXPECTED, Bench, addresses, run
from netblt_conformance.sweep.plan import SweepPlan
from netblt_conformance.sweep.schedule_file import ScheduleFile
from netblt_conformance.sweep.shrink import shrink
from netblt_conformance.sweep.transfers import TRANSFERS, Transfer
from netblt_conformance.sweep.workers import JOB_SCHEDULES, Job, Outcome, Pool, Task, captures

# What a sweep shows: every byte in its place, whatever two faults did (RFC 998 2, 3, 5.2).
REQUIREMENTS = ("DATA-08", "RESEND-04", "CLOSE-01", "CLOSE-02")
# Failures of one transfer and role that get files of their own; a broken implementation fails thousands alike.
FAILURES_KEPT = 10


@dataclass(slots=True)
class _Row:
    """One transfer in one role."""

    transfer: Transfer
    role: Role
    schedules: int = 0
    undecided: int = 0  # the network lost so much that an end may give up
    failures: list[tuple[Schedule, Judgement]] = field(default_factory=list)
    shown: list[Finding] = field(default_factory=list)

    def note(self, schedule: Schedule, judgement: Judgement) -> None:
        if all(schedule != known or judgement.verdict > worst.verdict for known, worst in self.failures):
            self.failures.append((schedule, judgement))


class Sweep:
    """Runs a plan. `progress(done, of)` is called now and then."""

    def __init__(self, plan: SweepPlan, progress: Callable[[int, int], None]) -> None:
        self.plan = plan
        self.total = 0
        self._done = 0
        self._progress = progress
        self._rows: dict[tuple[str, Role], _Row] = {}
        self._reference = paths.iut_library()

    def run(self) -> list[Result]:
        """One result for each transfer and role, and one more for each failure that is kept."""
        with tempfile.TemporaryDirectory(prefix="netblt-sweep-") as folder, Tshark() as tshark:
            jobs, found = list(self._plan_jobs(Path(folder))), list[Offence]()
            pool = Pool(self.plan.jobs, self._outcome, self._ended, judging=judging(tshark, found.append))
            pool.run(iter(jobs))
            self._take(found)
        return [result for row in self._rows.values() for result in self._results(row)]

    # ---- what is run ----

    def _schedules(self, packets: tuple[int, int]) -> Iterator[Schedule]:
        if self.plan.singles:
            yield from faults.singles(packets)
        if self.plan.pairs:
            yield from faults.pairs(packets)
        yield from faults.random_schedules(packets, self.plan.seed, self.plan.random)

    def _plan_jobs(self, folder: Path) -> Iterator[Job]:
        """The undisturbed transfer between two reference endpoints shows how many packets there are to hit: how many
        the implementation itself sends is its own affair, and one that sends more is hit in its first ones."""
        reference = IutLibrary(self._reference)
        for transfer in TRANSFERS:
            for role in self.plan.roles:
                base = run(Bench(reference, reference), transfer, role, (), seed=self.plan.seed)
                schedules: list[Schedule] = [(), *self._schedules(base.packets)]
                self._rows[transfer.name, role] = _Row(transfer, role, len(schedules))
                self.total += len(schedules)
                for first in range(0, len(schedules), JOB_SCHEDULES):
                    part = schedules[first : first + JOB_SCHEDULES]
                    tasks = tuple(Task(self.plan.iut, self._reference, transfer, role, one) for one in part)
                    name = f"{transfer.name}.{role}.{first}.pcapng"
                    yield Job(first, tasks, self.plan.seed, folder / name)

    # ---- what is received ----

    def _row(self, task: Task) -> _Row:
        return self._rows[task.transfer.name, task.role]

    def _outcome(self, outcome: Outcome) -> None:
        row = self._row(outcome.task)
        if outcome.verdict is Verdict.INCONC:
            row.undecided += 1
            return
        row.note(outcome.task.schedule, _judgement(outcome))

    def _ended(self, schedules: int) -> None:
        self._done += schedules
        self._progress(self._done, self.total)

    def _take(self, offences: list[Offence]) -> None:
        """The dissector's violations: the implementation's are failures, the reference's an error of the suite."""
        for task, by_a, finding in offences:
            verdict = Verdict.FAIL if by_a else Verdict.ERROR
            who = "" if by_a else "the reference endpoint: "
            reason = f"{who}{finding.requirement} is violated (dissector)"
            cause = Cause.JUDGEMENT if by_a else Cause.SUITE
            self._row(task).note(task.schedule, Judgement(verdict, reason, cause=cause, expected=EXPECTED))

    # ---- what comes out ----

    def _results(self, row: _Row) -> list[Result]:
        name = f"sweep_{row.transfer.name}"
        judgement = Judgement()
        for schedule, failure in row.failures:
            words = f"{'; '.join(schedule) or 'without any fault'}: {failure.seen}"
            judgement.worsen(failure.verdict, words, cause=failure.cause, expected=EXPECTED)
        count = len({schedule for schedule, _ in row.failures})
        reason = f"{count} of {row.schedules} schedules: {judgement.seen}" if count else ""
        result = Result(
            name,
            list(REQUIREMENTS),
            str(row.role),
            judgement.verdict,
            reason,
            observed={"schedules": str(row.schedules), "failed": str(count), "undecided": str(row.undecided)},
            origin=Origin.SWEEP,
            cause=judgement.cause,
            expected=EXPECTED,
        )
        worst = sorted(row.failures, key=lambda failure: (-failure[1].verdict, len(failure[0])))[:FAILURES_KEPT]
        return [result, *(self._keep(row, number, *failure) for number, failure in enumerate(worst, 1))]

    def _keep(self, row: _Row, number: int, schedule: Schedule, failure: Judgement) -> Result:
        """A failure's own capture and its shrunk schedule as a file."""
        stem = f"sweep.{row.transfer.name}.{row.role}.{number}"
        replay = Replay(self.plan.iut, self._reference)
        file = ScheduleFile(row.transfer, row.role, self.plan.seed, schedule, failure.verdict.label, failure.seen)
        small = replay.shrink(file, failure.verdict, self.plan.report / f"{stem}.pcapng")
        (self.plan.report / f"{stem}.toml").write_text(small.text(), encoding="utf-8")
        words = f"{'; '.join(small.rules) or 'without any fault'}: {failure.seen} [{stem}.toml]"
        case = f"sweep_{row.transfer.name}: schedule {number}"
        capture = f"{stem}.pcapng"
        return Result(
            case,
            list(REQUIREMENTS),
            str(row.role),
            failure.verdict,
            words,
            capture=capture,
            origin=Origin.SWEEP,
            cause=failure.cause,
            expected=EXPECTED,
        )


def _judgement(outcome: Outcome) -> Judgement:
    return Judgement(outcome.verdict, outcome.seen, cause=outcome.cause, expected=EXPECTED)


def _worsen(judgement: Judgement, outcome: Outcome) -> None:
    judgement.worsen(outcome.verdict, outcome.seen, cause=outcome.cause, expected=EXPECTED)


class Replay:
    """One schedule again, in a child process of its own."""

    def __init__(self, iut: Path, reference: Path) -> None:
        self._iut = iut
        self._reference = reference
        # Many schedules that fail alike are shrunk by the same steps.
        self._verdict_alone = functools.cache(self._played_alone)
        self._verdict = functools.cache(self._judged)

    def run(self, file: ScheduleFile, capture: Path | None = None) -> tuple[Verdict, str, list[Finding]]:
        """The verdict and its reason, the dissector's findings included; the capture too where a path is given."""
        findings: list[Finding] = []
        with tempfile.TemporaryDirectory(prefix="netblt-replay-") as folder, Tshark() as tshark:
            judgement, written = self._outcome(file, Path(folder))
            for merged in written:
                findings += tshark.findings(merged)
                if capture is not None:
                    capture.write_bytes(merged.read_bytes())
        for finding in findings:
            if finding.verdict is Conclusion.VIOLATED:
                ours = finding.offender_address == addresses(0)[0]
                verdict = Verdict.FAIL if ours else Verdict.ERROR
                judgement.worsen(
                    verdict, f"{finding.requirement} is violated (dissector)", finding.frame, expected=EXPECTED
                )
        return judgement.verdict, judgement.seen, findings

    def _outcome(self, file: ScheduleFile, folder: Path) -> tuple[Judgement, list[Path]]:
        """The verdict without the dissector, and the captures."""
        task = Task(self._iut, self._reference, file.transfer, file.role, file.rules)
        job = Job(0, (task,), file.seed, folder / "one.pcapng")
        judgement = Judgement()
        pool = Pool(1, lambda outcome: _worsen(judgement, outcome), lambda _count: None)
        pool.run(iter([job]))
        return judgement, list(captures(job))

    def _judged(self, file: ScheduleFile) -> Verdict:
        return self.run(file)[0]

    def _played_alone(self, file: ScheduleFile) -> Verdict:
        with tempfile.TemporaryDirectory(prefix="netblt-replay-") as folder:
            return self._outcome(file, Path(folder))[0].verdict

    def shrink(self, file: ScheduleFile, wanted: Verdict, capture: Path | None = None) -> ScheduleFile:
        """The fewest rules that still give a verdict as bad as `wanted`; the file itself when its rules do not give one
        this time. The capture too where a path is given. The dissector, which takes longer, judges the steps only where
        the fault does not show without it."""

        def of(rules: tuple[str, ...]) -> ScheduleFile:
            return ScheduleFile(file.transfer, file.role, file.seed, rules)

        verdict = self._verdict_alone if self._verdict_alone(of(file.rules)) >= wanted else self._verdict
        rules = shrink(file.rules, lambda rules: verdict(of(rules)) >= wanted)
        reached, reason, _ = self.run(of(rules), capture)
        if reached < wanted:
            return file
        return ScheduleFile(file.transfer, file.role, file.seed, rules, reached.label, reason)
