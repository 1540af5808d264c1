# SPDX-License-Identifier: GPL-2.0-or-later
"""Measures generated peers: which mutants of the reference core they kill without any case, and that they fail no legal
variant of it."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from netblt_conformance.cases.probe import probe
from netblt_conformance.catalogue import catalogue
from netblt_conformance.common import paths
from netblt_conformance.common.arguments import number_of_jobs
from netblt_conformance.common.model import ALL_ROLES
from netblt_conformance.common.pool import in_processes
from netblt_conformance.common.verdicts import ExitCode
from netblt_conformance.common.words import fit
from netblt_conformance.generated import play, summary
from netblt_conformance.generated.campaign import OWN_MISTAKE, Block, Campaign, Failure, Pool, blocks
from netblt_conformance.generated.play import kinds
from netblt_conformance.generated.results import ILLEGAL, LEGAL, MISSED, Judged, Results
from netblt_conformance.generated.second import violations
from netblt_conformance.generated.summary import Matrix
from netblt_conformance.judges.tshark import Tshark
from netblt_conformance.links.sim import SimLinkFactory
from netblt_conformance.mutants.mutants import Mutant, MutantError, Variant, chosen, load, load_variants
from netblt_conformance.mutants.mutation import Workshop, workshop


@dataclass(frozen=True, slots=True)
class Task:
    """One mutant or variant against scripts with numbers from 0."""

    made: Workshop
    entry: Mutant | Variant
    count: int
    seed: int
    illegal: bool = False
    output: Path | None = None  # where a failing script goes, and the library that fails it


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of it."""

    scripts: int = 0
    by_illegal: bool = False  # a script with illegal moves killed it
    failures: tuple[Failure, ...] = ()
    mistake: str = ""  # it could not be judged

    @property
    def first(self) -> str:
        """The first failure, in a line."""
        if not self.failures:
            return ""
        failure = first_of(self.failures)
        return f"script {failure.number}: {failure.reasons[0]}"


def first_of(failures: Sequence[Failure]) -> Failure:
    return min(failures, key=lambda one: one.number)


def _warns(entry: Mutant | Variant) -> str:
    """The requirement of which a WARN kills the mutant; empty where only a FAIL does."""
    if not isinstance(entry, Mutant):
        return ""
    must = catalogue.requirements()[entry.requirement].grade == "must" and not entry.warn
    return "" if must else entry.requirement


def _accuses(failure: Failure, reference: Path, warns: str) -> bool:
    """Whether the reference does not fail this script as the mutant does: else a kill means nothing. A WARN of a rule
    may depend on the script more than on the implementation."""
    factory = SimLinkFactory(reference)
    profile = probe(factory, failure.script.role, failure.script.seed)[0]
    played = play.replay(failure.script, factory, profile)
    return not failure.kinds & kinds(played.faults + played.warnings(warns))


def judge(task: Task) -> Outcome:
    """Plays scripts until one fails; those of a variant all. A mutant that legal scripts miss gets illegal ones too
    where these are wanted."""
    try:
        library = task.made.build(task.entry)
    except MutantError as error:
        return Outcome(mistake=str(error))
    mutant, scripts, failures = isinstance(task.entry, Mutant), 0, tuple[Failure, ...]()
    stages = (False, True) if mutant and task.illegal else (task.illegal,)
    for illegal in stages:
        count, failures = _stage(task, library, illegal=illegal)
        scripts += count
        if failures:
            break
    if failures and task.output is not None:
        failure = first_of(failures)
        script, kept = _files(task.output, task.entry.name, failure)
        script.parent.mkdir(parents=True, exist_ok=True)
        script.write_text(failure.script.text("\n".join(failure.reasons)), encoding="utf-8")
        shutil.copy(library, kept)
    shutil.rmtree(task.made.folder / task.entry.name, ignore_errors=True)
    return Outcome(scripts, mutant and bool(failures) and illegal, failures)


def _files(output: Path, name: str, failure: Failure) -> tuple[Path, Path]:
    """A failing script, and the library that fails it."""
    return output / f"{name}.{failure.number}.toml", output / f"{name}.so"


def _stage(task: Task, library: Path, *, illegal: bool) -> tuple[int, tuple[Failure, ...]]:
    """How many scripts were played, and which of them failed."""
    mutant, failures, ended = isinstance(task.entry, Mutant), dict[int, Failure](), list[Block]()
    folder = library.parent / ("illegal" if illegal else "legal")
    folder.mkdir()
    warns = _warns(task.entry)
    campaign = Campaign(SimLinkFactory(library), ALL_ROLES, task.seed, illegal=illegal, first_only=mutant, warns=warns)

    def failed(one: Failure) -> None:
        if not mutant or _accuses(one, task.made.library, warns):
            failures.setdefault(one.number, one)

    pool = Pool(campaign, 1, failed, lambda _counts: None, ended.append)
    wanted = blocks(folder, task.count)
    pool.run(block for block in wanted if not (mutant and failures))
    if not (mutant and failures) and not illegal:
        with Tshark() as tshark:
            for block in ended:
                failures |= {one.number: one for one in _found(tshark, block, own=not mutant)}
    return pool.counts.scripts, tuple(failures.values())


def _found(tshark: Tshark, block: Block, *, own: bool) -> Iterator[Failure]:
    """What the dissector finds. `own`: also mistakes of the generator, which may go wrong beside a mutant only."""
    for found in violations(tshark, block.stem):
        if found.by_implementation or (own and block.is_mistake(found)):
            failure = block.failure(found)
            whose = () if found.by_implementation else (OWN_MISTAKE,)
            yield replace(failure, reasons=("; ".join((*whose, *failure.reasons)),))


def mutants(
    names: Sequence[str],
    count: int,
    seed: int,
    jobs: int,
    matrix: Path | None = None,
    results: Path | None = None,
    *,
    illegal: bool = False,
) -> int:
    """Prints the mutants that at most `count` scripts kill, and those that they miss, by requirement. `matrix`: what
    the cases kill; then also which of them are superfluous. `results`: a file of results, of which what is there is
    not measured again. 1 when a mutant is missed."""
    wanted = chosen(load(paths.mutants()), names)
    known = Matrix.read(matrix) if matrix is not None else None
    found = Results(results, {"count": count, "seed": seed, "illegal": illegal})

    def add(entry: Mutant | Variant, outcome: Outcome) -> None:
        by = LEGAL if not outcome.by_illegal else ILLEGAL
        how = by if outcome.failures else MISSED
        found.add(entry.name, Judged(_about(entry), how, outcome.scripts, outcome.first))

    left = [one for one in wanted if one.name not in found.judged]
    if left:
        _measure(left, count, seed, jobs, _killed, add, illegal=illegal)
    judged = {one: found.judged[one.name] for one in wanted}
    killed = [one for one, how in judged.items() if how.killed_by != MISSED]
    lines = summary.by_requirement(killed, [one for one in wanted if one not in killed])
    by_illegal = sum(how.killed_by == ILLEGAL for how in judged.values())
    lines.append(
        f"{len(killed)} of {len(wanted)} mutants are killed ({len(killed) / len(wanted):.1%}), "
        f"{by_illegal} of them by scripts with illegal moves only"
    )
    if known is not None:
        dead = frozenset(one.name for one in killed)
        lines += summary.cases(known, dead, frozenset(one.name for one in wanted))
    for line in lines:
        print(fit(line))
    return ExitCode.HOLDS if len(killed) == len(wanted) else ExitCode.FAILED


def variants(
    names: Sequence[str], count: int, seed: int, jobs: int, *, illegal: bool = False, output: Path | None = None
) -> int:
    """Plays `count` scripts against each legal variant. 1 when one fails. `output`: where the first script goes that a
    variant fails, and its library."""
    wanted = chosen(load_variants(paths.variants()), names)

    def add(entry: Mutant | Variant, outcome: Outcome) -> None:
        if outcome.failures and output is not None:
            script, library = _files(output, entry.name, first_of(outcome.failures))
            print(fit(f"         play it again: netblt-conformance play {script} --iut-library {library}"), flush=True)

    return _measure(wanted, count, seed, jobs, _accepted, add, illegal=illegal, output=output)


def _about(entry: Mutant | Variant) -> str:
    return entry.requirement if isinstance(entry, Mutant) else " ".join(entry.ambiguities)


def _killed(outcome: Outcome) -> tuple[bool, str]:
    return bool(outcome.failures), "killed" if outcome.failures else "missed"


def _accepted(outcome: Outcome) -> tuple[bool, str]:
    return not outcome.failures, "wronged" if outcome.failures else "accepted"


def _measure(
    entries: Sequence[Mutant | Variant],
    count: int,
    seed: int,
    jobs: int,
    verdict_of: Callable[[Outcome], tuple[bool, str]],
    add: Callable[[Mutant | Variant, Outcome], None] = lambda _entry, _outcome: None,
    *,
    illegal: bool,
    output: Path | None = None,
) -> int:
    """Prints a line for each entry; then `add` gets its outcome."""
    began_s, good, scripts, word = time.monotonic(), 0, 0, ""
    mistakes: list[str] = []
    with workshop(paths.core()) as made:
        tasks = [Task(made, entry, count, seed, illegal, output) for entry in entries]
        for entry, outcome in zip(entries, in_processes(judge, tasks, number_of_jobs(jobs)), strict=True):
            if outcome.mistake:
                mistakes.append(outcome.mistake)
                continue
            as_wanted, word = verdict_of(outcome)
            good, scripts = good + as_wanted, scripts + outcome.scripts
            print(fit(f"{word:<9}{_about(entry):<10} {entry.name}  {outcome.first}".rstrip()), flush=True)
            add(entry, outcome)
    what = "mutants killed" if isinstance(entries[0], Mutant) else "variants accepted"
    seconds = time.monotonic() - began_s
    print(f"{good} of {len(entries)} {what}, {scripts} scripts, seed {seed}, {seconds:.0f} s")
    if mistakes:
        raise MutantError("; ".join(mistakes))
    return ExitCode.HOLDS if good == len(entries) else ExitCode.FAILED
