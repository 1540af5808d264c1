# SPDX-License-Identifier: GPL-2.0-or-later
"""Vectors of CONTROL and its messages, readable and not."""

from __future__ import annotations

import struct

from pcaps.tools.octets import Message, control, go, ok, resend
from pcaps.tools.vector import Vector, vector

LAYOUT = "RFC 998 8, WIRE-12"
# A 1500-byte IPv4 packet less its header, the NETBLT header and the fixed part of the message, two bytes an entry.
LONGEST_RESEND_ENTRIES = 728


def control_vectors() -> list[Vector]:
    """Everything about CONTROL."""
    return [*single_message_vectors(), *queue_vectors(), *unreadable_vectors()]


def single_message_vectors() -> list[Vector]:
    """One message of each kind."""
    largest = {"burst_size": 0xFFFF, "burst_interval_ms": 0xFFFF, "control_timer_ms": 0xFFFF}
    padding = "RFC 998 8, ROBUST-04"

    def one(name: str, about: str, message: Message, section: str = LAYOUT) -> Vector:
        return vector(name, about, section, control([message]))

    return [
        one("control-go-first", "what a connection begins with: message 1, buffer 0", go(1, 0)),
        one("control-go-distinct-bytes", "every byte is another", go(0x1011, 0x12131415)),
        one("control-go-largest", "largest values", go(0xFFFF, 0xFFFFFFFF)),
        one("control-go-pad-set", "padding byte not zero", go(2, 1, pad=0xFF), padding),
        one("control-ok-typical", "buffer 0 arrived", ok(2, 0)),
        one(
            "control-ok-distinct-bytes",
            "every byte is another",
            ok(0x1011, 0x12131415, burst_size=0x1617, burst_interval_ms=0x1819, control_timer_ms=0x1A1B),
        ),
        one("control-ok-largest", "largest values", ok(0xFFFF, 0xFFFFFFFF, **largest)),
        one("control-ok-zero-values", "zeros", ok(0, 0, burst_size=0, burst_interval_ms=0, control_timer_ms=0)),
        one("control-ok-pads-set", "padding not zero", ok(3, 1, pad=0xA5, tail=0x5A5A), padding),
        one("control-resend-none", "a list without entries asks for nothing", resend(3, 0, []), "RFC 998 8, RESEND-08"),
        one("control-resend-1", "odd count: two bytes of fill", resend(3, 0, [5])),
        one("control-resend-2", "even count: no fill", resend(3, 0, [5, 9])),
        one("control-resend-3", "odd count", resend(4, 7, [0, 1, 2])),
        one("control-resend-4", "even count", resend(5, 7, [0, 3, 0x0102, 0xFFFF])),
        one("control-resend-largest", "largest values", resend(0xFFFF, 0xFFFFFFFF, [0xFFFF])),
        one("control-resend-pads-set", "padding and fill not zero", resend(6, 1, [2], pad=0x77, fill=0x8888), padding),
        one(
            "control-resend-longest",
            "as many entries as one message in a 1500-byte IPv4 packet holds",
            resend(9, 2, list(range(LONGEST_RESEND_ENTRIES))),
        ),
    ]


def queue_vectors() -> list[Vector]:
    """Several messages, none, and what surrounds them."""
    several = "RFC 998 5.2.1, CTRL-12"
    return [
        vector("control-empty", "no message at all: harmless (AMB-46)", "RFC 998 8, AMB-46", control([])),
        vector("control-three-gos", "the opening of three buffers", several, control([go(1, 0), go(2, 1), go(3, 2)])),
        vector("control-ok-and-go", "the usual packet of a steady transfer", several, control([ok(5, 3), go(6, 7)])),
        vector(
            "control-resends-then-others",
            "odd and even lists before other messages: the next one begins on a multiple of four",
            several,
            control([resend(7, 4, [1]), resend(8, 5, [2, 3]), ok(9, 3), resend(10, 6, [4, 5, 6]), go(11, 8)]),
        ),
        vector(
            "control-sequence-wraps",
            "65535 is followed by 0 (AMB-12)",
            "RFC 998 8, AMB-12",
            control([ok(65534, 32766), go(65535, 32770), ok(0, 32767), go(1, 32771)]),
        ),
        vector(
            "control-sequence-with-a-gap",
            "a codec reads what is there; whether it may be so is another matter",
            "RFC 998 5.2.1, CTRL-03",
            control([go(1, 0), go(3, 2), go(2, 1)]),
        ),
        vector(
            "control-fills-a-packet",
            "as many GOs as a 1500-byte IPv4 packet holds",
            several,
            control([go(1 + number, number) for number in range(183)]),
        ),
        vector(
            "control-padding-set",
            "header padding not zero",
            "RFC 998 8, ROBUST-04",
            control([go(1, 0)], padding=0xFFFF),
        ),
        vector(
            "control-beyond-length",
            "a GO behind Length is not a message",
            "RFC 998 8, WIRE-04",
            control([go(1, 0)]).followed_by(go(2, 1).octets),
        ),
        vector(
            "control-checksum-zero",
            "0x0000 is a checksum like any other",
            "RFC 998 5.1, CKSUM-02",
            # 0209 + 0014 + 0400 + 0001 + f9e0 (of the buffer number) + 0001 (of the sequence number) = ffff
            control([go(1, 0xF9E00000)]),
        ),
    ]


def unreadable_vectors() -> list[Vector]:
    """Messages before the unreadable one are valid; it and all after it are neither acted on nor acknowledged."""
    unknown = "RFC 998 8, ROBUST-02"
    overrun = "RFC 998 8, ROBUST-03"
    boundary = "RFC 998 8, WIRE-12"
    stranger = struct.pack(">BBHI", 3, 0, 2, 1)

    def broken(name: str, about: str, section: str, messages: list[Message], residue: bytes) -> Vector:
        return vector(name, about, section, control(messages, residue=residue), error="message")

    return [
        broken("control-unknown-after-go", "control message type 3 behind a valid GO", unknown, [go(1, 0)], stranger),
        broken(
            "control-unknown-first",
            "type 3 first: the GO behind it is not read",
            unknown,
            [],
            stranger + go(3, 2).octets,
        ),
        broken("control-type-255", "the largest type code", unknown, [ok(1, 0)], b"\xff" * 16),
        broken(
            "control-resend-overrun",
            "count 5 with room for four",
            overrun,
            [],
            resend(2, 0, [1, 2, 3, 4], count=5).octets,
        ),
        broken(
            "control-resend-overrun-65535",
            "count 0xFFFF in a message of four, behind a valid OK",
            overrun,
            [ok(1, 0)],
            resend(2, 1, [1, 2, 3, 4], count=0xFFFF).octets,
        ),
        broken(
            "control-resend-no-list",
            "count 1 and the packet ends",
            overrun,
            [go(1, 0)],
            resend(2, 0, [], count=1).octets,
        ),
        broken("control-resend-cut", "a RESEND without its count", boundary, [go(1, 0)], resend(2, 0, []).octets[:8]),
        broken("control-go-cut", "half a GO", boundary, [go(1, 0)], go(2, 1).octets[:4]),
        broken("control-ok-cut", "an OK without its last four bytes", boundary, [go(1, 0)], ok(2, 0).octets[:12]),
        broken("control-residue", "four zero bytes behind the last message", boundary, [ok(1, 0), go(2, 1)], bytes(4)),
        vector(
            "control-resend-overrun-beyond-length",
            "the entries that the count claims lie beyond Length: they do not count",
            overrun,
            control([], residue=resend(2, 0, [], count=2).octets).followed_by(b"\x00\x01\x00\x02"),
            error="message",
        ),
    ]
