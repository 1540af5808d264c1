# SPDX-License-Identifier: BSD-2-Clause
"""tools/bench --rows whole: the least time of a transfer, which measurements are planned, and what is read of them."""

from __future__ import annotations

import math
import re
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from runner.against import ROOT
from runner.groups import Settings
from runner.lab import Line
from runner.peers import Build, Perf
from runner.whole import SIZES, Completion, WholeGroup, least_repair_s, least_s, sizes_for, text_of

PEERS = ROOT / "reference_impl" / "bench" / "peers"
CLEAN, LOSSY = Line("clean", 100, 100), Line("lossy", 100, 100, 1)


def settings(*only: str, full: bool = False) -> Settings:
    return Settings(full, only, 5, 3.0, 1, 20.0)


def test_without_loss_the_least_is_handshake_serialisation_and_one_way() -> None:
    packets = math.ceil(10_000_000 / 1448)
    assert least_s(CLEAN, 10_000_000, 1448) == pytest.approx(0.15 + packets * 1500 * 8 / 100e6)


def test_one_lost_packet_costs_a_round_trip_with_the_chance_of_its_loss() -> None:
    assert least_repair_s(1, 1000, 0.0, 0.1) == 0
    # 1 % once, 1 % of that again: 0.1 s * (0.01 + 0.0001 + ...)
    assert least_repair_s(1, 1000, 0.01, 0.1) == pytest.approx(0.1 * 0.01 / 0.99, rel=0.03)


def test_losses_far_before_the_end_cost_nothing_more() -> None:
    last_round_trip = least_repair_s(833, 8333, 0.01, 0.1)
    assert least_repair_s(1_000_000, 8333, 0.01, 0.1) == pytest.approx(last_round_trip, rel=0.35)
    assert 0.09 < last_round_trip < 0.2


def test_transfers_that_would_take_too_long_are_left_out() -> None:
    assert sizes_for(Line("slow", 10, 20)) == [100_000, 1_000_000, 10_000_000]
    assert sizes_for(CLEAN) == list(SIZES)


def test_all_programs_note_the_time_of_the_same_sizes() -> None:
    header = re.search(r"meter_milestones\[MILESTONES\] = \{(.*?)\}", (PEERS / "meter.h").read_text())
    quinn = re.search(r"MILESTONES: \[u64; 4\] = \[(.*?)\]", (PEERS / "quinn" / "src" / "main.rs").read_text())
    assert header is not None
    assert quinn is not None
    assert [int(text) for text in header[1].split(", ")] == list(SIZES)
    assert [int(text.replace("_", "")) for text in quinn[1].split(", ")] == list(SIZES)


@pytest.fixture
def built(tmp_path: Path) -> Build:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "netblt").touch()
    return Build(tmp_path)


def planned(built: Build, only: Settings) -> list[str]:
    group = WholeGroup("whole", lines=[CLEAN, LOSSY])
    group.plan(built, only)
    return [f"{step.row}: {step.title}" for step in group.steps]


def test_the_short_run_measures_none(built: Build) -> None:
    assert planned(built, settings()) == []
    assert planned(built, settings("NETBLT auto")) == []


def test_each_size_is_a_transfer_of_netblt_and_words_select(built: Build) -> None:
    steps = planned(built, settings("whole lossy"))
    assert steps == [f"lossy: NETBLT auto, seed 1, {size / 1e6:g} MB" for size in SIZES]
    assert len(planned(built, settings(full=True))) == 2 * len(SIZES)


def test_the_table_compares_with_the_least_and_with_the_best_of_the_others(built: Build) -> None:
    group = WholeGroup("whole", lines=[CLEAN])
    group.plan(built, settings("whole"))
    least = least_s(CLEAN, 10_000_000, Perf("x", "x").payload_bytes)
    group.cells["clean", "netblt-auto"].samples = [Completion({10_000_000: 1.2 * least})]
    for key, seconds in (("tcp-cubic", 2 * least), ("tcp-bbr", 1.1 * least), ("udt", math.inf)):
        group.cells["clean", key].samples = [Completion({10_000_000: seconds})]
    table = group.finish()
    (row,) = table.rows
    assert row[0] == "clean, 10 MB"
    assert [check.met for check in table.checks] == [True, False]
    assert table.checks[1].value == pytest.approx(1.2 / 1.1)
    assert text_of(math.inf, 1) == "-"
