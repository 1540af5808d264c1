# SPDX-License-Identifier: GPL-2.0-or-later
"""Which differences between two runs of the same implementation mean nothing: times and random choices."""

from __future__ import annotations

import re

from netblt_conformance.report.files import VIRTUAL_LINKS

# Virtual time is exact. A change by less than this is a packet or two more, not a slower implementation.
VIRTUAL_FACTOR, VIRTUAL_MORE_S = 1.1, 0.02
# Real time: a busy machine adds up to 1.6 s to a case (measured on the wire link with a load of 8 on 2 processors), and
# makes short ones several times as long.
REAL_FACTOR, REAL_MORE_S = 1.5, 2.0
# An observed time that was measured in real time.
OBSERVED_FACTOR, OBSERVED_MORE_S = 2.0, 0.2

# What an implementation may choose at random: only whether it is 0 is compared.
RANDOM_CHOICES = ("first buffer number",)
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_SECONDS_OF = {"ms": 0.001, "s": 1.0}
_UNIT_IN_NAME = re.compile(r",.*?(?<![a-z'])(ms|s)(?![a-z])")  # "second RESEND, ms after the first"
_UNIT_IN_VALUE = re.compile(rf"{_NUMBER.pattern} (ms|s)")


def is_virtual(link: str) -> bool:
    return link in VIRTUAL_LINKS


def is_slower(before_s: float, now_s: float, *, virtual: bool) -> bool:
    """Whether a case takes so much longer that neither the machine nor a single packet explains it."""
    factor, more_s = (VIRTUAL_FACTOR, VIRTUAL_MORE_S) if virtual else (REAL_FACTOR, REAL_MORE_S)
    return now_s > before_s * factor and now_s - before_s > more_s


def is_same_observation(name: str, before: str, now: str, *, virtual: bool) -> bool:
    """Whether two values of one observation mean the same. `virtual`: both were measured in virtual time."""
    if before == now:
        return True
    if name in RANDOM_CHOICES and before.isdecimal() and now.isdecimal():
        return (int(before) == 0) == (int(now) == 0)
    unit = _unit(name, before)
    if virtual or unit is None or _NUMBER.sub("#", before) != _NUMBER.sub("#", now):
        return False
    pairs = zip(_NUMBER.findall(before), _NUMBER.findall(now), strict=True)
    return all(_is_same_time(float(one) * unit, float(other) * unit) for one, other in pairs)


def _unit(name: str, value: str) -> float | None:
    """Seconds in the unit of an observed time, which is in its name or its value; None: it is no time."""
    found = _UNIT_IN_NAME.search(name) or _UNIT_IN_VALUE.fullmatch(value)
    return _SECONDS_OF[found[1]] if found else None


def _is_same_time(one_s: float, other_s: float) -> bool:
    less, more = sorted((one_s, other_s))
    return more <= less * OBSERVED_FACTOR or more - less <= OBSERVED_MORE_S
