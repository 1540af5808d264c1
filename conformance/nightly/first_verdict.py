#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Measures the time from an empty repository to the first verdict: copies an endpoint, its adapter and netblt-ci.sh,
installs the wheel into a fresh environment, and runs every case of a requirement of level must.

Usage: first_verdict.py [WHEEL] [--limit SECONDS]     after tools/build; without WHEEL it builds one. Neither that nor
the download of the libraries that it needs is counted. The limit is for processor time: other work on this machine
makes the elapsed time longer. Exit status: 0 within the limit, 1 longer, 2 no verdict."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ADAPTERS = ROOT / "conformance" / "adapters"
LIMIT_S = 60


def prepare(repository: Path) -> None:
    subprocess.run(["git", "init", "--quiet", repository], check=True)
    shutil.copy(ADAPTERS / "example_pipe_endpoint.py", repository)
    shutil.copy(ADAPTERS / "example_pipe.toml", repository / "netblt-adapter.toml")
    shutil.copy(ROOT / "conformance" / "ci" / "netblt-ci.sh", repository)


def timed(word: str, repository: Path, environment: dict[str, str]) -> tuple[float, float]:
    """How long a step of the script takes, and its processor time. SystemExit when the step fails."""
    began_s, used = time.monotonic(), os.times()
    step = ["sh", "netblt-ci.sh", word]
    done = subprocess.run(step, cwd=repository, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        shown = [line for line in done.stdout.splitlines() if not line.startswith(("N/A", "PASS", "WARN", "  "))]
        print(f"netblt-ci.sh {word}: exit status {done.returncode}", *shown, done.stderr[-3000:], sep="\n")
        sys.exit(2)
    took_s, now = time.monotonic() - began_s, os.times()
    processor_s = now.children_user + now.children_system - used.children_user - used.children_system
    print(f"netblt-ci.sh {word:8}{took_s:6.1f} s, {processor_s:.1f} s of processor time")
    if word == "run":
        print(next(line for line in done.stdout.splitlines() if " PASS" in line and " in " in line))
    return took_s, processor_s


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("wheel", nargs="?", type=Path, metavar="WHEEL")
    parser.add_argument("--limit", type=float, default=LIMIT_S, metavar="SECONDS")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="netblt-first-verdict-") as kept:
        wheel = given.wheel
        if wheel is None:
            subprocess.run([sys.executable, ROOT / "tools" / "wheel.py", kept], check=True)
            (wheel,) = Path(kept).glob("*.whl")
        packages = Path(kept) / "packages"
        download = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*download, "--dest", str(packages), str(wheel)], check=True)
        repository = Path(kept) / "repository"
        prepare(repository)
        environment = os.environ | {
            "NETBLT_PACKAGES": str(packages),
            "PYTHON": sys.executable,
            "SELECT": "must",
            "OPTIONS": "--no-sweep",
        }
        load = os.getloadavg()[0]
        steps = [timed(word, repository, environment) for word in ("install", "run")]
    took_s, processor_s = (sum(values) for values in zip(*steps, strict=True))
    print(
        f"from an empty repository to the first verdict: {took_s:.1f} s (load {load:.1f}, {os.cpu_count()} processors)"
    )
    print(f"processor time: {processor_s:.1f} s; the limit is {given.limit:g} s")
    return int(processor_s > given.limit)


if __name__ == "__main__":
    sys.exit(main())
