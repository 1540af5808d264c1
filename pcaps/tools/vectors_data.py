# SPDX-License-Identifier: GPL-2.0-or-later
"""Vectors of what the data sender emits: DATA, LDATA and NULL-ACK."""

from __future__ import annotations

from pcaps.tools.octets import Fields, checksum, data, null_ack
from pcaps.tools.vector import Vector, vector

LAYOUT = "RFC 998 8, WIRE-10"
SUMMED = "RFC 998 5.1, CKSUM-04"
UNSUMMED = "RFC 998 5.1, CKSUM-05"
PADDING = "RFC 998 8, AMB-02"
FULL_ETHERNET_BYTES = 1456  # 1500 less an IPv4 header and a DATA header


def counting(size: int) -> bytes:
    """Data in which every position can be recognized."""
    return bytes((7 * position + 1) % 256 for position in range(size))


def data_vectors(type_name: str) -> list[Vector]:
    """DATA and LDATA share one layout."""
    slug = type_name.lower()
    return [
        *layout_vectors(type_name, slug),
        *length_vectors(type_name, slug),
        *checksum_vectors(type_name, slug),
    ]


def layout_vectors(type_name: str, slug: str) -> list[Vector]:
    """Fields and reserved bits."""
    distinct = data(type_name, counting(8), buffer=0x10111213, high_seq=0x1415, number=0x1617, data_checksum=0x1819)
    most: Fields = {"buffer": 0xFFFFFFFF, "high_seq": 0xFFFF, "number": 0xFFFF, "data_checksum": 0xFFFF}
    ports: Fields = {"local_port": 0xFFFF, "foreign_port": 0xFFFF, "padding": 0xFFFF}
    full = data(type_name, counting(FULL_ETHERNET_BYTES), buffer=3, number=9, high_seq=4)
    last = data(type_name, counting(16), number=1, high_seq=2, last_buffer=True)
    return [
        vector(f"{slug}-minimal", "no data at all: Length 24", LAYOUT, data(type_name, b""), data_checksum="unchecked"),
        vector(f"{slug}-distinct-bytes", "every header byte is another", LAYOUT, distinct, data_checksum="unchecked"),
        vector(f"{slug}-typical", "as much as an Ethernet frame takes", LAYOUT, full, data_checksum="unchecked"),
        vector(f"{slug}-last-buffer", "L set", "RFC 998 5.3.1, DATA-09", last, data_checksum="unchecked"),
        vector(
            f"{slug}-extreme-values",
            "all fields at their largest value",
            LAYOUT,
            data(type_name, b"\xff" * 4, last_buffer=True, **most, **ports),
            # The data sum to 0xFFFF, so the field may be 0x0000 or, added to it, 0xFFFF (AMB-05).
            data_checksum="good",
        ),
        vector(
            f"{slug}-reserved-bits",
            "all 15 reserved bits set, L clear; a reader ignores them",
            "RFC 998 8, ROBUST-04",
            data(type_name, b"reserved", reserved_flags=0xFFFE),
            data_checksum="unchecked",
        ),
        vector(
            f"{slug}-reserved-bits-and-l",
            "reserved bits beside L",
            "RFC 998 8, ROBUST-04",
            data(type_name, b"reserved", reserved_flags=0x8002, last_buffer=True),
            data_checksum="unchecked",
        ),
        vector(
            f"{slug}-nothing-acknowledged",
            "high-seq 0: no control message has arrived yet",
            "RFC 998 5.2.1, CTRL-06",
            data(type_name, b"abcd", high_seq=0),
            data_checksum="unchecked",
        ),
    ]


def length_vectors(type_name: str, slug: str) -> list[Vector]:
    """Every remainder modulo four, with fill beyond Length (AMB-02 a) and without (b)."""
    entries: list[Vector] = []
    for size in (1, 2, 3, 5):
        packet = data(type_name, counting(size), number=size)
        fill = -size % 4
        entries += [
            vector(
                f"{slug}-{size}-bytes-filled",
                "fill of zeros beyond Length makes the packet a multiple of four (a)",
                PADDING,
                packet.followed_by(b"\0" * fill),
                data_checksum="unchecked",
            ),
            vector(
                f"{slug}-{size}-bytes-unfilled",
                "the packet ends with its data (b)",
                PADDING,
                packet,
                data_checksum="unchecked",
            ),
        ]
    return [
        *entries,
        vector(
            f"{slug}-fill-not-zero",
            "what lies beyond Length is not data, whatever it holds",
            PADDING,
            data(type_name, b"odd").followed_by(b"\xee"),
            data_checksum="unchecked",
        ),
    ]


def checksum_vectors(type_name: str, slug: str) -> list[Vector]:
    """The data area checksum, right and wrong, and the reach of the header checksum."""
    text = b"the data area checksum"
    good = data(type_name, text, summed=True)
    # Same header, one data bit changed: the header checksum still holds (CKSUM-03).
    spoilt = data(type_name, text[:-1] + b"n", data_checksum=checksum(text))
    odd = data(type_name, b"odd", summed=True, number=2)
    odd_low = data(type_name, b"odd", data_checksum=0xFFFF - (0x6F64 + 0x0064), number=2)
    header_zero = data(type_name, b"", high_seq=0, local_port=0xF000, foreign_port=0x0DE1 - (type_name == "LDATA"))
    return [
        vector(f"{slug}-summed", "C=1, even length", SUMMED, good, data_checksum="good"),
        vector(f"{slug}-summed-odd", "C=1, odd length: a zero byte is imagined", SUMMED, odd, data_checksum="good"),
        vector(
            f"{slug}-summed-odd-filled",
            "C=1: fill beyond Length is outside the sum, even when it is not zero",
            SUMMED,
            odd.followed_by(b"\x55"),
            data_checksum="good",
        ),
        vector(
            f"{slug}-summed-full",
            "C=1, a full Ethernet frame",
            SUMMED,
            data(type_name, counting(FULL_ETHERNET_BYTES), summed=True, buffer=1, high_seq=9),
            data_checksum="good",
        ),
        vector(
            f"{slug}-summed-no-data",
            "C=1 and nothing to sum: 0xFFFF",
            SUMMED,
            data(type_name, b"", summed=True),
            data_checksum="good",
        ),
        vector(
            f"{slug}-summed-to-zero",
            "C=1 and the right value is 0x0000",
            SUMMED,
            data(type_name, b"\xf0\x0f\x0f\xf0", summed=True),
            data_checksum="good",
        ),
        vector(
            f"{slug}-data-spoilt", "C=1, one data byte changed", "RFC 998 5.1, CKSUM-07", spoilt, data_checksum="bad"
        ),
        vector(
            f"{slug}-odd-byte-low",
            "C=1, but the odd byte was summed as a low half",
            "RFC 998 5.1, AMB-06",
            odd_low,
            data_checksum="bad",
        ),
        vector(
            f"{slug}-zero-is-no-excuse",
            "C=1: a data checksum of 0x0000 does not mean that there is none",
            "RFC 998 5.1, CKSUM-07",
            data(type_name, text, data_checksum=0),
            data_checksum="bad",
        ),
        vector(
            f"{slug}-unchecked-rubbish",
            "C=0: the field may hold anything (AMB-07)",
            UNSUMMED,
            data(type_name, text, data_checksum=0x1234),
            data_checksum="unchecked",
        ),
        vector(
            f"{slug}-header-checksum-zero",
            "the header sums to 0xFFFF, so its Checksum is 0x0000",
            "RFC 998 5.1, CKSUM-02",
            header_zero,
            data_checksum="unchecked",
        ),
        vector(
            f"{slug}-header-spoilt",
            "the header checksum is wrong, the data are right",
            "RFC 998 5.1, CKSUM-06",
            good.with_checksum(good.fields["checksum"] ^ 0x0100),
            error="checksum",
            data_checksum="good",
        ),
    ]


def null_ack_vectors() -> list[Vector]:
    """NULL-ACK."""
    section = "RFC 998 8, WIRE-11"
    return [
        vector("null-ack-minimal", "nothing acknowledged, zero burst values", section, null_ack(0, 0, 0)),
        vector("null-ack-typical", "message 3 acknowledged", section, null_ack(3)),
        vector(
            "null-ack-distinct-bytes",
            "every byte is another",
            section,
            null_ack(0x1011, 0x1213, 0x1415, tail=0, local_port=0x0607, foreign_port=0x0809),
        ),
        vector(
            "null-ack-extreme-values",
            "all fields at their largest value",
            section,
            null_ack(0xFFFF, 0xFFFF, 0xFFFF, local_port=0xFFFF, foreign_port=0xFFFF),
        ),
        vector("null-ack-tail-set", "padding at the end not zero", "RFC 998 8, ROBUST-04", null_ack(7, tail=0xFFFF)),
        vector("null-ack-padding-set", "header padding not zero", "RFC 998 8, ROBUST-04", null_ack(7, padding=0x0101)),
        vector(
            "null-ack-beyond-length",
            "bytes behind Length belong to nobody",
            "RFC 998 8, WIRE-04",
            null_ack(1).followed_by(b"\xff\xff\xff\xff"),
        ),
    ]
