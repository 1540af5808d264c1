# SPDX-License-Identifier: GPL-2.0-or-later
"""Real endpoints that keep to the rules are never called violators, whatever path and capture do to the packets.

The nightly run judges more: dissector/tests/conforming.py 5000 SEED."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from dissector.tests.conforming import ROOT, judge
from dissector.tests.mutants import try_mutant
from dissector.tests.reader import Reader
from dissector.tests.transfers import POINTS, View, random_plan

TRANSFERS = 120
LIBRARY = ROOT / "build" / "lib" / "libnetblt_iut.so"


@pytest.fixture
def library() -> Path:
    if not LIBRARY.is_file():
        pytest.fail(f"{LIBRARY} is not there: run tools/build")
    return LIBRARY


def test_no_conforming_transfer_is_called_a_violation(reader: Reader, capture: Path, library: Path) -> None:
    judgement = judge(reader, capture, [random_plan(seed) for seed in range(TRANSFERS)], library)
    assert judgement.violations == []
    assert judgement.good > 0.8 * TRANSFERS
    assert {point for _, _, point in judgement.counted} == set(POINTS)  # the plugin had reasons to suspect something


def test_over_a_good_path_in_full_view_nothing_is_even_suspected(reader: Reader, capture: Path, library: Path) -> None:
    judgement = judge(reader, capture, [random_plan(seed, calm=True) for seed in range(40)], library)
    assert (judgement.good, dict(judgement.counted)) == (40, {})


@pytest.mark.parametrize(("position", "point"), [("sender", "left"), ("receiver", "right")])
def test_a_position_set_where_it_is_true_gives_no_violation(
    reader: Reader, capture: Path, library: Path, position: str, point: str
) -> None:
    """At the sender the order of the capture counts as that of emission, and its pace is measured."""
    plans = [random_plan(seed) for seed in range(1000, 1050)]
    for plan in plans:
        plan.left_sends = True
        plan.view.skip = 0.0
    judgement = judge(reader, capture, plans, library, "-o", f"netblt.capture_position:{position}")
    assert [line for line in judgement.violations if f", {point}, " in line] == []


@pytest.mark.parametrize("carrier", ["ip6", "udp"])
def test_other_carriers_prove_no_more(reader: Reader, capture: Path, library: Path, carrier: str) -> None:
    plans = [random_plan(seed) for seed in range(2000, 2030)]
    for plan in plans:
        plan.view = View(carrier=carrier, ids="zero", capture_loss=plan.view.capture_loss)
    assert judge(reader, capture, plans, library).violations == []


def test_whoever_plays_against_a_conforming_end_the_blame_falls_on_the_right_one(
    reader: Reader, capture: Path, library: Path, tmp_path: Path
) -> None:
    """mutants.py does this with every mutant; here the reference plays the mutant, and neither end is at fault."""
    other = tmp_path / "other.so"
    shutil.copy(library, other)
    result = try_mutant(reader, capture, other, library, 16)
    assert dict(result.wrongly) == {}
    assert [key for key in result.found if key[1] == "violation"] == []
