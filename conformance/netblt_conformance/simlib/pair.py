# SPDX-License-Identifier: GPL-2.0-or-later
"""Two implementations and a flakeway between them, run in virtual time by C (conformance/sim/pair.h)."""

from __future__ import annotations

import dataclasses
import enum

from netblt_conformance.simlib._native import ffi, lib
from netblt_conformance.simlib.flakeway import Flakeway
from netblt_conformance.simlib.iut import Iut
from netblt_conformance.simlib.pcapng import PcapngWriter


class PairEnd(enum.IntEnum):
    CLOSED = 0
    TIME_LIMIT = 1
    PACKET_LIMIT = 2
    IDLE = 3
    SPINNING = 4
    CAPTURE_ERROR = 5


@dataclasses.dataclass(slots=True, frozen=True)
class PairResult:
    """How a run ended, when, when each client (of A, of B) knew how the transfer ended, and what each end sent."""

    end: PairEnd
    end_us: int
    done_us: tuple[int | None, int | None]  # None: the client never knew
    packets: tuple[int, int]
    bytes: tuple[int, int]


def run_pair(
    a: Iut,
    b: Iut,
    flakeway: Flakeway,
    *,
    limit_us: int = 3_600_000_000,
    limit_packets: int = 0,
    start_us: int = 0,
    capture: PcapngWriter | None = None,
) -> PairResult:
    """Runs until both ends have closed or a limit is reached. A is on the flakeway's left side, B on its right.

    With `capture`, every packet is written at both sides of the flakeway (interfaces "left" and "right"), what was
    done to it as comment; a dropped packet is only where it entered.
    """
    options = ffi.new("pair_options *")
    result = ffi.new("pair_result *")
    options.start_us = start_us
    options.limit_us = limit_us
    options.limit_packets = limit_packets
    options.capture = ffi.NULL if capture is None else capture._writer
    lib.pair_run(a._iut, b._iut, flakeway._engine, options, result)
    flakeway.raise_hook_error()
    return PairResult(
        PairEnd(result.end),
        int(result.end_us),
        (_moment(result.done_us[0]), _moment(result.done_us[1])),
        (int(result.packets[0]), int(result.packets[1])),
        (int(result.bytes[0]), int(result.bytes[1])),
    )


def _moment(time_us: int) -> int | None:
    return None if time_us == lib.PAIR_NEVER else int(time_us)
