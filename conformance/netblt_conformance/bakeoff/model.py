# SPDX-License-Identifier: GPL-2.0-or-later
"""What a bakeoff consists of: implementations, pairs of them, network paths, meetings and their outcomes.

A meeting is one transfer of one pair over one path. It may be played on real links or in virtual time: its outcome has
the same form.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from netblt_conformance.common.model import Encapsulation, Parameters, Role

RFC998 = "rfc998"
# The addresses of both ends in every capture: the active end is on the left of the path.
OPENER_ADDRESS, LISTENER_ADDRESS = "10.77.0.1", "10.77.0.2"


@dataclass(frozen=True, slots=True)
class Implementation:
    """One contestant. `name` is unique in a bakeoff."""

    name: str
    file: Path  # its adapter, or its library
    dialect: str = RFC998


@dataclass(frozen=True, slots=True)
class Pair:
    """Two implementations, which may be the same, and who does what."""

    opener: Implementation  # the active end
    listener: Implementation  # the passive end
    opener_sends: bool  # whether the active end sends the data

    @property
    def sender(self) -> Implementation:
        return self.opener if self.opener_sends else self.listener

    @property
    def receiver(self) -> Implementation:
        return self.listener if self.opener_sends else self.opener

    @property
    def opener_role(self) -> Role:
        return Role(active=True, sender=self.opener_sends)

    @property
    def listener_role(self) -> Role:
        return self.opener_role.opposite

    @property
    def own(self) -> bool:
        """Whether it is one implementation with itself."""
        return self.opener == self.listener

    def __str__(self) -> str:
        return f"{self.opener.name} ({self.opener_role}), {self.listener.name} ({self.listener_role})"


@dataclass(frozen=True, slots=True)
class NetworkPath:
    """A network between both ends, as statements of the flakeway (docs/flakeway.md)."""

    name: str
    summary: str
    rules: tuple[str, ...]
    limit_s: float = 60.0  # a meeting that takes longer has failed


@dataclass(frozen=True, slots=True)
class Transfer:
    """What is transferred, and what both ends propose or allow. Many buffers, the last one shorter."""

    parameters: Parameters
    data_bytes: int

    @property
    def buffers(self) -> int:
        return -(-self.data_bytes // self.parameters.buffer_size)


# 1.1 Mbit/s with IPv4 and UDP headers. The narrow path carries more than that, and queues less than a second of it.
TRANSFER = Transfer(
    Parameters(
        buffer_size=4096,
        packet_size=512,
        burst_size=5,
        burst_interval_ms=20,
        death_timer_s=20,
        max_buffers=4,
        data_checksum=True,
    ),
    data_bytes=15 * 4096 + 1000,
)

PATHS = {
    path.name: path
    for path in (
        NetworkPath("clean", "nothing is lost; 5 ms each way", ("latency 5ms",)),
        NetworkPath("lossy", "5 % of the packets are lost in each direction", ("latency 5ms", "loss 5%")),
        NetworkPath(
            "reordering",
            "10 % of the packets arrive 12 ms late, 2 % twice",
            ("latency 5ms", "reorder 10% by 12ms", "duplicate 2%"),
        ),
        NetworkPath("delaying", "150 ms each way, and up to 20 ms more", ("latency 150ms", "jitter 20ms")),
        NetworkPath(
            "narrow",
            "a line of 1.5 Mbit/s with a queue of 12 packets, which the negotiated rate does not fill",
            ("latency 5ms", "rate 1500kbit", "queue 12packets"),
        ),
    )
}


@dataclass(frozen=True, slots=True)
class Meeting:
    """One transfer of one pair over one path."""

    pair: Pair
    path: NetworkPath
    encapsulation: Encapsulation
    seed: int

    @property
    def key(self) -> str:
        """Names it in files and addresses: letters, digits, hyphens and dots."""
        pair, way = self.pair, "sends" if self.pair.opener_sends else "fetches"
        return (
            f"{_word(pair.opener.name)}-{way}-{_word(pair.listener.name)}.{self.path.name}.{self.encapsulation.value}"
        )


def _word(name: str) -> str:
    return "".join(one if one.isalnum() else "_" for one in name)


class Completion(enum.StrEnum):
    """How a meeting ended."""

    COMPLETED = "completed"  # the data arrived, and both clients learned of the success
    FAILED = "failed"
    UNSUPPORTED = "unsupported"  # an adapter states that its implementation lacks what the meeting needs
    ERROR = "error"  # the machine, an adapter or the suite is at fault


class Milestone(enum.StrEnum):
    """What was reached in a meeting, as captures and clients show it."""

    OPENED = "opened"  # the reply to the OPEN reached the active end
    BUFFER = "buffer"  # a buffer was acknowledged
    BUFFERS = "buffers"  # all data arrived unchanged, in more than one buffer
    CLOSED = "closed"  # both clients learned of the success, and no ABORT, QUIT for failure or REFUSED was sent
    WITHIN_RATE = "within rate"  # no packet found the queue of the path full


@dataclass(frozen=True, slots=True)
class EndReport:
    """What one end's client learned."""

    succeeded: bool
    text: str = ""


@dataclass(slots=True)
class Played:
    """What was seen of a meeting beside its capture: the outcome follows from both (judging.py)."""

    completion: Completion = Completion.ERROR
    why: str = ""
    opener: EndReport | None = None
    listener: EndReport | None = None
    delivered_bytes: int = 0
    intact: bool = False  # the receiver's client has exactly what was sent
    queue_drops: int = 0
    kernel_drops: int = 0
    held_up_us: int = 0
    captured_late_us: int = 0  # at most so much after its arrival a packet was captured where it entered the path
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Violation:
    """What an implementation did against RFC 998, as the captures of both sides show it."""

    implementation: str
    role: str  # "sender", "receiver", or empty where it is not known
    requirement: str
    text: str
    frame: int | None = None
    certain: bool = True  # False: suspected


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a meeting. `capture` is a file in the folder of the bakeoff, with an interface for each side."""

    meeting: Meeting
    completion: Completion
    why: str = ""  # what kept it from being completed
    opener: EndReport | None = None
    listener: EndReport | None = None
    delivered_bytes: int = 0
    line_bytes: int = 0  # IPv4 packets of both directions that entered the path, headers counted
    packets: int = 0
    transfer_us: int = 0  # from the first packet to the arrival of the last new data packet
    seconds: float = 0.0  # the whole meeting, on the clock of its link
    capture: str = ""
    milestones: frozenset[Milestone] = frozenset()
    violations: tuple[Violation, ...] = ()
    disturbed: bool = False  # the machine may have caused what was seen
    notes: tuple[str, ...] = ()

    def noted(self, note: str) -> Outcome:
        return replace(self, notes=(*self.notes, note))

    @property
    def goodput_bps(self) -> float | None:
        """Bits of data per second, of a transfer that was completed."""
        if self.completion is not Completion.COMPLETED or not self.transfer_us:
            return None
        return self.delivered_bytes * 8 * 1e6 / self.transfer_us

    @property
    def cost(self) -> float | None:
        """Bytes on the line for each byte delivered."""
        done = self.completion is Completion.COMPLETED and self.delivered_bytes
        return self.line_bytes / self.delivered_bytes if done else None

    @property
    def proven(self) -> tuple[Violation, ...]:
        return tuple(one for one in self.violations if one.certain)

    @property
    def holds(self) -> bool:
        """Whether nothing speaks against either implementation."""
        return self.completion is Completion.COMPLETED and not self.proven


def pairs(implementations: Sequence[Implementation]) -> Iterator[Pair]:
    """Every implementation with every one, itself too, in every pair of roles."""
    for opener in implementations:
        for listener in implementations:
            for opener_sends in (True, False):
                yield Pair(opener, listener, opener_sends)


def meetings(
    implementations: Sequence[Implementation],
    paths: Sequence[NetworkPath],
    encapsulations: Sequence[Encapsulation],
    seed: int,
) -> list[Meeting]:
    """All of a bakeoff, in the order of its tables. All have the seed of the bakeoff: a path loses the same packets in
    each."""
    return [
        Meeting(pair, path, way, seed) for way in encapsulations for path in paths for pair in pairs(implementations)
    ]
