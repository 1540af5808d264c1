# SPDX-License-Identifier: GPL-2.0-or-later
"""A small model of a conforming NETBLT sender and receiver over a bad path, captured at three places.

It exists to make traces that are legal by construction: whatever the path or the captures do, the ends follow RFC 998.
Mutations make one end break one rule. It shares no code with any implementation of the project."""

from __future__ import annotations

import heapq
import random
import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from dissector.tests import forge
from dissector.tests.forge import CONTROL, DATA, DONE, LDATA, NULL_ACK, OPEN, RESPONSE, Frame

MS = 1_000_000
POSITIONS = ("sender", "between", "receiver")


@dataclass
class Segment:
    """One direction of one half of the path. Rates are fractions of packets, times are nanoseconds."""

    delay: int
    jitter: int
    loss: float
    reorder: float
    hold: int
    duplicate: float
    corrupt: float

    def carry(self, rng: random.Random, raw: bytes) -> list[tuple[int, bytes]]:
        """Arrival delays and contents of what comes out at the far side."""
        if rng.random() < self.loss:
            return []
        out = []
        for _ in range(2 if rng.random() < self.duplicate else 1):
            late = rng.randrange(self.hold + 1) if rng.random() < self.reorder else 0
            content = raw
            if rng.random() < self.corrupt:
                at = rng.randrange(20, len(raw))
                content = raw[:at] + bytes([raw[at] ^ (1 << rng.randrange(8))]) + raw[at + 1 :]
            out.append((self.delay + rng.randrange(self.jitter + 1) + late, content))
        return out


@dataclass
class Settings:
    """One transfer. `mutation` is "" for a conforming pair."""

    seed: int
    buffers: int = 6
    packets: int = 6
    outstanding: int = 3
    packet_size: int = 64
    burst: int = 4
    interval: int = 5 * MS
    control_timer: int = 120 * MS
    data_timer: int = 60 * MS
    ids: str = "count"
    eager: bool = True  # sender acts on RESEND and OK beyond a hole
    control_limit: int = 0  # bytes of a CONTROL; 0: data packet size + 24, at least 100
    stall: int = 0  # longest time the receiver's client takes to offer a buffer
    start_late: bool = False  # captures begin in the middle
    mutation: str = ""
    capture_loss: float = 0.0
    segments: list[Segment] = field(default_factory=list)  # forward 1, 2; backward 1, 2

    def pace(self) -> dict[str, Any]:
        return {"burst_size": self.burst, "burst_interval": self.interval // MS}

    def terms(self) -> dict[str, Any]:
        """What OPEN proposes and RESPONSE accepts."""
        size = {"buffer_size": self.packets * self.packet_size, "packet_size": self.packet_size}
        return {**size, "max_buffers": self.outstanding, **self.pace()}


class Ids:
    """IP identifications of one host."""

    def __init__(self, mode: str, rng: random.Random) -> None:
        self.mode, self.rng = mode, rng
        self.value = rng.randrange(65536)

    def take(self) -> int:
        if self.mode == "count":
            self.value += 1
        elif self.mode == "busy":
            self.value += self.rng.choice((1, 1, 1, 2, 3, 7))
        elif self.mode == "random":
            self.value = self.rng.randrange(65536)
        elif self.mode == "zero":
            self.value = 0
        return self.value & 0xFFFF


class Transfer:
    """Runs one transfer to its end; `captures[position]` holds (time, raw IP packet)."""

    def __init__(self, settings: Settings, addresses: tuple[str, str], port: int) -> None:
        self.set = settings
        self.rng = random.Random(settings.seed)
        self.addresses, self.port = addresses, port
        self.now = 0
        self.queue: list[tuple[int, int, Callable[[], None]]] = []
        self.serial = 0
        self.captures: dict[str, list[tuple[int, bytes]]] = {p: [] for p in POSITIONS}
        self.uid = self.rng.randrange(1 << 32)
        self.sender = Sender(self)
        self.receiver = Receiver(self)

    def at(self, delay: int, what: Callable[[], None]) -> None:
        self.serial += 1
        heapq.heappush(self.queue, (self.now + delay, self.serial, what))

    def run(self, limit: int = 60_000 * MS, events: int = 20_000) -> bool:
        """True when the receiver finished."""
        self.sender.start()
        while self.queue and self.now < limit and events and not (self.receiver.done and self.sender.quiet):
            self.now, _, what = heapq.heappop(self.queue)
            what()
            events -= 1
        return self.receiver.done

    def capture(self, position: str, raw: bytes) -> None:
        if self.rng.random() >= self.set.capture_loss:
            self.captures[position].append((self.now, raw))

    def emit(self, payload: bytes, forward: bool, ip_id: int) -> None:
        source, target = self.addresses if forward else self.addresses[::-1]
        raw = forge.ipv4(payload, source, target, ip_id)
        near, far = (POSITIONS[0], POSITIONS[2]) if forward else (POSITIONS[2], POSITIONS[0])
        first, second = self.set.segments[0:2] if forward else self.set.segments[2:4]
        peer = self.receiver if forward else self.sender
        self.capture(near, raw)

        def arrive(content: bytes) -> None:
            self.capture(far, content)
            if self.sound(content[20:]):
                peer.input(content[20:])

        def middle(content: bytes) -> None:
            self.capture(POSITIONS[1], content)
            for delay, again in second.carry(self.rng, content):
                self.at(delay, lambda c=again: arrive(c))  # type: ignore[misc]

        for delay, content in first.carry(self.rng, raw):
            self.at(delay, lambda c=content: middle(c))  # type: ignore[misc]

    @staticmethod
    def sound(payload: bytes) -> bool:
        if len(payload) < 12:
            return False
        length = int.from_bytes(payload[4:6], "big")
        covered = 24 if payload[3] in (DATA, LDATA) else length
        if not 12 <= length <= len(payload) or covered > len(payload):
            return False
        return bool(forge.ones_sum(payload[:covered]) == 0xFFFF)


class Sender:
    """Opens, then sends buffers in order as the control messages ask."""

    def __init__(self, transfer: Transfer) -> None:
        self.t = transfer
        self.ids = Ids(transfer.set.ids, transfer.rng)
        self.open = False
        self.high = 0
        self.seen: set[int] = set()
        self.granted: set[int] = set()
        self.accepted: set[int] = set()
        self.fresh: dict[int, int] = {}  # buffer -> next packet never sent
        self.repairs: dict[int, list[int]] = {}
        self.ticking = False
        self.next_burst = 0
        self.quiet = False
        self.owes_ack = False

    def out(self, kind: int, body: bytes, covered: int | None = None) -> None:
        raw = forge.packet(kind, body, self.t.port, 1, covered=covered)
        self.t.emit(raw, True, self.ids.take())

    def start(self) -> None:
        if self.open or self.t.now > 5_000 * MS:
            self.quiet = not self.open
            return
        self.out(OPEN, forge.open_body(self.t.uid, **self.t.set.terms()))
        self.t.at(200 * MS, self.start)

    def input(self, payload: bytes) -> None:
        if payload[3] == RESPONSE:
            self.open = True
        elif payload[3] == DONE:
            self.quiet = True
        elif payload[3] == CONTROL and self.open:
            self.control(payload[: int.from_bytes(payload[4:6], "big")])

    def control(self, payload: bytes) -> None:
        at = 12
        held: list[tuple[int, int, int, list[int]]] = []
        while at + 8 <= len(payload):
            kind, seq, buffer = (
                payload[at],
                int.from_bytes(payload[at + 2 : at + 4], "big"),
                int.from_bytes(payload[at + 4 : at + 8], "big"),
            )
            size, numbers = 8 if kind == forge.GO else 16, []
            if kind == forge.RESEND:
                count = int.from_bytes(payload[at + 8 : at + 10], "big")
                numbers = [int.from_bytes(payload[at + 12 + 2 * i : at + 14 + 2 * i], "big") for i in range(count)]
                size = 12 + (count + 1) // 2 * 4
            held.append((seq, kind, buffer, numbers))
            at += size
        for seq, kind, buffer, numbers in held:
            if seq in self.seen:
                continue
            if not self.t.set.eager and seq > self.high + 1:
                continue
            self.seen.add(seq)
            while self.high + 1 in self.seen:
                self.high += 1
            self.act(kind, buffer, numbers)
        self.owes_ack = True
        self.wake()
        # The acknowledgement is carried in data if some leaves soon, else it goes by itself.
        self.t.at(self.t.set.interval + 1, self.acknowledge)

    def act(self, kind: int, buffer: int, numbers: list[int]) -> None:
        if kind == forge.GO:
            self.granted.add(buffer)
            self.fresh.setdefault(buffer, 0)
        elif kind == forge.OK:
            self.accepted.add(buffer)
            self.repairs.pop(buffer, None)
        elif buffer not in self.accepted and buffer in self.granted:
            queued = self.repairs.setdefault(buffer, [])
            sent = self.fresh.get(buffer, 0)
            queued.extend(n for n in sorted(set(numbers)) if n < min(sent, self.length(buffer)) and n not in queued)

    def length(self, buffer: int) -> int:
        return self.t.set.packets if buffer < self.t.set.buffers - 1 else max(1, self.t.set.packets // 2)

    def pick(self) -> tuple[int, int] | None:
        """The next packet: the lowest buffer first, retransmissions of a buffer before its new packets (5.2)."""
        ready = [
            b
            for b in self.granted
            if b < self.t.set.buffers
            and b not in self.accepted
            and (self.repairs.get(b) or self.fresh[b] < self.length(b))
        ]
        if not ready:
            return None
        buffer = max(ready) if self.t.set.mutation == "newest-buffer-first" else min(ready)
        if self.repairs.get(buffer):
            return buffer, self.repairs[buffer].pop(0)
        number = self.fresh[buffer]
        self.fresh[buffer] += 1
        return buffer, number

    def wake(self) -> None:
        if not self.ticking:
            self.ticking = True
            self.t.at(max(0, self.next_burst - self.t.now), self.burst)

    def burst(self) -> None:
        self.next_burst = self.t.now + self.t.set.interval
        for _ in range(self.t.set.burst):
            chosen = self.pick()
            if chosen is None:
                self.ticking = False
                return
            buffer, number = chosen
            self.owes_ack = False
            body = forge.data_body(
                buffer,
                self.high,
                number,
                bytes([number & 255]) * self.t.set.packet_size,
                last=buffer == self.t.set.buffers - 1,
            )
            self.out(LDATA if number == self.length(buffer) - 1 else DATA, body, 24)
        self.t.at(self.t.set.interval, self.burst)

    def acknowledge(self) -> None:
        if self.owes_ack:
            self.owes_ack = False
            pace = self.t.set.pace()
            self.out(NULL_ACK, struct.pack(">HHHH", self.high, pace["burst_size"], pace["burst_interval"], 0))


class Receiver:
    """Offers buffers, asks again for what is missing, keeps one long-lived queue of control messages."""

    def __init__(self, transfer: Transfer) -> None:
        self.t = transfer
        self.ids = Ids(transfer.set.ids, transfer.rng)
        self.open = False
        self.done = False
        self.next_seq = 1
        self.unacked: dict[int, tuple[bytes, int, int]] = {}  # seq -> message, kind, buffer
        self.high = 0
        self.next_buffer = 0
        self.have: dict[int, set[int]] = {}
        self.length: dict[int, int] = {}
        self.complete: set[int] = set()
        self.last: int | None = None
        self.timer = 0
        self.data_timer: dict[int, int] = {}
        self.new_from = 0

    def out(self, kind: int, body: bytes) -> None:
        self.t.emit(forge.packet(kind, body, 1, self.t.port), False, self.ids.take())

    def input(self, payload: bytes) -> None:
        kind = payload[3]
        if kind == OPEN:
            body = forge.open_body(self.t.uid, **self.t.set.terms())
            self.out(RESPONSE, body)
            if not self.open:
                self.open = True
                self.t.at(self.t.rng.randrange(2 * MS), self.offer)
        elif self.open and not self.done and kind in (DATA, LDATA, NULL_ACK):
            self.acked(int.from_bytes(payload[12:14] if kind == NULL_ACK else payload[16:18], "big"))
            if kind != NULL_ACK:
                self.data(payload)
            self.finish()

    def acked(self, high: int) -> None:
        if high <= self.high:
            return
        self.high = high
        for seq in [s for s in self.unacked if s <= high]:
            _, kind, buffer = self.unacked.pop(seq)
            if kind != forge.OK and buffer not in self.complete:
                self.arm(buffer)

    def arm(self, buffer: int) -> None:
        self.serial_timer = getattr(self, "serial_timer", 0) + 1
        token = self.serial_timer
        self.data_timer[buffer] = token
        wait = self.t.set.data_timer + self.t.set.interval * (1 + self.t.set.packets // self.t.set.burst) * (
            1 + len(self.have)
        )
        self.t.at(wait, lambda: self.expired(buffer, token))

    def expired(self, buffer: int, token: int) -> None:
        if self.done or self.data_timer.get(buffer) != token or buffer in self.complete:
            return
        if self.last is not None and buffer > self.last:
            return
        if any(b == buffer for _, _, b in self.unacked.values()):
            return  # ACK-WAIT
        count = self.length.get(buffer, self.t.set.packets)
        missing = [n for n in range(count) if n not in self.have.get(buffer, set())]
        self.send([(forge.RESEND, buffer, missing)])

    def data(self, payload: bytes) -> None:
        buffer, number = int.from_bytes(payload[12:16], "big"), int.from_bytes(payload[18:20], "big")
        if payload[23] & 1:
            self.last = buffer
        if buffer in self.complete or buffer >= self.next_buffer:
            return
        got = self.have.setdefault(buffer, set())
        got.add(number)
        if payload[3] == LDATA:
            self.length[buffer] = number + 1
        waiting = any(b == buffer and k != forge.OK for _, k, b in self.unacked.values())
        if not waiting:
            self.arm(buffer)
        if len(got) == self.length.get(buffer, -1):
            self.complete.add(buffer)
            del self.have[buffer]
            self.send([(forge.OK, buffer, [])] + ([] if self.t.set.stall else self.grants()))
            if self.t.set.stall:
                self.t.at(self.t.rng.randrange(self.t.set.stall), self.offer)

    def grants(self) -> list[tuple[int, int, list[int]]]:
        out: list[tuple[int, int, list[int]]] = []
        while self.last is None and self.next_buffer - len(self.complete) < self.t.set.outstanding:
            out.append((forge.GO, self.next_buffer, []))
            self.next_buffer += 1
            if self.t.set.stall:
                break
        return out

    def offer(self) -> None:
        if not self.done:
            granted = self.grants()
            if granted:
                self.send(granted)
                if self.t.set.stall:
                    self.t.at(self.t.rng.randrange(self.t.set.stall), self.offer)

    def send(self, messages: list[tuple[int, int, list[int]]]) -> None:
        self.new_from = self.next_seq
        for kind, buffer, numbers in messages:
            seq = self.next_seq
            self.next_seq += 1
            raw = {
                forge.GO: lambda s=seq, b=buffer: forge.go(s, b),
                forge.OK: lambda s=seq, b=buffer: self.ok(s, b),
            }.get(kind, lambda s=seq, b=buffer, n=numbers: forge.resend(s, b, n))()
            self.unacked[seq] = (raw, kind, buffer)
        self.transmit(self.new_from)

    def ok(self, seq: int, buffer: int) -> bytes:
        timer = self.t.set.control_timer // MS
        return forge.ok(seq, buffer, self.t.set.burst, self.t.set.interval // MS, timer)

    def transmit(self, new_from: int = 0) -> None:
        """The whole queue, lowest first, as far as a packet holds (several packets when it does not, if set so)."""
        if not self.unacked or self.done:
            return
        queue = sorted(self.unacked)
        if self.t.set.mutation == "forgetful" and new_from:
            queue = [s for s in queue if s >= new_from]
        limit = self.t.set.control_limit or max(100, self.t.set.packet_size + 24)
        body = b""
        for seq in queue:
            raw = self.unacked[seq][0]
            if body and 12 + len(body) + len(raw) > limit:
                if not self.t.set.control_limit:
                    break  # prefix rule
                self.out(CONTROL, body)
                body = b""
            body += raw
        self.out(CONTROL, body)
        self.timer += 1
        token = self.timer

        def again() -> None:
            if token == self.timer:
                self.transmit()

        self.t.at(self.t.set.control_timer, again)

    def finish(self) -> None:
        """5.3.1: last buffer seen, nothing missing up to it, every message acknowledged."""
        if self.last is not None and not self.unacked and all(b in self.complete for b in range(self.last + 1)):
            self.done = True
            self.out(DONE, b"")


def random_settings(seed: int, **fixed: object) -> Settings:
    """A conforming transfer under conditions drawn from the seed."""
    rng = random.Random(seed)
    mean = rng.choice((1, 5, 30)) * MS
    harsh = rng.choice((0.0, 0.02, 0.1, 0.2))

    def segment() -> Segment:
        return Segment(
            delay=mean,
            jitter=rng.choice((0, 0, mean // 4, 2 * mean)),
            loss=rng.choice((0.0, 0.01, harsh)),
            reorder=rng.choice((0.0, 0.05, harsh)),
            hold=rng.choice((mean, 4 * mean, 40 * MS)),
            duplicate=rng.choice((0.0, 0.0, 0.05)),
            corrupt=rng.choice((0.0, 0.0, 0.03)),
        )

    settings = Settings(
        seed=seed,
        buffers=rng.randint(2, 8),
        packets=rng.choice((1, 2, 5, 9)),
        outstanding=rng.randint(1, 4),
        packet_size=rng.choice((16, 64, 128)),
        burst=rng.choice((1, 3, 8)),
        interval=rng.choice((1, 4, 10)) * MS,
        control_timer=rng.choice((20, 120, 400)) * MS,
        data_timer=rng.choice((5, 60, 200)) * MS,
        ids=rng.choice(("count", "count", "count", "busy", "random", "zero")),
        eager=rng.random() < 0.7,
        control_limit=0,
        stall=rng.choice((0, 0, 20 * MS)),
        start_late=rng.random() < 0.1,
        capture_loss=rng.choice((0.0, 0.0, 0.01, 0.05)),
        segments=[segment() for _ in range(4)],
    )
    for name, value in fixed.items():
        setattr(settings, name, value)
    return settings


def run_transfers(all_settings: list[Settings]) -> tuple[list[Frame], int]:
    """Runs every transfer on addresses of its own; frames of all captures in time order, one interface per position.
    The number of transfers that finished comes with it: a model that never finishes proves nothing."""
    frames: list[Frame] = []
    finished = 0
    for index, settings in enumerate(all_settings):
        addresses = (f"10.{index >> 8 & 255}.{index & 255}.1", f"10.{index >> 8 & 255}.{index & 255}.2")
        transfer = Transfer(settings, addresses, 2000 + (index >> 16))
        finished += transfer.run()
        base = (1 + index) * 10**9
        for number, position in enumerate(POSITIONS):
            captured = transfer.captures[position]
            if settings.start_late:
                captured = captured[len(captured) // 3 :]
            frames += [Frame(base + when, raw, number) for when, raw in captured]
    return frames, finished
