# SPDX-License-Identifier: GPL-2.0-or-later
"""Copies of the tester's packets that the network delivers later, whole or damaged."""

from __future__ import annotations

from collections.abc import Callable

from netblt_conformance.cases import replayed
from netblt_conformance.packets import ipv4, packets
from netblt_conformance.packets.packets import DATA_HEADER_BYTES, HEADER_BYTES, Type
from netblt_conformance.peer.base import Peer

Change = Callable[[bytes], bytes]
_RECENT_FRAMES = 40  # of the capture, in which the tester's last packets are looked for
_IDENTIFICATION = slice(4, 6)  # of an IPv4 header


def flipped(packet: bytes, bit: int, *, data_summed: bool) -> bytes:
    """One bit is changed, among those that checksums cover. `bit`: any number from 0."""
    is_data = packet[3] in (Type.DATA, Type.LDATA)
    covered = min(DATA_HEADER_BYTES, len(packet)) if is_data and not data_summed else len(packet)
    changed = bytearray(packet)
    at = bit % (8 * covered)
    changed[at // 8] ^= 0x80 >> at % 8
    return bytes(changed)


def cut(packet: bytes, end: int) -> bytes:
    """The packet ends early. `end`: any number from 0."""
    return packet[: end % len(packet)]


class Copies:
    """The packets that the network may still deliver again. A copy has the IP identification of its original where the
    capture shows what the tester sent, so that the Wireshark plugin recognizes it."""

    def __init__(self, peer: Peer) -> None:
        self._peer = peer

    def recent(self, *types: Type) -> list[int]:
        """Frames of the tester's last packets, the newest first; `types`: only those, or all."""
        frames = self._peer.link.capture.frames
        first = 0 if types else max(0, len(frames) - _RECENT_FRAMES)
        numbers = [number for number in range(len(frames) - 1, first - 1, -1) if frames[number].sent]
        return [number for number in numbers if not types or packets.read(self._payload(number)).type in types]

    def deliver(self, frame: int) -> None:
        """The packet of this frame arrives once more."""
        peer = self._peer
        wire = self._payload(frame)
        copy = self._send(frame, wire, peer.link.capture.frames[frame].packet)
        summed = peer.agreed is not None and peer.agreed.data_checksum
        spelt = peer.setting.spelling.from_wire(peer.setting.dialect.from_wire(wire), summed)
        peer.monitor.sent(packets.read(spelt), peer.link.capture.frames[copy].time_us, copy)

    def deliver_damaged(self, frame: int, change: Change) -> None:
        """A damaged copy of it arrives; no end may take notice of it (CKSUM-06)."""
        original, wire = self._peer.link.capture.frames[frame].packet, self._payload(frame)
        if len(wire) < HEADER_BYTES:
            return  # it is a damaged copy itself
        damaged, datagram = change(wire), ipv4.unwrap(original)
        identification = int.from_bytes(original[_IDENTIFICATION], "big")
        same = ipv4.wrap(damaged, datagram.source, datagram.destination, identification)
        self._send(frame, damaged, same if datagram.protocol == ipv4.NETBLT_PROTOCOL else None)

    def _send(self, frame: int, wire: bytes, captured: bytes | None) -> int:
        link = self._peer.link
        copy = link.send(wire, self._peer.address)
        if not link.real_time and captured is not None:
            link.capture.frames[copy].packet = captured
        link.capture.comment(copy, f"the network delivers frame {frame + 1} again")
        return copy

    def _payload(self, frame: int) -> bytes:
        return replayed.netblt(self._peer.link.capture.frames[frame].packet) or b""
