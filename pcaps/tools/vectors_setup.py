# SPDX-License-Identifier: GPL-2.0-or-later
"""Vectors of connection setup and close: OPEN, RESPONSE, the header-only packets and those with a reason."""

from __future__ import annotations

from pcaps.tools.octets import Fields, Packet, packet, reason, setup
from pcaps.tools.vector import Vector, vector

# 1480 bytes are left in a 1500-byte IPv4 packet; an OPEN keeps 36 of them for its fixed part.
LONGEST_CLIENT_STRING = "c" * 1443
LONGEST_REASON = "r" * 1467
BODY = "RFC 998 8, WIRE-08"
FLAGS = "RFC 998 8, WIRE-09"
STRINGS = "RFC 998 8, WIRE-07"
RESERVED = "RFC 998 8, ROBUST-04"
CHECKSUM = "RFC 998 5.1, CKSUM-02"


def extreme_setup(type_name: str) -> Packet:
    """Every field of the fixed part at its largest value."""
    return setup(
        type_name,
        unique_id=0xFFFFFFFF,
        buffer_size=0xFFFFFFFF,
        transfer_size=0xFFFFFFFF,
        packet_size=0xFFFF,
        burst_size=0xFFFF,
        burst_interval_ms=0xFFFF,
        death_timer_s=0xFFFF,
        write=True,
        data_checksum_flag=True,
        max_buffers=0xFFFF,
        local_port=0xFFFF,
        foreign_port=0xFFFF,
    )


def distinct_setup(type_name: str) -> Packet:
    """Every byte of the fixed part differs, so a field read from a wrong offset shows."""
    return setup(
        type_name,
        unique_id=0x10111213,
        buffer_size=0x14151617,
        transfer_size=0x18191A1B,
        packet_size=0x1C1D,
        burst_size=0x1E1F,
        burst_interval_ms=0x2021,
        death_timer_s=0x2223,
        write=True,
        max_buffers=0x2425,
        local_port=0x0607,
        foreign_port=0x0809,
        string="offsets",
    )


def common_setup_vectors(type_name: str, prefix: str) -> list[Vector]:
    """What OPEN and RESPONSE, which share one layout, are both tested on."""
    empty = setup(type_name)
    zeros: Fields = dict.fromkeys(("unique_id", "buffer_size", "packet_size", "burst_size", "burst_interval_ms"), 0)
    write: Fields = {"write": True, "data_checksum_flag": True}
    texts = [(size, "abcd"[:size]) for size in (1, 2, 3, 4)]
    return [
        vector(f"{prefix}-typical-read", "empty client string as four NULs; READ, no data checksums", BODY, empty),
        vector(
            f"{prefix}-typical-write",
            "WRITE of a known size with data checksums and a client string",
            BODY,
            setup(type_name, transfer_size=10_000_000, string="report.tar", **write),
        ),
        vector(f"{prefix}-distinct-bytes", "every byte of the fixed part is another", BODY, distinct_setup(type_name)),
        vector(f"{prefix}-extreme-values", "all fields at their largest value", BODY, extreme_setup(type_name)),
        vector(
            f"{prefix}-zero-values",
            "zeros everywhere; a codec reads them, negotiation refuses them",
            "RFC 998 8, NEG-10",
            setup(type_name, death_timer_s=0, max_buffers=0, local_port=0, foreign_port=0, **zeros),
        ),
        vector(f"{prefix}-flag-m-only", "M set, C clear", FLAGS, setup(type_name, write=True)),
        vector(f"{prefix}-flag-c-only", "C set, M clear", FLAGS, setup(type_name, data_checksum_flag=True)),
        vector(
            f"{prefix}-reserved-flags",
            "all 14 reserved flag bits set; a reader ignores them",
            RESERVED,
            setup(type_name, reserved_flags=0xFFFC),
        ),
        vector(
            f"{prefix}-reserved-flags-with-m-and-c",
            "reserved bits beside M and C",
            RESERVED,
            setup(type_name, reserved_flags=0x8004, **write),
        ),
        vector(
            f"{prefix}-string-absent",
            "no string field at all: Length 36 (AMB-03)",
            "RFC 998 8, ROBUST-05",
            setup(type_name, string=b""),
        ),
        *(
            vector(
                f"{prefix}-string-{size}-bytes",
                "text of this length and its fill",
                STRINGS,
                setup(type_name, string=text),
            )
            for size, text in texts
        ),
        vector(f"{prefix}-string-255-bytes", "a long string", STRINGS, setup(type_name, string="s" * 255, write=True)),
        vector(
            f"{prefix}-string-longest",
            "the longest string of a 1500-byte IPv4 packet",
            STRINGS,
            setup(type_name, string=LONGEST_CLIENT_STRING),
        ),
        vector(
            f"{prefix}-string-unterminated",
            "no NUL: the string ends where the packet does",
            "RFC 998 8, ROBUST-05",
            setup(type_name, string=b"unterminated"),
        ),
        vector(
            f"{prefix}-string-then-rubbish",
            "text behind the first NUL does not belong to the string",
            STRINGS,
            setup(type_name, string=b"ab\0cd\0\0\0"),
        ),
        vector(
            f"{prefix}-string-overlong-fill",
            "more NULs than the fill needs",
            STRINGS,
            setup(type_name, string=b"abc\0\0\0\0\0\0\0\0\0"),
        ),
        vector(f"{prefix}-padding-set", "header padding not zero", RESERVED, setup(type_name, padding=0xBEEF)),
        vector(
            f"{prefix}-bytes-beyond-length",
            "four bytes behind Length belong to nobody",
            "RFC 998 8, WIRE-04",
            setup(type_name, string="x").followed_by(b"\xaa\xbb\xcc\xdd"),
        ),
    ]


def open_vectors() -> list[Vector]:
    """OPEN, and the OPENs of other versions."""
    version = "RFC 998 8, AMB-01"
    return [
        *common_setup_vectors("OPEN", "open"),
        vector("open-version-0", "the version byte has no defined value; 0 is read", version, setup("OPEN", version=0)),
        vector("open-version-1", "version byte 1, this layout", version, setup("OPEN", version=1, string="one")),
    ]


def response_vectors() -> list[Vector]:
    """RESPONSE."""
    return common_setup_vectors("RESPONSE", "response")


def header_only_vectors() -> list[Vector]:
    """KEEPALIVE, QUITACK and DONE are the bare header (WIRE-06)."""
    section = "RFC 998 8, WIRE-06"
    entries: list[Vector] = []
    for name in ("KEEPALIVE", "QUITACK", "DONE"):
        slug = name.lower()
        entries += [
            vector(f"{slug}-typical", "the 12-byte header", section, packet(name)),
            vector(
                f"{slug}-extreme-ports",
                "largest ports, padding not zero",
                RESERVED,
                packet(name, local_port=0xFFFF, foreign_port=0xFFFF, padding=0xFFFF),
            ),
            vector(f"{slug}-zero-ports", "ports 0", section, packet(name, local_port=0, foreign_port=0)),
            vector(
                f"{slug}-beyond-length",
                "bytes behind Length belong to nobody",
                "RFC 998 8, WIRE-04",
                packet(name).followed_by(b"\x01\x02"),
            ),
        ]
    # 0202 + 000c + fd00 + 00f1 = ffff, so the field that completes it is zero.
    zero = packet("KEEPALIVE", local_port=0xFD00, foreign_port=0x00F1)
    return [
        *entries,
        vector("keepalive-checksum-zero", "0x0000 is a checksum like any other", CHECKSUM, zero),
        vector(
            "keepalive-checksum-other-zero",
            "0xFFFF where the computed value is 0x0000: the sum is 0xFFFF all the same (AMB-05)",
            CHECKSUM,
            zero.with_checksum(0xFFFF),
        ),
        vector("keepalive-version-0", "version byte 0", "RFC 998 8, AMB-01", packet("KEEPALIVE", version=0)),
        vector("keepalive-version-255", "version byte 255", "RFC 998 8, AMB-01", packet("KEEPALIVE", version=255)),
    ]


def reason_vectors() -> list[Vector]:
    """QUIT, ABORT and REFUSED."""
    entries: list[Vector] = []
    for name in ("QUIT", "ABORT", "REFUSED"):
        slug = name.lower()
        entries += [
            vector(f"{slug}-typical", "a reason", STRINGS, reason(name, "client went away")),
            vector(f"{slug}-empty", "empty reason as four NULs", STRINGS, reason(name)),
            vector(f"{slug}-absent", "no reason field: Length 12 (AMB-03)", "RFC 998 8, ROBUST-05", reason(name, b"")),
            *(
                vector(f"{slug}-{size}-bytes", "text of this length and its fill", STRINGS, reason(name, "wxyz"[:size]))
                for size in (1, 2, 3, 4)
            ),
            vector(f"{slug}-255-bytes", "a long reason", "RFC 998 5.3.2, QUIT-06", reason(name, "q" * 255)),
            vector(f"{slug}-longest", "fills a 1500-byte IPv4 packet", STRINGS, reason(name, LONGEST_REASON)),
            vector(
                f"{slug}-unterminated",
                "no NUL: the string ends where the packet does",
                "RFC 998 8, ROBUST-05",
                reason(name, b"gone"),
            ),
            vector(
                f"{slug}-then-rubbish",
                "text behind the first NUL does not belong to the string",
                STRINGS,
                reason(name, b"\0no\0"),
            ),
            vector(f"{slug}-padding-set", "header padding not zero", RESERVED, reason(name, "p", padding=1)),
        ]
    return entries
