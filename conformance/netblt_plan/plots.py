# SPDX-License-Identifier: GPL-2.0-or-later
"""Charts of one run (throughput, time and sequence, outstanding buffers, loss recovery) and of a table's errors."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from netblt_plan import line
from netblt_plan.charts import COLOURS, Chart, Point, Series
from netblt_plan.native import Sample
from netblt_plan.outcome import Outcome
from netblt_plan.running import RunResult, error_percent
from netblt_plan.scenario import Run

SENT, RESENT, ARRIVED, OUTSTANDING, COMPLETE, RATE = range(6)  # world.h: enum world_sample_kind
_BINS = 120
_DOTS_MAX = 3000
_DATA_HEADER_BYTES = 24


def _thinned(points: Sequence[Point]) -> Sequence[Point]:
    step = -(-len(points) // _DOTS_MAX)
    return points[::step] if step > 1 else points


def _binned(samples: Sequence[tuple[float, float]], seconds: float) -> list[Point]:
    """Bits a second, in megabits, by time."""
    width = seconds / _BINS
    sums = [0.0] * _BINS
    for at, size in samples:
        sums[min(_BINS - 1, int(at / width))] += size
    return [((i + 0.5) * width, 8 * total / width / 1e6) for i, total in enumerate(sums)]


def throughput_series(outcome: Outcome) -> list[Series]:
    """What arrived of each flow; of a single flow also what was sent, and the rate that the receiver offered."""
    if len(outcome.flows) == 1:
        sent = [(one.at, _data_bytes(one)) for one in outcome.samples if one.kind in (SENT, RESENT)]
        rate = [(one.at, one.value / 1e6) for one in outcome.samples if one.kind == RATE and one.value]
        return [
            Series("sent", _binned(sent, outcome.seconds), COLOURS[0]),
            Series("arrived", _binned(_arrivals(outcome, 0), outcome.seconds), COLOURS[2]),
            Series("offered rate", [*rate, (outcome.seconds, rate[-1][1])] if rate else [], COLOURS[5], "step"),
        ]
    return [
        Series(f"{flow.name} arrived", _binned(_arrivals(outcome, i), outcome.seconds), COLOURS[i % len(COLOURS)])
        for i, flow in enumerate(outcome.flows)
    ]


def _data_bytes(one: Sample) -> float:
    return float(one.value - _DATA_HEADER_BYTES)


def _arrivals(outcome: Outcome, flow: int) -> list[tuple[float, float]]:
    return [(one.at, _data_bytes(one)) for one in outcome.samples if one.kind == ARRIVED and one.flow == flow]


def throughput(run: Run, outcome: Outcome) -> Chart:
    return Chart(f"{run.name}: throughput", "seconds", "Mb/s of data", throughput_series(outcome))


def _sequence(samples: Sequence[Sample], kind: int, packets: int) -> list[Point]:
    return [(one.at, float(one.buffer * packets + one.packet)) for one in samples if one.kind == kind and one.flow == 0]


def _packets_per_buffer(run: Run) -> int:
    flow = next(iter(run.tables["flow"].values()))
    buffer_size, packet_size = line.buffer_size(flow), line.packet_size(flow)
    return -(-buffer_size // packet_size)


def sequence(run: Run, outcome: Outcome) -> Chart:
    packets = _packets_per_buffer(run)
    series = [
        Series("sent", _thinned(_sequence(outcome.samples, SENT, packets)), COLOURS[0], "dots", 1.0),
        Series("arrived", _thinned(_sequence(outcome.samples, ARRIVED, packets)), COLOURS[2], "dots", 1.0),
        Series("retransmitted", _thinned(_sequence(outcome.samples, RESENT, packets)), COLOURS[1], "dots", 2.0),
    ]
    return Chart(f"{run.name}: time and sequence", "seconds", "packet", series)


def outstanding_series(outcome: Outcome) -> list[Series]:
    """Outstanding buffers at the sender of each flow."""
    series = []
    for i, flow in enumerate(outcome.flows):
        points = [(one.at, float(one.value)) for one in outcome.samples if one.kind == OUTSTANDING and one.flow == i]
        series.append(Series(flow.name, _thinned(points), COLOURS[i % len(COLOURS)], "step"))
    return series


def outstanding(run: Run, outcome: Outcome) -> Chart:
    title = f"{run.name}: outstanding buffers at the sender"
    return Chart(title, "seconds", "buffers", outstanding_series(outcome))


def recovery(run: Run, outcome: Outcome) -> Chart:
    """How long each buffer took from its first packet to its completion, and to its OK; a retransmission lengthens
    it."""
    buffers = [(i, one) for i, one in enumerate(outcome.flows[0].buffers) if one.first_sent is not None]
    complete = [(float(i), 1000 * (one.done - one.first_sent)) for i, one in buffers if one.done and one.first_sent]
    acked = [(float(i), 1000 * (one.acked - one.first_sent)) for i, one in buffers if one.acked and one.first_sent]
    again = {one.buffer for one in outcome.samples if one.kind == RESENT and one.flow == 0}
    series = [
        Series("OK at the sender", _thinned(acked), COLOURS[5], "dots"),
        Series(
            "complete at the receiver", _thinned([p for p in complete if int(p[0]) not in again]), COLOURS[2], "dots"
        ),
        Series(
            "complete, with retransmissions",
            _thinned([p for p in complete if int(p[0]) in again]),
            COLOURS[1],
            "dots",
            2.0,
        ),
    ]
    return Chart(f"{run.name}: loss recovery", "buffer", "ms since its first packet left", series)


def of_run(run: Run, outcome: Outcome) -> dict[str, Chart]:
    """Charts by name."""
    return {
        "throughput": throughput(run, outcome),
        "sequence": sequence(run, outcome),
        "outstanding": outstanding(run, outcome),
        "recovery": recovery(run, outcome),
    }


def run_speeds(results: Sequence[RunResult]) -> Chart:
    """Goodput and steady state of each run, by its row of the table."""
    series = [
        Series(
            "goodput", [(n + 0.6, one.means["goodput"]) for n, one in enumerate(results)], COLOURS[0], "bars", width=0.4
        ),
        Series(
            "steady", [(n + 1.0, one.means["speed"]) for n, one in enumerate(results)], COLOURS[2], "bars", width=0.4
        ),
    ]
    return Chart("Runs compared: speed", "row of the table", "Mb/s of data", series)


def compared(outcomes: Sequence[tuple[str, Outcome]]) -> dict[str, Chart]:
    """Charts that lay runs over each other: what arrived of all flows, as a rate and as a sum over time."""
    rates, sums = [], []
    for number, (name, outcome) in enumerate(outcomes):
        colour = COLOURS[number % len(COLOURS)]
        arrivals = sorted(one for flow in range(len(outcome.flows)) for one in _arrivals(outcome, flow))
        rates.append(Series(name, _binned(arrivals, outcome.seconds), colour))
        total = itertools.accumulate(size / 1e6 for _, size in arrivals)
        sums.append(Series(name, _thinned([(at, mb) for (at, _), mb in zip(arrivals, total, strict=True)]), colour))
    return {
        "compared-throughput": Chart("Runs compared: throughput", "seconds", "Mb/s of data", rates),
        "compared-progress": Chart("Runs compared: progress", "seconds", "MB arrived", sums),
    }


def table_errors(results: Sequence[RunResult]) -> Chart:
    rows = [(one, one.run.row) for one in results if one.run.row is not None]
    fitted = [(row.number - 0.4, error_percent(one)) for one, row in rows if not row.held_out]
    held = [(row.number - 0.4, error_percent(one)) for one, row in rows if row.held_out]
    series = [
        Series("fitted to", fitted, COLOURS[0], "bars", width=0.8),
        Series("held out", held, COLOURS[4], "bars", width=0.8),
    ]
    return Chart("Error of SPEED", "row", "percent", series)


def table_speeds(results: Sequence[RunResult]) -> Chart:
    rows = [(one, one.run.row) for one in results if one.run.row is not None]
    published = [(float(row.number), row.speed) for _, row in rows]
    measured = [(float(row.number), one.means["speed"]) for one, row in rows]
    series = [
        Series("published", published, COLOURS[5], "dots", 4.0),
        Series("measured", measured, COLOURS[1], "dots", 2.0),
    ]
    return Chart("SPEED", "row", "Mb/s", series)
