#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Copies each skeleton whose compiler is installed, as a user does, builds it, and runs the suite against it.

Usage: skeletons.py     after tools/build. Exit status: 0 each behaves as a skeleton has to, 1 one does not."""

from __future__ import annotations

import collections
import json
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
COMMAND = str(ROOT / ".venv" / "bin" / "netblt-conformance")
COMPILERS = {"c": "cc", "go": "go", "python": "python3", "rust": "rustc"}
FAILED = 1  # exit status of `doctor` and `run`: no connection is accepted yet
PERMITTED = {"passive-receiver": {"PASS", "WARN", "FAIL", "INCONC", "N/A"}}  # of the other roles: N/A only


def ran(expected: int, *words: str) -> str:
    """The output of a command; RuntimeError when its exit status is another."""
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode != expected:
        output = f"{done.stdout[-3000:]}{done.stderr[-3000:]}"
        raise RuntimeError(f"{' '.join(words)}: exit status {done.returncode}\n{output}")
    return done.stdout


def verdicts(report: Path) -> collections.Counter[tuple[str, str]]:
    rows = [json.loads(line) for line in (report / "results.jsonl").read_text(encoding="utf-8").splitlines()[1:]]
    return collections.Counter((row["role"], row["verdict"]) for row in rows if row["kind"] == "result")


def works(kind: str, folder: Path) -> str:
    """What the suite found. RuntimeError when that is not what a skeleton has to be."""
    ran(0, COMMAND, "skeleton", kind, str(folder))
    if (folder / "build.sh").exists():
        ran(0, str(folder / "build.sh"))
    if kind == "rust":
        ran(0, "rustc", "--edition", "2021", "--test", "-o", str(folder / "unit"), str(folder / "pipe.rs"))
        ran(0, str(folder / "unit"))
    adapter = ["--adapter", str(folder / "netblt-adapter.toml")]
    if "REFUSED('not implemented yet')" not in ran(FAILED, COMMAND, "doctor", *adapter):
        raise RuntimeError("doctor shows no REFUSED")
    report = folder / "report"
    ran(FAILED, COMMAND, "run", *adapter, "--select", "must", "--no-sweep", "--quiet", "--report", str(report))
    found = verdicts(report)
    if wrong := [key for key in found if key[1] not in PERMITTED.get(key[0], {"N/A"})]:
        raise RuntimeError(f"verdicts that no skeleton may have: {wrong}")
    if not found["passive-receiver", "PASS"]:
        raise RuntimeError("not even REFUSED passes its cases")
    return ", ".join(f"{count} {verdict}" for (role, verdict), count in sorted(found.items()) if role in PERMITTED)


def main() -> int:
    failed = False
    for kind, compiler in COMPILERS.items():
        if shutil.which(compiler) is None:
            print(f"{kind}: left out, {compiler} is not installed")
            continue
        began_s = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="netblt-skeleton-") as folder:
            try:
                print(f"{kind}: {works(kind, Path(folder))} as passive receiver; {time.monotonic() - began_s:.1f} s")
            except RuntimeError as error:
                failed = True
                print(f"{kind}: {error}", file=sys.stderr)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
