# SPDX-License-Identifier: BSD-2-Clause
"""What connections cost in memory, one and a thousand of them on one endpoint, and how fairly they share it."""

from __future__ import annotations

import json
import re
import statistics
import time
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from .groups import Group, Settings
from .lab import A, B, Lab, wait_until_open
from .peers import UDP_PORT, Build
from .plan import Cell, Step
from .processes import BenchError
from .report import Check, Table

KIB = 1024
BUFFER_BYTES = 64 * KIB
PATIENCE_S = 120.0
# Paced, so that what is measured is how a thousand share an endpoint and not how one core drowns.
RATE = ["--rate", "fixed", "--burst-size", "4", "--burst-interval", "100"]
SHARE_ABOVE, BYTES_ABOVE = 0.01, 64 * KIB  # what a connection may take, beside its buffers
SLOWEST_SHARE = 0.5


@dataclass(frozen=True)
class MemoryRow:
    connections: int
    buffers: int  # outstanding, of BUFFER_BYTES each
    transfer_bytes: int
    seconds: float  # what it should take


ROWS = [MemoryRow(1, 256, 64 << 20, 12.0), MemoryRow(1, 4, 512 * KIB, 12.0), MemoryRow(1000, 4, 512 * KIB, 20.0)]


@dataclass(frozen=True)
class MemoryResult:
    bytes_each: float  # resident memory of the receiving endpoint per connection, less what it had before
    buffers_each: float  # what was negotiated
    slowest_share: float  # goodput of the slowest connection / mean


def resident_bytes(pid: int, what: str) -> int:
    found = re.search(rf"^{what}:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text(), re.MULTILINE)
    if found is None:
        raise BenchError(f"/proc/{pid}/status has no {what}")
    return int(found[1]) * KIB


def wait_until_resident(pid: int, size: int) -> None:
    """Until a passive end has its two working sets, which it fills after its port is open."""
    ends_at = time.monotonic() + PATIENCE_S
    while resident_bytes(pid, "VmRSS") < size:
        if time.monotonic() > ends_at:
            raise BenchError(f"netblt perf has not taken {size} bytes of memory")
        time.sleep(0.05)
    time.sleep(0.2)  # it goes on to listen


def measure(build: Build, row: MemoryRow) -> MemoryResult:
    """Each end has one working set, just what one connection may have outstanding, and takes it before any connects."""
    held = row.buffers * BUFFER_BYTES
    common = ["--encap", "udp", "--json", "--quiet", "--working-set", str(held), "--buffer-size", str(BUFFER_BYTES),
              "--max-buffers", str(row.buffers)]  # fmt: skip
    rate = RATE if row.connections > 1 or row.buffers < 16 else ["--rate", "fixed", "--burst-size", "16",
                                                                 "--burst-interval", "4"]  # fmt: skip
    with Lab() as lab:
        lab.connect()
        passive = lab.program([str(build.netblt), "perf", "--passive", "--bind", B, *common, *rate], sends=False)
        wait_until_open(passive, "udp", UDP_PORT)
        wait_until_resident(passive.pid, 2 * held)
        before = resident_bytes(passive.pid, "VmRSS")
        active = lab.program(
            [str(build.netblt), "perf", B, "--bind", A, "--parallel", str(row.connections), "--size",
             str(row.transfer_bytes), *common, *rate],
            sends=True,
        )  # fmt: skip
        ended = active.wait(PATIENCE_S)
        most = resident_bytes(passive.pid, "VmHWM")
        ended = ended or active.end()
    lines = [line for line in ended.out.splitlines() if line.startswith("{")]
    transfers = json.loads(lines[-1])["transfers"] if lines else []
    done = [transfer for transfer in transfers if transfer["result"] == "done"]
    if len(done) != row.connections:
        raise BenchError(f"{len(done)} of {row.connections} connections came to a good end: {ended.last_words}")
    speeds = [transfer["goodput_bps"] for transfer in done]
    agreed = statistics.fmean(
        transfer["negotiated"]["buffer_size"] * transfer["negotiated"]["max_buffers"] for transfer in done
    )
    slowest = min(speeds) / statistics.fmean(speeds)
    return MemoryResult((most - before) / row.connections, agreed, slowest)


def name_of(row: MemoryRow) -> str:
    plural = "s" if row.connections > 1 else ""
    return f"{row.connections:,} connection{plural} with {row.buffers} buffers of 64 KiB"


@dataclass
class MemoryGroup(Group):
    """Steps and table for ROWS."""

    cells: dict[str, Cell] = field(default_factory=dict)

    def plan(self, build: Build, settings: Settings) -> None:
        for row in ROWS:
            name = name_of(row)
            if settings.wants(name, self.title):
                missing = None if build.netblt.exists() else "not built (tools/build)"
                self.cells[name] = Cell(trouble=missing)
                if missing is None:
                    self.steps.append(
                        Step(self.title, name, row.seconds, self.cells[name], partial(measure, build, row))
                    )

    def finish(self) -> Table:
        table = Table(self.title, ["connections", "buffers, KiB each", "memory, KiB each", "slowest / mean"])
        for name, cell in self.cells.items():
            if cell.trouble:
                table.notes.append(f"{name}: {cell.trouble}")
            for sample in cell.samples:
                result: MemoryResult = sample
                most = result.buffers_each * SHARE_ABOVE + BYTES_ABOVE
                table.add(
                    [name, f"{result.buffers_each / KIB:.0f}", f"{result.bytes_each / KIB:.0f}",
                     f"{result.slowest_share:.2f}"],
                    [vars(result)],
                )  # fmt: skip
                table.checks.append(
                    Check(
                        f"{name}: KiB each", result.bytes_each / KIB, f"<= {most / KIB:.0f}", result.bytes_each <= most
                    )
                )
                if "1,000" in name:
                    slowest = result.slowest_share
                    table.checks.append(
                        Check(f"{name}: slowest / mean", slowest, f">= {SLOWEST_SHARE:g}", slowest >= SLOWEST_SHARE)
                    )
        return table
