# SPDX-License-Identifier: GPL-2.0-or-later
"""The fields of a packet that an illegal move changes, and the values that it puts there, chosen by what a field means:
neighbours of a number, numbers far away, the ends of its range, zero where a zero cannot be used."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from netblt_conformance.packets import fuzz
from netblt_conformance.packets.packets import HEADER_BYTES, seal

_LENGTH_AT = slice(4, 6)
_TYPE_AT = 3
_BITS = 8


class How(enum.Enum):
    """What a value of a move does to a field."""

    PLUS = "is added, modulo the size of the field"
    SET = "replaces what is there"
    XOR = "inverts bits"


@dataclass(frozen=True, slots=True)
class Field:
    """One field, by its name in the scapy layers."""

    how: How
    values: tuple[int, ...]


# Not fields of a layer.
SOURCE = "source"  # another host sends the packet
BYTES = "bytes"  # so many bytes more at the end, or fewer; Length has the new size
LDATA = "ldata"  # DATA becomes LDATA, LDATA becomes DATA

_FAR_BUFFER = 70_000
_HEADER = {
    "version": Field(How.SET, (0, 1, 3, 4, 5, 255)),
    "type": Field(How.SET, (12, 13, 127, 255)),
    "length": Field(How.PLUS, (1, 2, 4, 0xFFFF, 0xFFFC, 0x8000)),
    "local_port": Field(How.PLUS, (1, 2, 0xFFFF, 0x100)),
    "foreign_port": Field(How.PLUS, (1, 2, 0xFFFF)),
    "padding": Field(How.SET, (1, 0x100, 0xFFFF)),
    SOURCE: Field(How.SET, (1,)),
}
_SHORT = {"length": Field(How.SET, (0, 4, 11, 12, 16, 20, 23, 24, 35, 36))}
_OPENING = {
    "unique_id": Field(How.XOR, (1, 0x10000, 0x80000000, 0xFFFFFFFF)),
    "buffer_size": Field(How.SET, (0, 1, 0xFFFFFFFF)),
    "transfer_size": Field(How.SET, (0, 1, 0xFFFFFFFF)),
    "packet_size": Field(How.SET, (0, 1, 0xFFFF)),
    "burst_size": Field(How.SET, (0, 1, 0xFFFF)),
    "burst_interval_ms": Field(How.SET, (0, 1, 0xFFFF)),
    "death_timer_s": Field(How.SET, (0, 1, 0xFFFF)),
    "flags": Field(How.XOR, (1, 2, 3, 0x8000)),
    "max_buffers": Field(How.SET, (0, 1, 0xFFFF)),
}
_DATA = {
    "buffer": Field(How.PLUS, (_FAR_BUFFER, 2**32 - 1, 2**32 - 2, 2**31, 2**32 - _FAR_BUFFER)),
    "high_seq": Field(How.PLUS, (0xFFFF, 0xFFFE)),
    "packet": Field(How.PLUS, (1, 2, 4, 20, 255, 256, 0x7FFF, 0xFFFE)),
    "data_checksum": Field(How.XOR, (1, 0x8000, 0xFFFF)),
    "flags": Field(How.XOR, (1, 2, 0x8000)),
    BYTES: Field(How.PLUS, (-4, -1, 1, 2, 4, 64, 4000)),
    LDATA: Field(How.SET, (1,)),
}
_NULL_ACK = {
    "high_seq": Field(How.PLUS, (1, 2, 1000, 20_000, 40_000)),
    "burst_size": Field(How.SET, (0, 1, 0xFFFF)),
    "burst_interval_ms": Field(How.SET, (0, 0xFFFF)),
    "tail": Field(How.SET, (1, 0xFFFF)),
}
_BUFFER = Field(How.PLUS, (_FAR_BUFFER, 2**32 - _FAR_BUFFER, 2**31))
_SEQ = Field(How.PLUS, (0xFFFF, 0xFFFE, 0xFFF8, 20_000, 30_000, 40_000, 50_000))  # of a message, from the next number
# The type of a message is, like that of a packet, called `type`: `kind` here.
_MESSAGE = {
    "kind": Field(How.SET, (3, 127, 255)),
    "seq": _SEQ,
    "buffer": _BUFFER,
    BYTES: Field(How.PLUS, (-4, -2, 2, 4)),
}
_RESEND = {
    "count": Field(How.PLUS, (1, 2, 3, 0x7FFF, 0xFFFF, 0xFFFE)),
    "entry": Field(How.PLUS, (20, 255, 256, 0x7FFF)),
}

# What each packet of a move may have changed. `copy`: a packet of the tester that has arrived before. `type`: one that
# is whole, of a type that is wrong for the end or the state; its fields are legal.
BASES: dict[str, dict[str, Field]] = {
    "copy": _HEADER,
    "short": _SHORT,  # a copy as well, or a packet that would have an effect, whose Length is smaller
    "type": {},
    "data": _HEADER | _DATA,
    "null-ack": _HEADER | _NULL_ACK,
    "go": _HEADER | _MESSAGE,
    "ok": _HEADER | _MESSAGE,
    "resend": _HEADER | _MESSAGE | _RESEND,
    "open": _HEADER | _OPENING,
    "response": _HEADER | _OPENING,
}
_ALIASES = {"kind": "type", "entry": "packets"}
_ENTRY_AT = 12  # in a RESEND


def _places(packet: bytes) -> dict[str, tuple[int, int]]:
    """Offset and size of each field; of fields with equal names outside of the header the first one."""
    places: dict[str, tuple[int, int]] = {}
    for name, at, size in fuzz.fields_of(packet):
        short = name.rpartition(".")[2]
        places.setdefault("kind" if short == "type" and at >= HEADER_BYTES else short, (at, size))
    if "count" in places:
        places["entry"] = places["seq"][0] - 2 + _ENTRY_AT, 2
    return places


def changed(packet: bytes, base: str, changes: dict[str, int]) -> bytes:
    """The packet with these fields changed, and with the header checksum that is right for it. KeyError when the base
    has no such field, or the packet lacks it."""
    raw, fields, places = bytearray(packet), BASES[base], _places(packet)
    for name, value in changes.items():
        how = fields[name].how
        if name == SOURCE:
            continue
        if name == BYTES:
            raw = raw[:value] if value < 0 else raw + bytes(value)
            raw[_LENGTH_AT] = len(raw).to_bytes(2, "big")
        elif name == LDATA:
            raw[_TYPE_AT] ^= 1
        else:
            at, size = places[name]
            old = int.from_bytes(raw[at : at + size], "big")
            new = {How.PLUS: old + value, How.SET: value, How.XOR: old ^ value}[how]
            raw[at : at + size] = (new % (1 << _BITS * size)).to_bytes(size, "big")
    return seal(raw)
