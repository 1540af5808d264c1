# SPDX-License-Identifier: GPL-2.0-or-later
"""What the path between two captures did to the packets, as a table and as JSON."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from netblt_conformance.common import tables
from netblt_conformance.common.tables import Column
from netblt_conformance.common.words import fit
from netblt_conformance.pairing.paths import Direction, Pairing, Seen
from netblt_conformance.report import table

_NS_PER_US, _NS_PER_MS = 1_000, 1_000_000
_FIGURES = ("sent", "lost", "copies", "late", "damaged", "missed", "unknown", "delay min", "median", "max")
_COLUMNS = (Column("path"), *(Column(figure, right=True) for figure in _FIGURES))


def _captured(direction: Direction) -> int:
    """Packets that were captured nearest to their source."""
    return int((direction.packets.sent >= 0).sum()) - direction.packets.count(Seen.COPY)


def _delays(direction: Direction) -> tuple[float, float, float] | None:
    """Shortest, median and longest, in ms."""
    delays = direction.delays_ns
    if not len(delays):
        return None
    return tuple(float(f(delays)) / _NS_PER_MS for f in (np.min, np.median, np.max))  # type: ignore[return-value]


def _row(direction: Direction) -> list[str]:
    packets = direction.packets
    counts = (
        _captured(direction),
        packets.count(Seen.LOST),
        packets.count(Seen.COPY),
        direction.reordered,
        packets.count(Seen.DAMAGED),
        packets.count(Seen.MISSED),
        packets.count(Seen.NOT_COVERED),
    )
    delays = _delays(direction)
    return [*map(str, counts), *((f"{delay:.3f}" for delay in delays) if delays else ("-", "-", "-"))]


def _clock(pairing: Pairing) -> str:
    clock = pairing.clock
    offset, bound = clock.offset_ns / _NS_PER_MS, clock.bound_ns / _NS_PER_MS
    if math.isinf(bound):
        return "clocks: their offset is not known"
    which = f"{pairing.points[1].name} is ahead of {pairing.points[0].name} by"
    drift = f"drift {clock.drift_ppm:+.1f} ppm (within {clock.drift_bound_ppm:.1f})"
    return f"clocks: {which} {offset:.3f} ms (within {bound:.3f} ms), {drift}"


def lines(pairing: Pairing) -> list[str]:
    """For people. Delays are in ms."""
    rows = [[f"{one.source.source} > {one.source.destination}", *_row(one)] for one in pairing.directions]
    return tables.lines(_COLUMNS, rows, indent=2) + [
        line for text in (_clock(pairing), *pairing.notes) for line in table.wrapped(fit(text), "  ", "    ")
    ]


def document(pairing: Pairing) -> dict[str, Any]:
    """For programs. Times are microseconds."""
    clock = pairing.clock
    known = math.isfinite(clock.bound_ns)
    return {
        "captures": [one.name for one in pairing.points],
        "clock": {
            "offset_us": round(clock.offset_ns / _NS_PER_US, 3) if known else None,
            "offset_bound_us": round(clock.bound_ns / _NS_PER_US, 3) if known else None,
            "drift_ppm": round(clock.drift_ppm, 3),
            "drift_bound_ppm": round(clock.drift_bound_ppm, 3) if known else None,
            "steady": clock.steady,
        },
        "directions": [_direction(one) for one in pairing.directions],
        "notes": pairing.notes,
    }


def _direction(direction: Direction) -> dict[str, Any]:
    packets = direction.packets
    delays = _delays(direction)
    return {
        "source": direction.source.source,
        "destination": direction.source.destination,
        "captured_at_source": _captured(direction),
        "arrived": packets.count(Seen.ARRIVED) + packets.count(Seen.DAMAGED),
        "lost": packets.count(Seen.LOST),
        "copies": packets.count(Seen.COPY),
        "late": direction.reordered,
        "damaged": packets.count(Seen.DAMAGED),
        "missed": packets.count(Seen.MISSED),
        "unknown": packets.count(Seen.NOT_COVERED),
        "delay_us": None
        if delays is None
        else {name: round(delay * 1000, 3) for name, delay in zip(("min", "median", "max"), delays, strict=True)},
    }
