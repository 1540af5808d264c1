# SPDX-License-Identifier: GPL-2.0-or-later
"""Outcomes as JSON and back."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from netblt_conformance.bakeoff.model import Completion, EndReport, Meeting, Milestone, Outcome, Violation


def dumped(one: Outcome) -> dict[str, Any]:
    """All of an outcome but its meeting."""
    return {
        "completion": one.completion.value,
        "why": one.why,
        "opener": _report(one.opener),
        "listener": _report(one.listener),
        "delivered_bytes": one.delivered_bytes,
        "line_bytes": one.line_bytes,
        "packets": one.packets,
        "transfer_us": one.transfer_us,
        "seconds": one.seconds,
        "capture": one.capture,
        "milestones": [milestone.value for milestone in Milestone if milestone in one.milestones],
        "violations": [asdict(violation) for violation in one.violations],
        "disturbed": one.disturbed,
        "notes": list(one.notes),
    }


def _report(report: EndReport | None) -> dict[str, Any] | None:
    return None if report is None else asdict(report)


def loaded(record: dict[str, Any], meeting: Meeting) -> Outcome:
    opener, listener = record["opener"], record["listener"]
    return Outcome(
        **{
            **record,
            "meeting": meeting,
            "completion": Completion(record["completion"]),
            "opener": None if opener is None else EndReport(**opener),
            "listener": None if listener is None else EndReport(**listener),
            "milestones": frozenset(map(Milestone, record["milestones"])),
            "violations": tuple(Violation(**violation) for violation in record["violations"]),
            "notes": tuple(record["notes"]),
        }
    )
