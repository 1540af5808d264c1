# SPDX-License-Identifier: GPL-2.0-or-later
"""Real time is never the same twice: what does not pass on a real link among many cases is tried again, with few
others at first, and then alone.

What the machine disturbed is void: when the tester measured that it or the implementation was held up for longer than
two events may lie apart, nothing is known, and the first undisturbed repetition decides. A failure without disturbance
that happens again stays what it was; one that does not happen again was perhaps the load of this machine, perhaps a
fault that shows now and then. That proves nothing either way, so it becomes INCONC, with the first reason and the first
capture. A crash or a sanitizer's report needs no second look, nor does a failure that several cases of the same
requirement and role show: they confirm each other. So do the runs of one case in which something did not come for long.
When many are confirmed so, the implementation is broken, and nothing is tried again.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Set
from pathlib import Path

from netblt_conformance.common.remarks import Note, Remark
from netblt_conformance.common.verdicts import GRADED, Cause, Evidence, Result, Verdict

# Noise disturbs a few cases. More failures than this are no noise, and trying them again alone would take long.
DOUBTFUL_MAX = 20
# So many different cases that break the same requirement in the same role, none of them disturbed, confirm each other:
# to repeat one of them would add one more to three.
CONFIRMING = 3
# So many runs of one case, in other roles or variants, that wait long in vain: no disturbance lasts as long.
CONFIRMING_WAITS = 2
# A machine that disturbs all of these is too busy for real time.
ATTEMPTS = 5
# So many runs at a time leave two processors idle most of the time; what is disturbed nevertheless runs alone next.
FIRST_JOBS = 4
# What a disturbance of the machine delays comes sooner than this.
LONG_WAIT_S = 5.0
_FAILED = (Verdict.FAIL, Verdict.ERROR)
Keyed = tuple[str, Result]
# Runs these keys again, so many at a time, and returns their results. Their captures have the old names.
Again = Callable[[set[str], int], list[Keyed]]


def with_disturbance(result: Result, held_up_us: int, bearable_us: int) -> Result:
    """The result; if it is no pass and the machine may have caused it, with the time that this took."""
    if held_up_us > bearable_us and result.verdict not in (Verdict.PASS, Verdict.NA):
        return dataclasses.replace(result, held_up_us=held_up_us)
    return result


def _is_crash(result: Result) -> bool:
    return result.cause is Cause.CRASH


def _is_void(result: Result) -> bool:
    return result.disturbed and result.verdict in GRADED and result.verdict is not Verdict.PASS


def _deserves(result: Result) -> bool:
    return not _is_crash(result) and (result.verdict in (*_FAILED, Verdict.INCONC) or _is_void(result))


def doubtful(results: Iterable[Keyed], confirmed: Set[str] = frozenset()) -> set[str]:
    """Keys of the runs that deserve a second look: all, or when they are too many those that were disturbed.
    `confirmed`: keys of runs that others have confirmed. In their roles the implementation is broken: another run that
    lacks something after a long time would only wait for it again."""
    everything = list(results)
    broken = {result.role for key, result in everything if key in confirmed}
    results = [
        (key, result)
        for key, result in everything
        if key not in confirmed and not (result.role in broken and _is_long_wait(result))
    ]
    confirmed = confirmed_by_others(results)
    crashed = {key for key, result in results if result.verdict in _FAILED and _is_crash(result)}
    keys = {key for key, result in results if _deserves(result)} - crashed - confirmed
    if len(keys) > DOUBTFUL_MAX:
        keys = {key for key, result in results if _is_void(result)} & keys
    return keys if len(keys) <= 2 * DOUBTFUL_MAX else set()


def _is_long_wait(result: Result) -> bool:
    return result.verdict is Verdict.INCONC and _is_long_absence(result)


def _is_long_absence(result: Result) -> bool:
    return result.cause is Cause.ABSENCE and result.seconds >= LONG_WAIT_S


def is_broken(results: Iterable[Keyed], confirmed: Set[str]) -> bool:
    """Whether more runs fail for sure than noise can disturb. `confirmed`: keys of runs that others have confirmed."""
    return len(confirmed | confirmed_by_others(results)) > DOUBTFUL_MAX


def confirmed_by_others(results: Iterable[Keyed]) -> set[str]:
    """Keys of the runs whose every failure other runs show too: several other cases of the requirement in the same
    role, or the same case in another role or variant where something did not come for long."""
    cases: dict[tuple[str, str], set[str]] = {}
    waits: dict[tuple[str, str], set[str]] = {}
    failures: dict[str, list[Result]] = {}
    for key, result in results:
        if result.verdict is Verdict.FAIL and result.requirements:
            failures.setdefault(key, []).append(result)
            if not result.disturbed:
                cases.setdefault((result.requirements[0], result.role), set()).add(result.base_name)
                if _is_long_absence(result):
                    waits.setdefault((result.requirements[0], result.base_name), set()).add(key)

    def confirmed(result: Result) -> bool:
        alike = waits.get((result.requirements[0], result.base_name), ())
        if _is_long_absence(result) and len(alike) >= CONFIRMING_WAITS:
            return True
        return len(cases.get((result.requirements[0], result.role), ())) >= CONFIRMING

    return {key for key, own in failures.items() if all(confirmed(result) for result in own)}


def set_aside(results: list[Keyed], keys: set[str], report: Path) -> list[Keyed]:
    """Moves the captures of these runs aside: the second look writes its own under the old names. The results with the
    new names."""
    moved: dict[str, str] = {}
    kept: list[Keyed] = []
    for key, result in results:
        if key in keys and result.capture is not None:
            if result.capture not in moved:
                first = result.capture.removesuffix(".pcapng") + ".first.pcapng"
                (report / result.capture).rename(report / first)
                moved[result.capture] = first
            result = dataclasses.replace(result, capture=moved[result.capture])
        kept.append((key, result))
    return kept


def _rows(results: Iterable[Keyed], key: str) -> list[Result]:
    return [result for name, result in results if name == key]


def look_again(first: list[Keyed], keys: set[str], again: Again) -> dict[str, list[Result]]:
    """By key what the second look at these runs shows. The captures of the first look have been set aside."""
    settled: dict[str, list[Result]] = {}
    found = {key: [_worst_evidence(_rows(first, key))] for key in keys}
    for attempt in range(ATTEMPTS):
        left = keys - settled.keys()
        if not left:
            break
        seen = again(left, 1 if attempt else FIRST_JOBS)
        for key in left:
            rows = _rows(seen, key)
            found[key].append(_worst_evidence(rows))
            again_and_again = len(found[key]) > 2 and len(set(found[key])) == 1
            if attempt == ATTEMPTS - 1 or again_and_again or not any(_is_void(row) for row in rows):
                settled[key] = rows
    return settled


def judged(first: list[Keyed], settled: Mapping[str, list[Result]], report: Path) -> list[Keyed]:
    """The results of the first look with these runs settled."""
    final: list[Keyed] = []
    for key in dict.fromkeys(key for key, _ in first):
        rows = _rows(first, key)
        final += [(key, row) for row in (_judged(rows, settled[key], report) if key in settled else rows)]
    return final


def _judged(first: list[Result], second: list[Result], report: Path) -> list[Result]:
    """What the two looks at one run come to."""
    failed = any(row.verdict in _FAILED for row in first)
    fails = any(row.verdict in _FAILED for row in second)
    if second and (any(_is_void(row) for row in first) or not failed or (fails and _worst(second) > _worst(first))):
        for row in first:  # it proves nothing: what came later counts
            if row.capture is not None:
                (report / row.capture).unlink(missing_ok=True)
        return second
    if fails or not second or _worst(second) is Verdict.INCONC:
        return first
    return [_unconfirmed(row) for row in first]


def _worst(rows: list[Result]) -> Verdict:
    return max((row.verdict for row in rows), default=Verdict.NA)


def _worst_evidence(rows: list[Result]) -> Evidence | None:
    """Noise never gives the same evidence three times."""
    return max(rows, key=lambda row: row.verdict).evidence if rows else None


def _unconfirmed(row: Result) -> Result:
    if row.verdict not in _FAILED:
        return row
    return row.noted(Note(Remark.UNCONFIRMED), verdict=Verdict.INCONC)
