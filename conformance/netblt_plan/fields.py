# SPDX-License-Identifier: GPL-2.0-or-later
"""What may be in a scenario file, key by key, and what its values may be."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

Check = Callable[[Any], str | None]  # what is wrong with a value; None = nothing
_UNITS = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0}
_LONGEST_S = 1e9
_RATES = {"bit": 1.0, "kbit": 1e3, "mbit": 1e6, "gbit": 1e9, "k": 1e3, "m": 1e6, "g": 1e9}


def seconds(text: str) -> float:
    """ "5ms", "1.5s", "10min" in seconds. ValueError otherwise."""
    match = re.fullmatch(r"(\d{1,12}(?:\.\d+)?)\s*(us|ms|s|min|h)", text.lower())
    if match is None:
        raise ValueError(text)
    return float(match[1]) * _UNITS[match[2]]


def bits_per_second(text: str) -> float:
    """ "10Mbit" in bits a second, "unlimited" as infinity. ValueError otherwise."""
    if text == "unlimited":
        return float("inf")
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([a-z]+)(?:/s)?", text.lower())
    if match is None or match[2] not in _RATES:
        raise ValueError(text)
    return float(match[1]) * _RATES[match[2]]


def number(low: float, high: float) -> Check:
    def check(value: Any) -> str | None:
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            return f"{value!r} is not a number"
        return None if low <= value <= high else f"{value} is not between {low:g} and {high:g}"

    return check


def integer(low: int, high: int) -> Check:
    def check(value: Any) -> str | None:
        if isinstance(value, bool) or not isinstance(value, int):
            return f"{value!r} is not a whole number"
        return None if low <= value <= high else f"{value} is not between {low} and {high}"

    return check


def choice(*values: str) -> Check:
    return lambda value: None if value in values else f"{value!r} is none of {', '.join(values)}"


def boolean(value: Any) -> str | None:
    return None if isinstance(value, bool) else f"{value!r} is neither true nor false"


def text(value: Any) -> str | None:
    return None if isinstance(value, str) and value.strip() else f"{value!r} is not a text"


def texts(value: Any) -> str | None:
    good = isinstance(value, list) and all(isinstance(one, str) and one.strip() for one in value)
    return None if good else f"{value!r} is not a list of texts"


def statement(value: Any) -> str | None:
    """What follows the name of a statement of the flakeway; its direction is its place in the file."""
    if isinstance(value, int | float):
        return f"{value!r} is a number: write it as a text, with its unit"
    if not isinstance(value, str) or not value.isprintable() or not value.strip():
        return f"{value!r} is not a text of one line"
    if ">" in value or "both" in value.lower().split():
        return f"{value!r} names a direction: put it into the table of that direction"
    return None


def share(value: Any) -> str | None:
    """A statement that begins with a percentage: without one the flakeway would take it for a rule."""
    if (wrong := statement(value)) is not None:
        return wrong
    return None if re.match(r"\s*\d[\d.]*%", value) else f'{value!r} does not begin with a share such as "0.5%"'


def duration(value: Any) -> str | None:
    try:
        return None if seconds(value) <= _LONGEST_S else f"{value!r} is longer than {_LONGEST_S:g} s"
    except (ValueError, TypeError, AttributeError):
        return f'{value!r} is not a time such as "5ms", "1.5s" or "10min"'


def some_time(value: Any) -> str | None:
    return duration(value) or (f"{value!r}: the time must be greater than zero" if seconds(value) == 0 else None)


def rate(value: Any) -> str | None:
    try:
        return None if bits_per_second(value) > 0 else f"{value!r} is no rate"
    except (ValueError, TypeError, AttributeError):
        return f'{value!r} is not a rate such as "10Mbit" or "unlimited"'


def tables(value: Any) -> str | None:
    good = isinstance(value, list) and all(isinstance(one, dict) for one in value)
    return None if good else f"{value!r} is not a list of tables"


_MS = number(0, 1e9)

# Of a direction of a link: the flakeway's statements (docs/flakeway.md) by their names, but for `delay`.
DIRECTION: Mapping[str, Check] = {
    "rate": rate,
    "delay": statement,
    "jitter": statement,
    "spread": statement,
    "queue": statement,
    "framing": statement,
    "cells": statement,
    "mtu": statement,
    "frames": statement,
    "loss": share,
    "gilbert": share,
    "reorder": share,
    "duplicate": share,
    "corrupt": share,
}
STATEMENTS: Mapping[str, str] = {name: {"delay": "latency"}.get(name, name) for name in DIRECTION}


def with_delay(table: Mapping[str, Any]) -> dict[str, Any]:
    """The table of a link with the key `delay` where `latency`, the flakeway's word, was written. Both are a mistake
    and stay as they are."""
    renamed = {"delay" if key == "latency" and "delay" not in table else key: value for key, value in table.items()}
    for way in ("forward", "back"):
        if isinstance(renamed.get(way), dict):
            renamed[way] = with_delay(renamed[way])
    if isinstance(renamed.get("changes"), list):
        renamed["changes"] = [with_delay(one) if isinstance(one, dict) else one for one in renamed["changes"]]
    return renamed


LINK: Mapping[str, Check] = {**DIRECTION, "shared": boolean, "rules": texts, "changes": tables}
CHANGE: Mapping[str, Check] = {
    **DIRECTION,
    "at": duration,
    "every": duration,
    "times": integer(1, 100_000),
    "direction": choice("forward", "back", "both"),
}

HOST: Mapping[str, Check] = {
    "profile": choice("default", "mit1987"),
    "control_timer_min_ms": _MS,
    "control_timer_initial_ms": _MS,
    "data_variance_min_ms": _MS,
    "data_variance_percent": integer(0, 10_000),
    "send_ms": _MS,
    "send_us_per_byte": _MS,
    "receive_ms": _MS,
    "receive_us_per_byte": _MS,
    "control_send_ms": _MS,
    "control_receive_ms": _MS,
    "burst_ms": _MS,
    "jitter_ms": _MS,
    "timer_late_ms": _MS,
    "timer_granularity_ms": _MS,
    "timer_jitter_ms": _MS,
    "receive_queue": integer(1, 10_000_000),
    "card": choice("full-duplex", "half-duplex"),
    "card_rate": rate,
    "card_reenable_ms": _MS,
    "card_receive_buffers": integer(1, 100_000),
    "card_hold_ms": _MS,
    "validates_peers": boolean,
}

FLOW: Mapping[str, Check] = {
    "from": text,
    "to": text,
    "route": texts,
    "start": duration,
    "bytes": integer(1, 2**50),
    "buffer_size": integer(1, 2**31),
    "packet_size": integer(1, 65_000),
    "burst_size": integer(1, 65_535),
    "burst_interval_ms": integer(0, 65_535),
    "max_buffers": integer(1, 65_535),
    "death_timer_s": integer(1, 65_535),
    "data_checksum": boolean,
    "rate": choice("fixed", "auto", "best"),
    "in_order": boolean,
    "rate_limit": rate,
    "open_timeout": duration,
}
CROSS: Mapping[str, Check] = {
    "kind": choice("full", "cbr", "random"),
    "route": texts,
    "rate": rate,
    "packet_bytes": integer(1, 65_535),
    "burst_packets": integer(1, 100_000),
    "start": duration,
    "stop": duration,
}

TOP: Mapping[str, Check] = {
    "title": text,
    "about": text,
    "source": text,
    "duration": some_time,
    "measure_from": duration,
    "seeds": integer(1, 10_000),
    "capture_link": text,
}
RUN: Mapping[str, Check] = {
    "name": text,
    "about": text,
    "duration": some_time,
    "measure_from": duration,
    "seeds": integer(1, 10_000),
    "set": lambda value: None if isinstance(value, dict) else f"{value!r} is not a table",
    "expect": tables,
}
EXPECT: Mapping[str, Check] = {
    "metric": text,
    "of": text,
    "at_least": number(-1e18, 1e18),
    "at_most": number(-1e18, 1e18),
    "value": number(-1e18, 1e18),
    "within_percent": number(0, 1000),
    "source": text,
}
TABLE: Mapping[str, Check] = {
    "csv": text,
    "flow": text,
    "loss_link": text,
    "loss": choice("none", "row"),
    "loss_rows": lambda value: _rows(value),
    "held_out": lambda value: _rows(value),
    "seeds": integer(1, 10_000),
}
NOISE_PERCENT: Check = number(0, 100)
BAND: Mapping[str, Check] = {
    "rows": lambda value: _rows(value),
    "speed_percent": number(0, 1000),
    "mean_percent": number(0, 1000),
    "loss_percent": number(0, 1000),
    "nothing_lost": boolean,
    "explained": lambda value: _rows(value),
    "why": text,
    "source": text,
}


def row_numbers(value: str) -> list[int]:
    """ "1-3,7" as [1, 2, 3, 7]. ValueError otherwise."""
    numbers: list[int] = []
    for part in value.split(","):
        first, dash, last = part.strip().partition("-")
        numbers += range(int(first), int(last if dash else first) + 1)
    return numbers


def _rows(value: Any) -> str | None:
    try:
        return None if row_numbers(value) else f"{value!r} names no row"
    except (ValueError, AttributeError):
        return f'{value!r} is not a list of rows such as "1-9, 12"'


def interval(value: Any) -> str | None:
    """[from, to], or { text = "1476B late 600ms {}%", range = [from, to] } for a number inside a text."""
    if isinstance(value, dict) and set(value) == {"text", "range"} and "{}" in value["text"]:
        value = value["range"]
    good = isinstance(value, list) and len(value) == 2 and not any(number(0, 1e9)(one) for one in value)
    return None if good and value[0] < value[1] else f"{value!r} is not a pair of a smaller and a larger number"


FIT: Mapping[str, Check] = {
    "trials": integer(1, 1_000_000),
    "seeds": integer(1, 1000),
    "noise_rows": _rows,
    "quiet_rows": _rows,
    "range": lambda value: None if isinstance(value, dict) else f"{value!r} is not a table",
}
