# SPDX-License-Identifier: GPL-2.0-or-later
"""What the command line reports about mistakes, and what it explains."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
from collections.abc import Callable

import pytest
from netblt_conformance.catalogue import catalogue
from netblt_conformance.commands.cli import COMMANDS, PACKAGE, main
from netblt_conformance.commands.commands import checked_cases
from netblt_conformance.commands.explain import explain
from netblt_conformance.common import paths
from netblt_conformance.mutants import mutants


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
