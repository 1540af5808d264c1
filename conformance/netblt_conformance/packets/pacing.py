# SPDX-License-Identifier: GPL-2.0-or-later
"""Whether packets can have left at an agreed pace: at most so many in each interval (RATE-01, RATE-02).

Only the sender knows when its intervals begin. One that sleeps between bursts begins an interval with a packet;
one that is driven by a tick, or that has not used up its last burst yet, is in the middle of one when work arrives, and
then two bursts lie close together. Both are right. So all moments at which intervals can have begun are tried."""

from __future__ import annotations

from collections.abc import Sequence


def first_too_early(times_us: Sequence[int], burst: int, interval_us: int, slack_us: int) -> int | None:
    """Index of the first packet that no row of intervals explains, or None. A packet may be seen `slack_us` early."""
    if burst <= 0:
        return None
    # First packet of an interval -> the earliest moment at which that interval can have begun.
    begun: dict[int, int] = {}
    reached = min(burst, len(times_us))
    for first in range(1, len(times_us)):
        earlier = [begun[other] + interval_us for other in range(max(1, first - burst), first) if other in begun]
        if first <= burst:  # or the interval before is the first one: it began whenever it likes
            earlier.append(times_us[first - 1])
        if not earlier or max(min(earlier), times_us[first - 1]) > times_us[first] + slack_us:
            continue
        begun[first] = max(min(earlier), times_us[first - 1])
        reached = max(reached, min(first + burst, len(times_us)))
    return None if reached == len(times_us) else reached


def complaint(what: str, times_us: Sequence[int], burst: int, interval_us: int, slack_us: int) -> str | None:
    """What is wrong with the pace of these packets, as text."""
    index = first_too_early(times_us, burst, interval_us, slack_us)
    if index is None:
        return None
    took_ms, pace = (times_us[index] - times_us[0]) / 1000, f"{burst} in {interval_us / 1000:g} ms"
    return f"{index + 1} {what} within {took_ms:g} ms; the pace is {pace}"
