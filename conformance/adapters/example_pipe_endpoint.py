#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A small NETBLT (RFC 998) endpoint in plain Python for the pipe link: see docs/pipe.md.

It shows how little a port needs, and it is a second implementation to try the suite on. It keeps to the letter where
that is short; it has no adaptive rate control, measures no round trip and keeps whole transfers in memory.
"""

import hashlib
import math
import random
import struct
import sys

OPEN, RESPONSE, KEEPALIVE, QUIT, QUITACK, ABORT, DATA, LDATA, NULL_ACK, CONTROL, REFUSED, DONE = range(12)
GO, OK, RESEND = range(3)
FIXED_BYTES = {OPEN: 36, RESPONSE: 36, DATA: 24, LDATA: 24, NULL_ACK: 20}
MS, S = 1_000, 1_000_000
NEVER = 2**64 - 1
OPENING, IS_OPEN, IS_DONE, FAILED, CLOSED_DONE, CLOSED_FAILED = range(6)

OPEN_RETRY_US, OPEN_ATTEMPTS = 1 * S, 5
CONTROL_TIMER_US = 500 * MS  # constant: above any round trip that the suite's links have
DATA_SLACK_US = 300 * MS
QUIT_RETRY_US = 1 * S


def ones_sum(data):
    data += b"\0" * (len(data) % 2)
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total


def text_field(text):
    raw = text.encode() + b"\0"
    return raw + b"\0" * (-len(raw) % 4)


def serial_after(a, b):
    """16-bit sequence numbers: a comes after b."""
    return 0 < (a - b) % 65536 < 32768


class Endpoint:
    """What both directions share: setup, timers, KEEPALIVE, closing."""

    def __init__(self, start, now):
        self.p = start
        self.now = now
        self.out = []
        self.status, self.reason = OPENING, ""
        self.local, self.foreign, self.peer = start["local_port"], start["foreign_port"], start["foreign_address"]
        self.uid, self.opening = None, b""
        self.peer_string, self.peer_death_s = "", 0
        self.timers = {}
        self.quit_wanted = False
        self.delivered = bytearray()
        if start["active"]:
            self.uid = random.Random(start["seed"]).getrandbits(32)
            self.attempts = 0
            self.send_open()

    # ---- packets ----

    def send(self, kind, body=b"", to=None, ports=None):
        local, foreign = ports or (self.local, self.foreign)
        length = 12 + len(body)
        raw = bytearray(struct.pack(">HBBHHHH", 0, self.p["version"], kind, length, local, foreign, 0) + body)
        covered = raw[:24] if kind in (DATA, LDATA) else raw
        struct.pack_into(">H", raw, 0, ~ones_sum(bytes(covered)) & 0xFFFF)
        raw += b"\0" * (-len(raw) % 4)
        self.out.append((to or self.peer, bytes(raw)))
        if to is None and self.peer_death_s:
            self.timers["keepalive"] = self.now + self.peer_death_s * S // 4

    def input(self, source, raw, now):
        self.now = now
        if len(raw) < 12:
            return
        _, version, kind, length, theirs, ours, _ = struct.unpack_from(">HBBHHHH", raw)
        if not FIXED_BYTES.get(kind, 12) <= length <= len(raw) or version in (4, 5):
            return
        raw = raw[:length]
        if ones_sum(raw[:24] if kind in (DATA, LDATA) else raw) != 0xFFFF:
            return
        if ours != self.local:
            if kind == OPEN and not self.p["active"]:
                self.send(REFUSED, text_field("nobody listens on this port"), to=source, ports=(ours, theirs))
            return
        known = self.uid is not None and (source, theirs) == (self.peer, self.foreign)
        if kind == OPEN:
            self.on_open(source, theirs, raw, known)
        elif known and self.status not in (CLOSED_DONE, CLOSED_FAILED):
            self.on_known(kind, raw)

    def on_known(self, kind, raw):
        if self.status == OPENING:
            self.on_opening(kind, raw)
            return
        self.timers["death"] = self.now + self.p["death_timer_s"] * S
        if kind == RESPONSE and struct.unpack_from(">I", raw, 12)[0] != self.uid:
            self.send(ABORT, text_field("another connection is open on these ports"))
        elif kind == QUIT:
            self.send(QUITACK)
            if "quit" not in self.timers:  # else its own QUIT goes on until a QUITACK comes
                if self.status != IS_DONE:  # else every buffer has its OK
                    self.finish(FAILED, "peer quit: " + self.read_text(raw, 12))
                self.timers = {"close": self.now + 4 * QUIT_RETRY_US}
        elif kind == QUITACK and "quit" in self.timers:
            self.finish(CLOSED_FAILED, "quit")
        elif kind == ABORT:
            self.finish(CLOSED_FAILED, "peer aborted: " + self.read_text(raw, 12))
        elif self.status != FAILED and "quit" not in self.timers:
            self.on_transfer(kind, raw)
            self.quit_between_buffers()

    @staticmethod
    def read_text(raw, at):
        return raw[at:].split(b"\0")[0].decode("utf-8", "replace")

    # ---- setup (RFC 998 5.1) ----

    def open_body(self, own):
        transfer = len(self.p["data"]) if self.p["sender"] else 0
        writes = self.p["sender"] if self.p["active"] else not self.p["sender"]
        flags = int(writes) | own["data_checksum"] << 1
        sizes = (own["packet_size"], own["burst_size"], own["burst_interval_ms"], self.p["death_timer_s"], flags)
        fixed = struct.pack(">III6H", self.uid, own["buffer_size"], transfer, *sizes, own["max_buffers"])
        return fixed + text_field(self.p["client_string"])

    def send_open(self):
        if self.attempts == OPEN_ATTEMPTS:
            self.finish(CLOSED_FAILED, "no answer to any OPEN")
            return
        self.send(OPEN, self.open_body(self.p))
        self.timers["open"] = self.now + (OPEN_RETRY_US << self.attempts)
        self.attempts += 1

    @staticmethod
    def read_open(raw):
        names = [
            "uid",
            "buffer_size",
            "transfer",
            "packet_size",
            "burst_size",
            "burst_interval_ms",
            "death",
            "flags",
            "max_buffers",
        ]
        values = dict(zip(names, struct.unpack_from(">III6H", raw, 12), strict=True))
        values["data_checksum"] = values["flags"] >> 1 & 1
        return values

    def on_open(self, source, theirs, raw, known):
        values = self.read_open(raw)
        if known:
            if values["uid"] != self.uid:
                self.send(ABORT, text_field("another connection is open on these ports"))
            elif self.opening and self.status in (IS_OPEN, IS_DONE):
                self.timers["death"] = self.now + self.p["death_timer_s"] * S
                self.send(RESPONSE, self.opening)
            return
        writes, sizes = values["flags"] & 1, ("buffer_size", "packet_size", "burst_size", "max_buffers")
        refusal = None
        if self.p["active"] or self.uid is not None:
            refusal = "busy with another transfer"
        elif writes == self.p["sender"]:
            refusal = "this end does not serve that direction"
        elif not all(values[size] for size in sizes):
            refusal = "a size of zero cannot be used"
        if refusal:
            self.send(REFUSED, text_field(refusal), to=source, ports=(self.local, theirs))
            return
        self.peer, self.foreign, self.uid = source, theirs, values["uid"]
        own = {size: min(values[size], self.p[size]) for size in sizes}
        own["burst_interval_ms"] = max(values["burst_interval_ms"], self.p["burst_interval_ms"])
        own["data_checksum"] = values["data_checksum"] | self.p["data_checksum"]
        self.opening = self.open_body(own)
        self.opened(own, values, raw)
        self.send(RESPONSE, self.opening)
        self.begin()

    def on_opening(self, kind, raw):
        if kind == RESPONSE:
            values = self.read_open(raw)
            if values["uid"] != self.uid:
                return
            del self.timers["open"]
            looser = any(values[k] > self.p[k] or not values[k] for k in ("buffer_size", "packet_size", "max_buffers"))
            if looser:
                self.send(ABORT, text_field("RESPONSE loosens the OPEN"))
                self.finish(CLOSED_FAILED, "the peer loosened our proposal")
                return
            self.opened(values, values, raw)
            self.begin()
        elif kind in (REFUSED, ABORT):
            self.finish(CLOSED_FAILED, "refused: " + self.read_text(raw, 12))

    def opened(self, agreed, theirs, raw):
        self.agreed, self.status = agreed, IS_OPEN
        self.peer_string, self.peer_death_s = self.read_text(raw, 36), theirs["death"]
        self.timers["death"] = self.now + self.p["death_timer_s"] * S
        if self.peer_death_s:
            self.timers["keepalive"] = self.now + self.peer_death_s * S // 4

    # ---- time and end ----

    def advance(self, now):
        self.now = max(self.now, now)
        for name in [name for name, when in self.timers.items() if when <= self.now]:
            if self.timers.pop(name, None) is not None:
                getattr(self, "on_timer_" + name)()
        self.quit_between_buffers()

    def on_timer_open(self):
        self.send_open()

    def on_timer_keepalive(self):
        if self.status in (IS_OPEN, IS_DONE):
            self.send(KEEPALIVE)

    def on_timer_death(self):
        self.finish(CLOSED_FAILED, "the peer is dead")

    def on_timer_close(self):
        self.finish(CLOSED_DONE if self.status == IS_DONE else CLOSED_FAILED, self.reason)

    def on_timer_quit(self):
        self.send(QUIT, self.quit_text)
        self.timers["quit"] = self.now + QUIT_RETRY_US

    def stop(self, abort, reason, now):
        self.now = now
        if self.status != IS_OPEN:
            return
        if abort:
            self.send(ABORT, text_field(reason))
            self.finish(CLOSED_FAILED, "aborted")
        else:
            self.quit_text, self.quit_wanted = text_field(reason), True
            self.quit_between_buffers()

    def quit_between_buffers(self):
        """Begins the QUIT that the client wants when no buffer is under way (RFC 998 5.3.2)."""
        if self.quit_wanted and self.status == IS_OPEN and not self.within_buffer():
            self.quit_wanted = False
            self.timers = {name: self.timers[name] for name in ("death", "keepalive") if name in self.timers}
            self.on_timer_quit()

    def finish(self, status, reason):
        self.status, self.reason = status, reason
        if status in (CLOSED_DONE, CLOSED_FAILED):
            self.timers = {}


class Sender(Endpoint):
    def begin(self):
        size = self.agreed["buffer_size"]
        data = self.p["data"]
        self.buffers = [data[at : at + size] for at in range(0, len(data), size)] or [b""]
        self.base, self.sequences, self.high = None, set(), 0
        self.started, self.confirmed, self.queue = set(), set(), set()
        self.unsent = set()  # packets of started buffers that never went out
        self.parked = set()  # GOs that wait: for a lower one, or for the client
        self.burst = [self.agreed["burst_size"], self.agreed["burst_interval_ms"]]
        self.burst_left, self.next_burst, self.dally_us = 0, 0, 2 * S

    def within_buffer(self):
        return bool(self.queue)

    def on_transfer(self, kind, raw):
        if kind == CONTROL:
            self.on_control(raw)
        elif kind == DONE and self.status == IS_DONE:
            self.finish(CLOSED_DONE, "done")

    def on_control(self, raw):
        restricted, at = False, 12
        while at + 8 <= len(raw):
            kind, seq, number = raw[at], *struct.unpack_from(">HI", raw, at + 2)
            count = struct.unpack_from(">H", raw, at + 8)[0] if kind == RESEND and at + 12 <= len(raw) else 0
            length = {GO: 8, OK: 16, RESEND: 12 + (count + 1) // 2 * 4}.get(kind)
            if length is None or at + length > len(raw):
                break
            if serial_after(seq, self.high) and seq not in self.sequences:
                self.sequences.add(seq)
                restricted |= bool(self.on_message(kind, seq, number, raw[at : at + length], count))
            at += length
        while (self.high + 1) % 65536 in self.sequences:
            self.high = (self.high + 1) % 65536
            self.sequences.discard(self.high)
        self.start_buffers()
        if self.status == IS_OPEN and len(self.confirmed) == len(self.buffers):
            self.finish(IS_DONE, "done")
        if self.status == IS_DONE:
            self.timers["close"] = self.now + self.dally_us
        if not self.queue or restricted or self.next_burst > self.now + 500 * MS:
            self.send(NULL_ACK, struct.pack(">HHHH", self.high, *self.burst, 0))
        self.pump()

    def on_message(self, kind, seq, number, raw, count):
        """Returns true if an offer was restricted."""
        if kind == GO:
            self.base = number if seq == 1 else self.base
            self.parked.add(number)
        elif kind == OK:
            if number in self.started and not any(key[0] == number for key in self.unsent):
                self.confirmed.add(number)
                self.queue = {key for key in self.queue if key[0] != number}
            size, interval, timer = struct.unpack_from(">HHH", raw, 8)
            self.dally_us = max(2 * timer * MS, 1 * S)
            limit = self.agreed
            self.burst = [min(size or self.burst[0], limit["burst_size"]), max(interval, limit["burst_interval_ms"])]
            return size and self.burst != [size, interval]
        elif number in self.started - self.confirmed:
            existing = self.packets_of(number)
            self.queue |= {(number, n) for n in struct.unpack_from(f">{count}H", raw, 12) if n < existing}
        return False

    def packets_of(self, number):
        return max(1, math.ceil(len(self.buffers[number - self.base]) / self.agreed["packet_size"]))

    def start_buffers(self):
        for number in sorted(self.parked) if self.base is not None and not self.quit_wanted else []:
            index = number - self.base
            lower = sum(self.base <= other < number for other in self.started)
            if lower < index or len(self.started - self.confirmed) >= self.agreed["max_buffers"]:
                break
            if index >= self.p["stall_from"] and self.now < self.p["stall_until"]:
                self.timers["supply"] = self.p["stall_until"]
                break
            self.parked.discard(number)
            if 0 <= index < len(self.buffers) and number not in self.started:
                self.started.add(number)
                fresh = {(number, n) for n in range(self.packets_of(number))}
                self.queue |= fresh
                self.unsent |= fresh

    def on_timer_supply(self):
        self.start_buffers()
        self.pump()

    def pump(self):
        """Sends what the pace allows: the lowest buffer first, retransmissions and new packets alike (RFC 998 5.2)."""
        if self.now >= self.next_burst:
            self.burst_left = 0
        while self.queue:
            if not self.burst_left:
                if self.now < self.next_burst:
                    self.timers["burst"] = self.next_burst
                    return
                self.burst_left, self.next_burst = self.burst[0], self.now + self.burst[1] * MS
            self.burst_left -= 1
            self.send_data(*self.queue_pop())

    def on_timer_burst(self):
        self.pump()

    def queue_pop(self):
        first = min(self.queue)
        self.queue.discard(first)
        self.unsent.discard(first)
        return first

    def send_data(self, number, packet):
        size = self.agreed["packet_size"]
        data = self.buffers[number - self.base][packet * size : (packet + 1) * size]
        kind = LDATA if packet == self.packets_of(number) - 1 else DATA
        check = ~ones_sum(data) & 0xFFFF if self.agreed["data_checksum"] else 0
        last = int(number - self.base == len(self.buffers) - 1)
        self.send(kind, struct.pack(">IHHHH", number, self.high, packet, check, last) + data)


class Receiver(Endpoint):
    def begin(self):
        self.messages = []  # [sequence, bytes, buffer], the long-lived control packet (RFC 998 5.2.1)
        self.sequence, self.next_buffer, self.last = 0, 0, None
        self.buffers, self.complete, self.ready = {}, {}, 0
        self.issue_gos()

    def within_buffer(self):
        return any(buffer["packets"] for buffer in self.buffers.values())

    def issue_gos(self):
        added = False
        while self.last is None and not self.quit_wanted and len(self.buffers) < self.agreed["max_buffers"]:
            number = self.next_buffer
            if number >= self.p["stall_from"] and self.now < self.p["stall_until"]:
                self.timers["supply"] = self.p["stall_until"]
                break
            self.buffers[number] = {"packets": {}, "end": None, "due": None, "waiting": None}
            self.queue_message(GO, number)
            self.next_buffer += 1
            added = True
        if added:
            self.send_control()

    def on_timer_supply(self):
        self.issue_gos()

    def queue_message(self, kind, number, rest=b""):
        self.sequence = (self.sequence + 1) % 65536
        self.messages.append((self.sequence, struct.pack(">BBHI", kind, 0, self.sequence, number) + rest))
        if number in self.buffers:
            self.buffers[number].update(waiting=self.sequence, due=None)

    def send_control(self):
        self.send(CONTROL, b"".join(raw for _, raw in self.messages))
        self.timers["control"] = self.now + CONTROL_TIMER_US

    def on_timer_control(self):
        if self.messages:
            self.send_control()

    def on_transfer(self, kind, raw):
        if kind == NULL_ACK:
            self.on_ack(struct.unpack_from(">H", raw, 12)[0])
        elif kind in (DATA, LDATA):
            number, high, packet, check, flags = struct.unpack_from(">IHHHH", raw, 12)
            self.on_ack(high)
            data = raw[24:]
            if not self.agreed["data_checksum"] or (ones_sum(data) + check) % 0xFFFF == 0:
                self.on_data(number, packet, data, kind == LDATA, flags & 1)
        self.check_done()

    def on_ack(self, high):
        if serial_after(high, self.sequence):
            return
        self.messages = [m for m in self.messages if serial_after(m[0], high)]
        if not self.messages:
            self.timers.pop("control", None)
        ahead = 0
        for _, buffer in sorted(self.buffers.items()):
            ahead += self.packets_per_buffer()
            if buffer["waiting"] is not None and not serial_after(buffer["waiting"], high):
                buffer["waiting"] = None
                buffer["due"] = self.now + self.pace_us(ahead) + 4 * DATA_SLACK_US
        self.set_data_timer()

    def packets_per_buffer(self):
        return math.ceil(self.agreed["buffer_size"] / self.agreed["packet_size"])

    def pace_us(self, packets):
        return math.ceil(packets / self.agreed["burst_size"]) * self.agreed["burst_interval_ms"] * MS

    def set_data_timer(self):
        due = [b["due"] for b in self.buffers.values() if b["due"] is not None]
        self.timers.pop("data", None)
        if due:
            self.timers["data"] = min(due)

    def on_data(self, number, packet, data, is_last, last_buffer):
        buffer = self.buffers.get(number)
        size, count = self.agreed["packet_size"], self.packets_per_buffer()
        if buffer is None or packet >= count or (is_last and buffer["end"] not in (None, packet)):
            return
        if (
            len(data) > size
            or (not is_last and len(data) != size)
            or (buffer["end"] is not None and packet > buffer["end"])
        ):
            return
        if is_last and not last_buffer and packet * size + len(data) != self.agreed["buffer_size"]:
            return
        if last_buffer and self.last is None:
            self.last = number
            self.buffers = {n: b for n, b in self.buffers.items() if n <= number}
        if is_last:
            buffer["end"] = packet
        buffer["packets"].setdefault(packet, data)
        left = count - len(buffer["packets"])
        for lower, other in self.buffers.items():
            if lower <= number and other["due"] is not None:
                other["due"] = min(other["due"], self.now + self.pace_us(left) + DATA_SLACK_US)
        if buffer["end"] is not None and len(buffer["packets"]) == buffer["end"] + 1:
            self.on_complete(number)
        self.set_data_timer()

    def on_complete(self, number):
        packets = self.buffers.pop(number)["packets"]
        self.complete[number] = b"".join(packets[n] for n in sorted(packets))
        while self.ready in self.complete:
            self.delivered += self.complete.pop(self.ready)
            self.ready += 1
        pair = (self.agreed["burst_size"], self.agreed["burst_interval_ms"], CONTROL_TIMER_US // MS, 0)
        self.queue_message(OK, number, struct.pack(">HHHH", *pair))
        before = self.sequence
        self.issue_gos()
        if self.sequence == before:
            self.send_control()

    def on_timer_data(self):
        for number, buffer in sorted(self.buffers.items()):
            if buffer["due"] is not None and buffer["due"] <= self.now:
                end = self.packets_per_buffer() if buffer["end"] is None else buffer["end"] + 1
                missing = [n for n in range(end) if n not in buffer["packets"]]
                rest = struct.pack(f">HH{len(missing)}H", len(missing), 0, *missing)
                self.queue_message(RESEND, number, rest + b"\0" * (len(rest) % 4))
        self.send_control()
        self.set_data_timer()

    def check_done(self):
        if self.status == IS_OPEN and self.last is not None and not self.messages and not self.buffers:
            self.send(DONE)
            self.finish(IS_DONE, "done")
            self.timers = {"close": self.now + 100 * MS}


# ---- the pipe (docs/pipe.md) ----


def read_exactly(stream, count):
    data = stream.read(count)
    if len(data) != count:
        sys.exit(0)
    return data


def parse_start(payload):
    names = [
        "now",
        "active",
        "sender",
        "version",
        "data_checksum",
        "local_port",
        "foreign_port",
        "buffer_size",
        "packet_size",
        "burst_size",
        "burst_interval_ms",
        "death_timer_s",
        "max_buffers",
        "stall_from",
        "stall_until",
        "seed",
        "local_address",
        "foreign_address",
    ]
    layout = struct.Struct(">QBBBBHHIHHHHHHQQ4s4s")
    start = dict(zip(names, layout.unpack_from(payload), strict=True))
    at = layout.size
    for name in ("client_string", "test_id"):
        (length,) = struct.unpack_from(">H", payload, at)
        start[name] = payload[at + 2 : at + 2 + length].decode()
        at += 2 + length
    start["data"] = payload[at:]
    return start


def write_frame(stream, kind, payload):
    stream.write(struct.pack(">IB", 1 + len(payload), kind) + payload)


def write_answer(stream, end):
    outputs = end.out if end else []
    for destination, packet in outputs:
        write_frame(stream, 0x82, destination + packet)
    outputs.clear()
    deadline = min(end.timers.values(), default=NEVER) if end else NEVER
    reason = end.reason.encode() if end else b""
    status = end.status if end else OPENING
    write_frame(stream, 0x83, struct.pack(">QBH", deadline, status, len(reason)) + reason)


def serve(source, sink):
    end = None
    while True:
        (length,) = struct.unpack(">I", read_exactly(source, 4))
        body = read_exactly(source, length)
        kind, payload = body[0], body[1:]
        if kind == 0x01:
            name = b"plain Python example endpoint"
            write_frame(sink, 0x81, struct.pack(">HIH", 1, 0x7F, len(name)) + name)
        elif kind == 0x06:
            string = end.peer_string.encode()
            digest = hashlib.sha256(end.delivered).digest()
            write_frame(sink, 0x84, struct.pack(">Q32sH", len(end.delivered), digest, len(string)) + string)
        else:
            if kind == 0x02:
                start = parse_start(payload)
                end = (Sender if start["sender"] else Receiver)(start, start["now"])
            elif kind == 0x03:
                end.input(payload[8:12], payload[12:], struct.unpack_from(">Q", payload)[0])
            elif kind == 0x04:
                end.advance(struct.unpack_from(">Q", payload)[0])
            elif kind == 0x05:
                now, abort = struct.unpack_from(">QB", payload)
                end.stop(abort, payload[11:].decode(), now)
            elif kind == 0x07:
                end = None
            write_answer(sink, end)
        sink.flush()


if __name__ == "__main__":
    serve(sys.stdin.buffer, sys.stdout.buffer)
