# SPDX-License-Identifier: GPL-2.0-or-later
"""Known failures of an implementation: on file, so they do not fail a run; and no longer there, so they do."""

from __future__ import annotations

import dataclasses

from netblt_conformance.adapter.adapter import Adapter, KnownFailure
from netblt_conformance.catalogue import catalogue
from netblt_conformance.common import wording
from netblt_conformance.common.remarks import Note, Remark
from netblt_conformance.common.verdicts import KNOWN, Cause, Origin, Result, Verdict
from netblt_conformance.run.selection import Candidate, Selection

Keyed = tuple[str, Result]


class _Entry:
    def __init__(self, failure: KnownFailure) -> None:
        self.failure = failure
        self._selection = Selection(failure.case)
        self._known = catalogue.requirements()

    def covers(self, result: Result) -> bool:
        if self.failure.role not in (None, result.role):
            return False
        return self._selection.picks(Candidate(result.base_name, "", tuple(result.requirements)), self._known)

    def judge(self, result: Result) -> Result:
        """A failure that it covers."""
        url, requirement, message = self.failure.url, self.failure.requirement, self.failure.message
        # The pattern is the user's, about the text that a report shows.
        said = message is None or message.search(wording.reason(result))
        if requirement not in (None, result.requirement) or not said:
            known = (requirement or "", message.pattern if message is not None else "")
            return result.noted(Note(Remark.OTHER_THAN_KNOWN, names=tuple(filter(None, known)), link=url))
        result = dataclasses.replace(result, observed={**result.observed, KNOWN: url})
        return result.noted(Note(Remark.KNOWN, link=url), verdict=Verdict.WARN)


def settle(results: list[Keyed], adapter: Adapter, *, everything: bool) -> list[Keyed]:
    """Failures that are on file become WARN; an entry whose cases all pass fails the run, and so does one that fits no
    case when `everything` was run."""
    entries = [_Entry(failure) for failure in adapter.known_failures]
    settled: list[Keyed] = []
    for key, result in results:
        if result.verdict is Verdict.FAIL:
            for entry in entries:
                if entry.covers(result):
                    result = entry.judge(result)
                    break
        settled.append((key, result))
    extra = [
        row for number, entry in enumerate(entries, 1) for row in _stale(number, entry, settled, adapter, everything)
    ]
    return [*settled, *extra]


def _stale(number: int, entry: _Entry, settled: list[Keyed], adapter: Adapter, everything: bool) -> list[Keyed]:
    covered = [result for _, result in settled if entry.covers(result)]
    name = f"known failure {number}"
    where = f"{adapter.path.name}: known_failure {number} ({entry.failure.case}, {entry.failure.url})"
    if not covered:
        why = f"{where} fits no case"
        return [(name, _of_entry(name, [], entry, Verdict.ERROR, why))] if everything else []
    if {result.verdict for result in covered} <= {Verdict.PASS, Verdict.NA} and any(
        result.verdict is Verdict.PASS for result in covered
    ):
        first = covered[0]
        why = f"{where} passes now: remove the entry"
        return [(name, _of_entry(name, list(first.requirements), entry, Verdict.FAIL, why))]
    return []


def _of_entry(name: str, requirements: list[str], entry: _Entry, verdict: Verdict, why: str) -> Result:
    role, observed = entry.failure.role or "all", {KNOWN: entry.failure.url}
    expected = "a failure, as the adapter file states"
    return Result(
        name,
        requirements,
        role,
        verdict,
        why,
        observed=observed,
        origin=Origin.KNOWN,
        cause=Cause.SUITE,
        expected=expected,
    )
