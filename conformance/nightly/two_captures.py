#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Pairs the captures of both ends of random transfers, and compares the result with what the flakeway reports that it
did.

Each transfer has its own bad network (loss up to 20 % and copies, reordering, damage, jitter, rates) and its own
captures: clocks that are seconds apart and drift by up to 500 ppm, a beginning or an end that one capture lacks, snap
lengths. Exit status 1 when a loss, a copy or a late packet is wrong, or an offset is outside of its bound, or off by
100 us or more though the shortest delays of both directions are equal.

Usage: two_captures.py [--seed SEED] [--library LIBRARY] [COUNT]"""

from __future__ import annotations

import argparse
import dataclasses
import math
import random
import struct
import sys
import tempfile
import time
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np
from netblt_conformance.common import paths
from netblt_conformance.packets import captures
from netblt_conformance.packets.captures import CapturedPacket
from netblt_conformance.packets.ipv4 import internet_checksum
from netblt_conformance.pairing.paths import Pairing, Seen, pair_files
from netblt_conformance.simlib import Flakeway, IutLibrary, IutParams, PcapngWriter, run_pair

START_NS = 1_700_000_000 * 10**9
OFFSET_MOST_US = 100.0
# Without IP IDs identical packets are distinguished by their times only, which is not always possible.
UNNUMBERED_WRONG_SHARE = 0.001
HEADER_BYTES = 20
LEFT, RIGHT = 0, 1
# A loss may be called unknown where a packet with so many times the usual extra delay would arrive after the capture.
RESERVE = 3
TICK_NS = 3_000


@dataclasses.dataclass(frozen=True, slots=True)
class Plan:
    """Everything that decides a transfer and its captures."""

    seed: int
    params: IutParams
    data_bytes: int
    rules: tuple[str, ...]
    offset_ns: int = 0
    drift_ppm: float = 0.0
    begins_at: tuple[float, float] = (0.0, 0.0)  # part of the frames that each capture lacks at its beginning
    ends_at: tuple[float, float] = (1.0, 1.0)
    snap_bytes: tuple[int, int] = (0, 0)  # of NETBLT packet; 0: all
    numbered: bool = True  # IP IDs count; else they are 0


def random_plan(seed: int, *, numbered: bool | None = None) -> Plan:
    rng = random.Random(seed)
    packet_size = rng.choice([128, 512, 1432])
    buffer_size = packet_size * rng.choice([1, 3, 8, 20])
    params = IutParams(
        local_port=rng.randrange(1024, 65535),
        foreign_port=1,
        buffer_size=buffer_size,
        packet_size=packet_size,
        burst_size=rng.choice([1, 3, 8]),
        burst_interval_ms=rng.choice([1, 5, 20]),
        death_timer_s=30,
        max_buffers=rng.choice([1, 2, 4]),
        data_checksum=rng.random() < 0.5,
        seed=rng.randrange(1 << 30),
    )
    symmetric = rng.random() < 0.6
    latency = rng.choice([1, 5, 25, 120])
    rules = [f"latency {latency}ms"] if symmetric else [f"latency {latency}ms a>b", f"latency {latency * 3}ms b>a"]
    for chance, rule in (
        (0.8, f"loss {rng.choice([1, 5, 10, 20])}%"),
        (0.5, f"reorder {rng.choice([1, 5, 20])}% by {rng.choice([1, 5, 30])}ms"),
        (0.5, f"duplicate {rng.choice([1, 5, 20])}%"),
        (0.5, f"corrupt {rng.choice([1, 5])}%"),
        (0.2, "jitter 2ms"),
        (0.2, f"truncate {rng.choice([16, 30])} every=17"),
        (0.2, "hold 3 every=23"),
        (0.2, "duplicate every=29 count=3 gap=1ms"),
    ):
        if rng.random() < chance:
            rules.append(rule)
    short, cut = rng.random() < 0.3, rng.random() < 0.3
    if numbered is None:
        numbered = rng.random() < 0.8
    return Plan(
        seed,
        params,
        buffer_size * rng.choice([3, 8, 20]),
        tuple(rules),
        offset_ns=rng.randrange(-9_000_000_000, 9_000_000_000),
        drift_ppm=rng.uniform(-500, 500),
        begins_at=(rng.choice([0.0, 0.3]), rng.choice([0.0, 0.4])) if short else (0.0, 0.0),
        ends_at=(rng.choice([1.0, 0.8]), 1.0) if short else (1.0, 1.0),
        snap_bytes=(rng.choice([0, 60, 100]), rng.choice([60, 100])) if cut else (0, 0),
        numbered=numbered,
    )


@dataclasses.dataclass(slots=True)
class Frame:
    """A packet at one side of the flakeway. `number` is the flakeway's, the same on both sides."""

    point: int
    time_ns: int
    data: bytes
    number: int
    entered: bool


def run(plan: Plan, library: IutLibrary) -> list[Frame]:
    """One transfer: its packets on both sides of the flakeway, by one clock."""
    near = dataclasses.replace(
        plan.params, active=True, sender=True, local_address="10.0.0.1", foreign_address="10.0.0.2"
    )
    far = dataclasses.replace(
        near,
        active=False,
        sender=False,
        local_address="10.0.0.2",
        foreign_address="10.0.0.1",
        local_port=1,
        foreign_port=near.local_port,
        seed=near.seed + 1,
    )
    writer, start = PcapngWriter(), START_NS // 1000
    data = random.Random(plan.seed).randbytes(plan.data_bytes)
    with library.start(near, data, start) as sender, library.start(far, b"", start) as receiver:
        run_pair(
            sender,
            receiver,
            Flakeway(plan.seed, *plan.rules),
            start_us=start,
            limit_us=start + 600_000_000,
            limit_packets=50_000,
            capture=writer,
        )
    frames = []
    for item in captures.CaptureStream().feed(writer.bytes()):
        if isinstance(item, CapturedPacket):
            point = item.interface.number
            entered = (item.data[15] == 1) == (point == LEFT)  # the last byte of the source address
            frames.append(Frame(point, item.time_ns, item.data, item.packet_id, entered))
    return frames


def other_header(frame: Frame, plan: Plan) -> bytes:
    """With another TTL where the packet arrives, and without an IP ID if the plan has it so."""
    header = bytearray(frame.data[:HEADER_BYTES])
    header[8] -= 0 if frame.entered else 3
    if not plan.numbered:
        header[4:6] = b"\0\0"
    header[10:12] = b"\0\0"
    struct.pack_into(">H", header, 10, internet_checksum(bytes(header)))
    return bytes(header) + frame.data[HEADER_BYTES:]


def captured(
    frames: list[Frame], plan: Plan, folder: Path
) -> tuple[tuple[Path, Path], tuple[list[Frame], list[Frame]]]:
    """The files of both capture points, and which frames they hold."""
    files, kept = [], []
    for point, name in ((LEFT, "left"), (RIGHT, "right")):
        seen = [frame for frame in frames if frame.point == point]
        seen = seen[int(len(seen) * plan.begins_at[point]) : int(len(seen) * plan.ends_at[point])]
        writer = PcapngWriter()
        writer.interface("eth0")
        for frame in seen:
            data, snap = other_header(frame, plan), plan.snap_bytes[point]
            shown = data[: HEADER_BYTES + snap] if snap else data
            when = frame.time_ns if point == LEFT else second_clock(frame.time_ns, plan)
            writer.packet(0, when, shown, original_length=len(data) if len(shown) < len(data) else 0)
        writer.save(folder / f"{name}.pcapng")
        files.append(folder / f"{name}.pcapng")
        kept.append(seen)
    return (files[0], files[1]), (kept[0], kept[1])


def second_clock(time_ns: int, plan: Plan) -> int:
    since = time_ns - START_NS
    return time_ns + plan.offset_ns + round(since * plan.drift_ppm / 1e6)


@dataclasses.dataclass(slots=True)
class Score:
    """What was right and wrong, by kind, over all transfers."""

    right: Counter[str] = dataclasses.field(default_factory=Counter)
    wrong: Counter[str] = dataclasses.field(default_factory=Counter)
    complaints: list[str] = dataclasses.field(default_factory=list)
    offsets_us: list[float] = dataclasses.field(default_factory=list)  # errors, where the delays are symmetric
    asymmetric_us: list[float] = dataclasses.field(default_factory=list)

    unnumbered: Counter[bool] = dataclasses.field(default_factory=Counter)  # without IP IDs: what was right

    def add(self, kind: str, right: bool, complaint: str, numbered: bool = True) -> None:
        if not numbered:
            self.unnumbered[right] += 1
            return
        (self.right if right else self.wrong)[kind] += 1
        if not right:
            self.complaints.append(f"{kind}: {complaint}")


def judge(
    plan: Plan, paired: Pairing, kept: tuple[list[Frame], list[Frame]], frames: list[Frame], score: Score
) -> None:
    """Compares a pairing with what the flakeway did."""
    exits: dict[tuple[int, int], list[Frame]] = defaultdict(list)
    for frame in frames:
        if not frame.entered:
            exits[1 - frame.point, frame.number].append(frame)
    for direction in paired.directions:
        near = direction.at_source
        seen: dict[int, Seen] = {}  # by position at the source
        came: dict[
            int, tuple[Seen, int, bool]
        ] = {}  # by position at the destination: what, position at the source, late
        rows = direction.packets
        for sent, arrived, what, late in zip(rows.sent, rows.arrived, rows.seen, rows.late, strict=True):
            if arrived >= 0:
                came[int(arrived)] = Seen(what), int(sent), bool(late)
            if sent >= 0 and what != Seen.COPY:
                seen[int(sent)] = Seen(what)
        _judge_losses(plan, near, kept, exits, seen, score, paired.clock.bound_ns)
        _judge_arrivals(plan, near, kept, exits, came, score)
    delays = [
        min((b.time_ns - a.time_ns for a in kept[near] if a.entered for b in exits[near, a.number]), default=None)
        for near in (LEFT, RIGHT)
    ]
    _judge_clock(plan, paired, delays[0] == delays[1], score)


def _judge_losses(
    plan: Plan,
    near: int,
    kept: tuple[list[Frame], list[Frame]],
    exits: dict[tuple[int, int], list[Frame]],
    seen: dict[int, Seen],
    score: Score,
    slack_ns: float,
) -> None:
    far_times = [frame.time_ns for frame in kept[1 - near]]
    here = {id(frame) for frame in kept[1 - near]}
    travelled = [b.time_ns - a.time_ns for a in kept[near] if a.entered for b in exits[near, a.number]]
    shortest = min(travelled, default=0)
    longest = shortest + RESERVE * (max(travelled, default=0) - shortest)
    for position, frame in enumerate(kept[near]):
        if not frame.entered:
            continue
        what, left = seen.get(position), exits[near, frame.number]
        where = f"seed {plan.seed}: frame {position + 1} of point {near} is {what!r}"
        if not left:
            edge = (
                frame.time_ns + shortest < far_times[0] + TICK_NS + slack_ns
                or frame.time_ns + longest > far_times[-1] - TICK_NS - slack_ns
            )
            score.add("loss", what == Seen.LOST or (edge and what == Seen.NOT_COVERED), where, plan.numbered)
        elif not any(id(one) in here for one in left):
            held_up = left[0].time_ns > far_times[-1] > frame.time_ns + shortest  # it looks like a loss
            score.add("not covered", what == Seen.NOT_COVERED or (held_up and what == Seen.LOST), where, plan.numbered)
        else:
            score.add("arrival", what in (Seen.ARRIVED, Seen.DAMAGED), where, plan.numbered)


def _judge_arrivals(
    plan: Plan,
    near: int,
    kept: tuple[list[Frame], list[Frame]],
    exits: dict[tuple[int, int], list[Frame]],
    came: dict[int, tuple[Seen, int, bool]],
    score: Score,
) -> None:
    entered = {frame.number: position for position, frame in enumerate(kept[near]) if frame.entered}
    here = {id(frame) for frame in kept[1 - near]}
    newest = -1
    for position, frame in enumerate(kept[1 - near]):
        if frame.entered:
            continue
        what, sent, late = came.get(position, (None, -1, False))
        where = f"seed {plan.seed}: frame {position + 1} of point {1 - near} is {what!r} of {sent + 1}"
        source = entered.get(frame.number)
        if source is None:
            score.add("not covered", what == Seen.NOT_COVERED, where, plan.numbered)
            continue
        original = next(one for one in exits[near, frame.number] if id(one) in here)
        if frame is not original:
            score.add("copy", what == Seen.COPY and sent == source, where, plan.numbered)
            continue
        score.add("which packet", sent == source, f"{where}, not of {source + 1}", plan.numbered)
        payload = kept[near][source].data[HEADER_BYTES:], frame.data[HEADER_BYTES:]
        snaps = [snap for snap in plan.snap_bytes if snap] or [1 << 16]
        damaged = payload[0][: min(snaps)] != payload[1][: min(snaps)] or len(payload[0]) != len(payload[1])
        score.add(
            "damage" if damaged else "no damage",
            what == (Seen.DAMAGED if damaged else Seen.ARRIVED),
            where,
            plan.numbered,
        )
        was_late, newest = source < newest, max(source, newest)
        score.add("late" if was_late else "in order", late == was_late, where, plan.numbered)


def _judge_clock(plan: Plan, paired: Pairing, symmetric: bool, score: Score) -> None:
    clock = paired.clock
    ends = np.array([clock.reference_ns, clock.reference_ns + clock.span_ns])
    true = [second_clock(int(one), plan) for one in ends]
    errors = [abs(int(one) - other) / 1000 for one, other in zip(clock.on_second(ends), true, strict=True)]
    where = f"seed {plan.seed}: off by {max(errors):.1f} us, bound {clock.bound_ns / 1000:.1f} us"
    score.add("bound of the offset", max(errors) * 1000 <= clock.bound_ns + 2000, where, plan.numbered)
    if symmetric and math.isfinite(clock.bound_ns):
        score.add("offset within 100 us", max(errors) < OFFSET_MOST_US, where, plan.numbered)
        score.offsets_us.append(max(errors))
    else:
        score.asymmetric_us.append(max(errors))


def tried(plans: list[Plan], library: IutLibrary) -> Score:
    score = Score()
    with tempfile.TemporaryDirectory(prefix="netblt-pairs-") as name:
        for plan in plans:
            frames = run(plan, library)
            files, kept = captured(frames, plan, Path(name))
            judge(plan, pair_files(*files), kept, frames, score)
    return score


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("count", nargs="?", type=int, default=200, help="transfers (default: 200)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--library", type=Path, default=paths.build() / "lib" / "libnetblt_iut.so")
    given = parser.parse_args()
    begun = time.monotonic()
    score = tried([random_plan(given.seed * 1_000_003 + n) for n in range(given.count)], IutLibrary(given.library))
    for complaint in score.complaints[:50]:
        print(complaint)
    for kind in sorted(score.right | score.wrong):
        print(f"{kind:22} {score.right[kind]:8} right {score.wrong[kind]:6} wrong")
    unnumbered = score.unnumbered
    print(f"without IP IDs         {unnumbered[True]:8} right {unnumbered[False]:6} wrong")
    for words, errors in (("equal", score.offsets_us), ("unequal", score.asymmetric_us)):
        largest = max(errors, default=0)
        print(f"largest error of an offset, shortest delays {words}: {largest:.1f} us ({len(errors)} pairs)")
    print(f"{given.count} transfers in {time.monotonic() - begun:.0f} s")
    return 1 if score.wrong or unnumbered[False] > UNNUMBERED_WRONG_SHARE * unnumbered[True] else 0


if __name__ == "__main__":
    sys.exit(main())
