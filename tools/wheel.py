# SPDX-License-Identifier: GPL-2.0-or-later
"""Builds a wheel of netblt-conformance that needs no compiler: the Python packages, the compiled simulator for this
Python, and what they read, in netblt_conformance/installed. Usage, after tools/build:

    tools/wheel.py FOLDER           the wheel
    tools/wheel.py --tree FOLDER    its source tree, not packed; the Debian package is made of it"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from netblt_conformance.common import paths
from netblt_conformance.simlib.build import module_path

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("netblt_conformance", "netblt_plan")
# What commands read at run time. Sources of the core are for `mutants`, which needs a compiler where it runs.
READ = (
    "conformance/catalogue",
    "conformance/suite",
    "conformance/adapters",
    "conformance/skeletons",
    "conformance/ci",
    "conformance/scenarios",
    "conformance/schemas",
    "conformance/dialects",
    "conformance/learned",
    "conformance/mutants",
    "conformance/variants",
    "conformance/flakeway",
    "conformance/guided",
    "conformance/sim",
    "dissector/src",
    "pcaps/golden",
    "reference_impl/core",
    "reference_impl/include",
)
BUILT = ("libnetblt_iut.so", "libnetblt_guided.so", "libnetblt_world.so")
PROGRAMS = ("netblt", "flakeway", "pipe_endpoint")
SETUP = """from setuptools import setup
from setuptools.dist import Distribution


class Compiled(Distribution):
    def has_ext_modules(self):
        return True


setup(distclass=Compiled)
"""


def tracked(folder: str) -> list[Path]:
    """The files of the repository there; of a tree that was copied without git, all."""
    command = ["git", "-C", str(ROOT), "ls-files", "-z", "--", folder]
    listed = subprocess.run(command, capture_output=True, text=True) if shutil.which("git") else None
    if listed and listed.returncode == 0:
        return [ROOT / name for name in listed.stdout.split("\0") if name]
    return [file for file in (ROOT / folder).rglob("*") if file.is_file() and "__pycache__" not in file.parts]


def copied(file: Path, to: Path) -> None:
    to.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy2(file, to)


def stage(tree: Path) -> None:
    """The source tree of the wheel."""
    for package in PACKAGES:
        for file in tracked(f"conformance/{package}"):
            copied(file, tree / file.relative_to(ROOT))
    installed = tree / "conformance" / "netblt_conformance" / paths.INSTALLED
    for folder in READ:
        for file in tracked(folder):
            copied(file, installed / file.relative_to(ROOT))
    build = paths.build()
    for name in BUILT:
        copied(build / "lib" / name, installed / "build" / "lib" / name)
    for name in PROGRAMS:
        copied(build / "bin" / name, installed / "build" / "bin" / name)
    copied(module_path(), installed / "build" / "python" / module_path().name)
    for plugin in (build / "plugins").glob("*/epan/netblt.so"):
        copied(plugin, installed / "build" / plugin.relative_to(build))
    text = (ROOT / "pyproject.toml").read_text()
    data = f'"netblt_conformance" = ["{paths.INSTALLED}/**/*"], '
    (tree / "pyproject.toml").write_text(text.replace("package-data = { ", f"package-data = {{ {data}"))
    (tree / "setup.py").write_text(SETUP)


def main() -> int:
    words = sys.argv[1:]
    only_tree = words[:1] == ["--tree"]
    if len(words) != 1 + only_tree or words[-1].startswith("-"):
        print("usage: tools/wheel.py [--tree] FOLDER", file=sys.stderr)
        return 2
    folder = Path(words[-1]).resolve()
    missing = [name for name in BUILT if not (paths.build() / "lib" / name).is_file()]
    if missing:
        print(f"error: {paths.build() / 'lib' / missing[0]} is missing; run tools/build", file=sys.stderr)
        return 2
    if only_tree:
        stage(folder)
        return 0
    dated = subprocess.run(["git", "-C", str(ROOT), "log", "-1", "--format=%ct"], capture_output=True, text=True)
    when = dated.stdout.strip()
    with tempfile.TemporaryDirectory(prefix="netblt-wheel-") as made:
        stage(Path(made))
        options = ["--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", str(folder)]
        command = [sys.executable, "-m", "pip", "wheel", *options, made]
        environment = os.environ | ({"SOURCE_DATE_EPOCH": when} if when else {})
        return subprocess.run(command, env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
