#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Writes the first corpus of the fuzz targets: seeds.py VECTORS_FOLDER CORPUS_FOLDER.

The packet decoder starts from the byte vectors, one file for each packet. The other targets start from small programs
in the languages of endpoint_fuzz.c and pair_fuzz.c: whole transfers, clean and with the usual mishaps, for a search to
vary.
"""

import json
import sys
from pathlib import Path

# kind, packet size - 1, buffer size - 1, buffers - 1, burst - 1, interval, death timer - 1, buffers to supply
SHAPE = bytes([0, 9, 0, 39, 1, 9, 1, 7, 3])
WITH_CHECKSUM, LONG_STRING = 64, 128  # bits of kind
WITH_SECRET, LARGE_BUDGET, CONFIRM = 32, 64, 128  # bits of the number of buffers to supply
MARKED, GIVES_TOKEN, PROOF, WRONG_PROOF = 1, 2, 64, 192  # operands of SELDOM and QUIT
TIMER, WAIT, RAW, OPEN, RESPONSE, CONTROL, DATA, DAMAGE, NULL_ACK = 0, 2, 3, 4, 5, 6, 8, 10, 11
QUIT, BARE, RESUME, WANT_QUIT, ABORT, STALL, SENDER, RECEIVER, SELDOM = 13, 14, 15, 16, 17, 18, 19, 20, 21
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
        "three-peers": b"".join(opening(OPEN | who << 6, WRITE) for who in range(3)) + timers + whole,
        "send-beside-the-token": opening(OPEN, READ) + control(go(255), go(254)) + timers + served,
        "end-unproven": opening(OPEN, WRITE) + acked + bytes([QUIT, 1, 0]) + timers + opening(OPEN, READ) + whole,
        "end-refuted": opening(OPEN, WRITE) + bytes([QUIT, 0, 0, WAIT, 20, 0]) + whole + timers + whole,
        "end-proven": opening(OPEN, READ) + bytes([QUIT, 0, WRONG_PROOF, TIMER, TIMER, QUIT, 0, PROOF]) + timers,
        "refused-unproven": bytes([SENDER, BARE, 2]) + timers + bytes([RECEIVER, BARE, 2 | PROOF]) + timers,
        "unreachable": opening(OPEN, WRITE) + bytes([SELDOM, 64 + 14]) + timers,
        "raw": bytes([RAW, 3, 12]) + bytes([0, 0, 2, 4, 0, 12, 0, 0, 0, 0, 0, 0]),
    }


def large_transfer() -> bytes:
    """To an unvalidated peer, up to and beyond the buffers of which packets are withheld."""
    timers = bytes([TIMER] * 40)
    asked = control(*(go(i) for i in range(5)))
    missing = control(*(resend(i, *range(1, 16)) for i in range(5))) + control(*(ok(i) for i in range(5)))
    late = b"".join(control(resend(i, *range(1, 16)), ok(i), go(i + 5)) + timers for i in range(20))
    return opening(OPEN, READ) + asked + timers + missing + timers + late + control(ok(20))


def whole_buffer() -> bytes:
    return b"".join(data(i) for i in range(4)) + bytes([NULL_ACK, 0, 5, 1])


def damaged_programs() -> dict[str, bytes]:
    """With a data checksum; damage hits the data of one packet, then a whole copy comes."""
    acked = bytes([NULL_ACK, 0, 5, 1])
    flipped = bytes([DAMAGE, 30]) + data(1) + data(0) + data(2) + data(3) + acked + data(1)
    headers = bytes([DAMAGE, 17]) + data(1) + bytes([DAMAGE, 5]) + acked + bytes([DAMAGE, 1]) + control(go(0))
    return {
        "receive-damaged-data": opening(OPEN, WRITE | CHECKSUM) + acked + flipped + acked + bytes([TIMER] * 6),
        "receive-damaged-headers": opening(OPEN, WRITE | CHECKSUM) + headers + acked + flipped,
        "send-far-ahead": opening(OPEN, READ) + control(go(0), bytes([GO | 32, 1, 9]), bytes([GO | 32, 2, 10]), go(1)),
    }


# Of a pair: kind and kind of the peer, packet size - 1, packets of a buffer - 1, bytes less, buffers - 1, burst
# size - 1, interval, death timer - 2, buffers to send - 1, last buffer in 256ths, delays.
FIRST_AT_END, LIMITS, MANY, MIT1987, ANY_ORDER, AUTOMATIC, SUMS, OBSERVED = (1 << i for i in range(8))
RUN, DROP, REPEAT, DISTORT, LATE, SHORT, REPLAY, CUT = 0, 4, 5, 6, 7, 8, 9, 10
CLIENT_STALLS, CLIENT_QUITS, CLIENT_ABORTS, HELD_UP, PATH = 11, 12, 13, 14, 15
AGAIN, OTHER_END = HELD_UP | 64, 128


def run(power: int) -> bytes:
    return bytes([RUN, power])


def fault(what: int, count: int = 1, place: int = 0, value: int = 0) -> bytes:
    return bytes([what, count - 1, place, value])


def pair_events() -> dict[str, bytes]:
    both = fault(DROP, 2) + run(1) + fault(DROP | OTHER_END, 1) + run(4)
    shapes = b"".join(fault(what | end, 1, 30, 9) + run(2) for what in (REPEAT, DISTORT, SHORT) for end in (0, 128))
    lost_open = fault(DROP | OTHER_END, 1) + run(2) + fault(DROP, 1)
    stale = run(12) + bytes([REPLAY, 0]) + run(5) + bytes([REPLAY, 1, REPLAY, 2]) + run(6)
    bottleneck = bytes([PATH | OTHER_END, 12, 40, 0]) + bytes([PATH, 1, 200, 0]) + run(12) + run(12) + run(12)
    lossy = bytes([PATH | OTHER_END, 5, 60, 17]) + run(12) + run(12) + bytes([PATH | OTHER_END, 40, 5, 3]) + run(12)
    return {
        "clean": b"",
        "losses": both + both,
        "shapes": shapes,
        "late": fault(LATE | OTHER_END, 4, 100) + run(5) + fault(LATE, 2, 200) + run(6),
        "lost-open": lost_open,
        "stale": stale + bytes([AGAIN]) + stale,
        "quit-0": run(3) + bytes([CLIENT_QUITS]) + run(6),
        "quit-1": run(4) + bytes([CLIENT_QUITS | OTHER_END]) + fault(DROP, 3) + run(6),
        "abort": run(4) + bytes([CLIENT_ABORTS, 0]) + run(3) + bytes([AGAIN]) + run(4),
        "stalled": run(2) + bytes([CLIENT_STALLS, 1, CLIENT_STALLS | OTHER_END, 1]) + run(9),
        "cut": run(4) + bytes([CUT, 40]) + run(6) + bytes([CUT, 255]) + run(8),
        "held-up": run(3) + bytes([HELD_UP, 100, 0]) + run(3) + bytes([HELD_UP, 255, 0]) + run(5),
        "bottleneck": bottleneck,
        "lossy": lossy,
        "long": bytes([PATH | OTHER_END | 64, 12, 250, 0, 80]) + bytes([PATH | 64, 0, 250, 0, 80]) + run(12) + run(12),
        "short-queue": bytes([PATH | OTHER_END, 10, 3, 0]) + run(12) + run(12) + run(12),
        "chance": bytes([PATH | OTHER_END, 8, 100, 6]) + run(12) * 2 + bytes([PATH | OTHER_END, 30, 100, 1]) + run(12),
        "no-memory": run(3)
        + bytes([CLIENT_STALLS | 64, 9, 0])
        + run(4)
        + bytes([CLIENT_STALLS | 64 | OTHER_END, 5, 0]),
        "forged": run(3) + fault(SHORT | 64, 3, 19, 1) + run(3) + fault(SHORT | 64 | OTHER_END, 3, 13, 2) + run(4),
    }


def pair_programs() -> dict[str, bytes]:
    small = bytes([99, 9, 33, 3, 15, 10, 5, 7, 128, 10, 10])
    one_packet = bytes([0, 0, 0, 0, 0, 0, 0, 2, 255, 0, 0])
    large = bytes([49, 31, 0, 15, 7, 20, 10, 31, 100, 20, 20])
    near = bytes([49, 31, 0, 15, 7, 20, 20, 31, 100, 0, 0])
    far = bytes([19, 15, 0, 15, 7, 20, 30, 31, 100, 200, 200])
    wide = bytes([255, 15, 0, 7, 7, 5, 20, 3, 100, 10, 10])
    kinds = {
        "fixed": (SUMS, 0, small),
        "receive": (SUMS | OBSERVED, 4, small),
        "any-order": (ANY_ORDER | SUMS | FIRST_AT_END, ANY_ORDER | FIRST_AT_END | OBSERVED, small),
        "plain": (MIT1987, MIT1987 | LIMITS | 4, small),
        "one-packet": (SUMS, 4, one_packet),
        "automatic": (AUTOMATIC | SUMS | MANY, AUTOMATIC | OBSERVED, large),
        "near": (AUTOMATIC | SUMS | MANY, AUTOMATIC, near),
        "far": (AUTOMATIC | MANY, AUTOMATIC | 4, far),
        "withheld": (MANY | SUMS, 4, wide),
        "limited": (AUTOMATIC | SUMS | MANY, AUTOMATIC | 64, large),
        "one-follows": (AUTOMATIC | SUMS | MANY, ANY_ORDER, large),
        "automatic-receive": (AUTOMATIC | SUMS | MANY, AUTOMATIC | ANY_ORDER | 4, large),
    }
    programs = {
        f"{shape}-{name}": bytes([kind, other]) + transfer + events
        for shape, (kind, other, transfer) in kinds.items()
        for name, events in pair_events().items()
    }
    # The byte of the buffers outstanding also holds the secrets of both ends, and options.
    for secrets, more in (("guarded", 16 | 32 | 64 | 128), ("first", 16 | 64), ("second", 32)):
        for shape in ("fixed", "receive", "plain", "withheld"):
            kind, other, transfer = kinds[shape]
            changed = transfer[:3] + bytes([transfer[3] | more]) + transfer[4:]
            for name, events in pair_events().items():
                programs[f"{shape}-{secrets}-{name}"] = bytes([kind, other]) + changed + events
    return programs


def main() -> None:
    vectors, corpus = Path(sys.argv[1]), Path(sys.argv[2])
    for target in ("decode_fuzz", "endpoint_fuzz", "pair_fuzz"):
        (corpus / target).mkdir(parents=True, exist_ok=True)
    for path in sorted(vectors.glob("*.json")):
        vectors_here = json.loads(path.read_text(encoding="utf-8"))
        for vector in vectors_here if isinstance(vectors_here, list) else []:
            name = f"{path.stem}-{vector['name']}"
            (corpus / "decode_fuzz" / name).write_bytes(bytes.fromhex(vector["hex"]))
    for name, program in programs().items():
        (corpus / "endpoint_fuzz" / name).write_bytes(SHAPE + program)
        guarded = bytes([SELDOM, MARKED]) + (bytes([SELDOM, GIVES_TOKEN]) if "actively" in name else b"")
        for kind, begin in (("secret", b""), ("guarded", guarded)):
            shape = SHAPE[:-1] + bytes([SHAPE[-1] | WITH_SECRET | CONFIRM])
            (corpus / "endpoint_fuzz" / f"{name}-{kind}").write_bytes(shape + begin + program)
    for name, more in (
        ("withheld", LARGE_BUDGET),
        ("withheld-slowly", 0),
        ("withheld-secret", LARGE_BUDGET | WITH_SECRET),
    ):
        shape = bytes([0, 255, 15, 255, 15, 15, 1, 31, 31 | more])
        (corpus / "endpoint_fuzz" / name).write_bytes(shape + large_transfer())
    for name, program in damaged_programs().items():
        (corpus / "endpoint_fuzz" / name).write_bytes(bytes([WITH_CHECKSUM]) + SHAPE[1:] + program)
    for name, program in pair_programs().items():
        (corpus / "pair_fuzz" / name).write_bytes(program)
    seldom = [bytes([SELDOM, 64 + how, SELDOM | 64, 64 + how]) for how in range(12)]
    policies = [bytes([SELDOM, 128 + how]) + opening(OPEN, READ) + opening(OPEN | 64, WRITE | 4) for how in range(6)]
    short = [
        bytes([SELDOM, 192 + how]) + opening(OPEN | how % 2 * 64, how % 2) + control(go(0)) + whole_buffer()
        for how in range(48)
    ]
    for name, steps in (("misuse", seldom), ("policies", policies), ("no-memory", short)):
        for half in (0, 1):
            part = steps[half::2]
            (corpus / "endpoint_fuzz" / f"{name}-{half}").write_bytes(SHAPE + opening(OPEN, READ) + b"".join(part))
    opens = b"".join(opening(OPEN | who << 6, way | 4) for _ in range(12) for who in range(3) for way in (READ, WRITE))
    (corpus / "endpoint_fuzz" / "many-opens").write_bytes(bytes([LONG_STRING]) + SHAPE[1:] + opens)


main()
