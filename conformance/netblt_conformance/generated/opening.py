# SPDX-License-Identifier: GPL-2.0-or-later
"""How the connection of a script is opened: at once, when packets were lost, beside packets of other connections, or
not at all."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from netblt_conformance.cases.case import Case
from netblt_conformance.common.model import MICROSECONDS_PER_S as S
from netblt_conformance.common.tolerances import OPENS_LEAST, QUIET_US, TESTER_RETRY_US, death_max_us
from netblt_conformance.generated import copies, findings, illegal_opening
from netblt_conformance.generated.script import Script
from netblt_conformance.generated.script import values as script_values
from netblt_conformance.oracles.opening import PACKETS_MAX
from netblt_conformance.packets import pacing, packets
from netblt_conformance.packets.packets import Kind, Message, Packet, Type
from netblt_conformance.peer import ReceiverPeer, SenderPeer
from netblt_conformance.peer.exchange import UnmetError

# Fields that an OPEN and a RESPONSE may have wrong, by number.
ZERO = ("buffer_size", "packet_size", "max_buffers")
_TRANSFER = (Type.DATA, Type.LDATA, Type.CONTROL, Type.NULL_ACK)
# Checksums that a wrong sum gets wrong (CKSUM-02): none at all, and that of a sum whose carry makes another carry.
SUMS = (0, 0xFFFE)
_STARTS = 24  # so many that an ID of one byte repeats itself
LOOSE = ("buffer_size", "packet_size", "max_buffers", "burst_size", "burst_interval_ms")


def connect(case: Case, peer: ReceiverPeer | SenderPeer, script: Script) -> bool:
    """Opens the connection; False when there is none, as it has to be."""
    for _ in range(script.openings_lost):
        if script.role.active:
            if not _opens_again(peer):
                return False
        else:
            peer.send_open()
            peer.listen(TESTER_RETRY_US)
    known = _ACTIVE if script.role.active else _PASSIVE
    for one in script.opening:
        if one.name in known and not known[one.name](case, peer, *one.numbers):
            return False
    if script.role.active:
        if not (script.opening and peer.opens) and not _opens_again(peer):
            return False
        peer.respond(**_announced(script, peer))
    else:
        peer.open(**_announced(script, peer))
        findings.limits(peer, script)
    return True


def _opens_again(peer: ReceiverPeer | SenderPeer) -> bool:
    """Waits for the next OPEN. False: after the first one and another one it has given up (OPEN-03)."""
    known = len(peer.opens)
    with findings.due("OPEN-03" if known else ""):
        if known < OPENS_LEAST:
            peer.await_open()
        else:
            over = lambda: len(peer.opens) > known or peer.link.status().failed  # noqa: E731
            peer.until(over, peer.open_max_us, "OPEN to be repeated")
    return len(peer.opens) > known


def _announced(script: Script, peer: ReceiverPeer | SenderPeer) -> dict[str, int]:
    """The transfer size that a sending tester announces, where it is not the right one (OPEN-11), and what gives the
    packet the checksum that is wanted."""
    sized = isinstance(peer, SenderPeer) and script.announced >= 0
    announced = {"transfer_size": script.announced} if sized else {}
    for one in script.opening:
        if one.name == "sum":
            announced |= _summed(peer, announced, *one.numbers)
    return announced


def announces_another(script: Script) -> bool:
    """Whether the transfer size that a sending tester announces may be another one than that of its data."""
    other = script.announced not in (-1, 0, script.length)
    return other or any(one.name == "sum" for one in script.opening)


def _summed(peer: ReceiverPeer | SenderPeer, announced: dict[str, int], which: int = 0) -> dict[str, int]:
    """The low half of a field that may have any value takes up what is left to the sum: of the unique ID of an OPEN, of
    the transfer size in a RESPONSE."""
    active = peer.role.active
    name, kind = ("transfer_size", Type.RESPONSE) if active else ("unique_id", Type.OPEN)
    high = 0 if active else peer.unique_id & 0xFFFF0000
    values = (peer.response_values if active else peer.opening_values)(**{**announced, name: high})
    left = 0xFFFF - SUMS[which % len(SUMS)] + packets.read(peer.forge.opening(kind, values)).checksum
    value = high | ((left & 0xFFFF) + (left >> 16))
    if not active:
        peer.unique_id = value
    return {name: value}


def _awaits(peer: ReceiverPeer | SenderPeer) -> Packet:
    return (peer.opens[-1] if peer.opens else peer.await_open()).packet


# ---- an active implementation ----


def _foreign(case: Case, peer: ReceiverPeer | SenderPeer, bit: int = 0) -> bool:
    """Late packets of an earlier connection between the same ports (OPEN-10): a KEEPALIVE, a RESPONSE, and a GO.
    Without a GO a sender would send nothing; it may be kept until the connection is open (AMB-22)."""
    del case
    _awaits(peer)
    peer.link.send(peer.forge.packet(Type.KEEPALIVE), peer.address)
    peer.send_response(unique_id=peer.unique_id ^ 1 << bit % 32)
    if isinstance(peer, ReceiverPeer):
        peer.link.send(peer.forge.control([Message(Kind.GO, 1, peer.first_buffer)]), peer.address)
    received = peer.listen(QUIET_US)
    for seen in received:
        if seen.packet.type in _TRANSFER:
            findings.tell(peer, findings.OPENED_BY_ANOTHER, seen.frame, type=seen.packet.type.text)
    return not any(seen.packet.type is Type.ABORT for seen in received) and not peer.link.status().failed


def _foreign_lost(case: Case, peer: ReceiverPeer | SenderPeer, bit: int = 0) -> bool:
    """The same, and no other packet comes until the OPEN is repeated (OPEN-03)."""
    goes_on = _foreign(case, peer, bit)
    if goes_on and len(peer.opens) < 2:
        with findings.due("OPEN-10"):
            what = "OPEN to be repeated after a RESPONSE with another unique ID"
            peer.until(lambda: len(peer.opens) >= 2, case.tolerances.open_retry_max_us, what)
    return goes_on


def _damaged(case: Case, peer: ReceiverPeer | SenderPeer, bit: int = 0) -> bool:
    """A RESPONSE that was damaged on its way opens nothing (CKSUM-06)."""
    del case
    _awaits(peer)
    wire = peer.forge.opening(Type.RESPONSE, peer.response_values())
    peer.link.send(copies.flipped(wire, 8 * packets.HEADER_BYTES + 4 * bit, data_summed=False), peer.address)
    if isinstance(peer, ReceiverPeer):
        peer.link.send(peer.forge.control([Message(Kind.GO, 1, peer.first_buffer)]), peer.address)
    peer.listen(QUIET_US // 5)
    return True


def _restart(case: Case, peer: ReceiverPeer | SenderPeer) -> bool:
    """The implementation is started again and again, also on the same ports: each request has an ID of its own
    (OPEN-14)."""
    known: set[int] = set()
    for start in range(_STARTS):
        if start:
            options = {"own": script_values(peer.parameters), "iut": script_values(peer.setting.iut_parameters)}
            peer = case.peer(1, same_ports=start % 2 == 1, **options)
        unique_id = _awaits(peer).unique_id
        if unique_id in known:
            findings.tell(peer, findings.SAME_ID, peer.opens[-1].frame, unique_id=unique_id)
            break
        known.add(unique_id)
        peer.listen(S + S // 10)  # an ID that is made of a clock that counts seconds is unique too
        peer.send(peer.forge.reason(Type.REFUSED, "one after the other"))
    return False


def _refuse(case: Case, peer: ReceiverPeer | SenderPeer) -> bool:
    return _ends(case, peer, Type.REFUSED)


def _abort(case: Case, peer: ReceiverPeer | SenderPeer) -> bool:
    return _ends(case, peer, Type.ABORT)


def _ends(case: Case, peer: ReceiverPeer | SenderPeer, kind: Type) -> bool:
    """Either of the two ends the attempt (OPEN-06, ABORT-04)."""
    _awaits(peer)
    peer.send(peer.forge.reason(kind, "not today"))
    peer.listen(case.tolerances.crossing_us)
    with findings.due("OPEN-06" if kind is Type.REFUSED else "ABORT-04"):
        peer.silence([Type.OPEN], 5 * S, f"no OPEN may follow {kind.text}")
        peer.expect_failure()
    return False


def _none(case: Case, peer: ReceiverPeer | SenderPeer) -> bool:
    """Nothing answers the OPENs (OPEN-03)."""
    _awaits(peer)
    with findings.due("OPEN-03"):
        peer.until(lambda: len(peer.opens) >= 2, case.tolerances.open_retry_max_us, "OPEN to be repeated")
        peer.expect_failure(case.tolerances.open_give_up_max_us)
    peer.silence([Type.OPEN], 2 * S, "the attempt was given up")
    return False


def _zero(case: Case, peer: ReceiverPeer | SenderPeer, field: int = 0) -> bool:
    """A RESPONSE that cannot be used (NEG-10)."""
    del case
    _awaits(peer)
    peer.send_response(**{ZERO[field % len(ZERO)]: 0})
    if isinstance(peer, ReceiverPeer):
        peer.go(0)
    peer.listen(2 * QUIET_US)
    if peer.link.status().succeeded:
        raise UnmetError("failure to be reported to the client", "success was reported of a transfer that was not made")
    if any(seen.packet.type in (Type.DATA, Type.LDATA, Type.CONTROL) for seen in peer.seen):
        peer.listen(10 * S)
        if peer.link.status().succeeded:
            raise UnmetError("failure to be reported to the client", "success was reported")
    return False


def _loose(case: Case, peer: ReceiverPeer | SenderPeer, field: int = 0) -> bool:
    """A RESPONSE that raises a value: whatever the implementation makes of it, it keeps to its own proposal (NEG-10,
    AMB-25)."""
    name, proposal = LOOSE[field % len(LOOSE)], _awaits(peer)
    value = getattr(proposal, name)
    if name == "burst_interval_ms" and value < len(LOOSE):
        return False
    peer.respond(**{name: value // 4 if name == "burst_interval_ms" else 4 * value})
    case.provokes("DATA-02", "DATA-03", "DATA-04", "DATA-05", "DATA-12", "NEG-06", "RATE-01", "RATE-02", "RESEND-01")
    if isinstance(peer, ReceiverPeer):
        peer.go(0)
    peer.listen(2 * QUIET_US)
    data = [seen for seen in peer.seen if seen.packet.is_data and seen.packet.buffer == peer.setting.first_buffer]
    sizes = [len(seen.packet.data) for seen in data]
    gos = {message.buffer for seen in peer.seen for message in seen.packet.messages if message.kind is Kind.GO}
    times, interval_us = [seen.time_us for seen in data], peer.ms(proposal.burst_interval_ms)
    slack_us = case.tolerances.crossing_us
    within = {
        "buffer_size": sum(sizes) <= proposal.buffer_size,
        "packet_size": max(sizes, default=0) <= proposal.packet_size,
        "max_buffers": len(gos) <= proposal.max_buffers,
    }
    kept = within.get(name, pacing.first_too_early(times, proposal.burst_size, interval_us, slack_us) is None)
    if not kept:
        findings.tell(peer, findings.LOOSENED, None, name=name)
    return False


_Opening = Callable[..., bool]
_ACTIVE: dict[str, _Opening] = {
    "foreign": _foreign,
    "foreign-lost": _foreign_lost,
    "damaged": _damaged,
    "restart": _restart,
    "refuse": _refuse,
    "abort": _abort,
    "none": _none,
    "zero": _zero,
    "loose": _loose,
    **illegal_opening.ACTIVE,
}

# ---- a passive implementation ----


def _elsewhere(case: Case, peer: ReceiverPeer | SenderPeer) -> bool:
    """An OPEN for a port without a listener (OPEN-06, WIRE-13)."""
    del case
    port = peer.iut_port ^ 1
    forge = dataclasses.replace(peer.forge, foreign_port=port)
    peer.link.send(forge.opening(Type.OPEN, peer.opening_values()))
    for seen in peer.listen(QUIET_US):
        ports = seen.packet.local_port, seen.packet.foreign_port
        if ports == (peer.own_port, port):
            findings.tell(peer, findings.PORTS_NOT_EXCHANGED, seen.frame)
        elif seen.packet.local_port == port and seen.packet.type is Type.RESPONSE:
            findings.tell(peer, findings.SERVED_ELSEWHERE, seen.frame)
    return True


def _zero_proposed(case: Case, peer: ReceiverPeer | SenderPeer, field: int = 0) -> bool:
    """An OPEN that cannot be used (NEG-10): REFUSED, ABORT, no answer, or a RESPONSE without the zero (AMB-25, AMB-26),
    which the oracles judge."""
    del case
    peer.send_open(**{ZERO[field % len(ZERO)]: 0})
    peer.listen(QUIET_US)
    return False


def _large(case: Case, peer: ReceiverPeer | SenderPeer, more: int = 0) -> bool:
    """An OPEN with buffers of about as many packets as 16 bits can number: the oracles judge it (DATA-05, AMB-17)."""
    del case
    size = peer.setting.iut_parameters.packet_size
    peer.send_open(buffer_size=size * (PACKETS_MAX - 1 + more % 3), packet_size=size)
    peer.listen(QUIET_US)
    return False


def _alone(case: Case, peer: ReceiverPeer | SenderPeer) -> bool:
    """Nothing follows the OPEN: a receiver gives the peer up (TIMER-10); a sender can, it need not (AMB-65)."""
    del case
    peer.open()
    peer.go_silent()
    peer.listen(death_max_us(peer.terms.iut_death_timer_s))
    late = [seen for seen in peer.listen(6 * S) if seen.packet.type not in findings.OF_NO_CONNECTION]
    if late and not peer.role.sender:
        findings.tell(peer, findings.LIVES_ON, late[0].frame, type=str(late[0].packet))
    return False


_PASSIVE: dict[str, _Opening] = {
    "alone": _alone,
    "elsewhere": _elsewhere,
    "zero": _zero_proposed,
    "large": _large,
    **illegal_opening.PASSIVE,
}
