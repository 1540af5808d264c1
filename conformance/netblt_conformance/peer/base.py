# SPDX-License-Identifier: GPL-2.0-or-later
"""What both scripted peers share: how a connection is opened, what was agreed, and what the client gets to know."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from netblt_conformance.common import tolerances
from netblt_conformance.common.errors import NotSupportedError
from netblt_conformance.common.model import MICROSECONDS_PER_MS, MICROSECONDS_PER_S
from netblt_conformance.common.sizes import Limits, SizesError
from netblt_conformance.common.verdicts import Cause
from netblt_conformance.common.waits import Awaited
from netblt_conformance.oracles.session import grown_max_us
from netblt_conformance.packets import packets
from netblt_conformance.packets.packets import Packet, Type
from netblt_conformance.peer.exchange import Agreed, Exchange, Seen, UnmetError

# How many buffers a reason names at most.
PROGRESS_BUFFERS = 8
# The messages between so many buffers take no time that counts.
FEW_BUFFERS = 16
ANSWERS = (Type.RESPONSE, Type.REFUSED, Type.ABORT)  # to an OPEN
IN_BYTES = ("buffer_size", "packet_size")


def the_newest(told: list[str]) -> str:
    """The last of what there is to report of each buffer, for a reason."""
    return ", ".join(["...", *told[-PROGRESS_BUFFERS:]] if len(told) > PROGRESS_BUFFERS else told)


class Peer(Exchange):
    """One connection to the implementation under test."""

    # ---- connection setup (RFC 998 5.1) ----

    def connect(self, **restrict: Any) -> None:
        """Opens from whichever side the role asks; `restrict` overrides fields of our OPEN or RESPONSE."""
        if self.role.active:
            self.await_open()
            self.respond(**restrict)
        else:
            self.open(**restrict)

    def opening_values(self, **override: Any) -> Packet:
        """The fields of an OPEN as the tester would propose it."""
        p = self.parameters
        writes = not self.role.sender if not self.role.active else self.role.sender
        values = Packet(
            b"",
            unique_id=self.unique_id,
            buffer_size=p.buffer_size,
            transfer_size=0 if self.role.sender else len(self.data),
            packet_size=p.packet_size,
            burst_size=p.burst_size,
            burst_interval_ms=p.burst_interval_ms,
            death_timer_s=p.death_timer_s,
            flags=int(writes) | int(p.data_checksum) << 1,
            max_buffers=p.max_buffers,
            string=packets.text_field(p.client_string),
        )
        return dataclasses.replace(values, **override)

    def send_open(self, **override: Any) -> int:
        return self.send(self.forge.opening(Type.OPEN, self.opening_values(**override)))

    def open(self, attempts: int = 5, **override: Any) -> Seen:
        """Tester active: OPEN, repeated like any active end would, until the RESPONSE comes. An implementation that
        lives on may be busy with the case before: its REFUSED counts when it goes on refusing."""
        with self._waits(Awaited.RESPONSE, attempts * tolerances.TESTER_RETRY_US):
            return self._open(attempts, **override)

    def _open(self, attempts: int, **override: Any) -> Seen:
        busy_until_us = self.now_us + (self.tolerances.setup_max_us if self.link.lives_on else 0)
        unanswered = 0
        while unanswered < attempts:
            first = len(self.seen)
            self.send_open(**override)
            try:
                return self.expect_response(tolerances.TESTER_RETRY_US)
            except UnmetError:
                refused = any(seen.packet.type is Type.REFUSED for seen in self.seen[first:])
                if refused and self.now_us >= busy_until_us:
                    self._excuse_refusal(**override)
                    refusal = next(one for one in reversed(self.seen) if one.packet.type is Type.REFUSED)
                    raise UnmetError("RESPONSE to OPEN", f"{refusal.packet}", refusal.frame) from None
                if self.link.over:
                    break
                unanswered += not refused
        ending = self.link.ending() if self.link.over else ""
        why = ending or f"none to {attempts} OPENs"
        raise UnmetError("RESPONSE to OPEN", why, None, Cause.ABSENCE, "OPEN-01")

    def propose(self, *answers: Type, **override: Any) -> Seen:
        """Tester active: the first packet of these types that answers an OPEN, which is repeated like any active end
        would: an implementation that serves one peer at a time may be away for a moment."""
        deadline_us, first = self.now_us + self.tolerances.setup_max_us, len(self.seen)
        what = f"{' or '.join(kind.name for kind in answers)}"

        def matches(packet: Packet) -> bool:
            return packet.type in answers and packet.foreign_port == self.own_port

        while True:
            self.send_open(**override)
            try:
                return self.expect(matches, min(tolerances.TESTER_RETRY_US, deadline_us - self.now_us), what)
            except UnmetError as unmet:
                if self._over(deadline_us):
                    if any(seen.packet.type is Type.REFUSED for seen in self.seen[first:]):
                        self._excuse_refusal(**override)
                    why = f"{self._why(self.tolerances.setup_max_us)}; {self._saw(first)}"
                    answered = any(seen.packet.type in ANSWERS for seen in self.seen[first:])
                    due_by = "" if answered else "OPEN-01"
                    raise UnmetError(what, why, unmet.frame, Cause.ABSENCE, due_by) from None

    def _excuse_refusal(self, **override: Any) -> None:
        """A passive end may refuse what is more than it has, instead of restricting it (OPEN-01): then N/A."""
        asked, limits = self.opening_values(**override), self.setting.iut_parameters
        fits = asked.burst_interval_ms >= limits.burst_interval_ms and all(
            getattr(asked, name) <= getattr(limits, name)
            for name in ("buffer_size", "packet_size", "burst_size", "max_buffers")
        )
        if not fits or self.setting.sizes.are_smaller:
            raise NotSupportedError("it refuses a proposal beyond its limits instead of restricting it")

    def expect_response(self, within_us: int | None = None) -> Seen:
        within_us = within_us or self.tolerances.reaction_max_us

        def matches(packet: Packet) -> bool:
            return packet.type is Type.RESPONSE and packet.foreign_port == self.own_port and packet.error is None

        seen = self.expect(matches, within_us, "RESPONSE")
        self.settle(seen.packet, seen.packet.death_timer_s)
        return seen

    def await_open(self, within_us: int | None = None) -> Seen:
        """Tester passive: waits for the next OPEN and takes over its version byte (AMB-01) and port."""
        within_us = within_us or self.open_max_us

        def matches(packet: Packet) -> bool:
            return packet.type is Type.OPEN and packet.error is None and packet.foreign_port == self.own_port

        seen = self.expect(matches, within_us, "OPEN", Awaited.OPEN)
        self.version = seen.packet.version
        self.iut_port = seen.packet.local_port
        self.unique_id = seen.packet.unique_id
        self.monitor.session.iut_port = self.iut_port
        return seen

    @property
    def open_max_us(self) -> int:
        """The next OPEN comes within this: the first one when the client opens, another one by a timer, which may grow
        (OPEN-03)."""
        if not self.opens:
            return self.tolerances.setup_max_us
        return grown_max_us(self.tolerances.open_retry_max_us, (seen.time_us for seen in self.opens))

    def response_values(self, **override: Any) -> Packet:
        """The RESPONSE to the last OPEN: its proposal, restricted to the tester's limits and to `override`."""
        proposal, own = self.opens[-1].packet, self.parameters
        values = dataclasses.replace(
            proposal,
            buffer_size=min(proposal.buffer_size, own.buffer_size),
            packet_size=min(proposal.packet_size, own.packet_size),
            burst_size=min(proposal.burst_size or own.burst_size, own.burst_size),  # 0 may mean no limit (AMB-11)
            burst_interval_ms=max(proposal.burst_interval_ms, own.burst_interval_ms),
            death_timer_s=own.death_timer_s,
            max_buffers=min(proposal.max_buffers, own.max_buffers),
            flags=proposal.flags | int(own.data_checksum) << 1,
            string=packets.text_field(own.client_string),
        )
        return dataclasses.replace(values, **override)

    def respond(self, **override: Any) -> int:
        """Tester passive: accepts the last OPEN."""
        values = self.response_values(**override)
        frame = self.send_response(**override)
        self.settle(values, self.opens[-1].packet.death_timer_s)
        return frame

    def send_response(self, **override: Any) -> int:
        """Sends a RESPONSE and changes nothing here."""
        return self.send(self.forge.opening(Type.RESPONSE, self.response_values(**override)))

    def settle(self, response: Packet, iut_death_timer_s: int) -> None:
        """From here on the RESPONSE's values govern, and KEEPALIVEs keep the implementation from giving us up."""
        zeros = [name for name in ("buffer_size", "packet_size", "max_buffers") if not getattr(response, name)]
        if zeros:
            names = " and ".join(name.replace("_", " ") for name in zeros)
            raise UnmetError("values that can be used", f"the connection has {names} 0")
        self.agreed = Agreed(
            buffer_size=response.buffer_size,
            packet_size=response.packet_size,
            burst_size=response.burst_size,
            burst_interval_ms=response.burst_interval_ms,
            max_buffers=response.max_buffers,
            data_checksum=response.data_checksum_on,
            iut_death_timer_s=iut_death_timer_s,
        )
        self.extras.packet_size = self.agreed.packet_size
        self.speak_regularly()

    def speak_regularly(self) -> None:
        assert self.agreed is not None
        death_us = (self.agreed.iut_death_timer_s or self.parameters.death_timer_s) * MICROSECONDS_PER_S
        self._keepalive_us = death_us // 4

    @property
    def terms(self) -> Agreed:
        """The settled parameters, once the connection is open."""
        if self.agreed is None:
            raise UnmetError("an open connection", "it is not open")
        return self.agreed

    def scaled(self, stated_bytes: int) -> int:
        """So many bytes, as the case states them, in the sizes that were proposed."""
        return self.setting.sizes.scaled(stated_bytes)

    def require(self, **least: int) -> None:
        """What the exchange of a case is made of. Either end may choose less, which is legal: then the case runs again
        in sizes that fit, or is N/A."""
        for name, value in least.items():
            agreed, needed = getattr(self.terms, name), self.scaled(value) if name in IN_BYTES else value
            if agreed < needed:
                raise self.too_small(f"both ends agreed on {name} {agreed}, this exchange needs {needed}")

    def too_small(self, text: str) -> SizesError:
        """The exchange of the case is not possible in the agreed sizes."""
        terms = self.terms
        return SizesError(text, self.setting.sizes, Limits(terms.buffer_size, terms.packet_size))

    @property
    def buffer_count(self) -> int:
        return max(1, -(-len(self.data) // self.terms.buffer_size))

    @property
    def pace_us(self) -> int:
        """What a transfer takes at the agreed pace, which may be much slower than was requested: twice that, when each
        buffer begins a new burst, and something for the exchange of messages between the buffers, which may be many."""
        return self.pace_of_us(self.buffer_count)

    @property
    def slowest_pace(self) -> tuple[int, int]:
        """The burst size and interval in ms of the slowest bursts to which a sender of this connection is held."""
        return self.terms.burst_size, self.terms.burst_interval_ms

    def pace_of_us(self, buffers: int) -> int:
        """The same, of so many buffers."""
        buffer_us = tolerances.transfer_time_us(self.terms.packets_per_buffer, *self.slowest_pace)
        return 2 * buffers * buffer_us + max(0, buffers - FEW_BUFFERS) * MICROSECONDS_PER_S

    @property
    def ack_deadline_us(self) -> int:
        return self.tolerances.ack_deadline_us(self.terms.burst_interval_ms) + 2 * self.link.delay_us

    def ms(self, milliseconds: int) -> int:
        return milliseconds * MICROSECONDS_PER_MS

    def is_served(self) -> bool:
        """Whether the implementation does anything for the connection that its RESPONSE has set up (RFC 998 5.1).
        Though its client gives no buffer, a KEEPALIVE comes before the death timer that the tester has declared
        expires (5.2.3)."""

        def acts() -> bool:
            return any(seen.packet.type not in (None, Type.RESPONSE) for seen in self.seen)

        if not acts():
            self.listen(self.parameters.death_timer_s * MICROSECONDS_PER_S)
        return acts()

    # ---- outcome ----

    def expect_success(self, within_us: int | None = None) -> None:
        """The implementation's client gets to know that the transfer succeeded; where that cannot be known, what
        the packets said has to do."""
        if not self.link.tells_outcome:
            return
        within_us = within_us or self.tolerances.close_max_us
        self.until(self._status_known, within_us, "an outcome to be reported to the client", Awaited.SUCCESS)
        if not self.link.status().succeeded:
            raise UnmetError("success to be reported to the client", self.reported())

    def expect_failure(self, within_us: int | None = None, meanwhile: Callable[[], None] | None = None) -> None:
        """The implementation's client gets to know that the transfer failed. `meanwhile` is called often until then."""

        def failed() -> bool:
            if meanwhile is not None and not self._status_known():
                meanwhile()
            return self._status_known()

        within_us = within_us or self.tolerances.close_max_us
        self.until(failed, within_us, "a failure to be reported to the client", Awaited.FAILURE)
        if not self.link.status().failed:
            raise UnmetError("failure to be reported to the client", "success was reported")

    def expect_closed(self, what: str = "the connection to close") -> None:
        """The implementation closes the connection. Only to be called where the link reports it."""
        self.until(lambda: self.link.status().closed, self.tolerances.close_max_us, what, Awaited.CLOSED)

    def _status_known(self) -> bool:
        status = self.link.status()
        return status.succeeded or status.failed
