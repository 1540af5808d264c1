# SPDX-License-Identifier: GPL-2.0-or-later
"""Peculiarities of a tester that an implementation has to cope with, or should: reserved bits that are set in each
packet, and buffer numbers in steps. They are changes of what is on the wire: peer and oracles see a usual transfer."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass

from netblt_conformance.cases.case import Case
from netblt_conformance.common.verdicts import Verdict
from netblt_conformance.generated import findings
from netblt_conformance.generated.script import PADDED, PECULIAR, STEPS, Script
from netblt_conformance.packets import fuzz, packets
from netblt_conformance.packets.packets import Type
from netblt_conformance.packets.reserved import reserved_set
from netblt_conformance.packets.spelling import PLAIN, Spelling
from netblt_conformance.peer import ReceiverPeer, SenderPeer
from netblt_conformance.peer.exchange import UnmetError

# Without a factor of two: numbers that are far from each other stay so modulo 2^32.
STEP = (3, 257, 65_537)
_BUFFERS = 1 << 32
_BUFFERS_MAX = 1_100  # of a script
_NUMBERS = ("DATA-01", "DATA-06")  # hold whatever numbers the GOs have
_REQUIREMENTS = {PADDED: "ROBUST-04", STEPS: "DATA-06"}
_ABOUT = {PADDED: "with all reserved bits set", STEPS: "with buffer numbers in steps (AMB-47)"}


@dataclass(frozen=True, slots=True)
class _Padded(Spelling):
    """Reserved bits and padding are set in all that the tester sends."""

    inner: Spelling = PLAIN

    def to_wire(self, octets: bytes, summed: bool) -> bytes:
        return self.inner.to_wire(reserved_set(octets), summed)

    def from_wire(self, octets: bytes, summed: bool) -> bytes:
        return self.inner.from_wire(octets, summed)


@dataclass(frozen=True, slots=True)
class _Steps(Spelling):
    """The numbers of buffers go up by more than one."""

    inner: Spelling = PLAIN
    first: int = 0
    step: int = 1

    def to_wire(self, octets: bytes, summed: bool) -> bytes:
        return self.inner.to_wire(self._numbered(octets, self._far), summed)

    def from_wire(self, octets: bytes, summed: bool) -> bytes:
        return self._numbered(self.inner.from_wire(octets, summed), self._near)

    def _far(self, number: int) -> int:
        return (self.first + (number - self.first) * self.step) % _BUFFERS

    def _near(self, number: int) -> int:
        """The buffer that has this number on the wire. A number that no buffer has stays one: it is far away."""
        steps, left = divmod((number - self.first) % _BUFFERS, self.step)
        return (self.first + (steps if not left else _BUFFERS // 2 + steps)) % _BUFFERS

    @staticmethod
    def _numbered(octets: bytes, changed: Callable[[int], int]) -> bytes:
        packet = packets.read(octets)
        if packet.error is not None or not (packet.is_data or packet.type is Type.CONTROL):
            return octets
        raw = bytearray(octets)
        for name, at, size in fuzz.fields_of(octets):
            if name.endswith(".buffer"):
                raw[at : at + size] = changed(int.from_bytes(raw[at : at + size], "big")).to_bytes(size, "big")
        return packets.seal(raw)


def connect(peer: ReceiverPeer | SenderPeer, script: Script) -> None:
    """Gives the tester the peculiarity of the script, before it sends anything."""
    for one in script.opening:
        spelling = peer.setting.spelling
        if one.name == PADDED:
            peer.setting = dataclasses.replace(peer.setting, spelling=_Padded(inner=spelling))
            findings.forgive(peer)
        elif one.name == STEPS and isinstance(peer, ReceiverPeer):
            step, first = STEP[sum(one.numbers) % len(STEP)], peer.first_buffer
            if first + _BUFFERS_MAX * step < _BUFFERS:  # numbers increase
                spelling = _Steps(inner=spelling, first=first, step=step)
                peer.setting = dataclasses.replace(peer.setting, spelling=spelling)
                findings.forgive(peer, kept=_NUMBERS)


def concluded(case: Case, script: Script, unmet: UnmetError) -> bool:
    """Whether a peculiarity explains what did not come: then it is a WARN of the requirement that the peculiarity is
    about."""
    names = [one.name for one in script.opening if one.name in PECULIAR]
    if not names:
        return False
    seen = f"{unmet.seen} (awaited: {unmet.expected})"
    expected = f"a transfer {_ABOUT[names[0]]}"
    findings.accuse(case, Verdict.WARN, _REQUIREMENTS[names[0]], seen, unmet.frame, expected)
    return True
