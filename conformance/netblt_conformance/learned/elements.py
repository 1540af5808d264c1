# SPDX-License-Identifier: GPL-2.0-or-later
"""What reactions consist of, in whatever packets: each control message, requested packet, data packet and
acknowledgement by itself. Two ends that do the same in other packets, or later, have the same elements."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from netblt_conformance.learned.outputs import AGAIN

ACKNOWLEDGEMENT = "acknowledgement"  # of all messages that came in order, in whatever packet
REPETITION = "CONTROL again"
_CONTROL = re.compile(r"CONTROL\[(.*)\]")
_RESEND = re.compile(r"(new RESEND [+-]?\d+):([\d+.]+)(.*)")
_ROW = re.compile(r"(L?DATA) ([+-]?\d+)\.(\d+)(.*?) \.\.\. L?DATA [+-]?\d+\.(\d+).*")
_ACK = re.compile(r" ack (?:fewer|more)")
_NUMBERED = re.compile(r"\b(GO|OK|RESEND|L?DATA) [+-]?\d+(?:[.:]\d+)?")
_RELATIVE = re.compile(r"\b(?:GO|OK|RESEND|L?DATA) [+-]")


def elements(texts: Iterable[str]) -> list[str]:
    """Of the packets and reports of a reaction, as `outputs` writes them."""
    return list(dict.fromkeys(element for text in texts for element in _of(text.removesuffix("*"))))


def _of(text: str) -> Iterator[str]:
    if control := _CONTROL.match(text):
        for message in control[1].split(", ") if control[1] else ():
            yield from _of_message(message)
    elif row := _ROW.match(text):
        kind, buffer, first, rest, last = row.groups()
        for number in range(int(first), int(last) + 1):
            yield from _of_packet(f"{kind} {buffer}.{number}{rest}")
    else:
        yield from _of_packet(text)


def _of_message(message: str) -> Iterator[str]:
    request = _RESEND.match(message)
    if request:
        for part in request[2].split("+"):
            first, _, last = part.partition("...")
            for number in range(int(first), int(last or first) + 1):
                yield f"{request[1]}:{number}{request[3]}"
    else:
        yield message if message.startswith("new ") else REPETITION


def _of_packet(text: str) -> Iterator[str]:
    is_data = text.startswith(("DATA", "LDATA"))
    if is_data or text.startswith("NULL-ACK"):
        if not _ACK.search(text):
            yield ACKNOWLEDGEMENT
        if not is_data and (_ACK.search(text) or text != "NULL-ACK"):
            yield text
    if is_data:
        yield _ACK.sub("", text)
    elif not text.startswith("NULL-ACK"):
        yield text


def lacking(wanted: Iterable[str], found: Iterable[str]) -> list[str]:
    """The elements of `wanted` that `found` does not have. A repetition is as good as the first. Where numbers are
    relative to a buffer, kinds are compared."""
    wanted, found = list(wanted), list(found)
    relative = any(_RELATIVE.search(one) for one in (*wanted, *found))
    known = {_alike(one, relative=relative) for one in found}
    return [one for one in wanted if _alike(one, relative=relative) not in known]


def is_there(element: str, found: Iterable[str]) -> bool:
    """Whether such a packet came, perhaps with other values: RESPONSE, and RESPONSE(burst_interval_ms larger)."""
    return element.partition("(")[0] in {one.partition("(")[0] for one in found}


def _alike(element: str, *, relative: bool) -> str:
    text = element if element == REPETITION else element.removesuffix(AGAIN)
    return _NUMBERED.sub(r"\1", text) if relative else text


def is_message(element: str) -> bool:
    """Whether it is a control message, or a repetition of some."""
    return element.startswith("new ") or element == REPETITION


def is_data(element: str) -> bool:
    return element.startswith(("DATA", "LDATA"))
