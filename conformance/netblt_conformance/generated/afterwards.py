# SPDX-License-Identifier: GPL-2.0-or-later
"""What an implementation does when a script is over: it closes, sends nothing more, gives late packets no service, and
its ports can be used again."""

from __future__ import annotations

from netblt_conformance.cases.case import Case
from netblt_conformance.common.model import MICROSECONDS_PER_S as S
from netblt_conformance.common.tolerances import QUIET_US, death_max_us
from netblt_conformance.common.verdicts import Verdict
from netblt_conformance.generated import findings
from netblt_conformance.generated.moves import Player
from netblt_conformance.oracles.base import Check
from netblt_conformance.packets.packets import Packet, Type
from netblt_conformance.peer import ReceiverPeer, SenderPeer

# By how the connection ended ("": as it should), the requirement that no packet may follow.
_REQUIREMENT = {
    "": "CLOSE-06",
    "quit": "QUIT-05",
    "client-quit": "QUIT-02",
    "abort": "ABORT-02",
    "client-abort": "ABORT-01",
    "silent": "TIMER-10",
}
STILL_OPEN = Check(
    "CLOSE-04",
    expected="an end that closes",
    seen="the outcome was reported to the client, and it does not close within {waited_s:g} s",
)
FOLLOWS = {
    how: Check(requirement, expected="no packet of a connection that is closed", seen="{type} came after it had closed")
    for how, requirement in _REQUIREMENT.items()
}
SERVED = {
    how: Check(requirement, expected="ABORT, REFUSED or no answer to a late packet (AMB-55)", seen="{type} answers it")
    for how, requirement in _REQUIREMENT.items()
}
PORTS_REFUSED = Check(
    "DEMUX-04",
    expected="RESPONSE, REFUSED or no answer",
    seen="a new OPEN on the ports of a closed connection was answered with ABORT",
    verdict=Verdict.WARN,
)
NOT_SERVED = Check(
    "DEMUX-04",
    expected="at least a KEEPALIVE",
    seen="a new OPEN on the ports of a closed connection got RESPONSE, and no packet follows it",
)
_LISTEN_US = 10 * S
_ROUND_TRIPS_MAX = 8


def judge(case: Case, player: Player) -> None:
    """Once the outcome is known."""
    peer = player.peer
    string = peer.link.peer_string()
    if string is not None and string != player.script.own.client_string:
        findings.tell(peer, findings.OTHER_STRING, None, string=string)
    if not peer.link.tells_outcome or not (peer.link.status().succeeded or peer.link.status().failed):
        return  # a sender may outlive its death timer (AMB-65)
    peer.go_silent()
    # A QUIT may be answered as long as its sender can be alive (QUIT-03), after a dally (CLOSE-04).
    until_us = peer.now_us + max(case.tolerances.close_max_us, death_max_us(peer.terms.iut_death_timer_s))
    if isinstance(peer, ReceiverPeer):
        published_ms = max((one.control_timer_ms for one in peer.monitor.session.issued.messages), default=0)
        until_us += 2 * peer.ms(published_ms)
    began_us = peer.now_us
    while not peer.link.status().closed and peer.now_us < until_us:
        peer.listen(QUIET_US)
    if not peer.link.status().closed:
        findings.tell(peer, STILL_OPEN, None, waited_s=(peer.now_us - began_us) / S)
        return
    how = player.left if player.left in _REQUIREMENT else ""
    _settle(peer)
    for seen in peer.listen(_LISTEN_US)[:1]:
        findings.tell(peer, FOLLOWS[how], seen.frame, type=_name(seen.packet))
    _late(player, how)
    if not player.script.role.active:
        _again(case, peer)


def _settle(peer: ReceiverPeer | SenderPeer) -> None:
    """Listens until no packet is on the way. The tester answers what it receives. That answer may arrive after the end
    of the connection, and the implementation may answer it (AMB-55)."""
    for _ in range(_ROUND_TRIPS_MAX):
        began_us = peer.now_us
        peer.listen(2 * peer.link.delay_us)
        if peer.last_sent_us < began_us:
            return


def _name(packet: Packet) -> str:
    return str(packet)


def _late(player: Player, how: str) -> None:
    """Copies of packets of the connection come late."""
    peer, copies = player.peer, player.copies
    for kinds in ((Type.KEEPALIVE,), (Type.CONTROL, Type.NULL_ACK, Type.DATA, Type.LDATA)):
        frame = copies.newest(kinds)
        if frame is None:
            continue
        copies.deliver_late(frame)
        for seen in peer.listen(QUIET_US)[:1]:
            if seen.packet.type not in findings.OF_NO_CONNECTION:
                findings.tell(peer, SERVED[how], seen.frame, type=_name(seen.packet))
    copies.send_foreign(peer.forge.reason(Type.ABORT, "late"), peer.address)
    for seen in peer.listen(QUIET_US)[:1]:
        findings.tell(peer, findings.ABORT_ANSWERED, seen.frame, type=_name(seen.packet))


def _again(case: Case, peer: ReceiverPeer | SenderPeer) -> None:
    """Another request on the same ports."""
    second = case.again(peer)
    second.send_open()
    for seen in second.listen(case.tolerances.setup_max_us // 2)[:1]:
        if seen.packet.type is Type.ABORT:
            findings.tell(second, PORTS_REFUSED, seen.frame)
        elif seen.packet.type is Type.RESPONSE:
            second.settle(seen.packet, seen.packet.death_timer_s)
            if isinstance(second, ReceiverPeer):
                second.go(0)
            if not second.is_served():
                findings.tell(second, NOT_SERVED, seen.frame)
            second.send_abort()
