# SPDX-License-Identifier: GPL-2.0-or-later
"""The shortest script that fails as a longer one did."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterator

from netblt_conformance.generated.script import Script, move
from netblt_conformance.sweep.shrink import shrink

Fails = Callable[[Script], bool]


def shrunk(script: Script, fails: Fails) -> Script:
    """No single move of it can be left out, and no parameter be made simpler. `script` itself must fail."""
    fails = functools.cache(fails)  # the steps come back to scripts that were played
    words = [str(one) for one in script.moves]
    left = shrink(words, lambda moves: fails(_with(script, moves)))
    small = _with(script, left)
    for simpler in _SIMPLER:
        for candidate in simpler(small):
            if candidate != small and fails(candidate):
                small = candidate
                break
    return small


def _with(script: Script, moves: tuple[str, ...]) -> Script:
    return script.with_moves(tuple(move(text) for text in moves))


def _no_lost_opening(script: Script) -> Iterator[Script]:
    yield dataclasses.replace(script, openings_lost=0)


def _no_stall(script: Script) -> Iterator[Script]:
    iut = dataclasses.replace(script.iut, client_stall_from=0, client_stall_until_us=0)
    yield dataclasses.replace(script, iut=iut)


def _equal_ends(script: Script) -> Iterator[Script]:
    yield dataclasses.replace(script, own=dataclasses.replace(script.iut, client_stall_from=0, client_stall_until_us=0))


def _less_data(script: Script) -> Iterator[Script]:
    for buffers in (1, 2, 3):
        yield dataclasses.replace(script, length=min(script.length, buffers * script.iut.buffer_size))


# Each of these gives scripts from the simplest on; the first one that still fails is kept.
_SIMPLER: tuple[Callable[[Script], Iterator[Script]], ...] = (_no_lost_opening, _no_stall, _equal_ends, _less_data)
