# SPDX-License-Identifier: GPL-2.0-or-later
"""ORDER-02: retransmissions go before later buffers. True violations are found, legal look-alikes are not."""

from __future__ import annotations

import resource
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dissector.tests.forge import DONE, End, Trace, go, ok, resend, stories
from dissector.tests.reader import Finding, Reader

SENDER = "10.0.0.1 sender"


def start(*, skip: tuple[int, ...] = (), **options: Any) -> Trace:
    """Four buffers GO'd (messages 1 to 4), two sent; next is message 5. `skip`: packets of buffer 0 lost upstream."""
    trace = Trace(**options)
    trace.open()
    trace.response()
    trace.control(*(go(1 + number, number) for number in range(4)))
    trace.buffer(0, 4, skip=skip)
    trace.buffer(1, 4)
    return trace


def progress_before_repair(trace: Trace) -> tuple[int, int]:
    trace.control(resend(5, 0, [1]))
    wrong = trace.data(2, 0, 5)
    return wrong, trace.data(0, 1, 5)


def repair_interrupted(trace: Trace) -> tuple[int, int]:
    trace.control(resend(5, 0, [1, 2]))
    trace.data(0, 1, 5)
    wrong = trace.data(2, 0, 5)
    return wrong, trace.data(0, 2, 5)


def repair_of_the_later_buffer_first(trace: Trace) -> tuple[int, int]:
    trace.control(resend(5, 0, [3]), resend(6, 1, [0]))
    wrong = trace.data(1, 0, 6)
    return wrong, trace.data(0, 3, 6, ldata=True)


def known_by_a_cumulative_acknowledgement(trace: Trace) -> tuple[int, int]:
    trace.control(resend(5, 0, [1]))
    trace.control(resend(5, 0, [1]), ok(6, 1))
    wrong = trace.data(2, 0, 6)
    trace.data(2, 1, 6)
    return wrong, trace.data(0, 1, 6)


def again_after_a_newer_resend(trace: Trace) -> tuple[int, int]:
    trace.control(resend(5, 0, [1]))
    trace.data(0, 1, 5)
    trace.data(2, 0, 5)
    trace.control(resend(6, 0, [1]))
    wrong = trace.data(2, 1, 6)
    return wrong, trace.data(0, 1, 6)


def reordered_but_numbered(trace: Trace) -> tuple[int, int]:
    """The network delivers an uninvolved pair in the wrong order; IP IDs still show which came first."""
    early, late = trace.sender.next_id(), trace.sender.next_id()
    trace.data(2, 1, 4, ip_id=late)
    trace.data(2, 0, 4, ip_id=early)
    trace.control(resend(5, 0, [1]))
    wrong = trace.data(2, 2, 5)
    return wrong, trace.data(0, 1, 5)


VIOLATIONS = [
    progress_before_repair,
    repair_interrupted,
    repair_of_the_later_buffer_first,
    known_by_a_cumulative_acknowledgement,
    again_after_a_newer_resend,
    reordered_but_numbered,
]


def errors(found: list[Finding]) -> list[Finding]:
    """Of the rule that this file is about: its stories take liberties with others."""
    return [finding for finding in found if finding.verdict == "violation" and finding.requirement == "ORDER-02"]


@pytest.mark.parametrize("story", VIOLATIONS, ids=lambda story: story.__name__)
@pytest.mark.parametrize("passes", [(), ("-2",)], ids=["one-pass", "two-passes"])
@pytest.mark.parametrize("upstream_loss", [False, True], ids=["at-the-sender", "at-the-receiver"])
def test_an_inversion_in_full_view_is_an_error(
    reader: Reader,
    capture: Path,
    story: Callable[[Trace], tuple[int, int]],
    passes: tuple[str, ...],
    upstream_loss: bool,
) -> None:
    trace = start(skip=(1,) if upstream_loss else ())
    wrong, proof = story(trace)
    assert errors(reader.findings(trace.save(capture), *passes)) == [Finding(proof, "ORDER-02", "violation", SENDER)]
    names = (
        "netblt.analysis.offending_frame",
        "netblt.analysis.buffer_order",
        "_ws.expert.severity",
        "_ws.expert.message",
    )
    row = reader.rows(capture, *names)[proof - 1]
    assert row["netblt.analysis.offending_frame"] == [str(wrong)]
    assert row["netblt.analysis.buffer_order"]
    assert row["_ws.expert.severity"][0] == str(0x800000)
    assert row["_ws.expert.message"][0].endswith("[ORDER-02]")


def test_numbers_may_wrap(reader: Reader, capture: Path) -> None:
    trace = start(sender=End("10.0.0.1", 1000, 65533))
    progress_before_repair(trace)
    assert len(errors(reader.findings(trace.save(capture)))) == 1


def test_a_capture_at_the_sender_needs_no_ip_ids(reader: Reader, capture: Path) -> None:
    trace = start(v6=True)
    progress_before_repair(trace)
    path = trace.save(capture)
    assert [f.verdict for f in reader.findings(path)] == ["suspected"]
    assert [f.verdict for f in reader.findings(path, "-o", "netblt.capture_position:sender")] == ["violation"]


def repair_in_time(trace: Trace) -> None:
    trace.control(resend(5, 0, [1, 2]))
    trace.data(2, 0, 4)
    trace.data(0, 1, 5)
    trace.data(0, 2, 5)
    trace.data(2, 1, 5)


def resend_not_known_yet(trace: Trace) -> None:
    trace.control(resend(5, 0, [1]))
    trace.buffer(2, 4)
    trace.data(0, 1, 5)


def answer_to_a_newer_resend(trace: Trace) -> None:
    trace.control(resend(5, 0, [1]))
    trace.sender.next_id()  # the retransmission, lost upstream
    trace.data(2, 0, 5)
    trace.control(resend(6, 0, [1]))
    trace.data(0, 1, 6)


def reordered_by_the_network(trace: Trace) -> None:
    trace.control(resend(5, 0, [1]))
    repair = trace.sender.next_id()
    trace.data(2, 0, 5)
    trace.data(0, 1, 5, ip_id=repair)


def network_duplicate_of_the_repair(trace: Trace) -> None:
    trace.control(resend(5, 0, [1]))
    trace.data(0, 1, 5)
    repair = trace.sender.ip_id
    trace.data(2, 0, 5)
    trace.data(0, 1, 5, ip_id=repair)


def duplicate_of_a_repair_that_the_capture_missed(trace: Trace) -> None:
    trace.control(resend(5, 0, [1]))
    repair = trace.sender.next_id()
    trace.data(2, 0, 5)
    trace.data(2, 1, 5)
    trace.data(0, 1, 5, ip_id=repair)


def first_transmission_of_the_earlier_buffer(trace: Trace) -> None:
    """Buffer 2 was not sent yet when its RESEND came (AMB-35): what follows is no repair."""
    trace.control(resend(5, 2, [0, 1, 2, 3]))
    trace.data(3, 0, 5)
    trace.buffer(2, 5)


def numbers_above_the_highest_seen(trace: Trace) -> None:
    """The LDATA of buffer 2 is not out yet, the request covers the whole possible buffer (AMB-32)."""
    trace.data(2, 0, 4)
    trace.data(2, 1, 4)
    trace.control(resend(5, 2, [2, 3, 4, 5]))
    trace.data(3, 0, 5)
    trace.data(2, 2, 5)
    trace.data(2, 3, 5, ldata=True)


def complete_after_all(trace: Trace) -> None:
    """The missing packet was only late; RESEND and OK reach the sender together."""
    trace.control(resend(5, 0, [1]))
    trace.control(resend(5, 0, [1]), ok(6, 0))
    trace.data(2, 0, 6)
    trace.data(0, 1, 6)


def corrupted_resend(trace: Trace) -> None:
    trace.control(resend(5, 0, [1]), corrupt=True)
    trace.control(go(5, 4))
    trace.data(2, 0, 5)
    trace.data(0, 1, 5)


def corrupted_packet_of_a_later_buffer(trace: Trace) -> None:
    trace.control(resend(5, 0, [1]))
    trace.data(2, 0, 5, corrupt=True)
    trace.data(0, 1, 5)


def capture_starts_in_the_middle(trace: Trace) -> None:
    progress_before_repair(trace)
    del trace.frames[:4]


def open_not_captured(trace: Trace) -> None:
    progress_before_repair(trace)
    del trace.frames[0]


def the_newer_resend_was_not_captured(trace: Trace) -> None:
    """The retransmission was lost, requested again with message 6, which only the sender's acknowledgement shows."""
    trace.control(resend(5, 0, [1]))
    trace.sender.next_id()
    trace.data(2, 0, 5)
    trace.receiver.next_id()
    trace.data(0, 1, 6)


def the_part_with_the_newer_resend_was_not_captured(trace: Trace) -> None:
    """Each message has a CONTROL of its own. The sender acts on the one with the newer RESEND, which the capture
    missed, though it cannot acknowledge it: the one before it was lost."""
    trace.control(go(5, 4))
    trace.control(go(6, 5))
    trace.null_ack(6)
    trace.control(resend(7, 0, [1, 2]))
    trace.data(0, 1, 7)
    trace.sender.next_id()  # packet 2, lost
    trace.data(2, 0, 7)
    trace.receiver.next_id()  # message 8
    trace.receiver.next_id()  # message 9: RESEND 0 {2}
    trace.data(0, 2, 7)


def random_ids(trace: Trace) -> None:
    for frame, ip_id in zip(trace.frames, (9, 800, 42000, 13, 60001, 33333, 5, 21000, 47000, 1, 39000), strict=True):
        frame.data = frame.data[:4] + ip_id.to_bytes(2, "big") + frame.data[6:]
    trace.control(resend(5, 0, [1]), ip_id=11)
    trace.data(2, 0, 5, ip_id=100)
    trace.data(0, 1, 5, ip_id=101)


def constant_ids(trace: Trace) -> None:
    for frame in trace.frames:
        frame.data = frame.data[:4] + b"\0\7" + frame.data[6:]
    trace.control(resend(5, 0, [1]), ip_id=7)
    trace.data(2, 0, 5, ip_id=7)
    trace.data(0, 1, 5, ip_id=7)


def descending_ids(trace: Trace) -> None:
    for place, frame in enumerate(trace.frames):
        frame.data = frame.data[:4] + (900 - place).to_bytes(2, "big") + frame.data[6:]
    trace.control(resend(5, 0, [1]), ip_id=880)
    trace.data(2, 0, 5, ip_id=870)
    trace.data(0, 1, 5, ip_id=869)


def two_counters(trace: Trace) -> None:
    """A host that counts on each of its processors: which packet came first is shown by neither count."""
    for place in range(6):
        trace.data(2, place, 4, ip_id=(2000 if place % 2 else 400) + place)
    trace.control(resend(5, 0, [1]))
    trace.data(2, 6, 5, ip_id=450)
    trace.data(0, 1, 5, ip_id=2050)


def renumber(trace: Trace, ids: list[int]) -> None:
    """Gives the sender's packets so far these IP IDs."""
    by_sender = [frame for frame in trace.frames if frame.data[12:16] == bytes((10, 0, 0, 1))]
    for frame, ip_id in zip(by_sender, ids, strict=True):
        frame.data = frame.data[:4] + ip_id.to_bytes(2, "big") + frame.data[6:]


def climbing_by_chance(trace: Trace) -> None:
    """Random identifications of which few were captured: they happen to climb, in leaps."""
    renumber(trace, [100, 9100, 16500, 27000, 33000, 42000, 50500, 58000, 63000])
    trace.control(resend(5, 0, [1]))
    trace.data(2, 0, 5, ip_id=5000)
    trace.data(0, 1, 5, ip_id=14000)


def falling_most_of_the_time(trace: Trace) -> None:
    renumber(trace, [500, 501, 502, 540, 538, 536, 534, 532, 530])
    trace.control(resend(5, 0, [1]))
    trace.data(2, 0, 5, ip_id=526)
    trace.data(0, 1, 5, ip_id=528)


def late_copy_that_knew_nothing(trace: Trace) -> None:
    """The order is unknown; but the copy that comes last was built before its sender knew the RESEND."""
    fresh = start(v6=True)
    fresh.control(resend(5, 0, [1]))
    fresh.data(2, 0, 5)
    fresh.data(0, 1, 4)
    trace.frames = fresh.frames


def truncated_frames(trace: Trace) -> None:
    trace.data(2, 3, 4, cut=30)
    progress_before_repair(trace)


def late_packet_of_the_connection_before(trace: Trace) -> None:
    """It knew message 5 of its own connection, not the RESEND that has this number now."""
    trace.header_only(DONE, by_sender=False)
    stray = trace.sender.next_id()
    trace.uid += 1
    again = start(uid=trace.uid, sender=trace.sender, receiver=trace.receiver, frames=trace.frames)
    again.time_ns = trace.time_ns
    again.control(resend(5, 0, [1]))
    again.data(2, 0, 5, ip_id=stray)
    again.data(0, 1, 5)


def overtaken_as_far_as_the_numbers_show(trace: Trace) -> None:
    """So many packets come late that the IP IDs prove no order. What is late by its own may be just that."""
    for buffer, number in ((2, 0), (2, 2), (3, 0)):
        early, late = trace.sender.next_id(), trace.sender.next_id()
        trace.data(buffer, number + 1, 4, ldata=number == 2, ip_id=late)
        trace.data(buffer, number, 4, ip_id=early)
    early, late = trace.sender.next_id(), trace.sender.next_id()
    trace.null_ack(4, ip_id=late)
    trace.null_ack(4, ip_id=early)
    trace.control(resend(5, 0, [1]))
    repair = trace.sender.next_id()
    trace.data(3, 2, 5)
    trace.data(0, 1, 5, ip_id=repair)


LOOK_ALIKES = [
    overtaken_as_far_as_the_numbers_show,
    late_packet_of_the_connection_before,
    repair_in_time,
    resend_not_known_yet,
    answer_to_a_newer_resend,
    reordered_by_the_network,
    network_duplicate_of_the_repair,
    duplicate_of_a_repair_that_the_capture_missed,
    first_transmission_of_the_earlier_buffer,
    numbers_above_the_highest_seen,
    complete_after_all,
    corrupted_resend,
    corrupted_packet_of_a_later_buffer,
    capture_starts_in_the_middle,
    open_not_captured,
    the_newer_resend_was_not_captured,
    the_part_with_the_newer_resend_was_not_captured,
    random_ids,
    constant_ids,
    descending_ids,
    two_counters,
    climbing_by_chance,
    falling_most_of_the_time,
    late_copy_that_knew_nothing,
    truncated_frames,
]
UNSUSPICIOUS = {
    late_copy_that_knew_nothing,
    answer_to_a_newer_resend,
    overtaken_as_far_as_the_numbers_show,
    repair_in_time,
    resend_not_known_yet,
    reordered_by_the_network,
    network_duplicate_of_the_repair,
    duplicate_of_a_repair_that_the_capture_missed,
    first_transmission_of_the_earlier_buffer,
    numbers_above_the_highest_seen,
    complete_after_all,
    corrupted_resend,
    corrupted_packet_of_a_later_buffer,
}


@pytest.fixture(scope="module", autouse=True)
def _read_ahead(reader: Reader) -> None:
    violations = [*stories(VIOLATIONS, start), *stories(VIOLATIONS, start, skip=(1,))]
    reader.read_ahead([*violations, *stories(LOOK_ALIKES, start)])
    reader.read_ahead(violations, "-2")


@pytest.mark.parametrize("story", LOOK_ALIKES, ids=lambda story: story.__name__)
def test_a_legal_look_alike_is_no_error(reader: Reader, capture: Path, story: Callable[[Trace], None]) -> None:
    trace = start()
    story(trace)
    found = reader.findings(trace.save(capture))
    assert errors(found) == []
    assert not (story in UNSUSPICIOUS and [f for f in found if f.requirement == "ORDER-02"]), found


def test_a_repair_never_seen_is_suspected_once(reader: Reader, capture: Path) -> None:
    trace = start()
    trace.control(resend(5, 0, [1, 2]))
    trace.buffer(2, 5)
    last = trace.control(ok(6, 0))
    trace.control(ok(6, 0), ok(7, 1))
    assert reader.findings(trace.save(capture)) == [Finding(last, "ORDER-02", "suspected", SENDER)]


def requested_again(*, lost: bool) -> tuple[Trace, int, int]:
    """Buffer 2 goes out instead of the retransmission, which is requested again: the frames of both."""
    trace = start()
    trace.control(resend(5, 0, [1, 2]))
    if lost:
        trace.sender.next_id()
    wrong = trace.buffer(2, 5)[0]
    return trace, wrong, trace.control(resend(6, 0, [1, 2]))


def test_a_repair_left_out_until_it_is_requested_again_is_an_error(reader: Reader, capture: Path) -> None:
    """No packet of the sender is missing, so the retransmission was not emitted before the later buffer."""
    trace, wrong, proof = requested_again(lost=False)
    found = [one for one in reader.findings(trace.save(capture)) if one.requirement == "ORDER-02"]
    assert found == [Finding(proof, "ORDER-02", "violation", SENDER)]
    row = reader.rows(capture, "netblt.analysis.offending_frame")[proof - 1]
    assert row["netblt.analysis.offending_frame"] == [str(wrong)]


@pytest.mark.parametrize("options", [(), ("-o", "netblt.capture_points:receiver")], ids=["unknown", "at-the-receiver"])
def test_a_repair_that_was_lost_before_the_capture_is_not_suspected(
    reader: Reader, capture: Path, options: tuple[str, ...]
) -> None:
    """The IP IDs show that a packet is missing right after the RESEND."""
    trace, _, _ = requested_again(lost=True)
    found = reader.findings(trace.save(capture), *options)
    assert [one for one in found if one.requirement == "ORDER-02"] == []


def test_a_repair_that_the_senders_own_capture_lacks_was_not_sent(reader: Reader, capture: Path) -> None:
    trace, _, proof = requested_again(lost=True)  # another connection of the host used the number
    found = reader.findings(trace.save(capture), "-o", "netblt.capture_points:sender")
    assert Finding(proof, "ORDER-02", "violation", SENDER) in found


@pytest.mark.parametrize(("lost", "verdict"), [(False, "violation"), (True, "suspected")])
def test_packets_counted_from_one_hide_no_violation(reader: Reader, capture: Path, lost: bool, verdict: str) -> None:
    """AMB-10. When the capture may have lost the packets 0, it proves nothing."""
    trace = Trace()
    trace.open()
    trace.response()
    trace.control(*(go(1 + number, number) for number in range(4)))
    for buffer in range(2):
        if lost:
            trace.sender.next_id()
        for number in range(1, 4):
            trace.data(buffer, number, 4, ldata=number == 3)
    trace.control(ok(5, 0))
    trace.control(ok(5, 0), resend(6, 1, [2]))
    trace.data(2, 1, 6)
    trace.data(1, 2, 6)
    found = reader.findings(trace.save(capture))
    assert [finding.verdict for finding in found if finding.requirement == "ORDER-02"] == [verdict]


@pytest.mark.parametrize(("served", "verdicts"), [(True, []), (False, ["violation"])])
def test_a_packet_that_the_sender_never_sent_is_not_missed(
    reader: Reader, capture: Path, served: bool, verdicts: list[str]
) -> None:
    """AMB-10. All that the sender emits is captured: it counts from 1, and the receiver requests packet 0."""
    trace = Trace()
    trace.open()
    trace.response()
    trace.control(*(go(1 + number, number) for number in range(3)))
    for buffer in range(2):
        for number in range(1, 4):
            trace.data(buffer, number, 3, ldata=number == 3)
    trace.control(resend(4, 0, [0, 2]))
    if served:
        trace.data(0, 2, 4)
    trace.data(2, 1, 4)
    trace.control(resend(4, 0, [0, 2]), resend(5, 0, [0, 2]))
    found = reader.findings(trace.save(capture), "-o", "netblt.capture_points:sender")
    assert [finding.verdict for finding in found if finding.requirement == "ORDER-02"] == verdicts


def test_long_lists_are_compared_in_one_walk(reader: Reader, capture: Path) -> None:
    """Each RESEND takes over what the one before it requested. Comparing each with each took 0.15 s per packet."""
    trace = Trace(packet_size=4)
    trace.open()
    trace.response()
    trace.control(go(1, 0))
    trace.data(0, 0, 1)
    trace.data(0, 30000, 1)
    for seq in range(2, 102):
        trace.control(resend(seq, 0, range(30000)))
    path = trace.save(capture)
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    reader.findings(path)
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before < 100 * 0.06  # CPU seconds
