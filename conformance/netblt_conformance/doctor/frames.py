# SPDX-License-Identifier: GPL-2.0-or-later
"""A packet of a capture in one line, for people who look for what goes wrong."""

from __future__ import annotations

from netblt_conformance.common.model import MICROSECONDS_PER_S, address_text
from netblt_conformance.common.words import printable
from netblt_conformance.packets import ipv4, packets
from netblt_conformance.packets.packets import OPENING_TYPES, Packet

_ICMP = 1
_PROTOCOLS = {_ICMP: "ICMP", 6: "TCP"}
# ICMP type 3: what its codes mean.
_UNREACHABLE = {0: "network", 1: "host", 2: "protocol", 3: "port"}
_ICMP_UNREACHABLE = 3
LINE_MAX = 160


def line(number: int, time_us: int, packet: bytes, *, sent: bool) -> str:
    """One line: number as in the capture, time, direction, content."""
    way = "sent    " if sent else "received"
    return f"{number:4} {time_us / MICROSECONDS_PER_S:10.6f} {way} {printable(content(packet), LINE_MAX)}"


def content(packet: bytes) -> str:
    """What an IPv4 packet holds."""
    try:
        datagram = ipv4.unwrap(packet)
    except ipv4.ForeignPacketError as error:
        return f"{len(packet)} bytes: {error}"
    if datagram.fragment:
        return f"IP fragment of {len(datagram.payload)} bytes"
    if datagram.protocol == ipv4.NETBLT_PROTOCOL:
        return netblt(datagram.payload)
    udp = ipv4.unwrap_udp(datagram)
    if udp is not None:
        return f"{netblt(udp.payload)} in UDP {udp.source_port} > {udp.destination_port}"
    if datagram.protocol == _ICMP and datagram.payload[:1] == bytes([_ICMP_UNREACHABLE]):
        code = datagram.payload[1] if len(datagram.payload) > 1 else 0
        return f"ICMP {_UNREACHABLE.get(code, 'destination')} unreachable"
    name = _PROTOCOLS.get(datagram.protocol, f"IP protocol {datagram.protocol}")
    where = f"{address_text(datagram.source)} > {address_text(datagram.destination)}"
    return f"{name}, {len(datagram.payload)} bytes, {where}"


def netblt(payload: bytes) -> str:
    """A NETBLT packet with the fields that a connection is set up with."""
    packet = packets.read(payload)
    if packet.error is None and packet.type in OPENING_TYPES:
        return f"{packet}({_terms(packet)})"
    return str(packet)


def _terms(packet: Packet) -> str:
    return (
        f"ports {packet.local_port} > {packet.foreign_port}, version {packet.version}, buffer {packet.buffer_size}, "
        f"packet {packet.packet_size}, burst {packet.burst_size} per {packet.burst_interval_ms} ms, "
        f"{packet.max_buffers} buffers, M {int(packet.writes)}, C {int(packet.data_checksum_on)}, "
        f"death timer {packet.death_timer_s} s"
    )
