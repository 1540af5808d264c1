# SPDX-License-Identifier: GPL-2.0-or-later
"""Forges NETBLT packets with struct alone, so that nothing under test helps to make its own input, and writes captures
of them."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from netblt_conformance.simlib import LinkType, Record, pcapng_file

OPEN, RESPONSE, KEEPALIVE, QUIT, QUITACK, ABORT, DATA, LDATA, NULL_ACK, CONTROL, REFUSED, DONE = range(12)
# The number of a type is its place, in every dialect; MESSAGE comes after those of RFC 998.
TYPE_NAMES = (
    *("OPEN", "RESPONSE", "KEEPALIVE", "QUIT", "QUITACK", "ABORT", "DATA"),
    *("LDATA", "NULL-ACK", "CONTROL", "REFUSED", "DONE", "MESSAGE"),
)
GO, OK, RESEND = range(3)
NS = 1_000_000_000
LINKTYPE_ETHERNET, LINKTYPE_RAW = LinkType.ETHERNET, LinkType.RAW


def ones_sum(data: bytes) -> int:
    """Ones-complement sum of 16-bit words; a single last byte is summed with a zero byte."""
    if len(data) % 2:
        data += b"\0"
    total = sum(int(word) for word in struct.unpack(f">{len(data) // 2}H", data))
    while total > 0xFFFF:
        total = (total & 0xFFFF) + (total >> 16)
    return total


def checksum(data: bytes) -> int:
    return ~ones_sum(data) & 0xFFFF


def pad4(data: bytes) -> bytes:
    return data + bytes(-len(data) % 4)


def text_field(text: bytes) -> bytes:
    return pad4(text + b"\0")


def packet(kind: int, body: bytes, local: int, foreign: int, *, version: int = 2, covered: int | None = None) -> bytes:
    """A packet with its checksum over the first `covered` bytes (all when None)."""
    head = struct.pack(">BBHHHH", version, kind, 12 + len(body), local, foreign, 0)
    raw = b"\0\0" + head + body
    return struct.pack(">H", checksum(raw[:covered])) + raw[2:]


def open_body(
    uid: int,
    *,
    buffer_size: int = 4096,
    transfer_size: int = 0,
    packet_size: int = 512,
    burst_size: int = 8,
    burst_interval: int = 10,
    death: int = 30,
    write: bool = True,
    data_checksum: bool = False,
    flags: int = 0,
    max_buffers: int = 4,
    client: bytes = b"",
) -> bytes:
    word = flags | int(write) | int(data_checksum) << 1
    fixed = struct.pack(
        ">IIIHHHHHH",
        uid,
        buffer_size,
        transfer_size,
        packet_size,
        burst_size,
        burst_interval,
        death,
        word,
        max_buffers,
    )
    return fixed + text_field(client)


def data_body(buffer: int, high: int, number: int, data: bytes, *, last: bool = False, data_sum: int = 0) -> bytes:
    return struct.pack(">IHHHH", buffer, high & 0xFFFF, number, data_sum, int(last)) + data


def go(seq: int, buffer: int) -> bytes:
    return struct.pack(">BBHI", GO, 0, seq & 0xFFFF, buffer)


def ok(seq: int, buffer: int, burst_size: int = 8, interval: int = 10, timer: int = 100) -> bytes:
    return struct.pack(">BBHIHHHH", OK, 0, seq & 0xFFFF, buffer, burst_size, interval, timer, 0)


def resend(seq: int, buffer: int, numbers: Sequence[int], count: int | None = None) -> bytes:
    n = len(numbers) if count is None else count
    return pad4(
        struct.pack(">BBHIHH", RESEND, 0, seq & 0xFFFF, buffer, n, 0) + struct.pack(f">{len(numbers)}H", *numbers)
    )


def ipv4(
    payload: bytes, source: str, target: str, ip_id: int, *, protocol: int = 30, ttl: int = 64, frag: int = 0
) -> bytes:
    head = struct.pack(
        ">BBHHHBBH4s4s", 0x45, 0, 20 + len(payload), ip_id & 0xFFFF, frag, ttl, protocol, 0, quad(source), quad(target)
    )
    return head[:10] + struct.pack(">H", checksum(head)) + head[12:] + payload


def ipv6(payload: bytes, source: bytes, target: bytes, *, protocol: int = 30) -> bytes:
    return struct.pack(">IHBB16s16s", 6 << 28, len(payload), protocol, 64, source, target) + payload


def udp(payload: bytes, source: int = 9980, target: int = 9980) -> bytes:
    return struct.pack(">HHHH", source, target, 8 + len(payload), 0) + payload


def quad(address: str) -> bytes:
    return bytes(int(part) for part in address.split("."))


@dataclass
class Frame:
    time_ns: int
    data: bytes
    interface: int = 0
    original: int | None = None  # bytes on the wire when the capture cut the frame


def pcapng(frames: Iterable[Frame], *, link: int = LINKTYPE_RAW, interfaces: Sequence[str] = ("tester",)) -> bytes:
    """Nanosecond pcapng with the named interfaces."""
    records = (Record(one.interface, one.time_ns, one.data, original_length=one.original or 0) for one in frames)
    return pcapng_file(interfaces, records, link)


def write_pcapng(
    path: Path, frames: Iterable[Frame], *, link: int = LINKTYPE_RAW, interfaces: Sequence[str] = ("tester",)
) -> Path:
    path.write_bytes(pcapng(frames, link=link, interfaces=interfaces))
    return path


@dataclass
class End:
    """One end of a forged connection: its address, port and IP ID counter."""

    address: str
    port: int
    ip_id: int = 1000
    step: int = 1

    def next_id(self) -> int:
        self.ip_id = (self.ip_id + self.step) & 0xFFFF
        return self.ip_id


@dataclass
class Trace:
    """A forged connection, written packet by packet in capture order, 1 ms apart.

    The active end sends the data (WRITE) unless `write` is false. Every method returns the frame number, from 1."""

    sender: End = field(default_factory=lambda: End("10.0.0.1", 1000, 100))
    receiver: End = field(default_factory=lambda: End("10.0.0.2", 1, 5000))
    frames: list[Frame] = field(default_factory=list)
    time_ns: int = NS
    gap_ns: int = 1_000_000
    uid: int = 0x01020304
    v6: bool = False
    interface: int = 0
    data_checksum: bool = False
    packet_size: int = 512

    def put(
        self,
        payload: bytes,
        by: End,
        to: End,
        *,
        ip_id: int | None = None,
        corrupt: bool = False,
        cut: int | None = None,
    ) -> int:
        """Appends a packet; `corrupt` flips a bit of the header, `cut` limits the captured payload bytes."""
        number = by.next_id() if ip_id is None else ip_id
        if corrupt:
            payload = payload[:7] + bytes([payload[7] ^ 0x10]) + payload[8:]
        if self.v6:
            raw = ipv6(payload, b"\xfd" + bytes(11) + quad(by.address), b"\xfd" + bytes(11) + quad(to.address))
        else:
            raw = ipv4(payload, by.address, to.address, number)
        self.time_ns += self.gap_ns
        original = len(raw)
        if cut is not None:
            raw = raw[: len(raw) - len(payload) + cut]
        self.frames.append(Frame(self.time_ns, raw, self.interface, original))
        return len(self.frames)

    def terms(self) -> dict[str, Any]:
        """Buffers of four packets, more outstanding than any story asks for."""
        return {
            "buffer_size": 4 * self.packet_size,
            "packet_size": self.packet_size,
            "max_buffers": 64,
            "data_checksum": self.data_checksum,
        }

    def open(self, **options: Any) -> int:
        body = open_body(self.uid, **self.terms(), client=b"forged")
        return self.put(packet(OPEN, body, self.sender.port, self.receiver.port), self.sender, self.receiver, **options)

    def response(self, **options: Any) -> int:
        body = open_body(self.uid, **self.terms())
        return self.put(
            packet(RESPONSE, body, self.receiver.port, self.sender.port), self.receiver, self.sender, **options
        )

    def control(self, *messages: bytes, **options: Any) -> int:
        raw = packet(CONTROL, b"".join(messages), self.receiver.port, self.sender.port)
        return self.put(raw, self.receiver, self.sender, **options)

    def data(
        self,
        buffer: int,
        number: int,
        high: int,
        *,
        ldata: bool = False,
        last: bool = False,
        fill: int | None = None,
        **options: Any,
    ) -> int:
        content = bytes([(buffer * 31 + number if fill is None else fill) & 0xFF]) * self.packet_size
        data_sum = checksum(content) if self.data_checksum else 0
        body = data_body(buffer, high, number, content, last=last, data_sum=data_sum)
        raw = packet(LDATA if ldata else DATA, body, self.sender.port, self.receiver.port, covered=24)
        return self.put(raw, self.sender, self.receiver, **options)

    def buffer(
        self, buffer: int, high: int, packets: int = 4, *, skip: Sequence[int] = (), last: bool = False
    ) -> list[int]:
        """All packets of a buffer in order, LDATA last. Those in `skip` were lost upstream: IP IDs are used up."""
        seen = []
        for number in range(packets):
            if number in skip:
                self.sender.next_id()
                continue
            seen.append(self.data(buffer, number, high, ldata=number == packets - 1, last=last))
        return seen

    def null_ack(self, high: int, **options: Any) -> int:
        raw = packet(NULL_ACK, struct.pack(">HHHH", high & 0xFFFF, 8, 10, 0), self.sender.port, self.receiver.port)
        return self.put(raw, self.sender, self.receiver, **options)

    def header_only(self, kind: int, by_sender: bool, **options: Any) -> int:
        by, to = (self.sender, self.receiver) if by_sender else (self.receiver, self.sender)
        return self.put(packet(kind, b"", by.port, to.port), by, to, **options)

    def save(self, path: Path, interfaces: Sequence[str] = ("tester",)) -> Path:
        return write_pcapng(path, self.frames, interfaces=interfaces)


def stories(tellers: Iterable[Callable[[Trace], Any]], start: Callable[..., Trace], **options: Any) -> Iterator[bytes]:
    """The captures of stories that begin alike, for Reader.read_ahead: a start of tshark takes longer than one."""
    for tell in tellers:
        trace = start(**options)
        tell(trace)
        yield pcapng(trace.frames)
