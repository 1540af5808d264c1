# SPDX-License-Identifier: BSD-2-Clause
"""tools/bench --constants: what it finds in source text, and when it reports that a row noticed."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from runner import constants
from runner.against import Outcome
from runner.processes import BenchError

HEADER = """\
#ifndef NETBLT_CORE_RATE_X_H
#define NETBLT_CORE_RATE_X_H
#define SHARE 0.5 /* of the link */
#define PACKETS_MIN 24
#define TIMES(x) ((x) * 2)
enum { STALLS = 4 };
enum { OFFERS = 16 }; /* under way */
enum nb_state {
    NB_STATE_START = 1,
};
#define DERIVED (2 * SHARE)
#endif
"""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    core = tmp_path / constants.CORE
    (core / "rate").mkdir(parents=True)
    (core / "rate" / "rate_x.h").write_text(HEADER)
    (core / "rate_y.c").write_text("#define FIRST 8u\n")
    (core / "other.c").write_text("#define NOT_OURS 1\n")
    return tmp_path


def test_each_number_with_a_name_counts_once_and_guards_sizes_and_expressions_do_not(tree: Path) -> None:
    found = [(constant.name, constant.value) for constant in constants.constants_in(tree)]
    assert found == [("SHARE", "0.5"), ("PACKETS_MIN", "24"), ("FIRST", "8u")]


@pytest.mark.parametrize(
    ("value", "half", "twice"),
    [("0.5", "0.25", "1.0"), ("24", "12", "48"), ("8u", "4u", "16u"), ("1", None, "2"), ("5", "2", "10"),
     ("1e6", "500000.0", "2000000.0"), ("(2 * SHARE)", None, None), ("SHARE", None, None)],
)  # fmt: skip
def test_literals_are_scaled_and_expressions_are_not(value: str, half: str | None, twice: str | None) -> None:
    assert (constants.scaled(value, 0.5), constants.scaled(value, 2)) == (half, twice)


def test_a_replaced_value_changes_its_definition_and_nothing_else(tree: Path) -> None:
    [share] = [constant for constant in constants.constants_in(tree) if constant.name == "SHARE"]
    constants.replace(tree, share, "0.25")
    assert (tree / share.path).read_text() == HEADER.replace("SHARE 0.5", "SHARE 0.25")


def outcome(figure: float, met: bool) -> Outcome:
    return Outcome("a", "auto", figure, figure, 0.9, met)


@pytest.mark.parametrize(
    ("figure", "met", "words"),
    [(0.951, True, []), (0.945, True, []), (0.93, True, ["a -2.1%"]), (0.99, True, ["a +4.2%"]),
     (0.949, False, ["a BELOW"])],
)  # fmt: skip
def test_a_row_notices_a_missed_goal_and_a_change_of_a_hundredth(figure: float, met: bool, words: list[str]) -> None:
    assert constants.noticed({("a", 1): outcome(0.95, True)}, {("a", 1): outcome(figure, met)}) == words


def test_a_missed_goal_of_a_later_seed_is_shown_rather_than_a_change() -> None:
    before = {("a", seed): outcome(0.95, True) for seed in (1, 2)}
    after = {("a", 1): outcome(0.92, True), ("a", 2): outcome(0.8, False)}
    assert constants.noticed(before, after) == ["a BELOW"]


@pytest.mark.parametrize("fails", [False, True])
def test_the_source_is_as_before_after_each_trial(tree: Path, monkeypatch: pytest.MonkeyPatch, fails: bool) -> None:
    built: list[str] = []

    def build(root: Path, _folder: Path) -> Path:
        built.append((root / constants.CORE / "rate_y.c").read_text())
        if fails:
            raise BenchError("no compiler")
        return Path("program")

    monkeypatch.setattr(constants, "build", build)
    monkeypatch.setattr(constants, "outcomes", lambda *_: {("a", 1): outcome(0.5, False)})
    [first] = [constant for constant in constants.constants_in(tree) if constant.name == "FIRST"]
    given = argparse.Namespace(rows=["a"], seeds=1)
    shown = constants.try_constant(tree, tree, first, "16u", given, {("a", 1): outcome(0.95, True)})
    assert built == ["#define FIRST 16u\n"]
    assert shown == ("fails: no compiler" if fails else "a BELOW")
    assert (tree / constants.CORE / "rate_y.c").read_text() == "#define FIRST 8u\n"
