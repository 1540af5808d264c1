# SPDX-License-Identifier: GPL-2.0-or-later
"""The abstract inputs: what the tester can do to an implementation in each role, by name (docs/learned.md)."""

from __future__ import annotations

from dataclasses import dataclass

from netblt_conformance.common.model import Role


@dataclass(frozen=True, slots=True)
class Input:
    """One thing that the tester does. Where it is not possible, nothing is sent."""

    name: str
    about: str
    legal: bool = True  # a conforming peer does it, across a network that may lose, repeat and delay packets


TIME = "time"
TIMES = 150  # of inputs that are repeated: with two messages in each, numbers of messages need more than eight bits
MANY_GOS, MANY_BUFFERS = f"GO and OK {TIMES} times", f"BUFFER {TIMES} times"
_COMMON = (
    Input(TIME, "time passes until the implementation sends something new or its client gets to know something, else "
          "until the connection ends; repetitions and KEEPALIVEs are there once"),
    Input("KEEPALIVE", "the tester sends a KEEPALIVE"),
    Input("QUIT", "the tester quits"),
    Input("QUIT silent", "the tester quits and gives no reason"),
    Input("QUITACK", "the tester sends a QUITACK", legal=False),
    Input("ABORT", "the tester aborts"),
    Input("REFUSED", "the tester sends a REFUSED", legal=False),
    Input("QUIT damaged", "a QUIT with a wrong header checksum arrives"),
    Input("QUIT other version", "a QUIT with version byte 9 arrives", legal=False),
    Input("QUIT other port", "a QUIT of another connection arrives"),
    Input("type 15", "a packet of an unknown type arrives", legal=False),
    Input("client quits", "the client of the implementation asks to quit"),
    Input("client aborts", "the client of the implementation aborts"),
)  # fmt: skip
_TO_PASSIVE = (
    Input("OPEN", "the tester opens, always with the same unique ID"),
    Input("OPEN other ID", "the tester opens from the same port with another unique ID"),
    Input("OPEN other half", "an OPEN from the same port whose unique ID differs in the upper half only"),
    Input("OPEN wrong way", "the tester opens for the other direction of the data", legal=False),
    Input("OPEN other port", "the tester opens a port that has no listener"),
    Input("OPEN announcing", "the tester opens, and announces one byte less than it has"),
    Input("OPEN small packets", "the tester opens with packets so small that a buffer has more than can be numbered"),
)
_TO_ACTIVE = (
    Input("RESPONSE", "the tester accepts the OPEN"),
    Input("RESPONSE other ID", "a RESPONSE with another unique ID arrives"),
    Input("RESPONSE other half", "a RESPONSE arrives whose unique ID differs in the upper half only"),
    Input("RESPONSE one buffer", "the tester accepts the OPEN, with one outstanding buffer"),
    Input("RESPONSE larger", "a RESPONSE with larger buffers than were proposed arrives", legal=False),
    Input("RESPONSE announcing", "the tester accepts the OPEN, and announces one byte less than it has"),
    Input("RESPONSE small packets",
          "the tester accepts the OPEN with packets so small that a buffer has more than can be numbered", legal=False),
    Input("OPEN other ID", "an OPEN with another unique ID arrives from the port that was opened"),
    Input("RESPONSE changed", "a second RESPONSE arrives, with one packet in a burst and other burst intervals",
          legal=False),
)  # fmt: skip
_TO_RECEIVER = (
    Input("DATA", "the next data packet arrives; it acknowledges all messages that came"),
    Input("DATA lost", "the network loses the next data packet"),
    Input("DATA again", "the last data packet arrives once more"),
    Input("DATA requested", "lost packets that a RESEND names arrive"),
    Input("DATA late", "the lost packet of the lowest number arrives after all"),
    Input("BUFFER", "all packets of the next buffer arrive"),
    Input("BUFFER less last", "all packets of the next buffer arrive but the last one, which is lost"),
    Input("BUFFER only last", "of the next buffer only the last packet arrives; the others are lost"),
    Input(
        "BUFFER early",
        "all packets of the next buffer arrive; they were sent so early that they acknowledge nothing new",
    ),
    Input(MANY_BUFFERS, "so many times: all packets of the next buffer arrive; there once: reactions that are alike"),
    Input("DATA damaged", "the next data packet arrives with a wrong data checksum"),
    Input("DATA early", "a packet of the next buffer arrives before its GO was sent", legal=False),
    Input("DATA beyond", "a packet with a number that the buffer does not have arrives", legal=False),
    Input("NULL-ACK", "all messages that came are acknowledged"),
    Input("NULL-ACK first", "of the messages that came and are not acknowledged the first one is"),
    Input("NULL-ACK old", "an old NULL-ACK arrives, which acknowledges nothing"),
    Input("NULL-ACK beyond", "messages that were never sent are acknowledged", legal=False),
    Input("CONTROL", "a GO arrives from the end that sends the data", legal=False),
)
_TO_SENDER = (
    Input("GO", "a GO for the next buffer arrives, with all messages that are not acknowledged"),
    Input("GO skipping", "a GO arrives whose number is far beyond the one before, in other halves of 16 and 32 bits"),
    Input("GO hole", "a GO for the next buffer arrives, and the message before it does not"),
    Input("GO and more", "the last CONTROL arrives once more, with a GO for the next buffer after its messages"),
    Input("GO and RESEND", "one CONTROL with a RESEND for the first packet of the oldest buffer and the next GO"),
    Input("GO too many", "a GO for the next buffer arrives, though as many buffers as agreed wait for their OK"),
    Input(MANY_GOS, "so many times: a GO for the next buffer, then its OK; there once: reactions that are alike"),
    Input("GO number 0", "a GO for the next buffer arrives as message number 0", legal=False),
    Input("GO far ahead", "a GO for the next buffer arrives, 40000 numbers ahead", legal=False),
    Input("OK", "the oldest complete buffer is confirmed"),
    Input("OK hole", "the oldest complete buffer is confirmed, and the message before it, a GO, is late"),
    Input("OK early", "a buffer is confirmed that is not complete", legal=False),
    Input("RESEND", "a RESEND for the last packet of the oldest buffer, which counts as lost"),
    Input("RESEND first", "a RESEND for the first packet of the oldest buffer, which counts as lost"),
    Input("RESEND newest", "a RESEND for the first packet of the newest buffer, which counts as lost"),
    Input("RESEND all", "a RESEND for all packets of the oldest buffer, which count as lost"),
    Input("RESEND both", "one CONTROL with a RESEND for the newest buffer and one for the oldest"),
    Input("RESEND hole", "a RESEND for the oldest buffer arrives, and the message before it, a GO, is late"),
    Input("RESEND next", "a RESEND for the next buffer, which has no GO", legal=False),
    Input("RESEND empty", "a RESEND that names no packet", legal=False),
    Input("RESEND past end", "a RESEND for a packet that the oldest buffer does not have, and for its first"),
    Input("RESEND beyond", "a RESEND for a packet that the buffer does not have", legal=False),
    Input("CONTROL late", "all messages that are not acknowledged arrive"),
    Input("CONTROL again", "the last CONTROL arrives once more"),
    Input("DONE", "the tester sends a DONE"),
    Input("DATA", "a data packet arrives from the end that receives the data", legal=False),
)


def inputs(role: Role) -> tuple[Input, ...]:
    """Of the implementation in this role, in all themes."""
    opening = _TO_ACTIVE if role.active else _TO_PASSIVE
    return (*opening, *(_TO_SENDER if role.sender else _TO_RECEIVER), *_COMMON)


# What a first, short test learns: a transfer over a path that loses nothing.
SMALL = frozenset({"OPEN", "RESPONSE", "GO", "OK", "DATA", "NULL-ACK", TIME, "QUIT"})
