# SPDX-License-Identifier: GPL-2.0-or-later
"""The verdict table: passes of one case share a row, everything else has a row and a reason of its own."""

from __future__ import annotations

import dataclasses

from netblt_conformance.model import ROLES_BY_NAME
from netblt_conformance.report import table
from netblt_conformance.verdicts import Origin, Result, Verdict


def results(*roles: str, verdict: Verdict = Verdict.PASS, reason: str = "", arm: str = "stimulus") -> list[Result]:
    return [Result("a_case", ["CTRL-04"], role, verdict, reason, arm) for role in roles]


def test_passes_of_one_case_share_a_row_that_names_the_roles() -> None:
    (row,) = table.table(results("active-sender", "passive-sender"), False, everything=True)
    assert row.split("  ")[-1] == "active-sender, passive-sender"


def test_four_roles_are_called_all_and_control_arms_add_nothing() -> None:
    rows = table.table(results(*ROLES_BY_NAME) + results(*ROLES_BY_NAME, arm="control"), False, everything=True)
    assert len(rows) == 1
    assert rows[0].endswith("all roles")


def test_a_failure_keeps_its_own_row_with_role_and_reason_among_passes() -> None:
    failure = results("passive-sender", verdict=Verdict.FAIL, reason="it lied")
    rows = table.table(results("active-sender") + failure, False, everything=True)
    assert [row.split()[0] for row in rows] == ["PASS", "FAIL"]
    assert "passive-sender" in rows[1]
    assert rows[1].splitlines()[1].strip() == "it lied"


def test_other_requirements_are_other_rows() -> None:
    other = [dataclasses.replace(result, requirements=["CTRL-05"]) for result in results("active-sender")]
    assert len(table.table(results("active-sender") + other, False, everything=True)) == 2


def test_without_everything_plain_passes_are_left_out() -> None:
    warning = results("active-sender", verdict=Verdict.WARN, reason="hm")
    assert len(table.table(results("passive-sender") + warning, False, everything=False)) == 1


def habit(count: int, reason: str = "message 7 has padding") -> list[Result]:
    return [
        Result(f"case_{n}", ["WIRE-12"], "active-sender", Verdict.WARN, reason, origin=Origin.MONITOR)
        for n in range(count)
    ]


def test_a_habit_that_shows_in_every_case_is_said_three_times_and_counted() -> None:
    rows = table.table(habit(390), False, everything=True)
    assert len(rows) == 3
    assert rows[2].endswith("(and 387 rows like it in results.jsonl)")
    assert not rows[1].endswith("results.jsonl)")


def test_three_rows_alike_and_rows_of_cases_are_all_shown() -> None:
    assert len(table.table(habit(3), False, everything=True)) == 3
    own = [dataclasses.replace(row, case=f"case {n}", origin=Origin.CASE) for n, row in enumerate(habit(5))]
    assert len(table.table(own, False, everything=True)) == 5


def test_what_differs_in_more_than_numbers_is_counted_apart() -> None:
    both = habit(4) + habit(4, "message 9 has padding") + habit(4, "message 9 has no end")
    rows = table.table(both, False, everything=True)
    assert [row.split("(and ")[1].split()[0] for row in rows if "(and " in row] == ["5", "1"]
