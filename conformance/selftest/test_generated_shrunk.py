# SPDX-License-Identifier: GPL-2.0-or-later
"""The shortest script that still fails, found with few replays."""

from __future__ import annotations

from collections import Counter

from netblt_conformance.common.model import ROLES_BY_NAME
from netblt_conformance.generated.script import Script, move
from netblt_conformance.generated.shrunk import shrunk
from selftest.small_scripts import TERMS

NEEDED = ("opening", "stray 3", "stray 4", "stall")


def test_no_script_is_played_twice_while_one_is_shrunk() -> None:
    """Stimulus: eleven moves, four of which the fault needs: the steps of the search meet the same rest again."""
    moves = tuple(move(text) for text in ("keepalive", *NEEDED, *(f"wait {n}" for n in range(1, 7))))
    one = Script(ROLES_BY_NAME["passive-sender"], 1, 192, TERMS, TERMS, openings_lost=1, moves=moves)
    played = Counter[str]()

    def fails(candidate: Script) -> bool:
        played[candidate.text()] += 1
        return set(NEEDED) <= {str(one) for one in candidate.moves}

    small = shrunk(one, fails)
    assert [str(one) for one in small.moves] == list(NEEDED)
    assert (small.openings_lost, small.length) == (0, TERMS.buffer_size)
    assert set(played.values()) == {1}
