# SPDX-License-Identifier: GPL-2.0-or-later
"""Numbers of control messages that count on where the 16 bits on the wire wrap (AMB-12)."""

from __future__ import annotations

import pytest
from netblt_conformance.common.model import PASSIVE_RECEIVER
from netblt_conformance.common.tolerances import DEFAULT
from netblt_conformance.oracles.base import Violation
from netblt_conformance.oracles.control import ControlOracle
from netblt_conformance.oracles.session import Session
from netblt_conformance.packets import packets
from netblt_conformance.packets.packets import SEQ_MODULUS, Forge, Kind, Message, Packet
from netblt_conformance.packets.sequence import SequenceNumbers, follows
from selftest.test_suite_oracles import IUT, IUT_PORT, TESTER_PORT

FORGE = Forge(2, 1, 2)


def control(*numbers: int) -> Packet:
    return packets.read(FORGE.control([Message(Kind.GO, number, 0) for number in numbers]))


def numbers_in(packet: Packet) -> list[int]:
    return [message.seq for message in packet.messages]


def after(highest: int) -> SequenceNumbers:
    """Of a connection whose messages have come up to this number, one after the other."""
    counter = SequenceNumbers()
    for number in range(1, highest + 1):
        counter.counted_on(control(number))
    return counter


def test_numbers_go_on_where_they_wrap_on_the_wire() -> None:
    counter = after(SEQ_MODULUS - 2)
    packet = control(SEQ_MODULUS - 1, SEQ_MODULUS, SEQ_MODULUS + 1)
    assert numbers_in(packet) == [65535, 0, 1]
    assert numbers_in(counter.counted_on(packet)) == [65535, 65536, 65537]
    acknowledged = packets.read(FORGE.null_ack(SEQ_MODULUS + 1, 8, 10))
    assert acknowledged.high_seq == 1
    assert counter.counted_on(acknowledged).high_seq == SEQ_MODULUS + 1


def test_a_late_packet_from_before_the_wrap_has_its_old_numbers() -> None:
    counter = after(SEQ_MODULUS + 3)
    assert numbers_in(counter.counted_on(control(65535))) == [65535]
    assert counter.counted_on(packets.read(FORGE.null_ack(65530, 8, 10))).high_seq == 65530


def test_a_number_far_away_moves_nothing() -> None:
    """Before the wrap every number is as on the wire, whatever an implementation sends."""
    counter = after(2)
    for number in (40000, 65535, 0, 3):
        assert numbers_in(counter.counted_on(control(number))) == [number]
        assert counter.counted_on(packets.read(FORGE.null_ack(number, 8, 10))).high_seq == number


@pytest.mark.parametrize(
    ("number", "before", "legal"),
    [
        (2, 1, True),
        (3, 1, False),
        (SEQ_MODULUS, SEQ_MODULUS - 1, True),
        (SEQ_MODULUS + 1, SEQ_MODULUS - 1, True),  # the 0 is left out
        (SEQ_MODULUS + 2, SEQ_MODULUS - 1, False),
        (SEQ_MODULUS + 1, SEQ_MODULUS, True),
    ],
)
def test_only_the_zero_at_the_wrap_may_be_left_out(number: int, before: int, *, legal: bool) -> None:
    assert follows(number, before) == legal


@pytest.mark.parametrize("first", [SEQ_MODULUS, SEQ_MODULUS + 1])
def test_oracles_accept_either_number_after_the_wrap(first: int) -> None:
    assert seen(first) == []


def test_oracles_report_numbers_that_begin_elsewhere_after_the_wrap() -> None:
    assert seen(SEQ_MODULUS + 2) == ["CTRL-01"]


def seen(first: int) -> list[str]:
    """The violations of a receiver that goes on with this number after 65535."""
    session = Session(PASSIVE_RECEIVER, TESTER_PORT, IUT_PORT, 1_000, real_time=False, tolerances=DEFAULT)
    found: list[Violation] = []
    oracle, counter, tester = ControlOracle(session, found.append), SequenceNumbers(), Forge(2, TESTER_PORT, IUT_PORT)
    for time, number in enumerate((*range(1, SEQ_MODULUS), first), 1):
        packet = packets.read(IUT.control([Message(Kind.OK, number, number)]))
        oracle.received(counter.counted_on(packet), 60_000 * time, time)
        session.note_sent(counter.counted_on(packets.read(tester.null_ack(number, 8, 10))), 60_000 * time + 10)
    oracle.finish()
    return sorted({violation.requirement for violation in found})
