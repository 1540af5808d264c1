# SPDX-License-Identifier: GPL-2.0-or-later
"""What a second capture of the same connections would settle, and at which end it would have to be made."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any

from netblt_conformance.judges.findings import Conclusion
from netblt_conformance.judges.standings import Connection


@dataclass(frozen=True, slots=True)
class Wanted:
    """A capture at an end of which `suspicions` of all `of` suspicions speak."""

    address: str
    role: str  # sender or receiver
    suspicions: int
    of: int

    def words(self, *, has_two_points: bool) -> str:
        what = f"{self.suspicions} of {self.of} suspicion{'s' * (self.of != 1)}"
        where = f"at the {self.role} ({self.address})"
        if has_two_points:
            return f"if the interfaces were captured at both ends, --captured-at ends may settle {what} {where}"
        return f"a capture made {where} may settle {what}: check --sender FILE --receiver FILE"

    def to_json(self) -> dict[str, Any]:
        return {"address": self.address, "role": self.role, "suspicions": self.suspicions, "of": self.of}


def wanted(connections: Iterable[Connection], covered: Collection[str]) -> list[Wanted]:
    """The captures that would help, the most useful first. `covered`: roles at whose end a capture was made."""
    counts: Counter[tuple[str, str]] = Counter()
    total = 0
    for connection in connections:
        for finding in connection.findings:
            if finding.verdict is not Conclusion.SUSPECTED:
                continue
            count = 1 + connection.more[finding.kind] * (finding is _first_alike(connection, finding.kind))
            total += count
            if finding.offender_role in ("sender", "receiver") and finding.offender_role not in covered:
                counts[finding.offender_address, finding.offender_role] += count
    return [Wanted(*end, count, total) for end, count in counts.most_common()]


def _first_alike(connection: Connection, kind: object) -> object:
    return next(one for one in connection.findings if one.kind == kind) if connection.more else None
