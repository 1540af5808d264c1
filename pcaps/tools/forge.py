# SPDX-License-Identifier: GPL-2.0-or-later
"""Writes pcaps/violations and its table in pcaps/README.md, or with --check prints which files differ from that.

Run it with .venv/bin/python pcaps/tools/forge.py [--check]
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

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

PCAPS = Path(__file__).resolve().parent.parent
HEADING = "| capture | what it shows | findings |\n|---|---|---|\n"


def all_scripts() -> dict[str, Callable[[], Exchange]]:
    """Name of a capture and the script that writes it."""
    homes = (
        *(forged_wire, forged_setup, forged_control, forged_ctrl04),
        *(forged_data, forged_order02, forged_rate, forged_close, forged_out_of_step),
        *(forged_consequences, forged_choices, forged_etftp, forged_dialects),
        *(forged_absence, forged_permitted),
    )
    return {name: script for home in homes for name, script in home.SCRIPTS.items()}


def all_files(page: str) -> dict[str, bytes]:
    """Path below pcaps/ and contents: each capture, its expectation, and README.md, which is `page` until now."""
    files: dict[str, bytes] = {}
    rows = []
    for name, script in sorted(all_scripts().items()):
        exchange = script()
        wanted = exchange.expectation()
        files[f"violations/{name}.pcapng"] = exchange.pcapng()
        files[f"violations/{name}.expected.json"] = (json.dumps(wanted, indent=1) + "\n").encode()
        rows.append(row(name, wanted))
    above, section, rest = page.partition("## violations\n")
    text, heading, _ = rest.partition(HEADING)
    files["README.md"] = f"{above}{section}{text}{heading}{''.join(rows)}".encode()
    return files


def row(name: str, wanted: dict[str, Any]) -> str:
    """The line for a capture in the table, which ends README.md."""
    found = [f"{one['requirement']} {one['verdict']}, {one['offender_role']}" for one in wanted["findings"]]
    verdict = "; ".join(found) or ("at most suspected" if wanted["tolerated"] else "none")
    return f"| `{name}` | {wanted['about'].rstrip('.')} | {verdict} |\n"


def differences(pcaps: Path) -> list[str]:
    """One sentence for each file that is not what this tool writes."""
    wanted = all_files((pcaps / "README.md").read_text(encoding="utf-8"))
    present = {f"violations/{path.name}" for path in (pcaps / "violations").iterdir()} | {"README.md"}
    complaints = [f"{name} is missing" for name in sorted(wanted.keys() - present)]
    complaints += [f"{name} is not made by this tool" for name in sorted(present - wanted.keys())]
    return complaints + [
        f"{name} differs from what this tool writes"
        for name in sorted(wanted.keys() & present)
        if (pcaps / name).read_bytes() != wanted[name]
    ]


def main(arguments: list[str] | None = None) -> int:
    """Exit code 0: written, or nothing differs; 1: something differs."""
    parser = argparse.ArgumentParser(description="write or check the forged captures and their table in README.md")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 when a file differs")
    parser.add_argument("--directory", type=Path, default=PCAPS, help="where README.md and violations/ are")
    options = parser.parse_args(arguments)
    if options.check:
        complaints = differences(options.directory)
        for complaint in complaints:
            print(f"{options.directory}: {complaint}; run pcaps/tools/forge.py", file=sys.stderr)
        return 1 if complaints else 0
    files = all_files((options.directory / "README.md").read_text(encoding="utf-8"))
    (options.directory / "violations").mkdir(parents=True, exist_ok=True)
    for name, contents in files.items():
        (options.directory / name).write_bytes(contents)
    return 0


if __name__ == "__main__":
    sys.exit(main())
