# SPDX-License-Identifier: GPL-2.0-or-later
"""The command bakeoff."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from netblt_conformance.bakeoff.model import PATHS, TRANSFER, Completion, NetworkPath, Outcome, meetings
from netblt_conformance.common.arguments import at_least_one, not_negative, number_of_jobs
from netblt_conformance.common.destinations import output_file_or_stdout, output_folder
from netblt_conformance.common.errors import LinkUnavailableError
from netblt_conformance.common.model import Encapsulation
from netblt_conformance.common.verdicts import ExitCode

if TYPE_CHECKING:
    from netblt_conformance.report.progress import Progress

DEFAULT_SEED = 1
DEFAULT_OUTPUT = "netblt-bakeoff"
JSON_NAME, PAGE_NAME = "bakeoff.json", "bakeoff.html"
# Meetings mostly wait for paths and timers.
JOBS_FOR_EACH_PROCESSOR = 3


def _names(text: str, known: Sequence[str], what: str) -> list[str]:
    names = [name.strip() for name in text.split(",") if name.strip()]
    for name in names:
        if name not in known:
            raise argparse.ArgumentTypeError(f"{name!r} is no {what}; known are {', '.join(known)}")
    if not names:
        raise argparse.ArgumentTypeError(f"name at least one {what}: {', '.join(known)}")
    return list(dict.fromkeys(names))


def _paths(text: str) -> list[NetworkPath]:
    return [PATHS[name] for name in _names(text, list(PATHS), "path")]


def _ways(text: str) -> list[Encapsulation]:
    aliases = {"raw": Encapsulation.IP, "udp": Encapsulation.UDP}
    return [aliases[name] for name in _names(text, list(aliases), "encapsulation")]


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("adapter", nargs="*", type=Path, metavar="ADAPTER", help="TOML file of an implementation")
    parser.add_argument(
        "--variants",
        nargs="*",
        metavar="NAME",
        help="instead: legal variants of the reference in virtual time, all of them, one against all, or these "
        "against each other",
    )
    parser.add_argument(
        "--faults",
        type=not_negative,
        metavar="N",
        help="with --variants: so many of the single faults for each pair, chosen by the seed (default: all)",
    )
    parser.add_argument("--no-dissector", action="store_true", help="with --variants: skip the dissector check")
    parser.add_argument(
        "--paths",
        type=_paths,
        metavar="LIST",
        help=f"networks between both ends (default: {','.join(PATHS)})",
    )
    parser.add_argument(
        "--encapsulation",
        type=_ways,
        metavar="LIST",
        help="what carries the packets (default: raw,udp)",
    )
    parser.add_argument("--seed", type=int, default=DEFAULT_SEED, help="of the flakeways and data (default: 1)")
    parser.add_argument(
        "-j", "--jobs", type=at_least_one, default=0, metavar="N", help="meetings at a time (default: by processors)"
    )
    parser.add_argument(
        "--output",
        type=output_folder("--output"),
        default=DEFAULT_OUTPUT,
        metavar="DIR",
        help="where the page and the captures go (default: %(default)s)",
    )
    parser.add_argument(
        "--json",
        type=output_file_or_stdout("--json"),
        metavar="FILE",
        help=f"the results to FILE, - is stdout (default: DIR/{JSON_NAME}; with --variants none)",
    )
    parser.add_argument(
        "--details",
        choices=("failures", "all"),
        help="whose packets the page shows: of meetings that do not hold (default), or of all",
    )
    parser.add_argument("-q", "--quiet", action="store_true", help="only the summary")


def exit_code(outcomes: Sequence[Outcome]) -> ExitCode:
    """1: a supported meeting was not completed, or an implementation violates RFC 998. 2: something could not be played
    or judged, or nothing was. Else 0."""
    seen = {outcome.completion for outcome in outcomes}
    if Completion.FAILED in seen or any(outcome.proven for outcome in outcomes):
        return ExitCode.FAILED
    return ExitCode.COULD_NOT_RUN if Completion.ERROR in seen or Completion.COMPLETED not in seen else ExitCode.HOLDS


def command_bakeoff(options: argparse.Namespace) -> int:
    if options.variants is not None:
        return _variants(options)
    if not options.adapter:
        options.parser.error("name the adapter of each implementation, or give --variants")
    if options.faults is not None or options.no_dissector:
        options.parser.error("--faults and --no-dissector need --variants")
    return _on_links(options)


def _variants(options: argparse.Namespace) -> int:
    from netblt_conformance.bakeoff import variants

    if options.adapter:
        options.parser.error("--variants takes no adapter")
    for name in ("paths", "encapsulation", "details"):
        if getattr(options, name) is not None:
            options.parser.error(f"--{name} does not go with --variants, whose pairs meet in virtual time")
    return variants.command(
        variants.Wanted(
            options.variants,
            options.faults,
            options.seed,
            options.jobs,
            not options.no_dissector,
            options.output,
            options.json,
            options.quiet,
        )
    )


def _on_links(options: argparse.Namespace) -> int:
    from netblt_conformance.bakeoff import contestants, differences, document, page, runner, scorecard, text
    from netblt_conformance.judges.tshark import Tshark
    from netblt_conformance.report.deliver import deliver
    from netblt_conformance.report.progress import Progress

    read = contestants.read(options.adapter)
    runner.check()
    implementations = [one.implementation for one in read]
    folder = _prepared(options.output)
    on = options.paths or list(PATHS.values()), options.encapsulation or [Encapsulation.IP, Encapsulation.UDP]
    wanted = meetings(implementations, *on, options.seed)
    counting = _Counting(Progress(wanted=not options.quiet), len(wanted))
    with Tshark() as tshark:
        playing = runner.Runner({one.implementation: one for one in read}, TRANSFER, folder, tshark)
        jobs = options.jobs or JOBS_FOR_EACH_PROCESSOR * number_of_jobs()
        complete = True
        try:
            playing.run(wanted, jobs, counting.count)
        except KeyboardInterrupt:
            complete = False
        finally:
            counting.clear()
    outcomes = [playing.found[meeting] for meeting in wanted if meeting in playing.found]
    cards = scorecard.cards(implementations, outcomes)
    status = exit_code(outcomes) if complete else ExitCode.COULD_NOT_RUN
    differ = differences.differences(outcomes, folder)
    found = document.document(
        read, outcomes, cards, TRANSFER, differ, seed=options.seed, status=status, complete=complete
    )
    where = options.json or str(folder / JSON_NAME)
    shown = deliver(json.dumps(found, indent=2, ensure_ascii=False) + "\n", where)
    page.write(
        folder / PAGE_NAME,
        read,
        outcomes,
        cards,
        differ,
        seed=options.seed,
        status=status,
        everything=options.details == "all",
    )
    words = text.summary(outcomes) if options.quiet else text.report(implementations, outcomes, cards, differ)
    print(words.rstrip("\n"), file=sys.stderr if shown else sys.stdout)
    if not complete:
        print(f"interrupted: {len(outcomes)} of {len(wanted)} meetings were played", file=sys.stderr)
    print(f"page: {folder / PAGE_NAME}", file=sys.stderr if shown else sys.stdout)
    return status


def _prepared(folder: Path) -> Path:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise LinkUnavailableError(f"--output {folder}: {error.strerror}") from None
    return folder


class _Counting:
    """Counts the meetings while they are played."""

    def __init__(self, progress: Progress, of: int) -> None:
        self._progress = progress
        self._of = of
        self._done = self._bad = 0

    def count(self, outcome: Outcome) -> None:
        self._done += 1
        self._bad += not outcome.holds and outcome.completion is not Completion.UNSUPPORTED
        self._progress.show("meetings", self._done, self._of, f"{self._bad} do not hold" if self._bad else "")

    def clear(self) -> None:
        self._progress.clear()
