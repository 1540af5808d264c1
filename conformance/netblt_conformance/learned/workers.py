# SPDX-License-Identifier: GPL-2.0-or-later
"""Pieces of work in child processes, some at a time: an implementation that crashes or hangs costs its piece only, and
the sequence of inputs that it was at is known."""

from __future__ import annotations

import json
import mmap
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from netblt_conformance.common.child import Child, Emit, Event, run_each
from netblt_conformance.common.errors import HarnessError, NotSupportedError
from netblt_conformance.common.words import last_lines

# Real time without an event after which a child counts as hung. Events are some seconds apart.
LIMIT_S = 60.0
_WORD_BYTES = 1 << 14
NOT_SUPPORTED = "not supported"


class Place:
    """The inputs that a child is at, in memory that its parent reads after a crash."""

    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, _WORD_BYTES)

    def note(self, word: Sequence[str]) -> None:
        text = json.dumps(list(word)).encode()[: _WORD_BYTES - 1]
        self._memory.seek(0)
        self._memory.write(text + b"\0")

    def word(self) -> tuple[str, ...]:
        text = self._memory[:].partition(b"\0")[0]
        return tuple(json.loads(text)) if text else ()


@dataclass(slots=True)
class Work:
    """One piece. `action` gets a function that reports progress and the place to note inputs; it returns a result of
    JSON values."""

    name: str
    action: Callable[[Emit, Place], Any]
    result: Any = None
    fault: str = ""  # how the implementation crashed
    word: tuple[str, ...] = ()  # the inputs at that moment
    unsupported: str = ""  # why the implementation cannot do it
    place: Place = field(default_factory=Place)


class _Worker(Child):
    def __init__(self, work: Work) -> None:
        self.piece = work
        self.done = False
        self.trace = ""
        super().__init__(LIMIT_S)
        self.began()

    def work(self, emit: Emit) -> None:
        try:
            result = self.piece.action(emit, self.piece.place)
        except NotSupportedError as error:
            emit({"event": NOT_SUPPORTED, "why": str(error) or "not supported"})
        except HarnessError as error:
            emit({"event": "mistake", "why": str(error)})
        else:
            emit({"event": "result", "result": result})


def run(
    pieces: Iterable[Work],
    jobs: int,
    on_event: Callable[[Work, Event], None] = lambda _work, _event: None,
    on_end: Callable[[Work], None] = lambda _work: None,
) -> None:
    """Does all of it. `on_event` gets what the actions emit, `on_end` each piece when it is done. HarnessError when a
    piece fails by itself."""

    def serve(child: _Worker) -> bool:
        events = child.events()
        for event in events or ():
            child.began()
            _take(child, event, on_event)
        return events is not None

    def after(child: _Worker) -> None:
        ended, work = child.reap(), child.piece
        if child.done:
            on_end(work)
            return
        fault = ended.fault("a sequence of inputs", child.limit_s)
        if fault is None:
            raise HarnessError(child.trace or last_lines(ended.errors) or f"a child ended with exit code {ended.code}")
        work.fault, work.word = fault, work.place.word()
        on_end(work)

    run_each(iter(pieces), jobs, _Worker, serve, after, lambda _child: None)


def _take(child: _Worker, event: Event, on_event: Callable[[Work, Event], None]) -> None:
    match event["event"]:
        case "result":
            child.piece.result, child.done = event["result"], True
        case "not supported":
            child.piece.unsupported, child.done = event["why"], True
        case "mistake" | "trace":
            child.trace = event.get("why") or event["what"]
        case _:
            on_event(child.piece, event)
