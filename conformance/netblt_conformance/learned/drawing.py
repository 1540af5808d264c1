# SPDX-License-Identifier: GPL-2.0-or-later
"""Draws a machine as SVG: a column for each length of the shortest access sequences. Graphviz is not needed."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from netblt_conformance.learned.machine import Machine, arrows

COLUMN, ROW, RADIUS, EDGE = 110, 58, 16, 40  # all in pixels


@dataclass(frozen=True, slots=True)
class Node:
    state: int
    x: int
    y: int
    title: str


@dataclass(frozen=True, slots=True)
class Arrow:
    """From one state to another; the table shows those from a state to itself."""

    source: int
    to: int
    path: str  # of SVG
    title: str
    is_first: bool  # the first way to the state, by which its access sequence ends


@dataclass(frozen=True, slots=True)
class Drawing:
    width: int
    height: int
    nodes: tuple[Node, ...]
    arrows: tuple[Arrow, ...]
    radius: int = RADIUS


def draw(machine: Machine) -> Drawing:
    access = machine.access()
    columns: dict[int, list[int]] = defaultdict(list)
    for state, word in enumerate(access):
        columns[len(word)].append(state)
    tallest = max(len(states) for states in columns.values())
    nodes = {}
    for depth, states in columns.items():
        above = (tallest - len(states)) * ROW // 2
        for place, state in enumerate(states):
            title = f"state {state}: {', '.join(access[state]) or 'the first state'}"
            nodes[state] = Node(state, EDGE + depth * COLUMN, EDGE + above + place * ROW, title)
    found = []
    for (source, to), labels in arrows(machine).items():
        if source != to:
            first = bool(access[to]) and machine.after(access[to][:-1]) == source
            title = f"{source} to {to}\n" + "\n".join(labels)
            found.append(Arrow(source, to, _path(nodes[source], nodes[to]), title, first))
    width = 2 * EDGE + COLUMN * max(columns)
    return Drawing(width, 2 * EDGE + ROW * (tallest - 1), tuple(nodes.values()), tuple(found))


def _path(source: Node, to: Node) -> str:
    """A curve that bends more the farther it goes back, so that the two directions between two states differ."""
    bend = 20 if to.x > source.x else -40
    middle_x, middle_y = (source.x + to.x) // 2, (source.y + to.y) // 2 - bend
    return f"M{source.x},{source.y} Q{middle_x},{middle_y} {to.x},{to.y}"
