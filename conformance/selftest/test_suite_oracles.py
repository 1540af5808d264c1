# SPDX-License-Identifier: GPL-2.0-or-later
"""Each oracle sees what it is for in a hand-made exchange, and nothing in a conforming one."""

from __future__ import annotations

import dataclasses
import time
from dataclasses import dataclass
from typing import Any

import pytest
from netblt_conformance.common.model import ACTIVE_SENDER, PASSIVE_RECEIVER, PASSIVE_SENDER, Role
from netblt_conformance.common.remarks import Note, Remark
from netblt_conformance.common.tolerances import DEFAULT
from netblt_conformance.common.verdicts import Verdict
from netblt_conformance.oracles import Monitor
from netblt_conformance.oracles.base import Check, Violation, told_once
from netblt_conformance.oracles.session import Session
from netblt_conformance.packets import packets
from netblt_conformance.packets.packets import Forge, Kind, Message, Packet, Type

TESTER_PORT, IUT_PORT = 4000, 5000
DELAY_US = 1_000
STEP_US = 60_000  # longer than packets count as crossing
CROSSES_US = 10_000
LONG_US = 3_000_000  # no acknowledgement may take so long
SECOND_US = 1_000_000
SLOW_US = 1_500_000  # less than a request may take, of which twice that is more
TESTER, IUT = Forge(2, TESTER_PORT, IUT_PORT), Forge(2, IUT_PORT, TESTER_PORT)
# Buffers of two packets of 4 bytes; two of them make the transfer.
TERMS = Packet(
    b"",
    unique_id=9,
    buffer_size=8,
    packet_size=4,
    burst_size=8,
    burst_interval_ms=10,
    death_timer_s=30,
    max_buffers=2,
    string=b"\0\0\0\0",
)


@dataclass(frozen=True)
class Step:
    packet: bytes
    sent: bool  # by the tester


def given(packet: bytes) -> Step:
    return Step(packet, sent=True)


def iut(packet: bytes) -> Step:
    return Step(packet, sent=False)


def go(seq: int, buffer: int) -> Message:
    return Message(Kind.GO, seq, buffer)


def ok(seq: int, buffer: int) -> Message:
    return Message(Kind.OK, seq, buffer, burst_size=8, burst_interval_ms=10, control_timer_ms=500)


def resend(seq: int, buffer: int, *numbers: int) -> Message:
    return Message(Kind.RESEND, seq, buffer, packets=numbers)


def ctrl(*messages: Message) -> Step:
    """CONTROL of the tester."""
    return given(TESTER.control(messages))


def tells(*messages: Message) -> Step:
    """CONTROL of the implementation."""
    return iut(IUT.control(messages))


def acked(high_seq: int) -> Step:
    return given(TESTER.null_ack(high_seq, 8, 10))


def acks(high_seq: int) -> Step:
    return iut(IUT.null_ack(high_seq, 8, 10))


def _data(forge: Forge, buffer: int, number: int, ack: int, **more: Any) -> bytes:
    kind = Type.LDATA if number == 1 else Type.DATA
    fields = Packet(b"", type=kind, buffer=buffer, packet=number, high_seq=ack, flags=int(buffer == 1))
    return forge.data(dataclasses.replace(fields, **{"data": bytes([buffer, number & 0xFF, 7, 7]), **more}))


def gives(buffer: int, number: int, ack: int, **more: Any) -> Step:
    """A data packet of the tester."""
    return given(_data(TESTER, buffer, number, ack, **more))


def sends(buffer: int, number: int, ack: int, **more: Any) -> Step:
    """A data packet of the implementation."""
    return iut(_data(IUT, buffer, number, ack, **more))


def says(kind: int, body: bytes = b"") -> Step:
    return iut(IUT.packet(kind, body))


def watch(role: Role, steps: list[Step], step_us: int = STEP_US) -> list[str]:
    """The requirements violated after a setup by the tester."""
    return [violation.requirement for violation in violations(role, steps, step_us)]


def violations(
    role: Role,
    steps: list[Step],
    step_us: int = STEP_US,
    *,
    data_checksum: bool = False,
    data: bytes | None = None,
) -> list[Violation]:
    monitor = Monitor(Session(role, TESTER_PORT, IUT_PORT, DELAY_US, real_time=False, tolerances=DEFAULT, data=data))
    show(monitor, setup(role, data_checksum=data_checksum) + steps, 0, step_us)
    monitor.finish()
    return monitor.violations


def setup(role: Role, *, data_checksum: bool = False) -> list[Step]:
    """OPEN of the tester and RESPONSE of the implementation."""
    terms = dataclasses.replace(TERMS, flags=int(not role.sender) | 2 * data_checksum)
    return [given(TESTER.opening(Type.OPEN, terms)), iut(IUT.opening(Type.RESPONSE, terms))]


def show(monitor: Monitor, steps: list[Step], first: int, step_us: int = STEP_US) -> None:
    """The monitor sees these steps; `first`: the number of steps before."""
    for number, step in enumerate(steps, first):
        note = monitor.sent if step.sent else monitor.received
        note(packets.read(step.packet), number * step_us, number)


# ---- a receiving implementation ----

RECEIVES_WELL = [
    tells(go(1, 0), go(2, 1)),
    acked(1),
    tells(go(2, 1)),
    gives(0, 0, 2),
    gives(0, 1, 2),
    tells(ok(3, 0)),
    gives(1, 1, 3),
    tells(resend(4, 1, 0)),
    gives(1, 0, 4),
    tells(ok(5, 1)),
    acked(5),
    says(Type.DONE),
]

RECEIVER_FAULTS: dict[str, tuple[str, list[Step]]] = {
    "the first message is number 2": ("CTRL-01", [tells(go(2, 0))]),
    "numbers skip": ("CTRL-01", [tells(go(1, 0)), tells(go(1, 0), go(3, 1))]),
    "a message changes": ("CTRL-02", [tells(go(1, 0)), tells(go(1, 1))]),
    "messages descend": ("CTRL-03", [tells(go(2, 1), go(1, 0))]),
    "an old message is left out": ("CTRL-04", [tells(go(1, 0)), tells(go(2, 1))]),
    "the newest message is left out": ("CTRL-04", [tells(go(1, 0), go(2, 1)), tells(go(1, 0))]),
    "an acknowledged message stays": ("CTRL-05", [tells(go(1, 0)), acked(1), tells(go(1, 0), go(2, 1))]),
    "a second GO": ("CTRL-13", [tells(go(1, 0), go(2, 0))]),
    "GO skips a buffer": ("DATA-06", [tells(go(1, 0), go(2, 2))]),
    "GO behind the last buffer": ("DATA-10", [tells(go(1, 1)), gives(1, 0, 1), tells(go(2, 2))]),
    "too many GOs": ("DATA-12", [tells(go(1, 0), go(2, 1), go(3, 2))]),
    "OK with a hole": ("CTRL-14", [tells(go(1, 0)), gives(0, 1, 1), tells(ok(2, 0))]),
    "a second OK": ("CTRL-14", [tells(go(1, 0)), gives(0, 0, 1), gives(0, 1, 1), tells(ok(2, 0), ok(3, 0))]),
    "RESEND of what is there": ("RESEND-01", [tells(go(1, 0)), gives(0, 1, 1), tells(resend(2, 0, 0, 1))]),
    "RESEND leaves a hole out": ("RESEND-01", [tells(go(1, 0)), gives(0, 1, 1), tells(resend(2, 0, 3))]),
    "RESEND of a complete buffer": (
        "TIMER-08",
        [tells(go(1, 0)), gives(0, 0, 1), gives(0, 1, 1), tells(ok(2, 0)), tells(ok(2, 0), resend(3, 0, 0))],
    ),
    "RESEND before the GO is acknowledged": ("TIMER-04", [tells(go(1, 0)), tells(go(1, 0), resend(2, 0, 0, 1))]),
    "two open requests": (
        "RESEND-06",
        [tells(go(1, 0)), gives(0, 1, 1), tells(resend(2, 0, 0)), tells(resend(2, 0, 0), resend(3, 0, 0))],
    ),
    "two open requests that share a packet": (
        "RESEND-06",
        [tells(go(1, 0)), acked(1), tells(resend(2, 0, 0)), tells(resend(2, 0, 0), resend(3, 0, 0, 1))],
    ),
    "two requests at one moment that share a packet": (
        "RESEND-06",
        [tells(go(1, 0)), acked(1), tells(resend(2, 0, 0, 1), resend(3, 0, 1))],
    ),
    "DONE too early": ("CLOSE-01", [says(Type.DONE)]),
    "DONE without the OK": ("CLOSE-01", [tells(go(1, 1)), gives(1, 0, 1), gives(1, 1, 1), says(Type.DONE)]),
    "control messages behind its own QUIT": ("QUIT-05", [iut(IUT.reason(Type.QUIT, "")), tells(go(1, 0))]),
    "the wrong direction": ("WIRE-13", [acks(0)]),
    "a bad checksum": ("CKSUM-02", [iut(packets.spoil(IUT.packet(Type.KEEPALIVE)))]),
    "no checksum": ("CKSUM-01", [iut(b"\0\0" + IUT.packet(Type.KEEPALIVE)[2:])]),
    "an unknown type": ("WIRE-03", [says(12)]),
    "a long KEEPALIVE": ("WIRE-06", [says(Type.KEEPALIVE, b"\0\0\0\0")]),
    "a Length beyond the packet": ("WIRE-04", [iut(packets.seal(IUT.packet(2)[:4] + b"\0\x10" + IUT.packet(2)[6:]))]),
    "another version byte": ("WIRE-02", [iut(Forge(3, IUT_PORT, TESTER_PORT).packet(Type.KEEPALIVE))]),
    "a string without NUL": ("WIRE-07", [says(Type.ABORT, b"abcd")]),
    "an unreadable CONTROL": ("WIRE-12", [says(Type.CONTROL, b"\3\0\0\1\0\0\0\0")]),
}


def test_a_conforming_receiver_violates_nothing() -> None:
    assert watch(PASSIVE_RECEIVER, RECEIVES_WELL) == []


def at_one_moment(*steps: Step) -> list[str]:
    """The requirements violated when a third of a millisecond lies between these steps, on a real link."""
    monitor = Monitor(Session(PASSIVE_RECEIVER, TESTER_PORT, IUT_PORT, 0, real_time=True, tolerances=DEFAULT))
    show(monitor, [*setup(PASSIVE_RECEIVER), *steps], 0, 333)
    monitor.finish()
    return [violation.requirement for violation in monitor.violations]


QUEUE_IN_PARTS = [tells(go(1, 0)), tells(go(2, 1))]


def after_a_while(steps: list[Step]) -> list[Step]:
    """Steps after so many packets of the tester that a new moment begins."""
    pause = [given(TESTER.packet(Type.KEEPALIVE))] * (DEFAULT.crossing_us // 333 + 1)
    return [*pause, *steps]


def test_a_queue_in_parts_that_come_at_one_moment_leaves_nothing_out() -> None:
    assert at_one_moment(*QUEUE_IN_PARTS) == []
    assert at_one_moment(*QUEUE_IN_PARTS, *after_a_while(QUEUE_IN_PARTS)) == []
    crossed = [QUEUE_IN_PARTS[0], acked(1), QUEUE_IN_PARTS[1]]
    assert at_one_moment(*QUEUE_IN_PARTS, *after_a_while(crossed)) == []


def test_a_queue_that_goes_out_twice_at_one_moment_leaves_nothing_out() -> None:
    """A timer and a new message may call for it at once."""
    again = [tells(go(1, 0)), acked(1), tells(go(2, 1)), tells(go(3, 2))]
    assert "CTRL-04" not in at_one_moment(*QUEUE_IN_PARTS, *after_a_while([*QUEUE_IN_PARTS, *again]))
    whole, cut = tells(go(1, 0), go(2, 1)), tells(go(2, 1))
    assert "CTRL-04" in at_one_moment(whole, *after_a_while([whole, cut]))


def test_two_controls_of_one_moment_leave_something_out_where_one_would_have_held_both() -> None:
    """How much fits shows in any CONTROL of the connection, also in a later one."""
    whole = tells(go(1, 0), go(2, 1))
    assert at_one_moment(*QUEUE_IN_PARTS, *after_a_while([whole])) == ["CTRL-04"]
    assert at_one_moment(whole, *after_a_while(QUEUE_IN_PARTS)) == ["CTRL-04"]


def test_a_queue_in_parts_of_a_number_of_messages_or_of_bytes_leaves_nothing_out() -> None:
    """Stimulus: three messages in two CONTROLs, cut by their number, and by the bytes of a long one."""
    long = resend(2, 0, *range(30))
    by_number = [gives(0, 0, 0), tells(go(1, 0), long), acked(2), tells(go(3, 1), go(4, 2)), tells(go(5, 3))]
    assert "CTRL-04" not in at_one_moment(*by_number)
    by_bytes = [gives(0, 0, 0), tells(go(1, 0)), tells(long), acked(2)]
    assert "CTRL-04" not in at_one_moment(*by_bytes, *after_a_while([tells(go(3, 1), go(4, 2))]))
    assert "CTRL-04" in at_one_moment(*by_bytes, *after_a_while([tells(go(3, 1), resend(4, 0, *range(30)))]))


def test_a_long_queue_with_each_of_its_messages_is_judged_in_time() -> None:
    """Stimulus: 512 GOs of one moment, each with the whole queue, in CONTROLs of at most 128 messages."""
    gos, most = [go(n + 1, n) for n in range(512)], 128
    queues = [gos[: n + 1] for n in range(len(gos))]
    began = time.process_time()
    steps = [tells(*queue[i : i + most]) for queue in queues for i in range(0, len(queue), most)]
    assert "CTRL-04" not in watch(PASSIVE_RECEIVER, steps, step_us=0)
    assert time.process_time() - began < 20


def test_new_messages_that_come_alone_at_one_moment_do_not_excuse_what_is_left_out_later() -> None:
    assert at_one_moment(*QUEUE_IN_PARTS, *after_a_while([tells(go(2, 1))])) == ["CTRL-04"]
    provoked = [tells(go(1, 0)), acked(0), tells(go(2, 1))]
    found = at_one_moment(tells(go(1, 0)), *after_a_while(provoked), *after_a_while([tells(go(2, 1))]))
    assert found == ["CTRL-04"]


def connection_after(steps: list[Step]) -> tuple[Monitor, Monitor]:
    """Monitors of a connection with these steps, and of the next one between the same ports, with its OPEN sent."""
    session = Session(PASSIVE_RECEIVER, TESTER_PORT, IUT_PORT, DELAY_US, real_time=False, tolerances=DEFAULT)
    earlier = Monitor(session)
    show(earlier, setup(PASSIVE_RECEIVER) + steps, 0)
    later = Monitor(
        Session(PASSIVE_RECEIVER, TESTER_PORT, IUT_PORT, DELAY_US, real_time=False, tolerances=DEFAULT), earlier
    )
    show(later, setup(PASSIVE_RECEIVER)[:1], len(steps) + 2)
    return earlier, later


def test_a_done_that_arrives_in_the_setup_of_the_next_connection_belongs_to_the_finished_one() -> None:
    earlier, later = connection_after(RECEIVES_WELL[:-1])
    show(later, [says(Type.DONE)], 20)
    assert (earlier.violations, later.violations) == ([], [])
    earlier, later = connection_after([])
    show(later, [says(Type.DONE)], 20)
    assert [violation.requirement for violation in earlier.violations] == ["CLOSE-01"], "it is judged there"


def test_a_done_behind_the_response_of_the_next_connection_is_judged_as_its_own() -> None:
    _, later = connection_after(RECEIVES_WELL)
    show(later, [*setup(PASSIVE_RECEIVER)[1:], says(Type.DONE)], 20)
    assert [violation.requirement for violation in later.violations] == ["CLOSE-01"]


@pytest.mark.parametrize("fault", RECEIVER_FAULTS)
def test_a_fault_of_a_receiver_is_seen(fault: str) -> None:
    requirement, steps = RECEIVER_FAULTS[fault]
    assert requirement in watch(PASSIVE_RECEIVER, steps)


def test_a_number_that_begins_again_is_no_repetition_of_what_was_acknowledged() -> None:
    """CTRL-02. Stimulus: both messages are acknowledged; then number 1 is a GO for a third buffer, and again that of
    the first one, which is a repetition (CTRL-05)."""
    steps = [tells(go(1, 0), go(2, 1)), acked(2)]
    assert watch(PASSIVE_RECEIVER, [*steps, tells(go(1, 2))]) == ["CTRL-02"]
    assert watch(PASSIVE_RECEIVER, [*steps, tells(go(1, 0))]) == ["CTRL-05"]


@pytest.mark.parametrize("fault", ["GO behind the last buffer", "RESEND of what is there"])
def test_what_was_decided_before_the_data_came_is_no_fault(fault: str) -> None:
    """It may have waited for other messages to travel with."""
    requirement, steps = RECEIVER_FAULTS[fault]
    assert requirement not in watch(PASSIVE_RECEIVER, steps, CROSSES_US)


def test_a_request_that_waited_for_others_may_name_what_came_meanwhile() -> None:
    """AMB-69: a new message may leave when the earlier ones are acknowledged, or with them."""
    began = [tells(go(1, 0), go(2, 1)), gives(0, 1, 0), gives(0, 0, 0)]
    late = resend(3, 0, 0)
    assert "RESEND-01" not in watch(PASSIVE_RECEIVER, [*began, tells(go(1, 0), go(2, 1), late)])
    assert "RESEND-01" in watch(PASSIVE_RECEIVER, [*began, acked(2), tells(late)])
    monitor = Monitor(Session(PASSIVE_RECEIVER, TESTER_PORT, IUT_PORT, DELAY_US, real_time=False, tolerances=DEFAULT))
    show(monitor, [*setup(PASSIVE_RECEIVER), *began], 0)
    at_once = 2 * DELAY_US
    show(monitor, [acked(2), tells(late)], 10 * STEP_US // at_once, at_once)
    assert monitor.violations == []


@pytest.mark.parametrize(("waited_us", "found"), [(2 * DELAY_US, []), (LONG_US, ["RESEND-01"])])
def test_a_request_may_leave_out_what_an_acknowledged_one_still_brings(waited_us: int, found: list[str]) -> None:
    data = bytes(64)
    terms = dataclasses.replace(TERMS, buffer_size=4 * len(data), packet_size=len(data), flags=1)
    last = gives(0, 3, 1, type=Type.LDATA, data=data)
    steps = [
        given(TESTER.opening(Type.OPEN, terms)),
        iut(IUT.opening(Type.RESPONSE, terms)),
        *(tells(go(1, 0)), acked(1), last, tells(resend(2, 0, 0, 1, 2)), acked(2)),
    ]
    monitor = Monitor(Session(PASSIVE_RECEIVER, TESTER_PORT, IUT_PORT, DELAY_US, real_time=False, tolerances=DEFAULT))
    show(monitor, steps, 0)
    show(monitor, [tells(resend(3, 0, 2))], 1, (len(steps) - 1) * STEP_US + waited_us)
    monitor.finish()
    assert [one.requirement for one in monitor.violations if one.requirement == "RESEND-01"] == found


@pytest.mark.parametrize(("buffers", "requirement"), [((0,), "WIRE-04"), ((0, 1), "RESEND-01")])
def test_a_request_for_data_with_padding_accuses_the_length_until_such_data_are_taken(
    buffers: tuple[int, ...], requirement: str
) -> None:
    """A receiver that drops them lists them rightly; one that has taken such data before does not."""
    given_short = [[gives(buffer, 0, 2), gives(buffer, 1, 2, data=b"abc")] for buffer in buffers]
    taken = [tells(go(1, 0), go(2, 1)), acked(2), *given_short[0], *([tells(ok(3, 0))] if len(buffers) > 1 else [])]
    rest = [step for steps in given_short[1:] for step in steps]
    found = watch(PASSIVE_RECEIVER, [*taken, *rest, tells(resend(3 + len(rest) // 2, buffers[-1], 1))])
    assert [name for name in found if name in {"WIRE-04", "RESEND-01"}] == [requirement]


def test_a_cause_is_not_judged_where_what_it_explains_is_not() -> None:
    """A case that provokes RESEND-01 sends data that a receiver may drop, whatever follows after their Length."""
    monitor = Monitor(Session(PASSIVE_RECEIVER, TESTER_PORT, IUT_PORT, DELAY_US, real_time=False, tolerances=DEFAULT))
    monitor.disabled.add("RESEND-01")
    padded = [gives(0, 0, 2), gives(0, 1, 2, data=b"abc")]
    show(monitor, [*setup(PASSIVE_RECEIVER), tells(go(1, 0), go(2, 1)), acked(2), *padded, tells(resend(3, 0, 1))], 0)
    assert "WIRE-04" not in {violation.requirement for violation in monitor.violations}


def test_a_second_open_request_for_other_packets_is_a_warning() -> None:
    """AMB-31: a receiver requests each hole when it sees it. One that names a packet again is a failure."""
    holes = [tells(go(1, 0)), gives(0, 1, 1), tells(resend(2, 0, 0)), gives(0, 3, 1)]

    def verdicts(second: Message) -> list[Verdict]:
        found = violations(PASSIVE_RECEIVER, [*holes, tells(resend(2, 0, 0), second)])
        return [violation.verdict for violation in found if violation.requirement == "RESEND-06"]

    assert verdicts(resend(3, 0, 2)) == [Verdict.WARN]
    assert verdicts(resend(3, 0, 0, 2)) == [Verdict.FAIL]


def test_thousands_of_requests_for_one_packet_each_are_judged_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stimulus: of a buffer only the LDATA has come, and each RESEND names one packet and is acknowledged at once."""
    count = 3000
    monkeypatch.setitem(globals(), "TERMS", dataclasses.replace(TERMS, buffer_size=4 * (count + 1)))
    steps = [tells(go(1, 0)), gives(0, count, 1, type=Type.LDATA, data=bytes(4))]
    for seq in range(2, count + 2):
        steps += [tells(resend(seq, 0, seq - 2)), acked(seq)]
    began = time.process_time()
    watch(PASSIVE_RECEIVER, steps, step_us=20)
    assert time.process_time() - began < 10


def test_a_request_in_two_parts_of_one_moment_is_one_request() -> None:
    """AMB-33: how long a list may be is for the receiver to decide."""
    parts = tells(resend(3, 1, 0), resend(4, 1, 1))
    assert watch(PASSIVE_RECEIVER, [tells(go(1, 0), go(2, 1)), acked(2), parts, gives(1, 0, 4), gives(1, 1, 4)]) == []


def test_whoever_confirms_the_last_buffer_has_no_excuse_for_another_go() -> None:
    last = [tells(go(1, 1)), gives(1, 0, 1), gives(1, 1, 1)]
    assert "DATA-10" in watch(PASSIVE_RECEIVER, [*last, tells(ok(2, 1), go(3, 2))], CROSSES_US)


# ---- a sending implementation ----

STARTED = [ctrl(go(1, 0), go(2, 1))]
FIRST_PASS = [*STARTED, sends(0, 0, 2), sends(0, 1, 2), sends(1, 0, 2)]
SENDS_WELL = [*FIRST_PASS, ctrl(resend(3, 0, 1)), sends(0, 1, 3), sends(1, 1, 3), ctrl(ok(4, 0), ok(5, 1)), acks(5)]

SENDER_FAULTS: dict[str, tuple[str, list[Step]]] = {
    "data without GO": ("DATA-01", [sends(0, 0, 0)]),
    "an acknowledgement of nothing": ("CTRL-06", [acks(1)]),
    "the acknowledgement falls": ("CTRL-06", [*STARTED, acks(2), acks(1)]),
    "data without the acknowledgement of their GO": ("CTRL-06", [*STARTED, sends(0, 0, 0)]),
    "an acknowledgement behind a hole": ("CTRL-07", [ctrl(go(1, 0)), ctrl(go(3, 2)), acks(3)]),
    "a short DATA": ("DATA-03", [*STARTED, sends(0, 0, 2, data=b"ab")]),
    "a DATA that fills its buffer": ("DATA-04", [*STARTED, sends(0, 0, 2), sends(0, 1, 2, type=Type.DATA)]),
    "two LDATA": ("DATA-04", [*STARTED, sends(0, 1, 2), sends(0, 0, 2, type=Type.LDATA)]),
    "a number outside the buffer": ("DATA-05", [*STARTED, sends(0, 5, 2)]),
    "the flag on half a buffer": ("DATA-09", [*STARTED, sends(0, 0, 2), sends(0, 1, 2, flags=1)]),
    "a repeat without request": ("DATA-13", [*FIRST_PASS, sends(0, 0, 2)]),
    "a repeat that was not listed": ("RESEND-02", [*FIRST_PASS, ctrl(resend(3, 0, 1)), sends(0, 0, 3)]),
    "a request served twice": ("CTRL-09", [*FIRST_PASS, ctrl(resend(3, 0, 1)), sends(0, 1, 3), sends(0, 1, 3)]),
    "a repair with other data": ("RESEND-03", [*FIRST_PASS, ctrl(resend(3, 0, 0)), sends(0, 0, 3, data=b"zzzz")]),
    "progress before repairs": ("ORDER-02", [*FIRST_PASS, ctrl(resend(3, 0, 0)), sends(1, 1, 3), sends(0, 0, 3)]),
    "a later buffer first": ("ORDER-01", [*STARTED, sends(1, 0, 2), sends(0, 0, 2)]),
    "LDATA first": ("ORDER-03", [*STARTED, sends(0, 1, 2), sends(0, 0, 2)]),
    "an answer to ABORT": ("ABORT-02", [given(TESTER.reason(Type.ABORT, "")), iut(IUT.reason(Type.ABORT, ""))]),
    "data behind its own QUIT": ("QUIT-05", [*STARTED, iut(IUT.reason(Type.QUIT, "")), sends(0, 0, 2)]),
    "data after QUIT": ("QUIT-05", [*STARTED, given(TESTER.reason(Type.QUIT, "")), sends(0, 0, 2)]),
}


def test_a_conforming_sender_violates_nothing() -> None:
    assert watch(PASSIVE_SENDER, SENDS_WELL) == []


@pytest.mark.parametrize("fault", SENDER_FAULTS)
def test_a_fault_of_a_sender_is_seen(fault: str) -> None:
    requirement, steps = SENDER_FAULTS[fault]
    assert requirement in watch(PASSIVE_SENDER, steps)


def test_one_copy_serves_every_request_that_its_sender_acknowledges() -> None:
    """ORDER-02: a second request for a packet that is on its way need not be served by a second copy."""
    twice = [ctrl(resend(3, 0, 0)), ctrl(resend(4, 0, 0))]
    assert watch(PASSIVE_SENDER, [*FIRST_PASS, *twice, sends(0, 0, 4), sends(1, 1, 4)]) == []
    behind = watch(PASSIVE_SENDER, [*FIRST_PASS, *twice, sends(0, 0, 3), sends(1, 1, 4), sends(0, 0, 4)])
    assert behind == ["ORDER-02"], "the second request was not known when the copy left"


def test_a_repair_that_never_comes_is_late_for_no_order() -> None:
    """RESEND-02 judges it. No order is wrong where the request for another buffer is served."""
    assert watch(PASSIVE_SENDER, [*FIRST_PASS, ctrl(resend(3, 0, 0)), sends(1, 1, 3)]) == []


@pytest.mark.parametrize(
    ("later", "expected"),
    [(sends(0, 1, 3), []), (sends(1, 1, 3), ["RESEND-02"])],
    ids=["the other packet", "a packet of another buffer"],
)
def test_a_request_is_served_as_slowly_as_the_sender_likes_while_its_packets_come(
    later: Step, expected: list[str]
) -> None:
    """RFC 998 has no least pace. Stimulus: a request for two packets, of which the first comes within the time and the
    second as long after it as the first one took, or one of another buffer instead."""
    watched = [*FIRST_PASS, ctrl(resend(3, 0, 0, 1)), sends(0, 0, 3), later, acks(3), acks(3)]
    found = [one.requirement for one in violations(PASSIVE_SENDER, watched, SLOW_US)]
    assert [one for one in found if one == "RESEND-02"] == expected


def test_what_is_left_of_a_request_is_due_from_the_newest_packet_of_any_request_on() -> None:
    """The sender serves the lowest numbers of all requests first. Stimulus: while one of two packets is still to come,
    the other one is requested again, and is sent a second time first. A packet each second."""
    watched = [*FIRST_PASS, ctrl(resend(3, 0, 0, 1)), sends(0, 0, 3), ctrl(resend(4, 0, 0)), sends(0, 0, 4)]
    for last, expected in ((sends(0, 1, 4), []), (acks(4), ["RESEND-02"])):
        found = [one.requirement for one in violations(PASSIVE_SENDER, [*watched, acks(4), last, acks(4)], SECOND_US)]
        assert [one for one in found if one == "RESEND-02"] == expected


ABORTED, QUITTED = given(TESTER.reason(Type.ABORT, "")), given(TESTER.reason(Type.QUIT, ""))


@pytest.mark.parametrize("end", [ABORTED, QUITTED], ids=["ABORT", "QUIT"])
def test_an_end_that_is_not_believed_because_its_sender_transfers_on_is_no_fault(end: Step) -> None:
    """AMB-73: any host can send an ABORT or a QUIT."""
    replied = [says(Type.QUITACK)] if end is QUITTED else []
    assert watch(PASSIVE_SENDER, [*STARTED, end, *replied, ctrl(go(1, 0), go(2, 1)), sends(0, 0, 2)]) == []
    silent = watch(PASSIVE_SENDER, [*STARTED, end, *replied, given(TESTER.packet(Type.KEEPALIVE)), sends(0, 0, 2)])
    assert silent == ["QUIT-05" if end is QUITTED else "ABORT-02"], "a KEEPALIVE is no transfer"


@pytest.mark.parametrize(("late", "expected"), [(True, []), (False, ["ABORT-02"])])
def test_a_copy_that_comes_after_the_end_may_be_answered_with_abort(*, late: bool, expected: list[str]) -> None:
    """AMB-55: it is a packet of no connection then."""
    monitor = Monitor(Session(PASSIVE_SENDER, TESTER_PORT, IUT_PORT, DELAY_US, real_time=False, tolerances=DEFAULT))
    before = [*setup(PASSIVE_SENDER), *STARTED, ABORTED]
    show(monitor, before, 0)
    if late:
        monitor.came_late()
    show(monitor, [iut(IUT.reason(Type.ABORT, "no such connection"))], len(before))
    monitor.finish()
    assert [one.requirement for one in monitor.violations] == expected


def test_a_null_ack_of_an_ok_reports_a_pair() -> None:
    zeros = iut(IUT.null_ack(5, 0, 0))
    began = [*FIRST_PASS, ctrl(resend(3, 0, 1)), sends(0, 1, 3), sends(1, 1, 3)]
    assert watch(PASSIVE_SENDER, [*began, ctrl(ok(4, 0), ok(5, 1)), zeros]) == ["CTRL-11"]
    assert watch(PASSIVE_SENDER, [ctrl(go(1, 0), go(2, 1)), iut(IUT.null_ack(2, 0, 0))]) == []


def test_the_pair_in_force_is_that_of_the_ok_with_the_highest_number_in_whatever_order_they_come() -> None:
    """AMB-36: the tester offers half of the agreed pace in OK #4, the agreed one in OK #5, and sends #5 first."""
    slow, fast = dataclasses.replace(ok(4, 0), burst_interval_ms=20), ok(5, 1)
    began = [*FIRST_PASS, ctrl(resend(3, 0, 1)), sends(0, 1, 3), sends(1, 1, 3)]
    assert watch(PASSIVE_SENDER, [*began, ctrl(fast), ctrl(slow, fast), acks(5)]) == []
    assert watch(PASSIVE_SENDER, [*began, ctrl(fast), ctrl(slow), acks(4)]) == []
    fast_first = [ctrl(dataclasses.replace(fast, seq=4)), ctrl(dataclasses.replace(slow, seq=5))]
    assert watch(PASSIVE_SENDER, [*began, *fast_first, acks(5)]) == ["CTRL-11"]


@pytest.mark.parametrize("version", [1, 3])
def test_an_abort_for_no_connection_may_have_another_version_than_the_connection_had(version: int) -> None:
    """AMB-01: that of the packet that it answers (the tester's have version 1 after the end), or its emitter's own."""
    late = given(Forge(1, TESTER_PORT, IUT_PORT).packet(Type.KEEPALIVE))
    answer = iut(Forge(version, IUT_PORT, TESTER_PORT).reason(Type.ABORT, "no such connection"))
    assert watch(PASSIVE_SENDER, [*STARTED, ABORTED, late, answer]) == []


def test_an_active_end_sends_nothing_of_a_transfer_before_the_response_to_its_open() -> None:
    """Stimulus: a RESPONSE with another unique ID."""
    terms = dataclasses.replace(TERMS, flags=1)
    opening = [iut(IUT.opening(Type.OPEN, terms)), given(TESTER.opening(Type.RESPONSE, terms)), ctrl(go(1, 0))]
    other = given(TESTER.opening(Type.RESPONSE, dataclasses.replace(terms, unique_id=10)))

    def found(*steps: Step) -> list[str]:
        monitor = Monitor(Session(ACTIVE_SENDER, TESTER_PORT, IUT_PORT, DELAY_US, real_time=False, tolerances=DEFAULT))
        show(monitor, [*steps, acks(1)], 0)
        return [one.requirement for one in monitor.violations]

    assert found(*opening) == []
    assert found(opening[0], other, opening[2]) == ["OPEN-01"]


def test_a_control_before_the_connection_is_open_is_not_to_be_acknowledged() -> None:
    """Stimulus: the first CONTROL comes before the RESPONSE that opens the connection of an active sender, and is
    repeated after it. Legal outcome: no acknowledgement before, one of the GO after that."""
    terms = dataclasses.replace(TERMS, flags=1)
    opening = [iut(IUT.opening(Type.OPEN, terms)), ctrl(go(1, 0))]
    opened = [*opening, given(TESTER.opening(Type.RESPONSE, terms))]
    monitor = Monitor(Session(ACTIVE_SENDER, TESTER_PORT, IUT_PORT, DELAY_US, real_time=False, tolerances=DEFAULT))
    show(monitor, [*opened, acks(0)], 0, 2_000_000)
    assert monitor.violations == []
    show(monitor, [ctrl(go(1, 0)), acks(0)], 4, 2_000_000)
    assert "CTRL-06" in [one.requirement for one in monitor.violations]


@pytest.mark.parametrize(
    ("acknowledges", "expected"),
    [(gives(0, 0, 2), []), (gives(0, 5, 2), []), (gives(0, 1, 2, data=b""), ["CTRL-05"]), (acked(2), ["CTRL-05"])],
    ids=["a copy", "a number outside the buffer", "the end of the buffer", "NULL-ACK"],
)
def test_an_acknowledgement_in_data_of_no_use_need_not_be_used(acknowledges: Step, expected: list[str]) -> None:
    """AMB-60. Stimulus: the first packet of a buffer, then an acknowledgement. Legal outcome of data that the receiver
    has, or that no buffer holds: the GOs are repeated."""
    steps = [tells(go(1, 0), go(2, 1)), gives(0, 0, 0), acknowledges, tells(go(1, 0), go(2, 1))]
    assert watch(PASSIVE_RECEIVER, steps) == expected


def test_packets_that_come_when_they_are_asked_for_may_have_been_left_out() -> None:
    """AMB-72: the LDATA too."""
    left_out = [*STARTED, sends(0, 0, 2), sends(1, 1, 2), ctrl(resend(3, 0, 1), resend(4, 1, 0))]
    assert watch(PASSIVE_SENDER, [*left_out, sends(0, 1, 4), sends(1, 0, 4), ctrl(ok(5, 0), ok(6, 1)), acks(6)]) == []


def test_a_wrong_data_checksum_is_told_with_its_packet_and_both_values() -> None:
    odd = sends(0, 1, 2, data=b"abc", data_checksum=0x9D9D)  # the last byte was forgotten
    reasons = [
        v.judgement.seen
        for v in violations(PASSIVE_SENDER, [*STARTED, odd], data_checksum=True)
        if v.requirement == "CKSUM-04"
    ]
    good = packets.data_checksum(b"abc\0")
    assert reasons == [
        f"LDATA(buffer 0, packet 1, ack 2) has the Data Area Checksum 0x9d9d, its 3 bytes give 0x{good:04x}"
    ]


BOTH_BUFFERS = [sends(0, 0, 2), sends(0, 1, 2), sends(1, 0, 2), sends(1, 1, 2)]


@pytest.mark.parametrize(
    ("steps", "requirement"),
    [
        pytest.param([ctrl(go(1, 0)), acks(1), ctrl(go(2, 1)), acks(1), acks(1)], "CTRL-06", id="a message of its own"),
        pytest.param([*STARTED, acks(1), acks(1)], "CTRL-12", id="in one CONTROL with one that is acknowledged"),
        pytest.param(
            [*STARTED, *BOTH_BUFFERS, ctrl(go(3, 2)), acks(2), acks(2)],
            "CTRL-15",
            id="a GO for which there are no data",
        ),
    ],
)
def test_a_message_that_is_passed_over_accuses_the_rule_that_it_comes_under(
    steps: list[Step], requirement: str
) -> None:
    found = [
        one.requirement for one in violations(PASSIVE_SENDER, steps, LONG_US) if "long after" in one.judgement.seen
    ]
    assert found == [requirement]


ALL_DATA = bytes([0, 0, 7, 7, 0, 1, 7, 7]) + b"abcdefgh"
SHORT_LDATA = sends(1, 0, 2, type=Type.LDATA, data=b"ab", flags=0)
SHORT_DATA = sends(1, 0, 2, type=Type.DATA, data=b"ab", flags=1)


@pytest.mark.parametrize(
    ("short", "data", "requirement"),
    [
        pytest.param(SHORT_LDATA, ALL_DATA[:10], "DATA-09", id="LDATA ends the data: the flag is missing"),
        pytest.param(SHORT_LDATA, ALL_DATA[:16], "DATA-02", id="data are left: the buffer is short"),
        pytest.param(SHORT_LDATA, None, "DATA-02", id="LDATA, and nobody knows how many bytes there are"),
        pytest.param(SHORT_DATA, ALL_DATA[:10], "DATA-04", id="DATA ends the data: LDATA is due"),
        pytest.param(SHORT_DATA, ALL_DATA[:12], "DATA-03", id="data are left: the packet is short"),
        pytest.param(SHORT_DATA, None, "DATA-03", id="DATA, and nobody knows how many bytes there are"),
    ],
)
def test_what_is_wrong_with_a_short_packet_depends_on_whether_it_ends_the_data(
    short: Step, data: bytes | None, requirement: str
) -> None:
    found = violations(PASSIVE_SENDER, [*STARTED, sends(0, 0, 2), sends(0, 1, 2), short], data=data)
    assert [one.requirement for one in found] == [requirement]


IN_PLACE = [sends(0, 0, 2), sends(0, 1, 2), sends(1, 0, 2, data=b"abcd")]


@pytest.mark.parametrize(
    ("steps", "found"),
    [
        pytest.param([*IN_PLACE, sends(1, 1, 2, data=b"efgh")], [], id="the data of the client"),
        pytest.param([*IN_PLACE, sends(1, 1, 2, data=b"efg")], [], id="less than all: another requirement"),
        pytest.param([*IN_PLACE, sends(1, 1, 2, data=b"abcd")], ["DATA-08"], id="data of another place"),
        pytest.param([sends(1, 0, 2, data=b"efgh")], ["DATA-08"], id="one of several packets, before others"),
        pytest.param([sends(0, 0, 2, data=b"00")], ["DATA-03"], id="another size: no place is known"),
        pytest.param([ctrl(go(3, 9)), sends(1, 0, 2, data=b"efgh")], [], id="GOs that leave numbers out"),
    ],
)
def test_data_packets_hold_the_data_of_the_client_each_byte_in_its_place(steps: list[Step], found: list[str]) -> None:
    seen = violations(PASSIVE_SENDER, [*STARTED, *steps], data=ALL_DATA)
    assert [one.requirement for one in seen] == found


def test_one_fault_in_many_packets_is_told_once() -> None:
    many = [Violation(Check("DATA-03", "right data", "packet {n}"), (("n", n),), n) for n in range(3)]
    one = Violation(Check("DATA-03", "right data", "another verdict", Verdict.WARN), (), 9)
    first, other = told_once([*many, one])
    assert (first.judgement.seen, first.frame, other) == ("packet 0", 0, one)
    assert first.notes == (Note(Remark.ALIKE, count=2),)


def test_progress_while_the_request_is_still_under_way_is_no_violation() -> None:
    # The acknowledgement shows that the RESEND had not arrived when buffer 1 went on.
    assert watch(PASSIVE_SENDER, [*FIRST_PASS, ctrl(resend(3, 0, 0)), sends(1, 1, 2), sends(0, 0, 3)]) == []


def test_packets_of_the_tester_with_a_bad_checksum_count_for_nothing() -> None:
    spoilt = given(packets.spoil(TESTER.control([go(1, 0)])))
    assert "DATA-01" in watch(PASSIVE_SENDER, [spoilt, sends(0, 0, 1)])


@pytest.mark.parametrize(
    ("field", "value", "requirement"),
    [
        ("buffer_size", 9, "NEG-01"),
        ("packet_size", 5, "NEG-02"),
        ("burst_size", 9, "NEG-03"),
        ("burst_interval_ms", 9, "NEG-04"),
        ("max_buffers", 3, "NEG-05"),
        ("max_buffers", 0, "NEG-05"),
        ("unique_id", 8, "OPEN-02"),
        ("flags", 1, "NEG-07"),
        ("flags", 4, "WIRE-09"),
        ("max_buffers", 1, "OPEN-07"),
    ],
)
def test_a_response_that_does_not_fit_its_open_is_seen(field: str, value: int, requirement: str) -> None:
    answer = iut(IUT.opening(Type.RESPONSE, dataclasses.replace(TERMS, **{field: value})))  # type: ignore[arg-type]
    assert requirement in watch(PASSIVE_SENDER, [answer])


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"burst_size": 4, "burst_interval_ms": 20}, Verdict.WARN),
        ({"burst_interval_ms": 5}, Verdict.WARN),  # faster than proposed, as an OK may offer
        ({"burst_size": 4, "max_buffers": 1}, Verdict.FAIL),
    ],
)
def test_a_copy_of_the_response_after_an_ok_may_have_another_pair(changed: dict[str, int], expected: Verdict) -> None:
    """AMB-63. Stimulus: the OPEN is repeated in the middle of the transfer. RFC 998 5.1 asks for another RESPONSE, and
    section 4 has the pair renegotiated after each buffer."""
    terms = dataclasses.replace(TERMS, **changed)  # type: ignore[arg-type]
    again = [given(TESTER.opening(Type.OPEN, TERMS)), iut(IUT.opening(Type.RESPONSE, terms))]
    early = violations(PASSIVE_SENDER, [*STARTED, *again])
    late = violations(PASSIVE_SENDER, [*FIRST_PASS, ctrl(ok(3, 0)), *again])
    assert {one.verdict for one in early if one.requirement == "OPEN-07"} == {Verdict.FAIL}, "nothing was renegotiated"
    assert {one.verdict for one in late if one.requirement == "OPEN-07"} == {expected}


def test_more_packets_than_the_pace_allows_are_seen() -> None:
    monitor = Monitor(Session(PASSIVE_SENDER, TESTER_PORT, IUT_PORT, DELAY_US, real_time=False, tolerances=DEFAULT))
    monitor.session.response = TERMS
    for number in range(17):  # two bursts of 8 may meet, a third one must not
        monitor.received(packets.read(sends(0, number, 1).packet), 1_000_000 + number, number)
        found = {violation.requirement for violation in monitor.violations}
        assert ("RATE-01" in found) == (number >= 16)


@pytest.mark.parametrize(("version", "found"), [(2, ["QUIT-05"]), (9, [])])
def test_a_quit_of_another_version_than_the_connection_has_need_not_be_believed(version: int, found: list[str]) -> None:
    """AMB-01: an implementation may discard packets of another version."""
    quits = given(Forge(version, TESTER_PORT, IUT_PORT).reason(Type.QUIT, "enough"))
    transfers = [ctrl(go(1, 0)), quits, sends(0, 0, 1), sends(0, 1, 1)]
    assert sorted({one for one in watch(PASSIVE_SENDER, transfers) if one.startswith("QUIT")}) == found
