# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs of a scenario over real packets: `netblt perf` on both sides of the flakeway. Hosts are the machine's own."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from netblt_conformance.common import paths

from netblt_plan import best, line, metrics
from netblt_plan.lab import B, Lab, LabError, the_link
from netblt_plan.running import Check, Result, RunResult
from netblt_plan.scenario import Run, Scenario, ScenarioError
from netblt_plan.simulate import statements
from netblt_plan.tables import Tables

_SLACK_S = 30.0
_MEMORY_MAX_BYTES = 128 << 20  # netblt perf provides for every buffer that may be outstanding, at both ends


def flow_options(flow: Tables) -> list[str]:
    """A flow's settings as options of netblt."""
    buffer_size = line.buffer_size(flow)
    buffers = min(flow.get("max_buffers", 8), max(1, _MEMORY_MAX_BYTES // buffer_size))
    words = ["--packet-size", str(line.packet_size(flow)), "--buffer-size", str(buffer_size)]
    words += ["--max-buffers", str(buffers), "--no-data-checksum"]
    if flow.get("rate") == "auto":
        return [*words, "--rate", "auto"]
    pair = ["--burst-size", str(flow.get("burst_size", 8)), "--burst-interval", str(flow.get("burst_interval_ms", 20))]
    return [*words, *pair, "--rate", "fixed"]


def measure(lab: Lab, options: list[str], seconds: float) -> tuple[dict[str, Any], float]:
    """netblt perf from a to b for so long: its summary, and the processor seconds of both ends."""
    netblt = paths.build() / "bin" / "netblt"
    passive = lab.start([netblt, "perf", "--passive", "--quiet", "--packet-size", "65000"], lab.b)
    active = lab.start([netblt, "perf", B, "--json", "--quiet", "--time", f"{seconds:g}", *options], lab.a)
    ended = active.end(seconds + _SLACK_S)
    cpu = ended.cpu_s + passive.cpu_s()
    passive.end()
    if ended.status != 0:
        raise LabError(
            f"netblt perf ended with {ended.status}: {ended.err.strip().splitlines()[-1:] or ended.out[-200:]}"
        )
    document: dict[str, Any] = json.loads(ended.out.strip().splitlines()[-1])
    summary = {**document["totals"], "steady_bps": document["transfers"][0]["steady_bps"]}
    return summary, cpu


def _check_possible(run: Run) -> None:
    if len(run.tables["flow"]) != 1 or run.tables["cross"]:
        raise ScenarioError(f"run {run.name!r}: over real packets a run has one flow and no cross traffic")
    flow = next(iter(run.tables["flow"].values()))
    if line.packet_size(flow) > 1456:
        raise ScenarioError(f"run {run.name!r}: packet_size does not fit the 1500 bytes of the lab's Ethernet")


def run_once(run: Run, seed: int, seconds: float, capture: Path | None) -> dict[str, float]:
    _check_possible(run)
    _, link = the_link(run.tables)
    flow = next(iter(run.tables["flow"].values()))
    with Lab(statements(link), seed, every_packet=False, capture=capture) as lab:
        summary, cpu = measure(lab, flow_options(flow), seconds)
    goodput = float(summary["goodput_bps"])
    room = metrics.capacity(run.tables, flow)
    attainable = room * (1 - metrics.loss_of(run.tables, flow))
    return {
        "goodput": goodput / 1e6,
        "speed": float(summary.get("steady_bps") or math.nan) / 1e6,
        "of_capacity": goodput / room,
        "of_attainable": goodput / attainable if attainable > 0 else math.nan,
        "of_pair": goodput / metrics.pair_rate(flow),
        "rxm": float(summary.get("packets_retransmitted", math.nan)),
        "dtmos": float(summary.get("data_timeouts", math.nan)),
        "seconds": float(summary["seconds"]),
        "cpu": cpu / seconds,
    }


def run_scenario(
    scenario: Scenario, runs: list[Run], *, seed: int, seconds: float | None, capture: Path | None
) -> Result:
    """One run after the other, in real time, one seed each. Expectations are shown but a figure that only the
    simulator has is passed over."""
    results = []
    for run in runs:
        settled, notes = best.settle(run, seed)
        length = seconds or settled.duration_s
        figures = run_once(settled, seed, length, capture)
        checks = [
            Check(one.metric, figures[one.metric], one.low, one.high)
            for one in run.expect
            if one.of is None and one.metric in figures
        ]
        results.append(RunResult(settled, figures, dict.fromkeys(figures, 0.0), checks, notes))
    return Result(scenario, seed, results, [])
