#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Writes conformance/suite/pairs.toml: transfers in which each value of each parameter meets each value of all others.

The rows come from the covering-array library covertable, which uses no random numbers. They are kept in a file: the
suite runs without the library, and a row keeps its number in reports until this runs again.

Usage: pairs.py"""

from __future__ import annotations

import sys
from typing import Any

from covertable import make
from netblt_conformance.common import paths

ROWS = "pairs.toml"
FACTORS: dict[str, list[Any]] = {
    "role": ["active-sender", "active-receiver", "passive-sender", "passive-receiver"],
    # With each other, with packets that fill them and with packets that are larger than they are.
    "buffer_size": [1000, 1024, 1500, 3000],
    "packet_size": [128, 255, 512, 1024],
    "burst_size": [1, 4, 16],
    "burst_interval_ms": [1, 8, 20],
    "max_buffers": [1, 2, 5],
    "data_checksum": [False, True],
    "death_timer_s": [2, 10, 120],
    # Of the agreed sizes: suite/pairs.py makes a number of bytes of it.
    "length": [
        "one byte",
        "a buffer less one byte",
        "a buffer",
        "a buffer and one byte",
        "two buffers and a packet",
        "two buffers and a half",
    ],
    "restricted": ["nothing", "sizes", "pace", "everything"],  # by the passive end
    "lost": ["nothing", "a packet", "the LDATA"],
}
HEAD = """\
# SPDX-License-Identifier: GPL-2.0-or-later
# Transfers in which each value of each parameter meets each value of every other. conformance/nightly/pairs.py writes
# this file.
"""


def rows() -> list[dict[str, Any]]:
    """Each row has one value of each factor, in the order of FACTORS."""
    return [{name: row[name] for name in FACTORS} for row in make(FACTORS)]


def word(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return f'"{value}"' if isinstance(value, str) else str(value)


def text() -> str:
    tables = ["[[row]]\n" + "".join(f"{name} = {word(value)}\n" for name, value in row.items()) for row in rows()]
    return "\n".join([HEAD, *tables])


def main() -> int:
    if len(sys.argv) != 1:
        print(__doc__, file=sys.stderr)
        return 2
    (paths.suite() / ROWS).write_text(text(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
