# SPDX-License-Identifier: GPL-2.0-or-later
"""RFC 1030's tables and the goals on its networks stay inside their bands, and repeat themselves."""

from __future__ import annotations

import copy
import dataclasses
import json
import math
import re
import subprocess
from html import unescape
from pathlib import Path
from xml.etree import ElementTree

import pytest
from netblt_conformance.common import paths
from netblt_plan import best, cli, running, scenario
from netblt_plan.charts import Series, chart
from netblt_plan.running import Result, error_percent
from netblt_plan.simulate import simulate

# Scenarios that take a few seconds; the others run every night (conformance/nightly/experiments.py).
FAST = (
    "wideband-goals",
    "section8",
    "section8-parallel",
    "atm-window",
    "atm-pacing",
    "atm-streams",
    "hosts",
    "two-pairs",
    "wifi",
    "cross-traffic",
    "sharing",
    "template",
)


def run(name: str) -> Result:
    return running.run_scenario(scenario.load(scenario.find(name)))


def complaints(result: Result) -> list[str]:
    return [f"{one.run.name}: {check.describe()}" for one in result.runs for check in one.checks if not check.holds] + [
        check.describe() for check in result.checks if not check.holds
    ]


@pytest.mark.parametrize("name", ["ring", "ethernet", "wideband"])
def test_every_row_of_rfc_1030_is_inside_its_band(name: str) -> None:
    result = run(name)
    assert all(one.checks for one in result.runs)
    assert complaints(result) == []


@pytest.mark.parametrize("name", FAST)
def test_what_a_scenario_expects_holds(name: str) -> None:
    result = run(name)
    assert any(one.checks for one in result.runs)
    assert complaints(result) == []


def test_the_ring_is_off_its_bands_with_a_host_that_is_a_tenth_slower() -> None:
    file = scenario.load(scenario.find("ring"))
    raw = json.loads(json.dumps(file.raw))
    for variant in raw["variant"]:
        variant["host"]["sender"]["fitted"]["send_ms"] *= 1.1
    result = running.run_scenario(scenario.from_tables(file.path, raw))
    assert not result.holds
    assert sum(not one.holds for one in result.runs) > 30


LATE_SHARES = (15, 20, 25, 30, 40, 50, 60)  # percent


def explained(number: int) -> tuple[int, float, float]:
    """Of a fragmented Wideband row: the share of late second fragments that brings its #RXM closest to the published
    one, that #RXM, and the error of SPEED in percent with it."""
    file = scenario.load(scenario.find("wideband"))
    found = []
    for share in LATE_SHARES:
        raw = copy.deepcopy(file.raw)
        raw["link"]["satellite"]["fitted"]["mtu"] = f"1476B late 600ms {share}%"
        trial = scenario.from_tables(file.path, raw)
        row = next(one for one in trial.runs if one.row and one.row.number == number)
        result = running.run_scenario(trial, only=[row]).runs[0]
        assert row.row is not None
        found.append((abs(result.means["rxm"] - row.row.retransmitted), share, result))
    _, share, best_result = min(found, key=lambda one: one[:2])
    return share, best_result.means["rxm"], error_percent(best_result)


@pytest.mark.parametrize("number", [10, 11, 12, 13, 14])
def test_with_its_own_share_of_late_fragments_every_fragmented_row_is_inside(number: int) -> None:
    share, _, error = explained(number)
    assert abs(error) <= 5
    assert share < 45 or number != 14


def test_on_a_quiet_ethernet_two_buffers_lose_nothing_above_40_ms() -> None:
    file = scenario.load(scenario.find("ethernet"))
    row = next(one for one in file.runs if one.row and one.row.number == 15)
    tables = copy.deepcopy(row.tables)
    tables["link"]["ethernet"]["forward"].pop("loss", None)
    for seed in range(1, 6):
        figures = simulate(dataclasses.replace(row, tables=tables), seed).metrics
        assert figures["loss"] == 0
        assert figures["finished"] == 1


def test_one_seed_gives_the_same_numbers_again_and_another_does_not() -> None:
    row = scenario.load(scenario.find("wideband")).runs[23]
    first, again, other = (simulate(row, seed) for seed in (7, 7, 8))
    assert first.metrics == again.metrics
    assert first.flows[0].buffers == again.flows[0].buffers
    assert first.metrics != other.metrics


def test_a_capture_is_the_same_bytes_and_tells_what_was_lost(tmp_path: Path) -> None:
    row = scenario.load(scenario.find("wideband")).runs[23]
    files = [tmp_path / f"{i}.pcapng" for i in range(2)]
    outcomes = [simulate(row, 3, capture=file) for file in files]
    assert files[0].read_bytes() == files[1].read_bytes()
    shown = subprocess.run(
        [
            "tshark",
            "-r",
            files[0],
            "-T",
            "fields",
            "-e",
            "frame.comment",
            "-e",
            "frame.interface_name",
            "-Y",
            "frame.len > 1000",
        ],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    lost = [line for line in shown.splitlines() if "dropped by loss" in line]
    assert len(lost) == outcomes[0].metrics["loss"] > 0
    assert all(line.endswith("\tleft") for line in lost)


def test_the_command_prints_the_columns_and_ends_with_the_judgement(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["run", "ring", "--row", "25"]) == 0
    out = capsys.readouterr().out
    for word in ("BS/BI", "PSZ", "BFSZ", "XFSZ", "NBUFS", "#LOSS", "#RXM", "DTMOS", "SPEED", "1.75"):
        assert word in out
    assert out.rstrip().endswith("all inside their bands")


def test_the_command_tells_inside_outside_and_impossible_apart(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (scenario.folder() / "two-pairs.toml").read_text(encoding="utf-8")
    outside, impossible = tmp_path / "outside.toml", tmp_path / "impossible.toml"
    outside.write_text(text.replace("value = 6.0", "value = 7.0"), encoding="utf-8")
    impossible.write_text(text.replace("framing", "farming"), encoding="utf-8")
    assert cli.main(["run", "two-pairs"]) == 0
    assert cli.main(["run", str(outside)]) == 1
    assert cli.main(["run", str(impossible)]) == 2
    assert f"error: {impossible}: link.ethernet.farming: there is no such field" in capsys.readouterr().err


def test_a_file_that_expects_nothing_is_told_so_with_the_seconds_of_its_transfer(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (scenario.folder() / "template.toml").read_text(encoding="utf-8")
    (tmp_path / "mine.toml").write_text(re.sub(r"(?m)^expect = .*\n", "", text), encoding="utf-8")
    assert cli.main(["run", str(tmp_path / "mine.toml"), "--row", "a file of 100 MB"]) == 0
    out = capsys.readouterr().out.splitlines()
    assert out[-1] == "seed 1: nothing was expected"
    head, line = (one for one in out if one.startswith(("run ", "a file")))
    assert head.split()[-1] == "seconds"
    assert float(line.split()[-1]) > 100e6 * 8 / 20e6  # the line's own time


def test_json_and_csv_hold_every_row(tmp_path: Path) -> None:
    as_json, as_csv = tmp_path / "r.json", tmp_path / "r.csv"
    assert cli.main(["run", "ring", "--json", str(as_json), "--csv", str(as_csv)]) == 0
    document = json.loads(as_json.read_text(encoding="utf-8"))
    assert document["holds"] is True
    assert len(document["runs"]) == 39
    assert document["runs"][0]["row"]["speed"] == 1.45
    lines = as_csv.read_text(encoding="utf-8").splitlines()
    assert len(lines) == 40
    assert lines[0].startswith("run,BS,BI,PSZ,BFSZ,XFSZ,NBUFS,LOSS,RXM,DTMOS,SPEED,")


def test_a_report_has_every_plot(tmp_path: Path) -> None:
    assert cli.main(["run", "two-pairs", "--report", str(tmp_path)]) == 0
    page = (tmp_path / "index.html").read_text(encoding="utf-8")
    drawn = [json.loads(unescape(text)) for text in re.findall(r'data-chart="([^"]*)"', page)]
    assert len(drawn) == 4
    for one in drawn:
        assert sum(len(series["points"]) for series in one["series"]) > 100, one["title"]
    assert "packets retransmitted" in page, "the columns are explained"
    for kind in ("throughput", "sequence", "outstanding", "recovery"):
        chart = (tmp_path / f"3-3-mb-s-{kind}.svg").read_text(encoding="utf-8")
        assert f'href="./3-3-mb-s-{kind}.svg"' in page
        assert chart.count("<path") > 1


def test_a_chart_is_one_svg_that_needs_nothing_else_and_repeats_itself() -> None:
    series = [
        Series("rows", [(0.6, 1.0), (27.6, 2.0)], "#000000", "bars", width=0.8),
        Series("mean", [(0.0, 1.5), (28.0, math.nan)], "#ff0000", "step"),
    ]
    text = chart("Speeds & errors", "row", "Mb/s", series)
    root = ElementTree.fromstring(text)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    shown = [node.text for node in root.iter("{http://www.w3.org/2000/svg}text")]
    assert {"Speeds & errors", "row", "Mb/s", "rows", "mean"} <= set(shown)
    assert "<script" not in text
    assert not re.search(r"href=\"(?!#)", text)
    assert chart("Speeds & errors", "row", "Mb/s", series) == text


def test_the_best_fixed_pair_never_exceeds_the_rate_it_is_for() -> None:
    for bits, packet in ((50e6, 1456), (1e6, 1456), (1e9, 1456), (1.042e6, 1432), (100e3, 512)):
        size, interval = best.pair(bits, packet)
        rate = size * packet * 8000 / interval
        assert 0.95 * bits < rate <= bits * 1.0001


def test_held_out_rows_are_reported_apart(capsys: pytest.CaptureFixture[str]) -> None:
    result = run("ring")
    worst = max(abs(error_percent(one)) for one in result.runs if one.run.row and one.run.row.held_out)
    cli.main(["run", "ring"])
    assert f"{worst:.2f} % worst" in next(
        line for line in capsys.readouterr().out.splitlines() if line.startswith("held out")
    )


def test_the_simulator_was_built() -> None:
    assert (paths.build() / "lib" / "libnetblt_world.so").is_file()
