#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Writes conformance/suite/durations.toml from the report of a run on the wire link against the reference.

Usage: long_cases.py REPORT"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from netblt_conformance.common import paths
from netblt_conformance.common.verdicts import Origin
from netblt_conformance.run.schedule import DURATIONS

LONG_S = 5.0  # shorter cases fill the gaps that the long ones leave, in whatever order they run
HEAD = """\
# SPDX-License-Identifier: GPL-2.0-or-later
# Cases that take long on the wire link, with the longest time of their runs against the reference. The longest are
# started first. conformance/nightly/long_cases.py writes this file from the report of a run.

[seconds]
"""


def long_cases(lines: list[str]) -> dict[str, float]:
    """Name -> seconds of the longest run, longest first."""
    found: dict[str, float] = {}
    for line in lines:
        row = json.loads(line)
        if row["kind"] == "result" and row["origin"] == Origin.CASE:
            name = row["case"].partition(": ")[0]
            found[name] = max(found.get(name, 0.0), row["seconds"])
    return dict(sorted(((k, v) for k, v in found.items() if v >= LONG_S), key=lambda one: (-round(one[1]), one[0])))


def main() -> int:
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    lines = (Path(sys.argv[1]) / "results.jsonl").read_text(encoding="utf-8").splitlines()
    text = HEAD + "".join(f"{name} = {round(seconds)}\n" for name, seconds in long_cases(lines).items())
    (paths.suite() / DURATIONS).write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
