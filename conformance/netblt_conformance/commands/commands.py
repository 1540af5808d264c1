# SPDX-License-Identifier: GPL-2.0-or-later
"""What the commands do that work on the suite itself: run, list, coverage, explain, mutants."""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
from pathlib import Path

from netblt_conformance.baseline import records
from netblt_conformance.catalogue import catalogue
from netblt_conformance.commands.explain import explain
from netblt_conformance.common import paths, tables
from netblt_conformance.common.arguments import number_of_jobs, roles_of
from netblt_conformance.common.errors import LinkUnavailableError
from netblt_conformance.common.model import ALL_ROLES, Role
from netblt_conformance.common.tables import Column
from netblt_conformance.common.verdicts import ExitCode, Result, Verdict
from netblt_conformance.generated import saved
from netblt_conformance.links.base import Link, LinkFactory
from netblt_conformance.mutants import coverage, covered, mutation, subject
from netblt_conformance.mutants.mutants import MutantError
from netblt_conformance.packets.capture import Capture
from netblt_conformance.packets.dialect import BY_NAME, RFC998, Dialect
from netblt_conformance.run import target
from netblt_conformance.run.engine import Plan
from netblt_conformance.run.loaded import Loaded, with_cases
from netblt_conformance.run.running import Listener, run_plan
from netblt_conformance.run.selection import Candidate, Selection, SelectionError
from netblt_conformance.sweep.plan import SweepPlan
from netblt_conformance.sweep.transfers import TRANSFERS_BY_NAME

# Columns of the list: two IDs or one role in a line, so that few names of cases wrap.
_IDS_WIDTH = 18
_ROLES_WIDTH = 17


def checked_cases() -> dict[str, tuple[str, ...]]:
    """Name -> file and requirement IDs of every case; LinkUnavailableError, CatalogueError when the suite is broken."""
    return with_cases(_checked)


def _checked(loaded: Loaded) -> dict[str, tuple[str, ...]]:
    if loaded.broken:
        raise LinkUnavailableError("the suite cannot be loaded: " + "; ".join(loaded.broken))
    cases = loaded.cases
    # What a script violates may be unknown, for example when a transfer does not end.
    judging = {name: words for name, (file, *words) in cases.items() if words or file != saved.FILE}
    mistakes = catalogue.check_cases(judging, catalogue.requirements())
    if mistakes:
        raise catalogue.CatalogueError(mistakes)
    return cases


def listing_plan(select: str = "", roles: tuple[Role, ...] = ALL_ROLES, dialect: Dialect = RFC998) -> Plan:
    """A plan that is only looked at."""
    return Plan(NoLink(), 0, Selection(select), roles, Path(), dialect=dialect)


class NoLink(LinkFactory):
    """For commands that need no link."""

    name = "none"

    def check(self) -> None:
        raise LinkUnavailableError("no link was chosen")

    def testing(self) -> dict[str, str]:
        return {}

    def make(self, capture: Capture) -> Link:
        del capture
        raise LinkUnavailableError("no link was chosen")


def command_run(options: argparse.Namespace) -> int:
    baseline = records.read(options.baseline) if options.baseline is not None else None
    dialect = BY_NAME[options.profile]
    chosen = target.choose(options.link, options.adapter, options.iut_library)
    _refuse_foreign_options(options, chosen.link)
    chosen.check_carrier(dialect)
    options.link = chosen.link
    if dialect is not RFC998 and chosen.adapter is None and chosen.library is None:
        chosen = dataclasses.replace(chosen, library=subject.library(dialect))
    if options.script:
        saved.give(options.script)
        options.select = f"{options.select},{saved.FILE}" if options.select else saved.FILE
    plan = Plan(
        chosen.factory(options.delay_ms, options.trace),
        options.seed,
        Selection(options.select),
        roles_of(options.role),
        options.report,
        dialect=dialect,
        long=options.long,
    )
    return with_cases(lambda loaded: _run(options, plan, loaded, baseline))


def _refuse_foreign_options(options: argparse.Namespace, link: str) -> None:
    """Options that mean nothing on this link: who gives them expects something that would not happen."""
    if link != "sim" and options.sweep_random:
        raise target.TargetError(f"--sweep-random is for --link sim; this run tests over --link {link}")
    if link != "pipe" and options.trace is not None:
        raise target.TargetError(f"--trace is for --link pipe; this run tests over --link {link}")
    if link == "wire" and options.delay_ms is not None:
        raise target.TargetError("--delay-ms is for --link sim and --link pipe; the link wire has the real delay")


def _run(options: argparse.Namespace, plan: Plan, loaded: Loaded, baseline: records.Record | None) -> int:
    cases, selection = _checked(loaded), plan.selection
    sweep = wanted_sweep(options, plan)
    untested = selection.check([*loaded.candidates(), *sweep_candidates()], catalogue.requirements())
    keys = loaded.keys(plan)
    if options.share is not None:
        keys = loaded.shared(plan, options.share)
        plan = dataclasses.replace(plan, only=frozenset(keys))
    if not keys and sweep is None:
        raise SelectionError(
            f"nothing selected: these cases do not bind the chosen roles, or do not hold in {plan.dialect.title}; see "
            f"netblt-conformance list --profile {plan.dialect.name}"
        )
    plan.factory.check()
    listener = Listener(plan, keys, cases, options, baseline=baseline)
    for identifier in untested:
        why = catalogue.requirements()[identifier].untested or "no case tests this requirement yet"
        row = Result("no case", [identifier], "all", Verdict.NA, why)
        listener.add(f"{row.case} for {identifier}", row)
    return run_plan(plan, listener, options.jobs, sweep)


def sweep_candidates() -> list[Candidate]:
    """What --select matches sweeps by: their name alone, for they belong to no single requirement."""
    return [Candidate(f"sweep_{name}", "sweep", ()) for name in TRANSFERS_BY_NAME]


def wanted_sweep(options: argparse.Namespace, plan: Plan) -> SweepPlan | None:
    """The sweeps of this run: on the sim link, unless the selection or --no-sweep leaves them out."""
    if options.link != "sim" or options.no_sweep or plan.dialect is not RFC998:  # they transfer as RFC 998 does
        return None
    if not any(plan.selection.picks(candidate, {}) for candidate in sweep_candidates()):
        return None
    jobs = number_of_jobs(options.jobs)
    iut = options.iut_library or paths.iut_library()
    return SweepPlan(iut, plan.roles, plan.seed, plan.report, jobs, random=options.sweep_random)


def command_coverage(options: argparse.Namespace) -> int:
    """1: something has neither test nor reason, or a reason is no longer true. CatalogueError for unknown IDs."""
    cases = {name: words[1:] for name, words in checked_cases().items()}
    found = list(coverage.survey(cases).values())
    mistakes = coverage.mistakes({one.requirement.id: one for one in found})
    if options.json:
        print(json.dumps(covered.document(found, mistakes), ensure_ascii=False, indent=1))
    else:
        print("\n".join(covered.table(found)))
        print(covered.summary(found))
    for mistake in mistakes:
        print(f"error: {mistake}", file=sys.stderr)
    return ExitCode.FAILED if mistakes else ExitCode.HOLDS


def _list_untested() -> int:
    found = coverage.survey({name: words[1:] for name, words in checked_cases().items()})
    print("\n".join(covered.untested(found.values())))
    print(covered.summary(list(found.values())), file=sys.stderr)
    return ExitCode.HOLDS


def command_list(options: argparse.Namespace) -> int:
    if options.list_untested:
        return _list_untested()
    return with_cases(lambda loaded: _list(options, loaded))


def _list(options: argparse.Namespace, loaded: Loaded) -> int:
    plan = listing_plan(options.select, roles_of(options.role), BY_NAME[options.profile])
    cases = _checked(loaded)
    selection, known = plan.selection, catalogue.requirements()
    selection.check(loaded.candidates(), known)
    keys = loaded.keys(plan)
    rows = []
    for name, (_file, *identifiers) in cases.items():
        mine = [key for key in keys if key.partition("[")[0].partition(": ")[0] == name]
        roles = sorted({key.partition("[")[2].rstrip("]").removesuffix("-control") for key in mine})
        if roles:
            rows.append((", ".join(identifiers), name.replace("_", " "), ", ".join(roles)))
    columns = (
        Column("REQUIREMENTS", wide=True, most=_IDS_WIDTH),
        Column("CASE", wide=True),
        Column("ROLES", wide=True, most=_ROLES_WIDTH),
    )
    print("\n".join(tables.lines(columns, rows)))
    covered = {identifier for words in cases.values() for identifier in words[1:]}
    print(
        f"{len(rows)} cases, {len(keys)} runs; {len(covered)} of {len(known)} requirements have a case", file=sys.stderr
    )
    return ExitCode.HOLDS


def command_explain(options: argparse.Namespace) -> int:
    return explain(options.id, checked_cases())


def command_mutants(options: argparse.Namespace) -> int:
    core = options.core or paths.core()
    if options.results and not options.diagnosis:
        raise MutantError("--results goes with --diagnosis")
    dialect = BY_NAME[options.profile]
    if dialect is not RFC998 and (options.matrix or options.diagnosis):
        raise MutantError(f"--matrix and --diagnosis are for --profile {RFC998.name}")
    if options.long and (options.matrix or options.diagnosis):
        raise MutantError("--long goes with mutants or --variants, not with --matrix or --diagnosis")
    for name in ("sweep", "together"):
        if getattr(options, name) and (not options.variants or options.long or dialect is not RFC998):
            raise MutantError(f"--{name} goes with --variants of --profile {RFC998.name}, without --long")
    if options.matrix:
        return mutation.matrix(options.matrix, options.name, core, options.jobs)
    if options.diagnosis:
        from netblt_conformance.mutants import measure

        return measure.run(options.name, core, options.jobs, options.results)
    judge = mutation.variants if options.variants else mutation.run
    how = (options.verbose, options.jobs, dialect, options.long, options.sweep, options.together, options.seed)
    return judge(mutation.Wanted(options.name, core, *how))
