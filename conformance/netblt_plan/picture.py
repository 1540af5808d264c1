# SPDX-License-Identifier: GPL-2.0-or-later
"""The picture of a plan: the time of each candidate, and how the chosen transfer runs."""

from __future__ import annotations

from pathlib import Path

from netblt_conformance.common import pictures

from netblt_plan import charts, plots
from netblt_plan.charts import COLOURS, Series
from netblt_plan.path import run_of
from netblt_plan.planning import Plan, Prediction
from netblt_plan.simulate import simulate

# More of a transfer than this shows nothing else.
_SHOWN_S = 60.0


def write(plan: Plan, file: Path, seed: int) -> None:
    """Writes the picture in the format of the file's suffix (.svg, .png, .pdf). Needs a choice in the plan.
    OSError when the file cannot be written, ValueError when there is no such format."""
    assert plan.choice is not None
    figure, (times, rates, buffers) = charts.figure(3)
    _draw_candidates(plan, plan.choice, times)
    size = min(plan.choice.simulated_bytes, max(1, int(_SHOWN_S * plan.path.rate / 8)))
    run = run_of(plan.path, plan.choice.settings, size)
    outcome = simulate(run, seed, trace=True)
    charts.draw(rates, "Chosen settings: throughput", "seconds", "Mb/s of data", plots.throughput_series(outcome))
    charts.draw(
        buffers, "Chosen settings: outstanding buffers", "seconds", "buffers", plots.outstanding_series(outcome)
    )
    pictures.save(figure, file)


def _draw_candidates(plan: Plan, choice: Prediction, axes: charts.Axes) -> None:
    ended = [(float(i), one) for i, one in enumerate(plan.predictions, 1) if one.finished]
    groups = (
        ("chosen", COLOURS[1], lambda one: one is choice),
        ("automatic rate", COLOURS[2], lambda one: one is not choice and one.settings.automatic),
        ("fixed rate", COLOURS[0], lambda one: one is not choice and not one.settings.automatic),
    )
    series = [
        Series(name, [(i - 0.4, one.seconds) for i, one in ended if wanted(one)], colour, "bars", width=0.8)
        for name, colour, wanted in groups
    ]
    charts.draw(axes, "Predicted time of each candidate", "row of the table", "seconds", series)
