# SPDX-License-Identifier: GPL-2.0-or-later
"""bakeoff --variants: builds the legal variants of the reference core, lets all meet each other, and reports which
pairs complete, which are documented not to, and which are neither."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from netblt_conformance import __version__
from netblt_conformance.bakeoff import incompatible
from netblt_conformance.bakeoff.incompatible import Entry, Opener, VariantMeeting
from netblt_conformance.bakeoff.variant_pairs import REFERENCE, Found, Member, Plan, meet, pairs
from netblt_conformance.common import paths
from netblt_conformance.common.arguments import number_of_jobs
from netblt_conformance.common.pool import in_processes
from netblt_conformance.common.verdicts import ExitCode, Verdict
from netblt_conformance.common.words import fit
from netblt_conformance.mutants.mutants import Variant, chosen, load_variants
from netblt_conformance.mutants.mutation import Workshop, workshop
from netblt_conformance.report.deliver import deliver
from netblt_conformance.report.progress import Progress
from netblt_conformance.sweep.offences import Offence
from netblt_conformance.sweep.workers import Job, Outcome, Pool, Task, captures

_BUILDING, _MEETING = "variants built", "transfers"
_OPENERS: tuple[Opener, ...] = ("sender", "receiver")
LAYOUT = 1  # of the JSON document
# Pairs and violations of different kinds that are shown with a capture.
SHOWN_MAX = 20


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the command line asks for."""

    names: Sequence[str]  # none: all; one: it against all; several: these against each other
    faults: int | None  # of the single faults of each transfer, for each pair; None: all
    seed: int
    jobs: int  # 0: as many as there are processors
    dissector: bool
    output: Path
    json: str | None  # a file, or - for stdout
    quiet: bool = False


def command(wanted: Wanted) -> ExitCode:
    """0: every pair completes, or is documented not to, and no violation was found. 1: not so. 2: a process of the
    suite failed."""
    every = load_variants(paths.variants())
    entries = incompatible.load(frozenset({REFERENCE, *(variant.name for variant in every)}))
    some, alone = picked(every, wanted.names)
    jobs, progress = number_of_jobs(wanted.jobs), Progress(wanted=not wanted.quiet)
    with workshop(paths.core()) as made:
        members = [Member(REFERENCE, made.library)] if alone or not wanted.names or REFERENCE in wanted.names else []
        members += _built(made, some, jobs, progress)
        plan = Plan(made.library, pairs(members, one=alone), wanted.faults, wanted.seed, jobs, wanted.dissector)
        began_s = time.monotonic()
        found = meet(plan, lambda done, of: progress.show(_MEETING, done, of))
        progress.clear()
        report = _Report(found, plan, entries, wanted.output)
        report.keep()
    if wanted.json is not None:
        deliver(json.dumps(report.document(), indent=2) + "\n", wanted.json)
    if wanted.json != "-":
        report.show(time.monotonic() - began_s, everything=not wanted.quiet)
    return report.status


def picked(every: Sequence[Variant], names: Sequence[str]) -> tuple[Sequence[Variant], str]:
    """The variants that meet, and the one that is in every pair, if only one was named. MutantError for a name that no
    variant has."""
    named = chosen(every, [name for name in names if name != REFERENCE])
    alone = names[0] if len(set(names)) == 1 else ""
    return (every, alone) if alone else (named, "")


def _built(made: Workshop, some: Sequence[Variant], jobs: int, progress: Progress) -> Iterator[Member]:
    libraries = in_processes(made.build, some, jobs)
    for number, (variant, library) in enumerate(zip(some, libraries, strict=True), 1):
        progress.show(_BUILDING, number, len(some))
        yield Member(variant.name, library)


def _explanation(entries: Sequence[Entry], meeting: VariantMeeting) -> Entry | None:
    return next((entry for entry in entries if entry.covers(meeting)), None)


class _Report:
    """What came of all pairs, by what explains it."""

    def __init__(self, found: Found, plan: Plan, entries: Sequence[Entry], output: Path) -> None:
        self._found, self._plan, self._output = found, plan, output
        self._explained: dict[tuple[str, str], Entry] = {}
        self._failed: dict[tuple[str, str], Outcome] = {}  # the first failure of each pair that nothing explains
        for pair, outcomes in found.failures.items():
            for outcome in outcomes:
                entry = _explanation(entries, found.meeting(outcome.task))
                if entry is None or not outcome.honest:
                    self._failed.setdefault(pair, outcome)
                else:
                    self._explained.setdefault(pair, entry)
        self._documented = self._explained.keys() - self._failed.keys()
        self._undecided = found.undecided.keys() - self._failed.keys() - self._documented
        self._erred = any(one.verdict is Verdict.ERROR for outcomes in found.failures.values() for one in outcomes)
        self._stale = self._documented_and_complete(entries)
        self._kinds = self._first_offences()
        self._kept: dict[Task, Path] = {}

    @property
    def status(self) -> ExitCode:
        if self._erred:
            return ExitCode.COULD_NOT_RUN
        good = not self._failed and not self._kinds and not self._stale
        return ExitCode.HOLDS if good else ExitCode.FAILED

    def _documented_and_complete(self, entries: Sequence[Entry]) -> dict[tuple[str, str], Entry]:
        """Pairs that complete although an entry states that they do not. Every pair meets without faults; what an entry
        states of faults only is known when every fault was tried."""
        stale, every = {}, self._plan.faults is None
        for pair in ((sender.name, receiver.name) for sender, receiver in self._plan.pairs):
            meetings = (VariantMeeting(*pair, opener, disturbed=every) for opener in _OPENERS)
            entry = next(filter(None, (_explanation(entries, meeting) for meeting in meetings)), None)
            if entry is not None and pair not in self._found.failures and pair not in self._found.undecided:
                stale[pair] = entry
        return stale

    def _first_offences(self) -> list[tuple[Offence, int]]:
        """The first violation of each requirement and variant, and in how many transfers there is one."""
        first: dict[tuple[str, str], Offence] = {}
        tasks: dict[tuple[str, str], set[Task]] = {}
        for offence in self._found.offences:
            kind = offence.finding.requirement, self._found.offender(offence)
            first.setdefault(kind, offence)
            tasks.setdefault(kind, set()).add(offence.task)
        return [(first[kind], len(tasks[kind])) for kind in sorted(first)]

    def keep(self) -> None:
        """Plays what is not documented again, each for a capture of its own."""
        tasks = [outcome.task for _, outcome in sorted(self._failed.items())][:SHOWN_MAX]
        tasks += [offence.task for offence, _ in self._kinds][:SHOWN_MAX]
        for number, task in enumerate(dict.fromkeys(tasks), 1):
            self._output.mkdir(parents=True, exist_ok=True)
            path = self._output / f"pair.{number}.pcapng"
            job = Job(0, (task,), self._plan.seed, self._output / f".pair.{number}.pcapng")
            Pool(1, lambda _outcome: None, lambda _count: None).run(iter([job]))
            for capture in captures(job):
                capture.replace(path)
                self._kept[task] = path

    def show(self, seconds: float, *, everything: bool) -> None:
        """On standard output."""
        if everything:
            self._show_documented()
        for _, outcome in sorted(self._failed.items())[:SHOWN_MAX]:
            print(fit(f"FAIL   {self._words(outcome.task)}: {outcome.seen} {self._where(outcome.task)}"))
        for offence, count in self._kinds[:SHOWN_MAX]:
            finding, name = offence.finding, self._found.offender(offence)
            print(fit(f"FAIL   {finding.requirement} is violated by {name} in {count} transfers (dissector)"))
            print(fit(f"       {self._words(offence.task)}: {finding.text} {self._where(offence.task)}"))
        for (sender, receiver), entry in sorted(self._stale.items())[:SHOWN_MAX]:
            print(fit(f"STALE  {sender} to {receiver} completes, but {' '.join(entry.ambiguities)} is to prevent it"))
        self._show_summary(seconds)

    def _show_documented(self) -> None:
        counts = Counter(id(self._explained[pair]) for pair in self._documented)
        for entry in {id(entry): entry for entry in self._explained.values()}.values():
            print(fit(f"{' '.join(entry.ambiguities):<7}{counts[id(entry)]} pairs: {entry.about}"))

    def _show_summary(self, seconds: float) -> None:
        found, plan = self._found, self._plan
        print(
            f"{len(plan.pairs)} pairs: {self._completed} completed, {len(self._documented)} are documented not to, "
            f"{len(self._undecided)} undecided, {len(self._failed)} failed; {len(self._kinds)} kinds of violations"
        )
        if self._stale:
            print(f"{len(self._stale)} pairs complete although incompatible.toml states that they do not")
        if found.unanswered:
            print(f"{found.unanswered} transfers: all data arrived, and the receiver's last OK got no answer (AMB-53)")
        most = "every single fault" if plan.faults is None else f"{plan.faults} single faults of each pair and transfer"
        print(f"{found.transfers} transfers, without faults and under {most}, seed {plan.seed}, {seconds:.0f} s")

    @property
    def _completed(self) -> int:
        return len(self._plan.pairs) - len(self._documented) - len(self._undecided) - len(self._failed)

    def document(self) -> dict[str, Any]:
        """The same as JSON."""
        documented = Counter(" ".join(self._explained[pair].ambiguities) for pair in self._documented)
        return {
            "layout": LAYOUT,
            "suite": f"netblt-conformance {__version__}",
            "pairs": len(self._plan.pairs),
            "completed": self._completed,
            "documented": dict(sorted(documented.items())),
            "undecided": [list(pair) for pair in sorted(self._undecided)],
            "failed": [
                {"sender": pair[0], "receiver": pair[1], **self._how(outcome.task), "seen": outcome.seen}
                for pair, outcome in sorted(self._failed.items())
            ],
            "violations": [
                {
                    "requirement": offence.finding.requirement,
                    "offender": self._found.offender(offence),
                    "transfers": count,
                    **self._how(offence.task),
                    "seen": offence.finding.text,
                }
                for offence, count in self._kinds
            ],
            "stale": [
                {"sender": sender, "receiver": receiver, "ambiguities": list(entry.ambiguities)}
                for (sender, receiver), entry in sorted(self._stale.items())
            ],
            "transfers": self._found.transfers,
            "seed": self._plan.seed,
            "exit_code": int(self.status),
        }

    def _how(self, task: Task) -> dict[str, Any]:
        opener = self._found.meeting(task).opener
        capture = str(self._kept[task]) if task in self._kept else None
        return {"opener": opener, "transfer": task.transfer.name, "schedule": list(task.schedule), "capture": capture}

    def _words(self, task: Task) -> str:
        sender, receiver = self._found.pair(task)
        schedule = "; ".join(task.schedule) or "without any fault"
        return f"{sender} to {receiver}, the {self._found.meeting(task).opener} opens, {task.transfer.name}, {schedule}"

    def _where(self, task: Task) -> str:
        return f"[{self._kept[task]}]" if task in self._kept else ""
