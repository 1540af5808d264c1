# SPDX-License-Identifier: GPL-2.0-or-later
"""The command netblt-conformance. Exit status: 0 all hold, 1 something failed, 2 could not run."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from netblt_plan import cli as plan

from netblt_conformance import __version__
from netblt_conformance.adapter.adapter import AdapterError
from netblt_conformance.catalogue.catalogue import CatalogueError
from netblt_conformance.check import command as check
from netblt_conformance.commands import commands
from netblt_conformance.common.errors import HarnessError, JudgeError, LinkUnavailableError
from netblt_conformance.common.model import ROLES_BY_NAME
from netblt_conformance.common.verdicts import ExitCode
from netblt_conformance.common.words import fit, fit_lines
from netblt_conformance.doctor import command as doctor
from netblt_conformance.mutants.mutants import MutantError
from netblt_conformance.packets.dialect import BY_NAME, RFC998
from netblt_conformance.run.selection import SelectionError, Share
from netblt_conformance.run.target import DEFAULT_SEED, LINKS
from netblt_conformance.sweep.schedule_file import ScheduleFileError
from netblt_conformance.watch import command as watch

DEFAULT_REPORT = Path("netblt-report")
EXPERIMENT = "experiment"


class _JoinedTerms(argparse.Action):
    """Given several times, an option's terms add up: none of them is lost."""

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any, option: str | None = None
    ) -> None:
        del parser, option
        before = getattr(namespace, self.dest)
        setattr(namespace, self.dest, f"{before},{values}" if before else values)


def _at_least_one(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number from 1")
    return int(text)


def _share(text: str) -> Share:
    try:
        return Share.parse(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r}: give K/N with 1 <= K <= N, such as 1/3") from None


def _select_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--select",
        action=_JoinedTerms,
        default="",
        metavar="EXPR",
        help="IDs (CTRL-04), areas (CTRL), patterns (CTRL-0?), strengths (must), parts of names; !TERM excludes",
    )
    parser.add_argument(
        "--role",
        action="append",
        choices=sorted(ROLES_BY_NAME),
        metavar="ROLE",
        help="role of the implementation under test, may be given several times (default: all): "
        + ", ".join(sorted(ROLES_BY_NAME)),
    )


def _profile_option(parser: argparse.ArgumentParser, what: str) -> None:
    names = "; ".join(f"{dialect.name}: {dialect.title}" for dialect in BY_NAME.values())
    parser.add_argument(
        "--profile", choices=sorted(BY_NAME), default=RFC998.name, help=f"{what} (default: %(default)s). {names}"
    )


def _run_parser(parser: argparse.ArgumentParser) -> None:
    _select_options(parser)
    _profile_option(parser, "the dialect of the tester: only cases of requirements that hold in it run")
    parser.add_argument(
        "--link",
        choices=LINKS,
        help="how the implementation is reached (default: what the adapter describes; sim, in this process and in "
        "virtual time, without an adapter)",
    )
    parser.add_argument("--adapter", type=Path, metavar="FILE", help="TOML file that describes the implementation")
    parser.add_argument("--iut-library", type=Path, metavar="SO", help="sim: another library with netblt_iut.h's ABI")
    parser.add_argument("--seed", type=int, default=DEFAULT_SEED, help=f"of all randomness (default: {DEFAULT_SEED})")
    parser.add_argument("--report", type=Path, default=DEFAULT_REPORT, metavar="DIR", help="default: %(default)s")
    parser.add_argument("--jobs", type=_at_least_one, default=0, metavar="N", help="cases at a time (default: by link)")
    parser.add_argument(
        "--share",
        type=_share,
        metavar="K/N",
        help="one part of N, some of every requirement's runs; the N parts together are everything",
    )
    parser.add_argument(
        "--no-dissector", action="store_true", help="skip the dissector check (tshark and the Wireshark plugin)"
    )
    parser.add_argument("--no-sweep", action="store_true", help="sim: leave out the sweeps over all pairs of faults")
    parser.add_argument(
        "--sweep-random",
        type=int,
        default=0,
        metavar="N",
        help="sim: so many random schedules more for each transfer and role of a sweep",
    )
    parser.add_argument("--delay-ms", type=float, metavar="MS", help="sim and pipe: one-way delay (default: 1)")
    parser.add_argument("--trace", type=Path, metavar="FILE", help="pipe: append every frame to FILE, as text")
    for name, what in (("--json-lines", "results as JSON lines"), ("--junit", "results as JUnit XML")):
        text = f"{what} also to FILE (default: standard output, instead of the table)"
        parser.add_argument(name, nargs="?", const="-", metavar="FILE", help=text)
    parser.add_argument("--strict", action="store_true", help="a should that does not hold fails (WARN becomes FAIL)")
    volume = parser.add_mutually_exclusive_group()
    volume.add_argument("-v", "--verbose", action="store_true", help="every case as it ends")
    volume.add_argument("-q", "--quiet", action="store_true", help="only what is not a pass, and the summary")


def build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="netblt-conformance",
        description="Tests any NETBLT (RFC 998) implementation and reports the result of each requirement.",
    )
    parser.add_argument("--version", action="version", version=f"netblt-conformance {__version__}")
    commands_parser = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    _run_parser(commands_parser.add_parser("run", help="run cases against an implementation"))
    doctor.add_options(commands_parser.add_parser("doctor", help="try one transfer in each role and show all of it"))
    check.add_options(commands_parser.add_parser("check", help="check captures, without an implementation"))
    watch.add_options(commands_parser.add_parser("watch", help="check live traffic"))
    listing = commands_parser.add_parser("list", help="list the cases and their requirements")
    _select_options(listing)
    _profile_option(listing, "the cases of a run in this dialect")
    listing.add_argument("--list-untested", action="store_true", help="requirements that no case tests, and why")
    coverage = commands_parser.add_parser("coverage", help="how each requirement is tested; what is missing")
    coverage.add_argument("--json", action="store_true", help="one JSON document instead of the table")
    explain = commands_parser.add_parser("explain", help="show a requirement and how it is tested")
    explain.add_argument("id", metavar="ID")
    for name, purpose in (
        ("replay", "run schedules of faults again (files that a sweep wrote)"),
        ("shrink", "find the fewest rules of a failing schedule that still fail"),
    ):
        schedules = commands_parser.add_parser(name, help=purpose)
        schedules.add_argument("file", nargs="+" if name == "replay" else None, type=Path, metavar="FILE")
        schedules.add_argument("--iut-library", type=Path, metavar="SO", help="another library than the reference")
        last = "DIR" if name == "replay" else "FILE"
        text = "write a capture of each there" if name == "replay" else "write the schedule there (default: print it)"
        schedules.add_argument("--output", type=Path, metavar=last, help=text)
    commands_parser.add_parser(EXPERIMENT, help="old name of netblt-plan list, run, fit and compare")
    mutants = commands_parser.add_parser("mutants", help="prove that wrong implementations are caught")
    mutants.add_argument("name", nargs="*", metavar="NAME", help="only these mutants (default: all)")
    mutants.add_argument("--core", type=Path, metavar="DIR", help="core sources (default: reference_impl/core)")
    _profile_option(mutants, "the mutants of the core edited to this dialect")
    what = mutants.add_mutually_exclusive_group()
    what.add_argument(
        "--matrix", type=Path, metavar="FILE", help="run every case on every mutant; write which case kills which"
    )
    what.add_argument("--variants", action="store_true", help="prove that legal choices are accepted")
    what.add_argument(
        "--diagnosis",
        action="store_true",
        help="run every case on every mutant; compare likely causes and planted ones",
    )
    mutants.add_argument(
        "--results", type=Path, metavar="FILE", help="with --diagnosis: write the results of each mutant, as JSON lines"
    )
    mutants.add_argument(
        "--jobs", type=_at_least_one, default=0, metavar="N", help="mutants at a time (default: processors)"
    )
    mutants.add_argument("-v", "--verbose", action="store_true", help="show the reason of each kill")
    for subparser in commands_parser.choices.values():
        subparser.set_defaults(parser=subparser)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    words = list(sys.argv[1:] if arguments is None else arguments)
    if words[:1] == [EXPERIMENT]:
        return plan.main(plan.renamed(words[1:]))
    parser = build_parser()
    options, unknown = parser.parse_known_args(words)
    if unknown:  # with the usage of the command that was given, not of all
        options.parser.error(f"unrecognized arguments: {' '.join(unknown)}")
    try:
        return int(getattr(commands, f"command_{options.command}")(options))
    except (
        AdapterError,
        LinkUnavailableError,
        SelectionError,
        MutantError,
        HarnessError,
        JudgeError,
        ScheduleFileError,
    ) as error:
        print(fit_lines(f"error: {error}"), file=sys.stderr)
    except CatalogueError as error:
        for mistake in error.mistakes:
            print(fit(f"error: catalogue: {mistake}"), file=sys.stderr)
    except BrokenPipeError:
        sys.stderr.close()
    return ExitCode.COULD_NOT_RUN


if __name__ == "__main__":
    sys.exit(main())
