# SPDX-License-Identifier: GPL-2.0-or-later
"""The third judge in a run of the suite: captures of cases in which the suite sees nothing wrong, but a packet of the
implementation is outside of what a conforming one may have sent."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path

from netblt_conformance.common.arguments import number_of_jobs
from netblt_conformance.common.child import Child, Emit, run_each
from netblt_conformance.common.errors import JudgeError
from netblt_conformance.common.verdicts import Cause, Origin, Result, Verdict
from netblt_conformance.common.words import last_lines
from netblt_conformance.judges.second import Progress, by_capture
from netblt_conformance.links.base import IUT_ADDRESS
from netblt_conformance.reference.beside import first_outside
from netblt_conformance.reference.outcome import Outside

# Fewer captures are not worth one more process.
_FOR_A_PROCESS = 40
# The core judges the pace by one rule, the suite by one for each way in which it is exceeded.
_PACE = frozenset({"RATE-01", "RATE-02", "RATE-03", "RATE-05"})
# A capture takes milliseconds.
LIMIT_S = 60.0


def disagreements(results: Sequence[Result], report: Path, progress: Progress) -> list[Result]:
    """One ERROR for each capture in which this judge contradicts the suite. The captures are those of a link in virtual
    time. Where the suite fails something in the capture, or the same requirement elsewhere in the role, both
    agree that the implementation is wrong."""
    captures = by_capture(results, report)
    failed = {(result.requirement, result.role) for result in results if result.verdict is Verdict.FAIL}
    clean = [name for name, rows in sorted(captures.items()) if not _convicted(rows)]
    progress(0, len(clean))
    outside = _outside([report / name for name in clean], lambda done: progress(done, len(clean)))
    return [
        _error(captures[name][0], one)
        for name, one in zip(clean, outside, strict=True)
        if one is not None and not _is_known(captures[name], one, failed)
    ]


def _convicted(rows: Sequence[Result]) -> bool:
    return any(row.verdict in (Verdict.FAIL, Verdict.ERROR) for row in rows)


def _is_known(rows: Sequence[Result], outside: Outside, failed: set[tuple[str, str]]) -> bool:
    """The suite sees it as a WARN, in the same packet (as a control arm that fails), or elsewhere in the role, or the
    tester made it undecidable."""
    rules = _PACE if outside.requirement in _PACE else frozenset({outside.requirement})
    warned = any(row.verdict is Verdict.WARN and rules.intersection(row.requirements) for row in rows)
    seen = any(row.verdict is Verdict.INCONC and row.frame == outside.frame for row in rows)
    elsewhere = any((rule, rows[0].role) in failed for rule in rules)
    return warned or seen or elsewhere or any(outside.requirement in row.provoked for row in rows)


class _Child(Child):
    """Judges every so many captures, from one on."""

    def __init__(self, captures: Sequence[Path], first: int, step: int) -> None:
        self._captures = captures
        self._numbers = range(first, len(captures), step)
        self.done = False
        self.trace = ""  # the exception that ended it
        super().__init__(LIMIT_S)
        self.began()

    def work(self, emit: Emit) -> None:
        for number in self._numbers:
            outside = _first(self._captures[number])
            emit({"event": "judged", "number": number, "outside": outside and dataclasses.asdict(outside)})
        emit({"event": "done"})


def _outside(captures: Sequence[Path], judged: Callable[[int], None]) -> list[Outside | None]:
    """What this judge finds in each capture. `judged` gets how many are done."""
    jobs = min(number_of_jobs(), -(-len(captures) // _FOR_A_PROCESS))
    found: dict[int, Outside | None] = {}

    def serve(child: _Child) -> bool:
        events = child.events()
        for event in events or ():
            if event["event"] == "judged":
                found[event["number"]] = event["outside"] and Outside(**event["outside"])
                child.began()
            elif event["event"] == "done":
                child.done = True
            else:
                child.trace = event["what"]
        judged(len(found))
        return events is not None

    def after(child: _Child) -> None:
        ended = child.reap()
        if not child.done:
            why = child.trace or ended.fault("a capture", child.limit_s) or last_lines(ended.errors)
            raise JudgeError(why)

    run_each(iter(range(jobs)), jobs, lambda first: _Child(captures, first, jobs), serve, after, lambda _child: None)
    return [found[number] for number in range(len(captures))]


def _first(capture: Path) -> Outside | None:
    return first_outside(capture, IUT_ADDRESS, virtual=True)


def _error(row: Result, outside: Outside) -> Result:
    seen = (
        f"the suite and the reference core disagree: beside the core, frame {outside.frame} violates "
        f"{outside.requirement}: expected {outside.expected}; observed {outside.observed}"
    )
    return Result(
        row.case,
        [outside.requirement],
        row.role,
        Verdict.ERROR,
        seen,
        row.arm,
        row.capture,
        outside.frame,
        origin=Origin.JUDGES,
        cause=Cause.SUITE,
    )
