# SPDX-License-Identifier: GPL-2.0-or-later
"""The pipe (docs/pipe.md): reads requests from standard input, calls the endpoint, writes answers to standard output.
Nothing in this file has to be changed."""

from __future__ import annotations

import hashlib
import struct
import sys
from dataclasses import replace
from typing import BinaryIO

from endpoint import Endpoint, Start, UnsupportedError

HELLO, START, PACKET, ADVANCE, STOP, REPORT, CLOSE = range(1, 8)
ANSWER_HELLO, ANSWER_OUTPUT, ANSWER_STATE, ANSWER_REPORT, ANSWER_UNSUPPORTED = range(0x81, 0x86)
PIPE_VERSION, ALL_FEATURES = 1, 0x7F  # what is missing the endpoint reports as unsupported
NAME = "skeleton in Python"
START_FIELDS = struct.Struct(">BBBBHHIHHHHHHQQ4s4s")
NEVER = 2**64 - 1


def read_exactly(source: BinaryIO, count: int) -> bytes:
    octets = source.read(count)
    if len(octets) != count:
        sys.exit(0)  # the suite has ended
    return octets


def write_frame(sink: BinaryIO, kind: int, payload: bytes) -> None:
    sink.write(struct.pack(">IB", 1 + len(payload), kind) + payload)


def with_length(text: str) -> bytes:
    octets = text.encode()
    return struct.pack(">H", len(octets)) + octets


def take_text(payload: bytes) -> tuple[str, bytes]:
    """A string with its length before it, and what follows."""
    (length,) = struct.unpack_from(">H", payload)
    return payload[2 : 2 + length].decode(), payload[2 + length :]


def read_start(payload: bytes) -> Start:
    client_string, rest = take_text(payload[START_FIELDS.size :])
    test_id, data = take_text(rest)
    numbers = Start(*START_FIELDS.unpack_from(payload))
    return replace(numbers, client_string=client_string, test_id=test_id, data=data)


def write_state(sink: BinaryIO, endpoint: Endpoint | None) -> None:
    """The packets that leave now, and the state after them."""
    if endpoint is None:
        write_frame(sink, ANSWER_STATE, struct.pack(">QB", NEVER, 0) + with_length(""))
        return
    for destination, packet in endpoint.outputs:
        write_frame(sink, ANSWER_OUTPUT, destination + packet)
    endpoint.outputs.clear()
    state = struct.pack(">QB", endpoint.deadline_us, endpoint.status) + with_length(endpoint.reason)
    write_frame(sink, ANSWER_STATE, state)


def write_report(sink: BinaryIO, endpoint: Endpoint) -> None:
    digest = hashlib.sha256(endpoint.delivered).digest()
    report = struct.pack(">Q", len(endpoint.delivered)) + digest + with_length(endpoint.peer_string)
    write_frame(sink, ANSWER_REPORT, report)


def serve_case(sink: BinaryIO, kind: int, payload: bytes, endpoint: Endpoint | None) -> Endpoint | None:
    """A request with a moment; returns the endpoint of the case that goes on."""
    (now_us,), payload = struct.unpack_from(">Q", payload), payload[8:]
    if kind == START:
        endpoint = Endpoint(read_start(payload), now_us)
    elif endpoint is None:
        sys.exit("pipe.py: a request outside of a case")
    elif kind == PACKET:
        endpoint.on_packet(now_us, payload[:4], payload[4:])
    elif kind == ADVANCE:
        endpoint.advance(now_us)
    elif kind == STOP:
        endpoint.stop(now_us, bool(payload[0]), take_text(payload[1:])[0])
    write_state(sink, endpoint)
    return endpoint


def serve(source: BinaryIO, sink: BinaryIO) -> None:
    endpoint: Endpoint | None = None
    while True:
        (length,) = struct.unpack(">I", read_exactly(source, 4))
        body = read_exactly(source, length)
        kind, payload = body[0], body[1:]
        if kind == HELLO:
            hello = struct.pack(">HI", PIPE_VERSION, ALL_FEATURES) + with_length(NAME)
            write_frame(sink, ANSWER_HELLO, hello)
        elif kind == REPORT and endpoint is not None:
            write_report(sink, endpoint)
        elif kind == CLOSE:
            endpoint = None
            write_state(sink, None)
        else:
            try:
                endpoint = serve_case(sink, kind, payload, endpoint)
            except UnsupportedError as missing:
                write_frame(sink, ANSWER_UNSUPPORTED, str(missing).encode())
        sink.flush()


if __name__ == "__main__":
    serve(sys.stdin.buffer, sys.stdout.buffer)
