# SPDX-License-Identifier: GPL-2.0-or-later
"""tools/nightly.py with jobs of our own: its record and exit status, and that nothing outlives it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from netblt_conformance.common import paths

PROGRAM = """
import os, sys
sys.path.insert(0, {tools!r})
import nightly
from pathlib import Path
jobs = {jobs!r}
nightly.GRACE_S = 0.5
nightly.JOBS = [nightly.Job(name, "a job", limit_s, lambda _, c=commands: c, keep_going=True)
                for name, limit_s, commands in jobs]
sys.exit(nightly.main(["--report", {report!r}]))
"""
# Prints its own ID, and that of a child that leaves its group and takes no notice of signals, then waits for ever.
STUBBORN = """
trap '' TERM HUP INT
setsid sh -c 'trap "" TERM HUP INT; echo $$ >> {pids}; while :; do sleep 1; done' &
echo $$ >> {pids}
{then}
"""


def start(report: Path, *jobs: tuple[str, float, list[list[str]]]) -> subprocess.Popen[str]:
    text = PROGRAM.format(tools=str(paths.root() / "tools"), jobs=list(jobs), report=str(report))
    return subprocess.Popen([sys.executable, "-c", text], stdout=subprocess.PIPE, text=True)


def verdicts(report: Path) -> dict[str, str]:
    told = json.loads((report / "nightly.json").read_text(encoding="utf-8"))
    return {job["name"]: job["verdict"] for job in told["jobs"]}


def numbers(file: Path) -> list[int]:
    return [int(line) for line in file.read_text(encoding="utf-8").split()] if file.is_file() else []


def runs(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def test_a_failure_is_told_and_the_jobs_after_it_still_run(tmp_path: Path) -> None:
    nightly = start(
        tmp_path,
        ("good", 60, [["true"]]),
        ("bad", 60, [["sh", "-c", "echo what went wrong; exit 3"], ["touch", str(tmp_path / "went-on")]]),
        ("missing", 60, [["/no/such/program"]]),
        ("nothing", 60, []),
        ("slow", 0.5, [["sleep", "600"]]),
        ("last", 60, [["true"]]),
    )
    output, _ = nightly.communicate(timeout=60)
    assert nightly.returncode == 1
    assert verdicts(tmp_path) == {
        "good": "passed",
        "bad": "failed",
        "missing": "failed",
        "nothing": "skipped",
        "slow": "failed",
        "last": "passed",
    }
    summary = (tmp_path / "nightly.txt").read_text(encoding="utf-8")
    assert output.endswith(summary)
    for words in ("sh: exit status 3", "| what went wrong", "cannot start /no/such/program", "sleep: timed out after"):
        assert words in summary
    assert (tmp_path / "went-on").exists()


def test_a_night_without_failure_says_so(tmp_path: Path) -> None:
    nightly = start(tmp_path, ("good", 60, [["true"]]))
    nightly.communicate(timeout=60)
    assert nightly.returncode == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupt_ends_everything_below_and_leaves_a_record(tmp_path: Path, number: signal.Signals) -> None:
    pids = tmp_path / "pids"
    script = STUBBORN.format(pids=pids, then="while :; do sleep 1; done")
    nightly = start(tmp_path, ("good", 60, [["true"]]), ("stubborn", 600, [["sh", "-c", script]]), ("not", 60, []))
    try:
        while len(numbers(pids)) < 2 and nightly.poll() is None:
            time.sleep(0.01)
        started = numbers(pids)
        nightly.send_signal(number)
        output, _ = nightly.communicate(timeout=60)
        assert nightly.returncode == 130
        assert verdicts(tmp_path) == {"good": "passed", "stubborn": "interrupted"}
        assert "interrupted" in output
        assert not [pid for pid in started if runs(pid)]
    finally:
        for pid in filter(runs, numbers(pids)):
            os.kill(pid, signal.SIGKILL)


def test_what_a_job_leaves_running_ends_with_the_job(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    script = STUBBORN.format(pids=pids, then=f"while [ $(wc -l < {pids}) -lt 2 ]; do sleep 0.01; done")
    alone = f"for pid in $(cat {pids}); do ! kill -0 $pid || exit 1; done"
    nightly = start(tmp_path, ("leaves", 60, [["sh", "-c", script]]), ("looks", 60, [["sh", "-c", alone]]))
    try:
        nightly.communicate(timeout=60)
        assert verdicts(tmp_path) == {"leaves": "passed", "looks": "passed"}
        assert len(numbers(pids)) == 2
    finally:
        for pid in filter(runs, numbers(pids)):
            os.kill(pid, signal.SIGKILL)
