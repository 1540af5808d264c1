# SPDX-License-Identifier: GPL-2.0-or-later
"""The first bytes of capture files, which show their format."""

from __future__ import annotations

import struct
from pathlib import Path

PCAPNG = b"\x0a\x0d\x0d\x0a"
# Microseconds, nanoseconds and Kuznetzov's variant, in both byte orders.
PCAP = tuple(struct.pack(order + "I", value) for value in (0xA1B2C3D4, 0xA1B23C4D, 0xA1B2CD34) for order in "<>")
SNOOP = b"snoop\0\0\0"
GZIP = b"\x1f\x8b"
# tshark reads what these hold; whether it is a capture only the name shows.
OTHER_COMPRESSED = (b"\x28\xb5\x2f\xfd", b"\x04\x22\x4d\x18")  # zstd, lz4
MAGIC_BYTES = 8


def why_no_capture(begin: bytes) -> str | None:
    """Of the first bytes of a file; None: it may be a capture that tshark reads."""
    if not begin:
        return "the file is empty"
    if begin.startswith((PCAPNG, SNOOP, GZIP, *PCAP, *OTHER_COMPRESSED)):
        return None
    return "its first bytes are not those of a pcapng or pcap file"


def why_no_pcapng(path: Path) -> str | None:
    """Why a reader of pcapng cannot begin to read the file; None: it can. OSError when it cannot be read."""
    with path.open("rb") as file:
        begin = file.read(MAGIC_BYTES)
    if begin.startswith(PCAP):
        return "a pcap file, and pcapng is needed here; editcap -F pcapng converts it"
    if begin.startswith((GZIP, *OTHER_COMPRESSED)):
        return "a compressed file, and pcapng is needed here; editcap -F pcapng converts it"
    if begin.startswith(SNOOP):
        return "a snoop file, and pcapng is needed here; editcap -F pcapng converts it"
    return why_no_capture(begin)
