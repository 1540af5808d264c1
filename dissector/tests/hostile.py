# SPDX-License-Identifier: GPL-2.0-or-later
"""Captures that are meant to make the tools run out of memory: each packet claims as much as it can. Each generator
yields frames from the IPv4 header on; `write` makes a capture of them, of any size."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from dissector.tests import forge

SERVER = "10.0.0.1"
MS = forge.NS // 1000
PORTS = 60_000  # of an address, before the next one


def _data(rng: random.Random, buffer: int, number: int, *, ldata: bool = False) -> bytes:
    body = forge.data_body(buffer, 0, number, rng.randbytes(8))
    return forge.packet(forge.LDATA if ldata else forge.DATA, body, 1000, 1, covered=24)


def random_data(rng: random.Random) -> Iterator[bytes]:
    """DATA of random buffers with random packet numbers."""
    while True:
        yield forge.ipv4(_data(rng, rng.randrange(1 << 32), rng.randrange(1 << 16)), "10.0.0.2", SERVER, 0)


def highest_numbers(rng: random.Random) -> Iterator[bytes]:
    """One packet of each buffer, with the highest number that there is."""
    for buffer in itertools.count():
        yield forge.ipv4(_data(rng, buffer, 0xFFFF, ldata=True), "10.0.0.2", SERVER, buffer)


def plausible_numbers(rng: random.Random) -> Iterator[bytes]:
    """One packet of each buffer, with the highest number that may be that of a real transfer."""
    for buffer in itertools.count():
        yield forge.ipv4(_data(rng, buffer, 1000), "10.0.0.2", SERVER, buffer)


def one_buffer(rng: random.Random) -> Iterator[bytes]:
    """All packets of one buffer in random order."""
    while True:
        yield forge.ipv4(_data(rng, 0, rng.randrange(1 << 16)), "10.0.0.2", SERVER, 0)


def random_messages(rng: random.Random) -> Iterator[bytes]:
    """CONTROLs full of GOs with random numbers."""
    for number in itertools.count():
        messages = [forge.go(rng.randrange(1 << 16), rng.randrange(1 << 32)) for _ in range(175)]
        yield forge.ipv4(forge.packet(forge.CONTROL, b"".join(messages), 1, 1000), SERVER, "10.0.0.2", number)


def random_lists(rng: random.Random) -> Iterator[bytes]:
    """RESENDs that name random packets of random buffers."""
    for number in itertools.count():
        named = [[rng.randrange(1 << 16) for _ in range(170)] for _ in range(4)]
        messages = [forge.resend(4 * number + n, rng.randrange(1 << 32), numbers) for n, numbers in enumerate(named)]
        yield forge.ipv4(forge.packet(forge.CONTROL, b"".join(messages), 1, 1000), SERVER, "10.0.0.2", number)


def _ends() -> Iterator[tuple[str, int]]:
    """Address and port of one connection after the other."""
    for number in itertools.count():
        host, port = divmod(number, PORTS)
        yield f"10.1.{host // 250}.{host % 250 + 1}", 1000 + port


def connections(_rng: random.Random) -> Iterator[bytes]:
    """A KEEPALIVE on another connection each."""
    for address, port in _ends():
        yield forge.ipv4(forge.packet(forge.KEEPALIVE, b"", port, 1), address, SERVER, 0)


def broken_openings(rng: random.Random) -> Iterator[bytes]:
    """An OPEN with reserved bits set on another connection each: a finding for every packet."""
    for address, port in _ends():
        body = forge.open_body(rng.randrange(1 << 32), flags=0xFF00)
        yield forge.ipv4(forge.packet(forge.OPEN, body, port, 1), address, SERVER, 0)


def reopened(rng: random.Random) -> Iterator[bytes]:
    """OPENs with another unique ID each on the same ports, each with a RESPONSE."""
    while True:
        body = forge.open_body(rng.randrange(1 << 32))
        yield forge.ipv4(forge.packet(forge.OPEN, body, 1000, 1), "10.0.0.2", SERVER, 0)
        yield forge.ipv4(forge.packet(forge.RESPONSE, body, 1, 1000), SERVER, "10.0.0.2", 0)


def damaged(rng: random.Random) -> Iterator[bytes]:
    """DATA with a wrong checksum from a random address each."""
    while True:
        raw = bytearray(_data(rng, 0, 0))
        raw[0] ^= 1
        yield forge.ipv4(bytes(raw), f"10.2.{rng.randrange(256)}.{rng.randrange(1, 255)}", SERVER, 0)


def write(path: Path, frames: Iterable[bytes]) -> Path:
    """A capture with 1 ms between its frames."""
    return forge.write_pcapng(path, (forge.Frame(number * MS, frame) for number, frame in enumerate(frames)))


def capture(path: Path, generator: Callable[[random.Random], Iterator[bytes]], packets: int) -> Path:
    return write(path, itertools.islice(generator(random.Random(1)), packets))
