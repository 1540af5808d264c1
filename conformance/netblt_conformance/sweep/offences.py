# SPDX-License-Identifier: GPL-2.0-or-later
"""Violations that the Wireshark plugin finds in the merged captures of a job, and the end that caused each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from netblt_conformance.judges.tshark import Finding, Tshark
from netblt_conformance.sweep.one import addresses
from netblt_conformance.sweep.workers import Job, Task, captures


class Offence(NamedTuple):
    """A violation in the transfer of a task, by the end on side A or by the one on side B."""

    task: Task
    by_a: bool
    finding: Finding


def offences(tshark: Tshark, job: Job) -> Iterator[Offence]:
    """All of a job whose captures are complete. The captures are removed."""
    by_address = {address: index for index in range(len(job.tasks)) for address in addresses(index)}
    for capture in captures(job):
        for finding in tshark.findings(capture, violations=True):
            index = by_address[finding.offender_address]
            yield Offence(job.tasks[index], finding.offender_address == addresses(index)[0], finding)
        capture.unlink()
