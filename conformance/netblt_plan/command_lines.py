# SPDX-License-Identifier: GPL-2.0-or-later
"""The command lines of netblt that carry out a plan."""

from __future__ import annotations

import shlex

from netblt_plan import units
from netblt_plan.path import NETBLT_DEATH_TIMER_S, Path, Settings

# What a passive end accepts without options.
_PASSIVE_BUFFER_MAX_BYTES = 16 << 20
_PASSIVE_MEMORY_MAX_BYTES = 256 << 20


def _common(path: Path) -> list[str]:
    words = ["--encap", "udp"] if path.udp else []
    if path.death_timer_s != NETBLT_DEATH_TIMER_S:
        words += ["--death-timer", str(path.death_timer_s)]
    return words


def receiver(path: Path, settings: Settings, file: str) -> list[str]:
    """The passive end, to be started first. Its limits are given where the default ones are lower."""
    words = ["netblt", "recv", file, "--passive", *_common(path)]
    if settings.buffer_size > _PASSIVE_BUFFER_MAX_BYTES or settings.memory_bytes > _PASSIVE_MEMORY_MAX_BYTES:
        words += ["--buffer-size", str(settings.buffer_size), "--max-buffers", str(settings.max_buffers)]
    return words


def sender(path: Path, settings: Settings, file: str, host: str) -> list[str]:
    """The active end, with every setting that was simulated. Burst options would fix the rate: an automatic one starts
    at half the rate of --path."""
    words = ["netblt", "send", file, host, *_common(path)]
    if path.open_timeout_s is not None:
        words += ["--open-timeout", str(path.open_timeout_s)]
    bursts = ["--burst-size", str(settings.burst_size), "--burst-interval", str(settings.burst_interval_ms)]
    way = ["--path", f"{units.rate_text(path.rate)},{1000 * path.rtt_s:g}ms"]
    return [
        *words,
        *(["--rate", "auto", *way] if settings.automatic else ["--rate", "fixed", *bursts]),
        *("--packet-size", str(settings.packet_size)),
        *("--buffer-size", str(settings.buffer_size)),
        *("--max-buffers", str(settings.max_buffers)),
    ]


def shell(words: list[str]) -> str:
    """One line for a shell."""
    return shlex.join(words)
