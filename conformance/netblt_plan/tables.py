# SPDX-License-Identifier: GPL-2.0-or-later
"""What a scenario consists of once it is read: tables, and what is expected of its metrics."""

from __future__ import annotations

import dataclasses
from typing import Any

Tables = dict[str, Any]


@dataclasses.dataclass(frozen=True, slots=True)
class Expectation:
    """A metric and the band that it must lie in. With `of`, its ratio to the same metric of another run."""

    metric: str
    low: float
    high: float
    of: str | None = None
    value: float | None = None
    source: str = ""
