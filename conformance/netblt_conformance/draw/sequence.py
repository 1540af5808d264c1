# SPDX-License-Identifier: GPL-2.0-or-later
"""A time-sequence plot: each DATA packet at the moment at which it left, RESENDs and OKs at the moment at which the
sender of the data got them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from netblt_conformance.packets.packets import Kind
from netblt_conformance.trace.model import Event, Fate, Trace

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_SIZE_INCHES = (7.6, 3.9)
Point = tuple[float, float]
# What a dot is of: name, marker, colour.
_SENT = ("DATA, first time", ".", "#1f5fa8")
_AGAIN = ("DATA, again", "o", "#c8401f")
_LOST = ("lost on the way", "x", "#111111")
_RESENT = ("RESEND arrives", "^", "#c8401f")
_CONFIRMED = ("OK arrives", "s", "#2f8f4e")
Dots = dict[tuple[str, str, str], list[Point]]


def _width(events: Sequence[Event]) -> int:
    """Packets in a buffer, as the trace shows them."""
    return 1 + max((event.packet.packet for event in events if event.packet.is_data), default=0)


def _data(event: Event, where: Callable[[int, int], float]) -> Iterator[tuple[tuple[str, str, str], Point]]:
    if event.sent_ns is None:
        return
    at = event.sent_ns / 1e6, where(event.packet.buffer, event.packet.packet)
    yield (_AGAIN if event.repeated else _SENT), at
    if event.fate is Fate.LOST:
        yield _LOST, at


def _control(event: Event, where: Callable[[int, int], float]) -> Iterator[tuple[tuple[str, str, str], Point]]:
    if event.arrived_ns is None:
        return
    at_ms = event.arrived_ns / 1e6
    for message in event.packet.messages:
        if message.kind is Kind.RESEND:
            for packet in message.packets:
                yield _RESENT, (at_ms, where(message.buffer, packet))
        elif message.kind is Kind.OK:
            yield _CONFIRMED, (at_ms, where(message.buffer + 1, 0))


def dots(events: Sequence[Event]) -> Dots:
    """Milliseconds and places of all dots, by what they are of. The place of a packet is its buffer's number and the
    part of the buffer before it."""
    width = _width(events)
    found: Dots = {}

    def where(buffer: int, packet: int) -> float:
        return buffer + packet / width

    for event in events:
        if event.copy_of is None and not event.foreign:
            for kind, point in (_data if event.packet.is_data else _control)(event, where):
                found.setdefault(kind, []).append(point)
    return found


def sequence(_trace: Trace, events: Sequence[Event], title: str = "") -> Figure:
    """Draws these events. The axis to the left counts buffers, with a line where each begins."""
    from matplotlib.figure import Figure as NewFigure
    from matplotlib.ticker import MaxNLocator

    made = NewFigure(figsize=_SIZE_INCHES, layout="constrained")
    axes = made.subplots()
    for (name, marker, colour), points in dots(events).items():
        xs, ys = zip(*points, strict=True)
        axes.plot(xs, ys, marker, color=colour, label=name, markersize=4, linestyle="none")
    axes.yaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel("ms")
    axes.set_ylabel("buffer")
    axes.grid(axis="y", color="#e4e4e4")
    axes.spines[["top", "right"]].set_visible(False)
    if title:
        axes.set_title(title, loc="left", fontsize=10, fontweight="bold")
    axes.legend(loc="best", fontsize=8, frameon=False)
    return made
