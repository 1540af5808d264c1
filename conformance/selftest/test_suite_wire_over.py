# SPDX-License-Identifier: GPL-2.0-or-later
"""When the program under test has ended and its packets have been read, the suite does not wait for more."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from netblt_conformance.adapter.adapter import Adapter
from netblt_conformance.common.model import Encapsulation
from netblt_conformance.links import wire
from netblt_conformance.links.transport import Heard, Transport
from netblt_conformance.links.wire import AFTER_END_US, WireLink
from netblt_conformance.packets.capture import Capture

S = 1_000_000
NS = 1000


class FakeClock:
    """Time that passes only during a wait."""

    def __init__(self) -> None:
        self.time_us = 0

    def now_us(self) -> int:
        return self.time_us

    def at(self, time_ns: int) -> int:
        return time_ns // NS


class FakeTransport(Transport):
    """Packets that arrive at set times."""

    encapsulation = Encapsulation.IP
    second_address = False
    can_replay = False

    def __init__(self, clock: FakeClock, arrivals: list[int]) -> None:
        self.clock = clock
        self.arrivals = arrivals

    def receive(self, timeout_s: float) -> Heard | None:
        until_us = self.clock.time_us + round(timeout_s * S)
        if self.arrivals and self.arrivals[0] <= until_us:
            self.clock.time_us = self.arrivals.pop(0)
            return Heard(self.clock.time_us * NS, bytes(20), False, b"packet", bytes(4), bytes(4))
        self.clock.time_us = until_us
        return None

    def values(self) -> dict[str, str]:
        return {}

    def listens(self, pid: int) -> bool:
        del pid
        return True

    def send(self, packet: bytes, source: bytes, identification: int) -> list[Heard]:
        raise AssertionError((packet, source, identification))

    def before_exec(self) -> None:
        pass

    def replay(self, packets: Sequence[bytes], source: bytes, loops: int) -> None:
        raise AssertionError((packets, source, loops))

    def close(self) -> None:
        pass


class FakeProgram:
    """A program that ends at a set time."""

    def __init__(self, clock: FakeClock, ends_us: int) -> None:
        self.clock = clock
        self.ends_us = ends_us

    @property
    def has_ended(self) -> bool:
        return self.clock.time_us >= self.ends_us

    def look_for_end(self) -> None:
        pass


def link_of(monkeypatch: pytest.MonkeyPatch, ends_us: int, arrivals: list[int]) -> WireLink:
    clock = FakeClock()
    monkeypatch.setattr(wire, "MonotonicClock", lambda: clock)
    adapter = Adapter(Path("adapter.toml"), "fake")
    link = WireLink(adapter, Capture(), FakeTransport(clock, arrivals), lambda _role: True)
    monkeypatch.setattr(link, "_program", FakeProgram(clock, ends_us))
    return link


def test_a_wait_ends_soon_after_the_program_has(monkeypatch: pytest.MonkeyPatch) -> None:
    link = link_of(monkeypatch, ends_us=2 * S, arrivals=[])
    assert link.receive(60 * S) is None
    assert link.over
    assert 2 * S + AFTER_END_US <= link.clock.now_us() < 3 * S


def test_a_wait_for_a_program_that_runs_lasts_the_whole_time(monkeypatch: pytest.MonkeyPatch) -> None:
    link = link_of(monkeypatch, ends_us=100 * S, arrivals=[])
    assert link.receive(60 * S) is None
    assert not link.over
    assert link.clock.now_us() == 60 * S


def test_what_the_program_sent_before_it_ended_is_read_first(monkeypatch: pytest.MonkeyPatch) -> None:
    link = link_of(monkeypatch, ends_us=S, arrivals=[S + 1, S + 2])
    assert link.receive(60 * S) is not None
    assert not link.over
    assert link.receive(60 * S) is not None
    assert link.receive(60 * S) is None
    assert link.over
