# SPDX-License-Identifier: GPL-2.0-or-later
"""What the oracles know about one connection: both directions, in the order in which the tester saw them.

Three moments matter for each packet of the tester: when it left, when it reached the implementation at the latest, and
when an answer to it can have come back at the earliest. The delay of virtual links is exact, that of real ones counts
as `Tolerances.crossing_us`. An implementation may sit on what it has decided: coalesce control messages, or wake up now
and then.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass, field

from netblt_conformance.common.model import MICROSECONDS_PER_MS, Role
from netblt_conformance.common.tolerances import STALL_US, Tolerances, slowest
from netblt_conformance.oracles.issued import Issued
from netblt_conformance.oracles.life import Life
from netblt_conformance.packets.packets import Packet, Type, data_checksum

_ROUND_TRIPS = 6  # a smoothed round trip and several times its variance
GROWTH = 3  # of the time from one repetition to the next (AMB-44); doubling is usual


def grown_max_us(limit_us: int, times_us: Iterable[int]) -> int:
    """The next repetition comes within this: a limit for the first one, and GROWTH of the longest time from one of
    those that came at `times_us` to the next."""
    gaps_us = [later - earlier for earlier, later in itertools.pairwise(times_us)]
    return max(limit_us, GROWTH * max(gaps_us, default=0))


def after(a: int, b: int) -> bool:
    """16-bit sequence numbers: a comes after b (AMB-12)."""
    return 0 < (a - b) % 65536 < 32768


def _highest(acks: list[tuple[int, int]]) -> int:
    return acks[-1][1] if acks else 0


@dataclass(slots=True)
class SentData:
    """Usable data that the tester has sent of one buffer: packet number -> first departure."""

    packets: dict[int, int] = field(default_factory=dict)
    padded: set[int] = field(default_factory=set)  # packets that had padding after Length (AMB-02)
    last_packet: int | None = None
    last_buffer: bool = False

    def complete_by(self, moment_us: int) -> bool:
        if self.last_packet is None:
            return False
        return all(self.packets.get(n, moment_us + 1) <= moment_us for n in range(self.last_packet + 1))


class Session:
    """State of one connection that several oracles need."""

    def __init__(
        self,
        role: Role,
        own_port: int,
        iut_port: int,
        delay_us: int,
        real_time: bool,
        tolerances: Tolerances,
        data: bytes | None = None,
    ) -> None:
        """`data`: what the client of a sending implementation has to send, where that is known."""
        self.role = role
        self.data = data
        self.own_port = own_port
        self.iut_port = iut_port
        self.round_trip_us = 2 * delay_us
        self.tolerances = tolerances
        self.slack_us = tolerances.crossing_us if real_time else 0
        self.real_time = real_time
        self.response: Packet | None = None  # the first one: it governs (OPEN-08)
        self.open_sent: Packet | None = None
        self.issued = Issued()
        self.acks_sent: list[tuple[int, int]] = []  # (departure, high-seq), only when it grew
        self._acks_in_use: list[tuple[int, int]] = []  # the same, without those in data that are of no use (AMB-60)
        self.data_sent: dict[int, SentData] = {}
        self.packets_sent = 0  # usable ones, each counted once
        self._reported: set[tuple[int, int]] = set()  # burst size and interval in ms of the tester's NULL-ACKs
        self._data_gap_us = 0  # the longest time between two packets of one buffer, each of them new
        # Number of the first buffer with the L flag, and the departure of its first packet.
        self.last_buffer_sent: tuple[int, int] | None = None
        self.closing_us: int | None = None  # departure of the tester's first QUIT, ABORT or DONE
        # The longest time between two CONTROLs, since something was acknowledged, of which the second has nothing new.
        self.control_gap_us = 0
        self.life = Life(role)

    def same_connection(self, packet: Packet, *, sent: bool) -> bool:
        here, there = (packet.local_port, packet.foreign_port) if sent else (packet.foreign_port, packet.local_port)
        return here == self.own_port and there == self.iut_port

    def has_its_version(self, packet: Packet) -> bool:
        """Whether the version byte of a packet is that of the connection."""
        opening = self.response or self.open_sent
        return opening is None or packet.version == opening.version

    def knew(self, departure_us: int, seen_us: int) -> bool:
        """Whether a packet seen at `seen_us` was surely thought of after one sent at `departure_us` had arrived."""
        stall_us = STALL_US if self.real_time else self.tolerances.crossing_us
        return seen_us - departure_us > self.round_trip_us + stall_us

    # ---- what the tester has sent ----

    def note_sent(self, packet: Packet, time_us: int) -> None:
        if packet.type is Type.OPEN and self.open_sent is None:
            self.open_sent = packet
        elif packet.type is Type.RESPONSE and self.response is None:
            self.response = packet
        elif packet.type is Type.CONTROL:
            self.issued.note(packet.messages, time_us, opened=not self.role.active or self.life.opened_us >= 0)
        elif packet.type in (Type.QUIT, Type.ABORT, Type.DONE) and self.closing_us is None:
            self.closing_us = time_us
        if packet.type is Type.NULL_ACK:
            self._reported.add((packet.burst_size, packet.burst_interval_ms))
        useful = not packet.is_data or self._note_data(packet, time_us)
        for known in (self.acks_sent, self._acks_in_use) if useful else (self.acks_sent,):
            if packet.acks and after(packet.high_seq, _highest(known)):
                known.append((time_us, packet.high_seq))
        self.life.sent(packet, time_us, self.highest_ack_sent)

    def note_received(self, packet: Packet, time_us: int) -> None:
        """A readable packet of the implementation on this connection."""
        if packet.type is Type.RESPONSE and self.response is None:
            self.response = packet
        self.life.received(packet, time_us, self.highest_ack_sent)

    def _note_data(self, packet: Packet, time_us: int) -> bool:
        """Only what a receiver must store counts: right size, right data checksum. Whether it is that, and new."""
        terms = self.response
        if terms is None or packet.packet * terms.packet_size >= terms.buffer_size:
            return False
        if terms.data_checksum_on and packet.data_checksum != data_checksum(packet.data):
            return False
        whole = len(packet.data) == terms.packet_size
        if packet.type is Type.DATA and not whole:
            return False
        buffer = self.data_sent.setdefault(packet.buffer, SentData())
        new = packet.packet not in buffer.packets
        if new and buffer.packets:
            self._data_gap_us = max(self._data_gap_us, time_us - next(reversed(buffer.packets.values())))
        buffer.packets.setdefault(packet.packet, time_us)
        self.packets_sent += new
        if len(packet.raw) > packet.length:
            buffer.padded.add(packet.packet)
        if packet.type is Type.LDATA and buffer.last_packet is None:
            buffer.last_packet = packet.packet
        buffer.last_buffer |= packet.last_buffer
        if buffer.last_buffer and self.last_buffer_sent is None:
            self.last_buffer_sent = packet.buffer, min(buffer.packets.values())
        return new

    @property
    def highest_ack_sent(self) -> int:
        return _highest(self.acks_sent)

    @property
    def slowest_pace(self) -> tuple[int, int]:
        """The smallest burst and the longest burst interval in ms that the tester may send at: as agreed, or slower as
        its NULL-ACKs report (RFC 998 4). Needs the RESPONSE."""
        assert self.response is not None
        return slowest((self.response.burst_size, self.response.burst_interval_ms), *self._reported)

    def data_timer_max_us(self) -> int:
        """By then each data timer has expired (TIMER-07, TIMER-09): by the slowest pace that may be in force, or by the
        one that the receiver may have measured, of which the longest gap is the bound (AMB-45). Needs the RESPONSE."""
        assert self.response is not None
        terms, limits = self.response, self.tolerances
        outstanding = terms.max_buffers * -(-terms.buffer_size // max(terms.packet_size, 1))
        measured = 1, self._data_gap_us // MICROSECONDS_PER_MS
        return max(limits.data_timer_max_us(outstanding, *pace) for pace in (self.slowest_pace, measured))

    def ack_known_at(self, seen_us: int) -> int | None:
        """The acknowledgement that the implementation surely had when it emitted a packet seen at `seen_us`; None: no
        message had been acknowledged."""
        return next((high for departure, high in reversed(self._acks_in_use) if self.knew(departure, seen_us)), None)

    def was_sent(self, buffer: int) -> bool:
        return buffer in self.data_sent

    def following_replies(self, limit_us: int) -> int:
        """The control timer follows the time that the tester takes to reply: it may begin with that of the RESPONSE
        (TIMER-03)."""
        return max(limit_us, _ROUND_TRIPS * self.life.slowest_reply_us)

    def repeat_max_us(self, published_ms: int, *, grown: bool = True) -> int:
        """After so long a CONTROL is repeated: by what an OK has published (0: none has), or by what the tester
        acknowledged later than that, which may have raised it since (TIMER-03). The repetitions may back off from there
        (AMB-44), also beyond the death timer: RFC 998 5.2.1 ends them when that expires, and each packet of the tester
        sets it again (5.2.3). `grown`: whether it may have backed off."""
        limit_us = self.tolerances.control_repeat_max_us
        if published_ms:
            base_us = self.following_replies(published_ms * MICROSECONDS_PER_MS)
            limit_us = self.tolerances.published_repeat_max_us(base_us // MICROSECONDS_PER_MS)
        return self.following_replies(max(limit_us, GROWTH * self.control_gap_us if grown else 0))

    @property
    def control_limit(self) -> int:
        """A CONTROL up to this size fits anywhere: the negotiated DATA packet fits too (AMB-33)."""
        packet_size = self.response.packet_size if self.response else 0
        return min(packet_size + 24, 1000)
