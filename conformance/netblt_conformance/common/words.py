# SPDX-License-Identifier: GPL-2.0-or-later
"""Makes text from implementations, adapters and captures fit to be shown. Everything that reaches a terminal or a
report (JSON, JUnit XML, HTML) goes through `fit`."""

from __future__ import annotations

import re
import unicodedata

WORDS_MAX = 400  # characters of an implementation's output in one reason
# Spaces of any width are the only characters that Python calls not printable and that harm nothing.
_SPACE = "Zs"
_FIRST_ASTRAL = 0x10000


def _escape(one: str) -> str:
    """\\uXXXX, beyond the first plane as two of them: in JSON it means the character itself."""
    code = ord(one)
    if code < _FIRST_ASTRAL:
        return f"\\u{code:04x}"
    code -= _FIRST_ASTRAL
    return f"\\u{0xD800 + (code >> 10):04x}\\u{0xDC00 + (code & 0x3FF):04x}"


def fit(text: str, keep: str = "") -> str:
    """`text` with an escape in the place of each character that steers a terminal, is invisible, or turns the direction
    of what follows: control characters (C0, DEL, C1), format characters (bidirectional, zero width), ends of lines,
    surrogates, private use and unassigned ones. Those in `keep` stay."""
    if text.isprintable():
        return text
    return "".join(
        one if one.isprintable() or one in keep or unicodedata.category(one) == _SPACE else _escape(one) for one in text
    )


def fit_lines(text: str) -> str:
    """The same for a document: its line feeds and tabs stay."""
    return "\n".join(fit(line, "\t") for line in text.split("\n"))


def printable(text: str, limit: int = WORDS_MAX) -> str:
    """`text` in one line, and what is longer than `limit` is cut."""
    shown = fit(" ".join(text[: 2 * limit].replace("\t", " ").replace("\r", " ").split("\n")))
    return shown if len(shown) <= limit and len(text) <= 2 * limit else shown[: limit - 3] + "..."


# What the runtimes of Rust, Go, Java and C++ print in front of a stack trace. Python prints its reason at the end.
_TRACE_BEGINS = re.compile(r"thread '.*' panicked at |panic: |fatal error: |Exception in thread |terminate called ")
# A place in a trace of JavaScript, Java or .NET, after the line with the reason.
_PLACE = re.compile(r"at \S.*\d+\)?$|at .+\(.*\)$")


def last_lines(text: str, count: int = 3) -> str:
    """The last lines of an output that are not empty, in one line; of a stack trace those with which it begins."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    begins = next((n for n in range(len(lines) - 1, -1, -1) if _TRACE_BEGINS.match(lines[n])), None)
    if begins is None:
        places = [n for n, line in enumerate(lines) if n and _PLACE.match(line)]
        begins = next((n - 1 for n in reversed(places) if not _PLACE.match(lines[n - 1])), None)
    shown = lines[-count:] if begins is None else lines[begins : begins + count]
    return printable(" / ".join(shown))


def shown_lines(text: str, most: int | None = None) -> list[str]:
    """The lines of an output that are not empty, each fit to be shown; of many the last `most`."""
    lines = [line.rstrip() for line in text.splitlines() if line.strip()]
    left_out = len(lines) - most if most is not None else 0
    shown = [printable(line) for line in lines[max(0, left_out) :]]
    return [f"... {left_out} lines before", *shown] if left_out > 0 else shown
