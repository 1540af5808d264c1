# SPDX-License-Identifier: GPL-2.0-or-later
"""CTRL-04: a CONTROL carries every unacknowledged message. True violations are found, in the right frame."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from dissector.tests.ctrl04_stories import RECEIVER, VIOLATIONS, errors, new_message_alone, start, wrapping
from dissector.tests.forge import NULL_ACK, End, Trace, go, ok, packet, stories
from dissector.tests.reader import Finding, Reader


@pytest.fixture(scope="module", autouse=True)
def _read_ahead(reader: Reader) -> None:
    reader.read_ahead([*stories(VIOLATIONS, start), *stories(VIOLATIONS, start, sender=wrapping())])
    reader.read_ahead(stories(VIOLATIONS, start), "-2")


@pytest.mark.parametrize("story", VIOLATIONS, ids=lambda story: story.__name__)
@pytest.mark.parametrize("passes", [(), ("-2",)], ids=["one-pass", "two-passes"])
def test_a_violation_in_full_view_is_an_error(
    reader: Reader, capture: Path, story: Callable[[Trace], tuple[int, int]], passes: tuple[str, ...]
) -> None:
    trace = start()
    wrong, proof = story(trace)
    found = reader.findings(trace.save(capture), *passes)
    assert errors(found) == [Finding(proof, "CTRL-04", "violation", RECEIVER)]
    assert Finding(wrong, "CTRL-04", "suspected", RECEIVER) in found
    names = (
        "netblt.analysis.offending_frame",
        "netblt.analysis.ctrl_redundancy",
        "_ws.expert.severity",
        "_ws.expert.message",
    )
    row = reader.rows(capture, *names)[proof - 1]
    assert row["netblt.analysis.offending_frame"] == [str(wrong)]
    assert row["netblt.analysis.ctrl_redundancy"]
    told = dict(zip(row["_ws.expert.message"], row["_ws.expert.severity"], strict=True))
    assert str(0x800000) in [severity for text, severity in told.items() if text.endswith("[CTRL-04]")]
    row = reader.rows(capture, *names)[wrong - 1]
    told = dict(zip(row["_ws.expert.message"], row["_ws.expert.severity"], strict=True))
    assert [severity for text, severity in told.items() if text.startswith("Suspected: CONTROL up to")] == [
        str(0x600000)
    ]
    proven = reader.rows(capture, "netblt.analysis.proof_frame", options=("-2",))
    assert proven[wrong - 1]["netblt.analysis.proof_frame"] == [str(proof)]


@pytest.mark.parametrize("story", VIOLATIONS[:-1], ids=lambda story: story.__name__)
def test_ip_ids_may_wrap(reader: Reader, capture: Path, story: Callable[[Trace], tuple[int, int]]) -> None:
    trace = start(sender=wrapping())
    story(trace)
    assert len(errors(reader.findings(trace.save(capture)))) == 1


def test_the_active_end_may_be_the_receiver(reader: Reader, capture: Path) -> None:
    """Roles are found by behaviour, not by who opened."""
    trace = Trace(sender=End("10.0.0.9", 1, 7), receiver=End("10.0.0.3", 2000, 99))
    trace.sender, trace.receiver = trace.receiver, trace.sender
    trace.open()
    trace.response()
    trace.sender, trace.receiver = trace.receiver, trace.sender
    trace.control(go(1, 0))
    trace.null_ack(0)
    trace.control(go(2, 1))
    trace.null_ack(0)
    trace.control(go(1, 0), go(2, 1))
    trace.null_ack(2)
    assert [f.offender for f in errors(reader.findings(trace.save(capture)))] == ["10.0.0.3 receiver"]


def test_a_capture_at_the_sender_needs_no_ip_ids(reader: Reader, capture: Path) -> None:
    trace = start(v6=True)
    trace.control(ok(5, 0))
    trace.control(go(6, 4))
    proof = trace.data(1, 0, 4)
    path = trace.save(capture)
    assert errors(reader.findings(path)) == []
    told = reader.findings(path, "-o", "netblt.capture_position:sender")
    assert [(f.frame, f.verdict) for f in errors(told)] == [(proof, "violation")]


def test_without_checksum_validation_nothing_is_proven(reader: Reader, capture: Path) -> None:
    trace = start()
    new_message_alone(trace)
    assert errors(reader.findings(trace.save(capture), "-o", "netblt.check_checksum:FALSE")) == []


def test_a_duplicate_of_the_offending_control_is_not_reported_again(reader: Reader, capture: Path) -> None:
    trace = start()
    trace.control(ok(5, 0))
    wrong = trace.control(go(6, 4))
    trace.control(go(6, 4), ip_id=trace.receiver.ip_id)
    assert [finding.frame for finding in reader.findings(trace.save(capture))] == [wrong]


def test_the_forger_makes_what_it_says() -> None:
    trace = start()
    number = trace.null_ack(4)
    assert trace.frames[number - 1].data[20:] == packet(NULL_ACK, bytes((0, 4, 0, 8, 0, 10, 0, 0)), 1000, 1)
