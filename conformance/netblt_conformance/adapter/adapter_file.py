# SPDX-License-Identifier: GPL-2.0-or-later
"""The layout of adapter files: which keys there are, and what they may hold. docs/links.md explains them."""

from __future__ import annotations

import re
import shlex
import signal
import string
from collections.abc import Sequence, Set
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, create_model, model_validator
from pydantic.types import Strict

from netblt_conformance.adapter.adapter import (
    HOOK_LIMIT_S,
    Adapter,
    AdapterError,
    KnownFailure,
    Pics,
    Pixit,
    Remote,
    WireRole,
)
from netblt_conformance.catalogue.catalogue import RequirementId
from netblt_conformance.common import toml_file
from netblt_conformance.common.model import (
    DEFAULT_UDP_PORT,
    MICROSECONDS_PER_MS,
    MICROSECONDS_PER_S,
    ROLES_BY_NAME,
    Encapsulation,
    Role,
)
from netblt_conformance.common.tolerances import ADJUSTABLE, DEFAULT, Tolerances
from netblt_conformance.common.toml_file import Table, Text, TomlError

PLACEHOLDERS = frozenset(
    {
        "bin",
        "root",
        "adapter_dir",
        "python",
        "test_id",
        "local_address",
        "peer_address",
        "local_port",
        "peer_port",
        "local_udp_port",
        "peer_udp_port",
        "file_in",
        "file_out",
        "buffer_size",
        "packet_size",
        "burst_size",
        "burst_interval_ms",
        "death_timer_s",
        "max_buffers",
        "version",
        "client_string",
        "data_checksum",
        "encapsulation",
    }
)
_ALWAYS_KNOWN = frozenset({"bin", "root", "adapter_dir", "python"})
# These stand for any number of words, so they must be alone.
_WORD_LISTS = {"data_checksum": ("on", "off"), "encapsulation": ("ip", "udp")}
PORT_MAX = 65_535
MTU_MIN = 576  # RFC 791: every host takes as much


# ---- values ----


def _compiled(value: Any) -> re.Pattern[str]:
    try:
        return re.compile(value, re.MULTILINE)
    except (re.error, TypeError) as error:
        raise ValueError(f"{value!r} is no regular expression: {error}") from None


def _split(value: Any) -> Any:
    if not isinstance(value, str | list) or not value:
        raise ValueError("a command is a string or a list of strings")
    return shlex.split(value) if isinstance(value, str) else value


def _placeholders(word: str) -> list[str]:
    try:
        return [name for _, name, _, _ in string.Formatter().parse(word) if name is not None]
    except ValueError as error:
        raise ValueError(f"{word!r}: {error}") from None


def _check_placeholders(words: Sequence[str], known: Set[str]) -> None:
    for word in words:
        for name in _placeholders(word):
            if name not in known:
                raise ValueError(f"unknown placeholder {{{name}}}; known are {', '.join(sorted(known))}")
            if name in _WORD_LISTS and word != f"{{{name}}}":
                raise ValueError(f"{word!r}: {{{name}}} must be a word of its own")


def _checked_command(words: tuple[str, ...]) -> tuple[str, ...]:
    _check_placeholders(words, PLACEHOLDERS)
    return words


def _checked_word_list(words: tuple[str, ...]) -> tuple[str, ...]:
    """What one placeholder that is a word of its own stands for; no such placeholder again."""
    _check_placeholders(words, PLACEHOLDERS - _WORD_LISTS.keys())
    return words


def _checked_for_all(words: tuple[str, ...]) -> tuple[str, ...]:
    """A command that is started once, for all cases: nothing of a case is known."""
    for word in words:
        for name in _placeholders(word):
            if name not in _ALWAYS_KNOWN:
                raise ValueError(f"{{{name}}} means nothing here: the program is started once for all cases")
    return words


def _checked_signal(value: str) -> str:
    if value not in signal.Signals.__members__:
        raise ValueError(f"{value!r} is no signal; SIGINT is one")
    return value


def _ways(value: Any) -> tuple[Encapsulation, ...]:
    words = [value] if isinstance(value, str) else value
    known = {way.value: way for way in Encapsulation}
    if not isinstance(words, list) or not words or any(word not in known for word in words):
        raise ValueError(f"{value!r}: must be {' or '.join(known)}, or a list of them, the preferred one first")
    return tuple(known[word] for word in words)


def _checked_role(value: str) -> str:
    if value not in ROLES_BY_NAME:
        raise ValueError(f"unknown role {value!r}; known are {', '.join(ROLES_BY_NAME)}")
    return value


def _checked_url(value: str) -> str:
    if not re.fullmatch(r"https?://\S+", value):
        raise ValueError(f"{value!r} is no address of an issue (http:// or https://)")
    return value


def _claimed(value: tuple[str, ...]) -> tuple[str, ...]:
    if value:
        from netblt_conformance.catalogue import catalogue

        known = catalogue.requirements()
        for identifier in value:
            if identifier not in known:
                raise ValueError(f"{identifier!r} is no requirement of the catalogue")
    return value


Words = Annotated[tuple[str, ...], Strict(False)]
Command = Annotated[Words, BeforeValidator(_split), AfterValidator(_checked_command)]
CommandForAll = Annotated[Words, BeforeValidator(_split), AfterValidator(_checked_for_all)]
WordList = Annotated[Words, AfterValidator(_checked_word_list)]
Pattern = Annotated[re.Pattern[str], BeforeValidator(_compiled)]
Signal = Annotated[str, AfterValidator(_checked_signal)]
Encapsulations = Annotated[tuple[Encapsulation, ...], BeforeValidator(_ways)]
RoleName = Annotated[str, AfterValidator(_checked_role)]
Url = Annotated[str, AfterValidator(_checked_url)]
ExitCode = Annotated[int, Field(ge=0, le=255)]
ExitCodes = Annotated[frozenset[ExitCode], Strict(False)]
Port = Annotated[int, Field(ge=1, le=PORT_MAX)]
Seconds = Annotated[float, Field(ge=0, le=1e6)]
_NO_LIMITS = Pics()


# ---- tables ----


class _Played(Table):
    """How a role is played; above the roles, how each of them is."""

    environment: dict[str, str] = Field(default_factory=dict)
    port: Port | None = None
    ready_s: Seconds = 0.0
    ready_output: Pattern | None = None
    ready_delay_s: Seconds = 0.0
    success_exit: ExitCodes = frozenset()
    usage_exit: ExitCodes = frozenset()
    success_output: Pattern | None = None
    failure_output: Pattern | None = None
    stall_file: Text = ""
    tester_string: Text = ""


_PLAYED = frozenset(_Played.model_fields)


class _Started(_Played):
    """A role of a program that is started."""

    command: Command = Field(description="how it is started, a string or a list of strings")


class _Listening(_Played):
    """A passive role of a program that runs."""

    command: Command = ()
    before: Command = ()
    after: Command = ()


class _Triggered(_Listening):
    """An active role of a program that runs."""

    command: Command = Field(description="the hook that makes it open, a string or a list of strings")


class _StartedRoles(Table):
    active_sender: _Started | None = Field(default=None, alias="active-sender")
    active_receiver: _Started | None = Field(default=None, alias="active-receiver")
    passive_sender: _Started | None = Field(default=None, alias="passive-sender")
    passive_receiver: _Started | None = Field(default=None, alias="passive-receiver")


class _RemoteRoles(Table):
    active_sender: _Triggered | None = Field(default=None, alias="active-sender")
    active_receiver: _Triggered | None = Field(default=None, alias="active-receiver")
    passive_sender: _Listening | None = Field(default=None, alias="passive-sender")
    passive_receiver: _Listening | None = Field(default=None, alias="passive-receiver")


class _Link(_Played):
    data_checksum_on: WordList = ()
    data_checksum_off: WordList = ()
    encapsulation_ip: WordList = ()
    encapsulation_udp: WordList = ()
    quit_signal: Signal | None = None
    encapsulation: Encapsulations = (Encapsulation.IP,)
    udp_port: Port = DEFAULT_UDP_PORT

    def word_lists(self) -> dict[str, tuple[str, ...]]:
        return {f"{name}_{way}": getattr(self, f"{name}_{way}") for name, ways in _WORD_LISTS.items() for way in ways}


class _Wire(_Link):
    roles: _StartedRoles = _StartedRoles()


class _Remote(_Link):
    roles: _RemoteRoles = _RemoteRoles()
    address: Text = Field(description="where the implementation runs")
    local_address: Text = ""
    jobs: Annotated[int, Field(ge=1, le=64)] = 1
    hook_limit_s: Seconds = HOOK_LIMIT_S


class _Pipe(Table):
    command: CommandForAll = Field(description="how it is started, a string or a list of strings")


class _Pics(Table):
    quit: bool = True
    abort: bool = True
    client_stall: bool = True
    data_checksum: bool = True
    max_buffers: Annotated[int, Field(ge=1, le=_NO_LIMITS.max_buffers)] = _NO_LIMITS.max_buffers
    max_buffer_size: Annotated[int, Field(ge=1, le=_NO_LIMITS.max_buffer_size)] = _NO_LIMITS.max_buffer_size
    max_packet_size: Annotated[int, Field(ge=1, le=_NO_LIMITS.max_packet_size)] = _NO_LIMITS.max_packet_size
    unsupported: Annotated[toml_file.Texts, AfterValidator(_claimed)] = ()


class _Times(Table):
    mtu: Annotated[int, Field(ge=MTU_MIN, le=65_535)] = 1500
    clock_slack_ms: Seconds = 0.0


_LIMITS: dict[str, Any] = dict.fromkeys(ADJUSTABLE.values(), (Seconds | None, None))
_Pixit = create_model("_Pixit", __base__=_Times, **_LIMITS)


class _KnownFailure(Table):
    case: Text
    url: Url
    role: RoleName | None = None
    requirement: RequirementId | None = None
    message: Pattern | None = None

    @model_validator(mode="after")
    def _distinguishes_a_failure(self) -> _KnownFailure:
        if self.requirement is None and self.message is None:
            raise ValueError("requirement or message is missing, which distinguish the known failure from others")
        return self


class _File(Table):
    name: Text
    about: Text = ""
    dialect: Literal["rfc998", "etftp"] = "rfc998"
    version_command: CommandForAll = ()
    environment: dict[str, str] = Field(default_factory=dict)
    pipe: _Pipe | None = None
    wire: _Wire | None = None
    remote: _Remote | None = None
    pics: _Pics = _Pics()
    pixit: Annotated[_Times, BeforeValidator(_Pixit.model_validate)] = _Times()
    known_failure: Annotated[tuple[_KnownFailure, ...], Strict(False)] = ()


# ---- the adapter that a file describes ----


def _roles(link: _Wire | _Remote, where: str) -> dict[Role, WireRole]:
    """The keys of a table for all roles hold for each, unless the role has its own."""
    common = {key: value for key, value in link.given().items() if key in _PLAYED}
    roles: dict[Role, WireRole] = {}
    for field, played in link.roles.given().items():
        role = ROLES_BY_NAME[field.replace("_", "-")]
        roles[role] = one = WireRole(**{**common, **played.given()})
        if isinstance(link, _Remote) and not role.active and one.port is None:
            raise TomlError(where, [f"remote.roles.{role}.port: missing: the NETBLT port on which it listens"])
    return roles


def _reached(link: _Wire | _Remote, where: str) -> dict[str, Any]:
    """The part of an adapter that states how packets get to the implementation."""
    values: dict[str, Any] = {
        "word_lists": link.word_lists(),
        "quit_signal": link.quit_signal,
        "encapsulations": link.encapsulation,
        "udp_port": link.udp_port,
        "roles": _roles(link, where),
    }
    if isinstance(link, _Remote):
        if len(link.encapsulation) != 1:
            raise TomlError(where, ["remote.encapsulation: a remote implementation is reached in one way, ip or udp"])
        values["remote"] = Remote(link.address, link.local_address, link.jobs, link.hook_limit_s)
    return values


def _pixit(table: _Times) -> Pixit:
    given = table.given()
    limits_s = {name: given[key] for name, key in ADJUSTABLE.items() if given.get(key) is not None}
    limits_us = {name: round(seconds * MICROSECONDS_PER_S) for name, seconds in limits_s.items()}
    clock_slack_us = round(table.clock_slack_ms * MICROSECONDS_PER_MS)
    return Pixit(
        mtu=table.mtu,
        tolerances=Tolerances(**limits_us, crossing_us=DEFAULT.crossing_us + clock_slack_us),
    )


def _adapter(path: Path) -> Adapter:
    file = toml_file.read(path, _File)
    if file.wire is not None and file.remote is not None:
        both = "[wire] starts a program, [remote] speaks to one that runs: an adapter has one of them"
        raise TomlError(str(path), [both])
    link = file.wire or file.remote
    return Adapter(
        path=path,
        name=file.name,
        environment=file.environment,
        dialect=file.dialect,
        version_command=file.version_command,
        pipe=file.pipe.command if file.pipe else (),
        pics=Pics(**file.pics.given()),
        pixit=_pixit(file.pixit),
        known_failures=tuple(KnownFailure(**one.given()) for one in file.known_failure),
        **(_reached(link, str(path)) if link else {}),
    )


def read(path: Path) -> Adapter:
    """Reads an adapter. Raises AdapterError with one line that names every mistake and where it is."""
    try:
        return _adapter(path)
    except TomlError as error:
        raise AdapterError(str(error)) from None
