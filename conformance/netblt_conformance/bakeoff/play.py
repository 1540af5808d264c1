# SPDX-License-Identifier: GPL-2.0-or-later
"""Plays one meeting on real links: starts both ends and the flakeway between them, and waits for the outcome."""

from __future__ import annotations

import contextlib
import random
import select
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from netblt_conformance.adapter.adapter import capped
from netblt_conformance.bakeoff.contestants import Contestant, Contestants
from netblt_conformance.bakeoff.hosts import Network, Relay
from netblt_conformance.bakeoff.model import (
    LISTENER_ADDRESS,
    OPENER_ADDRESS,
    Completion,
    EndReport,
    Meeting,
    Played,
    Transfer,
)
from netblt_conformance.bakeoff.players import Player, player
from netblt_conformance.common.errors import HarnessError, ImplementationError, NotSupportedError
from netblt_conformance.common.model import (
    DEFAULT_UDP_PORT,
    Digest,
    Encapsulation,
    Parameters,
    Role,
    Start,
    Status,
)
from netblt_conformance.links.stamps import StallMeter

LISTENER_PORT, OPENER_PORT = 1, 40_001
# An end that has succeeded may dally before it ends; a peer of one that has failed learns of it by its death timer.
_DALLY_S = 30.0
_LOOK_S = 0.02  # between two looks at programs, which show nothing to wait for
_START_S = 10.0  # the relay runs so much longer than the transfer may


def play(meeting: Meeting, contestants: Contestants, transfer: Transfer, capture: Path) -> Played:
    """LinkUnavailableError when no meeting can be played here; everything else is in what it answers."""
    played, began_s = Played(), time.monotonic()
    pair = meeting.pair
    ends = contestants[pair.opener], contestants[pair.listener]
    meter = StallMeter()
    with Network(meeting.encapsulation, _udp_port(meeting, *ends)) as network:
        try:
            with Relay(network, meeting.path.rules, meeting.seed, capture, meeting.path.limit_s + _START_S) as relay:
                with _Ends(meeting, ends, network, transfer, meter) as both:
                    both.run(played)
                _take_statistics(played, relay)
        except HarnessError as error:
            played.completion, played.why = Completion.ERROR, str(error)
    played.held_up_us = meter.held_up_us
    played.seconds = time.monotonic() - began_s
    return played


def _udp_port(meeting: Meeting, opener: Contestant, listener: Contestant) -> int:
    """Of both ends: the one that an end cannot change, else the listener's."""
    if meeting.encapsulation is Encapsulation.IP:
        return DEFAULT_UDP_PORT
    return opener.udp_port or listener.udp_port or listener.adapter.udp_port


def _take_statistics(played: Played, relay: Relay) -> None:
    found = relay.end()
    ways = found["a_to_b"], found["b_to_a"]
    played.queue_drops = sum(way["dropped_by_queue"] for way in ways)
    played.kernel_drops = sum(way["kernel_drops"] for way in ways)
    played.captured_late_us = max(way["longest_wait_us"] for way in ways)


class _EndError(Exception):
    """An end crashed or hung: why, and which end."""

    def __init__(self, end: int, why: str) -> None:
        super().__init__(why)
        self.end = end


class _Ends:
    """Both ends while they run. A context manager: they are ended, and what their ends show counts."""

    def __init__(
        self,
        meeting: Meeting,
        contestants: tuple[Contestant, Contestant],
        network: Network,
        transfer: Transfer,
        meter: StallMeter,
    ) -> None:
        self._meeting = meeting
        self._names = meeting.pair.opener.name, meeting.pair.listener.name
        self._contestants = contestants
        self._hosts = network.opener, network.listener
        self._meter = meter
        self._data = random.Random(meeting.seed).randbytes(transfer.data_bytes)
        self._parameters = _agreeable(transfer.parameters, contestants)
        self._players: list[Player | None] = [None, None]
        self._reports: list[EndReport | None] = [None, None]

    def __enter__(self) -> _Ends:
        return self

    def __exit__(self, *_: object) -> None:
        for one in self._players:
            if one is not None:
                with contextlib.suppress(ImplementationError, HarnessError):
                    one.close()

    # ---- the meeting ----

    def run(self, played: Played) -> None:
        try:
            self._start()
            self._wait()
            self._settle(played)
            self._close()
        except _EndError as fault:
            played.completion = Completion.FAILED
            played.why = f"{self._names[fault.end]} ({self._role(fault.end)}) {fault}"
            self._reports[fault.end] = EndReport(False, str(fault))
        played.opener, played.listener = self._reports

    def _role(self, end: int) -> Role:
        pair = self._meeting.pair
        return pair.listener_role if end else pair.opener_role

    @contextlib.contextmanager
    def _blamed(self, end: int) -> Iterator[None]:
        """What an end does wrong here is its own fault."""
        try:
            yield
        except ImplementationError as error:
            raise _EndError(end, str(error)) from None
        except NotSupportedError as error:  # it stated otherwise before
            raise _EndError(end, f"refuses what its adapter does not exclude: {error}") from None

    def _start(self) -> None:
        """The passive end first: it listens when the active end opens."""
        for end in (1, 0):
            with self._blamed(end):
                contestant = self._contestants[end]
                one = self._players[end] = player(contestant, self._hosts[end], self._meter)
                one.start(capped(self._start_of(end), contestant.adapter.pics))

    def _start_of(self, end: int) -> Start:
        opener, listener = self._contestants
        role = self._role(end)
        port = listener.port(self._role(1)) or opener.port(self._role(0)) or LISTENER_PORT
        wanted = listener.adapter.roles.get(self._role(1))
        string = wanted.tester_string if wanted is not None and not end else ""
        addresses = _octets(OPENER_ADDRESS), _octets(LISTENER_ADDRESS)
        return Start(
            role=role,
            parameters=replace(self._parameters, client_string=string),
            local_address=addresses[end],
            foreign_address=addresses[1 - end],
            local_port=port if end else OPENER_PORT,
            foreign_port=0 if end else port,
            seed=self._meeting.seed * 2 + end,
            test_id=f"bakeoff {self._meeting.key}",
            data=self._data if role.sender else b"",
        )

    def _wait(self) -> None:
        """Until both ends are closed, or nothing more can come."""
        give_up = time.monotonic() + self._meeting.path.limit_s
        while time.monotonic() < give_up:
            states = self._states()
            if all(state.closed for state in states):
                return
            if all(state.succeeded or state.failed for state in states):
                give_up = min(give_up, time.monotonic() + _DALLY_S)
            self._serve(give_up)

    def _states(self) -> list[Status]:
        found = []
        for end, one in enumerate(self._players):
            assert one is not None
            with self._blamed(end):
                found.append(one.status())
        return found

    def _serve(self, until_s: float) -> None:
        waits = [_LOOK_S, until_s - time.monotonic()]
        descriptors = []
        for one in self._players:
            assert one is not None
            if one.wait_s is not None:
                waits.append(one.wait_s)
            if one.descriptor is not None:
                descriptors.append(one.descriptor)
        select.select(descriptors, [], [], max(0.0, min(waits)))
        for end, one in enumerate(self._players):
            assert one is not None
            with self._blamed(end):
                one.serve()

    # ---- its outcome ----

    def _settle(self, played: Played) -> None:
        states = self._states()
        for end, (one, state) in enumerate(zip(self._players, states, strict=True)):
            assert one is not None
            self._reports[end] = EndReport(state.succeeded, one.reason())
        at = 1 if self._role(0).sender else 0
        receiver = self._players[at]
        assert receiver is not None
        with self._blamed(at):
            digest = receiver.digest()
        played.delivered_bytes = digest.length
        played.intact = digest == Digest.of(self._data)
        problems = [self._problem(end, state) for end, state in enumerate(states)]
        if not played.intact:
            problems.append(f"delivered: {digest}; sent: {Digest.of(self._data)}")
        played.why = "; ".join(filter(None, problems))
        played.completion = Completion.FAILED if played.why else Completion.COMPLETED

    def _problem(self, end: int, state: Status) -> str:
        if state.succeeded:
            return ""
        who, report = f"{self._names[end]} ({self._role(end)})", self._reports[end]
        words = f": {report.text}" if report is not None and report.text else ""
        if state.failed:
            return f"{who} failed{words}"
        return f"{who} was not done after {self._meeting.path.limit_s:g} s (its state: {state.name.lower()}){words}"

    def _close(self) -> None:
        """A sanitizer reports at the end, and so does a crash."""
        for end, one in enumerate(self._players):
            assert one is not None
            self._players[end] = None
            with self._blamed(end):
                one.close()


def _agreeable(parameters: Parameters, contestants: tuple[Contestant, Contestant]) -> Parameters:
    """Data checksums only where both ends have them: a passive end may insist on what its peer cannot do."""
    both = all(one.adapter.pics.data_checksum for one in contestants)
    return replace(parameters, data_checksum=parameters.data_checksum and both)


def _octets(address: str) -> bytes:
    return bytes(map(int, address.split(".")))
