# SPDX-License-Identifier: GPL-2.0-or-later
"""The command campaign: run, resume, status, estimate, extract, kinds. docs/campaigns.md."""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from netblt_conformance.common.arguments import at_least_one, number_of_jobs
from netblt_conformance.common.errors import LinkUnavailableError
from netblt_conformance.common.verdicts import ExitCode
from netblt_conformance.common.words import fit

DEFAULT_OUTPUT = Path("netblt-campaign")
DEFAULT_SAMPLE_S = 10.0
_FAILURES_SHOWN = 10


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is no number of seconds above 0")
    return value


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "action",
        choices=tuple(ACTIONS),
        help="run FILE: run a campaign, or what is left of it; resume DIR: go on; status DIR: what has ended; "
        "estimate FILE: what it costs; extract DIR: write the file that runs a unit again; kinds: list the kinds",
    )
    parser.add_argument("path", nargs="?", type=Path, metavar="FILE|DIR", help="campaign file, or folder of results")
    parser.add_argument(
        "--output",
        type=Path,
        metavar="DIR|FILE",
        help=f"run: folder of the results (default: {DEFAULT_OUTPUT}/NAME); extract: the file to write (default: "
        "standard output)",
    )
    parser.add_argument(
        "--workers", type=at_least_one, metavar="N", help="run, resume: local worker processes (default: processors)"
    )
    parser.add_argument(
        "--scheduler", metavar="ADDRESS", help="run, resume: Dask scheduler of a cluster, such as tls://HOST:8786"
    )
    for name, about in (("ca", "authority"), ("cert", "certificate"), ("key", "key")):
        parser.add_argument(f"--tls-{name}", type=Path, metavar="FILE", help=f"{about} for a tls:// scheduler (PEM)")
    parser.add_argument("--quiet", action="store_true", help="run, resume: no progress")
    parser.add_argument("--machines", type=at_least_one, default=1, metavar="N", help="estimate: number of machines")
    parser.add_argument(
        "--cores", type=at_least_one, metavar="N", help="estimate: cores of each (default: as this machine)"
    )
    parser.add_argument(
        "--sample",
        type=_seconds,
        default=DEFAULT_SAMPLE_S,
        metavar="S",
        help="estimate: measure for so many seconds (default: %(default)g)",
    )
    parser.add_argument("--unit", type=int, metavar="N", help="extract: number of the unit")


def command_campaign(options: argparse.Namespace) -> int:
    """run and resume: 0 no unit failed, 1 one did, 2 not complete, or the suite itself failed."""
    if options.path is None and options.action != "kinds":
        raise LinkUnavailableError(f"campaign {options.action}: name a file or folder")
    return ACTIONS[options.action](options)


# ---- run, resume ----


def _run(options: argparse.Namespace) -> int:
    from netblt_conformance.campaign import description, prepared
    from netblt_conformance.campaign.folder import Folder

    wanted = description.read(options.path)
    folder = Folder(options.output or DEFAULT_OUTPUT / options.path.stem)
    state, subject = prepared.prepare(wanted, str(options.path))
    if folder.exists:
        prepared.check_same(folder, state)
    else:
        folder.create(state, subject)
    return _go_on(folder, options)


def _resume(options: argparse.Namespace) -> int:
    from netblt_conformance.campaign import prepared
    from netblt_conformance.campaign.folder import Folder

    folder = Folder(options.path)
    prepared.check_project(folder)
    return _go_on(folder, options)


def _go_on(folder: Any, options: argparse.Namespace) -> int:
    from netblt_conformance.campaign.cluster import Where, connected
    from netblt_conformance.campaign.kind import class_of
    from netblt_conformance.campaign.run import Run
    from netblt_conformance.report.progress import Progress

    state = folder.state()
    if options.scheduler and options.workers:
        raise LinkUnavailableError("--workers starts local processes, --scheduler names a cluster: give one of them")
    where = Where(number_of_jobs(options.workers), options.scheduler or "", _tls(options))
    bar, unit = Progress(wanted=not options.quiet), class_of(state.description.kind).unit

    def show(progress: Any) -> None:
        note = f"{progress.workers} workers" + (f", {len(progress.given_up)} given up" if progress.given_up else "")
        bar.show(f"{unit}s", progress.done, progress.units, note)

    with folder.locked(), _interrupted(folder, bar.clear):
        if len(folder.finished()) == state.blocks:
            return _report(folder, {})
        bar.say("starting workers" if where.local else f"connecting to {where.scheduler}")
        with connected(where) as client:
            progress = Run(folder, state, where, client, show).run()
        bar.clear()
        return _report(folder, progress.given_up)


def _tls(options: argparse.Namespace) -> Any:
    from netblt_conformance.campaign.cluster import Tls

    given = [options.tls_ca, options.tls_cert, options.tls_key]
    if not any(given):
        return None
    if not all(given):
        raise LinkUnavailableError("--tls-ca, --tls-cert and --tls-key belong together: give all three")
    return Tls(*given)


class _EndError(Exception):
    """Ctrl-C or SIGTERM."""


@contextmanager
def _interrupted(folder: Any, clear: Callable[[], None]) -> Iterator[None]:
    """Ctrl-C and SIGTERM end the command; a second one changes nothing while workers end."""

    def end(number: int, _frame: Any) -> None:
        for one in (signal.SIGINT, signal.SIGTERM):
            signal.signal(one, signal.SIG_IGN)
        raise _EndError(signal.Signals(number).name)

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, end)
    try:
        yield
    except _EndError:
        state = folder.state()
        done = sum(len(state.range_of(block)) for block in folder.finished())
        raise LinkUnavailableError(
            f"interrupted: {done} of {state.units} units have ended; netblt-conformance campaign resume {folder.path}"
        ) from None
    finally:
        clear()


def _report(folder: Any, given_up: dict[int, str]) -> int:
    """The summary, the first failures, and the exit status."""
    from netblt_conformance.campaign.query_command import table
    from netblt_conformance.campaign.questions import Results

    state = folder.state()
    for block, why in sorted(given_up.items())[:_FAILURES_SHOWN]:
        units = state.range_of(block)
        print(fit(f"ERROR  block {block} (units {units.start} to {units.stop - 1}) did not end: {why}"))
    if not folder.finished():
        return ExitCode.COULD_NOT_RUN
    results = Results(folder)
    print("\n".join(table(results.ask("summary"))))
    reasons = results.ask(f"select * from ({results.questions()['reasons'].sql}) limit {_FAILURES_SHOWN}")
    if reasons.rows:
        print("\n".join(["", *table(reasons)]))
    verdicts = results.verdicts()
    total = sum(verdicts.values())
    failed, seed = verdicts.get("FAIL", 0), state.description.seed
    print(f"{total} of {state.units} units, {failed} failed, seed {seed}: {folder.path}")
    if failed:
        return ExitCode.FAILED
    return ExitCode.HOLDS if total == state.units and not verdicts.get("ERROR") else ExitCode.COULD_NOT_RUN


# ---- the others ----


def _status(options: argparse.Namespace) -> int:
    from netblt_conformance.campaign.folder import Folder

    folder = Folder(options.path)
    state, finished = folder.state(), folder.finished()
    done = sum(len(state.range_of(block)) for block in finished)
    kind, seed = state.description.kind, state.description.seed
    print(f"{kind}, seed {seed}: {done} of {state.units} units, {len(finished)} of {state.blocks} blocks")
    return ExitCode.HOLDS if done == state.units else ExitCode.FAILED


def _estimate(options: argparse.Namespace) -> int:
    from netblt_conformance.campaign import description, estimate, prepared
    from netblt_conformance.campaign.folder import Folder
    from netblt_conformance.campaign.kind import class_of
    from netblt_conformance.report.progress import Progress

    if options.path.is_dir():
        state = Folder(options.path).state()
        measured = estimate.of_folder(Folder(options.path))
    else:
        wanted = description.read(options.path)
        state, subject = prepared.prepare(wanted, str(options.path))
        bar = Progress(wanted=True)
        bar.say("measuring")
        measured = estimate.sample(
            prepared.package(state, subject), state, subject, options.sample, lambda _units: None
        )
        bar.clear()
    unit = class_of(state.description.kind).unit
    print("\n".join(estimate.lines(state, unit, measured, options.machines, number_of_jobs(options.cores))))
    return ExitCode.HOLDS


def _extract(options: argparse.Namespace) -> int:
    """Writes to standard output, or to --output."""
    from netblt_conformance.campaign.folder import Folder
    from netblt_conformance.campaign.questions import Results

    if options.unit is None:
        raise LinkUnavailableError("campaign extract: give --unit N")
    found = Results(Folder(options.path)).ask("select detail, verdict from units where unit = ?", [options.unit]).rows
    if not found:
        raise LinkUnavailableError(f"{options.path}: unit {options.unit} has no result")
    detail, verdict = found[0]
    if not detail:
        raise LinkUnavailableError(f"{options.path}: unit {options.unit} ({verdict}) has no file: only failures have")
    if options.output is None:
        sys.stdout.write(detail)
    else:
        options.output.write_text(detail, encoding="utf-8")
    return ExitCode.HOLDS


def _kinds(options: argparse.Namespace) -> int:
    from netblt_conformance.campaign.kind import KINDS, class_of
    from netblt_conformance.common import tables
    from netblt_conformance.common.tables import Column

    del options
    rows = []
    for name in KINDS:
        cls = class_of(name)
        rows.append((name, cls.unit, cls.about, ", ".join(cls.Parameters.model_fields) or "-"))
    heads = (Column("KIND"), Column("UNIT"), Column("ABOUT", wide=True), Column("PARAMETERS", wide=True))
    print("\n".join(tables.lines(heads, rows)))
    return ExitCode.HOLDS


ACTIONS: dict[str, Callable[[argparse.Namespace], int]] = {
    "run": _run,
    "resume": _resume,
    "status": _status,
    "estimate": _estimate,
    "extract": _extract,
    "kinds": _kinds,
}
