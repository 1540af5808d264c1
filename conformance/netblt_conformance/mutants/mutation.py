# SPDX-License-Identifier: GPL-2.0-or-later
"""Builds mutants and variants and runs cases against them, several at a time. See `mutants` for what they are."""

from __future__ import annotations

import json
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from netblt_conformance.catalogue import catalogue
from netblt_conformance.common import paths, wording
from netblt_conformance.common.arguments import number_of_jobs
from netblt_conformance.common.model import ALL_ROLES, address_text
from netblt_conformance.common.pool import in_processes
from netblt_conformance.common.verdicts import Cause, ExitCode, Origin, Result, Verdict
from netblt_conformance.judges.second import disagreements, findings
from netblt_conformance.judges.tshark import Tshark
from netblt_conformance.links.base import IUT_ADDRESS
from netblt_conformance.links.sim import SimLinkFactory
from netblt_conformance.mutants import together
from netblt_conformance.mutants.mutants import (
    Mutant,
    MutantError,
    Variant,
    apply,
    chosen,
    load,
    load_variants,
    source_file,
)
from netblt_conformance.mutants.subject import copy_core, iut_builder
from netblt_conformance.packets.dialect import RFC998, Dialect
from netblt_conformance.run.engine import Plan
from netblt_conformance.run.loaded import Loaded, with_cases
from netblt_conformance.run.selection import Selection
from netblt_conformance.run.worker import Supervisor
from netblt_conformance.sweep.plan import SweepPlan
from netblt_conformance.sweep.stage import Sweep

SEED = 1
# Headers are seen by every source: only an edit of a .c file leaves the other objects as they are.
_LOCAL_SUFFIX = ".c"
LONG_FOLDER = "long"  # of mutants and variants that only cases of more than a minute meet

Stop = Callable[[Result], bool]


class _EnoughError(Exception):
    """The result that was looked for is there."""


@dataclass(slots=True)
class Outcome:
    """What became of one mutant or variant."""

    name: str
    results: list[Result] = field(default_factory=list)
    killer: Result | None = None
    observed: dict[str, dict[str, str]] = field(default_factory=dict)
    mistake: str = ""  # it could not be judged


@dataclass(frozen=True, slots=True)
class Workshop:
    """Where mutants are made: one state of the core for all, even if it is edited meanwhile, and its objects."""

    folder: Path
    core: Path
    library: Path
    objects: dict[str, Path]  # of the reference, by the name of the source
    dialect: Dialect = RFC998
    long: bool = False  # the cases that take more than a minute are run, and only they
    sweep: bool = False  # transfers under every fault and every pair of faults are run too

    def report(self, entry: Mutant | Variant) -> Path:
        """Where the captures of its cases go."""
        return self.folder / "reports" / entry.name

    def build(self, entry: Mutant | Variant) -> Path:
        """The library with the edits. MutantError when an old text is stale or the result does not compile."""
        folder = self.folder / entry.name
        core = folder / "core"
        apply(entry, self.core, core)
        builder, library = iut_builder(), folder / "libmutant.so"
        sources = builder.sources_of(core)
        if all(edit.file.endswith(_LOCAL_SUFFIX) for edit in entry.edits):
            sources = [source_file(core, name) for name in sorted({edit.file for edit in entry.edits})]
        try:
            own = builder.compile_sources(core, sources, self.folder / "objects", quick=True)
            builder.link_iut(list({**self.objects, **own}.values()), library)
        except builder.CompileError as error:
            raise MutantError(f"mutant {entry.name} does not compile: {_first_error(str(error))}") from None
        return library


def _first_error(words: str) -> str:
    """The line of the compiler's words that names the mistake."""
    return next((line for line in words.splitlines() if "error:" in line), words)


@contextmanager
def workshop(core: Path, dialect: Dialect = RFC998, *, long: bool = False, sweep: bool = False) -> Iterator[Workshop]:
    """Builds the reference, edited for the dialect; everything goes at the end."""
    if not core.is_dir():
        raise MutantError(f"{core}: no folder with the core's sources")
    builder = iut_builder()
    with tempfile.TemporaryDirectory(prefix="netblt-mutants-") as name:
        folder = Path(name)
        own, library = folder / "core", folder / "libreference.so"
        copy_core(core, own, dialect)
        try:
            objects = builder.compile_sources(own, builder.sources_of(own), folder / "objects", quick=True)
            builder.link_iut(list(objects.values()), library)
        except builder.CompileError as error:
            raise MutantError(f"the core does not compile:\n{error}") from None
        yield Workshop(folder, own, library, objects, dialect, long, sweep)


# ---- running cases ----


def run_cases(
    library: Path,
    select: str,
    report: Path,
    stop: Stop = lambda _result: False,
    jobs: int = 1,
    only: frozenset[str] | None = None,
    dialect: Dialect = RFC998,
    *,
    long: bool = False,
) -> Outcome:
    """The results of the selected cases on the sim link, up to the first one that `stop` picks. `only`: no other runs
    than these, by key. `long`: those that take more than a minute, instead of the others."""
    factory = SimLinkFactory(library)
    plan = Plan(factory, SEED, Selection(select), ALL_ROLES, report, only=only, dialect=dialect, long=long)
    report.mkdir(parents=True, exist_ok=True)
    return with_cases(lambda loaded: _run_plan(loaded, plan, stop, jobs))


def _run_plan(loaded: Loaded, plan: Plan, stop: Stop, jobs: int) -> Outcome:
    outcome, cases = Outcome(""), loaded.cases
    if plan.long:
        plan = replace(plan, only=loaded.long if plan.only is None else loaded.long & plan.only)

    def take(event: dict[str, Any]) -> None:
        if event["event"] == "result":
            result = Result.from_json(event["result"])
        elif event["event"] == "crash":
            result = Result.of_run(event["key"], cases, Verdict.FAIL, event["why"], Cause.CRASH)
        else:
            if event["event"] == "observed":
                outcome.observed[event["role"]] = event["observed"]
            return
        outcome.results.append(result)
        if stop(result):
            raise _EnoughError

    with suppress(_EnoughError):
        Supervisor(plan, jobs, plan.case_limit_s, take).run()
    return outcome


def convicts(result: Result, mutant: Mutant) -> bool:
    """Whether this result holds against the implementation that it breaks what the mutant breaks."""
    must = catalogue.requirements()[mutant.requirement].grade == "must" and not mutant.warn
    enough = (Verdict.FAIL,) if must else (Verdict.WARN, Verdict.FAIL)
    return mutant.requirement in result.requirements and result.verdict in enough


def _check_tested(mutants: Sequence[Mutant], loaded: Loaded) -> None:
    tested = {identifier for words in loaded.cases.values() for identifier in words[1:]}
    for mutant in mutants:
        if mutant.requirement not in tested:
            raise MutantError(f"no case tests {mutant.requirement}, which a mutant breaks")


def _check_reference(killed: Sequence[tuple[Mutant, Outcome]], made: Workshop, jobs: int) -> None:
    """The reference itself passes what killed the mutants: else a kill means nothing."""
    keys = frozenset(outcome.killer.key for _, outcome in killed if outcome.killer is not None)
    report = made.folder / "reference"
    outcome = run_cases(made.library, "", report, jobs=jobs, only=keys, dialect=made.dialect, long=made.long)
    results = outcome.results
    for result in results:
        if result.verdict > Verdict.WARN:
            raise MutantError(
                f"the reference itself does not pass: {result.case} ({result.role}): {wording.reason(result)}"
            )
    for mutant, outcome in killed:
        assert outcome.killer is not None
        same = [result for result in results if result.key == outcome.killer.key]
        if not same or any(convicts(result, mutant) for result in same):
            raise MutantError(f"{outcome.killer.case} ({outcome.killer.role}) kills the reference like {mutant.name}")


# ---- several at a time ----


def in_parallel(
    work: Callable[[Workshop, Any], Outcome], made: Workshop, entries: Sequence[Any], jobs: int
) -> Iterator[Outcome]:
    """Outcomes in the order of the entries."""
    yield from in_processes(_guarded, [(work, made, entry) for entry in entries], jobs)


def _guarded(task: tuple[Callable[[Workshop, Any], Outcome], Workshop, Any]) -> Outcome:
    work, made, entry = task
    try:
        outcome = work(made, entry)
    except MutantError as error:
        outcome = Outcome(entry.name, mistake=str(error))
    outcome.name = entry.name
    shutil.rmtree(made.folder / entry.name, ignore_errors=True)
    return outcome


def kill(made: Workshop, mutant: Mutant) -> Outcome:
    """Runs the cases of the requirement until one detects the mutant."""
    library, report = made.build(mutant), made.report(mutant)
    outcome = run_cases(
        library,
        mutant.requirement,
        report,
        lambda result: convicts(result, mutant),
        dialect=made.dialect,
        long=made.long,
    )
    outcome.killer = next((r for r in outcome.results if convicts(r, mutant)), None)
    return outcome


def _unseen(killed: Sequence[tuple[Mutant, Outcome]], made: Workshop) -> list[Mutant]:
    """Those that show on the wire, and of which the Wireshark plugin reports nothing in any capture of the cases that
    ran. All of them at once: to start tshark takes longer than to judge."""
    visible = {made.report(mutant): mutant for mutant, _ in killed if mutant.wire_visible}
    captures = [capture for report in visible for capture in sorted(report.glob("*.pcapng"))]
    seen: set[str] = set()
    with Tshark() as tshark:
        for capture, finding in findings(tshark, captures, violations=False):
            mutant = visible[capture.parent]
            wanted = mutant.found_as or mutant.requirement
            if finding.requirement == wanted and finding.offender_address == address_text(IUT_ADDRESS):
                seen.add(mutant.name)
    return [mutant for mutant in visible.values() if mutant.name not in seen]


def _everything(made: Workshop, entry: Mutant | Variant) -> Outcome:
    """Runs all cases."""
    outcome = run_cases(made.build(entry), "", made.report(entry))
    shutil.rmtree(made.report(entry), ignore_errors=True)
    return outcome


def both_judges(made: Workshop, variant: Variant) -> Outcome:
    """Runs all cases, and sweeps where they are wanted, and the Wireshark plugin over the captures."""
    library = made.build(variant)
    outcome = run_cases(library, "", made.report(variant), dialect=made.dialect, long=made.long)
    outcome.results += disagreements(outcome.results, made.report(variant))
    if made.sweep:
        plan = SweepPlan(library, ALL_ROLES, SEED, made.report(variant), jobs=1)
        outcome.results += Sweep(plan, lambda _done, _of: None).run()
    shutil.rmtree(made.report(variant), ignore_errors=True)
    return outcome


# ---- the commands ----


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which mutants or variants a command judges, and how."""

    names: Sequence[str]
    core: Path
    verbose: bool
    jobs: int = 0  # 0: one for each processor
    dialect: Dialect = RFC998
    long: bool = False  # those that only cases of more than a minute find, by these cases
    sweep: bool = False  # variants meet sweeps too
    groups: int = 0  # so many groups of variants in one core, instead of each by itself
    seed: int = SEED  # of the groups


def run(wanted: Wanted) -> int:
    """Judges the mutants of the core in this dialect; 1 when one survives, or is not found by the Wireshark plugin
    though it shows on the wire."""
    folder = paths.mutants() if wanted.dialect is RFC998 else paths.dialect(wanted.dialect.name)
    mutants = chosen(load(folder / LONG_FOLDER if wanted.long else folder), wanted.names)
    return with_cases(lambda loaded: _run(mutants, loaded, wanted))


def _run(wanted: Sequence[Mutant], loaded: Loaded, how: Wanted) -> int:
    jobs = number_of_jobs(how.jobs)
    began, stale = time.monotonic(), []
    killed: list[tuple[Mutant, Outcome]] = []
    _check_tested(wanted, loaded)
    with workshop(how.core, how.dialect, long=how.long) as made:
        for mutant, outcome in zip(wanted, in_parallel(kill, made, wanted, jobs), strict=True):
            if outcome.mistake:
                stale.append(outcome.mistake)
            elif outcome.killer is not None:
                killed.append((mutant, outcome))
            _tell(mutant, outcome, how.verbose)
        _check_reference(killed, made, jobs)
        unseen = _unseen(killed, made)
    for mutant in unseen:
        wanted_finding = mutant.found_as or mutant.requirement
        print(f"unseen    {mutant.requirement:<10} {mutant.name}")
        print(f"          {mutant.about}; the Wireshark plugin does not report {wanted_finding}")
    seconds = time.monotonic() - began
    print(f"{len(killed)} of {len(wanted)} mutants killed ({100 * len(killed) // len(wanted)} %) in {seconds:.1f} s")
    visible = sum(mutant.wire_visible for mutant, _ in killed)
    print(f"{visible - len(unseen)} of {visible} that a capture shows are reported by the Wireshark plugin")
    if stale:
        raise MutantError("; ".join(stale))
    return ExitCode.FAILED if len(killed) < len(wanted) or unseen else ExitCode.HOLDS


def _tell(mutant: Mutant, outcome: Outcome, verbose: bool) -> None:
    killer = outcome.killer
    word = "stale" if outcome.mistake else "survived" if killer is None else "killed"
    print(f"{word:<9} {mutant.requirement:<10} {mutant.name}", flush=True)
    if word == "survived":
        print(f"          {mutant.about}; no case of {mutant.requirement} noticed")
    elif verbose and killer is not None:
        print(f"          by {killer.case} ({killer.role}): {wording.reason(killer)}")


def matrix(file: Path, names: Sequence[str], core: Path, jobs: int = 0) -> int:
    """Runs every case against every mutant and writes who kills whom. 1 when a case kills nothing and does not state
    why it cannot, or a mutant survives everything."""
    wanted = chosen(load(paths.mutants()), names)
    return with_cases(lambda loaded: _matrix(file, wanted, core, loaded, number_of_jobs(jobs)))


def _matrix(file: Path, wanted: Sequence[Mutant], core: Path, loaded: Loaded, jobs: int) -> int:
    kills: dict[str, list[str]] = {}
    with workshop(core) as made:
        harmless = _verdicts(run_cases(made.library, "", made.folder / "reference", jobs=jobs).results)
        for mutant, outcome in zip(wanted, in_parallel(_everything, made, wanted, jobs), strict=True):
            if outcome.mistake:
                raise MutantError(outcome.mistake)
            verdicts = _verdicts(outcome.results)
            kills[mutant.name] = sorted(c for c, v in verdicts.items() if v > harmless.get(c, Verdict.PASS))
            print(f"{len(kills[mutant.name]):>4} cases kill {mutant.name}", flush=True)
    document = {"layout": 1, "seed": SEED, "kills": kills, "excused": loaded.kills_nothing}
    file.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    judged = loaded.cases_in(RFC998).keys() - loaded.long_cases  # `mutants --long` has faults for these
    return _verdict_of_matrix(kills, sorted(judged), loaded.kills_nothing)


def _verdicts(results: Sequence[Result]) -> dict[str, Verdict]:
    """The worst verdict of each case, whatever role, arm and variant."""
    worst: dict[str, Verdict] = {}
    for result in results:
        if result.verdict in (Verdict.WARN, Verdict.FAIL) and result.origin is not Origin.MONITOR:
            worst[result.base_name] = max(worst.get(result.base_name, Verdict.PASS), result.verdict)
    return worst


def _verdict_of_matrix(kills: dict[str, list[str]], cases: Sequence[str], excused: dict[str, str]) -> int:
    useful = {case for killers in kills.values() for case in killers}
    idle = [case for case in cases if case not in useful and case not in excused]
    immortal = [name for name, killers in kills.items() if not killers]
    for case in idle:
        print(f"kills nothing: {case}: write a mutant, or give the reason in @case(..., kills_nothing=...)")
    for case in sorted(useful & excused.keys()):
        print(f"note: {case} is declared to kill nothing, but it does")
    print(
        f"{len(useful)} of {len(cases)} cases kill a mutant, {len(excused)} state why they cannot; {len(kills)} mutants"
    )
    return ExitCode.FAILED if idle or immortal else ExitCode.HOLDS


def variants(wanted: Wanted) -> int:
    """Runs all cases against every legal variant; 1 when something fails one, or its choice is not reported."""
    folder = paths.variants() if wanted.dialect is RFC998 else paths.dialect(wanted.dialect.name) / "legal"
    legal = chosen(load_variants(folder / LONG_FOLDER if wanted.long else folder), wanted.names)
    if wanted.groups:
        legal = together.groups(legal, wanted.core, wanted.groups, wanted.seed)
    return with_cases(lambda _loaded: _variants(legal, wanted))


def _variants(wanted: Sequence[Variant], how: Wanted) -> int:
    began, wronged = time.monotonic(), 0
    stale: list[str] = []
    with workshop(how.core, how.dialect, long=how.long, sweep=how.sweep) as made:
        for variant, outcome in zip(
            wanted, in_parallel(both_judges, made, wanted, number_of_jobs(how.jobs)), strict=True
        ):
            if outcome.mistake:
                stale.append(outcome.mistake)
                if how.groups:
                    print(f"passed over {variant.name}: {outcome.mistake}", flush=True)
                continue
            complaints = _group_complaints(outcome) if how.groups else _complaints(variant, outcome)
            wronged += bool(complaints)
            warned = sorted({i for r in outcome.results if r.verdict is Verdict.WARN for i in r.requirements[:1]})
            print(f"{'wronged' if complaints else 'accepted':<9} {variant.name}  {' '.join(warned)}", flush=True)
            for line in [*complaints, *_rows(outcome, Verdict.WARN)] if how.verbose else complaints[:3]:
                print(f"          {line}")
    print(
        f"{len(wanted) - wronged - len(stale)} of {len(wanted)} variants accepted in {time.monotonic() - began:.1f} s"
    )
    if stale and not how.groups:
        raise MutantError("; ".join(stale))
    return ExitCode.FAILED if wronged else ExitCode.HOLDS


def _rows(outcome: Outcome, *verdicts: Verdict) -> list[str]:
    return [
        f"{r.verdict.label} {' '.join(r.requirements)} {r.case} ({r.role}): {wording.reason(r)}"
        for r in outcome.results
        if r.verdict in verdicts
    ]


def _group_complaints(outcome: Outcome) -> list[str]:
    """What one member chooses may keep the situation of a case from occurring that is about another one."""
    return _rows(outcome, Verdict.FAIL, Verdict.ERROR)


def _complaints(variant: Variant, outcome: Outcome) -> list[str]:
    lines = _rows(outcome, Verdict.FAIL, Verdict.ERROR, Verdict.INCONC)
    if variant.observed:
        name, _, value = variant.observed.partition(" = ")
        seen = {values[name] for values in _observations(outcome) if name in values}
        if value not in seen:
            lines.append(f"not observed: {variant.observed}; the suite reports {sorted(seen) or 'nothing'}")
    return lines


def _observations(outcome: Outcome) -> list[dict[str, str]]:
    return [*outcome.observed.values(), *(result.observed for result in outcome.results)]
