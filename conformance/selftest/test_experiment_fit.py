# SPDX-License-Identifier: GPL-2.0-or-later
"""Fitting: finds what was put in, looks neither at held-out rows nor at what the file states already."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from netblt_plan import fit, running, scenario

SEND_MS, CONTROL_MS = 6.43, 4.9  # what the rows are made with
SCENARIO = """
title = "a host whose costs are not known"
duration = "60s"
[table]
csv = "rows.csv"
held_out = "3"
[fit]
trials = 60
seeds = 1
[fit.range]
"host.sender.fitted.send_ms" = [5.0, 8.0]
"host.sender.fitted.control_receive_ms" = [2.0, 8.0]
[link.ring]
rate = "10Mbit"
[host.sender]
profile = "mit1987"
data_variance_percent = 0
receive_ms = 6.1
[host.sender.fitted]
send_ms = START
control_receive_ms = 3.0 # a comment that stays
[host.receiver]
like = "sender"
[flow.main]
from = "sender"
to = "receiver"
[[band]]
rows = "1-4"
speed_percent = 1
"""
ROWS = [(5, 25, 1), (5, 30, 2), (5, 40, 1), (5, 45, 2)]  # burst size, interval, buffers


def write_rows(folder: Path, speeds: list[float]) -> None:
    with (folder / "rows.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["row", "BS", "BI", "PSZ", "BFSZ", "XFSZ", "NBUFS", "LOSS", "RXM", "DTMOS", "SPEED"])
        for number, ((size, interval, buffers), speed) in enumerate(zip(ROWS, speeds, strict=True), 1):
            writer.writerow([number, size, interval, 1438, 14380, 500, buffers, 0, 0, 0, f"{speed:.4f}"])


def made(folder: Path, send_ms: float, control_ms: float = 3.0) -> scenario.Scenario:
    path = folder / "host.toml"
    text = SCENARIO.replace("START", f"{send_ms}").replace(
        "control_receive_ms = 3.0", f"control_receive_ms = {control_ms}"
    )
    path.write_text(text, encoding="utf-8")
    return scenario.load(path)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Rows that a host with SEND_MS and CONTROL_MS makes, but the held-out one, which no host makes."""
    write_rows(tmp_path, [1.0] * len(ROWS))
    speeds = [one.means["speed"] for one in running.run_scenario(made(tmp_path, SEND_MS, CONTROL_MS)).runs]
    speeds[2] = 0.1
    write_rows(tmp_path, speeds)
    return tmp_path


def test_fit_finds_what_was_put_in_whatever_the_file_says_and_writes_it(folder: Path) -> None:
    first = fit.fit(made(folder, 7.9), 1, lambda _: None)
    file = made(folder, 5.1)
    again = fit.fit(file, 1, lambda _: None)
    assert again == first
    assert first.values["host.sender.fitted.send_ms"] == pytest.approx(SEND_MS, abs=0.1)
    assert first.values["host.sender.fitted.control_receive_ms"] == pytest.approx(CONTROL_MS, abs=0.6)
    fit.write(file, first)
    text = file.path.read_text(encoding="utf-8")
    assert f"send_ms = {first.values['host.sender.fitted.send_ms']}\n" in text
    assert "# a comment that stays" in text
    written = running.run_scenario(scenario.load(file.path))
    assert [one.run.row.number for one in written.runs if one.run.row and not one.holds] == [3]


def test_another_seed_tries_other_values(folder: Path) -> None:
    file = made(folder, 6.0)
    assert fit.fit(file, 1, lambda _: None).values != fit.fit(file, 2, lambda _: None).values
