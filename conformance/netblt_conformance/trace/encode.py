# SPDX-License-Identifier: GPL-2.0-or-later
"""A Trace as one object of JSON: what a page needs to draw the ladder and the plot of one result, and its texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from netblt_conformance.catalogue import catalogue
from netblt_conformance.common.verdicts import Origin, Result
from netblt_conformance.packets.captures import BrokenCaptureError, CapturedPacket
from netblt_conformance.packets.packets import Kind, Message, Packet, Type
from netblt_conformance.trace import build
from netblt_conformance.trace.model import End, Event, Trace

FIELDS = (
    "source",
    "kind",
    "sent_frame",
    "sent_us",
    "arrived_frame",
    "arrived_us",
    "fate",
    "known",
    "marks",
    "buffer",
    "packet",
    "high_seq",
    "bytes",
    "label",
    "remarks",
)
# Events before and after the deciding one of which none is left out.
WINDOW = 150
# Of those outside of the window so many are kept for the plot.
PLOT_EVENTS = 3000
UNREADABLE = "?"
SWEPT = "10.0.0.1"  # the implementation in the captures that a sweep leaves
_US = 1000  # nanoseconds
_LISTED = 8  # packets of a RESEND in a label


def detail(
    trace: Trace,
    deciding_frame: int | None,
    *,
    expected: str = "",
    observed: str = "",
    excuses: Sequence[str] = (),
    state: Sequence[dict[str, Any]] = (),
    capture: str = "",
    command: str = "",
    schedule: str = "",
    tree: str = "",
) -> dict[str, Any]:
    """The object. `tree`: the deciding frame as tshark decodes it; `command` repeats the case."""
    deciding = index_of(trace, deciding_frame)
    kept, first, last = _kept(trace, deciding)
    events = [trace.events[number] for number in kept]
    before = sum(number < first for number in kept)
    return {
        "ends": [_end(end) for end in trace.ends],
        "position": str(trace.position),
        "terms": asdict(trace.terms),
        "notes": [*trace.notes, *_thinned(trace, kept)],
        "fields": list(FIELDS),
        "events": [_row(event) for event in events],
        "messages": {
            str(place): [_message(message) for message in event.packet.messages]
            for place, event in enumerate(events)
            if event.packet.messages
        },
        "deciding": kept.index(deciding) if deciding >= 0 else -1,
        "deciding_frame": deciding_frame or 0,
        # Between these places in `events` nothing is left out.
        "window": [before, before + last - first],
        "left_out": {
            "before": first - before,
            "after": len(trace.events) - last - (len(kept) - before - (last - first)),
        },
        "state": list(state),
        "expected": expected,
        "observed": observed,
        "excuses": list(excuses),
        "tree": tree,
        "filter": display_filter(trace),
        "capture": capture,
        "command": command,
        "schedule": schedule,
    }


def index_of(trace: Trace, frame: int | None) -> int:
    """The event of a frame, which may be where it left or where it arrived; -1: there is none."""
    if not frame:
        return -1
    for number, event in enumerate(trace.events):
        if frame in (event.sent_frame, event.arrived_frame) and event.copy_of is None:
            return number
    return next((n for n, event in enumerate(trace.events) if event.arrived_frame == frame), -1)


def _kept(trace: Trace, deciding: int) -> tuple[list[int], int, int]:
    """The numbers of the events that are shown, and the bounds of those that are shown without a gap."""
    total = len(trace.events)
    middle = deciding if deciding >= 0 else total - 1
    first, last = max(0, middle - WINDOW), min(total, middle + WINDOW + 1)
    if total <= 2 * WINDOW:
        return list(range(total)), 0, total
    outside = [*range(first), *range(last, total)]
    step = -(-len(outside) // PLOT_EVENTS) or 1
    chosen = outside[::step]
    return sorted([*chosen, *range(first, last)]), first, last


def _thinned(trace: Trace, kept: Sequence[int]) -> list[str]:
    if len(kept) == len(trace.events):
        return []
    return [
        f"the capture has {len(trace.events)} packets of this connection; of those far from the deciding one, "
        "some are left out, evenly"
    ]


def _end(end: End) -> dict[str, Any]:
    address = f"[{end.address}]" if ":" in end.address else end.address
    return {"name": f"{address}:{end.port}", "sends_data": end.sends_data, "under_test": end.under_test}


def kind_of(packet: Packet) -> str:
    """The type as RFC 998 writes it."""
    if packet.type is None or packet.error is not None:
        return UNREADABLE
    return packet.type.name.replace("_", "-")


def _row(event: Event) -> list[Any]:
    packet = event.packet
    marks = "L" * event.late + "R" * event.repeated + "C" * (event.copy_of is not None)
    return [
        event.source,
        kind_of(packet),
        event.sent_frame or 0,
        _us(event.sent_ns),
        event.arrived_frame or 0,
        _us(event.arrived_ns),
        str(event.fate),
        str(event.known),
        marks,
        packet.buffer,
        packet.packet,
        packet.high_seq,
        len(packet.data) if packet.is_data else len(packet.raw),
        label(packet),
        list(event.remarks),
    ]


def _us(moment_ns: int | None) -> float | int | None:
    if moment_ns is None:
        return None
    return moment_ns // _US if moment_ns % _US == 0 else moment_ns / _US


def label(packet: Packet) -> str:
    """What stands at an arrow of the ladder."""
    kind = kind_of(packet)
    if kind == UNREADABLE:
        return str(packet)
    if packet.is_data:
        last = " L" if packet.last_buffer else ""
        return f"{kind} {packet.buffer}/{packet.packet} hs {packet.high_seq}{last}"
    if packet.type is Type.NULL_ACK:
        return f"{kind} hs {packet.high_seq}"
    if packet.type is Type.CONTROL:
        return ", ".join(map(message_text, packet.messages)) or "CONTROL without messages"
    return str(packet) if packet.string else kind


def message_text(message: Message) -> str:
    """GO 5#2: a GO for buffer 5 with sequence number 2."""
    text = f"{message.kind.name} {message.buffer}#{message.seq}"
    if message.kind is Kind.RESEND:
        listed = ",".join(map(str, message.packets[:_LISTED]))
        more = ",..." if len(message.packets) > _LISTED else ""
        return f"{text} ({listed}{more})"
    return text


def _message(message: Message) -> list[Any]:
    if message.kind is Kind.RESEND:
        values = list(message.packets)
    elif message.kind is Kind.OK:
        values = [message.burst_size, message.burst_interval_ms, message.control_timer_ms]
    else:
        values = []
    return [message.kind.name, message.seq, message.buffer, values]


def display_filter(trace: Trace) -> str:
    """Wireshark's filter for the connection."""
    first, second = trace.ends
    if not first.address:
        return "netblt"
    ports = f"netblt.port == {first.port} && netblt.port == {second.port}"
    layer = "ipv6" if ":" in first.address else "ip"
    return f"{layer}.addr == {first.address} && {layer}.addr == {second.address} && {ports}"


def expected_text(result: Result) -> str:
    """What had to come: as the result says, else what the requirement demands."""
    if result.expected:
        return result.expected
    known = catalogue.requirements()
    wanted = known.get(result.due_by or result.requirement)
    return f"{wanted.id}: {wanted.requirement}" if wanted is not None else ""


class Reader:
    """Makes the detail objects of the results of one run; captures lie in `folder`. `delay_ns`: what a packet takes one
    way, on a link in virtual time; None: real time."""

    def __init__(self, folder: Path, delay_ns: int | None = None) -> None:
        self._folder = folder
        self._delay_ns = delay_ns
        self._latest: tuple[str, list[CapturedPacket]] | None = None  # results of one capture follow each other

    def of_result(self, result: Result, *, command: str = "", tree: str = "") -> dict[str, Any] | None:
        """The detail object of a result; None: it has no capture that can be read."""
        captured = self._captured(result.capture)
        if not captured:
            return None
        trace = build.build(captured, result.frame or 0, delay_ns=self._delay_ns, under_test=accused_address(result))
        return detail(
            trace,
            result.frame,
            expected=expected_text(result),
            observed=result.seen,
            capture=result.capture or "",
            command=command,
            tree=tree,
        )

    def _captured(self, name: str | None) -> list[CapturedPacket]:
        if not name:
            return []
        if self._latest is None or self._latest[0] != name:
            try:
                self._latest = name, build.read(self._folder / name)
            except (BrokenCaptureError, OSError):
                self._latest = name, []
        return self._latest[1]


def accused_address(result: Result) -> str:
    """The address of the implementation that the result is about, where its captures have several."""
    if result.origin is Origin.SWEEP:
        return SWEPT
    return result.role.partition(" ")[0]  # of a check: "10.0.0.1 receiver"
