# SPDX-License-Identifier: GPL-2.0-or-later
"""A sender that has one buffer under way at a time is legal (AMB-79): no FAIL, and no case without a verdict."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from netblt_conformance.common.verdicts import ExitCode, Verdict
from selftest.faulty import faulty_library

if TYPE_CHECKING:
    from selftest.conftest import Command

CASES = ("DATA-11", "CTRL-12", "ORDER-01", "ORDER-02", "DATA-15", "RATE-02")


def test_what_needs_several_buffers_under_way_is_not_applicable(
    built_library: Path, tmp_path: Path, command: Command
) -> None:
    del built_library
    library = faulty_library(tmp_path, "one-buffer-at-a-time")
    words = ("--iut-library", str(library), "--role", "passive-sender", "--no-sweep", "--no-dissector")
    ran = command("run", "--select", ",".join(CASES), *words)
    assert ran.status == ExitCode.HOLDS, ran.output
    found = {result.verdict for result in ran.results}
    assert found == {Verdict.PASS, Verdict.WARN, Verdict.NA}, ran.output
    assert {one.requirements[0] for one in ran.results if one.verdict is Verdict.WARN} == {"DATA-11"}


def test_a_go_that_is_lost_is_none_of_this(built_library: Path, tmp_path: Path, command: Command) -> None:
    """Its number is not acknowledged, and the buffer does not begin after the OK of the one before either."""
    del built_library
    library = faulty_library(tmp_path, "one-new-message-per-control")
    words = ("--iut-library", str(library), "--role", "passive-sender", "--no-sweep", "--no-dissector")
    assert command("run", "--select", "CTRL-12", *words).status == ExitCode.FAILED
