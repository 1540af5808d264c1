# SPDX-License-Identifier: GPL-2.0-or-later
"""Which schedules of faults a sweep goes through. A schedule is a tuple of flakeway rules (docs/flakeway.md)."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator

Schedule = tuple[str, ...]

# A is the implementation under test, B the reference endpoint.
DIRECTIONS = ("a>b", "b>a")
# Each is something that IP may do to a packet at any time. A corrupted packet fails its checksum: one bit flips.
ACTIONS = ("drop", "duplicate", "swap", "corrupt")
# Packets beyond those of the undisturbed transfer: the retransmissions that the first fault causes can be hit as well.
REPAIRS = 2

# Random schedules: enough faults to need several retransmissions, few enough to end within the death timer.
RANDOM_FAULTS = (3, 8)
RANDOM_LOSS_PERCENT = (0, 2, 5, 10)


def _faults(direction: str, packets: int) -> list[tuple[str, int, str]]:
    return [(direction, nth, action) for nth in range(1, packets + REPAIRS + 1) for action in ACTIONS]


def rule(fault: tuple[str, int, str]) -> str:
    direction, nth, action = fault
    return f"{action} {direction} nth={nth}"


def singles(packets: tuple[int, int]) -> Iterator[Schedule]:
    """Every packet of the transfer (`packets` from A, from B) with every action."""
    for direction, count in zip(DIRECTIONS, packets, strict=True):
        for fault in _faults(direction, count):
            yield (rule(fault),)


def pairs(packets: tuple[int, int]) -> Iterator[Schedule]:
    """Every two packets, each with every action."""
    faults = [fault for d, count in zip(DIRECTIONS, packets, strict=True) for fault in _faults(d, count)]
    for one, other in itertools.combinations(faults, 2):
        if one[:2] != other[:2]:  # of two faults at one packet the flakeway takes the first: that is a single
            yield (rule(one), rule(other))


def random_schedule(packets: tuple[int, int], chance: random.Random) -> Schedule:
    """One schedule of several faults and sometimes a rate of loss."""
    faults = {
        (direction, nth): action
        for direction, nth, action in (
            (
                chance.choice(DIRECTIONS),
                chance.randint(1, max(packets) + REPAIRS),
                chance.choice(ACTIONS),
            )
            for _ in range(chance.randint(*RANDOM_FAULTS))
        )
    }
    rules = [rule((direction, nth, action)) for (direction, nth), action in sorted(faults.items())]
    loss = chance.choice(RANDOM_LOSS_PERCENT)
    return (*rules, f"loss {loss}%") if loss else tuple(rules)


def random_schedules(packets: tuple[int, int], seed: int, count: int) -> Iterator[Schedule]:
    """`count` schedules of several faults; the same seed gives the same ones."""
    chance = random.Random(seed)
    for _ in range(count):
        yield random_schedule(packets, chance)
