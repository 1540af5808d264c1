# SPDX-License-Identifier: GPL-2.0-or-later
"""What an end must have had at the deciding frame, as text: control messages without acknowledgement, outstanding
buffers and their missing packets, timers (RFC 998 5.2). "At least" and "may" where the capture leaves it open."""

from __future__ import annotations

from typing import Any

from netblt_conformance.packets.packets import Kind, Type
from netblt_conformance.trace.known import Buffer, View
from netblt_conformance.trace.labels import message_text, numbers
from netblt_conformance.trace.model import Event, Trace

Table = dict[str, Any]
Rows = list[list[str]]
_NS_PER_S, _MS_PER_S = 1e9, 1e3
_ROWS_MOST = 12


def state(trace: Trace, end: int, deciding: int) -> list[Table]:
    """Tables for one end at one event; empty where the capture does not show which way the data flow."""
    sends = trace.ends[end].sends_data
    if sends is None or not 0 <= deciding < len(trace.events):
        return []
    view = View(trace, end, deciding)
    name = "the data sender" if sends else "the data receiver"
    tables = [_sequence(view), *_sender(view)] if sends else [_queue(view), *_receiver(view)]
    tables.append(_timers(view, sends=sends))
    return [{"title": f"{title} ({name})", "rows": _cut(rows)} for title, rows in tables if rows]


def _cut(rows: Rows) -> Rows:
    if len(rows) <= _ROWS_MOST:
        return rows
    return [*rows[:_ROWS_MOST], ["...", f"{len(rows) - _ROWS_MOST} more"]]


def _frame(event: Event | None) -> str:
    return f"frame {event.frame}" if event is not None and event.frame else "a packet that was not captured"


def _at(view: View, event: Event) -> str:
    return f"{_frame(event)} at {view.time_of(event) / _NS_PER_S:.3f} s"


# ---- control messages ----


def _queue(view: View) -> tuple[str, Rows]:
    """The receiver's control queue (CTRL-04)."""
    least, by = view.acknowledged(sure=True)
    most, possible = view.acknowledged(sure=False)
    rows: Rows = []
    for seq in sorted(view.messages):
        held = view.messages[seq]
        if not _above(seq, least):
            continue
        times = len(held.packets)
        text = f"sent {'once' if times == 1 else f'{times} times'}, first in {_at(view, held.packets[0])}"
        text += f", last in {_frame(held.packets[-1])}" if times > 1 else ""
        if not _above(seq, most):
            text += f"; {_frame(possible)}, which acknowledges it, may have arrived"
        rows.append([message_text(held.message), text])
    rows += _left_out(view, least)
    said = f"up to #{least}, by {_frame(by)}" if by is not None and least else "none"
    if most != least:
        said = f"at least {said}; at most up to #{most}, by {_frame(possible)}"
    return "Control messages sent, not acknowledged", [*rows, ["acknowledged", said]] if view.messages else rows


def _left_out(view: View, acknowledged: int) -> Rows:
    """Numbers below a message that was sent: those messages exist (CTRL-01)."""
    shown = {*view.messages, *(message.seq for message in view.deciding.packet.messages if view.deciding_is_own)}
    newest = max((seq for seq in shown if _above(seq, acknowledged)), default=acknowledged)
    missing = [seq for seq in range(acknowledged + 1, newest) if seq not in shown]
    if not missing:
        return []
    return [[", ".join(f"#{seq}" for seq in missing[:_ROWS_MOST]), f"never sent, though #{newest} is"]]


def _above(seq: int, mark: int) -> bool:
    return 0 < (seq - mark) % 65536 < 32768


def _sequence(view: View) -> tuple[str, Rows]:
    """What the sender has to acknowledge (CTRL-06)."""
    least, most = view.in_sequence(sure=True), view.in_sequence(sure=False)
    if not view.messages:
        return "Control messages received", []
    rows = [
        ["received without a gap", f"up to #{least}" if least == most else f"up to at least #{least}, at most #{most}"]
    ]
    beyond = sorted(seq for seq in view.messages if _above(seq, most))
    if beyond:
        rows.append(["beyond a gap", ", ".join(f"#{seq}" for seq in beyond)])
    acks = [event for event in view.sent if event.packet.acks]
    if acks:
        rows.append(["last acknowledgement sent", f"#{acks[-1].packet.high_seq}, in {_at(view, acks[-1])}"])
    else:
        rows.append(["last acknowledgement sent", "none"])
    newest = view.messages.get(least)
    if newest is not None:
        rows.append(["newest of them", f"{message_text(newest.message)}, first in {_at(view, newest.packets[0])}"])
    return "Control messages received", rows


# ---- buffers ----


def _receiver(view: View) -> list[tuple[str, Rows]]:
    rows = []
    for buffer in view.outstanding():
        rows.append([f"buffer {buffer.number}", f"GO #{buffer.go_seq} in {_frame(buffer.go)}; {_had(view, buffer)}"])
    done = [buffer.number for buffer in view.buffers.values() if buffer.ok is not None]
    if done:
        rows.append(["complete (OK sent)", f"{len(done)}, the last is buffer {done[-1]}"])
    return [("Outstanding buffers: GO without OK", rows or [["none", ""]])]


def _had(view: View, buffer: Buffer) -> str:
    count = buffer.count(view.trace.terms)
    if count is None:
        return f"{len(buffer.sent)} packets received"
    missing = [packet for packet in range(count) if packet not in buffer.sent]
    unsure = [packet for packet in range(count) if packet in buffer.sent and packet not in buffer.sure]
    text = f"{count - len(missing) - len(unsure)} of {count} packets received"
    if missing:
        text += f", missing: {numbers(missing)}"
    if unsure:
        text += f"; may have been received: {numbers(unsure)}"
    if buffer.requests:
        event, message = buffer.requests[-1]
        text += f"; requested by {message_text(message)} in {_frame(event)}"
    return text


def _sender(view: View) -> list[tuple[str, Rows]]:
    rows = []
    for buffer in view.outstanding():
        held = view.messages.get(buffer.go_seq)
        sure = "" if held is None or held.sure else " (it may not have arrived)"
        rows.append(
            [
                f"buffer {buffer.number}",
                f"GO #{buffer.go_seq} in {_frame(buffer.go)}{sure}; {_transmitted(view, buffer)}",
            ]
        )
    done = [buffer.number for buffer in view.buffers.values() if buffer.ok is not None]
    if done:
        rows.append(["acknowledged by OK", f"{len(done)}, the last is buffer {done[-1]}"])
    return [("Outstanding buffers: GO without OK", rows or [["none", ""]])]


def _transmitted(view: View, buffer: Buffer) -> str:
    count = buffer.count(view.trace.terms)
    total = sum(map(len, buffer.sent.values()))
    text = f"{len(buffer.sent)} of {count} packets sent" if count is not None else f"{len(buffer.sent)} packets sent"
    if total > len(buffer.sent):
        text += f", {total - len(buffer.sent)} retransmissions"
    waiting = [
        packet
        for event, message in buffer.requests
        for packet in message.packets
        if not any(view.time_of(copy) >= view.time_of(event) for copy in buffer.sent.get(packet, []))
    ]
    if waiting:
        text += f"; requested and not sent since: {numbers(sorted(set(waiting)))}"
    return text


# ---- timers ----


def _timers(view: View, *, sends: bool) -> tuple[str, Rows]:
    rows: Rows = []
    if not sends:
        rows += _control_timer(view)
        rows += _data_timers(view)
    heard, declared = view.last_received(), _declared(view)
    if heard is not None:
        length = f"{declared} s, as this end declared" if declared else "as this end declared; not captured"
        left = view.time_of(heard) / _NS_PER_S + declared
        until = f"; it would expire at {left:.3f} s" if declared else ""
        rows.append(["death timer", f"started again by {_at(view, heard)}; {length}{until}"])
    return "Timers that must be running", rows


def _control_timer(view: View) -> Rows:
    """TIMER-01, TIMER-02."""
    least, _ = view.acknowledged(sure=True)
    most, _ = view.acknowledged(sure=False)
    controls = [event for event in view.sent if event.packet.messages]
    if not controls:
        return []
    newest = max(view.messages, key=lambda seq: (seq - least) % 65536 if _above(seq, least) else 0)
    if not _above(newest, least):
        return [["control timer", f"stopped: all messages are acknowledged, up to #{least}"]]
    published = [
        message.control_timer_ms
        for event in view.sent
        for message in event.packet.messages
        if message.kind is Kind.OK and message.control_timer_ms
    ]
    length = f"about {published[-1]} ms, as its last OK states" if published else "its first value is free (TIMER-01)"
    may = "" if _above(newest, most) else "; it may have been stopped by an acknowledgement"
    return [["control timer", f"started by {_at(view, controls[-1])}; {length}{may}"]]


def _data_timers(view: View) -> Rows:
    """TIMER-04, TIMER-05: a loose one begins with the acknowledgement of GO or RESEND."""
    rows: Rows = []
    terms, least = view.trace.terms, view.acknowledged(sure=True)[0]
    for buffer in view.outstanding():
        count = buffer.count(terms)
        if count is not None and all(packet in buffer.sure for packet in range(count)):
            continue
        asked = buffer.requests[-1][1].seq if buffer.requests else buffer.go_seq
        name = f"data timer of buffer {buffer.number}"
        if _above(asked, least):
            rows.append([name, f"does not run: #{asked} is not acknowledged (TIMER-04)"])
            continue
        data = [copy for copies in buffer.sent.values() for copy in copies]
        acks = [
            one.event for one in view.received if one.event.packet.acks and not _above(asked, one.event.packet.high_seq)
        ]
        begun = min(acks, key=view.time_of, default=None)
        words = f"since {_at(view, begun)} acknowledged #{asked}" if begun is not None else "running"
        if data:
            words += f"; newest data in {_at(view, max(data, key=lambda one: (view.time_of(one), one.frame or 0)))}"
        pace = _pace_ms(terms.burst_size, terms.burst_interval_ms, count)
        rows.append([name, f"{words}; {count} packets take about {pace} ms at the agreed pace" if pace else words])
    return rows


def _pace_ms(burst: int, interval_ms: int, packets: int | None) -> int:
    if not burst or packets is None:
        return 0
    return -(-packets // burst) * interval_ms


def _declared(view: View) -> int:
    """The death timer in this end's OPEN or RESPONSE, in seconds."""
    for event in view.trace.events:
        opening = event.packet.type in (Type.OPEN, Type.RESPONSE) and event.packet.error is None
        if opening and event.source == view.end and not event.foreign:
            return event.packet.death_timer_s
    return 0
