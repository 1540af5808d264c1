# SPDX-License-Identifier: GPL-2.0-or-later
"""Captures for the end of a connection: CLOSE, QUIT, ABORT."""

from __future__ import annotations

from pcaps.tools.exchange import RECEIVER, SENDER, Exchange
from pcaps.tools.octets import reason, setup, text_field
from pcaps.tools.talk import Talk


def up_to_last(about: str, *, buffers: int = 24) -> tuple[Talk, int]:
    talk = Talk(about, buffers=buffers)
    talk.start()
    talk.run(0, buffers - 1)
    return talk, buffers - 1


def done_without_ack() -> Exchange:
    talk, last = up_to_last("The receiver sends DONE although its last OK is not acknowledged.", buffers=30)
    talk.sends_buffer(last)
    told = talk.seq
    talk.says(talk.accept(last))
    offence = talk.says_done()
    talk.breaks("CLOSE-01", offence, RECEIVER, proof=SENDER)
    for _ in range(4):
        talk.wait(300)
        talk.answers(told, "has not seen the OK yet")
    return talk


def done_without_ok() -> Exchange:
    talk, last = up_to_last("The receiver sends DONE although one buffer never got its OK.")
    talk.sends_buffer(last)
    talk.wait(50)
    talk.says(talk.missing(last, [0]))
    talk.sends_piece(last, 0)
    talk.answers()
    offence = talk.says_done()
    talk.breaks("CLOSE-01", offence, RECEIVER)
    return talk


def done_ack_not_captured() -> Exchange:
    """Look-alike: the capture missed the acknowledgement."""
    talk, last = up_to_last("The capture missed the acknowledgement of the last OK.")
    talk.sends_buffer(last)
    talk.says(talk.accept(last))
    talk.emit(SENDER, reason("QUIT", "", **talk.ports(SENDER)))  # takes the IP ID that the capture lacks
    talk.may_look_like("CLOSE-01", talk.says_done(), RECEIVER)
    return talk


def final_ok_unanswered() -> Exchange:
    talk, last = up_to_last("The final OK is never acknowledged.")
    talk.sends_buffer(last)
    message = talk.accept(last)
    talk.says(message)
    for _ in range(3):
        talk.wait(250)
        frame = talk.says(message)
    talk.looks_like("CLOSE-03", frame, SENDER)
    return talk


def dally_too_short() -> Exchange:
    talk, last = up_to_last(
        "The final OK is acknowledged once; its repetitions, all within the published time, are not."
    )
    talk.sends_buffer(last)
    message = talk.accept(last, control_timer_ms=2000)
    talk.says(message)
    talk.answers(comment="lost behind the capture point")
    for _ in range(4):
        talk.wait(400)
        frame = talk.says(message)
    talk.looks_like("CLOSE-04", frame, SENDER)
    return talk


def repeated_ok_unanswered() -> Exchange:
    talk, last = up_to_last("The final OK is acknowledged once, its repetitions are not.")
    talk.sends_buffer(last)
    message = talk.accept(last)
    talk.says(message)
    talk.answers(comment="lost behind the capture point")
    for _ in range(4):
        talk.wait(250)
        frame = talk.says(message)
    talk.looks_like("CLOSE-05", frame, SENDER)
    return talk


def data_after_quit() -> Exchange:
    talk, last = up_to_last("The sender quits, and sends another buffer.")
    talk.puts(SENDER, "QUIT", text_field("enough"))
    offence = talk.sends_piece(last, 0)
    talk.breaks("QUIT-05", offence, SENDER)
    talk.puts(RECEIVER, "QUITACK")
    return talk


def data_before_quit_arrives() -> Exchange:
    """Look-alike: what was on its way when the QUIT came."""
    talk, last = up_to_last("The receiver quits while data are on their way; the sender stops when it hears of it.")
    talk.puts(RECEIVER, "QUIT", text_field("enough"))
    talk.sends_piece(last, 0)
    talk.sends_piece(last, 1)
    talk.puts(SENDER, "QUITACK")
    return talk


def acknowledged_after_quit() -> Exchange:
    """Look-alike: a NULL-ACK moves no data."""
    talk, last = up_to_last("The sender quits; a CONTROL that was on its way is acknowledged all the same.")
    talk.sends_buffer(last)
    talk.puts(SENDER, "QUIT", text_field("enough"))
    talk.says(talk.accept(last))
    talk.answers()
    talk.puts(RECEIVER, "QUITACK")
    return talk


def quit_unanswered() -> Exchange:
    talk, _ = up_to_last("QUIT is repeated and nothing answers.")
    for _ in range(4):
        frame = talk.puts(SENDER, "QUIT", text_field("enough"))
        talk.wait(1000)
    talk.looks_like("QUIT-01", frame, RECEIVER)
    return talk


def quit_answered_once() -> Exchange:
    talk, _ = up_to_last("QUIT is answered once, repeated QUITs are not.")
    talk.puts(SENDER, "QUIT", text_field("enough"))
    talk.puts(RECEIVER, "QUITACK", comment="lost behind the capture point")
    for _ in range(3):
        talk.wait(1000)
        frame = talk.puts(SENDER, "QUIT", text_field("enough"))
    talk.looks_like("QUIT-03", frame, RECEIVER)
    return talk


def data_after_abort() -> Exchange:
    talk, last = up_to_last("The sender aborts and sends another buffer; the receiver has not got the ABORT.")
    talk.puts(SENDER, "ABORT", text_field("broken"), "lost behind the capture point")
    talk.looks_like("ABORT-01", talk.sends_piece(last, 0), SENDER)
    for _ in range(6):
        talk.wait(300)
        talk.puts(RECEIVER, "KEEPALIVE")
    return talk


def abort_for_another() -> Exchange:
    """Look-alike: the ABORT answers an OPEN for another connection on the same ports, which the capture missed."""
    talk, last = up_to_last("An ABORT refuses an OPEN that the capture missed, and this connection goes on (OPEN-09).")
    talk.emit(RECEIVER, setup("OPEN", **{**talk.terms(), **talk.ports(RECEIVER), "unique_id": 0x0998_0032}))
    talk.puts(SENDER, "ABORT", text_field("in use"))
    talk.may_look_like("ABORT-01", talk.sends_piece(last, 0), SENDER)
    talk.sends_buffer(last, skip=[0])
    talk.accepts(last)
    talk.answers()
    talk.says_done()
    return talk


def abort_acknowledged() -> Exchange:
    talk, _ = up_to_last("An ABORT is answered with QUITACK.")
    talk.puts(SENDER, "ABORT", text_field("broken"))
    offence = talk.puts(RECEIVER, "QUITACK")
    talk.breaks("ABORT-03", offence, RECEIVER)
    return talk


def aborted_end_goes_on() -> Exchange:
    """Look-alike: the ABORT may be lost."""
    talk, last = up_to_last("The receiver aborts; the ABORT is lost, so that the sender goes on.")
    talk.puts(RECEIVER, "ABORT", text_field("broken"), comment="lost behind the capture point")
    talk.sends_buffer(last)
    return talk


def open_aborted() -> Exchange:
    talk = Talk("An OPEN on fresh ports is answered with ABORT.")
    talk.opens()
    frame = talk.puts(RECEIVER, "ABORT", text_field("who are you"))
    talk.looks_like("DEMUX-02", frame, RECEIVER)
    return talk


def open_after_abort() -> Exchange:
    talk = Talk("An OPEN is answered with ABORT and repeated.")
    talk.opens()
    frame = talk.puts(RECEIVER, "ABORT", text_field("who are you"))
    talk.looks_like("DEMUX-02", frame, RECEIVER)
    talk.wait(1000)
    talk.looks_like("ABORT-04", talk.opens(), SENDER)
    return talk


SCRIPTS = {
    "close01-done-without-ack": done_without_ack,
    "close01-done-without-ok": done_without_ok,
    "close01-like-ack-not-captured": done_ack_not_captured,
    "close03-final-ok-unanswered": final_ok_unanswered,
    "close04-dally-too-short": dally_too_short,
    "close05-repeated-ok-unanswered": repeated_ok_unanswered,
    "quit01-unanswered": quit_unanswered,
    "quit03-answered-once": quit_answered_once,
    "quit05-data-after-quit": data_after_quit,
    "quit-like-null-ack": acknowledged_after_quit,
    "quit-like-data-on-their-way": data_before_quit_arrives,
    "abort01-data-after-abort": data_after_abort,
    "abort01-like-open-not-captured": abort_for_another,
    "abort03-acknowledged": abort_acknowledged,
    "abort-like-lost": aborted_end_goes_on,
    "abort04-open-again": open_after_abort,
    "demux02-open-aborted": open_aborted,
}
