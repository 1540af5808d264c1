# SPDX-License-Identifier: GPL-2.0-or-later
"""Packets with a bad checksum, counted for each direction and judged (CKSUM-02, CKSUM-04, CKSUM-06, CKSUM-07)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from netblt_conformance.catalogue import catalogue
from netblt_conformance.common.verdicts import Origin, Result, Verdict
from netblt_conformance.judges.findings import DATA_SUM, HEADER_SUM, Damaged, Finding
from netblt_conformance.judges.standings import Connection

NAMED_FRAMES = 10
# A flood with forged addresses has a direction for each packet.
DIRECTIONS_MOST = 1000
OTHERS = "other addresses"
# What a receiver does with such a packet, and what its emitter did wrong if the packet left it so.
_RECEIVED = {HEADER_SUM: "CKSUM-06", DATA_SUM: "CKSUM-07"}
_EMITTED = {HEADER_SUM: "CKSUM-02", DATA_SUM: "CKSUM-04"}
_BLAMED = frozenset(("CKSUM-01", "CKSUM-02", "CKSUM-03", "CKSUM-04"))


@dataclass(slots=True)
class Direction:
    """The damaged packets from one address to another, at one interface, with one kind of bad checksum."""

    source: str
    destination: str
    interface: str
    part: str  # HEADER_SUM or DATA_SUM
    packets: int = 0
    frames: list[int] = field(default_factory=list)  # the first NAMED_FRAMES
    offender: str = ""  # where the position of the capture proves who sent them so: address and role

    @property
    def verdict(self) -> Verdict:
        return Verdict.FAIL if self.offender else Verdict.INCONC

    @property
    def requirement(self) -> str:
        return (_EMITTED if self.offender else _RECEIVED)[self.part]


def directions(
    damaged: Iterable[Damaged],
    connections: Sequence[Connection],
    findings: Iterable[Finding],
    position: str | None,
    beside: Mapping[str, Collection[str]] | None = None,
) -> list[Direction]:
    """Without the packets whose checksum the plugin already holds against their emitter. `beside`: by interface the
    addresses of the hosts at which it was captured."""
    blamed = {one.guilty_frame for one in findings if one.requirement in _BLAMED}
    roles = _roles(connections)
    found: dict[tuple[str, str, str, str], Direction] = {}
    for one in damaged:
        if one.frame in blamed:
            continue
        key = one.source, one.destination, one.interface, one.part
        if key not in found and len(found) >= DIRECTIONS_MOST:
            key = OTHERS, OTHERS, "", one.part
        direction = found.get(key)
        if direction is None:
            direction = found[key] = Direction(*key, offender=_emitter(one, roles, position, beside or {}))
        direction.packets += 1
        if len(direction.frames) < NAMED_FRAMES:
            direction.frames.append(one.frame)
    return list(found.values())


def _address(end: str) -> str:
    return end.rpartition(":")[0].strip("[]")


def _roles(connections: Iterable[Connection]) -> dict[str, set[str]]:
    """Which roles each address has."""
    roles: dict[str, set[str]] = defaultdict(set)
    for one in connections:
        for role, end in one.ends.items():
            roles[_address(end)].add(role)
    return roles


def _emitter(
    one: Damaged, roles: Mapping[str, set[str]], position: str | None, beside: Mapping[str, Collection[str]]
) -> str:
    """The end at which the capture was made, if the packet is from that end and no other: nothing lies between the
    two."""
    own = roles.get(one.source, set())
    if position in ("sender", "receiver") and own == {position}:
        return f"{one.source} {position}"
    if one.source in beside.get(one.interface, ()) and len(own) == 1:
        return f"{one.source} {next(iter(own))}"
    return ""


def rows(found: Sequence[Direction], name: str) -> list[Result]:
    several = len({one.interface for one in found}) > 1
    return [_row(one, name, several=several) for one in found]


def _row(one: Direction, name: str, *, several: bool) -> Result:
    packets = f"{one.packets} packet{'s' * (one.packets != 1)} with a bad {one.part} checksum"
    more = ", ..." if one.packets > len(one.frames) else ""
    frames = f"frame{'s' * (one.packets != 1)} {', '.join(map(str, one.frames))}{more}"
    if one.offender:
        why = "the capture was made at the end that sent them"
    else:
        why = "damaged on the way to the capture, or sent so: the capture does not show which"
    case = f"{one.source} > {one.destination}" + (f" at {one.interface}" if several else "")
    return Result(
        f"damaged packets {case}",
        [one.requirement],
        one.offender or "-",
        one.verdict,
        f"{packets} ({frames}): {why}",
        capture=name,
        frame=one.frames[0],
        origin=Origin.CHECK,
        expected=catalogue.demand(one.requirement),
    )
