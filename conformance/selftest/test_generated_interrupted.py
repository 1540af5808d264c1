# SPDX-License-Identifier: GPL-2.0-or-later
"""`netblt-conformance generate` that is ended by a signal: what it found so far is kept."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from netblt_conformance.commands import cli
from selftest.conftest import CONFORMANCE
from selftest.faulty import faulty_library

WAIT_S = 120  # nothing takes so long, on any machine


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory, built_library: Path) -> Path:
    del built_library
    return faulty_library(tmp_path_factory.mktemp("broken"), "no-null-ack")


@contextmanager
def generating(library: Path, folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """For much longer than the test takes. Its output goes to a file in the folder."""
    words = ["--iut-library", str(library), "--seconds", "600", "--no-dissector", "-j", "2", "--output", str(folder)]
    command = [sys.executable, "-m", "netblt_conformance", "generate", *words]
    with (folder / "output").open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output, cwd=CONFORMANCE)
        try:
            yield process
        finally:
            process.kill()
            process.wait()


def output(folder: Path) -> str:
    return (folder / "output").read_text(encoding="utf-8")


def wait_for(what: str, folder: Path, process: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + WAIT_S
    while what not in output(folder):
        assert process.poll() is None, output(folder)
        assert time.monotonic() < end, output(folder)
        time.sleep(0.05)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_failure_is_reported_when_it_is_found_and_its_script_outlives_a_signal(
    number: signal.Signals, broken: Path, tmp_path: Path
) -> None:
    with generating(broken, tmp_path) as process:
        wait_for("FAIL   script ", tmp_path, process)
        process.send_signal(number)
        assert process.wait(WAIT_S) == 2
    assert "\ninterrupted: " in output(tmp_path)
    assert " failed, seed 1, " in output(tmp_path)
    kept = sorted(tmp_path.glob("script.*.toml"))
    assert kept
    assert cli.main(["play", str(kept[0]), "--no-dissector", "--iut-library", str(broken)]) == 1


def test_a_child_that_the_signal_reaches_first_is_no_crash_of_the_implementation(broken: Path, tmp_path: Path) -> None:
    with generating(broken, tmp_path) as process:
        wait_for("FAIL   script ", tmp_path, process)
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        subprocess.run(["/bin/kill", "-TERM", *children], check=False)
        assert process.wait(WAIT_S) == 2
    assert "crash" not in output(tmp_path)
