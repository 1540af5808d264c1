#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Writes blake3_vectors.h: BLAKE3 of files of some sizes, from the Python package `blake3` (bindings of the Rust
implementation), which shares no code with the C library that the command uses.
Usage: blake3_vectors.py >blake3_vectors.h"""

from __future__ import annotations

from blake3 import blake3

PIECE = 65536
SIZES = (
    *(0, 1, 64, 1023, 1024, 1025, 2048, 16384, 65535),
    *(PIECE, PIECE + 1, 2 * PIECE - 1, 2 * PIECE, 2 * PIECE + 1, 3 * PIECE, 3 * PIECE + 1024, 4 * PIECE),
    *(5 * PIECE + 17, 7 * PIECE, 8 * PIECE + 1025, 31 * PIECE + 65535, 64 * PIECE, 99 * PIECE + 1),
    *(255 * PIECE, 301 * PIECE + 1234),
)
PERIOD = 251  # a prime, as in BLAKE3's own test vectors: no two pieces are alike


def content(size: int) -> bytes:
    return (bytes(range(PERIOD)) * (size // PERIOD + 1))[:size]


def text() -> str:
    lines = [
        "/* SPDX-License-Identifier: BSD-2-Clause */",
        "/* BLAKE3 of files whose byte at offset n is n % 251; made by blake3_vectors.py, which names its source. */",
        f"#define VECTOR_PERIOD {PERIOD}",
        "static const struct {",
        "    size_t size;",
        "    const char *sum;",
        "} vectors[] = {",
    ]
    lines += [f'    {{{size}, "{blake3(content(size)).hexdigest()}"}},' for size in SIZES]
    return "\n".join([*lines, "};", ""])


if __name__ == "__main__":
    print(text(), end="")
