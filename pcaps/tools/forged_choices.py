# SPDX-License-Identifier: GPL-2.0-or-later
"""Captures of ends that read RFC 998 another way, where it can be read so, and of breaches that only such an end, or
only a carrier without IP IDs, shows in another light."""

from __future__ import annotations

from pcaps.tools.exchange import RECEIVER, SENDER, Exchange
from pcaps.tools.octets import reason
from pcaps.tools.talk import Talk

MIDDLE = 12


def half_way(about: str) -> Talk:
    talk = Talk(about, buffers=24)
    talk.start()
    talk.run(0, MIDDLE)
    return talk


# --- requests ---


def second_request_through_a_hole() -> Exchange:
    """TIMER-04: data that came since show that the first RESEND arrived, though a hole below it is not acknowledged."""
    talk = half_way(
        "A repair comes, through a hole below it without an acknowledgement, and the rest is asked for again."
    )
    before = talk.seq
    talk.sends_buffer(MIDDLE, lost=[1, 2])
    talk.sends_buffer(MIDDLE + 1)
    lost = [talk.accept(MIDDLE + 1), *talk.grants(1)]
    talk.says(*lost, comment="lost behind the capture point")
    first = talk.missing(MIDDLE, [1, 2])
    talk.may_look_like("CTRL-04", talk.says(first, comment="a part of the queue"), RECEIVER)
    talk.sends_piece(MIDDLE, 1, high_seq=before)
    talk.sends_piece(MIDDLE, 2, "lost behind the capture point", high_seq=before)
    talk.wait(50)
    second = talk.missing(MIDDLE, [2])
    talk.says(*lost)
    frame = talk.says(first, second)
    talk.may_look_like("RESEND-06", frame, RECEIVER)
    talk.may_look_like("CTRL-04", frame, RECEIVER)
    talk.sends_piece(MIDDLE, 2)
    talk.accepts(MIDDLE)
    return talk.finish(MIDDLE + 2)


# --- what counts as proof ---


def short_first_response() -> Exchange:
    talk = Talk("The first RESPONSE ends in the middle of its fields; the one to the repeated OPEN is right.")
    talk.opens()
    talk.breaks("WIRE-08", talk.puts(RECEIVER, "RESPONSE", bytes(20)), RECEIVER)
    talk.wait(500)
    talk.opens()
    talk.responds()
    talk.says(*talk.grants(2))
    return talk.finish(0)


def stray_response() -> Exchange:
    """OPEN-09: the ABORT names no unique ID, and the connection goes on. So does its story."""
    talk = half_way("A RESPONSE of long ago comes in the middle of a transfer, and is refused by ABORT; all goes on.")
    talk.may_look_like("OPEN-02", talk.responds(unique_id=0x0112_1987), RECEIVER)
    talk.capture(talk.emit(SENDER, reason("ABORT", "another connection", **talk.ports(SENDER))))
    return talk.finish(MIDDLE)


SCRIPTS = {
    "resend06-like-through-a-hole": second_request_through_a_hole,
    "wire08-short-first-response": short_first_response,
    "open09-like-stray-response": stray_response,
}
