# SPDX-License-Identifier: GPL-2.0-or-later
"""Sizes of buffers and packets of a case: as the case states them, and smaller ones in the same proportion for an
implementation that agrees to less (NEG-01, NEG-02)."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from netblt_conformance.common.errors import NotSupportedError
from netblt_conformance.common.model import Parameters

# Two: a packet can be shorter than the agreed size and still hold data.
LEAST_PACKET_BYTES = 2


@dataclass(frozen=True, slots=True)
class Limits:
    """The most that both ends are known to agree on."""

    buffer_size: int
    packet_size: int


@dataclass(frozen=True, slots=True)
class Sizes:
    """What a case states, and what is proposed in its place: buffers of the same number of packets."""

    stated: Parameters
    made: Parameters

    @classmethod
    def within(cls, stated: Parameters, limits: Limits | None) -> Sizes:
        """As stated where that is within the limits, or where no sizes within them have so many packets."""
        if limits is None:
            return cls(stated, stated)
        count = stated.packets_per_buffer
        size = min(stated.packet_size, limits.packet_size, limits.buffer_size // count)
        fits = stated.buffer_size <= limits.buffer_size and stated.packet_size <= limits.packet_size
        if fits or size < LEAST_PACKET_BYTES:
            return cls(stated, stated)
        last = _last_packet(stated)
        made_last = max(min(last, LEAST_PACKET_BYTES), last * size // stated.packet_size)
        made = dataclasses.replace(stated, buffer_size=(count - 1) * size + made_last, packet_size=size)
        return cls(stated, made)

    @property
    def are_smaller(self) -> bool:
        """Whether something else is proposed than the case states."""
        return self.made != self.stated

    def scaled(self, stated_bytes: int) -> int:
        """So many bytes of what the case states: as many whole buffers and whole packets, and a part of a packet."""
        buffers, rest = divmod(stated_bytes, self.stated.buffer_size)
        packets, rest = divmod(rest, self.stated.packet_size)
        whole = buffers * self.made.buffer_size + packets * self.made.packet_size
        if not rest:
            return whole
        in_last = packets == self.stated.packets_per_buffer - 1
        of, made = (_last_packet(p) if in_last else p.packet_size for p in (self.stated, self.made))
        return whole + max(1, rest * made // of)


def _last_packet(sizes: Parameters) -> int:
    """How many bytes the last packet of a full buffer holds."""
    return sizes.buffer_size - (sizes.packets_per_buffer - 1) * sizes.packet_size


class SizesError(NotSupportedError):
    """Both ends agreed on less than the exchange of the case needs."""

    def __init__(self, text: str, sizes: Sizes, agreed: Limits) -> None:
        """`sizes`: what was proposed."""
        super().__init__(text)
        self.agreed = agreed
        self.others_fit = Sizes.within(sizes.stated, agreed) != sizes
