# SPDX-License-Identifier: GPL-2.0-or-later
"""The bad network (conformance/flakeway/flakeway.h) for Python. docs/flakeway.md describes the rules."""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Callable
from typing import Any, NamedTuple

from netblt_conformance.simlib._native import ffi, lib, text


class Direction(enum.IntEnum):
    A_TO_B = 0
    B_TO_A = 1


class ActionKind(enum.IntEnum):
    PASS = 0
    DROP = 1
    DELAY = 2
    DUPLICATE = 3
    HOLD = 4
    CORRUPT = 5
    TRUNCATE = 6


Action = str
"""What a hook answers: the action part of a rule, such as "drop" or "delay 5ms"."""

Hook = Callable[[int, Direction, bytes, int], Action | None]
"""(rule, direction, NETBLT packet, now in us) -> action, or None = the next rule is asked."""


class RuleError(ValueError):
    """A rule that cannot be understood. The message names the offending word and its column (from 1)."""

    def __init__(self, message: str, column: int) -> None:
        super().__init__(message)
        self.column = column


class Event(NamedTuple):
    """One decision about one packet. `description` reads like "dropped by rule 2 (drop nth=2 OK)"."""

    packet_id: int
    now_us: int
    direction: Direction
    action: ActionKind
    rule: int
    text: str
    description: str


class Released(NamedTuple):
    """A packet that leaves the flakeway."""

    packet_id: int
    copy: int
    direction: Direction
    changed: bool
    offered_us: int
    release_us: int
    packet: bytes


@dataclasses.dataclass(slots=True, frozen=True)
class FlakewayStats:
    """flakeway_stats, name for name."""

    seen: int
    delivered: int
    dropped_by_rule: int
    dropped_by_loss: int
    dropped_by_queue: int
    duplicated: int
    reordered: int
    delayed: int
    corrupted: int
    truncated: int

    @property
    def dropped(self) -> int:
        return self.dropped_by_rule + self.dropped_by_loss + self.dropped_by_queue


def _raise(error: Any) -> None:
    raise RuleError(f"column {error.column}: {text(error.message)}", int(error.column))


class Flakeway:
    """One flakeway; `seed` decides all chance. With trace=True the decisions are kept in `events`."""

    def __init__(self, seed: int = 0, *rules: str, trace: bool = True) -> None:
        engine = lib.flakeway_new(seed & 0xFFFF_FFFF_FFFF_FFFF)
        if engine == ffi.NULL:
            raise MemoryError
        self._engine = ffi.gc(engine, lib.flakeway_free)
        self._released = ffi.new("flakeway_released *")
        self._packet = ffi.new("flakeway_packet *")
        self._handle = ffi.new_handle(self)
        self._hook: Hook | None = None
        self._hook_error: BaseException | None = None
        self.events: list[Event] = []
        if trace:
            lib.flakeway_set_trace(self._engine, lib.netblt_sim_trace, self._handle)
        for rule in rules:
            self.add(rule)

    @property
    def seed(self) -> int:
        return int(lib.flakeway_seed(self._engine))

    def add(self, rule: str) -> int:
        """Adds a rule at the end of the list and returns its ID, or sets a rate and returns 0."""
        error = ffi.new("flakeway_error *")
        number = int(lib.flakeway_add(self._engine, rule.encode(), error))
        if number < 0:
            _raise(error)
        return number

    def add_lines(self, lines: str) -> None:
        """Adds every line; # begins a comment. With an error, none of them is in force."""
        error = ffi.new("flakeway_error *")
        line = int(lib.flakeway_add_lines(self._engine, lines.encode(), error))
        if line:
            raise RuleError(f"line {line}, column {error.column}: {text(error.message)}", int(error.column))

    def remove(self, rule: int, now_us: int) -> None:
        """Takes a rule away. KeyError when there is none with this ID."""
        if not lib.flakeway_remove(self._engine, rule, now_us):
            raise KeyError(f"the flakeway has no rule {rule}")

    def clear(self, now_us: int) -> None:
        """Forgets all rules and rates."""
        lib.flakeway_clear(self._engine, now_us)

    def hits(self, rule: int) -> int:
        """How often the rule decided."""
        return int(lib.flakeway_rule_hits(self._engine, rule))

    def set_hook(self, hook: Hook | None) -> None:
        """Who decides for rules with the action `hook`."""
        self._hook = hook
        function = ffi.NULL if hook is None else lib.netblt_sim_hook
        lib.flakeway_set_hook(self._engine, function, self._handle)

    def offer(self, direction: Direction, packet: bytes, now_us: int) -> int:
        """A NETBLT packet has arrived from one side; answers its ID (1, 2, ...)."""
        c_packet = self._packet
        c_bytes = ffi.from_buffer("uint8_t[]", packet)
        c_packet.bytes = c_bytes
        c_packet.length = c_packet.netblt_length = len(packet)
        c_packet.link_bytes = len(packet) + lib.IPV4_HEADER_BYTES
        number = int(lib.flakeway_offer(self._engine, direction, c_packet, now_us))
        self.raise_hook_error()
        return number

    def raise_hook_error(self) -> None:
        """Raises what a hook raised while C was calling it."""
        error, self._hook_error = self._hook_error, None
        if error is not None:
            raise error

    def release(self, now_us: int) -> list[Released]:
        """The packets whose time has come, in order."""
        out = []
        released = self._released
        while lib.flakeway_release(self._engine, now_us, released):
            packet = released.packet
            out.append(
                Released(
                    released.id,
                    released.copy,
                    Direction(released.direction),
                    bool(released.changed),
                    released.offered_us,
                    released.release_us,
                    bytes(ffi.buffer(packet.bytes + packet.netblt_offset, packet.netblt_length)),
                )
            )
        return out

    @property
    def deadline(self) -> int | None:
        """When release() is wanted; None = nothing is on its way."""
        deadline = int(lib.flakeway_deadline(self._engine))
        return None if deadline == lib.FLAKEWAY_NEVER else deadline

    @property
    def queued(self) -> int:
        """Packets on their way or held."""
        return int(lib.flakeway_queued(self._engine))

    def stats(self, direction: Direction) -> FlakewayStats:
        stats = lib.flakeway_get_stats(self._engine, direction)
        return FlakewayStats(*(int(getattr(stats, field.name)) for field in dataclasses.fields(FlakewayStats)))

    def take_events(self) -> list[Event]:
        """The decisions since the last call."""
        events, self.events = self.events, []
        return events


@ffi.def_extern()  # type: ignore[untyped-decorator]
def netblt_sim_trace(context: Any, event: Any) -> None:
    description = ffi.new("char[]", 512)
    lib.flakeway_describe(event, description, 512)
    flakeway: Flakeway = ffi.from_handle(context)
    flakeway.events.append(
        Event(
            int(event.id),
            int(event.now_us),
            Direction(event.direction),
            ActionKind(event.action),
            int(event.rule),
            text(event.text),
            text(description),
        )
    )


@ffi.def_extern()  # type: ignore[untyped-decorator]
def netblt_sim_hook(
    context: Any, rule: int, direction: int, netblt: Any, netblt_length: int, now_us: int, action: Any
) -> bool:
    flakeway: Flakeway = ffi.from_handle(context)
    try:
        assert flakeway._hook is not None
        answer = flakeway._hook(rule, Direction(direction), bytes(ffi.buffer(netblt, netblt_length)), now_us)
        if answer is None:
            return False
        error = ffi.new("flakeway_error *")
        if lib.flakeway_parse_action(answer.encode(), action, error) < 0:
            _raise(error)
    except Exception as problem:  # raised again by offer(): C cannot carry it
        flakeway._hook_error = problem
        return False
    return True
