# SPDX-License-Identifier: BSD-2-Clause
"""How late bursts start: the planned start against the moment when the kernel is given the first packets."""

from __future__ import annotations

import json
import statistics
from dataclasses import dataclass

from . import measure as measuring
from .groups import SETUP_S, Settings, TurnsGroup, number
from .lab import Lab, wait_until_open
from .peers import Build, Netblt
from .processes import BenchError
from .report import Check, Table

LATE_P99_MOST_US = 50


@dataclass
class PacedNetblt(Netblt):
    """The library at a fixed rate that the line does not limit; its sender prints how late its bursts were."""

    burst_packets: int = 1
    interval_ms: int = 1

    def sender(self, build: Build, line: None, seconds: float) -> list[str]:  # type: ignore[override]
        words = super().sender(build, line, seconds)
        at = words.index("--interval")
        pace = ["--lateness", "--burst", str(self.burst_packets), "--interval", str(self.interval_ms)]
        return [*words[:at], *pace, *words[at + 2 :]]


# 100 Mb/s and 1 Gb/s in packets of 1,500 bytes.
ROWS = [
    PacedNetblt("late-100m", "33 packets every 4 ms", "udp", "unpaced", burst_packets=33, interval_ms=4),
    PacedNetblt("late-1g", "83 packets every 1 ms", "udp", "unpaced", burst_packets=83, interval_ms=1),
]


@dataclass(frozen=True)
class Lateness:
    bursts: int
    p50_us: float
    p99_us: float
    max_us: float
    sender_cpu_share: float  # of one core, while it sends


def measure(build: Build, peer: PacedNetblt, seconds: float) -> Lateness:
    """One sender, one receiver, a core each."""
    with Lab() as lab:
        lab.connect()
        receiver = lab.program(peer.receiver(build, None), sends=False)
        wait_until_open(receiver, peer.table, peer.port)
        sender = lab.program(peer.sender(build, None, seconds), sends=True)
        ended = sender.wait(seconds + 10) or sender.end()
        receiver.wait(measuring.LAST_WORDS_S)
    printed = [line for line in ended.out.splitlines() if "late_p99_us" in line]
    if not printed:
        raise BenchError(f"{peer.title}: no burst was sent: {ended.last_words}")
    told = json.loads(printed[-1])
    return Lateness(
        told["bursts"], told["late_p50_us"], told["late_p99_us"], told["late_max_us"], ended.cpu_s / seconds
    )


@dataclass
class LatenessGroup(TurnsGroup):
    """Steps and table for ROWS. On a busy machine the figures are those of the other programs."""

    def plan(self, build: Build, settings: Settings) -> None:
        wanted = [peer for peer in ROWS if settings.wants(peer.key, peer.title, self.title)]
        seconds = settings.seconds
        self.take_turns(
            build, wanted, settings.few_rounds, seconds + SETUP_S, lambda peer: measure(build, peer, seconds)
        )

    def finish(self) -> Table:
        table = Table(self.title, ["bursts", "p50, us", "p99, us", "latest, us", "share of a core"])
        for peer in ROWS:
            cell = self.cells.get(peer.key)
            if cell is None:
                continue
            samples: list[Lateness] = cell.samples
            table.add(
                [peer.title, number(cell.median(lambda s: s.p50_us), 0), number(cell.median(lambda s: s.p99_us), 0),
                 number(max((s.max_us for s in samples), default=None), 0),
                 number(cell.median(lambda s: s.sender_cpu_share), 3)],
                [vars(sample) for sample in samples],
            )  # fmt: skip
            if cell.trouble:
                table.notes.append(f"{peer.title}: {cell.trouble}")
            if samples:
                late = statistics.median(sample.p99_us for sample in samples)
                what = f"{peer.title}: start of a burst, p99, us late"
                table.checks.append(Check(what, late, f"<= {LATE_P99_MOST_US}", late <= LATE_P99_MOST_US))
        return table
