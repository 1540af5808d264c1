# SPDX-License-Identifier: GPL-2.0-or-later
"""Control messages whose numbers are far from all others. RFC 998 5.2.1: a number is one more than that before."""

from __future__ import annotations

from pathlib import Path

import pytest

from dissector.tests.forge import Trace, go, ok, resend
from dissector.tests.reader import Finding, Reader

RECEIVER = "10.0.0.2 receiver"
FAR = [1_025, 5_000, 32_767, 32_768, 32_769, 40_000, 60_000]  # from the number that is due


def opened() -> Trace:
    """Four GOs (messages 1 to 4) and the data of two buffers."""
    trace = Trace()
    trace.open()
    trace.response()
    trace.control(*(go(1 + number, number) for number in range(4)))
    trace.buffer(0, 4)
    trace.buffer(1, 4, skip=(1,))
    return trace


def repeated(trace: Trace, *messages: bytes) -> tuple[int, int]:
    """The frames of the first CONTROL and of the last one; the sender goes on and acknowledges nothing new."""
    wrong = trace.control(*messages)
    trace.buffer(2, 4)
    for _ in range(4):
        proof = trace.control(*messages)
        trace.null_ack(4)
    return wrong, proof


@pytest.mark.parametrize("ahead", FAR)
@pytest.mark.parametrize("kind", ["resend", "ok", "go"])
def test_a_number_far_ahead_is_a_number_left_out_and_nothing_else(
    reader: Reader, capture: Path, ahead: int, kind: str
) -> None:
    """5.2.1: it increases by one for each message. No message 32,768 before the first can be meant."""
    trace = opened()
    messages = {"resend": resend(5 + ahead, 1, [1]), "ok": ok(5 + ahead, 0), "go": go(5 + ahead, 4)}
    wrong, proof = repeated(trace, messages[kind])
    found = reader.findings(trace.save(capture))
    assert found == [Finding(wrong, "CTRL-01", "suspected", RECEIVER), Finding(proof, "CTRL-01", "violation", RECEIVER)]
    row = reader.rows(capture, "netblt.analysis.offending_frame")[proof - 1]
    assert row["netblt.analysis.offending_frame"] == [str(wrong)]


def test_a_number_before_the_first_one_captured_is_an_old_one(reader: Reader, capture: Path) -> None:
    """A capture that begins in the middle, right after the numbers wrapped: 65535 was used a moment ago."""
    trace = Trace()
    trace.null_ack(2)
    trace.control(go(3, 900))
    trace.control(ok(65_535, 890), go(0, 898), go(1, 899))
    for _ in range(8):
        trace.buffer(900, 3)
        trace.control(go(3, 900), ok(4, 899))
    assert [found for found in reader.findings(trace.save(capture)) if found.requirement == "CTRL-01"] == []
