# SPDX-License-Identifier: GPL-2.0-or-later
"""Rates, times, shares and sizes as users write them on the command line of netblt-plan.

Every function raises ValueError with one sentence that names the value, what is wrong with it and what to write."""

from __future__ import annotations

import re

_DECIMAL = {"": 1.0, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
_BINARY = {"Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30, "Ti": 2.0**40}
_SECONDS = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0}
_NUMBER = r"(\d{1,15}(?:\.\d{1,9})?)\s*"

RATE_MIN, RATE_MAX = 1e3, 1e12  # bits a second; as --path of netblt allows
RTT_MAX_S = 60.0
LOSS_MAX = 0.5
SIZE_MAX_BYTES = 2.0**32 - 33  # RFC 998 section 3, less the digest that netblt appends


def rate(text: str) -> float:
    """Bits a second: "20M", "20Mbit", "20 Mbit/s", "512kbps". Prefixes are powers of 1000."""
    match = re.fullmatch(_NUMBER + r"([kKMGT]?)(bit/s|bits/s|bit|bps|b/s|b)?", text.strip())
    if match is None:
        if re.search(r"\d\s*[kKMGT]?i?B", text):
            raise ValueError(f"{text!r} counts bytes: give bits a second, such as 20M or 20Mbit/s")
        raise ValueError(f"{text!r} is not a rate: give bits a second, such as 512k, 20M, 20Mbit/s or 1G")
    return _inside(float(match[1]) * _DECIMAL[match[2]], RATE_MIN, RATE_MAX, text, "between 1k and 1T bits a second")


def seconds(text: str) -> float:
    """Seconds: "560ms", "0.56s", "250us". Zero is allowed."""
    match = re.fullmatch(_NUMBER + r"(us|ms|s|min)", text.strip())
    if match is None:
        raise ValueError(f"{text!r} is not a time: give a number with us, ms or s, such as 560ms or 0.56s")
    return _inside(float(match[1]) * _SECONDS[match[2]], 0.0, RTT_MAX_S, text, "between 0 s and 60 s")


def share(text: str) -> float:
    """A share of the packets, from 0 to 1: "0.3%"."""
    match = re.fullmatch(_NUMBER + "%", text.strip())
    if match is None:
        raise ValueError(f"{text!r} is not a share of the packets: give percent, such as 0.3%")
    return _inside(float(match[1]) / 100, 0.0, LOSS_MAX, text, "between 0% and 50%")


def size(text: str) -> int:
    """Bytes: "100M" and "100MB" are 100 * 1000 * 1000, "100MiB" is 100 * 1024 * 1024."""
    match = re.fullmatch(_NUMBER + r"([kKMGT]?)B?|" + _NUMBER + r"([KMGT]i)B?", text.strip())
    if match is None:
        raise ValueError(f"{text!r} is not a size: give bytes, such as 100M (10^6 bytes), 100MB or 100MiB (2^20 bytes)")
    bytes_ = float(match[1]) * _DECIMAL[match[2]] if match[1] else float(match[3]) * _BINARY[match[4]]
    return int(_inside(bytes_, 1, SIZE_MAX_BYTES, text, "between 1 byte and 4 GiB, the largest transfer of RFC 998"))


def _inside(value: float, low: float, high: float, text: str, range_: str) -> float:
    if not low <= value <= high:
        raise ValueError(f"{text!r} is out of range: give a value {range_}")
    return value


def rate_text(bits_per_second: float) -> str:
    """As `netblt --path` reads it: 20M, 512k, 1.5G."""
    for letter, scale in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if bits_per_second >= scale:
            return f"{bits_per_second / scale:g}{letter}"
    return f"{bits_per_second:g}"


def size_text(bytes_: float) -> str:
    """Bytes in decimal units, as this program reads them."""
    for unit, scale in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if bytes_ >= scale:
            return f"{bytes_ / scale:.4g} {unit}"
    return f"{bytes_:g} bytes"
