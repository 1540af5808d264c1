# SPDX-License-Identifier: GPL-2.0-or-later
"""Builds the simulated world of a run, runs it, and measures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from netblt_plan import fields, line, metrics
from netblt_plan.native import NEVER, World, WorldError
from netblt_plan.outcome import FlowOutcome, Outcome
from netblt_plan.possible import CROSS_BYTES
from netblt_plan.scenario import Run, ScenarioError
from netblt_plan.tables import Tables

_DIRECTIONS = {"forward": "a>b", "back": "b>a"}
_AS_PROFILE = 2**32 - 1


def statements(link: Tables) -> list[str]:
    """The flakeway's lines for a link, in force from the start."""
    lines = []
    for way, arrow in _DIRECTIONS.items():
        for key, value in link[way].items():
            lines.append(f"{fields.STATEMENTS[key]} {value} {arrow}")
    return [*lines, *link.get("rules", [])]


def changes(link: Tables) -> list[tuple[float, str]]:
    """(second, line) of what changes later."""
    result = []
    for change in link.get("changes", []):
        way = change.get("direction", "both")
        suffix = f" {_DIRECTIONS[way]}" if way in _DIRECTIONS else ""
        for i in range(change.get("times", 1)):
            at = fields.seconds(change["at"]) + i * fields.seconds(change.get("every", "0s"))
            result += [
                (at, f"{fields.STATEMENTS[key]} {value}{suffix}")
                for key, value in change.items()
                if key in fields.STATEMENTS
            ]
    return result


def _ns(ms: float) -> int:
    return round(ms * 1e6)


def host_fields(host: Tables) -> dict[str, Any]:
    """As struct world_host."""
    rate = fields.bits_per_second(host.get("card_rate", "unlimited"))
    return {
        "mit1987": host.get("profile") == "mit1987",
        "control_min_us": round(host.get("control_timer_min_ms", 0) * 1000),
        "control_initial_us": round(host.get("control_timer_initial_ms", 0) * 1000),
        "data_variance_min_us": round(host.get("data_variance_min_ms", 0) * 1000),
        "data_variance_percent": host.get("data_variance_percent", _AS_PROFILE),
        "send_packet_ns": _ns(host.get("send_ms", 0)),
        "send_byte_ps": round(host.get("send_us_per_byte", 0) * 1e6),
        "receive_packet_ns": _ns(host.get("receive_ms", 0)),
        "receive_byte_ps": round(host.get("receive_us_per_byte", 0) * 1e6),
        "control_send_ns": _ns(host.get("control_send_ms", 0)),
        "control_receive_ns": _ns(host.get("control_receive_ms", 0)),
        "burst_ns": _ns(host.get("burst_ms", 0)),
        "jitter_ns": _ns(host.get("jitter_ms", 0)),
        "timer_late_ns": _ns(host.get("timer_late_ms", 0)),
        "timer_granularity_ns": _ns(host.get("timer_granularity_ms", 0)),
        "timer_jitter_ns": _ns(host.get("timer_jitter_ms", 0)),
        "receive_queue_packets": host.get("receive_queue", 0),
        "card_half_duplex": host.get("card") == "half-duplex",
        "card_bits_per_s": 0 if rate == float("inf") else round(rate),
        "card_reenable_ns": _ns(host.get("card_reenable_ms", 0)),
        "card_receive_buffers": host.get("card_receive_buffers", 0),
        "card_hold_ns": _ns(host.get("card_hold_ms", 0)),
        "validates_peers": host.get("validates_peers", False),
    }


def flow_fields(flow: Tables) -> dict[str, Any]:
    """As struct world_flow, but for hosts and route."""
    limit = fields.bits_per_second(flow.get("rate_limit", "unlimited"))
    return {
        "start_us": round(fields.seconds(flow.get("start", "0s")) * 1e6),
        "bytes": flow.get("bytes", 0),
        "buffer_size": line.buffer_size(flow),
        "packet_size": line.packet_size(flow),
        "burst_size": flow.get("burst_size", 8),
        "burst_interval_ms": flow.get("burst_interval_ms", 20),
        "max_buffers": flow.get("max_buffers", 8),
        "death_timer_s": flow.get("death_timer_s", 60),
        "data_checksum": flow.get("data_checksum", False),
        "automatic": flow.get("rate", "fixed") == "auto",
        "in_order": flow.get("in_order", False),
        "rate_limit_bps": 0 if limit == float("inf") else round(limit),
        "open_timeout_us": round(fields.seconds(flow.get("open_timeout", "0s")) * 1e6),
    }


def cross_fields(cross: Tables) -> dict[str, Any]:
    """As struct world_cross. Full speed: a packet as soon as the last one is out."""
    size = cross.get("packet_bytes", CROSS_BYTES)
    burst = cross.get("burst_packets", 1)
    rate = fields.bits_per_second(cross["rate"])
    return {
        "start_us": round(fields.seconds(cross.get("start", "0s")) * 1e6),
        "stop_us": round(fields.seconds(cross["stop"]) * 1e6) if "stop" in cross else NEVER,
        "packet_bytes": size,
        "burst_packets": burst,
        "period_ns": round(size * burst * 8e9 / rate),
        "random": cross.get("kind", "cbr") == "random",
    }


def build(run: Run, seed: int) -> tuple[World, dict[str, int]]:
    """The world, and the number of each link."""
    world = World(seed)
    links: dict[str, int] = {}
    for name, link in run.tables["link"].items():
        links[name] = world.add_link(shared=link.get("shared", False))
        try:
            for line in statements(link):
                world.set_link(links[name], line)
            for at, line in changes(link):
                world.set_link(links[name], line, round(at * 1e6))
        except WorldError as error:
            raise ScenarioError(f"run {run.name!r}: link.{name}: {error}") from None
    hosts = {name: world.add_host(host_fields(host)) for name, host in run.tables["host"].items()}
    for flow in run.tables["flow"].values():
        ends = {"sender": hosts[flow["from"]], "receiver": hosts[flow["to"]]}
        world.add_flow({**flow_fields(flow), **ends}, [(links[name], way) for name, way in flow["route"]])
    for cross in run.tables["cross"].values():
        world.add_cross(cross_fields(cross), [(links[name], way) for name, way in cross["route"]])
    return world, links


def _link_difference(late: dict[str, int], early: dict[str, int]) -> dict[str, int]:
    return {key: late[key] - early[key] for key in late}


def simulate(
    run: Run, seed: int, *, trace: bool = False, capture: Path | None = None, capture_link: str | None = None
) -> Outcome:
    world, links = build(run, seed)
    try:
        if trace:
            world.trace()
        if capture is not None:
            first = next(iter(run.tables["flow"].values()))["route"][0][0]
            world.capture(links[capture_link or first], capture)
        names = list(run.tables["flow"])
        end = world.run(run.measure_from_s)
        early = [world.flow(i) for i in range(len(names))]
        early_links = {name: [world.link(number, way) for way in (0, 1)] for name, number in links.items()}
        if end == "time":
            end = world.run(run.duration_s)
        outcome = Outcome(
            end=end,
            seconds=world.now,
            flows=[
                FlowOutcome(name, flow, world.flow(i), early[i], world.buffers(i), world.flow_reason(i))
                for i, (name, flow) in enumerate(run.tables["flow"].items())
            ],
            links={
                name: [_link_difference(world.link(number, way), early_links[name][way]) for way in (0, 1)]
                for name, number in links.items()
            },
            hosts={name: world.host(i) for i, name in enumerate(run.tables["host"])},
            samples=world.samples() if trace else [],
            metrics={},
        )
    finally:
        world.close()
    outcome.metrics = metrics.of(run, outcome)
    return outcome
