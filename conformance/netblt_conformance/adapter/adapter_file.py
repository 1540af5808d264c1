# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads adapters and names every mistake with file, key and reason."""

from __future__ import annotations

import difflib
import re
import shlex
import signal
import string
import tomllib
from collections.abc import Callable, Iterable, Sequence, Set
from pathlib import Path
from typing import Any, TypeVar

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
from netblt_conformance.common import tolerances
from netblt_conformance.common.model import (
    DEFAULT_UDP_PORT,
    MICROSECONDS_PER_MS,
    MICROSECONDS_PER_S,
    ROLES_BY_NAME,
    Encapsulation,
    Role,
)

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
# These stand for any number of words, so they stand alone.
_WORD_LISTS = {"data_checksum": ("on", "off"), "encapsulation": ("ip", "udp")}
_HOOK_KEYS = ["before", "after"]
PORT_MAX = 65_535
MTU_MIN = 576  # RFC 791: every host takes as much
T = TypeVar("T")
D = TypeVar("D")


class _Table:
    """A TOML table that remembers where it stands and which keys were asked for."""

    def __init__(self, values: Any, where: str) -> None:
        if not isinstance(values, dict):
            raise AdapterError(f"{where}: must be a table")
        self.values: dict[str, Any] = values
        self.where = where
        self._known: set[str] = set()

    def error(self, key: str, why: str) -> AdapterError:
        return AdapterError(f"{self.where}.{key}: {why}" if ": " in self.where else f"{self.where}: {key}: {why}")

    def get(self, key: str, read: Callable[[Any], T], default: D) -> T | D:
        """`read` raises ValueError with the reason."""
        self._known.add(key)
        if key not in self.values:
            return default
        try:
            return read(self.values[key])
        except ValueError as error:
            raise self.error(key, str(error)) from None

    def table(self, key: str) -> _Table | None:
        self._known.add(key)
        if key not in self.values:
            return None
        return _Table(self.values[key], f"{self.where}.{key}" if ": " in self.where else f"{self.where}: {key}")

    def end(self) -> None:
        """Whatever was not asked for is a mistake."""
        for key in self.values.keys() - self._known:
            raise self.error(key, self.unknown(key))

    def unknown(self, key: str, known: Iterable[str] = ()) -> str:
        """Why this key is a mistake, with the known key that looks like it."""
        names = sorted({*self._known, *known})
        near = difflib.get_close_matches(key, names, 1)
        return f"unknown key {key!r}; " + (f"did you mean {near[0]!r}?" if near else f"known are {', '.join(names)}")

    def refuse_misspelt(self, wanted: str) -> None:
        """A key that is missing may be there under another spelling."""
        for key in self.values.keys() - self._known:
            if wanted in difflib.get_close_matches(key, [*self._known, wanted], 1):
                raise self.error(key, self.unknown(key, [wanted]))


# ---- values ----


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise ValueError(f"{value!r} is no text")
    return value


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"{value!r} is neither true nor false")
    return value


def _whole(least: int, most: int) -> Callable[[Any], int]:
    def read(value: Any) -> int:
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
            raise ValueError(f"{value!r} is no whole number from {least} to {most}")
        return value

    return read


def _number(value: Any) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value < 1e6:
        raise ValueError(f"{value!r} is no number from 0 to a million")
    return float(value)


def _words(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(word, str) for word in value):
        raise ValueError(f"{value!r} is no list of strings")
    return tuple(value)


def _pattern(value: Any) -> re.Pattern[str]:
    try:
        return re.compile(_text(value), re.MULTILINE)
    except re.error as error:
        raise ValueError(f"{value!r} is no regular expression: {error}") from None


def _exits(value: Any) -> frozenset[int]:
    if not isinstance(value, list):
        raise ValueError(f"{value!r} is no list of exit codes")
    return frozenset(_whole(0, 255)(code) for code in value)


def _signal(value: Any) -> str:
    if _text(value) not in signal.Signals.__members__:
        raise ValueError(f"{value!r} is no signal; SIGINT is one")
    return str(value)


def _environment(value: Any) -> dict[str, str]:
    if not isinstance(value, dict) or not all(isinstance(text, str) for text in value.values()):
        raise ValueError("must hold strings")
    return value


def _encapsulations(value: Any) -> tuple[Encapsulation, ...]:
    words = [value] if isinstance(value, str) else list(_words(value))
    known = {way.value: way for way in Encapsulation}
    if not words or not known.keys() >= set(words):
        raise ValueError(f"{value!r}: must be {' or '.join(known)}, or a list of them, the preferred one first")
    return tuple(known[word] for word in words)


def _command(value: Any) -> tuple[str, ...]:
    if isinstance(value, str):
        value = shlex.split(value)
    if not isinstance(value, list) or not value or not all(isinstance(word, str) for word in value):
        raise ValueError("a command is a string or a list of strings")
    _check_placeholders(value, PLACEHOLDERS)
    return tuple(value)


def _word_list(value: Any) -> tuple[str, ...]:
    """What one placeholder that is a word of its own stands for; no such placeholder again."""
    words = _words(value)
    _check_placeholders(words, PLACEHOLDERS - _WORD_LISTS.keys())
    return words


def _check_placeholders(words: Sequence[str], known: Set[str]) -> None:
    for word in words:
        try:
            names = [name for _, name, _, _ in string.Formatter().parse(word) if name is not None]
        except ValueError as error:
            raise ValueError(f"{word!r}: {error}") from None
        for name in names:
            if name not in known:
                raise ValueError(f"unknown placeholder {{{name}}}; known are {', '.join(sorted(known))}")
            if name in _WORD_LISTS and word != f"{{{name}}}":
                raise ValueError(f"{word!r}: {{{name}}} must be a word of its own")


def _plain_command(value: Any) -> tuple[str, ...]:
    """One that is started once, for all cases: nothing of a case is known."""
    command = _command(value)
    for word in command:
        for _, name, _, _ in string.Formatter().parse(word):
            if name is not None and name not in _ALWAYS_KNOWN:
                raise ValueError(f"{{{name}}} means nothing here: the program is started once for all cases")
    return command


# ---- tables ----

_ROLE_VALUES: dict[str, Callable[[Any], Any]] = {
    "environment": _environment,
    "port": _whole(1, PORT_MAX),
    "ready_s": _number,
    "ready_output": _pattern,
    "ready_delay_s": _number,
    "success_exit": _exits,
    "usage_exit": _exits,
    "success_output": _pattern,
    "failure_output": _pattern,
    "stall_file": _text,
    "tester_string": _text,
}


def _role_values(table: _Table, inherited: dict[str, Any]) -> dict[str, Any]:
    values = dict(inherited)
    for key, read_value in _ROLE_VALUES.items():
        value = table.get(key, read_value, None)
        if value is not None:
            values[key] = value
    return values


def _roles(table: _Table, *, remote: bool) -> dict[Role, WireRole]:
    common = _role_values(table, {})
    under = table.table("roles")
    roles: dict[Role, WireRole] = {}
    for name in under.values if under else {}:
        assert under is not None
        if name not in ROLES_BY_NAME:
            raise under.error(name, f"unknown role {name!r}; known are {', '.join(ROLES_BY_NAME)}")
        entry = under.table(name)
        assert entry is not None
        values = _role_values(entry, common)
        role = ROLES_BY_NAME[name]
        if "command" in entry.values or not remote or role.active:
            what = "the hook that makes it open" if remote else "how it is started"
            if "command" not in entry.values:
                entry.refuse_misspelt("command")
                raise entry.error("command", f"a command is a string or a list of strings; missing: {what}")
            values["command"] = entry.get("command", _command, ())
        if remote:
            values.update({key: entry.get(key, _command, ()) for key in _HOOK_KEYS})
            if not role.active and "port" not in values:
                raise entry.error("port", "missing: the NETBLT port on which it listens")
        entry.end()
        roles[role] = WireRole(**values)
    return roles


def _wire(table: _Table, *, remote: bool) -> dict[str, Any]:
    lists = {
        f"{name}_{way}": table.get(f"{name}_{way}", _word_list, ())
        for name, ways in _WORD_LISTS.items()
        for way in ways
    }
    values: dict[str, Any] = {
        "word_lists": lists,
        "quit_signal": table.get("quit_signal", _signal, None),
        "encapsulations": table.get("encapsulation", _encapsulations, (Encapsulation.IP,)),
        "udp_port": table.get("udp_port", _whole(1, PORT_MAX), DEFAULT_UDP_PORT),
        "roles": _roles(table, remote=remote),
    }
    if remote:
        if "address" not in table.values:
            raise table.error("address", "missing: where the implementation runs")
        values["remote"] = Remote(
            address=table.get("address", _text, ""),
            local_address=table.get("local_address", _text, ""),
            jobs=table.get("jobs", _whole(1, 64), 1),
            hook_limit_s=table.get("hook_limit_s", _number, HOOK_LIMIT_S),
        )
        if len(values["encapsulations"]) != 1:
            raise table.error("encapsulation", "a remote implementation is reached in one way, ip or udp")
    table.end()
    return values


def _pics(table: _Table | None) -> Pics:
    if table is None:
        return Pics()
    flags = {key: table.get(key, _flag, True) for key in ("quit", "abort", "client_stall", "data_checksum")}
    none = Pics()
    pics = Pics(
        **flags,
        max_buffers=table.get("max_buffers", _whole(1, none.max_buffers), none.max_buffers),
        max_buffer_size=table.get("max_buffer_size", _whole(1, none.max_buffer_size), none.max_buffer_size),
        max_packet_size=table.get("max_packet_size", _whole(1, none.max_packet_size), none.max_packet_size),
        unsupported=table.get("unsupported", _words, ()),
    )
    table.end()
    if pics.unsupported:
        from netblt_conformance.catalogue import catalogue

        known = catalogue.requirements()
        for identifier in pics.unsupported:
            if identifier not in known:
                raise table.error("unsupported", f"{identifier!r} is no requirement of the catalogue")
    return pics


def _pixit(table: _Table | None) -> Pixit:
    if table is None:
        return Pixit()
    limits = {
        name: round(seconds * MICROSECONDS_PER_S)
        for name, key in tolerances.ADJUSTABLE.items()
        if (seconds := table.get(key, _number, None)) is not None
    }
    pixit = Pixit(
        mtu=table.get("mtu", _whole(MTU_MIN, 65_535), 1500),
        clock_slack_us=round(table.get("clock_slack_ms", _number, 0.0) * MICROSECONDS_PER_MS),
        limits_us=limits,
    )
    table.end()
    return pixit


def _tables(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise ValueError("must be a list of tables: [[known_failure]]")
    return value


def _known_failure(table: _Table) -> KnownFailure:
    for key in ("case", "url", "message"):
        if key not in table.values:
            raise table.error(key, "missing")
    failure = KnownFailure(
        case=table.get("case", _text, ""),
        url=table.get("url", _url, ""),
        message=table.get("message", _pattern, re.compile("")),
        role=table.get("role", _role_name, None),
    )
    table.end()
    return failure


def _url(value: Any) -> str:
    if not re.fullmatch(r"https?://\S+", _text(value)):
        raise ValueError(f"{value!r} is no address of an issue (http:// or https://)")
    return str(value)


def _role_name(value: Any) -> str:
    if value not in ROLES_BY_NAME:
        raise ValueError(f"unknown role {value!r}; known are {', '.join(ROLES_BY_NAME)}")
    return str(value)


def _known_failures(top: _Table) -> tuple[KnownFailure, ...]:
    entries: list[Any] = top.get("known_failure", _tables, [])
    return tuple(
        _known_failure(_Table(entry, f"{top.where}: known_failure {number}")) for number, entry in enumerate(entries, 1)
    )


def read(path: Path) -> Adapter:
    """Reads an adapter. Raises AdapterError with one line that says what is wrong and where."""
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise AdapterError(f"{path}: {error.strerror or error}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise AdapterError(f"{path}: {error}") from None
    top = _Table(document, str(path))
    if "name" not in document:
        raise AdapterError(f"{path}: missing key 'name'")
    name = top.get("name", _text, "")
    top.get("about", _text, "")
    version_command: tuple[str, ...] = top.get("version_command", _plain_command, ())
    environment: dict[str, str] = top.get("environment", _environment, {})
    pipe: tuple[str, ...] = ()
    if (under := top.table("pipe")) is not None:
        pipe = under.get("command", _plain_command, ())
        if not pipe:
            under.refuse_misspelt("command")
            raise under.error("command", "a command is a string or a list of strings; missing: how it is started")
        under.end()
    wire_table, remote_table = top.table("wire"), top.table("remote")
    if wire_table is not None and remote_table is not None:
        raise AdapterError(
            f"{path}: [wire] starts a program, [remote] speaks to one that runs: an adapter has one of them"
        )
    wire: dict[str, Any] = {}
    if wire_table is not None:
        wire = _wire(wire_table, remote=False)
    elif remote_table is not None:
        wire = _wire(remote_table, remote=True)
    pics, pixit = _pics(top.table("pics")), _pixit(top.table("pixit"))
    known = _known_failures(top)
    top.end()
    return Adapter(
        path=path,
        name=name,
        environment=environment,
        version_command=version_command,
        pipe=pipe,
        pics=pics,
        pixit=pixit,
        known_failures=known,
        **wire,
    )
