# SPDX-License-Identifier: GPL-2.0-or-later
"""Openings by packets that no conforming peer sends, and that an implementation has to read all the same: reserved bits
that are set, strings without an end."""

from __future__ import annotations

from collections.abc import Callable

from netblt_conformance.cases.case import Case
from netblt_conformance.common.model import MICROSECONDS_PER_S as S
from netblt_conformance.common.tolerances import QUIET_US
from netblt_conformance.common.verdicts import Verdict
from netblt_conformance.generated import findings
from netblt_conformance.oracles.base import Check
from netblt_conformance.packets.packets import Type
from netblt_conformance.peer import ReceiverPeer, SenderPeer

_RESERVED = 0xFFF0  # bits of the flags
_RETRY_US = 3 * S
# Of an OPEN, whose packet goes on after it.
STRINGS, BEYOND = (b"", b"abcdefgh"), b"beyond!!"
REFUSED_FOR_RESERVED = Check(
    "ROBUST-04",
    expected="reserved bits to be ignored",
    seen="{name} whose reserved bits are set was not accepted",
    verdict=Verdict.WARN,
)
READ_BEYOND = Check(
    "ROBUST-05", expected="the string of the packet", seen="the string reached the client as {string!r}"
)


def _reserved_response(case: Case, peer: ReceiverPeer | SenderPeer) -> bool:
    """The implementation passes it over when it repeats its OPEN."""
    if not peer.opens:
        peer.await_open()
    case.provokes("OPEN-05")  # what was passed over is repeated
    peer.respond(flags=peer.response_values().flags | _RESERVED)
    peer.listen(3 * peer.link.delay_us)
    known = len(peer.opens)
    peer.listen(_RETRY_US)
    if len(peer.opens) > known:
        findings.tell(peer, REFUSED_FOR_RESERVED, peer.opens[-1].frame, name=Type.RESPONSE.text)
    return False


def _reserved_open(case: Case, peer: ReceiverPeer | SenderPeer) -> bool:
    del case
    peer.send_open(flags=peer.opening_values().flags | _RESERVED)
    peer.listen(QUIET_US)
    if not peer.responses:
        findings.tell(peer, REFUSED_FOR_RESERVED, None, name=Type.OPEN.text)
    return False


def _endless(case: Case, peer: ReceiverPeer | SenderPeer, which: int = 0) -> bool:
    """Accepted or dropped; what lies beyond the packet is never read (AMB-03)."""
    del case
    string = STRINGS[which % len(STRINGS)]
    peer.send(peer.forge.opening(Type.OPEN, peer.opening_values(string=string)) + BEYOND)
    peer.listen(QUIET_US)
    delivered = peer.link.peer_string()
    if peer.responses and delivered is not None and not string.decode().startswith(delivered):
        findings.tell(peer, READ_BEYOND, None, string=delivered)
    return False


_Opening = Callable[..., bool]
ACTIVE: dict[str, _Opening] = {"reserved": _reserved_response}
PASSIVE: dict[str, _Opening] = {"reserved": _reserved_open, "endless": _endless}
