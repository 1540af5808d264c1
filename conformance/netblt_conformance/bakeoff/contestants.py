# SPDX-License-Identifier: GPL-2.0-or-later
"""The implementations of a bakeoff as their adapters describe them, and which meetings they state they cannot play.

A meeting is unsupported only for what an adapter, or the HELLO of a pipe program, states before anything is played.
What goes wrong in a meeting is a failure or an error, never unsupported.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from netblt_conformance.adapter import adapter_file
from netblt_conformance.adapter.adapter import Adapter
from netblt_conformance.bakeoff.model import Implementation, Meeting
from netblt_conformance.common.errors import HarnessError, ImplementationError, LinkUnavailableError
from netblt_conformance.common.model import ALL_ROLES, Encapsulation, Role

_UDP_PORT = ("{local_udp_port}", "{peer_udp_port}")


@dataclass(frozen=True, slots=True)
class Contestant:
    """One implementation, how it is reached and what it states that it can do."""

    implementation: Implementation
    adapter: Adapter
    roles: frozenset[Role]
    version: str = ""

    @property
    def carried(self) -> bool:
        """A pipe program: the bakeoff carries its packets between the pipe and a socket."""
        return not self.adapter.roles

    @property
    def udp_port(self) -> int | None:
        """The UDP port that it cannot change; None when it takes any."""
        if self.carried:
            return None
        lists = [word for words in self.adapter.word_lists.values() for word in words]
        commands = [word for role in self.adapter.roles.values() for word in role.command]
        movable = any(name in word for word in (*lists, *commands) for name in _UDP_PORT)
        return None if movable else self.adapter.udp_port

    def port(self, role: Role) -> int | None:
        """The NETBLT port that it listens on or opens, where it has no choice."""
        described = self.adapter.roles.get(role)
        return described.port if described else None

    def lacks(self, role: Role, encapsulation: Encapsulation) -> str:
        """Why it cannot play a role over this encapsulation, as it states; empty when it can."""
        if role not in self.roles:
            where = "its HELLO" if self.carried else self.adapter.path.name
            return f"{self.implementation.name} plays no {role} ({where})"
        if not self.carried and encapsulation not in self.adapter.encapsulations:
            ways = ", ".join(way.value for way in self.adapter.encapsulations)
            return f"{self.implementation.name} has no encapsulation {encapsulation.value}, only {ways}"
        return ""


Contestants = Mapping[Implementation, Contestant]


def why_not(meeting: Meeting, contestants: Contestants) -> str:
    """Why a meeting cannot be played, as the adapters state; empty when it can."""
    pair = meeting.pair
    opener, listener = contestants[pair.opener], contestants[pair.listener]
    if pair.opener.dialect != pair.listener.dialect:
        dialects = sorted((one.dialect, one.name) for one in (pair.opener, pair.listener))
        used = " and ".join(f"{dialect} ({name})" for dialect, name in dialects)
        return f"the adapters state different dialects: {used}"
    missing = opener.lacks(pair.opener_role, meeting.encapsulation)
    missing = missing or listener.lacks(pair.listener_role, meeting.encapsulation)
    return missing or _ports_differ(meeting, opener, listener)


def _ports_differ(meeting: Meeting, opener: Contestant, listener: Contestant) -> str:
    ports = opener.port(meeting.pair.opener_role), listener.port(meeting.pair.listener_role)
    if None not in ports and ports[0] != ports[1]:
        return f"{opener.implementation.name} opens port {ports[0]} only, {listener.implementation.name} has {ports[1]}"
    udp = opener.udp_port, listener.udp_port
    if meeting.encapsulation is Encapsulation.UDP and None not in udp and udp[0] != udp[1]:
        return f"{opener.implementation.name} has UDP port {udp[0]} only, {listener.implementation.name} {udp[1]}"
    return ""


def read(files: Sequence[Path]) -> list[Contestant]:
    """The contestants, in this order. AdapterError or LinkUnavailableError names a file that cannot be used."""
    adapters = [adapter_file.read(file) for file in files]
    names = _unique([adapter.name for adapter in adapters])
    return [_contestant(adapter, name) for adapter, name in zip(adapters, names, strict=True)]


def _unique(names: Iterable[str]) -> list[str]:
    """Two adapters may have one name: "netblt (2)"."""
    seen: Counter[str] = Counter()
    found = []
    for name in names:
        seen[name] += 1
        found.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return found


def _contestant(adapter: Adapter, name: str) -> Contestant:
    if adapter.remote is not None:
        raise LinkUnavailableError(
            f"{adapter.path}: [remote] describes an implementation that runs elsewhere: a bakeoff starts its "
            "implementations itself, on both sides of a flakeway"
        )
    if not adapter.links:
        raise LinkUnavailableError(f"{adapter.path}: has neither [pipe] nor [wire]: it describes no program")
    implementation = Implementation(name, adapter.path, adapter.dialect)
    if adapter.roles:
        return Contestant(implementation, adapter, frozenset(adapter.roles), adapter.version())
    return _pipe_program(implementation, adapter)


def _pipe_program(implementation: Implementation, adapter: Adapter) -> Contestant:
    """Starts it once: its HELLO states its roles."""
    from netblt_conformance.links.pipe import PipeEndpoint

    try:
        endpoint = PipeEndpoint(adapter)
        try:
            roles = frozenset(role for role in ALL_ROLES if endpoint.plays(role))
            return Contestant(implementation, adapter, roles, adapter.version() or endpoint.hello.name)
        finally:
            endpoint.end()
    except (OSError, HarnessError, ImplementationError) as error:
        raise LinkUnavailableError(f"{adapter.path}: the pipe program cannot be used: {error}") from None
