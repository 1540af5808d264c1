# SPDX-License-Identifier: GPL-2.0-or-later
"""What an end owes when nothing else happens: acknowledgements of whole CONTROLs, RESEND, OK, KEEPALIVE, the end of a
repetition. Where the capture was made at that end the absence is a violation, elsewhere suspected at most."""

from __future__ import annotations

from pathlib import Path

import pytest

from dissector.tests.forge import DONE, KEEPALIVE, QUIT, QUITACK, Trace, go, ok, packet, resend, text_field
from dissector.tests.reader import Reader

S = 1_000_000_000
AT_SENDER, AT_RECEIVER = ("-o", "netblt.capture_points:sender"), ("-o", "netblt.capture_points:receiver")


def begun() -> Trace:
    """GOs for three buffers, which the sender acknowledges."""
    trace = Trace()
    trace.open()
    trace.response()
    trace.control(go(1, 0), go(2, 1), go(3, 2))
    trace.null_ack(3)
    return trace


def found(reader: Reader, capture: Path, trace: Trace, requirement: str, *options: str) -> set[str]:
    """The verdicts on this rule."""
    findings = reader.findings(trace.save(capture), *options)
    return {finding.verdict for finding in findings if finding.requirement == requirement}


def keepalives(trace: Trace, count: int, every_s: int, *, by_sender: bool) -> None:
    for _ in range(count):
        trace.time_ns += every_s * S
        trace.header_only(KEEPALIVE, by_sender)


# ---- the receiver ----


@pytest.mark.parametrize("gone", [False, True])
def test_a_receiver_that_received_nothing_for_its_death_timer_owes_no_repetition(
    reader: Reader, capture: Path, gone: bool
) -> None:
    """TIMER-01: the sender sends nothing, for less or for more than the 30 s after which the receiver gives up."""
    trace = begun()
    trace.buffer(0, 3)
    for _ in range(5 if gone else 1):
        trace.time_ns += 2 * S
        trace.control(ok(4, 0))
    trace.time_ns += 22 * S
    keepalives(trace, 3, 1, by_sender=True)
    assert found(reader, capture, trace, "TIMER-01", *AT_RECEIVER) == (set() if gone else {"violation"})


def test_a_death_timer_may_expire_a_tick_early(reader: Reader, capture: Path) -> None:
    """TIMER-01: the sender's next packet comes just before the 30 s are over by the clock of the capture."""
    trace = begun()
    trace.buffer(0, 3)
    trace.time_ns += 10 * S
    trace.control(ok(4, 0))
    trace.time_ns += 19_980_000_000
    keepalives(trace, 1, 0, by_sender=True)
    keepalives(trace, 3, 7, by_sender=True)
    assert "violation" not in found(reader, capture, trace, "TIMER-01", *AT_RECEIVER)


@pytest.mark.parametrize("backed_off", [False, True])
def test_new_messages_do_not_restart_a_timer_that_has_backed_off(
    reader: Reader, capture: Path, backed_off: bool
) -> None:
    """TIMER-03: the OKs publish 100 ms."""
    trace = begun()
    trace.buffer(0, 3)
    trace.control(ok(4, 0))
    if not backed_off:
        trace.null_ack(4)
    for pause_ms in (100, 200, 400, 800) if backed_off else ():
        trace.time_ns += pause_ms * 1_000_000
        trace.control(ok(4, 0))
    oldest = [ok(4, 0)] if backed_off else []
    trace.control(*oldest, resend(5, 1, [0]))
    trace.time_ns += 6 * S
    trace.control(*oldest, resend(5, 1, [0]))
    verdicts = found(reader, capture, trace, "TIMER-03", *AT_RECEIVER)
    assert verdicts == (set() if backed_off else {"violation"})


STORIES = {
    "incomplete": ("TIMER-07", {"violation"}),
    "complete": ("CTRL-14", {"violation"}),
    "requested before": ("RESEND-04", {"suspected"}),
}


@pytest.mark.parametrize("story", STORIES)
def test_a_buffer_that_is_neither_confirmed_nor_requested_is_reported(
    reader: Reader, capture: Path, story: str
) -> None:
    """No data timer takes 60 s. After a RESEND it may have any length (AMB-45)."""
    requirement, at_receiver = STORIES[story]
    trace = begun()
    trace.buffer(0, 3, skip=[] if story == "complete" else [1])
    if story == "requested before":
        trace.control(resend(4, 0, [1]))
        trace.null_ack(4)
    for _ in range(8):
        keepalives(trace, 1, 4, by_sender=True)
        keepalives(trace, 1, 4, by_sender=False)
    assert found(reader, capture, trace, requirement, *AT_RECEIVER) == at_receiver
    assert found(reader, capture, trace, requirement) == {"suspected"}


def test_while_data_come_no_data_timer_expires(reader: Reader, capture: Path) -> None:
    trace = begun()
    trace.buffer(0, 3, skip=[1])
    for number in range(8):
        keepalives(trace, 1, 4, by_sender=False)
        keepalives(trace, 1, 4, by_sender=False)
        trace.data(1, number % 3, 3)
    assert not found(reader, capture, trace, "TIMER-07", *AT_RECEIVER)


# ---- the sender ----


@pytest.mark.parametrize("together", [True, False])
def test_messages_of_one_control_are_acknowledged_together(reader: Reader, capture: Path, together: bool) -> None:
    """CTRL-12: message 1 is acknowledged, and 5 s later message 2. Where one CONTROL holds message 1 only, the sender
    may have received this one."""
    trace = Trace()
    trace.open()
    trace.response()
    if not together:
        trace.control(go(1, 0))
    trace.control(go(1, 0), go(2, 1), go(3, 2))
    trace.null_ack(1)
    trace.time_ns += 5 * S
    trace.control(go(2, 1), go(3, 2))
    trace.null_ack(2)
    for _ in range(12):
        trace.header_only(KEEPALIVE, False)
    expected = {"suspected", "violation"} if together else set()
    assert found(reader, capture, trace, "CTRL-12", *AT_SENDER) == expected
    assert found(reader, capture, trace, "CTRL-12") == expected - {"violation"}


@pytest.mark.parametrize("before", [True, False])
def test_data_that_do_not_acknowledge_their_own_go_are_a_violation(reader: Reader, capture: Path, before: bool) -> None:
    """CTRL-06: the GO is the next message, so nothing below it can be missing. Data that were captured before it may
    have been sent without it (DATA-01)."""
    trace = Trace()
    trace.open()
    trace.response()
    if before:
        trace.control(go(1, 0))
        trace.buffer(0, 0)
    else:
        trace.buffer(0, 0, packets=2)
        trace.control(go(1, 0))
        trace.data(0, 2, 0)
        trace.data(0, 3, 0)
    verdicts = found(reader, capture, trace, "CTRL-06")
    assert verdicts == ({"violation"} if before else {"suspected"})


# ---- both ----


def test_a_silence_beyond_the_death_timer_of_the_peer_is_a_violation_at_its_own_end(
    reader: Reader, capture: Path
) -> None:
    """TIMER-11: the receiver declared 30 s."""
    trace = begun()
    for _ in range(8):
        keepalives(trace, 1, 4, by_sender=False)
    trace.header_only(KEEPALIVE, True)
    assert "violation" in found(reader, capture, trace, "TIMER-11", *AT_SENDER)
    assert found(reader, capture, trace, "TIMER-11") == {"suspected"}


def test_before_the_response_no_end_owes_anything(reader: Reader, capture: Path) -> None:
    """TIMER-11: the passive end takes 40 s to accept, and declares 30 s."""
    trace = Trace()
    trace.open()
    trace.time_ns += 40 * S
    trace.response()
    trace.control(go(1, 0))
    trace.null_ack(1)
    assert not found(reader, capture, trace, "TIMER-11", *AT_SENDER)
    assert not found(reader, capture, trace, "TIMER-11")


@pytest.mark.parametrize("answered", [True, False])
def test_a_quit_that_goes_on_after_its_quitacks_is_suspected(reader: Reader, capture: Path, answered: bool) -> None:
    """QUIT-02: three QUITACKs are not lost in a row."""
    trace = begun()
    raw = packet(QUIT, text_field(b"enough"), trace.sender.port, trace.receiver.port)
    for _ in range(4):
        trace.time_ns += S
        trace.put(raw, trace.sender, trace.receiver)
        if answered:
            trace.header_only(QUITACK, False)
    assert found(reader, capture, trace, "QUIT-02") == ({"suspected"} if answered else set())


@pytest.mark.parametrize("every_s", [8, 1])
def test_a_sender_that_lives_on_after_the_done_is_suspected(reader: Reader, capture: Path, every_s: int) -> None:
    """CLOSE-06: three KEEPALIVEs come 10 s after the DONE or later, or before that."""
    trace = Trace()
    trace.open()
    trace.response()
    trace.control(go(1, 0))
    trace.buffer(0, 1, last=True)
    trace.control(ok(2, 0))
    trace.null_ack(2)
    trace.header_only(DONE, False)
    keepalives(trace, 5, every_s, by_sender=True)
    assert found(reader, capture, trace, "CLOSE-06") == ({"suspected"} if every_s == 8 else set())
