# SPDX-License-Identifier: GPL-2.0-or-later
"""Every requirement that a capture can show something of has a rule; and what rules only see to be kept."""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Callable
from pathlib import Path

import pytest
from netblt_conformance.catalogue import catalogue

from dissector.tests import forge
from dissector.tests.forge import Trace, go, ok, resend
from dissector.tests.reader import ROOT, Reader

KNOWN = catalogue.requirements()
RULES = {identifier: one.dissector.slug for identifier, one in KNOWN.items() if one.dissector}
Story = Callable[[Trace], object]


def seen_by_a_capture() -> set[str]:
    """Requirements of the catalogue whose passive entry does not begin with no."""
    return {identifier for identifier, one in KNOWN.items() if not re.match(r"no\b|no$", one.passive or "no")}


def test_each_requirement_that_a_capture_shows_has_a_filter_of_its_own(reader: Reader) -> None:
    wanted = seen_by_a_capture()
    assert len(wanted) > 140
    assert wanted - RULES.keys() == set()
    filters = {name.removeprefix("netblt.analysis.") for name in reader.fields()}
    assert set(RULES.values()) - filters == set()
    assert len(set(RULES.values())) == len(RULES)


def test_each_filter_is_described_by_what_the_catalogue_says(reader: Reader) -> None:
    lines = [line.split("\t") for line in reader.run("tshark", "-G", "fields").stdout.splitlines()]
    shown = {line[2]: line[1] for line in lines if line[0] == "F" and line[2].startswith("netblt.analysis.")}
    rules = [(one.id, one.dissector) for one in KNOWN.values() if one.dissector]
    assert len(rules) > 150
    for identifier, rule in rules:
        assert shown[f"netblt.analysis.{rule.slug}"] == f"Violation: {rule.summary} [{identifier}]"


def begin(trace: Trace) -> Trace:
    """OPEN, RESPONSE, GO for two buffers."""
    trace.open()
    trace.response()
    trace.control(go(1, 0), go(2, 1))
    return trace


def odd_open(trace: Trace, body: bytes, answer: int = forge.RESPONSE) -> None:
    ends = (trace.sender.port, trace.receiver.port)
    trace.put(forge.packet(forge.OPEN, body, *ends), trace.sender, trace.receiver)
    if answer == forge.RESPONSE:
        trace.response()
    else:
        trace.put(forge.packet(answer, forge.text_field(b"no"), *ends[::-1]), trace.receiver, trace.sender)


def with_reserved_bits(trace: Trace) -> bytes:
    body = forge.open_body(trace.uid, **trace.terms(), client=b"forged")
    return body[:20] + struct.pack(">H", 0x8001) + body[22:]


def without_string(trace: Trace) -> bytes:
    return forge.open_body(trace.uid, **trace.terms(), client=b"")[:24]


def bears_reserved_bits(trace: Trace) -> None:
    odd_open(trace, with_reserved_bits(trace))


def refuses_reserved_bits(trace: Trace) -> None:
    odd_open(trace, with_reserved_bits(trace), forge.REFUSED)


def bears_a_missing_string(trace: Trace) -> None:
    odd_open(trace, without_string(trace))


def refuses_a_missing_string(trace: Trace) -> None:
    odd_open(trace, without_string(trace), forge.REFUSED)


def bears_a_resend_that_overruns(trace: Trace) -> None:
    begin(trace).buffer(0, 2)
    trace.control(ok(3, 0), resend(4, 1, [0], count=50))
    trace.data(1, 0, 3)


def bears_data_without_go(trace: Trace) -> None:
    begin(trace).data(7, 0, 2)
    trace.buffer(0, 2)
    trace.control(ok(3, 0))


def bears_an_ok_for_what_was_not_sent(trace: Trace) -> None:
    begin(trace).buffer(0, 2)
    trace.control(ok(3, 0), ok(4, 1))
    trace.data(1, 0, 3)


def aborts_at_an_ok_for_what_was_not_sent(trace: Trace) -> None:
    begin(trace).buffer(0, 2)
    trace.control(ok(3, 0), ok(4, 1))
    ends = (trace.sender.port, trace.receiver.port)
    trace.put(forge.packet(forge.ABORT, forge.text_field(b"no"), *ends), trace.sender, trace.receiver)


def bears_the_other_role(trace: Trace) -> None:
    begin(trace).buffer(0, 2)
    wrong = forge.packet(forge.CONTROL, go(1, 0), trace.sender.port, trace.receiver.port)
    trace.put(wrong, trace.sender, trace.receiver)
    trace.control(ok(3, 0))


def bears_a_keepalive(trace: Trace) -> None:
    begin(trace).header_only(forge.KEEPALIVE, by_sender=False)
    trace.buffer(0, 2)


def answers_a_keepalive(trace: Trace) -> None:
    begin(trace).header_only(forge.KEEPALIVE, by_sender=False)
    trace.header_only(forge.KEEPALIVE, by_sender=True)


def aborts_what_nobody_opened(trace: Trace) -> None:
    trace.null_ack(3)
    ends = (trace.receiver.port, trace.sender.port)
    trace.put(forge.packet(forge.ABORT, forge.text_field(b"who?"), *ends), trace.receiver, trace.sender)


def delivers_all(trace: Trace) -> None:
    begin(trace).buffer(0, 2)
    trace.buffer(1, 2, last=True)
    trace.control(ok(3, 0), ok(4, 1))
    trace.null_ack(4)


def delivers_one(trace: Trace) -> None:
    begin(trace).buffer(0, 2)
    trace.control(ok(3, 0))
    trace.null_ack(3)


def asks_in_time(trace: Trace) -> None:
    begin(trace).buffer(0, 2, skip=(1,))
    trace.time_ns += 200_000_000
    trace.control(resend(3, 0, [1]))


def asks_for_what_is_not_due(trace: Trace) -> None:
    """One packet in 10 ms was agreed; packet 3 is requested 3 ms after packet 0."""
    trace.open()
    body = forge.open_body(trace.uid, **trace.terms(), burst_size=1, burst_interval=10)
    ends = (trace.receiver.port, trace.sender.port)
    trace.put(forge.packet(forge.RESPONSE, body, *ends), trace.receiver, trace.sender)
    trace.control(go(1, 0))
    trace.data(0, 0, 1)
    trace.control(resend(2, 0, [3]))


def odd_sizes(trace: Trace) -> None:
    trace.packet_size = 510
    delivers_one(trace)


def held(reader: Reader, path: Path) -> set[str]:
    (connection,) = json.loads(reader.tshark(path, "-q", "-z", "netblt,verdict,json"))["connections"]
    return {row["requirement"] for row in connection["requirements"] if row["verdict"] == "passed"}


@pytest.mark.parametrize(
    ("requirement", "kept", "other"),
    [
        ("ROBUST-03", bears_a_resend_that_overruns, delivers_all),
        ("ROBUST-04", bears_reserved_bits, refuses_reserved_bits),
        ("ROBUST-05", bears_a_missing_string, delivers_all),
        ("ROBUST-05", refuses_a_missing_string, refuses_reserved_bits),
        ("ROBUST-06", bears_data_without_go, delivers_all),
        ("ROBUST-07", bears_an_ok_for_what_was_not_sent, delivers_all),
        ("ROBUST-07", aborts_at_an_ok_for_what_was_not_sent, delivers_all),
        ("ROBUST-08", bears_the_other_role, delivers_all),
        ("TIMER-05", asks_in_time, delivers_all),
        ("TIMER-09", asks_in_time, asks_for_what_is_not_due),
        ("TIMER-12", bears_a_keepalive, answers_a_keepalive),
        ("DEMUX-03", aborts_what_nobody_opened, aborts_at_an_ok_for_what_was_not_sent),
        ("DATA-08", delivers_all, delivers_one),
        ("R1030-07", asks_in_time, asks_for_what_is_not_due),
        ("R1030-11", odd_sizes, delivers_one),
    ],
)
def test_what_is_only_seen_to_be_kept(
    reader: Reader, capture: Path, requirement: str, kept: Story, other: Story
) -> None:
    """Held in a story that puts it to the test, not in a look-alike."""
    for story, wanted in ((kept, True), (other, False)):
        trace = Trace()
        story(trace)
        assert (requirement in held(reader, trace.save(capture))) == wanted, story.__name__


def test_a_resend_before_its_packets_are_due_is_noted(reader: Reader, capture: Path) -> None:
    """The last of them comes 30 ms after the first; two milliseconds have passed."""
    trace = Trace()
    asks_for_what_is_not_due(trace)
    (row,) = reader.rows(
        trace.save(capture), "frame.number", "_ws.expert.message", options=("-Y", "netblt.analysis.timer_early")
    )
    assert row["frame.number"] == ["5"]
    assert any("0.029 s before" in text for text in row["_ws.expert.message"])


@pytest.mark.parametrize(
    ("name", "own", "same", "requirement"),
    [
        ("order02-progress-first", "buffer_order", "r1030_order", "R1030-04"),
        ("data03-packet-too-short", "data_packet_size", "r1030_size", "R1030-09"),
    ],
)
def test_what_rfc_1030_says_too_is_told_once_and_found_by_both_filters(
    reader: Reader, name: str, own: str, same: str, requirement: str
) -> None:
    path = ROOT / "pcaps" / "violations" / f"{name}.pcapng"
    rules = "netblt.analysis.requirement"
    found = [reader.rows(path, "frame.number", rules, options=("-Y", f"netblt.analysis.{one}")) for one in (own, same)]
    assert found[0] == found[1] != []
    assert requirement not in {rule for row in found[1] for rule in row[rules]}
    assert requirement not in held(reader, path)


ETFTP_RULES = {requirement for requirement in RULES if requirement.startswith("R1986")}


def test_a_put_as_rfc_1986_has_it_holds_all_that_it_says(reader: Reader) -> None:
    """Repeated after 5 s, half of a buffer lost, smaller packets then. R1986-26 needs a capture at the sender."""
    kept = held(reader, ROOT / "pcaps" / "violations" / "r1986-like-kept.pcapng")
    assert ETFTP_RULES - kept == {"R1986-26", "R1986-28"} & ETFTP_RULES
    assert "R1986-28" in held(reader, ROOT / "pcaps" / "violations" / "r1986-like-fixed-size.pcapng")
    assert {"WIRE-02", "CTRL-04", "RESEND-03"} <= kept
    assert "CTRL-06" not in kept


def test_a_transfer_of_rfc_998_says_nothing_of_rfc_1986(reader: Reader, capture: Path) -> None:
    trace = Trace()
    delivers_all(trace)
    assert held(reader, trace.save(capture)) & ETFTP_RULES == set()
