# SPDX-License-Identifier: GPL-2.0-or-later
"""Which dialect of NETBLT a run plays (--profile).

The suite thinks in the packets of RFC 998. What goes to the implementation and what comes from it is put into the
layout of its dialect at the edge of the peers, as with wire conventions (`spelling.py`); captures hold what was on the
wire. Which requirements hold in a dialect is stated by the catalogue.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from netblt_conformance.catalogue import catalogue
from netblt_conformance.packets import etftp
from netblt_conformance.packets.etftp import Extras


def _same_to_wire(octets: bytes, extras: Extras) -> bytes:
    del extras
    return octets


def _same_from_wire(octets: bytes) -> bytes:
    return octets


@dataclass(frozen=True, slots=True)
class Dialect:
    name: str  # as in the catalogue
    title: str
    to_wire: Callable[[bytes, Extras], bytes] = _same_to_wire
    from_wire: Callable[[bytes], bytes] = _same_from_wire
    server_port: int | None = None  # it is carried in UDP, and this is the passive end's port
    ends_with_quit: bool = False  # the sender quits after the last OK, the receiver answers with DONE
    acknowledges_all: bool = True  # each CONTROL gets its acknowledgement, though there is nothing else to send
    publishes_control_timer: bool = True  # the timer in OK is that of CONTROLs

    def holds(self, requirements: Iterable[str]) -> bool:
        """Whether all of these requirements hold in it; unknown ones are reported elsewhere."""
        return not _foreign(self.name) & set(requirements)

    @property
    def foreign(self) -> frozenset[str]:
        """The requirements that do not hold in it."""
        return _foreign(self.name)

    def udp_ports(self, *, active: bool) -> tuple[int, int] | None:
        """Of the implementation, which may be the active end, and of all others; None: it is carried in IP."""
        if self.server_port is None:
            return None
        return (etftp.CLIENT_PORT, self.server_port) if active else (self.server_port, etftp.CLIENT_PORT)


@functools.cache
def _foreign(name: str) -> frozenset[str]:
    return frozenset(one.id for one in catalogue.requirements().values() if name not in one.dialects)


RFC998 = Dialect("rfc998", "RFC 998")
ETFTP = Dialect(
    "etftp",
    "ETFTP (RFC 1986)",
    etftp.to_wire,
    etftp.from_wire,
    etftp.SERVER_PORT,
    ends_with_quit=True,
    acknowledges_all=False,
    publishes_control_timer=False,
)
BY_NAME = {dialect.name: dialect for dialect in (RFC998, ETFTP)}
