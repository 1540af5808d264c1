# SPDX-License-Identifier: GPL-2.0-or-later
"""What a sweep shall do. It needs nothing that is compiled."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from netblt_conformance.common.model import Role


@dataclass(frozen=True, slots=True)
class SweepPlan:
    iut: Path
    roles: tuple[Role, ...]
    seed: int
    report: Path
    jobs: int
    singles: bool = True
    pairs: bool = True
    random: int = 0  # schedules for each transfer and role
