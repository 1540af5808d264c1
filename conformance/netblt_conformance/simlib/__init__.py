# SPDX-License-Identifier: GPL-2.0-or-later
"""The simulator's plumbing: implementations as shared libraries, the flakeway and the pcapng writer, in virtual time.

All times are microseconds of one virtual clock that the caller owns. All packets are NETBLT packets without IP header,
but for those given to the pcapng writer, which begin with their IPv4 header (`ipv4_wrap`).

The compiled module is loaded when one of the names below is first used: `python -m netblt_conformance.simlib.build`
must work before there is one.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from netblt_conformance.simlib.flakeway import (
        Action,
        ActionKind,
        Direction,
        Event,
        Flakeway,
        FlakewayStats,
        Released,
        RuleError,
    )
    from netblt_conformance.simlib.iut import Iut, IutError, IutLibrary, IutParams
    from netblt_conformance.simlib.pair import PairEnd, PairResult, run_pair
    from netblt_conformance.simlib.pcapng import (
        CaptureDirection,
        LinkType,
        PcapngWriter,
        Record,
        ipv4_wrap,
        pcapng_file,
    )

__all__ = [
    "Action",
    "ActionKind",
    "CaptureDirection",
    "Direction",
    "Event",
    "Flakeway",
    "FlakewayStats",
    "Iut",
    "IutError",
    "IutLibrary",
    "IutParams",
    "LinkType",
    "PairEnd",
    "PairResult",
    "PcapngWriter",
    "Record",
    "Released",
    "RuleError",
    "ipv4_wrap",
    "pcapng_file",
    "run_pair",
]

_HOMES = {
    "flakeway": ("Action", "ActionKind", "Direction", "Event", "Flakeway", "FlakewayStats", "Released", "RuleError"),
    "iut": ("Iut", "IutError", "IutLibrary", "IutParams"),
    "pair": ("PairEnd", "PairResult", "run_pair"),
    "pcapng": ("CaptureDirection", "LinkType", "PcapngWriter", "Record", "ipv4_wrap", "pcapng_file"),
}


def __getattr__(name: str) -> Any:
    for home, names in _HOMES.items():
        if name in names:
            value = getattr(importlib.import_module(f"{__name__}.{home}"), name)
            globals()[name] = value
            return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
