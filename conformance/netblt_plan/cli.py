# SPDX-License-Identifier: GPL-2.0-or-later
"""The command netblt-plan. Exit status: 0 done and inside all bands, 1 outside or not finished, 2 could not run."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence

from netblt_conformance import __version__
from netblt_conformance.common import ending
from netblt_conformance.common.errors import LinkUnavailableError
from netblt_conformance.common.verdicts import ExitCode

from netblt_plan import experiments, plan_command
from netblt_plan.experiments import renamed
from netblt_plan.native import WorldError
from netblt_plan.scenario import ScenarioError

__all__ = ["build_parser", "main", "renamed"]

_COMMANDS: tuple[tuple[str, Callable[[argparse.ArgumentParser], None], str], ...] = (
    ("plan", plan_command.add_options, "find the settings of netblt for a path"),
    ("list", experiments.add_list, "list the scenarios of the project"),
    ("run", experiments.add_run, "run a scenario and compare the results with the expected ones"),
    ("fit", experiments.add_fit, "find the fitted parameters of a table of RFC 1030 again"),
    ("compare", experiments.add_compare, "netblt, TCP and UDP over the link of a scenario, on real packets"),
)


def build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="netblt-plan",
        description="Predicts what NETBLT (RFC 998) achieves over a path, by simulation with the real protocol core.",
    )
    parser.add_argument("--version", action="version", version=f"netblt-plan {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, add, purpose in _COMMANDS:
        sub = commands.add_parser(name, help=purpose, description=f"{purpose[0].upper()}{purpose[1:]}.")
        add(sub)
    return parser


def _with_command(words: list[str]) -> list[str]:
    """Options without a command belong to `plan`."""
    general = ("-h", "--help", "--version")
    return ["plan", *words] if words and words[0].startswith("-") and words[0] not in general else words


def main(arguments: Sequence[str] | None = None) -> int:
    ending.open_streams()
    try:
        with ending.ended_by_signals():
            options = build_parser().parse_args(_with_command(list(sys.argv[1:] if arguments is None else arguments)))
            status = int(options.function(options))
            sys.stdout.flush()
            return status
    except SystemExit:  # help, or wrong usage
        raise
    except (LinkUnavailableError, ScenarioError, WorldError) as error:
        print(f"error: {error}", file=sys.stderr)
    except BaseException as error:
        ending.explain(error)
    return ExitCode.COULD_NOT_RUN


if __name__ == "__main__":
    sys.exit(main())
