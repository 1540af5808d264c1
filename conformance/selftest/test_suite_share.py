# SPDX-License-Identifier: GPL-2.0-or-later
"""--share K/N: the parts are everything, no run is in two, and none leaves a requirement or a role out permanently."""

from __future__ import annotations

from pathlib import Path

import pytest
from netblt_conformance.common.model import ALL_ROLES
from netblt_conformance.links.sim import SimLinkFactory
from netblt_conformance.run.engine import Plan
from netblt_conformance.run.loaded import Loaded, with_cases
from netblt_conformance.run.selection import Selection, Share

PARTS = 3


def shares() -> tuple[list[str], list[list[str]], dict[str, str]]:
    """All runs, those of each part, and the first requirement of each case."""
    plan = Plan(SimLinkFactory(Path()), 1, Selection(""), ALL_ROLES, Path())

    def look(loaded: Loaded) -> tuple[list[str], list[list[str]], dict[str, str]]:
        parts = [loaded.shared(plan, Share(number + 1, PARTS)) for number in range(PARTS)]
        return loaded.keys(plan), parts, {name: words[1] for name, words in loaded.cases.items()}

    return with_cases(look)


def test_the_parts_are_a_fair_cut_of_everything() -> None:
    everything, parts, requirement = shares()
    assert sorted(key for part in parts for key in part) == sorted(everything)
    assert max(map(len, parts)) < 1.2 * min(map(len, parts))
    of = [{requirement[key.partition("[")[0].partition(": ")[0]] for key in part} for part in parts]
    counts = {
        r: sum(requirement[k.partition("[")[0].partition(": ")[0]] == r for k in everything) for r in set.union(*of)
    }
    for ids in of:
        assert {r for r, count in counts.items() if count >= 2 * PARTS} <= ids
    for part in parts:
        for role in ALL_ROLES:
            assert sum(f"[{role}" in key for key in part) > len(part) / 8
        arms = [key for key in part if key.endswith("-control]")]
        assert {key.replace("-control]", "]") for key in arms} <= set(part)


@pytest.mark.parametrize("text", ["", "1", "0/3", "4/3", "1/0", "a/b", "-1/3"])
def test_what_is_no_share_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=f"^{text}$"):
        Share.parse(text)
