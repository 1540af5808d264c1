# SPDX-License-Identifier: GPL-2.0-or-later
"""Delta debugging (ddmin): the fewest rules of a failing schedule that still fail."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence


def shrink(rules: Sequence[str], fails: Callable[[tuple[str, ...]], bool]) -> tuple[str, ...]:
    """A sub-list of `rules` that fails and of which no single rule can be taken away. `rules` itself must fail."""
    left = tuple(rules)
    parts = 2
    while len(left) > 1:
        for rest in _without_one_part(left, parts):
            if fails(rest):
                left, parts = rest, max(parts - 1, 2)
                break
        else:
            if parts >= len(left):
                break
            parts = min(parts * 2, len(left))
    if len(left) == 1 and fails(()):
        return ()
    return left


def _without_one_part(rules: tuple[str, ...], parts: int) -> list[tuple[str, ...]]:
    bounds = [len(rules) * k // parts for k in range(parts + 1)]
    cuts = itertools.pairwise(bounds)
    return [rules[:start] + rules[end:] for start, end in cuts if start < end]
