# SPDX-License-Identifier: GPL-2.0-or-later
"""One run from start to report: listens to the workers, prints, writes the files, answers the exit status."""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path
from typing import Any

from netblt_conformance import __version__, confirm
from netblt_conformance.engine import Plan
from netblt_conformance.links.base import LinkUnavailableError
from netblt_conformance.report import files, table
from netblt_conformance.verdicts import ExitCode, Result, Verdict, exit_code
from netblt_conformance.worker import Supervisor

# Real time after which a case counts as hung. Virtual cases take milliseconds; real ones wait for real timers.
VIRTUAL_CASE_LIMIT_S = 60.0
WIRE_CASE_LIMIT_S = 300.0
# Wire cases mostly wait, so many of them fit on few processors.
WIRE_JOBS = 16


class Listener:
    """Collects the events of a run."""

    def __init__(
        self, plan: Plan, keys: list[str], cases: dict[str, tuple[str, ...]], options: argparse.Namespace
    ) -> None:
        self.plan = plan
        self.keys = keys
        self.cases = cases
        self.options = options
        self.results: list[tuple[str, Result]] = []
        self.observed: dict[str, dict[str, str]] = {}
        self.traces: list[str] = []
        self.interrupted = False
        self._running: dict[str, None] = {}
        self._current = ""
        self._colour = sys.stdout.isatty() and "NO_COLOR" not in os.environ
        self._live = sys.stderr.isatty() and not options.quiet and not options.verbose

    def __call__(self, event: dict[str, Any]) -> None:
        kind = event["event"]
        if kind == "start":
            self._running[event["key"]] = None
        elif kind == "result":
            self._take(Result.from_json(event["result"]))
        elif kind == "observed":
            self.observed[event["role"]] = event["observed"]
        elif kind == "crash":
            self._crashed(event["key"], event["why"])
        elif kind in ("trace", "broken"):
            self.traces.append(event["what"])

    def _take(self, result: Result) -> None:
        arm = "" if result.arm == "stimulus" else f"-{result.arm}"
        key = f"{result.case.removeprefix('monitor in ')}[{result.role}{arm}]"
        self.results.append((key, result))
        self._progress(result)

    def _crashed(self, key: str, why: str) -> None:
        name, _, rest = key.rstrip("]").partition("[")
        role, arm = (rest.removesuffix("-control"), "control") if rest.endswith("-control") else (rest, "stimulus")
        requirements = list(self.cases[name.partition(": ")[0]][1:])
        self._take(Result(name, requirements, role, Verdict.FAIL, why, arm))

    def _progress(self, result: Result) -> None:
        if self.options.verbose:
            print(table.line(result, (0, 0, 0), self._colour), flush=True)
        elif self._live:
            done = len({key for key, _ in self.results})
            print(f"\r\033[K{done}/{len(self.keys)} {result.case.replace('_', ' ')}"[:110], end="", file=sys.stderr)

    def ordered(self) -> list[Result]:
        """Results in the order of the plan, whichever worker was faster; runs without any result get an ERROR."""
        place = {key: number for number, key in enumerate(self.keys)}
        seen = {key for key, _ in self.results}
        for key in self.keys:
            if key not in seen and not self.interrupted:
                name, _, rest = key.rstrip("]").partition("[")
                why = "the case left no result"
                self.results.append(
                    (key, Result(name, list(self.cases[name.partition(": ")[0]][1:]), rest, Verdict.ERROR, why))
                )
        return [result for _, result in sorted(self.results, key=lambda pair: place.get(pair[0], len(place)))]

    def header(self) -> dict[str, Any]:
        plan = self.plan
        return {
            "suite": f"netblt-conformance {__version__}",
            "link": plan.factory.name,
            **plan.factory.describe(),
            "seed": plan.seed,
            "select": self.options.select,
            "observed": dict(sorted(self.observed.items())),
        }


def _prepare(report: Path) -> None:
    """An earlier report's files go, so that what lies there is of this run. Nothing else is touched."""
    try:
        report.mkdir(parents=True, exist_ok=True)
        if (report / files.JSON_LINES).exists():
            for old in [*report.glob("*.pcapng"), report / files.JSON_LINES, report / files.JUNIT]:
                old.unlink(missing_ok=True)
        (report / files.JSON_LINES).touch()
    except OSError as error:
        raise LinkUnavailableError(f"--report {report}: {error.strerror}; choose another folder") from None


def _deliver(text: str, where: str | None) -> bool:
    """Writes to a file or to standard output; True when standard output was used."""
    if where is None:
        return False
    if where == "-":
        sys.stdout.write(text)
        return True
    try:
        Path(where).write_text(text, encoding="utf-8")
    except OSError as error:
        raise LinkUnavailableError(f"{where}: {error.strerror}") from None
    return False


def _look_again(plan: Plan, listener: Listener, limit_s: float) -> None:
    """Real time: a failure counts when it happens again with nothing else running."""
    keys = confirm.doubtful(listener.results)
    if not keys:
        return
    if listener._live:
        print(f"\r\033[K{len(keys)} failed; trying them again, one at a time", end="", file=sys.stderr)
    confirm.keep_captures(listener.results, keys, plan.report)
    others = frozenset(set(listener.keys) - keys)
    second = Listener(plan, sorted(keys), listener.cases, listener.options)
    Supervisor(plan, 1, limit_s, second, skip=others).run()
    listener.results = confirm.settle(listener.results, second.results, keys)


def run_plan(plan: Plan, listener: Listener, jobs: int) -> int:
    """Runs everything. Ctrl-C leaves a valid report of what there is."""
    _prepare(plan.report)
    wire = plan.factory.name == "wire"
    jobs = min(jobs or (WIRE_JOBS if wire else 1), len(listener.keys))
    limit_s = WIRE_CASE_LIMIT_S if wire else VIRTUAL_CASE_LIMIT_S
    began = time.monotonic()
    try:
        Supervisor(plan, jobs, limit_s, listener).run()
        if wire:
            _look_again(plan, listener, limit_s)
    except KeyboardInterrupt:
        listener.interrupted = True
    if listener._live:
        print("\r\033[K", end="", file=sys.stderr)
    results, header = listener.ordered(), listener.header()
    files.write(plan.report, header, results)
    options = listener.options
    used = _deliver(files.json_lines(header, results), options.json_lines)
    used |= _deliver(files.junit(header, results), options.junit)
    _print_report(listener, results, header, time.monotonic() - began, sys.stderr if used else sys.stdout)
    return ExitCode.COULD_NOT_RUN if listener.interrupted else exit_code(results)


def _print_report(listener: Listener, results: list[Result], header: dict[str, Any], seconds: float, out: Any) -> None:
    colour = listener._colour and out is sys.stdout
    everything = not listener.options.quiet and not listener.options.verbose and out is sys.stdout
    rows = table.table(results, colour, everything=everything)
    if rows:
        print("\n".join(rows), file=out)
    if not listener.options.quiet:
        for role, choices in header["observed"].items():
            words = ", ".join(f"{name} {value}" for name, value in choices.items())
            print(f"OBSERVED  {role}: {words or 'nothing'}", file=out)
    for trace in listener.traces:
        print(trace, file=sys.stderr)
    if listener.interrupted:
        print("interrupted: the report holds the results so far", file=out)
    print(
        f"{table.summary(results, colour)} in {seconds:.1f} s; link {header['link']}, seed {header['seed']}", file=out
    )
    print(f"report: {listener.plan.report.resolve()}", file=out)
