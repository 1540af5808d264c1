# SPDX-License-Identifier: GPL-2.0-or-later
"""A comparison as a JSON object: `diff --json`, and the field `baseline` of the first line of results.jsonl."""

from __future__ import annotations

import dataclasses
from collections import Counter
from typing import Any

from netblt_conformance.baseline.compare import Change, Comparison, Kind
from netblt_conformance.baseline.records import Record
from netblt_conformance.common import wording
from netblt_conformance.common.verdicts import Result

LAYOUT_VERSION = 1


def document(found: Comparison) -> dict[str, Any]:
    """Layout 1, conformance/schemas/diff.schema.json."""
    counts = Counter(change.kind for change in found.changes)
    return {
        "layout": LAYOUT_VERSION,
        "before": _run(found.before),
        "now": _run(found.now),
        "parameters": [dataclasses.asdict(one) for one in found.parameters],
        "counts": {**{kind.value: counts[kind] for kind in Kind}, "unchanged": found.unchanged},
        "changes": [_change(change) for change in found.changes],
        "observations": [{**dataclasses.asdict(one), "where": list(one.where)} for one in found.observations],
        "slower": None if found.slower is None else [dataclasses.asdict(one) for one in found.slower],
        "fails": found.fails,
    }


def _run(record: Record) -> dict[str, Any]:
    header = record.header
    return {"file": record.name, "testing": header.testing, "seed": header.seed, "complete": header.complete}


def _change(change: Change) -> dict[str, Any]:
    row = change.row
    return {
        "change": change.kind.value,
        "case": row.case,
        "role": row.role,
        "arm": row.arm,
        "origin": row.origin.value,
        "requirement": row.requirement,
        "before": _side(change.before),
        "now": _side(change.now),
        "cause_changed": change.cause_changed,
    }


def _side(result: Result | None) -> dict[str, Any] | None:
    if result is None:
        return None
    return {
        "verdict": result.verdict.label,
        "cause": result.cause.value,
        "requirement": result.requirement,
        "due_by": result.due_by,
        "capture": result.capture,
        "frame": result.frame,
        "reason": wording.reason(result),
    }
