# SPDX-License-Identifier: GPL-2.0-or-later
"""Follows a data receiver: the CONTROL packets and the DONE that it sends (RFC 998 5.2.1, 5.2.2, 5.3.1).

The core's data receiver gets each packet that the followed one may have received, at the moment at which it may have
had it first; so it knows at least as much. Its control queue takes the messages that the followed end has chosen. What
the followed end sends must be possible with that knowledge.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field

from netblt_conformance.reference.knowledge import SEQ_MASK, Known, listed, seq_after
from netblt_conformance.reference.outcome import OutsideError
from netblt_conformance.simlib import guided
from netblt_conformance.simlib.guided import GO, OK, Message, Read

# CONTROL packets that leave together may hold the parts of one queue (AMB-33).
_TOGETHER_US = 5_000
# Beyond this number an implementation may leave out 0 or stop (AMB-12).
_SEQ_JUDGED = 65_000
_DATA_FLAG_LAST = 0x1


@dataclass(slots=True)
class _Buffer:
    """A buffer that has its GO."""

    index: int  # in the order of the GOs
    go: int  # sequence numbers
    go_acknowledged: bool
    ok: int | None = None
    resends: list[tuple[Message, int]] = field(default_factory=list)  # and when each was first sent
    arrived: set[int] = field(default_factory=set)  # numbers of packets
    last_packets: set[int] = field(default_factory=set)  # those of LDATA
    arrived_us: int = -1  # the newest of them


class ReceiverEnd:
    """The followed end as data receiver."""

    def __init__(self, known: Known) -> None:
        self._known = known
        self._queue = guided.Queue()
        self._core: guided.Receiver | None = None
        self._messages: dict[int, Message] = {}
        self._buffers: dict[int, _Buffer] = {}
        self._waiting: list[_Buffer] = []  # those whose GO is not acknowledged
        self._newest: int | None = None  # the buffer of the newest GO
        self._early: dict[int, list[tuple[Read, bool]]] = {}  # data of buffers without a GO, and whether they were cut
        self._last_seen = False  # a packet with the L flag may have arrived
        self._last_buffers: set[int] = set()
        self._part: tuple[int, int] | None = None  # when the newest CONTROL left, and its highest number
        self._done = False
        self._unknown = False  # messages of the followed end are missing in the capture
        self._judged = True  # numbers have not come near their wrap

    # ---- what arrives ----

    def data_arrives(self, read: Read, now_us: int, *, cut: bool = False) -> None:
        """DATA or LDATA may have arrived, with a good header checksum. `cut`: its data were not captured."""
        self._acknowledged(read.high_seq)
        agreed = self._known.terms
        summed = not cut and bool(agreed) and all(terms.data_checksum for terms in agreed)
        if summed and not guided.data_checksum_holds(read.raw[24 : read.length], read.data_checksum):
            return
        packet = read.packet - self._known.base
        buffer = self._buffers.get(read.buffer)
        if buffer is None:
            if self._known.view.slack_us or not self._known.own_complete:
                # Its GO may have left before these data arrived, and been captured later.
                self._early.setdefault(read.buffer, []).append((read, cut))
            return
        if read.flags & _DATA_FLAG_LAST:
            self._last_seen = True
            self._last_buffers.add(read.buffer)
        buffer.arrived.add(packet)
        buffer.arrived_us = now_us
        if read.type == guided.LDATA:
            buffer.last_packets.add(packet)
        core = self._core
        if core is not None:
            raw = read.raw[:18] + struct.pack(">H", packet & 0xFFFF) + read.raw[20:]
            core.data(buffer.index, raw, now_us)

    def acknowledgement_arrives(self, read: Read) -> None:
        """A NULL-ACK may have arrived."""
        self._acknowledged(read.high_seq)

    def _acknowledged(self, high_seq: int) -> None:
        newest = (self._queue.next - 1) & SEQ_MASK
        if not self._known.own_complete and seq_after(high_seq, newest):
            self._skip_to((high_seq + 1) & SEQ_MASK)
            newest = high_seq
        self._queue.acknowledge(newest if seq_after(high_seq, newest) else high_seq)
        # Noted now: half the range of numbers later the number of the GO would seem to be a new one.
        for buffer in self._waiting:
            buffer.go_acknowledged = self._is_acknowledged(buffer.go)
        self._waiting = [buffer for buffer in self._waiting if not buffer.go_acknowledged]

    @property
    def _certain(self) -> bool:
        """What may have been sent and received is in the capture."""
        return self._known.peer_complete and not self._unknown

    def _is_acknowledged(self, seq: int) -> bool:
        return seq_after(self._queue.first, seq)

    # ---- CONTROL ----

    def control_sent(self, read: Read, now_us: int) -> None:
        """The followed end sends CONTROL."""
        if self._done and read.messages:
            raise OutsideError("CTRL-05", "nothing after DONE", f"CONTROL with {read.messages[0]}")
        if not read.messages:
            self._known.choices.note("AMB-46", "an empty CONTROL is sent")
            return
        if not self._judged or not self._known.ordered:
            return
        self._check_order(read)
        self._check_begin(read, now_us)
        for message in read.messages:
            self._message(message, now_us)
        self._part = now_us, read.messages[-1].seq
        self._judged = self._queue.next < _SEQ_JUDGED

    def _check_order(self, read: Read) -> None:
        for before, message in zip(read.messages, read.messages[1:], strict=False):
            expected = (before.seq + 1) & SEQ_MASK
            if message.seq == expected:
                continue
            observed = f"{message} after {before}"
            if not seq_after(message.seq, before.seq):
                raise OutsideError("CTRL-03", "control messages in ascending order", observed)
            left_out = self._messages.get(expected)
            if left_out is not None:
                raise OutsideError("CTRL-04", f"{left_out}, which is not acknowledged", observed)
            raise OutsideError("CTRL-01", f"message #{expected} after {before}", observed)

    def _check_begin(self, read: Read, now_us: int) -> None:
        """The packet begins with the oldest message that is not acknowledged, or with an older one."""
        begin, oldest = read.messages[0].seq, self._queue.first
        if not self._known.peer_complete or not seq_after(begin, oldest):
            return
        if self._is_part(begin, now_us):
            self._known.choices.note("AMB-33", "the queue leaves in several CONTROL packets")
            return
        if oldest == self._queue.next:
            raise OutsideError("CTRL-01", f"message #{oldest} as the next one", f"{read.messages[0]} in front")
        waiting = ", ".join(map(str, self._queue.expected()[:4]))
        raise OutsideError(
            "CTRL-04", f"CONTROL with {waiting} in front", f"CONTROL that begins with {read.messages[0]}"
        )

    def _is_part(self, begin: int, now_us: int) -> bool:
        if self._part is None:
            return False
        sent_us, highest = self._part
        return begin == (highest + 1) & SEQ_MASK and now_us - sent_us <= _TOGETHER_US

    def _message(self, message: Message, now_us: int) -> None:
        before = self._messages.get(message.seq)
        if before is not None:
            if before.identity != message.identity:
                raise OutsideError("CTRL-02", f"{before} as before", str(message))
            return
        if not self._certain and (not self._messages or seq_after(message.seq, self._queue.next)):
            self._skip_to(message.seq)
        late = self._unknown and seq_after(self._queue.next, message.seq)  # its number was passed over before
        if message.seq != self._queue.next and not late:
            raise OutsideError("CTRL-01", f"#{self._queue.next} as the next number", str(message))
        if message.type == GO:
            self._go(message, now_us)
        elif message.type == OK:
            self._ok(message)
        else:
            self._resend(message, now_us)
        self._messages[message.seq] = message
        if not late:
            self._queue.add(message)

    def _skip_to(self, seq: int) -> None:
        """Messages were not captured."""
        self._unknown = True
        self._queue.restart(seq)

    def _go(self, message: Message, now_us: int) -> None:
        self._known.order.saw(message.buffer)
        if message.buffer in self._buffers:
            raise OutsideError("CTRL-13", f"one GO for buffer {message.buffer}", f"another one, {message}")
        if self._newest is None:
            self._known.choices.note("AMB-09", f"the first buffer has number {message.buffer}")
        elif not self._unknown and not self._known.order.after(message.buffer, self._newest):
            raise OutsideError("DATA-06", f"GO for a buffer above {self._newest}", str(message))
        elif message.buffer != self._newest + 1:
            self._known.choices.note("AMB-47", "buffer numbers go up in steps")
        if self._last_seen:
            self._known.choices.note("AMB-30", "a GO for a buffer beyond the last one")
        buffer = _Buffer(len(self._buffers), message.seq, self._is_acknowledged(message.seq))
        self._buffers[message.buffer] = buffer
        if not buffer.go_acknowledged:
            self._waiting.append(buffer)
        self._newest = message.buffer
        core = self._core_for(now_us)
        if core is not None and not core.go(now_us):
            self._known.choices.note("AMB-29", "more GOs than the reference would give")
        for read, cut in self._early.pop(message.buffer, ()):
            self.data_arrives(read, now_us, cut=cut)

    def _core_for(self, now_us: int) -> guided.Receiver | None:
        if self._core is None and self._known.terms and self._known.terms[0].usable:
            terms = self._known.terms[0]
            self._core = guided.Receiver(
                terms.buffer_size, terms.packet_size, now_us, data_checksum=terms.data_checksum
            )
        return self._core

    # ---- OK and RESEND ----

    def _ok(self, message: Message) -> None:
        buffer = self._buffers.get(message.buffer)
        if buffer is None:
            if self._certain:
                raise OutsideError("CTRL-14", "OK for a buffer that has its GO and its data", str(message))
            return
        if buffer.ok is not None:
            raise OutsideError("CTRL-14", f"one OK for buffer {message.buffer}", f"another one, {message}")
        if message.control_timer_ms == 0:
            raise OutsideError("CLOSE-07", "a control timer value in OK", f"{message} with control timer 0")
        if self._known.peer_complete and not self._has(buffer):
            raise OutsideError("CTRL-14", self._lacking(message.buffer, buffer), str(message))
        buffer.ok = message.seq

    def _has(self, buffer: _Buffer) -> bool:
        """Whether everything of the buffer may have arrived, by the core or by another reading of what came."""
        if self._core is not None and self._core.has(buffer.index):
            return True
        ends = {*buffer.last_packets, *(terms.packets - 1 for terms in self._known.terms if terms.usable)}
        return any(set(range(last + 1)) <= buffer.arrived for last in ends)

    def _lacking(self, number: int, buffer: _Buffer) -> str:
        missing = list(self._core.missing(buffer.index)) if self._core is not None else []
        named = f": packets {listed(missing)} are missing" if missing else ""
        return f"no OK for buffer {number} yet{named}"

    def _resend(self, message: Message, now_us: int) -> None:
        self._check_list(message)
        buffer = self._buffers.get(message.buffer)
        if buffer is None:
            if self._certain:
                raise OutsideError("TIMER-04", "RESEND for a buffer that has its GO", str(message))
            return
        if buffer.ok is not None:
            raise OutsideError("TIMER-08", f"nothing more of buffer {message.buffer} after its OK", str(message))
        if self._known.peer_complete:
            if not buffer.go_acknowledged and not buffer.arrived:
                expected = f"no RESEND before GO #{buffer.go} is acknowledged: the data timer does not run yet"
                raise OutsideError("TIMER-04", expected, str(message))
            self._check_single(message, buffer, now_us)
        buffer.resends.append((message, now_us))

    def _check_list(self, message: Message) -> None:
        if not message.packets:
            raise OutsideError("RESEND-01", "RESEND with a list of packets", f"{message} without one")
        if len(set(message.packets)) < len(message.packets):
            raise OutsideError("RESEND-01", "each packet once in a RESEND", str(message))
        usable = [terms for terms in self._known.terms if terms.usable]
        most = max((terms.packets for terms in usable), default=0)
        highest = max(message.packets) - self._known.base
        if usable and highest >= most:
            raise OutsideError("RESEND-01", f"packets below {most + self._known.base}", str(message))

    def _check_single(self, message: Message, buffer: _Buffer, now_us: int) -> None:
        """RESEND-06: a request that is not acknowledged is repeated, not renewed."""
        arrived_us, settled = buffer.arrived_us, self._is_acknowledged
        # What does not count now never does again. A receiver may request the same many thousand times.
        buffer.resends = [one for one in buffer.resends if not settled(one[0].seq) and arrived_us < one[1]]
        for before, sent_us in buffer.resends:
            if not set(before.packets) & set(message.packets):
                if now_us - sent_us <= _TOGETHER_US:
                    self._known.choices.note("AMB-33", "one request in several RESENDs")
                else:
                    self._known.choices.note("AMB-31", "a request for each hole")
                continue
            raise OutsideError("RESEND-06", f"{before} repeated until it is acknowledged", f"a new request, {message}")

    # ---- DONE ----

    def done_sent(self) -> None:
        """The followed end sends DONE (CLOSE-01)."""
        self._known.choices.note("AMB-54", "DONE is sent")
        if self._certain and self._known.ordered and self._judged and not self._done:
            if not self._last_seen:
                raise OutsideError("CLOSE-01", "no DONE before the last buffer has come", "DONE")
            if self._queue.first != self._queue.next:
                waiting = ", ".join(map(str, self._queue.expected()[:4]))
                raise OutsideError("CLOSE-01", f"no DONE before {waiting} is acknowledged", "DONE")
            for number, buffer in self._buffers.items():
                beyond = all(self._known.order.after(number, last) for last in self._last_buffers)
                if buffer.ok is None and not beyond:
                    raise OutsideError("CLOSE-01", f"no DONE before the OK of buffer {number}", "DONE")
        self._done = True
