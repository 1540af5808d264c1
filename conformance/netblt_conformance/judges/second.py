# SPDX-License-Identifier: GPL-2.0-or-later
"""Suite and dissector must agree on a run: what the dissector proves against the implementation, the suite has seen
too; and a packet that the suite holds against the implementation is none that the dissector looked at and found right.

The captures are the tester's own and complete, so the dissector knows where they were made: for the tester's packets
the order of the capture is the order of emission."""

from __future__ import annotations

import bisect
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from netblt_conformance.catalogue import catalogue
from netblt_conformance.common.model import ROLES_BY_NAME, address_text
from netblt_conformance.common.verdicts import Cause, Origin, Result, Verdict
from netblt_conformance.judges import held
from netblt_conformance.judges.findings import Finding
from netblt_conformance.judges.merged import FILES_AT_A_TIME, Part, merge
from netblt_conformance.judges.tshark import Tshark
from netblt_conformance.links.base import IUT_ADDRESS

IUT = address_text(IUT_ADDRESS)
# So many suspected packets of one requirement, role and origin are looked at: what a broken implementation does in
# hundreds of captures is the same each time, and each takes three readings.
ALIKE_MAX = 20
# What is done, and of how many.
Progress = Callable[[int, int], None]


def _no_progress(_done: int, _of: int) -> None:
    """Progress is not shown."""


def position_options(role: str) -> tuple[str, ...]:
    """Where the tester captured: at the receiver when the implementation sends, else at the sender."""
    known = ROLES_BY_NAME.get(role)
    return ("-o", f"netblt.capture_position:{'receiver' if known.sender else 'sender'}") if known else ()


def findings(
    tshark: Tshark,
    captures: Sequence[Path],
    options: Sequence[str] = (),
    looked_at: Callable[[int], None] = lambda _captures: None,
    *,
    violations: bool = True,
) -> Iterator[tuple[Path, Finding]]:
    """(capture, finding) for every violation, or every finding, in every capture; frames are counted in that capture.
    `looked_at` gets how many captures are done, some at a time."""
    with tempfile.TemporaryDirectory(prefix="netblt-judge-") as folder:
        merged = Path(folder) / "merged.pcapng"
        for first in range(0, len(captures), FILES_AT_A_TIME):
            parts = merge(captures[first : first + FILES_AT_A_TIME], merged)
            starts = [part.first_frame for part in parts]
            for finding in tshark.findings(merged, *options, violations=violations):
                part: Part = parts[bisect.bisect_right(starts, finding.frame) - 1]
                yield part.path, finding.counted_from(part.first_frame)
            looked_at(len(parts))


def _seen(results: Iterable[Result]) -> set[str]:
    """Requirements that the suite itself holds against the implementation in one capture."""
    graded = (Verdict.WARN, Verdict.FAIL)
    return {requirement for result in results if result.verdict in graded for requirement in result.requirements}


def by_capture(results: Sequence[Result], report: Path) -> dict[str, list[Result]]:
    """The results that have a capture in the report, by its name."""
    found: dict[str, list[Result]] = defaultdict(list)
    for result in results:
        if result.capture is not None and (report / result.capture).is_file():
            found[result.capture].append(result)
    return found


def disagreements(
    results: Sequence[Result], report: Path, progress: Progress = _no_progress, *, real_time: bool = False
) -> list[Result]:
    """One ERROR for every requirement and case where suite and dissector contradict each other. `progress` counts
    captures, then the packets that the suite suspects. `real_time`: packets may have crossed, and the suite leaves open
    what the dissector may be able to prove: where the suite fails the requirement elsewhere in the role, they agree."""
    count = _Count(progress, len(by_capture(results, report)) + len(_accused(results, report)))
    with Tshark() as tshark:
        failed = _failed(results) if real_time else set()
        return [*_unseen(tshark, results, report, count, failed), *_held(tshark, results, report, count)]


class _Count:
    """Adds up what is done."""

    def __init__(self, progress: Progress, of: int) -> None:
        self._progress, self._done, self._of = progress, 0, of
        progress(0, of)

    def add(self, done: int) -> None:
        self._done += done
        self._progress(self._done, self._of)


def _error(result: Result, requirement: str, reason: str, frame: int | None) -> Result:
    return Result(
        result.case,
        [requirement],
        result.role,
        Verdict.ERROR,
        f"the suite and the dissector disagree: {reason}",
        result.arm,
        result.capture,
        frame,
        origin=Origin.JUDGES,
        cause=Cause.SUITE,
    )


def _failed(results: Iterable[Result]) -> set[tuple[str, str]]:
    """(requirement, role) of what the suite fails."""
    return {(result.requirement, result.role) for result in results if result.verdict is Verdict.FAIL}


def _unseen(
    tshark: Tshark, results: Sequence[Result], report: Path, count: _Count, failed: set[tuple[str, str]]
) -> list[Result]:
    """The dissector proves a violation by the implementation that the suite passed. The tester's own deliberate faults
    are not counted: they have another offender.

    Where the suite has proven another fault of the implementation in the same capture, both agree that it is
    broken, and what one more rule makes of the wreck is no contradiction: that is a FAIL of its own. So is one of those
    that are in `failed`."""
    captures = by_capture(results, report)
    by_position: dict[tuple[str, ...], list[Path]] = defaultdict(list)
    for name in sorted(captures):
        by_position[position_options(captures[name][0].role)].append(report / name)
    found: dict[tuple[str, str], Result] = {}
    for options, paths in by_position.items():
        for path, finding in findings(tshark, paths, options, looked_at=count.add):
            name, rule = path.name, finding.requirement
            rows = captures[name]
            if finding.offender_address != IUT or (name, rule) in found or rule in _seen(rows):
                continue
            if any(rule in row.provoked for row in rows):
                continue
            if any(row.verdict is Verdict.FAIL for row in rows) or (rule, rows[0].role) in failed:
                found[name, rule] = _failure(rows[0], finding)
            else:
                reason = f"the dissector proves a violation of {rule}, the suite saw none: {finding.text}"
                found[name, rule] = _error(rows[0], rule, reason, finding.guilty_frame)
    return list(found.values())


def _failure(result: Result, finding: Finding) -> Result:
    return Result(
        result.case,
        [finding.requirement],
        result.role,
        Verdict.FAIL,
        finding.text,
        result.arm,
        result.capture,
        finding.guilty_frame,
        result.seconds,
        origin=Origin.DISSECTOR,
        expected=catalogue.demand(finding.requirement),
    )


def _accused(results: Sequence[Result], report: Path) -> list[Result]:
    """Failures that rest on a packet; of a habit that shows in every case the first ones."""
    found: list[Result] = []
    alike: Counter[tuple[str, str, Origin]] = Counter()
    for rows in by_capture(results, report).values():
        for result in rows:
            if result.verdict is not Verdict.FAIL or result.frame is None or result.cause is Cause.ABSENCE:
                continue
            kind = (result.requirement, result.role, result.origin)
            alike[kind] += 1
            if alike[kind] <= ALIKE_MAX:
                found.append(result)
    return found


def _held(tshark: Tshark, results: Sequence[Result], report: Path, count: _Count) -> list[Result]:
    """The suite fails a packet of the implementation that the dissector looked at and found right, while it finds
    nothing else wrong with the implementation in that capture either."""
    accused = _accused(results, report)
    errors: dict[tuple[str | None, str], Result] = {}
    for role in sorted({result.role for result in accused}):
        mine = [result for result in accused if result.role == role]
        for result, views in held.examine(tshark, mine, report, position_options(role)):
            count.add(1)
            if views and all(view.acquits for view in views):
                words = ", ".join(view.requirement for view in views)
                reason = f"the suite fails {words}; the dissector checked the same packet and found no violation"
                error = _error(result, views[0].requirement, reason, result.frame)
                errors.setdefault((result.capture, views[0].requirement), error)
    return list(errors.values())
