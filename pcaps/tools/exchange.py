# SPDX-License-Identifier: GPL-2.0-or-later
"""A transfer written packet by packet, and captured at one point of its path.

A script states what each end emits. Whatever it emits takes the next IP ID of its end, so the order of emission can be
seen in the capture; `unseen` and `held` let a packet miss the capture or pass it late. What a reader of the capture
must find is written down by the script, which knows the packet that it made wrong and why the others are right.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from typing import Any

from netblt_conformance.simlib import Record, pcapng_file

from pcaps.tools.octets import Message, Packet, checksum, control, data, null_ack, packet, setup

IP_PROTOCOL = 30
UDP_PROTOCOL = 17
START_NS = 563_000_000 * 10**9  # November 1987
STEP_NS = 2_500_000  # between packets: four of them take one burst interval, half of what the burst size allows
SENDER, RECEIVER = "sender", "receiver"
ADDRESSES = {SENDER: bytes([10, 0, 0, 1]), RECEIVER: bytes([10, 0, 0, 2])}
ADDRESS_TEXTS = {end: ".".join(str(octet) for octet in address) for end, address in ADDRESSES.items()}
PORTS = {SENDER: 1024, RECEIVER: 1}
FIRST_ID = {SENDER: 0x1000, RECEIVER: 0x7000}
PACKET_BYTES = 64
PACKETS_PER_BUFFER = 4
BURST = {"burst_size": 8, "burst_interval_ms": 10}


def peer_of(end: str) -> str:
    """The peer of an end."""
    return RECEIVER if end == SENDER else SENDER


@dataclass
class Frame:
    """A packet on its way; `number` is its place in the capture, 0 until it is captured."""

    emitter: str
    octets: bytes
    comment: str | None
    number: int = 0


@dataclass
class Exchange:
    """One transfer of `buffers` buffers from the sender to the receiver."""

    about: str
    buffers: int
    active: str = SENDER
    climbing_ids: bool = True
    records: list[Record] = field(default_factory=list)
    findings: list[dict[str, Any]] = field(default_factory=list)
    tolerated: list[dict[str, Any]] = field(default_factory=list)
    emitted: dict[str, int] = field(default_factory=lambda: {SENDER: 0, RECEIVER: 0})
    now_ns: int = START_NS
    capture_position: str | None = None  # a reader must know that the capture is at this end

    def emit(self, emitter: str, content: Packet, comment: str | None = None) -> Frame:
        """Puts a packet on its way without capturing it."""
        identification = FIRST_ID[emitter] + self.emitted[emitter] if self.climbing_ids else 0
        self.emitted[emitter] += 1
        self.now_ns += STEP_NS
        return Frame(emitter, self.carried(emitter, identification, content.octets), comment)

    def carried(self, emitter: str, identification: int, octets: bytes) -> bytes:
        """The packet in IPv4."""
        peer = peer_of(emitter)
        return ipv4_header(ADDRESSES[emitter], ADDRESSES[peer], identification, len(octets)) + octets

    def capture(self, frame: Frame, comment: str | None = None) -> Frame:
        """The frame passes the capture point; a second time it is a network's duplicate."""
        self.now_ns += STEP_NS // 4
        self.records.append(Record(0, self.now_ns, frame.octets, comment or frame.comment))
        frame.number = len(self.records)
        return frame

    def capture_fragments(self, frame: Frame, first_bytes: int) -> Frame:
        """The frame passes the capture point as two IP fragments; its number is the second one's."""
        header, payload = frame.octets[:20], frame.octets[20:]
        for start, end, more in ((0, first_bytes, True), (first_bytes, len(payload), False)):
            self.now_ns += STEP_NS // 8
            octets = ipv4_fragment(header, payload[start:end], start, more=more)
            self.records.append(Record(0, self.now_ns, octets, frame.comment))
        frame.number = len(self.records)
        return frame

    def wait(self, milliseconds: int) -> None:
        """Nothing happens for a while."""
        self.now_ns += milliseconds * 1_000_000

    def ports(self, emitter: str) -> dict[str, Any]:
        """Header fields of this emitter."""
        peer = peer_of(emitter)
        return {"local_port": PORTS[emitter], "foreign_port": PORTS[peer]}

    def open(self, captured: bool = True) -> None:
        """OPEN and RESPONSE, accepted as proposed."""
        passive = peer_of(self.active)
        proposal: dict[str, Any] = {
            "unique_id": 0x0998_0030,
            "buffer_size": PACKET_BYTES * PACKETS_PER_BUFFER,
            "packet_size": PACKET_BYTES,
            "max_buffers": 8,
            "write": self.active == SENDER,
            **BURST,
        }
        for emitter, name in ((self.active, "OPEN"), (passive, "RESPONSE")):
            frame = self.emit(emitter, setup(name, **proposal, **self.ports(emitter)))
            if captured:
                self.capture(frame)

    def queue(self, *messages: Message, comment: str | None = None) -> Frame:
        """The receiver emits a CONTROL; not captured yet."""
        return self.emit(RECEIVER, control(list(messages), **self.ports(RECEIVER)), comment)

    def says(self, *messages: Message, comment: str | None = None) -> Frame:
        """The receiver emits a CONTROL."""
        return self.capture(self.queue(*messages, comment=comment))

    def part(self, buffer: int, number: int, ack: int, comment: str | None = None) -> Frame:
        """The sender emits packet `number` of a buffer, acknowledging up to `ack`; not captured yet."""
        name = "LDATA" if number == PACKETS_PER_BUFFER - 1 else "DATA"
        start = (buffer * PACKETS_PER_BUFFER + number) * PACKET_BYTES
        octets = bytes((start + offset) * 5 % 251 for offset in range(PACKET_BYTES))
        last = buffer == self.buffers - 1
        content = data(name, octets, buffer=buffer, number=number, high_seq=ack, last_buffer=last, **self.ports(SENDER))
        return self.emit(SENDER, content, comment)

    def sends(self, buffer: int, *numbers: int, ack: int, comment: str | None = None) -> list[Frame]:
        """The sender emits these packets of a buffer, or all of them."""
        wanted = numbers or range(PACKETS_PER_BUFFER)
        return [self.capture(self.part(buffer, number, ack, comment)) for number in wanted]

    def acks(self, high_seq: int, comment: str | None = None) -> Frame:
        """The sender emits a NULL-ACK."""
        return self.capture(self.emit(SENDER, null_ack(high_seq, **BURST, **self.ports(SENDER)), comment))

    def done(self) -> None:
        """The receiver has everything and every acknowledgement."""
        self.capture(self.emit(RECEIVER, packet("DONE", **self.ports(RECEIVER))))

    def wrong(self, requirement: str, offence: Frame, role: str, proof: list[Frame]) -> None:
        """The script made `offence` wrong; `proof` are the frames that leave no other explanation."""
        self.findings.append(
            {
                "frame": offence.number,
                "requirement": requirement,
                "verdict": "violation",
                "offender_role": role,
                "offender_address": ADDRESS_TEXTS[role],
                "proven_by": [frame.number for frame in proof],
            }
        )

    def doubtful(self, requirement: str, look_alike: Frame, role: str, others: list[Frame] | None = None) -> None:
        """A reader may suspect one of these frames, and must not report more."""
        self.tolerated.append(
            {
                "frame": look_alike.number,
                "requirement": requirement,
                "verdict": "suspected",
                "offender_role": role,
                "offender_address": ADDRESS_TEXTS[role],
                "proven_by": [frame.number for frame in others or []],
            }
        )

    def looks_like(self, requirement: str, frame: Frame, role: str) -> None:
        """It must be suspected and nothing more: what would excuse it need not be visible."""
        self.wrong(requirement, frame, role, [])
        self.findings[-1]["verdict"] = "suspected"

    def pcapng(self) -> bytes:
        """The capture file."""
        return pcapng_file(["tester"], self.records)

    def expectation(self) -> dict[str, Any]:
        """What must be found in it, and what may be."""
        position = {} if self.capture_position is None else {"capture_position": self.capture_position}
        return {
            "about": self.about,
            "packets": len(self.records),
            **position,
            "findings": self.findings,
            "tolerated": self.tolerated,
        }


def ipv4_header(
    source: bytes, destination: bytes, identification: int, payload_bytes: int, protocol: int = IP_PROTOCOL
) -> bytes:
    """Twenty bytes, TTL 64, may be fragmented."""
    fixed = struct.pack(">BBHHHBBH", 0x45, 0, 20 + payload_bytes, identification, 0, 64, protocol, 0)
    value = checksum(fixed + source + destination)
    return fixed[:10] + struct.pack(">H", value) + source + destination


def udp_in_ipv4(
    source: bytes, destination: bytes, identification: int, ports: tuple[int, int], payload: bytes
) -> bytes:
    """A datagram without a UDP checksum."""
    udp = struct.pack(">HHHH", *ports, 8 + len(payload), 0) + payload
    return ipv4_header(source, destination, identification, len(udp), UDP_PROTOCOL) + udp


def ipv4_fragment(header: bytes, payload: bytes, offset: int, *, more: bool) -> bytes:
    """A part of a datagram under its header; the offset is a multiple of eight."""
    flags = (0x2000 if more else 0) | offset // 8
    fixed = header[:2] + struct.pack(">HHH", 20 + len(payload), int.from_bytes(header[4:6], "big"), flags)
    blank = fixed + header[8:10] + b"\0\0" + header[12:20]
    return blank[:10] + struct.pack(">H", checksum(blank)) + blank[12:] + payload
