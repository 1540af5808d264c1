# SPDX-License-Identifier: GPL-2.0-or-later
"""The command netblt-conformance experiment: options, runs, comparison with what is expected."""

from __future__ import annotations

import argparse
import csv
import dataclasses
import io
import json
import math
import sys
from pathlib import Path
from typing import Any

from netblt_conformance.common.verdicts import ExitCode
from netblt_conformance.experiment import scenario as scenarios
from netblt_conformance.experiment.native import WorldError
from netblt_conformance.experiment.scenario import Run, Scenario, ScenarioError

DEFAULT_SEED = 1
DEFAULT_COMPARED = "geostationary"
DEFAULT_COMPARE_S = 20.0


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Runs a scenario in virtual time and compares the results with the expected ones. "
        "Exit status: 0 inside all bands, 1 outside, 2 could not run."
    )
    parser.add_argument(
        "scenario",
        nargs="*",
        metavar="NAME|FILE.toml",
        help="a scenario of the project, or a file; none: list them. fit NAME: find its fitted parameters "
        "again. compare [NAME]: netblt, TCP and UDP over its link, on real packets",
    )
    parser.add_argument(
        "--report", type=Path, metavar="DIR", help="an HTML page and plots as SVG; of a table: with --row"
    )
    parser.add_argument(
        "--link", choices=("sim", "wire"), default="sim", help="virtual time (default), or real packets"
    )
    parser.add_argument("--time", type=float, metavar="S", help="wire and compare: seconds for each run")
    parser.add_argument("--write", action="store_true", help="fit: put what was found into the file")
    parser.add_argument("--seed", type=int, default=DEFAULT_SEED, help=f"first seed (default: {DEFAULT_SEED})")
    parser.add_argument("--seeds", type=_positive, metavar="N", help="seeds for each run, instead of the file's")
    parser.add_argument("--row", metavar="N", help="only this row, by its number, or run, by its name")
    parser.add_argument("--capture", type=Path, metavar="FILE", help="with --row: a pcapng of its first seed")
    parser.add_argument("--json", nargs="?", const="-", metavar="FILE", help="results as JSON, instead of the table")
    parser.add_argument("--csv", nargs="?", const="-", metavar="FILE", help="results as CSV, instead of the table")


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return value


def _list() -> int:
    for name in scenarios.names():
        print(f"{name:<24} {scenarios.load(scenarios.find(name)).title}")
    return ExitCode.HOLDS


def chosen(scenario: Scenario, row: str | None) -> list[Run]:
    """All runs, or the one that was asked for."""
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
    from netblt_conformance.experiment import report, running, simulate

    scenario = scenarios.load(scenarios.find(options.scenario[0]))
    runs = chosen(scenario, options.row)
    if options.capture is not None:
        if len(runs) != 1:
            raise ScenarioError("--capture needs --row: which one?")
        simulate.simulate(runs[0], options.seed, capture=options.capture, capture_link=scenario.capture_link)
    result = running.run_scenario(scenario, seed=options.seed, seeds=options.seeds, only=runs)
    if options.report is not None:
        print(f"report: {report.write(result, options.report)}", file=sys.stderr)
    return _tell(result, options)


def _tell(result: Any, options: argparse.Namespace) -> int:
    from netblt_conformance.experiment import table

    if options.json is not None:
        _write(options.json, as_json(result))
    if options.csv is not None:
        _write(options.csv, as_csv(result))
    if "-" not in (options.json, options.csv):
        print(table.text(result))
    return ExitCode.HOLDS if result.holds else ExitCode.FAILED


def _fit(options: argparse.Namespace) -> int:
    from netblt_conformance.experiment import fit

    scenario = scenarios.load(scenarios.find(options.scenario[1]))
    found = fit.fit(scenario, options.seed, lambda line: print(line, file=sys.stderr, flush=True))
    for key, value in found.values.items():
        print(f"{key} = {value}")
    for row, percent in found.noise.items():
        print(f"noise of row {row} = {percent} %")
    if options.write:
        fit.write(scenario, found)
    return ExitCode.HOLDS


def _wire(options: argparse.Namespace) -> int:
    from netblt_conformance.experiment import wire

    scenario = scenarios.load(scenarios.find(options.scenario[0]))
    runs = chosen(scenario, options.row)
    if options.capture is not None and len(runs) != 1:
        raise ScenarioError("--capture needs --row: which one?")
    if scenario.is_table:
        raise ScenarioError("the hosts of RFC 1030's tables are simulated: there is no --link wire for them")
    if options.report is not None:
        raise ScenarioError("--report plots what the simulator sees: for --link wire take --capture, --json or --csv")
    result = wire.run_scenario(scenario, runs, seed=options.seed, seconds=options.time, capture=options.capture)
    return _tell(result, options)


def _compare(options: argparse.Namespace) -> int:
    from netblt_conformance.experiment import compare

    name = options.scenario[1] if len(options.scenario) == 2 else DEFAULT_COMPARED
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


def _command(options: argparse.Namespace) -> int:
    words = options.scenario
    if not words:
        return _list()
    if words[0] == "fit" and len(words) == 2:
        return _fit(options)
    if words[0] == "compare" and len(words) <= 2:
        return _compare(options)
    if len(words) == 1:
        return _wire(options) if options.link == "wire" else _run(options)
    raise ScenarioError(f"{' '.join(words)!r} is not one scenario, and neither fit NAME nor compare [NAME]")


def command_experiment(options: argparse.Namespace) -> int:
    try:
        return _command(options)
    except (ScenarioError, WorldError) as error:
        print(f"error: {error}", file=sys.stderr)
    except OSError as error:
        print(f"error: {error.filename}: {error.strerror}", file=sys.stderr)
    return ExitCode.COULD_NOT_RUN
