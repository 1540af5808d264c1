# SPDX-License-Identifier: GPL-2.0-or-later
"""Follows a data sender: the DATA, LDATA and NULL-ACK packets that it sends (RFC 998 5.2).

Upper bound of its knowledge: each control message that it may have received, from the earliest moment on; the core's
sequence numbers limit what it may acknowledge. Lower bound: what its own packets acknowledge, it has processed.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from netblt_conformance.reference.knowledge import SEQ_MASK, Known, seq_after
from netblt_conformance.reference.outcome import OutsideError
from netblt_conformance.reference.terms import Terms
from netblt_conformance.simlib import guided
from netblt_conformance.simlib.guided import GO, OK, Message, Read

_DATA_BEGIN = 24
_FLAG_LAST = 0x1
_PADDING_MOST = 3
_SEQ_JUDGED = 65_000
_US_PER_MS = 1000
_MADE_BEFORE = 4  # packets of a buffer that may have been made before the acknowledgement of its GO, and one more
_LEVEL_SLACK = 0.01  # of a packet, for arithmetic


@dataclass(slots=True)
class _Copy:
    """How a packet was sent first, and how often."""

    type: int
    flags: int
    data: bytes
    cut: bool
    times: int = 1
    newest_at: int = 0  # position in the walk


@dataclass(slots=True)
class _Request:
    """A RESEND that may have arrived."""

    seq: int
    packets: tuple[int, ...]
    at: int  # position in the walk


@dataclass(slots=True)
class _Buffer:
    go: int | None = None  # sequence numbers of its GO and its OK; None: neither may have arrived
    ok: int | None = None
    ok_at: int = 0
    copies: dict[int, _Copy] = field(default_factory=dict)
    requests: list[_Request] = field(default_factory=list)
    last_packet: int | None = None  # that of its LDATA
    passed: bool = False  # the LDATA was sent without a request: the first transmission is over
    last_flag: bool | None = None
    acknowledges: int | None = None  # the highest acknowledgement in first copies


class SenderEnd:
    """The followed end as data sender."""

    def __init__(self, known: Known) -> None:
        self._known = known
        self._sequence = guided.Sequence()
        self._seen: set[tuple[int, Message]] = set()
        self._numbers: set[int] = set()  # of these messages
        self._contradicted = False  # the peer breaks the rules for numbers: then nothing follows from them
        self._buffers: dict[int, _Buffer] = {}
        self._begun: set[int] = set()  # buffers of which something was sent and that have no OK
        self._asked: set[int] = set()  # buffers with a request and without an OK
        self._offers: list[tuple[int, int, int]] = []  # sequence number of an OK, its burst size and interval
        self._pairs: dict[tuple[int, int], None] = {}  # burst size and interval of the OKs, each pair once
        self._acknowledged: int | None = None  # in the newest packet
        self._at = 0  # position in the walk
        self._newest_go: tuple[int, int] | None = None
        self._highest_go = 0
        self._above: tuple[int, int] | None = None  # highest buffer that was sent, and what the packet acknowledged
        self._last_buffer: int | None = None
        self._level, self._level_us = 0.0, 0  # data packets that the pace has not paid for yet, and when

    # ---- what arrives ----

    def control_arrives(self, read: Read) -> None:
        """CONTROL may have arrived."""
        self._at += 1
        for message in read.messages:
            key = message.seq, Message(message.type, message.seq, message.buffer, packets=message.packets)
            if key in self._seen:
                continue
            self._contradicted |= message.seq in self._numbers
            self._seen.add(key)
            self._numbers.add(message.seq)
            self._sequence.record(message.seq)
            self._take(message)

    def _take(self, message: Message) -> None:
        self._known.order.saw(message.buffer)
        buffer = self._buffers.setdefault(message.buffer, _Buffer())
        if message.type == GO:
            if self._newest_go is not None:
                rises = self._known.order.after(message.buffer, self._newest_go[1]) == seq_after(
                    message.seq, self._newest_go[0]
                )
                self._contradicted |= not rises
            self._newest_go = message.seq, message.buffer
            buffer.go = message.seq if buffer.go is None else buffer.go
        elif message.type == OK:
            self._offers.append((message.seq, message.burst_size, message.burst_interval_ms))
            if message.burst_size:
                self._pairs[message.burst_size, message.burst_interval_ms] = None
            self._begun.discard(message.buffer)
            self._asked.discard(message.buffer)
            if buffer.ok is None:
                buffer.ok, buffer.ok_at = message.seq, self._at
        else:
            packets = tuple(packet - self._known.base for packet in message.packets)
            buffer.requests.append(_Request(message.seq, packets, self._at))
            if buffer.ok is None:
                self._asked.add(message.buffer)

    # ---- acknowledgements ----

    def _check_ack(self, read: Read) -> None:
        if self._sequence.high >= _SEQ_JUDGED:
            return
        if self._known.peer_complete and seq_after(read.high_seq, self._sequence.high):
            rule = "CTRL-07" if read.high_seq in self._numbers else "CTRL-06"
            raise OutsideError(rule, f"an acknowledgement up to #{self._sequence.high} at most", f"of #{read.high_seq}")
        if self._acknowledged is not None and self._known.ordered and seq_after(self._acknowledged, read.high_seq):
            raise OutsideError("CTRL-06", f"#{self._acknowledged} or above", f"an acknowledgement of #{read.high_seq}")
        self._acknowledged = read.high_seq

    def null_ack_sent(self, read: Read) -> None:
        """The followed end sends NULL-ACK."""
        self._at += 1
        self._check_ack(read)
        if not self._known.peer_complete or not self._known.terms:
            return
        known = [offer for offer in self._offers if not seq_after(offer[0], read.high_seq)]
        if not known:
            return  # before any OK another pair is permitted (AMB-62)
        self._check_pace(read, known)

    def _check_pace(self, read: Read, known: list[tuple[int, int, int]]) -> None:
        """NEG-09, CTRL-11: a pair that was offered, or a slower one."""
        newest = max(known, key=lambda offer: offer[0])
        later = [offer for offer in self._offers if seq_after(offer[0], newest[0])]
        pairs = [(size, interval) for _, size, interval in (newest, *later) if size]
        if len(pairs) < 1 + len(later):  # an offer of nothing keeps what was in force
            pairs += [(terms.burst_size, terms.burst_interval_ms) for terms in self._known.terms]
            pairs += [(size, interval) for _, size, interval in known if size]
        if any(read.burst_size <= size and read.burst_interval_ms >= interval for size, interval in pairs):
            return
        size, interval = pairs[0]
        raise OutsideError(
            "CTRL-11",
            f"bursts of {size} every {interval} ms, as offered, or a slower pace",
            f"bursts of {read.burst_size} every {read.burst_interval_ms} ms",
        )

    # ---- data ----

    def data_sent(self, read: Read, now_us: int, *, cut: bool) -> None:
        """The followed end sends DATA or LDATA."""
        self._at += 1
        self._check_rate(now_us)
        packet = read.packet - self._known.base
        self._known.order.saw(read.buffer)
        buffer = self._buffers.setdefault(read.buffer, _Buffer())
        self._check_go(read, buffer)
        self._check_size(read, packet)
        before = buffer.copies.get(packet)
        if before is not None:
            self._check_copy(read, before, cut=cut)
        self._check_flags(read, packet, buffer)
        self._check_ack(read)
        if before is None:
            self._first_copy(read, packet, buffer)
            data = read.raw[_DATA_BEGIN : read.length]
            buffer.copies[packet] = _Copy(read.type, read.flags, data, cut, newest_at=self._at)
            if buffer.ok is None:
                self._begun.add(read.buffer)
            self._check_own_go(read, buffer)
        else:
            self._repetition(read, packet, buffer, before)
        self._remember(read, packet, buffer)

    def _check_own_go(self, read: Read, buffer: _Buffer) -> None:
        """CTRL-06: who sends data of a buffer has its GO, and acknowledges it where nothing below is missing. The first
        packets may have been made before the acknowledgement was."""
        newest = buffer.acknowledges
        if newest is None or seq_after(read.high_seq, newest):
            newest = buffer.acknowledges = read.high_seq
        if not self._known.peer_complete or self._contradicted or len(buffer.copies) != _MADE_BEFORE:
            return
        if buffer.go == (newest + 1) & SEQ_MASK:
            number = read.buffer
            raise OutsideError(
                "CTRL-06", f"data that acknowledge #{buffer.go}, the GO of buffer {number}", f"#{newest}"
            )

    def _check_rate(self, now_us: int) -> None:
        """RATE-01 to RATE-03: wherever its intervals begin, a span of time covers one interval in addition to those
        that fit into it. Counted with the loosest pair that was agreed on or offered."""
        pairs = [(terms.burst_size, terms.burst_interval_ms) for terms in self._known.terms]
        pairs += self._pairs
        if not self._known.own_complete or not self._known.peer_complete or not pairs:
            return
        if any(interval == 0 for _, interval in pairs):
            return  # not paced
        size, interval = max(pairs, key=lambda pair: pair[0] / pair[1])
        largest = max(size for size, _ in pairs)
        self._level = max(0.0, self._level - size * (now_us - self._level_us) / (interval * _US_PER_MS)) + 1
        self._level_us = now_us
        if self._level > 2 * largest + _LEVEL_SLACK:
            expected = f"bursts of {size} packets every {interval} ms"
            raise OutsideError("RATE-01", expected, "more data packets than any two bursts and the time between hold")

    def _check_go(self, read: Read, buffer: _Buffer) -> None:
        if self._known.peer_complete and buffer.go is None:
            raise OutsideError(
                "DATA-01", f"no data of buffer {read.buffer} before its GO", f"packet {read.packet} of it"
            )

    def _check_size(self, read: Read, packet: int) -> None:
        """Each reading of what was agreed on that this packet contradicts is dropped."""
        if not self._known.terms:
            return
        problems = [(terms, _size_problem(read, packet, terms)) for terms in self._known.terms if terms.usable]
        possible = [terms for terms, problem in problems if problem is None]
        if problems and not possible:
            problem = problems[0][1]
            assert problem is not None
            raise problem
        self._known.terms[:] = possible or self._known.terms

    def _check_copy(self, read: Read, before: _Copy, *, cut: bool) -> None:
        what = f"buffer {read.buffer} packet {read.packet}"
        if read.type != before.type:
            names = ("DATA", "LDATA")
            raise OutsideError(
                "RESEND-03",
                f"{names[before.type == guided.LDATA]} again",
                f"{names[read.type == guided.LDATA]}: {what}",
            )
        if read.flags != before.flags:
            raise OutsideError("DATA-09", f"flags 0x{before.flags:04x} as before", f"0x{read.flags:04x}: {what}")
        data = read.raw[_DATA_BEGIN : read.length]
        known = self._known
        summed = bool(known.terms) and all(terms.data_checksum for terms in known.terms)
        if len(data) != len(before.data):
            raise OutsideError("RESEND-03", f"{len(before.data)} bytes again", f"{len(data)} bytes, {what}")
        if not cut and not before.cut and data != before.data and (summed or known.own_complete):
            raise OutsideError("RESEND-03", f"the same {len(before.data)} bytes again", f"other data, {what}")

    def _check_flags(self, read: Read, packet: int, buffer: _Buffer) -> None:
        last = bool(read.flags & _FLAG_LAST)
        if buffer.last_flag is not None and buffer.last_flag != last:
            raise OutsideError(
                "DATA-09", f"L {int(buffer.last_flag)} as in buffer {read.buffer} before", f"L {int(last)}"
            )
        if self._last_buffer is not None and self._known.order.after(read.buffer, self._last_buffer):
            observed = f"data of buffer {read.buffer}"
            raise OutsideError("DATA-09", f"nothing beyond buffer {self._last_buffer}, which has L", observed)
        if last and any(
            self._known.order.after(number, read.buffer) for number, other in self._buffers.items() if other.copies
        ):
            raise OutsideError("DATA-09", "L on the last buffer only", f"L on buffer {read.buffer}")
        if buffer.last_packet is not None:
            if read.type == guided.LDATA and packet != buffer.last_packet:
                expected = f"one LDATA of buffer {read.buffer}, packet {buffer.last_packet + self._known.base}"
                raise OutsideError("DATA-04", expected, f"LDATA with number {read.packet}")
            if packet > buffer.last_packet:
                raise OutsideError("DATA-04", "no packet above the LDATA", f"packet {read.packet}")
        if read.type == guided.LDATA and any(number > packet for number in buffer.copies):
            raise OutsideError("DATA-04", "LDATA with the highest number", f"LDATA with number {read.packet}")

    def _first_copy(self, read: Read, packet: int, buffer: _Buffer) -> None:
        requested = any(packet in request.packets for request in buffer.requests)
        if self._known.peer_complete and not buffer.copies:
            self._check_outstanding(read)
        if not self._known.ordered or requested or self._contradicted or not self._known.peer_complete:
            return
        self._check_waiting(read)
        if buffer.passed:
            expected = f"LDATA as the last packet of buffer {read.buffer}"
            raise OutsideError("ORDER-03", expected, f"packet {read.packet} for the first time after it")
        buffer.passed = read.type == guided.LDATA
        above = self._above
        if above is None or buffer.go is None:
            return
        if self._known.order.after(above[0], read.buffer) and not seq_after(buffer.go, above[1]):
            expected = f"buffer {read.buffer} in front of buffer {above[0]}"
            raise OutsideError("ORDER-01", expected, f"packet {read.packet} of it for the first time after that")

    def _check_outstanding(self, read: Read) -> None:
        most = max((terms.max_buffers for terms in self._known.terms), default=0)
        if most and len(self._begun) >= most:
            expected = f"no buffer in addition to {most} without an OK"
            raise OutsideError("DATA-12", expected, f"the first packet of buffer {read.buffer}")

    def _check_waiting(self, read: Read) -> None:
        """ORDER-02: what a lower buffer has to send again leaves before new packets of a higher one."""
        if not self._known.view.own_gapless:
            return  # it may have been sent
        for number in sorted(self._asked):
            other = self._buffers[number]
            if not self._known.order.after(read.buffer, number):
                continue
            for request in other.requests:
                if seq_after(request.seq, read.high_seq):
                    continue
                waiting = [packet for packet in request.packets if self._waits(other, packet, request)]
                if waiting:
                    expected = f"packet {waiting[0] + self._known.base} of buffer {number}, which was requested"
                    raise OutsideError("ORDER-02", expected, f"a new packet of buffer {read.buffer}")

    def _waits(self, buffer: _Buffer, packet: int, request: _Request) -> bool:
        copy = buffer.copies.get(packet)
        return copy is not None and copy.newest_at < request.at

    def _repetition(self, read: Read, packet: int, buffer: _Buffer, before: _Copy) -> None:
        before.times += 1
        what = f"packet {read.packet} of buffer {read.buffer}"
        if self._known.peer_complete:
            asked = sum(self._names(buffer, request, packet) for request in buffer.requests)
            if before.times > 1 + asked:
                wanted = f"{1 + asked} times, as often as it was requested" if asked else "once: it was not requested"
                raise OutsideError("DATA-13", f"{what} {wanted}", f"it is sent {before.times} times")
        before.newest_at = self._at

    def _names(self, buffer: _Buffer, request: _Request, packet: int) -> int:
        """How often a request names the packet; a number beyond the LDATA may be answered by it (AMB-32)."""
        count = request.packets.count(packet)
        if packet == buffer.last_packet:
            count += sum(number > packet for number in request.packets)
        return count

    def _remember(self, read: Read, packet: int, buffer: _Buffer) -> None:
        buffer.last_flag = bool(read.flags & _FLAG_LAST)
        if read.type == guided.LDATA:
            buffer.last_packet = packet
        if buffer.last_flag:
            self._last_buffer = read.buffer
        if self._above is None or not self._known.order.after(self._above[0], read.buffer):
            newer = self._above is None or self._above[0] != read.buffer
            if newer:
                self._above = read.buffer, read.high_seq


def _size_problem(read: Read, packet: int, terms: Terms) -> OutsideError | None:
    """DATA-02 to DATA-05: whether the packet has its place in a buffer, and the size for it."""
    full, last = terms.bytes_of(packet), bool(read.flags & _FLAG_LAST)
    is_ldata, final = read.type == guided.LDATA, packet == terms.packets - 1
    name = "LDATA" if is_ldata else "DATA"
    observed = f"{name} with number {read.packet} and {read.data_length} bytes"
    if not 0 <= packet < terms.packets:
        return OutsideError("DATA-05", f"a number that a buffer of {terms.packets} packets has", observed)
    if not is_ldata and final:
        return OutsideError("DATA-04", f"LDATA as packet {terms.packets} of {terms.packets}", observed)
    if is_ldata and not last and not final:
        return OutsideError("DATA-04", f"a full buffer of {terms.packets} packets", observed)
    length = read.data_length
    if full < length <= full + _PADDING_MOST and not read.raw[_DATA_BEGIN + full : read.length].strip(b"\0"):
        length = full
    if length > full:
        return OutsideError("DATA-03", f"{full} bytes at most", observed)
    if length < full and not (is_ldata and last):
        rule = "DATA-02" if final else "DATA-03"
        return OutsideError(rule, f"{full} bytes", observed)
    return None
