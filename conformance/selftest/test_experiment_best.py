# SPDX-License-Identifier: GPL-2.0-or-later
"""rate = "best": which pair is chosen, with how many buffers, and that figures, report and capture are of that run."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path

import pytest
from netblt_plan import best, cli, running, scenario, simulate
from netblt_plan.scenario import Run
from netblt_plan.tables import Tables

FINITE = """
title = "a finite transfer over a satellite"
duration = "60s"
{times}
[link.line]
rate = "50Mbit"
delay = "300ms"
queue = "100ms"
loss = "1%"
[host.a]
[host.b]
[flow.main]
from = "a"
to = "b"
bytes = 10000000
rate = "best"
{buffers}
"""


def written(folder: Path, *, times: str = "", buffers: str = "max_buffers = 200") -> Path:
    path = folder / "finite.toml"
    path.write_text(FINITE.format(times=times, buffers=buffers), encoding="utf-8")
    return path


def the_run(path: Path) -> Run:
    return scenario.load(path).runs[0]


def flow_of(run: Run) -> Tables:
    flow: Tables = run.tables["flow"]["main"]
    return flow


def with_pair(run: Run, share: float) -> float:
    """Seconds of the transfer with the pair at this share of the capacity."""
    return simulate.simulate(best.with_pairs(run, share), 1).metrics["seconds"]


@pytest.mark.parametrize("times", ["", 'measure_from = "30s"'])  # when the transfer is over since long
def test_the_best_pair_of_a_finite_transfer_is_that_of_the_shortest_time(tmp_path: Path, times: str) -> None:
    run = the_run(written(tmp_path, times=times))
    settled, _ = best.settle(run, 1)
    seconds = simulate.simulate(settled, 1).metrics["seconds"]
    assert seconds == min(with_pair(run, share) for share in (0.85, 0.92, 0.96, 0.98, 0.99, 1.0))
    assert seconds < max(with_pair(run, share) for share in (0.85, 0.99))


def test_few_buffers_are_named_as_the_limit(tmp_path: Path) -> None:
    (few,) = running.run_scenario(scenario.load(written(tmp_path, buffers="max_buffers = 8"))).runs
    assert few.means["seconds"] > 10
    assert "the buffers are the limit: max_buffers is 8, and 169 of 65536 bytes" in few.notes[1]
    (enough,) = running.run_scenario(scenario.load(written(tmp_path))).runs
    assert enough.means["seconds"] < 6
    assert len(enough.notes) == 1


def test_buffers_that_a_transfer_never_fills_are_no_limit(tmp_path: Path) -> None:
    _, notes = best.settle(the_run(written(tmp_path, buffers="max_buffers = 160")), 1)
    assert len(notes) == 1, "160 of 65,536 bytes hold all of it"


def test_the_number_of_buffers_follows_from_the_path_when_it_is_not_given(tmp_path: Path) -> None:
    settled, notes = best.settle(the_run(written(tmp_path, buffers="")), 1)
    product = 50e6 / 8 * 1456 / 1500 * 0.6
    assert flow_of(settled)["max_buffers"] == math.ceil(3 * product / 65_536) + 2
    assert len(notes) == 1


def test_a_figure_that_is_no_number_never_wins() -> None:
    flow: list[tuple[str, Tables]] = [("main", {"bytes": 1})]
    assert best._worth({"main.seconds": math.nan}, flow) == -math.inf
    assert best._worth({"total_goodput": math.nan}, [("main", {})]) == -math.inf


def test_the_capture_is_of_the_run_whose_figures_are_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    captured: list[Run] = []
    real = simulate.simulate

    def watched(run: Run, seed: int, **options: object) -> object:
        if options.get("capture") is not None:
            captured.append(run)
        return real(run, seed, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(simulate, "simulate", watched)
    cli.main(["run", str(written(tmp_path)), "--capture", str(tmp_path / "run.pcapng")])
    (run,) = captured
    flow = flow_of(run)
    assert flow["rate"] == "fixed"
    assert f"best fixed setting: {flow['burst_size']} packets/{flow['burst_interval_ms']} ms" in capsys.readouterr().out
    assert dataclasses.replace(run) == best.settle(the_run(written(tmp_path)), 1)[0]
