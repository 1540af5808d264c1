# SPDX-License-Identifier: GPL-2.0-or-later
"""The best fixed setting: what a user who knows the path would choose, found by trying."""

from __future__ import annotations

import copy
import dataclasses
import math

from netblt_plan import metrics
from netblt_plan.scenario import Run, ScenarioError
from netblt_plan.tables import Tables

# Shares of the path's capacity that are tried: just below it, at it, and where queues and hosts need more room.
_SHARES = (0.85, 0.92, 0.96, 0.98, 0.99, 1.0)
_LONGEST_INTERVAL_MS = 40


def pair(bits_per_s: float, packet_size: int) -> tuple[int, int]:
    """Burst size and interval in ms whose rate comes closest to `bits_per_s` of data without exceeding it."""
    packets_per_ms = bits_per_s / 8000 / packet_size
    best, choice = 0.0, (1, min(65_535, math.ceil(1 / packets_per_ms)))
    for interval in range(1, _LONGEST_INTERVAL_MS + 1):
        size = math.floor(packets_per_ms * interval + 1e-9)
        if 1 <= size <= 65_535 and size / interval > best + 1e-9:
            best, choice = size / interval, (size, interval)
    return choice


def with_pairs(run: Run, share: float) -> Run:
    """The run with every flow that wants its best fixed setting at this share of what the path carries, divided among
    them."""
    tables: Tables = copy.deepcopy(run.tables)
    wanting = [flow for flow in tables["flow"].values() if flow.get("rate") == "best"]
    for flow in wanting:
        room = metrics.capacity(tables, flow)
        if math.isinf(room):
            raise ScenarioError(f'run {run.name!r}: rate = "best" needs a link with a rate')
        flow["rate"] = "fixed"
        flow["burst_size"], flow["burst_interval_ms"] = pair(share * room / len(wanting), flow.get("packet_size", 1456))
    return dataclasses.replace(run, tables=tables)


def settle(run: Run, seed: int) -> tuple[Run, list[str]]:
    """The run with "best" replaced by the pair with the most goodput, and a note that states which."""
    from netblt_plan.simulate import simulate

    if all(flow.get("rate") != "best" for flow in run.tables["flow"].values()):
        return run, []
    tried: dict[tuple[tuple[int, int], ...], tuple[float, Run]] = {}
    for share in _SHARES:
        candidate = with_pairs(run, share)
        key = tuple((flow["burst_size"], flow["burst_interval_ms"]) for flow in candidate.tables["flow"].values())
        if key not in tried:
            tried[key] = (simulate(candidate, seed).metrics["total_goodput"], candidate)
    (pairs, (_, winner)) = max(tried.items(), key=lambda item: item[1][0])
    return winner, ["best fixed setting: " + ", ".join(f"{size} packets/{ms} ms" for size, ms in pairs)]
