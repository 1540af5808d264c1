#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs the wire link many times and compares the verdicts: none may differ. Exit status 1 when one does.

Usage: wire_repeated.py [--times N] [--busy N] [--select EXPR] [--report DIR]"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path

Row = tuple[str, str, str]  # case, role, arm
TIMES = 20


def busy_loops(count: int) -> list[int]:
    """Children that use a processor each, and end with us."""
    pids = []
    for _ in range(count):
        pid = os.fork()
        if pid == 0:
            parent = os.getppid()
            while os.getppid() == parent:
                for _ in range(1_000_000):
                    pass
            os._exit(0)
        pids.append(pid)
    return pids


def once(report: Path, select: str) -> tuple[dict[Row, str], int]:
    """The verdict of every row, and the exit status."""
    command = [sys.executable, "-m", "netblt_conformance", "run", "--link", "wire", "--quiet", "--report", str(report)]
    done = subprocess.run([*command, *(["--select", select] if select else [])], check=False)
    rows: dict[Row, str] = {}
    for line in (report / "results.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        if row["kind"] == "result":
            rows[row["case"], row["role"], row["arm"]] = row["verdict"]
    return rows, done.returncode


def differences(tables: list[dict[Row, str]]) -> list[str]:
    """One line for every row whose verdict was not always the same."""
    seen: dict[Row, list[str]] = defaultdict(lambda: ["-"] * len(tables))
    for number, table in enumerate(tables):
        for row, verdict in table.items():
            seen[row][number] = verdict
    return [f"{' '.join(row)}: {' '.join(verdicts)}" for row, verdicts in seen.items() if len(set(verdicts)) > 1]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=TIMES)
    parser.add_argument("--busy", type=int, default=0, help="busy loops beside it")
    parser.add_argument("--select", default="")
    parser.add_argument("--report", type=Path, help="folder for the reports (default: a temporary one)")
    given = parser.parse_args()
    loops = busy_loops(given.busy)
    tables, statuses = [], []
    try:
        with tempfile.TemporaryDirectory(prefix="netblt-repeated-") as name:
            for number in range(given.times):
                began = time.monotonic()
                table, status = once((given.report or Path(name)) / str(number), given.select)
                tables.append(table)
                statuses.append(status)
                print(f"run {number + 1}: exit status {status}, {time.monotonic() - began:.0f} s", flush=True)
    finally:
        for pid in loops:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
    lines = differences(tables)
    print("\n".join(lines) or f"{given.times} runs, {len(tables[0])} rows, every verdict the same")
    return int(bool(lines) or any(statuses) or not tables[0])


if __name__ == "__main__":
    sys.exit(main())
