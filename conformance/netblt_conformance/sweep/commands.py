# SPDX-License-Identifier: GPL-2.0-or-later
"""replay and shrink: schedules of faults as files."""

from __future__ import annotations

import argparse
from pathlib import Path

from netblt_conformance.common import paths
from netblt_conformance.common.verdicts import ExitCode, Verdict
from netblt_conformance.common.words import fit
from netblt_conformance.links.sim import SimLinkFactory


def _libraries(options: argparse.Namespace) -> tuple[Path, Path]:
    iut = options.iut_library or paths.iut_library()
    for library in (iut, paths.iut_library()):
        SimLinkFactory(library).check()
    return iut, paths.iut_library()


def command_replay(options: argparse.Namespace) -> int:
    """0: no schedule failed. 1: one did."""
    from netblt_conformance.sweep import schedule_file
    from netblt_conformance.sweep.stage import Replay

    replay, worst = Replay(*_libraries(options)), Verdict.PASS
    if options.output is not None:
        options.output.mkdir(parents=True, exist_ok=True)
    for path in options.file:
        file = schedule_file.load(path)
        capture = None if options.output is None else options.output / f"{path.stem}.pcapng"
        verdict, reason, findings = replay.run(file, capture)
        print(f"{verdict.label:<6} {path}  {file.transfer.name} {file.role}  {'; '.join(file.rules)}")
        if reason:
            print(fit(f"       {reason}"))
        for finding in findings:
            print(f"       frame {finding.frame} ({finding.interface}): {finding.requirement} {finding.verdict}")
        worst = max(worst, verdict)
    return (
        ExitCode.FAILED
        if worst is Verdict.FAIL
        else ExitCode.COULD_NOT_RUN
        if worst > Verdict.INCONC
        else ExitCode.HOLDS
    )


def command_shrink(options: argparse.Namespace) -> int:
    """0: written. 1: the schedule does not fail, so nothing can be shrunk."""
    from netblt_conformance.sweep import schedule_file
    from netblt_conformance.sweep.stage import Replay

    replay = Replay(*_libraries(options))
    file = schedule_file.load(options.file)
    verdict, _, _ = replay.run(file)
    if verdict <= Verdict.INCONC:
        print(f"{options.file} does not fail ({verdict.label}): there is nothing to shrink")
        return ExitCode.FAILED
    small = replay.shrink(file, verdict)
    if options.output is None:
        print(small.text(), end="")
    else:
        options.output.write_text(small.text(), encoding="utf-8")
        print(f"{len(file.rules)} rules before, {len(small.rules)} now: {options.output}")
    return ExitCode.HOLDS
