# SPDX-License-Identifier: GPL-2.0-or-later
"""Prints the options of a command that has an argparse parser as JSON, for tools/completion.

Usage: python -m netblt_conformance.commands.describe MODULE FILE; MODULE has build_parser(), as netblt_plan.cli.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
from pathlib import Path
from typing import Any

Json = dict[str, Any]


def _value(action: argparse.Action) -> Json:
    name = action.metavar if isinstance(action.metavar, str) else action.dest.upper()
    if action.type is Path and name not in ("DIR", "SO"):
        name = "FILE"
    return {"label": name, "choices": [str(choice) for choice in action.choices or ()]}


def _help(parser: argparse.ArgumentParser, action: argparse.Action) -> str:
    if not action.help:
        return ""
    return str(parser._get_formatter()._expand_help(action))


def _options(parser: argparse.ArgumentParser) -> list[Json]:
    return [
        {
            "names": action.option_strings,
            "help": _help(parser, action),
            "value": None if action.nargs == 0 else _value(action),
        }
        for action in parser._actions
        if action.option_strings and action.help != argparse.SUPPRESS
    ]


def _words(parser: argparse.ArgumentParser) -> list[Json]:
    return [
        _value(action)
        for action in parser._actions
        if not action.option_strings and not isinstance(action, argparse._SubParsersAction)
    ]


def describe(parser: argparse.ArgumentParser) -> Json:
    """The description of `parser` and its sub-commands; tools/completion/completion.py documents it."""
    commands: list[Json] = []
    for action in parser._actions:
        if not isinstance(action, argparse._SubParsersAction):
            continue
        summaries = {choice.dest: choice.help or "" for choice in action._choices_actions}
        for name, sub in action.choices.items():
            if hasattr(sub, "add_options"):  # a parser that gets its options when they are needed
                sub.add_options()
            commands.append(
                {"name": name, "summary": summaries.get(name, ""), "words": _words(sub), "options": _options(sub)}
            )
    return {"program": parser.prog, "options": _options(parser), "commands": commands}


def main(module: str, file: str) -> int:
    about = describe(importlib.import_module(module).build_parser())
    Path(file).write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
