# SPDX-License-Identifier: GPL-2.0-or-later
"""What a run leaves: JSON by its schema, JUnit, the HTML page, progress, and a valid rest after an interruption."""

from __future__ import annotations

import io
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest
from netblt_conformance.common import paths, wording
from netblt_conformance.common.verdicts import ExitCode, Origin, Result, Verdict, exit_code, harden
from netblt_conformance.mutants import covered
from netblt_conformance.report import files, progress
from netblt_conformance.report.page import render
from selftest.page_reader import PageReader
from selftest.xsd import is_valid

if TYPE_CHECKING:
    from selftest.conftest import Command

SCHEMA = json.loads((paths.root() / "conformance" / "schemas" / "results.schema.json").read_text(encoding="utf-8"))
HEADER: dict[str, Any] = {
    "suite": "netblt-conformance 0",
    "link": "sim",
    "testing": {"name": "x", "library": "x.so", "link": "sim"},
    "seed": 1,
    "observed": {},
}


def rows(text: str) -> list[dict[str, Any]]:
    found = [json.loads(line) for line in text.splitlines()]
    for row in found:
        jsonschema.validate(row, SCHEMA)
    return found


@pytest.mark.usefixtures("built_library")
def test_the_lines_of_a_run_follow_the_schema(command: Command) -> None:
    done = command("run", "--select", "CTRL-04,QUIT", "--no-sweep", "--no-dissector", "--json-lines")
    first, *others = rows(done.output)
    assert (first["kind"], first["layout"], first["complete"]) == ("run", files.LAYOUT_VERSION, True)
    assert {row["kind"] for row in others} == {"result"}
    assert ET.fromstring(done.junit).find("properties/property[@name='layout']") is not None
    assert first["schedule"]["delay"] == "1 ms"
    assert {"suite", "python", "scapy", "kernel", "libnetblt_iut.so"} <= first["versions"].keys()
    assert is_valid(done.report / files.JUNIT, XSD)


XSD = paths.root() / "conformance" / "schemas" / "junit.xsd"


def test_junit_of_every_verdict_keeps_to_its_schema(tmp_path: Path) -> None:
    results = [
        Result("c", ["CTRL-04"], "active-sender", verdict, "why & <how>", frame=3, expected="y") for verdict in Verdict
    ]
    file = tmp_path / "junit.xml"
    text = files.junit({**HEADER, "versions": {"python": "3"}}, results)
    file.write_text(text, encoding="utf-8")
    assert is_valid(file, XSD)
    assert "versions.python" in text
    for good, bad in (('tests="', 'tests="x'), ("<failure message", "<failed message"), ('classname="', 'class="')):
        assert good in text
        file.write_text(text.replace(good, bad, 1).replace("</failure", "</failure"), encoding="utf-8")
        assert not is_valid(file, XSD), bad


def test_junit_has_real_time_and_labels_virtual_time() -> None:
    first = Result("c", ["CTRL-04"], "active-sender", Verdict.PASS, seconds=17.5)
    monitor = Result(
        "c", ["CTRL-05"], "active-sender", Verdict.FAIL, "x", seconds=17.5, origin=Origin.MONITOR, expected="y"
    )
    times = files.Times(3.25, {first.key: 0.125})
    for link, labelled in (("sim", 2), ("pipe", 2), ("wire", 0)):
        suite = ET.fromstring(files.junit({**HEADER, "link": link}, [first, monitor], times))
        assert suite.get("time") == "3.250000"
        assert [case.get("time") for case in suite.iter("testcase")] == ["0.125000", "0.000000"]
        virtual = [one.get("value") for one in suite.iter("property") if one.get("name") == "virtual_seconds"]
        assert virtual == ["17.500000"] * labelled


def test_each_result_that_did_not_pass_has_the_command_that_repeats_it() -> None:
    results = [Result("a_case: one", ["CTRL-04"], "active-sender", verdict, "why", expected="y") for verdict in Verdict]
    page = PageReader(render.page(HEADER, results, base=["netblt-conformance", "run", "--seed", "7"]))
    again = "netblt-conformance run --seed 7 --role active-sender --select 'a case: one'"
    wanted = {Verdict.WARN, Verdict.INCONC, Verdict.FAIL, Verdict.ERROR}
    assert len(page.rows) == len(Verdict)
    for row in page.rows:
        command = page.detail(row)["command"]
        assert command == (again if row["badge"] in {verdict.label for verdict in wanted} else "")


@pytest.mark.usefixtures("built_library")
def test_the_times_of_a_run_are_no_longer_than_the_run(command: Command) -> None:
    began_s = time.monotonic()
    done = command("run", "--select", "TIMER-02", "--no-sweep", "--no-dissector", "--jobs", "1")
    took_s = time.monotonic() - began_s
    suite = ET.fromstring(done.junit)
    single_s = [float(case.get("time") or 0) for case in suite.iter("testcase")]
    assert all(single_s)
    assert sum(single_s) <= float(suite.get("time") or 0) <= took_s
    assert not set(single_s) & {result.seconds for result in done.results}, "virtual time is another one"


def test_the_schema_refuses_what_is_no_result() -> None:
    good = {"kind": "result", **wording.row(Result("c", ["CTRL-04"], "active-sender", Verdict.PASS))}
    jsonschema.validate(good, SCHEMA)
    accused = {"verdict": "FAIL", "reason": "x; expected: y", "seen": "x", "expected": "y"}
    jsonschema.validate({**good, **accused}, SCHEMA)
    unstated = [{**accused, name: ""} for name in ("seen", "expected", "reason")]
    changed: list[dict[str, Any]] = [
        {"verdict": "GOOD"},
        {"requirements": ["x"]},
        {"frame": 0},
        {"more": 1},
        {"verdict": "FAIL"},
    ]
    for wrong in (*changed, *unstated):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate({**good, **wrong}, SCHEMA)


def test_strict_turns_a_should_into_a_failure_and_nothing_else() -> None:
    warned = Result("c", ["CTRL-10"], "active-sender", Verdict.WARN, "late", expected="in time")
    assert harden(warned).verdict is Verdict.FAIL
    assert wording.reason(harden(warned)) == "late; expected: in time (a should; --strict)"
    assert exit_code([harden(warned)]) is ExitCode.FAILED
    for verdict in set(Verdict) - {Verdict.WARN}:
        other = Result("c", [], "active-sender", verdict, "why", expected="y")
        assert harden(other) == other


@pytest.mark.usefixtures("built_library")
def test_the_page_shows_every_result_and_needs_nothing_else(command: Command) -> None:
    done = command("run", "--select", "CTRL-04,WIRE-01,sweep", "--role", "active-receiver", "--no-dissector")
    text = (done.report / render.NAME).read_text(encoding="utf-8")
    page = PageReader(text)
    assert page.open == []
    assert page.fetched == []
    assert "url(" not in text
    assert len(page.rows) == len(done.results)
    for one in done.results:
        assert one.case.replace("_", " ") in page.words
    assert "version byte" in page.words, "the profile"
    assert "schedules" in page.words, "the sweeps"


def test_what_an_implementation_says_cannot_break_the_page() -> None:
    evil = '</details><script>alert("x")</script>'
    result = Result(evil, ["CTRL-04"], "active-sender", Verdict.FAIL, evil, observed={evil: evil}, expected=evil)
    text = render.page(
        {**HEADER, "testing": {"name": evil, "link": "sim"}, "observed": {"active-sender": {evil: evil}}}, [result], {}
    )
    assert "<script>alert" not in text
    assert PageReader(text).open == []


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_counts_on_a_terminal_and_is_silent_elsewhere() -> None:
    terminal, pipe = Terminal(), io.StringIO()
    for stream in (terminal, pipe):
        shown = progress.Progress(wanted=True, stream=stream)
        shown.show("cases", 3, 10, "a case")
        shown.clear()
    assert "cases 3/10" in terminal.getvalue()
    assert pipe.getvalue() == ""
    quiet = Terminal()
    progress.Progress(wanted=False, stream=quiet).show("cases", 1, 2)
    assert quiet.getvalue() == ""


def test_progress_without_a_terminal_is_a_line_each_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    pipe = io.StringIO()
    shown = progress.Progress(wanted=True, stream=pipe)
    for done in range(10):
        now[0] += 20
        shown.show("cases", done, 10, "a case")
    assert pipe.getvalue() == "cases 2/10, a case\ncases 5/10, a case\ncases 8/10, a case\n"
    silent = progress.Progress(wanted=False, stream=pipe)
    now[0] += 100
    silent.show("cases", 9, 10)
    assert "cases 9/10" not in pipe.getvalue()


def test_progress_draws_without_a_thread_tells_the_time_left_and_gives_the_cursor_back() -> None:
    terminal, threads = Terminal(), threading.active_count()
    shown = progress.Progress(wanted=True, stream=terminal)
    for done in range(0, 11, 5):
        shown.show("cases", done, 10, "[a] \x1b case")
        time.sleep(1.5 * progress.REFRESH_S)
    assert threading.active_count() == threads, "workers are forked while the line is there"
    drawn = terminal.getvalue()
    assert "cases 5/10" in drawn
    assert "--:--" in drawn, "nothing is known at the beginning"
    assert "00:00" in drawn
    assert "[a] \\u001b case" in drawn
    hides, shows = "\x1b[?25l", "\x1b[?25h"
    assert hides in drawn
    assert shows not in drawn
    shown.clear()
    assert terminal.getvalue().rindex(shows) > terminal.getvalue().rindex(hides)
    shown.say("trying them again")
    shown.clear()
    assert "trying them again" in terminal.getvalue()


@pytest.mark.usefixtures("built_library")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_leaves_valid_results_so_far(tmp_path: Path, number: signal.Signals) -> None:
    words = [sys.executable, "-m", "netblt_conformance", "run", "-v", "--no-dissector", "--report", str(tmp_path)]
    run = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
    assert run.stdout is not None
    shown = 0
    while shown < 21:  # what is tested, and 20 results; a result that needs more than one line continues indented
        shown += not run.stdout.readline().startswith(" ")
    os.killpg(run.pid, number) if number is signal.SIGINT else run.send_signal(number)
    time.sleep(0.05)
    run.send_signal(number)  # a user in a hurry
    output, errors = run.communicate(timeout=60)
    assert run.returncode == 2, errors
    assert "interrupted" in output
    assert "Traceback" not in errors
    first, *others = rows((tmp_path / files.JSON_LINES).read_text(encoding="utf-8"))
    assert first["complete"] is False
    assert len(others) >= 20
    assert not [row for row in others if row["verdict"] in ("FAIL", "ERROR")], "an interruption convicts nobody"
    assert ET.parse(tmp_path / files.JUNIT).getroot().get("tests") == str(len(others))
    assert "Interrupted" in (tmp_path / render.NAME).read_text(encoding="utf-8")


@pytest.mark.usefixtures("built_writer")
def test_coverage_accounts_for_every_requirement(command: Command) -> None:
    done = command("coverage", "--json")
    document = json.loads(done.output)
    assert done.status == (1 if document["mistakes"] else 0)
    assert len(document["requirements"]) > 150
    (ctrl04,) = [row for row in document["requirements"] if row["requirement"] == "CTRL-04"]
    assert ctrl04["cases"]
    assert ctrl04["mutants"]
    assert ctrl04["dissector"] == {"filter": "ctrl_redundancy", "reach": "violation"}
    untested = command("list", "--list-untested").output
    for row in document["requirements"]:
        assert (row["untested"] is not None) == bool(re.search(rf"^{row['requirement']} ", untested, re.MULTILINE))
    assert document["layout"] == covered.LAYOUT_VERSION
