# SPDX-License-Identifier: GPL-2.0-or-later
"""One line that counts while a run goes on, on a terminal only: logs and pipes stay plain."""

from __future__ import annotations

import shutil
import sys
import time
from typing import TextIO

from netblt_conformance.common.words import fit

# A line that changes faster than this is read by nobody.
REFRESH_S = 0.1
# Before this share is done, a guess at the rest would be noise.
GUESS_FROM = 0.02
_CLEAR = "\r\033[K"
_MINUTE_S, _HOUR_S = 60, 3600


def left(done: int, of: int, elapsed_s: float) -> str:
    """How long the rest takes when it goes on like this; empty while that is anyone's guess."""
    if done < max(1.0, of * GUESS_FROM) or done > of:
        return ""
    seconds = round(elapsed_s * (of - done) / done)
    if seconds < _MINUTE_S:
        return f"{seconds} s left"
    if seconds < _HOUR_S:
        return f"{seconds // _MINUTE_S} min {seconds % _MINUTE_S:02} s left"
    return f"{seconds // _HOUR_S} h {seconds % _HOUR_S // _MINUTE_S:02} min left"


class Progress:
    def __init__(self, *, wanted: bool, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stderr
        self.live = wanted and self._stream.isatty()
        self._began = self._shown = time.monotonic()
        self._stage = ""

    def show(self, stage: str, done: int, of: int, note: str = "") -> None:
        """`stage` names what is counted; a new one starts the clock anew."""
        if not self.live:
            return
        now = time.monotonic()
        if stage != self._stage:
            self._stage, self._began = stage, now
        elif now - self._shown < REFRESH_S and done < of:
            return
        self._shown = now
        words = [f"{stage} {done}/{of}", left(done, of, now - self._began), note]
        text = fit(", ".join(word for word in words if word))
        width = shutil.get_terminal_size().columns - 1
        print(_CLEAR + text[:width], end="", file=self._stream, flush=True)

    def say(self, text: str) -> None:
        if self.live:
            print(_CLEAR + fit(text), end="", file=self._stream, flush=True)

    def clear(self) -> None:
        if self.live:
            print(_CLEAR, end="", file=self._stream, flush=True)
