# SPDX-License-Identifier: GPL-2.0-or-later
"""conformance/nightly/broken_programs.py: the order of its runs, its figures, and the programs that it builds."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from netblt_conformance.adapter import adapter_file
from netblt_conformance.common import paths
from netblt_conformance.common.model import ALL_ROLES
from netblt_conformance.mutants import mutants
from selftest.scripts import nightly_script

broken = nightly_script("broken_programs")
REFERENCE = broken.REFERENCE


def test_runs_of_the_reference_stand_before_between_and_behind_the_programs() -> None:
    assert broken.order(["a", "b", "c"], 2) == [REFERENCE, "a", "b", REFERENCE, "c", REFERENCE]
    assert broken.order(["a", "b"], 2) == [REFERENCE, "a", "b", REFERENCE]


def test_a_ratio_compares_with_the_nearest_runs_of_the_reference() -> None:
    seconds = {"a": 120.0, "b": 150.0}
    runs = [
        broken.Measured(REFERENCE, 40.0),
        broken.Measured("a", seconds["a"]),
        broken.Measured(REFERENCE, 80.0),
        broken.Measured("b", seconds["b"]),
        broken.Measured(REFERENCE, 120.0),
    ]
    assert broken.ratios(runs) == [None, 2.0, None, 1.5, None]
    assert broken.ratios(runs[:2]) == [None, 3.0]


def test_every_limit_that_is_missed_is_reported() -> None:
    reference = broken.Measured(REFERENCE, 60.0)
    good = broken.Measured("good", 119.0, 19.0, "CTRL-01", "CTRL-01", 100, 9)
    assert broken.missed([reference, good, reference]) == []
    slow, late, silent = (
        broken.Measured("slow", 121.0, 1.0),
        broken.Measured("late", 60.0, 20.5),
        broken.Measured("silent", 60.0),
    )
    words = broken.missed([reference, slow, late, silent, reference])
    assert [line.partition(":")[0] for line in words] == ["slow", "late", "silent"]
    assert broken.missed([broken.Measured(REFERENCE, 60.0, failed=2)]) == [f"{REFERENCE}: 2 FAIL"]


def test_the_chosen_mutants_exist_and_break_twelve_things() -> None:
    entries = mutants.chosen(mutants.load(paths.mutants()), broken.CHOSEN)
    assert len(entries) == len(broken.CHOSEN) == 12
    assert len({entry.requirement for entry in entries}) >= 10


@pytest.mark.usefixtures("built_library")
def test_a_mutant_is_built_as_a_program_with_an_adapter_of_its_own(tmp_path: Path) -> None:
    [entry] = mutants.chosen(mutants.load(paths.mutants()), ["no-null-ack"])
    folder = tmp_path / entry.name
    folder.mkdir()
    program = broken.build_program(entry, folder, tmp_path / "objects")
    done = subprocess.run([program, "--version"], capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert "netblt" in done.stdout
    found = adapter_file.read(broken.write_adapter(entry.name, folder))
    assert found.name == "netblt, no-null-ack"
    assert set(found.roles) == set(ALL_ROLES)
    commands = [found.expand(role.command[:1], {}) for role in found.roles.values()]
    assert commands == [[str(program)]] * len(ALL_ROLES)
