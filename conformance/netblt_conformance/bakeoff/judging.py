# SPDX-License-Identifier: GPL-2.0-or-later
"""The outcome of a meeting that was played: what its clients learned, and what the captures of both sides show."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from netblt_conformance.bakeoff import pace
from netblt_conformance.bakeoff.model import (
    LISTENER_ADDRESS,
    OPENER_ADDRESS,
    Completion,
    Meeting,
    Milestone,
    Outcome,
    Played,
    Violation,
)
from netblt_conformance.check import ends
from netblt_conformance.check.judge import judge
from netblt_conformance.common.errors import JudgeError
from netblt_conformance.common.verdicts import Result, Verdict
from netblt_conformance.judges.tshark import Tshark
from netblt_conformance.packets.captures import BrokenCaptureError, CapturedPacket
from netblt_conformance.packets.ip_layer import ip_packet
from netblt_conformance.packets.packets import DATA_TYPES, Kind, Type
from netblt_conformance.trace import build
from netblt_conformance.trace.model import Event, Trace

_ADDRESSES = OPENER_ADDRESS, LISTENER_ADDRESS
_ENDINGS = (Type.ABORT, Type.REFUSED)
# A machine that held a meeting up for longer than this may have caused what was seen.
HELD_UP_US = 50_000


def outcome(meeting: Meeting, played: Played, capture: Path, tshark: Tshark) -> Outcome:
    completion, why, notes = played.completion, played.why, []
    violations: tuple[Violation, ...] = ()
    try:
        violations, more = _violations(meeting, capture, tshark)
        notes += more
    except JudgeError as error:
        if completion is Completion.COMPLETED:
            completion, why = Completion.ERROR, f"its capture cannot be judged: {error}"
    if played.kernel_drops:
        notes.append(f"the kernel lost {played.kernel_drops} packets before the flakeway, which is not in its rules")
    if played.held_up_us > HELD_UP_US:
        notes.append(f"the machine held processes up for up to {played.held_up_us // 1000} ms")
    captured = _read(capture)
    trace = build.build(captured) if captured else None
    violations += _rate(meeting, trace, played, violations)
    line = line_of(captured)
    return Outcome(
        meeting=meeting,
        completion=completion,
        why=why,
        opener=played.opener,
        listener=played.listener,
        delivered_bytes=played.delivered_bytes,
        line_bytes=line.bytes,
        packets=line.packets,
        transfer_us=transfer_us(trace) if trace is not None else 0,
        seconds=round(played.seconds, 3),
        capture=capture.name if line.packets else "",
        milestones=frozenset(_milestones(trace, played)),
        violations=violations,
        disturbed=played.held_up_us > HELD_UP_US or played.kernel_drops > 0,
        notes=tuple(notes),
    )


# ---- what the path carried ----


@dataclass(frozen=True, slots=True)
class Line:
    """What entered the path from both sides."""

    packets: int = 0
    bytes: int = 0


def _read(capture: Path) -> list[CapturedPacket]:
    """Nothing where the flakeway has left no capture."""
    try:
        return build.read(capture)
    except (BrokenCaptureError, OSError):
        return []


def line_of(captured: Sequence[CapturedPacket]) -> Line:
    """IPv4 packets that entered on the side of their sender: interface 0 is the active end's. Copies that the network
    made do not count."""
    entered = [one for one in captured if _entered(one)]
    return Line(len(entered), sum(one.original_length for one in entered))


def _entered(one: CapturedPacket) -> bool:
    ip = ip_packet(one.interface.link_type, one.data, one.original_length)
    if ip is None or one.interface.number >= len(_ADDRESSES):
        return False
    return bytes(ip.source) == bytes(map(int, _ADDRESSES[one.interface.number].split(".")))


def transfer_us(trace: Trace) -> int:
    """From the first packet to the arrival of the last data packet that brought something new."""
    first: dict[tuple[int | None, int | None], int] = {}
    for event in trace.events:
        if event.packet.type in DATA_TYPES and event.arrived_ns is not None and not event.foreign:
            what = event.packet.buffer, event.packet.packet
            first[what] = min(first.get(what, event.arrived_ns), event.arrived_ns)
    begin = next((event.sent_ns for event in trace.events if event.sent_ns is not None), None)
    return (max(first.values()) - begin) // 1000 if first and begin is not None else 0


# ---- how far it came ----


def _milestones(trace: Trace | None, played: Played) -> Iterable[Milestone]:
    if trace is None:
        return
    events = [event for event in trace.events if not event.foreign]
    arrived = [event for event in events if event.arrived_ns is not None]
    if any(event.source == 1 and event.packet.type == Type.RESPONSE for event in arrived):
        yield Milestone.OPENED
    if any(message.kind is Kind.OK for event in arrived for message in event.packet.messages):
        yield Milestone.BUFFER
    if played.intact and len(_buffers(arrived)) > 1:
        yield Milestone.BUFFERS
    succeeded = all(report is not None and report.succeeded for report in (played.opener, played.listener))
    if succeeded and not any(event.packet.type in _ENDINGS for event in events):
        yield Milestone.CLOSED
    if not played.queue_drops:
        yield Milestone.WITHIN_RATE


def _buffers(events: Iterable[Event]) -> set[int | None]:
    return {event.packet.buffer for event in events if event.packet.type in DATA_TYPES}


# ---- what the captures prove ----


def _violations(meeting: Meeting, capture: Path, tshark: Tshark) -> tuple[tuple[Violation, ...], list[str]]:
    """By each implementation; and what a reader has to know."""
    with ends.of_one_file(capture) as both, capture.open("rb") as file:
        checked = judge(tshark, file, capture.name, ends=both)
    if checked.error:
        raise JudgeError(checked.error)
    found = [_violation(meeting, row) for row in checked.results if row.requirements and row.verdict in _AGAINST]
    return tuple(found), list(both.notes)


def _rate(meeting: Meeting, trace: Trace | None, played: Played, known: Sequence[Violation]) -> tuple[Violation, ...]:
    """By the sender. The plugin leaves it open in captures that were not made at the sender itself."""
    if trace is None or any(one.certain and one.requirement == pace.REQUIREMENT for one in known):
        return ()
    pair = meeting.pair
    found = pace.too_fast(trace, 0 if pair.opener_sends else 1, played.captured_late_us)
    if found is None:
        return ()
    return (Violation(pair.sender.name, "sender", pace.REQUIREMENT, str(found), found.last_frame),)


_AGAINST = (Verdict.FAIL, Verdict.INCONC)


def _violation(meeting: Meeting, row: Result) -> Violation:
    address, _, role = row.role.partition(" ")
    names = dict(zip(_ADDRESSES, (meeting.pair.opener.name, meeting.pair.listener.name), strict=True))
    return Violation(
        implementation=names.get(address, ""),
        role=role,
        requirement=row.requirement,
        text=row.seen,
        frame=row.frame,
        certain=row.verdict is Verdict.FAIL,
    )
