# SPDX-License-Identifier: GPL-2.0-or-later
"""Two ends of ETFTP or version 4 that keep to their rules, over a path that loses, doubles and holds packets up.

They are made to be captured: no file is transferred, and nothing is verified but by the plugin.
"""

from __future__ import annotations

import heapq
import itertools
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from netblt_conformance.simlib import Record, pcapng_file

from pcaps.tools.dialects import ETFTP, ETFTP_PORT, TERMS, VERSION4, Dialect
from pcaps.tools.exchange import ADDRESSES, RECEIVER, SENDER, ipv4_header, udp_in_ipv4
from pcaps.tools.octets import Message, Packet
from pcaps.tools.octets import ok as ok_of_rfc998

PORTS = {SENDER: (1024, 1), RECEIVER: (1, 1024)}
START_NS = 600_000_000 * 10**9
WINDOW = 2


@dataclass
class Path:
    """What happens to a packet between its end and the capture, or the capture and the peer."""

    loss: float
    doubled: float
    held_up_s: float


@dataclass
class Plan:
    """One transfer; everything follows from the seed."""

    dialect: Dialect
    seed: int
    calm: bool = False
    buffers: int = 8
    packets: int = 5
    packet_bytes: int = 64
    renegotiates: bool = True  # R in OPEN and RESPONSE
    changes_size: bool = False  # the receiver offers half the size in the middle
    repeats: bool = False  # the sender repeats packets by itself (R1986-13)
    path: Path = field(default_factory=lambda: Path(0, 0, 0))
    capture_loss: float = 0


def random_plan(dialect: Dialect, seed: int, *, calm: bool = False) -> Plan:
    """Calm: a good path in full view."""
    chance = random.Random(seed)
    plan = Plan(dialect, seed, calm, chance.randint(2, 16), chance.randint(1, 9), 16 * chance.randint(1, 8))
    plan.renegotiates = chance.random() < 0.6
    plan.changes_size = plan.renegotiates and chance.random() < 0.5
    plan.repeats = dialect is ETFTP and chance.random() < 0.5
    if not calm:
        plan.path = Path(chance.choice((0, 0.05, 0.2)), chance.choice((0, 0.05)), chance.choice((0, 0.002, 0.2)))
        plan.capture_loss = chance.choice((0, 0, 0.05))
    return plan


class World:
    """Time, the path and the capture."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.chance = random.Random(plan.seed)
        self.now = 0.0
        self.order = itertools.count()
        self.events: list[tuple[float, int, Callable[[], None]]] = []
        self.records: list[Record] = []
        self.emitted = {SENDER: 0x1000, RECEIVER: 0x7000}
        self.ends: dict[str, Sender | Receiver] = {}

    def at(self, delay: float, action: Callable[[], None]) -> None:
        heapq.heappush(self.events, (self.now + delay, next(self.order), action))

    def run(self, seconds: float) -> None:
        while self.events and self.now < seconds:
            self.now, _, action = heapq.heappop(self.events)
            action()

    def emit(self, end: str, packet: Packet) -> None:
        peer = RECEIVER if end == SENDER else SENDER
        number = self.emitted[end] & 0xFFFF
        self.emitted[end] += 1
        if self.plan.dialect is VERSION4:
            octets = ipv4_header(ADDRESSES[end], ADDRESSES[peer], number, len(packet.octets)) + packet.octets
        else:
            ports = (40_000, ETFTP_PORT) if end == SENDER else (ETFTP_PORT, 40_000)
            octets = udp_in_ipv4(ADDRESSES[end], ADDRESSES[peer], number, ports, packet.octets)
        for _ in range(1 + (self.chance.random() < self.plan.path.doubled)):
            self.passes(lambda: self.capture(octets, peer, packet))

    def passes(self, action: Callable[[], None]) -> None:
        path = self.plan.path
        if self.chance.random() >= path.loss:
            held_up = self.chance.random() * path.held_up_s if self.chance.random() < 0.1 else 0
            self.at(0.005 + held_up, action)

    def capture(self, octets: bytes, peer: str, packet: Packet) -> None:
        if self.chance.random() >= self.plan.capture_loss:
            self.records.append(Record(0, START_NS + int(self.now * 1e9), octets))
        self.passes(lambda: self.ends[peer].takes(packet))


class Sender:
    """Opens, sends what has a GO, repeats what a RESEND names, quits."""

    def __init__(self, world: World) -> None:
        self.world, self.plan = world, world.plan
        self.first = 1 if world.plan.dialect is VERSION4 else 0
        self.last = self.first + world.plan.buffers - 1
        self.opened = self.done = self.quitting = False
        self.known: dict[int, Message] = {}
        self.high = 0
        self.queue: list[tuple[int, int]] = []  # (buffer, packet)
        self.sizes: dict[int, int] = {}  # of each buffer that was begun
        self.size = world.plan.packet_bytes
        self.accepted: set[int] = set()
        self.begun: set[int] = set()
        self.slots = False

    def opens(self) -> None:
        if not self.opened:
            self.emit(opening(self.plan, "OPEN"))
            self.world.at(5.5, self.opens)

    def emit(self, packet: Packet) -> None:
        self.world.emit(SENDER, packet)

    def takes(self, packet: Packet) -> None:
        if packet.type == "RESPONSE":
            self.opened = True
        elif packet.type == "DONE":
            self.done = True
        elif packet.type == "CONTROL" and self.opened and not self.done:
            self.told([Message(b"", fields) for fields in packet.fields["messages"]])

    def told(self, messages: list[Message]) -> None:
        changed = False
        for message in messages:
            self.known.setdefault(message.fields["seq"], message)
        while self.high + 1 in self.known:
            self.high += 1
            changed |= self.obeys(self.known[self.high].fields)
        if changed or not self.queue:
            pace = (8, 10)
            self.emit(self.plan.dialect.null_ack(PORTS[SENDER], self.high, 0, self.named_size(), pace))
        if self.queue and not self.slots:
            self.slots = True
            self.world.at(0.001, self.burst)
        if len(self.accepted) == self.plan.buffers and not self.quitting:
            self.quitting = True
            self.quits(3)

    def named_size(self) -> int:
        return self.size if self.plan.renegotiates else 0

    def obeys(self, told: dict[str, Any]) -> bool:
        """Whether the sender takes over something that has to be confirmed."""
        buffer: int = told["buffer"]
        if told["type"] == "GO":
            self.sizes[buffer] = self.size
            self.queue += [(buffer, number) for number in range(per_buffer(self.plan, self.size))]
        elif told["type"] == "RESEND":
            self.queue = sorted({*self.queue, *((buffer, number) for number in told["packets"])})
        else:
            self.accepted.add(buffer)
            self.queue = [one for one in self.queue if one[0] != buffer]
            size = told.get("packet_size", 0)
            if size not in (0, self.size) and self.plan.renegotiates:
                self.size = size
                for other in {number for number, _ in self.queue} - self.begun:
                    self.queue = [one for one in self.queue if one[0] != other]
                    self.sizes[other] = size
                    self.queue = sorted({*self.queue, *((other, n) for n in range(per_buffer(self.plan, size)))})
                return True
        return False

    def burst(self) -> None:
        """Up to eight packets, the lowest first."""
        for buffer, number in self.queue[:8]:
            self.sends(buffer, number)
        del self.queue[:8]
        if self.plan.repeats and not self.queue and self.world.chance.random() < 0.5:
            for buffer in sorted(self.sizes.keys() - self.accepted)[:1]:
                self.sends(buffer, self.world.chance.randrange(per_buffer(self.plan, self.sizes[buffer])))
        self.slots = bool(self.queue)
        if self.slots:
            self.world.at(0.02, self.burst)

    def sends(self, buffer: int, number: int) -> None:
        self.begun.add(buffer)
        size, last = self.sizes[buffer], per_buffer(self.plan, self.sizes[buffer]) - 1
        octets = bytes((buffer + number + at) % 251 for at in range(size))
        kind = "LDATA" if number == last else "DATA"
        packet = self.plan.dialect.data(kind, PORTS[SENDER], buffer, number, self.high, octets, buffer == self.last)
        self.emit(packet)

    def quits(self, times: int) -> None:
        if self.plan.dialect is ETFTP and not self.done and times:
            self.emit(ETFTP.text("QUIT", PORTS[SENDER], "done"))
            self.world.at(5.5, lambda: self.quits(times - 1))


class Receiver:
    """Answers the OPEN, gives GOs, requests what is missing, and repeats its CONTROL until it is acknowledged."""

    def __init__(self, world: World) -> None:
        self.world, self.plan = world, world.plan
        self.first = 1 if world.plan.dialect is VERSION4 else 0
        self.granted = self.first
        self.granted_at: dict[int, float] = {}
        self.seq = self.acked = 0
        self.pending: list[Message] = []
        self.parts: dict[int, dict[int, bool]] = {}
        self.asked: dict[int, int] = {}
        self.accepted: set[int] = set()
        self.size = world.plan.packet_bytes
        self.timer = 0
        self.over = False

    def takes(self, packet: Packet) -> None:
        if packet.type == "OPEN":
            self.emit(opening(self.plan, "RESPONSE"))
            if not self.seq:
                self.world.at(0.001, lambda: self.says(self.grants(WINDOW)) if not self.seq else None)
        elif packet.type == "QUIT":
            self.over = True
            self.emit(ETFTP.bare("DONE", PORTS[RECEIVER]))
        elif packet.type in ("DATA", "LDATA", "NULL-ACK") and not self.over:
            self.acked = max(self.acked, packet.fields["high_seq"])
            self.pending = [one for one in self.pending if one.fields["seq"] > self.acked]
            if packet.type != "NULL-ACK":
                self.stores(packet)
            elif self.plan.dialect is VERSION4 and self.finished() and not self.pending:
                self.over = True
                self.emit(VERSION4.bare("DONE", PORTS[RECEIVER]))

    def emit(self, packet: Packet) -> None:
        self.world.emit(RECEIVER, packet)

    def finished(self) -> bool:
        return len(self.accepted) == self.plan.buffers

    def grants(self, count: int) -> list[Message]:
        messages = []
        for _ in range(count):
            if self.granted < self.first + self.plan.buffers:
                self.seq += 1
                messages.append(self.plan.dialect.go(self.seq, self.granted))
                self.granted_at[self.granted] = self.world.now
                self.world.at(2.0, lambda buffer=self.granted: self.misses(buffer))  # type: ignore[misc]
                self.granted += 1
        return messages

    def says(self, messages: list[Message]) -> None:
        self.pending += messages
        self.repeats(self.timer + 1)

    def repeats(self, timer: int) -> None:
        """The whole queue, again when nothing acknowledges it."""
        self.timer = timer
        if self.pending and not self.over:
            self.emit(self.plan.dialect.control(PORTS[RECEIVER], *self.pending))
            wait = 0.3 if self.plan.dialect is VERSION4 else 5.2
            self.world.at(wait, lambda: self.repeats(timer + 1) if self.timer == timer else None)

    def stores(self, packet: Packet) -> None:
        buffer, number = packet.fields["buffer"], packet.fields["packet"]
        if buffer in self.accepted or buffer not in self.granted_at:
            return
        parts = self.parts.setdefault(buffer, {})
        parts[number] = packet.type == "LDATA"
        last = next((one for one, ends in parts.items() if ends), None)
        if last is not None and len(parts) == last + 1:
            self.accepted.add(buffer)
            self.says([self.ok(buffer), *self.grants(1)])

    def ok(self, buffer: int) -> Message:
        self.seq += 1
        timer = 300
        if self.plan.dialect is ETFTP:
            timer = min(int((self.world.now - self.granted_at[buffer]) * 1000), 0xFFFF)
        if self.plan.changes_size and len(self.accepted) == self.plan.buffers // 2:
            self.size = max(self.size // 2, 16)
        tail = self.size if self.plan.dialect is ETFTP and self.plan.renegotiates else 0
        message = ok_of_rfc998(self.seq, buffer, burst_size=8, burst_interval_ms=10, control_timer_ms=timer, tail=tail)
        return Message(message.octets, {**message.fields, "packet_size": tail})

    def misses(self, buffer: int) -> None:
        """The data timer: RESEND when the GO, or the RESEND before, is acknowledged."""
        if buffer in self.accepted or self.over or self.world.now > 200:
            return
        if not any(one.fields["buffer"] == buffer for one in self.pending):
            parts = self.parts.get(buffer, {})
            last = next((one for one, ends in parts.items() if ends), None)
            full = max([per_buffer(self.plan, self.plan.packet_bytes), *(one + 2 for one in parts)])
            missing = [number for number in range(full if last is None else last + 1) if number not in parts]
            self.seq += 1
            self.says([self.plan.dialect.resend(self.seq, buffer, missing)])
        self.world.at(2.0, lambda: self.misses(buffer))


def per_buffer(plan: Plan, size: int) -> int:
    """Packets of a buffer: its bytes stay."""
    return plan.packets * plan.packet_bytes // size


def opening(plan: Plan, kind: str) -> Packet:
    sizes = {"buffer_size": plan.packets * plan.packet_bytes, "packet_size": plan.packet_bytes}
    terms: dict[str, Any] = {**TERMS, **sizes, "burst_size": 8, "burst_interval_ms": 10, "radio_delay_s": 1}
    terms |= {"renegotiate": plan.renegotiates, "unique_id": 0x0A00_0000 + plan.seed}
    terms["string"] = "/maps/overlay.img" if kind == "OPEN" else ""
    return plan.dialect.opening(kind, PORTS[SENDER if kind == "OPEN" else RECEIVER], terms)


def captured(plan: Plan) -> tuple[bytes, bool]:
    """The capture, and whether all was delivered."""
    world = World(plan)
    sender, receiver = Sender(world), Receiver(world)
    world.ends = {SENDER: sender, RECEIVER: receiver}
    sender.opens()
    world.run(300)
    return pcapng_file(["tester"], world.records), receiver.finished()
