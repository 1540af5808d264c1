# SPDX-License-Identifier: GPL-2.0-or-later
"""Writes pcaps/violations, or with --check prints which files differ from what it would write.

Run it with .venv/bin/python pcaps/tools/forge.py [--check]
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from pcaps.tools import (
    forged_absence,
    forged_choices,
    forged_close,
    forged_consequences,
    forged_control,
    forged_ctrl04,
    forged_data,
    forged_dialects,
    forged_etftp,
    forged_order02,
    forged_out_of_step,
    forged_permitted,
    forged_rate,
    forged_setup,
    forged_wire,
)
from pcaps.tools.exchange import Exchange

VIOLATIONS = Path(__file__).resolve().parent.parent / "violations"


def all_scripts() -> dict[str, Callable[[], Exchange]]:
    """Name of a capture and the script that writes it."""
    homes = (
        *(forged_wire, forged_setup, forged_control, forged_ctrl04),
        *(forged_data, forged_order02, forged_rate, forged_close, forged_out_of_step),
        *(forged_consequences, forged_choices, forged_etftp, forged_dialects),
        *(forged_absence, forged_permitted),
    )
    return {name: script for home in homes for name, script in home.SCRIPTS.items()}


def all_files() -> dict[str, bytes]:
    """File name and contents: each capture and its expectation."""
    files: dict[str, bytes] = {}
    for name, script in all_scripts().items():
        exchange = script()
        files[f"{name}.pcapng"] = exchange.pcapng()
        files[f"{name}.expected.json"] = (json.dumps(exchange.expectation(), indent=1) + "\n").encode()
    return files


def index() -> str:
    """The rows of the table in README.md."""
    rows = []
    for name, script in sorted(all_scripts().items()):
        wanted = script().expectation()
        told = [f"{one['requirement']} {one['verdict']}, {one['offender_role']}" for one in wanted["findings"]]
        verdict = "; ".join(told) or ("at most suspected" if wanted["tolerated"] else "none")
        rows.append(f"| `{name}` | {wanted['about'].rstrip('.')} | {verdict} |")
    return "\n".join(rows)


def differences(directory: Path) -> list[str]:
    """One sentence for each file that is not what this tool writes."""
    wanted = all_files()
    present = {path.name for path in directory.iterdir()}
    complaints = [f"{name} is missing" for name in sorted(wanted.keys() - present)]
    complaints += [f"{name} is not made by this tool" for name in sorted(present - wanted.keys())]
    return complaints + [
        f"{name} differs from what this tool writes"
        for name in sorted(wanted.keys() & present)
        if (directory / name).read_bytes() != wanted[name]
    ]


def main(arguments: list[str] | None = None) -> int:
    """Exit code 0: written, or nothing differs; 1: something differs."""
    parser = argparse.ArgumentParser(description="write or check the forged captures")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 when a file differs")
    parser.add_argument("--index", action="store_true", help="write nothing; print the table for README.md")
    parser.add_argument("--directory", type=Path, default=VIOLATIONS, help="where the captures lie")
    options = parser.parse_args(arguments)
    if options.index:
        print(index())
        return 0
    if options.check:
        complaints = differences(options.directory)
        for complaint in complaints:
            print(f"{options.directory}: {complaint}; run pcaps/tools/forge.py", file=sys.stderr)
        return 1 if complaints else 0
    options.directory.mkdir(parents=True, exist_ok=True)
    for name, contents in all_files().items():
        (options.directory / name).write_bytes(contents)
    return 0


if __name__ == "__main__":
    sys.exit(main())
