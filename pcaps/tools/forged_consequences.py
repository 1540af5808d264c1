# SPDX-License-Identifier: GPL-2.0-or-later
"""Captures in which one wrong packet makes others look wrong: what follows from it must not be reported as well, and
not on the peer. In some the wrong packet is known by its own fields, whatever the IP IDs show."""

from __future__ import annotations

from pcaps.tools.exchange import RECEIVER, SENDER, Exchange
from pcaps.tools.octets import go, setup
from pcaps.tools.talk import Talk

MIDDLE = 6


def half_way(about: str, *, buffers: int = 16) -> Talk:
    talk = Talk(about, buffers=buffers)
    talk.start()
    talk.run(0, MIDDLE)
    return talk


def go_not_acknowledged() -> Exchange:
    talk = Talk("Data of a buffer acknowledge less than their GO, which comes later; no IP ID counts.", buffers=8)
    talk.climbing_ids = False
    talk.start()
    talk.run(0, 3)
    known = talk.seq
    talk.sends_buffer(3)
    talk.sends_buffer(4)
    offence = talk.sends_buffer(5)
    talk.breaks("DATA-01", offence[0], SENDER)
    talk.may_look_like("DATA-12", offence[0], SENDER)
    assert talk.seq == known
    talk.accepts(3)
    talk.answers()
    talk.accepts(4)
    talk.answers()
    return talk


def own_go_never_acknowledged() -> Exchange:
    talk = Talk("Data acknowledge nothing at all, not even the GO that they answer.", buffers=8)
    talk.start()
    frames = talk.sends_buffer(0, high_seq=0)
    talk.breaks("CTRL-06", frames[-1], SENDER)
    talk.sends_buffer(1, high_seq=0)
    return talk


def acknowledged_before_it_was_said() -> Exchange:
    """The OK that it acknowledges came when the packet had arrived."""
    talk = half_way("A packet acknowledges a message that is sent later, and the packets after it do not.", buffers=24)
    talk.sends_piece(MIDDLE, 0)
    offence = talk.sends_piece(MIDDLE, 1, high_seq=talk.seq + 1)
    talk.breaks("CTRL-06", offence, SENDER)
    talk.breaks("CTRL-06", talk.sends_piece(MIDDLE, 2), SENDER)
    talk.sends_piece(MIDDLE, 3)
    talk.may_look_like("CTRL-14", talk.accepts(MIDDLE), RECEIVER)
    talk.run(MIDDLE + 1, 20)
    return talk


def ldata_too_early() -> Exchange:
    talk = half_way("A packet in the middle of a buffer is LDATA; the right LDATA follows.")
    talk.sends_piece(MIDDLE, 0)
    offence = talk.sends_piece(MIDDLE, 1, type="LDATA")
    talk.breaks("DATA-04", offence, SENDER)
    talk.sends_buffer(MIDDLE, skip=[0, 1])
    talk.accepts(MIDDLE)
    return talk.finish(MIDDLE + 1)


def end_is_data() -> Exchange:
    talk = Talk("The short packet at the end of a buffer is DATA, not LDATA.", buffers=8, buffer_size=212)
    talk.start()
    talk.sends_buffer(0, skip=[3])
    offence = talk.sends_piece(0, 3, type="DATA", octets=talk.octets_of(0, 3)[:20])
    talk.breaks("DATA-04", offence, SENDER)
    return talk


def one_packet_flagged() -> Exchange:
    talk = half_way("One packet in the middle of the transfer has L; the transfer goes on.")
    talk.sends_piece(MIDDLE, 0)
    offence = talk.sends_piece(MIDDLE, 1, last_buffer=True)
    talk.breaks("DATA-09", offence, SENDER)
    talk.sends_buffer(MIDDLE, skip=[0, 1])
    talk.accepts(MIDDLE)
    return talk.finish(MIDDLE + 1)


def first_packet_flagged() -> Exchange:
    talk = half_way("The first packet of a buffer in the middle of the transfer has L, the others have it not.")
    talk.sends_piece(MIDDLE, 0, last_buffer=True)
    for number in range(1, 4):
        talk.breaks("DATA-09", talk.sends_piece(MIDDLE, number), SENDER)
    talk.accepts(MIDDLE)
    return talk.finish(MIDDLE + 1)


def believed_flag() -> Exchange:
    """To the receiver the transfer is complete."""
    talk = half_way(
        "The first packet of a buffer has L; the receiver takes it for the last one, and the sender goes on."
    )
    talk.sends_piece(MIDDLE, 0, last_buffer=True)
    for number in range(1, 4):
        talk.breaks("DATA-09", talk.sends_piece(MIDDLE, number), SENDER)
    talk.breaks("DATA-09", talk.sends_buffer(MIDDLE + 1)[0], SENDER)
    talk.says(talk.accept(MIDDLE))
    talk.answers()
    talk.says_done()
    for _ in range(6):
        talk.wait(300)
        talk.puts(SENDER, "KEEPALIVE")
    return talk


def flag_on_ldata_only() -> Exchange:
    talk = half_way("Of the last buffer, which is short, only the LDATA has L.", buffers=MIDDLE + 1)
    talk.sends_buffer(MIDDLE, skip=[2, 3], last_buffer=False)
    offence = talk.sends_piece(MIDDLE, 2, type="LDATA")
    talk.breaks("DATA-09", offence, SENDER)
    talk.accepts(MIDDLE)
    return talk.finish(MIDDLE + 1)


def numbers_that_go_on() -> Exchange:
    """The receiver takes the numbers as they are, and requests what they leave out."""
    talk = half_way("A buffer's packet numbers go on where those of the buffer before ended.")
    for number in range(4):
        kind = "LDATA" if number == 3 else "DATA"
        frame = talk.sends_piece(MIDDLE, number, number_on_wire=4 + number, type=kind)
        talk.breaks("DATA-05", frame, SENDER)
    talk.wait(50)
    talk.says(talk.missing(MIDDLE, range(6)))
    return talk


def far_ahead_and_served() -> Exchange:
    """RFC 998 5.2.1 lets the sender process a message at once, however many numbers are missing before it."""
    talk = half_way("The receiver leaves out 20000 message numbers; the sender serves the RESEND at once.")
    talk.sends_buffer(MIDDLE, lost=[1])
    talk.wait(50)
    known = talk.seq
    talk.seq += 20_000
    offence = talk.says(talk.missing(MIDDLE, [1]))
    talk.may_look_like("CTRL-01", offence, RECEIVER)
    talk.sends_piece(MIDDLE, 1, high_seq=known)
    return talk


def number_left_out_for_good() -> Exchange:
    talk = half_way("The receiver leaves out a message number, and repeats what is never acknowledged.")
    talk.sends_buffer(MIDDLE)
    known = talk.seq
    talk.seq += 1
    messages = [talk.accept(MIDDLE), *talk.grants(1)]
    offence = talk.says(*messages)
    talk.breaks("CTRL-01", offence, RECEIVER)
    talk.doubtful("CTRL-04", offence, RECEIVER)  # once, not with each repetition
    for _ in range(12):
        talk.answers(known)
        talk.wait(300)
        talk.says(*messages)
    return talk


def asked_for_below_message_1() -> Exchange:
    talk = Talk("The first GO has number 0; the sender takes it for a copy, and the receiver asks for that buffer.")
    talk.opens()
    talk.responds()
    offence = talk.says(go(0, 0), go(1, 1))
    talk.breaks("CTRL-01", offence, RECEIVER)
    talk.seq, talk.granted = 1, 2
    talk.sends_buffer(1)
    talk.accepts(1)
    talk.answers()
    talk.wait(500)
    talk.says(talk.missing(0, range(4)))
    return talk


def accepted_before_it_came() -> Exchange:
    """Elsewhere the capture might have put the two directions together out of step."""
    talk = half_way("At the receiver: it gives OK for a buffer, and then the last packet comes.")
    talk.capture_position = RECEIVER
    talk.sends_buffer(MIDDLE, skip=[3])
    last = talk.piece(MIDDLE, 3)
    offence = talk.accepts(MIDDLE)
    talk.breaks("CTRL-14", offence, RECEIVER, proof=SENDER)
    talk.capture(last)
    return talk.finish(MIDDLE + 1)


def acknowledged_before_it_came() -> Exchange:
    talk = half_way("At the sender: a packet acknowledges a message, and then the CONTROL with it comes.", buffers=24)
    talk.capture_position = SENDER
    talk.sends_buffer(MIDDLE)
    control = talk.queue(talk.accept(MIDDLE), *talk.grants(1))
    offence = talk.sends_piece(MIDDLE + 1, 0)
    talk.breaks("CTRL-06", offence, SENDER, proof=RECEIVER)
    talk.capture(control)
    talk.sends_buffer(MIDDLE + 1, skip=[0])
    talk.accepts(MIDDLE + 1)
    return talk.finish(MIDDLE + 2)


def two_requests_repeated() -> Exchange:
    talk = half_way("Two RESENDs for one buffer are in a CONTROL that is repeated.")
    talk.sends_buffer(MIDDLE, lost=[1, 2])
    talk.wait(50)
    known = talk.seq
    messages = [talk.missing(MIDDLE, [1, 2]), talk.missing(MIDDLE, [1, 2])]
    offence = talk.says(*messages)
    talk.breaks("RESEND-06", offence, RECEIVER)
    for _ in range(3):
        talk.answers(known)
        talk.wait(300)
        talk.says(*messages)
    return talk


def asked_after_its_ok() -> Exchange:
    talk = half_way("The receiver asks again and again for a buffer that has its OK.")
    talk.sends_buffer(MIDDLE)
    talk.accepts(MIDDLE)
    for number in range(4):
        talk.answers()
        talk.wait(300)
        frame = talk.says(talk.missing(MIDDLE - 1, [0, 1]))
        if number == 0:
            talk.breaks("TIMER-08", frame, RECEIVER)
    return talk


def far_buffer() -> Exchange:
    talk = half_way("A buffer far beyond the last has a GO, and one packet of it is sent first.", buffers=MIDDLE + 2)
    talk.answers()
    talk.may_look_like("DATA-12", talk.says(go(talk.number(), MIDDLE + 30)), RECEIVER)
    talk.sends_piece(MIDDLE + 30, 0, last_buffer=False)
    talk.breaks("ORDER-01", talk.sends_buffer(MIDDLE)[0], SENDER)
    talk.accepts(MIDDLE)
    frames = talk.sends_buffer(MIDDLE + 1)
    talk.breaks("DATA-09", frames[0], SENDER)
    return talk


def repeated_by_a_timer() -> Exchange:
    """What looks like the first copy is no retransmission, and not the first copy either."""
    talk = half_way("The sender repeats by a timer; the first copy of one packet was lost before the capture.")
    for buffer in (MIDDLE, MIDDLE + 1):
        talk.sends_buffer(buffer)
        talk.wait(40)
        talk.breaks("DATA-13", talk.sends_piece(buffer, 1), SENDER)
        talk.accepts(buffer)
    talk.sends_buffer(MIDDLE + 2, skip=[1])
    talk.wait(40)
    talk.may_look_like("ORDER-03", talk.sends_piece(MIDDLE + 2, 1), SENDER)
    talk.accepts(MIDDLE + 2)
    return talk.finish(MIDDLE + 3)


def response_lost() -> Exchange:
    """A receiver that was called sends GO at once; what the capture holds from then on is the whole story."""
    talk = Talk(
        "The first RESPONSE is lost before the capture, the GOs after it are not; the sender uses two versions."
    )
    talk.opens()
    talk.emit(RECEIVER, setup("RESPONSE", **talk.terms(), **talk.ports(RECEIVER)))
    talk.says(*talk.grants(2))
    talk.wait(300)
    talk.opens()
    talk.responds()
    talk.wait(50)
    talk.breaks("WIRE-02", talk.sends_piece(0, 0, version=7), SENDER)
    talk.sends_buffer(0, skip=[0])
    talk.accepts(0)
    return talk.finish(1)


def no_buffers_granted() -> Exchange:
    """The sender does what the GOs allow: no number of buffers would be low enough."""
    talk = Talk("RESPONSE grants no outstanding buffers, and GOs follow all the same.", buffers=6)
    talk.opens()
    offence = talk.responds(max_buffers=0)
    talk.breaks("NEG-10", offence, RECEIVER)
    talk.says(*talk.grants(2))
    return talk.finish(0)


def faster_at_once() -> Exchange:
    """Ten packets of the receiver must be known before its IP IDs show anything, and these come later."""
    talk = Talk("The sender's first packet reports a faster pace than the RESPONSE gave it.", buffers=24)
    talk.start()
    talk.looks_like("CTRL-11", talk.answers(burst_size=9), SENDER)
    talk.run(0, 20)
    return talk


SCRIPTS = {
    "ctrl01-number-left-out-for-good": number_left_out_for_good,
    "data13-like-asked-far-ahead": far_ahead_and_served,
    "ctrl01-like-asked-below-message-1": asked_for_below_message_1,
    "ctrl06-before-it-was-said": acknowledged_before_it_was_said,
    "ctrl06-own-go": own_go_never_acknowledged,
    "ctrl11-faster-at-once": faster_at_once,
    "data01-go-not-acknowledged": go_not_acknowledged,
    "data03-like-end-is-data": end_is_data,
    "data04-ldata-too-early": ldata_too_early,
    "data09-flag-on-ldata-only": flag_on_ldata_only,
    "close01-like-believed-flag": believed_flag,
    "data09-first-packet-flagged": first_packet_flagged,
    "data09-one-packet-flagged": one_packet_flagged,
    "neg10-no-buffers": no_buffers_granted,
    "open-like-response-lost": response_lost,
    "order03-like-repeated-by-a-timer": repeated_by_a_timer,
    "ctrl06-before-it-came": acknowledged_before_it_came,
    "ctrl14-before-it-came": accepted_before_it_came,
    "data09-far-buffer": far_buffer,
    "resend06-repeated": two_requests_repeated,
    "timer08-again-and-again": asked_after_its_ok,
    "resend01-like-numbers-go-on": numbers_that_go_on,
}
