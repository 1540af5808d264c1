# SPDX-License-Identifier: GPL-2.0-or-later
"""Scenario files: networks, hosts, flows and what is expected of them, read and checked. docs/experiments.md."""

from __future__ import annotations

import copy
import csv
import dataclasses
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from netblt_conformance.common import paths, toml_file

from netblt_plan import fields, line, possible
from netblt_plan.fields import Check
from netblt_plan.native import World, WorldError
from netblt_plan.tables import Expectation, Tables


class ScenarioError(Exception):
    """The scenario file cannot be used; one line that states what is wrong and where."""


@dataclasses.dataclass(frozen=True, slots=True)
class Row:
    """A row of RFC 1030's tables."""

    number: int
    burst_size: int
    burst_interval_ms: int
    packet_size: int
    buffer_size: int
    kilobytes: int
    max_buffers: int
    loss: int
    retransmitted: int
    data_timeouts: int | None
    speed: float
    held_out: bool

    @property
    def packets(self) -> int:
        return -(-self.kilobytes * 1000 // self.packet_size)

    @property
    def loss_share(self) -> float:
        """Of the packets sent, repeats included."""
        return self.loss / (self.packets + self.retransmitted)


@dataclasses.dataclass(frozen=True, slots=True)
class Run:
    """One thing to simulate, with as many seeds."""

    name: str
    about: str
    tables: Tables  # link, host, flow, cross: whole and checked
    duration_s: float
    measure_from_s: float
    seeds: int
    expect: tuple[Expectation, ...] = ()
    row: Row | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Band:
    rows: tuple[int, ...]
    speed_percent: float | None
    mean_percent: float | None
    loss_percent: float | None
    nothing_lost: bool
    explained: tuple[int, ...]  # rows that may lie outside, because of `why`
    why: str


@dataclasses.dataclass(frozen=True, slots=True)
class Scenario:
    path: Path
    title: str
    about: str
    source: str
    runs: tuple[Run, ...]
    bands: tuple[Band, ...]
    capture_link: str | None
    fitted: dict[str, Any]  # dotted key of every fitted parameter, and its value
    raw: Tables

    @property
    def is_table(self) -> bool:
        return "table" in self.raw


def folder() -> Path:
    return paths.root() / "conformance" / "scenarios"


def find(name: str) -> Path:
    """The file of a scenario by its name or its path."""
    path = Path(name)
    if path.suffix == ".toml":
        if not path.is_file():
            raise ScenarioError(f"{path}: no such file")
        return path
    path = folder() / f"{name}.toml"
    if not path.is_file():
        raise ScenarioError(f"there is no scenario {name!r}; there are: {', '.join(names())}, or give a .toml file")
    return path


def names() -> list[str]:
    return sorted(path.stem for path in folder().glob("*.toml"))


class _Reader:
    """Reads one file; every complaint names it and the key."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.understood: set[str] = set()  # lines that the flakeway has read already
        self.trial = World(0)
        self.trial.add_link()

    def fail(self, key: str, what: str) -> ScenarioError:
        return ScenarioError(f"{self.path}: {key}: {what}")

    def check(self, where: str, table: Any, allowed: Mapping[str, Check]) -> None:
        if not isinstance(table, dict):
            raise self.fail(where, f"{table!r} is not a table")
        for key, value in table.items():
            dotted = f"{where}.{key}" if where else key
            if key not in allowed:
                raise self.fail(dotted, f"there is no such field; known are {', '.join(sorted(allowed))}")
            if (wrong := allowed[key](value)) is not None:
                raise self.fail(dotted, wrong)

    def check_possible(self, where: str, wrong: tuple[str, str] | None) -> None:
        if wrong is not None:
            raise self.fail(f"{where}.{wrong[0]}", wrong[1])

    # ---- tables -----------------------------------------------------------------------------------------------------

    def merge_fitted(self, where: str, table: Tables) -> Tables:
        """The table with its [fitted] parameters in it."""
        merged = {key: value for key, value in table.items() if key != "fitted"}
        fitted = table.get("fitted", {})
        if not isinstance(fitted, dict):
            raise self.fail(f"{where}.fitted", "is not a table")
        for key, value in fitted.items():
            if key in merged and not isinstance(value, dict):
                raise self.fail(f"{where}.{key}", "is given and fitted at once")
            merged[key] = {**merged.get(key, {}), **value} if isinstance(value, dict) else value
        return merged

    def links(self, tables: Tables) -> Tables:
        result = {}
        for name, table in tables.items():
            where = f"link.{name}"
            if not isinstance(table, dict):
                raise self.fail(where, "is not a table")
            link = self.merge_fitted(where, fields.with_delay(table))
            both = {key: value for key, value in link.items() if key not in ("forward", "back")}
            self.check(where, both, fields.LINK)
            for way in ("forward", "back"):
                own = self.merge_fitted(f"{where}.{way}", link.get(way, {}))
                self.check(f"{where}.{way}", own, fields.DIRECTION)
                both_ways = {key: value for key, value in both.items() if key in fields.DIRECTION}
                link[way] = {**both_ways, **own}
                if link[way].get("queue", "").endswith("cells") and "cells" not in link[way]:
                    raise self.fail(f"{where}.{way}.queue", "is counted in cells, but the link has no `cells`")
                if "frames" in link[way] and "rate" in link[way]:
                    raise self.fail(f"{where}.{way}.frames", "excludes `rate`: the frames are the rate")
                self.check_statements(f"{where}.{way}", link[way])
            for i, change in enumerate(both.get("changes", [])):
                self.check(f"{where}.changes[{i}]", change, fields.CHANGE)
                if "at" not in change:
                    raise self.fail(f"{where}.changes[{i}].at", "is missing")
                self.check_statements(f"{where}.changes[{i}]", change)
                self.check_possible(f"{where}.changes[{i}]", possible.change(change))
            for i, rule in enumerate(both.get("rules", [])):
                self.check_line(f"{where}.rules[{i}]", rule)
            result[name] = link
        return result

    def check_statements(self, where: str, table: Tables) -> None:
        """The flakeway itself decides whether it understands a value."""
        for key, statement in fields.STATEMENTS.items():
            if key in table:
                self.check_line(f"{where}.{key}", f"{statement} {table[key]}")

    def check_line(self, where: str, line: str) -> None:
        if line in self.understood:
            return
        try:
            self.trial.set_link(0, line)
        except WorldError as error:
            raise self.fail(where, str(error)) from None
        self.understood.add(line)

    def hosts(self, tables: Tables) -> Tables:
        result = {}
        for name, table in tables.items():
            where = f"host.{name}"
            if not isinstance(table, dict):
                raise self.fail(where, "is not a table")
            host = self.merge_fitted(where, self.like(where, table, tables))
            self.check(where, host, fields.HOST)
            self.check_possible(where, possible.host(host))
            result[name] = host
        return result

    def like(self, where: str, table: Tables, tables: Tables) -> Tables:
        """The table on top of the one that its key `like` names."""
        if "like" not in table:
            return table
        other = tables.get(table["like"]) if isinstance(table["like"], str) else None
        if not isinstance(other, dict) or other is table or "like" in other:
            raise self.fail(f"{where}.like", f"there is no other host {table['like']!r}, or it is itself like one")
        result = copy.deepcopy(other)
        _merge(result, {key: value for key, value in table.items() if key != "like"})
        return result

    def route(self, where: str, table: Tables, links: Tables) -> list[tuple[str, int]]:
        """Links by name with their direction: "name" forward, "name:back" the other way."""
        words = table.get("route")
        if words is None:
            if len(links) != 1:
                raise self.fail(f"{where}.route", f"is missing, and there are {len(links)} links to choose from")
            words = list(links)
        route = []
        for word in words:
            name, _, way = word.partition(":")
            if name not in links:
                raise self.fail(f"{where}.route", f"there is no link {name!r}")
            if way not in ("", "forward", "back"):
                raise self.fail(f"{where}.route", f"{way!r} is neither forward nor back")
            route.append((name, int(way == "back")))
        if not 1 <= len(route) <= 4:
            raise self.fail(f"{where}.route", "has 1 to 4 links")
        return route

    def flows(self, tables: Tables, links: Tables, hosts: Tables, duration_s: float) -> Tables:
        result = {}
        if not tables:
            raise self.fail("flow", "there is none")
        for name, table in tables.items():
            where = f"flow.{name}"
            flow = self.merge_fitted(where, table) if isinstance(table, dict) else table
            self.check(where, flow, fields.FLOW)
            for end in ("from", "to"):
                if end not in flow:
                    raise self.fail(f"{where}.{end}", "is missing")
                if flow[end] not in hosts:
                    raise self.fail(f"{where}.{end}", f"there is no host {flow[end]!r}")
            if flow["from"] == flow["to"]:
                raise self.fail(f"{where}.to", "is the host that sends")
            if flow.get("packet_size", 1) > flow.get("buffer_size", 2**31):
                raise self.fail(f"{where}.packet_size", "is larger than the buffer")
            flow["route"] = self.route(where, flow, links)
            self.check_possible(where, possible.flow(flow, links, duration_s))
            result[name] = flow
        return result

    def cross(self, tables: Tables, links: Tables, duration_s: float) -> Tables:
        result = {}
        for name, table in tables.items():
            where = f"cross.{name}"
            self.check(where, table, fields.CROSS)
            if "rate" not in table or table["rate"] == "unlimited":
                raise self.fail(f"{where}.rate", "is missing: how fast does it send?")
            self.check_possible(where, possible.cross(table, duration_s))
            result[name] = {**table, "route": self.route(where, table, links)}
        return result

    def world(self, raw: Tables, duration_s: float) -> Tables:
        links, hosts = self.links(raw.get("link", {})), self.hosts(raw.get("host", {}))
        flows = self.flows(raw.get("flow", {}), links, hosts, duration_s)
        cross = self.cross(raw.get("cross", {}), links, duration_s)
        return {"link": links, "host": hosts, "flow": flows, "cross": cross}

    # ---- runs -------------------------------------------------------------------------------------------------------

    def expectation(self, where: str, table: Tables) -> Expectation:
        self.check(where, table, fields.EXPECT)
        if "metric" not in table:
            raise self.fail(f"{where}.metric", "is missing")
        low, high = table.get("at_least", float("-inf")), table.get("at_most", float("inf"))
        value = table.get("value")
        if value is not None:
            if "within_percent" not in table:
                raise self.fail(f"{where}.within_percent", "is missing: how close to the value?")
            slack = abs(value) * table["within_percent"] / 100
            low, high = max(low, value - slack), min(high, value + slack)
        elif "at_least" not in table and "at_most" not in table:
            raise self.fail(where, "expects nothing: give at_least, at_most or value")
        if low > high:
            raise self.fail(where, "no value can be in this band")
        return Expectation(table["metric"], low, high, table.get("of"), value, table.get("source", ""))

    def run(self, where: str, raw: Tables, run: Tables) -> Run:
        self.check(where, run, fields.RUN)
        setting: Tables = {**raw, **run}  # a run's own duration, seeds and so on come first
        changed = copy.deepcopy({key: raw.get(key, {}) for key in ("link", "host", "flow", "cross")})
        for dotted, value in run.get("set", {}).items():
            self.override(f"{where}.set", changed, dotted, value)
        duration = fields.seconds(setting.get("duration", "60s"))
        measure_from = fields.seconds(setting.get("measure_from", "0s"))
        if measure_from >= duration:
            raise self.fail(f"{where}.measure_from", "is not before the end of the run")
        expect = tuple(self.expectation(f"{where}.expect[{i}]", one) for i, one in enumerate(run.get("expect", [])))
        tables = self.world(changed, duration)
        self.check_possible(where, possible.expectations(expect, tables))
        return Run(
            name=run.get("name", self.path.stem),
            about=run.get("about", ""),
            tables=tables,
            duration_s=duration,
            measure_from_s=measure_from,
            seeds=setting.get("seeds", 1),
            expect=expect,
        )

    def override(self, where: str, tables: Tables, dotted: str, value: Any) -> None:
        """`link.sat.loss = "1%"`: the table must exist, the key need not. "" takes the key out."""
        *way, key = dotted.split(".")
        table: Any = tables
        for step in way:
            if not isinstance(table, dict) or step not in table:
                raise self.fail(f'{where}."{dotted}"', f"there is no {step!r} to change")
            table = table[step]
        if not isinstance(table, dict) or len(way) < 2:
            raise self.fail(f'{where}."{dotted}"', "is not a field of a link, host, flow or cross traffic")
        for inner in (table.get("fitted"), table):
            if isinstance(inner, dict):
                inner.pop(key, None)
        if value != "":
            table[key] = value

    # ---- tables of RFC 1030 -----------------------------------------------------------------------------------------

    def csv_rows(self, table: Tables) -> list[Row]:
        path = self.path.parent / table["csv"]
        held_out = set(fields.row_numbers(table["held_out"])) if "held_out" in table else set()
        try:
            with path.open(encoding="utf-8", newline="") as file:
                return [_row(line, held_out) for line in csv.DictReader(file)]
        except OSError as error:
            raise self.fail("table.csv", f"{path}: {error.strerror}") from None
        except (KeyError, ValueError) as error:
            raise self.fail("table.csv", f"{path}: {error}") from None

    def row_run(self, raw: Tables, row: Row) -> Run:
        table = raw["table"]
        changed = copy.deepcopy({key: raw.get(key, {}) for key in ("link", "host", "flow", "cross")})
        for i, variant in enumerate(raw.get("variant", [])):
            self.check(f"variant[{i}]", variant, {**_VARIANT, "link": _any, "host": _any})
            if variant.get("packet_size") == row.packet_size or variant.get("max_buffers") == row.max_buffers:
                _merge(changed, {key: variant[key] for key in ("link", "host") if key in variant})
        flow = changed["flow"].get(table.get("flow", "main"))
        if flow is None:
            raise self.fail("table.flow", "there is no such flow")
        flow.update(
            burst_size=row.burst_size,
            burst_interval_ms=row.burst_interval_ms,
            packet_size=row.packet_size,
            buffer_size=row.buffer_size,
            bytes=row.kilobytes * 1000,
            max_buffers=row.max_buffers,
        )
        self.impose_loss(table, row, changed["link"])
        duration = fields.seconds(raw.get("duration", "600s"))
        return Run(
            name=f"row {row.number}",
            about="",
            tables=self.world(changed, duration),
            duration_s=duration,
            measure_from_s=0,
            seeds=table.get("seeds", 1),
            row=row,
        )

    def impose_loss(self, table: Tables, row: Row, links: Tables) -> None:
        """The one thing that varies per row: what the row itself states as lost."""
        share = 0.0
        imposed = row.number in fields.row_numbers(table["loss_rows"]) if "loss_rows" in table else True
        if table.get("loss", "none") == "row" and imposed:
            share = row.loss_share
        if str(row.number) in table.get("fitted", {}).get("noise", {}):
            share = table["fitted"]["noise"][str(row.number)] / 100
        if share <= 0:
            return
        link = links.get(table.get("loss_link", ""))
        if link is None:
            raise self.fail("table.loss_link", "there is no such link")
        share = 1 - (1 - share) ** (1 / _fragments(link, row.packet_size))
        link.setdefault("forward", {})["loss"] = f"{100 * share:.6f}%"

    def rows(self, raw: Tables) -> tuple[Run, ...]:
        table = raw["table"]
        self.check("table", {key: value for key, value in table.items() if key != "fitted"}, fields.TABLE)
        if "csv" not in table:
            raise self.fail("table.csv", "is missing")
        self.check("table.fitted", table.get("fitted", {}), {"noise": _any})
        for number, percent in table.get("fitted", {}).get("noise", {}).items():
            if (wrong := fields.NOISE_PERCENT(percent)) is not None:
                raise self.fail(f"table.fitted.noise.{number}", wrong)
        return tuple(self.row_run(raw, row) for row in self.csv_rows(table))

    def bands(self, raw: Tables) -> tuple[Band, ...]:
        result = []
        for i, band in enumerate(raw.get("band", [])):
            self.check(f"band[{i}]", band, fields.BAND)
            if ("explained" in band) != ("why" in band):
                raise self.fail(f"band[{i}].why", "belongs to `explained`, and `explained` to it")
            if "rows" not in band:
                raise self.fail(f"band[{i}].rows", "is missing")
            result.append(
                Band(
                    tuple(fields.row_numbers(band["rows"])),
                    band.get("speed_percent"),
                    band.get("mean_percent"),
                    band.get("loss_percent"),
                    band.get("nothing_lost", False),
                    tuple(fields.row_numbers(band["explained"])) if "explained" in band else (),
                    band.get("why", ""),
                )
            )
        return tuple(result)

    # ---- the file ---------------------------------------------------------------------------------------------------

    def read(self) -> Scenario:
        try:
            raw = toml_file.parse(self.path)
        except toml_file.TomlError as error:
            raise ScenarioError(str(error)) from None
        return self.scenario(raw)

    def scenario(self, raw: Tables) -> Scenario:
        known = {"link", "host", "flow", "cross", "run", "table", "band", "variant", "fit"}
        self.check("", {key: value for key, value in raw.items() if key not in known}, fields.TOP)
        if "title" not in raw:
            raise self.fail("title", "is missing")
        if "table" in raw:
            runs = self.rows(raw)
        else:
            listed = raw.get("run", [{}])
            if not isinstance(listed, list):
                raise self.fail("run", "is not a list of tables: write [[run]]")
            runs = tuple(self.run(f"run[{i}]", raw, run) for i, run in enumerate(listed))
        self.check("fit", raw.get("fit", {}), fields.FIT)
        for key, value in raw.get("fit", {}).get("range", {}).items():
            if (wrong := fields.interval(value)) is not None:
                raise self.fail(f'fit.range."{key}"', wrong)
        self.check_names(runs, raw)
        return Scenario(
            self.path,
            raw["title"],
            raw.get("about", ""),
            raw.get("source", ""),
            runs,
            self.bands(raw),
            raw.get("capture_link"),
            fitted_in(raw),
            raw,
        )

    def check_names(self, runs: Iterable[Run], raw: Tables) -> None:
        seen: set[str] = set()
        for run in runs:
            if run.name in seen:
                raise self.fail("run.name", f"two runs are called {run.name!r}")
            seen.add(run.name)
        for run in runs:
            for one in run.expect:
                if one.of is not None and one.of not in seen:
                    raise self.fail(f"run {run.name!r}: expect.of", f"there is no run {one.of!r}")
        if raw.get("capture_link") is not None and raw["capture_link"] not in raw.get("link", {}):
            raise self.fail("capture_link", f"there is no link {raw['capture_link']!r}")


def _any(value: Any) -> str | None:
    return None if isinstance(value, dict) else f"{value!r} is not a table"


_VARIANT: Mapping[str, Check] = {
    "packet_size": fields.integer(1, 65_000),
    "max_buffers": fields.integer(1, 65_535),
}


def _merge(into: Tables, other: Tables) -> None:
    for key, value in other.items():
        if isinstance(value, dict) and isinstance(into.get(key), dict):
            _merge(into[key], value)
        else:
            into[key] = copy.deepcopy(value)


def _fragments(link: Tables, packet_size: int) -> int:
    """The link loses fragments; the row counts whole packets."""
    return len(line.pieces({**link, **link.get("fitted", {}), **link.get("forward", {})}, packet_size))


def _row(line: Mapping[str, str], held_out: set[int]) -> Row:
    number = int(line["row"])
    return Row(
        number,
        int(line["BS"]),
        int(line["BI"]),
        int(line["PSZ"]),
        int(line["BFSZ"]),
        int(line["XFSZ"]),
        int(line["NBUFS"]),
        int(line["LOSS"]),
        int(line["RXM"]),
        int(line["DTMOS"]) if line["DTMOS"] else None,
        float(line["SPEED"]),
        number in held_out,
    )


def fitted_in(table: Any, where: str = "", inside: bool = False) -> dict[str, Any]:
    """Every parameter below a [fitted] table, by its dotted key without the word."""
    if isinstance(table, list):
        return {
            key: value for i, one in enumerate(table) for key, value in fitted_in(one, f"{where}[{i}]", inside).items()
        }
    if not isinstance(table, dict):
        return {where: table} if inside else {}
    result: dict[str, Any] = {}
    for key, value in table.items():
        below = where if key == "fitted" else f"{where}.{key}" if where else key
        result.update(fitted_in(value, below, inside or key == "fitted"))
    return result


def load(path: Path) -> Scenario:
    """Reads and checks a scenario. ScenarioError with one line that states what is wrong and where."""
    return _Reader(path).read()


def from_tables(path: Path, raw: Tables) -> Scenario:
    """As load(), of what was read from `path` and changed since."""
    return _Reader(path).scenario(raw)
