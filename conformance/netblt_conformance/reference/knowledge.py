# SPDX-License-Identifier: GPL-2.0-or-later
"""What is known while an end is followed, and the helpers of both roles."""

from __future__ import annotations

from dataclasses import dataclass, field

from netblt_conformance.reference.outcome import Choices
from netblt_conformance.reference.terms import Terms

_HALF_SEQ, _HALF_BUFFER = 1 << 15, 1 << 31
SEQ_MASK, BUFFER_MASK = (1 << 16) - 1, (1 << 32) - 1


@dataclass(slots=True)
class Known:
    """What a judgement may rest on."""

    choices: Choices
    peer_complete: bool  # every packet that the followed end can have received is in the capture
    ordered: bool  # its packets were captured in the order in which they left
    own_complete: bool  # all its packets are in the capture
    base: int  # number of the first packet of a buffer: 0, or 1 (AMB-10)
    terms: list[Terms] = field(default_factory=list)  # each reading that is still possible; empty: not known

    @property
    def agreed(self) -> Terms | None:
        """The only reading, where there is one."""
        return self.terms[0] if len(self.terms) == 1 else None


def seq_after(a: int, b: int) -> bool:
    """Whether control sequence number a follows b, modulo 2^16."""
    return 0 < (a - b) & SEQ_MASK < _HALF_SEQ


def buffer_after(a: int, b: int) -> bool:
    """Whether buffer number a is above b, modulo 2^32."""
    return 0 < (a - b) & BUFFER_MASK < _HALF_BUFFER


def listed(numbers: list[int]) -> str:
    """Numbers in words, the first few of them."""
    shown = ", ".join(map(str, numbers[:8]))
    return shown + (", ..." if len(numbers) > 8 else "")
