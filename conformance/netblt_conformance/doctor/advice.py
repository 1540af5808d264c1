# SPDX-License-Identifier: GPL-2.0-or-later
"""What to do about a role that does not work: decided by how far its transfer came."""

from __future__ import annotations

import signal

from netblt_conformance.cases.case import Profile
from netblt_conformance.common.words import last_lines, printable
from netblt_conformance.doctor.transfer import Examined, Stage
from netblt_conformance.links.base import Account

_BY_STAGE = {
    Stage.NOT_STARTED: "correct the command of this role in the adapter; run the command line above by hand",
    Stage.REFUSED: "the string in its REFUSED gives its reason; compare the OPEN above with what it accepts",
    Stage.OPEN: "the connection opens; look at what follows the RESPONSE: GO, control numbers from 1, buffer",
    Stage.BEGUN: "data move; look at the last packets above: what it should acknowledge or send next is missing",
    Stage.ENDED_BADLY: "the packets are complete; look at how its client learns the end, and at the exit status",
}
_PIPE_CRASH = "docs/pipe.md gives each frame; run --trace FILE writes those of a run"


def ending(account: Account) -> str:
    """How the process ended, as text; empty when it runs or there is none."""
    code = account.exit_status
    if code is None:
        return ""
    return f"exit status {code}" if code >= 0 else f"ended by {signal.Signals(-code).name}"


def summary(examined: Examined, link: str) -> str:
    """One line: what works, or what does not and what to do."""
    if examined.stage is Stage.WORKS:
        return f"works{_choices(examined.profile)}"
    reason = printable(examined.reason)
    if examined.stage is Stage.NOT_SUPPORTED:
        return f"not supported: {reason}"
    account = examined.account
    facts = [reason]
    if account.errors.strip() and examined.stage is Stage.CRASHED:
        facts.append(f"standard error: {last_lines(account.errors)}")
    return f"does not work ({examined.stage.value}): {'; '.join(filter(None, facts))}. To do: {to_do(examined, link)}"


def _choices(profile: Profile) -> str:
    """Where it differs from what is tried first; RFC 998 leaves these open."""
    usual = Profile()
    found = [
        f"version byte {profile.version}" if profile.version != usual.version else "",
        f"first buffer number {profile.first_buffer}" if profile.first_buffer != usual.first_buffer else "",
        f"first packet number {profile.spelling.first_packet}" if profile.spelling.first_packet else "",
        f"header checksum of data covers {profile.spelling.covers.value}" if profile.spelling != usual.spelling else "",
    ]
    words = ", ".join(filter(None, found))
    return f" ({words})" if words else ""


def to_do(examined: Examined, link: str) -> str:
    """What to look at first."""
    stage, account = examined.stage, examined.account
    if stage is Stage.CRASHED:
        return _PIPE_CRASH if link == "pipe" else "run the command line above in a debugger or with a sanitizer"
    if stage in (Stage.SILENT, Stage.NOT_OPEN) and account.exit_status is not None:
        return "it ended before the connection was open: run the command line above by hand"
    if stage is Stage.SILENT:
        return _silent(examined, link)
    if stage is Stage.NOT_OPEN:
        return "it sends packets, but none that opens this connection: compare version, ports and checksum above"
    return _BY_STAGE[stage]


def _silent(examined: Examined, link: str) -> str:
    active = examined.role.active
    if link == "pipe":
        return (
            "answer START with an OUTPUT frame that holds the OPEN, before STATE"
            if active
            else "answer a PACKET frame that holds an OPEN with an OUTPUT frame that holds the RESPONSE"
        )
    if link == "sim":
        return "iut_output() must give the OPEN after iut_start(), or the RESPONSE after iut_packet()"
    if active:
        return "it must send an OPEN to {peer_address}, NETBLT port {peer_port}, with the adapter's encapsulation"
    return "it must listen on {local_address}, NETBLT port {local_port}, with the adapter's encapsulation"
