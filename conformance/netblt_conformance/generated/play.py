# SPDX-License-Identifier: GPL-2.0-or-later
"""Plays a script, or makes one while it plays, against an implementation in virtual time, and judges what it does."""

from __future__ import annotations

import contextlib
import dataclasses
import random
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from netblt_conformance.cases.case import Case, Profile
from netblt_conformance.common.errors import ImplementationError, NotSupportedError
from netblt_conformance.common.model import MICROSECONDS_PER_S, Status
from netblt_conformance.common.tolerances import QUIET_US
from netblt_conformance.common.verdicts import RUNS_ON, Cause, Judgement, Verdict
from netblt_conformance.generated import afterwards, findings, opening, peculiar, quitting, timing
from netblt_conformance.generated.moves import CLIENT_QUITS, QUIT_ENDLESS, Choice, Player
from netblt_conformance.generated.receiving import DALLIES, LONGER_DALLY, LONGEST_TIMER_MS, ReceivingPlayer
from netblt_conformance.generated.script import ILLEGAL_PREFIX, Move, Script, values
from netblt_conformance.generated.sending import SendingPlayer
from netblt_conformance.links.base import LinkFactory
from netblt_conformance.oracles.base import Violation, told_once
from netblt_conformance.packets import packets
from netblt_conformance.packets.capture import Capture
from netblt_conformance.packets.packets import Kind, Message, Type
from netblt_conformance.peer import ReceiverPeer, SenderPeer
from netblt_conformance.peer.exchange import UnmetError

_QUITS_IN_DALLY = 3
_LONGER_DALLY_MS = 3000
_MOVES = (4, 60)  # of a generated script
# By the move that ended the connection, the requirement by which the implementation answers or reports it.
_DUE_AFTER = {
    "quit": "QUIT-01",
    "quit-late": "QUIT-01",
    QUIT_ENDLESS: "QUIT-01",
    "abort": "ABORT-02",
    **dict.fromkeys(CLIENT_QUITS, "QUIT-02"),
    "client-abort": "ABORT-01",
    "silent": "TIMER-10",
}
Next = Callable[[Player], Move | None]
Fault = tuple[str, Judgement]  # and its requirement


@dataclass(slots=True)
class Chosen:
    """How often moves were chosen."""

    situations: Counter[tuple[tuple[int, ...], str]] = field(default_factory=Counter)  # and the name of the move
    changes: Counter[tuple[str, tuple[int, ...]]] = field(default_factory=Counter)  # that illegal moves make

    def add(self, situation: tuple[int, ...], move: Move) -> None:
        self.situations[situation, move.name] += 1
        self.changes[_change(move)] += 1

    def weights(self, situation: tuple[int, ...], choices: list[Choice]) -> list[float]:
        """A move that was seldom made in this situation is wanted more."""
        return [one.weight / (1 + self.situations[situation, one.move.name]) ** 0.5 for one in choices]

    def illegal_weights(self, choices: list[Choice]) -> list[float]:
        """Together they weigh what the choices state. Among them a change that was seldom made is wanted more: most
        faults need one value of one field."""
        rare = [one.weight / (1 + self.changes[_change(one.move)]) for one in choices]
        share = sum(one.weight for one in choices) / sum(rare) if rare else 0.0
        return [share * one for one in rare]


def _change(move: Move) -> tuple[str, tuple[int, ...]]:
    """What an illegal move changes, whichever packet it is."""
    return move.name, move.numbers[1:]


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
        """Each failure. The outcome's requirement may be unknown: "". What names one comes first then."""
        return [(requirement, one) for requirement, one in self._judgements if one.verdict > Verdict.WARN]

    def warnings(self, requirement: str) -> list[Fault]:
        """The WARNs of this requirement; none of "", which is no requirement."""
        warned = [(name, one) for name, one in self._judgements if one.verdict is Verdict.WARN]
        return [(name, one) for name, one in warned if requirement and name == requirement]

    @property
    def _judgements(self) -> list[Fault]:
        own = (self.judgement.requirement or self.judgement.due_by, self.judgement)
        every = [own, *((one.requirement, one.judgement) for one in self.violations)]
        return sorted(every, key=lambda fault: not fault[0])

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
    case.random, case.is_script = _random_of(script), True
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
    seen: Chosen,
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
        choices, situation = list(player.choices(chance)), player.situation()
        weights = seen.weights(situation, choices)
        if illegal:
            wrong = list(player.illegal_choices(chance))
            choices += wrong
            weights += seen.illegal_weights(wrong)
        chosen = chance.choices(choices, weights)[0].move
        seen.add(situation, chosen)
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
    try:
        player = _connect(case, script)
        if player is not None:
            _transfer(case, player, choose, done)
    except UnmetError as unmet:
        if not peculiar.concluded(case, script, unmet):
            raise


def _transfer(case: Case, player: Player, choose: Next, done: list[Move]) -> None:
    try:
        _play(case, player, choose, done)
        _end(case, player)
        if _is_usual(player.script, done):
            timing.judge(player.peer, player.script.iut)
            afterwards.judge(case, player)
    except UnmetError:
        if not player.declines and not player.concluded(case):
            raise


def _play(case: Case, player: Player, choose: Next, done: list[Move]) -> None:
    """All moves until the tester leaves."""
    began_us = player.peer.now_us
    while (move := choose(player)) is not None:
        if player.left:
            break
        done.append(move)  # also a move whose demand is not met
        if not player.play(move):
            done.pop()
            continue
        case.note(f"move {len(done)}, {move}")
        if _is_usual(player.script, done):
            player.watch()
    # An end that quits repeats its QUIT, at intervals that RFC 998 5.3.2 leaves open.
    if not player.left and not player.peer.has_quit and case.link.status() in (Status.OPENING, Status.OPEN):
        received = [seen for seen in player.peer.seen if seen.time_us >= began_us]
        case.expect_signs_of_life(received, began_us, player.peer.now_us, player.script.own.death_timer_s)


def _is_usual(script: Script, done: list[Move]) -> bool:
    """Whether the tester has done so far what every conforming peer does."""
    return not script.is_peculiar and not any(one.name.startswith(ILLEGAL_PREFIX) for one in done)


def _connect(case: Case, script: Script) -> Player | None:
    """None: no connection has to follow."""
    options = {"iut": values(script.iut), "own": values(script.own)}
    if script.role.sender:
        receiver = case.receiver(script.length, **options)
        if script.first_buffer >= 0:
            receiver.first_buffer = script.first_buffer
        peculiar.connect(receiver, script)
        return ReceivingPlayer(script, receiver) if opening.connect(case, receiver, script) else None
    sender = case.sender(script.length, **options)
    peculiar.connect(sender, script)
    sender.answer_controls(False)
    sender.withhold_ack(at=0)
    return SendingPlayer(script, sender) if opening.connect(case, sender, script) else None


def _end(case: Case, player: Player) -> None:
    """From here on the network behaves: an interrupted transfer has failed, any other succeeds, unless illegal packets
    have ended it."""
    player.settle()
    if not player.left and player.concluded(case):
        return
    with findings.due(_DUE_AFTER.get(player.left, "")):
        _end_legally(case, player)
    player.illegal.judge_answers(case)


def _end_legally(case: Case, player: Player) -> None:
    peer = player.peer
    if player.left == "quit":
        quitting.end_by_quit(player)
    elif player.left == "quit-late":
        quitting.end_by_late_quit(player)
    elif player.left == QUIT_ENDLESS:
        quitting.end_endlessly(peer)
    elif player.left.startswith("client-quit"):
        quitting.end_by_client(case, player)
    elif player.left == "client-abort":
        peer.expect_type(Type.ABORT)
        peer.expect_failure()
    elif player.left == "silent":
        _await_death(case, player)
    elif player.left:
        peer.expect_failure()
    elif isinstance(peer, ReceiverPeer):
        if peer.queue:
            peer.send_control()
        for number in player.lost:
            peer.buffer(number - peer.first_buffer)  # of which perhaps nothing came: it is requested
        assert isinstance(player, ReceivingPlayer)
        with _alive(case, player):
            received = peer.finish(quitting.PATIENCE_US + peer.pace_us, done=player.done_lost < 0)
        case.expect_intact(received, peer.data)
        with findings.due("CLOSE-04"):
            _close(player, peer)
    else:
        assert isinstance(peer, SenderPeer)
        assert isinstance(player, SendingPlayer)
        with _alive(case, player):
            patience_us = max(quitting.PATIENCE_US, player.longest_wait_us, peer.repeat_max_us)
            peer.finish(within_us=patience_us + peer.pace_us)
        try:
            with findings.due("CLOSE-01"):
                case.expect_delivered_by(peer)
        except UnmetError:
            if not (opening.announces_another(player.script) and peer.link.status().failed):
                raise  # else its client calls a transfer of another size a failure (AMB-15)


@contextlib.contextmanager
def _alive(case: Case, player: Player) -> Iterator[None]:
    """What comes inside keeps the tester's death timer from expiring (TIMER-11)."""
    began_us, first = player.peer.now_us, len(player.peer.seen)
    yield
    if came := player.peer.seen[first:]:
        case.expect_signs_of_life(came, began_us, came[-1].time_us, player.script.own.death_timer_s)


def _close(player: ReceivingPlayer, peer: ReceiverPeer) -> None:
    """The end of a transfer to the tester. Where the DONE is lost, the implementation closes by itself, and
    acknowledges the last OK as often as it comes until then (CLOSE-04, CLOSE-05)."""
    oks = [message for message in peer.monitor.session.issued.messages if message.kind is Kind.OK]
    last = oks[-1:]
    # A sender that acts beyond a hole (AMB-36) dallies before it acknowledges.
    arrived_us = peer.monitor.session.issued.departures[last[0].seq] + 2 * peer.link.delay_us
    acks_us = (s.time_us for s in peer.seen if s.packet.acks and s.packet.high_seq >= last[0].seq)
    acked_us = min((*acks_us, arrived_us))
    if player.done_lost == LONGER_DALLY:
        last = _repeat_with_longer_timer(peer, last[0], acked_us)
    for part in DALLIES[player.done_lost] if player.done_lost >= 0 else ():
        left_us = acked_us + peer.ms(last[0].control_timer_ms) - peer.now_us - 2 * peer.link.delay_us
        if not part and left_us > 0:
            peer.send_quit()
            peer.expect_type(Type.QUITACK)
            round_us = quitting.REPEAT_US + 2 * peer.link.delay_us
            quitting.repeat(peer, min(_QUITS_IN_DALLY - 1, (left_us - 1) // round_us))
            return
        at_us = acked_us + int(part * peer.ms(last[0].control_timer_ms)) - 2 * peer.link.delay_us
        if at_us < peer.now_us:
            break  # the dally may be over: the acknowledgement came long ago
        peer.listen(at_us - peer.now_us)
        for damaged in (peer.forge.packet(Type.DONE), peer.forge.control(last)):
            peer.link.send(packets.spoil(damaged), peer.address)
        peer.send_control(last)
        peer.expect(
            lambda packet: packet.acks and packet.high_seq >= last[0].seq,
            peer.ack_deadline_us,
            "the repeated OK to be acknowledged during the dally",
        )
    if player.done_lost >= 0 and peer.link.tells_outcome:
        limit_us = _dally_max_us(peer, max(message.control_timer_ms for message in (*oks, *last)))
        peer.until(lambda: peer.link.status().closed, limit_us, "the sender to close without DONE")
    with findings.due("CLOSE-02"):
        peer.expect_success()
        peer.listen(QUIET_US)
        peer.expect_success()  # whatever the DONE did meanwhile


def _repeat_with_longer_timer(peer: ReceiverPeer, last: Message, acked_us: int) -> list[Message]:
    """A control timer may grow with each repeat (AMB-44). Whether a repeat restarts the dally is open: a WARN. Returns
    the OK as it came last."""
    grown = [dataclasses.replace(last, control_timer_ms=_LONGER_DALLY_MS)]
    at_us = acked_us + peer.ms(last.control_timer_ms) // 2
    if at_us < peer.now_us or last.control_timer_ms >= _LONGER_DALLY_MS // 2:
        return [last]
    peer.listen(at_us - peer.now_us)
    peer.send_control(grown)
    peer.listen(peer.ms(_LONGER_DALLY_MS) - 2 * peer.link.delay_us - peer.tolerances.crossing_us)
    count = len(peer.seen)
    peer.send_control(grown)
    peer.listen(peer.ack_deadline_us)
    if not any(seen.packet.type is Type.NULL_ACK for seen in peer.seen[count:]):
        findings.tell(peer, findings.DALLY_ENDS, None, timer_ms=_LONGER_DALLY_MS)
    return grown


def _dally_max_us(peer: ReceiverPeer, published_ms: int) -> int:
    """A dally is longer than the control timer that any OK has published; it may be several times as long (AMB-53).
    What fills the field may stand for a longer timer: then a dally may be as long as the death timer."""
    longer_us = peer.terms.iut_death_timer_s * MICROSECONDS_PER_S if published_ms == LONGEST_TIMER_MS else 0
    return peer.tolerances.close_max_us + max(10 * peer.ms(published_ms), longer_us)


def _await_death(case: Case, player: Player) -> None:
    """The death timer of the implementation runs as long as it declared (TIMER-10). `silent` with a number: packets of
    other connections come meanwhile (DEMUX-01)."""
    peer = player.peer
    declared_s, silent_us = peer.terms.iut_death_timer_s, peer.now_us
    next_us = silent_us

    def disturb() -> None:
        nonlocal next_us
        if peer.now_us >= next_us:
            player.stray(player.repeats)
            next_us += declared_s * MICROSECONDS_PER_S // 2

    if not case.expect_death(peer, disturb if player.repeats else None):
        return
    waited_us = peer.now_us - silent_us
    if waited_us < declared_s * MICROSECONDS_PER_S - case.tolerances.crossing_us - 2 * QUIET_US:
        waited_s = waited_us / MICROSECONDS_PER_S
        findings.tell(peer, findings.DIED_EARLY, None, waited_s=waited_s, declared_s=declared_s)
