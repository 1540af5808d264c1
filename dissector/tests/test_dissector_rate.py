# SPDX-License-Identifier: GPL-2.0-or-later
"""RATE-01, 02, 03: a capture at the sender shows its pace. Anything else is only noted: queues compress bursts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from dissector.tests.forge import Trace, go, ok, resend
from dissector.tests.reader import Reader

AT_SENDER = ("-o", "netblt.capture_position:sender")
MS = 1_000_000
BURST, INTERVAL_NS = 8, 10 * MS  # what the forger's OPEN proposes


def start(buffers: int = 20) -> Trace:
    trace = Trace(gap_ns=10_000)
    trace.open()
    trace.response()
    trace.control(*(go(1 + number, number) for number in range(buffers)))
    return trace


def send(trace: Trace, bursts: int, burst: int, interval_ns: int) -> None:
    """So many packets, one buffer of four after the other, at this pace."""
    number = 0
    for _ in range(bursts):
        began = trace.time_ns
        for _ in range(burst):
            trace.data(number // 4, number % 4, 20, ldata=number % 4 == 3)
            number += 1
        trace.time_ns = began + interval_ns


def rates(reader: Reader, path: Path, *options: str) -> set[tuple[str, str, str]]:
    return {
        (found.requirement, found.verdict, found.offender)
        for found in reader.findings(path, *options)
        if found.requirement.startswith("RATE")
    }


@pytest.mark.parametrize(
    ("bursts", "burst", "interval_ns", "requirement"),
    [(6, 12, INTERVAL_NS, "RATE-01"), (8, BURST, INTERVAL_NS // 3, "RATE-02"), (2, 40, INTERVAL_NS, "RATE-01")],
    ids=["bursts-too-large", "bursts-too-close", "everything-at-once"],
)
def test_a_sender_that_is_too_fast_breaks_the_rule(
    reader: Reader, capture: Path, bursts: int, burst: int, interval_ns: int, requirement: str
) -> None:
    trace = start()
    send(trace, bursts, burst, interval_ns)
    path = trace.save(capture)
    assert rates(reader, path, *AT_SENDER) == {(requirement, "violation", "10.0.0.1 sender")}
    assert rates(reader, path) == set()
    assert any(row["netblt.analysis.rate_exceeded"] for row in reader.rows(path, "netblt.analysis.rate_exceeded"))


def test_the_agreed_pace_is_kept(reader: Reader, capture: Path) -> None:
    trace = start()
    send(trace, 10, BURST, INTERVAL_NS)
    assert rates(reader, trace.save(capture), *AT_SENDER) == set()


def test_an_offer_may_loosen_the_pace(reader: Reader, capture: Path) -> None:
    trace = start()
    trace.control(ok(21, 0, 40, 10))
    send(trace, 2, 40, INTERVAL_NS)
    assert rates(reader, trace.save(capture), *AT_SENDER) == set()


@pytest.mark.parametrize("obeyed", [True, False])
def test_an_offer_that_each_ok_repeats_is_kept_over_all_buffers(reader: Reader, capture: Path, obeyed: bool) -> None:
    """RATE-05: no single buffer of four packets exceeds two bursts of four every 40 ms."""
    trace = Trace(gap_ns=10_000)
    trace.open()
    trace.response()
    trace.control(go(1, 0))
    trace.buffer(0, 1)
    for number in range(1, 12):
        trace.control(ok(2 * number, number - 1, 4, 40))
        trace.null_ack(2 * number)
        trace.control(go(2 * number + 1, number))
        trace.time_ns += (40 if obeyed else 10) * MS
        trace.buffer(number, 2 * number + 1)
    found = rates(reader, trace.save(capture), *AT_SENDER)
    assert found == (set() if obeyed else {("RATE-05", "violation", "10.0.0.1 sender")})


def test_repairs_are_paced_too(reader: Reader, capture: Path) -> None:
    trace = start()
    send(trace, 5, BURST, INTERVAL_NS)
    trace.time_ns += 100 * MS
    trace.control(*(resend(21 + number, number, range(4)) for number in range(10)))
    for number in range(40):
        trace.data(number // 4, number % 4, 30, ldata=number % 4 == 3)
    assert rates(reader, trace.save(capture), *AT_SENDER) == {("RATE-03", "violation", "10.0.0.1 sender")}


def test_a_clock_that_is_set_back_shows_no_pace(reader: Reader, capture: Path) -> None:
    trace = start()
    for _ in range(5):
        send(trace, 2, BURST, 0)
        trace.time_ns -= 40 * MS
    assert rates(reader, trace.save(capture), *AT_SENDER) == set()


def test_packets_that_the_capture_saw_twice_count_once(reader: Reader, capture: Path) -> None:
    """Over IPv6 no identification shows a copy; the same packet and acknowledgement right after itself does."""
    trace = Trace(gap_ns=10_000, v6=True)
    trace.open()
    trace.response()
    trace.control(*(go(1 + number, number) for number in range(20)))
    send(trace, 10, BURST, INTERVAL_NS)
    once = trace.frames
    trace.frames = [frame for frame in once for _ in range(2)]
    assert rates(reader, trace.save(capture), *AT_SENDER) == set()
    trace.frames = [replace(frame, time_ns=once[0].time_ns + (frame.time_ns - once[0].time_ns) // 4) for frame in once]
    assert {verdict for _, verdict, _ in rates(reader, trace.save(capture), *AT_SENDER)} == {"violation"}
