# SPDX-License-Identifier: GPL-2.0-or-later
"""What no single field shows: settings that are each allowed and impossible together. Each function returns the field
and what is wrong with it, or None."""

from __future__ import annotations

from collections.abc import Iterable

from netblt_plan import fields, line
from netblt_plan.tables import Expectation, Tables

Wrong = tuple[str, str]
_PACKETS_PER_BUFFER_MAX = 65_535  # the packet number has 16 bits
_PROFILE_OPEN_TIMEOUT_S = 60.0
_DEFAULT_DEATH_TIMER_S = 60
CROSS_BYTES = 1500
_CROSS_PACKETS_MAX = 100_000_000  # some minutes of a processor

# Metrics of each flow, as NAME.metric; of the first one also by their plain name.
FLOW_METRICS = (
    "speed",
    "speed_rx",
    "asymptote",
    "of_pair",
    "asymptote_of_pair",
    "goodput",
    "of_capacity",
    "of_attainable",
    "seconds",
    "sent",
    "loss",
    "rxm",
    "dtmos",
    "ctmos",
    "duplicates",
    "round_trip_ms",
    "peak_outstanding",
    "finished",
    "failed",
)
_HOST_METRICS = ("cpu", "host_drops")
_METRICS = ("queue_drops", "queue_dropped", "host_drops", "total_goodput")


def host(table: Tables) -> Wrong | None:
    if "card_reenable_ms" in table and table.get("card") != "half-duplex":
        return (
            "card_reenable_ms",
            'is the time in which the card cannot receive after sending: it requires card = "half-duplex"',
        )
    if "card_hold_ms" in table and "card_receive_buffers" not in table:
        return (
            "card_hold_ms",
            "is the time that a packet occupies a buffer of the card: it requires card_receive_buffers",
        )
    return None


def change(table: Tables) -> Wrong | None:
    if "times" in table and "every" not in table:
        return "every", "is missing: how far apart are the times?"
    if not set(table) & set(fields.DIRECTION):
        return "at", "changes nothing: which field becomes what?"
    return None


def cross(table: Tables, duration_s: float) -> Wrong | None:
    packets = duration_s * fields.bits_per_second(table["rate"]) / 8 / table.get("packet_bytes", CROSS_BYTES)
    if packets > _CROSS_PACKETS_MAX:
        return "rate", f"makes {packets:.0g} packets in {duration_s:g} s, more than {_CROSS_PACKETS_MAX:.0g}"
    if "stop" in table and fields.seconds(table["stop"]) <= fields.seconds(table.get("start", "0s")):
        return "stop", "is not after its start"
    return None


def flow(table: Tables, links: Tables, duration_s: float) -> Wrong | None:
    packet, buffer = line.packet_size(table), line.buffer_size(table)
    if -(-buffer // packet) > _PACKETS_PER_BUFFER_MAX:
        return "buffer_size", f"is more than {_PACKETS_PER_BUFFER_MAX} packets of {packet} bytes"
    if fields.seconds(table.get("start", "0s")) >= duration_s:
        return "start", "is not before the end of the run"
    for name, way in table["route"]:
        direction = links[name][("forward", "back")[way]]
        if "frames" in direction and line.bits_of_frame(direction) < line.largest_piece_bits(direction, packet):
            return "packet_size", f"does not fit the frames of link.{name}: {direction['frames']}"
    round_trip = round_trip_s(links, table)
    if table.get("death_timer_s", _DEFAULT_DEATH_TIMER_S) <= round_trip:
        return "death_timer_s", f"is over before a round trip of {round_trip:g} s is"
    if "open_timeout" in table and fields.seconds(table["open_timeout"]) <= round_trip:
        return "open_timeout", f"is over before a round trip of {round_trip:g} s is"
    if round_trip >= _PROFILE_OPEN_TIMEOUT_S and "open_timeout" not in table:
        return "open_timeout", f"is missing: a RESPONSE comes after {round_trip:g} s"
    return None


def round_trip_s(links: Tables, flow: Tables) -> float:
    """Of an empty path, if the way back takes as long."""
    return 2 * sum(_delay(links[name][("forward", "back")[way]]) for name, way in flow["route"])


def _delay(direction: Tables) -> float:
    return fields.seconds(direction["delay"].split()[0]) if "delay" in direction else 0.0


def metric_names(tables: Tables) -> set[str]:
    """What a run of these tables measures."""
    flows, hosts = tables["flow"], tables["host"]
    names = {*_METRICS, *FLOW_METRICS, *(f"{flow}.{metric}" for flow in flows for metric in FLOW_METRICS)}
    names |= {f"{host}.{metric}" for host in hosts for metric in _HOST_METRICS}
    names |= {"cross_share"} if tables["cross"] else set()
    return names | ({"fairness"} if len(flows) > 1 else set())


def expectations(expect: Iterable[Expectation], tables: Tables) -> Wrong | None:
    known = metric_names(tables)
    for i, one in enumerate(expect):
        if one.metric not in known:
            plain = ", ".join(sorted(name for name in known if "." not in name))
            return f"expect[{i}].metric", f"there is no metric {one.metric!r}; there are {plain}"
    return None
