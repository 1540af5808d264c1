# SPDX-License-Identifier: GPL-2.0-or-later
"""Files and folders for results are tried before any work, and the trial leaves nothing."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

import pytest
from netblt_conformance.commands import cli
from netblt_conformance.commands.cli import COMMANDS, main
from netblt_conformance.common.destinations import output_file, output_file_or_stdout, output_folder
from netblt_conformance.common.errors import LinkUnavailableError
from netblt_plan import cli as plan

FILES = [
    ("run", "--junit"),
    ("run", "--json-lines"),
    ("run", "--summary"),
    ("run", "--annotations"),
    ("check", "--junit"),
    ("check", "--html"),
    ("watch", "--html"),
    ("watch", "--write"),
    ("draw", "--output"),
    ("shrink", "--output"),
    ("mutants", "--matrix"),
    ("mutants", "--results"),
    ("learn", "--save"),
    ("bakeoff", "--json"),
]
FOLDERS = [
    ("run", "--report"),
    ("doctor", "--captures"),
    ("check", "--write"),
    ("generate", "--output"),
    ("play", "--output"),
    ("replay", "--output"),
    ("learn", "--output"),
    ("bakeoff", "--output"),
]
RESULTS = {option.removeprefix("--") for _, option in FILES + FOLDERS} - {
    "annotations",
    "json",
    "json-lines",
    "junit",
    "matrix",
    "results",
    "summary",
}


@pytest.mark.parametrize(("command", "option"), FILES)
def test_a_file_that_cannot_be_written_is_refused_before_the_work(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str, option: str
) -> None:
    folder = tmp_path / "folder.svg"
    folder.mkdir()
    cases = ((tmp_path / "none" / "x.svg", "No such file or directory"), (folder, "Is a directory"))
    for path, why in cases:
        report = ["--report", str(tmp_path / "report")] if command == "run" else []
        assert main([command, option, str(path), *report]) == 2
        assert capsys.readouterr() == ("", f"error: {option} {path}: {why}; choose another file\n")


def test_a_refused_run_leaves_an_earlier_report(tmp_path: Path) -> None:
    earlier = tmp_path / "results.jsonl"
    earlier.write_text("earlier")
    assert main(["run", "--report", str(tmp_path), "--junit", str(tmp_path / "none" / "x")]) == 2
    assert earlier.read_text() == "earlier"


@pytest.mark.parametrize(("command", "option"), FOLDERS)
def test_a_folder_that_cannot_be_used_is_refused_before_the_work(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str, option: str
) -> None:
    file = tmp_path / "file"
    file.write_text("mine")
    for path, why in ((file, "File exists"), (file / "below", "Not a directory")):
        assert main([command, option, str(path)]) == 2
        assert capsys.readouterr() == ("", f"error: {option} {path}: {why}; choose another folder\n")
    assert file.read_text() == "mine"


@pytest.mark.parametrize("name", sorted(COMMANDS.keys() - {"campaign"}))  # there it depends on the action
def test_no_option_for_results_is_used_untried(name: str) -> None:
    parser = argparse.ArgumentParser()
    cli._function(COMMANDS[name].options)(parser)
    for action in parser._actions:
        if action.dest.replace("_", "-") in RESULTS:
            assert action.type not in (None, Path), action.option_strings


def test_a_trial_leaves_nothing_and_changes_nothing(tmp_path: Path) -> None:
    output_file("--x")(str(tmp_path / "new"))
    output_folder("--x")(str(tmp_path / "a" / "b"))
    assert not list(tmp_path.iterdir())
    kept, link, pipe = tmp_path / "kept", tmp_path / "link", tmp_path / "pipe"
    kept.write_text("mine")
    link.symlink_to(tmp_path / "nowhere")
    os.mkfifo(pipe)
    for path in (kept, link, pipe):  # a pipe without a reader would block
        assert output_file("--x")(str(path)) == path
    output_folder("--x")(str(tmp_path))
    assert kept.read_text() == "mine"
    assert sorted(tmp_path.iterdir()) == [kept, link, pipe]


def test_standard_output_is_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert output_file_or_stdout("--x")("-") == "-"
    assert output_file_or_stdout("--x")("file") == "file"
    with pytest.raises(LinkUnavailableError, match="embedded null byte"):
        output_file("--x")("a\0b")


# ---- netblt-plan ----


PLANNED = ["--rate", "4M", "--rtt", "20ms", "--size", "300k"]


@pytest.mark.parametrize(
    ("words", "option", "what"),
    [
        (["run", "template", "--report"], "--report", "folder"),
        (["run", "template", "--row", "automatic", "--capture"], "--capture", "file"),
        (["run", "template", "--csv"], "--csv", "file"),
        (["compare", "--json"], "--json", "file"),
        (["plan", *PLANNED, "--picture"], "--picture", "file"),
    ],
)
def test_a_plan_is_not_made_when_its_results_cannot_be_stored(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], option: str, what: str
) -> None:
    file = tmp_path / "file"
    file.write_text("mine")
    path = file / "x.svg"
    assert plan.main([*words, str(path)]) == 2
    assert capsys.readouterr() == ("", f"error: {option} {path}: Not a directory; choose another {what}\n")


@pytest.mark.parametrize(
    "words",
    [["run", "template", "--time", "nan"], ["run", "template", "--seeds", "0"], ["run", "template", "--seed", "-1"]],
)
def test_a_number_without_meaning_is_refused(capsys: pytest.CaptureFixture[str], words: list[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        plan.main(words)
    assert ended.value.code == 2
    assert f"argument {words[2]}: '{words[3]}' is no " in capsys.readouterr().err


def test_standard_output_of_a_plan_may_be_full_or_end_early() -> None:
    command = [sys.executable, "-m", "netblt_plan", "list"]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True)
    assert (done.returncode, done.stderr) == (2, "error: No space left on device\n")
    ended = subprocess.run(["sh", "-c", 'exec "$@" | :', "sh", *command], capture_output=True, text=True)
    assert ended.stderr == ""
