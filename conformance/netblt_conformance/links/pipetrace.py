# SPDX-License-Identifier: GPL-2.0-or-later
"""Writes the frames of the pipe link as text, one line each: what a program was asked, and what it returned."""

from __future__ import annotations

import os
import struct
from pathlib import Path

from netblt_conformance.common.errors import LinkUnavailableError
from netblt_conformance.common.model import address_text
from netblt_conformance.common.words import printable
from netblt_conformance.links import pipeframes as frames
from netblt_conformance.links.base import NEVER_US
from netblt_conformance.links.pipeframes import FrameError, Kind
from netblt_conformance.packets import packets

_REQUEST, _ANSWER = ">", "<"
_HEAD_BYTES = 5  # length and kind
_NOW = struct.Struct(">Q")


class PipeTrace:
    """One file for all programs of a run; each line begins with the process ID of the program."""

    def __init__(self, path: Path) -> None:
        try:
            self._descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
        except OSError as error:
            raise LinkUnavailableError(f"--trace {path}: {error.strerror}; choose another file") from None

    def request(self, pid: int, frame: bytes) -> None:
        """A frame of the suite."""
        kind, payload = Kind(frame[_HEAD_BYTES - 1]), frame[_HEAD_BYTES:]
        self._line(pid, _REQUEST, f"{kind.name} {request_words(kind, payload)}")

    def answer(self, pid: int, kind: Kind, payload: bytes) -> None:
        """A frame of the program."""
        name = kind.name.removesuffix("_ANSWER")
        try:
            self._line(pid, _ANSWER, f"{name} {answer_words(kind, payload)}")
        except FrameError:
            self._line(pid, _ANSWER, f"{name}, malformed: {payload[:32].hex(' ')}")

    def _line(self, pid: int, way: str, words: str) -> None:
        os.write(self._descriptor, f"{pid} {way} {printable(words.rstrip())}\n".encode())


def request_words(kind: Kind, payload: bytes) -> str:
    """The contents of a request."""
    if kind in (Kind.HELLO, Kind.REPORT, Kind.CLOSE):
        return ""
    now = f"at {_NOW.unpack_from(payload)[0]} us"
    rest = payload[_NOW.size :]
    if kind is Kind.START:
        role = f"{'active' if rest[0] else 'passive'} {'sender' if rest[1] else 'receiver'}"
        return f"{now}: {role}, {len(payload)} bytes"
    if kind is Kind.PACKET:
        return f"{now}: from {address_text(rest[:4])} {packets.read(rest[4:])}"
    if kind is Kind.STOP:
        return f"{now}: {'abort' if rest[0] else 'quit'}"
    return now


def answer_words(kind: Kind, payload: bytes) -> str:
    """The contents of an answer. FrameError when it is malformed."""
    if kind is Kind.HELLO_ANSWER:
        hello = frames.parse_hello(payload)
        return f"version {hello.version}, features {hello.features:#04x}, {hello.name}"
    if kind is Kind.OUTPUT:
        destination, packet = frames.parse_output(payload)
        return f"to {address_text(destination)} {packets.read(packet)}"
    if kind is Kind.STATE:
        state = frames.parse_state(payload)
        deadline = "no deadline" if state.deadline_us == NEVER_US else f"deadline {state.deadline_us} us"
        return f"{state.status.name.lower()}, {deadline}" + (f", {state.reason}" if state.reason else "")
    if kind is Kind.REPORT_ANSWER:
        report = frames.parse_report(payload)
        return f"{report.digest}, peer's client string {report.peer_string!r}"
    return payload.decode("utf-8", "replace")
