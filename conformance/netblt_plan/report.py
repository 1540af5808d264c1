# SPDX-License-Identifier: GPL-2.0-or-later
"""The HTML report of an experiment: the table, the judgement, and the plots, in one file that needs no other."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape
from pathlib import Path

from netblt_plan import plots, table
from netblt_plan.running import Result
from netblt_plan.scenario import Run
from netblt_plan.simulate import simulate

# Of a table's rows only so many are plotted one by one, unless one is asked for.
_PLOTTED_RUNS_MAX = 8

_STYLE = """
body { font: 15px/1.45 sans-serif; max-width: 84em; margin: 2em auto; padding: 0 1em; color: #222 }
pre { background: #f6f6f4; padding: 1em; overflow-x: auto; font-size: 12px }
.good { color: #2f8f4e } .bad { color: #c8401f }
figure { display: inline-block; width: 49%; min-width: 520px; margin: 1em 0 }
svg { width: 100%; height: auto }
p { max-width: 60em }
"""


def slug(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


def _figures(result: Result, runs: Sequence[Run], folder: Path) -> list[str]:
    parts: list[str] = []
    chosen = runs if len(runs) <= _PLOTTED_RUNS_MAX else ()
    if result.scenario.is_table and len(runs) > 1:
        charts = {"speeds": plots.table_speeds(result.runs), "errors": plots.table_errors(result.runs)}
        parts += _written("Published and measured", slug(result.scenario.path.stem), charts, folder)
    for run in chosen:
        outcome = simulate(run, result.seed, trace=True)
        parts += _written(run.name, slug(run.name), plots.of_run(run, outcome), folder)
    return parts


def _written(heading: str, name: str, charts: dict[str, str], folder: Path) -> list[str]:
    parts = [f"<h2>{escape(heading)}</h2>"]
    for kind, chart in charts.items():
        (folder / f"{name}-{kind}.svg").write_text(chart, encoding="utf-8")
        parts.append(f"<figure>{chart}</figure>")
    return parts


def write(result: Result, folder: Path) -> Path:
    """Writes index.html and every plot as an SVG of its own into `folder`; answers the page."""
    folder.mkdir(parents=True, exist_ok=True)
    runs = [one.run for one in result.runs]
    verdict = "All inside their bands." if result.holds else "Not all inside their bands."
    page = [
        "<!doctype html><html lang='en'><meta charset='utf-8'>",
        f"<title>{escape(result.scenario.title)}</title><style>{_STYLE}</style>",
        f"<h1>{escape(result.scenario.title)}</h1>",
        f"<p>{escape(result.scenario.about.strip())}</p>",
        f"<p>{escape(result.scenario.source)}</p>" if result.scenario.source else "",
        f"<p class='{'good' if result.holds else 'bad'}'>{verdict}</p>",
        f"<pre>{escape(table.text(result))}</pre>",
        *_figures(result, runs, folder),
        "</html>",
    ]
    path = folder / "index.html"
    path.write_text("\n".join(part for part in page if part) + "\n", encoding="utf-8")
    return path
