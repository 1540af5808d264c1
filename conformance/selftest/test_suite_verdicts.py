# SPDX-License-Identifier: GPL-2.0-or-later
"""Verdicts only get worse, keep the first reason, and add up to the right exit status."""

from __future__ import annotations

import itertools
from typing import cast

import pytest
from netblt_conformance.cases.case import Case, Profile
from netblt_conformance.catalogue import catalogue
from netblt_conformance.common.model import PASSIVE_RECEIVER
from netblt_conformance.common.verdicts import GRADED, Cause, ExitCode, Judgement, Result, Verdict, exit_code
from netblt_conformance.common.waits import Awaited
from netblt_conformance.links.base import Link
from netblt_conformance.peer.exchange import UnmetError


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


@pytest.mark.parametrize(
    ("requirement", "awaited", "verdict", "accused"),
    [
        ("CTRL-16", Awaited.TRANSFER, Verdict.FAIL, "DATA-08"),  # a may
        ("CTRL-16", Awaited.CONTROL, Verdict.WARN, ""),
        ("ROBUST-04", Awaited.TRANSFER, Verdict.WARN, ""),  # the tester sends what it must not send
        ("CTRL-04", Awaited.TRANSFER, Verdict.FAIL, ""),
    ],
)
def test_a_transfer_that_never_ends_fails_whatever_the_case_is_about(
    requirement: str, awaited: Awaited, verdict: Verdict, accused: str
) -> None:
    judged = (catalogue.requirements()[requirement],)
    case = Case("one", judged, PASSIVE_RECEIVER, "stimulus", cast(Link, None), 1, Profile())

    def body() -> None:
        unmet = UnmetError("the transfer to finish", "2 of 4 buffers are confirmed", cause=Cause.ABSENCE)
        unmet.awaited = awaited
        raise unmet

    case.run(body)
    assert (case.judgement.verdict, case.judgement.requirement) == (verdict, accused)
