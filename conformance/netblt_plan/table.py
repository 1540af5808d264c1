# SPDX-License-Identifier: GPL-2.0-or-later
"""Results as text: RFC 1030's columns for its tables, metrics and bands for other scenarios."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable

from netblt_conformance.common import tables
from netblt_conformance.common.tables import Column

from netblt_plan.metrics import STEADY_PERCENT
from netblt_plan.running import Result, RunResult, error_percent

# The RFC's columns, and what they mean.
PUBLISHED_COLUMNS = (
    ("row", "its number in the RFC's table"),
    ("BS/BI", "packets in a burst / burst interval in milliseconds"),
    ("PSZ", "bytes in a packet"),
    ("BFSZ", "bytes in a buffer"),
    ("XFSZ", "kilobytes transferred"),
    ("NBUFS", "buffers that may be outstanding"),
    ("#LOSS", "packets lost, in parentheses as published"),
    ("#RXM", "packets retransmitted, in parentheses as published"),
    ("DTMOS", "times that a data timer expired, in parentheses as published"),
    ("SPEED", "Mb/s in the steady state: from the second buffer to the one before the last full one"),
    ("error", "of SPEED against the published one"),
    ("", "whether the row is inside its band; not steady: sender and receiver see different speeds"),
)


def _speed(value: float) -> str:
    """As the RFC writes it: three digits."""
    return f"{value:.3f}" if value < 1 else f"{value:.2f}"


def _pair(measured: float, published: int | None) -> str:
    return f"{measured:.1f} ({'-' if published is None else published})"


def is_unsteady(result: RunResult) -> bool:
    tx, rx = result.means["speed"], result.means["speed_rx"]
    return abs(tx - rx) > STEADY_PERCENT / 100 * tx


def _marks(result: RunResult) -> str:
    """What follows a row."""
    inside = all(check.inside for check in result.checks)
    band = "" if inside else "outside, explained" if result.holds else "OUTSIDE"
    steady = "not steady" if is_unsteady(result) else ""
    held_out = "held out" if result.run.row and result.run.row.held_out else ""
    return "  ".join(mark for mark in (band, steady, held_out) if mark)


def _errors(name: str, results: Iterable[RunResult]) -> str:
    errors = [abs(error_percent(result)) for result in results]
    if not errors:
        return ""
    return (
        f"{name}: {len(errors)} rows, error of SPEED {statistics.fmean(errors):.2f} % mean, {max(errors):.2f} % worst"
    )


def summary_lines(result: Result) -> list[str]:
    rows = [one for one in result.runs if one.run.row is not None]
    lines = [
        _errors("fitted to ", [one for one in rows if one.run.row and not one.run.row.held_out]),
        _errors("held out  ", [one for one in rows if one.run.row and one.run.row.held_out]),
    ]
    return [line for line in lines if line]


# What a scenario without a published table shows of each run: metric, head, form, and what it means.
_COLUMNS = (
    ("goodput", "Mb/s", "{:.3f}", "data delivered, in Mb/s"),
    (
        "speed",
        "steady",
        "{:.3f}",
        "Mb/s in the steady state: from the second buffer to the one before the last full one",
    ),
    ("of_capacity", "of cap.", "{:.3f}", "the data delivered in relation to what the path can carry"),
    ("of_attainable", "of att.", "{:.3f}", "the same, less what the path loses at any load"),
    ("of_pair", "of pair", "{:.3f}", "the steady state in relation to burst size and burst interval of OPEN"),
    ("rxm", "#RXM", "{:.0f}", "packets retransmitted"),
    ("dtmos", "DTMOS", "{:.0f}", "times that a data timer expired"),
    ("queue_drops", "queue", "{:.2%}", "share of the packets that queues dropped, in the directions of data"),
    ("fairness", "fair", "{:.3f}", "the slowest flow in relation to the fastest"),
    ("cross_share", "cross", "{:.3f}", "share of the cross traffic that was delivered"),
    ("peak_outstanding", "bufs", "{:.0f}", "most buffers that were outstanding"),
    ("seconds", "seconds", "{:.1f}", "from the start until the receiver is done, of a transfer that ended"),
)
_LEFT = ("run", "BS/BI", "")  # the other columns are figures


def columns(result: Result) -> list[tuple[str, str]]:
    """Heads of the table and what each column means."""
    if result.scenario.is_table:
        return list(PUBLISHED_COLUMNS)
    return [("run", "its name in the scenario"), *((head, meaning) for _, head, _, meaning in _COLUMNS)]


def cells(result: Result, one: RunResult) -> list[str]:
    """One row of the table, a text for each column."""
    if not result.scenario.is_table:
        return [one.run.name, *(_cell(one, key, form) for key, _, form, _ in _COLUMNS)]
    row, means = one.run.row, one.means
    assert row is not None
    return [
        str(row.number),
        f"{row.burst_size}/{row.burst_interval_ms}",
        *(str(number) for number in (row.packet_size, row.buffer_size, row.kilobytes, row.max_buffers)),
        _pair(means["loss"], row.loss),
        _pair(means["rxm"], row.retransmitted),
        _pair(means["dtmos"], row.data_timeouts),
        f"{_speed(means['speed'])} ({_speed(row.speed)})",
        f"{error_percent(one):+.1f}%",
        _marks(one),
    ]


def _cell(result: RunResult, key: str, form: str) -> str:
    value = result.means.get(key, math.nan)
    automatic = next(iter(result.run.tables["flow"].values())).get("rate") == "auto"
    if math.isnan(value) or (key == "of_pair" and automatic):  # the pair in OPEN is only the start
        return ""
    return form.format(value)


def _lines(result: Result) -> list[str]:
    """The heads and a line for each run. The published columns do not fit into 80 columns of a terminal."""
    heads = [head for head, _meaning in columns(result)]
    shown = [Column(head, right=head not in _LEFT) for head in heads]
    return tables.lines(shown, [cells(result, one) for one in result.runs])


def table_text(result: Result) -> str:
    lines = [result.scenario.title, "measured (published); SPEED in megabits per second", "", *_lines(result)]
    return "\n".join([*lines, "", *summary_lines(result)])


def runs_text(result: Result) -> str:
    head, *rows = _lines(result)
    lines = [result.scenario.title, "", head]
    indent = " " * (max(len(one.run.name) for one in result.runs) + 4)
    for one, row in zip(result.runs, rows, strict=True):
        lines += [row, *(f"{indent}{note}" for note in one.notes)]
        lines += [f"{indent}{'holds  ' if check.holds else 'OUTSIDE'} {check.describe()}" for check in one.checks]
    return "\n".join(lines)


def closing_lines(result: Result) -> list[str]:
    """What is printed below the table: fitted parameters, what is outside and why, the verdict."""
    fitted = result.scenario.fitted
    lines = []
    if fitted:
        lines.append("fitted parameters: " + ", ".join(f"{key} = {value}" for key, value in fitted.items()))
    lines += [f"OUTSIDE: {check.describe()}" for check in result.checks if not check.holds]
    excuses = {check.excuse for one in result.runs for check in one.checks if check.excuse and not check.inside}
    lines += [f"explained: {excuse}" for excuse in sorted(excuses)]
    failed = [one.run.name for one in result.runs if not one.holds]
    if failed:
        lines.append(f"outside their bands: {', '.join(failed)}")
    verdict = "all inside their bands" if result.holds else "not all inside their bands"
    if not any(one.checks for one in result.runs):
        verdict = "nothing was expected"
    lines.append(f"seed {result.seed}: {verdict}")
    return lines


def text(result: Result) -> str:
    body = table_text(result) if result.scenario.is_table else runs_text(result)
    return "\n".join([body, *closing_lines(result)])
