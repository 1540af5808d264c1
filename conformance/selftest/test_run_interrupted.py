# SPDX-License-Identifier: GPL-2.0-or-later
"""A run that Ctrl-C or SIGTERM ends in any of its phases: a valid report of the results so far, and exit status 2."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple, cast

import pytest
from netblt_conformance.common.child import ENDING
from netblt_conformance.common.verdicts import Result, Verdict
from netblt_conformance.report import files
from netblt_conformance.report.page import render
from netblt_conformance.run import running
from netblt_conformance.run.engine import Plan
from netblt_conformance.run.interruption import Interruption
from netblt_conformance.run.running import Listener

# The command line, with a function that reports on standard error when it begins, and then waits: place, seconds.
HOOKED = """
import importlib, sys, time
from netblt_conformance.commands import cli
from netblt_conformance.reference import third
place, name = sys.argv.pop(1).split(":")
pause_s = float(sys.argv.pop(1))
owner = importlib.import_module(place)
original = getattr(owner, name)
third._FOR_A_PROCESS = 8
def hooked(*given, **options):
    print("PHASE", file=sys.stderr, flush=True)
    time.sleep(pause_s)
    return original(*given, **options)
setattr(owner, name, hooked)
sys.exit(cli.main(sys.argv[1:]))
"""


class Phase(NamedTuple):
    begins: str  # the function that is called first
    delays_s: tuple[float, ...]  # from there to the signal
    select: str = "CLOSE"
    pause_s: float = 0.0  # of a phase that may be over too soon


PHASES = {
    "the second judge": Phase("netblt_conformance.judges.second:disagreements", (0.0, 0.05, 0.2)),
    "the third judge": Phase("netblt_conformance.reference.third:disagreements", (0.0, 0.02, 0.05)),
    "the sweeps": Phase("netblt_conformance.run.running:_sweep", (0.0, 0.1, 0.5), "CLOSE,sweep_pipelined"),
    "the files": Phase("netblt_conformance.report.files:write", (0.0, 0.1), pause_s=0.5),
    "the page": Phase("netblt_conformance.report.page.render:write", (0.0, 0.1), pause_s=0.5),
}
WRITING = ("the files", "the page")


def interrupted(report: Path, phase: Phase, number: signal.Signals, delay_s: float) -> tuple[int, str]:
    """Runs, and sends the signal after the phase has begun: SIGINT to the process group, as a terminal does; SIGTERM to
    the process and then to its group, as the command timeout does. The exit status, and what was printed."""
    words = [sys.executable, "-c", HOOKED, phase.begins, str(phase.pause_s)]
    words += ["run", "--select", phase.select, "--report", str(report)]
    run = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
    assert run.stderr is not None
    while run.stderr.readline() != "PHASE\n":
        assert run.poll() is None, "the phase was not reached"
    time.sleep(delay_s)
    try:
        if number is signal.SIGTERM:
            run.send_signal(number)
        os.killpg(run.pid, number)
        output, errors = run.communicate(timeout=60)
    finally:
        run.kill()
    return run.returncode, output + errors


def moments() -> Iterator[object]:
    """Each signal at some moments of each phase: the first signal at the first one, the second signal at the last one,
    and the others at night."""
    for name, phase in PHASES.items():
        for number, daily_s in zip(ENDING, (phase.delays_s[0], phase.delays_s[-1]), strict=True):
            for delay_s in phase.delays_s:
                marks = () if delay_s == daily_s else pytest.mark.nightly
                yield pytest.param(name, number, delay_s, marks=marks)


@pytest.mark.usefixtures("built_library")
@pytest.mark.parametrize(("name", "number", "delay_s"), list(moments()))
def test_a_signal_in_any_phase_leaves_the_results_of_all_cases(
    tmp_path: Path, name: str, number: signal.Signals, delay_s: float
) -> None:
    status, words = interrupted(tmp_path, PHASES[name], number, delay_s)
    assert status == 2, words
    assert "interrupted" in words
    assert "Traceback" not in words
    lines = (tmp_path / files.JSON_LINES).read_text(encoding="utf-8").splitlines()
    first, *others = [json.loads(line) for line in lines]
    assert first["complete"] is (name in WRITING)
    assert len(others) >= 40
    assert not [row for row in others if row["verdict"] in ("FAIL", "ERROR")]
    assert ET.parse(tmp_path / files.JUNIT).getroot().get("tests") == str(len(others))
    assert "</html>" in (tmp_path / render.NAME).read_text(encoding="utf-8")


def test_a_signal_during_the_second_look_leaves_the_first_one_with_its_captures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Interrupted:
        def __init__(self, *_given: object, **_options: object) -> None:
            (tmp_path / "a.pcapng").write_bytes(b"of the second look")

        def run(self) -> None:
            raise KeyboardInterrupt

    class Anything:
        report, factory = tmp_path, argparse.Namespace(jobs=1, real_time=True)

    (tmp_path / "a.pcapng").write_bytes(b"of the first look")
    plan, options = cast("Plan", Anything()), argparse.Namespace(strict=False, verbose=False, quiet=True)
    listener = Listener(plan, ["a"], {}, options, live=False)
    result = Result("a", ["OPEN-01"], "active-sender", Verdict.FAIL, "wrong", capture="a.pcapng", expected="right")
    listener.results = [("a", result)]
    monkeypatch.setattr(running, "Supervisor", Interrupted)
    with pytest.raises(KeyboardInterrupt):
        running._look_again(plan, listener, 1.0)
    ((_, left),) = listener.results
    assert left.verdict is Verdict.FAIL
    assert left.capture is not None
    assert (tmp_path / left.capture).read_bytes() == b"of the first look"


@pytest.fixture
def handlers() -> Iterator[None]:
    """Those of the tests come back."""
    before = {number: signal.getsignal(number) for number in ENDING}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.usefixtures("handlers")
@pytest.mark.parametrize("number", ENDING)
def test_an_interruption_waits_while_it_is_held(number: signal.Signals) -> None:
    done: list[str] = []
    with Interruption() as interruption:

        def work() -> None:
            with interruption.held():
                os.kill(os.getpid(), number)
                done.append("the rest")

        with pytest.raises(KeyboardInterrupt):
            work()
        os.kill(os.getpid(), number)  # a second one does nothing
    os.kill(os.getpid(), number)  # nor one after the run
    assert done == ["the rest"]
    assert interruption.came


@pytest.mark.usefixtures("handlers")
def test_an_interruption_that_c_code_dropped_is_raised_by_the_next_progress() -> None:
    with Interruption() as interruption:
        interruption.check()
        with contextlib.suppress(KeyboardInterrupt):  # as a callback of C does
            os.kill(os.getpid(), signal.SIGTERM)
        with pytest.raises(KeyboardInterrupt):
            interruption.check()


def test_a_signal_to_a_forked_child_ends_the_child_alone() -> None:
    with Interruption() as interruption:
        pid = os.fork()
        if pid == 0:
            try:
                os.kill(os.getpid(), signal.SIGTERM)
            finally:
                os._exit(9)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -signal.SIGTERM
    assert not interruption.came
