# SPDX-License-Identifier: GPL-2.0-or-later
"""The command query: prepared questions and SQL about the results of a campaign."""

from __future__ import annotations

import argparse
import csv
import json
import sys
from pathlib import Path
from typing import Any

from netblt_conformance.common.errors import LinkUnavailableError
from netblt_conformance.common.verdicts import ExitCode


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", type=Path, metavar="DIR", help="what netblt-conformance campaign wrote")
    parser.add_argument(
        "question",
        nargs="?",
        default="summary",
        metavar="QUESTION",
        help='a prepared question (default: summary), or "select ..." over the tables units and blocks',
    )
    parser.add_argument("--list", action="store_true", help="list the prepared questions, and the columns")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="a list of objects instead of the table")
    form.add_argument("--csv", action="store_true", help="comma-separated values instead of the table")


def command_query(options: argparse.Namespace) -> int:
    """0: there is an answer, which may have no rows."""
    from netblt_conformance.campaign.folder import Folder
    from netblt_conformance.campaign.questions import Answer, Results

    if not options.folder.is_dir():
        raise LinkUnavailableError(f"{options.folder}: no such folder")
    results = Results(Folder(options.folder))
    if options.list:
        _list(results)
        return ExitCode.HOLDS
    answer: Answer = results.ask(options.question)
    if options.json:
        rows = [dict(zip(answer.columns, row, strict=True)) for row in answer.rows]
        print(json.dumps(rows, ensure_ascii=False, indent=1, default=str))
    elif options.csv:
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow(answer.columns)
        writer.writerows(answer.rows)
    else:
        print("\n".join(table(answer)))
    return ExitCode.HOLDS


def table(answer: Any) -> list[str]:
    """As text for a terminal. Of very many rows the first."""
    from netblt_conformance.campaign.questions import SHOWN_MOST
    from netblt_conformance.common import tables
    from netblt_conformance.common.tables import Column

    shown = answer.rows[:SHOWN_MOST]
    numbers = [all(isinstance(row[i], (int, float, type(None))) for row in shown) for i in range(len(answer.columns))]
    columns = [Column(name, right=right, wide=not right) for name, right in zip(answer.columns, numbers, strict=True)]
    lines = tables.lines(columns, [[_text(cell) for cell in row] for row in shown])
    if not shown:
        return [*lines, "no rows"]
    more = len(answer.rows) - len(shown)
    return [*lines, f"{more} more rows: use --csv or --json"] if more else lines


def _text(cell: Any) -> str:
    if cell is None:
        return "-"
    return f"{cell:g}" if isinstance(cell, float) else str(cell)


def _list(results: Any) -> None:
    from netblt_conformance.common import tables
    from netblt_conformance.common.tables import Column

    known = [(name, one.about) for name, one in results.questions().items()]
    print("\n".join(tables.lines((Column("QUESTION"), Column("ABOUT", wide=True)), known)))
    for view in ("units", "blocks"):
        columns = [str(row[0]) for row in results.ask(f"describe {view}").rows]
        print("\n".join(["", f"columns of {view}:", *(f"  {name}" for name in columns)]))
