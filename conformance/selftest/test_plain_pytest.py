# SPDX-License-Identifier: GPL-2.0-or-later
"""The cases under plain pytest: `pytest conformance/suite -k REQUIREMENT --pdb` on the sim link."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from netblt_conformance.common import paths
from netblt_conformance.mutants import mutation
from netblt_conformance.mutants.mutants import chosen, load

TIME_LIMIT_S = 300
ASCEND = "messages_in_a_control_ascend and active"


def run(*options: str, answers: str = "") -> subprocess.CompletedProcess[str]:
    """Runs pytest over the suite as a developer does; `answers`: what is typed."""
    command = [sys.executable, "-m", "pytest", str(paths.suite()), "-p", "no:cacheprovider", *options]
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTEST_")}
    return subprocess.run(
        command, input=answers, capture_output=True, text=True, timeout=TIME_LIMIT_S, env=environment, check=False
    )


@pytest.fixture(scope="module")
def numbers_skip(built_library: Path) -> Iterator[str]:
    """An implementation that numbers its control messages 1, 3, 5 (CTRL-01, CTRL-03)."""
    del built_library
    with mutation.workshop(paths.root() / "reference_impl" / "core") as made:
        (mutant,) = chosen(load(paths.mutants()), ["sequence-numbers-skip"])
        yield str(made.build(mutant))


def test_a_requirement_chooses_its_cases_and_they_pass(built_library: Path) -> None:
    del built_library
    done = run("-k", "CTRL-04", "-v")
    assert done.returncode == 0, done.stdout
    passed = re.findall(r"\w+\.py::(test_\w+)\[[^]]+\] PASSED", done.stdout)
    assert "test_every_control_carries_all_messages_that_are_not_acknowledged" in passed
    assert f"{len(passed)} passed" in done.stdout


def test_a_part_of_a_name_and_a_role_choose_a_case(built_library: Path) -> None:
    del built_library
    done = run("-k", ASCEND, "-v")
    assert "test_messages_in_a_control_ascend_without_gaps[active-receiver] PASSED" in done.stdout
    assert "1 passed" in done.stdout


def test_a_failure_shows_requirement_reason_and_packets(numbers_skip: str) -> None:
    done = run("-k", ASCEND, "--iut-library", numbers_skip)
    assert done.returncode == 1
    assert "FAIL CTRL-03: a CONTROL holds messages [1, 3" in done.stdout
    assert re.search(r"FAIL CTRL-01: .*#3, number 2 was due; expected: the next number", done.stdout)
    assert re.search(r"1 +[\d.]+ ms < OPEN$", done.stdout, re.MULTILINE)
    assert re.search(r"< CONTROL\(#1 GO\(0\), #3 GO\(1\).* <== here$", done.stdout, re.MULTILINE)
    assert re.search(r"ctrl\.py:\d+: CaseFailedError", done.stdout)


def test_pdb_stops_at_the_line_of_the_case_that_failed(numbers_skip: str) -> None:
    done = run("-k", ASCEND, "--iut-library", numbers_skip, "--pdb", answers="p sequences[:3]\nq\n")
    assert "-> t.must(in_order" in done.stdout
    assert "(Pdb) [1, 3, 5]" in done.stdout


def test_full_trace_shows_the_frames_below_the_case(numbers_skip: str) -> None:
    assert "case.py" not in run("-k", ASCEND, "--iut-library", numbers_skip).stdout
    assert "case.py" in run("-k", ASCEND, "--iut-library", numbers_skip, "--full-trace").stdout


def test_the_first_failure_can_end_the_run(numbers_skip: str) -> None:
    done = run("-k", "CTRL-03", "-x", "--iut-library", numbers_skip)
    assert "1 failed" in done.stdout
    assert "stopping after 1 failures" in done.stdout


def test_a_case_that_the_link_cannot_run_is_skipped_with_its_reason(built_library: Path) -> None:
    del built_library
    done = run("-k", "wire.py or robust.py or again.py or replay.py", "-rs")
    skipped = re.findall(r"^SKIPPED \[\d+\] .*: (.+)$", done.stdout, re.MULTILINE)
    assert skipped
    assert all(reason.strip() for reason in skipped)


def test_a_library_that_is_not_there_is_named(tmp_path: Path) -> None:
    done = run("--iut-library", str(tmp_path / "nothing.so"))
    assert done.returncode == 4
    assert "nothing.so is not there" in done.stderr
