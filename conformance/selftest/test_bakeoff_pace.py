# SPDX-License-Identifier: GPL-2.0-or-later
"""The mean pace of senders in a bakeoff (RATE-01)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from netblt_conformance.bakeoff.judging import outcome
from netblt_conformance.bakeoff.model import (
    LISTENER_ADDRESS,
    OPENER_ADDRESS,
    PATHS,
    TRANSFER,
    Completion,
    Implementation,
    Meeting,
    Outcome,
    Pair,
    Played,
)
from netblt_conformance.bakeoff.pace import TooFast, too_fast
from netblt_conformance.bakeoff.scorecard import LAWFUL, earned
from netblt_conformance.common.model import Encapsulation
from netblt_conformance.judges.tshark import Tshark
from netblt_conformance.packets.packets import Kind, Message, Packet, Type
from netblt_conformance.simlib import Flakeway, IutLibrary, IutParams, PcapngWriter, run_pair
from netblt_conformance.trace.model import End, Event, Fate, Known, Position, Terms, Trace
from selftest.faulty import faulty_library

SENDER, RECEIVER = 0, 1
PACKETS, BURST, INTERVAL_MS = 122, 5, 20


def event(source: int, packet: Packet, frame: int, when_us: float) -> Event:
    return Event(source, packet, frame, round(when_us * 1000), frame, None, Fate.ARRIVED, Known.CAPTURED)


def sent(moments_us: Sequence[float], offers: Sequence[tuple[int, int]] = (), interval_ms: int = INTERVAL_MS) -> Trace:
    """Data packets at these moments, after OKs with these pairs of burst size and burst interval."""
    oks = [Message(Kind.OK, 1 + at, at, size, interval) for at, (size, interval) in enumerate(offers)]
    events = [event(RECEIVER, Packet(b"", type=Type.CONTROL, messages=tuple(oks)), 1, 0)]
    events += [
        event(SENDER, Packet(b"", type=Type.DATA, packet=at), 2 + at, moment) for at, moment in enumerate(moments_us)
    ]
    ends = End(OPENER_ADDRESS, 1, True), End(LISTENER_ADDRESS, 2, False)
    return Trace(ends, Position.BOTH, Terms(burst_size=BURST, burst_interval_ms=interval_ms), tuple(events))


def paced(times: float = 1, packets: int = PACKETS) -> list[float]:
    """Bursts at so many times the agreed pace."""
    return [at // BURST * INTERVAL_MS * 1000 / times for at in range(packets)]


def held(moments: Sequence[float], until_us: float) -> list[float]:
    """What the machine delivers late, all at once."""
    return [max(moment, until_us) for moment in moments]


def test_a_sender_that_ignores_the_pace_is_named_with_its_packets() -> None:
    found = too_fast(sent(paced(6)), SENDER, 0)
    assert str(found) == "117 data packets in 77 ms (frames 7 to 123); 5 each 20 ms permit 25"


@pytest.mark.parametrize(
    "trace",
    [
        sent(paced()),
        sent(paced(1.4)),
        sent(held(paced(), 100_000)),
        sent(paced(6), offers=[(1, 100), (30, 20)]),
        sent(paced(6), offers=[(0, 3)]),
        sent(paced(6), offers=[(5, 0)]),
        sent(paced(6), interval_ms=0),
        sent(paced(1000, packets=59)),
        replace(sent(paced(6)), terms=Terms()),
    ],
    ids=[
        "the agreed pace",
        "a little faster",
        "held up by the machine for 100 ms",
        "another OK offers larger bursts",
        "an OK offers a shorter interval, and no size",
        "an OK offers the interval 0",
        "the interval 0 was agreed",
        "too few packets",
        "what was agreed was not captured",
    ],
)
def test_a_sender_is_not_accused_of_what_may_be_permitted(trace: Trace) -> None:
    assert too_fast(trace, SENDER, 0) is None


def test_a_fast_part_of_a_long_transfer_is_found() -> None:
    slow = paced(packets=400)
    fast = [slow[-1] + moment for moment in paced(6)]
    found = too_fast(sent([*slow, *fast]), SENDER, 0)
    assert found is not None
    assert 2 + 390 < found.first_frame < found.last_frame <= 2 + 400 + PACKETS


def test_what_was_captured_late_excuses_as_much_and_no_more() -> None:
    trace = sent(held(paced(), 250_000))
    assert isinstance(too_fast(trace, SENDER, 0), TooFast)
    assert too_fast(trace, SENDER, 250_000) is None
    assert isinstance(too_fast(sent(paced(6)), SENDER, 50_000), TooFast)


@pytest.mark.parametrize("change", [{"source": RECEIVER}, {"copy_of": 0}, {"foreign": True}, {"sent_ns": None}])
def test_only_what_the_sender_sent_once_counts(change: dict[str, object]) -> None:
    trace = sent(paced(6))
    changed = tuple(
        replace(one, **change) if number % 4 else one  # type: ignore[arg-type]
        for number, one in enumerate(trace.events)
    )
    assert too_fast(replace(trace, events=changed), SENDER, 0) is None


# ---- meetings ----


A, B = Implementation("a", Path("a.toml")), Implementation("b", Path("b.toml"))


def meeting_of(library: Path, folder: Path, path: str) -> Outcome:
    """A transfer from the library to itself in virtual time, judged as a meeting of a with b."""
    opener = IutParams(
        active=True,
        sender=True,
        burst_size=BURST,
        burst_interval_ms=INTERVAL_MS,
        local_address=OPENER_ADDRESS,
        foreign_address=LISTENER_ADDRESS,
    )
    core, capture = IutLibrary(library), PcapngWriter()
    ends = core.start(opener, bytes(TRANSFER.data_bytes)), core.start(opener.peer())
    run_pair(*ends, Flakeway(1, *PATHS[path].rules), capture=capture)
    file = folder / "meeting.pcapng"
    capture.save(file)
    meeting = Meeting(Pair(A, B, opener_sends=True), PATHS[path], Encapsulation.IP, 1)
    with Tshark() as tshark:
        return outcome(meeting, Played(Completion.COMPLETED, intact=True), file, tshark)


@pytest.mark.parametrize("path", PATHS)
def test_the_reference_keeps_to_the_pace_on_every_path(built_library: Path, tmp_path: Path, path: str) -> None:
    assert meeting_of(built_library, tmp_path, path).proven == ()


def test_a_sender_that_ignores_the_pace_loses_its_points(tmp_path: Path) -> None:
    found = meeting_of(faulty_library(tmp_path, "pace-ignored"), tmp_path, "clean")
    (violation,) = found.proven
    assert (violation.implementation, violation.role, violation.requirement) == ("a", "sender", "RATE-01")
    assert violation.frame is not None
    assert not found.holds
    assert [dict(earned(one, found))[LAWFUL] for one in (A, B)] == [False, True]
