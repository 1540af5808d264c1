# SPDX-License-Identifier: GPL-2.0-or-later
"""Captures to a Trace: the capture of a test case, that of a simulated network on both its sides, and any other with
one capture point."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from netblt_conformance.common.model import address_text
from netblt_conformance.links.base import IUT_ADDRESS
from netblt_conformance.packets import captures
from netblt_conformance.packets.capture import COUNTS_AS_LOST
from netblt_conformance.packets.captures import CapturedPacket, Way
from netblt_conformance.packets.packets import Packet, Type
from netblt_conformance.trace import connections, infer, position
from netblt_conformance.trace.connections import Connection
from netblt_conformance.trace.draft import Draft, finish, senders
from netblt_conformance.trace.frames import Frame, frames
from netblt_conformance.trace.model import End, Fate, Known, Position, Terms, Trace
from netblt_conformance.trace.network import SIDES, through_network

_NOBODY = End("", 0, None)
EMPTY = Trace((_NOBODY, _NOBODY), Position.UNKNOWN, Terms(), ())
TESTER = "tester"  # the interface of the captures of cases
IMPLEMENTATION = "implementation"  # of captures at the implementation under test
_IUT = address_text(IUT_ADDRESS)


def read(path: Path) -> list[CapturedPacket]:
    """The packets of a capture file. BrokenCaptureError where it is damaged."""
    return list(captures.read(path))


def is_pair(captured: Sequence[CapturedPacket]) -> bool:
    """Whether the packets were captured at two interfaces, and no network reports what it did between them."""
    interfaces = {one.interface.number for one in captured}
    return len(interfaces) == len(SIDES) and not any(one.packet_id for one in captured)


def build(
    captured: Sequence[CapturedPacket],
    deciding: int = 0,
    *,
    delay_ns: int | None = None,
    under_test: str = "",
    place: Position = Position.UNKNOWN,
) -> Trace:
    """The connection that frame `deciding` is of; 0: the longest one. `delay_ns`: what each packet takes one way on a
    link in virtual time, which loses nothing. `under_test`: IP address of the implementation. `place`: of the
    capture, where it is known."""
    return of_frames(frames(captured), deciding, delay_ns=delay_ns, under_test=under_test, place=place)


def of_frames(
    found: list[Frame],
    deciding: int = 0,
    *,
    delay_ns: int | None = None,
    under_test: str = "",
    place: Position = Position.UNKNOWN,
) -> Trace:
    """The same of the NETBLT packets of a capture."""
    names = {frame.interface for frame in found}
    if names <= set(SIDES) and any(frame.packet_id for frame in found):
        one = connections.chosen(found, deciding)
        return finished(through_network(one.frames, ends_of(one)), one, under_test, Position.BOTH, ())
    if names == {TESTER} and any(frame.way is not Way.UNKNOWN for frame in found):
        return _case(found, deciding, delay_ns)
    name = _interface(found, deciding)
    here = [frame for frame in found if frame.interface == name]
    return _one_point(here, deciding, under_test, place)


def _interface(found: Sequence[Frame], deciding: int) -> str:
    """The capture point of the deciding frame, or the first one."""
    return next((frame.interface for frame in found if frame.number == deciding), found[0].interface if found else "")


# ---- the ends ----


def ends_of(one: Connection) -> tuple[tuple[str, int], tuple[str, int]]:
    """Address and port of both: first the one that opened, or that sent first."""
    sound = [frame for frame in one.frames if frame.sound]
    for frame in sound:
        if frame.packet.type is Type.OPEN:
            answer = next((one for one in sound if one.packet.type is Type.RESPONSE), None)
            port = answer.packet.local_port if answer else frame.packet.foreign_port
            return (frame.source, frame.packet.local_port), (frame.destination, port)
    for frame in sound:
        if frame.packet.type is Type.RESPONSE:
            return (frame.destination, frame.packet.foreign_port), (frame.source, frame.packet.local_port)
    first = (sound or one.frames)[0]
    packet: Packet = first.packet
    return (first.source, packet.local_port), (first.destination, packet.foreign_port)


def finished(drafts: list[Draft], one: Connection, under_test: str, position: Position, notes: Sequence[str]) -> Trace:
    addresses = ends_of(one)
    sends = senders(drafts, 0)
    first, second = (End(*address, sends[number], address[0] == under_test) for number, address in enumerate(addresses))
    if not any(draft.packet.type is Type.OPEN for draft in drafts if not draft.foreign):
        notes = (*notes, "the opening of the connection was not captured")
    return finish(drafts, (first, second), position, notes)


# ---- the capture of a test case ----


def _case(found: list[Frame], deciding: int, delay_ns: int | None) -> Trace:
    """At the tester. Everything that it sent and received is shown, for a stimulus may be of no connection."""
    one = connections.chosen(found, deciding)
    mine = {id(frame) for frame in one.frames}
    ends = ends_of(one)
    iut = 0 if ends[0][0] == _IUT else 1
    drafts = []
    for frame in found:
        sent = frame.way is Way.OUTBOUND
        draft = Draft(1 - iut if sent else iut, frame, foreign=id(frame) not in mine)
        draft.remarks += frame.comments
        if sent:
            draft.sent_frame, draft.sent_ns = frame.number, frame.time_ns
        else:
            draft.arrived_frame, draft.arrived_ns = frame.number, frame.time_ns
            ignored = any(COUNTS_AS_LOST in comment.split("\n") for comment in frame.comments)
            draft.settle(Fate.LOST if ignored else Fate.ARRIVED, Known.CAPTURED)
        if delay_ns is not None:
            _travelled(draft, delay_ns)
        if draft.foreign:
            draft.remarks.append(_whose(frame))
        drafts.append(draft)
    if delay_ns is None:
        infer.fates([draft for draft in drafts if not draft.foreign])
    place = Position.BOTH if delay_ns is not None else (Position.SECOND, Position.FIRST)[iut]
    return finished(drafts, one, _IUT, place, ())


def _travelled(draft: Draft, delay_ns: int) -> None:
    """A link in virtual time loses nothing, and each packet takes the same time."""
    if draft.arrived_ns is None and draft.sent_ns is not None:
        draft.arrived_ns = draft.sent_ns + delay_ns
        draft.settle(Fate.ARRIVED, Known.CAPTURED)
    elif draft.sent_ns is None and draft.arrived_ns is not None:
        draft.sent_ns = draft.arrived_ns - delay_ns


def _whose(frame: Frame) -> str:
    """Of a packet of another connection: between whom it is."""
    packet = frame.packet
    return (
        f"not of this connection: {frame.source} port {packet.local_port} to {frame.destination} port "
        f"{packet.foreign_port}"
    )


# ---- one capture point ----


def _one_point(found: list[Frame], deciding: int, under_test: str, place: Position) -> Trace:
    one = connections.chosen(found, deciding)
    if not one.frames:
        return EMPTY
    ends = ends_of(one)
    names = f"{ends[0][0]} port {ends[0][1]}", f"{ends[1][0]} port {ends[1][1]}"
    drafts = [Draft(0 if is_of(frame, ends[0]) else 1, frame, remarks=list(frame.comments)) for frame in one.frames]
    why = ""
    sent = {draft.source for draft in drafts if draft.frame.way is Way.OUTBOUND}
    if found[0].interface == IMPLEMENTATION and len(sent) == 1:
        place = (Position.FIRST, Position.SECOND)[sent.pop()]
        under_test = ends[0 if place is Position.FIRST else 1][0]
    elif place is Position.UNKNOWN:
        place, why = position.position(drafts, names)
    at = {Position.FIRST: 0, Position.SECOND: 1}.get(place)
    for draft in drafts:
        if at is not None and draft.source != at:
            draft.arrived_frame, draft.arrived_ns = draft.frame.number, draft.frame.time_ns
            draft.settle(Fate.ARRIVED, Known.CAPTURED)
        else:
            draft.sent_frame, draft.sent_ns = draft.frame.number, draft.frame.time_ns
    position.copies(drafts)
    notes = [why] if why else []
    notes += position.order(drafts, names)
    infer.fates(drafts)
    return finished(drafts, one, under_test, place, notes)


def is_of(frame: Frame, end: tuple[str, int]) -> bool:
    """Whether this end sent it; the ports show it where both have one address."""
    if frame.source != frame.destination:
        return frame.source == end[0]
    return frame.packet.local_port == end[1]
