# SPDX-License-Identifier: GPL-2.0-or-later
"""When a packet came: two clocks are read for it, and the processor may be lost between the readings."""

from __future__ import annotations

import os
import socket
import time

import pytest
from netblt_conformance.links import stamps

APART_NS = 1_000_000_000  # of the two clocks in these tests
READING_NS = 50


class Clocks:
    """Both clocks, with so many nanoseconds lost between the readings of the first pairs."""

    def __init__(self, lost_ns: list[int]) -> None:
        self._now_ns = 5
        self._lost_ns = lost_ns

    def monotonic_ns(self) -> int:
        self._now_ns += READING_NS
        return self._now_ns

    def time_ns(self) -> int:
        self._now_ns += READING_NS + (self._lost_ns.pop(0) if self._lost_ns else 0)
        return self._now_ns + APART_NS


@pytest.mark.parametrize("lost_ns", [[], [2_000_000], [2_000_000, 40_000_000, 7_000_000]])
def test_losing_the_processor_between_two_clocks_moves_no_packet(
    lost_ns: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    clocks = Clocks(lost_ns)
    monkeypatch.setattr(time, "monotonic_ns", clocks.monotonic_ns)
    monkeypatch.setattr(time, "time_ns", clocks.time_ns)
    now_ns, now_real_ns = stamps.both_clocks_ns()
    assert now_real_ns - now_ns - APART_NS <= 2 * READING_NS


def test_a_machine_that_is_never_quiet_gives_the_closest_pair(monkeypatch: pytest.MonkeyPatch) -> None:
    clocks = Clocks([5_000_000, 3_000_000, 30_000, *[4_000_000] * 100])
    monkeypatch.setattr(time, "monotonic_ns", clocks.monotonic_ns)
    monkeypatch.setattr(time, "time_ns", clocks.time_ns)
    now_ns, now_real_ns = stamps.both_clocks_ns()
    assert now_real_ns - now_ns - APART_NS <= 30_000 + 2 * READING_NS


@pytest.mark.parametrize("full", [False, True])
def test_packets_that_found_no_room_in_a_socket_are_counted(*, full: bool) -> None:
    with (
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as own,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as peer,
    ):
        own.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        own.bind(("127.0.0.1", 0))
        for _ in range(64 if full else 1):
            peer.sendto(bytes(1024), own.getsockname())
        assert (stamps.dropped_packets(os.getpid()) > 0) == full


def test_a_process_that_has_ended_has_dropped_nothing() -> None:
    assert stamps.dropped_packets(2**22 + 1) == 0
