#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Downloads the wheels of the suite's run-time dependencies, as requirements.lock pins them, for one version of Python.

Usage: tools/bundle.py FOLDER [--python 3.13] [--machine x86_64]. pip compares every hash."""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

from packaging.markers import Marker

ROOT = Path(__file__).resolve().parents[1]
# The C libraries that wheels may expect: Debian 12 has glibc 2.36, Debian 13 has 2.41.
GLIBC_MINORS = (28, 27, 24, 17, 12, 5)


def entries(lock: str) -> list[tuple[str, str, list[str]]]:
    """Of each pinned distribution: its name, its lines for pip, and what requires it."""
    found = []
    for block in re.split(r"\n(?=[a-z0-9])", lock):
        if pinned := re.match(r"([a-z0-9-]+)==", block):
            lines = [line for line in block.splitlines() if not line.lstrip().startswith("#")]
            parents = [by.strip(" #") for by in block.partition("# via")[2].splitlines()]
            found.append((pinned[1], "\n".join(lines), parents))
    return found


def runtime(lock: str, dependencies: list[str], python: str, system: str = "linux") -> list[str]:
    """The lines of the lock for what `dependencies` need, directly or through others."""
    environment = {"python_version": python, "python_full_version": f"{python}.0", "sys_platform": system}
    environment |= {"implementation_name": "cpython", "platform_python_implementation": "CPython", "os_name": "posix"}
    wanted = {match[0] for text in dependencies if (match := re.match(r"[A-Za-z0-9-]+", text))}
    pinned = entries(lock)
    while more := {name for name, _, by in pinned if name not in wanted and wanted.intersection(by)}:
        wanted |= more
    chosen = []
    for name, lines, _ in pinned:
        first, _, hashes = lines.partition("\n")
        pin, _, marker = first.removesuffix("\\").partition(" ; ")
        if name in wanted and (not marker or Marker(marker.strip()).evaluate(environment)):
            chosen.append(f"{pin} \\\n{hashes}")  # without its marker: pip would ask it about this Python
    return chosen


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--python", default="{}.{}".format(*sys.version_info), help="version of Python (default: this)")
    parser.add_argument("--machine", default="x86_64", help="architecture as in names of wheels (default: x86_64)")
    options = parser.parse_args()
    dependencies = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    chosen = runtime((ROOT / "requirements.lock").read_text(), dependencies, options.python)
    platforms = [f"manylinux_2_{minor}_{options.machine}" for minor in GLIBC_MINORS]
    platforms += [f"manylinux2014_{options.machine}", f"manylinux2010_{options.machine}"]
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.write("\n".join(chosen) + "\n")
        file.flush()
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
        command += ["--require-hashes", "--no-deps", "--only-binary=:all:", "--dest", str(options.folder)]
        command += ["--python-version", options.python, "--implementation", "cp", "-r", file.name]
        for platform in platforms:
            command += ["--platform", platform]
        return subprocess.run(command, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
