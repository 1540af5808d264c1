# SPDX-License-Identifier: GPL-2.0-or-later
"""The CI files, run by hand: their shell steps in a scratch repository of another project."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import textwrap
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from netblt_conformance.common import paths
from netblt_conformance.judges.tshark import plugin_folder

CI = paths.root() / "conformance" / "ci"
FILES = ["github-actions.yml", "gitlab-ci.yml"]
COMMAND = paths.root() / ".venv" / "bin" / "netblt-conformance"
PIPE = """
name = "somebody else's endpoint"
[pipe]
command = ["{python}", "{adapter_dir}/endpoint.py"]
"""
BLOCK = re.compile(r"^(?P<indent> *)(?:- |run: |- run: )\|\n(?P<body>(?:(?P=indent)  .*\n|\n)+)", re.MULTILINE)
VARIABLE = re.compile(r"^ +(?P<name>[A-Z_]+): (?P<value>\S.*?)(?: +#.*)?$", re.MULTILINE)

pytestmark = [
    pytest.mark.usefixtures("built_writer"),
    pytest.mark.skipif(not COMMAND.is_file(), reason="tools/setup has not run here"),
    pytest.mark.skipif(
        shutil.which("tshark") is None or not list(plugin_folder().glob("*/epan/netblt.so")), reason="no plugin"
    ),
]


def steps(file: str) -> list[str]:
    """The shell scripts of a CI file, in order."""
    text = (CI / file).read_text(encoding="utf-8")
    return [textwrap.dedent(found["body"]) for found in BLOCK.finditer(text) if "sysctl" not in found["body"]]


def variables(file: str) -> dict[str, str]:
    text = (CI / file).read_text(encoding="utf-8")
    return {found["name"]: found["value"] for found in VARIABLE.finditer(text)}


@pytest.fixture
def foreign(tmp_path: Path) -> Path:
    """A repository with an endpoint that is not ours to know, its adapter and a capture of its own."""
    (tmp_path / "netblt-adapter.toml").write_text(PIPE, encoding="utf-8")
    shutil.copy(paths.adapters() / "example_pipe_endpoint.py", tmp_path / "endpoint.py")
    (tmp_path / "build.sh").write_text("#!/bin/sh\ntouch built\n", encoding="utf-8")
    (tmp_path / "build.sh").chmod(0o755)
    return tmp_path


BASELINE = ".netblt-baseline"
GITHUB_SUMMARY = "step-summary.md"


def run(file: str, repository: Path, **more: str) -> list[int]:
    """Every step as the runner would: the exit statuses. What GitHub's runner reads is in "log" and in the summary
    afterwards."""
    environment = {
        **os.environ,
        **variables(file),
        "NETBLT_SUITE": str(paths.root()),
        "GITHUB_STEP_SUMMARY": str(repository / GITHUB_SUMMARY),
        "ACCEPT": "false",
        "SELECT": "CKSUM-01",
        **more,
    }
    (repository / GITHUB_SUMMARY).unlink(missing_ok=True)
    found = []
    with (repository / "log").open("wb") as log:
        for script in steps(file):
            shell = ["bash", "-e", "-o", "pipefail", "-c", script]
            done = subprocess.run(shell, cwd=repository, env=environment, stdout=log, check=False, timeout=300)
            found.append(done.returncode)
    return found


def summary(file: str, repository: Path) -> str:
    """What the job shows of the run."""
    of_gitlab = repository / variables(file)["REPORT"] / "summary.md"
    return (repository / GITHUB_SUMMARY if file.startswith("github") else of_gitlab).read_text(encoding="utf-8")


def errors_shown(repository: Path) -> list[tuple[str, str]]:
    """Title and message of each error that GitHub's runner reads from the output."""
    log = (repository / "log").read_text(encoding="utf-8")
    found = re.findall(r"^::error title=([^:,]*)::(.*)$", log, re.MULTILINE)
    assert len(found) == log.count("::error"), "the runner reads each of them"
    return [(unescaped(title), unescaped(message)) for title, message in found]


def unescaped(words: str) -> str:
    return words.replace("%3A", ":").replace("%2C", ",").replace("%0A", "\n").replace("%25", "%")


def break_the_checksum(repository: Path) -> str:
    """Plants a fault in the endpoint; returns the text before it."""
    endpoint = repository / "endpoint.py"
    good = endpoint.read_text(encoding="utf-8")
    endpoint.write_text(good.replace("~ones_sum(bytes(covered))", "ones_sum(bytes(covered))"), encoding="utf-8")
    assert endpoint.read_text(encoding="utf-8") != good
    return good


@pytest.mark.parametrize("file", FILES)
def test_the_steps_judge_a_foreign_endpoint_and_leave_a_report(file: str, foreign: Path) -> None:
    assert len(steps(file)) >= 3
    assert set(run(file, foreign)) == {0}
    assert (foreign / "built").is_file(), "its own build was run"
    report = foreign / variables(file)["REPORT"]
    assert ET.parse(report / "junit.xml").getroot().get("failures") == "0"
    assert (report / "report.html").is_file()


@pytest.mark.long
@pytest.mark.parametrize("file", FILES)
def test_an_endpoint_that_breaks_a_rule_makes_the_job_fail(file: str, foreign: Path) -> None:
    break_the_checksum(foreign)
    assert 1 in run(file, foreign)
    assert ET.parse(foreign / variables(file)["REPORT"] / "junit.xml").getroot().get("failures") != "0"


@pytest.mark.long
@pytest.mark.parametrize("file", FILES)
def test_only_a_failure_that_the_baseline_does_not_have_fails_the_job(file: str, foreign: Path) -> None:
    def again(**more: str) -> list[int]:
        return run(file, foreign, SELECT="a refusal carries a good checksum", **more)

    good = break_the_checksum(foreign)
    assert 1 in again()
    assert "### Failed: " in summary(file, foreign)
    assert not (foreign / BASELINE).exists(), "a failed run is no baseline"
    first = errors_shown(foreign)

    assert set(again(ACCEPT="true")) == {0}
    assert (foreign / BASELINE / "results.jsonl").is_file()
    assert set(again()) == {0}
    assert "Still failing: " in summary(file, foreign)
    assert errors_shown(foreign) == []

    bad, report = (foreign / "endpoint.py").read_text(encoding="utf-8"), foreign / variables(file)["REPORT"]
    (foreign / "endpoint.py").write_text(good, encoding="utf-8")
    assert set(again()) == {0}
    assert "### Fixed: " in summary(file, foreign)
    (foreign / "endpoint.py").write_text(bad, encoding="utf-8")
    assert 1 in again(), "a run that passes is the next baseline"
    assert "### New failures: " in summary(file, foreign)
    since = json.loads((report / "results.jsonl").read_text(encoding="utf-8").splitlines()[0])["baseline"]
    assert since["fails"]
    if file.startswith("github"):
        assert errors_shown(foreign) == first
        assert any(title.startswith("CKSUM-01 ") and message.startswith("FAIL: ") for title, message in first)


@pytest.mark.parametrize("file", FILES)
def test_a_baseline_that_cannot_be_read_is_no_verdict(file: str, foreign: Path) -> None:
    (foreign / BASELINE).mkdir()
    (foreign / BASELINE / "results.jsonl").write_text("{", encoding="utf-8")
    assert max(run(file, foreign)) == 2
    assert (foreign / BASELINE / "results.jsonl").read_text(encoding="utf-8") == "{"


@pytest.mark.parametrize("file", FILES)
def test_an_endpoint_that_does_not_start_is_no_verdict(file: str, foreign: Path) -> None:
    (foreign / "endpoint.py").write_text("raise SystemExit(3)\n", encoding="utf-8")
    assert max(run(file, foreign)) == 2


def test_captures_of_the_repository_are_judged(foreign: Path) -> None:
    (foreign / "captures").mkdir()
    shutil.copy(
        paths.root() / "pcaps" / "violations" / "order02-progress-first.pcapng", foreign / "captures" / "a b.pcapng"
    )
    *_, last = run("github-actions.yml", foreign)
    assert last != 0
    assert "ORDER-02" in (foreign / "netblt-report" / "check.xml").read_text(encoding="utf-8")


@pytest.mark.parametrize("file", FILES)
def test_every_variable_that_a_step_uses_is_set_or_optional(file: str) -> None:
    used = {name for script in steps(file) for name in re.findall(r"\$\{?([A-Z_]+)(?!\w)", script)}
    assert used - {"SELECT", "GITHUB_STEP_SUMMARY"} <= set(variables(file))
