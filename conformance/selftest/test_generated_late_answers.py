# SPDX-License-Identifier: GPL-2.0-or-later
"""Answers to packets of another connection that come later than at once: an implementation may work by ticks."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest
from netblt_conformance.common.tolerances import DEFAULT
from netblt_conformance.generated.demands import Demand, Effect
from netblt_conformance.generated.illegal import Illegal
from netblt_conformance.packets import packets
from netblt_conformance.packets.packets import Forge, Type
from netblt_conformance.peer.base import Seen

MS = 1000
S = 1000 * MS
THEIRS = Forge(2, 2000, 1000)
AT_US = 5 * S  # when the packet of another connection was sent


def connection(came_us: int, *, failed: bool) -> Any:
    """An ABORT came; the implementation has reported a failure, or goes on."""
    abort = Seen(packets.read(THEIRS.reason(Type.ABORT, "unknown connection")), came_us, 7, b"")
    link = SimpleNamespace(status=lambda: SimpleNamespace(failed=failed))
    return SimpleNamespace(seen=[abort], link=link, now_us=came_us, tolerances=DEFAULT, iut_port=2000, own_port=1000)


@pytest.mark.parametrize(
    ("effect", "after_us", "failed", "elsewhere"),
    [
        (Effect.ABORT, 20 * MS, False, True),
        (Effect.ABORTED, 100 * MS, False, True),
        (Effect.ABORT, 20 * MS, True, False),
        (Effect.ABORT, 3 * S, False, False),
        (Effect.ABORT, -20 * MS, False, False),
        (Effect.END, 20 * MS, False, False),
    ],
)
def test_an_abort_after_a_foreign_unique_id_ends_the_connection_only_where_a_failure_is_reported(
    effect: Effect, after_us: int, failed: bool, elsewhere: bool
) -> None:
    peer = connection(AT_US + after_us, failed=failed)
    illegal = Illegal(peer, cast(Any, None))
    illegal._played.append((AT_US, Demand(effect, "OPEN-09")))
    illegal.note_answers()
    assert illegal.is_elsewhere(peer.seen[0]) == elsewhere
