# SPDX-License-Identifier: GPL-2.0-or-later
"""What the times of repetitions and of the end prove, as relations to the timers that both ends know: a control timer
that an OK publishes, a declared death timer, the repetitions before."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import NamedTuple

from netblt_conformance.common.model import MICROSECONDS_PER_MS, MICROSECONDS_PER_S
from netblt_conformance.learned.outputs import repeats
from netblt_conformance.packets.packets import Kind, Packet, Type

# A published timer is armed for what is published, or backed off from it: a repetition outside of these shares of it
# shows that another timer runs.
_SOONER, _LATER = 0.5, 2.0
# A back-off multiplies a gap; after so many times the longest gap without a repetition none will come.
_GAPS = 4
# A peer repeats its QUIT after a time-out; who closes sooner than this after its QUITACK has not waited for it.
_QUIT_TIMEOUT_US = MICROSECONDS_PER_S


class Came(NamedTuple):
    """One output and when it came."""

    time_us: int
    output: str
    packet: Packet | None  # None: the client got to know something


def published_us(packet: Packet | None) -> int:
    """The control timer that the newest OK of a CONTROL publishes; 0: none."""
    oks = [m for m in packet.messages if m.kind is Kind.OK] if packet is not None else []
    return oks[-1].control_timer_ms * MICROSECONDS_PER_MS if oks else 0


class Timing:
    """The times of one connection."""

    def __init__(self, death_us: int) -> None:
        self._death_us = death_us
        self._dally_us = 0  # the control timer that the tester published last
        self._success_us: int | None = None  # when a sender had its last OK
        self._quitack_us: int | None = None

    def on_published(self, control_timer_ms: int) -> None:
        """The tester sends an OK."""
        self._dally_us = control_timer_ms * MICROSECONDS_PER_MS

    def note(self, came: Sequence[Came]) -> None:
        """What came upon an input."""
        for one in came:
            if one.output == "client: success":
                self._success_us = one.time_us
            if one.packet is not None and one.packet.type is Type.QUITACK:
                self._quitack_us = one.time_us

    def marks(self, came: Sequence[Came], now_us: int, heard_us: int, *, closed: bool) -> list[str]:
        """`came`: while time passed until now. `heard_us`: when the tester sent its last packet."""
        found = [
            mark for text in sorted({one.output for one in came}) for mark in self._of_repetitions(text, came, now_us)
        ]
        if closed:
            found += self._of_end(came, now_us, heard_us)
        self.note(came)
        return found

    def _of_repetitions(self, text: str, came: Sequence[Came], now_us: int) -> list[str]:
        if not repeats(text):
            return []
        same = [one for one in came if one.output == text]
        gaps = [late.time_us - early.time_us for early, late in itertools.pairwise(same)]
        found = []
        for gap, one in zip(gaps, same, strict=False):
            timer_us = published_us(one.packet)
            if timer_us and gap > _LATER * timer_us:
                found.append("repeated later than published")
            if timer_us and gap < _SOONER * timer_us:
                found.append("repeated sooner than published")
        if gaps and now_us - same[-1].time_us > _GAPS * max(gaps):
            found.append(f"no more {text}")
        return list(dict.fromkeys(found))

    def _of_end(self, came: Sequence[Came], now_us: int, heard_us: int) -> list[str]:
        text = came[-1].output if came else ""
        if text == "client: success, closed" and self._success_us is not None:
            early = now_us - self._success_us < min(self._dally_us, self._death_us)
            return ["closed before the control timer"] if early else []
        if text.startswith("client: failure, closed") and self._quitack_us is not None:
            return ["closed before a QUIT can be repeated"] if now_us - self._quitack_us < _QUIT_TIMEOUT_US else []
        if text.startswith("client: failure") and any(repeats(one.output) for one in came):
            return ["closed before the death timer"] if now_us - heard_us < self._death_us else []
        return []
