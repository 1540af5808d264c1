# SPDX-License-Identifier: BSD-2-Clause
"""The tables as text, as JSON, and in the documentation."""

from __future__ import annotations

import datetime
import json
import os
import platform
import shlex
import textwrap
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .processes import BenchError

LINE_LENGTH = 100  # of documents
BEGIN, END = "<!-- made by tools/bench: begin -->", "<!-- made by tools/bench: end -->"


@dataclass(frozen=True)
class Check:
    """A figure compared with what is required of it."""

    what: str
    value: float
    bound: str
    met: bool


@dataclass
class Table:
    title: str
    columns: list[str]
    rows: list[list[str]] = field(default_factory=list)
    samples: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    checks: list[Check] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def add(self, row: list[str], samples: list[dict[str, Any]]) -> None:
        self.rows.append(row)
        self.samples[row[0]] = samples


def _lines(columns: list[str], rows: list[list[str]]) -> list[str]:
    """A Markdown table that also reads well as it is."""
    widths = [max(len(row[i]) for row in [columns, *rows]) for i in range(len(columns))]

    def line(cells: list[str]) -> str:
        return "| " + " | ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)) + " |"

    return [line(columns), "|" + "|".join("-" * (width + 2) for width in widths) + "|", *map(line, rows)]


def machine() -> str:
    model = "unknown processor"
    for text in Path("/proc/cpuinfo").read_text().splitlines():
        if text.startswith("model name"):
            model = text.split(":", 1)[1].strip()
            break
    cores = len(os.sched_getaffinity(0))
    return f"{cores} cores of {model}, Linux {platform.release()}, load {os.getloadavg()[0]:.1f}"


def markdown(tables: list[Table], command: list[str]) -> str:
    today = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d")
    lines = [f"`{shlex.join(command)}` on {today};", f"{machine()}."]
    for table in tables:
        if not table.rows:
            continue
        lines += ["", f"**{table.title}**", "", *_lines(table.columns, table.rows)]
        lines += [""] * bool(table.notes)
        for note in table.notes:
            lines += textwrap.wrap(f"* {note}", LINE_LENGTH, subsequent_indent="  ", break_on_hyphens=False)
    checks = [check for table in tables for check in table.checks]
    if checks:
        rows = [[c.what, f"{c.value:.3f}", c.bound, "met" if c.met else "MISSED"] for c in checks]
        lines += ["", "**What is asked**", "", *_lines(["figure", "measured", "asked", ""], rows)]
    return "\n".join(lines)


def as_json(tables: list[Table], argv: list[str]) -> dict[str, Any]:
    return {
        "command": ["tools/bench", *argv],
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "machine": machine(),
        "tables": [
            {
                "title": table.title,
                "columns": table.columns,
                "rows": table.rows,
                "samples": table.samples,
                "checks": [vars(check) for check in table.checks],
                "notes": table.notes,
            }
            for table in tables
        ],
    }


def measuring(argv: list[str]) -> list[str]:
    """The options that decide what is measured, without those that state where it is written."""
    kept, skips = [], False
    for word in argv:
        if not skips and word not in ("--json", "--update-docs") and not word.startswith("--json="):
            kept.append(word)
        skips = not skips and word == "--json"
    return kept


def publish(tables: list[Table], argv: list[str], json_file: Path | None, page: Path | None) -> None:
    """Prints the tables, writes each sample to `json_file`, and puts them into `page`. `argv`: of tools/bench."""
    text = markdown(tables, ["tools/bench", *measuring(argv)])
    print(text)
    if json_file is not None:
        json_file.write_text(json.dumps(as_json(tables, argv), indent=1) + "\n")
    if page is not None:
        update_page(page, text)


def update_page(page: Path, shown: str) -> None:
    """Replaces what is between the marks."""
    text = page.read_text()
    if text.count(BEGIN) != 1 or text.count(END) != 1:
        raise BenchError(f"{page}: the marks '{BEGIN}' and '{END}' must stand there once")
    before, rest = text.split(BEGIN)
    page.write_text(f"{before}{BEGIN}\n{shown}\n{END}{rest.split(END)[1]}")
