# SPDX-License-Identifier: GPL-2.0-or-later
"""The options of the commands that work on the suite itself: run, list, coverage, explain, replay, shrink, mutants."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from netblt_conformance.baseline.command import add_ci_options
from netblt_conformance.common.arguments import DELAY_MAX_MS, add_role_option, at_least_one, delay_ms, not_negative
from netblt_conformance.common.destinations import output_file, output_folder
from netblt_conformance.packets.dialect import BY_NAME, RFC998
from netblt_conformance.run.selection import Share
from netblt_conformance.run.target import DEFAULT_SEED, LINKS

DEFAULT_REPORT = "netblt-report"


class _JoinedTerms(argparse.Action):
    """Given several times, an option's terms add up: none of them is lost."""

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any, option: str | None = None
    ) -> None:
        del parser, option
        before = getattr(namespace, self.dest)
        setattr(namespace, self.dest, f"{before},{values}" if before else values)


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
    add_role_option(parser, "the implementation under test")


def _profile_option(parser: argparse.ArgumentParser, what: str) -> None:
    names = "; ".join(f"{dialect.name}: {dialect.title}" for dialect in BY_NAME.values())
    parser.add_argument(
        "--profile", choices=sorted(BY_NAME), default=RFC998.name, help=f"{what} (default: %(default)s). {names}"
    )


def run_options(parser: argparse.ArgumentParser) -> None:
    _select_options(parser)
    parser.add_argument(
        "--script",
        nargs="+",
        type=Path,
        default=[],
        metavar="FILE",
        help="run these scripts, which generate wrote, as cases: alone, or with the cases that --select picks",
    )
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
    parser.add_argument(
        "--report", type=output_folder("--report"), default=DEFAULT_REPORT, metavar="DIR", help="default: %(default)s"
    )
    parser.add_argument(
        "--details",
        choices=("failures", "all"),
        default="failures",
        help="results whose packets report.html shows: those that did not pass (default), or all",
    )
    parser.add_argument(
        "-j", "--jobs", type=at_least_one, default=0, metavar="N", help="cases at a time (default: by link)"
    )
    parser.add_argument(
        "--share",
        type=_share,
        metavar="K/N",
        help="one part of N, some of every requirement's runs; the N parts together are everything",
    )
    parser.add_argument(
        "--no-dissector", action="store_true", help="skip the dissector check (tshark and the Wireshark plugin)"
    )
    parser.add_argument("--no-sweep", action="store_true", help="leave out the sweeps over faults")
    parser.add_argument(
        "--sweep-random",
        type=not_negative,
        default=0,
        metavar="N",
        help="sim: so many random schedules more for each transfer and role of a sweep",
    )
    parser.add_argument(
        "--long", action="store_true", help="also the cases that take more than a minute each (otherwise N/A)"
    )
    parser.add_argument(
        "--delay-ms",
        type=delay_ms,
        metavar="MS",
        help=f"sim and pipe: one-way delay, at most {DELAY_MAX_MS} (default: 1)",
    )
    parser.add_argument("--trace", type=Path, metavar="FILE", help="pipe: append every frame to FILE, as text")
    for name, what in (("--json-lines", "results as JSON lines"), ("--junit", "results as JUnit XML")):
        text = f"{what} also to FILE (default: standard output, instead of the table)"
        parser.add_argument(name, nargs="?", const="-", metavar="FILE", help=text)
    parser.add_argument("--strict", action="store_true", help="a should that does not hold fails (WARN becomes FAIL)")
    parser.add_argument(
        "--baseline",
        type=Path,
        metavar="RESULTS",
        help="an earlier results.jsonl, or report folder: only what fails now and did not fail there fails the run",
    )
    add_ci_options(parser)
    volume = parser.add_mutually_exclusive_group()
    volume.add_argument("-v", "--verbose", action="store_true", help="every case as it ends")
    volume.add_argument("-q", "--quiet", action="store_true", help="only what is not a pass, and the summary")


def list_options(parser: argparse.ArgumentParser) -> None:
    _select_options(parser)
    _profile_option(parser, "the cases of a run in this dialect")
    parser.add_argument("--list-untested", action="store_true", help="requirements that no case tests, and why")


def coverage_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="one JSON document instead of the table")


def explain_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", metavar="ID")


def replay_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", nargs="+", type=Path, metavar="FILE")
    _library_option(parser)
    parser.add_argument("--output", type=output_folder("--output"), metavar="DIR", help="write a capture of each there")


def shrink_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=Path, metavar="FILE")
    _library_option(parser)
    parser.add_argument(
        "--output", type=output_file("--output"), metavar="FILE", help="write the schedule there (default: print it)"
    )


def _library_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--iut-library", type=Path, metavar="SO", help="another library than the reference")


def mutants_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", nargs="*", metavar="NAME", help="only these mutants (default: all)")
    parser.add_argument("--core", type=Path, metavar="DIR", help="core sources (default: reference_impl/core)")
    _profile_option(parser, "the mutants of the core edited to this dialect")
    what = parser.add_mutually_exclusive_group()
    what.add_argument(
        "--matrix",
        type=output_file("--matrix"),
        metavar="FILE",
        help="run every case on every mutant; write which case kills which",
    )
    what.add_argument("--variants", action="store_true", help="prove that legal choices are accepted")
    what.add_argument(
        "--diagnosis",
        action="store_true",
        help="run every case on every mutant; compare likely causes and planted ones",
    )
    parser.add_argument(
        "--results",
        type=output_file("--results"),
        metavar="FILE",
        help="with --diagnosis: write the results of each mutant, as JSON lines",
    )
    parser.add_argument(
        "-j", "--jobs", type=at_least_one, default=0, metavar="N", help="mutants at a time (default: processors)"
    )
    parser.add_argument(
        "--long", action="store_true", help="those that only cases of more than a minute find, by these cases"
    )
    parser.add_argument(
        "--sweep",
        action="store_true",
        help="with --variants: also transfers under every fault and pair of faults",
    )
    parser.add_argument(
        "--together",
        type=at_least_one,
        default=0,
        metavar="N",
        help="with --variants: N groups of four in one core, instead of each by itself",
    )
    parser.add_argument(
        "--seed", type=int, default=1, metavar="SEED", help="with --together: which groups (default: 1)"
    )
    parser.add_argument("-v", "--verbose", action="store_true", help="show the reason of each kill")
