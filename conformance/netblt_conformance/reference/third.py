# SPDX-License-Identifier: GPL-2.0-or-later
"""The third judge in a run of the suite: captures of cases in which the suite sees nothing wrong, but a packet of the
implementation is outside of what a conforming one may have sent."""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Iterator, Sequence
from pathlib import Path

from netblt_conformance.common.arguments import number_of_jobs
from netblt_conformance.common.verdicts import Cause, Origin, Result, Verdict
from netblt_conformance.judges.second import Progress, by_capture
from netblt_conformance.links.base import IUT_ADDRESS
from netblt_conformance.reference.beside import first_outside
from netblt_conformance.reference.outcome import Outside

# Fewer captures are not worth a process.
_ALONE_MOST = 40
_AT_A_TIME = 20


def disagreements(results: Sequence[Result], report: Path, progress: Progress) -> list[Result]:
    """One ERROR for each capture in which this judge contradicts the suite. The captures are those of a link in virtual
    time. Where the suite fails something in the capture, or the same requirement elsewhere in the role, both
    agree that the implementation is wrong."""
    captures = by_capture(results, report)
    failed = {(result.requirement, result.role) for result in results if result.verdict is Verdict.FAIL}
    clean = [name for name, rows in sorted(captures.items()) if not _convicted(rows)]
    found = []
    progress(0, len(clean))
    for number, (name, outside) in enumerate(zip(clean, _outside([report / name for name in clean]), strict=True), 1):
        if number % _AT_A_TIME == 0 or number == len(clean):
            progress(number, len(clean))
        if outside is not None and not _is_known(captures[name], outside, failed):
            found.append(_error(captures[name][0], outside))
    return found


def _convicted(rows: Sequence[Result]) -> bool:
    return any(row.verdict in (Verdict.FAIL, Verdict.ERROR) for row in rows)


def _is_known(rows: Sequence[Result], outside: Outside, failed: set[tuple[str, str]]) -> bool:
    """The suite sees it as a WARN or elsewhere in the role, or the tester made it undecidable."""
    rule = outside.requirement
    warned = any(row.verdict is Verdict.WARN and rule in row.requirements for row in rows)
    return warned or (rule, rows[0].role) in failed or any(rule in row.provoked for row in rows)


def _outside(captures: Sequence[Path]) -> Iterator[Outside | None]:
    if len(captures) <= _ALONE_MOST:
        yield from map(_first, captures)
        return
    with multiprocessing.get_context("fork").Pool(number_of_jobs(), _ended_by_the_pool) as pool:
        yield from pool.imap(_first, captures, chunksize=_AT_A_TIME)


def _ended_by_the_pool() -> None:
    """A process of the pool inherits the handlers of a run, which raise; the pool ends it with SIGTERM, and a Ctrl-C is
    for the run."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)


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
