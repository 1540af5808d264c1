# SPDX-License-Identifier: GPL-2.0-or-later
"""Ctrl-C, and the SIGTERM of a CI system that cancels a job, during a run: the run ends early and writes its report."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator
from typing import Any, Self

from netblt_conformance.common.child import ENDING


class Interruption:
    """A context manager. Inside it the first of these signals raises KeyboardInterrupt, or is only noted while that is
    held. Further ones do nothing, also when the run is over: who presses Ctrl-C again in a hurry must not cut the files
    in half, nor change the exit status."""

    def __init__(self) -> None:
        self.came = False
        self._held = False
        self._process = 0
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Self:
        self._process = os.getpid()
        self._before = {number: signal.signal(number, self._take) for number in ENDING}
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, signal.SIG_IGN if self.came else handler)

    def _take(self, number: int, _frame: Any) -> None:
        if os.getpid() != self._process:  # a forked child that has not yet set handlers of its own
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
        elif not self.came:
            self.came = True
            if not self._held:
                raise KeyboardInterrupt

    def check(self) -> None:
        """KeyboardInterrupt when a signal came, and what it raised was lost: C code that calls Python drops it."""
        if self.came and not self._held:
            raise KeyboardInterrupt

    def hold(self) -> None:
        """From here on a signal is only noted."""
        self._held = True

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """What is inside is done as a whole; the interruption waits for its end."""
        self._held = True
        try:
            yield
        finally:
            self._held = False
        self.check()
