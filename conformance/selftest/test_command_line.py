# SPDX-License-Identifier: GPL-2.0-or-later
"""What the command line says of mistakes, and what it explains."""

from __future__ import annotations

import pytest
from netblt_conformance import catalogue
from netblt_conformance.cli import main


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


def test_each_ambiguity_is_explained(capsys: pytest.CaptureFixture[str]) -> None:
    for identifier, ambiguity in catalogue.ambiguities().items():
        assert main(["explain", identifier.lower()]) == 0
        shown = capsys.readouterr().out
        assert shown.startswith(f"{identifier}  {ambiguity.title}\n")
        assert ambiguity.accepted in shown


def test_an_ambiguity_that_is_not_there_is_refused_with_those_that_are(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "AMB-00"]) == 2
    assert "there are AMB-01 to AMB-" in capsys.readouterr().err
