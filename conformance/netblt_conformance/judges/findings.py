# SPDX-License-Identifier: GPL-2.0-or-later
"""What the Wireshark plugin finds, read from tshark's PDML: the only output that keeps several packets in one frame and
several findings on one packet apart."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from xml.etree.ElementTree import Element, ParseError, fromstring

if TYPE_CHECKING:
    from typing import IO

_ANALYSIS = "netblt.analysis."
_CHUNK_BYTES = 1 << 16
# XML 1.0 knows no other control characters than these three; tshark lets the others through in names and strings.
_NOT_XML = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f]")
_FRAME = re.compile(r"\bframe (\d+)")


class JudgeError(Exception):
    """tshark or the plugin cannot be used, or cannot read a capture; the message says what to do."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding of the plugin."""

    frame: int  # from 1, as Wireshark counts
    interface: str
    stream: int | None
    requirement: str
    verdict: str  # "violation", "suspected"
    offender: str  # "10.0.0.1 receiver"
    text: str = ""  # one sentence, without the requirement's ID
    time: float = 0.0  # seconds since 1970
    offending_frame: int = 0  # the packet that is wrong, when the finding is on a later one
    request_frame: int = 0
    evidence_frame: int = 0

    @property
    def offender_address(self) -> str:
        return self.offender.partition(" ")[0]

    @property
    def offender_role(self) -> str:
        return self.offender.partition(" ")[2]

    @property
    def guilty_frame(self) -> int:
        """The frame that breaks the rule; the finding's own frame may only complete the proof."""
        return self.offending_frame or self.frame

    def counted_from(self, first_frame: int) -> Finding:
        """The finding in a capture of its own that begins with this frame: its words name frames as well."""

        def moved(frame: int) -> int:
            return frame and frame - first_frame + 1

        return replace(
            self,
            frame=moved(self.frame),
            text=_FRAME.sub(lambda match: f"frame {moved(int(match[1]))}", self.text),
            offending_frame=moved(self.offending_frame),
            request_frame=moved(self.request_frame),
            evidence_frame=moved(self.evidence_frame),
        )


@dataclass(frozen=True, slots=True)
class Damaged:
    """A packet with a bad checksum."""

    frame: int
    interface: str
    source: str  # IP addresses: the ports may be what is damaged
    destination: str
    part: str  # HEADER_SUM or DATA_SUM: which checksum does not fit


HEADER_SUM, DATA_SUM = "header", "data"
_BAD = "0"


class FindingReader:
    """Takes tshark's PDML in pieces, as they come; returns findings, and keeps the damaged packets in `damaged`. What
    follows the PDML (reports of -z) is kept in `rest`.

    Each packet is parsed by itself as soon as its end tag is there: a parser of streams may wait for more."""

    END = b"</pdml>"
    _BEGIN_PACKET, _END_PACKET = re.compile(rb"<packet[\s>]"), b"</packet>"
    _NO_TAG = re.compile(rb"\s*[^<\s]")

    def __init__(self) -> None:
        self._waiting = bytearray()  # no packet ends in it
        self._ended = False
        self.rest = b""
        self.damaged: list[Damaged] = []

    def feed(self, data: bytes) -> list[Finding]:
        if self._ended:
            self.rest += data
            return []
        searched = max(0, len(self._waiting) - len(self._END_PACKET))  # an end tag may lie across two pieces
        self._waiting += data
        found: list[Finding] = []
        done = 0
        while (at := self._waiting.find(self._END_PACKET, searched)) >= 0:
            searched = at + len(self._END_PACKET)
            found += self._packet(bytes(self._waiting[done:searched]))
            done = searched
        del self._waiting[:done]
        self._look_for_end(max(0, searched - done))
        return found

    def _look_for_end(self, begin: int) -> None:
        if self._NO_TAG.match(self._waiting):
            raise JudgeError("tshark's PDML cannot be read: text where a tag should begin")
        at = self._waiting.find(self.END, begin)
        if at < 0:
            return
        if self._BEGIN_PACKET.search(self._waiting, 0, at):
            raise JudgeError("tshark's PDML cannot be read: it ends inside a packet")
        self._ended = True
        self.rest = bytes(self._waiting[at + len(self.END) :])
        self._waiting.clear()

    def _packet(self, text: bytes) -> list[Finding]:
        """`text` ends with a packet; before it may stand what begins the document."""
        begin = self._BEGIN_PACKET.search(text)
        try:
            element = fromstring(_NOT_XML.sub(b"?", text[begin.start() if begin else 0 :]))
        except ParseError as error:
            raise JudgeError(f"tshark's PDML cannot be read: {error}") from None
        self.damaged += packet_damage(element)
        return packet_findings(element)


def read_findings(stream: IO[bytes], reader: FindingReader) -> Iterator[Finding]:
    """All findings until the stream ends; what stands behind the PDML is then in reader.rest."""
    while chunk := stream.read(_CHUNK_BYTES):
        yield from reader.feed(chunk)


def _show(element: Element, name: str) -> str:
    for field in element.iter("field"):
        if field.get("name") == name:
            return field.get("show") or ""
    return ""


def packet_findings(packet: Element) -> list[Finding]:
    """The findings of one frame, whichever of its NETBLT packets they belong to."""
    frame = packet.find("proto[@name='frame']")
    if frame is None:
        raise JudgeError("tshark's PDML has a packet without frame number")
    number, interface = int(_show(frame, "frame.number")), _show(frame, "frame.interface_name")
    time = float(_show(frame, "frame.time_epoch") or 0)
    found = []
    for proto in packet.iter("proto"):
        if proto.get("name") != "netblt":
            continue
        stream = _show(proto, "netblt.stream")
        for group in proto.iter("field"):
            names = {child.get("name"): child for child in group}
            if _ANALYSIS + "requirement" in names:
                found.append(_finding(names, number, interface, int(stream) if stream else None, time))
    return found


def packet_damage(packet: Element) -> list[Damaged]:
    """The NETBLT packets of one frame whose checksum is bad."""
    found: list[Damaged] = []
    frame, source, destination = packet.find("proto[@name='frame']"), "", ""
    if frame is None:
        return found
    for proto in packet.iter("proto"):
        name = proto.get("name") or ""
        if name in ("ip", "ipv6"):
            source, destination = _show(proto, f"{name}.src"), _show(proto, f"{name}.dst")
        elif name == "netblt":
            for field, part in (("netblt.checksum.status", HEADER_SUM), ("netblt.data_checksum.status", DATA_SUM)):
                if _show(proto, field) == _BAD:
                    number, interface = int(_show(frame, "frame.number")), _show(frame, "frame.interface_name")
                    found.append(Damaged(number, interface, source, destination, part))
                    break
    return found


def _finding(names: dict[str | None, Element], frame: int, interface: str, stream: int | None, time: float) -> Finding:
    def text(name: str) -> str:
        element = names.get(_ANALYSIS + name)
        return "" if element is None else element.get("show") or ""

    requirement = text("requirement")
    expert = names.get("_ws.expert")
    message = "" if expert is None else _show(expert, "_ws.expert.message")
    message = message.removesuffix(f" [{requirement}]").removeprefix("Suspected: ")
    return Finding(
        frame,
        interface,
        stream,
        requirement,
        text("verdict"),
        text("offender"),
        message,
        time,
        int(text("offending_frame") or 0),
        int(text("request_frame") or 0),
        int(text("evidence_frame") or 0),
    )
