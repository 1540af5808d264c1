# SPDX-License-Identifier: GPL-2.0-or-later
"""Violations that the Wireshark plugin finds in the merged captures of a job, and the end that caused each."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import NamedTuple

from netblt_conformance.common.child import Emit, Event
from netblt_conformance.judges.findings import Conclusion
from netblt_conformance.judges.tshark import Finding, Tshark
from netblt_conformance.sweep.one import addresses
from netblt_conformance.sweep.workers import Job, Judging, Task, captures


class Offence(NamedTuple):
    """A violation in the transfer of a task, by the end on side A or by the one on side B."""

    task: Task
    by_a: bool
    finding: Finding


def judging(tshark: Tshark, take: Callable[[Offence], None]) -> Judging:
    """For a pool: tshark judges the captures of each job in a child, `take` gets what it finds in this process."""
    return Judging(lambda job, emit: _judge(tshark, job, emit), lambda job, event: take(_offence(job, event)))


def _judge(tshark: Tshark, job: Job, emit: Emit) -> None:
    tshark.dies_with_this_process = True
    for index, finding in _violations(tshark, job):
        emit({"event": "violation", "index": index, "finding": dataclasses.asdict(finding)})


def _violations(tshark: Tshark, job: Job) -> Iterator[tuple[int, Finding]]:
    """All of a job whose captures are complete, with the index of the task. The captures are removed."""
    by_address = {address: index for index in range(len(job.tasks)) for address in addresses(index)}
    for capture in captures(job):
        for finding in tshark.findings(capture, violations=True):
            yield by_address[finding.offender_address], finding
        capture.unlink()


def _offence(job: Job, event: Event) -> Offence:
    index, fields = event["index"], event["finding"]
    finding = Finding(**{**fields, "verdict": Conclusion(fields["verdict"])})
    return Offence(job.tasks[index], finding.offender_address == addresses(index)[0], finding)
