# SPDX-License-Identifier: GPL-2.0-or-later
"""The bytes of a packet: the core reads it, writes it again from its fields, and what differs has to be one of the
choices that RFC 998 leaves open."""

from __future__ import annotations

from netblt_conformance.reference.outcome import Choices, OutsideError
from netblt_conformance.simlib import guided
from netblt_conformance.simlib.guided import Read

_HEADER_BYTES, _DATA_HEADER_BYTES, _NULL_ACK_BYTES, _OPEN_BYTES = 12, 24, 20, 36
_BARE = (guided.KEEPALIVE, guided.QUITACK, guided.DONE)
_OPENING = (guided.OPEN, guided.RESPONSE)
_REASONS = (guided.QUIT, guided.ABORT, guided.REFUSED)
_OPEN_FLAGS, _DATA_FLAGS = 0x3, 0x1
_PADDING_MOST = 3
NAMES = (
    "OPEN",
    "RESPONSE",
    "KEEPALIVE",
    "QUIT",
    "QUITACK",
    "ABORT",
    "DATA",
    "LDATA",
    "NULL-ACK",
    "CONTROL",
    "REFUSED",
    "DONE",
)


def check(read: Read, choices: Choices, *, data_checksum: bool | None) -> None:
    """OutsideError where no conforming implementation writes these bytes. `data_checksum`: it is agreed; None: not
    known."""
    if not read.readable:
        _unreadable(read)
    written = guided.rewrite(read.raw, data_checksum=bool(data_checksum))
    if written == read.raw:
        return
    _check_length(read)
    if read.type in _OPENING:
        _check_flags(read, _OPEN_FLAGS, "WIRE-09")
        _check_string(read, _OPEN_BYTES, choices)
    elif read.type in _REASONS:
        _check_string(read, _HEADER_BYTES, choices)
    elif read.is_data:
        _check_flags(read, _DATA_FLAGS, "WIRE-10")
    elif read.type == guided.CONTROL and read.cut:
        raise OutsideError("WIRE-12", "control messages that fill the packet", "bytes that are no control message")
    _check_sum(read, choices)
    if read.is_data and data_checksum:
        data = read.raw[_DATA_HEADER_BYTES : read.length]
        if not guided.data_checksum_holds(data, read.data_checksum):
            right = int.from_bytes(written[20:22], "big")
            raise OutsideError(
                "CKSUM-04", f"Data Area Checksum 0x{right:04x}", f"Data Area Checksum 0x{read.data_checksum:04x}"
            )
    elif read.is_data and data_checksum is False and read.data_checksum:
        choices.note("AMB-07", "the Data Area Checksum is not zero although it was not agreed on")


def _unreadable(read: Read) -> None:
    if len(read.raw) >= _HEADER_BYTES and read.raw[3] >= len(NAMES):
        raise OutsideError("WIRE-03", "one of the types 0 to 11", f"type {read.raw[3]}")
    length = int.from_bytes(read.raw[4:6], "big")
    kind = read.raw[3] if len(read.raw) > 3 else 0
    rule = {guided.NULL_ACK: "WIRE-11", guided.DATA: "WIRE-04", guided.LDATA: "WIRE-04"}.get(kind, "WIRE-04")
    raise OutsideError(rule, "a Length that fits the type and the packet", f"Length {length}: {read.why}")


def _check_length(read: Read) -> None:
    beyond = len(read.raw) - read.length
    if read.is_data:
        if beyond > _PADDING_MOST:
            raise OutsideError("WIRE-04", "at most 3 bytes of padding", f"{beyond} bytes beyond Length")
        return
    if beyond:
        raise OutsideError("WIRE-04", f"{read.length} bytes, which is Length", f"{len(read.raw)} bytes")
    if read.type in _BARE and read.length != _HEADER_BYTES:
        raise OutsideError("WIRE-06", "a header alone, Length 12", f"{NAMES[read.type]} with Length {read.length}")
    if read.type == guided.NULL_ACK and read.length != _NULL_ACK_BYTES:
        raise OutsideError("WIRE-11", "Length 20", f"Length {read.length}")
    if read.length % 4:
        raise OutsideError("WIRE-05", "a Length that is a multiple of 4", f"Length {read.length}")


def _check_flags(read: Read, known: int, requirement: str) -> None:
    if read.flags & ~known:
        raise OutsideError(requirement, "reserved flags of zero", f"flags 0x{read.flags:04x}")


def _check_string(read: Read, begin: int, choices: Choices) -> None:
    field = read.raw[begin : read.length]
    if not field:
        choices.note("AMB-03", f"an empty string of {NAMES[read.type]} takes no bytes")
    elif field[-1]:
        raise OutsideError("WIRE-07", "a string that ends in NUL", f"its last byte is 0x{field[-1]:02x}")
    elif field.rstrip(b"\0").count(0):
        choices.note("AMB-61", f"bytes follow the first NUL in the string of {NAMES[read.type]}")


def _check_sum(read: Read, choices: Choices) -> None:
    covered = _DATA_HEADER_BYTES if read.is_data else read.length
    if guided.checksum_holds(read.raw[:covered]):
        return
    if read.is_data and guided.checksum_holds(read.raw[: read.length]):
        choices.note("AMB-04", "the header checksum of data packets covers header and data")
        return
    blank = b"\0\0" + read.raw[2:]
    right = int.from_bytes(guided.rewrite(blank, data_checksum=False)[:2], "big")
    observed = f"checksum 0x{int.from_bytes(read.raw[:2], 'big'):04x} in {NAMES[read.type]}"
    raise OutsideError("CKSUM-01", f"checksum 0x{right:04x}", observed)


def received_intact(read: Read) -> bool:
    """Whether a conforming end may take this packet for one that arrived undamaged."""
    if not read.readable:
        return False
    return read.fault == 0 or (read.is_data and guided.checksum_holds(read.raw[: read.length]))


def may_be_damaged(read: Read) -> bool:
    """Whether a checksum does not fit, so that these need not be the bytes that were sent."""
    if not received_intact(read):
        return True
    data = read.raw[_DATA_HEADER_BYTES : read.length]
    return read.is_data and read.data_checksum != 0 and not guided.data_checksum_holds(data, read.data_checksum)
