# SPDX-License-Identifier: GPL-2.0-or-later
"""OPEN and RESPONSE beside the followed end (RFC 998 5.1): what it may propose and agree to, and what is agreed on."""

from __future__ import annotations

from netblt_conformance.reference.outcome import Choices, OutsideError
from netblt_conformance.reference.terms import CHECKSUM, WRITE, Terms
from netblt_conformance.simlib import guided
from netblt_conformance.simlib.guided import Read

# Fields that copies of an OPEN or a RESPONSE have in common (AMB-63).
_SAME = (
    ("buffer_size", "buffer size"),
    ("packet_size", "packet size"),
    ("burst_size", "burst size"),
    ("burst_interval_ms", "burst interval"),
    ("max_buffers", "number of outstanding buffers"),
    ("death_timer_s", "death timer"),
    ("flags", "flags"),
)
_NEGOTIATED = (
    ("buffer_size", "buffer size", "NEG-01"),
    ("packet_size", "packet size", "NEG-02"),
    ("burst_size", "burst size", "NEG-03"),
    ("burst_interval_ms", "burst interval", "NEG-04"),
    ("max_buffers", "number of outstanding buffers", "NEG-05"),
)
# An OK may renegotiate these, so that a later copy of a RESPONSE may have others (AMB-63).
_PAIR = ("burst_size", "burst_interval_ms")
_NEEDED = ("buffer_size", "packet_size", "burst_size", "max_buffers")


class Opening:
    """The opening of one connection after the other on a pair of ports."""

    def __init__(self, choices: Choices) -> None:
        self._choices = choices
        self._own: Read | None = None  # the OPEN or RESPONSE of the connection, sent by the followed end
        self._requests: dict[int, list[Read]] = {}  # OPENs that may have arrived, by unique ID
        self.terms: list[Terms] = []
        self.sends_data: bool | None = None
        self.opened = False

    @property
    def active(self) -> bool:
        """The followed end has sent OPEN."""
        return self._own is not None and self._own.type == guided.OPEN

    def arrives(self, read: Read) -> None:
        """OPEN or RESPONSE may have arrived."""
        if read.type == guided.OPEN:
            self._requests.setdefault(read.unique_id, []).append(read)
            return
        own = self._own
        if own is None or own.type != guided.OPEN or read.unique_id != own.unique_id:
            return  # it belongs to no OPEN of this end (AMB-20)
        self.opened = True
        for reading in (Terms.of(read), Terms.of(guided.respond(own.raw, read.raw))):
            if reading not in self.terms:
                self.terms.append(reading)

    def sent(self, read: Read, *, complete: bool, ended: bool) -> bool:
        """The followed end sends OPEN or RESPONSE. `complete`: all packets are in the capture; `ended`: the connection
        before has ended. True: another connection begins."""
        own = self._own
        begins = own is None or ended or own.unique_id != read.unique_id or own.type != read.type
        if own is not None and not begins and (complete or read.type == guided.OPEN):
            self._check_same(read, own)
            if read.type != guided.OPEN:
                return False
        if read.type == guided.OPEN:
            self.sends_data = bool(read.flags & WRITE)
            if begins:
                self.terms = []
        else:
            self._respond(read, complete=complete, judged=complete or not ended)
        self._own = read if begins else own
        return begins

    def _check_same(self, read: Read, before: Read) -> None:
        rule = "OPEN-04" if read.type == guided.OPEN else "OPEN-07"
        for name, words in _SAME:
            if rule == "OPEN-07" and name in _PAIR:
                continue
            old, new = getattr(before, name), getattr(read, name)
            if old != new:
                raise OutsideError(rule, f"{words} {old} as before", f"{words} {new}")

    def _respond(self, read: Read, *, complete: bool, judged: bool) -> None:
        requests = self._requests.get(read.unique_id, [])
        if not requests:
            if complete:
                known = ", ".join(f"0x{number:08x}" for number in self._requests) or "no OPEN"
                raise OutsideError("OPEN-02", f"the unique ID of an OPEN: {known}", f"0x{read.unique_id:08x}")
        elif judged:
            problems = [self._problem(request, read) for request in requests]
            first = problems[0]
            if first is not None and None not in problems:
                raise first
        self.terms, self.opened = [Terms.of(read)], True
        self.sends_data = not read.flags & WRITE

    def _problem(self, request: Read, read: Read) -> OutsideError | None:
        """Why no passive end answers this OPEN like that: the core with the same limits answers otherwise."""
        for name in _NEEDED:
            if getattr(read, name) == 0:
                words = name.replace("_", " ")
                return OutsideError("NEG-10", f"a {words} above 0, or REFUSED", f"RESPONSE with {words} 0")
        if (read.flags ^ request.flags) & WRITE:
            return OutsideError("NEG-07", f"M {request.flags & WRITE} as in the OPEN", f"M {read.flags & WRITE}")
        expected = guided.respond(request.raw, read.raw)
        for name, words, rule in _NEGOTIATED:
            asked, right, answered = (getattr(one, name) for one in (request, expected, read))
            restricts = answered <= asked if name != "burst_interval_ms" else answered >= asked
            if right != answered and not restricts and asked:
                return OutsideError(rule, f"{words} {right}", f"{words} {answered}, of {asked} proposed")
        if read.flags & CHECKSUM and not request.flags & CHECKSUM:
            self._choices.note("AMB-24", "data checksums that were not requested")
        return None
