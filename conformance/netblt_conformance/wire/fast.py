# SPDX-License-Identifier: GPL-2.0-or-later
"""What can be read in a packet without scapy, at the speed of a capture."""

from __future__ import annotations

import struct
from typing import NamedTuple

HEADER_BYTES = 12
DATA_HEADER_BYTES = 24
_HEADER = struct.Struct(">HBBHHHH")
_DATA, _LDATA = 6, 7


class Header(NamedTuple):
    """The part of the common header that distinguishes packets and connections."""

    type: int
    length: int
    local_port: int
    foreign_port: int


def peek(octets: bytes) -> Header | None:
    """Reads the header at the beginning of a NETBLT packet; None when fewer than 12 bytes are there. Checks nothing."""
    if len(octets) < HEADER_BYTES:
        return None
    _, _, code, length, local_port, foreign_port, _ = _HEADER.unpack_from(octets)
    return Header(code, length, local_port, foreign_port)


def checksum_ok(octets: bytes) -> bool:
    """Whether Length fits the octets and the header checksum verifies (CKSUM-02, and CKSUM-03 for DATA and LDATA)."""
    header = peek(octets)
    if header is None or not HEADER_BYTES <= header.length <= len(octets):
        return False
    if header.type in (_DATA, _LDATA):
        return header.length >= DATA_HEADER_BYTES and sums_to_ffff(octets[:DATA_HEADER_BYTES])
    return sums_to_ffff(octets[: header.length])


def data_checksum_ok(octets: bytes) -> bool:
    """Whether the data area checksum of a DATA or LDATA packet verifies (CKSUM-04). Ask only where C=1."""
    header = peek(octets)
    if header is None or header.type not in (_DATA, _LDATA) or not DATA_HEADER_BYTES <= header.length <= len(octets):
        return False
    area = octets[DATA_HEADER_BYTES : header.length]
    return sums_to_ffff(area + b"\0" * (len(area) % 2) + octets[20:22])


def sums_to_ffff(octets: bytes) -> bool:
    """The receiver's check: the ones-complement sum, checksum field included, is 0xFFFF, so both zeros pass (AMB-05).

    Ones-complement addition is addition modulo 0xFFFF, and 2**16 is 1 there: the octets as one number do it at once.
    The byte that an odd number of them lacks would multiply it by 2**8, which makes no zero of anything else. Octets
    that are all zero would also give 0 but sum to 0x0000.
    """
    number = int.from_bytes(octets, "big")
    return number != 0 and number % 0xFFFF == 0
