# SPDX-License-Identifier: BSD-2-Clause
"""docs/rate-control.md: its diagram has the states of the automatic rate control, its table the constants."""

from __future__ import annotations

import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from runner.against import ROOT
from runner.constants import CORE, constants_in

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


ROW = re.compile(r"^\| `(NB_\w+)` \| (\S+) \| ([^|]+) \| ([^|]+) \| ([^|]+) \|$", re.MULTILINE)


def rows_of_constants() -> list[tuple[str, ...]]:
    page = (ROOT / "docs" / "rate-control.md").read_text()
    return ROW.findall(page.split("## Constants\n")[1].split("\n## ")[0])


def test_each_constant_has_one_row_with_its_value() -> None:
    defined = [(constant.name, constant.value) for constant in constants_in(ROOT)]
    assert [row[:2] for row in rows_of_constants()] == defined


def test_what_notices_a_constant_exists() -> None:
    bad_paths = (ROOT / "reference_impl" / "bench" / "paths.c").read_text()
    for name, _value, _unit, _reason, noticed_by in rows_of_constants():
        for what in re.findall(r"`(.+?)`", noticed_by):
            test = ROOT / "reference_impl" / "tests" / f"{what}.c"
            assert test.exists() or f'"{what}"' in bad_paths, f"{name}: there is no row and no test {what}"
