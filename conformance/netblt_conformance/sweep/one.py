# SPDX-License-Identifier: GPL-2.0-or-later
"""What becomes of one transfer under a schedule of faults."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from netblt_conformance.common.model import MICROSECONDS_PER_S, Digest, Role, Status
from netblt_conformance.common.tolerances import OPENS_LEAST
from netblt_conformance.common.verdicts import Verdict
from netblt_conformance.packets.packets import Type
from netblt_conformance.simlib import Direction, Flakeway, FlakewayStats, IutParams, PairEnd, PairResult, run_pair
from netblt_conformance.sweep.faults import Schedule
from netblt_conformance.sweep.transfers import Transfer

if TYPE_CHECKING:
    from netblt_conformance.simlib import Iut, IutLibrary, PcapngWriter

# Long enough for anything that two or ten faults can cause, far more than any transfer here needs.
LIMIT_US = 900 * MICROSECONDS_PER_S
LIMIT_PACKETS = 20_000
DEATH_TIMER_S = 60
LATENCY = "latency 10ms"
# What is expected under every schedule: each can be repaired.
EXPECTED = "success at both ends, with every byte in its place"
# Lost packets after which an end may give up and report it: with fewer it would not survive two faults. No number of
# retransmissions is enough for every schedule.
GIVES_UP_LEAST = 3
# Packets that were lost or late, after which a receiver that has all data may be left alone, and fail (AMB-67): the
# acknowledgement of its last OK and a repetition of that OK. The next one may come after the dally (AMB-53).
OUTLIVES_LEAST = 2


@dataclass(frozen=True, slots=True)
class Ran:
    """One transfer under one schedule."""

    verdict: Verdict
    seen: str
    packets: tuple[int, int]
    end_us: int
    # Of a failure: no end stopped before its time, sent without end, or reported a success without all data.
    honest: bool


@dataclass(frozen=True, slots=True)
class Bench:
    """Who is judged, and by whose reference."""

    iut: IutLibrary
    reference: IutLibrary


def addresses(number: int) -> tuple[str, str]:
    """Addresses of the implementation and of the reference in transfer `number` of one capture: none comes twice in
    16,384, so that every transfer is a conversation of its own."""
    return f"10.{number >> 8 & 63}.{number & 255}.1", f"10.{number >> 8 & 63}.{number & 255}.2"


def _parameters(transfer: Transfer, role: Role, number: int, seed: int) -> tuple[IutParams, IutParams]:
    local, foreign = addresses(number)
    ours = IutParams(
        active=role.active,
        sender=role.sender,
        local_port=1001,
        foreign_port=1002,
        buffer_size=transfer.buffer_size,
        packet_size=transfer.packet_size,
        burst_size=transfer.burst_size,
        burst_interval_ms=transfer.burst_interval_ms,
        max_buffers=transfer.max_buffers,
        death_timer_s=DEATH_TIMER_S,
        seed=seed,
        local_address=local,
        foreign_address=foreign,
    )
    return ours, ours.peer()


def run(
    bench: Bench,
    transfer: Transfer,
    role: Role,
    schedule: Schedule,
    *,
    seed: int,
    number: int = 0,
    capture: PcapngWriter | None = None,
) -> Ran:
    """Runs the transfer; `role` is the implementation's, which is on the flakeway's side A."""
    ours, theirs = _parameters(transfer, role, number, seed)
    data = transfer.data
    iut = bench.iut.start(ours, data if role.sender else b"")
    reference = bench.reference.start(theirs, b"" if role.sender else data)
    flakeway = Flakeway(seed, LATENCY, *schedule, trace=False)
    responses = _Responses(flakeway)
    with iut, reference:
        result = run_pair(iut, reference, flakeway, limit_us=LIMIT_US, limit_packets=LIMIT_PACKETS, capture=capture)
        verdict, reason = _judge(result.end, iut, reference, role, data)
        never_open = iut.status is not Status.CLOSED_DONE and _never_set_up(flakeway, responses, result.packets, role)
        if verdict is Verdict.FAIL and (never_open or _may_give_up(flakeway, result, iut, reference, role, data)):
            verdict, reason = Verdict.INCONC, f"the network lost too much: {reason}"
        return Ran(verdict, reason, result.packets, result.end_us, _honest(result.end, iut, reference, role, data))


def _honest(end: PairEnd, iut: Iut, reference: Iut, role: Role, data: bytes) -> bool:
    passive = reference if role.active else iut
    waits_for_an_open = end is PairEnd.IDLE and passive.status is Status.OPENING
    if end not in (PairEnd.CLOSED, PairEnd.TIME_LIMIT) and not waits_for_an_open:
        return False
    complete = (reference if role.sender else iut).delivered == data
    return complete or Status.CLOSED_DONE not in (iut.status, reference.status)


def _may_give_up(flakeway: Flakeway, result: PairResult, iut: Iut, reference: Iut, role: Role, data: bytes) -> bool:
    """The implementation reports a failure, or only its peer does, and the network lost enough to explain it."""
    if result.end is not PairEnd.CLOSED:
        return False
    lost = sum(sent - _intact(flakeway, direction) for direction, sent in zip(Direction, result.packets, strict=True))
    complete = (reference if role.sender else iut).delivered == data
    if complete and not role.sender and reference.status is Status.CLOSED_DONE:
        return sum(_disturbed(flakeway.stats(direction)) for direction in Direction) >= OUTLIVES_LEAST
    return lost >= GIVES_UP_LEAST and (iut.status is Status.CLOSED_FAILED or complete)


def _disturbed(stats: FlakewayStats) -> int:
    return stats.dropped + stats.corrupted + stats.truncated + stats.reordered + stats.delayed


class _Responses:
    """Counts the RESPONSEs that no rule of the schedule affects. Rates of loss apply to them."""

    def __init__(self, flakeway: Flakeway) -> None:
        self.untouched = 0
        flakeway.add(f"hook {Type.RESPONSE.text}")
        flakeway.set_hook(self._count)

    def _count(self, _rule: int, _direction: Direction, _packet: bytes, _now_us: int) -> str | None:
        self.untouched += 1
        return None


def _never_set_up(flakeway: Flakeway, responses: _Responses, packets: tuple[int, int], role: Role) -> bool:
    """No RESPONSE surely reached the active end, which repeated its OPEN (OPEN-03). The passive end replied to each
    OPEN that reached it."""
    there, back = Direction.A_TO_B, Direction.B_TO_A
    if not role.active:
        there, back, packets = back, there, packets[::-1]
    opened, replied = packets
    lost = flakeway.stats(back)
    arrived = responses.untouched - lost.dropped_by_loss - lost.dropped_by_queue
    return arrived <= 0 and opened >= OPENS_LEAST and _intact(flakeway, there) <= replied


def _intact(flakeway: Flakeway, direction: Direction) -> int:
    """Packets that left the flakeway as they entered it. One that is held for the next one may never leave it."""
    stats = flakeway.stats(direction)
    return stats.delivered - stats.duplicated - stats.corrupted - stats.truncated


def _judge(end: PairEnd, iut: Iut, reference: Iut, role: Role, data: bytes) -> tuple[Verdict, str]:
    """Any other schedule can be recovered from: so the transfer ends, at both ends, with every byte in its place."""
    if why := unfinished(end, len(data)):
        return Verdict.FAIL, why
    delivered = Digest.of((reference if role.sender else iut).delivered)
    return judge_closed(
        role, Client(iut.status, iut.reason), Client(reference.status, reference.reason), delivered, data
    )


def unfinished(end: PairEnd, length: int) -> str:
    """Why the ends of a transfer of `length` bytes have not both closed; empty when they have."""
    if end is PairEnd.SPINNING:
        return "it never stops sending at one moment"
    if end is PairEnd.PACKET_LIMIT:
        return f"more than {LIMIT_PACKETS} packets for a transfer of {length} bytes"
    if end in (PairEnd.TIME_LIMIT, PairEnd.IDLE):
        return f"the connection is not closed after {LIMIT_US // MICROSECONDS_PER_S} s"
    return ""


@dataclass(frozen=True, slots=True)
class Client:
    """What the client of one end knows when its connection is closed."""

    status: Status
    reason: str


def judge_closed(role: Role, iut: Client, reference: Client, delivered: Digest, data: bytes) -> tuple[Verdict, str]:
    """Both ends are closed. `delivered`: what the receiving client got; `data`: what was sent."""
    complete = delivered == Digest.of(data)
    if iut.status is not Status.CLOSED_DONE:
        return Verdict.FAIL, f"the transfer failed: {iut.reason or 'no reason given'}"
    if not complete:
        return Verdict.FAIL, f"reports success, but {delivered.length} of {len(data)} bytes arrived whole"
    if reference.status is Status.CLOSED_DONE:
        return Verdict.PASS, ""
    if role.sender:
        # A dally that is never restarted may end before the second repeat of the last OK (AMB-53): legal, and unkind.
        return Verdict.WARN, f"all data arrived, but the receiver's last OK stayed unanswered: {reference.reason}"
    return Verdict.FAIL, f"reports success, but its peer failed: {reference.reason}"
