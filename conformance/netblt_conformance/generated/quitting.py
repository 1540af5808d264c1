# SPDX-License-Identifier: GPL-2.0-or-later
"""How a script ends by a QUIT, of the tester or of the implementation's client (RFC 998 5.3.1, 5.3.2)."""

from __future__ import annotations

from netblt_conformance.cases.case import Case
from netblt_conformance.common.model import MICROSECONDS_PER_S as S
from netblt_conformance.common.tolerances import QUIET_US, TESTER_RETRY_US
from netblt_conformance.common.verdicts import Verdict
from netblt_conformance.generated import findings
from netblt_conformance.generated.illegal_opening import BEYOND
from netblt_conformance.generated.moves import QUIT_REASON, Player
from netblt_conformance.generated.sending import SendingPlayer
from netblt_conformance.oracles.session import grown_max_us
from netblt_conformance.packets import packets
from netblt_conformance.packets.packets import Type
from netblt_conformance.peer import ReceiverPeer, SenderPeer

# An implementation measures how long the tester takes to acknowledge, and repeats its CONTROLs as seldom.
PATIENCE_US = 300 * S
REPEAT_US = QUIET_US // 2  # from one QUIT of the tester to the next one
_LOOK_US = 20_000
_SLOW_MOST_US = 30 * S  # while a QUIT waits
_REPEAT_MAX_US = 15 * S  # a QUIT is repeated within this time, where the death timer is longer
_ANSWERS_TO_ABORT = (Type.ABORT, Type.QUITACK, Type.REFUSED, Type.DONE)


# ---- a QUIT of the tester ----


def repeat(peer: ReceiverPeer | SenderPeer, count: int) -> None:
    """The tester's QUIT again, so many times, because the answer was lost (QUIT-03)."""
    for _ in range(count):
        peer.listen(REPEAT_US)
        peer.send_quit("")
        with findings.due("QUIT-03"):
            peer.expect_type(Type.QUITACK)


def end_by_quit(player: Player) -> None:
    """After seconds a missing answer to a repeated QUIT is a WARN (AMB-57)."""
    peer = player.peer
    peer.expect_type(Type.QUITACK)
    peer.expect_failure()
    repeat(peer, player.repeats)
    if player.repeats:
        peer.listen(TESTER_RETRY_US)
        peer.send_quit("")
        if not any(seen.packet.type is Type.QUITACK for seen in peer.listen(QUIET_US)):
            findings.tell(peer, findings.LATE_QUITACK, None)


def end_by_late_quit(player: Player) -> None:
    """The QUIT came just before the death timer expires, and restarts it like any packet (TIMER-10): it is answered
    again after that. Where the timer has expired already, no answer is due."""
    peer = player.peer
    if any(seen.packet.type is Type.QUITACK for seen in peer.listen(QUIET_US // 2)):
        repeat(peer, player.repeats)
    peer.expect_failure()


def end_endlessly(peer: ReceiverPeer | SenderPeer) -> None:
    """A QUIT whose reason has no end ends the transfer or is dropped (AMB-03). What lies beyond the packet is never
    read (ROBUST-05)."""
    peer.monitor.disabled.add("QUIT-05")  # an end that drops it goes on with the transfer
    if all(seen.packet.type is not Type.QUITACK for seen in peer.listen(QUIET_US)):
        peer.send_quit()
        peer.expect_type(Type.QUITACK)
    peer.expect_failure()
    reason = peer.link.reason()
    if BEYOND.decode() in reason:
        findings.tell(peer, findings.REASON_BEYOND, None, reason=reason)


# ---- a QUIT of the implementation ----


def end_by_client(case: Case, player: Player) -> None:
    """The client of the implementation has quit."""
    peer = player.peer
    if not await_quit(case, player):
        if isinstance(peer, SenderPeer):
            case.expect_delivered_by(peer)
        return
    if player.left == "client-quit-unanswered":
        peer.listen(2 * peer.terms.iut_death_timer_s * S)
        peer.silence([Type.QUIT], 10 * S, "the death timer has expired, which ends the repetition")
        peer.expect_failure()
        return
    player.illegal.pester()
    if player.left == "client-quit-crossed":
        _cross(player)
    elif player.left == "client-quit-aborted":
        peer.send_abort()
        with findings.due("ABORT-02"):
            peer.silence(_ANSWERS_TO_ABORT, case.tolerances.crossing_us + QUIET_US, "ABORT must not be answered")
    peer.send(peer.forge.packet(Type.QUITACK))
    peer.expect_failure()


def _cross(player: Player) -> None:
    """The tester quits too. Its QUIT is answered as often as it comes, and does not acknowledge the other one
    (QUIT-02)."""
    peer = player.peer
    peer.go_silent()  # an end that has quit sends no KEEPALIVE
    peer.send_quit()
    with findings.due("QUIT-01"):
        peer.expect_type(Type.QUITACK)
    repeat(peer, player.repeats)
    came_us = (seen.time_us for seen in peer.seen if seen.packet.type is Type.QUIT)
    repeat_max_us = grown_max_us(_REPEAT_MAX_US, came_us)  # data that end a buffer may take minutes
    if player.repeats and peer.terms.iut_death_timer_s * S > repeat_max_us:
        with findings.due("QUIT-02"):
            peer.expect_type(Type.QUIT, repeat_max_us)


def await_quit(case: Case, player: Player) -> bool:
    """A QUIT may wait for the end of the buffer that is under way (QUIT-04): the peer goes on until it comes. The first
    ones may be lost (QUIT-02). False where the transfer is complete by then: a QUIT ends a transfer that goes on
    (RFC 998 5.3.2)."""
    peer, stopped_us = player.peer, player.peer.now_us
    inside = player.inside()
    if inside and player.left == "client-quit-slow":
        _take_time(case, player)

    def came() -> int:
        return sum(seen.packet.type is Type.QUIT for seen in peer.seen)

    patience_us = PATIENCE_US + peer.pace_us  # a QUIT waits for the end of its buffer
    lost = 0 if player.left == "client-quit-crossed" else player.repeats
    known, deadline_us = came(), peer.now_us + patience_us
    while peer.now_us < deadline_us and came() <= lost:
        if not came() and peer.link.status().succeeded and not player.may_leave():
            return False
        if peer.now_us > stopped_us + QUIET_US or not inside:
            player.behave()
        peer.listen(_LOOK_US if not known else QUIET_US)
        if came() > known:
            known, deadline_us = came(), peer.now_us + patience_us
            peer.link.send(packets.spoil(peer.forge.packet(Type.QUITACK)), peer.address)  # its answer is damaged
    if came() <= lost:
        with findings.due("QUIT-06"):
            peer.expect_type(Type.QUIT)
    _judge_quit(player, inside, stopped_us + QUIET_US)
    return True


def _take_time(case: Case, player: Player) -> None:
    """The rest of the buffer is late. Until it comes, all timers go on (TIMER-01, TIMER-07, TIMER-11)."""
    peer = player.peer
    if isinstance(player, SendingPlayer):
        _await_timers(player)
    declared_s, began_us = player.script.own.death_timer_s, peer.now_us
    received = peer.listen(min(3 * declared_s * S, _SLOW_MOST_US))
    if not peer.has_quit:
        case.expect_signs_of_life(received, began_us, peer.now_us, declared_s)


def _await_timers(player: SendingPlayer) -> None:
    """The control timer, while CONTROLs are not acknowledged, then the data timer of the buffer that is under way."""
    peer, controls = player.peer, len(player.peer.controls)
    if player.withholds and peer.repeat_max_us < player.patience_us():
        with findings.due("TIMER-01"):
            peer.until(
                lambda: len(peer.controls) > controls or peer.has_quit, peer.repeat_max_us, "CONTROL to be repeated"
            )
    player.acknowledge()
    buffer = player.inside() - 1
    if buffer < 0 or peer.has_quit:
        return
    requests = len(peer.requests(buffer))

    def goes_on() -> bool:
        if player.withholds:  # a request for another buffer may come first
            player.acknowledge()
        return len(peer.requests(buffer)) > requests or peer.has_quit

    with findings.due("TIMER-07"):
        peer.until(
            goes_on,
            max(peer.data_timer_max_us, player.longest_wait_us, peer.repeat_max_us),  # a request may have been lost
            f"RESEND for buffer {buffer}, the rest of which is late",
        )
    player.acknowledge()


def _judge_quit(player: Player, inside: int, waits_until_us: int) -> None:
    """QUIT-04: the first one waits for the end of a buffer that was under way; a client may have to wait for a while
    only. QUIT-06: it gives the reason."""
    peer = player.peer
    first = next(seen for seen in peer.seen if seen.packet.type is Type.QUIT)
    if inside and first.time_us < waits_until_us and player.inside_at(first.time_us) == inside:
        verdict = Verdict.FAIL if peer.terms.max_buffers == 1 else Verdict.WARN
        findings.tell(peer, findings.QUIT_INSIDE[verdict], first.frame)
    if first.packet.string not in (packets.text_field(QUIT_REASON), b"", bytes(4)):
        findings.tell(peer, findings.OTHER_REASON, first.frame, reason=first.packet.text)
    elif not first.packet.string.strip(b"\0"):
        findings.tell(peer, findings.NO_REASON, first.frame)
