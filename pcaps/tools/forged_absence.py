# SPDX-License-Identifier: GPL-2.0-or-later
"""Captures of what does not come, comes too late or too often: KEEPALIVE, acknowledgements, repetitions of CONTROL and
QUIT, DONE, unique IDs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pcaps.tools.exchange import RECEIVER, SENDER, Exchange
from pcaps.tools.forged_data import MIDDLE, half_way
from pcaps.tools.octets import text_field
from pcaps.tools.talk import Talk


def keepalives_only() -> Exchange:
    talk = half_way("The sender acknowledges nothing any more, and sends KEEPALIVEs.", death_timer_s=8)
    talk.sends_buffer(MIDDLE)
    told = talk.accept(MIDDLE), *talk.grants(1)
    talk.says(*told)
    for second in range(5):
        talk.wait(1000)
        frame = talk.puts(SENDER, "KEEPALIVE")
        if second == 0:
            talk.looks_like("CTRL-10", frame, SENDER)
        talk.says(*told)
    return talk


def one_by_one() -> Exchange:
    talk = Talk("The sender acknowledges the first of two messages of a CONTROL, and seconds later still no more.")
    talk.capture_position = "sender"
    talk.opens()
    talk.responds()
    told = talk.grants(2)
    talk.says(*told)
    talk.answers(1)
    for _ in range(4):
        talk.wait(1000)
        talk.says(told[1])
    frame = talk.answers(1)
    talk.breaks("CTRL-12", frame, SENDER)
    talk.may_look_like("CTRL-10", frame, SENDER)
    for _ in range(12):
        talk.puts(RECEIVER, "KEEPALIVE")
    return talk


def quiet_minute(talk: Talk, requirement: str) -> Exchange:
    """KEEPALIVEs only, and no RESEND by the receiver."""
    for number in range(15):
        talk.wait(4000)
        talk.puts(SENDER, "KEEPALIVE")
        frame = talk.puts(RECEIVER, "KEEPALIVE")
        if number == 0:
            talk.looks_like(requirement, frame, RECEIVER)
    return talk


def with_a_hole(about: str) -> Talk:
    """Packet 1 of buffer 3 is lost."""
    talk = Talk(about)
    talk.start()
    talk.run(0, 3)
    talk.answers()
    talk.sends_buffer(3, skip=[1])
    return talk


def never_requested() -> Exchange:
    talk = with_a_hole("A packet is lost, and the receiver does not request it.")
    return quiet_minute(talk, "TIMER-07")


def requested_once() -> Exchange:
    talk = with_a_hole("A packet is lost twice, and the receiver requests it once.")
    talk.wait(300)
    talk.says(talk.missing(3, [1]))
    talk.answers()
    return quiet_minute(talk, "RESEND-04")


def never_repeated() -> Exchange:
    talk = half_way("A CONTROL is not acknowledged and not repeated; KEEPALIVEs go both ways.", death_timer_s=8)
    told = talk.seq
    talk.sends_buffer(MIDDLE)
    frame = talk.says(talk.accept(MIDDLE), *talk.grants(1), comment="lost behind the capture point")
    for _ in range(5):
        talk.wait(1000)
        talk.puts(RECEIVER, "KEEPALIVE")
        talk.answers(told)
    talk.looks_like("TIMER-01", frame, RECEIVER)
    talk.may_look_like("CTRL-10", frame, SENDER)
    return talk


def repeated_late() -> Exchange:
    talk = half_way("A CONTROL is repeated after 2 s; the OKs publish a control timer of 200 ms.", death_timer_s=8)
    talk.sends_buffer(MIDDLE)
    told = talk.accept(MIDDLE), *talk.grants(1)
    talk.says(*told, comment="lost behind the capture point")
    talk.wait(2000)
    talk.looks_like("TIMER-03", talk.says(*told), RECEIVER)
    talk.may_look_like("ORDER-04", talk.sends_piece(MIDDLE + 1, 0), SENDER)
    talk.sends_buffer(MIDDLE + 1, skip=[0])
    talk.accepts(MIDDLE + 1)
    return talk.finish(MIDDLE + 2)


def keepalives_too_rare() -> Exchange:
    talk = Talk("The sender's client is slow, and KEEPALIVEs come at 0.6 of the death timer.", death_timer_s=10)
    talk.start()
    talk.run(0, 3)
    talk.answers()
    for number in range(4):
        for _ in range(3):
            talk.wait(2000)
            talk.puts(RECEIVER, "KEEPALIVE")
        frame = talk.puts(SENDER, "KEEPALIVE")
        if number == 0:
            talk.looks_like("TIMER-11", frame, SENDER)
    talk.may_look_like("ORDER-04", talk.sends_buffer(3)[0], SENDER)
    talk.accepts(3)
    return talk.finish(4)


def keepalives_stop() -> Exchange:
    talk = Talk("The sender's KEEPALIVEs stop after a while, the receiver's go on.", death_timer_s=4)
    talk.start()
    talk.run(0, 3)
    talk.answers()
    for number in range(12):
        talk.wait(1000)
        frame = talk.puts(RECEIVER, "KEEPALIVE")
        if number < 4:
            talk.puts(SENDER, "KEEPALIVE")
        elif number == 4:
            talk.looks_like("TIMER-11", frame, SENDER)
    return talk


def quit_once() -> Exchange:
    talk = half_way("QUIT is lost and not repeated; both ends go on for seconds with KEEPALIVEs.", death_timer_s=8)
    frame = talk.puts(SENDER, "QUIT", text_field("enough"), "lost behind the capture point")
    for _ in range(6):
        talk.wait(1000)
        talk.puts(RECEIVER, "KEEPALIVE")
        talk.puts(SENDER, "KEEPALIVE")
    talk.looks_like("QUIT-02", frame, SENDER)
    return talk


def quit_at_once_again() -> Exchange:
    talk = half_way("QUIT is repeated three times within 30 ms.")
    talk.puts(SENDER, "QUIT", text_field("enough"))
    for number in range(3):
        talk.wait(5)
        frame = talk.puts(SENDER, "QUIT", text_field("enough"))
        if number == 0:
            talk.looks_like("QUIT-02", frame, SENDER)
        if number == 1:
            talk.may_look_like("QUIT-01", frame, RECEIVER)
    talk.puts(RECEIVER, "QUITACK")
    return talk


def quit_repeated() -> Exchange:
    """Look-alike: once a second, the first ones are lost."""
    talk = half_way("QUIT is repeated after one and two seconds, and then acknowledged.")
    for _ in range(2):
        talk.puts(SENDER, "QUIT", text_field("enough"), "lost behind the capture point")
        talk.wait(1000)
    talk.puts(SENDER, "QUIT", text_field("enough"))
    talk.puts(RECEIVER, "QUITACK")
    return talk


def quit_inside_a_buffer() -> Exchange:
    talk = half_way("The sender quits after the second of four packets of a buffer.")
    talk.sends_piece(MIDDLE, 0)
    talk.sends_piece(MIDDLE, 1)
    talk.looks_like("QUIT-04", talk.puts(SENDER, "QUIT", text_field("enough")), SENDER)
    talk.puts(RECEIVER, "QUITACK")
    return talk


def done_again_and_again() -> Exchange:
    talk = Talk("The receiver sends DONE three times, though the sender sends nothing.")
    talk.start().finish(0)
    talk.wait(100)
    talk.looks_like("CLOSE-06", talk.says_done(), RECEIVER)
    talk.wait(100)
    talk.says_done()
    return talk


def done_for_a_late_packet() -> Exchange:
    """Look-alike: the sender has not got the first."""
    talk = Talk("The first DONE is lost; the receiver repeats DONE when the sender acknowledges once more.")
    talk.start().finish(0)
    talk.wait(100)
    talk.answers()
    talk.says_done()
    return talk


def response_from_the_active_end() -> Exchange:
    talk = Talk("The end that opened sends a RESPONSE as well.")
    talk.opens()
    talk.responds()
    talk.looks_like("OPEN-01", talk.capture(talk.emit(SENDER, talk.opens_as("RESPONSE"))), SENDER)
    talk.says(*talk.grants(2))
    return talk.finish(0)


class Ports(Talk):
    """The sender's port is given."""

    port = 1024

    def ports(self, emitter: str) -> dict[str, Any]:
        mine, other = (self.port, 1) if emitter == SENDER else (1, self.port)
        return {"local_port": mine, "foreign_port": other}


def same_id_beside() -> Exchange:
    talk = Ports("While a connection is open its end opens another with the same unique ID from another port.")
    talk.start()
    talk.run(0, 3)
    talk.port = 1025
    talk.looks_like("OPEN-14", talk.opens(), SENDER)
    talk.responds()
    return talk


def constant_id() -> Exchange:
    talk = Ports("Three connections, one after the other and from three ports, have one unique ID.")
    for number in range(3):
        talk.port = 1024 + number
        talk.seq = talk.granted = 0
        frame = talk.opens()
        if number > 0:
            talk.looks_like("OPEN-14", frame, SENDER)
        talk.responds()
        talk.says(*talk.grants(2))
        talk.finish(0)
    return talk


SCRIPTS: dict[str, Callable[[], Exchange]] = {
    "ctrl10-keepalives-only": keepalives_only,
    "ctrl12-one-by-one": one_by_one,
    "timer07-never-requested": never_requested,
    "resend04-requested-once": requested_once,
    "timer01-never-repeated": never_repeated,
    "timer03-repeated-late": repeated_late,
    "timer11-too-rare": keepalives_too_rare,
    "timer11-stops": keepalives_stop,
    "quit02-once": quit_once,
    "quit02-at-once": quit_at_once_again,
    "quit-like-repeated": quit_repeated,
    "quit04-inside-a-buffer": quit_inside_a_buffer,
    "close06-again-and-again": done_again_and_again,
    "close06-like-asked-for": done_for_a_late_packet,
    "open01-response-from-the-active-end": response_from_the_active_end,
    "open14-beside": same_id_beside,
    "open14-constant": constant_id,
}
