# SPDX-License-Identifier: GPL-2.0-or-later
"""Captures whose directions are out of step: each is in order, but an effect is captured before its cause.

So write hosts that put two interfaces or two queues into one file. Nothing is wrong in any of these transfers."""

from __future__ import annotations

from pcaps.tools.exchange import BURST, PACKETS_PER_BUFFER, RECEIVER, SENDER, Exchange
from pcaps.tools.octets import null_ack
from pcaps.tools.talk import Talk

MIDDLE = 32  # so many packets in good order by then that a reader may think that there is no other


def half_way(about: str) -> Talk:
    talk = Talk(about, buffers=48)
    talk.start()
    talk.run(0, MIDDLE)
    return talk


def control_behind_its_effect() -> Exchange:
    talk = half_way("A CONTROL is captured after the data that it requests, and their acknowledgements.")
    talk.sends_buffer(MIDDLE)
    held = talk.queue(talk.accept(MIDDLE), *talk.grants(1), comment="emitted before what stands above")
    talk.may_look_like("CTRL-06", talk.sends_buffer(MIDDLE + 1)[0], SENDER)
    frame = talk.sends_piece(MIDDLE + 2, 0)
    talk.may_look_like("DATA-01", frame, SENDER)
    talk.may_look_like("DATA-12", frame, SENDER)
    talk.capture(held)
    talk.may_look_like("CTRL-04", talk.accepts(MIDDLE + 1), RECEIVER)
    talk.sends_buffer(MIDDLE + 2, skip=[0])
    talk.accepts(MIDDLE + 2)
    return talk.finish(MIDDLE + 3)


def data_behind_their_ok() -> Exchange:
    talk = half_way("The end of a buffer is captured after the OK for it.")
    talk.sends_buffer(MIDDLE, skip=[2, 3])
    held = [talk.piece(MIDDLE, number, "emitted before the OK") for number in range(2, PACKETS_PER_BUFFER)]
    talk.may_look_like("CTRL-14", talk.accepts(MIDDLE), RECEIVER)
    for frame in held:
        talk.capture(frame)
    return talk.finish(MIDDLE + 1)


def acknowledgement_behind_done() -> Exchange:
    talk = half_way("The last acknowledgement is captured after DONE.")
    talk.run(MIDDLE, talk.buffers)
    held = talk.emit(SENDER, null_ack(talk.seq, **BURST, **talk.ports(SENDER)), "emitted before DONE")
    talk.may_look_like("CLOSE-01", talk.says_done(), RECEIVER)
    talk.capture(held)
    for _ in range(4):
        talk.wait(400)
        talk.puts(SENDER, "KEEPALIVE")
    return talk


SCRIPTS = {
    "data01-like-out-of-step": control_behind_its_effect,
    "ctrl14-like-out-of-step": data_behind_their_ok,
    "close01-like-out-of-step": acknowledgement_behind_done,
}
