# SPDX-License-Identifier: GPL-2.0-or-later
"""The CI templates: they parse, their steps are clean shell, and what they call runs the suite and compares it with the
baseline. conformance/nightly/ci_steps.py executes all of their steps."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from netblt_conformance.commands.cli import main
from netblt_conformance.common import paths

CI = paths.root() / "conformance" / "ci"
SCRIPT = CI / "netblt-ci.sh"
FILES = ["github-actions.yml", "gitlab-ci.yml"]
COMMANDS = paths.root() / ".venv" / "bin"
DEFAULT = re.compile(r'^: "\$\{(?P<name>[A-Z_]+):=(?P<value>.*?)\}"', re.MULTILINE)
LOADER = pytest.importorskip("yaml")


def loaded(file: str) -> dict[str, Any]:
    document: dict[str, Any] = LOADER.safe_load((CI / file).read_text(encoding="utf-8"))
    return document


def variables(file: str) -> dict[str, str]:
    document = loaded(file)
    found: dict[str, str] = (
        document["env"] if file.startswith("github") else document["netblt-conformance"]["variables"]
    )
    return found


def steps(file: str) -> list[str]:
    """The shell scripts of a template, in the order in which the runner executes them."""
    document = loaded(file)
    if file.startswith("github"):
        (job,) = document["jobs"].values()
        return [step["run"] for step in job["steps"] if "run" in step]
    return [*document["netblt-conformance"]["before_script"], *document["netblt-conformance"]["script"]]


def shellcheck(file: Path) -> str:
    done = subprocess.run(["shellcheck", "-s", "sh", file], capture_output=True, text=True, timeout=60, check=False)
    return done.stdout + done.stderr


@pytest.mark.skipif(shutil.which("shellcheck") is None, reason="no shellcheck")
@pytest.mark.parametrize("file", FILES)
def test_the_steps_of_a_template_are_clean_shell(file: str, tmp_path: Path) -> None:
    joined = tmp_path / "steps"
    joined.write_text("\n".join(steps(file)), encoding="utf-8")
    assert shellcheck(joined) == ""


@pytest.mark.parametrize("file", FILES)
def test_the_steps_build_install_and_run_in_this_order(file: str) -> None:
    text = "\n".join(steps(file))
    places = [text.find(words) for words in ("./build.sh", "netblt-ci.sh install", "netblt-ci.sh run", " captures")]
    assert -1 not in places
    assert places == sorted(places)


@pytest.mark.parametrize("file", FILES)
def test_a_template_sets_only_variables_that_the_script_reads_and_documents_state_all(file: str) -> None:
    read = set(DEFAULT.findall(SCRIPT.read_text(encoding="utf-8")))
    names = {name for name, _ in read}
    assert set(variables(file)) <= names
    stated = set(re.findall(r"`([A-Z_]+)`", (paths.root() / "docs" / "ci.md").read_text(encoding="utf-8")))
    assert names <= stated
    defaults = dict(read)
    assert {name: value for name, value in variables(file).items() if value != defaults[name]}.keys() <= {
        "LINK",
        "ACCEPT",
    }


@pytest.mark.parametrize("file", FILES)
def test_the_suite_and_the_baseline_are_cached_apart(file: str) -> None:
    """The baseline changes with each run of the default branch, the suite with its packages only."""
    cached: list[dict[str, Any]] = []
    if file.startswith("github"):
        (job,) = loaded(file)["jobs"].values()
        cached = [step["with"] for step in job["steps"] if "cache" in step.get("uses", "")]
        assert "${{ env.NETBLT_PACKAGES }}" in cached[0]["key"], "GitHub never changes a cache that it has"
    else:
        cached = loaded(file)["netblt-conformance"]["cache"]
    of_path = {str(one.get("path") or one["paths"][0]): str(one["key"]) for one in cached}
    (suite,) = (key for path, key in of_path.items() if "NETBLT_HOME" in path)
    (baseline,) = (key for path, key in of_path.items() if "BASELINE" in path)
    assert suite != baseline


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    assert main(["skeleton", "python", str(tmp_path)]) == 0
    assert main(["skeleton", "shell", str(tmp_path)]) == 0
    return tmp_path


def script(repository: Path, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
    """The script with the suite of this repository, which needs no installation."""
    environment = os.environ | {"PATH": f"{COMMANDS}:{os.environ['PATH']}", "OPTIONS": "--no-sweep", "DISSECTOR": "no"}
    return subprocess.run(
        ["sh", "netblt-ci.sh", *words],
        cwd=repository,
        env=environment | more,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.mark.usefixtures("built_writer")
@pytest.mark.skipif(not (COMMANDS / "netblt-conformance").is_file(), reason="tools/setup has not run here")
def test_a_failure_that_was_accepted_fails_no_later_run(repository: Path) -> None:
    """The skeleton refuses each OPEN: the case fails."""
    accepted = script(repository, "run", SELECT="two packets", ACCEPT="true")
    assert accepted.returncode == 0, accepted.stdout + accepted.stderr
    assert "### Failed: " in (repository / "netblt-report" / "summary.md").read_text(encoding="utf-8")
    assert (repository / ".netblt-baseline" / "results.jsonl").is_file()

    again = script(repository, "run", SELECT="two packets", GITHUB_ACTIONS="true", GITHUB_STEP_SUMMARY="page.md")
    assert again.returncode == 0, again.stdout + again.stderr
    assert "Still failing: " in (repository / "page.md").read_text(encoding="utf-8")
    assert "::error" not in again.stdout, "annotations are for new failures"


def test_what_cannot_be_done_is_reported_with_the_variable_to_set(repository: Path) -> None:
    for words, more, reason in (
        (["install"], {"NETBLT_PACKAGES": "nowhere"}, "nowhere is no package, and has no wheel and no .deb file"),
        (["run"], {"PATH": "/usr/bin:/bin"}, "netblt-conformance is not installed"),
        (["run"], {"DISSECTOR": "perhaps"}, "DISSECTOR=perhaps: give yes or no"),
        (["sweep"], {}, "unknown word 'sweep'; usage: sh netblt-ci.sh [install | run | captures]"),
    ):
        done = script(repository, *words, **more)
        assert done.returncode == 2
        assert reason in done.stderr


def stub(folder: Path, name: str, body: str) -> None:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
    (folder / name).chmod(0o755)


@pytest.mark.parametrize(("dissector", "more"), [("", ""), ("no", ""), ("yes", " tshark")])
def test_of_debian_packages_those_of_debugging_symbols_are_left_out(
    repository: Path, dissector: str, more: str
) -> None:
    """tshark is installed only where the dissector check is demanded."""
    for name in ("netblt_0.1.0_amd64.deb", "netblt-dbgsym_0.1.0_amd64.deb"):
        (repository / "packages").mkdir(exist_ok=True)
        (repository / "packages" / name).touch()
    stub(repository / "bin", "id", "echo 0")
    stub(repository / "bin", "apt-get", 'echo "$@" >>apt-get-was-called')
    path = f"{repository / 'bin'}:{os.environ['PATH']}"
    done = script(repository, "install", NETBLT_PACKAGES="packages", PATH=path, DISSECTOR=dissector)
    assert done.returncode == 0, done.stderr
    installed = f"{repository}/.netblt-suite/packages/netblt_0.1.0_amd64.deb{more}"
    assert (repository / "apt-get-was-called").read_text(encoding="utf-8").splitlines() == [
        "-qq update",
        f"-qq install --yes --no-install-recommends {installed}",
    ]


@pytest.mark.parametrize(("missing", "option"), [("tshark", " --no-dissector"), ("nothing", "")])
def test_captures_are_checked_where_both_the_plugin_and_tshark_are_installed(
    repository: Path, missing: str, option: str
) -> None:
    stub(repository / "bin", "dpkg-query", f'case " $* " in *" {missing} "*) exit 1 ;; esac')
    stub(repository / "bin", "netblt-conformance", 'echo "$@"; touch "$5/results.jsonl"')
    (repository / "netblt-report").mkdir()
    done = script(repository, "run", PATH=f"{repository / 'bin'}:{os.environ['PATH']}", DISSECTOR="")
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith(f"summary.md{option} --no-sweep\n")
