# SPDX-License-Identifier: GPL-2.0-or-later
"""The path of a plan and the settings of netblt on it, and both as the tables of a scenario."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path as File

from netblt_plan import scenario
from netblt_plan.scenario import Run
from netblt_plan.tables import Tables

IP_HEADER_BYTES = 20
UDP_HEADER_BYTES = 8
DATA_HEADER_BYTES = 24
PACKET_ALIGNMENT_BYTES = 4  # WIRE-05
NETBLT_DEATH_TIMER_S = 30  # default of the command
_OPEN_TIMEOUT_RTTS = 6  # several OPENs may be lost
_LONG_RTT_S = NETBLT_DEATH_TIMER_S / _OPEN_TIMEOUT_RTTS
_SLOWEST = 20  # a simulated transfer is given up after so many times the path's own time
_SPARE_S = 60.0


@dataclasses.dataclass(frozen=True, slots=True)
class Path:
    """What is known of the path. Rates in bits a second, times in seconds; `loss` of the packets in each direction."""

    rate: float
    back_rate: float
    rtt_s: float
    loss: float
    queue_s: float
    mtu_bytes: int
    udp: bool  # --encap udp

    @property
    def product_bytes(self) -> float:
        """Bandwidth-delay product."""
        return self.rate * self.rtt_s / 8

    @property
    def header_bytes(self) -> int:
        """Below the NETBLT packet."""
        return IP_HEADER_BYTES + (UDP_HEADER_BYTES if self.udp else 0)

    @property
    def packet_size(self) -> int:
        """Data bytes of the largest packet that the path carries whole."""
        size = self.mtu_bytes - self.header_bytes - DATA_HEADER_BYTES
        return size - size % PACKET_ALIGNMENT_BYTES

    @property
    def death_timer_s(self) -> int:
        return max(NETBLT_DEATH_TIMER_S, math.ceil(_OPEN_TIMEOUT_RTTS * self.rtt_s))

    @property
    def open_timeout_s(self) -> int | None:
        """None: netblt's own, which is long enough."""
        return math.ceil(_OPEN_TIMEOUT_RTTS * self.rtt_s) if self.rtt_s > _LONG_RTT_S else None

    def capacity(self, packet_size: int) -> float:
        """Data bits a second that the rate leaves for packets of this size."""
        return self.rate * packet_size / (packet_size + DATA_HEADER_BYTES + self.header_bytes)


@dataclasses.dataclass(frozen=True, slots=True)
class Settings:
    """What `netblt send` proposes. `automatic`: bursts are the values that the transfer starts with."""

    automatic: bool
    packet_size: int
    buffer_size: int
    max_buffers: int
    burst_size: int
    burst_interval_ms: int

    @property
    def memory_bytes(self) -> int:
        return self.buffer_size * self.max_buffers


def run_of(path: Path, settings: Settings, size: int) -> Run:
    """The transfer of `size` bytes with these settings, to be simulated. ScenarioError when it is impossible."""
    limit_s = _SPARE_S + 10 * path.rtt_s + _SLOWEST * 8 * size / min(path.rate, path.back_rate)
    flow: Tables = {
        "from": "sender",
        "to": "receiver",
        "bytes": size,
        "rate": "auto" if settings.automatic else "fixed",
        "data_checksum": True,
        "death_timer_s": path.death_timer_s,
        **{field: getattr(settings, field) for field in _FLOW_FIELDS},
    }
    if path.open_timeout_s is not None:
        flow["open_timeout"] = f"{path.open_timeout_s}s"
    raw: Tables = {
        "title": "plan",
        "duration": f"{limit_s:.0f}s",
        "link": {"path": _link(path)},
        "host": {"sender": {}, "receiver": {"validates_peers": True}},  # as netblt does
        "flow": {"main": flow},
    }
    return scenario.from_tables(File("plan"), raw).runs[0]


_FLOW_FIELDS = ("packet_size", "buffer_size", "max_buffers", "burst_size", "burst_interval_ms")


def _link(path: Path) -> Tables:
    link: Tables = {
        "rate": f"{path.rate:.0f}bit",
        "delay": f"{1e6 * path.rtt_s / 2:.0f}us",
        "queue": f"{1e6 * path.queue_s:.0f}us",
        "back": {"rate": f"{path.back_rate:.0f}bit"},
    }
    if path.loss > 0:
        link["loss"] = f"{100 * path.loss:.6f}%"
    if path.udp:
        link["framing"] = f"{UDP_HEADER_BYTES}B"  # the simulator counts IP and NETBLT
    return link
