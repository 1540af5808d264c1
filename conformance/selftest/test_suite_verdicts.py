# SPDX-License-Identifier: GPL-2.0-or-later
"""Verdicts only get worse, keep the first reason, and add up to the right exit status."""

from __future__ import annotations

import itertools

import pytest
from netblt_conformance.common.verdicts import GRADED, ExitCode, Judgement, Result, Verdict, exit_code


def result(verdict: Verdict, role: str = "active-sender") -> Result:
    return Result("a case", ["CTRL-04"], role, verdict, "seen", expected="expected")


@pytest.mark.parametrize(("first", "second"), list(itertools.product(GRADED, repeat=2)))
def test_a_judgement_takes_only_what_is_worse(first: Verdict, second: Verdict) -> None:
    judgement = Judgement()
    judgement.worsen(first, "first", 1, expected="one")
    judgement.worsen(second, "second", 2, expected="two")
    assert judgement.verdict is max(first, second)
    if second > first:
        assert (judgement.seen, judgement.expected, judgement.frame) == ("second", "two", 2)
    elif first is not Verdict.PASS:
        assert (judgement.seen, judgement.expected, judgement.frame) == ("first", "one", 1)


@pytest.mark.parametrize("verdict", [Verdict.NA, Verdict.OBSERVED])
def test_what_is_not_graded_cannot_worsen(verdict: Verdict) -> None:
    with pytest.raises(ValueError, match="cannot worsen"):
        Judgement().worsen(verdict, "no step on the ladder")


@pytest.mark.parametrize(
    ("verdicts", "code"),
    [
        ([Verdict.PASS], ExitCode.HOLDS),
        ([Verdict.PASS, Verdict.WARN, Verdict.INCONC, Verdict.NA, Verdict.OBSERVED], ExitCode.HOLDS),
        ([Verdict.WARN], ExitCode.HOLDS),
        ([Verdict.PASS, Verdict.FAIL], ExitCode.FAILED),
        ([Verdict.FAIL, Verdict.ERROR], ExitCode.FAILED),
        ([Verdict.PASS, Verdict.ERROR], ExitCode.COULD_NOT_RUN),
        ([Verdict.INCONC], ExitCode.COULD_NOT_RUN),
        ([Verdict.NA], ExitCode.COULD_NOT_RUN),
        ([], ExitCode.COULD_NOT_RUN),
    ],
)
def test_the_exit_status_follows_from_the_verdicts(verdicts: list[Verdict], code: ExitCode) -> None:
    assert exit_code([result(verdict) for verdict in verdicts]) is code


def test_a_role_that_is_inconclusive_throughout_is_no_success() -> None:
    results = [result(Verdict.PASS), result(Verdict.INCONC, "passive-sender"), result(Verdict.NA, "passive-sender")]
    assert exit_code(results) is ExitCode.COULD_NOT_RUN


def test_a_result_survives_json() -> None:
    before = Result("a case", ["CTRL-04", "CTRL-01"], "passive-sender", Verdict.NA, "why", frame=3, observed={"x": "1"})
    assert Result.from_json(before.to_json()) == before
