# SPDX-License-Identifier: GPL-2.0-or-later
"""What an end must have had at a frame: by a scripted capture, and by transfers of the reference endpoint, which keeps
the rules."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from netblt_conformance.links.base import IUT_ADDRESS, TESTER_ADDRESS
from netblt_conformance.packets.capture import Capture
from netblt_conformance.packets.packets import Forge, Kind, Message, Packet, Type
from netblt_conformance.trace import build
from netblt_conformance.trace.known import View
from netblt_conformance.trace.state import Table, state
from selftest.test_trace_network import BAD, through

TESTER, IUT = Forge(2, 1001, 1002), Forge(2, 1002, 1001)
DELAY_US = 1000
_OPENING = {
    "unique_id": 7,
    "buffer_size": 1024,
    "packet_size": 256,
    "burst_size": 4,
    "burst_interval_ms": 10,
    "max_buffers": 2,
    "death_timer_s": 30,
    "string": b"\0\0\0\0",
}


def go(seq: int, buffer: int) -> Message:
    return Message(Kind.GO, seq, buffer)


def data(buffer: int, packet: int, high_seq: int, kind: Type = Type.DATA) -> bytes:
    return TESTER.data(Packet(b"", kind, buffer=buffer, packet=packet, high_seq=high_seq, data=bytes(256)))


def ok(seq: int, buffer: int, control_timer_ms: int) -> Message:
    return Message(Kind.OK, seq, buffer, 4, 10, control_timer_ms)


# (milliseconds, by the tester, packet): the tester sends data to a passive receiver.
SCRIPT: tuple[tuple[int, bool, bytes], ...] = (
    (0, True, TESTER.opening(Type.OPEN, Packet(b"", flags=1, **_OPENING))),  # type: ignore[arg-type]
    (2, False, IUT.opening(Type.RESPONSE, Packet(b"", flags=1, **_OPENING))),  # type: ignore[arg-type]
    (2, False, IUT.control([go(1, 0), go(2, 1)])),
    (3, True, data(0, 0, 2)),
    (3, True, data(0, 1, 2)),
    (3, True, data(0, 2, 2)),
    (3, True, data(0, 3, 2, Type.LDATA)),
    (5, False, IUT.control([ok(3, 0, 70), go(4, 2)])),
    (6, True, data(1, 0, 2)),
    (6, True, data(1, 3, 2, Type.LDATA)),
    (90, False, IUT.control([ok(3, 0, 70), go(4, 2)])),
    (100, False, IUT.control([ok(3, 0, 70), go(4, 2), Message(Kind.RESEND, 5, 1, packets=(1, 2))])),
    (101, True, TESTER.null_ack(3, 4, 10)),
    (170, False, IUT.control([go(4, 2), Message(Kind.RESEND, 5, 1, packets=(1, 2))])),
)


def capture_of(script: Sequence[tuple[int, bool, bytes]], path: Path) -> Path:
    capture = Capture()
    for time_ms, sent, packet in script:
        ends = (TESTER_ADDRESS, IUT_ADDRESS) if sent else (IUT_ADDRESS, TESTER_ADDRESS)
        capture.add(time_ms * 1000, packet, *ends, sent=sent)
    capture.write(path)
    return path


def tables(path: Path, frame: int, end: int) -> dict[str, dict[str, str]]:
    trace = build.build(build.read(path), frame, delay_ns=DELAY_US * 1000)
    assert trace.accused == 1
    at = next(number for number, event in enumerate(trace.events) if event.frame == frame)
    found: list[Table] = state(trace, end, at)
    return {table["title"].partition(" (")[0]: dict(table["rows"]) for table in found}


def test_the_queue_buffers_and_timers_of_a_receiver(tmp_path: Path) -> None:
    found = tables(capture_of(SCRIPT, tmp_path / "a.pcapng"), 14, 1)
    assert found["Control messages sent, not acknowledged"] == {
        "GO 2#4": "sent 3 times, first in frame 8 at 0.004 s, last in frame 12",
        "RESEND 1#5 (1, 2)": "sent once, first in frame 12 at 0.099 s",
        "acknowledged": "up to #3, by frame 13",
    }
    assert found["Outstanding buffers: GO without OK"] == {
        "buffer 1": (
            "GO #2 in frame 3; 2 of 4 packets received, missing: 1, 2; requested by RESEND 1#5 (1, 2) in frame 12"
        ),
        "buffer 2": "GO #4 in frame 8; 0 of 4 packets received, missing: 0, 1, 2, 3",
        "complete (OK sent)": "1, the last is buffer 0",
    }
    timers = found["Timers that must be running"]
    assert timers["control timer"] == "started by frame 12 at 0.099 s; about 70 ms, as its last OK states"
    assert timers["data timer of buffer 1"] == "does not run: #5 is not acknowledged (TIMER-04)"
    assert timers["death timer"].startswith("started again by frame 13 at 0.102 s; 30 s, as this end declared")


def test_what_was_not_acknowledged_before_is_in_the_queue(tmp_path: Path) -> None:
    found = tables(capture_of(SCRIPT, tmp_path / "a.pcapng"), 11, 1)
    queue = found["Control messages sent, not acknowledged"]
    assert list(queue) == ["OK 0#3", "GO 2#4", "acknowledged"]
    assert queue["acknowledged"] == "up to #2, by frame 4"
    timer = found["Timers that must be running"]["data timer of buffer 1"]
    assert timer == (
        "since frame 4 at 0.004 s acknowledged #2; newest data in frame 10 at 0.007 s; 4 packets take about 10 ms at "
        "the agreed pace"
    )


def test_the_state_of_a_sender(tmp_path: Path) -> None:
    found = tables(capture_of(SCRIPT, tmp_path / "a.pcapng"), 13, 0)
    assert found["Control messages received"]["received without a gap"] == "up to #5"
    assert found["Control messages received"]["last acknowledgement sent"] == "#2, in frame 10 at 0.006 s"
    assert found["Outstanding buffers: GO without OK"]["buffer 1"] == (
        "GO #2 in frame 3; 2 of 4 packets sent; requested and not sent since: 1, 2"
    )


def test_what_may_not_have_arrived_yet_is_said_to_be_open(tmp_path: Path) -> None:
    """On a real link it is not known when the tester's packets arrived."""
    path = capture_of(SCRIPT, tmp_path / "a.pcapng")
    trace = build.build(build.read(path), 8)
    found: dict[str, dict[str, str]] = {
        table["title"].partition(" (")[0]: dict(table["rows"]) for table in state(trace, 1, trace.index_of(8))
    }
    queue = found["Control messages sent, not acknowledged"]
    assert queue["GO 0#1"].endswith("; frame 4, which acknowledges it, may have arrived")
    assert queue["acknowledged"] == "at least none; at most up to #2, by frame 4"
    buffers = found["Outstanding buffers: GO without OK"]
    assert buffers["buffer 0"].endswith("0 of 4 packets received; may have been received: 0, 1, 2, 3")


def test_numbers_that_were_never_sent_are_named(tmp_path: Path) -> None:
    script = (*SCRIPT[:7], (5, False, IUT.control([ok(6, 0, 70)])))
    queue = tables(capture_of(script, tmp_path / "a.pcapng"), 8, 1)["Control messages sent, not acknowledged"]
    assert queue["#3, #4, #5"] == "never sent, though #6 is"


@pytest.mark.parametrize("seed", range(4))
def test_the_reference_endpoint_sends_what_its_state_says(built_library: Path, tmp_path: Path, seed: int) -> None:
    """Each CONTROL holds the whole queue and nothing that is acknowledged (CTRL-04, CTRL-05); each DATA and NULL-ACK
    acknowledges what was received without a gap (CTRL-06)."""
    trace, _ = through(built_library, BAD, seed, tmp_path)
    controls = acks = 0
    for number, event in enumerate(trace.events):
        if event.copy_of is not None:
            continue
        view = View(trace, event.source, number)
        if any(view.time_of(one.event) == view.moment_ns for one in view.received):
            continue  # which of them was first is not known
        if event.packet.type is Type.CONTROL:
            least, most = view.acknowledged(sure=True)[0], view.acknowledged(sure=False)[0]
            queue = {seq for seq in view.messages if seq > most}
            sent = {message.seq for message in event.packet.messages}
            assert queue <= sent, (event.frame, queue, sent)
            assert min(sent) > least
            controls += 1
        elif event.packet.acks:
            assert event.packet.high_seq == view.in_sequence(sure=True), event.frame
            acks += 1
    assert controls > 5
    assert acks > 100
