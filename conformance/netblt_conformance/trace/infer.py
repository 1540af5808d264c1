# SPDX-License-Identifier: GPL-2.0-or-later
"""What one capture point shows of the way of packets that it saw on one side only, by the packets that follow."""

from __future__ import annotations

from collections.abc import Sequence

from netblt_conformance.trace.draft import Draft
from netblt_conformance.trace.frames import Frame
from netblt_conformance.trace.model import Fate, Known, Position


def position(found: Sequence[Frame], opener: str, said: Position) -> tuple[Position, list[str]]:
    """Where the capture was taken, as far as it can be known, and what a reader has to know of it."""
    del found, opener
    return said, []


def copies(drafts: Sequence[Draft]) -> None:
    """Marks the copies that the network made: the same bytes under the same IP identification."""
    seen: dict[tuple[object, ...], Draft] = {}
    for one in drafts:
        if not one.frame.identification:
            continue
        key = (one.source, one.frame.identification, one.packet.raw)
        first = seen.setdefault(key, one)
        if first is not one:
            one.copy_of = first


def fates(drafts: Sequence[Draft], *, at: int | None) -> None:
    """`at`: the end where the capture was taken; None: not known."""
    del at
    for one in drafts:
        one.settle(Fate.ARRIVED, Known.ASSUMED)
