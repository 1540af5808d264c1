# SPDX-License-Identifier: BSD-2-Clause
"""docs/rate-control.md: its diagram names the stages and phases of the automatic rate control, and no others."""

from __future__ import annotations

import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from runner.against import ROOT
from runner.constants import CORE

ENUM = re.compile(r"^enum nb_rate_(?:stage|phase) \{\n(.*?)^\};", re.MULTILINE | re.DOTALL)


def states_in_code() -> set[str]:
    text = "".join(path.read_text() for path in (ROOT / CORE).rglob("*.h"))
    bodies = ENUM.findall(text)
    assert len(bodies) == 2, "want one enum of stages and one of phases"
    return set(re.findall(r"^ +NB_RATE_(\w+)", "".join(bodies), re.MULTILINE))


def states_in_diagram() -> set[str]:
    page = (ROOT / "docs" / "rate-control.md").read_text()
    diagram = page.split("## States\n\n```\n")[1].split("```")[0]
    return set(re.findall(r"\| +([A-Z]{2,})\b", diagram))


def test_the_diagram_has_the_states_of_the_code() -> None:
    assert states_in_diagram() == states_in_code()
