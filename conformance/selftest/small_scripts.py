# SPDX-License-Identifier: GPL-2.0-or-later
"""Generated scripts as tests write them: a few moves in a small connection."""

from __future__ import annotations

from pathlib import Path

from netblt_conformance.cases.probe import probe
from netblt_conformance.common.model import ROLES_BY_NAME, Parameters
from netblt_conformance.generated import play
from netblt_conformance.generated.play import Played
from netblt_conformance.generated.script import Script, move
from netblt_conformance.links.sim import SimLinkFactory
from selftest.faulty import faulty_library

# Two buffers of two packets each, one of them outstanding.
TERMS = Parameters(buffer_size=96, packet_size=48, burst_size=2, burst_interval_ms=5, max_buffers=1, death_timer_s=20)
WAIT = "wait 400000"


def linked(library: Path) -> SimLinkFactory:
    """The sim link to an implementation. LinkUnavailableError when it is none."""
    factory = SimLinkFactory(library)
    factory.check()
    return factory


def with_faults(folder: Path, *names: str) -> SimLinkFactory:
    """The sim link to the core with all of these mutants and legal variants, built in `folder`."""
    return linked(faulty_library(folder, *names))


def replayed(
    factory: SimLinkFactory,
    role: str,
    *moves: str,
    iut: Parameters = TERMS,
    own: Parameters | None = None,
    opening: str = "",
    openings_lost: int = 0,
    length: int = 2 * TERMS.buffer_size,
) -> Played:
    """These moves against an implementation in this role. `own`: parameters of the tester; None: the same ones.
    `length`: bytes of data."""
    known = ROLES_BY_NAME[role]
    opens = (move(opening),) if opening else ()
    chosen = tuple(move(text) for text in moves)
    one = Script(known, 1, length, iut, own or iut, openings_lost, opening=opens, moves=chosen)
    return play.replay(one, factory, probe(factory, known, 1)[0])
