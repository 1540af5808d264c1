# SPDX-License-Identifier: GPL-2.0-or-later
"""Plays a script, or makes one while it plays, against an implementation in virtual time, and judges what it does."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from netblt_conformance.cases.case import Case, Profile
from netblt_conformance.common.errors import ImplementationError, NotSupportedError
from netblt_conformance.common.model import MICROSECONDS_PER_S, Status
from netblt_conformance.common.tolerances import TESTER_RETRY_US
from netblt_conformance.common.verdicts import RUNS_ON, Cause, Judgement, Verdict
from netblt_conformance.generated.moves import Player
from netblt_conformance.generated.receiving import ReceivingPlayer
from netblt_conformance.generated.script import Move, Script, values
from netblt_conformance.generated.sending import SendingPlayer
from netblt_conformance.links.base import LinkFactory
from netblt_conformance.oracles.base import Violation, told_once
from netblt_conformance.packets.capture import Capture
from netblt_conformance.packets.packets import Kind, Type
from netblt_conformance.peer import ReceiverPeer, SenderPeer
from netblt_conformance.peer.base import Peer, UnmetError

# An implementation measures how long the tester takes to acknowledge, and repeats its CONTROLs as seldom.
_PATIENCE_US = 300 * MICROSECONDS_PER_S
_LOOK_US = 20_000
_MOVES = (4, 60)  # of a generated script
Next = Callable[[Player], Move | None]
Fault = tuple[str, Judgement]  # and its requirement
Seen = Counter[tuple[tuple[int, ...], str]]


@dataclass(slots=True)
class Played:
    """One script and what came of it."""

    script: Script
    judgement: Judgement
    violations: list[Violation]
    capture: Capture
    supported: bool = True  # the implementation can play the role
    done: list[Move] = field(default_factory=list)

    @property
    def verdict(self) -> Verdict:
        """The worst of the outcome and of the rules for each packet."""
        return max((self.judgement.verdict, *(one.verdict for one in self.violations)))

    @property
    def faults(self) -> list[Fault]:
        """Each failure; the outcome's requirement may be unknown: ""."""
        return [(requirement, one) for requirement, one in self._judgements if one.verdict > Verdict.WARN]

    def warnings(self, requirement: str) -> list[Fault]:
        """The WARNs of this requirement; none of "", which is no requirement."""
        warned = [(name, one) for name, one in self._judgements if one.verdict is Verdict.WARN]
        return [(name, one) for name, one in warned if requirement and name == requirement]

    @property
    def _judgements(self) -> list[Fault]:
        own = (self.judgement.requirement or self.judgement.due_by, self.judgement)
        return [own, *((one.requirement, one.judgement) for one in self.violations)]

    @property
    def kinds(self) -> frozenset[str]:
        return kinds(self.faults)


def kinds(faults: list[Fault]) -> frozenset[str]:
    """What failed, the same for the same fault: the requirements, or the cause where none is known."""
    return frozenset(requirement or str(one.cause) for requirement, one in faults)


def replay(script: Script, factory: LinkFactory, profile: Profile) -> Played:
    """Plays the moves of the script; what is not legal when its turn comes is left out."""
    moves = iter(script.moves)
    return _run(script, factory, profile, lambda _player: next(moves, None))


def replay_in(case: Case, script: Script) -> None:
    """The same inside a case of a run, with the same ports, unique IDs and data."""
    case.random = _random_of(script)
    moves = iter(script.moves)
    _body(case, script, lambda _player: next(moves, None), [])


def _random_of(script: Script) -> random.Random:
    return random.Random(f"{script.seed} generated  {script.role}")


def _not_noted(_move: Move) -> None:
    """Moves are not wanted before the script has ended."""


def invent(
    script: Script,
    factory: LinkFactory,
    profile: Profile,
    chance: random.Random,
    seen: Seen,
    note: Callable[[Move], None] = _not_noted,
    *,
    illegal: bool = False,
) -> Played:
    """Chooses moves at random, illegal ones too where that is wanted. What was done seldom in a situation, as counted
    in `seen`, is wanted more. `note` gets each move before it is made: the implementation may crash in it."""
    left = chance.randint(*_MOVES)

    def choose(player: Player) -> Move | None:
        nonlocal left
        left -= 1
        if left < 0 or player.left or player.has_left():
            return None
        choices = list(player.choices(chance))
        if illegal:
            choices += player.illegal_choices(chance)
        state = player.situation()
        weights = [one.weight / (1 + seen[state, one.move.name]) ** 0.5 for one in choices]
        chosen = chance.choices(choices, weights)[0].move
        seen[state, chosen.name] += 1
        note(chosen)
        return chosen

    return _run(script, factory, profile, choose)


def _run(script: Script, factory: LinkFactory, profile: Profile, choose: Next) -> Played:
    capture = Capture()
    done: list[Move] = []
    try:
        link = factory.make(capture)
    except ImplementationError as fault:
        return Played(script, _crash(fault), [], capture)
    case = Case("generated", (), script.role, "stimulus", link, script.seed, profile)
    case.random = _random_of(script)
    supported = True
    try:
        case.run(lambda: _body(case, script, choose, done))
    except NotSupportedError:
        supported = False
    finally:
        case.close()
    violations = told_once(one for one in case.settle() if one.verdict is not Verdict.PASS)
    return Played(script.with_moves(tuple(done)), case.judgement, violations, capture, supported, done)


def _crash(fault: ImplementationError) -> Judgement:
    return Judgement(Verdict.FAIL, f"the implementation {fault}", cause=Cause.CRASH, expected=RUNS_ON)


def _body(case: Case, script: Script, choose: Next, done: list[Move]) -> None:
    player = _connect(case, script)
    try:
        _play(case, player, choose, done)
        _end(case, player)
    except UnmetError:
        if not player.concluded(case):
            raise


def _play(case: Case, player: Player, choose: Next, done: list[Move]) -> None:
    """All moves until the tester leaves."""
    began_us = player.peer.now_us
    while (move := choose(player)) is not None:
        if player.left:
            break
        if player.play(move):
            done.append(move)
            case.note(f"move {len(done)}, {move}")
    if not player.left and case.link.status() in (Status.OPENING, Status.OPEN):
        received = [seen for seen in player.peer.seen if seen.time_us >= began_us]
        case.expect_signs_of_life(received, began_us, player.peer.now_us, player.script.own.death_timer_s)


def _connect(case: Case, script: Script) -> Player:
    options = {"iut": values(script.iut), "own": values(script.own)}
    if script.role.sender:
        receiver = case.receiver(script.length, **options)
        _open(receiver, script)
        return ReceivingPlayer(script, receiver)
    sender = case.sender(script.length, **options)
    sender.answer_controls(False)
    sender.withhold_ack(at=0)
    _open(sender, script)
    return SendingPlayer(script, sender)


def _open(peer: Peer, script: Script) -> None:
    """Opens the connection when the network has lost what the script states."""
    for _ in range(script.openings_lost):
        if script.role.active:
            peer.await_open()
        else:
            peer.send_open()
            peer.listen(TESTER_RETRY_US)
    peer.connect()


def _end(case: Case, player: Player) -> None:
    """From here on the network behaves: an interrupted transfer has failed, any other succeeds, unless illegal packets
    have ended it."""
    player.settle()
    if not player.left and player.concluded(case):
        return
    _end_legally(case, player)
    player.illegal.judge_answers(case)


def _end_legally(case: Case, player: Player) -> None:
    peer = player.peer
    if player.left == "quit":
        peer.expect_type(Type.QUITACK)
        peer.expect_failure()
        for _ in range(player.repeats):  # the answer was lost (QUIT-03)
            peer.listen(TESTER_RETRY_US)
            peer.send_quit("")
            peer.expect_type(Type.QUITACK)
    elif player.left == "client-quit":
        _await_quit(player)
        peer.send(peer.forge.packet(Type.QUITACK))
        peer.expect_failure()
    elif player.left == "client-abort":
        peer.expect_type(Type.ABORT)
        peer.expect_failure()
    elif player.left == "silent":
        case.expect_death(peer)
    elif player.left:
        peer.expect_failure()
    elif isinstance(peer, ReceiverPeer):
        if peer.queue:
            peer.send_control()
        for number in player.lost:
            peer.buffer(number - peer.first_buffer)  # of which perhaps nothing came: it is requested
        assert isinstance(player, ReceivingPlayer)
        _finish(player, peer)
    else:
        assert isinstance(peer, SenderPeer)
        peer.finish(within_us=_PATIENCE_US)
        case.expect_delivered_by(peer)


def _finish(player: ReceivingPlayer, peer: ReceiverPeer) -> None:
    """The rest of a transfer to the tester. Where the DONE is lost, the implementation closes by itself, and
    acknowledges the last OK as often as it comes until then (CLOSE-04, CLOSE-05)."""
    peer.finish(done=player.done_lost < 0)
    last = [message for message in peer.monitor.session.messages_sent if message.kind is Kind.OK][-1:]
    acked_us = min((s.time_us for s in peer.seen if s.packet.acks and s.packet.high_seq >= last[0].seq), default=0)
    for repeat in range(1, player.done_lost + 1):
        at_us = acked_us + repeat * peer.ms(last[0].control_timer_ms) // 3
        if at_us < peer.now_us:
            break  # the dally may be over: the acknowledgement came long ago
        peer.listen(at_us - peer.now_us)
        peer.send_control(last)
        peer.expect(
            lambda packet: packet.acks and packet.high_seq >= last[0].seq,
            peer.ack_deadline_us,
            "the repeated OK to be acknowledged during the dally",
        )
    if player.done_lost >= 0 and peer.link.tells_outcome:
        peer.expect_closed("the sender to close without DONE")
    peer.expect_success()


def _await_quit(player: Player) -> None:
    """A QUIT may wait for the end of the buffer that is under way (QUIT-04): the peer goes on until it comes. The first
    ones may be lost (QUIT-02)."""
    peer, deadline_us = player.peer, player.peer.now_us + _PATIENCE_US

    def has_come() -> bool:
        return sum(seen.packet.type is Type.QUIT for seen in peer.seen) > player.repeats

    while peer.now_us < deadline_us and not has_come():
        player.behave()
        peer.listen(_LOOK_US)
    if not has_come():
        peer.expect_type(Type.QUIT)
