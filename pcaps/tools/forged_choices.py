# SPDX-License-Identifier: GPL-2.0-or-later
"""Captures of ends that read RFC 998 another way, where it can be read so, and of breaches that only such an end, or
only a carrier without IP IDs, shows in another light."""

from __future__ import annotations

import struct
from typing import Any

from pcaps.tools.exchange import PACKETS_PER_BUFFER, RECEIVER, SENDER, Exchange, Frame
from pcaps.tools.forged_data import MIDDLE, half_way
from pcaps.tools.octets import Message, data, go, reason
from pcaps.tools.talk import Talk

MANY = 1100  # packets of a buffer, more than an end remembers without having seen one


# --- where a buffer ends (AMB-41, AMB-42) ---


def empty_ldata() -> Exchange:
    talk = Talk("Every buffer is full, and an LDATA without data follows: its end was found late.")
    talk.start()
    for buffer in range(talk.buffers):
        talk.may_look_like("DATA-04", talk.sends_buffer(buffer, type="DATA")[-1], SENDER)
        talk.sends_piece(buffer, PACKETS_PER_BUFFER, type="LDATA", octets=b"")
        talk.accepts(buffer)
    talk.answers()
    talk.says_done()
    return talk


def empty_last_buffer() -> Exchange:
    talk = Talk("The data end after the last full buffer: one more buffer has an LDATA without data, and no other.")
    talk.start()
    talk.run(0, talk.buffers - 1)
    talk.sends_piece(talk.buffers - 1, 0, type="LDATA", octets=b"")
    talk.accepts(talk.buffers - 1)
    talk.answers()
    talk.says_done()
    return talk


# --- packets numbered from 1 (AMB-10) ---


class FromOne(Talk):
    """Packets are numbered from 1, buffers from 1000."""

    def piece(self, buffer: int, number: int, comment: str | None = None, **fields: Any) -> Frame:
        octets = self.octets_of(buffer, number)
        last = buffer == self.buffers - 1
        values = {"octets": octets, "last_buffer": last, "number_on_wire": number + 1, **fields}
        return super().piece(buffer + 1000, number, comment, **values)

    def grants(self, count: int) -> list[Message]:
        return [go(message.fields["seq"], message.fields["buffer"] + 1000) for message in super().grants(count)]

    def accept(self, buffer: int, **offer: Any) -> Message:
        return super().accept(buffer + 1000, **offer)


def from_one() -> Exchange:
    talk = FromOne("Packets are numbered from 1, buffers from 1000; all is in order.")
    return talk.start().finish(0)


def from_one_too_short() -> Exchange:
    talk = FromOne(
        "Packets are numbered from 1; a buffer in the middle of the transfer ends one packet early.", buffers=24
    )
    talk.start()
    talk.run(0, MIDDLE)
    talk.sends_piece(MIDDLE, 0)
    talk.sends_piece(MIDDLE, 1)
    talk.breaks("DATA-02", talk.sends_piece(MIDDLE, 2, type="LDATA"), SENDER)
    talk.accepts(MIDDLE)
    return talk.finish(MIDDLE + 1)


# --- requests ---


def second_request_through_a_hole() -> Exchange:
    """TIMER-04: data that came since show that the first RESEND arrived, though a hole below it is not acknowledged."""
    talk = half_way(
        "A retransmission arrives, without an acknowledgement because of a hole below "
        "it, and the rest is requested again."
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
        "The receiver requests a large buffer before any data arrive; the data on their way are retransmitted."
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


def goes_on(talk: Talk) -> Exchange:
    """Some more buffers, so that nothing can be on its way any longer."""
    for buffer in range(MIDDLE + 1, MIDDLE + 4):
        talk.sends_buffer(buffer)
        talk.accepts(buffer)
    return talk


def ok_without_a_buffer() -> Exchange:
    talk = half_way("The receiver gives OK for a buffer that it never gave a GO for, and of which nothing came.")
    talk.sends_buffer(MIDDLE)
    offence = talk.says(talk.accept(MIDDLE), *talk.grants(1), talk.accept(MIDDLE + 6))
    talk.breaks("CTRL-14", offence, RECEIVER)
    return goes_on(talk)


def other_acknowledgement() -> Exchange:
    talk = Talk("Without IP IDs: a packet is repeated without a request and acknowledges more than before.", buffers=24)
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


def sent_again_and_asked_for() -> Exchange:
    """Of three copies the second is one too many; the third is what was requested."""
    talk = half_way(
        "A packet is retransmitted without a request, both copies are lost, and it is sent once more for a RESEND."
    )
    talk.sends_buffer(MIDDLE, skip=[3], lost=[1])
    offence = talk.sends_piece(MIDDLE, 1, "lost behind the capture point")
    talk.breaks("DATA-13", offence, SENDER)
    talk.sends_piece(MIDDLE, 3)
    talk.says(talk.missing(MIDDLE, [1]))
    talk.sends_piece(MIDDLE, 1)
    talk.accepts(MIDDLE)
    return talk.finish(MIDDLE + 1)


def sent_again_behind_its_ok() -> Exchange:
    """A sender that acknowledges the OK knows that nothing of the buffer is wanted any more, with or without IP IDs."""
    talk = Talk("Without IP IDs: a packet is repeated after the OK of its buffer, which it acknowledges.", buffers=24)
    talk.climbing_ids = False
    talk.start()
    talk.run(0, MIDDLE + 1)
    talk.sends_buffer(MIDDLE + 1, skip=[3])
    talk.breaks("DATA-13", talk.sends_piece(MIDDLE, 1), SENDER)
    talk.sends_piece(MIDDLE + 1, 3)
    talk.accepts(MIDDLE + 1)
    return talk.finish(MIDDLE + 2)


def sent_on_behind_an_early_ok() -> Exchange:
    """What the sender had still to send it sends, whatever the receiver reports of it."""
    talk = half_way("The receiver gives OK for half a buffer; the sender, which has acknowledged that, sends the rest.")
    talk.sends_buffer(MIDDLE, skip=[2, 3])
    talk.breaks("CTRL-14", talk.accepts(MIDDLE), RECEIVER)
    talk.answers()
    talk.sends_buffer(MIDDLE, skip=[0, 1])
    return talk.finish(MIDDLE + 1)


def asked_for_without_go() -> Exchange:
    talk = half_way("The receiver requests packets of a buffer that it never gave a GO for.")
    talk.sends_buffer(MIDDLE)
    offence = talk.says(talk.accept(MIDDLE), *talk.grants(1), talk.missing(MIDDLE + 6, [0, 1]))
    talk.breaks("TIMER-04", offence, RECEIVER)
    return goes_on(talk)


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
    "data04-like-end-found-late": empty_ldata,
    "data04-like-empty-last-buffer": empty_last_buffer,
    "data05-like-numbers-from-one": from_one,
    "data02-too-short-from-one": from_one_too_short,
    "resend06-like-through-a-hole": second_request_through_a_hole,
    "data13-like-asked-for-before-it-came": all_asked_for_before_anything_came,
    "ctrl14-like-from-the-highest-down": large_buffer_downwards,
    "ctrl14-ok-without-a-buffer": ok_without_a_buffer,
    "data13-other-acknowledgement": other_acknowledgement,
    "data13-like-same-acknowledgement": same_acknowledgement,
    "data13-before-it-was-asked-for": sent_again_and_asked_for,
    "data13-behind-its-ok": sent_again_behind_its_ok,
    "ctrl14-like-sent-on-behind-it": sent_on_behind_an_early_ok,
    "timer04-without-go": asked_for_without_go,
    "wire08-short-first-response": short_first_response,
    "open09-like-stray-response": stray_response,
}
