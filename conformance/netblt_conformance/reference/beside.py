# SPDX-License-Identifier: GPL-2.0-or-later
"""The reference beside the ends of captured connections: `check --explain`, and "expected beside observed" of a run."""

from __future__ import annotations

from pathlib import Path

from netblt_conformance.reference import frames
from netblt_conformance.reference.follow import ends, follow
from netblt_conformance.reference.outcome import Followed, Outside
from netblt_conformance.reference.view import VIRTUAL, view


def explain(path: Path, position: str | None = None) -> list[Followed]:
    """Every end of every connection in a pcapng file. `position`: where it was captured, "sender" or "receiver" of the
    data, or "path"; None: not known. BrokenCaptureError when the file cannot be read."""
    found = frames.read(path)
    return [
        follow(conversation, end, view(found, conversation, end, position))
        for conversation in frames.conversations(found)
        for end in ends(conversation)
    ]


def first_outside(path: Path, address: bytes, position: str | None = None, *, virtual: bool = False) -> Outside | None:
    """The first frame of the host with this address that no conforming implementation sends; None: all may have been
    sent by one. `virtual`: the tester captured on a link in virtual time."""
    found = frames.read(path)
    outside: list[Outside] = []
    for conversation in frames.conversations(found):
        for end in ends(conversation):
            if end[0] != address:
                continue
            seen = VIRTUAL if virtual else view(found, conversation, end, position)
            followed = follow(conversation, end, seen)
            if followed.outside is not None:
                outside.append(followed.outside)
    return min(outside, key=lambda one: one.frame, default=None)
