# SPDX-License-Identifier: GPL-2.0-or-later
"""Packets between the tester and one implementation: sending, waiting, watching. Packets that were not requested never
disturb."""

from __future__ import annotations

import collections
import contextlib
import dataclasses
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from netblt_conformance.common import wording
from netblt_conformance.common.model import MICROSECONDS_PER_S, Parameters, Role
from netblt_conformance.common.sizes import Sizes
from netblt_conformance.common.tolerances import Tolerances
from netblt_conformance.common.verdicts import Cause
from netblt_conformance.common.waits import DUE_BY, Awaited, Wait
from netblt_conformance.links.base import STRANGER_ADDRESS, TESTER_ADDRESS, Arrival, Link
from netblt_conformance.oracles import Monitor
from netblt_conformance.oracles.base import Violation
from netblt_conformance.oracles.formats import OTHER_PORT
from netblt_conformance.packets import packets
from netblt_conformance.packets.capture import COUNTS_AS_LOST
from netblt_conformance.packets.dialect import RFC998, Dialect
from netblt_conformance.packets.etftp import Extras
from netblt_conformance.packets.packets import Forge, Packet, Type
from netblt_conformance.packets.sequence import SequenceNumbers
from netblt_conformance.packets.spelling import Spelling

# How often a condition is looked at while no packet comes; later, after this share of what has been waited already.
LOOK_AGAIN_US = 20_000
LOOK_AGAIN_SHARE = 64
# How often a wait that the supervisor may end looks whether it has.
WATCH_US = 250_000
# How many types of packets a text names at most.
FEW_TYPES = 3


class UnmetError(Exception):
    """An expectation was not met: the phase and the requirement's strength decide what that means."""

    def __init__(
        self,
        expected: str,
        seen: str,
        frame: int | None = None,
        cause: Cause = Cause.JUDGEMENT,
        due_by: str = "",
    ) -> None:
        """Of something that did not come: `due_by` the requirement by which it was due, `expected` what it is, `seen`
        what came instead."""
        super().__init__(wording.sentence(expected, seen, cause))
        self.frame = frame
        self.cause = cause
        self.due_by = due_by
        self.expected = expected
        self.seen = seen
        self.awaited = Awaited.OTHER  # what kind of wait it ended


LEAVING = (Type.QUIT, Type.ABORT, Type.REFUSED, Type.DONE)


@dataclass(frozen=True, slots=True)
class Seen:
    """A packet of the implementation under test at the tester."""

    packet: Packet
    time_us: int
    frame: int
    source: bytes
    wire: bytes = b""  # as it came, in the layout of its dialect
    destination: bytes = TESTER_ADDRESS

    def __str__(self) -> str:
        return f"{self.packet} at {self.time_us / MICROSECONDS_PER_S:.3f} s"


@dataclass(frozen=True, slots=True)
class Agreed:
    """The parameters that the RESPONSE settled (NEG-06)."""

    buffer_size: int
    packet_size: int
    burst_size: int
    burst_interval_ms: int
    max_buffers: int
    data_checksum: bool
    iut_death_timer_s: int  # declared by the implementation

    @property
    def packets_per_buffer(self) -> int:
        return -(-self.buffer_size // max(self.packet_size, 1))


Match = Callable[[Packet], bool]


@dataclass(frozen=True, slots=True)
class Setting:
    """What a peer is made with."""

    link: Link
    role: Role  # of the implementation under test
    iut_port: int
    own_port: int
    iut_address: bytes
    parameters: Parameters  # of the tester's own end
    iut_parameters: Parameters  # what the implementation was started with: the most that a passive one accepts
    unique_id: int
    first_buffer: int
    spelling: Spelling
    data: bytes  # what is transferred
    monitor: Monitor
    sizes: Sizes
    dialect: Dialect = RFC998


class Exchange:
    """The packets of one connection to the implementation under test, whatever its state."""

    def __init__(self, setting: Setting) -> None:
        self.setting = setting
        self.link = setting.link
        self.role = setting.role
        self.parameters = setting.parameters
        self.data = setting.data
        self.monitor = setting.monitor
        self.own_port = setting.own_port
        self.iut_port = setting.iut_port
        self.unique_id = setting.unique_id
        self.version = setting.parameters.version
        self.address = TESTER_ADDRESS
        self.agreed: Agreed | None = None
        self.extras = Extras()  # what our packets contain in ETFTP
        self._numbers = SequenceNumbers()
        self.seen: list[Seen] = []
        self.opens: list[Seen] = []
        self.responses: list[Seen] = []
        self._has_quit = False
        self._keepalive_us: int | None = None  # between two packets of ours
        self._last_sent_us = 0
        self._wait: Wait | None = None  # the one under way

    # ---- sending ----

    @property
    def forge(self) -> Forge:
        return Forge(self.version, self.own_port, self.iut_port)

    @property
    def tolerances(self) -> Tolerances:
        """The times that this run allows the implementation."""
        return self.link.tolerances

    @property
    def now_us(self) -> int:
        return self.link.clock.now_us()

    def send(self, packet: bytes) -> int:
        """Sends bytes as they are, but for other wire conventions of the implementation. Returns the capture's
        frame."""
        self._has_quit |= packet[3:4] == bytes([Type.QUIT])
        frame = self.link.send(self.to_wire(packet), self.address)
        # When it was on the wire; an answer may have come back before send() did.
        self._last_sent_us = self.link.capture.frames[frame].time_us
        self.monitor.sent(self._numbers.counted_on(packets.read(packet)), self._last_sent_us, frame)
        return frame

    def to_wire(self, packet: bytes) -> bytes:
        """A packet as the implementation writes it: its dialect, its numbers of packets, its checksums of data."""
        return self.setting.dialect.to_wire(self.setting.spelling.to_wire(packet, self._summed), self.extras)

    def from_wire(self, wire: bytes) -> bytes:
        """The other way round."""
        return self.setting.spelling.from_wire(self.setting.dialect.from_wire(wire), self._summed)

    @property
    def last_sent_us(self) -> int:
        """When the tester's newest packet left."""
        return self._last_sent_us

    @property
    def _summed(self) -> bool:
        return self.agreed is not None and self.agreed.data_checksum

    def send_keepalive(self) -> int:
        return self.send(self.forge.packet(Type.KEEPALIVE))

    def send_quit(self, reason: str = "tester quits") -> int:
        return self.send(self.forge.reason(Type.QUIT, reason))

    def send_abort(self, reason: str = "tester aborts") -> int:
        return self.send(self.forge.reason(Type.ABORT, reason))

    def go_silent(self) -> None:
        """No KEEPALIVEs from now on: the implementation's death timer is what the case is about."""
        self._keepalive_us = None

    # ---- waiting ----

    @contextlib.contextmanager
    def _waits(self, awaited: Awaited, within_us: int) -> Iterator[None]:
        """What happens inside is one wait, which the supervisor may end. What it waits for inside is a part of it."""
        if self._wait is not None:
            yield
            return
        self._wait = wait = Wait(self.link.watch, awaited, self.now_us, within_us)
        try:
            yield
        except UnmetError as unmet:
            unmet.awaited = awaited
            wait.ended(self.now_us, came=False)
            raise
        else:
            wait.ended(self.now_us, came=True)
        finally:
            self._wait = None

    def _over(self, deadline_us: int) -> bool:
        """Whether to wait longer is of no use: the time has come, or nothing can come any more."""
        return self.now_us >= deadline_us or self.link.over

    @property
    def slower_us(self) -> int:
        """How much longer than planned a reaction may take, because bursts are slower than the case proposed."""
        return 0

    def until(self, condition: Callable[[], bool], within_us: int, what: str, awaited: Awaited = Awaited.OTHER) -> None:
        """Goes on until `condition` holds; UnmetError when it does not within the time."""
        within_us += self.slower_us
        began_us, first = self.now_us, len(self.seen)
        deadline_us = began_us + within_us
        with self._waits(awaited, within_us):
            while not condition():
                # Not every change comes with a packet: a client that gives up sends nothing.
                pause_us = max(LOOK_AGAIN_US, (self.now_us - began_us) // LOOK_AGAIN_SHARE)
                self._next(min(deadline_us, self.now_us + pause_us))
                if self._over(deadline_us) and not condition():
                    raise self._unmet(what, within_us, first)

    def expect(self, match: Match, within_us: int, what: str, awaited: Awaited = Awaited.OTHER) -> Seen:
        """The next packet that matches; others are legal and change nothing."""
        within_us += self.slower_us
        deadline_us, first = self.now_us + within_us, len(self.seen)
        with self._waits(awaited, within_us):
            while True:
                seen = self._next(deadline_us)
                if seen is not None and match(seen.packet):
                    return seen
                if seen is None and self._over(deadline_us):
                    raise self._unmet(what, within_us, first)

    def expect_type(self, kind: Type, within_us: int | None = None) -> Seen:
        within_us = within_us or self.tolerances.reaction_max_us
        awaited = {Type.QUIT: Awaited.QUIT, Type.QUITACK: Awaited.QUITACK}.get(kind, Awaited.OTHER)
        return self.expect(lambda packet: packet.type is kind, within_us, kind.text, awaited)

    def expect_answer_to_quit(self, within_us: int | None = None) -> Seen:
        """ETFTP: either of the two acknowledgements."""
        within_us = within_us or self.tolerances.reaction_max_us
        return self.expect(lambda packet: packet.type is Type.QUITACK, within_us, "an answer to QUIT")

    def listen(self, span_us: int) -> list[Seen]:
        """Everything that arrives in the next `span_us`."""
        deadline_us, first = self.now_us + span_us, len(self.seen)
        while self.now_us < deadline_us:
            if self._next(deadline_us) is None and self.link.over:
                break
        return self.seen[first:]

    def silence(self, forbidden: Iterable[Type], span_us: int, why: str) -> list[Seen]:
        """No packet of these types may come for `span_us`. Answers what else came."""
        kinds = sorted(set(forbidden))
        came = self.listen(span_us)
        for seen in came:
            if seen.packet.type in kinds:
                names = " or ".join(kind.name for kind in kinds) if len(kinds) <= FEW_TYPES else "packet"
                raise UnmetError(f"no {names}, as {why}", f"{seen} came", seen.frame)
        return came

    def _next(self, until_us: int) -> Seen | None:
        """One packet, or None when `until_us` or the next KEEPALIVE of ours has come."""
        wake_us = until_us
        if self._keepalive_us is not None:
            wake_us = min(until_us, self._last_sent_us + self._keepalive_us)
        if self._wait is not None and self._wait.watched:
            self._wait.goes_on(self.now_us)
            wake_us = min(wake_us, self.now_us + WATCH_US)
        arrival = self.link.receive(max(wake_us, self.now_us))
        if arrival is None:
            if self._keepalive_us is not None and self.now_us >= self._last_sent_us + self._keepalive_us:
                self.send_keepalive()
            return None
        return self._take(arrival)

    def _take(self, arrival: Arrival) -> Seen:
        spelt = self.from_wire(arrival.payload)
        packet = self._as_answer(self._without_padding(self._numbers.counted_on(packets.read(spelt))))
        seen = Seen(packet, arrival.time_us, arrival.frame, arrival.source, arrival.payload, arrival.destination)
        self.seen.append(seen)
        if arrival.destination == STRANGER_ADDRESS:
            return seen  # an answer to another host, whose packets the tester sends too
        self.monitor.received(packet, arrival.time_us, arrival.frame)
        self._judge_port(packet, arrival.frame)
        if self._is_ours(packet):
            if packet.type is Type.OPEN:
                self.opens.append(seen)
            elif packet.type is Type.RESPONSE:
                self.responses.append(seen)
            self.react(seen)
        return seen

    def _judge_port(self, packet: Packet, frame: int) -> None:
        """What does not open a connection goes to a port that a packet of the tester came from, or an OPEN was for. An
        implementation that ran before may still have an earlier peer."""
        if packet.error is not None or packet.type is None or not packet.checksum_good:
            return
        if packet.type is Type.OPEN:
            self.link.ports.add(packet.foreign_port)
        elif packet.foreign_port not in self.link.ports and not self.link.lives_on:
            values = (("type", packet.type.text), ("port", packet.foreign_port))
            self.monitor.report(Violation(OTHER_PORT, values, frame))

    def _without_padding(self, packet: Packet) -> Packet:
        """AMB-02 (c): zeros that fill a data packet up to a multiple of 4 and count in its Length. Where the size is
        known they are no data; at the very end of a transfer this cannot be known."""
        if not packet.is_data or self.agreed is None:
            return packet
        room = self.agreed.buffer_size - packet.packet * self.agreed.packet_size
        full, size = min(self.agreed.packet_size, room), len(packet.data)
        known = packet.type is Type.DATA or not packet.last_buffer or size > full
        if not known or not 0 < full < size <= full + -full % 4 or any(packet.data[full:]):
            return packet
        return dataclasses.replace(packet, data=packet.data[:full])

    def _as_answer(self, packet: Packet) -> Packet:
        """ETFTP: DONE acknowledges a QUIT as well, which RFC 998 calls QUITACK (R1986-27)."""
        if not self.setting.dialect.ends_with_quit or packet.type is not Type.DONE or not self._has_quit:
            return packet
        return dataclasses.replace(packet, type=Type.QUITACK)

    def _is_ours(self, packet: Packet) -> bool:
        if packet.error is not None or packet.foreign_port != self.own_port:
            return False
        return packet.local_port == self.iut_port or packet.type is Type.OPEN

    def lost(self, seen: Seen) -> None:
        """Notes in the capture that the tester ignores a packet."""
        self.link.capture.comment(seen.frame, COUNTS_AS_LOST)

    def react(self, seen: Seen) -> None:
        """What the peer does by itself with a readable packet of this connection."""

    @property
    def has_quit(self) -> bool:
        """Whether a QUIT of the implementation came."""
        return any(seen.packet.type is Type.QUIT for seen in self.seen)

    @property
    def quits(self) -> bool:
        """Whether the implementation has quit where its dialect ends each transfer so: that acknowledges the rest."""
        return self.setting.dialect.ends_with_quit and self.has_quit

    def _unmet(self, what: str, within_us: int, first: int) -> UnmetError:
        seen = f"{self._why(within_us)}; {self._saw(first)}"
        due_by = self.due_by(self._wait.awaited) if self._wait is not None else ""
        if due_by == DUE_BY[Awaited.CONTROL] and any(seen.packet.type is Type.CONTROL for seen in self.seen[first:]):
            due_by = ""  # the control timer runs; what is missing is something in the packets
        return UnmetError(what, seen, self._last_frame(first), Cause.ABSENCE, due_by)

    def due_by(self, awaited: Awaited) -> str:
        """The requirement by which this is due now; empty when it depends on the case, or the implementation left."""
        if awaited is Awaited.QUITACK:  # who closes without it owes it still
            said = any(seen.packet.type in (Type.QUITACK, *LEAVING) for seen in self.seen)
            return "" if said else DUE_BY[awaited]
        if awaited is Awaited.QUIT:
            return DUE_BY[awaited] if self.has_quit else ""
        return "" if self._was_left else DUE_BY.get(awaited, "")

    @property
    def _was_left(self) -> bool:
        left = any(seen.packet.type in LEAVING for seen in self.seen)
        return left or (self.link.tells_outcome and self.link.status().closed)

    def _why(self, within_us: int) -> str:
        """Why it did not come: the program has ended, or the time is over. Also what its client knows by then."""
        ending = self.link.ending() if self.link.over else ""
        return ending or "; ".join(filter(None, (f"not within {self._span(within_us)}", self.reported())))

    def reported(self) -> str:
        """What was reported to the client of the implementation; empty where nothing was, or nothing is known."""
        if not self.link.tells_outcome:
            return ""
        status = self.link.status()
        if status.succeeded:
            return "success was reported to the client"
        reason = self.link.reason() or "without a reason"
        return f"failure was reported to the client: {reason}" if status.failed else ""

    def _span(self, span_us: int) -> str:
        return f"{span_us / MICROSECONDS_PER_S:g} s"

    def _saw(self, first: int) -> str:
        counts = collections.Counter(
            "unreadable" if s.packet.error or s.packet.type is None else s.packet.type.text for s in self.seen[first:]
        )
        return "saw " + (", ".join(f"{count} {name}" for name, count in counts.items()) or "nothing")

    def _last_frame(self, first: int) -> int | None:
        return self.seen[-1].frame if len(self.seen) > first else None
