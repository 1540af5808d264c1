# SPDX-License-Identifier: GPL-2.0-or-later
"""Sequences of inputs that test whether an implementation has a given machine: tours over all transitions, then random
sequences from each state."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Iterator

from netblt_conformance.learned.machine import Machine, Word

TOUR_MOST = 40  # inputs; a longer tour would hide what follows a first difference
_SUFFIX_INPUTS = 8


def tours(machine: Machine, seed: int) -> Iterator[Word]:
    """Words that together go through each transition once at least."""
    chance = random.Random(f"{seed} {machine.role} tours")
    left = {state: chance.sample(machine.inputs, len(machine.inputs)) for state in range(len(machine.steps))}
    while any(left.values()):
        word: list[str] = []
        state = 0
        while len(word) < TOUR_MOST and (way := _nearest(machine, state, left)) is not None:
            state = machine.after(way, state)
            word += way
            name = left[state].pop()
            word.append(name)
            state = machine.steps[state][name].to
        if not word:
            return
        yield tuple(word)


def _nearest(machine: Machine, state: int, left: dict[int, list[str]]) -> Word | None:
    """The shortest way to a state with transitions that are left; None when there is none."""
    ways: dict[int, Word] = {state: ()}
    waiting = deque([state])
    while waiting:
        at = waiting.popleft()
        if left[at]:
            return ways[at]
        for name in machine.inputs:
            to = machine.steps[at][name].to
            if to not in ways:
                ways[to] = (*ways[at], name)
                waiting.append(to)
    return None


def random_words(machine: Machine, seed: int, per_state: int) -> Iterator[Word]:
    """From each state so many words of random inputs, round after round."""
    chance, access = random.Random(f"{seed} {machine.role} words"), machine.access()
    for _ in range(per_state):
        for word in access:
            yield (*word, *chance.choices(machine.inputs, k=_SUFFIX_INPUTS))


def suite(machine: Machine, seed: int, per_state: int) -> Iterator[Word]:
    """All of them, without those that another one begins with."""
    seen: set[Word] = set()
    for word in (*tours(machine, seed), *random_words(machine, seed, per_state)):
        if word not in seen:
            seen.add(word)
            yield word
