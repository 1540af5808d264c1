# SPDX-License-Identifier: GPL-2.0-or-later
"""Captures of ends that read RFC 998 another way, where it can be read so, and of breaches that only such an end, or
only a carrier without IP IDs, shows in another light."""

from __future__ import annotations

import struct

from pcaps.tools.exchange import RECEIVER, SENDER, Exchange
from pcaps.tools.octets import data, reason
from pcaps.tools.talk import Talk

MIDDLE = 12
MANY = 1100  # packets of a buffer, more than anybody remembers without having seen one


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


def large_buffer(about: str) -> Talk:
    """One buffer of many packets, with its GO acknowledged."""
    size = 8
    talk = Talk(about, buffers=2, buffer_size=MANY * size, packet_size=size, max_buffers=1, burst_size=100)
    talk.opens()
    talk.responds()
    talk.says(*talk.grants(1))
    talk.answers(burst_size=100)
    return talk


def sends_large(talk: Talk, numbers: range | list[int], high_seq: int) -> None:
    for number in numbers:
        name = "LDATA" if number == MANY - 1 else "DATA"
        content = data(name, struct.pack(">II", 998, number), number=number, high_seq=high_seq, **talk.ports(SENDER))
        talk.capture(talk.emit(SENDER, content))


def all_asked_for_before_anything_came() -> Exchange:
    """AMB-35: the data timer runs from the acknowledgement on. The RESEND passes the data on their way."""
    talk = large_buffer(
        "The receiver asks for a large buffer before anything came; the data on their way are sent again."
    )
    talk.says(talk.missing(0, range(MANY)))
    talk.may_look_like("CTRL-10", talk.answers(talk.seq - 1, burst_size=100), SENDER)  # the data take some seconds
    sends_large(talk, range(MANY), talk.seq - 1)
    sends_large(talk, range(MANY), talk.seq)
    talk.says(talk.accept(0, burst_size=100), *talk.grants(1))
    talk.answers(burst_size=100)
    return talk


def large_buffer_downwards() -> Exchange:
    """Nothing but the LDATA has its place in RFC 998's order."""
    talk = large_buffer("The packets of a large buffer go out from the highest down, the LDATA last.")
    sends_large(talk, [*range(MANY - 2, -1, -1), MANY - 1], talk.seq)
    talk.says(talk.accept(0, burst_size=100), *talk.grants(1))
    for _ in range(6):
        talk.answers(burst_size=100)
    return talk


# --- what counts as proof ---


def other_acknowledgement() -> Exchange:
    talk = Talk(
        "Without IP IDs: a packet that nobody asked for comes again and acknowledges more than before.", buffers=24
    )
    talk.climbing_ids = False
    talk.start()
    talk.run(0, MIDDLE)
    talk.sends_buffer(MIDDLE)
    talk.sends_buffer(MIDDLE + 1)
    talk.accepts(MIDDLE)
    offence = talk.sends_piece(MIDDLE + 1, 2)
    talk.breaks("DATA-13", offence, SENDER)
    talk.accepts(MIDDLE + 1)
    return talk.finish(MIDDLE + 2)


def same_acknowledgement() -> Exchange:
    talk = Talk("Without IP IDs: a packet comes a second time as it was, perhaps by the network.", buffers=24)
    talk.climbing_ids = False
    talk.start()
    talk.run(0, MIDDLE)
    talk.sends_buffer(MIDDLE)
    again = talk.sends_buffer(MIDDLE + 1)[2]
    talk.accepts(MIDDLE)
    talk.answers()
    talk.may_look_like("DATA-13", talk.capture(again, "the network's copy"), SENDER)
    talk.accepts(MIDDLE + 1)
    return talk.finish(MIDDLE + 2)


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
    "data13-like-asked-for-before-it-came": all_asked_for_before_anything_came,
    "ctrl14-like-from-the-highest-down": large_buffer_downwards,
    "data13-other-acknowledgement": other_acknowledgement,
    "data13-like-same-acknowledgement": same_acknowledgement,
    "wire08-short-first-response": short_first_response,
    "open09-like-stray-response": stray_response,
}
