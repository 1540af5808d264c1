# SPDX-License-Identifier: GPL-2.0-or-later
"""The sub-commands list, run, fit and compare of netblt-plan; old name: `netblt-conformance experiment`."""

from __future__ import annotations

import argparse
import csv
import dataclasses
import io
import json
import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from netblt_conformance.common import tables
from netblt_conformance.common.arguments import at_least_one, not_negative
from netblt_conformance.common.destinations import STDOUT, output_file, output_file_or_stdout, output_folder
from netblt_conformance.common.tables import Column
from netblt_conformance.common.verdicts import ExitCode

from netblt_plan import scenario as scenarios
from netblt_plan.scenario import Run, Scenario, ScenarioError

DEFAULT_SEED = 1
DEFAULT_COMPARED = "geostationary"
DEFAULT_COMPARE_S = 20.0
_TIME_MAX_S = 86400


def add_list(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(function=lambda _options: list_scenarios())


def add_run(parser: argparse.ArgumentParser) -> None:
    """Options of `run`, which runs one scenario."""
    parser.add_argument("scenario", metavar="NAME|FILE.toml", help="a scenario of the project, or a file")
    parser.add_argument(
        "--link", choices=("sim", "wire"), default="sim", help="virtual time (default), or real packets"
    )
    parser.add_argument(
        "--report",
        type=output_folder("--report"),
        metavar="DIR",
        help="an HTML page and plots as SVG; of a table: with --row",
    )
    parser.add_argument(
        "--capture", type=output_file("--capture"), metavar="FILE", help="with --row: a pcapng of its first seed"
    )
    parser.add_argument("--time", type=_seconds, metavar="S", help="with --link wire: seconds for each run")
    parser.add_argument("--seeds", type=at_least_one, metavar="N", help="seeds for each run, instead of the file's")
    _common_options(parser)
    parser.set_defaults(function=_run_on_link)


def add_fit(parser: argparse.ArgumentParser) -> None:
    """Options of `fit`, which finds the fitted parameters of a table again."""
    parser.add_argument("scenario", metavar="NAME|FILE.toml", help="a scenario with fitted parameters")
    parser.add_argument("--write", action="store_true", help="put what was found into the file")
    _seed_option(parser)
    parser.set_defaults(function=_fit)


def add_compare(parser: argparse.ArgumentParser) -> None:
    """Options of `compare`: netblt, TCP and UDP over the link of a scenario, on real packets."""
    parser.add_argument(
        "scenario",
        nargs="?",
        default=DEFAULT_COMPARED,
        metavar="NAME|FILE.toml",
        help="the scenario whose link is used (default: %(default)s)",
    )
    parser.add_argument("--time", type=_seconds, metavar="S", help=f"for each program (default: {DEFAULT_COMPARE_S:g})")
    _common_options(parser)
    parser.set_defaults(function=_compare)


def _seed_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--seed", type=not_negative, default=DEFAULT_SEED, help=f"first seed (default: {DEFAULT_SEED})")


def _common_options(parser: argparse.ArgumentParser) -> None:
    _seed_option(parser)
    parser.add_argument("--row", metavar="N", help="only this row, by its number, or run, by its name")
    for name, what in (("--json", "JSON"), ("--csv", "CSV")):
        parser.add_argument(
            name,
            nargs="?",
            const=STDOUT,
            type=output_file_or_stdout(name),
            metavar="FILE",
            help=f"results as {what}, instead of the table",
        )


def renamed(words: Sequence[str]) -> list[str]:
    """The words of `netblt-plan` for those that followed `netblt-conformance experiment`."""
    if words and words[0] in ("fit", "compare"):
        return list(words)
    if words in (["-h"], ["--help"]):
        return list(words)
    return ["run", *words] if words else ["list"]


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value <= _TIME_MAX_S:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of seconds above 0, of {_TIME_MAX_S} at most")
    return value


def list_scenarios() -> int:
    rows = [(name, scenarios.load(scenarios.find(name)).title) for name in scenarios.names()]
    print("\n".join(tables.lines((Column(), Column(wide=True)), rows)))
    return ExitCode.HOLDS


def chosen(scenario: Scenario, row: str | None) -> list[Run]:
    """All runs, or the one that was requested."""
    if row is None:
        return list(scenario.runs)
    for run in scenario.runs:
        if row in (run.name, str(run.row.number) if run.row else None):
            return [run]
    raise ScenarioError(
        f"{scenario.path}: there is no row {row!r}; there are {', '.join(run.name for run in scenario.runs)}"
    )


def _write(target: str, text: str) -> None:
    if target == "-":
        sys.stdout.write(text)
    else:
        Path(target).write_text(text, encoding="utf-8")


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def as_json(result: Any) -> str:
    document = {
        "layout": 1,
        "scenario": result.scenario.path.stem,
        "title": result.scenario.title,
        "seed": result.seed,
        "holds": result.holds,
        "fitted": result.scenario.fitted,
        "runs": [
            {
                "name": one.run.name,
                "row": dataclasses.asdict(one.run.row) if one.run.row else None,
                "holds": one.holds,
                "metrics": {key: _finite(value) for key, value in one.means.items()},
                "spread": {key: _finite(value) for key, value in one.spread.items()},
                "checks": [_check(check) for check in one.checks],
                "notes": one.notes,
            }
            for one in result.runs
        ],
        "checks": [_check(check) for check in result.checks],
    }
    return json.dumps(document, ensure_ascii=False, indent=1) + "\n"


def _check(check: Any) -> dict[str, Any]:
    return {
        "what": check.what,
        "value": _finite(check.value),
        "low": _finite(check.low),
        "high": _finite(check.high),
        "holds": check.holds,
        "inside": check.inside,
        "excuse": check.excuse,
    }


def as_csv(result: Any) -> str:
    """One line for each run: the published columns for tables, then every metric of the first flow."""
    keys = [key for key in result.runs[0].means if "." not in key]
    published = ["BS", "BI", "PSZ", "BFSZ", "XFSZ", "NBUFS", "LOSS", "RXM", "DTMOS", "SPEED"]
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["run", *(published if result.scenario.is_table else []), *keys, "holds"])
    for one in result.runs:
        row = one.run.row
        cells = [] if row is None else list(dataclasses.astuple(row))[1:-1]
        writer.writerow([one.run.name, *cells, *(one.means.get(key, "") for key in keys), int(one.holds)])
    return out.getvalue()


def _run(options: argparse.Namespace) -> int:
    from netblt_plan import best, report, running, simulate

    scenario = scenarios.load(scenarios.find(options.scenario))
    runs = chosen(scenario, options.row)
    if options.capture is not None:
        if len(runs) != 1:
            raise ScenarioError("--capture needs --row: which one?")
        settled, _ = best.settle(runs[0], options.seed)
        simulate.simulate(settled, options.seed, capture=options.capture, capture_link=scenario.capture_link)
    result = running.run_scenario(scenario, seed=options.seed, seeds=options.seeds, only=runs)
    if options.report is not None:
        print(f"report: {report.write(result, options.report)}", file=sys.stderr)
    return _deliver(result, options)


def _deliver(result: Any, options: argparse.Namespace) -> int:
    from netblt_plan import table

    if options.json is not None:
        _write(options.json, as_json(result))
    if options.csv is not None:
        _write(options.csv, as_csv(result))
    if "-" not in (options.json, options.csv):
        print(table.text(result))
    return ExitCode.HOLDS if result.holds else ExitCode.FAILED


def _fit(options: argparse.Namespace) -> int:
    from netblt_plan import fit

    scenario = scenarios.load(scenarios.find(options.scenario))
    found = fit.fit(scenario, options.seed, lambda line: print(line, file=sys.stderr, flush=True))
    for key, value in found.values.items():
        print(f"{key} = {value}")
    for row, percent in found.noise.items():
        print(f"noise of row {row} = {percent} %")
    if options.write:
        fit.write(scenario, found)
    return ExitCode.HOLDS


def _wire(options: argparse.Namespace) -> int:
    from netblt_plan import wire

    scenario = scenarios.load(scenarios.find(options.scenario))
    runs = chosen(scenario, options.row)
    if options.capture is not None and len(runs) != 1:
        raise ScenarioError("--capture needs --row: which one?")
    if scenario.is_table:
        raise ScenarioError("the hosts of RFC 1030's tables are simulated: there is no --link wire for them")
    if options.report is not None:
        raise ScenarioError("--report plots what the simulator sees: for --link wire take --capture, --json or --csv")
    result = wire.run_scenario(scenario, runs, seed=options.seed, seconds=options.time, capture=options.capture)
    return _deliver(result, options)


def _compare(options: argparse.Namespace) -> int:
    from netblt_plan import compare

    name = options.scenario
    run = chosen(scenarios.load(scenarios.find(name)), options.row)[0]
    seconds = options.time or DEFAULT_COMPARE_S
    lines = compare.compare(run, options.seed, seconds, lambda line: print(f"... {line}", file=sys.stderr, flush=True))
    if options.json is not None:
        _write(options.json, compare.as_json(name, run, options.seed, seconds, lines))
    if options.csv is not None:
        _write(options.csv, compare.as_csv(lines))
    if "-" not in (options.json, options.csv):
        print(f"{name}, {run.name}: {seconds:g} s each, seed {options.seed}\n{compare.table(lines)}")
    return ExitCode.HOLDS if all(line.goodput is not None for line in lines) else ExitCode.COULD_NOT_RUN


def _run_on_link(options: argparse.Namespace) -> int:
    return _wire(options) if options.link == "wire" else _run(options)
