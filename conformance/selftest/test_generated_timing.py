# SPDX-License-Identifier: GPL-2.0-or-later
"""What judges of times and of pace find in the packets of a generated script, and what they let pass."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest
from netblt_conformance.common.model import ROLES_BY_NAME, Parameters
from netblt_conformance.common.tolerances import DEFAULT
from netblt_conformance.generated import timing
from netblt_conformance.oracles.base import Violation
from netblt_conformance.oracles.session import Session
from netblt_conformance.packets import packets
from netblt_conformance.packets.packets import Forge, Kind, Message, Packet, Type
from netblt_conformance.peer.exchange import Agreed, Seen

MS = 1000
DELAY_US = 1 * MS
OURS, THEIRS = Forge(2, 1000, 2000), Forge(2, 2000, 1000)
# Buffers of four packets, each of which is a burst.
TERMS = Agreed(
    buffer_size=64,
    packet_size=16,
    burst_size=1,
    burst_interval_ms=100,
    max_buffers=2,
    data_checksum=False,
    iut_death_timer_s=60,
)
LIMITS = Parameters(buffer_size=64, packet_size=16, burst_size=1, burst_interval_ms=100, max_buffers=2)


@dataclass
class Recorded:
    """A connection: what the implementation sent, and what the tester did."""

    role: str
    seen: list[Seen] = field(default_factory=list)
    found: list[Violation] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.session = Session(ROLES_BY_NAME[self.role], 1000, 2000, DELAY_US, False, DEFAULT)
        self.session.response = Packet(b"", type=Type.RESPONSE, buffer_size=64, packet_size=16)

    def came(self, wire: bytes, at_ms: int) -> None:
        self.seen.append(Seen(packets.read(wire), at_ms * MS, len(self.seen) + 1, b""))

    def control(self, at_ms: int, *messages: Message) -> None:
        self.came(THEIRS.control(list(messages)), at_ms)

    def sent(self, wire: bytes, at_ms: int) -> None:
        self.session.note_sent(packets.read(wire), at_ms * MS)

    def ack(self, at_ms: int, high_seq: int) -> None:
        self.sent(OURS.null_ack(high_seq, 1, 100), at_ms)

    @property
    def peer(self) -> Any:
        monitor = SimpleNamespace(session=self.session, report=self.found.append)
        controls = [one for one in self.seen if one.packet.type is Type.CONTROL]
        link = SimpleNamespace(delay_us=DELAY_US)
        return SimpleNamespace(
            seen=self.seen, controls=controls, monitor=monitor, terms=TERMS, tolerances=DEFAULT, link=link
        )

    @property
    def rules(self) -> list[str]:
        return [one.requirement for one in self.found]


def go(seq: int, buffer: int) -> Message:
    return Message(Kind.GO, seq, buffer)


def ok(seq: int, buffer: int, timer_ms: int = 100, burst: int = 1, interval_ms: int = 100) -> Message:
    return Message(Kind.OK, seq, buffer, burst, interval_ms, timer_ms)


def data(buffer: int, packet: int, *, last: bool = False) -> Packet:
    kind = Type.LDATA if last else Type.DATA
    return Packet(b"", type=kind, buffer=buffer, packet=packet, data=bytes(16))


# ---- a receiving implementation ----


@pytest.mark.parametrize(
    ("first_packet_ms", "request_ms", "rules"),
    [
        (None, 250, ["TIMER-09"]),  # four bursts, 100 ms apart, take 300 ms
        (None, 320, []),
        (200, 350, ["TIMER-05"]),  # counted from the first packet
        (200, 520, []),
    ],
)
def test_a_request_before_the_packets_are_due_is_reported(
    first_packet_ms: int | None, request_ms: int, rules: list[str]
) -> None:
    one = Recorded("passive-receiver")
    one.control(0, go(1, 1))
    one.ack(1, 1)
    if first_packet_ms is not None:
        one.sent(OURS.data(data(1, 0)), first_packet_ms)
    one.control(request_ms, Message(Kind.RESEND, 2, 1, packets=(0, 1, 2, 3)))
    timing.judge_data_timers(one.peer)
    assert one.rules == rules


def test_a_request_after_faster_data_is_not_judged() -> None:
    """A receiver may measure the distance of packets (R1030-07)."""
    one = Recorded("passive-receiver")
    one.control(0, go(1, 1))
    one.ack(1, 1)
    for packet in range(2):
        one.sent(OURS.data(data(1, packet)), 2)
    one.control(50, Message(Kind.RESEND, 2, 1, packets=(2, 3)))
    timing.judge_data_timers(one.peer)
    assert one.rules == []


@pytest.mark.parametrize(
    ("published_ms", "rules"),
    [
        ([700] * 12, ["TIMER-03"]),  # acknowledgements take 5 ms
        ([700, 700, 100] + [20] * 9, []),
        ([400] * 12, []),  # the least that an implementation has
    ],
)
def test_a_control_timer_that_does_not_follow_the_round_trip_is_reported(
    published_ms: list[int], rules: list[str]
) -> None:
    one = Recorded("passive-receiver")
    for number, value_ms in enumerate(published_ms, 1):
        one.control(10 * number, ok(number, number, value_ms))
        one.ack(10 * number + 3, number)
    timing.judge_control_timer(one.peer)
    assert one.rules == rules


def test_round_trips_that_explain_a_long_control_timer_are_no_fault() -> None:
    one = Recorded("passive-receiver")
    for number in range(1, 13):
        one.control(1000 * number, ok(number, number, 700))
        one.ack(1000 * number + 400, number)
    timing.judge_control_timer(one.peer)
    assert one.rules == []


@pytest.mark.parametrize(("together", "rules"), [(0, ["R1030-01"]), (1, [])])
def test_an_ok_and_a_go_that_never_share_a_control_are_reported(together: int, rules: list[str]) -> None:
    one = Recorded("passive-receiver")
    for number in range(1, 9, 2):
        one.control(number, ok(number, number))
        one.control(number, ok(number, number), go(number + 1, number + 1))
    if together:
        one.control(20, ok(9, 9), go(10, 10))
    timing.judge_sharing(one.peer)
    assert one.rules == rules


# ---- a sending implementation ----


def gone(one: Recorded, *messages: Message, at_ms: int = 0) -> None:
    one.sent(OURS.control(list(messages)), at_ms)


def buffer_came(one: Recorded, buffer: int, from_ms: int, step_ms: int) -> None:
    for packet in range(4):
        one.came(THEIRS.data(data(buffer, packet, last=packet == 3)), from_ms + step_ms * packet)


@pytest.mark.parametrize(("gap_ms", "rules"), [(100, []), (190, []), (300, ["ORDER-04"])])
def test_a_pause_between_two_buffers_is_reported(gap_ms: int, rules: list[str]) -> None:
    one = Recorded("passive-sender")
    gone(one, go(1, 1), go(2, 2))
    buffer_came(one, 1, 100, 100)
    buffer_came(one, 2, 400 + gap_ms, 100)
    timing.judge_pauses(one.peer, LIMITS)
    assert one.rules == rules


def test_a_pause_for_the_go_of_the_next_buffer_is_no_fault() -> None:
    one = Recorded("passive-sender")
    gone(one, go(1, 1))
    buffer_came(one, 1, 100, 100)
    gone(one, go(2, 2), at_ms=700)
    buffer_came(one, 2, 800, 100)
    timing.judge_pauses(one.peer, LIMITS)
    assert one.rules == []


@pytest.mark.parametrize(
    ("step_ms", "reported", "offer", "rules"),
    [
        (100, False, (8, 10), ["NEG-09"]),
        (100, True, (8, 10), []),
        (10, False, (8, 10), []),
        (100, False, (1, 100), []),
    ],
)
def test_a_faster_offer_is_adopted_or_its_restriction_is_reported(
    step_ms: int, reported: bool, offer: tuple[int, int], rules: list[str]
) -> None:
    one = Recorded("passive-sender")
    gone(one, go(1, 1))
    buffer_came(one, 1, 100, 100)
    gone(one, ok(2, 1, 100, *offer), at_ms=500)
    if reported:
        one.came(THEIRS.null_ack(2, 1, 100), 503)
    else:
        late = data(1, 9)
        one.came(THEIRS.data(Packet(b"", type=late.type, buffer=1, packet=9, high_seq=2, data=bytes(16))), 503)
    gone(one, go(3, 2), at_ms=510)
    buffer_came(one, 2, 600, step_ms)
    timing.judge_faster_offer(one.peer)
    assert one.rules == rules
