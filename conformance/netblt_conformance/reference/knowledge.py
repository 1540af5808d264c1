# SPDX-License-Identifier: GPL-2.0-or-later
"""What is known while an end is followed, and the helpers of both roles."""

from __future__ import annotations

from dataclasses import dataclass, field

from netblt_conformance.reference.outcome import Choices
from netblt_conformance.reference.terms import Terms
from netblt_conformance.reference.view import View

_HALF_SEQ, _HALF_BUFFER = 1 << 15, 1 << 31
SEQ_MASK, BUFFER_MASK = (1 << 16) - 1, (1 << 32) - 1


@dataclass(slots=True)
class Known:
    """What a judgement may rest on."""

    choices: Choices
    view: View
    base: int  # number of the first packet of a buffer: 0, or 1 (AMB-10)
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


def buffer_after(a: int, b: int) -> bool:
    """Whether buffer number a is above b, modulo 2^32."""
    return 0 < (a - b) & BUFFER_MASK < _HALF_BUFFER


def listed(numbers: list[int]) -> str:
    """Numbers as text, the first few of them."""
    shown = ", ".join(map(str, numbers[:8]))
    return shown + (", ..." if len(numbers) > 8 else "")
