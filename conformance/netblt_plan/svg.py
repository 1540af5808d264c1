# SPDX-License-Identifier: GPL-2.0-or-later
"""Charts as SVG, written by hand: axes with round ticks, lines, steps, dots and bars. No dependency."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from html import escape

WIDTH, HEIGHT = 720, 320
_LEFT, _RIGHT, _TOP, _BOTTOM = 70, 16, 44, 46
_TICKS = 6
_FONT = "font-family='sans-serif' font-size='12'"
COLOURS = ("#1f5fa8", "#c8401f", "#2f8f4e", "#8a4fa0", "#b8860b", "#555555")

Point = tuple[float, float]


@dataclasses.dataclass(slots=True)
class Series:
    """`kind`: line, step, dots, or bars (each bar from the point's x to x + width at y)."""

    name: str
    points: Sequence[Point]
    colour: str
    kind: str = "line"
    radius: float = 1.5
    width: float = 0.0


def ticks(low: float, high: float, count: int = _TICKS) -> list[float]:
    """Round numbers that cover [low, high]: steps of 1, 2 or 5 times a power of ten."""
    if not high > low:
        return [low]
    raw = (high - low) / count
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= raw * 0.999)
    first = math.ceil(low / step - 1e-9)
    return [round(i * step, 12) for i in range(first, math.floor(high / step + 1e-9) + 1)]


class Chart:
    def __init__(self, title: str, x_label: str, y_label: str, series: Sequence[Series], y_low: float = 0.0) -> None:
        self.title, self.x_label, self.y_label = title, x_label, y_label
        self.series = [one for one in series if one.points]
        xs = [end for one in self.series for x, _ in one.points for end in (x, x + one.width)] or [0.0, 1.0]
        ys = [y for one in self.series for _, y in one.points] or [0.0, 1.0]
        self.x_low, self.x_high = min(xs), max(xs) if max(xs) > min(xs) else min(xs) + 1
        top, bottom = max(ys), min(ys)
        self.y_low = y_low if bottom >= y_low else bottom - 0.06 * (top - bottom)
        self.y_high = top + 0.06 * (top - self.y_low) if top > self.y_low else self.y_low + 1

    def _x(self, x: float) -> float:
        return _LEFT + (x - self.x_low) / (self.x_high - self.x_low) * (WIDTH - _LEFT - _RIGHT)

    def _y(self, y: float) -> float:
        return HEIGHT - _BOTTOM - (y - self.y_low) / (self.y_high - self.y_low) * (HEIGHT - _TOP - _BOTTOM)

    def _axes(self) -> list[str]:
        parts = []
        for tick in ticks(self.x_low, self.x_high):
            x = self._x(tick)
            parts.append(f"<line x1='{x:.1f}' x2='{x:.1f}' y1='{_TOP}' y2='{HEIGHT - _BOTTOM}' stroke='#e4e4e4'/>")
            parts.append(f"<text x='{x:.1f}' y='{HEIGHT - _BOTTOM + 16}' text-anchor='middle'>{tick:g}</text>")
        for tick in ticks(self.y_low, self.y_high):
            y = self._y(tick)
            parts.append(f"<line x1='{_LEFT}' x2='{WIDTH - _RIGHT}' y1='{y:.1f}' y2='{y:.1f}' stroke='#e4e4e4'/>")
            parts.append(f"<text x='{_LEFT - 6}' y='{y + 4:.1f}' text-anchor='end'>{tick:g}</text>")
        middle = (_TOP + HEIGHT - _BOTTOM) / 2
        parts.append(f"<path d='M{_LEFT},{_TOP}V{HEIGHT - _BOTTOM}H{WIDTH - _RIGHT}' fill='none' stroke='#444'/>")
        parts.append(
            f"<text x='{(_LEFT + WIDTH) / 2}' y='{HEIGHT - 8}' text-anchor='middle'>{escape(self.x_label)}</text>"
        )
        label = f"<text x='16' y='{middle}' text-anchor='middle' transform='rotate(-90 16 {middle})'>"
        parts.append(f"{label}{escape(self.y_label)}</text>")
        return parts

    def _legend(self) -> list[str]:
        parts, x = [f"<text x='{_LEFT}' y='16' font-weight='bold'>{escape(self.title)}</text>"], float(_LEFT)
        for one in self.series:
            parts.append(f"<rect x='{x}' y='26' width='10' height='10' fill='{one.colour}'/>")
            parts.append(f"<text x='{x + 14}' y='35'>{escape(one.name)}</text>")
            x += 26 + 6.8 * len(one.name)
        return parts

    def _marks(self, one: Series) -> str:
        at = [(self._x(x), self._y(y)) for x, y in one.points if math.isfinite(y)]
        if one.kind == "dots":
            shape = "".join(f"M{x:.1f},{y:.1f}h0" for x, y in at)
            width = 2 * one.radius
            return (
                f"<path d='{shape}' stroke='{one.colour}' stroke-width='{width}' stroke-linecap='round' fill='none'/>"
            )
        if one.kind == "bars":
            base = self._y(max(0.0, self.y_low))
            width = max(1.0, one.width / (self.x_high - self.x_low) * (WIDTH - _LEFT - _RIGHT))
            return "".join(
                f"<rect x='{x:.1f}' y='{min(y, base):.1f}' width='{width:.1f}' height='{abs(base - y):.1f}' "
                f"fill='{one.colour}'/>"
                for x, y in at
            )
        path = f"M{at[0][0]:.1f},{at[0][1]:.1f}" if at else ""
        for x, y in at[1:]:
            path += f"H{x:.1f}V{y:.1f}" if one.kind == "step" else f"L{x:.1f},{y:.1f}"
        return f"<path d='{path}' fill='none' stroke='{one.colour}' stroke-width='1.5'/>"

    def text(self) -> str:
        parts = [
            f"<svg xmlns='http://www.w3.org/2000/svg' width='{WIDTH}' height='{HEIGHT}' "
            f"viewBox='0 0 {WIDTH} {HEIGHT}' {_FONT}>",
            f"<title>{escape(self.title)}</title>",
            "<rect width='100%' height='100%' fill='white'/>",
            *self._axes(),
            *(self._marks(one) for one in self.series),
            *self._legend(),
            "</svg>",
        ]
        return "\n".join(parts) + "\n"
