# SPDX-License-Identifier: GPL-2.0-or-later
"""Sequences of inputs that test whether an implementation has a given machine: a transfer with each input at each
place, tours over all transitions, then random sequences from each state."""

from __future__ import annotations

import itertools
import random
from collections import deque
from collections.abc import Iterator, Sequence

from netblt_conformance.learned.alphabet import TIME
from netblt_conformance.learned.machine import Machine, Word
from netblt_conformance.learned.themes import Part

TOUR_MOST = 40  # inputs; a longer tour would hide what follows a first difference
_SUFFIX_INPUTS = 8
FEW_INPUTS = 10
_TURNS = 5
_BEGINNING_MOST = 6
_WAITS = 4  # deadlines that pass one after the other


def guiding(part: Part, names: Sequence[str]) -> list[Word]:
    """A transfer with each input at each place, and how it goes on from there, at once and after deadlines. A transfer
    without one of its inputs, in which several deadlines pass at each place. With a small alphabet also each two inputs
    by turns after each beginning of the transfer: what counts repetitions shows."""
    whole = [name for name in part.transfer if name in names]
    found: set[Word] = set()
    for name, place in itertools.product(names, range(len(whole) + 1)):
        begun, later = (*whole[:place], name), whole[place:]
        found |= {(*begun, *later, TIME, "QUIT"), (*begun, TIME, TIME, *later)}
    for left_out in range(1, len(whole)):
        rest = (*whole[:left_out], *whole[left_out + 1 :])
        found |= {(*rest[:place], *(TIME,) * _WAITS, *rest[place:]) for place in range(left_out, len(rest) + 1)}
    if len(names) <= FEW_INPUTS:
        beginnings = [whole[:place] for place in range(1, min(len(whole), _BEGINNING_MOST) + 1)]
        found |= {(*begin, *(one, two) * _TURNS) for begin in beginnings for one in names for two in names}
    words = {tuple(one for one in word if one in names) for word in found}
    return sorted(words, key=lambda word: (len(word), word))


def tours(machine: Machine, seed: int) -> Iterator[Word]:
    """Words that together go through each transition once at least."""
    chance = random.Random(f"{seed} {machine.title} tours")
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
    chance, access = random.Random(f"{seed} {machine.title} words"), machine.access()
    for _ in range(per_state):
        for word in access:
            yield (*word, *chance.choices(machine.inputs, k=_SUFFIX_INPUTS))


def suite(machine: Machine, seed: int, per_state: int, first: Sequence[Word] = ()) -> Iterator[Word]:
    """`first`, and all of them. None twice."""
    seen: set[Word] = set()
    for word in (*first, *tours(machine, seed), *random_words(machine, seed, per_state)):
        if word not in seen:
            seen.add(word)
            yield word
