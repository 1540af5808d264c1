# SPDX-License-Identifier: BSD-2-Clause
"""tools/bench --against: what it reads from netblt-paths, and how it compares two programs."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from runner import against
from runner.processes import BenchError

HEADING = "row rate figure least goal wire\n"


def program(folder: Path, name: str, figure: float, remark: str = "") -> Path:
    """A netblt-paths that knows the row `one`, and notes each call in the file `calls`."""
    path = folder / name
    path.write_text(
        "#!/bin/sh\n"
        f'echo "{name} $*" >>"{folder}/calls"\n'
        "for row; do :; done\n"
        'if [ "$row" != one ]; then echo "netblt-paths: there is no row $row" >&2; exit 2; fi\n'
        f"printf 'heading\\none auto {figure} {figure} 0.9 1.0 {remark}\\n'\n"
    )
    path.chmod(0o755)
    return path


def test_a_row_is_read_with_its_goal() -> None:
    text = HEADING + "a auto 0.97 0.96 0.95 1.0 0%\nb fixed 0.5 0.5 0.95 1.0 0% BELOW\nc auto 1 1 0.9 1 1% SPURIOUS\n"
    rows = against.read_outcomes(text)
    assert [(row.row, row.rate, row.figure, row.least, row.goal) for row in rows[:1]] == [
        ("a", "auto", 0.97, 0.96, 0.95)
    ]
    assert [row.met for row in rows] == [True, False, False]


@pytest.mark.parametrize("bad", ["half a line", "", "a auto fast 1 1"])
def test_a_line_that_is_no_row_is_an_error(bad: str) -> None:
    with pytest.raises(BenchError, match="no row"):
        against.read_outcomes(HEADING + bad + "\n")


def test_both_programs_take_turns_with_the_same_seeds(tmp_path: Path) -> None:
    old, new = program(tmp_path, "old", 0.8, "BELOW"), program(tmp_path, "new", 0.96)
    pairs = against.in_turns(old, new, "one", [1, 2, 3], "auto")
    calls = (tmp_path / "calls").read_text().split("\n")[:-1]
    assert [(call.split()[0], call.split()[2]) for call in calls] == [
        ("old", "1"), ("new", "1"), ("new", "2"), ("old", "2"), ("old", "3"), ("new", "3"),
    ]  # fmt: skip
    assert [(pair.old.figure, pair.new.figure) for pair in pairs] == [(0.8, 0.96)] * 3
    assert " 1.2000 " in against.line(pairs)
    assert "BELOW" not in against.line(pairs)


def test_a_figure_of_zero_has_no_ratio(tmp_path: Path) -> None:
    pairs = against.in_turns(program(tmp_path, "old", 0), program(tmp_path, "new", 0.5), "one", [1], "auto")
    assert against.line(pairs).split()[2:5] == ["0.0000", "0.5000", "-"]


def test_a_goal_that_the_new_program_misses_is_shown(tmp_path: Path) -> None:
    old, new = program(tmp_path, "old", 0.96), program(tmp_path, "new", 0.8, "BELOW")
    assert "2 of 2 seeds BELOW" in against.line(against.in_turns(old, new, "one", [1, 2], "auto"))


def test_a_row_that_a_program_does_not_have_is_left_out(tmp_path: Path) -> None:
    old, new = program(tmp_path, "old", 0.96), program(tmp_path, "new", 0.96)
    assert against.in_turns(old, new, "two", [1], "auto") == []


def test_a_program_that_fails_is_an_error(tmp_path: Path) -> None:
    failing = tmp_path / "failing"
    failing.write_text("#!/bin/sh\nexit 3\n")
    failing.chmod(0o755)
    with pytest.raises(BenchError, match="status 3"):
        against.run_row(failing, "one", [])


def test_a_commit_that_does_not_exist_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(BenchError, match="no commit"):
        against.unpack("no-such-commit", tmp_path / "source")
