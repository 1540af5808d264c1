# SPDX-License-Identifier: BSD-2-Clause
"""Completion times of whole transfers over bad paths: from the first packet until the receiver has everything."""

from __future__ import annotations

import json
import math
import signal
import time
from dataclasses import dataclass, field
from functools import partial

from .groups import MTU, SETUP_S, Group, Settings
from .lab import Line, PathLab, wait_until_open
from .measure import LAST_WORDS_S, monotonic_s
from .peers import Build, Peer, Perf, quic, srt, tcp, udt
from .plan import Cell, Step
from .processes import BenchError, Program
from .report import Check, Table

SIZES = (100_000, 1_000_000, 10_000_000, 100_000_000)  # peers/meter.h: meter_milestones
# What is asked of NETBLT from so many bytes on: times the least, without loss and with up to 1 %.
ASKED_FROM_BYTES = 10_000_000
ASKED, ASKED_WITH_LOSS, LOSS_MOST_PERCENT = 1.25, 1.4, 1.0
PATIENCE = 6.0  # times the least of the largest size: who takes longer has not reached it
PATIENCE_LEAST_S = 8.0
LONGEST_S = 20.0  # larger sizes whose least is more are left out
LOOK_S = 0.0005
ROWS = "whole"  # --rows whole, or --rows "whole TEXT" for lines and transports whose names contain TEXT
STEPS = 50  # of a round trip, in the sum of the last retransmissions

LINES = [
    Line("10 Mb/s, 20 ms, 0 %", 10, 20),
    Line("10 Mb/s, 100 ms, 1 %", 10, 100, 1),
    Line("100 Mb/s, 20 ms, 0 %", 100, 20),
    Line("100 Mb/s, 20 ms, 1 %", 100, 20, 1),
    Line("100 Mb/s, 100 ms, 0 %", 100, 100),
    Line("100 Mb/s, 100 ms, 1 %", 100, 100, 1),
    Line("100 Mb/s, 100 ms, 5 %", 100, 100, 5),
    Line("100 Mb/s, 600 ms, 0 %", 100, 600),
    Line("100 Mb/s, 600 ms, 1 %", 100, 600, 1),
]


def others() -> list[Peer]:
    return [tcp("cubic"), tcp("bbr"), quic("cubic"), quic("bbr"), udt(), srt()]


def least_repair_s(packets: float, packets_per_s: float, loss: float, round_trip_s: float) -> float:
    """Expected seconds from the arrival of the last first transmission, or its place, until all are there.

    A lost packet can be there one round trip later, or two when it is lost again; those that are sent earlier have that
    much more time.
    """
    total, step = 0.0, round_trip_s / STEPS
    for number in range(1000 * STEPS):
        after = (number + 0.5) * step
        rounds = math.floor(after / round_trip_s) + 1
        span, lost, left, all_there = rounds * round_trip_s - after, loss**rounds, packets, 1.0
        while left > 0 and lost * left > 1e-9:
            group = min(left, span * packets_per_s)
            all_there *= (1 - lost) ** group
            left, lost, span = left - group, lost * loss, round_trip_s
        if 1 - all_there < 1e-6:
            break
        total += (1 - all_there) * step
    return total


def least_s(line: Line, size: int, payload_bytes: int) -> float:
    """A round trip to open, every packet at the line's rate and the lost ones again, one way, the last repairs."""
    loss, round_trip_s = line.loss_percent / 100, line.round_trip_ms / 1e3
    packets, per_s = math.ceil(size / payload_bytes), line.rate_mbit * 1e6 / 8 / MTU
    return 1.5 * round_trip_s + packets / per_s / (1 - loss) + least_repair_s(packets, per_s, loss, round_trip_s)


def sizes_for(line: Line) -> list[int]:
    return [size for size in SIZES if least_s(line, size, MTU) <= LONGEST_S]


@dataclass(frozen=True)
class Completion:
    """Seconds from the first packet on the line until the receiver had so many bytes; inf: not in the time allowed."""

    seconds: dict[int, float]


def _first_packet_s(lab: PathLab, before: int, sender: Program) -> float:
    while lab.wire_bytes() == before and sender.running():
        time.sleep(LOOK_S)
    return monotonic_s()


def _started(lab: PathLab, build: Build, peer: Peer, line: Line) -> Program:
    lab.keep_neighbours()
    receiver = lab.program(peer.receiver(build, line), sends=False, pinned=False, priority=lab.end_priority)
    wait_until_open(receiver, peer.table, peer.port)
    return receiver


def perf_completion(build: Build, peer: Perf, line: Line, seed: int, size: int) -> Completion:
    """One transfer of this size."""
    limit_s = max(PATIENCE_LEAST_S, PATIENCE * least_s(line, size, MTU))
    with PathLab(build.flakeway, line, seed, peer.traffic) as lab:
        receiver = _started(lab, build, peer, line)
        before = lab.wire_bytes()
        sender = lab.program([*peer.sender(build, line, 0)[:-1], str(size)],
                             sends=True, pinned=False, priority=lab.end_priority)  # fmt: skip
        began = _first_packet_s(lab, before, sender)
        sent = sender.wait(limit_s)
        if sent is None:
            return Completion({size: math.inf})
        receiver.signal(signal.SIGTERM)
        got = receiver.wait(LAST_WORDS_S) or receiver.end()
        account = peer.account(got, sent)
    if account.bytes != size:
        raise BenchError(f"{peer.title}: {account.bytes} of {size} bytes arrived: {sent.last_words}")
    return Completion({size: account.last_s - began})


def completion(build: Build, peer: Peer, line: Line, seed: int) -> Completion:
    """All sizes of one transfer that goes on until the largest has arrived."""
    sizes = sizes_for(line)
    limit_s = max(PATIENCE_LEAST_S, PATIENCE * least_s(line, sizes[-1], MTU))
    enough = sizes[-1] * 1.05 * MTU / peer.payload_bytes / (1 - line.loss_percent / 100)
    with PathLab(build.flakeway, line, seed, peer.traffic) as lab:
        receiver = _started(lab, build, peer, line)
        before = lab.wire_bytes()
        sender = lab.program(peer.sender(build, line, limit_s), sends=True, pinned=False, priority=lab.end_priority)
        began = _first_packet_s(lab, before, sender)
        while monotonic_s() < began + limit_s and sender.running() and lab.wire_bytes() - before < enough:
            time.sleep(0.02)
        time.sleep(3 * line.round_trip_ms / 1e3)  # what was sent last arrives, and is retransmitted where it was lost
        receiver.signal(signal.SIGTERM)
        got = receiver.wait(LAST_WORDS_S) or receiver.end()
        sent = sender.end()
        peer.account(got, sent)  # BenchError when it reports nothing
    told = json.loads([text for text in got.out.splitlines() if text.startswith("{")][-1])
    reached = [moment / 1e6 - began for moment in told["reached_us"]]
    return Completion({size: reached[i] if i < len(reached) else math.inf for i, size in enumerate(sizes)})


def text_of(seconds: float, least: float) -> str:
    return "-" if math.isinf(seconds) else f"{seconds:.2f} s ({seconds / least:.2f})"


@dataclass
class WholeGroup(Group):
    """Every path with every transport in turn, seed after seed."""

    lines: list[Line] = field(default_factory=lambda: list(LINES))
    ours: Perf = field(default_factory=lambda: Perf("netblt-auto", "NETBLT auto", "udp", "auto"))
    peers: list[Peer] = field(default_factory=others)
    cells: dict[tuple[str, str], Cell] = field(default_factory=dict)

    def plan(self, build: Build, settings: Settings) -> None:
        asked = [text.lower() for text in settings.only if text.lower().startswith(ROWS)]
        if not settings.full and not asked:
            return
        words = [] if ROWS in asked else [text.removeprefix(ROWS).strip() for text in asked]
        for line in self.lines:
            for seed in range(1, settings.seeds + 1):
                for peer in [self.ours, *self.peers]:
                    if not words or any(text in f"{line.name} {peer.key} {peer.title}".lower() for text in words):
                        self._add(build, line, peer, seed)

    def _add(self, build: Build, line: Line, peer: Peer, seed: int) -> None:
        missing = peer.missing(build)
        cell = self.cells.setdefault((line.name, peer.key), Cell(trouble=missing))
        if missing is not None:
            return
        sizes, title = sizes_for(line), f"{peer.title}, seed {seed}"
        if isinstance(peer, Perf):
            for size in sizes:
                cost = 1.5 * least_s(line, size, MTU) + 2 * SETUP_S
                measured = partial(perf_completion, build, peer, line, seed, size)
                self.steps.append(Step(line.name, f"{title}, {size / 1e6:g} MB", cost, cell, measured))
            return
        cost = 3 * least_s(line, sizes[-1], MTU) + 2 * SETUP_S
        self.steps.append(Step(line.name, title, cost, cell, partial(completion, build, peer, line, seed)))

    def _median(self, line: Line, peer: Peer, size: int) -> float | None:
        cell = self.cells.get((line.name, peer.key))
        samples: list[Completion] = cell.samples if cell is not None else []
        found = sorted(sample.seconds[size] for sample in samples if size in sample.seconds)
        return found[len(found) // 2] if found else None

    def finish(self) -> Table:
        peers = [peer for peer in (self.ours, *self.peers) if any(key == peer.key for _, key in self.cells)]
        table = Table(self.title, ["path and size", "least", *(peer.title for peer in peers)])
        for line in self.lines:
            for size in sizes_for(line):
                medians = {peer.key: self._median(line, peer, size) for peer in peers}
                if all(median is None for median in medians.values()):
                    continue
                least = {peer.key: least_s(line, size, peer.payload_bytes) for peer in peers}
                name = f"{line.name}, {size / 1e6:g} MB"
                cells = [
                    "-" if (median := medians[peer.key]) is None else text_of(median, least[peer.key]) for peer in peers
                ]
                table.add([name, f"{least[peers[0].key]:.2f} s", *cells], [{"seconds": medians}])
                table.checks += self._checks(line, size, name, medians)
        for peer in peers:
            troubles = {cell.trouble for (_, key), cell in self.cells.items() if key == peer.key and cell.trouble}
            table.notes += [f"{peer.title}: {trouble}" for trouble in sorted(troubles)]
        return table

    def _checks(self, line: Line, size: int, name: str, medians: dict[str, float | None]) -> list[Check]:
        ours = medians.get(self.ours.key)
        theirs = [median for key, median in medians.items() if key != self.ours.key and median is not None]
        if ours is None:
            return []
        checks = []
        if size >= ASKED_FROM_BYTES and line.loss_percent <= LOSS_MOST_PERCENT:
            most = ASKED_WITH_LOSS if line.loss_percent else ASKED
            ratio = ours / least_s(line, size, self.ours.payload_bytes)
            checks.append(Check(f"{name}: NETBLT auto / least", ratio, f"<= {most:g}", ratio <= most))
        if theirs:
            ratio = ours / min(theirs)
            checks.append(Check(f"{name}: NETBLT auto / best of the others", ratio, "<= 1", ratio <= 1))
        return checks
