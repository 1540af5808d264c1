# SPDX-License-Identifier: GPL-2.0-or-later
"""What following one end of a connection leads to: the choices that it makes, and the first packet that no conforming
implementation sends."""

from __future__ import annotations

from dataclasses import dataclass, field


class OutsideError(Exception):
    """A packet that leaves what is permitted."""

    def __init__(self, requirement: str, expected: str, observed: str, frame: int = 0) -> None:
        super().__init__(f"{requirement}: expected {expected}, observed {observed}")
        self.requirement = requirement
        self.expected = expected
        self.observed = observed
        self.frame = frame  # 0: the frame that is judged


@dataclass(frozen=True, slots=True)
class Outside:
    """The first frame that leaves what a conforming implementation may have sent."""

    frame: int
    requirement: str
    expected: str
    observed: str


@dataclass(slots=True)
class Choices:
    """Which of the permitted choices the followed end makes: ambiguity -> what was seen first."""

    made: dict[str, str] = field(default_factory=dict)

    def note(self, ambiguity: str, choice: str) -> None:
        self.made.setdefault(ambiguity, choice)


@dataclass(frozen=True, slots=True)
class Followed:
    """One end of one connection, followed to its end or to the first frame outside."""

    end: str  # "192.0.2.1 port 5"
    peer: str
    role: str  # "sender", "receiver", "-" where it took no part in a transfer
    packets: int  # of this end
    choices: dict[str, str]
    outside: Outside | None
    limits: tuple[str, ...] = ()  # what the capture does not let the judge check
