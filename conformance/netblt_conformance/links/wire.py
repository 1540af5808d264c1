# SPDX-License-Identifier: GPL-2.0-or-later
"""The wire link: any program and real packets, in real time. Where the packets run is the transport's business."""

from __future__ import annotations

import collections
import contextlib
import struct
import time
from collections.abc import Callable, Sequence

from netblt_conformance.adapter.adapter import Adapter, WireRole, capped
from netblt_conformance.common.errors import HarnessError, NotSupportedError
from netblt_conformance.common.model import (
    MICROSECONDS_PER_S,
    Digest,
    Encapsulation,
    Feature,
    Role,
    Start,
    Status,
    Stop,
)
from netblt_conformance.links.base import TESTER_ADDRESS, Account, Arrival, Link
from netblt_conformance.links.program import Program
from netblt_conformance.links.stamps import NANOSECONDS_PER_US, StallMeter
from netblt_conformance.links.transport import Heard, Transport
from netblt_conformance.packets.capture import Capture
from netblt_conformance.packets.packets import Forge, Type

# How often a wait looks whether the program has ended.
POLL_S = 0.05
# Packets of a program that has ended reach the tester within this: they lie in a queue of the kernel already.
AFTER_END_US = 250_000
HEADER_BYTES = 12  # of a NETBLT packet; its ports:
PORTS_AT = 6


class MonotonicClock:
    def __init__(self) -> None:
        self._began_ns = time.monotonic_ns()

    def now_us(self) -> int:
        return self.at(time.monotonic_ns())

    def at(self, time_ns: int) -> int:
        return (time_ns - self._began_ns) // NANOSECONDS_PER_US


def features(adapter: Adapter, transport: Transport) -> frozenset[Feature]:
    raw = transport.encapsulation is Encapsulation.IP
    found = {Feature.REAL_PACKETS if raw else Feature.DATAGRAMS}
    if transport.second_address:
        found.add(Feature.SECOND_ADDRESS)
    if transport.can_replay:
        found.add(Feature.REPLAY)
    if adapter.quit_signal:
        found.add(Feature.QUIT)
    if any(role.stall_file for role in adapter.roles.values()):
        found.add(Feature.CLIENT_STALL)
    return frozenset(found) - adapter.pics.lacks


class WireLink(Link):
    """One implementation for one case, and the tester's end."""

    name = "wire"
    real_time = True
    delay_us = 0

    def __init__(self, adapter: Adapter, capture: Capture, transport: Transport, works: Callable[[Role], bool]) -> None:
        super().__init__(capture, adapter.pixit.tolerances)
        self._adapter = adapter
        self._transport = transport
        self._works = works
        self.features = features(adapter, transport)
        self.lives_on = adapter.remote is not None
        self._clock = MonotonicClock()
        self._meter = StallMeter()
        self._program: Program | None = None
        self._identification: dict[bytes, int] = {}
        self._last: tuple[bytes, bytes] | None = None
        self._arrivals: collections.deque[Arrival] = collections.deque()
        self._quiet_since_end_us: int | None = None  # since when the ended program's packets have all been read

    @property
    def clock(self) -> MonotonicClock:
        return self._clock

    @property
    def held_up_us(self) -> int:
        return self._meter.held_up_us

    @property
    def dropped_packets(self) -> int:
        return self._meter.dropped_packets

    # ---- the program ----

    def _described(self, role: Role) -> WireRole:
        described = self._adapter.roles.get(role)
        if described is None:
            raise NotSupportedError(f"{self._adapter.path.name} describes no {role}")
        return described

    def fixed_port(self, role: Role) -> int | None:
        described = self._adapter.roles.get(role)
        return described.port if described else None

    def imposes(self, role: Role, parameter: str) -> bool:
        described = self._adapter.roles.get(role)
        return described is not None and described.mentions(parameter)

    def tester_string(self, role: Role) -> str:
        described = self._adapter.roles.get(role)
        return described.tester_string if described else ""

    def start(self, start: Start) -> None:
        described = self._described(start.role)
        start = capped(start, self._adapter.pics)
        if self._program is not None:
            self._program.close(then=lambda: None)
            self._quiet_since_end_us = None
        works = self._works(start.role)
        self._program = Program(self._adapter, self._transport, self._meter, role_works=works)
        stall_us = start.parameters.client_stall_until_us
        until_s = time.monotonic() + (stall_us - self._clock.now_us()) / MICROSECONDS_PER_S if stall_us else None
        self._program.start(start, described, until_s)
        self.tells_outcome = self._program.started

    @property
    def _running(self) -> Program:
        if self._program is None:
            raise HarnessError("the program was not started")
        return self._program

    # ---- packets ----

    def send(self, packet: bytes, source: bytes = TESTER_ADDRESS) -> int:
        identification = self._identification.get(source, 0) + 1
        self._identification[source] = identification
        self._last = (packet, source)
        self._note_port(packet)
        try:
            heard = self._transport.send(packet, source, identification)
        except OSError as error:
            raise HarnessError(f"the tester's socket: {error.strerror}") from None
        for one in heard[:-1]:
            self._note(one)
        return self._record(heard[-1])

    def replay(self, packets: Sequence[bytes], source: bytes = TESTER_ADDRESS, *, loops: int = 1) -> None:
        for packet in packets:
            self._note_port(packet)
        self._transport.replay(packets, source, loops)

    def receive(self, until_us: int) -> Arrival | None:
        while not self._arrivals:
            now_us = self._clock.now_us()
            left_us = until_us - now_us
            wake_us = now_us + min(max(left_us, 0), round(POLL_S * MICROSECONDS_PER_S))
            heard = self._transport.receive((wake_us - now_us) / MICROSECONDS_PER_S)
            if heard is not None:
                self._note(heard)
                continue
            self._meter.woke(wake_us, self._clock.now_us())
            if left_us <= 0:
                return None
            if self._program is not None:
                self._program.look_for_end()
                if self._program.has_ended and self._quiet_since_end_us is None:
                    self._quiet_since_end_us = self._clock.now_us()
            if self.over:
                return None
        return self._arrivals.popleft()

    @property
    def over(self) -> bool:
        if self._quiet_since_end_us is None or self._arrivals:
            return False
        return self._clock.now_us() - self._quiet_since_end_us >= AFTER_END_US

    def _record(self, heard: Heard) -> int:
        return self.capture.add_ip(self._clock.at(heard.time_ns), heard.packet, sent=heard.sent)

    def _note(self, heard: Heard) -> None:
        """Records whatever the implementation's host sends; NETBLT packets for the tester are arrivals."""
        frame = self._record(heard)
        if heard.payload is not None and not heard.sent:
            time_us = self._clock.at(heard.time_ns)
            self._arrivals.append(Arrival(time_us, heard.payload, heard.source, heard.destination, frame))

    # ---- outcome ----

    def deadline_us(self) -> int | None:
        return None

    def status(self) -> Status:
        return self._running.status()

    def reason(self) -> str:
        return self._running.reason()

    def digest(self) -> Digest:
        return self._running.digest()

    def peer_string(self) -> str | None:
        return None

    def ending(self) -> str:
        return self._program.ending() if self._program is not None else ""

    def account(self) -> Account:
        return self._program.account() if self._program is not None else Account()

    def stop(self, how: Stop, reason: str) -> None:
        del reason
        self._running.stop(how)

    def _say_goodbye(self) -> None:
        """An implementation that is not ended would keep the connection of this case until its death timer, and refuse
        the next one."""
        if self._adapter.remote is None or self._last is None or self._program is None:
            return
        (packet, source), self._last = self._last, None
        if len(packet) >= HEADER_BYTES:
            ports = struct.unpack_from(">HH", packet, PORTS_AT)
            with contextlib.suppress(OSError, HarnessError):
                self._transport.send(Forge(packet[2], *ports).reason(Type.ABORT, "end of the case"), source, 0)

    def close(self) -> None:
        self._say_goodbye()
        program, self._program = self._program, None
        if program is not None:
            program.close(then=self._transport.close)
        else:
            self._transport.close()
