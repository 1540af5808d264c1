# SPDX-License-Identifier: GPL-2.0-or-later
"""Captures at the sender that show its pace: RATE, NEG-09. A reader of them must know where they were taken."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pcaps.tools.exchange import SENDER, Exchange, Frame
from pcaps.tools.talk import Talk

SLOW: dict[str, Any] = {"burst_size": 1, "burst_interval_ms": 100}
AT_ONCE_MS, TOO_SOON_MS, IN_TIME_MS = 0, 20, 100  # between packets, beside what it takes to emit one
EARLIEST = 2  # of packets that are too close: bursts of one, and any span may hold one more at either edge


def slow_talk(about: str) -> Talk:
    talk = Talk(about, buffers=8, **SLOW)
    talk.capture_position = "sender"
    return talk.start()


def paced(
    talk: Talk, buffer: int, gap_ms: int, numbers: Sequence[int] = range(4), comment: str | None = None
) -> list[Frame]:
    """Packets of a buffer, each so long after the one before."""
    frames = []
    for number in numbers:
        talk.wait(gap_ms)
        frames.append(talk.sends_piece(buffer, number, comment))
    return frames


def all_in_time(talk: Talk, first: int) -> Talk:
    """The rest of the transfer at the agreed pace."""
    for buffer in range(first, talk.buffers):
        paced(talk, buffer, IN_TIME_MS)
        talk.says(talk.accept(buffer, **SLOW), *talk.grants(1))
    talk.answers(**SLOW)
    talk.says_done()
    return talk


def bursts_too_large() -> Exchange:
    talk = slow_talk("A burst of one packet per 100 ms was agreed; the sender sends a buffer of four at once.")
    frames = paced(talk, 0, AT_ONCE_MS)
    talk.breaks("RATE-01", frames[EARLIEST], SENDER)
    talk.says(talk.accept(0, **SLOW), *talk.grants(1))
    return all_in_time(talk, 1)


def bursts_too_close() -> Exchange:
    talk = slow_talk("A burst of one packet per 100 ms was agreed; the sender sends one every 23 ms.")
    frames = paced(talk, 0, TOO_SOON_MS)
    talk.breaks("RATE-02", frames[EARLIEST], SENDER)
    talk.says(talk.accept(0, **SLOW), *talk.grants(1))
    return all_in_time(talk, 1)


def repairs_too_fast() -> Exchange:
    talk = slow_talk("The sender keeps the agreed pace, but sends what a RESEND asks for at once.")
    paced(talk, 0, IN_TIME_MS, comment="lost behind the capture point")
    talk.wait(300)
    talk.says(talk.missing(0, range(4)))
    talk.wait(300)
    frames = paced(talk, 0, AT_ONCE_MS)
    talk.breaks("RATE-03", frames[EARLIEST], SENDER)
    talk.says(talk.accept(0, **SLOW), *talk.grants(1))
    return all_in_time(talk, 1)


def pace_kept() -> Exchange:
    """Look-alike: two bursts may come close when the first is late."""
    talk = slow_talk("A burst of one packet per 100 ms is kept; one burst is late, and the next one is not.")
    paced(talk, 0, IN_TIME_MS, [0, 1])
    talk.wait(180)
    paced(talk, 0, TOO_SOON_MS, [2, 3])
    talk.says(talk.accept(0, **SLOW), *talk.grants(1))
    return all_in_time(talk, 1)


def slower_offer(about: str, gap_ms: int) -> tuple[Talk, list[Frame]]:
    """Buffer 5 has its GO before the offer is known, buffer 6 after it; both go out at this pace."""
    talk = Talk(about, buffers=24)
    talk.capture_position = "sender"
    talk.start()
    talk.run(0, 4)
    talk.sends_buffer(4)
    talk.says(talk.accept(4, **SLOW))
    talk.answers(**SLOW)
    talk.says(*talk.grants(1))
    frames = paced(talk, 5, AT_ONCE_MS)
    talk.says(talk.accept(5, **SLOW))
    return talk, frames + paced(talk, 6, gap_ms)


def offer_ignored() -> Exchange:
    talk, frames = slower_offer(
        "The receiver offers a slower pace; later buffers are sent as fast as before.", AT_ONCE_MS
    )
    talk.breaks("RATE-05", frames[4 + EARLIEST], SENDER)
    talk.breaks("NEG-09", frames[4 + EARLIEST], SENDER)
    return talk


def too_fast_throughout() -> Exchange:
    talk = slow_talk("Every OK offers the pace that was agreed, and no buffer keeps it.")
    for buffer in range(4):
        frames = paced(talk, buffer, AT_ONCE_MS)
        talk.breaks("RATE-01", frames[EARLIEST], SENDER)
        talk.wait(300)
        talk.says(talk.accept(buffer, **SLOW), *talk.grants(1))
    return talk


def offer_obeyed() -> Exchange:
    """Look-alike: a buffer whose GO was there before the offer may go out as before."""
    return slower_offer("The receiver offers a slower pace, which holds for the buffers after it.", IN_TIME_MS)[0]


SCRIPTS = {
    "rate01-bursts-too-large": bursts_too_large,
    "rate02-bursts-too-close": bursts_too_close,
    "rate03-repairs-too-fast": repairs_too_fast,
    "rate01-throughout": too_fast_throughout,
    "rate-like-late-burst": pace_kept,
    "rate05-offer-ignored": offer_ignored,
    "rate05-like-obeyed": offer_obeyed,
}
