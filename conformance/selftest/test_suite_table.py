# SPDX-License-Identifier: GPL-2.0-or-later
"""The verdict table: passes of one case share a row, everything else has a row and a reason of its own."""

from __future__ import annotations

import dataclasses

from netblt_conformance.common.model import ROLES_BY_NAME
from netblt_conformance.common.verdicts import Result, Verdict
from netblt_conformance.report import table


def results(*roles: str, verdict: Verdict = Verdict.PASS, seen: str = "", arm: str = "stimulus") -> list[Result]:
    return [Result("a_case", ["CTRL-04"], role, verdict, seen, arm, expected="the truth") for role in roles]


def test_passes_of_one_case_share_a_row_that_names_the_roles() -> None:
    (row,) = table.table(results("active-sender", "passive-sender"), False, everything=True)
    assert row.split("  ")[-1] == "active-sender, passive-sender"


def test_four_roles_are_called_all_and_control_arms_add_nothing() -> None:
    rows = table.table(results(*ROLES_BY_NAME) + results(*ROLES_BY_NAME, arm="control"), False, everything=True)
    assert len(rows) == 1
    assert rows[0].endswith("all roles")


def test_a_failure_keeps_its_own_row_with_role_and_reason_among_passes() -> None:
    failure = results("passive-sender", verdict=Verdict.FAIL, seen="it lied")
    rows = table.table(results("active-sender") + failure, False, everything=True)
    assert [row.split()[0] for row in rows] == ["PASS", "FAIL"]
    assert "passive-sender" in rows[1]
    assert rows[1].splitlines()[1].strip() == "it lied; expected: the truth"


def test_other_requirements_are_other_rows() -> None:
    other = [dataclasses.replace(result, requirements=["CTRL-05"]) for result in results("active-sender")]
    assert len(table.table(results("active-sender") + other, False, everything=True)) == 2


def test_without_everything_plain_passes_are_left_out() -> None:
    warning = results("active-sender", verdict=Verdict.WARN, seen="hm")
    assert len(table.table(results("passive-sender") + warning, False, everything=False)) == 1


def test_rows_fit_eighty_columns_and_keep_every_word() -> None:
    failure = dataclasses.replace(
        *results("passive-sender", verdict=Verdict.FAIL, seen="expected " + "a packet " * 30 + "and none came"),
        case="a_case_whose_name_is_long_" * 4,
        requirements=["CTRL-04", "CTRL-05", "RESEND-02"],
    )
    (row,) = table.rows([failure], False)
    lines = row.splitlines()
    assert lines[0].startswith("FAIL    CTRL-04, CTRL-05, RESEND-02  a case")
    assert max(map(len, lines)) <= 80
    words = (
        f"FAIL CTRL-04, CTRL-05, RESEND-02 {failure.case} passive-sender {failure.seen}; expected: the truth".replace(
            "_", " "
        )
    )
    assert row.split() == words.split()


def test_a_word_that_is_longer_than_a_line_is_not_broken() -> None:
    path = "/a" * 60
    assert path in table.wrapped(f"report: {path}")[-1]


def test_only_a_terminal_gets_colours() -> None:
    failure = results("passive-sender", verdict=Verdict.FAIL, seen="it lied")
    assert table.rows(failure, True)[0].startswith("\x1b[1;31mFAIL  \x1b[0m  CTRL-04  a case  passive-sender")
    assert "\x1b" not in table.rows(failure, False)[0] + table.summary(failure, False)
