# SPDX-License-Identifier: GPL-2.0-or-later
"""A ladder diagram: both ends, and an arrow for each packet between them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from netblt_conformance.draw.layout import Layout, Place, layout
from netblt_conformance.packets.packets import Kind, Type
from netblt_conformance.trace.labels import label
from netblt_conformance.trace.model import Event, Fate, Trace

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH = 560.0  # points
ROW_OF_TITLE = 18.0
_HEAD = 34.0  # above the first packet: the names of the ends
_LEFT, _RIGHT = 66.0, WIDTH - 66.0
_POINTS_PER_INCH = 72
_CHARACTER = 4.6  # points
_SMALL = 7.5
_DATA, _CONTROL, _RESEND, _OPENS, _ENDS, _OTHER = "#1f5fa8", "#2f8f4e", "#c8401f", "#8a4fa0", "#b8860b", "#555555"
_LOST = "#c8401f"
_OF_TYPE = {Type.OPEN: _OPENS, Type.RESPONSE: _OPENS}
_OF_TYPE |= dict.fromkeys((Type.QUIT, Type.QUITACK, Type.ABORT, Type.DONE, Type.REFUSED), _ENDS)


def ladder(trace: Trace, events: Sequence[Event], title: str = "") -> Figure:
    """Draws these events of the trace."""
    from matplotlib.figure import Figure as NewFigure

    placed = layout(events)
    height = _HEAD + placed.height + (ROW_OF_TITLE if title else 0)
    made = NewFigure(figsize=(WIDTH / _POINTS_PER_INCH, height / _POINTS_PER_INCH))
    axes = made.add_axes((0, 0, 1, 1))
    axes.set_xlim(0, WIDTH)
    axes.set_ylim(placed.height, placed.height - height)
    axes.set_axis_off()
    if title:
        axes.text(WIDTH / 2, -_HEAD - 2, title, ha="center", fontsize=10, fontweight="bold")
    _ends(axes, trace, placed)
    for event, place in zip(events, placed.places, strict=True):
        _packet(axes, event, place)
    _times(axes, events, placed)
    return made


def _ends(axes: Axes, trace: Trace, placed: Layout) -> None:
    for number, (end, x) in enumerate(zip(trace.ends, (_LEFT, _RIGHT), strict=True)):
        work = {True: "sends data", False: "receives data", None: ""}[end.sends_data]
        how = "active" if number == 0 else "passive"
        axes.text(x, -20, f"{end.address} port {end.port}", ha="center", fontsize=8.5, fontweight="bold")
        axes.text(x, -10, f"{how}, {work}" if work else how, ha="center", fontsize=_SMALL, color="#555555")
        axes.plot([x, x], [-4, placed.height], color="#888888", linewidth=1.2)
    for pause in placed.pauses:
        words = f"{pause.ns / 1e6:,.0f} ms without packets"
        axes.text(WIDTH / 2, pause.height + 2, words, ha="center", fontsize=_SMALL, color="#777777", style="italic")


def colour(event: Event) -> str:
    """By the type of the packet; a CONTROL with a RESEND has a colour of its own."""
    packet = event.packet
    if packet.is_data:
        return _DATA
    if packet.type is Type.CONTROL:
        return _RESEND if any(message.kind is Kind.RESEND for message in packet.messages) else _CONTROL
    return _OF_TYPE.get(packet.type, _OTHER) if packet.type else _OTHER


def _marks(event: Event) -> str:
    words = []
    if event.repeated:
        words.append("again")
    if event.copy_of is not None:
        words.append("copy")
    if event.late:
        words.append("late")
    if event.fate is Fate.LOST:
        words.append("lost")
    if event.fate is Fate.DAMAGED:
        words.append("damaged")
    return f" [{', '.join(words)}]" if words else ""


def _packet(axes: Axes, event: Event, place: Place) -> None:
    begin, end = (_LEFT, _RIGHT) if event.source == 0 else (_RIGHT, _LEFT)
    if event.copy_of is not None:
        begin = (begin + end) / 2
    drawn = colour(event)
    if event.fate is Fate.LOST:
        stop = begin + (end - begin) * 0.5
        axes.plot([begin, stop], [place.leaves, place.leaves + (place.arrives - place.leaves) / 2], color=drawn, lw=1)
        axes.plot(stop, (place.leaves + place.arrives) / 2, "x", color=_LOST, markersize=8, markeredgewidth=2)
    else:
        style = "--" if event.fate is Fate.UNKNOWN or event.copy_of is not None else "-"
        arrow = {"arrowstyle": "-|>,head_length=0.5,head_width=0.18", "color": drawn, "lw": 1, "ls": style}
        arrow |= {"shrinkA": 0, "shrinkB": 0}
        axes.annotate("", xy=(end, place.arrives), xytext=(begin, place.leaves), arrowprops=arrow)
    room = int((abs(end - begin) - 12) / _CHARACTER)
    words = label(event.packet)
    marks = _marks(event)
    if len(words) + len(marks) > room:
        words = f"{words[: room - len(marks) - 1]}…"
    side = 6 if begin < end else -6
    axes.text(
        begin + side,
        place.leaves - 2.5,
        words + marks,
        ha="left" if begin < end else "right",
        fontsize=8,
        color=drawn,
        fontweight="bold" if event.repeated else "normal",
        bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.75, "pad": 0.4},
    )


def _times(axes: Axes, events: Sequence[Event], placed: Layout) -> None:
    """The moment at which each packet leaves, beside the end that sends it."""
    last = [-ROW_OF_TITLE, -ROW_OF_TITLE]
    for event, place in zip(events, placed.places, strict=True):
        if event.sent_ns is None or event.copy_of is not None or place.leaves - last[event.source] < _SMALL + 1:
            continue
        last[event.source] = place.leaves
        x, where = (_LEFT - 6, "right") if event.source == 0 else (_RIGHT + 6, "left")
        text = f"{event.sent_ns / 1e6:.1f} ms"
        axes.text(x, place.leaves + 2.5, text, ha=where, fontsize=_SMALL, color="#777777")
