# SPDX-License-Identifier: GPL-2.0-or-later
"""The command diff, and the options about CI systems that it shares with run."""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path

from netblt_conformance.baseline import ci, text
from netblt_conformance.baseline.compare import Comparison, compare
from netblt_conformance.baseline.document import document
from netblt_conformance.baseline.records import Record, read
from netblt_conformance.common.verdicts import ExitCode
from netblt_conformance.common.words import fit, fit_lines
from netblt_conformance.report.deliver import deliver


def add_options(parser: argparse.ArgumentParser) -> None:
    for name, what in (("old", "the baseline"), ("new", "the run to compare with it")):
        parser.add_argument(
            name, type=Path, metavar=name.upper(), help=f"{what}: a results.jsonl, or the report folder that holds it"
        )
    parser.add_argument("--json", action="store_true", help="one JSON document instead of the text")
    parser.add_argument("-v", "--verbose", action="store_true", help="all rows of each section")
    add_ci_options(parser)


def add_ci_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--summary", type=Path, metavar="FILE", help="append a job summary in Markdown to FILE (GITHUB_STEP_SUMMARY)"
    )
    parser.add_argument(
        "--annotations",
        metavar="FILE",
        help="write what fails the run to FILE as GitHub annotations (::error), up to 10; - is standard output",
    )


def command_diff(options: argparse.Namespace) -> int:
    """1: something fails that did not fail in the baseline. RecordError when a file cannot be read."""
    found = compare(read(options.old), read(options.new))
    used = deliver_to_ci(options, found.now, found)
    if options.json:
        print(fit(json.dumps({"kind": "diff", **document(found)}, ensure_ascii=False)))
    else:
        show(found, verbose=options.verbose, to_stderr=used)
    return ExitCode.FAILED if found.fails else ExitCode.HOLDS


def show(found: Comparison, *, verbose: bool, to_stderr: bool) -> None:
    """Prints the comparison."""
    out = sys.stderr if to_stderr else sys.stdout
    colour = out.isatty() and "NO_COLOR" not in os.environ
    print("\n".join(text.lines(found, colour, everything=verbose)), file=out)


def deliver_to_ci(options: argparse.Namespace, record: Record, found: Comparison | None) -> bool:
    """Writes what --summary and --annotations ask for; True when standard output was used."""
    if options.summary is not None:
        ci.append_summary(options.summary, record, found)
    if options.annotations is None:
        return False
    return deliver(fit_lines(ci.github_lines(record, found)), options.annotations)
