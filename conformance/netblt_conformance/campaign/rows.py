# SPDX-License-Identifier: GPL-2.0-or-later
"""The results of units, and the blocks of them as Parquet files."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass, field

from netblt_conformance.campaign.errors import library
from netblt_conformance.common.verdicts import Cause, Verdict

# Columns with text: of each unit, the same whichever worker ran it.
TEXTS = ("name", "verdict", "requirement", "cause", "reason", "detail")
# Columns about the block that a unit belongs to, different in each run.
OF_BLOCK = ("block", "worker", "host", "began", "wall_s", "cpu_s")
_COMPRESSION = "zstd"


@dataclass(frozen=True, slots=True)
class Row:
    """What came of one unit."""

    unit: int
    name: str  # what was tested: transfer and role, mutant, capture ...
    verdict: Verdict = Verdict.PASS
    reason: str = ""
    cause: Cause = Cause.JUDGEMENT
    requirement: str = ""
    detail: str = ""  # the file that runs this unit again, where the kind has one; empty for a unit that passed
    measures: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Spent:
    """Where a block ran, and what it took."""

    worker: str
    host: str
    began: float  # seconds since 1970
    wall_s: float
    cpu_s: float


def parquet(block: int, rows: Sequence[Row], measures: Sequence[str], spent: Spent) -> bytes:
    """A block as the bytes of a Parquet file."""
    arrow, parquet = library("pyarrow"), library("pyarrow.parquet")
    count, words = len(rows), arrow.string()
    columns = {"unit": arrow.array([row.unit for row in rows], arrow.int64())}
    texts = {
        "name": [row.name for row in rows],
        "verdict": [row.verdict.label for row in rows],
        "requirement": [row.requirement for row in rows],
        "cause": [str(row.cause) for row in rows],
        "reason": [row.reason for row in rows],
        "detail": [row.detail for row in rows],
    }
    columns |= {name: arrow.array(texts[name], words) for name in TEXTS}
    for name in measures:
        columns[name] = arrow.array([row.measures.get(name) for row in rows], arrow.float64())
    columns["block"] = arrow.array([block] * count, arrow.int64())
    columns["worker"] = arrow.array([spent.worker] * count, words)
    columns["host"] = arrow.array([spent.host] * count, words)
    for name in ("began", "wall_s", "cpu_s"):
        columns[name] = arrow.array([getattr(spent, name)] * count, arrow.float64())
    out = io.BytesIO()
    parquet.write_table(arrow.table(columns), out, compression=_COMPRESSION)
    return out.getvalue()
