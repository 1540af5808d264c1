# SPDX-License-Identifier: GPL-2.0-or-later
"""Commands that work in several processes, ended by a signal: nothing goes on, and no temporary file stays."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from selftest.conftest import CONFORMANCE

WAIT_S = 120  # nothing takes so long, on any machine
COMMANDS = {
    "mutants": ("mutants", "-j", "2"),
    "generate": ("generate", "--variants", "--count", "100000", "-j", "2"),
}


def below(pid: int) -> set[int]:
    """The processes that this one has started, and theirs."""
    found: set[int] = set()
    for task in Path("/proc").glob(f"{pid}/task/*/children"):
        with contextlib.suppress(OSError):  # it has ended
            for child in map(int, task.read_text().split()):
                found |= {child} | below(child)
    return found


def forks(pid: int) -> set[int]:
    """Those below that run the same program: what a compiler starts ends by itself."""

    def command_line(one: int) -> bytes:
        try:
            return Path(f"/proc/{one}/cmdline").read_bytes()
        except OSError:
            return b""

    return {one for one in below(pid) if command_line(one) == command_line(pid)}


def is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state not in "ZX"


def wait_until(condition: Callable[[], bool], what: str) -> None:
    end = time.monotonic() + WAIT_S
    while not condition():
        assert time.monotonic() < end, what
        time.sleep(0.05)


@pytest.fixture(params=COMMANDS)
def working(
    request: pytest.FixtureRequest, tmp_path: Path, built_library: Path
) -> Iterator[tuple[subprocess.Popen[str], set[int]]]:
    """A command that would take minutes, and all that it has started."""
    del built_library
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    words = [sys.executable, "-m", "netblt_conformance", *COMMANDS[request.param]]
    process = subprocess.Popen(
        words, cwd=CONFORMANCE, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    started: set[int] = set()
    try:
        wait_until(lambda: len(forks(process.pid)) >= 4 or process.poll() is not None, "two processes have children")
        assert process.poll() is None
        started = forks(process.pid)
        yield process, started
    finally:
        for one in started:
            with contextlib.suppress(ProcessLookupError):
                os.kill(one, signal.SIGKILL)
        process.kill()
        process.communicate()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_a_command_with_all_that_it_has_started(
    working: tuple[subprocess.Popen[str], set[int]], number: signal.Signals, tmp_path: Path
) -> None:
    process, started = working
    process.send_signal(number)
    _, errors = process.communicate(timeout=WAIT_S)
    assert (process.returncode, errors.splitlines()[-1:]) == (2, ["interrupted"]), errors
    wait_until(lambda: not any(map(is_alive, started)), "its processes have ended")
    assert list(tmp_path.iterdir()) == []


def test_what_a_command_has_started_ends_when_it_is_killed(working: tuple[subprocess.Popen[str], set[int]]) -> None:
    process, started = working
    process.kill()
    wait_until(lambda: not any(map(is_alive, started)), "its processes have ended")
