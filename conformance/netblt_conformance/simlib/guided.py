# SPDX-License-Identifier: GPL-2.0-or-later
"""Parts of the reference core whose choices are made from outside (conformance/guided/guided.h), for Python."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cffi

from netblt_conformance.common import paths

_LIBRARY = "libnetblt_guided.so"
_OUTPUT_BYTES = 65536 + 4  # the largest packet, padded
_MESSAGES_MOST = 65536 // 8

FAULT_CHECKSUM = 4
_FAULTS = {1: "it is shorter than a header", 2: "its Length does not fit", 3: "its type does not exist"}

OPEN, RESPONSE, KEEPALIVE, QUIT, QUITACK, ABORT, DATA, LDATA, NULL_ACK, CONTROL, REFUSED, DONE = range(12)
GO, OK, RESEND = range(3)


def _declarations() -> str:
    """What cffi reads of the header: all of it but comments and preprocessor lines."""
    text = (paths.guided_sources() / "guided.h").read_text(encoding="utf-8")
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    return "\n".join(line for line in text.splitlines() if not line.startswith("#"))


def _library() -> Path:
    return paths.build() / "lib" / _LIBRARY


def is_built() -> bool:
    """Whether there is something to load."""
    return _library().is_file()


@functools.cache
def _loaded() -> tuple[Any, Any]:
    path = _library()
    if not is_built():
        raise ImportError(f"{path} has not been built: run tools/build")
    ffi = cffi.FFI()
    ffi.cdef(_declarations())
    return ffi, ffi.dlopen(str(path))


@dataclass(frozen=True, slots=True)
class Message:
    """One control message, as the core reads it."""

    type: int
    seq: int
    buffer: int
    burst_size: int = 0
    burst_interval_ms: int = 0
    control_timer_ms: int = 0
    packets: tuple[int, ...] = ()

    @property
    def identity(self) -> tuple[int, int, tuple[int, ...]]:
        """What a repetition does not change; an OK may carry a newer offer."""
        return self.type, self.buffer, self.packets

    def __str__(self) -> str:
        name = ("GO", "OK", "RESEND")[self.type]
        listed = ": " + ",".join(map(str, self.packets)) if self.type == RESEND else ""
        return f"#{self.seq} {name}({self.buffer}{listed})"


@dataclass(frozen=True, slots=True)
class Read:
    """A packet as the core reads it; see guided.h."""

    raw: bytes
    fault: int  # 0, or guided.h's number
    type: int = -1
    version: int = 0
    length: int = 0
    local_port: int = 0
    foreign_port: int = 0
    unique_id: int = 0
    buffer_size: int = 0
    transfer_size: int = 0
    packet_size: int = 0
    burst_size: int = 0
    burst_interval_ms: int = 0
    death_timer_s: int = 0
    max_buffers: int = 0
    flags: int = 0
    buffer: int = 0
    high_seq: int = 0
    packet: int = 0
    data_checksum: int = 0
    data_length: int = 0
    messages: tuple[Message, ...] = ()
    cut: bool = False  # CONTROL: bytes follow that are no message

    @property
    def readable(self) -> bool:
        """All fields have a meaning, whatever the checksum."""
        return self.fault in (0, FAULT_CHECKSUM)

    @property
    def is_data(self) -> bool:
        return self.type in (DATA, LDATA)

    @property
    def why(self) -> str:
        """Why the core cannot read it."""
        return _FAULTS.get(self.fault, "")


_FIELDS = (
    "type",
    "version",
    "length",
    "local_port",
    "foreign_port",
    "unique_id",
    "buffer_size",
    "transfer_size",
    "packet_size",
    "burst_size",
    "burst_interval_ms",
    "death_timer_s",
    "max_buffers",
    "flags",
    "buffer",
    "high_seq",
    "packet",
    "data_checksum",
    "data_length",
)


@functools.lru_cache(maxsize=4096)
def read(raw: bytes) -> Read:
    """The packet at the front of these bytes."""
    ffi, lib = _loaded()
    found = ffi.new("guided_packet *")
    fault = int(lib.guided_read(raw, len(raw), found))
    if fault not in (0, FAULT_CHECKSUM):
        return Read(raw, fault)
    fields: dict[str, Any] = {name: int(getattr(found, name)) for name in _FIELDS}
    if fields["type"] != CONTROL:
        return Read(raw, fault, **fields)
    messages, cut = _messages(raw, fields["length"])
    return Read(raw, fault, **fields, messages=messages, cut=cut)


def _messages(raw: bytes, length: int) -> tuple[tuple[Message, ...], bool]:
    ffi, lib = _loaded()
    most = min(_MESSAGES_MOST, length // 8 + 1)
    found, cut = ffi.new("guided_message[]", most), ffi.new("bool *")
    c_raw = ffi.from_buffer(raw)
    count = int(lib.guided_messages(c_raw, len(raw), found, most, cut))
    return tuple(_message(raw, found[number]) for number in range(count)), bool(cut[0])


def _message(raw: bytes, found: Any) -> Message:
    begin = int(found.packets_at)
    listed = raw[begin : begin + 2 * int(found.count)] if found.count else b""
    packets = tuple(int.from_bytes(listed[i : i + 2], "big") for i in range(0, len(listed), 2))
    offer = (int(found.burst_size), int(found.burst_interval_ms), int(found.control_timer_ms))
    return Message(int(found.type), int(found.seq), int(found.buffer), *offer, packets)


def rewrite(raw: bytes, *, data_checksum: bool) -> bytes:
    """What the core sends with the fields of this packet; empty where it cannot write it."""
    ffi, lib = _loaded()
    out = ffi.new("uint8_t[]", _OUTPUT_BYTES)
    length = int(lib.guided_rewrite(raw, len(raw), data_checksum, out))
    return bytes(ffi.buffer(out, length))


def respond(opening: bytes, response: bytes) -> Read:
    """The RESPONSE of a core whose limits are the values of `response`: both packets are readable."""
    ffi, lib = _loaded()
    out = ffi.new("uint8_t[]", 1024)
    length = int(lib.guided_respond(opening, len(opening), response, len(response), out))
    return read(bytes(ffi.buffer(out, length)))


def checksum_holds(covered: bytes) -> bool:
    """Whether the checksum field at the front is right for these bytes."""
    return bool(_loaded()[1].guided_checksum_holds(covered, len(covered)))


def data_checksum_holds(data: bytes, checksum: int) -> bool:
    """Whether this is the checksum of the data."""
    return bool(_loaded()[1].guided_data_checksum_holds(data, len(data), checksum))


class Queue:
    """The control queue of the core's data receiver."""

    def __init__(self) -> None:
        ffi, self._lib = _loaded()
        self._queue = ffi.gc(self._lib.guided_queue_new(), self._lib.guided_queue_free)

    @property
    def next(self) -> int:
        """The number of the next message."""
        return int(self._lib.guided_queue_next(self._queue))

    @property
    def first(self) -> int:
        """The number of the oldest message that is not acknowledged; of the next one when there is none."""
        return int(self._lib.guided_queue_first(self._queue))

    def add(self, message: Message) -> None:
        ffi = _loaded()[0]
        fields = ffi.new("guided_message *")
        fields.type, fields.seq, fields.buffer = message.type, message.seq, message.buffer
        fields.burst_size, fields.burst_interval_ms = message.burst_size, message.burst_interval_ms
        fields.count = len(message.packets)
        self._lib.guided_queue_add(self._queue, fields, ffi.new("uint16_t[]", message.packets or (0,)))

    def restart(self, number: int) -> None:
        """Drops all messages; the next one has this number."""
        self._lib.guided_queue_restart(self._queue, number)

    def acknowledge(self, ack: int) -> None:
        self._lib.guided_queue_ack(self._queue, ack)

    def expected(self) -> tuple[Message, ...]:
        """The messages of the CONTROL that the core would send now."""
        ffi = _loaded()[0]
        out = ffi.new("uint8_t[]", _OUTPUT_BYTES)
        length = int(self._lib.guided_queue_write(self._queue, 0, ffi.addressof(out, 12)))
        out[3] = CONTROL
        out[4], out[5] = (12 + length) >> 8, (12 + length) & 0xFF
        return _messages(bytes(ffi.buffer(out, 12 + length)), 12 + length)[0]


class Sequence:
    """The control sequence numbers that the core's data sender has received."""

    def __init__(self) -> None:
        ffi, self._lib = _loaded()
        self._sequence = ffi.gc(self._lib.guided_sequence_new(), self._lib.guided_sequence_free)

    def record(self, seq: int) -> None:
        self._lib.guided_sequence_record(self._sequence, seq)

    @property
    def high(self) -> int:
        """The high consecutive number."""
        return int(self._lib.guided_sequence_high(self._sequence))


class Receiver:
    """An open connection of the core as data receiver. Buffers are counted from 0 in the order of their GOs."""

    def __init__(self, buffer_size: int, packet_size: int, now_us: int, *, data_checksum: bool) -> None:
        ffi, self._lib = _loaded()
        terms = ffi.new("guided_terms *")
        terms.buffer_size, terms.packet_size, terms.data_checksum = buffer_size, packet_size, data_checksum
        receiver = self._lib.guided_receiver_new(terms, now_us)
        # None: the core does not accept these terms; then it has no opinion.
        self._receiver = None if receiver == ffi.NULL else ffi.gc(receiver, self._lib.guided_receiver_free)

    def go(self, now_us: int) -> bool:
        """The next GO is issued; False: the core issues none."""
        return self._receiver is not None and bool(self._lib.guided_receiver_go(self._receiver, now_us))

    def data(self, buffer: int, raw: bytes, now_us: int) -> None:
        """DATA or LDATA arrives."""
        if self._receiver is not None:
            self._lib.guided_receiver_data(self._receiver, buffer, raw, len(raw), now_us)

    def has(self, buffer: int) -> bool:
        """Whether all packets of the buffer have arrived."""
        return self._receiver is not None and bool(self._lib.guided_receiver_has(self._receiver, buffer))

    def missing(self, buffer: int) -> tuple[int, ...]:
        """The packets of an incomplete buffer that have not arrived."""
        if self._receiver is None:
            return ()
        out = _loaded()[0].new("uint16_t[]", 65536)
        count = int(self._lib.guided_receiver_missing(self._receiver, buffer, out, 65536))
        return tuple(int(out[number]) for number in range(count))
