# SPDX-License-Identifier: GPL-2.0-or-later
"""Charts: lines, stairs, dots and bars with axes."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

from netblt_conformance.common.pictures import svg

if TYPE_CHECKING:
    from matplotlib.axes import Axes as Axes
    from matplotlib.figure import Figure as Figure

SIZE_INCHES = (7.6, 3.4)
COLOURS = ("#1f5fa8", "#c8401f", "#2f8f4e", "#8a4fa0", "#b8860b", "#555555")

Point = tuple[float, float]


@dataclasses.dataclass(slots=True)
class Series:
    """One line, stair, cloud of dots, or group of bars (each bar from the point's x to x + `width` at y).

    `radius`: of a dot, in points."""

    name: str
    points: Sequence[Point]
    colour: str
    kind: Literal["line", "step", "dots", "bars"] = "line"
    radius: float = 1.5
    width: float = 0.0


def _draw(axes: Axes, one: Series) -> None:
    points = [(x, y) for x, y in one.points if math.isfinite(y)]
    xs, ys = [x for x, _ in points], [y for _, y in points]
    if one.kind == "bars":
        axes.bar(xs, ys, width=one.width, align="edge", color=one.colour, label=one.name)
    elif one.kind == "dots":
        axes.plot(xs, ys, ".", markersize=2 * one.radius, markeredgewidth=0, color=one.colour, label=one.name)
    elif one.kind == "step":
        axes.step(xs, ys, where="post", linewidth=1.2, color=one.colour, label=one.name)
    else:
        axes.plot(xs, ys, linewidth=1.2, color=one.colour, label=one.name)


def draw(axes: Axes, title: str, x_label: str, y_label: str, series: Sequence[Series]) -> None:
    """Draws the series that have points, from zero upwards where no value lies below."""
    shown = [one for one in series if one.points]
    for one in shown:
        _draw(axes, one)
    axes.set_title(title, loc="left", fontweight="bold", fontsize=10)
    axes.set_xlabel(x_label)
    axes.set_ylabel(y_label)
    axes.grid(color="#e4e4e4", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    if all(y >= 0 for one in shown for _, y in one.points):
        axes.set_ylim(bottom=0)
    if len(shown) > 1:
        axes.legend(loc="best", frameon=False, fontsize=8)


def figure(panels: int = 1) -> tuple[Figure, list[Axes]]:
    """An empty figure with `panels` charts, one above the other."""
    from matplotlib.figure import Figure as NewFigure

    width, height = SIZE_INCHES
    made = NewFigure(figsize=(width, height * panels), layout="constrained")
    axes = made.subplots(panels, squeeze=False)
    return made, [axes[i][0] for i in range(panels)]


def chart(title: str, x_label: str, y_label: str, series: Sequence[Series]) -> str:
    """One chart as SVG."""
    made, (axes,) = figure()
    draw(axes, title, x_label, y_label, series)
    return svg(made)


@dataclasses.dataclass(frozen=True, slots=True)
class Chart:
    """What a chart shows, before it is drawn: as SVG here, or by the script of a page."""

    title: str
    x_label: str
    y_label: str
    series: Sequence[Series]

    def svg(self) -> str:
        return chart(self.title, self.x_label, self.y_label, self.series)

    def to_json(self) -> dict[str, Any]:
        """For charts.js. A value that is not finite is no point."""
        series = [
            {
                "name": one.name,
                "kind": one.kind,
                "width": one.width,
                "radius": one.radius,
                "points": [[_short(x), _short(y)] for x, y in one.points if math.isfinite(x) and math.isfinite(y)],
            }
            for one in self.series
        ]
        return {"title": self.title, "x": self.x_label, "y": self.y_label, "series": series}


def _short(value: float) -> float:
    """With the digits that a screen can show."""
    return float(f"{value:.7g}")
