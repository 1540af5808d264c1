# SPDX-License-Identifier: GPL-2.0-or-later
"""The page learned.html: the machine of each role as a drawing and a table, and the differences with their traces."""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import jinja2

from netblt_conformance.common import web
from netblt_conformance.common.words import fit_lines
from netblt_conformance.learned.campaign import Found, Learned
from netblt_conformance.learned.drawing import Drawing, draw
from netblt_conformance.learned.machine import Machine
from netblt_conformance.learned.outputs import NOTHING

ASSETS = Path(__file__).with_name("assets")
NAME = "learned.html"


@dataclass(frozen=True, slots=True)
class Row:
    """One input, or several with the same effect, in one state."""

    inputs: str
    output: str
    to: int


@dataclass(frozen=True, slots=True)
class State:
    number: int
    access: str
    rows: tuple[Row, ...]
    without_effect: str  # inputs that change nothing and that nothing comes of


@dataclass(frozen=True, slots=True)
class Shown:
    """One role."""

    learned: Learned
    drawing: Drawing | None
    states: tuple[State, ...]


def _state(machine: Machine, number: int, access: Sequence[str]) -> State:
    by_effect: dict[tuple[str, int], list[str]] = {}
    for name, step in machine.steps[number].items():
        by_effect.setdefault((step.output, step.to), []).append(name)
    idle = by_effect.pop((NOTHING, number), [])
    rows = tuple(Row(", ".join(names), output, to) for (output, to), names in by_effect.items())
    return State(number, ", ".join(access), rows, ", ".join(idle))


def _shown(one: Learned) -> Shown:
    if one.machine is None:
        return Shown(one, None, ())
    access = one.machine.access()
    states = tuple(_state(one.machine, number, word) for number, word in enumerate(access))
    return Shown(one, draw(one.machine), states)


def write(path: Path, testing: Mapping[str, str], learned: Sequence[Learned], found: Sequence[Found]) -> None:
    """Text of implementations is escaped."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(ASSETS), autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    links = {one.capture: os.path.relpath(one.capture, path.parent) for one in found}
    text = environment.get_template("learned.html.jinja").render(
        testing=testing,
        roles=[_shown(one) for one in learned],
        found=found,
        links=links,
        asset=functools.partial(web.asset, ASSETS),
    )
    path.write_text(fit_lines(text), encoding="utf-8")
