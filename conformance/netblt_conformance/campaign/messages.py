# SPDX-License-Identifier: GPL-2.0-or-later
"""What a worker and the process that runs its units send to each other, as pickled objects."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from netblt_conformance.campaign.kind import Subject


@dataclass(frozen=True, slots=True)
class Setup:
    """The first message: what the units belong to."""

    description: dict[str, Any]
    subject: Subject
    parent: int


@dataclass(frozen=True, slots=True)
class Order:
    """Run these units, as this block."""

    block: int
    first: int
    stop: int
    worker: str
    host: str


@dataclass(frozen=True, slots=True)
class Answer:
    """The block as a Parquet file; or why there is none."""

    content: bytes = b""
    error: str = ""
