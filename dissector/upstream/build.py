# SPDX-License-Identifier: GPL-2.0-or-later
"""Builds tshark from the tree, at the lowest priority, and runs Wireshark's own tests with it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

JOBS = 2
NOBODY = 65534
PROGRAMS = ("tshark", "text2pcap")  # text2pcap: suite_dissectors makes captures with it
OPTION = re.compile(r"^\s*option\(BUILD_(\w+)", re.MULTILINE)
WARNING = re.compile(r"^\S*packet-netblt\S*: warning: .*$", re.MULTILINE)
COLOUR = re.compile(r"\x1b\[[0-9;]*[mK]")
RAN = re.compile(r"^Ran (\d+) tests?", re.MULTILINE)
FAILED = re.compile(r"^(?:FAIL|ERROR): (\S+)", re.MULTILINE)
SKIPPED = re.compile(r"skipped=(\d+)")
# Not -Werror: what Debian changed in other files gives warnings. Those in our files are counted.
SETTINGS = ("-DENABLE_CCACHE=ON", "-DENABLE_WERROR=OFF", "-DENABLE_CHECKHF_CONFLICT=ON", "-DCMAKE_BUILD_TYPE=Debug")
FLAGS = "-O2"  # what Wireshark's warnings are adjusted to; no symbols, which take most of the time of linking


class BuildError(Exception):
    """The tree does not build; the log shows why."""


@dataclass(frozen=True)
class TestRun:
    """What a run of Wireshark's tests gave."""

    ran: int
    skipped: int
    failed: list[str]

    @property
    def passed(self) -> bool:
        return self.ran > 0 and not self.failed


def run(command: list[str], folder: Path, log: Path) -> int:
    """Runs it at the lowest priority, its output appended to the log."""
    with log.open("a", encoding="utf-8") as out:
        out.write(f"$ {' '.join(command)}\n")
        out.flush()
        nice = ["nice", "-n", "19", *command]
        return subprocess.run(nice, cwd=folder, stdout=out, stderr=subprocess.STDOUT, check=False).returncode


def configure(tree: Path, folder: Path, log: Path) -> None:
    """Once for these settings: ninja notices by itself when a list of files has changed."""
    options = sorted(set(OPTION.findall((tree / "CMakeOptions.txt").read_text(encoding="utf-8"))))
    programs = [f"-DBUILD_{name}={'ON' if name in PROGRAMS else 'OFF'}" for name in options]
    flags = [f"-DCMAKE_{language}_FLAGS_DEBUG={FLAGS}" for language in ("C", "CXX")]
    settings = [*SETTINGS, *programs, *flags]
    noted = folder / "settings"
    if noted.exists() and noted.read_text(encoding="utf-8") == "\n".join(settings):
        return
    shutil.rmtree(folder, ignore_errors=True)
    if run(["cmake", "-S", str(tree), "-B", str(folder), "-G", "Ninja", *settings], tree, log) != 0:
        raise BuildError(f"cmake failed: see {log}")
    noted.write_text("\n".join(settings), encoding="utf-8")


def build(folder: Path, log: Path) -> list[str]:
    """The compiler's warnings in our files, as far as they were compiled this time."""
    before = log.stat().st_size
    if run(["ninja", f"-j{JOBS}", *PROGRAMS, "copy_data_files"], folder, log) != 0:
        raise BuildError(f"ninja failed: see {log}")
    return WARNING.findall(COLOUR.sub("", log.read_bytes()[before:].decode(errors="replace")))


def test(tree: Path, folder: Path, log: Path, names: list[str]) -> TestRun:
    """Runs the tests whose names begin so. Programs that are not built are no failure, of ours nor of Wireshark's."""
    before = log.stat().st_size if log.exists() else 0
    command = ["python3", "-B", str(tree / "test" / "test.py"), "--program-path", str(folder / "run")]
    command += ["--disable-capture", "--skip-missing-programs", "all", *names]
    # tshark warns when it runs as root, and Wireshark's tests expect silence; so does ENABLE_CHECKHF_CONFLICT.
    quiet = ["env", "WIRESHARK_LOG_LEVEL=critical"]
    with tempfile.TemporaryDirectory(prefix="netblt-tests-") as place:
        if os.geteuid() == 0:
            os.chown(place, NOBODY, NOBODY)
            quiet = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", *quiet]
        status = run([*quiet, *command], Path(place), log)
    said = log.read_bytes()[before:].decode(errors="replace")
    ran, skipped = RAN.search(said), SKIPPED.search(said)
    failed = sorted(FAILED.findall(said)) or (["what ran"] if status != 0 else [])
    return TestRun(int(ran[1]) if ran else 0, int(skipped[1]) if skipped else 0, failed)
