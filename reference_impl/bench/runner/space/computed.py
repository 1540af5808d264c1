# SPDX-License-Identifier: BSD-2-Clause
"""What is computed where a program cannot be run in virtual time: whether the kernel's TCP survives a path."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

from ..lab import MTU_BYTES
from .paths import FOREVER_S, FULL_PAYLOAD_BYTES, SpacePath

SYSCTL = Path("/proc/sys/net/ipv4")
FIRST_SYN_S = 1.0  # RFC 6298, 2.1
RTO_LEAST_S, RTO_MOST_S = 0.2, 120.0  # TCP_RTO_MIN and TCP_RTO_MAX of Linux
SYN_RETRIES, RETRIES = 6, 15  # Linux's defaults, where the files cannot be read


def setting(name: str, usual: int) -> int:
    try:
        return int((SYSCTL / name).read_text())
    except (OSError, ValueError):
        return usual


def doubling_s(first_s: float, times: int, most_s: float = FOREVER_S) -> float:
    """The sum of `times` waits, each twice the one before and at most `most_s`."""
    total = 0.0
    for number in range(times):
        total += min(first_s * 2**number, most_s)
    return total


def longest_outage_s(path: SpacePath) -> float:
    return max((after.begin_s - phase.begin_s for phase, after in pairwise(path.phases) if not phase.up), default=0.0)


def tcp(path: SpacePath) -> str:
    """What becomes of a connection of Linux's TCP, as a cell of the table."""
    syn_s = doubling_s(FIRST_SYN_S, setting("tcp_syn_retries", SYN_RETRIES) + 1)
    round_trip_s = min(phase.round_trip_ms for phase in path.phases) / 1e3
    if round_trip_s > syn_s:
        return f"cannot open: gives up after {syn_s:.0f} s (computed)"
    gap_s = longest_outage_s(path)
    silent_s = doubling_s(RTO_LEAST_S, setting("tcp_retries2", RETRIES) + 1, RTO_MOST_S)
    if gap_s <= silent_s:
        return "-"
    up_s = max(after.begin_s - phase.begin_s for phase, after in pairwise(path.phases) if phase.up)
    share = up_s * path.line.rate_mbit * 1e6 / 8 * FULL_PAYLOAD_BYTES / MTU_BYTES / path.bytes
    return f"ends in each gap after {silent_s:.0f} s, with at most {share:.0%} (computed)"
