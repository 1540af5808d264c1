# SPDX-License-Identifier: GPL-2.0-or-later
"""The messages of the pipe link, byte by byte. docs/pipe.md is the specification; this is the suite's half of it."""

from __future__ import annotations

import enum
import struct
from dataclasses import dataclass

from netblt_conformance.common.errors import ImplementationError
from netblt_conformance.common.model import Digest, Start, Status, Stop

PIPE_VERSION = 1
LENGTH = struct.Struct(">I")
ADDRESS_BYTES = 4
# The largest frame is a START with the data of a long transfer; anything above means that the two ends lost step.
FRAME_MAX_BYTES = 64 * 1024 * 1024


class Kind(enum.IntEnum):
    HELLO = 0x01
    START = 0x02
    PACKET = 0x03
    ADVANCE = 0x04
    STOP = 0x05
    REPORT = 0x06
    CLOSE = 0x07
    HELLO_ANSWER = 0x81
    OUTPUT = 0x82
    STATE = 0x83
    REPORT_ANSWER = 0x84
    UNSUPPORTED = 0x85


class FeatureBit(enum.IntFlag):
    """What an endpoint states that it can do, in its HELLO."""

    ACTIVE_SENDER = 1 << 0
    ACTIVE_RECEIVER = 1 << 1
    PASSIVE_SENDER = 1 << 2
    PASSIVE_RECEIVER = 1 << 3
    CLIENT_STALL = 1 << 4
    QUIT = 1 << 5
    ABORT = 1 << 6


class FrameError(ImplementationError):
    """The peer sent something that docs/pipe.md does not allow."""


@dataclass(frozen=True, slots=True)
class Hello:
    version: int
    features: FeatureBit
    name: str


@dataclass(frozen=True, slots=True)
class State:
    deadline_us: int
    status: Status
    reason: str


@dataclass(frozen=True, slots=True)
class Report:
    digest: Digest
    peer_string: str


_HELLO = struct.Struct(">HIH")
_START = struct.Struct(">QBBBBHHIHHHHHHQQ4s4s")
_STATE = struct.Struct(">QBH")
_REPORT = struct.Struct(">Q32sH")


def _text(text: str) -> bytes:
    encoded = text.encode("utf-8")
    return struct.pack(">H", len(encoded)) + encoded


def _rest_as_text(payload: bytes, at: int, length: int, what: str) -> str:
    if at + length != len(payload):
        raise FrameError(
            f"sent a {what} frame whose payload has {len(payload)} bytes; {at} fixed bytes and a text of "
            f"{length} bytes, as its length field states, are {at + length} (see docs/pipe.md)"
        )
    return payload[at:].decode("utf-8", "replace")


def _too_short(what: str, payload: bytes, least: int) -> FrameError:
    return FrameError(
        f"sent a {what} frame whose payload has {len(payload)} bytes; at least {least} are needed (see docs/pipe.md)"
    )


def frame(kind: Kind, payload: bytes = b"") -> bytes:
    return LENGTH.pack(1 + len(payload)) + bytes([kind]) + payload


def hello(name: str) -> bytes:
    return frame(Kind.HELLO, struct.pack(">H", PIPE_VERSION) + _text(name))


def start(what: Start, now_us: int) -> bytes:
    p = what.parameters
    flags = (what.role.active, what.role.sender, p.version, p.data_checksum)
    ports = (what.local_port, what.foreign_port)
    sizes = (p.buffer_size, p.packet_size, p.burst_size, p.burst_interval_ms, p.death_timer_s, p.max_buffers)
    stall = (p.client_stall_from, p.client_stall_until_us)
    fixed = _START.pack(now_us, *flags, *ports, *sizes, *stall, what.seed, what.local_address, what.foreign_address)
    return frame(Kind.START, fixed + _text(p.client_string) + _text(what.test_id) + what.data)


def packet(source: bytes, data: bytes, now_us: int) -> bytes:
    return frame(Kind.PACKET, struct.pack(">Q4s", now_us, source) + data)


def advance(now_us: int) -> bytes:
    return frame(Kind.ADVANCE, struct.pack(">Q", now_us))


def stop(how: Stop, reason: str, now_us: int) -> bytes:
    return frame(Kind.STOP, struct.pack(">QB", now_us, how is Stop.ABORT) + _text(reason))


def parse_hello(payload: bytes) -> Hello:
    if len(payload) < _HELLO.size:
        raise _too_short("HELLO", payload, _HELLO.size)
    version, features, length = _HELLO.unpack_from(payload)
    return Hello(version, FeatureBit(features & 0x7F), _rest_as_text(payload, _HELLO.size, length, "HELLO"))


def parse_output(payload: bytes) -> tuple[bytes, bytes]:
    """Destination address and NETBLT packet."""
    if len(payload) < ADDRESS_BYTES:
        raise _too_short("OUTPUT", payload, ADDRESS_BYTES)
    return payload[:ADDRESS_BYTES], payload[ADDRESS_BYTES:]


def parse_state(payload: bytes) -> State:
    if len(payload) < _STATE.size:
        raise _too_short("STATE", payload, _STATE.size)
    deadline_us, status, length = _STATE.unpack_from(payload)
    if status > max(Status):
        raise FrameError(f"sent a STATE frame with status {status}; 0 to {max(Status)} are defined (see docs/pipe.md)")
    return State(deadline_us, Status(status), _rest_as_text(payload, _STATE.size, length, "STATE"))


def parse_report(payload: bytes) -> Report:
    if len(payload) < _REPORT.size:
        raise _too_short("REPORT", payload, _REPORT.size)
    delivered, sha256, length = _REPORT.unpack_from(payload)
    return Report(Digest(delivered, sha256.hex()), _rest_as_text(payload, _REPORT.size, length, "REPORT"))
