# SPDX-License-Identifier: GPL-2.0-or-later
"""Packets to replay: those of this case again, those of an earlier connection, and rubbish."""

from __future__ import annotations

import random

from netblt_conformance.common import paths
from netblt_conformance.common.errors import NotSupportedError
from netblt_conformance.packets import captures, ipv4, packets
from netblt_conformance.packets.capture import Capture
from netblt_conformance.packets.packets import Packet, Type

GOLDEN = "lossy-transfer"
_LEFT = "left"  # interface of the golden capture on the sender's side


def netblt(packet: bytes) -> bytes | None:
    """The NETBLT packet in an IPv4 packet, directly or in UDP."""
    datagram = ipv4.unwrap(packet)
    if datagram.protocol == ipv4.NETBLT_PROTOCOL:
        return datagram.payload
    udp = ipv4.unwrap_udp(datagram)
    return udp.payload if udp else None


def sent(capture: Capture) -> list[bytes]:
    """Every NETBLT packet that the tester has sent in this case so far."""
    found = [netblt(frame.packet) for frame in capture.frames if frame.sent]
    return [packet for packet in found if packet is not None]


def golden(*, from_sender: bool) -> list[bytes]:
    """What one end of an earlier, finished connection has sent: a golden capture's left end is the sender."""
    emitter = 1 if from_sender else 2
    captured = captures.read(paths.root() / "pcaps" / "golden" / f"{GOLDEN}.pcapng")
    found = [netblt(one.data) for one in captured if one.data[15] == emitter and one.interface.name == _LEFT]
    return [packet for packet in found if packet is not None]


def is_old(packet: Packet, acknowledged: int, buffers: range) -> bool:
    """Whether a live connection can detect that a packet is not of its present: it repeats what is done. Anything else
    could not be distinguished from a live packet, RFC 998 gives connections no names."""
    if packet.error is not None:
        return False
    if packet.type is Type.CONTROL:
        return all(message.seq <= acknowledged for message in packet.messages)
    if packet.is_data:
        return packet.buffer in buffers and packet.high_seq <= acknowledged
    if packet.type is Type.NULL_ACK:
        return packet.high_seq <= acknowledged
    return packet.type is Type.KEEPALIVE


def stale(ports: tuple[int, int], acknowledged: int, buffers: range, *, from_sender: bool) -> list[bytes]:
    """The packets of an earlier connection that a live one with these ports (the tester's, the implementation's) must
    see through."""
    from netblt_conformance.links.replay import rewrite

    old = [raw for raw in golden(from_sender=from_sender) if is_old(packets.read(raw), acknowledged, buffers)]
    return [rewrite(raw, *ports) for raw in old]


def storm(ports: tuple[int, int], acknowledged: int, buffers: range, *, from_sender: bool) -> list[bytes]:
    """What is stale, where there is enough of it: the implementation chooses the numbers (AMB-09), and the capture is
    what it is."""
    found = stale(ports, acknowledged, buffers, from_sender=from_sender)
    if len(found) < 2:
        raise NotSupportedError(
            f"the earlier connection has no buffers that are old where they begin at {buffers.start}"
        )
    return found


def rubbish(ports: tuple[int, int], seed: random.Random, *, from_sender: bool) -> list[bytes]:
    """Damaged packets of an earlier connection, for a flood: every one must be dropped (CKSUM-06, ROBUST-01)."""
    from netblt_conformance.links.replay import rewrite

    found = []
    for raw in golden(from_sender=from_sender):
        packet = rewrite(raw, *ports)
        flipped = bytearray(packet)
        flipped[seed.randrange(12)] ^= 1 << seed.randrange(8)
        found += [bytes(flipped), packet[: seed.randrange(1, 12)], seed.randbytes(len(packet))]
    return found
