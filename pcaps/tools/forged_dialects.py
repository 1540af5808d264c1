# SPDX-License-Identifier: GPL-2.0-or-later
"""Captures of ETFTP and of version 4 for the rules of RFC 998 that hold there, too: kept and broken."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pcaps.tools.dialect_talk import DialectTalk, EtftpTalk, Version4Talk
from pcaps.tools.exchange import RECEIVER, SENDER, Exchange
from pcaps.tools.forged_wire import shows_a_habit
from pcaps.tools.octets import go
from pcaps.tools.talk import Talk

MIDDLE = 13  # both ends have emitted so much by then that their IP IDs prove something
Script = Callable[[], Exchange]
Story = Callable[[type[DialectTalk]], Exchange]


def half_way(kind: type[DialectTalk], about: str, **more: Any) -> DialectTalk:
    return kind(f"{kind.dialect.name}: {about}", **more).half_way(MIDDLE)


# --- conforming ---


def kept(kind: type[DialectTalk]) -> Exchange:
    talk = half_way(kind, "a conforming transfer; a packet is lost and requested.")
    talk.sends_buffer(MIDDLE, lost=[1])
    talk.wait(5_000)
    talk.says(talk.missing(MIDDLE, [1]))
    talk.sends_piece(MIDDLE, 1)
    talk.accepts(MIDDLE)
    return talk.finish(MIDDLE + 1)


def lossy(kind: type[DialectTalk]) -> Exchange:
    talk = half_way(
        kind, "packets and CONTROLs are lost before and after the capture point, and are retransmitted.", buffers=20
    )
    for buffer in range(MIDDLE, MIDDLE + 3):
        talk.piece(buffer, 0)  # lost before the capture
        talk.sends_piece(buffer, 1, "lost behind the capture point")
        talk.sends_piece(buffer, 2)
        talk.piece(buffer, 3)
        talk.wait(5_200)
        request = talk.missing(buffer, [0, 1, 3])
        talk.queue(request)
        talk.wait(5_200)
        talk.says(request)
        for number in (0, 1, 3):
            talk.sends_piece(buffer, number)
        messages = [talk.accept(buffer), *talk.grants(1)]
        talk.says(*messages, comment="lost behind the capture point")
        talk.wait(5_200)
        talk.says(*messages)
    return talk.finish(MIDDLE + 3)


# --- control messages ---


def number_left_out(kind: type[DialectTalk]) -> Exchange:
    talk = half_way(kind, "the receiver leaves out a message number.")
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


def message_changes(kind: type[DialectTalk]) -> Exchange:
    talk = half_way(kind, "a repeated GO names another buffer.")
    talk.sends_buffer(MIDDLE)
    first, seq = talk.accept(MIDDLE), talk.seq
    talk.says(first, go(seq + 1, MIDDLE + 2))
    talk.wait(5_200)
    talk.breaks("CTRL-02", talk.says(first, go(seq + 1, MIDDLE + 3)), RECEIVER)
    talk.answers(seq + 1)
    return talk


def newest_first(kind: type[DialectTalk]) -> Exchange:
    talk = half_way(kind, "the messages of a CONTROL are in descending order.")
    talk.sends_buffer(MIDDLE)
    messages = [talk.accept(MIDDLE), *talk.grants(1)]
    talk.breaks("CTRL-03", talk.says(*reversed(messages)), RECEIVER)
    return talk.finish(MIDDLE + 1)


def left_out(kind: type[DialectTalk]) -> Exchange:
    talk = half_way(kind, "a CONTROL leaves out two messages that are not acknowledged.")
    seq = talk.seq
    talk.sends_buffer(MIDDLE, high_seq=seq)
    first = [talk.accept(MIDDLE), *talk.grants(1)]
    talk.says(*first, comment="lost behind the capture point")
    talk.sends_buffer(MIDDLE + 1, high_seq=seq)
    second = [talk.accept(MIDDLE + 1)]
    talk.breaks("CTRL-04", talk.says(*second), RECEIVER, proof=SENDER)
    for _ in range(2):
        talk.answers(seq)
        talk.wait(5_200)
        talk.says(*first, *second)
    return talk.finish(MIDDLE + 2)


def left_out_unsure(kind: type[DialectTalk]) -> Exchange:
    """R1986-14: the sender may have acknowledged more in the packet that the capture missed, and less afterwards."""
    about = "a CONTROL leaves out acknowledged messages; the capture missed the acknowledgement."
    talk = half_way(kind, about, buffers=20)
    seq = talk.seq
    talk.sends_buffer(MIDDLE, high_seq=seq)
    first = [talk.accept(MIDDLE), *talk.grants(1)]
    talk.says(*first)
    talk.piece(MIDDLE + 1, 0)  # acknowledges both, delivered, and not captured
    talk.sends_buffer(MIDDLE + 1, skip=[0], high_seq=seq)
    talk.wait(100)
    frame = talk.says(*talk.grants(1))
    talk.may_look_like("CTRL-04", frame, RECEIVER)
    talk.may_look_like("DATA-12", frame, RECEIVER)
    for _ in range(20):
        talk.answers(seq)
        talk.wait(50)
    return talk


def goes_on_with_an_older_number(kind: type[DialectTalk]) -> Exchange:
    """R1986-14: what the data acknowledge does not show which GO their sender had."""
    talk = half_way(kind, "data name an older message than their GO, and are captured before it, out of step.")
    talk.sends_buffer(MIDDLE)
    talk.sends_buffer(MIDDLE + 1)
    known = talk.seq
    late = talk.queue(talk.accept(MIDDLE), *talk.grants(1))
    frames = talk.sends_buffer(MIDDLE + 2, high_seq=known)
    talk.may_look_like("DATA-01", frames[0], SENDER)
    talk.may_look_like("DATA-12", frames[0], SENDER)
    talk.capture(late)
    talk.answers()
    talk.says(talk.accept(MIDDLE + 1), talk.accept(MIDDLE + 2))
    talk.answers()
    talk.closes()
    return talk


# --- data ---


def packet_too_short(kind: type[DialectTalk]) -> Exchange:
    talk = half_way(kind, "a DATA packet is four bytes shorter than agreed.", **without_other_sizes(kind))
    talk.breaks("DATA-03", talk.sends_piece(MIDDLE, 0, octets=talk.octets_of(MIDDLE, 0)[:60]), SENDER)
    talk.sends_buffer(MIDDLE, skip=[0, 3])
    last = talk.sends_piece(MIDDLE, 3)
    if kind is EtftpTalk:
        talk.breaks("DATA-02", last, SENDER)
    talk.accepts(MIDDLE)
    return talk.finish(MIDDLE + 1)


def without_other_sizes(kind: type[DialectTalk]) -> dict[str, Any]:
    """R clear, so that nothing excuses another packet size."""
    return {"renegotiate": False} if kind is EtftpTalk else {}


def no_ldata(kind: type[DialectTalk]) -> Exchange:
    talk = half_way(kind, "a DATA packet has a number above that of the LDATA.")
    talk.sends_buffer(MIDDLE)
    talk.breaks("DATA-04", talk.sends_piece(MIDDLE, 4, type="DATA", octets=bytes(64)), SENDER)
    return talk


def even_numbers(kind: type[DialectTalk]) -> Exchange:
    talk = half_way(kind, "packets of a buffer have even numbers only.")
    for number in range(4):
        kind_of_packet = "LDATA" if number == 3 else "DATA"
        frame = talk.sends_piece(MIDDLE, number, number_on_wire=2 * number, type=kind_of_packet)
        if number >= 2:
            talk.breaks("DATA-05", frame, SENDER)
    return talk


def after_last(kind: type[DialectTalk]) -> Exchange:
    talk = half_way(kind, "a buffer is flagged as the last, and the next one is sent.", buffers=MIDDLE + 8)
    talk.sends_buffer(MIDDLE, last_buffer=True)
    talk.breaks("DATA-09", talk.sends_buffer(MIDDLE + 1)[0], SENDER)
    return talk


# --- checksums and formats ---


def not_complemented(kind: type[DialectTalk]) -> Exchange:
    talk = half_way(kind, "the sender puts the sum itself into its NULL-ACKs, not the complement.", buffers=20)
    for buffer in range(MIDDLE, MIDDLE + 4):
        talk.sends_buffer(buffer)
        talk.accepts(buffer)
        right = talk.null_ack()
        frame = talk.puts_with_checksum(SENDER, right, 0xFFFF - right.fields["checksum"])
        shows_a_habit(talk, "CKSUM-02", frame, SENDER, buffer - MIDDLE)
    return talk.finish(MIDDLE + 4)


def data_sums_left_out(kind: type[DialectTalk]) -> Exchange:
    talk = half_way(kind, "data checksums were agreed upon, and the sender leaves them out.")
    for number in range(4):
        frame = talk.sends_piece(MIDDLE, number, data_checksum=0)
        shows_a_habit(talk, "CKSUM-04", frame, SENDER, number)
    talk.wait(50)
    talk.says(talk.missing(MIDDLE, range(4)))
    return talk.finish(MIDDLE)


def string_without_end(kind: type[DialectTalk]) -> Exchange:
    talk = kind(f"{kind.dialect.name}: the string of the OPEN fills its field and has no NUL.")
    talk.breaks("WIRE-07", talk.opens(string=b"/map"), SENDER)
    talk.responds()
    talk.says(*talk.grants(2))
    return talk.finish(talk.first_buffer)


def not_a_multiple(kind: type[DialectTalk]) -> Exchange:
    talk = half_way(kind, "a QUIT of 14 bytes.")
    talk.breaks("WIRE-05", talk.puts(SENDER, "QUIT", b"x\0"), SENDER)
    return talk


def both_roles(kind: type[DialectTalk]) -> Exchange:
    talk = half_way(kind, "the end that sends the data emits a CONTROL.")
    content = kind.dialect.control(talk.pair(SENDER), go(1, 0))
    talk.breaks("WIRE-13", talk.capture(talk.emit(SENDER, content)), SENDER)
    return talk.finish(MIDDLE)


# --- setup ---


def loosened(requirement: str, what: str, **fields: Any) -> Story:
    """A RESPONSE with this field loosened."""

    def story(kind: type[DialectTalk]) -> Exchange:
        talk = kind(f"{kind.dialect.name}: the RESPONSE {what}.")
        talk.opens()
        talk.breaks(requirement, talk.responds(**fields), RECEIVER)
        talk.says(*talk.grants(1))
        return talk

    return story


def other_id(kind: type[DialectTalk]) -> Exchange:
    talk = kind(f"{kind.dialect.name}: each OPEN gets a RESPONSE with another unique ID.")
    for number in range(3):
        talk.opens()
        frame = talk.responds(unique_id=0x0998_0041 + number)
        (talk.breaks if number == 2 else talk.may_look_like)("OPEN-02", frame, RECEIVER)
        talk.wait(5_100)
    return talk


# --- RFC 998 with a version byte that looks like version 4 ---


class VersionByte4(Talk):
    """RFC 998 assigns no version."""

    def ports(self, emitter: str) -> dict[str, Any]:
        return {**super().ports(emitter), "version": 4}


def only_opens_like_version4() -> VersionByte4:
    talk = VersionByte4("RFC 998 with the version byte 4, and a RESPONSE that makes what was proposed less.")
    talk.opens(packet_size=128, burst_size=16, burst_interval_ms=5, max_buffers=4, buffer_size=4096)
    talk.responds(packet_size=64)
    return talk


def only_looks_like_version4() -> Exchange:
    talk = only_opens_like_version4()
    talk.about = f"{talk.about.rstrip('.')}; the whole transfer."
    talk.says(*talk.grants(2))
    return talk.finish(0)


IN_BOTH: dict[str, Story] = {
    "like-998-kept": kept,
    "like-998-lossy": lossy,
    "ctrl01-number-left-out": number_left_out,
    "ctrl02-message-changes": message_changes,
    "ctrl03-newest-first": newest_first,
    "data03-packet-too-short": packet_too_short,
    "data04-beyond-ldata": no_ldata,
    "data05-even-numbers": even_numbers,
    "data09-buffer-after-last": after_last,
    "cksum02-not-complemented": not_complemented,
    "cksum04-left-out": data_sums_left_out,
    "wire05-not-a-multiple": not_a_multiple,
    "wire07-string-without-end": string_without_end,
    "wire13-sender-emits-control": both_roles,
    "open02-other-id": other_id,
    "neg01-buffer-size": loosened("NEG-01", "raises the buffer size", buffer_size=512),
    "neg02-packet-size": loosened("NEG-02", "raises the data packet size", packet_size=128),
    "neg03-burst-size": loosened("NEG-03", "raises the burst size", burst_size=9),
    "neg04-burst-interval": loosened("NEG-04", "shortens the burst interval", burst_interval_ms=9),
    "neg05-outstanding": loosened("NEG-05", "raises the number of buffers", max_buffers=3),
}
IN_ETFTP: dict[str, Story] = {
    "ctrl04-left-out": left_out,
    "ctrl04-like-ack-not-captured": left_out_unsure,
    "data01-like-older-number": goes_on_with_an_older_number,
}


def told(story: Story, kind: type[DialectTalk]) -> Script:
    return lambda: story(kind)


SCRIPTS: dict[str, Script] = {
    **{f"etftp-{name}": told(story, EtftpTalk) for name, story in {**IN_BOTH, **IN_ETFTP}.items()},
    **{f"v4-{name}": told(story, Version4Talk) for name, story in IN_BOTH.items()},
    "v4-like-rfc998": only_looks_like_version4,
    "v4-like-rfc998-opening": only_opens_like_version4,
}
