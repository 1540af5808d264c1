# SPDX-License-Identifier: GPL-2.0-or-later
"""Writes captures for the benchmark: NETBLT, TCP and SCTP transfers of equal packet count and equal size in bytes.

TCP acknowledges every second segment, SCTP every second DATA; NETBLT needs one CONTROL for a buffer of 10 packets, so
its data packets are smaller: the same number of packets carries the same number of bytes. `netblt-control` is the other
extreme, buffers of two packets: a CONTROL (OK and GO) for every second data packet of full size.
"""

from __future__ import annotations

import argparse
import struct
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Protocol

from scapy.utils import RawPcapWriter

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from dissector.tests import forge

DATA_BYTES = 1400  # of the client, in data packets of TCP and SCTP
STEP_US = 12  # between packets: 10 Gb/s at 1460 bytes
Packet = tuple[bytes, bool]  # an IP payload, sent by the sender of the data?


def addresses(connection: int) -> tuple[bytes, bytes]:
    high, low = divmod(connection, 250)
    return bytes((10, 1, high, low + 1)), bytes((10, 2, high, low + 1))


class Ip:
    """Puts payloads into IPv4 with identifications that count, as Linux does per flow."""

    def __init__(self, protocol: int, connection: int) -> None:
        self.protocol = protocol
        self.pair = addresses(connection)
        self.ids = [connection * 7 & 0xFFFF, connection * 11 & 0xFFFF]

    def wrap(self, payload: bytes, by_sender: bool) -> bytes:
        end = 0 if by_sender else 1
        self.ids[end] = self.ids[end] + 1 & 0xFFFF
        source, target = self.pair[end], self.pair[1 - end]
        length = 20 + len(payload)
        head = struct.pack(
            ">BBHHHBBH4s4s", 0x45, 0, length, self.ids[end], 0x4000, 64, self.protocol, 0, source, target
        )
        return head[:10] + struct.pack(">H", forge.checksum(head)) + head[12:] + payload


class Netblt:
    """A transfer without loss or violation: buffers of 10 packets, 4 of them outstanding."""

    buffer_packets, data_bytes, outstanding = 10, 1034, 4
    # Bursts as large as the spacing of the packets allows, so that the transfer is not faster than agreed.
    burst_size, burst_interval_ms = 100, 1

    def __init__(self, connection: int) -> None:
        self.here, self.there = 1024 + connection % 50000, 1
        self.uid = 0x10000000 + connection
        self.content = bytes(range(256)) * (self.data_bytes // 256) + bytes(self.data_bytes % 256)
        self.data_sum = forge.checksum(self.content)

    def data(self, buffer: int, number: int, high: int) -> bytes:
        kind = forge.LDATA if number == self.buffer_packets - 1 else forge.DATA
        body = forge.data_body(buffer, high, number, b"", data_sum=self.data_sum)
        head = struct.pack(">BBHHHH", 2, kind, 24 + self.data_bytes, self.here, self.there, 0)
        return struct.pack(">H", forge.checksum(b"\0\0" + head + body)) + head + body + self.content

    def control(self, *messages: bytes) -> bytes:
        return forge.packet(forge.CONTROL, b"".join(messages), self.there, self.here)

    def opening(self, kind: int, client: bytes) -> bytes:
        size = self.buffer_packets * self.data_bytes
        body = forge.open_body(
            self.uid,
            buffer_size=size,
            packet_size=self.data_bytes,
            data_checksum=True,
            max_buffers=self.outstanding,
            client=client,
            burst_size=self.burst_size,
            burst_interval=self.burst_interval_ms,
        )
        ends = (self.here, self.there) if kind == forge.OPEN else (self.there, self.here)
        return forge.packet(kind, body, *ends)

    def packets(self) -> Iterator[Packet]:
        yield self.opening(forge.OPEN, b"bench"), True
        yield self.opening(forge.RESPONSE, b""), False
        seq = self.outstanding
        yield self.control(*(forge.go(1 + buffer, buffer) for buffer in range(self.outstanding))), False
        buffer = 0
        while True:
            for number in range(self.buffer_packets):
                yield self.data(buffer, number, seq), True
            ok = forge.ok(seq + 1, buffer, self.burst_size, self.burst_interval_ms, 100)
            yield self.control(ok, forge.go(seq + 2, buffer + self.outstanding)), False
            seq += 2
            buffer += 1


class NetbltControl(Netblt):
    """Every third packet is a CONTROL."""

    buffer_packets, data_bytes = 2, DATA_BYTES


class Tcp:
    """One flow, ACK every 2 segments."""

    def __init__(self, connection: int) -> None:
        self.ports = (20000 + connection % 40000, 5001)
        self.content = bytes(DATA_BYTES)

    def segment(
        self, by_sender: bool, seq: int, ack: int, flags: int, content: bytes = b"", options: bytes = b""
    ) -> bytes:
        source, target = self.ports if by_sender else self.ports[::-1]
        offset = (20 + len(options)) // 4 << 4
        head = struct.pack(">HHIIBBHHH", source, target, seq & 0xFFFFFFFF, ack & 0xFFFFFFFF, offset, flags, 65535, 0, 0)
        return head + options + content

    def packets(self) -> Iterator[Packet]:
        stamp = b"\x01\x01\x08\x0a" + bytes(8)
        yield self.segment(True, 999, 0, 2, options=b"\x02\x04\x05\xb4"), True
        yield self.segment(False, 4999, 1000, 0x12, options=b"\x02\x04\x05\xb4"), False
        yield self.segment(True, 1000, 5000, 0x10, options=stamp), True
        seq = 1000
        while True:
            for _ in range(2):
                yield self.segment(True, seq, 5000, 0x10, self.content, stamp), True
                seq += DATA_BYTES
            yield self.segment(False, 5000, seq, 0x10, options=stamp), False


class Sctp:
    """One association, SACK every 2 DATA."""

    def __init__(self, connection: int) -> None:
        self.ports = (20000 + connection % 40000, 5001)
        self.content = bytes(DATA_BYTES)

    def packet(self, by_sender: bool, tag: int, chunk: bytes) -> bytes:
        source, target = self.ports if by_sender else self.ports[::-1]
        return struct.pack(">HHII", source, target, tag, 0) + chunk

    def packets(self) -> Iterator[Packet]:
        init = struct.pack(">IIHHI", 0xA, 1 << 20, 10, 10, 1000)
        answer = struct.pack(">IIHHI", 0xB, 1 << 20, 10, 10, 5000) + struct.pack(">HHI", 7, 8, 1)
        yield self.packet(True, 0, struct.pack(">BBH", 1, 0, 4 + len(init)) + init), True
        yield self.packet(False, 0xA, struct.pack(">BBH", 2, 0, 4 + len(answer)) + answer), False
        yield self.packet(True, 0xB, struct.pack(">BBHI", 10, 0, 8, 1)), True
        yield self.packet(False, 0xA, struct.pack(">BBH", 11, 0, 4)), False
        tsn = 1000
        while True:
            for _ in range(2):
                head = struct.pack(">BBHIHHI", 0, 3, 16 + DATA_BYTES, tsn, 0, tsn - 1000 & 0xFFFF, 0)
                yield self.packet(True, 0xB, head + self.content), True
                tsn += 1
            yield self.packet(False, 0xA, struct.pack(">BBHIIHH", 3, 0, 16, tsn - 1, 1 << 20, 0, 0)), False


class Plain:
    """An IP protocol without a dissector: the baseline of memory and time."""

    def __init__(self, connection: int) -> None:
        self.large, self.small = bytes(DATA_BYTES + 24), bytes(32)
        self.connection = connection

    def packets(self) -> Iterator[Packet]:
        while True:
            yield self.large, True
            yield self.large, True
            yield self.small, False


class Transfer(Protocol):
    def packets(self) -> Iterator[Packet]: ...


KINDS: dict[str, Callable[[int], Transfer]] = {
    "netblt": Netblt,
    "netblt-control": NetbltControl,
    "tcp": Tcp,
    "sctp": Sctp,
    "plain": Plain,
}
PROTOCOLS = {"netblt": 30, "netblt-control": 30, "tcp": 6, "sctp": 132, "plain": 253}


def write(path: Path, kind: str, packets: int, connections: int, turn: int = 10) -> None:
    """The connections take turns, of so many packets. A pcap file: too large for the memory of the pcapng writer."""
    sources = [(Ip(PROTOCOLS[kind], number), KINDS[kind](number).packets()) for number in range(connections)]
    with RawPcapWriter(str(path), linktype=forge.LINKTYPE_RAW) as out:
        out.write_header(None)
        for number in range(packets):
            ip, source = sources[number // turn % connections]
            seconds, microseconds = divmod(number * STEP_US, 1_000_000)
            out.write_packet(ip.wrap(*next(source)), sec=1_700_000_000 + seconds, usec=microseconds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("file", type=Path)
    parser.add_argument("--packets", type=int, default=500_000)
    parser.add_argument("--connections", type=int, default=1)
    parser.add_argument("--turn", type=int, default=10, help="packets of one connection in a row (%(default)s)")
    arguments = parser.parse_args()
    write(arguments.file, arguments.kind, arguments.packets, arguments.connections, arguments.turn)


if __name__ == "__main__":
    main()
