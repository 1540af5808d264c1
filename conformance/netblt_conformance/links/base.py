# SPDX-License-Identifier: GPL-2.0-or-later
"""The one interface to an implementation under test (IUT), of whatever kind. See docs/links.md."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from netblt_conformance.common.errors import NotSupportedError
from netblt_conformance.common.model import Digest, Feature, Role, Start, Status, Stop
from netblt_conformance.common.tolerances import DEFAULT, Tolerances
from netblt_conformance.common.waits import Watch
from netblt_conformance.packets.capture import Capture
from netblt_conformance.packets.packets import LOCAL_PORT

if TYPE_CHECKING:
    from pathlib import Path

    from netblt_conformance.adapter.adapter import Adapter

# Documentation addresses (RFC 5737): nothing real can be hit by mistake.
TESTER_ADDRESS = bytes([192, 0, 2, 1])
IUT_ADDRESS = bytes([192, 0, 2, 2])
STRANGER_ADDRESS = bytes([192, 0, 2, 3])  # a second host played by the tester
Loses = Callable[[bytes, bytes], bool]  # whether the network loses a packet, of which this is the IP payload and source

NEVER_US = 2**64 - 1


class Clock(Protocol):
    def now_us(self) -> int:
        """Microseconds since the link was made; never decreasing."""


@dataclass(frozen=True, slots=True)
class Arrival:
    """A packet of the implementation as it reached the tester."""

    time_us: int
    payload: bytes  # the NETBLT packet and whatever follows its Length
    source: bytes
    destination: bytes
    frame: int  # in the capture


@dataclass(frozen=True, slots=True)
class Account:
    """What there is to see of an implementation beside its packets."""

    command: tuple[str, ...] = ()  # what was started; empty: nothing was started here
    exit_status: int | None = None  # negative: the signal that ended it; None: it runs, or it is no program
    output: str = ""  # its standard output, where it is kept
    errors: str = ""  # its standard error


class Link(ABC):
    """One implementation in one role for one case. Every call may raise HarnessError or ImplementationError."""

    name: str
    real_time: bool
    features: frozenset[Feature]
    delay_us: int  # one way, known on virtual links, 0 on real ones
    tells_outcome: bool = True  # whether status() can be asked
    lives_on: bool = False  # the implementation ran before this case, and may still be busy with what came before

    def __init__(self, capture: Capture, tolerances: Tolerances) -> None:
        """`tolerances`: the times that this run allows the implementation."""
        self.capture = capture
        self.tolerances = tolerances
        self.watch = Watch()  # of the long waits of the case
        self.loses: Loses | None = None  # virtual links: the packets of the tester that get lost
        self.ports: set[int] = set()  # of the tester: its packets came from them, or an OPEN was for them

    @property
    @abstractmethod
    def clock(self) -> Clock: ...

    @property
    def held_up_us(self) -> int:
        """Real time: how much the machine may have added to any interval of this case. Virtual links: nothing."""
        return 0

    @property
    def dropped_packets(self) -> int:
        """Packets that the kernel dropped at the implementation's sockets. They have arrived, but it never saw them."""
        return 0

    @property
    def over(self) -> bool:
        """Whether nothing can come from the implementation any more: its program has ended, all it sent was read."""
        return False

    def ending(self) -> str:
        """How the program ended, and the last lines of its standard error; empty while it runs, or when there is none
        whose end would be the implementation's."""
        return ""

    def fixed_port(self, role: Role) -> int | None:
        """The NETBLT port that a passive implementation listens on, or an active one opens, when it has no choice."""
        del role
        return None

    def imposes(self, role: Role, parameter: str) -> bool:
        """Whether the implementation in this role gets this parameter, a name of Parameters, when it is started."""
        del role, parameter
        return True

    def tester_string(self, role: Role) -> str:
        """The client string of the tester, where the implementation wants one."""
        del role
        return ""

    def _note_port(self, packet: bytes) -> None:
        self.ports.add(int.from_bytes(packet[LOCAL_PORT], "big"))

    @abstractmethod
    def start(self, start: Start) -> None:
        """Starts the implementation. NotSupportedError when it lacks the role. A second call ends the first one."""

    @abstractmethod
    def send(self, packet: bytes, source: bytes = TESTER_ADDRESS) -> int:
        """Sends a NETBLT packet to the implementation now. Answers the capture's frame."""

    def replay(self, packets: Sequence[bytes], source: bytes = TESTER_ADDRESS, *, loops: int = 1) -> None:
        """Sends NETBLT packets at top speed, `loops` times over; needs Feature.REPLAY. They are in the capture, unless
        they are sent more than once: then they are a flood, which is not worth reading."""
        del packets, source, loops
        raise NotSupportedError("this link cannot replay packets")

    @abstractmethod
    def receive(self, until_us: int) -> Arrival | None:
        """The next packet that reaches the tester by then; None when that moment has come."""

    @abstractmethod
    def deadline_us(self) -> int | None:
        """When the implementation acts next if nothing arrives; NEVER_US; None when the link cannot know."""

    @abstractmethod
    def status(self) -> Status: ...

    @abstractmethod
    def reason(self) -> str:
        """The implementation's own words on how it ended; may be empty."""

    @abstractmethod
    def digest(self) -> Digest:
        """What the implementation's client has received."""

    @abstractmethod
    def peer_string(self) -> str | None:
        """The tester's client string as the implementation's client saw it; None when the link cannot know."""

    @abstractmethod
    def stop(self, how: Stop, reason: str) -> None:
        """Makes the implementation quit or abort; NotSupportedError when that is not possible."""

    def account(self) -> Account:
        """What there is to see of the implementation now; not valid after close()."""
        return Account()

    @abstractmethod
    def close(self) -> None:
        """Ends the implementation and frees everything. Never fails, may be called twice."""


class LinkFactory(ABC):
    """Makes one link for each case. `name` is what the user chose; `describe` goes into the report."""

    name: str
    adapter: Adapter | None = None
    tolerances: Tolerances = DEFAULT  # the times that a run allows this implementation
    real_time: bool = False  # its runs wait for real timers
    jobs: int = 0  # cases at a time when the user gives no number; 0 = as many as processors
    delay_us: int | None = None  # one way, on links in virtual time, which lose nothing; None: real time
    spare_jobs: int = 0  # up to so many more then, in place of those that wait long: they need no processor

    @abstractmethod
    def check(self) -> None:
        """Raises LinkUnavailableError when no case could run."""

    @abstractmethod
    def testing(self) -> dict[str, str]:
        """What is tested: name, program or library, version where it states one, link. In this order."""

    def describe(self) -> dict[str, str]:
        """What else the report states of the way to the implementation."""
        return {}

    @abstractmethod
    def make(self, capture: Capture) -> Link: ...

    @property
    def subject(self) -> Path | None:
        """The file that states what is tested: adapter or library."""
        return self.adapter.path if self.adapter is not None else None

    @property
    def schedule(self) -> dict[str, str]:
        """What decides, beside the seed, which packets go when."""
        return {}

    def tidy(self) -> None:
        """After a run: removes what processes that were killed have left."""
        return

    def worked(self, role: Role) -> None:
        """A transfer in this role has run."""
        del role
