# SPDX-License-Identifier: GPL-2.0-or-later
"""Real time is never the same twice: what fails on a real link among other cases is tried once more, alone.

A fault fails again and stays what it was. What then passes was perhaps the load of this machine, perhaps a fault that
shows now and then: that proves nothing either way, so it becomes INCONC, with the first reason and the first capture.
A crash or a sanitizer's report needs no second look.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from pathlib import Path

from netblt_conformance.verdicts import Result, Verdict

# Noise spoils a few cases. More failures than this are no noise, and trying them again alone would take long.
DOUBTFUL_MAX = 20
_FAILED = (Verdict.FAIL, Verdict.ERROR)
Keyed = tuple[str, Result]


def _is_crash(result: Result) -> bool:
    return result.reason.startswith("the implementation ")


def doubtful(results: Iterable[Keyed]) -> set[str]:
    """Keys of the runs that deserve a second look; none when they are too many."""
    failed = [(key, result) for key, result in results if result.verdict in _FAILED]
    keys = {key for key, _ in failed} - {key for key, result in failed if _is_crash(result)}
    return keys if len(keys) <= DOUBTFUL_MAX else set()


def keep_captures(results: list[Keyed], keys: set[str], report: Path) -> None:
    """Moves the captures of these runs aside: the second look writes its own under the old names."""
    moved: dict[str, str] = {}
    for key, result in results:
        if key in keys and result.capture is not None and result.capture not in moved:
            first = result.capture.removesuffix(".pcapng") + ".first.pcapng"
            (report / result.capture).rename(report / first)
            moved[result.capture] = first
    for key, result in results:
        if key in keys and result.capture in moved:
            result.capture = moved[result.capture]


def settle(first: list[Keyed], second: list[Keyed], keys: set[str]) -> list[Keyed]:
    """The first results, with the failures among `keys` that did not happen again turned into INCONC."""
    again = {key for key, result in second if result.verdict in _FAILED or result.verdict is Verdict.INCONC}
    passed = {key for key, _ in second} - again

    def judged(key: str, result: Result) -> Result:
        if key not in keys or key not in passed or result.verdict not in _FAILED:
            return result
        reason = f"not confirmed, passes when it runs alone; before: {result.reason}"
        return dataclasses.replace(result, verdict=Verdict.INCONC, reason=reason)

    return [(key, judged(key, result)) for key, result in first]
