# SPDX-License-Identifier: GPL-2.0-or-later
"""The best fixed setting: what a user who knows the path would choose, found by trying."""

from __future__ import annotations

import copy
import dataclasses
import math

from netblt_plan import line, metrics, possible
from netblt_plan.scenario import Run, ScenarioError
from netblt_plan.tables import Tables

# Shares of the path's capacity that are tried: just below it, at it, and where queues and hosts need more room.
_SHARES = (0.85, 0.92, 0.96, 0.98, 0.99, 1.0)
_LONGEST_INTERVAL_MS = 40
# Round trips at full rate that the outstanding buffers must hold: data, a retransmission, and one more.
_ROUND_TRIPS = 3
_BUFFERS_MORE = 2
_MAX_BUFFERS = 65_535


def pair(bits_per_s: float, packet_size: int) -> tuple[int, int]:
    """Burst size and interval in ms whose rate comes closest to `bits_per_s` of data without exceeding it."""
    packets_per_ms = bits_per_s / 8000 / packet_size
    best, choice = 0.0, (1, min(65_535, math.ceil(1 / packets_per_ms)))
    for interval in range(1, _LONGEST_INTERVAL_MS + 1):
        size = math.floor(packets_per_ms * interval + 1e-9)
        if 1 <= size <= 65_535 and size / interval > best + 1e-9:
            best, choice = size / interval, (size, interval)
    return choice


def _wanting(tables: Tables) -> list[Tables]:
    return [flow for flow in tables["flow"].values() if flow.get("rate") == "best"]


def buffers_needed(tables: Tables, flow: Tables) -> int:
    """How many outstanding buffers carry what the path carries, in spite of loss."""
    product = metrics.capacity(tables, flow) / 8 * possible.round_trip_s(tables["link"], flow)
    return min(_MAX_BUFFERS, math.ceil(_ROUND_TRIPS * product / line.buffer_size(flow)) + _BUFFERS_MORE)


def with_pairs(run: Run, share: float) -> Run:
    """The run with every flow that wants its best fixed setting at this share of what the path carries, divided among
    them, and with as many buffers as that needs unless the file gives their number."""
    tables: Tables = copy.deepcopy(run.tables)
    wanting = _wanting(tables)
    for flow in wanting:
        room = metrics.capacity(tables, flow)
        if math.isinf(room):
            raise ScenarioError(f'run {run.name!r}: rate = "best" needs a link with a rate')
        flow["rate"] = "fixed"
        flow["burst_size"], flow["burst_interval_ms"] = pair(share * room / len(wanting), line.packet_size(flow))
        flow.setdefault("max_buffers", buffers_needed(tables, flow))
    return dataclasses.replace(run, tables=tables)


def _worth(figures: dict[str, float], wanting: list[tuple[str, Tables]]) -> float:
    """The more the better: of transfers that all have an end the time until the last one is over, else the goodput,
    which is that of a span in which a transfer may be over."""
    if all("bytes" in flow for _, flow in wanting):
        worth = -max(figures[f"{name}.seconds"] for name, _ in wanting)
    else:
        worth = figures["total_goodput"]
    return -math.inf if math.isnan(worth) else worth


def _limits(run: Run) -> list[str]:
    """What keeps a flow that wants its best fixed setting below what the path carries, whatever the pair."""
    notes = []
    for flow in _wanting(run.tables):
        needed, given = buffers_needed(run.tables, flow), flow.get("max_buffers", math.inf)
        if given < needed and flow.get("bytes", math.inf) > given * line.buffer_size(flow):
            notes.append(
                f"the buffers are the limit: max_buffers is {given}, and {needed} of {line.buffer_size(flow)} bytes "
                f"hold {_ROUND_TRIPS} round trips at the path's rate"
            )
    return notes


def settle(run: Run, seed: int) -> tuple[Run, list[str]]:
    """The run with "best" replaced by the pair that does best, and notes: which it is, and what else is a limit."""
    from netblt_plan.simulate import simulate

    wanting = [(name, flow) for name, flow in run.tables["flow"].items() if flow.get("rate") == "best"]
    if not wanting:
        return run, []
    tried: dict[tuple[tuple[int, int], ...], tuple[float, Run]] = {}
    for share in _SHARES:
        candidate = with_pairs(run, share)
        flows = candidate.tables["flow"]
        key = tuple((flows[name]["burst_size"], flows[name]["burst_interval_ms"]) for name, _ in wanting)
        if key not in tried:
            tried[key] = (_worth(simulate(candidate, seed).metrics, wanting), candidate)
    (pairs, (_, winner)) = max(tried.items(), key=lambda item: item[1][0])
    text = ", ".join(f"{size} packets/{ms} ms" for size, ms in pairs)
    return winner, [f"best fixed setting: {text}", *_limits(run)]
