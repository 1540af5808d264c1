# SPDX-License-Identifier: GPL-2.0-or-later
"""The command netblt-conformance: the table of its sub-commands. Exit status: 0 all hold, 1 something failed, 2 could
not run.

A sub-command's modules are imported when it is given, so that help and mistakes in the command line take no time.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from netblt_conformance import __version__
from netblt_conformance.common import ending
from netblt_conformance.common.verdicts import ExitCode
from netblt_conformance.common.words import fit, fit_lines

PACKAGE = "netblt_conformance"
EXPERIMENT = "experiment"


@dataclass(frozen=True, slots=True)
class Command:
    """One sub-command. Functions are written "module:function", with the module's name inside the package."""

    summary: str
    options: str  # the function that adds its options to a parser
    action: str  # the function that runs it and returns the exit status


COMMANDS = {
    "run": Command(
        "run cases against an implementation", "commands.options:run_options", "commands.commands:command_run"
    ),
    "doctor": Command(
        "try one transfer in each role and show all of it",
        "doctor.command:add_options",
        "doctor.command:command_doctor",
    ),
    "skeleton": Command(
        "copy the first version of an endpoint for the pipe link, or files for CI",
        "skeleton.command:add_options",
        "skeleton.command:command_skeleton",
    ),
    "check": Command(
        "check captures, without an implementation", "check.command:add_options", "check.command:command_check"
    ),
    "watch": Command(
        "check live traffic",
        "watch.command:add_options",
        "watch.command:command_watch",
    ),
    "draw": Command("draw the packets of a capture", "draw.command:add_options", "draw.command:command_draw"),
    "diff": Command("compare the results of two runs", "baseline.command:add_options", "baseline.command:command_diff"),
    "list": Command(
        "list the cases and their requirements", "commands.options:list_options", "commands.commands:command_list"
    ),
    "coverage": Command(
        "how each requirement is tested; what is missing",
        "commands.options:coverage_options",
        "commands.commands:command_coverage",
    ),
    "explain": Command(
        "show a requirement and how it is tested",
        "commands.options:explain_options",
        "commands.commands:command_explain",
    ),
    "replay": Command(
        "run schedules of faults again (files that a sweep wrote)",
        "commands.options:replay_options",
        "sweep.commands:command_replay",
    ),
    "shrink": Command(
        "find the fewest rules of a failing schedule that still fail",
        "commands.options:shrink_options",
        "sweep.commands:command_shrink",
    ),
    "generate": Command(
        "play legal peers and networks that are chosen at random",
        "generated.command:generate_options",
        "generated.command:command_generate",
    ),
    "play": Command(
        "play scripts again (files that generate wrote)",
        "generated.command:play_options",
        "generated.command:command_play",
    ),
    "campaign": Command(
        "run very many units of work on all processors, or on a cluster",
        "campaign.command:add_options",
        "campaign.command:command_campaign",
    ),
    "query": Command(
        "query the results of a campaign",
        "campaign.query_command:add_options",
        "campaign.query_command:command_query",
    ),
    "bakeoff": Command(
        "let every implementation transfer data with every other one",
        "bakeoff.command:add_options",
        "bakeoff.command:command_bakeoff",
    ),
    "learn": Command(
        "learn the state machine of an implementation and compare it",
        "learned.command:learn_options",
        "learned.command:command_learn",
    ),
    "mutants": Command(
        "prove that wrong implementations are caught",
        "commands.options:mutants_options",
        "commands.commands:command_mutants",
    ),
}


def _function(name: str) -> Any:
    module, _, function = name.partition(":")
    return getattr(importlib.import_module(f"{PACKAGE}.{module}"), function)


class _Parser(argparse.ArgumentParser):
    """The parser of a sub-command. It has its options from the moment when it parses."""

    command: Command | None = None

    def add_options(self) -> None:
        """Adds the options, the first time."""
        if self.command is not None:
            add_options, self.command = _function(self.command.options), None
            add_options(self)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        self.add_options()
        return super().parse_known_args(args, namespace)


def build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="netblt-conformance",
        description="Tests any NETBLT (RFC 998) implementation and reports the result of each requirement.",
    )
    parser.add_argument("--version", action="version", version=f"netblt-conformance {__version__}")
    parsers = parser.add_subparsers(dest="command", required=True, metavar="COMMAND", parser_class=_Parser)
    for name, command in COMMANDS.items():
        subparser = parsers.add_parser(name, help=command.summary)
        subparser.command = command
        subparser.set_defaults(parser=subparser)
    parsers.add_parser(EXPERIMENT, help="old name of netblt-plan list, run, fit and compare")
    return parser


def _expected_errors() -> tuple[type[Exception], ...]:
    """Errors whose text states what the user can do. Only looked up when something was raised."""
    from netblt_conformance.adapter.adapter import AdapterError
    from netblt_conformance.baseline.records import RecordError
    from netblt_conformance.common.errors import HarnessError, JudgeError, LinkUnavailableError
    from netblt_conformance.mutants.mutants import MutantError
    from netblt_conformance.run.selection import SelectionError
    from netblt_conformance.sweep.schedule_file import ScheduleFileError

    return (
        AdapterError,
        LinkUnavailableError,
        SelectionError,
        MutantError,
        HarnessError,
        JudgeError,
        RecordError,
        ScheduleFileError,
    )


def _catalogue_error() -> Any:
    from netblt_conformance.catalogue.catalogue import CatalogueError

    return CatalogueError


def _run(words: Sequence[str]) -> int:
    with ending.signals_wait():
        parser = build_parser()
        options, unknown = parser.parse_known_args(words)
        if unknown:  # with the usage of the command that was given, not of all
            options.parser.error(f"unrecognized arguments: {' '.join(unknown)}")
        action = _function(COMMANDS[options.command].action)
    status = int(action(options))
    sys.stdout.flush()
    return status


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit status. One that states a verdict is left to the commands: whatever ends them ends with 2."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if words[:1] == [EXPERIMENT]:
        from netblt_plan import cli as plan

        return plan.main(plan.renamed(words[1:]))
    ending.open_streams()
    try:
        with ending.ended_by_signals():
            return _run(words)
    except SystemExit:  # help, or wrong usage; what follows takes time to look up
        raise
    except _catalogue_error() as error:
        for mistake in error.mistakes:
            print(fit(f"error: catalogue: {mistake}"), file=sys.stderr)
    except _expected_errors() as error:
        print(fit_lines(f"error: {error}"), file=sys.stderr)
    except BaseException as error:
        ending.explain(error)
    return ExitCode.COULD_NOT_RUN


if __name__ == "__main__":
    sys.exit(main())
