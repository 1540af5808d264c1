# SPDX-License-Identifier: GPL-2.0-or-later
"""What judges of generated scripts find beside the oracles: they know what the script has done on purpose."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Hashable, Iterator

from netblt_conformance.cases.case import Case
from netblt_conformance.catalogue import catalogue
from netblt_conformance.common.verdicts import Verdict
from netblt_conformance.generated.script import Script
from netblt_conformance.oracles.base import Check, Violation
from netblt_conformance.packets.packets import Type
from netblt_conformance.peer.base import Peer
from netblt_conformance.peer.exchange import UnmetError

_ALWAYS = ("CKSUM", "WIRE")  # areas that hold for every packet, whatever the tester does
OF_NO_CONNECTION = (Type.ABORT, Type.REFUSED)  # legal answers to a packet of no connection (AMB-55)
LOOSENED = Check(
    "NEG-10",
    expected="at most its own proposal (AMB-25)",
    seen="it uses a {name} beyond its own proposal",
    verdict=Verdict.WARN,
)
PORTS_NOT_EXCHANGED = Check(
    "WIRE-13", expected="its own port as Local Port", seen="the ports of the answer are those of the packet"
)
SERVED_ELSEWHERE = Check("OPEN-06", expected="REFUSED", seen="an OPEN for a port that is not served was accepted")
OPENED_BY_ANOTHER = Check(
    "OPEN-10",
    expected="no transfer before a RESPONSE with the unique ID of the OPEN",
    seen="{type} came, and no RESPONSE with the unique ID of the OPEN was sent",
)
ABORT_ANSWERED = Check("DEMUX-03", expected="no answer to ABORT (AMB-55)", seen="{type} answers an ABORT")
RESPONSE_ANSWERED = Check(
    "OPEN-08", expected="no answer to RESPONSE", seen="{count} packets answer 20 copies of RESPONSE"
)
KEEPALIVE_ANSWERED = Check(
    "TIMER-12", expected="no answer to KEEPALIVE", seen="{count} KEEPALIVEs answer 20 KEEPALIVEs"
)
KEEPALIVE_ANSWERED_OTHERWISE = Check(  # RFC 998 does not forbid it
    "TIMER-12",
    expected="no answer to KEEPALIVE",
    seen="{count} packets answer 20 KEEPALIVEs",
    verdict=Verdict.WARN,
)
OTHER_REFUSED = Check(
    "DEMUX-02",
    expected="RESPONSE or REFUSED to an OPEN from another port (AMB-19)",
    seen="an OPEN from another port was answered with ABORT",
    verdict=Verdict.WARN,
)
DALLY_ENDS = Check(
    "CLOSE-04",
    expected="a dally that follows the control timer of the newest OK",
    seen="an OK that published {timer_ms} ms was not acknowledged when it was repeated within that time",
    verdict=Verdict.WARN,
)
LATE_QUITACK = Check(
    "QUIT-03",
    expected="QUITACK (AMB-57)",
    seen="a QUIT that was repeated after a second was not answered",
    verdict=Verdict.WARN,
)
DIED_IN_TRANSFER = Check(
    "TIMER-10", expected="an open connection while packets come", seen="it gave up although packets came"
)
NEXT_WAITS = Check(
    "DATA-11",
    expected="the next buffer without waiting for OK of the one before",
    seen="no data of buffer {buffer} for {waited_s:g} s, though its GO was acknowledged and all before it came",
    verdict=Verdict.WARN,
)
GO_WITHOUT_MEMORY = Check(
    "CTRL-13",
    expected="no GO before the client has a buffer",
    seen="GO for buffer {buffer}, which the client withholds until {until_s:g} s",
)
QUIT_INSIDE = {
    verdict: Check(
        "QUIT-04", expected="QUIT after the buffer (AMB-56)", seen="QUIT in the middle of a buffer", verdict=verdict
    )
    for verdict in (Verdict.WARN, Verdict.FAIL)
}
OTHER_REASON = Check("QUIT-06", expected="the reason that the client gave", seen="QUIT has the reason {reason!r}")
NO_REASON = Check(
    "QUIT-06", expected="the reason that the client gave (AMB-03)", seen="QUIT has no reason", verdict=Verdict.WARN
)
REASON_BEYOND = Check(
    "ROBUST-05", expected="the reason in the packet", seen="the reason of QUIT reached the client as {reason!r}"
)
OTHER_STRING = Check(
    "OPEN-12",
    expected="the client string that the tester sent",
    seen="the client string reached the client as {string!r}",
    verdict=Verdict.WARN,
)
SAME_ID = Check(
    "OPEN-14",
    expected="another unique ID for each connection request",
    seen="two connection requests have the unique ID {unique_id:#010x}",
)
DIED_EARLY = Check(
    "TIMER-10",
    expected="an open connection until the declared death timer expires",
    seen="it gave up after {waited_s:g} s of silence, {declared_s} s were declared",
)
LIVES_ON = Check(
    "TIMER-10",
    expected="an end that gives up a peer which is silent after its OPEN",
    seen="{type} came after the death timer",
)
_LIMITS = {
    "buffer_size": "NEG-01",
    "packet_size": "NEG-02",
    "burst_size": "NEG-03",
    "burst_interval_ms": "NEG-04",
    "max_buffers": "NEG-05",
}
BEYOND_LIMIT = {
    name: Check(
        requirement,
        expected="an answer within the limits that the implementation was started with",
        seen="{name} {asked} was answered with {answer}, its own limit is {limit}",
        verdict=Verdict.WARN,
    )
    for name, requirement in _LIMITS.items()
}


def tell(peer: Peer, check: Check, frame: int | None, **values: Hashable) -> None:
    """A violation of this check."""
    peer.monitor.report(Violation(check, tuple(values.items()), frame))


def accuse(case: Case, verdict: Verdict, requirement: str, seen: str, frame: int | None, expected: str) -> None:
    """Makes this the outcome of the script, unless it has a worse one."""
    if case.judgement.worsen(verdict, seen, frame, expected=expected):
        case.judgement.requirement = requirement


@contextlib.contextmanager
def due(requirement: str) -> Iterator[None]:
    """What is awaited inside is due by this requirement, where the tester knows none that fits more closely."""
    try:
        yield
    except UnmetError as unmet:
        unmet.due_by = unmet.due_by or requirement
        raise


def forgive(peer: Peer, kept: Collection[str] = ()) -> None:
    """From here on only the rules for each packet by itself hold, and `kept`: others rest on what the tester has not
    sent, or has sent in a way that not all implementations accept."""
    ids = catalogue.requirements()
    peer.monitor.disabled.update(one for one in ids if one.partition("-")[0] not in _ALWAYS and one not in kept)


def limits(peer: Peer, script: Script) -> None:
    """A passive end accepts no more than it was started with."""
    if not peer.responses:
        return  # its ports are wrong, which the oracles report
    response = peer.responses[0]
    for name, check in BEYOND_LIMIT.items():
        answer, limit = getattr(response.packet, name), getattr(script.iut, name)
        beyond = answer < limit if name == "burst_interval_ms" else answer > limit
        if beyond and peer.link.imposes(script.role, name):
            asked = getattr(peer.parameters, name)
            tell(peer, check, response.frame, name=name, asked=asked, answer=answer, limit=limit)
