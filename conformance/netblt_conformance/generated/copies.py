# SPDX-License-Identifier: GPL-2.0-or-later
"""Copies of the tester's packets that the network delivers later, whole or damaged."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection

from netblt_conformance.cases import replayed
from netblt_conformance.packets import ipv4, packets
from netblt_conformance.packets.packets import DATA_HEADER_BYTES, Type
from netblt_conformance.peer.base import Peer
from netblt_conformance.wire.fast import data_checksum_ok, sums_to_ffff

Change = Callable[[bytes], bytes]
_RECENT = 6  # packets that the network may still deliver again
DATA_CHECKSUM = slice(20, 22)  # its place in a data packet
_IDENTIFICATION = slice(4, 6)  # of an IPv4 header


def flipped(packet: bytes, bit: int, *, data_summed: bool) -> bytes:
    """One bit is changed, among those that checksums cover. `bit`: any number from 0. Where a checksum is right
    by chance, which may be read to cover the data too (AMB-04), the next bit is changed."""
    changed = _flipped(packet, bit, data_summed=data_summed)
    return flipped(packet, bit + 1, data_summed=data_summed) if _may_be_whole(changed) else changed


def _flipped(packet: bytes, bit: int, *, data_summed: bool) -> bytes:
    is_data = packet[3] in (Type.DATA, Type.LDATA)
    covered = min(DATA_HEADER_BYTES, len(packet)) if is_data and not data_summed else len(packet)
    changed = bytearray(packet)
    at = bit % (8 * covered)
    changed[at // 8] ^= 0x80 >> at % 8
    return bytes(changed)


def _may_be_whole(damaged: bytes) -> bool:
    """A header checksum over everything verifies."""
    return sums_to_ffff(damaged + bytes(len(damaged) % 2))


def spoilt_data(packet: bytes, bit: int) -> bytes:
    """One bit of the data is changed, which the data checksum covers alone; without data, one of that checksum."""
    changed, size = bytearray(packet), len(packets.read(packet).data)
    at = bit % (8 * size) if size else 0
    changed[(DATA_HEADER_BYTES if size else 0) + at // 8] ^= 0x80 >> at % 8
    return bytes(changed)


def zeroed_data(packet: bytes, bit: int) -> bytes:
    """The same, and the data checksum is zero, which the header checksum covers. Where zero is right by chance, or may
    be taken for the other zero (AMB-05), which is right for data that are all zero, the next bit is changed."""
    if not packets.read(packet).data:
        return spoilt_data(packet, bit)
    changed = bytearray(spoilt_data(packet, bit))
    changed[DATA_CHECKSUM] = bytes(2)
    sealed = packets.seal(changed)
    fits = data_checksum_ok(sealed) or not any(packets.read(sealed).data)
    return zeroed_data(packet, bit + 1) if fits else sealed


def zeroed(packet: bytes, bit: int, *, data_summed: bool) -> bytes:
    """The same, and the checksum is zero, as in a protocol where that means that there is none."""
    changed = b"\0\0" + _flipped(packet, bit, data_summed=data_summed)[2:]
    by_chance = packets.read(changed).checksum_good or _may_be_whole(changed)
    return zeroed(packet, bit + 1, data_summed=data_summed) if by_chance else changed


def cut(packet: bytes, end: int) -> bytes:
    """The packet ends early. `end`: any number from 0."""
    return packet[: end % len(packet)]


def _identified_as(packet: bytes, datagram: ipv4.Datagram, payload: bytes) -> bytes:
    """An IPv4 packet with the identification of another one, and the addresses of `datagram`."""
    identification = int.from_bytes(packet[_IDENTIFICATION], "big")
    return ipv4.wrap(payload, datagram.source, datagram.destination, identification)


class Copies:
    """The packets that the network may still deliver again. A copy has the IP identification of its original where the
    capture shows what the tester sent, so that the Wireshark plugin recognizes it."""

    def __init__(self, peer: Peer) -> None:
        self._peer = peer
        sent = range(len(peer.link.capture.frames))
        # Frames that are damaged, or of other connections.
        self._no_originals = {number for number in sent if not self._opened(number)}

    def recent(self) -> list[int]:
        """Frames of the tester's last packets, the newest first: one at least, once it has sent any."""
        frames = self._peer.link.capture.frames
        sent = (number for number in range(len(frames) - 1, -1, -1) if self._is_ours(number))
        return list(itertools.islice(sent, _RECENT))

    def sent_since(self, time_us: int) -> int:
        """How many packets of this connection the tester has sent since then, without KEEPALIVEs."""
        frames = self._peer.link.capture.frames
        newest = itertools.takewhile(lambda number: frames[number].time_us >= time_us, reversed(range(len(frames))))
        ours = (packets.read(self.payload(number)).type for number in newest if self._is_ours(number))
        return sum(one is not Type.KEEPALIVE for one in ours)

    def opening(self) -> int:
        """The frame of the tester's first OPEN or RESPONSE."""
        numbers = [number for number in range(len(self._peer.link.capture.frames)) if self._is_ours(number)]
        openings = (Type.OPEN, Type.RESPONSE)
        return next(number for number in numbers if packets.read(self.payload(number)).type in openings)

    def _opened(self, frame: int) -> bool:
        """Whether it is an OPEN or RESPONSE of the tester for this connection."""
        packet, peer = packets.read(self.payload(frame)), self._peer
        ours = (packet.local_port, packet.foreign_port) == (peer.own_port, peer.iut_port)
        opens = packet.checksum_good and packet.type in (Type.OPEN, Type.RESPONSE)
        return ours and opens and packet.unique_id == peer.unique_id

    def _is_ours(self, frame: int) -> bool:
        return self._peer.link.capture.frames[frame].sent and frame not in self._no_originals

    def send_foreign(self, packet: bytes, source: bytes) -> int:
        """A packet that is none of this connection, or none that the tester could legally send, arrives. Returns its
        frame."""
        frame = self._peer.link.send(packet, source)
        self._no_originals.add(frame)
        return frame

    def deliver(self, frame: int) -> None:
        """The packet of this frame arrives once more."""
        peer = self._peer
        wire = self.payload(frame)
        copy = self._send(frame, wire, peer.link.capture.frames[frame].packet)
        peer.monitor.sent(packets.read(peer.from_wire(wire)), peer.link.capture.frames[copy].time_us, copy)

    def exchange(self, frame: int, later: int) -> None:
        """The network delivers these two in the other order than they were sent: so their IP identifications are
        exchanged, where the capture shows what the tester sent."""
        link = self._peer.link
        frames = [link.capture.frames[number] for number in (frame, later)]
        originals = [one.packet for one in frames]
        datagrams = [ipv4.unwrap(original) for original in originals]
        if link.real_time or any(one.protocol != ipv4.NETBLT_PROTOCOL for one in datagrams):
            return
        for one, datagram, other in zip(frames, datagrams, reversed(originals), strict=True):
            one.packet = _identified_as(other, datagram, datagram.payload)

    def newest(self, kinds: Collection[Type]) -> int | None:
        """The frame of the tester's last packet of these types."""
        frames = range(len(self._peer.link.capture.frames) - 1, -1, -1)
        ours = (number for number in frames if self._is_ours(number))
        return next((number for number in ours if packets.read(self.payload(number)).type in tuple(kinds)), None)

    def deliver_late(self, frame: int) -> None:
        """The packet of this frame arrives when its connection is over: the oracles do not see it as a packet."""
        copy = self._send(frame, self.payload(frame), self._peer.link.capture.frames[frame].packet)
        self._no_originals.add(copy)
        self._peer.monitor.came_late()

    def deliver_damaged(self, frame: int, change: Change) -> None:
        """A damaged copy of it arrives; no end may take notice of it (CKSUM-06)."""
        original, wire = self._peer.link.capture.frames[frame].packet, self.payload(frame)
        damaged, datagram = change(wire), ipv4.unwrap(original)
        same = _identified_as(original, datagram, damaged)
        copy = self._send(frame, damaged, same if datagram.protocol == ipv4.NETBLT_PROTOCOL else None)
        self._no_originals.add(copy)  # two changes could make the checksum right again

    def _send(self, frame: int, wire: bytes, captured: bytes | None) -> int:
        link = self._peer.link
        copy = link.send(wire, self._peer.address)
        if not link.real_time and captured is not None:
            link.capture.frames[copy].packet = captured
        link.capture.comment(copy, f"the network delivers frame {frame + 1} again")
        return copy

    def payload(self, frame: int) -> bytes:
        return replayed.netblt(self._peer.link.capture.frames[frame].packet) or b""
