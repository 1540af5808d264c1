# SPDX-License-Identifier: GPL-2.0-or-later
"""What foreign implementations chose, where a case of the suite once was stricter than RFC 998."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from netblt_conformance.common.verdicts import Verdict
from selftest.faulty import faulty_library

if TYPE_CHECKING:
    from selftest.conftest import Command

# Edits of the core, and cases that pass, by a part of their names.
CHOICES = [
    # The GO leaves 15 ms after the OK.
    (("control-messages-collected", "packed-apart"), ["sets the control timer again"]),
    # The time of the packets is a small part of the data timer.
    (("data-timers-with-a-long-variance",), ["tightens its timer", "make earlier ones due soon"]),
]


@pytest.mark.usefixtures("built_library")
@pytest.mark.parametrize(("edits", "cases"), CHOICES, ids=[edits[0] for edits, _ in CHOICES])
def test_a_choice_that_rfc_998_leaves_passes(
    command: Command, tmp_path: Path, edits: tuple[str, ...], cases: list[str]
) -> None:
    library = str(faulty_library(tmp_path, *edits))
    words = ("--role", "passive-receiver", "--no-dissector", "--no-sweep")
    ran = command("run", "--iut-library", library, "--select", ",".join(cases), *words)
    found = {one.case: one.verdict for one in ran.results if not one.case.startswith("monitor")}
    assert list(found.values()) == [Verdict.PASS] * len(cases), ran.output
