# SPDX-License-Identifier: GPL-2.0-or-later
"""Buffer numbers of 32 bits that increase, by whatever step (DATA-06, AMB-47; RFC 998 8)."""

from __future__ import annotations

from pathlib import Path

import pytest

from dissector.tests.forge import DONE, Trace, go, ok, resend
from dissector.tests.reader import Finding, Reader

FAR = 2**31 + 70_001  # more than half of all numbers above 0


def transfer(numbers: list[int]) -> Trace:
    """A transfer that violates nothing: all GOs at once, then the buffers, one OK after the other, and DONE."""
    trace = Trace()
    count = len(numbers)
    trace.open()
    trace.response()
    trace.control(*(go(1 + index, number) for index, number in enumerate(numbers)))
    for index, number in enumerate(numbers):
        trace.buffer(number, count + index, last=number == numbers[-1])
        trace.control(ok(1 + count + index, number))
    trace.null_ack(2 * count)
    trace.header_only(DONE, by_sender=False)
    return trace


def with_numbers_left_out() -> Trace:
    """Buffers 0 and 4 are done, and 5 has its GO."""
    trace = Trace()
    trace.open()
    trace.response()
    trace.control(go(1, 0), go(2, 4), go(3, 5))
    for number in (0, 4):
        trace.buffer(number, 3)
    trace.control(ok(4, 0), ok(5, 4))
    trace.null_ack(5)
    return trace


def violations(reader: Reader, path: Path) -> list[Finding]:
    return [finding for finding in reader.findings(path) if finding.verdict == "violation"]


def text_of(reader: Reader, path: Path, frame: int) -> str:
    return " ".join(reader.sharkd(path, [frame]).values())


@pytest.mark.parametrize(
    "numbers",
    [[0, FAR], [0, FAR, FAR + 1], [5, 6, 2**32 - 1], [2**32 - 2, 2**32 - 1, 0, 1], [2**31 - 1, 2**31, 2**31 + 1]],
    ids=["far step", "far step, then one", "up to the highest", "around the end", "across the half"],
)
def test_buffer_numbers_that_increase_violate_nothing(reader: Reader, capture: Path, numbers: list[int]) -> None:
    assert violations(reader, transfer(numbers).save(capture)) == []


@pytest.mark.parametrize("second", [5, 2**31 + 5], ids=["near", "far"])
def test_a_buffer_number_that_falls_is_a_violation(reader: Reader, capture: Path, second: int) -> None:
    found = violations(reader, transfer([second + 2, second]).save(capture))
    assert [(finding.requirement, finding.frame) for finding in found if finding.requirement != "DATA-09"] == [
        ("DATA-06", 3)
    ]


def test_what_is_wrong_after_a_far_step_is_found(reader: Reader, capture: Path) -> None:
    """DONE though the buffer has no OK, and then a GO and a RESEND of what has its OK."""
    trace = Trace()
    trace.open()
    trace.response()
    trace.control(go(1, 0), go(2, FAR))
    trace.buffer(0, 2)
    trace.control(ok(3, 0))
    trace.buffer(FAR, 3, last=True)
    again = trace.control(go(4, 0), resend(5, 0, [1]))
    trace.null_ack(5)
    done = trace.header_only(DONE, by_sender=False)
    found = {(finding.requirement, finding.frame) for finding in violations(reader, trace.save(capture))}
    assert {("CTRL-13", again), ("TIMER-08", again), ("CLOSE-01", done)} <= found
    assert "another GO for buffer 0, as message 4" in text_of(reader, capture, again)


@pytest.mark.parametrize("skipped", [1, 3])
def test_another_go_is_stated_only_where_one_was_captured(reader: Reader, capture: Path, skipped: int) -> None:
    """A GO for a number between those that are done is the first one for it, and its number falls."""
    trace = with_numbers_left_out()
    fell = trace.control(go(6, skipped))
    found = violations(reader, trace.save(capture))
    assert [(finding.requirement, finding.frame) for finding in found] == [("DATA-06", fell)]
    assert f"GO for buffer {skipped} follows GO for buffer 5" in text_of(reader, capture, fell)


@pytest.mark.parametrize(
    ("message", "requirement", "words"),
    [
        (ok(6, 3), "CTRL-14", "OK for buffer 3, of which 0 packets were emitted and no LDATA"),
        (resend(6, 3, [0]), "TIMER-04", "RESEND for buffer 3, which has no GO"),
    ],
    ids=["OK", "RESEND"],
)
def test_a_message_for_a_number_that_was_left_out_is_no_second_one(
    reader: Reader, capture: Path, message: bytes, requirement: str, words: str
) -> None:
    trace = with_numbers_left_out()
    trace.control(message)
    for _ in range(12):  # time enough for what may have been delayed
        trace.null_ack(6)
    (found,) = violations(reader, trace.save(capture))
    assert found.requirement == requirement
    assert words in text_of(reader, capture, found.frame)
