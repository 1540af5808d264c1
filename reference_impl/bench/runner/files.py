# SPDX-License-Identifier: BSD-2-Clause
"""A large file from tmpfs to tmpfs, as fast as it goes: netblt send, with its digest, and iperf3 -F, without any."""

from __future__ import annotations

import os
import shutil
import statistics
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from .groups import SETUP_S, Settings, TurnsGroup, number
from .lab import A, B, Lab, wait_until_open
from .measure import monotonic_s
from .peers import UDP_PORT, Build
from .processes import BenchError
from .report import Check, Table

FILE_BYTES = 3 << 30
PIECE_BYTES = 64 << 20  # of noise, again and again
MEMORY = Path("/dev/shm")
IPERF_PORT = 5201
PATIENCE_S = 60.0


@dataclass(frozen=True)
class Mover:
    key: str
    title: str
    options: tuple[str, ...] | None  # of both ends of netblt; None: iperf3
    share: float | None = None  # of iperf3's speed that it must reach
    goal: float = 1.0

    def missing(self, build: Build) -> str | None:
        if not MEMORY.is_dir():
            return f"there is no {MEMORY}"
        if self.options is None:
            return None if shutil.which("iperf3") else "not installed (iperf3; tools/setup --bench)"
        return None if build.netblt.exists() else "not built (tools/build)"

    @property
    def least_bytes(self) -> float:
        """iperf3 stops when the sender has read the file: its receiver leaves the last bytes unread."""
        return FILE_BYTES if self.options is not None else 0.99 * FILE_BYTES

    def receiver(self, build: Build, target: Path) -> list[str]:
        if self.options is None:
            return ["iperf3", "--server", "--one-off", "--file", str(target)]
        return [str(build.netblt), "recv", str(target), "--passive", "--bind", B, "--encap", "udp", "--quiet",
                *self.options]  # fmt: skip

    def sender(self, build: Build, source: Path) -> list[str]:
        if self.options is None:
            return ["iperf3", "--client", B, "--file", str(source), "--time", f"{PATIENCE_S:g}"]
        return [str(build.netblt), "send", str(source), B, "--bind", A, "--encap", "udp", "--quiet", *self.options]


UNPACED = ("--rate", "fixed", "--burst-size", "44", "--burst-interval", "0")
YARDSTICK = "iperf3-file"
MOVERS = [
    Mover(YARDSTICK, "iperf3 -F, TCP cubic, no digest", None),
    Mover("netblt-file", "netblt send, automatic rate, digest", (), 0.4),
    Mover("netblt-file-unpaced", "netblt send, unpaced, digest", UNPACED, 0.4),
]


@dataclass(frozen=True)
class Moved:
    """From the start of the sender to the end of both."""

    goodput_bps: float
    sender_cpu_s_per_gb: float
    receiver_cpu_s_per_gb: float


@contextmanager
def files() -> Iterator[tuple[Path, Path]]:
    """A source in memory, and a place for the copy; both are removed afterwards."""
    if shutil.disk_usage(MEMORY).free < 2 * FILE_BYTES + (1 << 30):
        raise BenchError(f"{MEMORY} has no room for two files of {FILE_BYTES >> 30} GiB")
    with tempfile.TemporaryDirectory(dir=MEMORY, prefix="netblt-bench-") as folder:
        source, target = Path(folder) / "source", Path(folder) / "copy"
        noise = os.urandom(PIECE_BYTES)
        with source.open("wb") as file:
            for _ in range(FILE_BYTES // PIECE_BYTES):
                file.write(noise)
        yield source, target


def measure(build: Build, mover: Mover) -> Moved:
    with files() as (source, target), Lab() as lab:
        lab.connect()
        receiver = lab.program(mover.receiver(build, target), sends=False)
        if mover.options is None:
            wait_until_open(receiver, "tcp6", IPERF_PORT)
        else:
            wait_until_open(receiver, "udp", UDP_PORT)
        begin = monotonic_s()
        sender = lab.program(mover.sender(build, source), sends=True)
        sent = sender.wait(PATIENCE_S) or sender.end()
        got = receiver.wait(PATIENCE_S) or receiver.end()
        seconds = monotonic_s() - begin
        arrived = target.stat().st_size if target.exists() else 0
        if sent.status != 0 or got.status != 0 or arrived < mover.least_bytes:
            raise BenchError(f"{mover.title}: {arrived} bytes arrived: {sent.last_words}; {got.last_words}")
    gigabytes = arrived / 1e9
    return Moved(arrived * 8 / seconds, sent.cpu_s / gigabytes, got.cpu_s / gigabytes)


@dataclass
class FileGroup(TurnsGroup):
    """Steps and table for MOVERS."""

    def plan(self, build: Build, settings: Settings) -> None:
        wanted = [mover for mover in MOVERS if settings.wants(mover.key, mover.title, self.title)]
        if wanted and wanted[0].key != YARDSTICK:
            wanted = [MOVERS[0], *wanted]
        self.take_turns(build, wanted, settings.few_rounds, 3 + SETUP_S, partial(measure, build))

    def _ratio(self, key: str) -> float | None:
        cells = [self.cells[name].samples if name in self.cells else [] for name in (key, YARDSTICK)]
        ratios = [ours.goodput_bps / theirs.goodput_bps for ours, theirs in zip(*cells, strict=False)]
        return statistics.median(ratios) if ratios else None

    def finish(self) -> Table:
        table = Table(self.title, ["mover", "Gb/s", "of iperf3 -F", "CPU s/GB send", "CPU s/GB receive"])
        for mover in MOVERS:
            cell = self.cells.get(mover.key)
            if cell is None:
                continue
            ratio = self._ratio(mover.key)
            figures = [
                cell.median(lambda s: s.goodput_bps / 1e9),
                ratio,
                cell.median(lambda s: s.sender_cpu_s_per_gb),
                cell.median(lambda s: s.receiver_cpu_s_per_gb),
            ]
            table.add([mover.title, *map(number, figures)], [vars(sample) for sample in cell.samples])
            if cell.trouble:
                table.notes.append(f"{mover.title}: {cell.trouble}")
            if ratio is not None and mover.share is not None:
                what = f"{mover.title} / {MOVERS[0].title}"
                table.checks.append(
                    Check(what, ratio, f">= {mover.share:g}, goal {mover.goal:g}", ratio >= mover.share)
                )
        return table
