# SPDX-License-Identifier: GPL-2.0-or-later
"""A script: the parameters of one connection and the moves of the tester, as data and as a TOML file."""

from __future__ import annotations

import dataclasses
import functools
import json
import random
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from netblt_conformance.common import toml_file
from netblt_conformance.common.model import ALL_ROLES, ROLES_BY_NAME, Parameters, Role
from netblt_conformance.common.toml_file import Table, Texts

LAYOUT_VERSION = 1
ILLEGAL_PREFIX = "bad."  # of the names of illegal moves
# Of an opening: what is peculiar in all packets of the tester (peculiar.py).
PADDED, STEPS = "padded", "steps"
PECULIAR = frozenset({PADDED, STEPS})
# Small, so that a few moves reach every state: packets in a buffer, buffers, bursts.
_PACKET_BYTES = (16, 48, 64, 64, 17, 50)
_TINY_BYTES = 7  # of the last packet of a buffer
_PACKETS_PER_BUFFER = (1, 1, 1, 2, 2, 3, 3, 4, 4, 6, 6, 12, 20)
# Seldom: lengths of more than a byte, and buffers of more than 2^16 bytes.
_LARGE_PACKETS, _LARGE_PACKETS_SHARE = ((300, 3), (1000, 5), (1456, 12), (9000, 9)), 0.06
# Seldom: packet numbers of more than a byte, and requests that are larger than a packet.
_MANY_PACKETS, _MANY_PACKETS_SHARE = (260, 260, 1000), 0.03
_BUFFERS = (1, 2, 3, 3, 4, 6, 8)
_MANY_BUFFERS, _MANY_SHARE = 150, 0.02  # more control messages than a byte counts
_EMPTY_SHARE = 0.02  # transfers without data
_OPENINGS_LOST = (0, 0, 0, 0, 1, 2)
_STALL_SHARE, _STALLS_US = 0.15, (50_000, 400_000, 3_000_000, 40_000_000, 120_000_000)
_MAX_BUFFERS = (1, 1, 2, 2, 3, 4, 8)
_VERY_MANY, _VERY_MANY_SHARE = 512, 0.015  # outstanding buffers: the low byte of this is 0
# The last ones are longer than a byte, no multiple of a tick, and slow.
_BURSTS = ((1, 5), (2, 5), (4, 10), (8, 10), (3, 20), (16, 1), (1, 47), (2, 300), (3, 47), (300, 10))
_SLOW_BURST, _SLOW_SHARE = (300, 40_000), 0.02  # seldom: an interval of more than 15 bits
_IUT_DEATH_TIMERS_S = (3, 6, 20, 60, 60)
_LONG_DEATH_TIMERS_S, _LONG_DEATH_SHARE = (66, 2148, 4295), 0.02  # just above 2^16 ms, and 2^31 and 2^32 us
_OWN_DEATH_TIMERS_S = (1, 2, 6, 6, 20, 20, 60, 60, 60)
# More than 15 bits. An implementation may wait for as long, and the tester keeps it alive: with a short death timer by
# 50,000 packets, which takes a hundred times as long as another script.
_VERY_LONG_DEATH_TIMER_S, _KEPT_ALIVE_LEAST_S = 40_000, 60
# In what the two ends differ; mostly in nothing.
_DIFFERING = (
    "burst_size",
    "burst_interval_ms",
    "max_buffers",
    "buffer_size",
    "packet_size",
    "data_checksum",
    *[""] * 12,
)
# A proposal may be as large as its field; a passive end restricts it.
LARGEST = {"buffer_size": 0xFFFFFFFF, "packet_size": 0xFFFF, "burst_size": 0xFFFF, "max_buffers": 0xFFFF}
_LARGEST_SHARE = 0.06
_FIRST_BUFFERS, _FIRST_SHARE = (0xFE, 0xFFFE, 0x7FFFFFFE, 0xFFFFF000), 0.15
# What happens before the connection is open, by whether the implementation is the active end (opening.py).
_OPENING_SHARE = 0.2
_OPENINGS = {
    True: (
        *("foreign", "foreign-lost", "damaged", "damaged", "refuse", "abort", "none", "restart", "zero", "loose"),
        *("loose", "sum", "sum"),
    ),
    False: ("elsewhere", "elsewhere", "zero", "large", "sum", "sum", "alone"),
}
# Among illegal moves there are more openings, of packets that no conforming peer sends.
_ILLEGAL_OPENING_SHARE = 0.4
_ILLEGAL_OPENINGS = {
    True: ("foreign", "foreign", "zero", "zero", "loose", "loose", "loose", "damaged", "reserved", PADDED, STEPS),
    False: ("zero", "zero", "large", "large", "elsewhere", "reserved", "endless", PADDED, STEPS),
}
_NEVER_LEGAL = frozenset({"reserved", "endless"})  # those of them whose packets no conforming peer sends
_NUMBERED = ("foreign", "foreign-lost", "damaged", "zero", "loose", "large", "sum", "endless", STEPS)
_ANNOUNCED_SHARE = 0.25  # of the transfers of which another size is announced
_STRINGS_SHARE, _STRING_BYTES = 0.5, (1, 3, 4, 7, 8, 11, 12, 40, 104)
_MAX = {**LARGEST, "burst_interval_ms": 0xFFFF}
_MAX_DEATH_TIMER_S = 0xFFFF
_STRING_BYTES_MAX = 255


@dataclass(frozen=True, slots=True)
class Move:
    """One thing that the tester does: a name and whole numbers."""

    name: str
    numbers: tuple[int, ...] = ()

    def __str__(self) -> str:
        return " ".join((self.name, *map(str, self.numbers)))


def move(text: str) -> Move:
    """The move that a line of a script names. ValueError when a number is none."""
    name, *numbers = text.split()
    return Move(name, tuple(int(number) for number in numbers))


@dataclass(frozen=True, slots=True)
class Script:
    """One connection. What cannot be done when its turn comes is left out, so that any part of a script is a script."""

    role: Role  # of the implementation
    seed: int  # of the data and ports
    length: int  # bytes of data
    iut: Parameters
    own: Parameters
    openings_lost: int = 0  # OPENs or RESPONSEs of the tester, or OPENs of the implementation, before one arrives
    announced: int = -1  # transfer size that a sending tester announces; -1: the right one
    first_buffer: int = -1  # number of the first buffer of a receiving tester; -1: as found by the first transfer
    opening: tuple[Move, ...] = ()  # what happens before the connection is open
    moves: tuple[Move, ...] = ()
    requirements: tuple[str, ...] = ()  # that the implementation violates in it

    @property
    def has_illegal_moves(self) -> bool:
        """Whether the tester is no conforming peer. Such packets mislead the Wireshark plugin about the connection."""
        opens_so = any(one.name in _NEVER_LEGAL for one in self.opening)
        return opens_so or self.is_peculiar or any(one.name.startswith(ILLEGAL_PREFIX) for one in self.moves)

    @property
    def is_peculiar(self) -> bool:
        return any(one.name in PECULIAR for one in self.opening)

    def with_moves(self, moves: tuple[Move, ...]) -> Script:
        return dataclasses.replace(self, moves=moves)

    def text(self, heading: str = "") -> str:
        """TOML. JSON strings are TOML strings."""
        lines = [
            "# A generated script: netblt-conformance run --script FILE",
            *(f"# {line}" for line in heading.splitlines()),
        ]
        lines += [f"layout = {LAYOUT_VERSION}", f"role = {json.dumps(str(self.role))}"]
        lines += [f"seed = {self.seed}", f"length = {self.length}", f"openings_lost = {self.openings_lost}"]
        lines += [f"announced = {self.announced}", f"first_buffer = {self.first_buffer}"]
        lines.append(f"opening = {json.dumps([str(one) for one in self.opening])}")
        for name, end in (("iut", self.iut), ("own", self.own)):
            keys = ", ".join(f"{key} = {json.dumps(value)}" for key, value in values(end).items())
            lines.append(f"{name} = {{ {keys} }}")
        if self.requirements:
            lines.append(f"requirements = {json.dumps(self.requirements)}")
        moves = "".join(f"    {json.dumps(str(one))},\n" for one in self.moves)
        return "\n".join(lines) + f"\nmoves = [\n{moves}]\n"


def values(end: Parameters) -> dict[str, Any]:
    """What a script states of an end."""
    return {key: getattr(end, key) for key in _KEYS}


_KEYS = (*_MAX, "death_timer_s", "data_checksum", "client_stall_from", "client_stall_until_us", "client_string")


def begin(chance: random.Random, roles: tuple[Role, ...] = ALL_ROLES, *, illegal: bool = False) -> Script:
    """A script without moves, with random parameters; those of the two ends differ now and then. `illegal`: illegal
    moves will follow, so that its opening is more often an illegal one."""
    role = chance.choice(roles)
    packet, count = chance.choice(_PACKET_BYTES), chance.choice(_PACKETS_PER_BUFFER)
    if chance.random() < _MANY_PACKETS_SHARE:
        packet, count = min(_PACKET_BYTES), chance.choice(_MANY_PACKETS)
    elif chance.random() < _LARGE_PACKETS_SHARE:
        packet, count = chance.choice(_LARGE_PACKETS)
    size = packet * count - chance.choice((0, 0, 0, chance.randrange(packet), packet - chance.randint(1, _TINY_BYTES)))
    burst, interval_ms = _SLOW_BURST if chance.random() < _SLOW_SHARE else chance.choice(_BURSTS)
    common = Parameters(
        buffer_size=size,
        packet_size=packet,
        burst_size=burst,
        burst_interval_ms=interval_ms,
        max_buffers=_VERY_MANY if chance.random() < _VERY_MANY_SHARE else chance.choice(_MAX_BUFFERS),
        data_checksum=chance.random() < 0.5,
    )
    timers_s = _LONG_DEATH_TIMERS_S if chance.random() < _LONG_DEATH_SHARE else _IUT_DEATH_TIMERS_S
    iut = dataclasses.replace(_other(common, chance), death_timer_s=chance.choice(timers_s))
    very_long = (_VERY_LONG_DEATH_TIMER_S,) if iut.death_timer_s >= _KEPT_ALIVE_LEAST_S else ()
    other = _other(common, chance)
    own = dataclasses.replace(other, death_timer_s=chance.choice((*_OWN_DEATH_TIMERS_S, *very_long)))
    if not role.active and chance.random() < _LARGEST_SHARE:
        name = chance.choice(tuple(LARGEST))
        largest: dict[str, Any] = {name: LARGEST[name]}
        own = dataclasses.replace(own, **largest)
    opening = _opening(role, chance, illegal=illegal)
    if opening and opening[0].name == "large":
        iut = dataclasses.replace(iut, buffer_size=iut.packet_size * 0xFFFF)
    length = _length(size, packet, 2 if count > max(_PACKETS_PER_BUFFER) else 0, chance)
    return Script(
        role,
        chance.getrandbits(32),
        length,
        _with_string(_stalling(iut, chance), chance),
        _with_string(own, chance),
        0 if opening else chance.choice(_OPENINGS_LOST),
        announced=_announced(length, chance) if not role.sender and chance.random() < _ANNOUNCED_SHARE else -1,
        first_buffer=chance.choice(_FIRST_BUFFERS) if role.sender and chance.random() < _FIRST_SHARE else -1,
        opening=opening,
    )


def _opening(role: Role, chance: random.Random, *, illegal: bool) -> tuple[Move, ...]:
    """What happens before the connection is open: mostly nothing."""
    share, known = (_ILLEGAL_OPENING_SHARE, _ILLEGAL_OPENINGS) if illegal else (_OPENING_SHARE, _OPENINGS)
    if chance.random() >= share:
        return ()
    name = chance.choice(known[role.active])
    return (Move(name, (chance.randrange(32),) if name in _NUMBERED else ()),)


def _length(size: int, packet: int, buffers: int, chance: random.Random) -> int:
    """Full buffers, or a last one that is shorter. `buffers`: so many; 0: any number."""
    if not buffers:
        buffers = _MANY_BUFFERS if chance.random() < _MANY_SHARE else chance.choice(_BUFFERS)
    less = chance.choice((0, 0, 1, chance.randrange(size), size - 1, max(0, size - packet - 1)))
    return 0 if chance.random() < _EMPTY_SHARE else max(1, size * buffers - less)


def _announced(length: int, chance: random.Random) -> int:
    return chance.choice((0, max(0, length - 1), length + 1, 100, 0xFFFFFFFF))


def _with_string(end: Parameters, chance: random.Random) -> Parameters:
    if chance.random() >= _STRINGS_SHARE:
        return end
    size = chance.choice(_STRING_BYTES)
    return dataclasses.replace(end, client_string="".join(chr(ord("a") + n % 26) for n in range(size)))


def _stalling(parameters: Parameters, chance: random.Random) -> Parameters:
    """Now and then the implementation's client withholds buffers for a while."""
    if chance.random() >= _STALL_SHARE:
        return parameters
    until_us = chance.choice(_STALLS_US)
    return dataclasses.replace(parameters, client_stall_from=chance.randrange(4), client_stall_until_us=until_us)


def _other(common: Parameters, chance: random.Random) -> Parameters:
    """The same parameters, or up to three of them stricter or more generous."""
    return functools.reduce(lambda other, name: _changed(other, name, chance), chance.choices(_DIFFERING, k=3), common)


def _changed(other: Parameters, name: str, chance: random.Random) -> Parameters:
    if not name:
        return other
    if name == "data_checksum":
        return dataclasses.replace(other, data_checksum=not other.data_checksum)
    near = getattr(other, name) + chance.choice((-1, 1))
    far = getattr(other, name) * chance.choice((1, 2, 3)) // chance.choice((1, 2, 4))
    return dataclasses.replace(other, **{name: min(max(1, chance.choice((near, far))), _MAX[name])})


# ---- files ----


def _role(value: str) -> str:
    if value not in ROLES_BY_NAME:
        raise ValueError(f"{value!r} must be one of {', '.join(ROLES_BY_NAME)}")
    return value


def _bounded(name: str) -> Callable[[int], int]:
    def check(value: int) -> int:
        if not 1 <= value <= _MAX[name]:
            raise ValueError(f"{value} must be from 1 to {_MAX[name]}")
        return value

    return check


class _End(Table):
    packet_size: Annotated[int, AfterValidator(_bounded("packet_size"))]
    buffer_size: Annotated[int, AfterValidator(_bounded("buffer_size"))]
    burst_size: Annotated[int, AfterValidator(_bounded("burst_size"))]
    burst_interval_ms: Annotated[int, AfterValidator(_bounded("burst_interval_ms"))]
    max_buffers: Annotated[int, AfterValidator(_bounded("max_buffers"))]
    death_timer_s: Annotated[int, Field(ge=1, le=_MAX_DEATH_TIMER_S)]
    data_checksum: bool = False
    client_string: Annotated[str, Field(max_length=_STRING_BYTES_MAX)] = ""
    client_stall_from: Annotated[int, Field(ge=0)] = 0
    client_stall_until_us: Annotated[int, Field(ge=0)] = 0


def _moves(values: tuple[str, ...]) -> tuple[str, ...]:
    for value in values:
        try:
            move(value)
        except ValueError:
            raise ValueError(f"{value!r} must be a name and whole numbers") from None
    return values


class _File(Table):
    layout: Literal[1] = Field(description=f"this version reads {LAYOUT_VERSION}")
    role: Annotated[str, AfterValidator(_role)]
    seed: Annotated[int, Field(ge=0)] = 0
    length: Annotated[int, Field(ge=0, le=1 << 24)]
    openings_lost: Annotated[int, Field(ge=0, le=4)] = 0
    announced: Annotated[int, Field(ge=-1, le=0xFFFFFFFF)] = -1
    first_buffer: Annotated[int, Field(ge=-1, le=0xFFFFFFFF)] = -1
    opening: Annotated[Texts, AfterValidator(_moves)] = ()
    iut: _End
    own: _End
    moves: Annotated[Texts, AfterValidator(_moves)]
    requirements: Texts = ()


def load(path: Path) -> Script:
    """TomlError names every mistake."""
    return _script(toml_file.read(path, _File))


def from_text(text: str) -> Script:
    """The script that `Script.text()` wrote."""
    return _script(_File.model_validate(tomllib.loads(text)))


def _script(file: _File) -> Script:
    iut, own = (Parameters(**{key: getattr(end, key) for key in _KEYS}) for end in (file.iut, file.own))
    return Script(
        ROLES_BY_NAME[file.role],
        file.seed,
        file.length,
        iut,
        own,
        openings_lost=file.openings_lost,
        announced=file.announced,
        first_buffer=file.first_buffer,
        opening=tuple(move(text) for text in file.opening),
        moves=tuple(move(text) for text in file.moves),
        requirements=file.requirements,
    )
