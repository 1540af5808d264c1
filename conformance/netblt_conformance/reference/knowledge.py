# SPDX-License-Identifier: GPL-2.0-or-later
"""What is known while an end is followed, and the helpers of both roles."""

from __future__ import annotations

from dataclasses import dataclass, field

from netblt_conformance.reference.outcome import Choices
from netblt_conformance.reference.terms import Terms
from netblt_conformance.reference.view import View

_HALF_SEQ, _HALF_BUFFERS, _BUFFERS = 1 << 15, 1 << 31, 1 << 32
SEQ_MASK = (1 << 16) - 1


@dataclass(slots=True)
class BufferOrder:
    """The order of the buffers of a connection.

    Their numbers are unique and increase, by whatever step (RFC 998 8). They do not wrap unless the first one is in the
    upper half: only then those far below it come after the others.
    """

    first: int | None = None

    def saw(self, number: int) -> None:
        """A packet names this buffer."""
        self.first = number if self.first is None else self.first

    def after(self, a: int, b: int) -> bool:
        """Whether buffer a comes after buffer b."""
        return self._place(a) > self._place(b)

    def _place(self, number: int) -> int:
        wrapped = self.first is not None and self.first - number > _HALF_BUFFERS
        return number + (_BUFFERS if wrapped else 0)


@dataclass(slots=True)
class Known:
    """What a judgement may rest on."""

    choices: Choices
    view: View
    base: int  # number of the first packet of a buffer: 0, or 1 (AMB-10)
    order: BufferOrder = field(default_factory=BufferOrder)
    terms: list[Terms] = field(default_factory=list)  # each reading that is still possible; empty: not known

    @property
    def peer_complete(self) -> bool:
        """Every packet that the followed end can have received is in the capture."""
        return self.view.peer_complete

    @property
    def ordered(self) -> bool:
        """Its packets were captured in the order in which they left."""
        return self.view.ordered

    @property
    def own_complete(self) -> bool:
        """All its packets are in the capture, with the distances at which they left."""
        return self.view.own_complete


def seq_after(a: int, b: int) -> bool:
    """Whether control sequence number a follows b, modulo 2^16."""
    return 0 < (a - b) & SEQ_MASK < _HALF_SEQ


def listed(numbers: list[int]) -> str:
    """Numbers as text, the first few of them."""
    shown = ", ".join(map(str, numbers[:8]))
    return shown + (", ..." if len(numbers) > 8 else "")
