# SPDX-License-Identifier: GPL-2.0-or-later
"""The likely cause of the failures of a run that still goes on: a line as soon as the failures so far agree."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from netblt_conformance.common import wording
from netblt_conformance.common.verdicts import Result, Verdict
from netblt_conformance.diagnosis.evidence import reliable
from netblt_conformance.diagnosis.ranking import DISTURBED_ENOUGH, LikelyCause, likely_causes
from netblt_conformance.report import causes

# How each line begins.
LIKELY_CAUSE = "likely cause so far:"
# So many runs that break the same requirement are enough for the first line.
AGREE = 3
# After this time so many are enough. A single one may be tried again at the end of the run, and pass.
PATIENCE_S, AGREE_LATE = 15.0, 2
# Another cause is looked for when so many times as many runs have failed as when the last one was reported.
MORE_BY = 2
LINES_MAX = 3


class CausesSoFar:
    """Takes results as they come."""

    def __init__(self, reproduce: Sequence[str]) -> None:
        """`reproduce`: the command that runs the same implementation, without a selection."""
        self._reproduce = list(reproduce)
        self._results: list[Result] = []
        self._failed: set[str] = set()  # keys of runs
        self._runs: dict[str, set[str]] = {}  # requirement -> keys of the runs that break it
        self._reliable: dict[str, set[str]] = {}  # of these the ones that are reliable evidence
        self._look_at = 1  # so many failed runs
        self._reported: set[str] = set()
        self._overdue: dict[str, str] = {}  # key of a run that was reported as overdue -> what was suspected

    def take(self, result: Result, elapsed_s: float) -> str | None:
        """The line to print now, if there is one."""
        self._results.append(result)
        if result.key in self._overdue:
            names, self._overdue = self._overdue[result.key], {}
            if result.verdict is Verdict.PASS:
                return f"{LIKELY_CAUSE} not {names}: what was late has come ({result.key})"
        if result.verdict is Verdict.FAIL and result.requirement:
            self._failed.add(result.key)
            self._runs.setdefault(result.requirement, set()).add(result.key)
            if reliable(result):
                self._reliable.setdefault(result.requirement, set()).add(result.key)
        if len(self._failed) < self._look_at or len(self._reported) >= LINES_MAX or not self._is_time(elapsed_s):
            return None
        likely = likely_causes(self._results)
        if not likely:
            return None
        self._look_at = MORE_BY * len(self._failed)
        if likely[0].requirement in self._reported:
            return None
        self._reported.add(likely[0].requirement)
        return self._line(likely[0])

    def first_transfer(self, role: str, why: str | None) -> str | None:
        """The line to print when the first transfer of a role is over. `why`: it failed; None: it did not."""
        if why is None:
            return None
        command = shlex.join([*self._reproduce, "--role", role])
        return f"{LIKELY_CAUSE} the first transfer fails ({role}): {why}; reproduce: {command}"

    def overdue(self, pending: Sequence[Result]) -> str | None:
        """The line to print when runs wait for so long that they will probably fail, unless something has been decided.
        `pending`: what their results will be then."""
        likely = likely_causes([*self._results, *pending])
        if self._overdue or self._reported or not likely:
            return None
        self._overdue = dict.fromkeys((result.key for result in pending), " or ".join(likely[0].requirements))
        return self._line(likely[0], "not decided yet, ")

    def _is_time(self, elapsed_s: float) -> bool:
        if self._reported or _most(self._reliable) >= AGREE or _most(self._runs) >= DISTURBED_ENOUGH:
            return True
        return _most(self._reliable) >= AGREE_LATE and elapsed_s >= PATIENCE_S

    def _line(self, cause: LikelyCause, remark: str = "") -> str:
        first = cause.first
        names = " or ".join(cause.requirements)
        shown = "1 result" if cause.explains == 1 else f"{cause.explains} results"
        command = causes.command(self._reproduce, first)
        return f"{LIKELY_CAUSE} {names} ({first.role}), {remark}{shown}: {wording.reason(first)}; reproduce: {command}"


def _most(runs: dict[str, set[str]]) -> int:
    return max(map(len, runs.values()), default=0)
