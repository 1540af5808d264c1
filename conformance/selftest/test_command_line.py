# SPDX-License-Identifier: GPL-2.0-or-later
"""What the command line reports about mistakes, and what it explains."""

from __future__ import annotations

import errno
import importlib
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from netblt_conformance.catalogue import catalogue
from netblt_conformance.commands import cli
from netblt_conformance.commands.cli import COMMANDS, PACKAGE, main
from netblt_conformance.commands.commands import checked_cases
from netblt_conformance.commands.explain import explain
from netblt_conformance.common import paths
from netblt_conformance.mutants import mutants
from netblt_conformance.run.loaded import with_cases


@pytest.mark.parametrize(("command", "words"), [("run", []), ("doctor", []), ("explain", ["CTRL-04"]), ("mutants", [])])
def test_an_unknown_option_shows_the_usage_of_its_command(
    capsys: pytest.CaptureFixture[str], command: str, words: list[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main([command, *words, "--bogus"])
    assert ended.value.code == 2
    shown = capsys.readouterr().err
    assert shown.startswith(f"usage: netblt-conformance {command} ")
    assert "unrecognized arguments: --bogus" in shown


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["--jobs", "0"], "'0' is no whole number from 1"),
        (["--jobs", "-1"], "'-1' is no whole number from 1"),
        (["--share", "4/3"], "give K/N with 1 <= K <= N"),
        (["--share", "x"], "give K/N with 1 <= K <= N"),
        (["--sweep-random", "-1"], "'-1' is no whole number from 0"),
        (["--delay-ms", "nan"], "'nan' is no number from 0 to 10"),
        (["--delay-ms", "-1"], "'-1' is no number from 0 to 10"),
        (["--delay-ms", "11"], "'11' is no number from 0 to 10"),
    ],
)
def test_a_value_that_means_nothing_is_refused_with_what_to_give(
    capsys: pytest.CaptureFixture[str], words: list[str], reason: str
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["run", *words])
    assert ended.value.code == 2
    assert reason in capsys.readouterr().err


def test_help_and_unknown_commands_import_nothing_that_takes_time() -> None:
    look = "import sys; from netblt_conformance.commands.cli import main\n"
    look += "try: main(sys.argv[1:])\nexcept SystemExit as ended: code = ended.code\n"
    look += "slow = {'scapy', 'pytest', 'pydantic', 'jinja2', 'rich', 'pcapng'} & sys.modules.keys()\n"
    look += "print(code, sorted(slow))"
    for words, code in ((["--help"], 0), (["nonsense"], 2), ([], 2)):
        done = subprocess.run([sys.executable, "-c", look, *words], capture_output=True, text=True, check=True)
        assert done.stdout.splitlines()[-1] == f"{code} []"


@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_of_the_table_has_options_and_help_within_80_columns(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    with pytest.raises(SystemExit) as ended:
        main([name, "--help"])
    assert ended.value.code == 0
    shown = capsys.readouterr().out
    assert shown.startswith(f"usage: netblt-conformance {name} ")
    assert len(shown.splitlines()) > 3
    assert max(map(len, shown.splitlines())) <= 80
    module, _, function = COMMANDS[name].action.partition(":")
    assert callable(getattr(importlib.import_module(f"{PACKAGE}.{module}"), function))


def test_a_selection_with_a_line_end_is_refused_as_any_other_that_is_not_there(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["list", "--select", "not\nthere"]) == 2
    assert "no such requirement, area or case" in capsys.readouterr().err


def test_an_ambiguity_that_is_not_there_is_refused_with_those_that_are(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "AMB-00"]) == 2
    assert "there are AMB-01 to AMB-" in capsys.readouterr().err


PLACE = re.compile(r"[\w./-]+\.(?:py|c):\d+")


@pytest.fixture(scope="module")
def cases() -> dict[str, tuple[str, ...]]:
    return checked_cases()


@pytest.fixture
def explained(capsys: pytest.CaptureFixture[str], cases: dict[str, tuple[str, ...]]) -> Callable[[str], str]:
    """What `explain` prints, with its lines joined."""

    def explained(identifier: str) -> str:
        assert explain(identifier, cases) == 0
        shown = capsys.readouterr().out
        assert max(map(len, shown.splitlines())) <= 80
        return " ".join(shown.split())

    return explained


def test_each_requirement_is_explained(explained: Callable[[str], str]) -> None:
    untested = 0
    for identifier, requirement in catalogue.requirements().items():
        shown = explained(identifier)
        assert shown.startswith(f"{identifier} {' '.join(requirement.title.split())} section")
        assert " ".join(requirement.requirement.split()) in shown
        places = shown.partition(" cases ")[2].partition(" seen in a capture ")[0]
        assert not re.search(r"\.py(?!:\d)", places), f"{identifier}: a case whose line is not found"
        reason = f"not tested because {' '.join(requirement.untested.split())}"
        assert (reason in shown) == bool(requirement.untested)
        untested += bool(requirement.untested)
    assert untested > 0


def test_each_ambiguity_is_explained(explained: Callable[[str], str]) -> None:
    for identifier, ambiguity in catalogue.ambiguities().items():
        shown = explained(identifier.lower())
        assert shown.startswith(f"{identifier} {' '.join(ambiguity.title.split())} accepted")
        assert " ".join(ambiguity.accepted.split()) in shown


def test_a_requirement_is_explained_with_the_places_of_its_cases_and_rules_and_with_its_mutants(
    explained: Callable[[str], str],
) -> None:
    shown = explained("ctrl-04")
    places = PLACE.findall(shown)
    lines = {place: source_line(place) for place in places}
    functions = [line for place, line in lines.items() if ".py:" in place]
    rules = [line for place, line in lines.items() if ".c:" in place]
    assert len(functions) >= 5
    assert all(line.startswith("def ") for line in functions)
    assert rules
    assert all("NB_RULE_CTRL_REDUNDANCY" in line for line in rules)
    for mutant in mutants.load(paths.mutants()):
        assert (f"{mutant.name}: " in shown) == ("CTRL-04" in mutant.planted)


@pytest.mark.parametrize(
    ("identifier", "fields"),
    [("DATA-01", ("breach", "proof", "suspected")), ("CTRL-10", ("suspected",)), ("R1030-02", ("same_as",))],
)
def test_a_requirement_is_explained_with_what_a_capture_must_show(
    explained: Callable[[str], str], identifier: str, fields: tuple[str, ...]
) -> None:
    rule = catalogue.requirements()[identifier].dissector
    shown = explained(identifier).partition(" in Wireshark ")[2].partition(" dissector rule ")[0]
    for field in fields:
        value = getattr(rule, field)
        assert (value if isinstance(value, str) else ", ".join(value)) in shown


def source_line(place: str) -> str:
    file, _, number = place.rpartition(":")
    return (paths.root() / file).read_text(encoding="utf-8").splitlines()[int(number) - 1]


# ---- what ends a command otherwise ----


def _ends_with(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> int:
    def action(_options: object) -> int:
        raise error

    known = cli._function
    monkeypatch.setattr(cli, "_function", lambda name: action if name == COMMANDS["list"].action else known(name))
    return main(["list"])


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)), "error: No space left on device\n"),
        (OSError(errno.EROFS, os.strerror(errno.EROFS), "place"), "error: place: Read-only file system\n"),
    ],
)
def test_a_full_disk_ends_a_command_with_one_line_and_no_verdict(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], error: OSError, line: str
) -> None:
    assert _ends_with(monkeypatch, error) == 2
    assert capsys.readouterr().err == line


def test_a_mistake_of_the_suite_is_not_the_exit_status_of_a_verdict(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _ends_with(monkeypatch, RuntimeError("a mistake")) == 2
    assert "RuntimeError: a mistake" in capsys.readouterr().err


def test_a_signal_during_imports_waits_until_they_are_complete(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    complete = []
    known = cli._function

    def interrupted(name: str) -> object:
        signal.pthread_kill(threading.get_ident(), signal.SIGINT)  # to no thread of the test run
        complete.append(known(name))
        return complete[-1]

    monkeypatch.setattr(cli, "_function", interrupted)
    assert main(["list"]) == 2
    assert len(complete) == 2  # its options, and what it does
    assert capsys.readouterr() == ("", "interrupted\n")


def test_cases_whose_loading_is_interrupted_are_not_called_broken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pytest, "main", lambda *_, **__: pytest.ExitCode.INTERRUPTED)
    with pytest.raises(KeyboardInterrupt):
        with_cases(lambda _loaded: 0)


@pytest.mark.parametrize("words", [["list"], ["explain", "CTRL-04"]])
def test_standard_output_that_is_closed_or_full_shows_no_traceback(words: list[str]) -> None:
    command = [sys.executable, "-m", PACKAGE, *words]
    closed = subprocess.run(["sh", "-c", 'exec "$@" >&-', "sh", *command], stderr=subprocess.PIPE, text=True)
    assert closed.returncode == 0
    assert "Traceback" not in closed.stderr
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True)
    assert (done.returncode, done.stderr.splitlines()[-1]) == (2, "error: No space left on device")


@pytest.mark.parametrize(
    "words",
    [["run", "--adapter"], ["campaign", "run"], ["replay"], ["play"], ["bakeoff"], ["experiment"]],
)
def test_a_toml_file_that_is_no_text_is_named_with_the_byte(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, words: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "junk.toml"
    file.write_bytes(b"a = \xff")
    assert main([*words, str(file)]) == 2
    assert capsys.readouterr().err == f"error: {file}: not UTF-8 text, at byte 4\n"
