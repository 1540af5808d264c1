# SPDX-License-Identifier: GPL-2.0-or-later
"""Options that several commands have, and what they mean."""

from __future__ import annotations

import argparse
import math
import os
from collections.abc import Sequence

from netblt_conformance.common.model import ALL_ROLES, ROLES_BY_NAME, Role

# With a longer delay some waits of the cases are too short for what travels to and fro meanwhile.
DELAY_MAX_MS = 10


def at_least_one(text: str) -> int:
    """The type of an option that is a whole number from 1."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number from 1")
    return int(text)


def not_negative(text: str) -> int:
    """The type of an option that is a whole number from 0."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number from 0")
    return int(text)


def delay_ms(text: str) -> float:
    """The type of an option that is a one-way delay in milliseconds."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value <= DELAY_MAX_MS:
        raise argparse.ArgumentTypeError(f"{text!r} is no number from 0 to {DELAY_MAX_MS}")
    return value


def add_role_option(parser: argparse.ArgumentParser, whose: str = "the implementation") -> None:
    """`--role`, for roles_of()."""
    names = sorted(ROLES_BY_NAME)
    parser.add_argument(
        "--role",
        action="append",
        choices=names,
        metavar="ROLE",
        help=f"role of {whose}, may be given several times (default: all): {', '.join(names)}",
    )


def roles_of(names: Sequence[str] | None) -> tuple[Role, ...]:
    """The roles with these names; all when none is given."""
    return tuple(ROLES_BY_NAME[name] for name in names or ()) or ALL_ROLES


def number_of_jobs(wanted: int | None = None) -> int:
    """As many as are wanted; else one for each processor that this process may use."""
    return wanted or len(os.sched_getaffinity(0))
