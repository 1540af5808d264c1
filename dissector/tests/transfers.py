# SPDX-License-Identifier: GPL-2.0-or-later
"""Random transfers between two real endpoints over a bad path, captured at three places.

The endpoints are shared libraries with the suite's ABI (the reference, or a mutant of it), the path is two flakeways:
left end - capture "left" - flakeway - capture "middle" - flakeway - capture "right" - right end. All is virtual time
and comes from one seed. A view states what the capture makes of it: packets lost by the capture, cut, from the middle
on.
"""

from __future__ import annotations

import dataclasses
import random
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from netblt_conformance.simlib import Direction, Flakeway, Iut, IutLibrary, IutParams

from dissector.tests import forge
from dissector.tests.forge import Frame

POINTS = ("left", "middle", "right")
STEPS_AT_MOST = 60_000
LIMIT_US = 900_000_000
GAP_NS = 1_000_000_000  # between transfers in one file


@dataclasses.dataclass(slots=True)
class View:
    """What the capture makes of the packets."""

    carrier: str = "ip"  # ip, ip6, udp
    ids: str = "count"  # count, busy, zero, random
    capture_loss: float = 0.0
    snaplen: int = 0  # bytes of NETBLT packet; 0 = all
    skip: float = 0.0  # part of the transfer before the capture begins


@dataclasses.dataclass(slots=True)
class Plan:
    """Everything that decides one transfer."""

    seed: int
    left_sends: bool
    left_opens: bool
    params: IutParams
    data_bytes: int
    rules: tuple[list[str], list[str]]
    view: View
    stall_us: int = 0
    right_differs: dict[str, Any] = dataclasses.field(default_factory=dict)  # parameters of the right end


def random_plan(seed: int, *, calm: bool = False) -> Plan:
    """A transfer drawn from the seed; `calm`: over a good path, in full view."""
    rng = random.Random(seed)
    packet_size = rng.choice([16, 128, 512, 1432, 1001])
    packets = rng.choice([1, 2, 3, 8, 20, 60])
    buffer_size = max(1, packet_size * packets - rng.choice([0, 0, 1, packet_size // 2]))
    amount = rng.choice([0, 1, buffer_size, buffer_size * 3, buffer_size * 5 + 7, buffer_size * 12 + 3])
    params = IutParams(
        local_port=rng.randrange(1024, 65535),
        foreign_port=1,
        buffer_size=buffer_size,
        packet_size=packet_size,
        burst_size=rng.choice([1, 3, 8]),
        burst_interval_ms=rng.choice([0, 1, 5, 20]),
        death_timer_s=rng.choice([4, 30, 60]),
        max_buffers=rng.choice([1, 2, 4, 10]),
        data_checksum=rng.random() < 0.5,
        client_string=rng.choice(["", "file", "longer name"]),
    )
    view = View()
    rules: tuple[list[str], list[str]] = ([], [])
    if calm:
        rules = ([f"latency {rng.choice([1, 10, 50])}ms"], [f"latency {rng.choice([1, 10, 50])}ms"])
    else:
        view = View(
            carrier=rng.choice(["ip", "ip", "ip", "ip", "ip6", "udp"]),
            ids=rng.choice(["count", "count", "count", "busy", "zero", "random"]),
            capture_loss=rng.choice([0.0, 0.0, 0.01, 0.05, 0.2]),
            snaplen=rng.choice([0, 0, 0, 0, 40, 100]),
            skip=rng.choice([0.0, 0.0, 0.0, 0.3, 0.7]),
        )
        rules = (path_rules(rng), path_rules(rng))
        # One turned bit never escapes a checksum; of two in one packet every thirtieth pair would.
        if any(rule.startswith("corrupt") for rule in rules[0]):
            rules = (rules[0], [rule for rule in rules[1] if not rule.startswith("corrupt")])
    stall_us = rng.choice([0, 0, 0, 2_000_000]) if amount > 2 * buffer_size else 0
    differs = {}
    if rng.random() < 0.4:
        differs = {
            "buffer_size": max(1, buffer_size * rng.choice([1, 2, 3]) // 2),
            "packet_size": max(1, packet_size * rng.choice([1, 2, 3]) // 2),
            "burst_size": max(1, params.burst_size + rng.choice([-1, 0, 2])),
            "burst_interval_ms": max(0, params.burst_interval_ms + rng.choice([-2, 0, 5])),
            "max_buffers": max(1, params.max_buffers + rng.choice([-1, 0, 1])),
            "data_checksum": rng.random() < 0.5,
        }
    return Plan(seed, rng.random() < 0.5, rng.random() < 0.5, params, amount, rules, view, stall_us, differs)


def path_rules(rng: random.Random) -> list[str]:
    """Half of the path; both halves together lose up to 20 %."""
    rules = [f"latency {rng.choice([1, 10, 100, 300])}ms"]
    loss = rng.choice([0, 0, 1, 5, 10])
    if loss:
        rules.append(f"loss {loss}%")
    if rng.random() < 0.5:
        rules.append(f"reorder {rng.choice([1, 5, 20])}% by {rng.choice([1, 5, 30])}ms")
    if rng.random() < 0.4:
        rules.append(f"duplicate {rng.choice([1, 5, 20])}%")
    if rng.random() < 0.3:
        rules.append(f"corrupt {rng.choice([1, 5])}%")
    return rules


class Wrapper:
    """Puts the packets of one end into datagrams."""

    def __init__(self, plan: Plan, rng: random.Random, source: str, target: str, ports: tuple[int, int]) -> None:
        self.view, self.rng = plan.view, rng
        self.source, self.target, self.ports = source, target, ports
        self.number = rng.randrange(65536)

    def identification(self) -> int:
        kind = self.view.ids
        if kind == "zero":
            return 0
        if kind == "random":
            return self.rng.randrange(65536)
        self.number = (self.number + (self.rng.randrange(1, 5) if kind == "busy" else 1)) & 0xFFFF
        return self.number

    def wrap(self, payload: bytes, identification: int) -> bytes:
        if self.view.carrier == "ip6":
            return forge.ipv6(payload, six(self.source), six(self.target))
        if self.view.carrier == "udp":
            segment = forge.udp(payload, *self.ports)
            return forge.ipv4(segment, self.source, self.target, identification, protocol=17)
        return forge.ipv4(payload, self.source, self.target, identification)


def six(address: str) -> bytes:
    return b"\xfd" + bytes(11) + forge.quad(address)


class Transfer:
    """One run of a plan. After run() `seen` holds (nanoseconds, point, datagram) in order."""

    def __init__(self, plan: Plan, library: IutLibrary, index: int, other: IutLibrary | None = None) -> None:
        self.plan = plan
        self.rng = random.Random(plan.seed ^ 0x5EED)
        left, right = f"10.{index >> 8 & 255}.{index & 255}.1", f"10.{index >> 8 & 255}.{index & 255}.2"
        self.data = self.rng.randbytes(plan.data_bytes)
        base = dataclasses.replace(
            plan.params,
            seed=self.rng.randrange(1 << 30),
            active=plan.left_opens,
            sender=plan.left_sends,
            local_address=left,
            foreign_address=right,
        )
        near, far = base.local_port, base.foreign_port
        mine, peers = (near, far) if plan.left_opens else (far, near)
        a = dataclasses.replace(base, local_port=mine, foreign_port=peers)
        b = dataclasses.replace(
            a,
            active=not plan.left_opens,
            sender=not plan.left_sends,
            local_port=peers,
            foreign_port=mine,
            local_address=right,
            foreign_address=left,
            seed=self.rng.randrange(1 << 30),
            **plan.right_differs,
        )
        if plan.stall_us:
            sender = a if plan.left_sends else b
            sender.client_stall_from, sender.client_stall_until_us = 1, plan.stall_us
        far_library = other or library
        self.ends: tuple[Iut, Iut] = (
            library.start(a, self.data if plan.left_sends else b""),
            far_library.start(b, b"" if plan.left_sends else self.data),
        )
        self.addresses = (left, right)
        self.wrappers = (
            Wrapper(plan, self.rng, left, right, (9980, 9980)),
            Wrapper(plan, self.rng, right, left, (9980, 9980)),
        )
        self.halves = tuple(Flakeway(self.rng.randrange(1 << 30), *rules, trace=False) for rules in plan.rules)
        self.numbers: tuple[dict[int, int], dict[int, int]] = ({}, {})
        self.seen: list[tuple[int, int, bytes]] = []

    def note(self, now: int, point: int, emitter: int, payload: bytes, identification: int) -> None:
        self.seen.append((now * 1000, point, self.wrappers[emitter].wrap(payload, identification)))

    def emit(self, end: int, now: int) -> None:
        while (output := self.ends[end].output(now)) is not None:
            identification = self.wrappers[end].identification()
            self.note(now, 2 * end, end, output[1], identification)
            self.enter(end, end, output[1], identification, now)

    def enter(self, half: int, emitter: int, payload: bytes, identification: int, now: int) -> None:
        direction = Direction.B_TO_A if emitter else Direction.A_TO_B
        self.numbers[half][self.halves[half].offer(direction, payload, now)] = identification

    def leave(self, half: int, now: int) -> None:
        for packet in self.halves[half].release(now):
            emitter = 1 if packet.direction == Direction.B_TO_A else 0
            identification = self.numbers[half][packet.packet_id]
            if half == emitter:
                self.note(now, 1, emitter, packet.packet, identification)
                self.enter(1 - half, emitter, packet.packet, identification, now)
            else:
                self.note(now, 2 * (1 - emitter), emitter, packet.packet, identification)
                self.ends[1 - emitter].packet(self.addresses[emitter], packet.packet, now)

    def run(self) -> bool:
        """True when the transfer came to a good end at both ends."""
        now = 0
        for _ in range(STEPS_AT_MOST):
            for end in (0, 1):
                self.ends[end].advance(now)
                self.emit(end, now)
            for half in (0, 1):
                self.leave(half, now)
            for end in (0, 1):
                self.emit(end, now)
            times = [end.deadline for end in self.ends] + [half.deadline for half in self.halves]
            waiting = [when for when in times if when is not None]
            if not waiting or all(instance.status.closed for instance in self.ends):
                break
            now = max(now, min(waiting)) if min(waiting) > now else now + 1
            if now > LIMIT_US:
                break
        receiver = self.ends[1 if self.plan.left_sends else 0]
        good = all(instance.status.succeeded for instance in self.ends) and receiver.delivered == self.data
        for instance in self.ends:
            instance.close()
        return good

    def frames(self, base_ns: int) -> list[Frame]:
        """As captured at the three points, through the plan's view."""
        view = self.plan.view
        captured: list[list[Frame]] = [[], [], []]
        for when, point, raw in self.seen:
            if self.rng.random() >= view.capture_loss:
                captured[point].append(Frame(base_ns + when, raw, point))
        frames: list[Frame] = []
        for part in captured:
            frames += part[int(len(part) * view.skip) :]
        for frame in frames:
            headers = {"ip": 20, "udp": 28, "ip6": 40}[view.carrier]
            if view.snaplen and len(frame.data) > headers + view.snaplen:
                frame.original = len(frame.data)
                frame.data = frame.data[: headers + view.snaplen]
        return sorted(frames, key=lambda frame: frame.time_ns)


def run_all(plans: list[Plan], library: IutLibrary, other: IutLibrary | None = None) -> tuple[list[Frame], int]:
    """All transfers one after the other, each on addresses of its own; how many came to a good end."""
    frames: list[Frame] = []
    good = 0
    base = GAP_NS
    for index, plan in enumerate(plans):
        transfer = Transfer(plan, library, index, other)
        good += transfer.run()
        part = transfer.frames(base)
        frames += part
        base = (part[-1].time_ns if part else base) + GAP_NS
    return frames, good


def in_batches(plans: list[Plan], size: int) -> Iterator[list[Plan]]:
    for start in range(0, len(plans), size):
        yield plans[start : start + size]


def load(path: Path) -> IutLibrary:
    return IutLibrary(path)


def seed_of(frame_bytes: bytes) -> int:
    """Index of the transfer that a datagram belongs to, from its addresses."""
    middle = struct.unpack_from(">BB", frame_bytes, 13 if frame_bytes[0] >> 4 == 4 else 8 + 12 + 1)
    return int(middle[0]) << 8 | int(middle[1])
