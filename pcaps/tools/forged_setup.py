# SPDX-License-Identifier: GPL-2.0-or-later
"""Captures for the opening of a connection and what is negotiated in it: OPEN, NEG."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pcaps.tools.exchange import BURST, RECEIVER, SENDER, Exchange
from pcaps.tools.octets import null_ack, ok, reason, setup, text_field
from pcaps.tools.talk import Talk

OPENS_WITHOUT_END = 64
MIDDLE = 12  # so many packets by then that IP IDs prove something


def answered(requirement: str, about: str, **fields: Any) -> Callable[[], Exchange]:
    """A RESPONSE with these fields different; the transfer goes on as proposed where that is possible."""

    def script() -> Exchange:
        talk = Talk(about)
        talk.opens()
        offence = talk.responds(**fields)
        talk.breaks(requirement, offence, RECEIVER)
        talk.says(*talk.grants(1))
        return talk

    return script


def answered_with(about: str, *ids: int) -> Callable[[], Exchange]:
    """Each OPEN gets a RESPONSE with one of these unique IDs."""

    def script() -> Exchange:
        talk = Talk(about)
        for number, unique_id in enumerate(ids, start=1):
            talk.opens()
            frame = talk.responds(unique_id=unique_id)
            talk.wait(500)
            if number == len(ids):
                talk.breaks("OPEN-02", frame, RECEIVER)
            else:
                talk.may_look_like("OPEN-02", frame, RECEIVER)
        return talk

    return script


def old_responses(step: int) -> Callable[[], Exchange]:
    """Look-alike: they answer OPENs of long ago, which the capture did not see."""

    def script() -> Exchange:
        talk = Talk("Three RESPONSEs to OPENs of long ago arrive in a row after the third OPEN; then the right one.")
        for _ in range(3):
            talk.opens()
            talk.wait(500)
        for number in range(3):
            stray = talk.responds(unique_id=0x0998_0031 + number * step)
            talk.may_look_like("OPEN-02", stray, RECEIVER)
        return goes_on(talk)

    return script


def goes_on(talk: Talk) -> Talk:
    """The right RESPONSE comes, and the whole transfer."""
    talk.responds()
    talk.says(*talk.grants(2))
    return talk.finish(0)


def open_changes() -> Exchange:
    talk = Talk("The second OPEN proposes another buffer size under the same unique ID.")
    talk.opens()
    talk.wait(500)
    offence = talk.opens(buffer_size=512)
    talk.responds()
    talk.says(*talk.grants(2))
    talk.breaks("OPEN-04", offence, SENDER)
    return talk.finish(0)


def open_in_transfer() -> Exchange:
    talk = Talk("The active end, which has been sending data, sends its OPEN again.")
    talk.start()
    talk.run(0, 3)
    offence = talk.opens()
    talk.breaks("OPEN-05", offence, SENDER)
    talk.responds()
    return talk.finish(3)


def response_changes() -> Exchange:
    talk = Talk("The RESPONSE was lost; to the repeated OPEN the passive end answers with other values.")
    talk.opens()
    talk.responds()
    talk.wait(500)
    talk.opens()
    offence = talk.responds(burst_size=4)
    talk.breaks("OPEN-07", offence, RECEIVER)
    talk.says(*talk.grants(2))
    return talk.finish(0)


def response_repeated() -> Exchange:
    """Look-alike: what a lost RESPONSE looks like."""
    talk = Talk("The first RESPONSE is lost beyond the capture point: OPEN and RESPONSE are repeated unchanged.")
    talk.opens()
    talk.responds()
    talk.wait(500)
    talk.opens()
    talk.responds()
    talk.says(*talk.grants(2))
    return talk.finish(0)


def new_attempt() -> Exchange:
    """Look-alike: the first attempt was refused."""
    talk = Talk("The first OPEN is refused; a new attempt has a new unique ID and other values.")
    talk.opens(unique_id=7, buffer_size=512)
    talk.capture(talk.emit(RECEIVER, reason("REFUSED", "busy", **talk.ports(RECEIVER))))
    talk.wait(2000)
    return talk.start().finish(0)


def restricted() -> Exchange:
    """Look-alike: everything in the RESPONSE is more restrictive, and obeyed."""
    talk = Talk("The RESPONSE restricts everything that can be restricted, and both ends obey.", buffers=16)
    talk.opens(buffer_size=1024, packet_size=256, burst_size=16, burst_interval_ms=5, max_buffers=9)
    talk.responds()
    talk.says(*talk.grants(2))
    return talk.finish(0)


def proposal_kept() -> Exchange:
    talk = Talk("The RESPONSE halves the data packet size, and the sender goes on with what it proposed.")
    talk.opens(packet_size=128, buffer_size=512)
    talk.responds(buffer_size=256)
    talk.says(*talk.grants(2))
    for number in range(2):
        offence = talk.sends_piece(
            0, number, octets=talk.octets_of(0, number) * 2, type="DATA" if number == 0 else "LDATA"
        )
        talk.breaks("NEG-06", offence, SENDER)
        talk.breaks("DATA-03", offence, SENDER)
    return talk


def no_burst_offered() -> Exchange:
    talk = Talk("An OK offers bursts of no packets.")
    talk.start()
    talk.run(0, 3)
    talk.sends_buffer(3)
    frame = talk.says(talk.accept(3, burst_size=0), *talk.grants(1))
    talk.looks_like("NEG-08", frame, RECEIVER)
    return talk.finish(4)


def offer_exceeded() -> Exchange:
    talk = Talk("The receiver offers a slower pace; the sender reports in a NULL-ACK that it keeps the old one.")
    talk.start()
    talk.run(0, 12)
    talk.sends_buffer(12)
    talk.says(talk.accept(12, burst_size=4, burst_interval_ms=40), *talk.grants(1))
    offence = talk.answers(burst_size=8, burst_interval_ms=10)
    talk.breaks("NEG-09", offence, SENDER, proof=RECEIVER)
    return talk.finish(13)


def offer_not_captured() -> Exchange:
    """Look-alike: an OK may offer more when it is repeated (CTRL-02)."""
    talk = Talk("The receiver repeats an OK with a faster pace; the capture missed that, the sender goes by it.")
    talk.start()
    talk.run(0, MIDDLE)
    talk.sends_buffer(MIDDLE)
    first, fresh = talk.accept(MIDDLE), talk.grants(1)
    talk.says(first, *fresh, comment="lost behind the capture point")
    talk.wait(200)
    talk.queue(ok(talk.seq - 1, MIDDLE, control_timer_ms=200, burst_size=16, burst_interval_ms=10), *fresh)
    talk.may_look_like("NEG-09", talk.answers(burst_size=16), SENDER)
    return talk.finish(MIDDLE + 1)


def offer_restricted() -> Exchange:
    """Look-alike: the sender may be slower than it is offered."""
    talk = Talk("The receiver offers a faster pace; the sender reports that it takes only a part of it.")
    talk.start()
    talk.run(0, 12)
    talk.sends_buffer(12)
    talk.says(talk.accept(12, burst_size=32, burst_interval_ms=10), *talk.grants(1))
    talk.answers(burst_size=16, burst_interval_ms=20)
    return talk.finish(13)


def late_report() -> Exchange:
    """Look-alike: when it was emitted nothing slower had been offered."""
    talk = Talk("The receiver offers a slower pace; a NULL-ACK from before that arrives late, as its IP ID shows.")
    talk.start()
    talk.run(0, MIDDLE)
    late = talk.emit(SENDER, null_ack(talk.seq, **BURST, **talk.ports(SENDER)), "emitted before the OK arrived")
    talk.sends_buffer(MIDDLE)
    talk.says(talk.accept(MIDDLE, burst_size=4, burst_interval_ms=40), *talk.grants(1))
    talk.answers(burst_size=4, burst_interval_ms=40)
    talk.capture(late)
    return talk.finish(MIDDLE + 1)


def faster_from_the_start() -> Exchange:
    talk = Talk("Before any OK the sender reports a faster pace than the RESPONSE gave it.", buffers=30)
    talk.start()
    for _ in range(12):
        talk.wait(50)
        talk.answers()
        talk.puts(RECEIVER, "KEEPALIVE")
    talk.looks_like("CTRL-11", talk.answers(burst_size=9), SENDER)
    for _ in range(6):
        talk.wait(300)
        talk.puts(RECEIVER, "KEEPALIVE")
    return talk


def opens_for_ever() -> Exchange:
    talk = Talk("Nothing answers, and the OPEN is repeated without end.")
    for _ in range(OPENS_WITHOUT_END):
        frame = talk.opens()
        talk.wait(1000)
    talk.looks_like("OPEN-03", frame, SENDER)
    return talk


def transfer_without_response() -> Exchange:
    talk = Talk("The passive end never answers the OPEN, and begins the transfer.")
    talk.opens()
    talk.says(*talk.grants(2))
    frame = talk.sends_buffer(0)[3]
    talk.looks_like("OPEN-01", frame, RECEIVER)
    talk.accepts(0)
    return talk.finish(1)


def stray_response_accepted() -> Exchange:
    talk = Talk("Only a RESPONSE with another unique ID comes, and the active end takes part in the transfer.")
    talk.opens()
    stray = talk.responds(unique_id=0x0998_0031)
    talk.may_look_like("OPEN-02", stray, RECEIVER)
    talk.says(*talk.grants(2))
    frame = talk.sends_buffer(0)[0]
    talk.looks_like("OPEN-10", frame, SENDER)
    talk.accepts(0)
    return talk.finish(1)


def stray_response_ignored() -> Exchange:
    """Look-alike: an old RESPONSE arrives, the right one follows."""
    talk = Talk("A RESPONSE to an OPEN of long ago comes first; the right one follows, and the transfer is in order.")
    talk.opens()
    stray = talk.responds(unique_id=0x0998_0031)
    talk.may_look_like("OPEN-02", stray, RECEIVER)
    talk.responds()
    talk.says(*talk.grants(2))
    return talk.finish(0)


def second_connection() -> Exchange:
    talk = Talk("In the middle of a transfer an OPEN with another unique ID comes on its ports, and is accepted.")
    talk.start()
    talk.run(0, 6)
    talk.looks_like("OPEN-13", talk.opens(unique_id=0x0998_0032), SENDER)
    frame = talk.responds(unique_id=0x0998_0032)
    talk.looks_like("OPEN-09", frame, RECEIVER)
    return talk


def second_connection_refused() -> Exchange:
    """Look-alike: the ABORT refuses the other OPEN, and the connection goes on."""
    talk = Talk(
        "An OPEN with another unique ID comes on the ports of a transfer, is refused by ABORT, and all goes on."
    )
    talk.start()
    talk.run(0, 6)
    talk.looks_like("OPEN-13", talk.opens(unique_id=0x0998_0032), SENDER)
    talk.puts(RECEIVER, "ABORT", text_field("in use"))
    return talk.finish(6)


def old_open_in_the_middle(told: int) -> Callable[[], Exchange]:
    """Look-alike: the capture seems to begin with the connection, and begins in its middle, after so many messages."""

    def script() -> Exchange:
        talk = Talk(
            "The capture begins in the middle, with an OPEN that was on its way for long and the RESPONSE to it.",
            buffers=40,
        )
        late = talk.emit(SENDER, setup("OPEN", **talk.terms(), **talk.ports(SENDER)))
        talk.seq = told
        talk.start()
        talk.run(0, MIDDLE)
        talk.records = []
        talk.capture(late, "emitted before everything else of this end")
        talk.responds()
        for buffer in (MIDDLE, MIDDLE + 1):  # the messages about these were not captured
            for frame in [talk.sends_buffer(buffer)[0], talk.accepts(buffer)]:
                for requirement in ("CTRL-06", "DATA-01"):
                    talk.may_look_like(requirement, frame, SENDER)
        return talk.finish(MIDDLE + 2)

    return script


def wrong_end_sends() -> Exchange:
    talk = Talk("The OPEN asks for READ, and the end that opened sends.", write=False)
    talk.start()
    frame = talk.sends_buffer(0)[0]
    talk.looks_like("OPEN-12", frame, SENDER)
    talk.accepts(0)
    return talk.finish(1)


SCRIPTS: dict[str, Callable[[], Exchange]] = {
    "open02-other-id": answered_with(
        "Every OPEN is answered by a RESPONSE whose unique ID is one too high.", *[0x0998_0031] * 3
    ),
    "open02-random-id": answered_with("Every OPEN is answered by a RESPONSE with a random unique ID.", 7, 800, 90_000),
    "open02-like-old-responses": old_responses(1),
    "open02-like-old-copies": old_responses(0),
    "open04-open-changes": open_changes,
    "open05-open-in-transfer": open_in_transfer,
    "open01-no-response": transfer_without_response,
    "open03-without-end": opens_for_ever,
    "open09-second-connection": second_connection,
    "open09-like-refused": second_connection_refused,
    "open10-stray-accepted": stray_response_accepted,
    "open10-like-ignored": stray_response_ignored,
    "open-like-late-open": old_open_in_the_middle(0),
    "open-like-late-open-far": old_open_in_the_middle(40_000),
    "open07-response-changes": response_changes,
    "open12-wrong-end-sends": wrong_end_sends,
    "open-like-response-repeated": response_repeated,
    "open-like-new-attempt": new_attempt,
    "neg01-buffer-size": answered("NEG-01", "RESPONSE raises the buffer size.", buffer_size=512),
    "neg02-packet-size": answered("NEG-02", "RESPONSE raises the data packet size.", packet_size=128),
    "neg03-burst-size": answered("NEG-03", "RESPONSE raises the burst size.", burst_size=9),
    "neg04-burst-interval": answered("NEG-04", "RESPONSE shortens the burst interval.", burst_interval_ms=9),
    "neg05-outstanding": answered("NEG-05", "RESPONSE raises the number of outstanding buffers.", max_buffers=3),
    "neg06-proposal-kept": proposal_kept,
    "neg07-mode-turned": answered("NEG-07", "RESPONSE turns WRITE into READ.", write=False),
    "neg08-no-burst": no_burst_offered,
    "neg09-offer-exceeded": offer_exceeded,
    "neg09-like-offer-not-captured": offer_not_captured,
    "neg09-like-late": late_report,
    "neg10-no-packet-size": answered("NEG-10", "RESPONSE accepts with a data packet size of 0.", packet_size=0),
    "ctrl11-faster-than-agreed": faster_from_the_start,
    "neg-like-restricted": restricted,
    "neg-like-offer-restricted": offer_restricted,
}
