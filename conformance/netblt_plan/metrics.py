# SPDX-License-Identifier: GPL-2.0-or-later
"""Figures of one run: RFC 1030's steady-state throughput and what else scenarios expect."""

from __future__ import annotations

import math
from collections.abc import Sequence

from netblt_plan import fields, line
from netblt_plan.native import Buffer
from netblt_plan.outcome import FlowOutcome, Outcome
from netblt_plan.scenario import Run
from netblt_plan.tables import Tables

# A row is not steady when what arrives differs by more than this from what is sent.
STEADY_PERCENT = 2.0


def steady(buffers: Sequence[Buffer], moment: str = "first_sent", first: int = 1) -> float:
    """RFC 1030's SPEED in bits a second: buffers `first` up to before the last full-size one, by the moments at which
    each begins. Setup and the final recovery drop out; retransmissions cost time and carry nothing. nan when there are
    too few buffers."""
    full = max((buffer.bytes for buffer in buffers), default=0)
    begun = [i for i, buffer in enumerate(buffers) if buffer.bytes == full and getattr(buffer, moment) is not None]
    if not begun or begun[-1] <= first or getattr(buffers[first], moment) is None:
        return math.nan
    last = begun[-1]
    seconds: float = getattr(buffers[last], moment) - getattr(buffers[first], moment)
    if seconds <= 0:  # all of them in one burst
        return math.nan
    bits = 8 * sum(buffer.bytes for buffer in buffers[first:last])
    return bits / seconds


def pair_rate(flow: Tables) -> float:
    """Data bits a second that burst size and interval allow."""
    interval = flow.get("burst_interval_ms", 20)
    if interval == 0:
        return math.inf
    return float(flow.get("burst_size", 8) * line.packet_size(flow) * 8000 / interval)


def _directions(tables: Tables, flow: Tables) -> list[Tables]:
    return [tables["link"][name][("forward", "back")[way]] for name, way in flow["route"]]


def capacity(tables: Tables, flow: Tables) -> float:
    """Data bits a second that the narrowest link on the flow's way can carry, before any loss."""
    size = line.packet_size(flow)
    return min(line.capacity(direction, size) for direction in _directions(tables, flow))


def loss_of(tables: Tables, flow: Tables) -> float:
    """The share of its packets that the flow's links lose whatever the load."""
    size = line.packet_size(flow)
    return 1 - math.prod(1 - line.chance_of_loss(direction, size) for direction in _directions(tables, flow))


def _of_flow(run: Run, outcome: Outcome, flow: FlowOutcome) -> dict[str, float]:
    begin = max(run.measure_from_s, fields.seconds(flow.settings.get("start", "0s")))
    end = min(outcome.seconds, flow.stats["receiver_done_ns"] / 1e9 or math.inf)
    delivered = flow.stats["delivered_bytes"] - flow.early["delivered_bytes"]
    sent = flow.stats["data_packets_sent"]
    arrived = flow.stats["data_packets_received"]
    room = capacity(run.tables, flow.settings)
    attainable = room * (1 - loss_of(run.tables, flow.settings))
    goodput = 8 * delivered / (end - begin) if end > begin else math.nan
    tx, rx = steady(flow.buffers), steady(flow.buffers, "first_arrived")
    return {
        "speed": tx / 1e6,
        "speed_rx": rx / 1e6,
        # From where every buffer that may be outstanding has been used once.
        "asymptote": steady(flow.buffers, first=flow.settings.get("max_buffers", 8) + 1) / 1e6,
        "of_pair": tx / pair_rate(flow.settings),
        "asymptote_of_pair": steady(flow.buffers, first=flow.settings.get("max_buffers", 8) + 1)
        / pair_rate(flow.settings),
        "goodput": goodput / 1e6,
        "of_capacity": goodput / room,
        "of_attainable": goodput / attainable if attainable > 0 else math.nan,
        "seconds": (flow.stats["receiver_done_ns"] - flow.stats["started_ns"]) / 1e9
        if flow.stats["receiver_done_ns"]
        else math.nan,
        "sent": sent,
        "loss": sent - arrived if flow.stats["finished"] else math.nan,
        "rxm": flow.stats["data_packets_retransmitted"],
        "dtmos": flow.stats["data_timeouts"],
        "ctmos": flow.stats["control_timeouts"],
        "duplicates": flow.stats["data_packets_duplicate"],
        "round_trip_ms": flow.stats["round_trip_us"] / 1000,
        "peak_outstanding": flow.stats["peak_outstanding"],
        "finished": float(flow.stats["finished"]),
        "failed": float(flow.stats["result"] != 0),
    }


def _of_links(outcome: Outcome) -> dict[str, float]:
    # The directions that data takes: control packets are few, and would only dilute the share.
    ways = {step for flow in outcome.flows for step in flow.settings["route"]}
    data = [outcome.links[name][way] for name, way in ways]
    offered, dropped = (sum(way[key] for way in data) for key in ("offered", "queue"))
    cross_offered = sum(way["cross_offered"] for link in outcome.links.values() for way in link)
    cross_delivered = sum(way["cross_delivered"] for link in outcome.links.values() for way in link)
    result = {"queue_drops": dropped / offered if offered else 0.0, "queue_dropped": float(dropped)}
    if cross_offered:
        result["cross_share"] = cross_delivered / cross_offered
    return result


def of(run: Run, outcome: Outcome) -> dict[str, float]:
    """Of the first flow by plain name, of every flow as NAME.metric, and of the whole."""
    result: dict[str, float] = {}
    goodputs = []
    for i, flow in enumerate(outcome.flows):
        own = _of_flow(run, outcome, flow)
        goodputs.append(own["goodput"])
        result.update(own if i == 0 else {})
        result.update({f"{flow.name}.{key}": value for key, value in own.items()})
    result.update(_of_links(outcome))
    host_drops = ("card_deaf", "card_full", "queue_full")
    for name, host in outcome.hosts.items():
        result[f"{name}.cpu"] = host["cpu_busy_ns"] / 1e9 / outcome.seconds if outcome.seconds else 0.0
        result[f"{name}.host_drops"] = float(sum(host[key] for key in host_drops))
    result["host_drops"] = float(sum(host[key] for host in outcome.hosts.values() for key in host_drops))
    result["total_goodput"] = sum(goodputs)
    if len(goodputs) > 1 and max(goodputs) > 0:
        result["fairness"] = min(goodputs) / max(goodputs)
    return result
