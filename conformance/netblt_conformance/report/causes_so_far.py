# SPDX-License-Identifier: GPL-2.0-or-later
"""The likely cause of the failures of a run that still goes on: a line as soon as the failures so far agree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from netblt_conformance.verdicts import Cause, Result, Verdict

# How each line begins.
LIKELY_CAUSE = "likely cause so far:"
# So many runs that break the same requirement are reported at once.
AGREE = 3
# So many are needed where the machine disturbed them: noise may break the same requirement several times.
AGREE_DISTURBED = 6
# After this time the best guess is reported, even if fewer runs agree.
PATIENCE_S = 15.0
# Another requirement is reported when it explains so many times as many runs as the one reported last.
MORE_BY = 2
LINES_MAX = 3
# What a packet or a state shows is a better hint than what did not come: that may follow from anything before it.
_WEIGHTS = {Cause.JUDGEMENT: 1.0, Cause.CRASH: 1.0, Cause.ABSENCE: 0.5, Cause.SUITE: 0.0}


@dataclass(slots=True)
class _Group:
    """The failures under one requirement."""

    first: Result
    runs: dict[str, float] = field(default_factory=dict)  # key -> weight
    disturbed: dict[str, float] = field(default_factory=dict)  # the same, of runs that the machine disturbed

    @property
    def weight(self) -> float:
        return sum(self.runs.values()) + sum(self.disturbed.values()) * AGREE / AGREE_DISTURBED

    @property
    def count(self) -> int:
        return len(self.runs.keys() | self.disturbed.keys())

    @property
    def agrees(self) -> bool:
        return len(self.runs) >= AGREE or len(self.disturbed) >= AGREE_DISTURBED


class CausesSoFar:
    """Takes results as they come."""

    def __init__(self, reproduce: Sequence[str]) -> None:
        """`reproduce`: the command that runs the same implementation, without a selection."""
        self._reproduce = list(reproduce)
        self._groups: dict[str, _Group] = {}
        self._reported: list[str] = []

    def take(self, result: Result, elapsed_s: float) -> str | None:
        """The line to print now, if there is one."""
        if result.verdict is Verdict.FAIL and result.requirement:
            group = self._groups.setdefault(result.requirement, _Group(result))
            weight = _WEIGHTS[result.cause]
            if weight > _WEIGHTS[group.first.cause]:
                group.first = result
            runs = group.disturbed if result.disturbed else group.runs
            runs[result.key] = max(weight, runs.get(result.key, 0.0))
        if not self._groups or len(self._reported) >= LINES_MAX:
            return None
        name = max(self._groups, key=lambda name: self._groups[name].weight)
        group = self._groups[name]
        if name in self._reported or not self._is_clear(group, elapsed_s):
            return None
        self._reported.append(name)
        return self._line(name, group)

    def _is_clear(self, group: _Group, elapsed_s: float) -> bool:
        if not self._reported:
            return group.agrees or (bool(group.runs) and elapsed_s >= PATIENCE_S)
        return group.weight >= MORE_BY * self._groups[self._reported[-1]].weight

    def _line(self, name: str, group: _Group) -> str:
        first, count = group.first, group.count
        runs = "1 run" if count == 1 else f"{count} runs"
        command = " ".join([*self._reproduce, "--select", first.base_name, "--role", first.role])
        return f"{LIKELY_CAUSE} {name} ({first.role}), in {runs}: {first.reason}; reproduce: {command}"
