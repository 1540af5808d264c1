# SPDX-License-Identifier: GPL-2.0-or-later
"""Legal variants in one core: what RFC 998 permits by itself it permits together."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

from netblt_conformance.mutants.mutants import MutantError, Variant, edited

SIZE = 4  # variants of one group


def groups(legal: Sequence[Variant], core: Path, count: int, seed: int) -> list[Variant]:
    """So many groups of variants, drawn by `seed`, each as one variant of the core that has the edits of all its
    members. What does not go with a member that was drawn before is passed over."""
    chance = random.Random(seed)
    return [_group(chance.sample(legal, len(legal)), core) for _ in range(count)]


def _group(candidates: Sequence[Variant], core: Path) -> Variant:
    members: list[Variant] = []
    texts: dict[Path, str] = {}
    for candidate in candidates:
        if any(_excluded(candidate, member) for member in members):
            continue
        try:
            texts |= edited(candidate, core, texts)
        except MutantError:  # its old text is not there any more
            continue
        members.append(candidate)
        if len(members) == SIZE:
            break
    return Variant(
        name="+".join(member.name for member in members),
        ambiguities=tuple(sorted({name for member in members for name in member.ambiguities})),
        about="; ".join(member.about for member in members),
        edit=tuple(edit for member in members for edit in member.edits),
    )


def _excluded(one: Variant, other: Variant) -> bool:
    return one.name in other.not_with or other.name in one.not_with
