#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Writes the first corpus of the fuzz targets: seeds.py VECTORS_FOLDER CORPUS_FOLDER.

The packet decoder starts from the byte vectors, one file for each packet. The endpoint starts from small programs in
the language of endpoint_fuzz.c: whole transfers, clean and with the usual mishaps, that a search can then vary.
"""

import json
import sys
from pathlib import Path

# kind, packet size - 1, buffer size - 1, buffers - 1, burst - 1, interval, death timer - 1, buffers to supply
SHAPE = bytes([0, 9, 0, 39, 1, 9, 1, 7, 3])
TIMER, WAIT, RAW, OPEN, RESPONSE, CONTROL, DATA, NULL_ACK = 0, 2, 3, 4, 5, 6, 8, 11
QUIT, BARE, RESUME, WANT_QUIT, ABORT, STALL, SENDER, RECEIVER = 13, 14, 15, 16, 17, 18, 19, 20
GO, OK, RESEND = 0, 1, 2
READ, WRITE, CHECKSUM = 0, 1, 2


def opening(op: int, flags: int) -> bytes:
    return bytes([op, flags, 30])


def control(*messages: bytes) -> bytes:
    return bytes([CONTROL, len(messages) - 1]) + b"".join(messages)


def go(buffer: int) -> bytes:
    return bytes([GO, buffer])


def ok(buffer: int) -> bytes:
    return bytes([OK, buffer, 5, 1, 1, 0])


def resend(buffer: int, *packets: int) -> bytes:
    return bytes([RESEND, buffer, len(packets), *packets])


def data(number: int, back: int = 0, last: int = 0) -> bytes:
    return bytes([DATA, back << 5 | last << 2, number])


def programs() -> dict[str, bytes]:
    whole = b"".join(data(i) for i in range(4))
    holes = data(0) + data(3) + bytes([TIMER] * 3) + data(1) + data(2)
    acked = bytes([NULL_ACK, 0, 5, 1])
    end = b"".join(data(i, last=1) for i in range(4)) + acked
    timers = bytes([TIMER] * 6)
    served = control(go(0)) + timers + control(ok(0), go(1)) + timers
    return {
        "receive-two-buffers": opening(OPEN, WRITE) + acked + whole + acked + end,
        "receive-with-holes": opening(OPEN, WRITE | CHECKSUM) + acked + holes + acked + timers + end,
        "receive-and-die": opening(OPEN, WRITE) + acked + timers * 4,
        "receive-actively": bytes([RECEIVER]) + opening(RESPONSE, READ) + acked + whole + acked + end,
        "send-three-buffers": opening(OPEN, READ) + served + control(ok(1), go(2)) + timers + control(ok(2)),
        "send-with-repairs": opening(OPEN, READ) + control(go(0)) + timers + control(resend(0, 1, 3, 9)) + served,
        "send-actively": bytes([SENDER]) + opening(RESPONSE, WRITE) + served + control(ok(1), go(2)) + timers,
        "quit-and-abort": opening(OPEN, WRITE) + bytes([WANT_QUIT, TIMER, TIMER, BARE, 1, QUIT, 0, 1, ABORT, 0]),
        "stall-and-resume": bytes([STALL, 2]) + opening(OPEN, WRITE) + acked + bytes([RESUME]) + whole + end,
        "three-strangers": b"".join(opening(OPEN | who << 6, WRITE) for who in range(3)) + timers + whole,
        "raw": bytes([RAW, 3, 12]) + bytes([0, 0, 2, 4, 0, 12, 0, 0, 0, 0, 0, 0]),
    }


def main() -> None:
    vectors, corpus = Path(sys.argv[1]), Path(sys.argv[2])
    for target in ("decode_fuzz", "endpoint_fuzz"):
        (corpus / target).mkdir(parents=True, exist_ok=True)
    for path in sorted(vectors.glob("*.json")):
        vectors_here = json.loads(path.read_text(encoding="utf-8"))
        for vector in vectors_here if isinstance(vectors_here, list) else []:
            name = f"{path.stem}-{vector['name']}"
            (corpus / "decode_fuzz" / name).write_bytes(bytes.fromhex(vector["hex"]))
    for name, program in programs().items():
        (corpus / "endpoint_fuzz" / name).write_bytes(SHAPE + program)


main()
