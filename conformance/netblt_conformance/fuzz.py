# SPDX-License-Identifier: GPL-2.0-or-later
"""Field-aware damage: takes sound packets apart with the scapy layers, changes fields, cuts, adds, swaps bytes.

The same seed gives the same packets. Every packet has a name that says what was done to it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from netblt_conformance import packets
from netblt_conformance.wire import NETBLT

HEADER_BYTES = packets.HEADER_BYTES
# Values that break arithmetic on fields: the edges of 8, 16 and 32 bits, signed and unsigned.
EDGES = (0, 1, 2, 3, 0x7F, 0x80, 0xFF, 0x100, 0x7FFF, 0x8000, 0xFFFE, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF)
_LENGTH_AT = 4


@dataclass(frozen=True, slots=True)
class Mutated:
    name: str
    packet: bytes


def fields_of(packet: bytes) -> list[tuple[str, int, int]]:
    """(layer.field, offset, size) of every number in a packet, from its layers."""
    layer: Any = NETBLT(packet[:2] + bytes([packets.READ_AS_VERSION]) + packet[3:])
    found: list[tuple[str, int, int]] = []
    offset = 0
    while layer is not None and getattr(layer, "fields_desc", None):
        offset = _numbers_of(layer, offset, found)
        messages = getattr(layer, "messages", None) if layer.name == "NETBLT CONTROL" else None
        for message in messages or []:
            offset = _numbers_of(message, offset, found)
        layer = layer.payload
    return [(name, at, size) for name, at, size in found if at + size <= len(packet)]


def _numbers_of(layer: Any, offset: int, found: list[tuple[str, int, int]]) -> int:
    start = offset
    for field in layer.fields_desc:
        size = field.sz if isinstance(field.sz, int) and 0 < field.sz <= 4 else 0
        if size and getattr(field, "islist", 0) == 0 and not hasattr(field, "cond"):
            found.append((f"{layer.name}.{field.name}", offset, size))
            offset += size
    if layer.name.startswith("NETBLT RESEND"):
        return start + 12 + 2 * (len(layer.packets) + len(layer.packets) % 2)
    return offset


def generate(seed: int, sound: Mapping[str, bytes], count: int, *, sealed: bool) -> list[Mutated]:
    """`count` damaged packets at most. `sealed`: with a right checksum over the damage; else only packets whose
    checksum shows it."""
    import hypothesis
    from hypothesis import HealthCheck, Phase
    from hypothesis import strategies as st

    found: dict[bytes, Mutated] = {}
    settings = hypothesis.settings(
        max_examples=count,
        phases=[Phase.generate],
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )

    @hypothesis.seed(seed)
    @settings
    @hypothesis.given(st.data())
    def collect(draw: st.DataObject) -> None:
        mutated = _mutate(draw, st, sound, sealed)
        if sealed or not packets.read(mutated.packet).checksum_good:
            found.setdefault(mutated.packet, mutated)

    collect()
    return list(found.values())


def _mutate(draw: Any, st: Any, sound: Mapping[str, bytes], sealed: bool) -> Mutated:
    name = draw.draw(st.sampled_from(sorted(sound)))
    packet, done = bytearray(sound[name]), []
    for _ in range(draw.draw(st.integers(1, 3))):
        how = draw.draw(st.sampled_from(("field", "field", "field", "byte", "cut", "grow")))
        if how == "field":
            field, at, size = draw.draw(st.sampled_from(fields_of(sound[name])))
            value = draw.draw(st.one_of(st.sampled_from(EDGES), st.integers(0, 256**size - 1))) % 256**size
            if at + size <= len(packet):
                packet[at : at + size] = value.to_bytes(size, "big")
                done.append(f"{field} = {value}")
        elif how == "byte" and packet:
            at = draw.draw(st.integers(0, len(packet) - 1))
            packet[at] ^= draw.draw(st.integers(1, 255))
            done.append(f"byte {at} = {packet[at]}")
        elif how == "cut":
            end = draw.draw(st.integers(0, len(packet)))
            del packet[end:]
            done.append(f"cut at {end}")
        elif how == "grow":
            more = draw.draw(st.binary(min_size=1, max_size=24))
            packet += more
            done.append(f"{len(more)} bytes more")
            if draw.draw(st.booleans()) and len(packet) >= HEADER_BYTES:
                packet[_LENGTH_AT : _LENGTH_AT + 2] = len(packet).to_bytes(2, "big")
    whole = packets.seal(packet) if sealed and len(packet) >= HEADER_BYTES else bytes(packet)
    return Mutated(f"{name} with {', '.join(done) or 'nothing changed'}", whole)
