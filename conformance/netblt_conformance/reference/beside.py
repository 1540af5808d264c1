# SPDX-License-Identifier: GPL-2.0-or-later
"""The reference beside the ends of captured connections: `check --explain`, and "expected beside observed" of a run."""

from __future__ import annotations

from pathlib import Path

from netblt_conformance.common.errors import JudgeError
from netblt_conformance.common.model import ROLES_BY_NAME
from netblt_conformance.common.verdicts import Result
from netblt_conformance.links.base import IUT_ADDRESS
from netblt_conformance.reference import frames
from netblt_conformance.reference.follow import ends, follow
from netblt_conformance.reference.outcome import Followed, Outside
from netblt_conformance.reference.view import VIRTUAL, view
from netblt_conformance.simlib import guided


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


class Beside:
    """Expected beside observed, for results of a run whose captures lie in `folder`. `virtual`: its link has virtual
    time."""

    def __init__(self, folder: Path, *, virtual: bool) -> None:
        self._folder = folder
        self._virtual = virtual
        self._latest: tuple[str, Outside | None] | None = None  # results of one capture follow each other

    def text(self, result: Result) -> str:
        """What the reference core expects in the capture of a result, and where the implementation leaves that; empty
        where it does not, or where the core is not built."""
        outside = self._outside(result) if result.capture and guided.is_built() else None
        if outside is None:
            return ""
        frame = "" if outside.frame == result.frame else f" in frame {outside.frame}"
        return f"The reference core expects{frame} {outside.expected}; observed there: {outside.observed}."

    def _outside(self, result: Result) -> Outside | None:
        assert result.capture is not None
        if self._latest is None or self._latest[0] != result.capture:
            self._latest = result.capture, self._judged(result)
        return self._latest[1]

    def _judged(self, result: Result) -> Outside | None:
        role = ROLES_BY_NAME.get(result.role)
        position = None if role is None else "receiver" if role.sender else "sender"  # the tester is the peer
        try:
            path = self._folder / str(result.capture)
            return first_outside(path, IUT_ADDRESS, position, virtual=self._virtual)
        except (JudgeError, OSError):
            return None
