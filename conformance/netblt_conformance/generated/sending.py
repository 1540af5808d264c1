# SPDX-License-Identifier: GPL-2.0-or-later
"""The moves of a tester that sends: DATA, LDATA and NULL-ACK, as RFC 998 5.2 permits them at a moment."""

from __future__ import annotations

import itertools
import random
from collections import defaultdict
from collections.abc import Iterable, Iterator

from netblt_conformance.common.model import MICROSECONDS_PER_S
from netblt_conformance.generated import copies, findings
from netblt_conformance.generated.moves import OLD_KEPT, Choice, Player
from netblt_conformance.generated.script import Move, Script
from netblt_conformance.packets.packets import Kind, Message, Packet, Type, spoil
from netblt_conformance.peer import SenderPeer

# An end whose CONTROLs are not acknowledged gives up when its death timer expires (CTRL-10, TIMER-10): the tester
# acknowledges within this share of it.
_PATIENCE_SHARE = 0.5
_REPAIRS_LOST = (2, 4, 6)  # in a row
# A data timer that expires again and again may take longer each time.
_REQUEST_US, _LONGER = 300 * MICROSECONDS_PER_S, 4
_CHATTER_US = 300_000  # between two KEEPALIVEs: shorter than data timers
_RESTRICTIONS = ((1, 20), (2, 60), (1000, 100))  # burst size and interval that the tester makes of an offer (NEG-09)


class SendingPlayer(Player):
    """The tester sends: DATA, LDATA and NULL-ACK."""

    def __init__(self, script: Script, peer: SenderPeer) -> None:
        super().__init__(script, peer)
        self._peer = peer
        peer.lose = self._loses
        self._sent: set[tuple[int, int]] = set()  # (buffer, packet)
        self._served: dict[int, set[int]] = {}  # RESEND, by number -> packets that were sent since
        self._lost_us = -1  # when the last CONTROL was lost
        self._known = 0  # the acknowledgement that our packets carry
        self._known_us = 0  # when it was the newest
        self._burst_us = 0  # when the newest burst left

    def _loses(self, packet: Packet) -> bool:
        """A queue that comes in several CONTROLs of one moment (AMB-33) is lost whole: the scripted sender counts
        buffers by the GOs that it has seen."""
        if self.peer.now_us == self._lost_us:
            return True
        if not super()._loses(packet):
            return False
        self._lost_us = self.peer.now_us
        return True

    @property
    def peer(self) -> SenderPeer:
        return self._peer

    def may_leave(self) -> bool:
        return bool(self._fresh(self._peer.buffer_count - 1))

    def _asked(self) -> list[int]:
        """Buffers with a GO and without an OK."""
        peer = self._peer
        return [n for n in range(peer.buffer_count) if peer.find(Kind.GO, n) and not peer.find(Kind.OK, n)]

    @property
    def _has_acknowledged_all(self) -> bool:
        peer = self._peer
        return peer.monitor.session.highest_ack_sent == peer.consecutive == max(peer.messages, default=0)

    def patience_us(self) -> int:
        peer = self._peer
        waited_us = 0 if self._has_acknowledged_all else peer.now_us - self._known_us
        return min(self._wait_left_us, int(_PATIENCE_SHARE * self._death_us) - waited_us)

    def _may_hush(self) -> bool:
        """Everything is acknowledged: only the silence counts."""
        acked = self._peer.monitor.session.highest_ack_sent
        return super()._may_hush() and acked == self._known == self._peer.consecutive

    @property
    def withholds(self) -> bool:
        """Whether a CONTROL that came is not acknowledged."""
        return self._peer.consecutive > self._peer.monitor.session.highest_ack_sent

    def acknowledge(self) -> None:
        if self.withholds or self._peer.consecutive > self._known:
            self.play(Move("ack", (self._peer.consecutive,)))

    def _send_known_packet(self) -> None:
        """Data where there are any: they too show that the tester is alive. Not where their burst has to wait: the wait
        may be longer than the implementation's death timer."""
        peer = self._peer
        self._carry(peer.consecutive)
        now = [buffer for buffer in self._asked() if peer.may_send(buffer)]
        fresh = [(buffer, packet) for buffer in now for packet in self._fresh(buffer)]
        if fresh and self._burst_due_us <= peer.now_us:
            self.play(Move("data", fresh[0]))
        else:
            peer.null_ack(peer.consecutive)

    def inside_at(self, time_us: int) -> int:
        """Some packets of a buffer have arrived, and its LDATA has not. With it the buffer was sent, though packets may
        be missing (RFC 998 5.3.2: "between buffer transmissions")."""
        peer = self._peer
        arrived_us = time_us - peer.link.delay_us
        sent = {n: peer.monitor.session.data_sent.get(peer.number(n)) for n in self._asked()}
        left = [
            number
            for number, buffer in sent.items()
            if buffer is not None
            and min(buffer.packets.values(), default=arrived_us + 1) < arrived_us - peer.link.delay_us
            and (buffer.last_packet is None or buffer.packets[buffer.last_packet] > arrived_us)
        ]
        return left[0] + 1 if len(left) == 1 else 0

    def watch(self) -> None:
        """CTRL-13: no GO for what the client withholds."""
        peer, iut = self._peer, self.script.iut
        if peer.now_us >= iut.client_stall_until_us:
            return
        for index in range(iut.client_stall_from, iut.client_stall_from + 2):
            if gos := peer.find(Kind.GO, index):
                until_s = iut.client_stall_until_us / MICROSECONDS_PER_S
                frame = peer.first_seen(gos[0].seq).frame
                findings.tell(peer, findings.GO_WITHOUT_MEMORY, frame, buffer=index, until_s=until_s)

    def _hush(self) -> None:
        super()._hush()
        if self._peer.consecutive:
            self.play(Move("ack", (self._peer.consecutive,)))

    def _may_send(self, buffer: int, packet: int) -> bool:
        """It was not sent yet, or is requested."""
        peer = self._peer
        if not peer.may_send(buffer):
            return False
        exists = 0 <= buffer < peer.buffer_count and 0 <= packet < peer.packet_count(buffer)
        wanted = (buffer, packet) not in self._sent or packet in self._named(buffer)
        return exists and wanted and bool(peer.find(Kind.GO, buffer))

    def _fresh(self, buffer: int) -> list[int]:
        done = {packet for number, packet in self._sent if number == buffer}
        return [n for n in range(self._peer.packet_count(buffer)) if n not in done]

    def _untouched(self, buffer: int) -> bool:
        """Nothing of it was sent, though its GO came."""
        return buffer in self._asked() and len(self._fresh(buffer)) == self._peer.packet_count(buffer)

    def _named(self, buffer: int) -> list[int]:
        """What RESENDs for this buffer request that was not sent since."""
        return sorted({n for request in self._peer.find(Kind.RESEND, buffer) for n in self._waiting(buffer, request)})

    def _waiting(self, buffer: int, request: Message) -> set[int]:
        """As far as the buffer has it: who knows no LDATA yet requests all that may be there."""
        if request.seq in self._peer.served:
            return set()
        return set(request.packets) & set(range(self._peer.packet_count(buffer))) - self._served.get(request.seq, set())

    def _serve(self, buffer: int, packets: Iterable[int]) -> None:
        """A copy serves every request for it."""
        for request in self._peer.find(Kind.RESEND, buffer):
            self._served.setdefault(request.seq, set()).update(packets)
            if not self._waiting(buffer, request):
                self._peer.served.add(request.seq)

    @property
    def _burst_due_us(self) -> int:
        """The next burst leaves an interval after the one before, whichever buffers they are of (RATE-02)."""
        return self._burst_us and self._burst_us + self._peer.ms(self._peer.pace()[1])

    def _await_burst(self) -> None:
        peer, due_us = self._peer, self._burst_due_us
        if due_us > peer.now_us:
            peer.listen(due_us - peer.now_us)

    def choices(self, chance: random.Random) -> Iterator[Choice]:
        peer = self._peer
        for buffer in self._asked():
            fresh, named = self._fresh(buffer), self._named(buffer)
            if not peer.may_send(buffer):
                continue
            if fresh:
                yield Choice(Move("data", (buffer, *fresh)), 3)
                yield Choice(Move("data", (buffer, *sorted(chance.sample(fresh, chance.randint(1, len(fresh)))))), 3)
                yield Choice(Move("data", (buffer, *chance.sample(fresh, len(fresh)))), 1)
            if self._may_chatter(buffer):
                yield Choice(Move("chatter", (buffer,)), 1)
            if left := fresh or named:
                yield Choice(Move("header-damaged", (buffer, chance.choice((*left, left[-1])))), 0.2)
            if left and peer.terms.data_checksum:
                name = chance.choice(("data-damaged", "data-damaged", "data-zeroed"))
                yield Choice(Move(name, (buffer, chance.choice((*left, left[-1])), chance.getrandbits(12))), 0.4)
            if self._untouched(buffer):
                yield Choice(Move("data-lost", (buffer,)), 0.3)
            if named:
                yield Choice(Move("repair-lost", (buffer,)), 1)
                yield Choice(Move("repairs-lost", (buffer, chance.choice(_REPAIRS_LOST))), 0.3)
                yield Choice(Move("data", (buffer, *named)), 4)
                yield Choice(Move("data", (buffer, chance.choice(named))), 1)
        if peer.consecutive > self._known:
            yield Choice(Move("ack", (peer.consecutive,)), 5)
            yield Choice(Move("ack", (chance.randint(self._known, peer.consecutive),)), 1)
            yield Choice(Move("carry", (peer.consecutive,)), 2)
            yield Choice(Move("ack-damaged", (peer.consecutive,)), 0.4)
        if peer.consecutive:
            yield Choice(Move("ack", (chance.randint(0, self._known),)), 0.4)
        back = chance.randrange(OLD_KEPT)
        if self._may_damage_copy(back):
            yield Choice(Move("copy-damaged", (back, chance.getrandbits(12))), 0.3)
        yield Choice(Move("restrict", chance.choice(_RESTRICTIONS)), 0.1)
        yield from self._common(chance)

    def play(self, move: Move) -> bool:
        peer = self._peer
        match move.name, move.numbers:
            case "data", (buffer, *packets) if packets and all(self._may_send(buffer, n) for n in packets):
                self._sent |= {(buffer, n) for n in packets}
                self._serve(buffer, packets)
                self._await_burst()
                peer.send_packets(buffer, packets)
                self._burst_us = peer.now_us
            case "data-damaged", (buffer, packet, bit) if self._may_damage(buffer, packet, summed=True):
                self._send_damaged(buffer, packet, copies.spoilt_data(self._wire(buffer, packet), bit))
            case "data-zeroed", (buffer, packet, bit) if self._may_damage(buffer, packet, summed=True):
                self._send_damaged(buffer, packet, copies.zeroed_data(self._wire(buffer, packet), bit))
            case "header-damaged", (buffer, packet) if self._may_damage(buffer, packet, summed=False):
                self._send_damaged(buffer, packet, spoil(self._wire(buffer, packet)))
            case "copy-damaged", (back, bit) if self._may_damage_copy(back):
                self.copies.deliver_damaged(self._recent(back), lambda packet: copies.spoilt_data(packet, bit))
            case "data-lost", (buffer,) if self._untouched(buffer) and peer.may_send(buffer):
                peer.lost_buffers.add(buffer)
            case "repair-lost", (buffer,) if 0 <= buffer < peer.buffer_count:
                peer.served |= {request.seq for request in peer.find(Kind.RESEND, buffer)}
            case "repairs-lost", (buffer, times) if 0 < times <= max(_REPAIRS_LOST) and self._named(buffer):
                self._lose_repairs(buffer, times)
            case "chatter", (buffer,) if self._may_chatter(buffer):
                self._chatter(buffer)
            case "restrict", (size, interval_ms) if (size, interval_ms) in _RESTRICTIONS and self.may_slow_down(
                size, interval_ms
            ):
                peer.restriction = size, interval_ms
            case "ack", (number,) if 0 <= number <= peer.consecutive:
                self._carry(number)
                peer.null_ack(number)  # an older one comes late
            case "ack-damaged", (number,) if self._known < number <= peer.consecutive:
                damaged = spoil(peer.to_wire(peer.acknowledgement(number)))
                self.copies.send_foreign(damaged, peer.address)  # it acknowledges nothing (CKSUM-06)
            case "carry", (number,) if self._known < number <= peer.consecutive:
                self._carry(number)
            case _:
                return self._play_common(move)
        return True

    def _may_chatter(self, buffer: int) -> bool:
        """A data timer runs for the buffer: its GO is acknowledged, and some packets of it were sent."""
        peer = self._peer
        begun = 0 < len(self._fresh(buffer)) < peer.packet_count(buffer)
        return self._has_acknowledged_all and begun and buffer in self._asked() and not self._named(buffer)

    def _chatter(self, buffer: int) -> None:
        """The tester sends KEEPALIVEs until its data timer has the receiver request what is missing (TIMER-07)."""
        peer, requests = self._peer, len(self._peer.requests(buffer))

        def asks() -> bool:
            if self.withholds:
                self.acknowledge()
            return len(peer.requests(buffer)) > requests or self.has_left()

        deadline_us = peer.now_us + self._request_limit_us
        while not asks() and peer.now_us < deadline_us:
            peer.send_keepalive()
            peer.listen(_CHATTER_US)
        with findings.due("TIMER-07"):
            peer.until(asks, 1, f"RESEND for buffer {buffer}, while KEEPALIVEs come")

    def _lose_repairs(self, buffer: int, times: int) -> None:
        """The network loses so many retransmissions in a row; each has to be requested again (RESEND-04)."""
        peer = self._peer

        def goes_on() -> bool:
            if peer.consecutive > peer.monitor.session.highest_ack_sent:  # so that the CONTROLs have room
                self.play(Move("ack", (peer.consecutive,)))
            # Or what was requested came another way, or the connection is over.
            return bool(self._named(buffer) or peer.find(Kind.OK, buffer)) or self.has_left()

        patience_us = self._request_limit_us
        for _ in range(times):
            self.play(Move("repair-lost", (buffer,)))
            lost_us = peer.now_us
            with findings.due("RESEND-04"):
                what = f"another RESEND for buffer {buffer}, whose retransmission was lost"
                peer.until(goes_on, patience_us, what)
            patience_us = max(patience_us, _LONGER * (peer.now_us - lost_us))

    def _may_damage(self, buffer: int, packet: int, *, summed: bool) -> bool:
        """It was not sent yet, or is requested. `summed`: only a data checksum shows the damage."""
        peer = self._peer
        may = peer.may_send(buffer) and (peer.terms.data_checksum or not summed) and buffer in self._asked()
        return may and packet in (*self._fresh(buffer), *self._named(buffer))

    def _may_damage_copy(self, back: int) -> bool:
        """It has data, and a checksum that shows the damage."""
        kind = self.copies.payload(self._recent(back))[3]
        return self._peer.terms.data_checksum and kind in (Type.DATA, Type.LDATA)

    def _wire(self, buffer: int, packet: int) -> bytes:
        """A packet as the tester would send it now, in the form that the implementation uses."""
        fields = self._peer.data_packet(buffer, packet, high_seq=self._peer.monitor.session.highest_ack_sent)
        return self._peer.to_wire(self._peer.forge.data(fields))

    def _send_damaged(self, buffer: int, packet: int, damaged: bytes) -> None:
        """The packet arrives damaged: it counts as lost (CKSUM-06, CKSUM-07)."""
        peer = self._peer
        self._sent.add((buffer, packet))
        self._serve(buffer, [packet])
        self._await_burst()
        self.copies.send_foreign(damaged, peer.address)
        self._burst_us = peer.now_us
        if not peer.monitor.session.was_sent(peer.number(buffer)):
            peer.lost_buffers.add(buffer)

    @property
    def _request_limit_us(self) -> int:
        """By then the next request has come, also where the network loses it once."""
        peer = self._peer
        return max(_REQUEST_US, self.longest_wait_us, peer.data_timer_max_us) + peer.repeat_max_us

    @property
    def longest_wait_us(self) -> int:
        """Longer than what the next request may take: each may have taken longer than the one before, or its data timer
        may follow the pace of the data (AMB-45)."""
        peer, came_us = self._peer, defaultdict[int, list[int]](list)
        for message in peer.messages.values():
            if message.kind is Kind.RESEND:
                came_us[message.buffer].append(peer.first_seen(message.seq).time_us)
        waits = [after - before for times in came_us.values() for before, after in itertools.pairwise(sorted(times))]
        return max(_LONGER * max(waits, default=0), peer.monitor.session.data_timer_max_us())

    def settle(self) -> None:
        """What was served in part is served whole: peer.finish() knows whole requests only."""
        super().settle()
        for buffer in self._asked() if not self.left else ():  # no data after a QUIT
            if self._served and (named := self._named(buffer)):
                self.play(Move("data", (buffer, *named)))

    def behave(self) -> None:
        for buffer in self._asked():
            if numbers := self._fresh(buffer) or self._named(buffer):
                self.play(Move("data", (buffer, *numbers)))
        self.acknowledge()

    def _carry(self, number: int) -> None:
        if number > self._known:
            self._known = number
            self._peer.withhold_ack(number)
        if number == self._peer.consecutive:
            self._known_us = self._peer.now_us

    def situation(self) -> tuple[int, ...]:
        peer = self._peer
        asked = self._asked()
        return (
            min(len(asked), 3),
            sum(1 for n in asked if not self._fresh(n)),
            min(peer.consecutive - self._known, 4),
            sum(1 for n in asked if self._named(n)),
            min(self._to_lose, 2),
            int(bool(peer.find(Kind.OK, peer.buffer_count - 1))),
            int(peer.seen[-1].packet.type or 0) if peer.seen else -1,
        )
