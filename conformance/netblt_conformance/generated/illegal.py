# SPDX-License-Identifier: GPL-2.0-or-later
"""Illegal moves: packets that no conforming peer sends at this moment. Each is a packet that would be legal now with
or two fields changed (fields.py), or a whole packet of a type that is wrong here. demands.py has what may follow.

A move is named `bad.BASE` or `bad.BASE.FIELD+FIELD`. Its first number chooses among the packets of the base, the others
are the values of the fields."""

from __future__ import annotations

import dataclasses
import itertools
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from netblt_conformance.cases.case import Case
from netblt_conformance.common.model import Status
from netblt_conformance.common.tolerances import death_max_us
from netblt_conformance.common.verdicts import Verdict
from netblt_conformance.generated import demands, fields, findings, originals
from netblt_conformance.generated.copies import Copies
from netblt_conformance.generated.demands import Demand, Effect
from netblt_conformance.generated.script import ILLEGAL_PREFIX as ILLEGAL_PREFIX
from netblt_conformance.generated.script import Move
from netblt_conformance.links.base import STRANGER_ADDRESS
from netblt_conformance.packets import packets
from netblt_conformance.packets.packets import DATA_HEADER_BYTES, Kind, Message, Packet, Type
from netblt_conformance.peer import ReceiverPeer, SenderPeer
from netblt_conformance.peer.exchange import Seen

PESTER = ILLEGAL_PREFIX + "pester"
_TWO_FIELDS = 0.3  # share of the moves that change two
_WHICH = 1 << 10
_TRIES = 8  # candidates at a moment; what would be legal is left out
_TO_BOTH = ("copy", "short", "type", "open", "response")
_TO_RECEIVERS = ("data", "data", "null-ack")
_TO_SENDERS = ("go", "go", "ok", "resend", "resend", "early-resend", "empty-resend", "zero", "unsent-ok")
_EARLY = 0.02  # share of the moves that confirm a buffer which was not sent: many implementations abort then
# Changes of a message that another way of reading may call a senseless one: it takes its place in the queue.
_SENSELESS = frozenset({"buffer", "entry", "count", fields.BYTES})
# Fields that a reader may or may not look at, and a Length that leaves out the string of an OPEN.
_HEADER = frozenset({"version", "padding", "length"})
_ENDS = (Effect.END, Effect.ABORT)
_ABORTING = (Effect.ABORT, Effect.ABORTED)
_ABORTS = (Type.ABORT, Type.REFUSED)
_LEAVING = (Type.ABORT, Type.QUIT)
_ANSWERS = (Type.ABORT, Type.REFUSED, Type.QUITACK)  # to a packet of no connection (AMB-55)


Key = tuple[int, int, bool]  # the ports of the implementation and of the tester, whether another host has the latter


@dataclass(frozen=True, slots=True)
class Made:
    """An illegal packet, or a message for the tester's queue, and what may follow."""

    demand: Demand
    packet: bytes = b""
    message: Message | None = None
    elsewhere: bool = False  # another host sends the packet


class Illegal:
    """The illegal moves of one connection."""

    def __init__(self, peer: ReceiverPeer | SenderPeer, copies: Copies) -> None:
        self._peer = peer
        self._first_seen = len(peer.seen)  # earlier packets are replies to the opening
        self.copies = copies
        self._played: list[tuple[int, Demand]] = []  # and when it was made
        self.pesters = False  # packets of wrong types come once more when the implementation's client has quit
        self._answered: set[int] = set()  # frames of ABORTs that answer a packet with a foreign unique ID
        self._asked: Counter[Key] = Counter()  # packets of other connections, without ABORTs
        self._opens: set[Key] = set()  # those among which was an OPEN

    # ---- choosing ----

    def moves(self, chance: random.Random, *, open_: bool) -> Iterator[Move]:
        """Some illegal moves that can be made now. `open_`: the transfer is not complete at either end."""
        early_ok = isinstance(self._peer, ReceiverPeer)
        bases = [*_TO_BOTH, *(_TO_SENDERS if early_ok else _TO_RECEIVERS)]
        for _ in range(_TRIES):
            base = "early-ok" if early_ok and chance.random() < _EARLY else chance.choice(bases)
            known = fields.BASES.get(base, {})
            count = min(len(known), 2 if chance.random() < _TWO_FIELDS else 1)
            names = sorted(chance.sample(sorted(known), count))
            values = [chance.choice(known[name].values) for name in names]
            name = ILLEGAL_PREFIX + base + (f".{'+'.join(names)}" if names else "")
            move = Move(name, (chance.randrange(_WHICH), *values))
            if self.make(move, open_=open_) is not None:
                yield move

    def make(self, move: Move, *, open_: bool) -> Made | None:
        """What the move sends; None when there is no such packet now, or it would be legal."""
        base, _, words = move.name.removeprefix(ILLEGAL_PREFIX).partition(".")
        names = words.split("+") if words else []
        known = fields.BASES.get(base, {})
        if not move.numbers or len(names) != len(move.numbers) - 1 or not set(names) <= known.keys():
            return None
        which, *values = move.numbers
        if base in ("early-ok", "unsent-ok", "early-resend", "empty-resend"):
            return self._other_message(base, which) if open_ else None
        if base == "zero":
            return self._numbered_zero() if open_ else None
        wire = self._original(base, which)
        if wire is None or (wire[3] == Type.OPEN and not open_):
            return None  # after the end it may open another connection (AMB-66)
        try:
            changed = fields.changed(wire, base, dict(zip(names, values, strict=True)))
        except KeyError:
            return None
        return self._judged(base, which, names, wire, self._summed(changed, names), open_=open_)

    def _original(self, base: str, which: int) -> bytes | None:
        if base not in ("copy", "short"):
            return originals.original(base, which, self._peer)
        if base == "short" and isinstance(self._peer, SenderPeer) and which >> 9 & 1:
            return originals.news(which, self._peer)
        recent = self.copies.recent()
        return self.copies.payload(recent[which % len(recent)]) if recent else None

    def _summed(self, raw: bytes, names: list[str]) -> bytes:
        """Data of another length have the data checksum that is right for them, unless this is changed too."""
        longer = fields.BYTES in names and raw[3] in packets.DATA_TYPES and len(raw) >= DATA_HEADER_BYTES
        if not longer or "data_checksum" in names or not self._peer.terms.data_checksum:
            return raw
        good = bytearray(raw)
        good[20:22] = packets.data_checksum(raw[DATA_HEADER_BYTES:]).to_bytes(2, "big")
        return packets.seal(good)

    # ---- what may follow ----

    def _judged(
        self, base: str, which: int, names: list[str], original: bytes, wire: bytes, *, open_: bool
    ) -> Made | None:
        packet, elsewhere = packets.read(wire), fields.SOURCE in names
        if wire == original and base != "type" and not elsewhere:
            return None
        demand = demands.of_header(packet, self._peer, elsewhere=elsewhere)
        if demand is not None:
            # Once it has nothing to do, an implementation may serve another peer.
            serves = packet.type is Type.OPEN and packet.error is None and not open_
            return None if serves else Made(demand, wire, elsewhere=elsewhere)
        if base in ("copy", "short"):
            demand = _of_copy(packet, names)
        elif base == "type":
            demand = self._of_type(which, open_=open_)
        elif base in ("open", "response"):
            demand = self._of_opening(packet, packets.read(original), open_=open_)
            if demand is not None and not _HEADER.isdisjoint(names):
                # It may be dropped for its header, or be taken for a packet of another connection.
                demand = Demand(Effect.ABORT, demand.requirement)
        elif isinstance(self._peer, SenderPeer):
            demand = self._of_data(packet)
        else:
            return self._of_control(packet, names, open_=open_)
        return Made(demand, wire) if demand is not None else None

    def _of_data(self, packet: Packet) -> Demand | None:
        assert isinstance(self._peer, SenderPeer)
        of = demands.of_data if packet.is_data else demands.of_null_ack
        return of(packet, self._peer)

    def _of_type(self, which: int, *, open_: bool) -> Demand | None:
        if originals.wrong_type(which, self._peer) is Type.DONE and self._peer.role.sender:
            return Demand(Effect.END, "ROBUST-07") if open_ else None
        return Demand(Effect.END, "ROBUST-08")

    def _of_opening(self, packet: Packet, original: Packet, *, open_: bool) -> Demand | None:
        own = packet.type is (Type.RESPONSE if self._peer.role.active else Type.OPEN)
        if packet.unique_id != original.unique_id:
            if not open_ or self._peer.link.status() is not Status.OPEN or self._is_free:
                return None  # no ABORT is due (AMB-64)
            responds = packet.type is Type.RESPONSE and not self._peer.role.active
            return Demand(Effect.ABORT, "ROBUST-08") if responds else Demand(Effect.ABORTED, "OPEN-09")
        if not own:
            return Demand(Effect.END, "ROBUST-08")
        if not packets.different_terms(packet, original):
            return None
        return Demand(Effect.END, "OPEN-08" if self._peer.role.active else "OPEN-07")

    def _of_control(self, packet: Packet, names: list[str], *, open_: bool) -> Made | None:
        peer = self._peer
        assert isinstance(peer, ReceiverPeer)
        sent = {message.seq: message for message in peer.monitor.session.issued.messages}
        demand = demands.of_control(packet, peer, sent)
        if demand is not None or not open_:
            return Made(demand, packet.raw) if demand is not None else None
        whole = packet.error is None and len(packet.messages) == 1 and _SENSELESS.issuperset(names)
        if not whole or packet.messages[0].seq != peer.next_seq or not demands.is_senseless(packet.messages[0], peer):
            return None
        [message] = packet.messages
        return Made(_of_senseless(message, is_far="buffer" in names), message=message)

    def _other_message(self, base: str, which: int) -> Made | None:
        """OK (AMB-48) or RESEND for a buffer that has no GO; OK for one that was not sent; RESEND for no packet."""
        peer = self._peer
        message = originals.next_message(base, which, peer) if isinstance(peer, ReceiverPeer) else None
        if message is None or not isinstance(peer, ReceiverPeer):
            return None
        if base.startswith("early") and peer.last_buffer is not None:
            return None
        if base == "unsent-ok" and not demands.is_unsent(message.buffer, peer):
            return None
        return Made(_of_senseless(message, is_far=False), message=message)

    def _numbered_zero(self) -> Made | None:
        """Numbers begin with 1, and 0 is acknowledged before the first message came: no message takes its place."""
        peer = self._peer
        if not isinstance(peer, ReceiverPeer) or peer.high_seq:
            return None
        return Made(Demand(Effect.END, "CTRL-06"), peer.forge.control([originals.without_sense(peer)]))

    @property
    def _is_free(self) -> bool:
        """Whether anything may follow: a packet was sent that could be true."""
        return any(demand.effect is Effect.ANY for _, demand in self._played)

    # ---- playing ----

    def play(self, move: Move, *, open_: bool) -> bool:
        """Whether the move was made."""
        if move.name == PESTER and open_ and not self.pesters:
            self.pesters = True
            return True
        made = self.make(move, open_=open_)
        if made is None:
            return False
        self._played.append((self._peer.now_us, made.demand))
        if made.demand.effect is Effect.ANY:
            findings.forgive(self._peer)
        if made.message is not None:
            self._queue(made.message)
        else:
            self._send(made)
        if made.demand.effect in _ABORTING:
            self._peer.monitor.came_late()  # its ABORT may come after an ABORT of the tester
        if made.demand.effect is Effect.ABORTED:
            self._expect_abort()
        elif made.demand.effect in _ENDS:
            self._await_answer()
        return True

    def pester(self) -> None:
        """Packets of all types that are wrong here, but for the QUITACK that the implementation waits for."""
        for which, kind in enumerate(originals.wrong_types(self._peer)):
            if self.pesters and kind is not Type.QUITACK:
                self.play(Move(f"{ILLEGAL_PREFIX}type", (which,)), open_=True)

    def _await_answer(self) -> None:
        """A copy of an OPEN that arrives after the end would open another connection: the tester learns of it first. An
        ABORT for a foreign unique ID ends nothing."""
        peer, first = self._peer, len(self._peer.seen)
        peer.listen(3 * peer.link.delay_us)
        if self._played[-1][1].effect is Effect.ABORT and not peer.link.status().failed:
            self._answered |= {seen.frame for seen in peer.seen[first:] if seen.packet.type in _ABORTS}

    def _queue(self, message: Message) -> None:
        """The message takes its place in the queue of unacknowledged ones. An OK for a buffer that was not sent
        confirms nothing."""
        peer = self._peer
        assert isinstance(peer, ReceiverPeer)
        queued = peer.message(message.kind, message.buffer, message.packets)
        peer.queue[-1] = dataclasses.replace(message, seq=queued.seq)
        peer.send_control()
        session = peer.monitor.session
        if message.kind is Kind.OK:
            session.issued.disregard(queued.seq)

    def _send(self, made: Made) -> None:
        peer, packet = self._peer, packets.read(made.packet)
        wire = made.packet if packet.error else peer.to_wire(made.packet)
        self.note_elsewhere(packet, elsewhere=made.elsewhere)
        if packet.version != peer.version:
            peer.monitor.disabled.add("WIRE-02")  # an ABORT that answers it may have its version
        source = STRANGER_ADDRESS if made.elsewhere else peer.address
        frame = self.copies.send_foreign(wire, source)
        peer.link.capture.comment(frame, f"illegal ({made.demand.requirement}): {made.demand.effect.value}")
        if packet.type is Type.OPEN and packet.error is None:
            self._end_second((packet.foreign_port, packet.local_port, made.elsewhere), source)

    def note_elsewhere(self, packet: Packet, *, elsewhere: bool) -> None:
        """A packet may get an answer for another connection than this one. `elsewhere`: another host has sent it."""
        key = packet.foreign_port, packet.local_port, elsewhere
        if key != (self._peer.iut_port, self._peer.own_port, False):
            self._asked[key] += packet.type is not Type.ABORT
            if packet.type is Type.OPEN:
                self._opens.add(key)

    def _end_second(self, key: Key, source: bytes) -> None:
        """A connection that such an OPEN opened beside this one (DEMUX-02) ends at once."""
        peer, first = self._peer, len(self._peer.seen)
        if key not in self._opens:
            return
        peer.listen(3 * peer.link.delay_us)
        if any(seen.packet.type is Type.RESPONSE and self._key(seen) == key for seen in peer.seen[first:]):
            forge = dataclasses.replace(peer.forge, local_port=key[1], foreign_port=key[0])
            self.copies.send_foreign(forge.reason(Type.ABORT, "only a try"), source)

    def _expect_abort(self) -> None:
        peer, first = self._peer, len(self._peer.seen)

        def answers() -> list[Seen]:
            return [seen for seen in peer.seen[first:] if seen.packet.type in _ABORTS and not self.is_elsewhere(seen)]

        with findings.due("OPEN-09"):
            peer.until(lambda: bool(answers()), peer.tolerances.reaction_max_us, "ABORT for the foreign unique ID")
        self._answered |= {seen.frame for seen in answers()}

    # ---- judging ----

    def note_answers(self) -> None:
        """An ABORT for a foreign unique ID may come later than at once, and the connection goes on."""
        peer = self._peer
        if peer.link.status().failed:
            return
        since_us = peer.now_us - peer.tolerances.reaction_max_us
        strange_us = [at_us for at_us, demand in self._played if demand.effect in _ABORTING]
        if strange_us and strange_us[-1] >= since_us:
            came = itertools.takewhile(lambda seen: seen.time_us >= strange_us[-1], reversed(peer.seen))
            self._answered |= {seen.frame for seen in came if seen.packet.type in _ABORTS}

    def is_elsewhere(self, seen: Seen) -> bool:
        """Whether the packet is for another connection, or about one."""
        ours = self._peer.iut_port, self._peer.own_port, False
        return seen.frame in self._answered or self._key(seen) != ours

    @staticmethod
    def _key(seen: Seen) -> Key:
        return seen.packet.local_port, seen.packet.foreign_port, seen.destination == STRANGER_ADDRESS

    def judge_answers(self, case: Case) -> None:
        """Packets of no connection get one answer each at most, and never more than an end of it (DEMUX-03)."""
        answers: dict[Key, list[Seen]] = {}
        for seen in self._peer.seen[self._first_seen :]:
            key = self._key(seen)
            if key in self._asked and key not in self._opens:
                answers.setdefault(key, []).append(seen)
        for key, found in answers.items():
            strange = [seen for seen in found if seen.packet.type not in _ANSWERS]
            if strange:
                what = f"{strange[0].packet} answers a packet of no connection"
                findings.accuse(case, Verdict.FAIL, "DEMUX-03", what, strange[0].frame, "ABORT, REFUSED or no answer")
            elif len(found) > self._asked[key]:
                what = f"{len(found)} packets answer {self._asked[key]} packets of no connection"
                findings.accuse(
                    case, Verdict.FAIL, "DEMUX-03", what, found[-1].frame, "at most one answer to each, none to ABORT"
                )

    def conclude(self, case: Case, *, has_left: bool, open_: bool) -> bool:
        """Whether illegal packets decide how the script ends, which is judged then."""
        if not self._played:
            return False
        self.judge_answers(case)
        if self._is_free:
            self._outlive(case)
            return True
        status = self._peer.link.status()
        if status.succeeded and open_:
            what = "success was reported of a transfer that is not complete"
            findings.accuse(case, Verdict.FAIL, "ROBUST-07", what, None, "no success before the transfer ends")
            return True
        if status.succeeded or not has_left:
            return False
        return self._judge_end(case)

    def _judge_end(self, case: Case) -> bool:
        """The implementation has ended the connection. Whether illegal packets explain it."""
        peer = self._peer
        leaving = [seen for seen in peer.seen if seen.packet.type in _LEAVING and not self.is_elsewhere(seen)]
        frame = leaving[0].frame if leaving else None
        arrived_us = (leaving[0].time_us if leaving else peer.now_us) - 2 * peer.link.delay_us
        recent_us = arrived_us - peer.tolerances.reaction_max_us
        recent = [demand for sent_us, demand in self._played if recent_us <= sent_us <= arrived_us]
        causes = [demand for demand in recent if demand.effect in _ENDS]
        if recent and recent[-1].effect is Effect.ABORTED:
            causes = []  # the tester waited for the ABORT: the connection ended with it
        what = f"the connection ended ({peer.link.reason() or 'without a reason'})"
        if not recent:
            return False
        if not causes:
            findings.accuse(case, Verdict.FAIL, recent[-1].requirement, what, frame, "no effect on the connection")
            return True
        findings.accuse(case, Verdict.WARN, causes[-1].requirement, what, frame, "a transfer that goes on (AMB-71)")
        peer.expect_failure()
        return True

    def _outlive(self, case: Case) -> None:
        """Whatever it does, it runs on, and delivers nothing else than was sent where it reports success."""
        peer = self._peer
        peer.go_silent()
        peer.listen(death_max_us(peer.terms.iut_death_timer_s))
        if peer.link.status().succeeded and isinstance(peer, SenderPeer):
            case.expect_delivered(peer.data)


_SENSELESS_RULES = {Kind.GO: "CTRL-15", Kind.OK: "ROBUST-07", Kind.RESEND: "RESEND-08"}


def _of_senseless(message: Message, *, is_far: bool) -> Demand:
    """A request for no packet is no mistake: nothing is what it asks for. `is_far`: it is about a buffer that does not
    exist."""
    if message.kind is Kind.RESEND and not message.packets and not is_far:
        return Demand(Effect.NONE, "RESEND-02")
    return Demand(Effect.END, _SENSELESS_RULES[message.kind])


def _of_copy(packet: Packet, names: list[str]) -> Demand | None:
    """Of a copy of a packet that has arrived, so that nothing new is in it."""
    if packet.type in packets.OPENING_TYPES:
        return None
    if "length" in names:
        return Demand(Effect.END, "ROBUST-02") if packet.type is Type.CONTROL and packet.error else None
    return Demand(Effect.END, "WIRE-02" if "version" in names else "ROBUST-04")
