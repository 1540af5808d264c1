# SPDX-License-Identifier: GPL-2.0-or-later
"""Finds the [fitted] parameters of a table: random trials over the ranges that the file gives, then ever smaller steps
around the best. Held-out rows are never looked at, and neither are the values that the file has already: the same seed
finds the same numbers, whatever is there."""

from __future__ import annotations

import concurrent.futures
import copy
import dataclasses
import os
import random
import re
import statistics
from collections.abc import Callable, Sequence
from typing import Any

from netblt_plan import fields, scenario
from netblt_plan.scenario import Row, Run, Scenario, ScenarioError
from netblt_plan.simulate import simulate
from netblt_plan.tables import Tables

_ROUNDS = 8  # of smaller steps
_FIRST_STEP = 0.2  # of the range
_STEP_SHRINKS = 0.7
_ROUGH = 4  # the random trials are run with so many times fewer seeds,
_PROMISING = 8  # and so many of them again with all
_DIGITS = 2  # hundredths of a millisecond: more would claim what the tables cannot show
_NOISE_STEPS = 7
_NOISE_DIGITS = 2
_QUIET_SEEDS = 10
_QUIET_LOSS = 2.0  # packets that count as much as the edge of a band
_POWER = 8  # a row at the edge of its band weighs far more than one in the middle


@dataclasses.dataclass(frozen=True, slots=True)
class Fitted:
    values: dict[str, float]
    badness: float  # 1 = rows are typically at the edge of their bands
    noise: dict[int, float]  # by row, in percent


def _place(raw: Tables, dotted: str) -> tuple[Tables, str]:
    """The table that holds a [fitted] value, and its key. "variant[1].host.sender.fitted.send_ms"."""
    table: Any = raw
    *way, key = dotted.split(".")
    for step in way:
        match = re.fullmatch(r"(\w+)\[(\d+)\]", step)
        try:
            table = table[match[1]][int(match[2])] if match else table[step]
        except (KeyError, IndexError, TypeError):
            raise ScenarioError(f'fit.range."{dotted}": there is no {step!r}') from None
    if "fitted" not in way or key not in table:
        raise ScenarioError(f'fit.range."{dotted}": names no parameter of a [fitted] table')
    return table, key


def _template(raw: Tables, dotted: str) -> str | None:
    bounds = raw["fit"]["range"][dotted]
    return str(bounds["text"]) if isinstance(bounds, dict) else None


def _bounds(bounds: Any) -> list[float]:
    return list(bounds["range"] if isinstance(bounds, dict) else bounds)


def with_values(raw: Tables, values: dict[str, float], noise: dict[int, float]) -> Tables:
    changed = copy.deepcopy(raw)
    for dotted, value in values.items():
        table, key = _place(changed, dotted)
        template = _template(raw, dotted)
        table[key] = value if template is None else template.format(f"{value:g}")
    if noise:
        changed["table"].setdefault("fitted", {})["noise"] = {str(row): percent for row, percent in noise.items()}
    return changed


def _mean(run: Run, seeds: int, *keys: str) -> list[float]:
    outcomes = [simulate(run, seed).metrics for seed in range(1, seeds + 1)]
    return [statistics.fmean(outcome[key] for outcome in outcomes) for key in keys]


def _with_noise(run: Run, link: str, percent: float) -> Run:
    tables = copy.deepcopy(run.tables)
    forward = tables["link"][link]["forward"]
    forward.pop("loss", None)
    if percent > 0:
        forward["loss"] = f"{percent:.6f}%"
    return dataclasses.replace(run, tables=tables)


def solve_noise(run: Run, row: Row, link: str, seeds: int) -> float:
    """The loss in percent that makes the row lose as many packets as it states, cards and all; by halving."""
    low, high = 0.0, 100 * row.loss_share
    if _mean(_with_noise(run, link, low), seeds, "loss")[0] >= row.loss:
        return 0.0
    for _ in range(_NOISE_STEPS):
        middle = (low + high) / 2
        if _mean(_with_noise(run, link, middle), seeds, "loss")[0] < row.loss:
            low = middle
        else:
            high = middle
    return round((low + high) / 2, _NOISE_DIGITS)


class _Fit:
    def __init__(self, file: Scenario, progress: Callable[[str], None]) -> None:
        settings = file.raw.get("fit")
        if not settings or not settings.get("range"):
            raise ScenarioError(f"{file.path}: fit.range: is missing: which parameters, and from where to where?")
        self.file = file
        self.progress = progress
        self.ranges = {key: _bounds(bounds) for key, bounds in settings["range"].items()}
        self.trials: int = settings.get("trials", 200)
        self.seeds: int = settings.get("seeds", 4)
        self.noise_rows = set(fields.row_numbers(settings["noise_rows"])) if "noise_rows" in settings else set()
        # According to the RFC these lose nothing without noise.
        self.quiet_rows = set(fields.row_numbers(settings["quiet_rows"])) if "quiet_rows" in settings else set()
        self.link: str = file.raw["table"].get("loss_link", "")
        for dotted in self.ranges:
            _place(file.raw, dotted)

    def badness_of(self, run: Run, row: Row, seeds: int) -> float:
        """How far from its published figures, in widths of its bands; to a power, so that the worst decides."""
        if row.number in self.quiet_rows:
            quiet = _with_noise(run, self.link, 0)
            return float((_mean(quiet, _QUIET_SEEDS, "loss")[0] / _QUIET_LOSS) ** _POWER)
        terms = []
        speed, loss, dtmos = _mean(run, seeds, "speed", "loss", "dtmos")
        for band in self.file.bands:
            if row.number not in band.rows:
                continue
            if band.speed_percent is not None:
                terms.append(100 * (speed / row.speed - 1) / band.speed_percent)
            if band.loss_percent is not None:
                terms.append(100 * (loss / row.loss - 1) / band.loss_percent)
            if band.nothing_lost:
                terms.append(10 * (loss + dtmos))
        total = sum(abs(term) ** _POWER for term in terms if term == term)
        return float(total) if all(term == term for term in terms) else 1e9

    def badness(self, values: dict[str, float], seeds: int) -> float:
        trial = scenario.from_tables(self.file.path, with_values(self.file.raw, values, {}))
        skipped = self.noise_rows - self.quiet_rows  # their noise is found afterwards, their SPEED is not looked at
        rows = [
            (run, run.row) for run in trial.runs if run.row and not run.row.held_out and run.row.number not in skipped
        ]
        unlike = {_without_number(row): (run, row) for run, row in rows}  # equal rows are simulated once
        return float(
            (sum(self.badness_of(run, row, seeds) for run, row in unlike.values()) / len(unlike)) ** (1 / _POWER)
        )

    def draw(self, luck: random.Random) -> dict[str, float]:
        return {key: round(luck.uniform(*bounds), _DIGITS) for key, bounds in self.ranges.items()}

    def near(self, values: dict[str, float], step: float, luck: random.Random) -> dict[str, float]:
        """Some of the parameters moved a little."""
        moved = dict(values)
        for key in luck.sample(sorted(values), k=luck.randint(1, min(3, len(values)))):
            low, high = self.ranges[key]
            moved[key] = round(min(high, max(low, luck.gauss(moved[key], step * (high - low)))), _DIGITS)
        return moved

    def ranked(self, candidates: Sequence[dict[str, float]], seeds: int) -> list[tuple[float, dict[str, float]]]:
        """The best first; of equals the earlier."""
        with concurrent.futures.ThreadPoolExecutor(max_workers=os.cpu_count() or 2) as pool:
            marks = list(pool.map(lambda values: self.badness(values, seeds), candidates))
        return sorted(zip(marks, candidates, strict=True), key=lambda one: one[0])

    def run(self, seed: int) -> Fitted:
        luck = random.Random(seed)
        rough = self.ranked([self.draw(luck) for _ in range(self.trials)], max(1, self.seeds // _ROUGH))
        mark, values = self.ranked([one for _, one in rough[:_PROMISING]], self.seeds)[0]
        self.progress(f"{self.trials} trials: {mark:.3f}")
        for step in range(_ROUNDS):
            size = _FIRST_STEP * _STEP_SHRINKS**step
            around = [values, *(self.near(values, size, luck) for _ in range(self.trials // 4))]
            mark, values = self.ranked(around, self.seeds)[0]
            self.progress(f"around the best, step {step + 1} of {_ROUNDS}: {mark:.3f}")
        return Fitted(values, mark, self.noise(values))

    def noise(self, values: dict[str, float]) -> dict[int, float]:
        """Of every such row, held out or not: it follows from #LOSS, not from SPEED."""
        final = scenario.from_tables(self.file.path, with_values(self.file.raw, values, {}))
        seeds = self.file.raw["table"].get("seeds", 1)
        rows = [(run, run.row) for run in final.runs if run.row and run.row.number in self.noise_rows]
        with concurrent.futures.ThreadPoolExecutor(max_workers=os.cpu_count() or 2) as pool:
            found = pool.map(lambda pair: solve_noise(pair[0], pair[1], self.link, seeds), rows)
            return {row.number: percent for (_, row), percent in zip(rows, found, strict=True)}


def _without_number(row: Row) -> Row:
    return dataclasses.replace(row, number=0)


def fit(file: Scenario, seed: int, progress: Callable[[str], None]) -> Fitted:
    if not file.is_table:
        raise ScenarioError(f"{file.path}: table: is missing: only tables of rows can be fitted to")
    return _Fit(file, progress).run(seed)


def write(file: Scenario, found: Fitted) -> None:
    """Puts the numbers into the file, line by line, so that its comments stay."""
    lines = file.path.read_text(encoding="utf-8").splitlines()
    for dotted, value in found.values.items():
        at = _line_of(lines, dotted)
        template = _template(file.raw, dotted)
        shown = f"{value}" if template is None else '"' + template.format(f"{value:g}") + '"'
        parts = re.fullmatch(r'(.*?= *)(?:"[^"]*"|[\d.]+)(.*)', lines[at])
        assert parts is not None
        lines[at] = f"{parts[1]}{shown}{parts[2]}"
    text = "\n".join(lines) + "\n"
    if found.noise:
        body = "\n".join(f"{row} = {percent}" for row, percent in sorted(found.noise.items()))
        heading = "[table.fitted.noise] # percent, found by `experiment fit` from #LOSS of the row\n"
        text = re.sub(r"\[table\.fitted\.noise\][^\n]*\n(?:\d+ = [\d.]+\n)*", heading + body + "\n", text)
    file.path.write_text(text, encoding="utf-8")


def _line_of(lines: Sequence[str], dotted: str) -> int:
    """The line "key = value" of a parameter: below its table's heading, counting [[variant]]s."""
    match = re.fullmatch(r"(?:variant\[(\d+)\]\.)?(.+)\.(\w+)", dotted)
    assert match is not None
    variant, table, key = match[1], match[2], match[3]
    heading = f"[variant.{table}]" if variant is not None else f"[{table}]"
    seen, inside = -1, False
    for number, line in enumerate(lines):
        if line.startswith("["):
            seen += line.startswith("[[variant]]")
            inside = line.startswith(heading) and (variant is None or seen == int(variant))
        elif inside and re.match(rf"{key}\s*=", line):
            return number
    raise ScenarioError(f'fit.range."{dotted}": its line was not found below {heading}')
