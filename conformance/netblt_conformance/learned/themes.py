# SPDX-License-Identifier: GPL-2.0-or-later
"""Themes: each has its own transfer and the few inputs that matter in it, so that one machine for each theme costs the
sum of small alphabets, not their product."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Any

from netblt_conformance.common.model import ALL_ROLES, MICROSECONDS_PER_S, Parameters, Role
from netblt_conformance.learned.alphabet import MANY_BUFFERS, MANY_GOS, TIME, TIMES, inputs

# Two packets in a buffer: the fewest with a packet that is not the last one.
_PARAMETERS = Parameters(
    buffer_size=128,
    packet_size=64,
    burst_size=8,
    burst_interval_ms=1,
    death_timer_s=20,
    max_buffers=1,
    data_checksum=True,
)
_OPENING = frozenset({"OPEN", "RESPONSE"})
SMALL_PACKET = 16  # bytes, of the inputs with small packets
_MOST_PACKETS = 2**16  # that packet numbers distinguish
# Longer than a connection without its data lasts.
_STALL_US = 10_000 * MICROSECONDS_PER_S
_SLOW_MS = 200  # longer than a reaction: `time` goes on to the next burst


@dataclass(frozen=True, slots=True)
class Theme:
    """What is transferred, and what the tester does."""

    name: str
    about: str
    inputs: frozenset[str]  # those of them that the role has
    length: int  # of the transfer, in bytes
    changed: dict[str, Any] = field(
        default_factory=dict, hash=False
    )  # parameters that differ from those of the main theme
    stalls: bool = False  # the client of the implementation has no buffer after the first
    control_timers_ms: tuple[int, ...] = (500,)  # that the tester's OKs publish; the last one for all others
    times: bool = False  # whether outputs have what times prove; elsewhere that would only multiply states
    first_buffer: int | None = None  # the number of the first GO of the tester; else the one that suits
    for_senders: bool = True  # whether a sending implementation is learned
    for_receivers: bool = True

    @property
    def parameters(self) -> Parameters:
        return dataclasses.replace(_PARAMETERS, **self.changed)

    @property
    def buffers(self) -> int:
        return -(-self.length // self.parameters.buffer_size)

    def names(self, role: Role) -> tuple[str, ...]:
        """The inputs of a role."""
        return tuple(one.name for one in inputs(role) if one.name in self.inputs)

    def transfer(self, role: Role) -> tuple[str, ...]:
        """The inputs of a transfer that loses nothing."""
        opening = "RESPONSE" if role.active else "OPEN"
        if self.inputs & {MANY_GOS, MANY_BUFFERS}:
            return (opening, MANY_GOS, "DONE") if role.sender else (opening, MANY_BUFFERS, "NULL-ACK")
        if role.sender:
            return (opening, *("GO", "OK") * self.buffers, "DONE")
        if at_once := next((name for name in _AT_ONCE if name in self.inputs), None):
            return (opening, *(at_once, "NULL-ACK") * self.buffers)
        packet, whole = self.parameters.packet_size, self.parameters.buffer_size
        sizes = [min(whole, self.length - number * whole) for number in range(self.buffers)]
        data = [name for size in sizes for name in (*("DATA",) * -(-size // packet), "NULL-ACK")]
        return (opening, "NULL-ACK", *data)


# Inputs that are a whole buffer.
_AT_ONCE = ("BUFFER", "BUFFER early")
MAIN = "main"
_ONLY_IN_OTHERS = frozenset({
    "OPEN announcing", "RESPONSE announcing", "RESPONSE changed", "OPEN other half", "RESPONSE other half",
    "RESPONSE one buffer", "NULL-ACK first",
    "GO skipping", "GO and more", "GO and RESEND", "GO number 0", "GO far ahead", "OK hole",
    "RESEND newest", "RESEND all", "RESEND both", "RESEND hole", "RESEND next", "RESEND empty", "RESEND past end",
    "CONTROL late", "QUIT silent", "OPEN other port", "OPEN small packets", "RESPONSE small packets", "GO too many",
    "BUFFER", "BUFFER less last", "BUFFER only last", "BUFFER early", "DATA late", MANY_GOS, MANY_BUFFERS,
})  # fmt: skip


def _of_main() -> frozenset[str]:
    return frozenset(one.name for role in ALL_ROLES for one in inputs(role)) - _ONLY_IN_OTHERS


THEMES = (
    Theme(
        "setup",
        "openings, other values in them, and refusals; the second buffer is one byte",
        _OPENING | {"OPEN other ID", "OPEN other half", "OPEN other port", "OPEN announcing", "RESPONSE other ID",
                    "RESPONSE other half", "RESPONSE announcing", "RESPONSE changed", "ABORT", "REFUSED",
                    "QUIT silent", "GO", "OK", "DATA", "NULL-ACK", TIME},
        length=129,
    ),
    Theme(
        "loss",
        "one buffer of four packets, one packet in a burst",
        _OPENING | {"DATA", "DATA lost", "DATA again", "DATA requested", "NULL-ACK", "GO", "OK", "RESEND",
                    "RESEND first", "RESEND all", "RESEND empty", "RESEND past end", "RESEND next", "CONTROL again",
                    "GO number 0", "GO far ahead", TIME},
        length=256,
        changed={"buffer_size": 256, "burst_size": 1},
    ),
    Theme(
        "window",
        "four buffers of three packets, three outstanding; the last packet of a buffer is one byte",
        _OPENING | {"GO", "GO skipping", "GO and more", "GO and RESEND", "OK", "OK hole", "RESEND first",
                    "RESEND both", "RESEND hole", "CONTROL late", TIME},
        length=4 * 129,
        changed={"buffer_size": 129, "max_buffers": 3},
        for_receivers=False,
    ),
    Theme(
        "long",
        "one buffer of 260 packets: their numbers need more than eight bits",
        _OPENING | {"GO", "OK", "RESEND", "BUFFER", "BUFFER less last", "BUFFER only last", "DATA requested", TIME},
        length=260 * 16,
        changed={"buffer_size": 260 * 16, "packet_size": 16, "burst_size": 300},
    ),
    Theme(
        "limit",
        "more GOs than buffers may be outstanding, which are two; the numbers of buffers cross 2^31",
        _OPENING | {"RESPONSE one buffer", "GO", "GO too many", "OK", "RESEND next", TIME},
        length=4 * 128,
        changed={"max_buffers": 2},
        first_buffer=2**31 - 2,
        for_receivers=False,
    ),
    Theme(
        "many",
        f"{TIMES} buffers: the numbers of messages need more than eight bits",
        _OPENING | {MANY_GOS, MANY_BUFFERS, "NULL-ACK", TIME},
        length=TIMES * 8,
        changed={"buffer_size": 8},
    ),
    Theme(
        "numbers",
        "packets so small that a buffer has more than can be numbered",
        _OPENING | {"OPEN small packets", "RESPONSE small packets", TIME},
        length=1,
        changed={"buffer_size": (_MOST_PACKETS + 1) * SMALL_PACKET},
    ),
    Theme(
        "large",
        "one buffer of three large packets: places in it need more than 16 bits",
        _OPENING | {"GO", "OK", "RESEND", "DATA", "DATA lost", "DATA requested", "NULL-ACK", TIME},
        length=3 * 33_000,
        changed={"buffer_size": 3 * 33_000, "packet_size": 33_000},
    ),
    Theme(
        "buffers",
        "two buffers of three packets, both outstanding; all packets of a buffer arrive at once",
        _OPENING | {"BUFFER", "BUFFER less last", "BUFFER only last", "DATA late", "NULL-ACK"},
        length=2 * 129,
        changed={"buffer_size": 129, "max_buffers": 2},
        for_senders=False,
    ),
    Theme(
        "queue",
        "four buffers of one packet, which acknowledge nothing: many messages wait",
        _OPENING | {"BUFFER early", TIME},
        length=4 * 32,
        changed={"buffer_size": 32, "max_buffers": 2},
        for_senders=False,
    ),
    Theme(
        "acks",
        "four buffers of one packet, which acknowledge nothing; NULL-ACKs acknowledge one message or all",
        _OPENING | {"BUFFER early", "NULL-ACK", "NULL-ACK first"},
        length=4 * 32,
        changed={"buffer_size": 32, "max_buffers": 2},
        for_senders=False,
    ),
    Theme(
        "pace",
        "two outstanding buffers, one packet in a burst, bursts so far apart that inputs come between them",
        _OPENING | {"GO", "OK", "RESEND", "RESEND first", "RESEND newest", "RESEND all", "QUIT", "client quits", TIME},
        length=2 * 192,
        changed={"buffer_size": 192, "max_buffers": 2, "burst_size": 1, "burst_interval_ms": _SLOW_MS},
        for_receivers=False,
    ),
    Theme(
        "stall",
        "the client of the implementation has no buffer after the first",
        _OPENING | {"GO", "OK", "RESEND first", "BUFFER", "BUFFER less last", "DATA requested", "KEEPALIVE", TIME},
        length=3 * 128,
        changed={"max_buffers": 2, "burst_size": 1, "burst_interval_ms": _SLOW_MS},
        stalls=True,
    ),
    Theme(
        "timers",
        "buffers smaller than a packet; the second OK publishes a longer control timer than the first",
        _OPENING | {"GO", "OK", "DATA", "NULL-ACK", "QUIT", "QUITACK", "client quits", TIME},
        length=2 * 32,
        changed={"death_timer_s": 200, "buffer_size": 32},
        control_timers_ms=(1000, 65_000),
        times=True,
    ),
    Theme(MAIN, "one outstanding buffer, and all inputs of one connection", _of_main(), length=2 * 128 - 1),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Part:
    """One role in one theme: what has one machine."""

    role: Role
    theme: Theme

    def __str__(self) -> str:
        return str(self.role) if self.theme.name == MAIN else f"{self.role}.{self.theme.name}"

    @property
    def names(self) -> tuple[str, ...]:
        return self.theme.names(self.role)

    @property
    def transfer(self) -> tuple[str, ...]:
        return self.theme.transfer(self.role)


def parts(role: Role) -> tuple[Part, ...]:
    """All of a role, the cheapest first."""
    return tuple(Part(role, theme) for theme in THEMES if (theme.for_senders if role.sender else theme.for_receivers))


def part_named(role: Role, name: str) -> Part:
    return next(one for one in parts(role) if one.theme.name == name)


def stall(theme: Theme) -> dict[str, int]:
    """Parameters of an implementation whose client stalls."""
    return {"client_stall_from": 1, "client_stall_until_us": _STALL_US} if theme.stalls else {}
