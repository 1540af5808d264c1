# SPDX-License-Identifier: GPL-2.0-or-later
"""The HTML report of an experiment: the table with a legend of its columns, the judgement, and charts that can be
zoomed, in one file that needs no other. Each chart is an SVG file of its own too."""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from pathlib import Path

import jinja2
from netblt_conformance.common import web

from netblt_plan import plots, table
from netblt_plan.charts import Chart
from netblt_plan.running import Result
from netblt_plan.scenario import Run
from netblt_plan.simulate import simulate

# Of a table's rows only so many are plotted one by one, unless one is requested.
_PLOTTED_RUNS_MAX = 8
_ASSETS = Path(__file__).with_name("web")

Group = tuple[str, str, dict[str, Chart]]  # heading, beginning of the names of files, charts by name


def slug(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


def _groups(result: Result, runs: Sequence[Run]) -> list[Group]:
    found: list[Group] = []
    name = slug(result.scenario.path.stem)
    if result.scenario.is_table and len(runs) > 1:
        charts = {"speeds": plots.table_speeds(result.runs), "errors": plots.table_errors(result.runs)}
        found.append(("Published and measured", name, charts))
    chosen = runs if len(runs) <= _PLOTTED_RUNS_MAX else ()
    outcomes = [(run, simulate(run, result.seed, trace=True)) for run in chosen]
    if not result.scenario.is_table and len(runs) > 1:
        compared = {"compared-speed": plots.run_speeds(result.runs)}
        if len(outcomes) > 1:
            compared |= plots.compared([(run.name, outcome) for run, outcome in outcomes])
        found.append(("Runs compared", name, compared))
    found += [(run.name, slug(run.name), plots.of_run(run, outcome)) for run, outcome in outcomes]
    return found


def write(result: Result, folder: Path) -> Path:
    """Writes index.html and every plot as an SVG of its own into `folder`; answers the page."""
    folder.mkdir(parents=True, exist_ok=True)
    groups = _groups(result, [one.run for one in result.runs])
    for _heading, name, charts in groups:
        for kind, chart in charts.items():
            (folder / f"{name}-{kind}.svg").write_text(chart.svg(), encoding="utf-8")
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_ASSETS),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals["asset"] = functools.partial(web.asset, _ASSETS)
    rows = [table.cells(result, one) for one in result.runs]
    filled = [number for number, _ in enumerate(rows[0]) if any(row[number] for row in rows)]
    columns = table.columns(result)
    text = environment.get_template("experiment.html.jinja").render(
        scenario=result.scenario,
        holds=result.holds,
        columns=[columns[number] for number in filled],
        rows=[(one, [row[number] for number in filled]) for one, row in zip(result.runs, rows, strict=True)],
        closing=[*table.summary_lines(result), *table.closing_lines(result)],
        groups=[
            (heading, [(f"{name}-{kind}.svg", chart.to_json()) for kind, chart in charts.items()])
            for heading, name, charts in groups
        ],
    )
    path = folder / "index.html"
    path.write_text(text, encoding="utf-8")
    return path
