# SPDX-License-Identifier: GPL-2.0-or-later
"""Executes the steps of the CI templates as their runners do, in the repository of another project, with a wheel that
is built and installed here. A file of tests: pytest conformance/nightly/ci_steps.py     after tools/build."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from netblt_conformance.common import paths
from netblt_conformance.judges.tshark import plugin_folder

sys.path.insert(0, str(paths.root() / "conformance"))
from selftest.test_ci import FILES, SCRIPT, steps, variables

PIPE = """
name = "endpoint of another project"
[pipe]
command = ["{python}", "{adapter_dir}/endpoint.py"]
"""
BASELINE = ".netblt-baseline"
GITHUB_SUMMARY = "step-summary.md"
SELECT = "a refusal carries a good checksum"
HAS_PLUGIN = shutil.which("tshark") is not None and bool(list(plugin_folder().glob("*/epan/netblt.so")))


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheels")
    subprocess.run([sys.executable, paths.root() / "tools" / "wheel.py", folder], check=True)
    return folder


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the first test installs the suite, and the others find it, as in a cache."""
    return tmp_path_factory.mktemp("home") / "suite"


@pytest.fixture
def foreign(tmp_path: Path, wheels: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with an endpoint that is not ours to know, its adapter and its own build."""
    (tmp_path / "netblt-adapter.toml").write_text(PIPE, encoding="utf-8")
    shutil.copy(paths.adapters() / "example_pipe_endpoint.py", tmp_path / "endpoint.py")
    shutil.copy(SCRIPT, tmp_path)
    (tmp_path / "build.sh").write_text("#!/bin/sh\ntouch built\n", encoding="utf-8")
    (tmp_path / "build.sh").chmod(0o755)
    for name, value in {"NETBLT_PACKAGES": str(wheels), "NETBLT_HOME": str(home)}.items():
        monkeypatch.setenv(name, value)
    return tmp_path


def run(file: str, repository: Path, **more: str) -> list[int]:
    """Every step as the runner executes it: the exit statuses. What GitHub's runner reads is in "log" and in the
    summary afterwards. `file` may be the script itself."""
    scripts = ["sh netblt-ci.sh"] if file == SCRIPT.name else steps(file)
    known = {} if file == SCRIPT.name else variables(file)
    environment = {
        **known, **os.environ, "PYTHON": sys.executable, "ACCEPT": "false", "SELECT": SELECT, "OPTIONS": "--no-sweep",
    }  # fmt: skip
    if file.startswith("github"):
        environment |= {"GITHUB_STEP_SUMMARY": GITHUB_SUMMARY, "GITHUB_ACTIONS": "true"}
    (repository / GITHUB_SUMMARY).unlink(missing_ok=True)
    found = []
    with (repository / "log").open("wb") as log:
        for script in scripts:
            if "sysctl" in script:
                continue  # of the machine, and for the wire link only
            shell = ["bash", "-e", "-o", "pipefail", "-c", script]
            done = subprocess.run(
                shell, cwd=repository, env=environment | more, stdout=log, stderr=log, check=False, timeout=600
            )
            found.append(done.returncode)
    return found


def log(repository: Path) -> str:
    return (repository / "log").read_text(encoding="utf-8")


def summary(file: str, repository: Path) -> str:
    """What the job shows of the run."""
    place = GITHUB_SUMMARY if file.startswith("github") else "netblt-report/summary.md"
    return (repository / place).read_text(encoding="utf-8")


def errors_shown(repository: Path) -> list[tuple[str, str]]:
    """Title and message of each error that GitHub's runner reads from the output."""
    found = re.findall(r"^::error title=([^:,]*)::(.*)$", log(repository), re.MULTILINE)
    assert len(found) == log(repository).count("::error"), "the runner reads each of them"
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


ALL = [*FILES, SCRIPT.name]


@pytest.mark.parametrize("file", ALL)
def test_the_steps_judge_a_foreign_endpoint_and_leave_a_report(file: str, foreign: Path) -> None:
    assert set(run(file, foreign, SELECT="CKSUM-01")) == {0}, log(foreign)
    assert (foreign / "built").is_file() == (file != SCRIPT.name), "its own build is run by the templates"
    report = foreign / "netblt-report"
    assert ET.parse(report / "junit.xml").getroot().get("failures") == "0"
    assert (report / "report.html").is_file()
    assert (foreign / BASELINE / "results.jsonl").is_file()


@pytest.mark.parametrize("file", ALL)
def test_only_a_failure_that_the_baseline_does_not_have_fails_the_job(file: str, foreign: Path) -> None:
    good = break_the_checksum(foreign)
    assert 1 in run(file, foreign), log(foreign)
    assert "### Failed: " in summary(file, foreign)
    assert not (foreign / BASELINE).exists(), "a failed run is no baseline"
    first = errors_shown(foreign)

    assert set(run(file, foreign, ACCEPT="true")) == {0}
    assert (foreign / BASELINE / "results.jsonl").is_file()
    assert set(run(file, foreign)) == {0}
    assert "Still failing: " in summary(file, foreign)
    assert errors_shown(foreign) == []

    bad, report = (foreign / "endpoint.py").read_text(encoding="utf-8"), foreign / "netblt-report"
    (foreign / "endpoint.py").write_text(good, encoding="utf-8")
    assert set(run(file, foreign)) == {0}
    assert "### Fixed: " in summary(file, foreign)
    (foreign / "endpoint.py").write_text(bad, encoding="utf-8")
    assert 1 in run(file, foreign), "a run that passes is the next baseline"
    assert "### New failures: " in summary(file, foreign)
    since = json.loads((report / "results.jsonl").read_text(encoding="utf-8").splitlines()[0])["baseline"]
    assert since["fails"]
    if file.startswith("github"):
        assert errors_shown(foreign) == first
        assert any(title.startswith("CKSUM-01 ") and message.startswith("FAIL: ") for title, message in first)


@pytest.mark.parametrize("file", ALL)
def test_a_baseline_that_cannot_be_read_is_no_verdict(file: str, foreign: Path) -> None:
    (foreign / BASELINE).mkdir()
    (foreign / BASELINE / "results.jsonl").write_text("{", encoding="utf-8")
    assert max(run(file, foreign)) == 2
    assert (foreign / BASELINE / "results.jsonl").read_text(encoding="utf-8") == "{"


@pytest.mark.parametrize("file", ALL)
def test_an_endpoint_that_does_not_start_is_no_verdict(file: str, foreign: Path) -> None:
    (foreign / "endpoint.py").write_text("raise SystemExit(3)\n", encoding="utf-8")
    assert max(run(file, foreign)) == 2


@pytest.mark.skipif(not HAS_PLUGIN, reason="no plugin")
@pytest.mark.parametrize("file", ALL)
def test_captures_of_the_repository_are_judged(file: str, foreign: Path) -> None:
    (foreign / "captures").mkdir()
    captured = paths.root() / "pcaps" / "violations" / "order02-progress-first.pcapng"
    shutil.copy(captured, foreign / "captures" / "a b.pcapng")
    *_, last = run(file, foreign, DISSECTOR="yes")
    assert last == 1, log(foreign)
    assert "ORDER-02" in (foreign / "netblt-report" / "check.xml").read_text(encoding="utf-8")


def test_the_suite_is_installed_again_only_when_its_packages_change(foreign: Path, home: Path, wheels: Path) -> None:
    assert set(run(SCRIPT.name, foreign)) == {0}, log(foreign)
    (home / "bin" / "netblt-conformance").touch()
    before = (home / "bin" / "netblt-conformance").stat().st_mtime_ns
    assert set(run(SCRIPT.name, foreign)) == {0}
    assert (home / "bin" / "netblt-conformance").stat().st_mtime_ns == before
    (wheels / "note").touch()
    assert set(run(SCRIPT.name, foreign)) == {0}
    assert "note" in (home / "origin").read_text(encoding="utf-8")
