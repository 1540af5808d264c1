# SPDX-License-Identifier: GPL-2.0-or-later
"""The simulator's plumbing: implementations as shared libraries, the flakeway and the pcapng writer, in virtual time.

All times are microseconds of one virtual clock that the caller owns. All packets are NETBLT packets without IP header,
but for those given to the pcapng writer, which begin with their IPv4 header (`ipv4_wrap`).
"""

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
from netblt_conformance.simlib.iut import Iut, IutError, IutLibrary, IutParams, IutStatus
from netblt_conformance.simlib.pair import PairEnd, PairResult, run_pair
from netblt_conformance.simlib.pcapng import CaptureDirection, LinkType, PcapngWriter, ipv4_wrap

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
    "IutStatus",
    "LinkType",
    "PairEnd",
    "PairResult",
    "PcapngWriter",
    "Released",
    "RuleError",
    "ipv4_wrap",
    "run_pair",
]
