# SPDX-License-Identifier: GPL-2.0-or-later
"""Turns what wireshark-versions saw into results (JSON, one per root) and into the table of the documentation."""

from __future__ import annotations

import argparse
import datetime
import json
import re
import subprocess
from pathlib import Path
from typing import Any

HEAD = """\
# Wireshark versions

Written by `dissector/nightly/wireshark-versions`, which builds the plugin (`-Wall -Wextra ...
-Werror`) and runs `dissector/tests` in a new root of each distribution. Do not edit: run it.

| distribution | Wireshark | gcc | Python | built | tests | on | at commit |
|---|---|---|---|---|---|---|---|
"""


def counts(log: str) -> str:
    """pytest's closing line, as "310 passed, 2 skipped"."""
    lines = [line for line in log.splitlines() if re.search(r"\b(passed|failed|error|errors)\b.* in [0-9.]+", line)]
    if not lines:
        return "not run"
    kinds = ("failed", "error", "errors", "passed", "skipped")
    found = re.findall(r"(\d+) (" + "|".join(kinds) + r")\b", lines[-1])
    return ", ".join(f"{number} {what}" for number, what in found)


def version_of(facts: str, name: str) -> str:
    found = re.search(rf"^{name} ([0-9]+(?:\.[0-9]+)*)", facts, re.MULTILINE | re.IGNORECASE)
    return found[1] if found else "unknown"


def commit() -> str:
    """The newest that changed what is built and tested."""
    root = Path(__file__).resolve().parents[2]
    tested = ("dissector/CMakeLists.txt", "dissector/src", "dissector/tests", "pcaps")
    done = subprocess.run(
        ["git", "-C", str(root), "log", "-1", "--abbrev=10", "--format=%h", "--", *tested],
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout.strip() or "unknown"


def write_result(arguments: argparse.Namespace) -> None:
    facts = arguments.facts.read_text() if arguments.facts.exists() else ""
    result = {
        "name": arguments.name,
        "distribution": arguments.label,
        "wireshark": version_of(facts, "wireshark"),
        "gcc": version_of(facts, "gcc"),
        "python": version_of(facts, "python"),
        "built": arguments.built == "yes",
        "passed": arguments.tested == "yes",
        "tests": counts(arguments.log.read_text(errors="replace"))
        + (f", without {arguments.without}" if arguments.without else ""),
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "commit": commit(),
    }
    arguments.result.write_text(json.dumps(result, indent=1) + "\n")


def row(result: dict[str, Any]) -> str:
    built = "yes" if result["built"] else "**no**"
    tests = result["tests"] if result["passed"] else f"**{result['tests']}**"
    names = (result["distribution"], result["wireshark"], result["gcc"], result["python"], built, tests)
    return "| " + " | ".join((*names, result["date"], result["commit"])) + " |\n"


def write_table(arguments: argparse.Namespace) -> None:
    rows = [row(json.loads(path.read_text())) for path in arguments.results]
    arguments.table.write_text(HEAD + "".join(rows))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(required=True)
    result = commands.add_parser("result")
    result.add_argument("result", type=Path)
    for name in ("name", "label", "built", "tested"):
        result.add_argument(f"--{name}", required=True)
    result.add_argument("--log", type=Path, required=True)
    result.add_argument("--facts", type=Path, required=True)
    result.add_argument("--without", help="file of tests that was left out")
    result.set_defaults(run=write_result)
    table = commands.add_parser("table")
    table.add_argument("table", type=Path)
    table.add_argument("results", type=Path, nargs="+")
    table.set_defaults(run=write_table)
    arguments = parser.parse_args()
    arguments.run(arguments)


if __name__ == "__main__":
    main()
