# SPDX-License-Identifier: GPL-2.0-or-later
"""Captures for control messages and their acknowledgement: CTRL (but CTRL-04, which has a file of its own), TIMER."""

from __future__ import annotations

from pcaps.tools.exchange import PACKETS_PER_BUFFER, RECEIVER, SENDER, Exchange
from pcaps.tools.forged_data import MIDDLE, half_way
from pcaps.tools.octets import Message, go, resend
from pcaps.tools.talk import Talk


def number_left_out() -> Exchange:
    talk = half_way("The receiver leaves out a message number.")
    talk.sends_buffer(MIDDLE)
    first = talk.accept(MIDDLE)
    talk.seq += 1
    messages = [first, *talk.grants(1)]
    offence = talk.says(*messages)
    talk.breaks("CTRL-01", offence, RECEIVER, proof=RECEIVER)
    talk.looks_like("CTRL-03", offence, RECEIVER)
    talk.may_look_like("CTRL-04", offence, RECEIVER)
    talk.sends_buffer(MIDDLE + 1, high_seq=talk.seq - 2)
    for _ in range(5):
        talk.wait(300)
        talk.may_look_like("CTRL-03", talk.says(*messages), RECEIVER)
    return talk


def numbers_from_zero() -> Exchange:
    talk = Talk("The first control message has number 0.")
    talk.opens()
    talk.responds()
    offence = talk.says(go(0, 0), go(1, 1))
    talk.breaks("CTRL-01", offence, RECEIVER)
    talk.answers(1)
    return talk


def first_message_left_out() -> Exchange:
    talk = Talk("The first control message has number 2, in whichever CONTROL; no IP ID is missing.")
    talk.opens()
    talk.responds()
    talk.seq = 1
    messages = talk.grants(2)
    offence = talk.says(*messages)
    talk.breaks("CTRL-01", offence, RECEIVER, proof=RECEIVER)
    talk.may_look_like("CTRL-04", offence, RECEIVER)
    for _ in range(14):
        talk.answers(0)
        talk.wait(120)
        talk.may_look_like("CTRL-04", talk.says(*messages), RECEIVER)
    return talk


def message_changes() -> Exchange:
    talk = half_way("A repeated GO names another buffer.")
    talk.sends_buffer(MIDDLE)
    first, seq = talk.accept(MIDDLE), talk.seq
    talk.says(first, go(seq + 1, MIDDLE + 2))
    talk.wait(200)
    offence = talk.says(first, go(seq + 1, MIDDLE + 3))
    talk.breaks("CTRL-02", offence, RECEIVER)
    talk.answers(seq + 1)
    return talk


def list_shrinks() -> Exchange:
    talk = half_way("A repeated RESEND lists less than it did.")
    talk.sends_buffer(MIDDLE, lost=[0, 1])
    talk.wait(50)
    message = talk.missing(MIDDLE, [0, 1])
    talk.says(message)
    talk.wait(200)
    offence = talk.says(resend(talk.seq, MIDDLE, [0]))
    talk.breaks("CTRL-02", offence, RECEIVER)
    talk.sends_piece(MIDDLE, 0)
    talk.sends_piece(MIDDLE, 1)
    talk.accepts(MIDDLE)
    return talk.finish(MIDDLE + 1)


def padding_changes() -> Exchange:
    """Look-alike: the octets that fill a RESEND up are no part of it (AMB-16)."""
    talk = half_way("A RESEND is repeated with the same list; only what fills it up is not the same.")
    talk.sends_buffer(MIDDLE, lost=[1])
    talk.wait(50)
    talk.says(talk.missing(MIDDLE, [1], fill=0x1234))
    talk.wait(200)
    talk.says(resend(talk.seq, MIDDLE, [1], fill=0x4321, pad=7))
    talk.sends_piece(MIDDLE, 1)
    talk.accepts(MIDDLE)
    return talk.finish(MIDDLE + 1)


def newest_first() -> Exchange:
    talk = half_way("The messages of a CONTROL are in descending order.")
    talk.sends_buffer(MIDDLE)
    messages = [talk.accept(MIDDLE), *talk.grants(1)]
    offence = talk.says(*reversed(messages))
    talk.breaks("CTRL-03", offence, RECEIVER)
    return talk.finish(MIDDLE + 1)


def acknowledged_again() -> Exchange:
    talk = half_way("A CONTROL brings back a message that the receiver had dropped as acknowledged.")
    talk.sends_buffer(MIDDLE)
    old = talk.accept(MIDDLE)
    talk.says(old, *talk.grants(1))
    talk.sends_buffer(MIDDLE + 1)
    new = talk.accept(MIDDLE + 1)
    fresh = talk.grants(1)
    talk.says(new, *fresh)
    talk.wait(100)
    between = go(talk.seq - 2, MIDDLE + 2)
    offence = talk.says(old, between, new, *fresh)
    talk.breaks("CTRL-05", offence, RECEIVER)
    return talk.finish(MIDDLE + 2)


def repeated_after_done() -> Exchange:
    talk = Talk("The receiver sends DONE and then repeats its last CONTROL.")
    talk.start()
    talk.run(0, talk.buffers - 1)
    talk.sends_buffer(talk.buffers - 1)
    last = talk.accept(talk.buffers - 1)
    talk.says(last)
    talk.answers()
    talk.says_done()
    offence = talk.says(last)
    talk.breaks("CTRL-05", offence, RECEIVER)
    talk.breaks("TIMER-02", offence, RECEIVER)
    return talk


def acknowledgement_lost() -> Exchange:
    """Look-alike: the acknowledgement passes the capture and is lost after it."""
    talk = half_way(
        "An acknowledgement is lost beyond the capture point, so that the receiver repeats what seems acknowledged."
    )
    talk.sends_buffer(MIDDLE)
    messages = [talk.accept(MIDDLE), *talk.grants(1)]
    talk.says(*messages)
    talk.answers(comment="lost behind the capture point")
    talk.wait(200)
    talk.says(*messages)
    return talk.finish(MIDDLE + 1)


def parts_of_a_queue() -> Exchange:
    """Look-alike: the queue does not fit one packet, and each part has a timer of its own (AMB-33)."""
    talk = Talk(
        "A queue goes out in two CONTROLs. The acknowledgement of the first is lost "
        "beyond the capture point, so that it is repeated alone, after the second.",
        buffers=24,
        max_buffers=4,
    )
    talk.start()
    talk.run(0, MIDDLE)
    talk.answers()
    talk.says(*talk.grants(2))
    talk.sends_buffer(MIDDLE)
    talk.sends_buffer(MIDDLE + 1)
    talk.sends_buffer(MIDDLE + 2, lost=[0, 1, 2])
    talk.sends_buffer(MIDDLE + 3, lost=[0, 1, 2])
    talk.wait(50)
    first = [talk.accept(MIDDLE), *talk.grants(1), talk.accept(MIDDLE + 1), *talk.grants(1)]
    talk.says(*first)
    talk.answers(comment="lost behind the capture point")
    talk.wait(100)
    talk.says(*(talk.missing(buffer, [0, 1, 2]) for buffer in (MIDDLE + 2, MIDDLE + 3)), comment="the second part")
    talk.wait(100)
    talk.says(*first, comment="the first part again, by its own timer")
    for buffer in (MIDDLE + 2, MIDDLE + 3):
        for number in range(3):
            talk.sends_piece(buffer, number)
        talk.accepts(buffer)
    return talk.finish(MIDDLE + 4)


def beside_an_ok() -> Exchange:
    """The OK means that all data have come, and the data acknowledged the message before them."""
    talk = half_way("A message comes back beside the OK of a buffer whose data have acknowledged it.")
    talk.sends_buffer(MIDDLE)
    old, fresh = talk.accept(MIDDLE), talk.grants(1)
    talk.says(old, *fresh)
    talk.sends_buffer(MIDDLE + 1)
    offence = talk.says(old, *fresh, talk.accept(MIDDLE + 1), *talk.grants(1))
    talk.breaks("CTRL-05", offence, RECEIVER)
    return talk.finish(MIDDLE + 2)


def beside_an_ok_too_early() -> Exchange:
    """Perhaps it got no more than the first two packets when it said OK; then that is what was wrong."""
    talk = half_way("A CONTROL has an OK, and a message that only the last packets of that buffer acknowledge.")
    talk.sends_buffer(MIDDLE)
    newest = talk.seq
    queue = [talk.accept(MIDDLE), *talk.grants(1)]
    talk.says(*queue)
    talk.sends_buffer(MIDDLE + 1, skip=[2, 3], high_seq=newest)
    talk.sends_buffer(MIDDLE + 1, skip=[0, 1])
    frame = talk.says(*queue, talk.accept(MIDDLE + 1), *talk.grants(1))
    talk.looks_like("CTRL-05", frame, RECEIVER)
    return talk.finish(MIDDLE + 2)


def beside_an_ok_of_a_part() -> Exchange:
    """Look-alike: the OK is for what came before the first of two LDATAs, and that acknowledged nothing."""
    talk = half_way("A buffer has two LDATAs, and is accepted up to the first; only the second acknowledges a message.")
    newest = talk.seq
    talk.sends_buffer(MIDDLE)
    queue = [talk.accept(MIDDLE), *talk.grants(1)]
    talk.says(*queue)
    for number in (0, 1):
        talk.sends_piece(MIDDLE + 1, number, high_seq=newest)
    talk.breaks("DATA-04", talk.sends_piece(MIDDLE + 1, 2, type="LDATA", high_seq=newest), SENDER)
    talk.sends_piece(MIDDLE + 1, 3)
    talk.says(*queue, talk.accept(MIDDLE + 1), *talk.grants(1))
    return talk.finish(MIDDLE + 2)


def acknowledgement_falls() -> Exchange:
    talk = half_way("The sender acknowledges less than before.")
    talk.answers()
    offence = talk.sends_piece(MIDDLE, 0, high_seq=talk.seq - 2)
    talk.breaks("CTRL-06", offence, SENDER)
    talk.sends_buffer(MIDDLE, skip=[0])
    talk.accepts(MIDDLE)
    return talk.finish(MIDDLE + 1)


def acknowledgement_late() -> Exchange:
    """Look-alike: the packet is older, and was delayed."""
    talk = half_way("A packet with an older acknowledgement arrives late, as its IP ID shows.")
    late = talk.piece(MIDDLE, 0, "emitted before the CONTROL arrived")
    talk.sends_buffer(MIDDLE, skip=[0])
    talk.wait(50)
    talk.says(talk.missing(MIDDLE, [0]))
    talk.sends_piece(MIDDLE, 0)
    talk.capture(late)
    talk.accepts(MIDDLE)
    return talk.finish(MIDDLE + 1)


def never_said() -> Exchange:
    talk = half_way("The sender acknowledges a message that was never sent.")
    offence = talk.sends_piece(MIDDLE, 0, high_seq=talk.seq + 3)
    talk.breaks("CTRL-06", offence, SENDER, proof=RECEIVER)
    talk.sends_buffer(MIDDLE, skip=[0], high_seq=talk.seq + 3)
    for _ in range(6):
        talk.wait(300)
        talk.puts(RECEIVER, "KEEPALIVE")
    return talk


def hole_acknowledged() -> Exchange:
    talk = half_way("The receiver numbers a message two too high, and the sender acknowledges it over the hole.")
    talk.sends_buffer(MIDDLE)
    talk.seq += 1
    broken = talk.says(talk.accept(MIDDLE), *talk.grants(1))
    talk.breaks("CTRL-01", broken, RECEIVER)
    talk.may_look_like("CTRL-04", broken, RECEIVER)
    offence = talk.sends_buffer(MIDDLE + 1)[0]
    talk.breaks("CTRL-07", offence, SENDER, proof=RECEIVER)
    talk.accepts(MIDDLE + 1)
    return talk.finish(MIDDLE + 2)


def not_captured() -> Exchange:
    """Look-alike: the capture missed the CONTROL."""
    talk = half_way("The capture missed a CONTROL, which the sender acknowledges; the IP IDs show the gap.")
    talk.sends_buffer(MIDDLE)
    talk.queue(talk.accept(MIDDLE), *talk.grants(1))
    frame = talk.sends_buffer(MIDDLE + 1)[0]
    talk.may_look_like("CTRL-06", frame, SENDER)
    talk.may_look_like("DATA-12", frame, SENDER)
    talk.accepts(MIDDLE + 1)
    talk.may_look_like("DATA-01", talk.sends_buffer(MIDDLE + 2)[0], SENDER)
    talk.may_look_like("DATA-12", frame, SENDER)
    talk.accepts(MIDDLE + 2)
    talk.answers()
    return talk


def served_again(talk: Talk, message: Message) -> Exchange:
    """The RESEND for packet 1 is repeated, and served once more than it may be."""
    talk.says(message)
    offence = talk.sends_piece(MIDDLE, 1, "the same request, served again")
    talk.breaks("CTRL-09", offence, SENDER)
    talk.breaks("DATA-13", offence, SENDER)
    talk.accepts(MIDDLE)
    return talk.finish(MIDDLE + 1)


def served_twice() -> Exchange:
    talk = half_way("The sender serves a RESEND once more when it is repeated.")
    talk.sends_buffer(MIDDLE, lost=[1])
    talk.wait(50)
    message = talk.missing(MIDDLE, [1])
    talk.says(message)
    talk.sends_piece(MIDDLE, 1, "the repair, lost behind the capture point", high_seq=talk.seq)
    talk.wait(200)
    return served_again(talk, message)


def requested_after_loss(about: str) -> tuple[Talk, Message]:
    """The first copy of packet 1 is lost before the capture, and a RESEND for it was served."""
    talk = half_way(about)
    for number in range(PACKETS_PER_BUFFER):
        piece = talk.piece(MIDDLE, number)  # lost before the capture
        if number != 1:
            talk.capture(piece)
    talk.wait(50)
    message = talk.missing(MIDDLE, [1])
    talk.says(message)
    talk.sends_piece(MIDDLE, 1, "the repair, lost behind the capture point", high_seq=talk.seq)
    talk.wait(200)
    return talk, message


def served_twice_after_loss() -> Exchange:
    talk, message = requested_after_loss(
        "A packet is lost before the capture; the sender serves the RESEND for it once more when it is repeated."
    )
    return served_again(talk, message)


def requested_again_after_loss() -> Exchange:
    talk, _ = requested_after_loss("A packet is lost before the capture, then beyond it, and is requested twice.")
    talk.says(talk.missing(MIDDLE, [1]))
    talk.sends_piece(MIDDLE, 1, "the second repair")
    talk.accepts(MIDDLE)
    return talk.finish(MIDDLE + 1)


def go_twice() -> Exchange:
    talk = half_way("The receiver gives another GO for a buffer that has one.")
    talk.sends_buffer(MIDDLE)
    offence = talk.says(talk.accept(MIDDLE), *talk.grants(1), go(talk.number(), MIDDLE + 1))
    talk.breaks("CTRL-13", offence, RECEIVER)
    talk.sends_buffer(MIDDLE + 1)
    talk.answers()
    return talk


def ok_twice() -> Exchange:
    talk = half_way("The receiver gives another OK for a buffer that has one.")
    talk.sends_buffer(MIDDLE)
    talk.accepts(MIDDLE)
    talk.sends_buffer(MIDDLE + 1)
    offence = talk.says(talk.accept(MIDDLE + 1), talk.accept(MIDDLE))
    talk.breaks("CTRL-14", offence, RECEIVER)
    talk.answers()
    return talk


def ok_too_early() -> Exchange:
    talk = half_way("The receiver gives OK for a buffer of which a packet was never sent.")
    talk.sends_buffer(MIDDLE, skip=[2])
    offence = talk.accepts(MIDDLE)
    talk.breaks("CTRL-14", offence, RECEIVER, proof=SENDER)
    return talk.finish(MIDDLE + 1)


def packet_not_captured() -> Exchange:
    """Look-alike: the capture missed the packet."""
    talk = half_way("The capture missed a packet of a buffer that gets its OK; the IP IDs show the gap.")
    talk.sends_buffer(MIDDLE, skip=[2, 3])
    talk.piece(MIDDLE, 2)
    talk.sends_piece(MIDDLE, 3)
    talk.may_look_like("CTRL-14", talk.accepts(MIDDLE), RECEIVER)
    return talk.finish(MIDDLE + 1)


def impatient_resend() -> Exchange:
    talk = half_way("The receiver asks for a buffer whose GO is not acknowledged, and of which nothing came.")
    talk.sends_buffer(MIDDLE)
    newest = talk.seq
    messages = [talk.accept(MIDDLE), *talk.grants(1)]
    talk.says(*messages)
    talk.wait(100)
    offence = talk.says(*messages, talk.missing(MIDDLE + 2, range(4)))
    talk.breaks("TIMER-04", offence, RECEIVER, proof=SENDER)
    talk.sends_buffer(MIDDLE + 1, high_seq=newest)
    talk.answers()
    return talk


def resend_after_ok() -> Exchange:
    talk = half_way("The receiver asks for a packet of a buffer that it has given OK for.")
    talk.sends_buffer(MIDDLE)
    talk.accepts(MIDDLE)
    talk.sends_buffer(MIDDLE + 1)
    offence = talk.says(talk.accept(MIDDLE + 1), talk.missing(MIDDLE, [1]))
    talk.breaks("TIMER-08", offence, RECEIVER)
    talk.answers()
    return talk


def early_repetition() -> Exchange:
    talk = half_way("The receiver publishes a control timer of 2 s and repeats its CONTROL after 20 ms.")
    talk.sends_buffer(MIDDLE)
    messages = [talk.accept(MIDDLE, control_timer_ms=2000), *talk.grants(1)]
    talk.says(*messages)
    talk.wait(20)
    frame = talk.says(*messages)
    talk.looks_like("TIMER-03", frame, RECEIVER)
    return talk.finish(MIDDLE + 1)


def repeated_as_first_part() -> Exchange:
    talk = half_way("A new message makes the queue leave at once, in two CONTROLs: the first one holds nothing new.")
    known = talk.seq
    talk.sends_buffer(MIDDLE)
    messages = [talk.accept(MIDDLE, control_timer_ms=2000), *talk.grants(1)]
    talk.says(*messages, comment="lost behind the capture point")
    talk.sends_buffer(MIDDLE + 1, high_seq=known)
    talk.says(*messages)
    part = talk.says(talk.accept(MIDDLE + 1, control_timer_ms=2000), *talk.grants(1))
    talk.may_look_like("CTRL-04", part, RECEIVER)
    return talk.finish(MIDDLE + 2)


def silence() -> Exchange:
    talk = Talk("The sender sends nothing for longer than the peer's death timer.", death_timer_s=4)
    talk.start()
    talk.run(0, 3)
    talk.answers()
    for number in range(4):
        talk.wait(1400)
        frame = talk.puts(RECEIVER, "KEEPALIVE")
        if number == 0:
            talk.looks_like("TIMER-11", frame, SENDER)
    talk.may_look_like("ORDER-04", talk.sends_piece(3, 0), SENDER)
    talk.sends_buffer(3, skip=[0])
    talk.accepts(3)
    return talk.finish(4)


def unheard() -> Exchange:
    talk = half_way("The sender goes on without acknowledging a CONTROL for seconds.")
    newest = talk.seq
    talk.sends_buffer(MIDDLE)
    control = talk.accepts(MIDDLE)
    talk.wait(4000)
    frame = talk.sends_piece(MIDDLE + 1, 0, high_seq=newest)
    talk.looks_like("CTRL-10", frame, SENDER)
    talk.looks_like("TIMER-01", control, RECEIVER)
    talk.sends_buffer(MIDDLE + 1, skip=[0])
    talk.accepts(MIDDLE + 1)
    return talk.finish(MIDDLE + 2)


def no_timer() -> Exchange:
    talk = half_way("An OK publishes a control timer of 0.")
    talk.sends_buffer(MIDDLE)
    frame = talk.says(talk.accept(MIDDLE, control_timer_ms=0), *talk.grants(1))
    talk.looks_like("CLOSE-07", frame, RECEIVER)
    return talk.finish(MIDDLE + 1)


SCRIPTS = {
    "ctrl01-number-left-out": number_left_out,
    "ctrl01-from-zero": numbers_from_zero,
    "ctrl01-first-left-out": first_message_left_out,
    "ctrl02-message-changes": message_changes,
    "ctrl02-list-shrinks": list_shrinks,
    "ctrl02-like-padding": padding_changes,
    "ctrl03-newest-first": newest_first,
    "ctrl05-acknowledged-again": acknowledged_again,
    "ctrl05-beside-an-ok": beside_an_ok,
    "ctrl05-like-beside-an-ok-too-early": beside_an_ok_too_early,
    "ctrl05-like-beside-an-ok-of-a-part": beside_an_ok_of_a_part,
    "ctrl05-like-parts": parts_of_a_queue,
    "ctrl05-repeated-after-done": repeated_after_done,
    "ctrl05-like-acknowledgement-lost": acknowledgement_lost,
    "ctrl06-acknowledgement-falls": acknowledgement_falls,
    "ctrl06-like-late": acknowledgement_late,
    "ctrl06-never-said": never_said,
    "ctrl06-like-not-captured": not_captured,
    "ctrl07-hole-acknowledged": hole_acknowledged,
    "ctrl09-served-twice": served_twice,
    "ctrl09-served-twice-after-loss": served_twice_after_loss,
    "ctrl09-like-requested-again-after-loss": requested_again_after_loss,
    "ctrl10-unheard": unheard,
    "ctrl13-go-twice": go_twice,
    "ctrl14-ok-twice": ok_twice,
    "ctrl14-ok-too-early": ok_too_early,
    "ctrl14-like-packet-not-captured": packet_not_captured,
    "timer03-early-repetition": early_repetition,
    "timer03-like-first-part": repeated_as_first_part,
    "timer04-impatient-resend": impatient_resend,
    "timer08-resend-after-ok": resend_after_ok,
    "timer11-silence": silence,
    "close07-no-timer": no_timer,
}
