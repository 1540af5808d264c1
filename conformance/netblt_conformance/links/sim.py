# SPDX-License-Identifier: GPL-2.0-or-later
"""The sim link: an implementation as a shared library (conformance/sim/netblt_iut.h), in this process."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from netblt_conformance.common import paths
from netblt_conformance.common.errors import HarnessError, LinkUnavailableError, NotSupportedError
from netblt_conformance.common.model import MICROSECONDS_PER_MS, Digest, Feature, Start, Status, Stop, address_text
from netblt_conformance.links.base import NEVER_US, LinkFactory
from netblt_conformance.links.virtual import DEFAULT_DELAY_US, STORM_PACKETS, Output, SteppedEndpoint, VirtualLink
from netblt_conformance.packets.capture import Capture

if TYPE_CHECKING:
    from netblt_conformance.simlib import Iut, IutLibrary, IutParams

BUILD_HINT = "run tools/build first, or name another library with --iut-library"


def iut_params(start: Start) -> IutParams:
    """What a library is started with."""
    from netblt_conformance.simlib import IutParams

    p = start.parameters
    return IutParams(
        active=start.role.active,
        sender=start.role.sender,
        version_byte=p.version,
        data_checksum=p.data_checksum,
        local_port=start.local_port,
        foreign_port=start.foreign_port,
        buffer_size=p.buffer_size,
        packet_size=p.packet_size,
        burst_size=p.burst_size,
        burst_interval_ms=p.burst_interval_ms,
        death_timer_s=p.death_timer_s,
        max_buffers=p.max_buffers,
        client_stall_from=p.client_stall_from,
        client_stall_until_us=p.client_stall_until_us,
        seed=start.seed,
        local_address=address_text(start.local_address),
        foreign_address=address_text(start.foreign_address),
        client_string=p.client_string,
    )


class SimEndpoint(SteppedEndpoint):
    """One instance of the library."""

    features = frozenset({Feature.CLIENT_STALL, Feature.QUIT, Feature.ABORT})

    def __init__(self, library: IutLibrary) -> None:
        self._library = library
        self._iut: Iut | None = None

    @property
    def _running(self) -> Iut:
        if self._iut is None:
            raise HarnessError("the implementation was not started")
        return self._iut

    def start(self, start: Start, now_us: int) -> list[Output]:
        from netblt_conformance.simlib import IutError

        # A library in this process reads it with getenv(), like any program.
        os.environ["NETBLT_TEST_ID"] = start.test_id
        try:
            self._iut = self._library.start(iut_params(start), start.data, now_us)
        except IutError as error:
            raise NotSupportedError(f"the library does not start {start.role}: {error}") from None
        return self._outputs(now_us)

    def _outputs(self, now_us: int) -> list[Output]:
        outputs: list[Output] = []
        while len(outputs) <= STORM_PACKETS and (output := self._running.output(now_us)) is not None:
            outputs.append(output)
        return outputs

    def packet(self, source: bytes, packet: bytes, now_us: int) -> list[Output]:
        self._running.packet(source, packet, now_us)
        return self._outputs(now_us)

    def advance(self, now_us: int) -> list[Output]:
        self._running.advance(now_us)
        return self._outputs(now_us)

    def stop(self, how: Stop, reason: str, now_us: int) -> list[Output]:
        if not self._running.stop(now_us, reason, abort=how is Stop.ABORT):
            raise NotSupportedError(f"the implementation cannot {how.value} now")
        return self._outputs(now_us)

    def deadline_us(self) -> int:
        deadline = self._running.deadline
        return NEVER_US if deadline is None else deadline

    def status(self) -> Status:
        return self._running.status

    def reason(self) -> str:
        return self._running.reason

    def digest(self) -> Digest:
        return Digest.of(self._running.delivered)

    def peer_string(self) -> str | None:
        return self._running.peer_string

    def close(self) -> None:
        if self._iut is not None:
            self._iut.close()
            self._iut = None


class SimLinkFactory(LinkFactory):
    """Loads the library once; each case gets an instance of its own."""

    name = "sim"
    delay_us: int

    def __init__(self, path: Path, delay_us: int = DEFAULT_DELAY_US) -> None:
        self._path = path
        self.delay_us = delay_us
        self._library: IutLibrary | None = None

    def check(self) -> None:
        if not self._path.is_file():
            raise LinkUnavailableError(f"{self._path} is not there: {BUILD_HINT}")
        try:
            from netblt_conformance.simlib import IutError
        except ImportError as error:
            raise LinkUnavailableError(str(error)) from None
        try:
            self._loaded()
        except IutError as error:
            raise LinkUnavailableError(f"{error}: {BUILD_HINT}") from None

    def _loaded(self) -> IutLibrary:
        from netblt_conformance.simlib import IutLibrary

        if self._library is None:
            self._library = IutLibrary(self._path)
        return self._library

    def testing(self) -> dict[str, str]:
        own = self._path.resolve() == paths.iut_library().resolve()
        name = "netblt reference endpoint" if own else self._path.name
        return {"name": name, "library": str(self._path), "link": self.name}

    @property
    def subject(self) -> Path | None:
        return self._path

    @property
    def schedule(self) -> dict[str, str]:
        return {"delay": f"{self.delay_us / MICROSECONDS_PER_MS:g} ms"}

    def make(self, capture: Capture) -> VirtualLink:
        return VirtualLink("sim", SimEndpoint(self._loaded()), capture, self.delay_us, self.tolerances)
