# SPDX-License-Identifier: GPL-2.0-or-later
"""The packets of a case's capture as events of a detail object: what the tester saw, without inference."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from netblt_conformance.common.model import address_text
from netblt_conformance.links.base import IUT_ADDRESS
from netblt_conformance.packets import packets
from netblt_conformance.packets.captures import CapturedPacket, read
from netblt_conformance.packets.packets import Kind, Packet, Type
from netblt_conformance.report.page.blocks import Detail

FIELDS = (
    *("source", "kind", "sent_frame", "sent_us", "arrived_frame", "arrived_us", "fate", "known", "marks"),
    *("buffer", "packet", "high_seq", "bytes", "label", "remarks"),
)
# Drawn before and after the deciding packet, of a capture that holds more.
BEFORE, AFTER = 300, 100
_NANOSECONDS = 1000


def _name(packet: Packet) -> str:
    return "?" if packet.type is None else packet.type.name.replace("_", "-")


def label(packet: Packet) -> str:
    """The short text beside an arrow."""
    if packet.error is not None:
        return f"unreadable {_name(packet)}"
    if packet.is_data:
        last = " last" if packet.last_buffer else ""
        return f"{_name(packet)} {packet.buffer}/{packet.packet} hs {packet.high_seq}{last}"
    if packet.type is Type.NULL_ACK:
        return f"NULL-ACK hs {packet.high_seq}"
    if packet.type is Type.CONTROL:
        return ", ".join(
            f"{one.kind.name} {one.buffer}#{one.seq}" + (f" ({' '.join(map(str, one.packets))})" if one.packets else "")
            for one in packet.messages
        )
    return str(packet)


def messages(packet: Packet) -> list[list[Any]]:
    """The control messages of a CONTROL packet."""
    found: list[list[Any]] = []
    for one in packet.messages:
        rest = [one.burst_size, one.burst_interval_ms, one.control_timer_ms] if one.kind is Kind.OK else []
        found.append([one.kind.name, one.seq, one.buffer, list(one.packets) or rest])
    return found


def _us(time_ns: int) -> float | int:
    return time_ns // _NANOSECONDS if time_ns % _NANOSECONDS == 0 else time_ns / _NANOSECONDS


class _Seen:
    """Which packets repeat what the same end sent before."""

    def __init__(self) -> None:
        self._data: set[tuple[int, int, int]] = set()
        self._messages: set[tuple[int, int]] = set()

    def repeats(self, source: int, packet: Packet) -> bool:
        if packet.is_data:
            key = (source, packet.buffer, packet.packet)
            known = key in self._data
            self._data.add(key)
            return known
        numbers = {(source, one.seq) for one in packet.messages}
        known = bool(numbers) and numbers <= self._messages
        self._messages |= numbers
        return known


def _row(captured: CapturedPacket, packet: Packet, source: int, began_ns: int, *, sent: bool, again: bool) -> list[Any]:
    time = _us(captured.time_ns - began_ns)
    frames = [captured.number, time, 0, None] if sent else [0, None, captured.number, time]
    fate = ["unknown", "captured"] if sent else ["arrived", "captured"]
    acks = packet.high_seq if packet.acks else None
    place = [packet.buffer, packet.packet] if packet.is_data else [0, 0]
    remarks = [line for comment in captured.comments for line in comment.splitlines()]
    return [
        *(source, _name(packet), *frames, *fate, "R" if again else ""),
        *(*place, acks, len(packet.raw), label(packet), remarks),
    ]


def _terms(found: Iterable[Packet]) -> dict[str, Any]:
    terms = dict.fromkeys(
        ("buffer_size", "packet_size", "burst_size", "burst_interval_ms", "max_buffers", "death_timer_s"), 0
    )
    agreed: dict[str, Any] = {**terms, "data_checksum": False}
    for packet in found:
        if packet.type in (Type.OPEN, Type.RESPONSE) and packet.error is None:
            agreed = {**{key: getattr(packet, key) for key in terms}, "data_checksum": packet.data_checksum_on}
            if packet.type is Type.RESPONSE:
                break
    return agreed


def _ip(captured: CapturedPacket) -> tuple[bytes, bytes, bytes]:
    """Source, destination, and what follows the IPv4 header."""
    data = captured.data
    return data[12:16], data[16:20], data[(data[0] & 15) * 4 if data else 0 :]


def of_capture(capture: Path, frame: int | None) -> Detail:
    """The packets of a capture that begins at the IPv4 header; empty when there are none. `frame` decides, from 1."""
    found = list(read(capture))
    if not found:
        return {}
    decoded = [packets.read(_ip(one)[2]) for one in found]
    addresses = list(dict.fromkeys(address for one in found for address in _ip(one)[:2]))
    ends = addresses[:2] if IUT_ADDRESS not in addresses[2:] else [addresses[0], IUT_ADDRESS]
    sends = _senders(found, decoded, ends)
    seen, listed = _Seen(), {}
    rows: list[list[Any]] = []
    deciding = -1
    first, last = _window(len(found), frame)
    for captured, packet in zip(found, decoded, strict=True):
        source = 1 if _ip(captured)[0] == ends[1] else 0
        again = seen.repeats(source, packet)
        if not first <= captured.number <= last:
            continue
        if captured.number == frame:
            deciding = len(rows)
        if packet.messages:
            listed[str(len(rows))] = messages(packet)
        by_tester = IUT_ADDRESS in ends and ends[source] != IUT_ADDRESS
        sent = by_tester or IUT_ADDRESS not in ends
        rows.append(_row(captured, packet, source, found[0].time_ns, sent=sent, again=again))
    return {
        "ends": [
            {"name": address_text(address), "sends_data": sends.get(number), "under_test": address == IUT_ADDRESS}
            for number, address in enumerate(ends)
        ],
        "position": "unknown",
        "terms": _terms(decoded),
        "notes": [],
        "fields": list(FIELDS),
        "events": rows,
        "messages": listed,
        "left_out": {"before": first - 1, "after": len(found) - last},
        "deciding": deciding,
        "deciding_frame": frame or 0,
    }


def _window(count: int, frame: int | None) -> tuple[int, int]:
    """First and last frame that are drawn."""
    middle = min(frame or count, count)
    return max(1, middle - BEFORE), min(count, middle + AFTER)


def _senders(found: Sequence[CapturedPacket], decoded: Sequence[Packet], ends: Sequence[bytes]) -> dict[int, bool]:
    """Which end sends the data, as far as the packets show it."""
    for captured, packet in zip(found, decoded, strict=True):
        if packet.is_data or packet.type is Type.CONTROL:
            source = 1 if _ip(captured)[0] == ends[1] else 0
            return {source: packet.is_data, 1 - source: not packet.is_data}
    return {}
