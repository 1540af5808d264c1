# SPDX-License-Identifier: GPL-2.0-or-later
"""The command netblt-conformance. Exit status: 0 all hold, 1 something failed, 2 could not run."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from netblt_conformance import __version__, commands
from netblt_conformance.adapter import AdapterError
from netblt_conformance.catalogue import CatalogueError
from netblt_conformance.links.base import HarnessError, LinkUnavailableError
from netblt_conformance.model import ROLES_BY_NAME
from netblt_conformance.mutants import MutantError
from netblt_conformance.selection import SelectionError
from netblt_conformance.verdicts import ExitCode

DEFAULT_SEED = 1
DEFAULT_REPORT = Path("netblt-report")


class _JoinedTerms(argparse.Action):
    """Given several times, an option's terms add up: none of them is lost."""

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any, option: str | None = None
    ) -> None:
        del parser, option
        before = getattr(namespace, self.dest)
        setattr(namespace, self.dest, f"{before},{values}" if before else values)


def _select_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--select",
        action=_JoinedTerms,
        default="",
        metavar="EXPR",
        help="IDs (CTRL-04), areas (CTRL), patterns (CTRL-0?), strengths (must), parts of names; !TERM takes out",
    )
    parser.add_argument(
        "--role",
        action="append",
        choices=sorted(ROLES_BY_NAME),
        help="role of the implementation under test; may be given several times (default: all)",
    )


def _run_parser(parser: argparse.ArgumentParser) -> None:
    _select_options(parser)
    parser.add_argument(
        "--link",
        choices=("sim", "pipe", "wire"),
        default="sim",
        help="how the implementation is reached (default: sim, in this process and in virtual time)",
    )
    parser.add_argument("--adapter", type=Path, metavar="FILE", help="TOML file that describes the implementation")
    parser.add_argument("--iut-library", type=Path, metavar="SO", help="sim: another library with netblt_iut.h's ABI")
    parser.add_argument("--seed", type=int, default=DEFAULT_SEED, help=f"of all randomness (default: {DEFAULT_SEED})")
    parser.add_argument("--report", type=Path, default=DEFAULT_REPORT, metavar="DIR", help="default: %(default)s")
    parser.add_argument("--jobs", type=int, default=0, metavar="N", help="cases at a time (default: by link)")
    parser.add_argument("--delay-ms", type=float, metavar="MS", help="sim and pipe: one-way delay (default: 1)")
    for name, what in (("--json-lines", "results as JSON lines"), ("--junit", "results as JUnit XML")):
        text = f"{what} also to FILE (default: standard output, instead of the table)"
        parser.add_argument(name, nargs="?", const="-", metavar="FILE", help=text)
    volume = parser.add_mutually_exclusive_group()
    volume.add_argument("-v", "--verbose", action="store_true", help="every case as it ends")
    volume.add_argument("-q", "--quiet", action="store_true", help="only what is not a pass, and the summary")


def build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="netblt-conformance", description="Judges any NETBLT (RFC 998) implementation, requirement by requirement."
    )
    parser.add_argument("--version", action="version", version=f"netblt-conformance {__version__}")
    commands_parser = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    _run_parser(commands_parser.add_parser("run", help="run cases against an implementation"))
    _select_options(commands_parser.add_parser("list", help="list the cases and what they judge"))
    explain = commands_parser.add_parser("explain", help="show a requirement and how it is tested")
    explain.add_argument("id", metavar="ID")
    mutants = commands_parser.add_parser("mutants", help="prove that wrong implementations are caught")
    mutants.add_argument("name", nargs="*", metavar="NAME", help="only these mutants (default: all)")
    mutants.add_argument("--core", type=Path, metavar="DIR", help="core sources (default: reference_impl/core)")
    mutants.add_argument("-v", "--verbose", action="store_true", help="show the reason of each kill")
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    options = build_parser().parse_args(arguments)
    try:
        return int(getattr(commands, f"command_{options.command}")(options))
    except (AdapterError, LinkUnavailableError, SelectionError, MutantError, HarnessError) as error:
        print(f"error: {error}", file=sys.stderr)
    except CatalogueError as error:
        for mistake in error.mistakes:
            print(f"error: catalogue: {mistake}", file=sys.stderr)
    except BrokenPipeError:
        sys.stderr.close()
    return ExitCode.COULD_NOT_RUN


if __name__ == "__main__":
    sys.exit(main())
