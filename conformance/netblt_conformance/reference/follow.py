# SPDX-License-Identifier: GPL-2.0-or-later
"""Walks over the packets of a connection beside one of its ends: opening, transfer and end (RFC 998 5.1, 5.2, 5.3)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from netblt_conformance.reference import form
from netblt_conformance.reference.form import NAMES, received_intact
from netblt_conformance.reference.frames import Conversation, Frame, Place, place_text
from netblt_conformance.reference.knowledge import Known
from netblt_conformance.reference.opening import Opening
from netblt_conformance.reference.outcome import Choices, Followed, Outside, OutsideError
from netblt_conformance.reference.receiver import ReceiverEnd
from netblt_conformance.reference.sender import SenderEnd
from netblt_conformance.reference.view import View, shows_its_header
from netblt_conformance.simlib import guided
from netblt_conformance.simlib.guided import Read

_TRANSFER = (guided.DATA, guided.LDATA, guided.NULL_ACK, guided.CONTROL, guided.DONE)
_OF_CONNECTION = (*_TRANSFER, guided.KEEPALIVE)
_OF_SENDER = (guided.DATA, guided.LDATA, guided.NULL_ACK)
# A peer that only answers what came before its QUIT sends NULL-ACK (QUIT-05).
_GOES_ON = (guided.DATA, guided.LDATA, guided.CONTROL)
# After one of these the old unique ID may open another connection (AMB-66).
_ENDS = (guided.DONE, guided.QUITACK, guided.ABORT, guided.REFUSED)
_OF_RECEIVER = (guided.CONTROL, guided.DONE)


# So many packets are taken for arrived before they were captured.
_MOVES_MOST = 16
_LATER_LEAST = 1


@dataclass(frozen=True, slots=True)
class Reading:
    """What packets leave open for a whole conversation. A packet is outside when it is outside of every reading."""

    base: int  # number of the first packet of a buffer (AMB-10)
    reopens: bool  # the old unique ID opens another connection once the one before has ended (AMB-66)


READINGS = (Reading(0, False), Reading(0, True), Reading(1, False), Reading(1, True))


def follow(conversation: Conversation, end: Place, view: View) -> Followed:
    """Follows one end of a conversation."""
    places = conversation.places
    peer = places[1] if places[0] == end else places[0]
    sent = sum(frame.places[0] == end for frame in conversation.frames)
    furthest: Followed | None = None
    for reading in READINGS:
        walk, outside = _walked(conversation.frames, end, reading, view)
        found = Followed(place_text(end), place_text(peer), walk.role, sent, walk.choices.made, outside, view.limits)
        if outside is None or not _is_certain(conversation, end, view, outside):
            return replace(found, outside=None)
        if furthest is None or furthest.outside is None or outside.frame > furthest.outside.frame:
            furthest = found
    assert furthest is not None
    return furthest


def _is_certain(conversation: Conversation, end: Place, view: View, outside: Outside) -> bool:
    """Whether packets of the peer were captured after the frame, which show that none is missing before them."""
    if view.own_complete or not view.slack_us:
        return True
    later = sum(frame.number > outside.frame and frame.places[0] != end for frame in conversation.frames)
    return later >= _LATER_LEAST


def _walked(frames: Sequence[Frame], end: Place, reading: Reading, view: View) -> tuple[_Walk, Outside | None]:
    """One walk. Where the directions of the capture may be out of step, packets that were captured just after the frame
    in question are taken for arrived, one after the other."""
    order, moves = list(frames), 0
    walk = _Walk(end, reading, view)
    first = outside = walk.run(order)
    while outside is not None and moves < _MOVES_MOST:
        at = next(i for i, frame in enumerate(order) if frame.number == outside.frame)
        later = next((i for i in range(at + 1, len(order)) if order[i].places[0] != end), None)
        if later is None or order[later].time_us - order[at].time_us > view.slack_us or not view.slack_us:
            return walk, first
        order.insert(at, order.pop(later))
        moves += 1
        walk = _Walk(end, reading, view)
        outside = walk.run(order)
        if first is None or outside is None or outside.frame != first.frame:
            first = outside
    return walk, outside


class _Walk:
    def __init__(self, end: Place, reading: Reading, view: View) -> None:
        self._end = end
        self.choices = Choices()
        self.role = "-"
        self._view = view
        self._complete = view.peer_complete
        self._reading = reading
        if reading.base:
            self.choices.note("AMB-10", "packets are numbered from 1")
        self._checksum: bool | None = None
        self._version: int | None = None
        self._opening = Opening(self.choices)
        self._begin_session()

    def _begin_session(self) -> None:
        self._known = Known(self.choices, self._view, self._reading.base)
        self._sender = SenderEnd(self._known)
        self._receiver = ReceiverEnd(self._known)
        self._quit_seen = self._quit_sent = self._quitack_sent = self._goes_on = self._ended = False

    def run(self, frames: Sequence[Frame]) -> Outside | None:
        for frame in frames:
            if frame.places[0] != self._end:
                self._arrives(frame)
                continue
            try:
                self._sent(frame)
            except OutsideError as error:
                return Outside(error.frame or frame.number, error.requirement, error.expected, error.observed)
        return None

    # ---- what arrives ----

    def _arrives(self, frame: Frame) -> None:
        read = frame.read
        if not shows_its_header(frame) or not received_intact(read):
            return
        if read.type in (guided.OPEN, guided.RESPONSE):
            self._opening.arrives(read)
            self._known.terms = self._opening.terms
        elif read.is_data:
            self._receiver.data_arrives(read, frame.time_us, cut=frame.cut)
        elif read.type == guided.NULL_ACK:
            self._receiver.acknowledgement_arrives(read)
        elif read.type == guided.CONTROL:
            self._sender.control_arrives(read)
        elif read.type == guided.QUIT:
            self._quit_seen = True
        self._ended |= read.type in _ENDS
        if self._quitack_sent and read.type in _GOES_ON:
            self._goes_on = True

    # ---- what is sent ----

    def _sent(self, frame: Frame) -> None:
        read = frame.read
        if not shows_its_header(frame) or (not self._view.undamaged and form.may_be_damaged(read)):
            return
        if frame.cut and read.fault:
            return  # what was cut off does not show whether it was damaged
        if not frame.cut:
            form.check(read, self.choices, data_checksum=self._agreed_checksum())
        self._check_version(read)
        if read.type in (guided.OPEN, guided.RESPONSE):
            ended = self._ended and self._reading.reopens
            if self._opening.sent(read, complete=self._complete and self._view.own_complete, ended=ended):
                self._begin_session()
            self._known.terms = self._opening.terms
        elif read.type in _TRANSFER:
            self._transfer(frame)
        else:
            self._ends(read)
        self._ended |= read.type in _ENDS

    def _agreed_checksum(self) -> bool | None:
        agreed = self._opening.terms
        found = {terms.data_checksum for terms in agreed}
        return found.pop() if len(found) == 1 else None

    def _check_version(self, read: Read) -> None:
        """All packets of a connection have one version; those for no connection may have that of what they answer."""
        if self._version is None or read.type in (guided.OPEN, guided.RESPONSE):
            self.choices.note("AMB-01", f"version byte {read.version}")
            self._version = read.version
        elif read.version != self._version and self._opening.opened and read.type in _OF_CONNECTION:
            raise OutsideError("WIRE-02", f"version {self._version} as before", f"version {read.version}")

    def _transfer(self, frame: Frame) -> None:
        read = frame.read
        self._check_role(read)
        shown = self._view.own_complete or self._opening.active
        if self._complete and shown and not self._opening.terms:
            expected = "nothing of a transfer before OPEN and RESPONSE"
            raise OutsideError("OPEN-01", expected, NAMES[read.type])
        self._check_ended(read)
        if read.is_data:
            self._sender.data_sent(read, frame.time_us, cut=frame.cut)
        elif read.type == guided.NULL_ACK:
            self._sender.null_ack_sent(read)
        elif read.type == guided.CONTROL:
            self._receiver.control_sent(read, frame.time_us)
        else:
            self._receiver.done_sent()

    def _check_role(self, read: Read) -> None:
        role = "sender" if read.type in _OF_SENDER else "receiver"
        if self.role not in ("-", role):
            raise OutsideError("WIRE-13", f"packets of the data {self.role}", NAMES[read.type])
        sends = self._opening.sends_data
        if sends is not None and sends != (role == "sender"):
            self.choices.note("AMB-08", "the data come from the end that M does not name")
        self.role = role

    def _check_ended(self, read: Read) -> None:
        """QUIT-05: data and control messages end with QUIT, and with the QUITACK unless the peer goes on (AMB-73)."""
        if read.type not in (guided.DATA, guided.LDATA, guided.CONTROL):
            return
        if self._quit_sent and self._view.own_complete:
            raise OutsideError("QUIT-05", "nothing of the transfer after QUIT", NAMES[read.type])
        if self._quitack_sent and not self._goes_on:
            raise OutsideError("QUIT-05", "nothing of the transfer after QUITACK", NAMES[read.type])

    def _ends(self, read: Read) -> None:
        if read.type == guided.QUIT:
            self._quit_sent = True
        elif read.type == guided.QUITACK:
            if self._complete and not self._quit_seen:
                raise OutsideError("ABORT-03", "QUITACK as the answer to QUIT only", "QUITACK, and no QUIT has come")
            self._quitack_sent = True
        elif read.type == guided.ABORT:
            self.choices.note("AMB-71", "ABORT is sent")


def ends(conversation: Conversation) -> Iterator[Place]:
    """The ends that sent something."""
    senders = {frame.places[0] for frame in conversation.frames}
    yield from (place for place in conversation.places if place in senders)
