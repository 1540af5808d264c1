# SPDX-License-Identifier: GPL-2.0-or-later
"""Adapters: one TOML file describes how to reach an implementation and what it claims. docs/links.md explains every
key; adapter_file.py reads them."""

from __future__ import annotations

import os
import re
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path

from netblt_conformance.common import paths
from netblt_conformance.common.errors import NotSupportedError
from netblt_conformance.common.kept import first_line
from netblt_conformance.common.model import DEFAULT_UDP_PORT, Encapsulation, Feature, Role, Start
from netblt_conformance.common.tolerances import DEFAULT, Tolerances
from netblt_conformance.common.words import printable

__all__ = [
    "HOOK_LIMIT_S",
    "Adapter",
    "AdapterError",
    "KnownFailure",
    "Pics",
    "Pixit",
    "Remote",
    "WireRole",
    "capped",
]


# A program that takes longer to print its version has none.
VERSION_LIMIT_S = 5.0
# A hook of a remote implementation that takes longer hangs.
HOOK_LIMIT_S = 30.0


# Placeholders whose value only a case knows.
_NAMED_LATER = (
    "test_id", "local_address", "peer_address", "local_port", "peer_port", "local_udp_port", "peer_udp_port",
    "file_in", "file_out", "buffer_size", "packet_size", "burst_size", "burst_interval_ms", "death_timer_s",
    "max_buffers", "version", "client_string",
)  # fmt: skip


class AdapterError(Exception):
    """The adapter file cannot be used: exit code 2."""


@dataclass(frozen=True, slots=True)
class Pics:
    """What the implementation claims to have (protocol implementation conformance statement). The rest is N/A."""

    quit: bool = True  # its client can be made to quit
    abort: bool = True  # it can be made to abort
    client_stall: bool = True  # its client can withhold buffers
    data_checksum: bool = True  # it has an option to checksum data
    max_buffers: int = 65_535  # outstanding buffers that it can propose
    max_buffer_size: int = 2**32 - 1
    max_packet_size: int = 65_535
    unsupported: tuple[str, ...] = ()  # requirements that it does not claim

    @property
    def lacks(self) -> frozenset[Feature]:
        claimed = {Feature.QUIT: self.quit, Feature.ABORT: self.abort, Feature.CLIENT_STALL: self.client_stall}
        return frozenset(feature for feature, claim in claimed.items() if not claim)


def capped(start: Start, claims: Pics) -> Start:
    """What an implementation is started with: no more than it claims. A case that cannot do with less is N/A."""
    wanted = start.parameters
    if wanted.data_checksum and not claims.data_checksum:
        raise NotSupportedError("the adapter's PICS does not claim it: data_checksum")
    parameters = replace(
        wanted,
        buffer_size=min(wanted.buffer_size, claims.max_buffer_size),
        packet_size=min(wanted.packet_size, claims.max_packet_size),
        max_buffers=min(wanted.max_buffers, claims.max_buffers),
    )
    return replace(start, parameters=parameters)


@dataclass(frozen=True, slots=True)
class Pixit:
    """What a tester has to know about it (extra information for testing): times, MTU, slack."""

    mtu: int = 1500
    tolerances: Tolerances = DEFAULT


@dataclass(frozen=True, slots=True)
class KnownFailure:
    """A failure that is on file: it does not fail the run, as long as it is there and is the one that is known. What is
    None may be anything."""

    case: str  # as --select takes it
    url: str
    role: str | None = None
    requirement: str | None = None  # the one that is violated
    message: re.Pattern[str] | None = None  # found in the reason


@dataclass(frozen=True, slots=True)
class WireRole:
    """How one role is played. For a remote implementation the command triggers it and may be missing."""

    command: tuple[str, ...] = ()
    environment: dict[str, str] = field(default_factory=dict)
    port: int | None = None  # NETBLT port that cannot be chosen
    ready_s: float = 5.0
    ready_output: re.Pattern[str] | None = None
    ready_delay_s: float = 0.0
    success_exit: frozenset[int] = frozenset({0})
    usage_exit: frozenset[int] = frozenset({2})
    success_output: re.Pattern[str] | None = None
    failure_output: re.Pattern[str] | None = None
    tester_string: str = ""  # the tester's client string, such as the name of a file
    stall_file: str | None = None  # the file name that means standard input or output: how its client can be stalled
    before: tuple[str, ...] = ()  # run to its end before each case
    after: tuple[str, ...] = ()  # run to its end when the delivered file is requested

    def mentions(self, placeholder: str) -> bool:
        """Whether what starts the implementation gets the value of this placeholder."""
        return any(f"{{{placeholder}}}" in word for word in (*self.before, *self.command))


@dataclass(frozen=True, slots=True)
class Remote:
    """An implementation that already runs somewhere."""

    address: str
    local_address: str = ""
    jobs: int = 1
    hook_limit_s: float = HOOK_LIMIT_S


@dataclass(frozen=True, slots=True)
class Adapter:
    path: Path
    name: str
    environment: dict[str, str] = field(default_factory=dict)
    dialect: str = "rfc998"  # of NETBLT; implementations of different dialects cannot exchange packets
    version_command: tuple[str, ...] = ()  # prints the version of the implementation
    pipe: tuple[str, ...] = ()
    roles: dict[Role, WireRole] = field(default_factory=dict)
    remote: Remote | None = None
    encapsulations: tuple[Encapsulation, ...] = (Encapsulation.IP,)
    udp_port: int = DEFAULT_UDP_PORT
    quit_signal: str | None = None
    word_lists: dict[str, tuple[str, ...]] = field(default_factory=dict)  # data_checksum_on, encapsulation_udp, ...
    pics: Pics = field(default_factory=Pics)
    pixit: Pixit = field(default_factory=Pixit)
    known_failures: tuple[KnownFailure, ...] = ()

    def expand(self, template: tuple[str, ...], values: dict[str, str]) -> list[str]:
        """Fills the placeholders of one command. Unknown ones were refused when the file was loaded."""
        common = {
            "bin": str(paths.build() / "bin"),
            "root": str(paths.root()),
            "adapter_dir": str(self.path.resolve().parent),  # programs run in folders of their own
            "python": sys.executable,
        }
        words: list[str] = []
        for word in template:
            # One word of the template, any number of words of the command.
            if word == "{data_checksum}":
                several = self.word_lists.get(f"data_checksum_{'on' if values['data_checksum'] else 'off'}", ())
                words += self.expand(several, values)
            elif word == "{encapsulation}":
                words += self.expand(self.word_lists.get(f"encapsulation_{values['encapsulation']}", ()), values)
            else:
                words.append(word.format_map({**common, **values}))
        return words

    @property
    def links(self) -> tuple[str, ...]:
        """The links over which it can be reached."""
        wire = bool(self.roles) or self.remote is not None
        return (*(("pipe",) if self.pipe else ()), *(("wire",) if wire else ()))

    def program(self) -> str:
        """The program that is started, or the address where it runs."""
        if self.remote is not None:
            return f"at {self.remote.address}"
        programs = [role.command[0] for role in self.roles.values() if role.command]
        return ", ".join(dict.fromkeys(self.expand((name,), dict.fromkeys(_NAMED_LATER, "?"))[0] for name in programs))

    def version(self) -> str:
        """The first line that its version_command prints; empty when it has none or the command fails."""
        if not self.version_command:
            return ""
        environment = {**os.environ, **self.environment}
        return printable(first_line(self.expand(self.version_command, {}), environment, VERSION_LIMIT_S))

    def pipe_command(self) -> list[str]:
        if not self.pipe:
            raise AdapterError(f"{self.path}: no [pipe] command: this adapter cannot be used with --link pipe")
        return self.expand(self.pipe, {})
