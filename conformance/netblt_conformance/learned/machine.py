# SPDX-License-Identifier: GPL-2.0-or-later
"""A learned Mealy machine: states, transitions, shortest access sequences; as JSON and as Graphviz text."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass as checked

from netblt_conformance.common.errors import LinkUnavailableError
from netblt_conformance.common.model import ROLES_BY_NAME
from netblt_conformance.learned.outputs import NOTHING
from netblt_conformance.learned.themes import MAIN

LAYOUT_VERSION = 2
Word = tuple[str, ...]  # inputs


@dataclass(frozen=True, slots=True)
class Step:
    """One transition: the output, and the state that it leads to."""

    output: str
    to: int


@dataclass(slots=True)
class Machine:
    """The machine of one role in one theme. State 0 is the first one; states are numbered in the order of
    their access sequences."""

    role: str
    began: str  # what the implementation does when it is started
    inputs: tuple[str, ...]
    steps: list[dict[str, Step]]  # by state
    facts: dict[str, Any] = field(default_factory=dict)  # how it was learned
    theme: str = MAIN

    @property
    def title(self) -> str:
        """As its file is called."""
        return title(self.role, self.theme)

    @property
    def is_cut(self) -> bool:
        """Learning ended early, for it had too many states: it does not predict everything that was tried."""
        return "states_most" in self.facts

    def run(self, word: Sequence[str], state: int = 0) -> list[str]:
        """The outputs."""
        found = []
        for name in word:
            step = self.steps[state][name]
            found.append(step.output)
            state = step.to
        return found

    def after(self, word: Sequence[str], state: int = 0) -> int:
        for name in word:
            state = self.steps[state][name].to
        return state

    def access(self) -> list[Word]:
        """A shortest sequence of inputs to each state."""
        words: dict[int, Word] = {0: ()}
        waiting = deque([0])
        while waiting:
            state = waiting.popleft()
            for name in self.inputs:
                to = self.steps[state][name].to
                if to not in words:
                    words[to] = (*words[state], name)
                    waiting.append(to)
        return [words[state] for state in range(len(self.steps))]

    def edges(self) -> Iterator[tuple[int, str, Step]]:
        for state, steps in enumerate(self.steps):
            for name, step in steps.items():
                yield state, name, step


def title(role: str, theme: str) -> str:
    return role if theme == MAIN else f"{role}.{theme}"


def from_steps(
    role: str,
    began: str,
    inputs: Sequence[str],
    steps: dict[Any, dict[str, tuple[str, Any]]],
    first: Any,
    theme: str = MAIN,
) -> Machine:
    """A machine of states with any names, numbered again from 0. What cannot be reached is left out."""
    numbers, waiting = {first: 0}, deque([first])
    while waiting:
        state = waiting.popleft()
        for name in inputs:
            to = steps[state][name][1]
            if to not in numbers:
                numbers[to] = len(numbers)
                waiting.append(to)
    by_number = sorted(numbers, key=lambda state: numbers[state])
    found = [{name: Step(steps[s][name][0], numbers[steps[s][name][1]]) for name in inputs} for s in by_number]
    return Machine(role, began, tuple(inputs), found, theme=theme)


# ---- files ----


@checked(frozen=True)
class _File:
    layout: Annotated[int, Field(ge=LAYOUT_VERSION, le=LAYOUT_VERSION)]
    kind: str
    role: str
    began: str
    inputs: tuple[str, ...]
    states: tuple[dict[str, tuple[str, int]], ...]
    facts: dict[str, Any]
    theme: str


_ADAPTER = TypeAdapter(_File)
KIND = "learned machine"


def save(machine: Machine, path: Path) -> None:
    """One line for each state, so that a difference of two files shows states."""
    head = {"layout": LAYOUT_VERSION, "kind": KIND, "role": machine.role, "theme": machine.theme}
    head["began"] = machine.began
    lines = [f"{json.dumps(name)}: {json.dumps(value)}," for name, value in head.items()]
    lines += [f'"inputs": {json.dumps(machine.inputs)},', f'"facts": {json.dumps(machine.facts)},', '"states": [']
    states = [json.dumps({name: [step.output, step.to] for name, step in steps.items()}) for steps in machine.steps]
    path.write_text("{\n" + "\n".join(lines) + "\n" + ",\n".join(states) + "\n]\n}\n", encoding="utf-8")


def load(path: Path) -> Machine:
    """LinkUnavailableError states what is wrong with the file."""
    try:
        file = _ADAPTER.validate_json(path.read_bytes())
    except OSError as error:
        raise LinkUnavailableError(f"{path}: {error.strerror}") from None
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"])) or "the file"
        raise LinkUnavailableError(f"{path}: {place}: {first['msg']}") from None
    mistake = _mistake(file)
    if mistake:
        raise LinkUnavailableError(f"{path}: {mistake}")
    steps = [{name: Step(*step) for name, step in state.items()} for state in file.states]
    return Machine(file.role, file.began, file.inputs, steps, file.facts, file.theme)


def _mistake(file: _File) -> str:
    if file.kind != KIND:
        return f"kind is {file.kind!r}, not {KIND!r}"
    if file.role not in ROLES_BY_NAME:
        return f"unknown role {file.role!r}"
    if not file.states:
        return "no states"
    for number, state in enumerate(file.states):
        if state.keys() != set(file.inputs):
            return f"state {number} has not one transition for each input"
        for name, (_, to) in state.items():
            if not 0 <= to < len(file.states):
                return f"state {number}, input {name}: there is no state {to}"
    return ""


def dot(machine: Machine) -> str:
    """Graphviz text. Inputs without effect are left out; those with the same effect share an arrow."""
    lines = [f'digraph "{machine.title}" {{', "  rankdir=LR;", '  node [shape=circle, fontname="sans-serif"];']
    lines.append('  edge [fontname="sans-serif", fontsize=9];')
    lines += [f'  s{state} [label="{state}"];' for state in range(len(machine.steps))]
    for (state, to), labels in arrows(machine).items():
        text = "\\n".join(label.replace("\\", "\\\\").replace('"', '\\"') for label in labels)
        lines.append(f'  s{state} -> s{to} [label="{text}"];')
    return "\n".join([*lines, "}"]) + "\n"


def arrows(machine: Machine) -> dict[tuple[int, int], list[str]]:
    """The labels between each two states: inputs with the same output share one."""
    groups: dict[tuple[int, int], dict[str, list[str]]] = {}
    for state, name, step in machine.edges():
        if step.to != state or step.output != NOTHING:
            groups.setdefault((state, step.to), {}).setdefault(step.output, []).append(name)
    return {pair: [f"{', '.join(names)} / {output}" for output, names in by.items()] for pair, by in groups.items()}
