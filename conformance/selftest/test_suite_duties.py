# SPDX-License-Identifier: GPL-2.0-or-later
"""The oracles that judge when packets come: what is late, what never comes, what comes too soon."""

from __future__ import annotations

import dataclasses

import pytest
from netblt_conformance.common.model import PASSIVE_RECEIVER, PASSIVE_SENDER, Role
from netblt_conformance.common.tolerances import DEFAULT
from netblt_conformance.oracles import Monitor
from netblt_conformance.oracles.session import Session
from netblt_conformance.packets import packets
from netblt_conformance.packets.packets import Message, Packet, Type
from selftest.test_suite_oracles import (
    DELAY_US,
    IUT,
    IUT_PORT,
    TERMS,
    TESTER,
    TESTER_PORT,
    Step,
    acked,
    acks,
    ctrl,
    given,
    gives,
    go,
    iut,
    ok,
    resend,
    says,
    sends,
    setup,
    tells,
)

MS, S = 1_000, 1_000_000
Timed = list[tuple[int, Step]]  # steps, and how long after the one before each comes
ALIVE = given(TESTER.packet(Type.KEEPALIVE))
SIGN = says(Type.KEEPALIVE)


def seen(role: Role, steps: Timed, opening: list[Step] | None = None) -> list[str]:
    """The requirements violated after a setup by the tester."""
    monitor = Monitor(Session(role, TESTER_PORT, IUT_PORT, DELAY_US, real_time=False, tolerances=DEFAULT))
    now_us = 0
    timed = [(10 * MS, step) for step in (setup(role) if opening is None else opening)]
    for number, (after_us, step) in enumerate([*timed, *steps]):
        now_us += after_us
        note = monitor.sent if step.sent else monitor.received
        note(packets.read(step.packet), now_us, number)
    monitor.finish()
    return [violation.requirement for violation in monitor.violations]


def every(span_us: int, count: int, *steps: Step) -> Timed:
    return [(span_us if not n else 0, step) for _ in range(count) for n, step in enumerate(steps)]


# ---- both ends ----


def test_an_end_that_sends_nothing_for_the_declared_death_timer_is_seen() -> None:
    speaks = every(7 * S, 5, ALIVE)
    assert "TIMER-11" in seen(PASSIVE_SENDER, speaks)
    assert "TIMER-11" not in seen(PASSIVE_SENDER, [*speaks[:3], (0, SIGN), *speaks[:2]])
    gone = [(S, given(TESTER.reason(Type.QUIT, ""))), *speaks]
    assert seen(PASSIVE_SENDER, gone) == [], "the connection is over"
    assert seen(PASSIVE_SENDER, [(40 * S, ALIVE), *speaks]) == [], "its own death timer has expired"


def test_keepalives_without_measure_are_seen() -> None:
    assert "TIMER-11" in seen(PASSIVE_SENDER, every(10 * MS, 50, SIGN))
    assert seen(PASSIVE_SENDER, every(50 * MS, 50, SIGN)) == []


def test_a_quit_that_is_repeated_at_once_or_after_its_quitack_is_seen() -> None:
    quit_ = iut(IUT.reason(Type.QUIT, ""))
    assert "QUIT-02" in seen(PASSIVE_SENDER, [(S, quit_), (MS, quit_)])
    assert seen(PASSIVE_SENDER, [(S, quit_), (S, quit_)]) == []
    answer = given(TESTER.packet(Type.QUITACK))
    assert "QUIT-02" in seen(PASSIVE_SENDER, [(S, quit_), (MS, answer), (S, quit_)])


# ---- a receiver ----


def test_a_control_that_is_not_repeated_is_seen() -> None:
    silent = every(7 * S, 3, ALIVE, SIGN)
    assert "TIMER-01" in seen(PASSIVE_RECEIVER, [(MS, tells(go(1, 0))), *silent])
    repeated = [(MS, tells(go(1, 0))), *silent[:4], (0, tells(go(1, 0))), *silent[:4]]
    assert "TIMER-01" not in seen(PASSIVE_RECEIVER, repeated)
    slow = [(MS, tells(go(1, 0))), *silent[:2], (0, acked(1)), (MS, gives(0, 0, 1)), (MS, gives(0, 1, 1))]
    late = [*slow, (MS, tells(dataclass_ok(2, 0, 9000))), (9 * S, tells(dataclass_ok(2, 0, 9000)))]
    assert "TIMER-01" not in seen(PASSIVE_RECEIVER, [*late, *silent]), "it follows the time that the tester takes"


def dataclass_ok(seq: int, buffer: int, timer_ms: int) -> Message:
    return dataclasses.replace(ok(seq, buffer), control_timer_ms=timer_ms)


COMPLETE: Timed = [
    (MS, tells(go(1, 0), go(2, 1))),
    (MS, acked(2)),
    (MS, gives(0, 0, 2)),
    (MS, gives(0, 1, 2)),
    (3 * MS, tells(ok(3, 0))),
]


@pytest.mark.parametrize(("gap_ms", "wrong"), [(900, False), (1200, True)])
def test_an_ok_is_repeated_within_twice_the_timer_that_it_publishes(gap_ms: int, wrong: bool) -> None:
    steps = [*COMPLETE, (gap_ms * MS, tells(ok(3, 0)))]
    assert ("CLOSE-07" in seen(PASSIVE_RECEIVER, steps)) == wrong


@pytest.mark.parametrize(("slowly", "wrong"), [(True, False), (False, True)])
def test_an_ok_may_be_repeated_by_a_timer_that_slow_acknowledgements_raised(*, slowly: bool, wrong: bool) -> None:
    """The OK waited in the queue with the value of an earlier moment, or the acknowledgement crosses it (TIMER-03)."""
    begun = [*COMPLETE[:1], (S if slowly else MS, acked(2)), *COMPLETE[2:]]
    assert ("CLOSE-07" in seen(PASSIVE_RECEIVER, [*begun, (1200 * MS, tells(ok(3, 0)))])) == wrong


@pytest.mark.parametrize(("slowly", "wrong"), [(True, False), (False, True)])
def test_slow_acknowledgements_raise_the_timer_above_what_was_published(*, slowly: bool, wrong: bool) -> None:
    """TIMER-03: the OK holds the value of its moment; a RESEND after it is acknowledged after 1 s, or at once. Another
    one is repeated after 11 s, which is long after any value that was published."""
    asks = [*COMPLETE, (MS, acked(3)), (MS, tells(resend(4, 1, 0)))]
    late = [(S if slowly else MS, acked(4)), (MS, tells(resend(5, 1, 0))), *every(S, 11, ALIVE)]
    assert ("TIMER-01" in seen(PASSIVE_RECEIVER, [*asks, *late, (0, tells(resend(5, 1, 0)))])) == wrong


@pytest.mark.parametrize(("gaps_ms", "wrong"), [((500, 1000, 2000, 4000, 8000), False), ((500, 500, 8000), True)])
def test_repetitions_may_double_the_time_between_them(gaps_ms: tuple[int, ...], wrong: bool) -> None:
    """AMB-44: beyond ten times of what the OK publishes too."""
    steps = [*COMPLETE, *((gap_ms * MS, tells(ok(3, 0))) for gap_ms in gaps_ms)]
    assert ("TIMER-01" in seen(PASSIVE_RECEIVER, steps)) == wrong


@pytest.mark.parametrize(("last_s", "wrong"), [(32, False), (60, True)])
def test_the_time_between_repetitions_may_grow_up_to_the_death_timer(last_s: int, wrong: bool) -> None:
    """RFC 998 5.2.1 states no upper limit; the declared death timer is 120 s."""
    terms = dataclasses.replace(TERMS, death_timer_s=120)
    opening = [given(TESTER.opening(Type.OPEN, terms)), iut(IUT.opening(Type.RESPONSE, terms))]
    steps = [*COMPLETE]
    for gap_s in (1, 2, 4, 8, 16, last_s):
        steps += [*every(S, gap_s, ALIVE, SIGN), (0, tells(ok(3, 0)))]
    assert ("TIMER-01" in seen(PASSIVE_RECEIVER, steps, opening)) == wrong


@pytest.mark.parametrize(("gap_ms", "wrong"), [(300, False), (100, True)])
def test_repetitions_keep_half_of_the_published_timer(gap_ms: int, wrong: bool) -> None:
    steps = [*COMPLETE, *every(gap_ms * MS, 3, tells(ok(3, 0)))]
    assert ("CLOSE-07" in seen(PASSIVE_RECEIVER, steps)) == wrong
    provoked = [*COMPLETE, *every(gap_ms * MS, 3, ALIVE, tells(ok(3, 0)))]
    assert "CLOSE-07" not in seen(PASSIVE_RECEIVER, provoked), "packets of the tester came between"


def test_a_queue_in_several_controls_leaves_as_a_whole_for_a_new_message_in_one_of_them() -> None:
    """AMB-33: the part with the OK is repeated too, long before the control timer expires."""
    grown = [(0, tells(resend(4 + n, 1, n))) for n in range(5)]
    steps = [step for n in range(5) for step in ((100 * MS, tells(ok(3, 0))), *grown[: n + 1])]
    assert "CLOSE-07" not in seen(PASSIVE_RECEIVER, [*COMPLETE, *steps])
    as_before = every(100 * MS, 4, tells(ok(3, 0)), tells(resend(4, 1, 0)))
    assert "CLOSE-07" in seen(PASSIVE_RECEIVER, [*COMPLETE, (MS, tells(resend(4, 1, 0))), *as_before])


def test_an_acknowledgement_may_shorten_the_timer_while_an_ok_waits() -> None:
    """The OK was put into the queue with the timer of that moment (RFC 998 5.2.1); the next one has the new value."""
    queued = [*COMPLETE[:1], (MS, gives(0, 0, 0)), (MS, gives(0, 1, 0)), (3 * MS, tells(go(1, 0), go(2, 1), ok(3, 0)))]
    assert "CLOSE-07" not in seen(PASSIVE_RECEIVER, [*queued, (MS, acked(2)), *every(100 * MS, 4, tells(ok(3, 0)))])
    crossing = [*queued[:-1], (2 * MS, acked(2)), (MS, queued[-1][1]), *every(100 * MS, 4, tells(ok(3, 0)))]
    assert "CLOSE-07" not in seen(PASSIVE_RECEIVER, crossing), "the acknowledgement crosses the OK"
    newer = [*queued, (MS, acked(2)), (MS, gives(1, 0, 2)), (MS, gives(1, 1, 2)), (3 * MS, tells(ok(3, 0), ok(4, 1)))]
    assert "CLOSE-07" in seen(PASSIVE_RECEIVER, [*newer, *every(100 * MS, 4, tells(ok(3, 0), ok(4, 1)))])


@pytest.mark.parametrize("parts", [True, False])
def test_news_in_a_later_packet_of_a_moment_is_no_repetition(*, parts: bool) -> None:
    """RFC 998 5.2.1: the queue leaves whole because of a new message. It may fill several CONTROL packets, of which the
    first holds nothing new (AMB-33)."""
    steps = [*COMPLETE, (MS, gives(1, 1, 2))]
    for seq in (4, 5, 6, 7):
        steps += [(100 * MS, tells(ok(3, 0))), *([(0, tells(resend(seq, 1, seq)))] if parts else [])]
    assert ("CLOSE-07" in seen(PASSIVE_RECEIVER, steps)) == (not parts)


def test_a_complete_buffer_without_ok_is_seen() -> None:
    assert "CTRL-14" in seen(PASSIVE_RECEIVER, [*COMPLETE[:-1], *every(S, 3, ALIVE)])
    assert seen(PASSIVE_RECEIVER, [*COMPLETE, (MS, acked(3)), *every(S, 3, ALIVE)]) == []


@pytest.mark.parametrize(("slowly", "wrong"), [(True, False), (False, True)])
def test_an_ok_may_wait_for_a_control_timer_that_follows_slow_acknowledgements(*, slowly: bool, wrong: bool) -> None:
    """AMB-69, TIMER-03: the RESEND before it is not acknowledged."""
    slow = [*every(7 * S, 2, ALIVE), (0, acked(2))]
    begun = [*COMPLETE[:1], *(slow if slowly else [(MS, acked(2))]), (MS, tells(resend(3, 1, 0)))]
    complete = [*begun, (MS, gives(0, 0, 2)), (MS, gives(0, 1, 2)), *every(7 * S, 4, ALIVE, SIGN)]
    assert ("CTRL-14" in seen(PASSIVE_RECEIVER, complete)) == wrong


def test_an_ok_may_wait_for_the_control_timer_after_each_full_control() -> None:
    """AMB-33: it waits in the queue for GOs, which are acknowledged in slow succession."""
    terms = dataclasses.replace(TERMS, buffer_size=80, packet_size=40, max_buffers=99, flags=1)
    opening = [given(TESTER.opening(Type.OPEN, terms)), iut(IUT.opening(Type.RESPONSE, terms))]
    gos = [tells(*(go(part * 5 + n, part * 5 + n - 1) for n in range(1, 6))) for part in range(6)]
    complete = [(MS, gos[0]), (MS, gives(0, 0, 0, data=bytes(40))), (MS, gives(0, 1, 0, data=bytes(40)))]
    slow = [step for n in range(1, 6) for step in ((4 * S, acked(5 * n)), (3 * MS, gos[n]))]
    assert "CTRL-14" not in seen(PASSIVE_RECEIVER, [*complete, *slow], opening)


def test_a_go_that_is_repeated_before_its_ok_opens_nothing_again() -> None:
    """AMB-33: the queue may be cut into several CONTROLs, and the part with the GO comes before the one with the OK."""
    terms = dataclasses.replace(TERMS, buffer_size=80, packet_size=40, max_buffers=5, flags=1)
    opening = [given(TESTER.opening(Type.OPEN, terms)), iut(IUT.opening(Type.RESPONSE, terms))]
    first, second = tells(go(1, 0)), tells(ok(2, 0))
    begun = [(MS, first), (MS, gives(0, 0, 0, data=bytes(40))), (MS, gives(0, 1, 0, data=bytes(40)))]
    confirmed = [*begun, (3 * MS, first), (0, second), *every(9 * S, 6, first, second)]
    assert "CTRL-14" not in seen(PASSIVE_RECEIVER, confirmed, opening)
    assert "CTRL-14" in seen(PASSIVE_RECEIVER, [*begun, *every(9 * S, 6, first)], opening)


@pytest.mark.parametrize(("gos", "wrong"), [(5, False), (4, True)])
def test_an_ok_may_wait_while_the_control_before_it_is_full(gos: int, wrong: bool) -> None:
    """AMB-33: the part of the queue from its beginning that fits goes out. Five GOs and an OK need more than the 64
    bytes of a DATA packet here."""
    terms = dataclasses.replace(TERMS, buffer_size=80, packet_size=40, max_buffers=5, flags=1)
    opening = [given(TESTER.opening(Type.OPEN, terms)), iut(IUT.opening(Type.RESPONSE, terms))]
    queue = tells(*(go(1 + number, number) for number in range(gos)))
    begun = [(MS, queue), (MS, gives(0, 0, 0, data=bytes(40))), (MS, gives(0, 1, 0, data=bytes(40)))]
    assert ("CTRL-14" in seen(PASSIVE_RECEIVER, [*begun, *every(9 * S, 6, queue)], opening)) == wrong


def test_missing_packets_that_are_not_requested_are_seen() -> None:
    hole = [*COMPLETE[:-2], *every(7 * S, 4, ALIVE, SIGN)]
    assert "TIMER-07" in seen(PASSIVE_RECEIVER, hole)
    asked = [*hole[:-4], (0, tells(resend(3, 0, 1), resend(4, 1, 0, 1))), (MS, acked(4)), *hole[-4:]]
    assert "TIMER-07" not in seen(PASSIVE_RECEIVER, asked)


@pytest.mark.parametrize(("gap_ms", "wrong"), [(10, True), (5000, False)])
def test_a_data_timer_may_follow_the_pace_of_the_data(gap_ms: int, wrong: bool) -> None:
    """AMB-45. After the first packet of the next buffer nothing comes for 28 s."""
    whole = [*COMPLETE[:-2], (gap_ms * MS, gives(0, 1, 2)), (3 * MS, tells(ok(3, 0)))]
    hole = [*whole, (MS, gives(1, 0, 3)), *every(7 * S, 4, ALIVE, SIGN)]
    assert ("TIMER-07" in seen(PASSIVE_RECEIVER, hole)) == wrong


def test_a_request_at_once_is_seen() -> None:
    ldata = [*COMPLETE[:2], (MS, gives(0, 1, 2)), (3 * MS, tells(resend(3, 0, 0)))]
    assert "RESEND-07" in seen(PASSIVE_RECEIVER, ldata)
    later = [*COMPLETE[:2], (MS, gives(1, 0, 2)), (3 * MS, tells(resend(3, 0, 0, 1)))]
    assert "TIMER-06" in seen(PASSIVE_RECEIVER, later)
    waited = [(after_us + 60 * MS, step) for after_us, step in later]
    assert "TIMER-06" not in seen(PASSIVE_RECEIVER, waited)


def test_a_request_that_lists_the_ldata_was_made_before_it_came() -> None:
    late = [*COMPLETE[:2], (MS, gives(0, 1, 2)), (3 * MS, tells(resend(3, 0, 0, 1)))]
    assert "RESEND-07" not in seen(PASSIVE_RECEIVER, late)


def test_an_offer_with_its_fields_exchanged_is_seen() -> None:
    swapped = dataclasses.replace(ok(3, 0), burst_size=10, burst_interval_ms=8)
    assert "NEG-08" in seen(PASSIVE_RECEIVER, [*COMPLETE[:-1], (3 * MS, tells(swapped))])
    assert "NEG-08" not in seen(PASSIVE_RECEIVER, COMPLETE)


def test_a_request_may_wait_for_room_in_a_control() -> None:
    """AMB-33: what does not fit waits for an acknowledgement; meanwhile data may come."""
    long = resend(3, 0, *range(2))
    steps = [
        (MS, tells(go(1, 0), go(2, 1))),
        (MS, gives(0, 0, 1)),
        (200 * MS, tells(go(1, 0), go(2, 1))),
        (0, acked(2)),
        (3 * MS, tells(long)),
    ]
    assert "RESEND-01" not in seen(PASSIVE_RECEIVER, steps)


def test_a_request_may_wait_for_room_several_times() -> None:
    """AMB-33: the CONTROL that came after the acknowledgement was full again, and is acknowledged too."""
    steps = [
        (MS, tells(go(1, 0), go(2, 1))),
        (MS, gives(0, 0, 1)),
        (200 * MS, tells(go(1, 0), go(2, 1))),
        (0, acked(2)),
        (3 * MS, tells(resend(3, 1, 0, 1))),
        (0, acked(3)),
        (3 * MS, tells(resend(4, 0, 0, 1))),
    ]
    assert "RESEND-01" not in seen(PASSIVE_RECEIVER, steps)
    assert "RESEND-01" in seen(PASSIVE_RECEIVER, [*steps[:-1], (300 * MS, acked(3)), *steps[-1:]])


@pytest.mark.parametrize(("later", "wrong"), [(0, False), (200 * MS, True)])
def test_a_part_of_a_request_may_be_acknowledged_before_the_next_part_comes(later: int, wrong: bool) -> None:
    """AMB-33: packets 0 to 2 are missing, each is requested in a message of its own, all at one moment. A request that
    comes much later and leaves out what was not sent since is none of these parts."""
    end = given(TESTER.data(Packet(b"", type=Type.LDATA, buffer=0, packet=3, high_seq=2, data=bytes(40))))
    parts = [(60 * MS, tells(resend(3, 0, 0), resend(4, 0, 1))), (0, acked(4)), (later, tells(resend(5, 0, 2)))]
    steps = [(MS, tells(go(1, 0), go(2, 1))), (MS, acked(2)), (MS, end), *parts, *every(S, 2, ALIVE, SIGN)]
    terms = dataclasses.replace(TERMS, buffer_size=160, packet_size=40)
    opening = [given(TESTER.opening(Type.OPEN, terms)), iut(IUT.opening(Type.RESPONSE, terms))]
    assert ("RESEND-01" in seen(PASSIVE_RECEIVER, steps, opening)) == wrong


# ---- a sender ----

SENT: Timed = [
    (MS, ctrl(go(1, 0), go(2, 1))),
    (3 * MS, sends(0, 0, 2)),
    (0, sends(0, 1, 2)),
    (0, sends(1, 0, 2)),
    (0, sends(1, 1, 2)),
]


def test_a_control_without_acknowledgement_is_seen() -> None:
    assert "CTRL-10" in seen(PASSIVE_SENDER, [SENT[0], *every(S, 2, ALIVE)])
    assert seen(PASSIVE_SENDER, [*SENT, *every(S, 2, ALIVE)]) == []
    again = [*SENT, (S, ctrl(go(1, 0), go(2, 1)))]
    assert "CTRL-10" in seen(PASSIVE_SENDER, [*again, *every(S, 2, ALIVE)]), "repetitions too"
    assert seen(PASSIVE_SENDER, [*again, (3 * MS, acks(2)), *every(S, 2, ALIVE)]) == []


def test_a_request_that_is_not_served_is_seen() -> None:
    asked = [*SENT, (S, ctrl(resend(3, 0, 0))), (3 * MS, acks(3))]
    assert "RESEND-02" in seen(PASSIVE_SENDER, [*asked, *every(S, 4, ALIVE)])
    assert seen(PASSIVE_SENDER, [*asked, (MS, sends(0, 0, 3)), *every(S, 4, ALIVE)]) == []


def test_a_sender_owes_what_is_requested_until_every_buffer_has_its_ok() -> None:
    """The last buffer, 1, is confirmed first."""
    asked = [*SENT, (S, ctrl(resend(3, 0, 0), ok(4, 1))), (3 * MS, acks(4))]
    assert "RESEND-02" in seen(PASSIVE_SENDER, [*asked, *every(S, 4, ALIVE, SIGN)])
    assert seen(PASSIVE_SENDER, [*asked, (MS, sends(0, 0, 4)), (3 * MS, ctrl(ok(5, 0))), *every(S, 40, ALIVE)]) == []


def test_a_request_behind_a_hole_may_be_served_early() -> None:
    early = [*SENT, (S, ctrl(resend(4, 0, 0))), (3 * MS, sends(0, 0, 2)), (S, ctrl(resend(3, 1, 0)))]
    late = [*early, (3 * MS, sends(1, 0, 4)), *every(S, 4, ALIVE)]
    assert seen(PASSIVE_SENDER, late) == []


def offers(seq: int, buffer: int, burst: int, interval_ms: int) -> Message:
    return dataclasses.replace(ok(seq, buffer), burst_size=burst, burst_interval_ms=interval_ms)


def test_a_slower_pace_that_is_offered_after_a_request_gives_more_time_for_it() -> None:
    """The pair of OK #4 may hold for what is still to be sent: one packet each 5 s."""
    asked = [*SENT, (S, ctrl(resend(3, 1, 0))), (3 * MS, acks(3))]
    offered = [*asked, (S, ctrl(offers(4, 0, 1, 5000))), (3 * MS, acks(4))]
    late = every(S, 9, ALIVE, SIGN)
    assert "RESEND-02" in seen(PASSIVE_SENDER, [*asked, *late])
    assert "RESEND-02" not in seen(PASSIVE_SENDER, [*offered, *late, (MS, sends(1, 0, 4)), *late])
    assert "RESEND-02" in seen(PASSIVE_SENDER, [*offered, *every(S, 150, ALIVE, SIGN)])
    unanswered = [*asked, (S, ctrl(go(4, 2))), (MS, ctrl(offers(5, 0, 1, 5000)))]
    assert "CTRL-10" not in seen(PASSIVE_SENDER, [*unanswered, *late, (MS, sends(1, 0, 5))])


def paced(reported: tuple[int, int], gap_ms: int) -> Timed:
    """Buffer 0 gets an OK that offers single packets each 100 ms; the packets of buffer 1 come `gap_ms` apart."""
    report = iut(IUT.null_ack(2, *reported))
    begin = [SENT[0], *SENT[1:3]]
    begin[0] = (MS, ctrl(go(1, 0)))
    begin[1:] = [(3 * MS, sends(0, 0, 1)), (0, sends(0, 1, 1))]
    offered = [(MS, ctrl(offers(2, 0, 1, 100))), (3 * MS, report), (S, ctrl(go(3, 1))), (3 * MS, acks_as(3, reported))]
    return [*begin, *offered, *((gap_ms * MS, sends(1, n, 3)) for n in range(4))]


def acks_as(high_seq: int, pace: tuple[int, int]) -> Step:
    return iut(IUT.null_ack(high_seq, *pace))


def test_a_buffer_whose_go_follows_an_offer_keeps_its_pace() -> None:
    assert "RATE-05" in seen(PASSIVE_SENDER, paced((1, 100), 10))
    assert not {"RATE-05", "NEG-09"} & set(seen(PASSIVE_SENDER, paced((1, 100), 100)))
    assert "NEG-09" in seen(PASSIVE_SENDER, paced((1, 200), 100)), "it reports a slower pair than it uses"


def test_a_null_ack_that_reports_a_faster_pair_than_any_is_seen() -> None:
    assert "CTRL-11" in seen(PASSIVE_SENDER, paced((2, 100), 100))
    assert "CTRL-11" in seen(PASSIVE_SENDER, [SENT[0], (3 * MS, acks_as(2, (9, 10)))])
    assert "CTRL-11" not in seen(PASSIVE_SENDER, [SENT[0], (3 * MS, acks_as(2, (1, 10)))])


@pytest.mark.parametrize(
    ("asked", "answer", "requirement"),
    [
        ({"burst_interval_ms": 5}, {"burst_interval_ms": 5 << 8}, "NEG-04"),
        ({"buffer_size": 1 << 20}, {"buffer_size": 4 * 65_537}, "DATA-05"),
    ],
)
def test_an_answer_that_cannot_be_meant_is_seen(
    asked: dict[str, int], answer: dict[str, int], requirement: str
) -> None:
    proposal: Packet = dataclasses.replace(TERMS, **asked)  # type: ignore[arg-type]
    response: Packet = dataclasses.replace(proposal, **answer)  # type: ignore[arg-type]
    opening = [given(TESTER.opening(Type.OPEN, proposal)), iut(IUT.opening(Type.RESPONSE, response))]
    assert requirement in seen(PASSIVE_SENDER, [], opening)
    same = iut(IUT.opening(Type.RESPONSE, dataclasses.replace(proposal, buffer_size=8)))
    assert seen(PASSIVE_SENDER, [], [opening[0], same]) == []
