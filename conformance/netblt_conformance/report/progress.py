# SPDX-License-Identifier: GPL-2.0-or-later
"""One line that counts while a run goes on. Where there is no terminal, logs get a plain line each minute."""

from __future__ import annotations

import atexit
import sys
import time
from typing import TYPE_CHECKING, TextIO

from netblt_conformance.common.words import fit

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

# A line that changes faster than this cannot be read.
REFRESH_S = 0.1
# Without a terminal: between two lines, and before the first one.
PLAIN_S = 60.0
_BAR_COLUMNS = 20


class Progress:
    """`clear()` before anything else is printed; the next call draws the line again."""

    def __init__(self, *, wanted: bool, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stderr
        self.live = wanted and self._stream.isatty()
        self._plain = wanted and not self.live
        self._told = time.monotonic()  # the newest plain line
        self._shown = 0.0
        self._stage = ""
        self._bar: Bar | None = None

    def _drawn(self) -> Bar:
        """The line, drawn without a thread of its own: workers are forked while it is there."""
        if self._bar is None:
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
            from rich.table import Column

            columns = [
                TextColumn("{task.description}", markup=False),
                BarColumn(_BAR_COLUMNS),
                TimeRemainingColumn(compact=True),
                TextColumn("{task.fields[note]}", markup=False, table_column=Column(no_wrap=True, overflow="crop")),
            ]
            console = Console(file=self._stream, force_terminal=True, no_color=True, highlight=False, emoji=False)
            self._bar = Progress(*columns, console=console, auto_refresh=False, transient=True)
            atexit.register(self.clear)  # rich hides the cursor
        self._bar.start()
        return self._bar

    def _begin(self, stage: str, description: str, total: int | None) -> Bar:
        bar = self._drawn()
        if stage != self._stage:
            for task in bar.task_ids:
                bar.remove_task(task)
            bar.add_task(description, total=total, note="")
            self._stage = stage
        return bar

    def show(self, stage: str, done: int, of: int, note: str = "") -> None:
        """`stage` names what is counted; a new one restarts the clock."""
        now = time.monotonic()
        self._tell(f"{stage} {done}/{of}" + (f", {note}" if note else ""), now)
        if not self.live or (stage == self._stage and now - self._shown < REFRESH_S and done < of):
            return
        self._shown = now
        bar = self._begin(stage, fit(stage), of)
        bar.update(bar.task_ids[0], completed=done, total=of, description=fit(f"{stage} {done}/{of}"), note=fit(note))
        bar.refresh()

    def _tell(self, text: str, now: float) -> None:
        """Without a terminal."""
        if self._plain and now - self._told >= PLAIN_S:
            self._told = now
            print(fit(text), file=self._stream, flush=True)

    def say(self, text: str) -> None:
        """A line without numbers."""
        self._tell(text, time.monotonic())
        if self.live:
            bar = self._begin(text, fit(text), None)
            bar.refresh()

    def clear(self) -> None:
        """Takes the line away."""
        if self._bar is not None:
            self._bar.stop()
