# SPDX-License-Identifier: GPL-2.0-or-later
"""Captures of ETFTP in UDP: what RFC 1986 adds to RFC 998, kept and broken. Its errata are no breach."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pcaps.tools.dialect_talk import EtftpTalk
from pcaps.tools.dialects import ETFTP
from pcaps.tools.exchange import BURST, PORTS, RECEIVER, SENDER, Exchange, Frame
from pcaps.tools.octets import setup, text_field

MIDDLE = 12  # both ends have emitted so much by then that their IP IDs prove something
SMALLER = 32


def half_way(about: str, **proposal: Any) -> EtftpTalk:
    talk = EtftpTalk(about, **proposal)
    talk.half_way(MIDDLE)
    return talk


# --- conforming transfers ---


def half_is_lost(talk: EtftpTalk) -> None:
    """Half of a buffer comes only when it is requested, and the OK offers smaller packets (R1986-08)."""
    talk.sends_buffer(MIDDLE, lost=[1, 2])
    talk.wait(5_000)
    talk.says(talk.missing(MIDDLE, [1, 2]))
    talk.sends_piece(MIDDLE, 1)
    talk.sends_piece(MIDDLE, 2)
    talk.says(talk.accept(MIDDLE, packet_size=SMALLER), *talk.grants(1))


def goes_on_smaller(talk: EtftpTalk) -> Exchange:
    """A buffer has as many bytes as before, in more packets."""
    talk.per_buffer *= talk.packet_bytes // SMALLER
    talk.packet_bytes = SMALLER
    return talk.finish(MIDDLE + 1)


def kept() -> Exchange:
    about = "A put that violates no rule of RFC 1986: OPEN is repeated, half of a buffer is lost, packets get smaller."
    talk = EtftpTalk(about)
    talk.opens()
    talk.wait(5_100)
    talk.opens()
    talk.responds()
    talk.says(*talk.grants(2))
    talk.run(0, MIDDLE)
    half_is_lost(talk)
    talk.answers(packet_size=SMALLER)
    return goes_on_smaller(talk)


def lossy() -> Exchange:
    """What RFC 998 does not allow: the sender repeats blocks by itself until the OK (R1986-13)."""
    talk = half_way(
        "A put over a bad path: each kind of packet is lost before or after the capture point, and is retransmitted."
    )
    for buffer in range(MIDDLE, MIDDLE + 3):
        talk.piece(buffer, 0)  # lost before the capture
        talk.sends_piece(buffer, 1)
        talk.piece(buffer, 2)
        talk.sends_piece(buffer, 3, "lost behind the capture point")
        for number in (3, 0, 2):  # by itself
            talk.sends_piece(buffer, number)
        known = talk.seq
        messages = [talk.accept(buffer), *talk.grants(1)]
        talk.queue(*messages)
        talk.wait(5_500)
        talk.sends_piece(buffer, 1, high_seq=known)
        talk.says(*messages)
        talk.wait(300)
    return talk.finish(MIDDLE + 3)


def get() -> Exchange:
    talk = EtftpTalk("A get: the client receives.")
    talk.active = RECEIVER
    talk.start()
    talk.run(0, 15)
    talk.sends_buffer(15)
    talk.says(talk.accept(15))
    talk.answers()
    talk.closes()
    return talk


def fixed_size() -> Exchange:
    """Both ends leave R clear, so that no OK has a size."""
    talk = EtftpTalk("A put without R; OK and NULL-ACK have no packet size.", renegotiate=False)
    talk.start()
    for buffer in range(talk.buffers):
        talk.sends_buffer(buffer)
        talk.says(talk.accept(buffer, packet_size=0), *talk.grants(1))
    talk.answers(packet_size=0)
    talk.closes()
    return talk


def errata() -> Exchange:
    """2.1 has QUITACK beside DONE, 2.6 packets of 2048 bytes; the unit of the timer in OK is not specified."""
    about = "RFC 1986's own contradictions: the timer of an OK in seconds, and a QUIT that is answered with QUITACK."
    talk = half_way(about)
    talk.sends_buffer(MIDDLE, skip=[2, 3])
    talk.wait(20_000)
    talk.sends_buffer(MIDDLE, skip=[0, 1])
    talk.says(talk.accept(MIDDLE, control_timer_ms=20), *talk.grants(1))
    talk.run(MIDDLE + 1, talk.buffers)
    talk.answers()
    talk.capture(talk.emit(SENDER, ETFTP.text("QUIT", talk.pair(SENDER), "done")))
    talk.puts(RECEIVER, "QUITACK")
    return talk


# --- setup ---


def proposed(requirement: str, about: str, *, proven: bool, **terms: Any) -> Callable[[], Exchange]:
    """OPEN and RESPONSE agree on something that ETFTP does not have."""

    def script() -> Exchange:
        talk = EtftpTalk(about, **terms)
        for frame, end in ((talk.opens(), SENDER), (talk.responds(), RECEIVER)):
            (talk.breaks if proven else talk.looks_like)(requirement, frame, end)
        return talk

    return script


def without_radio_delay() -> Exchange:
    talk = EtftpTalk("The RESPONSE has the layout of RFC 998, too short for a radio delay.")
    talk.opens()
    terms = {key: value for key, value in talk.terms().items() if key in ("unique_id", "buffer_size", "packet_size")}
    terms |= {"max_buffers": 2, "death_timer_s": 60, "data_checksum_flag": True, **BURST}
    ports = {"local_port": PORTS[RECEIVER], "foreign_port": PORTS[SENDER]}
    offence = talk.capture(talk.emit(RECEIVER, setup("RESPONSE", string=b"", **terms, **ports)))
    talk.breaks("R1986-02", offence, RECEIVER)
    return talk


def reserved_flag() -> Exchange:
    talk = EtftpTalk("The RESPONSE has a flag that RFC 1986 does not know.")
    talk.opens()
    talk.breaks("R1986-03", talk.responds(reserved_flags=0x0100), RECEIVER)
    talk.says(*talk.grants(2))
    return talk.finish(0)


def relative_path() -> Exchange:
    talk = EtftpTalk("The OPEN names a file by a relative path.")
    talk.looks_like("R1986-19", talk.opens(string="overlay.img"), SENDER)
    talk.responds()
    return talk


def impatient() -> Exchange:
    talk = EtftpTalk("The client sends its OPEN again after half a second.")
    talk.opens()
    talk.wait(500)
    talk.looks_like("R1986-11", talk.opens(), SENDER)
    talk.responds()
    return talk


# --- transfer ---


def from_one() -> Exchange:
    """GO 1 where the first buffer is 0."""
    talk = EtftpTalk("The receiver numbers buffers from 1, as version 4 does.")
    talk.opens()
    talk.responds()
    talk.granted = 1
    talk.breaks("R1986-07", talk.says(*talk.grants(2)), RECEIVER)
    return talk.finish(1)


class PacketsFromOne(EtftpTalk):
    """Packets of a buffer count from 1."""

    def piece(self, buffer: int, number: int, comment: str | None = None, **fields: Any) -> Frame:
        return super().piece(buffer, number, comment, number_on_wire=number + 1, **fields)


def packets_from_one() -> Exchange:
    talk = PacketsFromOne("The sender numbers the packets of each buffer from 1.")
    talk.start()
    talk.sends_buffer(0)
    talk.breaks("R1986-07", talk.accepts(0), SENDER)
    return talk.finish(1)


def goes_back() -> Exchange:
    """What was acknowledged is acknowledged no more."""
    talk = half_way("High-seq falls in the middle of a buffer.")
    talk.sends_buffer(MIDDLE, skip=[2, 3])
    talk.looks_like("R1986-14", talk.sends_piece(MIDDLE, 2, high_seq=talk.seq - 2), SENDER)
    talk.sends_piece(MIDDLE, 3)
    talk.accepts(MIDDLE)
    return talk.finish(MIDDLE + 1)


def no_size() -> Exchange:
    """R is set, and an OK has zeros where the size belongs."""
    talk = half_way("Both ends set R, and an OK carries no packet size.")
    talk.sends_buffer(MIDDLE)
    talk.looks_like("R1986-05", talk.says(talk.accept(MIDDLE, packet_size=0), *talk.grants(1)), RECEIVER)
    return talk.finish(MIDDLE + 1)


def size_too_small() -> Exchange:
    talk = half_way("An OK offers packets of 8 bytes.")
    talk.sends_buffer(MIDDLE)
    talk.breaks("R1986-09", talk.says(talk.accept(MIDDLE, packet_size=8), *talk.grants(1)), RECEIVER)
    return talk.finish(MIDDLE + 1)


def size_without_r() -> Exchange:
    talk = half_way("An OK offers another packet size, though the ends did not set R.", renegotiate=False)
    talk.sends_buffer(MIDDLE)
    talk.breaks("R1986-28", talk.says(talk.accept(MIDDLE, packet_size=SMALLER), *talk.grants(1)), RECEIVER)
    return talk.finish(MIDDLE + 1)


def unconfirmed() -> Exchange:
    talk = half_way("The sender uses the packet size that an OK offers, and never confirms it.")
    half_is_lost(talk)
    talk.per_buffer *= talk.packet_bytes // SMALLER
    talk.packet_bytes = SMALLER
    talk.looks_like("R1986-06", talk.sends_buffer(MIDDLE + 1)[0], SENDER)
    talk.accepts(MIDDLE + 1)
    return talk.finish(MIDDLE + 2)


def long_null_ack() -> Exchange:
    talk = half_way("A NULL-ACK has four bytes too many.")
    talk.sends_buffer(MIDDLE)
    talk.accepts(MIDDLE)
    right = talk.null_ack().octets[12:]
    talk.breaks("R1986-15", talk.puts(SENDER, "NULL-ACK", right + bytes(4)), SENDER)
    return talk.finish(MIDDLE + 1)


def control_timer() -> Exchange:
    talk = half_way("An OK holds a control timer as in RFC 998, 20 s after the GO.")
    talk.sends_buffer(MIDDLE, skip=[2, 3])
    talk.wait(20_000)
    talk.sends_buffer(MIDDLE, skip=[0, 1])
    talk.looks_like("R1986-23", talk.says(talk.accept(MIDDLE, control_timer_ms=200), *talk.grants(1)), RECEIVER)
    talk.run(MIDDLE + 1, MIDDLE + 2)
    return talk.finish(MIDDLE + 2)


def first_control_lost() -> Exchange:
    """Look-alike: the GO is older than the CONTROL that was captured first."""
    talk = EtftpTalk("The capture missed the first RESPONSE and CONTROL; the OKs count from that CONTROL on.")
    talk.opens()
    terms = {**talk.terms(), "string": ""}
    talk.emit(RECEIVER, ETFTP.opening("RESPONSE", talk.pair(RECEIVER), terms))
    messages = talk.grants(2)
    talk.queue(*messages)
    talk.wait(15_000)
    talk.opens()
    talk.responds()
    talk.says(*messages)
    return talk.finish(0)


def open_not_captured() -> Exchange:
    """Look-alike: the OPEN may have R."""
    talk = EtftpTalk("The capture missed the OPEN; an OK offers another packet size.")
    talk.emit(SENDER, ETFTP.opening("OPEN", talk.pair(SENDER), talk.terms()))
    talk.responds()
    talk.says(*talk.grants(2))
    talk.sends_buffer(0)
    talk.says(talk.accept(0, packet_size=SMALLER), *talk.grants(1))
    talk.answers(packet_size=SMALLER)
    talk.run(1, 4)
    return talk


def unanswered_quit() -> Exchange:
    talk = EtftpTalk("The sender quits, and quits again, and nothing answers.", buffers=4)
    talk.start()
    talk.run(0, 4)
    for number in range(4):
        frame = talk.puts(SENDER, "QUIT", text_field("done"))
        if number == 3:
            talk.looks_like("R1986-27", frame, RECEIVER)
        talk.wait(6_000 + 5_000 * number)
    return talk


SCRIPTS: dict[str, Callable[[], Exchange]] = {
    "r1986-like-errata": errata,
    "r1986-like-fixed-size": fixed_size,
    "r1986-like-get": get,
    "r1986-like-kept": kept,
    "r1986-like-lossy": lossy,
    "r198602-too-short": without_radio_delay,
    "r198603-reserved-flag": reserved_flag,
    "r198605-no-size": no_size,
    "r198606-unconfirmed": unconfirmed,
    "r198607-from-one": from_one,
    "r198607-packets-from-one": packets_from_one,
    "r198609-offer-too-small": size_too_small,
    "r198609-too-large": proposed(
        "R1986-09",
        "OPEN and RESPONSE agree on packets of 2048 bytes.",
        proven=False,
        packet_size=2048,
        buffer_size=8192,
    ),
    "r198609-too-small": proposed(
        "R1986-09", "OPEN and RESPONSE agree upon data packets of 8 bytes.", proven=True, packet_size=8
    ),
    "r198611-impatient": impatient,
    "r198614-goes-back": goes_back,
    "r198615-long-null-ack": long_null_ack,
    "r198619-relative-path": relative_path,
    "r198623-control-timer": control_timer,
    "r198623-like-first-control-lost": first_control_lost,
    "r198624-no-whole-blocks": proposed(
        "R1986-24", "OPEN and RESPONSE agree on buffers of 250 bytes in packets of 64.", proven=True, buffer_size=250
    ),
    "r198625-large-buffer": proposed(
        "R1986-25", "OPEN and RESPONSE agree on buffers of 1 MiB.", proven=False, buffer_size=1 << 20
    ),
    "r198627-unanswered": unanswered_quit,
    "r198628-like-open-not-captured": open_not_captured,
    "r198628-size-without-r": size_without_r,
}
