# SPDX-License-Identifier: GPL-2.0-or-later
"""Implementations that work by ticks: what they do later than at once, and what they need not do any more by then."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast
from unittest.mock import MagicMock

import pytest
from netblt_conformance.common.tolerances import DEFAULT
from netblt_conformance.generated import afterwards, findings, quitting
from netblt_conformance.generated.demands import Demand, Effect
from netblt_conformance.generated.illegal import Illegal
from netblt_conformance.packets import packets
from netblt_conformance.packets.packets import Forge, Kind, Message, Type
from netblt_conformance.peer import ReceiverPeer
from netblt_conformance.peer.exchange import Seen, UnmetError

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


class Ending:
    """A tester whose `behave` sends the last OK; the implementation has no QUIT left to send then."""

    pace_us = 0

    def __init__(self, *, complete: bool) -> None:
        self.repeats, self.now_us, self.seen, self.left = 0, 0, list[Seen](), "client-quit"
        self.complete, self.succeeded = complete, False
        self.peer = self.link = self

    def inside(self) -> int:
        return 0

    def may_leave(self) -> bool:
        return not (self.complete and self.succeeded)

    def behave(self) -> None:
        self.succeeded = True

    def status(self) -> Any:
        return self

    def listen(self, span_us: int) -> None:
        self.now_us += span_us

    def expect_type(self, kind: Type) -> None:
        raise UnmetError(kind.text, "nothing came")


def test_a_quit_is_due_only_while_the_transfer_goes_on() -> None:
    """RFC 998 5.3.2. The client quits while the last OK is on its way: the sender reports success."""
    case = cast(Any, None)
    assert not quitting.await_quit(case, cast(Any, Ending(complete=True)))
    with pytest.raises(UnmetError, match="QUIT"):
        quitting.await_quit(case, cast(Any, Ending(complete=False)))


@pytest.mark.parametrize(
    ("published_ms", "closes_after_us", "closes"), [(65_535, 130 * S, True), (100, 130 * S, False)]
)
def test_an_end_may_dally_for_twice_what_its_last_ok_published(
    monkeypatch: pytest.MonkeyPatch, published_ms: int, closes_after_us: int, closes: bool
) -> None:
    """CLOSE-04, RFC 998 5.2.3: also after a QUIT that came meanwhile."""
    told: list[Any] = []
    monkeypatch.setattr(findings, "tell", lambda _peer, check, _frame, **_seen: told.append(check))
    peer = MagicMock()
    peer.__class__ = ReceiverPeer  # type: ignore[assignment]
    peer.now_us, peer.ms = 0, lambda count: count * MS
    peer.terms.iut_death_timer_s = 6
    peer.monitor.session.issued.messages = [Message(Kind.OK, 1, 0, control_timer_ms=published_ms)]
    peer.link.peer_string.return_value = None

    def listen(span_us: int) -> list[Seen]:
        peer.now_us += span_us
        return []

    peer.listen = listen
    peer.link.status = lambda: SimpleNamespace(succeeded=True, failed=False, closed=peer.now_us >= closes_after_us)
    monkeypatch.setattr(afterwards, "_settle", lambda _peer: None)
    monkeypatch.setattr(afterwards, "_late", lambda _player, _how: None)
    player = SimpleNamespace(peer=peer, left="", script=SimpleNamespace(role=SimpleNamespace(active=True)))
    afterwards.judge(cast(Any, SimpleNamespace(tolerances=DEFAULT)), cast(Any, player))
    assert (afterwards.STILL_OPEN not in told) == closes
