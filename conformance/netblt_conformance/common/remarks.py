# SPDX-License-Identifier: GPL-2.0-or-later
"""What later stages of a run add to a result: typed, in the order in which it was added. `wording` makes text of it."""

from __future__ import annotations

import enum
from dataclasses import asdict, dataclass
from typing import Any


class Remark(enum.StrEnum):
    """The kind of an addition. The comment gives the fields of Note that it uses."""

    ALIKE = "alike"  # count: so many more violations of the connection are like it
    DROPPED = "dropped"  # count: so many packets were dropped because the program's receive buffer was full
    CONTROL_ARM = "control arm"  # the exchange fails without the stimulus, too
    STRICT = "strict"  # a should is graded as a must
    UNCONFIRMED = "unconfirmed"  # it passed when it ran again
    KNOWN = "known"  # link: the known failure that covers it
    OTHER_THAN_KNOWN = (
        "other than known"  # link, names: the known failure of the case, its requirement and pattern, which differ
    )
    RUNS = "runs"  # count, names: so many runs show it; also these roles
    SIGHTINGS = "sightings"  # names: the interfaces that saw it
    CONNECTIONS = "connections"  # count: so many more connections show it; this is the first


@dataclass(frozen=True, slots=True)
class Note:
    """One addition."""

    remark: Remark
    count: int = 0
    names: tuple[str, ...] = ()
    link: str = ""

    def to_json(self) -> dict[str, Any]:
        """Without the fields that the kind does not use."""
        return {name: value for name, value in asdict(self).items() if value}

    @classmethod
    def from_json(cls, row: dict[str, Any]) -> Note:
        return cls(**{**row, "remark": Remark(row["remark"]), "names": tuple(row.get("names", ()))})
