# SPDX-License-Identifier: GPL-2.0-or-later
"""Scenarios over real packets: short, and with bands that a busy machine keeps."""

from __future__ import annotations

import csv
import json
import os
from pathlib import Path

import pytest
from netblt_plan import cli, compare, scenario, wire
from netblt_plan.compare import Line, as_csv, as_json, table
from netblt_plan.scenario import ScenarioError

SCENARIO = """
title = "a slow line"
duration = "3s"
[link.line]
rate = "4Mbit"
delay = "5ms"
queue = "100ms"
[host.a]
[host.b]
[flow.main]
from = "a"
to = "b"
packet_size = 1024
buffer_size = 32768
burst_size = 2
burst_interval_ms = 10
[[run]]
name = "1.64 of 4 Mb/s"
expect = [{ metric = "goodput", at_least = 0.4, at_most = 1.7 }]
[[run]]
name = "two links"
"""

needs_root = pytest.mark.skipif(
    os.geteuid() != 0,
    reason="network namespaces need root",
)


@needs_root
def test_a_run_over_real_packets_keeps_its_rate_and_leaves_a_capture(tmp_path: Path) -> None:
    file, capture = tmp_path / "line.toml", tmp_path / "line.pcapng"
    file.write_text(SCENARIO, encoding="utf-8")
    words = ["run", str(file), "--link", "wire", "--row", "1.64 of 4 Mb/s", "--capture", str(capture)]
    told, table = tmp_path / "line.json", tmp_path / "line.csv"
    assert cli.main([*words, "--json", str(told), "--csv", str(table)]) == 0
    assert capture.stat().st_size > 10_000
    goodput = json.loads(told.read_text(encoding="utf-8"))["runs"][0]["metrics"]["goodput"]
    assert 0.4 < goodput < 1.7
    with table.open(encoding="utf-8", newline="") as lines:
        assert float(next(csv.DictReader(lines))["goodput"]) == goodput


def test_a_report_of_real_packets_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "line.toml"
    file.write_text(SCENARIO, encoding="utf-8")
    assert cli.main(["run", str(file), "--link", "wire", "--report", str(tmp_path / "r")]) == 2
    assert "--report plots what the simulator sees" in capsys.readouterr().err


def test_no_more_memory_is_asked_for_than_a_machine_has() -> None:
    words = wire.flow_options({"buffer_size": 1 << 20, "max_buffers": 4096})
    assert int(words[words.index("--max-buffers") + 1]) == 128
    assert "8" in wire.flow_options({"buffer_size": 1 << 20, "max_buffers": 8})


def test_a_comparison_can_be_read_by_programs() -> None:
    lines = [Line("TCP", 1e6, 0.5, 0.25), Line("nuttcp", None, 0.0, 0.0, "nuttcp, which is not installed")]
    run = scenario.load(scenario.find("leo")).runs[0]
    document = json.loads(as_json("leo", run, 3, 5.0, lines))
    assert [line["goodput"] for line in document["lines"]] == [1e6, None]
    assert list(csv.DictReader(as_csv(lines).splitlines()))[1]["note"] == "nuttcp, which is not installed"


def test_a_program_that_is_missing_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(ScenarioError, match=r"nuttcp is not installed [(]the package nuttcp"):
        compare._need("nuttcp")


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (("[host.a]", '[link.other]\nrate = "1Mbit"\n[host.a]'), "exactly one link"),
        (('delay = "5ms"', 'changes = [{ at = "1s", delay = "9ms" }]'), "the relay cannot change"),
        (("packet_size = 1024", "packet_size = 4096"), "does not fit the 1500 bytes"),
        (("[[run]]", '[cross.c]\nrate = "1Mbit"\n[[run]]'), "no cross traffic"),
    ],
)
def test_what_real_packets_cannot_do_is_refused_before_anything_starts(
    tmp_path: Path, change: tuple[str, str], what: str
) -> None:
    file = tmp_path / "line.toml"
    text = SCENARIO.replace(change[0], change[1], 1).replace('to = "b"', 'to = "b"\nroute = ["line"]')
    file.write_text(text, encoding="utf-8")
    with pytest.raises(ScenarioError, match=what):
        wire.run_once(scenario.load(file).runs[0], 1, 1.0, None)


def test_a_program_that_is_missing_stands_in_the_table_with_its_reason() -> None:
    text = table([Line("TCP", 1e6, 0.5, 0.25), Line("nuttcp", None, 0.0, 0.0, "nuttcp is not installed")])
    assert "1.000" in text
    assert "nuttcp is not installed" in text
