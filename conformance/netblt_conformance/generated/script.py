# SPDX-License-Identifier: GPL-2.0-or-later
"""A script: the parameters of one connection and the moves of the tester, as data and as a TOML file."""

from __future__ import annotations

import dataclasses
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
# Small, so that a few moves reach every state: packets in a buffer, buffers, bursts.
_PACKET_BYTES = (16, 48, 64)
_PACKETS_PER_BUFFER = (1, 1, 1, 2, 2, 3, 3, 4, 4, 6, 6, 20)
_BUFFERS = (1, 2, 3, 3, 4, 6, 8)
_MANY_BUFFERS, _MANY_SHARE = 150, 0.02  # more control messages than a byte counts
_OPENINGS_LOST = (0, 0, 0, 0, 1, 2)
_STALL_SHARE, _STALLS_US = 0.1, (50_000, 400_000, 3_000_000)
_MAX_BUFFERS = (1, 1, 2, 2, 3, 4)
_BURSTS = ((1, 5), (2, 5), (4, 10), (8, 10), (3, 20), (16, 1))
_DEATH_TIMERS_S = (6, 20, 60)
_MAX = {"packet_size": 9000, "buffer_size": 1 << 20, "burst_size": 1000, "burst_interval_ms": 1000, "max_buffers": 64}


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
    moves: tuple[Move, ...] = ()
    requirements: tuple[str, ...] = ()  # that the implementation violates in it

    @property
    def has_illegal_moves(self) -> bool:
        """Whether the tester is no conforming peer. Such packets mislead the Wireshark plugin about the connection."""
        return any(one.name.startswith(ILLEGAL_PREFIX) for one in self.moves)

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


_KEYS = (*_MAX, "death_timer_s", "data_checksum", "client_stall_from", "client_stall_until_us")


def begin(chance: random.Random, roles: tuple[Role, ...] = ALL_ROLES) -> Script:
    """A script without moves, with random parameters; those of the two ends differ now and then."""
    role = chance.choice(roles)
    packet = chance.choice(_PACKET_BYTES)
    count = chance.choice(_PACKETS_PER_BUFFER)
    size = packet * count - chance.choice((0, 0, 0, chance.randrange(packet)))
    burst, interval_ms = chance.choice(_BURSTS)
    common = Parameters(
        buffer_size=size,
        packet_size=packet,
        burst_size=burst,
        burst_interval_ms=interval_ms,
        max_buffers=chance.choice(_MAX_BUFFERS),
        death_timer_s=chance.choice(_DEATH_TIMERS_S),
        data_checksum=chance.random() < 0.5,
    )
    buffers = _MANY_BUFFERS if chance.random() < _MANY_SHARE else chance.choice(_BUFFERS)
    length = max(1, size * buffers - chance.choice((0, 0, 1, chance.randrange(size))))
    iut, own = _stalling(_other(common, chance), chance), _other(common, chance)
    return Script(role, chance.getrandbits(32), length, iut, own, chance.choice(_OPENINGS_LOST))


def _stalling(parameters: Parameters, chance: random.Random) -> Parameters:
    """Now and then the implementation's client withholds buffers for a while."""
    if chance.random() >= _STALL_SHARE:
        return parameters
    until_us = chance.choice(_STALLS_US)
    return dataclasses.replace(parameters, client_stall_from=chance.randrange(4), client_stall_until_us=until_us)


def _other(common: Parameters, chance: random.Random) -> Parameters:
    """The same parameters, or one of them stricter or more generous."""
    if chance.random() < 0.7:
        return common
    name = chance.choice(("burst_size", "burst_interval_ms", "max_buffers", "buffer_size", "packet_size"))
    near = getattr(common, name) + chance.choice((-1, 1))
    far = getattr(common, name) * chance.choice((1, 2, 3)) // chance.choice((1, 2))
    return dataclasses.replace(common, **{name: max(1, chance.choice((near, far)))})


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
    death_timer_s: Annotated[int, Field(ge=1, le=3600)]
    data_checksum: bool = False
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
    length: Annotated[int, Field(ge=1, le=1 << 24)]
    openings_lost: Annotated[int, Field(ge=0, le=4)] = 0
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
        moves=tuple(move(text) for text in file.moves),
        requirements=file.requirements,
    )
