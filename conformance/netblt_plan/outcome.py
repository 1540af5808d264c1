# SPDX-License-Identifier: GPL-2.0-or-later
"""What came of one run of a scenario with one seed."""

from __future__ import annotations

import dataclasses

from netblt_plan.native import Buffer, Sample
from netblt_plan.tables import Tables


@dataclasses.dataclass(slots=True)
class FlowOutcome:
    """What one flow did with one seed. `early` is its state where measuring begins."""

    name: str
    settings: Tables
    stats: dict[str, int]
    early: dict[str, int]
    buffers: list[Buffer]
    reason: str


@dataclasses.dataclass(slots=True)
class Outcome:
    """One run with one seed."""

    end: str
    seconds: float
    flows: list[FlowOutcome]
    links: dict[str, list[dict[str, int]]]  # by name: forward, back; since measuring began
    hosts: dict[str, dict[str, int]]
    samples: list[Sample]
    metrics: dict[str, float]
