# SPDX-License-Identifier: GPL-2.0-or-later
"""A Trace as one object of JSON: what a page needs to draw the ladder and the plot of one result, and its texts."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from netblt_conformance.catalogue import catalogue
from netblt_conformance.common.verdicts import Origin, Result
from netblt_conformance.packets.captures import BrokenCaptureError
from netblt_conformance.trace import build
from netblt_conformance.trace.excuses import excuses
from netblt_conformance.trace.frames import Frame, frames
from netblt_conformance.trace.labels import kind_of, label, values
from netblt_conformance.trace.model import End, Event, Position, Trace
from netblt_conformance.trace.state import state

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
SWEPT = "10.0.0.1"  # the implementation in the captures that a sweep leaves
_US = 1000  # nanoseconds
# Of a capture with more events than PLOT_EVENTS so many before and after the deciding one are shown without a gap, and
# of the others about PLOT_EVENTS.
WINDOW = 150
# Where captures are made, as check --captured-at names it.
SENDER, RECEIVER, PATH = "sender", "receiver", "path"
PLOT_EVENTS = 3000


def packets(trace: Trace, frame: int | None) -> dict[str, Any]:
    """The part of the object that a capture gives. `frame` decides."""
    deciding = trace.index_of(frame)
    kept, window = _kept(len(trace.events), deciding)
    events = [trace.events[number] for number in kept]
    first, last = window
    before, after = sum(number < first for number in kept), sum(number >= last for number in kept)
    return {
        "ends": [_end(end) for end in trace.ends],
        "position": str(trace.position),
        "terms": asdict(trace.terms),
        "notes": list(trace.notes),
        "fields": list(FIELDS),
        "events": [_row(event) for event in events],
        "messages": {
            str(place): [values(message) for message in event.packet.messages]
            for place, event in enumerate(events)
            if event.packet.messages
        },
        # Between these places in `events` nothing is left out.
        "window": [before, len(events) - after],
        "left_out": {"before": first - before, "after": len(trace.events) - last - after},
        "deciding": kept.index(deciding) if deciding >= 0 else -1,
        "deciding_frame": frame or 0,
    }


def _kept(total: int, deciding: int) -> tuple[list[int], tuple[int, int]]:
    """The numbers of the events that are shown, and the bounds of those that are shown without a gap. Of a large
    capture the others are thinned out evenly."""
    middle = deciding if deciding >= 0 else total - 1
    first, last = max(0, middle - WINDOW), min(total, middle + WINDOW + 1)
    if total <= PLOT_EVENTS:
        first, last = 0, total
    outside = [*range(first), *range(last, total)]
    step = -(-len(outside) // PLOT_EVENTS) or 1
    return sorted([*outside[::step], *range(first, last)]), (first, last)


def _end(end: End) -> dict[str, Any]:
    address = f"[{end.address}]" if ":" in end.address else end.address
    return {"name": f"{address}:{end.port}", "sends_data": end.sends_data, "under_test": end.under_test}


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
        packet.high_seq if packet.acks else None,
        len(packet.raw),
        label(packet),
        [line for remark in event.remarks for line in remark.splitlines()],
    ]


def _us(moment_ns: int | None) -> float | int | None:
    if moment_ns is None:
        return None
    return moment_ns // _US if moment_ns % _US == 0 else moment_ns / _US


def connection_filter(trace: Trace) -> str:
    """Wireshark's display filter for the connection."""
    first, second = trace.ends
    if not first.address:
        return "netblt"
    ports = f"netblt.port == {first.port} && netblt.port == {second.port}"
    layer = "ipv6" if ":" in first.address else "ip"
    return f"{layer}.addr == {first.address} && {layer}.addr == {second.address} && {ports}"


def expected_text(result: Result) -> str:
    """What had to come: as the result states, else what the requirement demands."""
    return result.expected or catalogue.demand(result.due_by or result.requirement)


@dataclass(slots=True)
class _Capture:
    """The capture that was read last: results of one capture follow each other."""

    name: str
    frames: list[Frame]
    paired: bool = False
    by_frame: dict[int, Trace] = field(default_factory=dict)  # of connections that were requested
    longest: Trace | None = None


class Reader:
    """Reads what happened in the captures of the results of one run, which lie in `folder`. `delay_ns`: what a packet
    takes one way, on a link in virtual time; None: real time. `pair`: the captures of both ends of one path.
    `captured_at`: where the others were made (SENDER, RECEIVER, PATH); empty: not known."""

    def __init__(
        self,
        folder: Path,
        delay_ns: int | None = None,
        pair: tuple[str, str] | None = None,
        captured_at: str = "",
    ) -> None:
        self._folder = folder
        self._captured_at = captured_at
        self._pair = pair
        self._delay_ns = delay_ns
        self._latest = _Capture("", [])

    def trace(self, result: Result) -> Trace | None:
        """What happened in the connection that a result is about; None: it has no capture that can be read."""
        capture = self._capture(result.capture or "")
        known = capture.by_frame.get(result.frame) if result.frame else capture.longest
        trace = known or self._read(capture, result)
        return _with_accused(trace, accused_address(result)) if trace.events else None

    def of_result(self, result: Result) -> dict[str, Any] | None:
        """What a page shows of the capture of a result; None: it has none that can be read."""
        trace = self.trace(result)
        if trace is None:
            return None
        return {
            **packets(trace, result.frame),
            "state": _state(trace, result.frame),
            "excuses": excuses(result, trace),
            "filter": connection_filter(trace),
        }

    def _capture(self, name: str) -> _Capture:
        if self._latest.name != name:
            try:
                captured = build.read(self._folder / name)
            except (BrokenCaptureError, OSError):
                captured = []
            self._latest = _Capture(name, frames(captured), build.is_pair(captured))
        return self._latest

    def _read(self, capture: _Capture, result: Result) -> Trace:
        deciding = result.frame or 0
        trace = self._two_points(capture, deciding)
        if trace is None:
            delay_ns = self._delay_ns if result.origin is not Origin.SWEEP else None
            trace = build.of_frames(capture.frames, deciding, delay_ns=delay_ns)
            place = _place(trace, self._captured_at)
            if place is not trace.position and trace.position is not Position.BOTH:
                trace = build.of_frames(capture.frames, deciding, delay_ns=delay_ns, place=place)
        if not deciding:
            capture.longest = trace
        for event in trace.events:
            if not event.foreign:
                capture.by_frame |= dict.fromkeys(trace.frames_of(event), trace)
        return trace

    def _two_points(self, capture: _Capture, deciding: int) -> Trace | None:
        """Few captures have a second point: what pairs them, and needs a library, is imported for those."""
        if self._pair is not None and capture.name in self._pair:
            from netblt_conformance.trace.pair import of_files

            first, second = (self._folder / name for name in self._pair)
            return of_files(first, second, deciding, self._pair.index(capture.name))
        if not capture.paired:
            return None
        from netblt_conformance.trace.pair import of_interfaces

        return of_interfaces(self._folder / capture.name, deciding)


def _state(trace: Trace, frame: int | None) -> list[dict[str, Any]]:
    """Of the end under test at the deciding frame; where no frame decided, at the end of the capture."""
    accused, at = trace.accused, trace.index_of(frame)
    if accused is None:
        return []
    if frame:
        return state(trace, accused, at)
    tables = state(trace, accused, len(trace.events) - 1)
    return [{**table, "title": f"{table['title']}, before the last packet"} for table in tables]


def _place(trace: Trace, captured_at: str) -> Position:
    """Where a capture was made that was made at an end of this role."""
    if captured_at == PATH:
        return Position.BETWEEN
    for place, end in zip((Position.FIRST, Position.SECOND), trace.ends, strict=True):
        if captured_at in (SENDER, RECEIVER) and end.sends_data is (captured_at == SENDER):
            return place
    return trace.position


def _with_accused(trace: Trace, address: str) -> Trace:
    """With the end of this address as the one under test, if it is one of them."""
    if address not in {end.address for end in trace.ends}:
        return trace
    first, second = (replace(end, under_test=end.address == address) for end in trace.ends)
    return replace(trace, ends=(first, second))


def accused_address(result: Result) -> str:
    """The address of the implementation that the result is about, where its captures have several."""
    if result.origin is Origin.SWEEP:
        return SWEPT
    return result.role.partition(" ")[0]  # of a check: "10.0.0.1 receiver"
