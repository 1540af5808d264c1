# SPDX-License-Identifier: GPL-2.0-or-later
"""Captures of behaviour that RFC 998 permits and few implementations show. Nothing in them is a violation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pcaps.tools.exchange import PACKETS_PER_BUFFER, RECEIVER, SENDER, Exchange, Frame
from pcaps.tools.forged_data import MIDDLE, half_way
from pcaps.tools.octets import Message, go, packet, reason, setup, text_field
from pcaps.tools.talk import Talk

REUSED = 0x0998_0030


# --- numbers of buffers, and GOs that are not needed ---


def go_past_the_end() -> Exchange:
    talk = Talk("With the OK of each of the last buffers comes a GO for one beyond the end.")
    talk.start()
    last = talk.buffers - 1
    for buffer in range(last - 2, talk.buffers):
        if buffer == last - 2:
            talk.run(0, buffer)
        talk.sends_buffer(buffer)
        talk.says(talk.accept(buffer), *(talk.grants(1) or [go(talk.number(), buffer + 2)]))
    talk.answers()
    talk.says_done()
    return talk


class Steps(Talk):
    """Buffer numbers go up by three."""

    def piece(self, buffer: int, number: int, comment: str | None = None, **fields: Any) -> Frame:
        octets = self.octets_of(buffer, number)
        values = {"octets": octets, "last_buffer": buffer == self.buffers - 1, **fields}
        return super().piece(3 * buffer, number, comment, **values)

    def grants(self, count: int) -> list[Message]:
        return [go(message.fields["seq"], 3 * message.fields["buffer"]) for message in super().grants(count)]

    def accept(self, buffer: int, **offer: Any) -> Message:
        return super().accept(3 * buffer, **offer)

    def missing(self, buffer: int, packets: Sequence[int], **fields: Any) -> Message:
        return super().missing(3 * buffer, packets, **fields)


def buffer_steps() -> Exchange:
    talk = Steps("Buffer numbers go up by three; a packet is lost and requested.", buffers=24)
    talk.start()
    talk.run(0, MIDDLE)
    talk.sends_buffer(MIDDLE, lost=[1])
    talk.wait(50)
    talk.says(talk.missing(MIDDLE, [1]))
    talk.sends_piece(MIDDLE, 1)
    talk.accepts(MIDDLE)
    return talk.finish(MIDDLE + 1)


def surplus_go_waits() -> Exchange:
    talk = half_way("The receiver gives more GOs than agreed; the sender lets them wait.")
    talk.sends_buffer(MIDDLE)
    talk.may_look_like("DATA-12", talk.says(talk.accept(MIDDLE), *talk.grants(3)), RECEIVER)
    for buffer in range(MIDDLE + 1, talk.buffers):
        talk.sends_buffer(buffer)
        talk.says(talk.accept(buffer), *talk.grants(1))
    talk.answers()
    talk.says_done()
    return talk


def one_go_at_a_time() -> Exchange:
    talk = Talk("The receiver has one buffer in transfer at a time, four were agreed.", max_buffers=4)
    talk.opens()
    talk.responds()
    talk.says(*talk.grants(1))
    return talk.finish(0)


# --- requests ---


def literal_resend() -> Exchange:
    talk = half_way("A RESEND names packets that were still to be sent; the sender sends them first, and then again.")
    talk.sends_buffer(MIDDLE, skip=[2, 3])
    talk.says(talk.missing(MIDDLE, [2, 3]))
    talk.sends_buffer(MIDDLE, skip=[0, 1])
    for number in (2, 3):
        talk.may_look_like("RESEND-08", talk.sends_piece(MIDDLE, number), SENDER)
    talk.accepts(MIDDLE)
    return talk.finish(MIDDLE + 1)


def ldata_for_what_is_beyond() -> Exchange:
    talk = Talk("The last buffer is short; the reply to a request for packets beyond its end is the LDATA.")
    talk.start()
    last = talk.buffers - 1
    talk.run(0, last)
    talk.sends_piece(last, 0)
    talk.sends_piece(last, 1, "lost behind the capture point", type="LDATA")
    talk.wait(100)
    talk.says(talk.missing(last, [1, 2, 3]))
    for _ in range(3):
        talk.sends_piece(last, 1, type="LDATA")
    talk.says(talk.accept(last))
    talk.answers()
    talk.says_done()
    return talk


def descending_bursts() -> Exchange:
    talk = half_way("The packets of a buffer go out in descending order, the LDATA last.")
    for buffer in range(MIDDLE, talk.buffers):
        for number in (*range(PACKETS_PER_BUFFER - 2, -1, -1), PACKETS_PER_BUFFER - 1):
            talk.sends_piece(buffer, number)
        talk.accepts(buffer)
    talk.answers()
    talk.says_done()
    return talk


def packets_left_out() -> Exchange:
    talk = half_way("The sender leaves packets of each buffer out, LDATA too, until a RESEND names them (AMB-72).")
    for buffer in range(MIDDLE, talk.buffers):
        left_out = [1, PACKETS_PER_BUFFER - 1] if buffer % 2 else [2]
        talk.sends_buffer(buffer, skip=left_out)
        talk.wait(100)
        talk.says(talk.missing(buffer, left_out))
        for number in left_out:
            talk.sends_piece(buffer, number)
        talk.accepts(buffer)
    talk.answers()
    talk.says_done()
    return talk


# --- opening ---


def nul_in_the_string() -> Exchange:
    talk = Talk("The client string holds a NUL and a second word.")
    talk.opens(string=b"file\0octet\0\0")
    talk.responds(string=b"yes\0no\0\0")
    talk.says(*talk.grants(2))
    return talk.finish(0)


def copies_with_other_client_fields() -> Exchange:
    talk = Talk("Copies of OPEN and RESPONSE have another client string and transfer size.")
    talk.opens(string="attempt 1")
    talk.responds(string="hello", transfer_size=4000)
    talk.wait(500)
    talk.opens(string="attempt 2", transfer_size=1)
    talk.responds(string="hello again", transfer_size=4096)
    talk.says(*talk.grants(2))
    return talk.finish(0)


def refused() -> Exchange:
    talk = Talk("The passive end refuses what it could have restricted; a request for less is accepted.")
    talk.opens(unique_id=7, buffer_size=1 << 20)
    talk.capture(talk.emit(RECEIVER, reason("REFUSED", "too large", **talk.ports(RECEIVER))))
    talk.wait(1000)
    return talk.start().finish(0)


def slower_before_any_ok() -> Exchange:
    talk = Talk("Before any OK the sender reports a slower pair than the RESPONSE has.")
    talk.start()
    talk.answers(burst_size=4, burst_interval_ms=40)
    return talk.finish(0)


class Versions(Talk):
    """Each end has a version byte."""

    versions: dict[str, int]

    def ports(self, emitter: str) -> dict[str, Any]:
        return {**super().ports(emitter), "version": self.versions[emitter]}


def version(about: str, sender: int, receiver: int) -> Callable[[], Exchange]:
    def script() -> Exchange:
        talk = Versions(about)
        talk.versions = {SENDER: sender, RECEIVER: receiver}
        return talk.start().finish(0)

    return script


# --- close, and what comes after it ---


def rejects_the_announced_size() -> Exchange:
    talk = Talk("The receiver's client has no room for the announced size, and quits before the first GO.")
    talk.opens(transfer_size=1 << 30)
    talk.responds()
    talk.puts(RECEIVER, "QUIT", text_field("no room"))
    talk.puts(SENDER, "QUITACK")
    return talk


def quit_that_was_forged() -> Exchange:
    """Both ends transfer on: the receiver never sent it, and the sender does not believe it (AMB-73)."""
    talk = half_way("Another host sends a QUIT with the receiver's address; the sender replies and does not accept it.")
    talk.sends_buffer(MIDDLE, skip=[PACKETS_PER_BUFFER - 1])
    forged = talk.carried(RECEIVER, 0xBEEF, reason("QUIT", "forged", **talk.ports(RECEIVER)).octets)
    talk.capture(Frame(RECEIVER, forged, "from another host, which has IP IDs of its own"))
    talk.puts(SENDER, "QUITACK")
    talk.wait(100)
    talk.says(talk.missing(MIDDLE, [PACKETS_PER_BUFFER - 1]))  # the receiver transfers on
    talk.sends_piece(MIDDLE, PACKETS_PER_BUFFER - 1)
    talk.accepts(MIDDLE)
    return talk.finish(MIDDLE + 1)


def opens_in_the_dally() -> Exchange:
    talk = Talk(
        "The DONE is lost before the capture; the receiver, which is active, opens again in the sender's dally."
    )
    talk.active = RECEIVER
    talk.start()
    talk.run(0, talk.buffers)
    talk.answers()
    talk.emit(RECEIVER, packet("DONE", **talk.ports(RECEIVER)))
    return again(talk, unique_id=REUSED + 1)


def id_reused(active: str, **changed: Any) -> Callable[[], Exchange]:
    def script() -> Exchange:
        talk = Talk("After DONE the same ports are opened again with the same unique ID.")
        talk.active = active
        talk.start().finish(0)
        return again(talk, **changed)

    return script


def id_reused_without_order() -> Exchange:
    talk = Talk("After DONE the same ports are opened again with the same unique ID; there are no IP IDs.")
    talk.climbing_ids = False
    talk.start().finish(0)
    return again(talk, burst_size=4)


def late_copies(again_in_order: bool) -> Callable[[], Exchange]:
    """The network delivers OPEN and RESPONSE of the first connection once more."""

    def script() -> Exchange:
        talk = Talk("Old copies of OPEN and RESPONSE arrive after the end, and the ID is used again.")
        old = [talk.opens()]
        late = talk.emit(RECEIVER, setup("RESPONSE", **{**talk.terms(), **talk.ports(RECEIVER), "burst_size": 9}))
        old.append(talk.responds())
        talk.says(*talk.grants(2))
        talk.finish(0)
        for frame in old:
            talk.capture(frame, "the network's copy")
        if again_in_order:
            talk.proposal["burst_size"] = 4
            talk.looks_like("OPEN-14", talk.opens(), SENDER)
            talk.capture(late, "of the connection before, on its way for long")
            talk.may_look_like("OPEN-07", late, RECEIVER)
            talk.responds()
            talk.seq = talk.granted = 0
            talk.says(*talk.grants(2))
            talk.finish(0)
        return talk

    return script


def again(talk: Talk, **changed: Any) -> Exchange:
    """Another whole transfer on the same ports."""
    talk.proposal.update(changed)
    talk.seq = talk.granted = 0
    frame = talk.opens()
    if "unique_id" not in changed:
        talk.may_look_like("OPEN-14", frame, talk.active)
    talk.responds()
    talk.says(*talk.grants(2))
    return talk.finish(0)


SCRIPTS: dict[str, Callable[[], Exchange]] = {
    "permitted-go-past-the-end": go_past_the_end,
    "permitted-buffer-steps": buffer_steps,
    "permitted-surplus-go": surplus_go_waits,
    "permitted-one-go-at-a-time": one_go_at_a_time,
    "permitted-literal-resend": literal_resend,
    "permitted-ldata-for-beyond": ldata_for_what_is_beyond,
    "permitted-descending-bursts": descending_bursts,
    "permitted-packets-left-out": packets_left_out,
    "permitted-quit-forged": quit_that_was_forged,
    "permitted-nul-in-the-string": nul_in_the_string,
    "permitted-other-client-fields": copies_with_other_client_fields,
    "permitted-refused": refused,
    "permitted-slower-before-any-ok": slower_before_any_ok,
    "permitted-version-echo": version("The passive end echoes the version byte 7 of the OPEN.", 7, 7),
    "permitted-version-fixed": version("The passive end has a version byte of its own.", 7, 2),
    "permitted-size-rejected": rejects_the_announced_size,
    "permitted-open-in-the-dally": opens_in_the_dally,
    "permitted-id-reused": id_reused(SENDER),
    "permitted-id-reused-other-terms": id_reused(SENDER, burst_size=4, max_buffers=5, string="another"),
    "permitted-id-reused-active-receiver": id_reused(RECEIVER, burst_size=4),
    "permitted-id-reused-without-order": id_reused_without_order,
    "permitted-id-late-copies": late_copies(False),
    "permitted-id-reused-late-copies": late_copies(True),
}
