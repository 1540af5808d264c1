# SPDX-License-Identifier: GPL-2.0-or-later
"""Captures of ends that read RFC 998 another way, where it can be read so, and of breaches that only such an end, or
only a carrier without IP IDs, shows in another light."""

from __future__ import annotations

from pcaps.tools.exchange import RECEIVER, SENDER, Exchange
from pcaps.tools.octets import reason
from pcaps.tools.talk import Talk

MIDDLE = 12


def half_way(about: str) -> Talk:
    talk = Talk(about, buffers=24)
    talk.start()
    talk.run(0, MIDDLE)
    return talk


# --- what counts as proof ---


def stray_response() -> Exchange:
    """OPEN-09: the ABORT names no unique ID, and the connection goes on. So does its story."""
    talk = half_way("A RESPONSE of long ago comes in the middle of a transfer, and is refused by ABORT; all goes on.")
    talk.may_look_like("OPEN-02", talk.responds(unique_id=0x0112_1987), RECEIVER)
    talk.capture(talk.emit(SENDER, reason("ABORT", "another connection", **talk.ports(SENDER))))
    return talk.finish(MIDDLE)


SCRIPTS = {
    "open09-like-stray-response": stray_response,
}
