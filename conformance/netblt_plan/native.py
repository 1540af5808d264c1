# SPDX-License-Identifier: GPL-2.0-or-later
"""The world simulator (conformance/sim/world.h) in Python."""

from __future__ import annotations

import dataclasses
import functools
import re
from pathlib import Path
from typing import Any

import cffi
from netblt_conformance.common import paths

NEVER = 2**64 - 1


class WorldError(Exception):
    """The simulator cannot be loaded, or cannot do what it was asked."""


def library_path() -> Path:
    return paths.build() / "lib" / "libnetblt_world.so"


def _declarations() -> str:
    text = (paths.sim_sources() / "world.h").read_text(encoding="utf-8")
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    kept = []
    for line in text.splitlines():
        if constant := re.match(r"#define (\w+) +(\d+)$", line):
            kept.append(f"#define {constant[1]} {constant[2]}")
        elif not line.startswith("#"):
            kept.append(line)
    return "\n".join(kept)


_STRUCTURES = ("host", "flow", "cross", "flow_stats", "buffer", "link_stats", "host_stats", "sample")


@functools.cache
def load() -> tuple[Any, Any]:
    """(ffi, lib). WorldError when the library is missing or was built from another world.h."""
    path = library_path()
    if not path.is_file():
        raise WorldError(f"{path} has not been built: run tools/build")
    ffi = cffi.FFI()
    ffi.cdef(_declarations())
    try:
        lib: Any = ffi.dlopen(str(path))
    except OSError as error:
        raise WorldError(f"{path} cannot be loaded: {error}") from None
    if lib.world_abi_bytes() != sum(ffi.sizeof(f"world_{name}") for name in _STRUCTURES):
        raise WorldError(f"{path} is older than world.h: run tools/build")
    return ffi, lib


@dataclasses.dataclass(slots=True, frozen=True)
class Buffer:
    """Moments in seconds; None = has not happened."""

    first_sent: float | None
    first_arrived: float | None
    done: float | None
    acked: float | None
    bytes: int


@dataclasses.dataclass(slots=True, frozen=True)
class Sample:
    """Something at a moment; see world.h."""

    at: float
    kind: int
    flow: int
    buffer: int
    packet: int
    value: int


ENDS = ("time", "done", "idle", "spinning")


def _seconds(ns: int) -> float | None:
    return ns / 1e9 if ns else None


class World:
    """One simulated world. Fields of the structures are given by their C names."""

    def __init__(self, seed: int) -> None:
        self._ffi, self._lib = load()
        self._world = self._ffi.gc(self._lib.world_new(seed), self._lib.world_free)
        if self._world == self._ffi.NULL:
            raise WorldError("no memory")

    def _check(self, answer: int) -> int:
        if answer < 0:
            raise WorldError(self._ffi.string(self._lib.world_error(self._world)).decode())
        return answer

    def _structure(self, name: str, fields: dict[str, Any]) -> Any:
        structure = self._ffi.new(f"{name} *")
        for key, value in fields.items():
            setattr(structure, key, value)
        return structure

    def _route(self, structure: Any, route: list[tuple[int, int]]) -> None:
        if not 1 <= len(route) <= self._lib.WORLD_ROUTE_MAX:
            raise WorldError(f"a route has 1 to {self._lib.WORLD_ROUTE_MAX} links")
        structure.route.hops = len(route)
        for i, (link, direction) in enumerate(route):
            structure.route.hop[i].link = link
            structure.route.hop[i].direction = direction

    def add_link(self, *, shared: bool = False) -> int:
        return self._check(self._lib.world_add_link(self._world, shared))

    def set_link(self, link: int, statement: str, at_us: int = 0) -> None:
        self._check(self._lib.world_set_link(self._world, link, at_us, statement.encode()))

    def add_host(self, fields: dict[str, Any]) -> int:
        return self._check(self._lib.world_add_host(self._world, self._structure("world_host", fields)))

    def add_flow(self, fields: dict[str, Any], route: list[tuple[int, int]]) -> int:
        structure = self._structure("world_flow", fields)
        self._route(structure, route)
        return self._check(self._lib.world_add_flow(self._world, structure))

    def add_cross(self, fields: dict[str, Any], route: list[tuple[int, int]]) -> int:
        structure = self._structure("world_cross", fields)
        self._route(structure, route)
        return self._check(self._lib.world_add_cross(self._world, structure))

    def capture(self, link: int, path: Path) -> None:
        self._check(self._lib.world_capture(self._world, link, str(path).encode()))

    def trace(self) -> None:
        self._lib.world_trace(self._world)

    def run(self, until_s: float) -> str:
        """How it ended: "time", "done", "idle" or "spinning"."""
        return ENDS[self._check(self._lib.world_run(self._world, round(until_s * 1e6)))]

    @property
    def now(self) -> float:
        return float(self._lib.world_now_ns(self._world)) / 1e9

    def _fields(self, name: str, function: Any, *numbers: int) -> dict[str, int]:
        structure = self._ffi.new(f"{name} *")
        function(self._world, *numbers, structure)
        return {field: getattr(structure, field) for field, _ in self._ffi.typeof(name).fields}

    def flow(self, flow: int) -> dict[str, int]:
        return self._fields("world_flow_stats", self._lib.world_get_flow, flow)

    def flow_reason(self, flow: int) -> str:
        return str(self._ffi.string(self._lib.world_flow_reason(self._world, flow)).decode("utf-8", "replace"))

    def link(self, link: int, direction: int) -> dict[str, int]:
        return self._fields("world_link_stats", self._lib.world_get_link, link, direction)

    def host(self, host: int) -> dict[str, int]:
        return self._fields("world_host_stats", self._lib.world_get_host, host)

    def buffers(self, flow: int) -> list[Buffer]:
        count = self._ffi.new("size_t *")
        array = self._lib.world_buffers(self._world, flow, count)
        return [
            Buffer(
                _seconds(one.first_sent_ns),
                _seconds(one.first_arrived_ns),
                _seconds(one.done_ns),
                _seconds(one.acked_ns),
                one.bytes,
            )
            for one in (array[i] for i in range(count[0]))
        ]

    def samples(self) -> list[Sample]:
        count = self._ffi.new("size_t *")
        array = self._lib.world_samples(self._world, count)
        return [
            Sample(one.at_ns / 1e9, one.kind, one.flow, one.buffer, one.packet, one.value)
            for one in (array[i] for i in range(count[0]))
        ]

    def close(self) -> None:
        """Frees the world, and closes its capture, now."""
        self._ffi.release(self._world)
