# SPDX-License-Identifier: GPL-2.0-or-later
"""Field-aware damage: takes sound packets apart with the scapy layers, changes fields, cuts, adds, swaps bytes.

The same seed gives the same packets, wherever the suite is installed. Every packet has a name that states what was done
to it.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from netblt_conformance import wire
from netblt_conformance.packets import packets

HEADER_BYTES = packets.HEADER_BYTES
# Values that break arithmetic on fields: the edges of 8, 16 and 32 bits, signed and unsigned.
EDGES = (0, 1, 2, 3, 0x7F, 0x80, 0xFF, 0x100, 0x7FFF, 0x8000, 0xFFFE, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF)
_CHECKSUM_BYTES = 2  # at the beginning
_LENGTH_AT = 4
_PATIENCE = 10  # draws for each packet that is wanted: some are equal, or whole after all


@dataclass(frozen=True, slots=True)
class Mutated:
    name: str
    packet: bytes


@functools.lru_cache(maxsize=1024)
def fields_of(packet: bytes) -> list[tuple[str, int, int]]:
    """(layer.field, offset, size) of every number in a packet, from its layers."""
    layer: Any = wire.NETBLT(packet[:2] + bytes([packets.READ_AS_VERSION]) + packet[3:])
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
        # That of flags is a float.
        size = int(field.sz) if isinstance(field.sz, int | float) and 0 < field.sz <= 4 else 0
        if size and getattr(field, "islist", 0) == 0 and not hasattr(field, "cond"):
            found.append((f"{layer.name}.{field.name}", offset, size))
            offset += size
    if layer.name.startswith("NETBLT RESEND"):
        return start + 12 + 2 * (len(layer.packets) + len(layer.packets) % 2)
    return offset


Step = tuple[str, int, Any]  # what is done; a number that states where; with what
STEPS = ("field", "field", "field", "byte", "cut", "grow")  # fields as often as all others together
STEPS_MAX = 3
POOL = 400  # ways to damage a packet
_GROWTH_MAX_BYTES = 24


@functools.cache
def recipes(seed: int) -> tuple[tuple[Step, ...], ...]:
    """Ways to damage a packet, of one to three steps. They know no packet: numbers are taken modulo what there is. One
    pool serves a whole run."""
    choice = Random(seed)
    found: dict[tuple[Step, ...], None] = {}
    while len(found) < POOL:
        found[tuple(_step(choice) for _ in range(choice.randint(1, STEPS_MAX)))] = None
    return tuple(found)


def _step(choice: Random) -> Step:
    how, where = choice.choice(STEPS), choice.randrange(0x10000)
    match how:
        case "field":
            return how, where, choice.choice(EDGES) if choice.random() < 0.5 else choice.randrange(1 << 32)
        case "byte":
            return how, where, choice.randint(1, 255)
        case "cut":
            return how, where, None
        case _:
            return how, where, choice.randbytes(choice.randint(1, _GROWTH_MAX_BYTES))


def generate(seed: int, choice: Random, sound: Mapping[str, bytes], count: int, *, sealed: bool) -> list[Mutated]:
    """`count` damaged packets, made of `sound` ones that `choice` picks, by recipes of the run's `seed`. `sealed`: with
    a right checksum over the damage; else only packets whose checksum shows it, at first each one with the checksum
    zero, which UDP takes for "not computed"."""
    found: dict[bytes, Mutated] = {}
    names, pool = sorted(sound), recipes(seed)
    for name in names if not sealed else ():
        blank = bytes(_CHECKSUM_BYTES) + sound[name][_CHECKSUM_BYTES:]
        if not packets.read(blank).checksum_good:
            found[blank] = Mutated(f"{name} with checksum = 0", blank)
    for _ in range(_PATIENCE * count):
        name, shift = choice.choice(names), choice.randrange(0x10000)
        steps = [(how, where + shift, what) for how, where, what in choice.choice(pool)]
        mutated = _mutate(name, sound[name], steps, sealed)
        if mutated.packet != sound[name] and (sealed or not packets.read(mutated.packet).checksum_good):
            found.setdefault(mutated.packet, mutated)
        if len(found) == count:
            break
    return list(found.values())


def _mutate(name: str, sound: bytes, steps: Sequence[Step], sealed: bool) -> Mutated:
    packet, done = bytearray(sound), []
    for how, where, what in steps:
        if how == "field":
            fields = fields_of(sound)
            field, at, size = fields[where % len(fields)]
            value = what % 256**size
            if at + size <= len(packet):
                packet[at : at + size] = value.to_bytes(size, "big")
                done.append(f"{field} = {value}")
        elif how == "byte" and packet:
            at = where % len(packet)
            packet[at] ^= what
            done.append(f"byte {at} = {packet[at]}")
        elif how == "cut":
            end = where % (len(packet) + 1)
            del packet[end:]
            done.append(f"cut at {end}")
        elif how == "grow":
            packet += what
            done.append(f"{len(what)} bytes more")
            if where % 2 and len(packet) >= HEADER_BYTES:
                packet[_LENGTH_AT : _LENGTH_AT + 2] = len(packet).to_bytes(2, "big")
    whole = packets.seal(packet) if sealed and len(packet) >= HEADER_BYTES else bytes(packet)
    return Mutated(f"{name} with {', '.join(done) or 'nothing changed'}", whole)
