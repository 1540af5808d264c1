# SPDX-License-Identifier: GPL-2.0-or-later
"""Adapters: one TOML file describes how to start an implementation. Mistakes are named with file and key."""

from __future__ import annotations

import shlex
import signal
import string
import sys
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from netblt_conformance import paths
from netblt_conformance.model import ROLES_BY_NAME, Role

PLACEHOLDERS = frozenset(
    {
        "bin",
        "root",
        "adapter_dir",
        "python",
        "local_address",
        "peer_address",
        "local_port",
        "peer_port",
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
    }
)
_TOP_KEYS = {"name", "about", "environment", "pipe", "wire"}
_WIRE_KEYS = {"ready_s", "quit_signal", "roles", "data_checksum_on", "data_checksum_off"}


class AdapterError(Exception):
    """The adapter file cannot be used: exit code 2."""


@dataclass(frozen=True, slots=True)
class Adapter:
    path: Path
    name: str
    environment: dict[str, str] = field(default_factory=dict)
    pipe: tuple[str, ...] = ()
    roles: dict[Role, tuple[str, ...]] = field(default_factory=dict)
    ready_s: float = 5.0
    quit_signal: str | None = None
    data_checksum_on: tuple[str, ...] = ()
    data_checksum_off: tuple[str, ...] = ()

    def expand(self, template: tuple[str, ...], values: dict[str, str]) -> list[str]:
        """Fills the placeholders of one command. Unknown ones were refused when the file was loaded."""
        common = {
            "bin": str(paths.build() / "bin"),
            "root": str(paths.root()),
            "adapter_dir": str(self.path.parent),
            "python": sys.executable,
        }
        words: list[str] = []
        for word in template:
            if word == "{data_checksum}":  # one word of the template, any number of words of the command
                words += self.data_checksum_on if values["data_checksum"] else self.data_checksum_off
            else:
                words.append(word.format_map({**common, **values}))
        return words

    def pipe_command(self) -> list[str]:
        if not self.pipe:
            raise AdapterError(f"{self.path}: no [pipe] command: this adapter cannot be used with --link pipe")
        return self.expand(self.pipe, {})


def _command(value: Any, where: str) -> tuple[str, ...]:
    if isinstance(value, str):
        value = shlex.split(value)
    if not isinstance(value, list) or not value or not all(isinstance(word, str) for word in value):
        raise AdapterError(f"{where}: a command is a string or a list of strings")
    for word in value:
        try:
            names = [name for _, name, _, _ in string.Formatter().parse(word) if name is not None]
        except ValueError as error:
            raise AdapterError(f"{where}: {word!r}: {error}") from None
        for name in names:
            if name not in PLACEHOLDERS:
                known = ", ".join(sorted(PLACEHOLDERS))
                raise AdapterError(f"{where}: unknown placeholder {{{name}}}; known are {known}")
    return tuple(value)


def _refuse_unknown(table: dict[str, Any], known: set[str], where: str) -> None:
    for key in table.keys() - known:
        raise AdapterError(f"{where}: unknown key {key!r}; known are {', '.join(sorted(known))}")


def _roles(table: dict[str, Any], where: str) -> dict[Role, tuple[str, ...]]:
    roles = {}
    for name, entry in table.items():
        if name not in ROLES_BY_NAME:
            raise AdapterError(f"{where}: unknown role {name!r}; known are {', '.join(ROLES_BY_NAME)}")
        _refuse_unknown(entry, {"command"}, f"{where}.{name}")
        roles[ROLES_BY_NAME[name]] = _command(entry.get("command"), f"{where}.{name}.command")
    return roles


def _wire(table: dict[str, Any], where: str) -> dict[str, Any]:
    _refuse_unknown(table, _WIRE_KEYS, where)
    quit_signal = table.get("quit_signal")
    if quit_signal is not None and quit_signal not in signal.Signals.__members__:
        raise AdapterError(f"{where}.quit_signal: {quit_signal!r} is no signal; SIGINT is one")
    return {
        "ready_s": float(table.get("ready_s", 5.0)),
        "quit_signal": quit_signal,
        "data_checksum_on": tuple(table.get("data_checksum_on", ())),
        "data_checksum_off": tuple(table.get("data_checksum_off", ())),
        "roles": _roles(table.get("roles", {}), f"{where}.roles"),
    }


def load(path: Path) -> Adapter:
    """Reads an adapter. Raises AdapterError with one line that says what is wrong and where."""
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise AdapterError(f"{path}: {error.strerror or error}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise AdapterError(f"{path}: {error}") from None
    _refuse_unknown(document, _TOP_KEYS, str(path))
    name = document.get("name")
    if not isinstance(name, str) or not name:
        raise AdapterError(f"{path}: missing key 'name'")
    environment = document.get("environment", {})
    if not isinstance(environment, dict) or not all(isinstance(value, str) for value in environment.values()):
        raise AdapterError(f"{path}: [environment] must hold strings")
    pipe: tuple[str, ...] = ()
    if "pipe" in document:
        _refuse_unknown(document["pipe"], {"command"}, f"{path}: pipe")
        pipe = _command(document["pipe"].get("command"), f"{path}: pipe.command")
    wire = _wire(document["wire"], f"{path}: wire") if "wire" in document else {}
    return Adapter(path=path, name=name, environment=environment, pipe=pipe, **wire)
