#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Writes conformance/suite/first_runs.toml: the runs that show most mutants soonest.

Usage: first_runs.py RESULTS

RESULTS is what `netblt-conformance mutants --diagnosis --results RESULTS` has written. This is the greedy algorithm for
set multicover, known from ordering the tests of a program by the faults that they find ("additional" coverage)."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from netblt_conformance.common import paths
from netblt_conformance.common.verdicts import Result, Verdict
from netblt_conformance.diagnosis.evidence import SOURCES
from netblt_conformance.mutants import mutants
from netblt_conformance.report.causes_so_far import AGREE
from netblt_conformance.run.schedule import FIRST_RUNS

# A run that takes longer until it fails is of no use among the first ones, unless nothing else shows the mutant.
SOON_S = 3.0
# So many runs show each mutant: one of them may be disturbed.
COVER = 2
# So many short runs follow each one that waits.
SHORT_BETWEEN = 1
HEAD = """\
# SPDX-License-Identifier: GPL-2.0-or-later
# The runs that are started first on a link where runs take real time: they show most mutants soonest.
# conformance/nightly/first_runs.py writes this file.

runs = [
"""

Shown = dict[str, float]  # key of a run -> seconds until its result


def shown_by(results: Iterable[Result], accused: frozenset[str]) -> Shown:
    """The runs that fail, by the requirements that the mutant breaks if there are any such."""
    found: dict[bool, Shown] = {True: {}, False: {}}
    for row in results:
        if row.verdict is Verdict.FAIL and row.origin in SOURCES:
            found[row.requirement in accused or row.due_by in accused].setdefault(row.key, row.seconds)
    return found[True] or found[False]


def soonest(shown: Mapping[str, Shown]) -> list[str]:
    """Keys in the order in which the runs are to start: the one that shows most first, and between them those that wait
    long for what only they show, the longest first."""
    late = {name: runs for name, runs in shown.items() if runs and min(runs.values()) > SOON_S}
    needed = cover(late, AGREE)
    waiting = sorted(needed, key=lambda key: -max(runs[key] for runs in late.values() if key in runs))
    soon = {name: {k: s for k, s in runs.items() if s <= SOON_S} for name, runs in shown.items() if name not in late}
    short = [key for key in cover(soon, COVER) if key not in waiting]
    found: list[str] = []
    while waiting or short:
        found += waiting[:1] + short[:SHORT_BETWEEN]
        del waiting[:1], short[:SHORT_BETWEEN]
    return found


def cover(shown: Mapping[str, Shown], times: int) -> list[str]:
    """Runs that show each mutant so many times, or as often as it is shown at all."""
    need = {name: min(times, len(runs)) for name, runs in shown.items()}
    chosen: list[str] = []
    while any(need.values()):
        gain: dict[str, tuple[int, float]] = {}
        for name, runs in shown.items():
            if need[name]:
                for key in runs.keys() - set(chosen):
                    count, seconds = gain.get(key, (0, 0.0))
                    gain[key] = (count + 1, min(seconds, -runs[key]))
        best = max(sorted(gain), key=gain.__getitem__)
        chosen.append(best)
        for name, runs in shown.items():
            need[name] -= best in runs and need[name] > 0
    return chosen


def main() -> int:
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    known = {mutant.name: mutant for mutant in mutants.load(paths.mutants())}
    shown: dict[str, Shown] = {}
    with Path(sys.argv[1]).open(encoding="utf-8") as lines:
        for line in lines:
            one = json.loads(line)
            mutant = known[one["mutant"]]
            shown[mutant.name] = shown_by(map(Result.from_json, one["results"]), mutant.planted)
    runs = "".join(f"    {json.dumps(key)},\n" for key in soonest(shown))
    (paths.suite() / FIRST_RUNS).write_text(f"{HEAD}{runs}]\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
