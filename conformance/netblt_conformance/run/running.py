# SPDX-License-Identifier: GPL-2.0-or-later
"""One run from start to report: listens to the workers, prints, writes the files, answers the exit status."""

from __future__ import annotations

import argparse
import dataclasses
import functools
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from netblt_conformance import __version__
from netblt_conformance.baseline import records
from netblt_conformance.baseline.command import deliver_to_ci, show
from netblt_conformance.baseline.compare import Comparison, compare
from netblt_conformance.baseline.document import document
from netblt_conformance.common.arguments import number_of_jobs
from netblt_conformance.common.child import ENDING
from netblt_conformance.common.destinations import try_file
from netblt_conformance.common.errors import JudgeError, LinkUnavailableError
from netblt_conformance.common.verdicts import (
    FIRST_TRANSFER,
    Cause,
    ExitCode,
    Origin,
    Result,
    Verdict,
    exit_code,
    harden,
)
from netblt_conformance.common.waits import DUE_BY, Awaited
from netblt_conformance.common.words import fit, fit_lines
from netblt_conformance.diagnosis.ranking import likely_causes
from netblt_conformance.links.virtual import Steppable
from netblt_conformance.packets.dialect import RFC998
from netblt_conformance.report import alike, causes, files, table, versions
from netblt_conformance.report.causes_so_far import CausesSoFar
from netblt_conformance.report.deliver import deliver
from netblt_conformance.report.page import render
from netblt_conformance.report.progress import Progress
from netblt_conformance.run import confirm, known, target
from netblt_conformance.run.engine import Plan
from netblt_conformance.run.interruption import Interruption
from netblt_conformance.run.selection import Candidate
from netblt_conformance.run.worker import Supervisor
from netblt_conformance.sweep.plan import SweepPlan

NANOSECONDS_PER_US = 1_000

# Options that name a file for results beside the report, or in it.
_FURTHER_FILES = ("--json-lines", "--junit", "--summary", "--annotations")


class Listener:
    """Collects the events of a run."""

    def __init__(
        self,
        plan: Plan,
        keys: list[str],
        cases: dict[str, tuple[str, ...]],
        options: argparse.Namespace,
        *,
        live: bool = True,
        baseline: records.Record | None = None,
    ) -> None:
        """`live`: likely causes are printed while the run goes on, on a link that takes real time. `baseline`: the run
        that this one is compared with."""
        self.baseline = baseline
        self.plan = plan
        self.keys = keys
        self.place = {key: number for number, key in enumerate(keys)}
        self.cases = cases
        self.options = options
        self.results: list[tuple[str, Result]] = []
        self.observed: dict[str, dict[str, str]] = {}
        self.traces: list[str] = []
        self.confirmed: set[str] = set()  # runs whose failure others confirm: nothing is learnt from a repetition
        self._causes: dict[str, str] = {}  # by key: what ended a case before it had a result
        self.interruption = Interruption()
        self.interrupted = False  # before everything had its result
        self._running: dict[str, None] = {}
        self._current = ""
        self._colour = sys.stdout.isatty() and "NO_COLOR" not in os.environ
        self.progress = Progress(wanted=not options.quiet and not options.verbose)
        self._finished: set[str] = set()
        self._started_s: dict[str, float] = {}  # by key, on the monotonic clock
        self.real_s: dict[str, float] = {}  # by key: real time that the run took
        self._began_s = time.monotonic()
        self._causes_so_far = CausesSoFar(self.command) if live and plan.factory.real_time else None

    @property
    def command(self) -> list[str]:
        words = target.command(self.plan.factory, self.plan.seed, self.options.delay_ms, self.plan.dialect)
        return words + [word for file in self.options.script for word in (causes.SCRIPT, target.shown(file))]

    @functools.cached_property
    def testing(self) -> dict[str, str]:
        testing = self.plan.factory.testing()
        return testing if self.plan.dialect is RFC998 else {**testing, "profile": self.plan.dialect.title}

    @functools.cached_property
    def versions(self) -> dict[str, str]:
        return versions.of_this_run(self.plan.factory.subject, judged=not self.options.no_dissector)

    def __call__(self, event: dict[str, Any]) -> None:
        self.interruption.check()
        kind = event["event"]
        if kind == "start":
            self._running[event["key"]] = None
            self._started_s[event["key"]] = event["at_s"]
        elif kind == "result":
            result = Result.from_json(event["result"])
            self.real_s[result.key] = event["at_s"] - self._started_s.get(result.key, event["at_s"])
            self._take(result)
        elif kind == "confirmed":
            self.confirmed.update(event["keys"])
        elif kind == "observed":
            self.observed[event["role"]] = event["observed"]
            if self._causes_so_far is not None:
                self._tell(self._causes_so_far.first_transfer(event["role"], event["observed"].get(FIRST_TRANSFER)))
        elif kind == "overdue":
            if self._causes_so_far is not None:
                self._tell(self._causes_so_far.overdue(self._as_failed(event["keys"], Awaited[event["awaited"]])))
        elif kind == "crash":
            if event["signal"] in ENDING:  # what ends the run reaches the workers too, perhaps first
                raise KeyboardInterrupt
            self._take(Result.of_run(event["key"], self.cases, Verdict.FAIL, event["why"], Cause.CRASH))
        elif kind in ("trace", "broken"):
            self.traces.append(event["what"])
            self._causes.setdefault(event.get("key", ""), event.get("why", ""))

    def _take(self, result: Result) -> None:
        self.add(result.key, result)

    def add(self, key: str, result: Result) -> None:
        """Takes a result in; `key` states which run it belongs to."""
        if self.options.strict:
            result = harden(result)
        self.results.append((key, result))
        if self._causes_so_far is not None:
            self._tell(self._causes_so_far.take(result, time.monotonic() - self._began_s))
        if self.options.verbose:
            print(table.line(result, self._colour), flush=True)
        elif key in self.place:
            self._finished.add(key)
            self.progress.show("cases", len(self._finished), len(self.keys), result.case.replace("_", " "))

    def show(self, stage: str, done: int, of: int) -> None:
        """The progress of a stage after the cases."""
        self.interruption.check()
        self.progress.show(stage, done, of)

    def _tell(self, line: str | None) -> None:
        if line is not None:
            self.progress.clear()
            print(fit_lines(line), file=sys.stderr, flush=True)

    def _as_failed(self, keys: Sequence[str], awaited: Awaited) -> list[Result]:
        """The results that these runs will have if what they wait for does not come."""
        expected, due_by = awaited.value, DUE_BY.get(awaited, "")
        results = [Result.of_run(key, self.cases, Verdict.FAIL, "still waits", Cause.ABSENCE) for key in keys]
        return [dataclasses.replace(result, due_by=due_by, expected=expected) for result in results]

    def ordered(self) -> list[Result]:
        """Results in the order of the plan, whichever worker was faster; runs without any result get an ERROR."""
        seen = {key for key, _ in self.results}
        for key in self.keys:
            if key not in seen and not self.interrupted:
                why = ": ".join(filter(None, ("the case left no result", self._causes.get(key))))
                self.results.append((key, Result.of_run(key, self.cases, Verdict.ERROR, why, Cause.SUITE)))
        return [result for _, result in sorted(self.results, key=lambda pair: self.place.get(pair[0], len(self.place)))]

    def header(self) -> dict[str, Any]:
        plan, share = self.plan, self.options.share
        return {
            "testing": self.testing,
            "suite": f"netblt-conformance {__version__}",
            "link": plan.factory.name,
            **plan.factory.describe(),
            "seed": plan.seed,
            "share": f"{share.number}/{share.of}" if share else "",
            "schedule": {**plan.factory.schedule, "random sweeps": str(getattr(self.options, "sweep_random", 0) or 0)},
            "versions": self.versions,
            "select": self.options.select,
            "roles": ",".join(map(str, plan.roles)),
            "strict": bool(self.options.strict),
            "complete": not self.interrupted,
            "observed": dict(sorted(self.observed.items())),
        }


def _prepare(report: Path, options: argparse.Namespace) -> None:
    """An earlier report's files go, so that what lies there is of this run. Nothing else is changed."""
    try:
        report.mkdir(parents=True, exist_ok=True)
        for option in _FURTHER_FILES:
            if (file := getattr(options, option.removeprefix("--").replace("-", "_"))) is not None:
                try_file(option, str(file))
        if (report / files.JSON_LINES).exists():
            for old in [
                *report.glob("*.pcapng"),
                *report.glob("sweep.*.toml"),
                report / files.JSON_LINES,
                report / files.JUNIT,
                report / render.NAME,
            ]:
                old.unlink(missing_ok=True)
        (report / files.JSON_LINES).touch()
    except OSError as error:
        raise LinkUnavailableError(f"--report {report}: {error.strerror}; choose another folder") from None


def _look_again(plan: Plan, listener: Listener, limit_s: float) -> None:
    """Real time: a failure counts when it happens again with nothing else running."""
    if confirm.is_broken(listener.results, listener.confirmed):
        return
    keys = confirm.doubtful(listener.results, listener.confirmed)
    if not keys:
        return
    listener.progress.say(f"{len(keys)} did not pass; trying them again, few at a time")

    held = listener.interruption.held

    def again(left: set[str], jobs: int) -> list[confirm.Keyed]:
        others = frozenset(set(listener.keys) - left)
        second = Listener(plan, sorted(left), listener.cases, listener.options, live=False)
        Supervisor(plan, min(jobs, plan.factory.jobs or 1, len(left)), limit_s, second, skip=others).run()
        return second.results

    with held():
        listener.results = confirm.set_aside(listener.results, keys, plan.report)
    settled = confirm.look_again(listener.results, keys, again)
    with held():
        listener.results = confirm.judged(listener.results, settled, plan.report)


def _sweep(sweep: SweepPlan, listener: Listener) -> None:
    from netblt_conformance.sweep.stage import Sweep

    def progress(done: int, of: int) -> None:
        listener.show("sweeps: schedules", done, of)

    for result in Sweep(sweep, progress).run():
        listener.add(f"{result.case}[{result.role}]", result)


def _stepped_sweep(steppable: Steppable, plan: Plan, listener: Listener) -> None:
    """Every single fault, for an implementation that is stepped over its link."""
    from netblt_conformance.sweep.stepped import SteppedSweep, picked

    def progress(done: int, of: int) -> None:
        listener.show("sweeps: schedules", done, of)

    transfers = picked(lambda name: plan.selection.picks(Candidate(name, "sweep", ()), {}))
    if not transfers:
        return
    try:
        results = SteppedSweep(steppable.endpoint, plan.seed, plan.report).run(transfers, plan.roles, progress)
    finally:
        steppable.end_endpoint()
    for result in results:
        listener.add(f"{result.case}[{result.role}]", result)


def _second_judge(plan: Plan, listener: Listener) -> None:
    """The dissector looks at every capture; where it contradicts the suite, the suite is in error."""
    from netblt_conformance.judges.second import disagreements

    if listener.options.no_dissector:
        return
    show = functools.partial(listener.show, "dissector: captures")
    look = functools.partial(disagreements, real_time=plan.factory.real_time)
    _judge(
        listener,
        "the dissector check",
        ". Use --no-dissector to skip it",
        lambda results: look(results, plan.report, show),
    )


def _third_judge(plan: Plan, listener: Listener) -> None:
    """The reference core beside the implementation, where times are exact."""
    from netblt_conformance.reference.third import disagreements
    from netblt_conformance.simlib import guided

    if plan.factory.real_time or plan.dialect is not RFC998 or not guided.is_built():
        return
    show = functools.partial(listener.show, "reference core: captures")
    _judge(
        listener, "the check beside the reference core", "", lambda results: disagreements(results, plan.report, show)
    )


def _judge(listener: Listener, name: str, advice: str, disagreements: Callable[[list[Result]], list[Result]]) -> None:
    """Adds what a judge of the captures finds, or that it failed."""
    try:
        found = disagreements([result for _, result in listener.results])
    except JudgeError as error:
        why = f"{name} failed: {error}{advice}"
        found = [Result("judges", [], "all", Verdict.ERROR, why, origin=Origin.JUDGES, cause=Cause.SUITE)]
    for result in found:
        listener.add(f"{result.case}[{result.role}]", result)


def run_plan(plan: Plan, listener: Listener, jobs: int, sweep: SweepPlan | None = None) -> int:
    """Runs everything. Ctrl-C leaves a valid report of what there is."""
    used = "-" in (listener.options.json_lines, listener.options.junit)
    spare = 0 if jobs else plan.factory.spare_jobs
    jobs = min(number_of_jobs(jobs or plan.factory.jobs), len(listener.keys))
    limit_s = plan.case_limit_s
    with listener.interruption:
        began = time.monotonic()
        try:
            _prepare(plan.report, listener.options)
            print(fit(target.line(listener.testing)), file=sys.stderr if used else sys.stdout, flush=True)
            Supervisor(plan, jobs, limit_s, listener, spare=spare).run()
            _later_stages(plan, listener, limit_s, sweep)
            listener.interruption.hold()
        except KeyboardInterrupt:
            listener.interruption.hold()
            listener.interrupted = True
        plan.factory.tidy()
        listener.progress.clear()
        return _finish(plan, listener, time.monotonic() - began)


def _later_stages(plan: Plan, listener: Listener, limit_s: float, sweep: SweepPlan | None) -> None:
    """What follows the first look at every case."""
    if plan.factory.name == "wire":
        _look_again(plan, listener, limit_s)
    _second_judge(plan, listener)
    _third_judge(plan, listener)
    if sweep is not None:
        _sweep(sweep, listener)
    elif isinstance(plan.factory, Steppable) and not listener.options.no_sweep and plan.dialect is RFC998:
        _stepped_sweep(plan.factory, plan, listener)  # sweeps transfer as RFC 998 does
    if plan.factory.adapter is not None:
        everything = not (listener.options.select or listener.options.role or listener.options.share)
        listener.results = known.settle(listener.results, plan.factory.adapter, everything=everything)


def _finish(plan: Plan, listener: Listener, seconds: float) -> int:
    """Writes the report and answers the exit status."""
    found = listener.ordered()
    likely, results = likely_causes(found), alike.merged(found)
    base, delay_us = listener.command, plan.factory.delay_us
    header = {**listener.header(), "causes": [causes.to_json(cause, base) for cause in likely]}
    record = records.of_run(str(plan.report / files.JSON_LINES), header, results)
    since = compare(listener.baseline, record) if listener.baseline is not None else None
    if since is not None:
        header["baseline"] = document(since)
    times = files.Times(seconds, listener.real_s)
    try:
        files.write(plan.report, header, results, times)
    except OSError as error:
        raise LinkUnavailableError(f"--report {plan.report}: {error.strerror}; choose another folder") from None
    render.write(
        plan.report,
        header,
        results,
        likely,
        functools.partial(listener.progress.show, "report: details"),
        base=base,
        dissect=not listener.options.no_dissector,
        everything=listener.options.details == "all",
        delay_ns=None if delay_us is None else delay_us * NANOSECONDS_PER_US,
        enough=lambda: listener.interruption.came and not listener.interrupted,
    )
    listener.progress.clear()
    options = listener.options
    used = deliver(files.json_lines(header, results), options.json_lines)
    used |= deliver(files.junit(header, results, times), options.junit)
    used |= deliver_to_ci(options, record, since)
    _print_report(
        listener,
        results,
        header,
        seconds,
        sys.stderr if used else sys.stdout,
        causes.lines(likely, listener.observed, base),
    )
    if since is not None:
        print(file=sys.stderr if used else sys.stdout)
        show(since, verbose=options.verbose, to_stderr=used)
    sys.stdout.flush()
    return ExitCode.COULD_NOT_RUN if listener.interruption.came else _status(results, since)


def _status(results: list[Result], since: Comparison | None) -> ExitCode:
    """With a baseline only new failures fail the run; the others count as a should that does not hold."""
    if since is None or since.fails:
        return exit_code(results)
    excused = [r.noted(verdict=Verdict.WARN) if r.verdict is Verdict.FAIL else r for r in results]
    return exit_code(excused)


def _print_report(
    listener: Listener, results: list[Result], header: dict[str, Any], seconds: float, out: Any, likely: list[str]
) -> None:
    colour = listener._colour and out is sys.stdout
    everything = not listener.options.quiet and not listener.options.verbose and out is sys.stdout
    rows = table.table(results, colour, everything=everything)
    if likely:
        print(fit_lines("\n".join(likely)), end="\n\n", file=out)
    if rows:
        print("\n".join(rows), file=out)
    if not listener.options.quiet:
        for role, choices in header["observed"].items():
            words = ", ".join(f"{name} {value}" for name, value in choices.items())
            print("\n".join(table.wrapped(fit(f"OBSERVED  {role}: {words or 'nothing'}"))), file=out)
    for trace in listener.traces:
        print(fit_lines(trace), file=sys.stderr)
    if listener.interrupted:
        print("interrupted: the report holds the results so far", file=out)
    elif listener.interruption.came:
        print("interrupted while the report was written: it holds all results", file=out)
    if not listener.options.quiet:
        print("\n".join(table.wrapped(fit(f"made with {versions.words(header['versions'])}"))), file=out)
    place = f" ({header['place']}, {header['encapsulation']})" if "place" in header else ""
    print(
        f"{table.summary(results, colour)} in {seconds:.1f} s; link {header['link']}{place}, seed {header['seed']}",
        file=out,
    )
    print(f"report: {listener.plan.report.resolve()}", file=out)
