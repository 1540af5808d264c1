# SPDX-License-Identifier: GPL-2.0-or-later
"""Captures for data packets, requests and their order: DATA, RESEND, ORDER (but ORDER-02, which has its own)."""

from __future__ import annotations

from pcaps.tools.exchange import RECEIVER, SENDER, Exchange
from pcaps.tools.octets import go, setup
from pcaps.tools.talk import Talk

MIDDLE = 12  # both ends have emitted so much by then that their IP IDs prove something
LOST = "lost behind the capture point"


def half_way(about: str, *, summed: bool = False, buffers: int = 24, **proposal: object) -> Talk:
    talk = Talk(about, buffers=buffers, summed=summed, **proposal)
    talk.start()
    talk.run(0, MIDDLE)
    return talk


def before_go() -> Exchange:
    talk = half_way("The sender sends a packet of a buffer that has no GO.")
    offence = talk.sends_piece(MIDDLE + 2, 0)
    talk.breaks("DATA-01", offence, SENDER, proof=RECEIVER)
    talk.may_look_like("ORDER-01", offence, SENDER)
    for _ in range(5):
        talk.wait(300)
        talk.puts(RECEIVER, "KEEPALIVE")
    return talk


def before_go_then_answered() -> Exchange:
    """The OK shows that the GO in the same CONTROL was emitted later than the packet, whatever the capture did."""
    talk = half_way("Between packets of a buffer the sender sends one of a buffer that has no GO yet.")
    talk.sends_buffer(MIDDLE, skip=[2, 3])
    offence = talk.sends_piece(MIDDLE + 2, 0)
    talk.breaks("DATA-01", offence, SENDER, proof=RECEIVER)
    talk.sends_buffer(MIDDLE, skip=[0, 1])
    talk.accepts(MIDDLE)
    talk.sends_buffer(MIDDLE + 1)
    talk.accepts(MIDDLE + 1)
    talk.sends_buffer(MIDDLE + 2, skip=[0])
    talk.accepts(MIDDLE + 2)
    return talk.finish(MIDDLE + 3)


def go_not_captured() -> Exchange:
    """Look-alike: the capture missed the GO."""
    talk = half_way("The capture missed a GO; the IP IDs show the gap.")
    talk.sends_buffer(MIDDLE)
    talk.queue(talk.accept(MIDDLE), *talk.grants(1))
    talk.may_look_like("CTRL-06", talk.sends_buffer(MIDDLE + 1)[0], SENDER)
    frame = talk.sends_piece(MIDDLE + 2, 0)
    talk.may_look_like("DATA-12", frame, SENDER)
    talk.may_look_like("DATA-01", frame, SENDER)
    return talk


def buffer_too_short() -> Exchange:
    talk = half_way("A buffer in the middle of the transfer ends one packet early.")
    for number in range(3):
        offence = talk.sends_piece(MIDDLE, number, type="LDATA" if number == 2 else "DATA")
    talk.breaks("DATA-02", offence, SENDER)
    talk.accepts(MIDDLE)
    return talk.finish(MIDDLE + 1)


def packet_too_short() -> Exchange:
    talk = half_way("A DATA packet is four bytes shorter than agreed.")
    offence = talk.sends_piece(MIDDLE, 0, octets=talk.octets_of(MIDDLE, 0)[:60])
    talk.breaks("DATA-03", offence, SENDER)
    talk.sends_buffer(MIDDLE, skip=[0, 3])
    last = talk.sends_piece(MIDDLE, 3)
    talk.breaks("DATA-02", last, SENDER)
    talk.accepts(MIDDLE)
    return talk.finish(MIDDLE + 1)


def no_ldata() -> Exchange:
    talk = half_way("The last packet of a buffer is DATA.")
    offence = talk.sends_buffer(MIDDLE, type="DATA")[-1]
    talk.breaks("DATA-04", offence, SENDER)
    talk.accepts(MIDDLE)
    return talk.finish(MIDDLE + 1)


def beyond_ldata() -> Exchange:
    talk = half_way("A DATA packet has a number above that of the LDATA.")
    talk.sends_buffer(MIDDLE)
    offence = talk.sends_piece(MIDDLE, 4, type="DATA", octets=bytes(64))
    talk.breaks("DATA-04", offence, SENDER)
    return talk


def number_out_of_range() -> Exchange:
    talk = half_way("Packets of a buffer have even numbers only.")
    for number in range(4):
        frame = talk.capture(
            talk.piece(MIDDLE, number, number_on_wire=2 * number, type="LDATA" if number == 3 else "DATA")
        )
        if number >= 2:
            talk.breaks("DATA-05", frame, SENDER)
    return talk


def buffers_go_back() -> Exchange:
    talk = half_way("The receiver goes back to a buffer number below those that it gave a GO for.")
    talk.sends_buffer(MIDDLE)
    talk.granted += 3
    talk.says(talk.accept(MIDDLE), *talk.grants(1))
    talk.sends_buffer(MIDDLE + 1)
    offence = talk.says(talk.accept(MIDDLE + 1), go(talk.number(), MIDDLE + 3))
    talk.breaks("DATA-06", offence, RECEIVER)
    talk.answers()
    return talk


def flag_on_ldata_only() -> Exchange:
    talk = Talk("Only the LDATA of the last buffer has L set.")
    talk.start()
    last = talk.buffers - 1
    talk.run(0, last)
    for number in range(4):
        offence = talk.sends_piece(last, number, last_buffer=number == 3)
    talk.breaks("DATA-09", offence, SENDER)
    talk.says(talk.accept(last))
    talk.answers()
    talk.says_done()
    return talk


def buffer_after_last() -> Exchange:
    talk = half_way("A buffer is flagged as the last, and the next one is sent.", buffers=MIDDLE + 8)
    talk.sends_buffer(MIDDLE, last_buffer=True)
    offence = talk.sends_buffer(MIDDLE + 1)[0]
    talk.breaks("DATA-09", offence, SENDER)
    return talk


def go_after_last() -> Exchange:
    talk = Talk("The receiver has given OK for the last buffer, and gives a new GO.")
    talk.start()
    talk.run(0, talk.buffers - 1)
    talk.sends_buffer(talk.buffers - 1)
    talk.says(talk.accept(talk.buffers - 1))
    talk.answers()
    offence = talk.says(go(talk.number(), talk.buffers))
    talk.looks_like("DATA-10", offence, RECEIVER)
    talk.answers()
    return talk


def resend_after_last() -> Exchange:
    talk = Talk("The receiver has given OK for the last buffer, and requests one after it that it gave a GO for.")
    talk.start()
    talk.run(0, talk.buffers - 2)
    talk.sends_buffer(talk.buffers - 2)
    talk.says(talk.accept(talk.buffers - 2), go(talk.number(), talk.buffers))
    talk.sends_buffer(talk.buffers - 1)
    talk.says(talk.accept(talk.buffers - 1))
    talk.answers()
    talk.wait(300)
    offence = talk.says(talk.missing(talk.buffers, range(4)))
    talk.looks_like("CTRL-15", offence, RECEIVER)
    talk.answers()
    return talk


def too_many_outstanding() -> Exchange:
    talk = half_way("The receiver has three buffers outstanding, two were agreed.")
    talk.sends_buffer(MIDDLE)
    offence = talk.says(talk.accept(MIDDLE), *talk.grants(2))
    talk.looks_like("DATA-12", offence, RECEIVER)
    talk.sends_buffer(MIDDLE + 1)
    return talk


def sent_again() -> Exchange:
    talk = half_way("The sender retransmits a packet without a request.")
    talk.sends_buffer(MIDDLE)
    talk.wait(100)
    offence = talk.sends_piece(MIDDLE, 1)
    talk.breaks("DATA-13", offence, SENDER)
    talk.accepts(MIDDLE)
    return talk.finish(MIDDLE + 1)


def network_copy() -> Exchange:
    """Look-alike: the network made the copy."""
    talk = half_way("The network delivers a packet twice, with one IP ID.")
    frames = talk.sends_buffer(MIDDLE)
    talk.capture(frames[1])
    talk.accepts(MIDDLE)
    return talk.finish(MIDDLE + 1)


def resend_not_captured() -> Exchange:
    """Look-alike: the capture missed the RESEND."""
    talk = half_way("The capture missed the RESEND for a retransmission.")
    talk.sends_buffer(MIDDLE, lost=[1])
    talk.wait(50)
    talk.queue(talk.missing(MIDDLE, [1]))
    frame = talk.sends_piece(MIDDLE, 1)
    talk.may_look_like("DATA-13", frame, SENDER)
    talk.may_look_like("CTRL-06", frame, SENDER)
    talk.accepts(MIDDLE)
    return talk.finish(MIDDLE + 1)


def asked_twice() -> Exchange:
    talk = half_way("A RESEND names a packet twice.")
    talk.sends_buffer(MIDDLE, lost=[1])
    talk.wait(50)
    offence = talk.says(talk.missing(MIDDLE, [1, 1]))
    talk.breaks("RESEND-01", offence, RECEIVER)
    talk.sends_piece(MIDDLE, 1)
    talk.accepts(MIDDLE)
    return talk.finish(MIDDLE + 1)


def neighbour_repaired() -> Exchange:
    talk = half_way("In addition to the requested packet the sender retransmits its neighbour.")
    talk.sends_buffer(MIDDLE, lost=[1])
    talk.wait(50)
    talk.says(talk.missing(MIDDLE, [1]))
    talk.sends_piece(MIDDLE, 1)
    offence = talk.sends_piece(MIDDLE, 2)
    talk.breaks("RESEND-02", offence, SENDER)
    talk.breaks("DATA-13", offence, SENDER)
    talk.accepts(MIDDLE)
    return talk.finish(MIDDLE + 1)


def ldata_becomes_data() -> Exchange:
    talk = half_way("An LDATA is DATA in its retransmission.")
    talk.sends_buffer(MIDDLE, lost=[3])
    talk.wait(50)
    talk.says(talk.missing(MIDDLE, [3]))
    offence = talk.sends_piece(MIDDLE, 3, type="DATA")
    talk.breaks("RESEND-03", offence, SENDER)
    talk.breaks("DATA-04", offence, SENDER)
    return talk


def content_changes() -> Exchange:
    talk = half_way("A retransmitted packet has other content, under a good data checksum.", summed=True)
    talk.sends_buffer(MIDDLE, lost=[1])
    talk.wait(50)
    talk.says(talk.missing(MIDDLE, [1]))
    offence = talk.sends_piece(MIDDLE, 1, octets=talk.octets_of(MIDDLE, 2))
    talk.breaks("RESEND-03", offence, SENDER)
    talk.breaks("DATA-13", offence, SENDER)
    talk.accepts(MIDDLE)
    return talk.finish(MIDDLE + 1)


def content_damaged() -> Exchange:
    """Look-alike: without data checksums the network may have changed it."""
    talk = half_way("A retransmitted packet has other content; there are no data checksums.")
    talk.sends_buffer(MIDDLE, lost=[1])
    talk.wait(50)
    talk.says(talk.missing(MIDDLE, [1]))
    frame = talk.sends_piece(MIDDLE, 1, octets=talk.octets_of(MIDDLE, 2))
    talk.may_look_like("RESEND-03", frame, SENDER)
    talk.may_look_like("DATA-13", frame, SENDER)
    talk.accepts(MIDDLE)
    return talk.finish(MIDDLE + 1)


def ldata_not_asked_for() -> Exchange:
    talk = half_way("The LDATA is missing, and the RESEND does not ask for it.")
    talk.sends_buffer(MIDDLE, skip=[1, 2, 3])
    talk.piece(MIDDLE, 1)
    talk.sends_piece(MIDDLE, 2)
    talk.piece(MIDDLE, 3)
    talk.wait(50)
    frame = talk.says(talk.missing(MIDDLE, [1]))
    talk.looks_like("RESEND-05", frame, RECEIVER)
    talk.sends_piece(MIDDLE, 1)
    talk.wait(50)
    talk.says(talk.missing(MIDDLE, [3]))
    talk.sends_piece(MIDDLE, 3)
    talk.accepts(MIDDLE)
    return talk.finish(MIDDLE + 1)


def two_requests() -> Exchange:
    talk = half_way("Two RESENDs for one buffer are in one CONTROL.")
    talk.sends_buffer(MIDDLE, lost=[1, 2])
    talk.wait(50)
    first = talk.missing(MIDDLE, [1])
    talk.says(first)
    talk.wait(50)
    offence = talk.says(first, talk.missing(MIDDLE, [1, 2]))
    talk.breaks("RESEND-06", offence, RECEIVER)
    talk.sends_piece(MIDDLE, 1)
    talk.sends_piece(MIDDLE, 2)
    talk.accepts(MIDDLE)
    return talk.finish(MIDDLE + 1)


def resend_at_ldata() -> Exchange:
    talk = half_way("The receiver asks for a hole at the moment when the LDATA arrives.")
    talk.sends_piece(MIDDLE, 0)
    talk.piece(MIDDLE, 1)
    talk.sends_piece(MIDDLE, 2)
    talk.sends_piece(MIDDLE, 3)
    frame = talk.says(talk.missing(MIDDLE, [1]))
    talk.looks_like("RESEND-07", frame, RECEIVER)
    talk.looks_like("R1030-05", frame, RECEIVER)
    talk.sends_piece(MIDDLE, 1)
    talk.accepts(MIDDLE)
    return talk.finish(MIDDLE + 1)


def doubled_before_sent() -> Exchange:
    talk = half_way("A RESEND names packets that were still to be sent; the sender knows it and sends them twice.")
    talk.sends_buffer(MIDDLE, skip=[2, 3])
    talk.says(talk.missing(MIDDLE, [2, 3]))
    talk.sends_piece(MIDDLE, 2)
    talk.sends_piece(MIDDLE, 3)
    talk.looks_like("RESEND-08", talk.sends_piece(MIDDLE, 2), SENDER)
    talk.accepts(MIDDLE)
    return talk.finish(MIDDLE + 1)


def higher_buffer_first() -> Exchange:
    talk = half_way("The sender, which has GOs for both, begins with the higher buffer.")
    offence = talk.sends_piece(MIDDLE + 1, 0)
    talk.sends_buffer(MIDDLE)
    talk.sends_buffer(MIDDLE + 1, skip=[0])
    talk.breaks("ORDER-01", offence, SENDER)
    talk.says(talk.accept(MIDDLE), *talk.grants(1), talk.accept(MIDDLE + 1), *talk.grants(1))
    return talk.finish(MIDDLE + 2)


def higher_buffer_overtakes() -> Exchange:
    """Look-alike: reordering."""
    talk = half_way("A packet of the lower buffer is overtaken on the way, as its IP ID shows.")
    talk.sends_buffer(MIDDLE, skip=[2, 3])
    late = talk.piece(MIDDLE, 2)
    talk.sends_piece(MIDDLE, 3)
    talk.sends_piece(MIDDLE + 1, 0)
    talk.capture(late)
    talk.sends_buffer(MIDDLE + 1, skip=[0])
    talk.says(talk.accept(MIDDLE), *talk.grants(1), talk.accept(MIDDLE + 1), *talk.grants(1))
    return talk.finish(MIDDLE + 2)


def repair_seen_first() -> Exchange:
    """Look-alike: the first visible copy is a repair."""
    talk = half_way(
        "A packet is lost before the capture; its first visible copy, after a later buffer, is the retransmission."
    )
    talk.sends_buffer(MIDDLE, skip=[2, 3])
    talk.piece(MIDDLE, 2)
    talk.sends_piece(MIDDLE, 3)
    talk.sends_buffer(MIDDLE + 1)
    talk.wait(50)
    talk.says(talk.missing(MIDDLE, [2]))
    talk.sends_piece(MIDDLE, 2)
    talk.says(talk.accept(MIDDLE), *talk.grants(1), talk.accept(MIDDLE + 1), *talk.grants(1))
    return talk.finish(MIDDLE + 2)


def ldata_not_last() -> Exchange:
    talk = half_way("The LDATA of a buffer goes out before its DATA.")
    talk.sends_piece(MIDDLE, 3)
    offence = talk.sends_piece(MIDDLE, 0)
    talk.breaks("ORDER-03", offence, SENDER)
    talk.sends_buffer(MIDDLE, skip=[0, 3])
    talk.accepts(MIDDLE)
    return talk.finish(MIDDLE + 1)


def ldata_requested_before_it_came() -> Exchange:
    """AMB-35: who serves a RESEND at once may send the LDATA before the DATA that wait for their turn."""
    talk = half_way("The receiver requests the LDATA before it came; it goes out at once, before two of the DATA.")
    talk.sends_piece(MIDDLE, 0)
    talk.says(talk.missing(MIDDLE, [3]))
    talk.sends_piece(MIDDLE, 3)
    talk.sends_buffer(MIDDLE, skip=[0, 3])
    talk.accepts(MIDDLE)
    return talk.finish(MIDDLE + 1)


def one_buffer_too_many() -> Exchange:
    talk = half_way("The receiver gives three GOs at once and the sender has three buffers without OK on its way.")
    talk.sends_buffer(MIDDLE)
    talk.sends_buffer(MIDDLE + 1)
    talk.may_look_like("DATA-12", talk.says(*talk.grants(1)), RECEIVER)
    talk.breaks("DATA-12", talk.sends_buffer(MIDDLE + 2)[0], SENDER, proof=RECEIVER)
    for _ in range(6):
        talk.wait(300)
        talk.puts(RECEIVER, "KEEPALIVE")
    return talk


def too_many_sent_then_accepted() -> Exchange:
    """The OK shows that it was emitted later than the data, whatever the capture did."""
    talk = half_way("The sender, which has three GOs, sends three buffers before the OK of the first, two were agreed.")
    talk.sends_buffer(MIDDLE)
    together = [talk.accept(MIDDLE), *talk.grants(2)]
    talk.may_look_like("DATA-12", talk.says(*together), RECEIVER)
    acknowledged = talk.seq
    for buffer in (MIDDLE + 1, MIDDLE + 2, MIDDLE + 3):
        offence = talk.sends_buffer(buffer, high_seq=acknowledged)[0]
    talk.breaks("DATA-12", offence, SENDER, proof=RECEIVER)
    talk.says(*(talk.accept(MIDDLE + buffer) for buffer in (1, 2, 3)), *talk.grants(2))
    return talk.finish(MIDDLE + 4)


def one_buffer_too_many_out_of_step() -> Exchange:
    """Look-alike: the CONTROL with the OK and the GO is captured after the data that it brought about."""
    talk = half_way("The capture shows an OK and a GO after the data of the buffer that they allow.")
    talk.sends_buffer(MIDDLE)
    talk.sends_buffer(MIDDLE + 1)
    late = talk.queue(talk.accept(MIDDLE), *talk.grants(1))
    first = talk.sends_buffer(MIDDLE + 2)[0]
    for requirement in ("DATA-12", "DATA-01", "CTRL-06"):
        talk.may_look_like(requirement, first, SENDER)
    talk.may_look_like("CTRL-04", talk.capture(late), RECEIVER)
    talk.accepts(MIDDLE + 1)
    talk.accepts(MIDDLE + 2)
    return talk.finish(MIDDLE + 3)


def waits_for_ok() -> Exchange:
    talk = half_way("The sender, which has a GO for the next buffer, waits for the OK of the one before.")
    talk.sends_buffer(MIDDLE)
    talk.accepts(MIDDLE)
    talk.wait(300)
    frame = talk.sends_buffer(MIDDLE + 1)[0]
    talk.looks_like("ORDER-04", frame, SENDER)
    talk.accepts(MIDDLE + 1)
    return talk.finish(MIDDLE + 2)


def resend_at_later_buffer() -> Exchange:
    talk = half_way("The receiver asks for a buffer at the moment when the next one begins to arrive.")
    talk.sends_piece(MIDDLE, 0)
    for number in range(1, 4):
        talk.piece(MIDDLE, number)
    talk.sends_piece(MIDDLE + 1, 0)
    frame = talk.says(talk.missing(MIDDLE, [1, 2, 3]))
    talk.looks_like("TIMER-06", frame, RECEIVER)
    for number in range(1, 4):
        talk.sends_piece(MIDDLE, number)
    talk.sends_buffer(MIDDLE + 1, skip=[0])
    talk.says(talk.accept(MIDDLE), *talk.grants(1), talk.accept(MIDDLE + 1), *talk.grants(1))
    return talk.finish(MIDDLE + 2)


def fragmented() -> Exchange:
    talk = half_way("A DATA packet comes in two IP fragments.")
    frame = talk.capture_fragments(talk.piece(MIDDLE, 0), 48)
    talk.looks_like("DATA-14", frame, SENDER)
    talk.sends_buffer(MIDDLE, skip=[0])
    talk.accepts(MIDDLE)
    return talk.finish(MIDDLE + 1)


def response_held_up() -> Exchange:
    """Look-alike: what was captured before the RESPONSE was not checked, the same packet after it is."""
    talk = Talk("The RESPONSE is captured after the first packets; one of them is lost and retransmitted.", summed=True)
    talk.opens()
    held_up = talk.emit(RECEIVER, setup("RESPONSE", **talk.terms(), **talk.ports(RECEIVER)))
    talk.says(*talk.grants(2))
    talk.may_look_like("OPEN-01", talk.sends_buffer(0, lost=[1])[-1], RECEIVER)
    talk.capture(held_up)
    talk.wait(50)
    talk.says(talk.missing(0, [1]))
    talk.sends_piece(0, 1)
    talk.accepts(0)
    return talk.finish(1)


SCRIPTS = {
    "data01-before-go": before_go,
    "data01-before-go-answered": before_go_then_answered,
    "data01-like-go-not-captured": go_not_captured,
    "data02-buffer-too-short": buffer_too_short,
    "data03-packet-too-short": packet_too_short,
    "data04-no-ldata": no_ldata,
    "data04-beyond-ldata": beyond_ldata,
    "data05-even-numbers": number_out_of_range,
    "data06-number-goes-back": buffers_go_back,
    "data09-on-ldata-only": flag_on_ldata_only,
    "data09-buffer-after-last": buffer_after_last,
    "data10-go-after-last": go_after_last,
    "ctrl15-resend-after-last": resend_after_last,
    "data12-too-many": too_many_outstanding,
    "data12-sender-joins-in": one_buffer_too_many,
    "data12-before-any-ok": too_many_sent_then_accepted,
    "data12-like-out-of-step": one_buffer_too_many_out_of_step,
    "data13-sent-again": sent_again,
    "data13-like-network-copy": network_copy,
    "data13-like-resend-not-captured": resend_not_captured,
    "data14-fragmented": fragmented,
    "resend01-named-twice": asked_twice,
    "resend02-neighbour": neighbour_repaired,
    "resend03-ldata-becomes-data": ldata_becomes_data,
    "resend03-content-changes": content_changes,
    "resend03-like-response-held-up": response_held_up,
    "resend03-like-content-damaged": content_damaged,
    "resend05-ldata-not-asked-for": ldata_not_asked_for,
    "resend06-two-requests": two_requests,
    "resend07-at-ldata": resend_at_ldata,
    "resend08-doubled": doubled_before_sent,
    "order01-higher-first": higher_buffer_first,
    "order01-like-overtaken": higher_buffer_overtakes,
    "order01-like-repair": repair_seen_first,
    "order03-ldata-first": ldata_not_last,
    "order03-like-ldata-requested-before-it-came": ldata_requested_before_it_came,
    "order04-waits-for-ok": waits_for_ok,
    "timer06-resend-at-later-buffer": resend_at_later_buffer,
}
