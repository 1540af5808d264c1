# SPDX-License-Identifier: GPL-2.0-or-later
"""Captures for formats and checksums: WIRE, CKSUM. One packet of an otherwise good transfer is made wrong, its checksum
right, so that nothing on the way can have done it."""

from __future__ import annotations

import struct
from collections.abc import Callable

from pcaps.tools.exchange import RECEIVER, SENDER, Exchange, Frame
from pcaps.tools.octets import checksum, control, data, go, null_ack, packet, reason, setup, text_field
from pcaps.tools.talk import BUFFERS, Talk, unswapped

MIDDLE = 6


def half_way(about: str, *, buffers: int = BUFFERS, summed: bool = False) -> Talk:
    """Some buffers are through."""
    talk = Talk(about, buffers=buffers, summed=summed)
    talk.start()
    talk.run(0, MIDDLE)
    return talk


def version_changes() -> Exchange:
    talk = half_way("The receiver's packets change their version byte in the middle of the connection.")
    talk.sends_buffer(MIDDLE)
    messages = [talk.accept(MIDDLE), *talk.grants(1)]
    offence = talk.capture(talk.emit(RECEIVER, control(messages, version=1, **talk.ports(RECEIVER))))
    talk.breaks("WIRE-02", offence, RECEIVER)
    return talk.finish(MIDDLE + 1)


def unknown_type() -> Exchange:
    talk = half_way("The sender emits a packet of type 12, which RFC 998 does not have.")
    offence = talk.puts(SENDER, "KEEPALIVE", type_code=12)
    talk.breaks("WIRE-03", offence, SENDER)
    return talk.finish(MIDDLE)


def length_too_small() -> Exchange:
    talk = half_way("A KEEPALIVE is followed by four bytes that its Length leaves out.")
    content = packet("KEEPALIVE", **talk.ports(SENDER)).followed_by(bytes(4))
    offence = talk.capture(talk.emit(SENDER, content))
    talk.breaks("WIRE-04", offence, SENDER)
    return talk.finish(MIDDLE)


def not_a_multiple() -> Exchange:
    talk = half_way("The receiver quits with a reason field of six bytes: the packet is no multiple of 4.")
    talk.answers()
    offence = talk.capture(talk.emit(RECEIVER, reason("QUIT", b"late\0\0", **talk.ports(RECEIVER))))
    talk.breaks("WIRE-05", offence, RECEIVER)
    talk.puts(SENDER, "QUITACK")
    return talk


def keepalive_with_body() -> Exchange:
    talk = half_way("A KEEPALIVE has a longword after its header.")
    offence = talk.puts(SENDER, "KEEPALIVE", bytes(4))
    talk.breaks("WIRE-06", offence, SENDER)
    return talk.finish(MIDDLE)


def string_without_end() -> Exchange:
    talk = half_way("The reason of a QUIT fills its field and has no NUL.")
    talk.answers()
    offence = talk.capture(talk.emit(RECEIVER, reason("QUIT", b"late", **talk.ports(RECEIVER))))
    talk.breaks("WIRE-07", offence, RECEIVER)
    talk.puts(SENDER, "QUITACK")
    return talk


def short_open() -> Exchange:
    talk = half_way("A repeated RESPONSE ends in the middle of its fields.")
    offence = talk.puts(RECEIVER, "RESPONSE", bytes(16))
    talk.breaks("WIRE-08", offence, RECEIVER)
    return talk.finish(MIDDLE)


def open_flags() -> Exchange:
    talk = Talk("A reserved flag is set in the OPEN.")
    offence = talk.opens(reserved_flags=0x8000)
    talk.responds()
    talk.says(*talk.grants(2))
    talk.breaks("WIRE-09", offence, SENDER)
    return talk.finish(0)


def response_flags() -> Exchange:
    talk = Talk("A reserved flag is set in the RESPONSE.")
    talk.opens()
    offence = talk.responds(reserved_flags=0x0010)
    talk.says(*talk.grants(2))
    talk.breaks("WIRE-09", offence, RECEIVER)
    return talk.finish(0)


def data_flags() -> Exchange:
    talk = half_way("A reserved flag is set in a DATA packet.")
    offence = talk.sends_piece(MIDDLE, 0, reserved_flags=0x4000)
    talk.sends_buffer(MIDDLE, skip=[0])
    talk.accepts(MIDDLE)
    talk.breaks("WIRE-10", offence, SENDER)
    return talk.finish(MIDDLE + 1)


def short_null_ack() -> Exchange:
    talk = half_way("A NULL-ACK has a longword too many.")
    content = null_ack(talk.seq, 8, 10, **talk.ports(SENDER))
    offence = talk.puts(SENDER, "NULL-ACK", content.octets[12:] + bytes(4))
    talk.breaks("WIRE-11", offence, SENDER)
    return talk.finish(MIDDLE)


def residue() -> Exchange:
    talk = half_way("A CONTROL has half a message after its last one.")
    talk.sends_buffer(MIDDLE)
    content = control([talk.accept(MIDDLE), *talk.grants(1)], residue=bytes(4), **talk.ports(RECEIVER))
    offence = talk.capture(talk.emit(RECEIVER, content))
    talk.breaks("WIRE-12", offence, RECEIVER)
    return talk.finish(MIDDLE + 1)


def unknown_message() -> Exchange:
    talk = half_way("A CONTROL holds a message of type 3, alone.")
    body = bytes([3, 0]) + struct.pack(">HI", talk.seq + 1, 0)
    offence = talk.puts(RECEIVER, "CONTROL", body)
    talk.breaks("WIRE-12", offence, RECEIVER)
    return talk.finish(MIDDLE)


def wrong_direction() -> Exchange:
    talk = half_way("The end that sends the data emits a CONTROL.")
    content = control([go(1, 0)], **talk.ports(SENDER))
    offence = talk.capture(talk.emit(SENDER, content))
    talk.breaks("WIRE-13", offence, SENDER)
    return talk.finish(MIDDLE)


def ports_not_swapped() -> Exchange:
    talk = Talk("The passive end answers with the ports as in the OPEN, and its peer cannot assign the packets.")
    for _ in range(3):
        talk.opens()
        offence = talk.responds(**unswapped(RECEIVER))
        talk.breaks("WIRE-13", offence, RECEIVER)
        talk.wait(500)
    return talk


def shows_a_habit(talk: Talk, requirement: str, frame: Frame, end: str, before: int) -> None:
    """What looks like damage is a mistake of this end when two packets `before` had it, too."""
    if before < 2:
        talk.may_look_like(requirement, frame, end)
    else:
        talk.breaks(requirement, frame, end)


def wrong_null_acks(about: str, requirement: str, wrong: Callable[[int], int]) -> Exchange:
    """`wrong` makes of the right checksum what the sender puts into its NULL-ACKs."""
    talk = half_way(about)
    for buffer in range(MIDDLE, MIDDLE + 4):
        talk.sends_buffer(buffer)
        talk.accepts(buffer)
        right = null_ack(talk.seq, 8, 10, **talk.ports(SENDER))
        frame = talk.capture(talk.emit(SENDER, right.with_checksum(wrong(right.fields["checksum"]))))
        shows_a_habit(talk, requirement, frame, SENDER, buffer - MIDDLE)
    return talk.finish(MIDDLE + 4)


def checksum_left_out() -> Exchange:
    about = "The sender leaves the checksum of its NULL-ACKs zero; DATA are right."
    return wrong_null_acks(about, "CKSUM-01", lambda _right: 0)


def not_complemented() -> Exchange:
    about = "The sender puts the sum itself into its NULL-ACKs, not the complement."
    return wrong_null_acks(about, "CKSUM-02", lambda right: 0xFFFF - right)


def swapped(value: int) -> int:
    """As a host with the other byte order writes what it should not have turned, or turns twice."""
    return (value & 0xFF) << 8 | value >> 8


def bytes_swapped() -> Exchange:
    about = "The sender turns the bytes of the checksum in its NULL-ACKs."
    return wrong_null_acks(about, "CKSUM-02", swapped)


def never_answered() -> Exchange:
    talk = Talk("The bytes of the checksum are swapped in every OPEN: no end answers, and nothing else is captured.")
    for number in range(4):
        right = setup("OPEN", **{**talk.terms(), **talk.ports(SENDER)})
        frame = talk.capture(talk.emit(SENDER, right.with_checksum(swapped(right.fields["checksum"]))))
        talk.wait(1000)
        shows_a_habit(talk, "CKSUM-02", frame, SENDER, number)
    return talk


def header_alone() -> Exchange:
    talk = half_way("The checksum of CONTROLs covers no more than the header that all packets have.")
    talk.sends_buffer(MIDDLE)
    messages = [talk.accept(MIDDLE), *talk.grants(1)]
    for number in range(4):
        right = control(messages, **talk.ports(RECEIVER))
        wrong = right.with_checksum(checksum(b"\0\0" + right.octets[2:12]))
        frame = talk.capture(talk.emit(RECEIVER, wrong))
        talk.wait(200)
        shows_a_habit(talk, "CKSUM-01", frame, RECEIVER, number)
    return talk


def type_never_right() -> Exchange:
    talk = Talk("The checksum of CONTROLs is always wrong, in no known way; the RESPONSE of this end is right.")
    talk.opens()
    talk.responds()
    messages = talk.grants(2)
    for number in range(18):
        right = control(messages, **talk.ports(RECEIVER))
        frame = talk.capture(talk.emit(RECEIVER, right.with_checksum(right.fields["checksum"] ^ 0x5A3C)))
        talk.wait(200)
        if number >= 15:
            talk.breaks("CKSUM-01", frame, RECEIVER)
    return talk


def data_type_never_right() -> Exchange:
    talk = Talk("The checksum of DATA packets is always wrong, in no known way; that of NULL-ACKs is right.", buffers=8)
    talk.start()
    talk.answers()
    for number in range(18):
        right = talk.piece(0, number % 3)
        wrong = int.from_bytes(right.octets[20:22], "big") ^ 0x5A3C
        right.octets = right.octets[:20] + struct.pack(">H", wrong) + right.octets[22:]
        frame = talk.capture(right)
        talk.wait(20)
        if number >= 15:
            talk.breaks("CKSUM-03", frame, SENDER)
    return talk


def length_too_small_for_checksum() -> Exchange:
    talk = half_way("The Length of a CONTROL leaves out its last longword, its checksum does not.")
    talk.sends_buffer(MIDDLE)
    right = control([talk.accept(MIDDLE), *talk.grants(1)], **talk.ports(RECEIVER))
    length = struct.pack(">H", len(right.octets) - 4)
    offence = talk.puts_octets(RECEIVER, right.octets[:4] + length + right.octets[6:])
    talk.breaks("WIRE-04", offence, RECEIVER)
    return talk


def data_sum_swapped() -> Exchange:
    talk = half_way("The sender turns the bytes of the data checksums.", summed=True)
    for number in range(4):
        good = data("DATA", talk.octets_of(MIDDLE, number), summed=True).fields["data_checksum"]
        frame = talk.sends_piece(MIDDLE, number, data_checksum=swapped(good))
        shows_a_habit(talk, "CKSUM-04", frame, SENDER, number)
    talk.wait(50)
    talk.says(talk.missing(MIDDLE, range(4)))
    return talk.finish(MIDDLE)


def header_sum_stops_early() -> Exchange:
    """Without flags this could not be distinguished from a sum over the data, which adds up to nothing with its own
    checksum."""
    about = "The header checksum of the last buffer's packets leaves out data checksum and flags."
    talk = half_way(about, buffers=MIDDLE + 1, summed=True)
    for number in range(4):
        right = data(
            "LDATA" if number == 3 else "DATA",
            talk.octets_of(MIDDLE, number),
            buffer=MIDDLE,
            number=number,
            high_seq=talk.seq,
            summed=True,
            last_buffer=True,
            **talk.ports(SENDER),
        )
        wrong = checksum(b"\0\0" + right.octets[2:20])
        frame = talk.capture(talk.emit(SENDER, right.with_checksum(wrong)))
        shows_a_habit(talk, "CKSUM-03", frame, SENDER, number)
    talk.answers()
    talk.wait(50)
    talk.says(talk.missing(MIDDLE, range(4)))
    return talk.finish(MIDDLE)


def covers_data() -> Exchange:
    talk = half_way(
        "The header checksum of a data packet covers the data, too: a known other reading (AMB-04).", summed=True
    )

    right = talk.piece(MIDDLE, 0)
    payload = right.octets[20:]
    right.octets = right.octets[:20] + struct.pack(">H", checksum(b"\0\0" + payload[2:])) + payload[2:]
    frame = talk.capture(right)
    talk.looks_like("CKSUM-03", frame, SENDER)
    talk.sends_buffer(MIDDLE, skip=[0])
    talk.accepts(MIDDLE)
    return talk.finish(MIDDLE + 1)


def data_sum_left_out() -> Exchange:
    talk = half_way("Data checksums were agreed upon, and the sender leaves them out.", summed=True)
    for number in range(4):
        frame = talk.sends_piece(MIDDLE, number, summed=False)
        shows_a_habit(talk, "CKSUM-04", frame, SENDER, number)
    talk.wait(50)
    talk.says(talk.missing(MIDDLE, range(4)))
    return talk.finish(MIDDLE)


def damaged_packet_heeded() -> Exchange:
    talk = half_way("The sender acknowledges a CONTROL that had a bad checksum.")
    talk.sends_buffer(MIDDLE)
    damaged = control([talk.accept(MIDDLE), *talk.grants(1)], **talk.ports(RECEIVER))
    talk.puts_damaged(RECEIVER, damaged)
    offence = talk.sends_buffer(MIDDLE + 1)[0]
    talk.breaks("CKSUM-06", offence, SENDER, proof=RECEIVER)
    talk.may_look_like("DATA-01", offence, SENDER)
    talk.may_look_like("CLOSE-01", offence, RECEIVER)
    talk.accepts(MIDDLE + 1)
    return talk.finish(MIDDLE + 2)


def damaged_data_accepted() -> Exchange:
    talk = half_way(
        "The receiver gives OK for a buffer of which one packet came with a bad data checksum only.", summed=True
    )
    talk.sends_piece(MIDDLE, 0)
    spoiled = talk.octets_of(MIDDLE, 1)[:-1] + b"\xff"
    good = data("DATA", talk.octets_of(MIDDLE, 1), summed=True).fields["data_checksum"]
    talk.sends_piece(MIDDLE, 1, "damaged on the way", octets=spoiled, data_checksum=good)
    talk.sends_buffer(MIDDLE, skip=[0, 1])
    offence = talk.accepts(MIDDLE)
    talk.breaks("CKSUM-07", offence, RECEIVER, proof=SENDER)
    return talk.finish(MIDDLE + 1)


def one_damaged_packet() -> Exchange:
    """Look-alike: damage on the way."""
    talk = half_way("The network damages a NULL-ACK and a DATA packet; both are retransmitted.", summed=True)
    talk.puts_damaged(SENDER, null_ack(talk.seq, 8, 10, **talk.ports(SENDER)))
    talk.sends_piece(MIDDLE, 0)
    talk.puts_damaged(SENDER, data("DATA", bytes(64), buffer=MIDDLE, number=1, high_seq=talk.seq, **talk.ports(SENDER)))
    talk.sends_buffer(MIDDLE, skip=[0, 1])
    talk.wait(50)
    talk.says(talk.missing(MIDDLE, [1]))
    talk.sends_piece(MIDDLE, 1)
    talk.accepts(MIDDLE)
    return talk.finish(MIDDLE + 1)


def damaged_outside_the_buffer() -> Exchange:
    """Look-alike: the sender's fault, not the receiver's."""
    talk = half_way(
        "The sender sends a packet beyond the LDATA with a bad data checksum; the receiver rightly does without it.",
        summed=True,
    )
    talk.sends_buffer(MIDDLE)
    good = data("DATA", bytes(64), summed=True).fields["data_checksum"]
    stray = talk.sends_piece(MIDDLE, 4, type="DATA", octets=bytes(63) + b"\xff", data_checksum=good)
    talk.breaks("DATA-04", stray, SENDER)
    for requirement in ("DATA-05", "CKSUM-04"):
        talk.may_look_like(requirement, stray, SENDER)
    talk.accepts(MIDDLE)
    return talk.finish(MIDDLE + 1)


def padded_data() -> Exchange:
    """Look-alike: AMB-02 (a)."""
    talk = Talk(
        "Data packets of 62 bytes are padded to a multiple of 4 after their Length.", packet_size=62, buffer_size=248
    )
    talk.start()
    for buffer in range(talk.buffers):
        for number in range(4):
            piece = talk.piece(buffer, number, octets=talk.octets_of(buffer, number)[:62])
            total = struct.pack(">H", len(piece.octets) + 2)
            head = piece.octets[:2] + total + piece.octets[4:10] + b"\0\0" + piece.octets[12:20]

            head = head[:10] + struct.pack(">H", checksum(head)) + head[12:]
            piece.octets = head + piece.octets[20:] + bytes(2)
            talk.capture(piece)
        talk.accepts(buffer)
    return talk.finish(talk.buffers)


def absent_string() -> Exchange:
    """Look-alike: AMB-03."""
    talk = Talk("OPEN and RESPONSE have no client string at all.")
    talk.opens(string=b"")
    talk.responds(string=text_field(""))
    talk.says(*talk.grants(2))
    return talk.finish(0)


SCRIPTS = {
    "wire02-version-changes": version_changes,
    "wire03-unknown-type": unknown_type,
    "wire04-length-too-small": length_too_small,
    "wire05-not-a-multiple": not_a_multiple,
    "wire06-keepalive-with-body": keepalive_with_body,
    "wire07-string-without-end": string_without_end,
    "wire08-short-response": short_open,
    "wire09-open-flags": open_flags,
    "wire09-response-flags": response_flags,
    "wire10-data-flags": data_flags,
    "wire11-long-null-ack": short_null_ack,
    "wire12-residue": residue,
    "wire12-unknown-message": unknown_message,
    "wire13-sender-emits-control": wrong_direction,
    "wire13-ports-not-swapped": ports_not_swapped,
    "cksum01-left-out": checksum_left_out,
    "cksum02-not-complemented": not_complemented,
    "cksum03-stops-early": header_sum_stops_early,
    "cksum03-covers-data": covers_data,
    "cksum01-header-alone": header_alone,
    "cksum01-type-never-right": type_never_right,
    "cksum03-data-never-right": data_type_never_right,
    "cksum02-bytes-swapped": bytes_swapped,
    "cksum02-never-answered": never_answered,
    "cksum04-bytes-swapped": data_sum_swapped,
    "wire04-length-below-checksum": length_too_small_for_checksum,
    "cksum04-left-out": data_sum_left_out,
    "cksum06-damaged-control-heeded": damaged_packet_heeded,
    "cksum07-damaged-data-accepted": damaged_data_accepted,
    "cksum07-like-outside-the-buffer": damaged_outside_the_buffer,
    "cksum-like-damage": one_damaged_packet,
    "wire-like-padded-data": padded_data,
    "wire-like-absent-string": absent_string,
}
