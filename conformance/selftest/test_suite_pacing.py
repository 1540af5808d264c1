# SPDX-License-Identifier: GPL-2.0-or-later
"""The pace of a sender is judged as RFC 998 puts it, wherever its intervals begin."""

from __future__ import annotations

import itertools
import random

from netblt_conformance.packets.pacing import complaint, first_too_early

BURST, INTERVAL_US = 3, 100_000
PACKETS = 36


def bursts(size: int, interval_us: int, count: int = PACKETS) -> list[int]:
    """Moments of packets that leave in full bursts."""
    return [number // size * interval_us for number in range(count)]


def judged(times_us: list[int], slack_us: int = 0) -> int | None:
    return first_too_early(times_us, BURST, INTERVAL_US, slack_us)


def test_full_bursts_at_the_agreed_interval_are_right() -> None:
    assert judged(bursts(BURST, INTERVAL_US)) is None


def test_smaller_bursts_longer_intervals_and_single_packets_are_right() -> None:
    assert judged(bursts(2, INTERVAL_US)) is None
    assert judged(bursts(BURST, 3 * INTERVAL_US)) is None
    assert judged(bursts(1, INTERVAL_US // BURST + 1)) is None


def test_the_first_burst_may_end_an_interval_that_began_earlier() -> None:
    """A sender driven by a tick, or one whose last burst was not used up, when work arrives."""
    for used in range(1, BURST + 1):
        later = [5_000 + moment for moment in bursts(BURST, INTERVAL_US)]
        assert judged([0] * used + later) is None


def test_only_the_first_burst_may() -> None:
    assert judged([0] * BURST + [5_000] * BURST + [10_000] * BURST) == 2 * BURST


def test_every_row_of_intervals_is_right_however_they_are_filled() -> None:
    dice = random.Random(998)
    for _ in range(500):
        size, start, times_us = dice.randint(1, 5), 0, []
        for _ in range(8):
            following = start + INTERVAL_US + dice.choice([0, 0, dice.randint(0, 200_000)])
            times_us += sorted(dice.randrange(start, following) for _ in range(dice.randint(0, size)))
            start = following
        assert first_too_early(times_us, size, INTERVAL_US, 0) is None


def test_a_burst_that_is_one_too_large_is_found_in_spite_of_the_slack_of_a_real_link() -> None:
    assert judged(bursts(BURST + 1, INTERVAL_US), INTERVAL_US // 2) is not None


def test_an_interval_that_is_a_little_too_short_is_found() -> None:
    times_us = bursts(BURST, INTERVAL_US * 9 // 10)
    index = judged(times_us)
    assert index is not None
    assert "packets within" in (complaint("packets", times_us, BURST, INTERVAL_US, 0) or "")


def test_without_an_interval_there_is_no_pace() -> None:
    assert first_too_early([0] * 100, BURST, 0, 0) is None
    assert all(first_too_early([0] * n, BURST, INTERVAL_US, 0) is None for n in range(2 * BURST + 1))
    assert list(itertools.islice((judged([0] * n) for n in (7, 50)), 2)) == [6, 6]
