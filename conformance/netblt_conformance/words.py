# SPDX-License-Identifier: GPL-2.0-or-later
"""Makes what an implementation prints fit to be shown: no control characters, no more than a line can hold."""

from __future__ import annotations

import unicodedata

WORDS_MAX = 400  # characters of an implementation's output in one reason
# Control, format (bidirectional marks, zero width), surrogate, private use and unassigned characters.
_UNFIT = frozenset({"Cc", "Cf", "Cs", "Co", "Cn"})


def printable(text: str, limit: int = WORDS_MAX) -> str:
    """`text` in one line: unfit characters become a question mark, and what is longer than `limit` is cut."""
    shown = "".join(
        " " if one in "\t\n\r" else "?" if unicodedata.category(one) in _UNFIT else one for one in text[: limit + 1]
    )
    return shown if len(text) <= limit else shown[: limit - 3] + "..."


def last_lines(text: str, count: int = 3) -> str:
    """The last lines of an output that are not empty, in one line."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return printable(" / ".join(lines[-count:]))


def shown_lines(text: str, most: int | None = None) -> list[str]:
    """The lines of an output that are not empty, each fit to be shown; of many the last `most`."""
    lines = [line.rstrip() for line in text.splitlines() if line.strip()]
    left_out = len(lines) - most if most is not None else 0
    shown = [printable(line) for line in lines[max(0, left_out) :]]
    return [f"... {left_out} lines before", *shown] if left_out > 0 else shown
