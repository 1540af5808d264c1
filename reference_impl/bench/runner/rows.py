# SPDX-License-Identifier: BSD-2-Clause
"""What is measured, and what is asked of it."""

from __future__ import annotations

from dataclasses import dataclass

from .lab import Line
from .peers import BareRaw, Netblt, Peer, Perf, bare_udp, quic, srt, tcp, udt


@dataclass(frozen=True)
class Bound:
    """`ours` must reach `share` of `theirs` in the same run; `goal` is what we hope for."""

    ours: str
    theirs: str
    share: float
    goal: float | None = None
    settled: bool = False  # of the second half: what a rate is that has been found


@dataclass(frozen=True)
class PathRow:
    """A bad path with the shares of attainable that NETBLT must reach at a fixed and at an automatic rate."""

    line: Line
    fixed: float
    auto: float
    long_s: float = 60.0
    quick: bool = False  # part of the short run


YARDSTICK = "tcp-cubic"


def udp_peers() -> list[Peer]:
    return [
        tcp("cubic"),
        Netblt("netblt-udp-unpaced", "NETBLT over UDP, unpaced", "udp", "unpaced"),
        Perf("netblt-udp-auto", "netblt perf over UDP, automatic rate", "udp", "auto"),
        Perf("netblt-perf-unpaced", "netblt perf over UDP, unpaced", "udp", "unpaced"),
        bare_udp(),
        quic("cubic"),
        udt(),
        srt(),
    ]


UDP_BOUNDS = [
    Bound("netblt-udp-unpaced", YARDSTICK, 1.0),
    Bound("netblt-udp-unpaced", "bare-udp", 0.9, 0.92),
    Bound("netblt-perf-unpaced", YARDSTICK, 0.95),
    Bound("netblt-udp-auto", YARDSTICK, 0.9, 1.0),
    Bound("netblt-udp-auto", YARDSTICK, 1.0, settled=True),
    Bound("netblt-udp-unpaced", "quic-cubic", 3.0),
    Bound("netblt-udp-unpaced", "udt", 10.0),
    Bound("netblt-udp-unpaced", "srt", 10.0),
]


RAW_YARDSTICK = "bare-raw"


def raw_peers() -> list[Peer]:
    return [
        BareRaw("bare-raw", "bare loop, raw IP"),
        Netblt("netblt-raw-unpaced", "NETBLT over raw IP, unpaced", "ip", "unpaced"),
        Perf("netblt-raw-auto", "netblt perf over raw IP, automatic rate", "ip", "auto"),
        BareRaw("bare-af-packet", "bare loop, AF_PACKET", ["--af-packet"]),
        Netblt("netblt-af-xdp", "NETBLT sent by AF_XDP, unpaced", "ip", "unpaced", ["--af-packet"]),
    ]


RAW_BOUNDS = [
    Bound("netblt-raw-unpaced", RAW_YARDSTICK, 0.9),
    Bound("netblt-af-xdp", RAW_YARDSTICK, 1.6, 2.0),
]


def path_peers() -> list[Peer]:
    return [
        Perf("netblt-fixed", "NETBLT fixed", "udp", "fixed"),
        Perf("netblt-auto", "NETBLT auto", "udp", "auto"),
        tcp("cubic"),
        tcp("bbr"),
        udt(),
        srt(),
        quic("bbr"),
    ]


PATHS = [
    PathRow(Line("100 Mb/s, 100 ms, 0 %", 100, 100), 0.99, 0.95),
    PathRow(Line("100 Mb/s, 100 ms, 0.1 %", 100, 100, 0.1), 0.99, 0.95),
    PathRow(Line("100 Mb/s, 100 ms, 1 %", 100, 100, 1), 0.98, 0.95, quick=True),
    PathRow(Line("100 Mb/s, 100 ms, 5 %", 100, 100, 5), 0.97, 0.93),
    PathRow(Line("100 Mb/s, 600 ms, 1 %", 100, 600, 1), 0.97, 0.93, quick=True),
    PathRow(Line("10 Mb/s, 1800 ms, 1 %", 10, 1800, 1), 0.97, 0.92, long_s=120.0),
    PathRow(Line("100 Mb/s, 100 ms, 1 % reordered by 5 ms", 100, 100, reorder_percent=1), 0.99, 0.95, quick=True),
]


def overhead_bound(line: Line, payload_share: float) -> float:
    """Bytes on the line per byte delivered: retransmissions, 2 % for everything else, and the headers."""
    return 1.02 / (1 - line.loss_percent / 100) / payload_share
